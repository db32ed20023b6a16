// Numbers and dates for people; the page's words use the same rules.
const $ = id => document.getElementById(id);
const THIN = "\u202f", SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹", DAY = 86400;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"};
const esc = s => String(s).replace(/[&<>"]/g, c => ENTITIES[c]);
const clamp = (v, least, most) => Math.min(Math.max(v, least), most);

function grouped(text) { // thin spaces between thousands, before the point only
  const [whole, ...rest] = text.replace(/^-/, "−").split(".");
  return [whole.replace(/\B(?=(\d{3})+(?!\d))/g, THIN), ...rest].join(".");
}
function figure(v, digits = 3) {
  if (v === null || v === undefined) return "–";
  if (v === 0) return "0";
  const [mantissa, exponent] = v.toExponential(digits - 1).split("e"), size = +exponent;
  if (size < -4 || size > 8) {
    const power = String(size).replace("-", "⁻").replace(/\d/g, d => SUPER[d]);
    return mantissa.replace("-", "−") + THIN + "×" + THIN + "10" + power;
  }
  const places = digits - 1 - size;
  return grouped(places >= 0 ? v.toFixed(places) : String(Math.round(v * 10 ** places) / 10 ** places));
}
const percent = v => (100 * v).toFixed(1).replace(/\.0$/, "").replace("-", "−") + "%";
const whole = v => grouped(String(Math.round(v)));
function stepped(v, step) { // a label on an axis: as many places as the step needs
  const size = Math.floor(Math.log10(step) + 1e-9), top = Math.max(Math.abs(v), step);
  if (v === 0) return "0";
  if (top >= 1e7 || step < 1e-4) {
    return figure(v, Math.max(1, Math.floor(Math.log10(top) + 1e-9) - size + 1));
  }
  return grouped(v.toFixed(Math.max(0, -size)));
}

// ---- dates, always in UTC
const two = n => String(n).padStart(2, "0");
function date(seconds, grain) { // grain: "second", "clock", "day", "month" or "year"
  const d = new Date(seconds * 1000), year = String(d.getUTCFullYear());
  if (grain === "year") return year;
  const month = `${MONTHS[d.getUTCMonth()]} ${year}`;
  if (grain === "month") return month;
  const day = `${d.getUTCDate()} ${month}`;
  if (grain === "day") return day;
  const clock = `${day} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
  return grain === "second" ? `${clock}:${two(d.getUTCSeconds())}` : clock;
}
const CLOCKS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY];
const SPANS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000]; // months
function dateTicks(a, b, count) { // [place, label] of about so many
  const want = (b - a) / count, out = [], step = CLOCKS.find(s => s >= want);
  if (step) {
    for (let t = Math.ceil(a / step) * step; t <= b; t += step) {
      const d = new Date(t * 1000), seconds = step < 60 ? ":" + two(d.getUTCSeconds()) : "";
      const clock = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}${seconds}`;
      const day = `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]}`;
      out.push([t, step >= DAY || t % DAY === 0 ? day : clock]);
    }
    return out;
  }
  const months = SPANS.find(m => m * 30.44 * DAY >= want) || 24000, start = new Date(a * 1000);
  let m = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / months) * months;
  for (;; m += months) {
    const d = new Date(0); // Date.UTC would take years below 100 for those of the last century
    d.setUTCFullYear(Math.floor(m / 12), m % 12, 1);
    const t = d.getTime() / 1000, month = d.getUTCMonth();
    if (t > b) return out;
    if (t >= a) out.push([t, months >= 12 || !month ? String(d.getUTCFullYear()) : MONTHS[month]]);
  }
}
function ticks(a, b, count) { // round places, about so many, and the step between them
  const raw = (b - a) / Math.max(1, count), base = 10 ** Math.floor(Math.log10(raw));
  const step = base * [1, 2, 5, 10].find(m => m * base >= raw * 0.8), out = [];
  for (let k = Math.ceil(a / step - 1e-9); k * step <= b + step * 1e-9; k++) out.push(k * step);
  return [out, step];
}
