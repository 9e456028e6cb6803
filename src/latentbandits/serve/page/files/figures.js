// The charts of the page and the tables under them.

import { chart, entry, hour, line, none, scale, stacked } from "./charts.js";
import { $, brief, count, lasting, number, percent, s, say, share, table, tabled } from "./dom.js";
import { believed, columns, MINUTE, regimeColour, regimeName, span, state, total, visits } from "./state.js";

const NEW = "none of these";
const SHOWN = 8; // regimes, or arms, with a colour of their own
const upTo = (from, step) => (step === 1 ? hour(from) : `${hour(from)}–${hour(from + step)}`);

/** Draw all of them. */
export function draw() {
  const shown = span(), parts = columns(shown);
  belief(shown);
  allocation(shown, parts);
  rewards(shown, parts);
  delay(shown, parts);
}

function belief(shown) {
  const rows = believed(shown), box = $("belief-chart");
  for (const details of [$("belief-table"), $("visits-table")]) details.hidden = !rows.length;
  if (!rows.length) {
    none(box, state.now?.regime ? "No belief was recorded in this time." : "This policy keeps no belief over regimes, or has not learned enough for one.");
    return;
  }
  const weight = new Map();
  for (const row of rows) for (const [regime, probability] of row.states) weight.set(regime, (weight.get(regime) ?? 0) + probability);
  const main = [...weight].sort((a, b) => b[1] - a[1]).slice(0, SHOWN).map(([regime]) => regime).sort((a, b) => a - b);
  const points = rows.map((row, place) => {
    const held = new Map(row.states);
    const parts = main.map((regime) => held.get(regime) ?? 0);
    const known = parts.reduce((sum, one) => sum + one, 0);
    return { row, from: row.minute, until: rows[place + 1]?.minute ?? shown.until, parts: [...parts, Math.min(row.elsewhere, 1 - known), Math.max(0, 1 - known - row.elsewhere)] };
  });
  const fills = [...main.map((regime) => ({ class: regimeColour(regime) })), { class: "new" }, { class: "rest" }];
  const stays = visits(shown);
  const at = (minute) => points.findLast((point) => point.from <= minute);
  const words = (point) => [...main.map((regime, place) => [regimeName(regime), point.parts[place]]), [NEW, point.row.elsewhere]]
    .filter(([, value]) => value >= 0.005).map(([name, value]) => `${name} ${share(value)}`).join(", ");
  chart(box, {
    label: `Belief over ${main.length} regimes from ${hour(shown.from)} to ${hour(shown.until)}, with ${stays.length - 1} changes; the table below has the numbers`,
    ...shown, top: 1, ticks: [[0, "0"], [0.5, "0.5"], [1, "1"]], strip: 24,
    draw: ({ x, y, bottom }) => [
      stacked(points, fills, x, y),
      stays.map((stay, place) => strip(stay, place, x, bottom, shown.until)),
    ],
    read: (minute) => (at(minute) ? `${hour(minute)}: ${words(at(minute))}` : ""),
    legend: [...main.map((regime) => entry(regimeColour(regime), `${regimeName(regime)}${forgotten(regime)}`)), entry("new", NEW)],
  });
  tabled($("belief-table"), () => {
    const ends = [];
    for (let from = shown.from; from < shown.until; from += shown.step) {
      const point = at(Math.min(from + shown.step, shown.until) - 1);
      if (point) ends.push([upTo(from, shown.step), ...point.parts.slice(0, main.length + 1).map(share)]);
    }
    return table(["time", ...main.map(regimeName), NEW], ends.reverse(), { numbers: main.concat(0).map((_, place) => place + 1) });
  });
  tabled($("visits-table"), () => table(["regime", "from", "until", "for"], stays.map((stay) => [
    regimeName(stay.regime), hour(stay.from), stay.until === null ? "now" : hour(stay.until),
    lasting(((stay.until ?? shown.until) - stay.from) * MINUTE)]).reverse()));
}

/** What a legend says of a regime that has no card any more: the policy has merged it with another one, or dropped it. */
const forgotten = (regime) => (!state.regimes?.regimes.length || state.regimes.regimes.some((one) => one.number === regime) ? "" : " (no longer remembered)");

