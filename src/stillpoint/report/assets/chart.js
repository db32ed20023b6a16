// A chart as plain SVG: curves and bands over an axis, or a heat map with one line a series.
const LANE = 17, LANES = {anomaly: "unusual", change: "changes"};
const alarm = (kind, x, y) => kind === "anomaly"
  ? `<rect class="alarm" x="${x - 1.25}" y="${y - 7}" width="2.5" height="14"/>`
  : `<path class="alarm moved" d="M${x} ${y - 5}l5 5l-5 5l-5 -5Z"/>`;
class Chart {
  constructor(spec, axis) {
    this.spec = spec;
    this.axis = axis;
    this.svg = $("c-" + spec.id);
    this.tip = this.svg.parentNode.querySelector(".tip");
    this.note = $("n-" + spec.id);
    this.hidden = new Set();
    this.everything = false; // whether outliers are shown at the cost of the rest
    axis.charts.push(this);
    this.keys();
    listen(this);
  }
  keys() {
    const box = $("k-" + this.spec.id);
    if (this.spec.kind === "heat") {
      box.innerHTML = '<span class="scale">weight 0 <i></i> 100%</span>';
      return;
    }
    [...this.spec.series.entries()].reverse().forEach(([i, s]) => { // what is drawn on top comes first
      const key = document.createElement("button");
      key.type = "button";
      key.className = "key";
      key.setAttribute("aria-pressed", "true");
      key.innerHTML = sample(s) + `<span>${esc(s.name)}</span>`;
      key.addEventListener("click", () => {
        if (!this.hidden.delete(i)) this.hidden.add(i);
        key.setAttribute("aria-pressed", String(!this.hidden.has(i)));
        this.draw();
      });
      box.append(key);
    });
  }

  // ---- values in view, joined so that there is about one to a pixel and a half
  slices() {
    const {axis} = this, [from, to] = axis.view;
    const first = Math.max(0, axis.below(from) - 1), last = Math.min(axis.count - 1, axis.below(to) + 1);
    const size = Math.max(1, Math.ceil((last - first + 1) / (this.inner / 1.5)));
    this.groups = [];
    for (let a = first - first % size; a <= last; a += size) {
      this.groups.push([a, Math.min(axis.count, a + size)]);
    }
  }
  mean(name) {
    const c = this.axis.columns[name];
    return this.groups.map(([a, b]) => {
      let n = 0, total = 0;
      for (let i = a; i < b; i++) if (c[i] !== null) { n++; total += c[i]; }
      return n ? total / n : null;
    });
  }
  extreme(name, rule) {
    const c = this.axis.columns[name];
    return this.groups.map(([a, b]) => {
      let e = null;
      for (let i = a; i < b; i++) if (c[i] !== null) e = e === null ? c[i] : rule(e, c[i]);
      return e;
    });
  }
  values(s) {
    if (s.column) return [this.mean(s.column)];
    if (s.style === "range") return [this.extreme(s.low, Math.min), this.extreme(s.high, Math.max)];
    return [this.mean(s.low), this.mean(s.high)];
  }
  middle(group) { const [a, b] = group; return this.at((this.axis.x[a] + this.axis.x[b - 1]) / 2); }
  at(x) { const [a, b] = this.axis.view; return this.left + (x - a) / (b - a) * this.inner; }
  back(px) { const [a, b] = this.axis.view; return a + (px - this.left) / this.inner * (b - a); }

