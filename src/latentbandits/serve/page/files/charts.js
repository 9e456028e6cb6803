// Charts as SVG, drawn in the pixels of the screen so that text keeps its size. Colours are classes of the style sheet.

import { $, chip, h, redraw, s } from "./dom.js";

const LEFT = 44, RIGHT = 8, BOTTOM = 22, HINT = "Point at the chart to read it.";
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
export const hour = (minute) => clock.format(new Date(minute * 60000));

/** Make the hatching of every colour of an arm. */
export function patterns() {
  const colours = [...Array(8).keys()].map((place) => `a${place}`).concat("rest");
  $("patterns").replaceChildren(...colours.map((colour) =>
    s("pattern", { id: `hatched-${colour}`, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("rect", { width: 5, height: 5, class: colour }), s("rect", { width: 2.2, height: 5, class: "gap" }))));
}

/**
 * Draw a chart over time into a box.
 *
 * label: what it shows, for those who do not see it; top: the highest value; ticks: values at the axis, with their text;
 * strip: room above it; draw: given x, y and the height, returns elements; read: given a minute, returns what was then; legend: elements.
 */
export function chart(box, { label, from, until, top, ticks, strip = 0, tall = 150, draw, read, legend = [] }) {
  const width = Math.max(280, box.clientWidth), height = strip + tall + BOTTOM + 8;
  const x = (minute) => LEFT + ((minute - from) / (until - from)) * (width - LEFT - RIGHT);
  const y = (value) => strip + 6 + (1 - value / top) * tall;
  const output = h("output", { class: "reading", "aria-live": "off" }, HINT);
  const cursor = s("line", { class: "cursor", y1: strip, y2: strip + 6 + tall, x1: -9, x2: -9 });
  const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    ticks.map(([value, text]) => [
      s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, text)]),
    draw({ x, y, strip, bottom: y(0) }),
    hours(from, until, width).map((minute) => [
      s("line", { class: "axis", x1: x(minute), x2: x(minute), y1: y(0), y2: y(0) + 4 }),
      s("text", { class: "tick", x: x(minute), y: y(0) + 17, "text-anchor": "middle" }, hour(minute))]),
    s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(0), y2: y(0) }), cursor);
  picture.addEventListener("pointermove", (event) => {
    const minute = Math.floor(from + ((event.offsetX - LEFT) / (width - LEFT - RIGHT)) * (until - from));
    if (minute < from || minute >= until) return;
    cursor.setAttribute("x1", x(minute + 0.5));
    cursor.setAttribute("x2", x(minute + 0.5));
    output.textContent = read(minute);
  });
  picture.addEventListener("pointerleave", () => {
    cursor.setAttribute("x1", -9);
    cursor.setAttribute("x2", -9);
    output.textContent = HINT;
  });
  if (matchMedia("(hover: hover)").matches && box.querySelector("svg:hover")) return; // somebody reads it: the next time will do
  redraw(box, picture, output, h("ul", { class: "legend" }, legend));
}

/** Say in words why there is no chart. */
export const none = (box, text) => redraw(box, h("p", { class: "none" }, text));

/** An entry of a legend. */
export const entry = (colour, text, kind) => h("li", {}, chip(colour, kind), text);

/** Times at the axis, so many that they do not touch: at whole hours or parts of them, by the clock of the browser. */
function hours(from, until, width) {
  const most = Math.max(2, Math.floor((width - LEFT) / 64));
  const step = [5, 10, 15, 30, 60, 120, 180, 240, 360, 720].find((size) => (until - from) / size <= most) ?? 1440;
  const shift = -new Date(from * 60000).getTimezoneOffset();
  const found = [];
  for (let at = Math.ceil((from + shift) / step) * step - shift; at <= until; at += step) found.push(at);
  const margin = ((until - from) * 18) / width;
  return found.filter((at) => at < until - margin && at >= from);
}

/** Areas upon each other, one per name; a point is `{ from, until, parts }`, parts in the order of the colours. */
export function stacked(points, fills, x, y) {
  const paths = fills.map(() => "");
  for (const { from, until, parts } of points) {
    let sum = 0;
    parts.forEach((part, place) => {
      if (part <= 0) return;
      const [low, high] = [y(sum), y(sum + part)];
      paths[place] += `M${x(from).toFixed(1)} ${low.toFixed(1)}H${x(until).toFixed(1)}V${high.toFixed(1)}H${x(from).toFixed(1)}Z`;
      sum += part;
    });
  }
  return paths.map((d, place) => d && s("path", { d, ...fills[place] })).filter(Boolean);
}

/** A line through points `[minute, value]`, with a dot at each where they are few. */
export function line(points, kind, x, y) {
  const d = points.map(([minute, value], place) => `${place ? "L" : "M"}${x(minute).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const dots = points.length > 40 ? [] : points.map(([minute, value]) => s("circle", { class: `dot ${kind}`, cx: x(minute), cy: y(value), r: 2.5 }));
  return [s("path", { d, class: `line ${kind}` }), ...dots];
}

/** Round numbers from 0 to just above the highest value: the top, and the values at the axis. */
export function scale(highest, text) {
  const rough = (highest > 0 ? highest : 1) / 3.5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * unit).find((one) => one >= rough);
  const top = step * Math.max(1, Math.ceil((highest || 1) / step));
  const ticks = [];
  for (let value = 0; value <= top * 1.001; value += step) ticks.push([value, text(value)]);
  return { top, ticks };
}

/** An interval on a common scale: a bar from low to high, a dot at the mean, a line at zero if it is within. */
export function interval({ low, mean, high }, [least, most], kind, words) {
  const width = 140, at = (value) => 4 + ((value - least) / (most - least || 1)) * (width - 8);
  const ends = low === null || low === undefined ? [mean, mean] : [low, high];
  return s("svg", { class: "interval", viewBox: `0 0 ${width} 14`, role: "img", "aria-label": words },
    s("line", { class: "track", x1: 0, x2: width, y1: 7, y2: 7 }),
    least < 0 && most > 0 ? s("line", { class: "zero", x1: at(0), x2: at(0), y1: 0, y2: 14 }) : null,
    s("line", { class: `bar ${kind}`, x1: at(ends[0]), x2: at(ends[1]), y1: 7, y2: 7 }),
    s("circle", { class: `dot ${kind}`, cx: at(mean), cy: 7, r: 3.5 }));
}
