// An axis: places that some charts share, the part of them in view, and the cursor's place.
class Axis {
  constructor(given) {
    Object.assign(this, given); // kind, grain, unit, x, row, rows, columns, marks
    this.count = this.x.length;
    const gaps = this.x.slice(1).map((x, i) => x - this.x[i]).sort((a, b) => a - b);
    const last = this.x[this.count - 1];
    this.gap = gaps[gaps.length >> 1] || (last - this.x[0]) / this.count;
    // points of steps stand alone; a bucket of rows reaches to the next
    const room = this.kind === "step" ? this.gap * 0.15 : 0;
    this.edges = this.x.concat(last + (room || this.gap));
    this.full = [this.edges[0] - room, this.edges[this.count]];
    this.least = Math.max(this.gap * 4, (this.full[1] - this.full[0]) * 1e-6);
    this.view = this.full.slice();
    this.cursor = null; // an index
    this.margin = 44;
    this.charts = [];
  }
  get zoomed() { return this.view[0] > this.full[0] || this.view[1] < this.full[1]; }
  below(x) { // the last place at or before x
    let a = 0, b = this.count;
    while (a < b) {
      const m = (a + b) >> 1;
      if (this.edges[m] <= x) a = m + 1; else b = m;
    }
    return a - 1;
  }
  nearest(x) {
    const i = Math.max(0, this.below(x));
    return i + 1 < this.count && this.x[i + 1] - x < x - this.x[i] ? i + 1 : i;
  }
  show(a, b) { // zoom to this part
    const [first, last] = this.full;
    if (this.kind === "step") return;
    if (b - a < this.least) { const m = (a + b) / 2; a = m - this.least / 2; b = m + this.least / 2; }
    if (b - a >= last - first) { a = first; b = last; }
    if (a < first) { b += first - a; a = first; }
    if (b > last) { a -= b - last; b = last; }
    this.view = [a, Math.min(b, last)];
    this.schedule();
  }
  reset() { this.show(...this.full); }
  zoom(factor, x) { this.show(x - (x - this.view[0]) * factor, x + (this.view[1] - x) * factor); }
  schedule() { // pinches come faster than frames
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }
  draw() {
    const before = this.margin = 44; // charts stand in line: all get the margin of the widest labels
    for (const c of this.charts) { c.tip.hidden = true; c.draw(); }
    if (this.margin > before) for (const c of this.charts) c.draw();
    bar();
  }
  moveTo(place, chart, y) { // the cursor: the same place in every chart, words in one
    this.cursor = place;
    let words = "";
    for (const c of this.charts) {
      c.point();
      if (c === chart) words = c.tell(y); else c.tip.hidden = true;
    }
    return words;
  }
  rest() {
    this.cursor = null;
    for (const c of this.charts) { c.tip.hidden = true; c.point(); }
  }
  place(x) { // as text, as finely as the view needs
    if (this.kind === "date") {
      const span = this.view[1] - this.view[0], coarse = this.grain === "month" || this.grain === "year";
      return date(x, coarse ? this.grain : span < 7200 ? "second" : span < 5 * DAY ? "clock" : this.grain);
    }
    if (this.kind === "step") return `${whole(x)} ${this.unit || "row"}${x === 1 ? "" : "s"} ahead`;
    return this.kind === "row" ? whole(x) : figure(x, this.digits);
  }
  rowsOf(a, b) {
    const first = this.row[a], last = this.row[b] + this.rows[b] - 1;
    return last > first ? `rows ${whole(first)}–${whole(last)}` : `row ${whole(first)}`;
  }
  get range() { // what is in view, in words
    const [a, b] = this.view, end = this.below(b - (b - a) * 1e-9);
    const first = clamp(this.below(a), 0, this.count - 1), last = clamp(end, first, this.count - 1);
    const times = this.kind === "row" ? "" : `${this.place(a)} – ${this.place(b)} · `;
    return times + this.rowsOf(first, last);
  }
  labels(room) { // [place, text] along the axis
    const [a, b] = this.view;
    if (this.kind === "date") return dateTicks(a, b, Math.max(2, room / (room < 420 ? 64 : 95)));
    if (this.kind === "step" && this.count * 30 <= room) return this.x.map(x => [x, whole(x)]);
    const [at, step] = ticks(a, b, Math.max(2, room / 85)), rows = this.kind !== "number";
    return at.filter(v => !rows || v % 1 === 0).map(v => [v, stepped(v, step)]);
  }
}
