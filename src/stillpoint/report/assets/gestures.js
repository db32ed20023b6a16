// Hover, drag or pinch to zoom, double-click or double-tap for all of it, arrow keys to read; then the page begins.
function listen(chart) {
  const {svg, axis} = chart, fingers = new Map();
  const spot = e => {
    const box = svg.getBoundingClientRect(), k = chart.width / box.width;
    return [(e.clientX - box.left) * k, (e.clientY - box.top) * k];
  };
  const inside = px => clamp(px, chart.left, chart.left + chart.inner);
  let start = null, pinch = null, moved = false, tap = -Infinity;
  svg.addEventListener("pointerdown", e => {
    const [px, y] = spot(e);
    if (e.pointerType === "mouse" && e.button) return;
    try { svg.setPointerCapture(e.pointerId); } catch { /* the pointer is gone already */ }
    fingers.set(e.pointerId, px);
    if (e.pointerType !== "touch") { start = inside(px); return; }
    if (fingers.size === 2) {
      pinch = [...fingers.values()].map(p => chart.back(p));
      axis.rest();
    } else { moved = false; chart.hover(px, y); }
  });
  svg.addEventListener("pointermove", e => {
    const [px, y] = spot(e);
    if (fingers.has(e.pointerId)) {
      if (Math.abs(fingers.get(e.pointerId) - px) > 8) moved = true;
      if (pinch) fingers.set(e.pointerId, px);
    }
    if (pinch && fingers.size === 2) { // the two times held stay under the two fingers
      const [p, q] = fingers.values();
      if (Math.abs(q - p) < 12) return;
      const scale = (pinch[1] - pinch[0]) / (q - p);
      if (scale > 0) { const a = pinch[0] - (p - chart.left) * scale; axis.show(a, a + chart.inner * scale); }
    } else if (start !== null) {
      chart.brush = Math.abs(px - start) > 4 && axis.kind !== "step" ? [start, inside(px)] : null;
      chart.hover(inside(px), y);
    } else if (!pinch) chart.hover(px, y);
  });
  const finish = e => {
    const [px] = spot(e), known = fingers.delete(e.pointerId);
    if (e.pointerType === "touch") {
      if (!fingers.size) pinch = null;
      if (e.type === "pointercancel") axis.rest();
      else if (known && !moved && !pinch) {
        if (e.timeStamp - tap < 350) { axis.reset(); tap = -Infinity; } else tap = e.timeStamp;
      }
    } else if (start !== null) {
      const [a, b] = [chart.back(start), chart.back(inside(px))].sort((p, q) => p - q);
      const far = Math.abs(px - start) > 4 && e.type === "pointerup";
      start = chart.brush = null;
      if (far) axis.show(a, b); else chart.point();
    }
  };
  svg.addEventListener("pointerup", finish);
  svg.addEventListener("pointercancel", finish);
  svg.addEventListener("pointerleave", e => { if (e.pointerType === "mouse" && start === null) axis.rest(); });
  svg.addEventListener("dblclick", () => axis.reset());
  svg.addEventListener("wheel", e => { // a pinch on a trackpad; plain scrolling stays the page's
    if (!e.ctrlKey) return;
    e.preventDefault();
    axis.zoom(Math.exp(e.deltaY / 150), chart.back(inside(spot(e)[0])));
  }, {passive: false});
  svg.addEventListener("keydown", e => {
    const now = axis.cursor === null ? axis.below((axis.view[0] + axis.view[1]) / 2) : axis.cursor;
    const g = Math.max(0, chart.group(now)), last = chart.groups.length - 1, stride = e.shiftKey ? 10 : 1;
    const to = {ArrowLeft: g - stride, ArrowRight: g + stride, Home: 0, End: last}[e.key];
    if (to !== undefined) $("say").textContent = axis.moveTo(chart.groups[clamp(to, 0, last)][0], chart);
    else if (e.key === "+" || e.key === "=") axis.zoom(0.5, axis.x[now]);
    else if (e.key === "-") axis.zoom(2, axis.x[now]);
    else if (e.key === "Escape" || e.key === "0") { axis.reset(); axis.rest(); }
    else return;
    e.preventDefault();
  });
  svg.addEventListener("blur", () => axis.rest());
}

const D = JSON.parse($("data").textContent), axes = {};
const hint = $("range") && $("range").textContent, touch = matchMedia("(pointer: coarse)").matches;
function bar() { // what is in view, where something is zoomed in
  const zoomed = Object.values(axes).filter(axis => axis.zoomed);
  $("reset").hidden = !zoomed.length;
  $("bar").classList.toggle("on", zoomed.length > 0);
  $("range").textContent = zoomed.length ? zoomed.map(axis => axis.range).join("; ")
    : touch ? "Pinch a chart to zoom in on a time; tap it twice for all of it." : hint;
}
for (const [name, given] of Object.entries(D.axes)) axes[name] = new Axis(given);
for (const spec of D.charts) new Chart(spec, axes[spec.axis]);
if (D.charts.length) {
  const all = () => { for (const axis of Object.values(axes)) axis.draw(); };
  $("reset").addEventListener("click", () => { for (const axis of Object.values(axes)) axis.reset(); });
  document.addEventListener("pointerdown", e => {
    if (!e.target.closest(".plot")) for (const axis of Object.values(axes)) axis.rest();
  });
  for (const fold of document.querySelectorAll("details")) {
    if (fold.querySelector(".plot")) fold.addEventListener("toggle", all);
  }
  const box = $("c-" + D.charts[0].id).parentNode;
  let width = box.clientWidth;
  new ResizeObserver(() => { if (box.clientWidth !== width) { width = box.clientWidth; all(); } }).observe(box);
  all();
}