function strip(stay, place, x, bottom, until) {
  const [left, right] = [x(stay.from), x(stay.until ?? until)];
  const name = regimeName(stay.regime), fits = Math.floor((right - left - 6) / 6.6);
  return [
    s("rect", { class: regimeColour(stay.regime), x: left, y: 2, width: Math.max(1, right - left - 1), height: 18, rx: 2 }, s("title", {}, name)),
    fits >= 4 ? s("text", { class: "stay", x: left + 4, y: 15 }, name.length > fits ? `${name.slice(0, fits - 1)}…` : name) : null,
    place ? s("line", { class: "change", x1: left, x2: left, y1: 2, y2: bottom }) : null];
}

const isProbe = (row) => row.by === "floor";

/** Decisions per arm: by the policy alone, by probes and the floor, held back; and how many there are. */
function split(rows) {
  const arms = new Map();
  for (const row of rows) {
    const place = Math.min(state.arms.findIndex((arm) => String(arm) === String(row.arm)), SHOWN);
    const sums = arms.get(place) ?? [0, 0, 0];
    if (row.by === "control") sums[2] += row.decided;
    else {
      const probes = isProbe(row) ? row.decided : row.probed;
      sums[0] += row.decided - probes;
      sums[1] += probes;
    }
    arms.set(place, sums);
  }
  return arms;
}

function allocation(shown, parts) {
  const box = $("allocation-chart"), made = parts.filter(({ rows }) => total(rows, "decided") > 0);
  $("allocation-table").hidden = !made.length;
  if (!made.length) return none(box, "No decisions in this time.");
  const shownArms = state.arms.slice(0, SHOWN), places = [...shownArms.keys(), ...(state.arms.length > SHOWN ? [SHOWN] : [])];
  const names = places.map((place) => (place < SHOWN ? String(state.arms[place]) : `${state.arms.length - SHOWN} other arms`));
  const colours = places.map((place) => (place < SHOWN ? `a${place}` : "rest"));
  const fills = colours.flatMap((colour) => [{ class: colour }, { fill: `url(#hatched-${colour})` }, { class: `${colour} pale` }]);
  const points = made.map(({ from, rows }) => {
    const sums = split(rows), all = total(rows, "decided");
    return { from, until: Math.min(from + shown.step, shown.until), all, sums, parts: places.flatMap((place) => (sums.get(place) ?? [0, 0, 0]).map((one) => one / all)) };
  });
  const at = (minute) => points.find((point) => point.from <= minute && minute < point.from + shown.step);
  const three = (point, place) => point.sums.get(place) ?? [0, 0, 0];
  chart(box, {
    label: `Share of decisions of ${state.arms.length} arms from ${hour(shown.from)} to ${hour(shown.until)}; the table below has the numbers`,
    ...shown, top: 1, ticks: [[0, "0 %"], [0.5, "50 %"], [1, "100 %"]],
    draw: ({ x, y }) => stacked(points, fills, x, y),
    read: (minute) => {
      const point = at(minute);
      if (!point) return `${hour(minute)}: no decisions`;
      const said = places.map((place) => [names[place], three(point, place)]).filter(([, sums]) => sums.some(Boolean))
        .map(([name, [, probes, held]]) => [name, probes, held]);
      const shares = places.map((place) => three(point, place).reduce((a, b) => a + b) / point.all);
      return `${upTo(point.from, shown.step)}: ${times(point.all)}; ` + said.map(([name, probes]) =>
        `${name} ${percent(shares[names.indexOf(name)])}${probes ? ` (${count(probes)} probes)` : ""}`).join(", ");
    },
    legend: [...names.map((name, place) => entry(colours[place], name)), entry("legend-probe", "probe or floor"), entry("legend-held", "control")],
  });
  tabled($("allocation-table"), () => table(
    ["time", "decisions", ...names.flatMap((name) => [`${name}: policy`, "probe, floor", "control"])],
    points.map((point) => [upTo(point.from, shown.step), count(point.all), ...places.flatMap((place) => three(point, place).map(count))]).reverse(),
    { numbers: [...Array(1 + 3 * places.length).keys()].map((place) => place + 1) }));
}

const times = (all) => `${count(all)} ${all === 1 ? "decision" : "decisions"}`;

