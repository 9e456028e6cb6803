// The last events as they come, and the explanation of any decision.

import { about, ask } from "./api.js";
import { $, chip, count, h, number, redraw, say, share, table, time } from "./dom.js";
import { armColour, MINUTE, regimeName, state } from "./state.js";

const KEPT = 20;
const ID = /^[0-9a-f]{25}$/;
let paused = false;

/** Let the tail be paused and searched. */
export function prepare() {
  $("pause").addEventListener("click", () => {
    paused = !paused;
    $("pause").setAttribute("aria-pressed", String(paused));
    say($("pause"), paused ? "Go on" : "Pause");
    if (!paused) tail();
  });
  $("search").addEventListener("submit", (event) => {
    event.preventDefault();
    explain($("decision").value.trim().toLowerCase());
  });
}

/** Begin anew, for another experiment. */
export function restart() {
  if (paused) $("pause").click();
  $("explained").hidden = true;
  $("decision").value = "";
}

/** Take over events that are new; without any, show those that are known once more. */
export function heard(events) {
  const known = new Set(state.tail.map((event) => event.seq));
  if (known.size && events.length && events.every((event) => known.has(event.seq))) return;
  state.tail = [...events.filter((event) => !known.has(event.seq)), ...state.tail].sort((a, b) => b.seq - a.seq).slice(0, KEPT);
  for (const event of events) if (event.kind === "decide") state.played.set(event.decision, event.arm);
  for (const old of [...state.played.keys()].slice(0, -1000)) state.played.delete(old);
  if (!paused) tail();
}

// What kinds of events are called
const EVENTS = { decide: "decided", told: "reward told", reward: "reward learned", expire: "default learned", censor: "ended without reward", late: "reward too late", correct: "reward corrected" };
const called = (kind) => EVENTS[kind] ?? kind;

const named = (arm) => (arm === undefined || arm === null ? "" : [chip(armColour(arm)), String(arm)]);
const rewards = (event) => (event.rewards ? event.rewards.map(number).join(", ") : "");

function tail() {
  const box = $("tail");
  if (!state.tail.length) return redraw(box, h("p", { class: "none" }, "Nothing has happened yet."));
  const rows = state.tail.map((event) => [
    time(event.at_us, true), called(event.kind), named(event.arm ?? state.played.get(event.decision)), event.by ?? "", event.probability === undefined ? "" : share(event.probability), rewards(event), event.subject ?? "",
    event.decision ? h("button", { type: "button", class: "link", "data-key": `e${event.seq}`, title: event.decision, "aria-label": `Explain decision ${event.decision}`, onclick: () => explain(event.decision) }, "explain") : ""]);
  return redraw(box, table(["time", "event", "arm", "by", "probability", "reward", "subject", "decision"], rows,
    { numbers: [4, 5], classes: [, , , "spare", "spare", , "spare"] }));
}

/** Show why a decision was made, and what became of it. */
async function explain(id) {
  const box = $("explained"), name = state.name;
  $("decision").value = id;
  box.hidden = false;
  if (!ID.test(id)) return redraw(box, h("p", { class: "problem" }, "The id of a decision has 25 characters, 0 to 9 and a to f."));
  redraw(box, h("p", { class: "muted" }, "Looking …"));
  try {
    const found = await ask(about(name, "decisions", id));
    const minute = Math.floor(found.at_us / MINUTE);
    const { minutes } = await ask(`${about(name, "timeline")}?since=${Math.max(0, minute - 60)}`);
    if (name !== state.name) return undefined;
    redraw(box, explanation(found, minutes.findLast((row) => row.minute < minute), minutes.find((row) => row.minute === minute)));
    box.focus();
  } catch (problem) {
    redraw(box, h("p", { class: "problem" }, problem.message));
  }
  return undefined;
}

const DECIDED = { policy: "by the policy", floor: "by the floor, which gives every arm a share", control: "held back, or everybody gets the control arm" };

/** What was believed at the end of a minute, in words; nothing if it was not recorded. */
function belief(row, when) {
  if (!row) return null;
  const known = row.states.filter(([, probability]) => probability >= 0.005).map(([regime, probability]) => `${regimeName(regime)} ${share(probability)}`);
  return h("p", {}, `Belief ${when} (end of ${time(row.minute * MINUTE)}): ${[...known, `none of these ${share(row.elsewhere)}`].join(", ")}.`);
}

function explanation(found, before, after) {
  const close = () => {
    $("explained").hidden = true;
    $("decision").focus();
  };
  const played = found.options.find((one) => one.played);
  return [
    h("div", { class: "head" }, h("h3", {}, `Decision ${found.id}`), h("button", { type: "button", class: "quiet", onclick: close }, "Close")),
    h("p", {}, "At ", time(found.at_us, true), ": ", found.arms.map((arm, place) => [place ? ", " : "", named(arm)]), `, ${DECIDED[found.by] ?? found.by}.`),
    h("p", {}, `Why: ${found.reason}${found.probe_reasons.length ? ` (${found.probe_reasons.join(", ")})` : ""}.`),
    played?.probability !== null && played ? h("p", {}, `Propensity: ${number(played.probability)}.`) : null,
    belief(before, "before it"), belief(after, "after it"),
    found.options.length ? h("div", { class: "wide" }, table(["arm", "expected", "std. error", "bonus", "index", "probability", ""], found.options.map((one) => [
      named(one.name), number(one.value), number(one.std_error), number(one.bonus), number(one.index), number(one.probability),
      one.played ? "played" : one.available ? "" : "not available"]), { numbers: [1, 2, 3, 4, 5], caption: "What the policy thought of every arm" })) : null,
    h("div", { class: "wide" }, table(["time", "event", "reward", "details"], found.events.map((event) => [
      time(event.at_us, true), called(event.kind), rewards(event), event.payload ? JSON.stringify(event.payload) : event.subject ? `subject ${event.subject}` : ""]), { numbers: [2], caption: `What became of it (${count(found.events.length)} events)` })),
  ];
}