  // ---- drawing
  draw() {
    const room = this.svg.parentNode.clientWidth, heat = this.spec.kind === "heat";
    if (!room) return; // inside a fold that is closed
    const small = (this.width = Math.max(240, room)) < 520;
    const lines = this.spec.series.length, band = clamp(420 / lines, 9, 22);
    const tall = this.spec.height || 260;
    this.strip = this.spec.strip && this.axis.alarms.length > 0;
    this.height = heat ? lines * band + 34 : small ? Math.min(tall, 260) : tall;
    this.top = heat ? 6 : 18;
    this.right = 10;
    this.bottom = this.height - 26;
    if (this.strip) this.height += 2 * LANE + 12;
    this.left = 10;
    this.inner = this.width - 20;
    this.slices();
    const body = heat ? this.heat(band, small) : this.lines();
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const frame = `x="${this.left}" y="${this.top - 4}" width="${this.inner}" height="${this.bottom - this.top + 8}"`;
    this.svg.innerHTML = `<defs><clipPath id="p-${this.spec.id}"><rect ${frame}/></clipPath></defs>` +
      `${body}${this.ruler()}${this.marks(heat)}${this.strip ? this.alarms() : ""}<g class="over"></g>`;
    this.over = this.svg.lastChild;
    this.point();
  }
  ruler() {
    const end = this.left + this.inner, y = this.bottom;
    return `<line class="axis" x1="${this.left}" x2="${end}" y1="${y}" y2="${y}"/>` +
      this.axis.labels(this.inner).map(([v, label]) => {
        const x = this.at(v), half = label.length * 3.3, middle = clamp(x, half + 2, this.width - 4 - half);
        return `<line class="axis" x1="${x}" x2="${x}" y1="${y}" y2="${y + 4}"/>` +
          `<text x="${middle}" y="${y + 18}" text-anchor="middle">${label}</text>`;
      }).join("");
  }
  marks(heat) {
    const {axis} = this, [from, to] = axis.view;
    let free = -Infinity; // labels that would touch are left out
    return axis.marks.filter(m => axis.x[m.at] > from && axis.x[m.at] < to)
      .sort((p, q) => p.at - q.at).map(m => {
        const x = this.at(axis.x[m.at]), end = x > this.left + this.inner * 0.85;
        const text = heat || x < free ? "" : `<text class="mark" x="${x + (end ? -4 : 4)}" y="12" ` +
          `text-anchor="${end ? "end" : "start"}">${esc(m.text)}</text>`;
        if (text) free = x + 8 + 7 * m.text.length;
        return `<line class="mark" x1="${x}" x2="${x}" y1="${heat ? this.top : 4}" y2="${this.bottom}"/>${text}`;
      }).join("");
  }
  lane(kind) { return this.bottom + 30 + LANE * (0.5 + Object.keys(LANES).indexOf(kind)); }
  alarms() { // below the axis, a lane a kind
    const {axis} = this, [from, to] = axis.view, end = this.left + this.inner;
    return Object.entries(LANES).map(([kind, name]) => {
      const y = this.lane(kind);
      return `<text class="label" x="${this.left - 7}" y="${y + 4}" text-anchor="end">${name}</text>` +
        `<line class="grid" x1="${this.left}" x2="${end}" y1="${y}" y2="${y}"/>`;
    }).join("") + axis.alarms.filter(m => axis.x[m.at] >= from && axis.x[m.at] <= to)
      .map(m => alarm(m.kind, this.at(axis.x[m.at]), this.lane(m.kind))).join("");
  }
  lines() {
    const seen = this.spec.series.filter((s, i) => !this.hidden.has(i));
    this.drawn = seen.map(s => ({...s, values: this.values(s)}));
    const [lo, hi] = this.range(), height = this.bottom - this.top;
    const unit = 10 ** Math.floor(Math.log10((hi - lo) / 300)), [at, step] = ticks(lo, hi, height / 46);
    const share = this.spec.format === "percent", labels = at.map(v => share ? percent(v) : stepped(v, step));
    const wide = Math.max(14 + 6.8 * Math.max(0, ...labels.map(l => l.length)), this.strip ? 62 : 0);
    this.left = this.axis.margin = Math.max(this.axis.margin, wide);
    this.inner = this.width - this.left - this.right;
    this.y = v => this.bottom - clamp((v - lo) / (hi - lo), -1e4, 1e4) * height;
    this.px = this.groups.map(group => this.middle(group));
    this.text = share ? percent : v => Math.abs(v) < unit / 2 ? "0" : stepped(v, unit); // as fine as can be seen
    this.cut(lo, hi);
    const across = y => `x1="${this.left}" x2="${this.left + this.inner}" y1="${y}" y2="${y}"`;
    let out = at.map((v, i) => `<line class="grid" ${across(this.y(v))}/>` +
      `<text x="${this.left - 7}" y="${this.y(v) + 4}" text-anchor="end">${labels[i]}</text>`).join("");
    if (this.spec.zero) out += `<line class="zero" ${across(this.y(0))}/>`;
    const roomy = this.inner / this.groups.length > 9 || this.axis.kind === "step";
    return out + `<g clip-path="url(#p-${this.spec.id})">` + this.drawn.map(s => {
      const from = s.bridge ? this.bridge(s) : null;
      if (!s.column) return `<path class="area f-${s.style}" d="${this.area(...s.values, from)}"/>`;
      const dot = (v, i) => v === null ? ""
        : `<circle class="dot d-${s.style}" cx="${this.px[i]}" cy="${this.y(v)}" r="2.3"/>`;
      const dots = roomy && s.dots ? s.values[0].map(dot).join("") : "";
      return `<path class="curve s-${s.style}" d="${this.path(s.values[0], from)}"/>${dots}`;
    }).join("") + "</g>";
  }
  bridge(s) { // the last point of another curve, which this one goes on from
    const first = s.values[0].findIndex(v => v !== null), before = this.mean(s.bridge);
    for (let i = first - 1; i >= 0; i--) if (before[i] !== null) return [this.px[i], this.y(before[i])];
    return null;
  }
  path(values, from) {
    let out = from ? `M${from[0].toFixed(1)} ${from[1].toFixed(1)}` : "", pen = !!from, begun = false;
    values.forEach((v, i) => {
      if (v === null) { if (begun) pen = false; return; }
      out += `${pen ? "L" : "M"}${this.px[i].toFixed(1)} ${this.y(v).toFixed(1)}` + (pen ? "" : "h.01");
      pen = begun = true;
    });
    return out;
  }
  area(low, high, from) {
    const spot = (i, values) => `${this.px[i].toFixed(1)} ${this.y(values[i]).toFixed(1)}`;
    let out = "", run = [], begin = from ? `${from[0].toFixed(1)} ${from[1].toFixed(1)}L` : "";
    const close = () => {
      if (run.length) {
        const over = run.map(i => spot(i, high)).join("L");
        out += "M" + begin + over + "L" + run.reverse().map(i => spot(i, low)).join("L") + "Z";
        begin = "";
      }
      run = [];
    };
    low.forEach((v, i) => { if (v === null || high[i] === null) close(); else run.push(i); });
    close();
    return out;
  }