function rewards(shown, parts) {
  const coarse = { ...shown, step: shown.step * Math.max(1, Math.round((shown.until - shown.from) / shown.step / 30)) };
  const points = (coarse.step === shown.step ? parts : columns(coarse)).map(({ from, rows }) => {
    const side = (kept) => {
      const those = rows.filter(kept), n = total(those, "rewarded") + total(those, "expired");
      return { n, mean: n ? total(those, "total") / n : null };
    };
    return { from, middle: Math.min(from + coarse.step / 2, shown.until), policy: side((row) => row.by !== "control"), held: side((row) => row.by === "control") };
  }).filter(({ policy, held }) => policy.n || held.n);
  const box = $("reward-chart");
  $("reward-table").hidden = !points.length;
  if (!points.length) return none(box, "No rewards in this time.");
  const values = points.flatMap(({ policy, held }) => [policy.mean, held.mean]).filter((value) => value !== null);
  const low = Math.min(0, ...values), { top, ticks } = scale(Math.max(...values) - low, (value) => brief(value + low));
  const pick = (side) => points.filter((point) => point[side].n).map((point) => [point.middle, point[side].mean - low]);
  const at = (minute) => points.find((point) => point.from <= minute && minute < point.from + coarse.step);
  chart(box, {
    label: "Mean reward of the policy and of the holdback; the table below has the numbers",
    ...shown, top, ticks,
    draw: ({ x, y }) => [line(pick("held"), "held", x, y), line(pick("policy"), "ours", x, y)],
    read: (minute) => {
      const point = at(minute);
      return point ? `${upTo(point.from, coarse.step)}: policy ${number(point.policy.mean)} (n = ${count(point.policy.n)}), holdback ${number(point.held.mean)} (n = ${count(point.held.n)})` : `${hour(minute)}: no rewards`;
    },
    legend: [entry("ours", "policy"), entry("held", "holdback")],
  });
  tabled($("reward-table"), () => table(["time", "policy", "n", "holdback", "n"],
    points.map(({ from, policy, held }) => [upTo(from, coarse.step), number(policy.mean), count(policy.n), number(held.mean), count(held.n)]).reverse(), { numbers: [1, 2, 3, 4] }));
}

function delay(shown, parts) {
  const points = parts.map(({ from, rows }) => ({ from, n: total(rows, "rewarded"), sum: total(rows, "delay_us"), late: total(rows, "late") })).filter(({ n }) => n);
  const box = $("delay-chart"), limit = state.spec?.window ?? null;
  $("delay-table").hidden = !points.length;
  const n = total(points, "n"), mean = n ? total(points, "sum") / n : null;
  const near = limit === null || mean === null ? "" : ` That is ${percent(mean / (limit * 1e6))} of the window of ${lasting(limit * 1e6)}; rewards after it are late and not learned.`;
  say($("delay-note"), mean === null ? "" : `From a decision to its reward: ${lasting(mean)} on average.${near || " There is no window: decisions wait without limit."}`);
  if (!points.length) return none(box, "No rewards in this time.");
  const highest = Math.max(...points.map((point) => point.sum / point.n)) / 1e6;
  const { top, ticks } = scale(limit !== null && limit < 12 * highest ? Math.max(limit, highest) : highest, (value) => (value ? lasting(value * 1e6) : "0"));
  const at = (minute) => points.find((point) => point.from <= minute && minute < point.from + shown.step);
  const said = (point) => `mean ${lasting(point.sum / point.n)} (${count(point.n)} rewards${point.late ? `, ${count(point.late)} late` : ""})`;
  chart(box, {
    label: "Mean time from a decision to its reward, and the window; the table below has the numbers",
    ...shown, top, ticks, tall: 110,
    draw: ({ x, y }) => [
      limit !== null && limit <= top ? s("line", { class: "limit", x1: x(shown.from), x2: x(shown.until), y1: y(limit), y2: y(limit) }) : null,
      line(points.map((point) => [Math.min(point.from + shown.step / 2, shown.until), point.sum / point.n / 1e6]), "ours", x, y)],
    read: (minute) => (at(minute) ? `${upTo(at(minute).from, shown.step)}: ${said(at(minute))}` : `${hour(minute)}: no rewards`),
    legend: [entry("ours", "mean delay"), ...(limit !== null && limit <= top ? [entry("limit", `window, ${lasting(limit * 1e6)}`)] : [])],
  });
  tabled($("delay-table"), () => table(["time", "mean delay", "rewards", "late"],
    points.map((point) => [upTo(point.from, shown.step), lasting(point.sum / point.n), count(point.n), count(point.late)]).reverse(), { numbers: [1, 2, 3] }));
}
