// MathJax, from this site alone and only where a page has formulas: what it may load is listed
// here, and lies beside this file.
window.MathJax = {
  loader: { load: ["core", "input/tex", "output/svg", "a11y/assistive-mml"] },
  tex: {
    inlineMath: [["\\(", "\\)"]],
    displayMath: [["\\[", "\\]"]],
    packages: { "[-]": ["autoload", "require"] },
  },
  svg: { fontCache: "global" },
  options: { ignoreHtmlClass: ".*", processHtmlClass: "arithmatex" },
};

if (document.querySelector(".arithmatex")) {
  const script = document.createElement("script");
  script.src = new URL("mathjax/es5/startup.js", document.currentScript.src).href;
  document.head.append(script);
}