  // ---- how high: curves are seen whole unless few values would flatten all others
  range() {
    const found = {core: [], soft: [], room: []};
    for (const s of this.drawn) {
      for (const values of s.values) found[s.fit].push(...values.filter(v => v !== null));
    }
    const {soft, room} = found, core = [found.core, soft, room].find(list => list.length) || [];
    for (const list of Object.values(found)) list.sort((a, b) => a - b);
    const at = (list, q) => list[Math.round(q * (list.length - 1))];
    let lo = Infinity, hi = -Infinity;
    if (core.length) {
      [lo, hi] = [core[0], core[core.length - 1]];
      const low = at(core, 0.01), high = at(core, 0.99), usual = high - low;
      if (this.spec.clip && !this.everything && usual > 0 && hi - lo > this.spec.clip * usual) {
        const late = this.latest(); // what came last is always shown
        lo = Math.max(lo, Math.min(low - usual / 2, ...late));
        hi = Math.min(hi, Math.max(high + usual / 2, ...late));
      }
    }
    const span = hi - lo, limit = share => span > 0 && !this.everything ? share * span : Infinity;
    if (soft.length) { // bands and stray curves may be cut: their first rows would flatten the rest
      const least = lo - limit(0.3), most = hi + limit(0.3);
      const low = soft[0] < least ? at(soft, 0.02) : soft[0];
      const high = at(soft, 1) > most ? at(soft, 0.98) : at(soft, 1);
      lo = Math.min(lo, Math.max(low, least));
      hi = Math.max(hi, Math.min(high, most));
    }
    if (room.length) {
      if (room[0] < lo) lo = Math.max(room[0], lo - limit(1));
      if (at(room, 1) > hi) hi = Math.min(at(room, 1), hi + limit(1));
    }
    if (lo > hi) { lo = 0; hi = 1; }
    if (this.spec.zero || this.spec.origin && !this.axis.zoomed) { lo = Math.min(lo, 0); hi = Math.max(hi, 0); }
    const least = this.spec.least || 0; // a share that hardly moves is not to look as if it did
    if (hi - lo < least) { lo = (lo + hi - least) / 2; hi = lo + least; }
    if (hi - lo < 1e-12 * Math.max(Math.abs(lo), Math.abs(hi), 1e-280)) {
      const pad = Math.abs(hi) * 0.1 || 1;
      lo -= pad;
      hi += pad;
    }
    const pad = (hi - lo) * 0.05, {floor, ceiling} = this.spec;
    return [floor !== undefined && lo >= floor ? Math.max(floor, lo - pad) : lo - pad,
      ceiling !== undefined ? Math.min(ceiling, hi + pad) : hi + pad];
  }
  latest() {
    const out = [];
    for (const s of this.drawn) if (s.fit === "core") for (const values of s.values) {
      out.push(...values.slice(-Math.max(2, Math.ceil(values.length / 50))).filter(v => v !== null));
    }
    return out;
  }
  cut(lo, hi) { // say what the chart leaves out
    if (!this.spec.note) return;
    const parts = [];
    for (const s of this.drawn.slice().reverse()) { // what is drawn on top matters most
      const out = [];
      const beyond = v => v !== null && (v < lo || v > hi), off = v => Math.abs(v - (lo + hi) / 2);
      this.groups.forEach((group, i) => { if (s.values.some(v => beyond(v[i]))) out.push(i); });
      if (!out.length) continue;
      const worst = s.values.flat().filter(beyond).reduce((a, b) => off(b) > off(a) ? b : a);
      const first = this.groups[out[0]][0], last = this.groups[out[out.length - 1]][1] - 1;
      const where = first === last || out.length === 1 ? this.axis.rowsOf(first, last)
        : `${out.length} places in ${this.axis.rowsOf(first, last)}`;
      parts.push(`${esc(s.name)} at ${where}, as far as ${figure(worst)}`);
    }
    const words = parts.slice(0, 2).join("; ") + (parts.length > 2 ? " and more" : "");
    const offer = this.everything ? "Leave outliers out" : "Show all of it";
    const button = !this.spec.clip || !words && !this.everything ? ""
      : ` <button type="button" class="link">${offer}</button>`;
    this.note.innerHTML = (words ? `Beyond the edge of this chart: ${words}.` : "") + button;
    this.note.hidden = !this.note.innerHTML;
    const link = this.note.querySelector("button");
    if (link) link.onclick = () => { this.everything = !this.everything; this.draw(); };
  }

