// Elements and words. Everything that comes from outside is put in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
export const $ = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return an element of HTML; strings among its children become text. */
export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

/** Return an element of SVG. */
export const s = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** Say something, unless it is said already: what reads the page aloud is not disturbed. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === "";
}

/** Put other children into an element. Whoever is at a button of it by the keyboard stays at the button of the same `data-key`. */
export function redraw(element, ...children) {
  const at = element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const scrolled = element.scrollLeft;
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (at !== undefined) [...element.querySelectorAll("[data-key]")].find((one) => one.dataset.key === at)?.focus();
  element.scrollLeft = scrolled;
}

/** Return a table; a cell is text, an element, or a list of both. Columns in `numbers` are aligned as numbers are. */
export function table(head, rows, { numbers = [], caption, classes = [] } = {}) {
  const kind = (place) => [numbers.includes(place) && "number", classes[place]].filter(Boolean).join(" ") || null;
  return h("table", {},
    caption && h("caption", {}, caption),
    h("thead", {}, h("tr", {}, head.map((one, place) => h("th", { scope: "col", class: kind(place) }, one)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((one, place) =>
      place ? h("td", { class: kind(place) }, one) : h("th", { scope: "row", class: kind(place) }, one))))));
}

/** Let a `details` show a table that is made only while it is open. */
export function tabled(details, make) {
  details.make = make;
  if (!details.ready) {
    details.ready = true;
    details.append(h("div", { class: "wide" }));
    details.addEventListener("toggle", () => show(details));
  }
  show(details);
}

function show(details) {
  if (details.open) redraw(details.lastElementChild, details.make());
}

/** Return a coloured square. */
export const chip = (colour, kind = "") => h("span", { class: `chip ${colour} ${kind}`, "aria-hidden": "true" });

const three = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A number in three digits, a minus as a minus; a dash for what is not known. */
export const number = (value) => (value === null || value === undefined ? "–" : brief(value, Math.abs(value) >= 1000 || Number.isInteger(value) ? whole : three));
/** A number in as few digits as it needs. */
export const brief = (value, format = short) => format.format(value).replace("-", "−");
export const signed = (value) => (value > 0 ? "+" : "") + number(value);
export const count = (value) => whole.format(value);
export const share = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
/** A probability that is never said to be certain unless it is. */
export const sure = (value) => (value >= 0.995 && value < 1 ? "over 0.99" : value > 0 && value < 0.005 ? "under 0.01" : share(value));
export const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(value > 0.995 || value === 0 ? 0 : 1)} %`);
export const between = (low, high) => (low === null || low === undefined ? "no interval yet" : `${number(low)} to ${number(high)}`);
export const times = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** 1st, 2nd, 3rd, 4th, 11th ... */
export function ordinal(value) {
  const last = value % 100 > 10 && value % 100 < 14 ? 0 : value % 10;
  return `${value}${["th", "st", "nd", "rd"][last] ?? "th"}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** The time of day, with the date unless it is today; microseconds since 1970. */
export function time(us, seconds = false) {
  const date = new Date(us / 1000);
  const text = (seconds ? exact : clock).format(date);
  return date.toDateString() === new Date().toDateString() ? text : `${day.format(date)} ${text}`;
}

/** A length of time in words; microseconds. */
export function lasting(us) {
  const seconds = us / 1e6;
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 90) return `${brief(Number(seconds.toPrecision(2)))} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${brief(Number((seconds / 3600).toPrecision(2)))} h`;
  return `${brief(Number((seconds / 86400).toPrecision(2)))} days`;
}
