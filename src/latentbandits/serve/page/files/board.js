// The board: a line per arm, a column per question. To ask more of every arm, add a row to `COLUMNS`.

import { $, chip, h, percent, redraw, s, say, table, times } from "./dom.js";
import { armColour, MINUTE, present, regimeColour, regimeName, state, total } from "./state.js";
import { arms, earned, leaderIn, MOST, reach } from "./summary.js";

const LATELY = 5; // minutes

/** Every column: its heading, and what it says of an arm; `facts` are those of all arms. */
const COLUMNS = [
  { head: "arm", cell: ({ arm }, { best, withheld }) => [chip(armColour(arm)), String(arm) === best ? h("strong", {}, String(arm)) : String(arm),
    withheld.has(String(arm)) ? h("span", { class: "badge killed", title: "It breaks the guardrail in this regime" }, "not offered") : null] },
  { head: "earns here, 95 % interval", cell: (one, { range }) => earned(one, range) },
  { head: "played", cell: ({ arm }, { played, all }) => {
    const share = all ? (played.get(String(arm)) ?? 0) / all : null;
    return share === null ? "–" : [s("svg", { class: `share ${armColour(arm)}`, width: 60, height: 9, "aria-hidden": "true" }, s("rect", { class: armColour(arm), width: 60 * share, height: 9, rx: 2 })), percent(share)];
  } },
  { head: "best in", kind: "spare", cell: ({ arm }) => {
    const led = (state.regimes?.regimes ?? []).filter(({ number }) => String(leaderIn(number)?.arm) === String(arm)).map(({ number }) => number);
    return led.length ? led.map((number) => h("span", { title: regimeName(number) }, chip(regimeColour(number)), `${number} `)) : "–";
  } },
];

/** Show all arms as they are now. */
export function board() {
  const known = arms(), regime = state.now?.regime;
  if (!known.length) return redraw($("board"), h("p", { class: "none" }, "Nothing is known yet."));
  const since = present() / MINUTE - LATELY, played = new Map();
  for (const [minute, rows] of state.minutes) if (minute >= since) for (const row of rows) if (row.by !== "control") played.set(String(row.arm), (played.get(String(row.arm)) ?? 0) + row.decided);
  const withheld = new Set((state.now?.broken ?? []).filter((one) => [0, regime?.number].includes(one.regime)).map(({ arm }) => String(arm)));
  const facts = { withheld, best: String(state.now?.best?.arm), range: reach(known), played, all: [...played.values()].reduce((a, b) => a + b, 0) };
  const left = known.length - MOST;
  say($("board-note"), `${regime ? `in ${regimeName(regime.number)}` : `over ${state.longest === 60 ? "the last hour" : "the last 24 hours"}`}; played: the last ${LATELY} minutes`);
  return redraw($("board"), table(COLUMNS.map(({ head }) => head), known.slice(0, MOST).map((one) => COLUMNS.map(({ cell }) => cell(one, facts))), { classes: COLUMNS.map(({ kind }) => kind) }),
    left > 0 ? h("p", { class: "muted" }, `and ${times(left, "other arm")}`) : null);
}