  heat(band, small) {
    const series = this.spec.series, letter = small ? 5.7 : 6.4;
    const limit = Math.floor(this.width * (small ? 0.4 : 0.3) / letter);
    const short = name => name.slice(0, limit - 9) + "…" + name.slice(-8); // ends tell apart
    const names = series.map(s => s.name.length > limit ? short(s.name) : s.name);
    this.left = Math.max(this.axis.margin, 14 + letter * Math.max(...names.map(n => n.length)));
    this.inner = this.width - this.left - this.right;
    this.bottom = this.top + band * series.length;
    this.band = band;
    this.slices();
    this.text = percent;
    const LEVELS = 25, cells = Array.from({length: LEVELS + 1}, () => ""), {edges} = this.axis;
    const edge = i => clamp(this.at(edges[i]), this.left, this.left + this.inner).toFixed(1);
    this.drawn = series.map((s, k) => {
      const values = this.mean(s.column), top = (this.top + k * band).toFixed(1);
      for (let i = 0, j; i < values.length; i = j) { // neighbours of one shade are one rectangle
        const level = Math.round((values[i] || 0) * LEVELS), from = edge(this.groups[i][0]);
        for (j = i + 1; j < values.length && Math.round((values[j] || 0) * LEVELS) === level; j++);
        const to = edge(this.groups[j - 1][1]), tall = (band - 1).toFixed(1);
        if (level) cells[level] += `M${from} ${top}H${to}v${tall}H${from}Z`;
      }
      return {...s, values: [values]};
    });
    const every = Math.ceil(13 / band), end = this.left + this.inner;
    return names.map((name, k) => {
      const y = this.top + (k + 0.5) * band, line = y + band / 2 - 0.5;
      const label = k % every ? "" : `<text class="label" x="${this.left - 7}" y="${y + 4}" text-anchor="end">` +
        `<title>${esc(series[k].name)}</title>${esc(name)}</text>`;
      return `${label}<line class="grid" x1="${this.left}" x2="${end}" y1="${line}" y2="${line}"/>`;
    }).join("") + cells.map((d, level) => d && `<path class="cell" fill-opacity="${level / LEVELS}" d="${d}"/>`).join("");
  }

