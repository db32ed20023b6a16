// Linked charts as plain SVG: hover, drag or pinch to zoom, double-click or double-tap to reset, arrow keys to read.
(() => {
"use strict";
const $ = id => document.getElementById(id);
const D = JSON.parse($("data").textContent), N = D.x.length;
if (N < 2 || !D.charts.length) return;

// ---- numbers for people; the page's words use the same rules
const THIN = "\u202f", SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const esc = s => String(s).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
const grouped = s => s.replace(/^-/, "−").replace(/\B(?=(\d{3})+(?!\d))/g, (m, a, at, all) => all.slice(0, at).includes(".") ? "" : THIN);
function figure(v, digits = 3) {
  if (v === null || v === undefined) return "–";
  if (v === 0) return "0";
  const [mantissa, exponent] = v.toExponential(digits - 1).split("e"), size = +exponent;
  if (size < -4 || size > 8) {
    const power = String(size).replace("+", "").replace(/-/, "⁻").replace(/\d/g, d => SUPER[d]);
    return mantissa.replace("-", "−") + THIN + "×" + THIN + "10" + power;
  }
  const places = digits - 1 - size;
  return grouped(places >= 0 ? v.toFixed(places) : String(Math.round(v * 10 ** places) / 10 ** places));
}
const percent = v => v === null || v === undefined ? "–" : (100 * v).toFixed(1).replace(/\.0$/, "").replace("-", "−") + "%";
const whole = v => grouped(String(Math.round(v)));
function stepped(v, step) { // a label on an axis: as many places as the step needs
  const size = Math.floor(Math.log10(step) + 1e-9), top = Math.max(Math.abs(v), step);
  if (v === 0) return "0";
  if (top >= 1e7 || step < 1e-4) return figure(v, Math.max(1, Math.floor(Math.log10(top) + 1e-9) - size + 1));
  return grouped(v.toFixed(Math.max(0, -size)));
}

// ---- dates, always in UTC
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" "), DAY = 86400;
const two = n => String(n).padStart(2, "0");
function date(seconds, fine) {
  const d = new Date(seconds * 1000), day = `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]} ${d.getUTCFullYear()}`;
  return fine ? `${day} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}` + (fine > 1 ? ":" + two(d.getUTCSeconds()) : "") : day;
}
function dateTicks(a, b, count) {
  const want = (b - a) / count, out = [];
  const step = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY].find(s => s >= want);
  if (step) {
    for (let t = Math.ceil(a / step) * step; t <= b; t += step) {
      const d = new Date(t * 1000), clock = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}` + (step < 60 ? ":" + two(d.getUTCSeconds()) : "");
      out.push([t, step >= DAY || t % DAY === 0 ? `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]}` : clock]);
    }
    return out;
  }
  const month = 30.44 * DAY, months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000].find(m => m * month >= want) || 24000;
  const start = new Date(a * 1000);
  for (let m = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months) * months; ; m += months) {
    const d = new Date(0); // Date.UTC would take years below 100 for those of the last century
    d.setUTCFullYear(Math.floor(m / 12), m % 12, 1);
    const t = d.getTime() / 1000;
    if (t > b) return out;
    if (t >= a) out.push([t, months >= 12 ? String(d.getUTCFullYear()) : d.getUTCMonth() ? MONTHS[d.getUTCMonth()] : String(d.getUTCFullYear())]);
  }
}
function ticks(a, b, count) {
  const raw = (b - a) / Math.max(1, count), base = 10 ** Math.floor(Math.log10(raw));
  const step = base * [1, 2, 5, 10].find(m => m * base >= raw * 0.8), out = [];
  for (let k = Math.ceil(a / step - 1e-9); k * step <= b + step * 1e-9; k++) out.push(k * step);
  return [out, step];
}

// ---- the part of the run in view
const X = D.x, gaps = X.slice(1).map((x, i) => x - X[i]).sort((a, b) => a - b);
const GAP = gaps[gaps.length >> 1] || (X[N - 1] - X[0]) / N, EDGE = X.concat(X[N - 1] + GAP), FULL = [EDGE[0], EDGE[N]];
const LEAST = Math.max(GAP * 4, (FULL[1] - FULL[0]) * 1e-6);
let view = FULL.slice(), cursor = null, margin = 44; // cursor: a bucket
const zoomed = () => view[0] > FULL[0] || view[1] < FULL[1];
const below = x => { let a = 0, b = N; while (a < b) { const m = (a + b) >> 1; if (EDGE[m] <= x) a = m + 1; else b = m; } return a - 1; };
function show(a, b) {
  if (b - a < LEAST) { const m = (a + b) / 2; a = m - LEAST / 2; b = m + LEAST / 2; }
  if (b - a >= FULL[1] - FULL[0]) { a = FULL[0]; b = FULL[1]; }
  if (a < FULL[0]) { b += FULL[0] - a; a = FULL[0]; }
  if (b > FULL[1]) { a -= b - FULL[1]; b = FULL[1]; }
  view = [a, Math.min(b, FULL[1])];
  schedule();
}
let waiting = false;
function schedule() { // pinches come faster than frames
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; drawAll(); });
}
const fine = () => D.kind !== "date" ? 0 : view[1] - view[0] < 7200 ? 2 : view[1] - view[0] < 5 * DAY ? 1 : 0;
const place = x => D.kind === "date" ? date(x, fine()) : D.kind === "row" ? whole(x) : figure(x, 5);
function rowsOf(a, b) {
  const first = D.row[a], last = D.row[b] + D.rows[b] - 1;
  return last > first ? `rows ${whole(first)}–${whole(last)}` : `row ${whole(first)}`;
}

// ---- one chart
class Chart {
  constructor(spec) {
    this.spec = spec;
    this.svg = $("c-" + spec.id);
    this.tip = this.svg.parentNode.querySelector(".tip");
    this.hidden = new Set();
    this.fingers = new Map();
    this.keys();
    this.listen();
  }
  get shown() { return this.spec.series.filter((s, i) => !this.hidden.has(i)); }
  keys() {
    const box = $("k-" + this.spec.id);
    if (this.spec.kind === "heat") { box.innerHTML = '<span class="scale">weight 0 <i></i> 100%</span>'; return; }
    this.spec.series.forEach((s, i) => {
      const key = document.createElement("button");
      key.type = "button"; key.className = "key"; key.setAttribute("aria-pressed", "true");
      key.innerHTML = sample(s) + `<span>${esc(s.name)}</span>`;
      key.addEventListener("click", () => {
        if (!this.hidden.delete(i)) this.hidden.add(i);
        key.setAttribute("aria-pressed", String(!this.hidden.has(i)));
        this.draw();
      });
      box.append(key);
    });
  }
  // Buckets in view, joined so that there is about one to a pixel and a half: averages for lines, extremes for ranges.
  slices() {
    const first = Math.max(0, below(view[0]) - 1), last = Math.min(N - 1, below(view[1]) + 1);
    const size = Math.max(1, Math.ceil((last - first + 1) / (this.inner / 1.5))), out = [];
    for (let a = first - first % size; a <= last; a += size) out.push([a, Math.min(N, a + size)]);
    this.groups = out;
  }
  mean(name) {
    const c = D.columns[name];
    return this.groups.map(([a, b]) => { let n = 0, t = 0; for (let i = a; i < b; i++) if (c[i] !== null) { n++; t += c[i]; } return n ? t / n : null; });
  }
  extreme(name, rule) {
    const c = D.columns[name];
    return this.groups.map(([a, b]) => { let e = null; for (let i = a; i < b; i++) if (c[i] !== null) e = e === null ? c[i] : rule(e, c[i]); return e; });
  }
  at(x) { return this.left + (x - view[0]) / (view[1] - view[0]) * this.inner; }
  back(px) { return view[0] + (px - this.left) / this.inner * (view[1] - view[0]); }
  draw() {
    const heat = this.spec.kind === "heat", small = (this.width = Math.max(240, this.svg.parentNode.clientWidth)) < 520;
    const rows = this.spec.series.length, band = Math.max(9, Math.min(22, 420 / rows));
    this.height = heat ? rows * band + 34 : small ? 220 : 280;
    this.top = heat ? 6 : 16; this.right = 10; this.bottom = this.height - 26;
    this.left = 10; this.inner = this.width - 20;
    this.slices();
    const body = heat ? this.heat(band, small) : this.lines();
    const marks = D.marks.filter(m => X[m.at] > view[0] && X[m.at] < view[1]).map(m => {
      const x = this.at(X[m.at]).toFixed(1), end = x > this.left + this.inner * 0.75;
      return `<line class="mark" x1="${x}" x2="${x}" y1="${heat ? this.top : 4}" y2="${this.bottom}"/>` +
        (heat ? "" : `<text class="mark" x="${+x + (end ? -5 : 5)}" y="12" text-anchor="${end ? "end" : "start"}">${esc(m.text)}</text>`);
    }).join("");
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.svg.innerHTML = `<defs><clipPath id="p-${this.spec.id}"><rect x="${this.left}" y="${this.top - 4}" width="${this.inner}" ` +
      `height="${this.bottom - this.top + 8}"/></clipPath></defs>${body}${this.axis()}${marks}<g class="over"></g>`;
    this.over = this.svg.lastChild;
    this.point();
  }
  axis() {
    const count = Math.max(2, this.inner / (D.kind === "date" ? 95 : 85));
    let list;
    if (D.kind === "date") list = dateTicks(view[0], view[1], count);
    else { const [at, step] = ticks(view[0], view[1], count); list = at.filter(v => D.kind !== "row" || v % 1 === 0).map(v => [v, stepped(v, step)]); }
    const edge = this.width - 4;
    return `<line class="axis" x1="${this.left}" x2="${this.left + this.inner}" y1="${this.bottom}" y2="${this.bottom}"/>` + list.map(([v, label]) => {
      const x = this.at(v), half = label.length * 3.3, middle = Math.min(Math.max(x, half + 2), edge - half);
      return `<line class="axis" x1="${x}" x2="${x}" y1="${this.bottom}" y2="${this.bottom + 4}"/><text x="${middle}" y="${this.bottom + 18}" text-anchor="middle">${label}</text>`;
    }).join("");
  }
  range() { // curves must be seen whole; bands and stray curves may be cut where they would flatten the rest
    let lo = Infinity, hi = -Infinity, low = Infinity, high = -Infinity;
    for (const s of this.drawn) for (const values of s.values) for (const v of values) if (v !== null) {
      if (s.fit === "core") { lo = Math.min(lo, v); hi = Math.max(hi, v); } else { low = Math.min(low, v); high = Math.max(high, v); }
    }
    if (lo > hi) { lo = low; hi = high; }
    if (lo > hi) { lo = 0; hi = 1; }
    const room = (hi - lo) * 0.6 || Infinity;
    if (low < lo) lo = Math.max(low, lo - room);
    if (high > hi) hi = Math.min(high, hi + room);
    if (this.spec.zero || this.spec.origin && !zoomed()) { lo = Math.min(lo, 0); hi = Math.max(hi, 0); }
    if (hi - lo < 1e-12 * Math.max(Math.abs(lo), Math.abs(hi), 1e-280)) { const pad = Math.abs(hi) * 0.1 || 1; lo -= pad; hi += pad; }
    const pad = (hi - lo) * 0.05, {floor, ceiling} = this.spec;
    return [floor !== undefined && lo >= floor ? Math.max(floor, lo - pad) : lo - pad, ceiling !== undefined && hi <= ceiling ? Math.min(ceiling, hi + pad) : hi + pad];
  }
  lines() {
    this.drawn = this.shown.map(s => ({...s, values: s.column ? [this.mean(s.column)]
      : s.style === "range" ? [this.extreme(s.low, Math.min), this.extreme(s.high, Math.max)] : [this.mean(s.low), this.mean(s.high)]}));
    const [lo, hi] = this.range(), unit = 10 ** Math.floor(Math.log10((hi - lo) / 300)), [at, step] = ticks(lo, hi, (this.bottom - this.top) / 46);
    const labels = at.map(v => this.spec.format === "percent" ? percent(v) : stepped(v, step));
    this.left = margin = Math.max(margin, 14 + 6.8 * Math.max(...labels.map(l => l.length)));
    this.inner = this.width - this.left - this.right;
    const y = this.y = v => this.bottom - (Math.max(-1e4, Math.min(1e4, (v - lo) / (hi - lo)))) * (this.bottom - this.top);
    this.px = this.groups.map(([a, b]) => this.at((X[a] + X[b - 1]) / 2));
    let out = at.map((v, i) => `<line class="grid" x1="${this.left}" x2="${this.left + this.inner}" y1="${y(v)}" y2="${y(v)}"/>` +
      `<text x="${this.left - 7}" y="${y(v) + 4}" text-anchor="end">${labels[i]}</text>`).join("");
    if (this.spec.zero) out += `<line class="zero" x1="${this.left}" x2="${this.left + this.inner}" y1="${y(0)}" y2="${y(0)}"/>`;
    this.text = this.spec.format === "percent" ? percent : v => Math.abs(v) < unit / 2 ? "0" : stepped(v, unit); // as fine as can be seen
    const roomy = this.inner / this.groups.length > 9;
    out += `<g clip-path="url(#p-${this.spec.id})">` + this.drawn.map(s => {
      if (!s.column) return `<path class="area f-${s.style}" d="${this.area(s.values[0], s.values[1])}"/>`;
      const dots = roomy && s.dots ? s.values[0].map((v, i) => v === null ? "" : `<circle class="dot" cx="${this.px[i]}" cy="${y(v)}" r="2.2"/>`).join("") : "";
      return `<path class="curve s-${s.style}" d="${this.path(s.values[0])}"/>${dots}`;
    }).join("") + "</g>";
    return out;
  }
  path(values) {
    let out = "", pen = false;
    values.forEach((v, i) => {
      if (v === null) { pen = false; return; }
      out += `${pen ? "L" : "M"}${this.px[i].toFixed(1)} ${this.y(v).toFixed(1)}` + (pen ? "" : "h.01");
      pen = true;
    });
    return out;
  }
  area(low, high) {
    let out = "", run = [];
    const close = () => {
      if (run.length) out += "M" + run.map(i => `${this.px[i].toFixed(1)} ${this.y(high[i]).toFixed(1)}`).join("L") + "L" +
        run.reverse().map(i => `${this.px[i].toFixed(1)} ${this.y(low[i]).toFixed(1)}`).join("L") + "Z";
      run = [];
    };
    low.forEach((v, i) => { if (v === null || high[i] === null) close(); else run.push(i); });
    close();
    return out;
  }
  heat(band, small) {
    const series = this.spec.series, letter = small ? 5.7 : 6.4, limit = Math.floor(this.width * (small ? 0.4 : 0.3) / letter);
    const names = series.map(s => s.name.length > limit ? s.name.slice(0, limit - 9) + "…" + s.name.slice(-8) : s.name); // ends tell apart
    this.left = Math.max(margin, 14 + letter * Math.max(...names.map(n => n.length)));
    this.inner = this.width - this.left - this.right;
    this.bottom = this.top + band * series.length;
    this.band = band;
    this.slices();
    this.text = percent;
    const LEVELS = 25, cells = Array.from({length: LEVELS + 1}, () => ""), edge = x => Math.min(this.left + this.inner, Math.max(this.left, this.at(x))).toFixed(1);
    this.drawn = series.map((s, k) => {
      const values = this.mean(s.column), top = (this.top + k * band).toFixed(1);
      for (let i = 0, j; i < values.length; i = j) { // neighbours of one shade are one rectangle
        const level = Math.round((values[i] || 0) * LEVELS);
        for (j = i + 1; j < values.length && Math.round((values[j] || 0) * LEVELS) === level; j++);
        if (level) cells[level] += `M${edge(EDGE[this.groups[i][0]])} ${top}H${edge(EDGE[this.groups[j - 1][1]])}v${(band - 1).toFixed(1)}H${edge(EDGE[this.groups[i][0]])}Z`;
      }
      return {...s, values: [values]};
    });
    const every = Math.ceil(13 / band);
    return names.map((n, k) => {
      const y = this.top + (k + 0.5) * band;
      return (k % every ? "" : `<text class="label" x="${this.left - 7}" y="${y + 4}" text-anchor="end"><title>${esc(series[k].name)}</title>${esc(n)}</text>`) +
        `<line class="grid" x1="${this.left}" x2="${this.left + this.inner}" y1="${y + band / 2 - 0.5}" y2="${y + band / 2 - 0.5}"/>`;
    }).join("") + cells.map((d, level) => d && `<path class="cell" fill-opacity="${level / LEVELS}" d="${d}"/>`).join("");
  }

  // ---- reading off
  group(bucket) { return this.groups.findIndex(([a, b]) => bucket >= a && bucket < b); }
  point() { // the cursor's line, and dots where it crosses curves
    const g = cursor === null ? -1 : this.group(cursor), heat = this.spec.kind === "heat";
    const [a, b] = this.groups[g] || [0, 1], x = this.at((X[a] + X[b - 1]) / 2);
    let out = "";
    if (g >= 0 && x >= this.left - 1 && x <= this.left + this.inner + 1) {
      out = `<line class="cursor" x1="${x}" x2="${x}" y1="${this.top - 4}" y2="${this.bottom}"/>`;
      if (!heat) for (const s of this.drawn) {
        const v = s.column ? s.values[0][g] : null;
        if (v !== null && this.y(v) > this.top - 5 && this.y(v) < this.bottom + 5) out += `<circle class="point s-${s.style}" cx="${x}" cy="${this.y(v)}" r="3.5"/>`;
      }
    }
    if (this.brush) out += `<rect class="brush" x="${Math.min(...this.brush)}" y="${this.top - 4}" width="${Math.abs(this.brush[1] - this.brush[0])}" height="${this.bottom - this.top + 4}"/>`;
    this.over.innerHTML = out;
  }
  tell(y) { // what the tooltip says about the cursor's place
    const g = this.group(cursor);
    if (g < 0) { this.tip.hidden = true; return ""; }
    const [a, b] = this.groups[g], rows = rowsOf(a, b - 1);
    let list = this.drawn.map((s, k) => ({s, k, text: s.values.map(v => v[g]).includes(null) ? "–" : s.values.map(v => this.text(v[g])).join(" to ")}))
      .filter(({s}) => s.style !== "range" || s.values[0][g] !== s.values[1][g]); // a single row has no range
    if (this.spec.kind === "heat") {
      const under = y === undefined ? -1 : Math.floor((y - this.top) / this.band);
      list.sort((p, q) => (q.k === under) - (p.k === under) || q.s.values[0][g] - p.s.values[0][g]);
      list = list.slice(0, 5);
    } else list.reverse();
    const head = D.kind === "row" ? rows : `${place(X[a])} · ${rows}`;
    this.tip.innerHTML = `<b>${head.charAt(0).toUpperCase() + head.slice(1)}</b>` +
      list.map(({s, text}) => `<div>${s.style ? sample(s) : ""}<span>${esc(s.name)}</span><u>${text}</u></div>`).join("");
    this.tip.hidden = false;
    const x = this.at((X[a] + X[b - 1]) / 2), w = this.tip.offsetWidth, h = this.tip.offsetHeight;
    const left = x + 14 + w < this.width ? x + 14 : x - 14 - w > 0 ? x - 14 - w : Math.max(0, Math.min(this.width - w, x - w / 2));
    const top = this.spec.kind === "heat" && y !== undefined && y < this.height / 2 ? Math.min(y + 16, this.height - 20) : this.top;
    this.tip.style.transform = `translate(${left}px, ${this.spec.kind === "heat" && y >= this.height / 2 ? Math.max(-h / 2, y - h - 12) : top}px)`;
    return `${head}. ` + list.map(({s, text}) => `${s.name}: ${text}`).join("; ");
  }
  hover(px, y) {
    const x = Math.min(Math.max(this.back(px), view[0]), view[1]);
    moveTo(nearest(x), this, y);
  }

  // ---- gestures
  listen() {
    const svg = this.svg, spot = e => { const r = svg.getBoundingClientRect(), k = this.width / r.width; return [(e.clientX - r.left) * k, (e.clientY - r.top) * k]; };
    let start = null, pinch = null, tap = -Infinity;
    const inside = px => Math.min(Math.max(px, this.left), this.left + this.inner);
    svg.addEventListener("pointerdown", e => {
      const [px, y] = spot(e);
      if (e.pointerType === "mouse" && e.button) return;
      try { svg.setPointerCapture(e.pointerId); } catch { /* the pointer is gone already */ }
      this.fingers.set(e.pointerId, px);
      if (e.pointerType !== "touch") { start = inside(px); return; }
      if (this.fingers.size === 2) {
        const [p, q] = this.fingers.values();
        pinch = [this.back(p), this.back(q)];
        rest();
      } else { this.moved = false; this.hover(px, y); }
    });
    svg.addEventListener("pointermove", e => {
      const [px, y] = spot(e);
      if (this.fingers.has(e.pointerId)) {
        if (Math.abs(this.fingers.get(e.pointerId) - px) > 8) this.moved = true;
        if (pinch) this.fingers.set(e.pointerId, px);
      }
      if (pinch && this.fingers.size === 2) { // the two times held stay under the two fingers
        const [p, q] = this.fingers.values();
        if (Math.abs(q - p) < 12) return;
        const scale = (pinch[1] - pinch[0]) / (q - p);
        if (scale > 0) { const a = pinch[0] - (p - this.left) * scale; show(a, a + this.inner * scale); }
      } else if (start !== null) {
        this.brush = Math.abs(px - start) > 4 ? [start, inside(px)] : null;
        this.hover(inside(px), y);
      } else if (!pinch) this.hover(px, y);
    });
    const finish = e => {
      const [px] = spot(e), known = this.fingers.delete(e.pointerId);
      if (e.pointerType === "touch") {
        if (!this.fingers.size) pinch = null;
        if (e.type === "pointercancel") rest();
        else if (known && !this.moved && !pinch) {
          if (e.timeStamp - tap < 350) { show(...FULL); tap = -Infinity; } else tap = e.timeStamp;
        }
      } else if (start !== null) {
        const [a, b] = [this.back(start), this.back(inside(px))].sort((p, q) => p - q), far = Math.abs(px - start) > 4 && e.type === "pointerup";
        start = this.brush = null;
        if (far) show(a, b); else this.point();
      }
    };
    svg.addEventListener("pointerup", finish);
    svg.addEventListener("pointercancel", finish);
    svg.addEventListener("pointerleave", e => { if (e.pointerType === "mouse" && start === null) rest(); });
    svg.addEventListener("dblclick", () => show(...FULL));
    svg.addEventListener("wheel", e => { // a pinch on a trackpad; plain scrolling stays the page's
      if (!e.ctrlKey) return;
      e.preventDefault();
      zoom(Math.exp(e.deltaY / 150), this.back(inside(spot(e)[0])));
    }, {passive: false});
    svg.addEventListener("keydown", e => {
      const now = cursor === null ? below((view[0] + view[1]) / 2) : cursor, g = Math.max(0, this.group(now)), last = this.groups.length - 1;
      const stride = e.shiftKey ? 10 : 1, to = {ArrowLeft: g - stride, ArrowRight: g + stride, Home: 0, End: last}[e.key];
      if (to !== undefined) $("say").textContent = moveTo(this.groups[Math.min(last, Math.max(0, to))][0], this);
      else if (e.key === "+" || e.key === "=") zoom(0.5, X[now]);
      else if (e.key === "-") zoom(2, X[now]);
      else if (e.key === "Escape" || e.key === "0") { show(...FULL); rest(); }
      else return;
      e.preventDefault();
    });
    svg.addEventListener("blur", rest);
  }
}

function sample(s) {
  return `<svg viewBox="0 0 22 10" aria-hidden="true">` + (s.column ? `<path class="curve s-${s.style}" d="M1 5H21"/>` : `<rect class="area f-${s.style}" width="22" height="10" rx="2"/>`) + "</svg>";
}
function nearest(x) {
  const i = Math.max(0, below(x));
  return i + 1 < N && X[i + 1] - x < x - X[i] ? i + 1 : i;
}
function moveTo(bucket, chart, y) {
  cursor = bucket;
  let words = "";
  for (const c of charts) { c.point(); if (c === chart) words = c.tell(y); else c.tip.hidden = true; }
  return words;
}
function rest() { cursor = null; for (const c of charts) { c.tip.hidden = true; c.point(); } }
function zoom(factor, x) { show(x - (x - view[0]) * factor, x + (view[1] - x) * factor); }
const hint = $("range").textContent, touch = matchMedia("(pointer: coarse)").matches;
function drawAll() {
  const before = margin = 44; // charts stand in line: all get the margin of the one that needs most
  for (const c of charts) { c.tip.hidden = true; c.draw(); }
  if (margin > before) for (const c of charts) c.draw();
  const a = Math.min(N - 1, Math.max(0, below(view[0]))), b = Math.max(a, below(view[1] - (view[1] - view[0]) * 1e-9));
  $("reset").hidden = !zoomed();
  $("bar").classList.toggle("on", zoomed());
  $("range").textContent = zoomed() ? (D.kind === "row" ? "" : `${place(view[0])} – ${place(view[1])} · `) + rowsOf(a, Math.min(b, N - 1))
    : touch ? "Pinch a chart to zoom in on a time; tap it twice for the whole run." : hint;
}
const charts = D.charts.map(spec => new Chart(spec));
$("reset").addEventListener("click", () => show(...FULL));
document.addEventListener("pointerdown", e => { if (!e.target.closest(".plot")) rest(); });
new ResizeObserver(() => { if (charts[0].svg.parentNode.clientWidth !== charts[0].width) schedule(); }).observe(charts[0].svg.parentNode);
drawAll();
})();
