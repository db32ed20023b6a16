// MathJax from this site alone: what it may load is listed here, and lies beside it.
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