  // ---- reading off
  group(place) { return this.groups.findIndex(([a, b]) => place >= a && place < b); }
  point() { // the cursor's line, and dots where it crosses curves
    if (!this.over) return;
    const {cursor} = this.axis, g = cursor === null ? -1 : this.group(cursor);
    let out = "";
    if (g >= 0) {
      const x = this.middle(this.groups[g]);
      if (x >= this.left - 1 && x <= this.left + this.inner + 1) {
        out = `<line class="cursor" x1="${x}" x2="${x}" y1="${this.top - 4}" y2="${this.bottom}"/>`;
        if (this.spec.kind !== "heat") for (const s of this.drawn) {
          const v = s.column ? s.values[0][g] : null, y = v === null ? NaN : this.y(v);
          if (y > this.top - 5 && y < this.bottom + 5) {
            out += `<circle class="point s-${s.style}" cx="${x}" cy="${y}" r="3.5"/>`;
          }
        }
      }
    }
    if (this.brush) {
      const [a, b] = this.brush;
      out += `<rect class="brush" x="${Math.min(a, b)}" y="${this.top - 4}" ` +
        `width="${Math.abs(b - a)}" height="${this.bottom - this.top + 4}"/>`;
    }
    this.over.innerHTML = out;
  }
  tell(y) { // what the tooltip says about the cursor's place
    const {axis} = this, g = this.group(axis.cursor), heat = this.spec.kind === "heat";
    if (g < 0) { this.tip.hidden = true; return ""; }
    const [a, b] = this.groups[g], rows = axis.rowsOf(a, b - 1);
    let list = this.drawn.map((s, k) => ({s, k, at: s.values.map(v => v[g])}))
      // a single row has no range
      .filter(({s, at}) => !at.includes(null) && (s.style !== "range" || at[0] !== at[1]));
    if (heat) {
      const under = y === undefined ? -1 : Math.floor((y - this.top) / this.band);
      list.sort((p, q) => (q.k === under) - (p.k === under) || q.at[0] - p.at[0]);
      list = list.slice(0, 5);
    } else list.reverse();
    list = list.map(each => ({...each, text: each.at.map(v => this.text(v)).join(" to ")}));
    const at = axis.place(axis.x[a]);
    const head = axis.kind === "row" ? rows : axis.kind === "step" ? at : `${at} · ${rows}`;
    const line = ({s, text}) => `<div>${s.style ? sample(s) : ""}<span>${esc(s.name)}</span><u>${text}</u></div>`;
    const told = this.strip ? axis.alarms.filter(m => m.at >= a && m.at < b) : [];
    const mark = m => `<div><svg>${alarm(m.kind, 11, 5)}</svg><span>${esc(m.text)}</span></div>`;
    this.tip.innerHTML = `<b>${head.charAt(0).toUpperCase() + head.slice(1)}</b>` +
      list.map(line).join("") + told.slice(0, 4).map(mark).join("");
    this.tip.hidden = false;
    const x = this.middle(this.groups[g]), w = this.tip.offsetWidth, h = this.tip.offsetHeight;
    const left = x + 14 + w < this.width ? x + 14
      : x - 14 - w > 0 ? x - 14 - w : clamp(x - w / 2, 0, this.width - w);
    const low = heat && y >= this.height / 2, high = heat && y < this.height / 2;
    const top = low ? Math.max(-h / 2, y - h - 12) : high ? Math.min(y + 16, this.height - 20) : this.top;
    this.tip.style.transform = `translate(${left}px, ${top}px)`;
    return `${head}. ` + [...list.map(({s, text}) => `${s.name}: ${text}`), ...told.map(m => m.text)].join("; ");
  }
  hover(px, y) {
    const {axis} = this, off = m => Math.abs(this.at(axis.x[m.at]) - px);
    const near = this.strip && y > this.bottom + 24 // on the strip: the alarm that is meant
      ? axis.alarms.reduce((p, q) => p && off(p) <= off(q) ? p : q) : null;
    const place = near && off(near) < 12 ? near.at : axis.nearest(clamp(this.back(px), ...axis.view));
    axis.moveTo(place, this, y);
  }
}

function sample(s) { // a piece of a curve or a band, for keys
  const shape = s.column ? `<path class="curve s-${s.style}" d="M1 5H21"/>`
    : `<rect class="area f-${s.style}" width="22" height="10" rx="2"/>`;
  return `<svg viewBox="0 0 22 10" aria-hidden="true">${shape}</svg>`;
}
