// The page: which experiment, with which key, and when what is read again.

import { about, ask, decoded, key, Problem } from "./api.js";
import { board } from "./board.js";
import { patterns } from "./charts.js";
import { $, h, redraw, say, time } from "./dom.js";
import { draw } from "./figures.js";
import { changes, standing, whenChanged } from "./people.js";
import { begin, MINUTE, present, regimeColour, remember, rememberStays, span, state } from "./state.js";
import { best, gain, lastReward, pipe, regimes } from "./summary.js";
import { heard, prepare, restart } from "./tail.js";

const ALWAYS = 1000, OFTEN = 5000, RARELY = 15000; // milliseconds between readings of what is now, of what changes by the minute, and of what is slow to compute
const TAIL = 20; // events, the last of which are shown
const ROWS = 80000; // of minutes, the most that the page asks for
const PEOPLE = new Set(["create", "status", "configure", "add", "retire", "erase"]);
let watching = null; // ends everything that reads the present experiment
let gone = null; // when the server was lost, in microseconds

const sleep = (ms, signal) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end);
});

/** Ask for a key, with the reason. */
function enter(reason = "") {
  stop();
  key.forget();
  back();
  for (const id of ["content", "empty", "chooser", "status", "leave", "standing"]) $(id).hidden = true;
  redraw($("actions"));
  delete $("actions").dataset.status;
  $("entrance").hidden = false;
  say($("refused"), reason);
  document.title = "latentbandits";
  $("key").focus();
}

function stop() {
  watching?.abort();
  watching = null;
}

/** Say that the server does not answer; what is shown stays, marked as old. */
function lost(problem) {
  gone ??= Date.now() * 1000;
  document.body.classList.add("old");
  const why = problem.status === 0 ? "The server does not answer" : `The server cannot answer (${problem.message})`;
  say($("connection"), `${why}, since ${time(gone, true)}. What is shown is from before. Trying again …`);
}

function back() {
  gone = null;
  document.body.classList.remove("old");
  say($("connection"), "");
}

/** Deal with a refusal: true if it makes sense to try again. */
function refused(problem) {
  if (!(problem instanceof Problem)) throw problem;
  if (problem.status === 401) {
    enter("This key is not known, or not any more: a key that was printed at the start ends with the process.");
    return false;
  }
  if (problem.status === 0 || problem.status >= 500 || problem.status === 429) {
    lost(problem);
    return true;
  }
  stop();
  nothing("This cannot be shown", problem.message);
  return false;
}

/** Read which experiments there are, and show one; try until the server answers. */
async function open() {
  stop();
  $("entrance").hidden = true;
  const mine = (watching = new AbortController());
  while (!mine.signal.aborted) {
    try {
      const { experiments } = await ask("/v1/experiments", { signal: mine.signal });
      if (mine.signal.aborted) return;
      back();
      $("leave").hidden = false;
      if (experiments.length) {
        choose(experiments);
        return;
      }
      $("chooser").hidden = $("status").hidden = true;
      nothing("No experiment yet", "Make one, with an admin key, and it appears here:", `curl -X POST ${location.origin}/v1/experiments \\\n  -H "Authorization: Bearer $KEY" \\\n  -d '{"name": "offers", "arms": ["a", "b", "c"], "holdback": 0.1}'`);
    } catch (problem) {
      if (mine.signal.aborted || !refused(problem)) return;
    }
    await sleep(2000, mine.signal);
  }
}

function nothing(title, text, example) {
  $("content").hidden = true;
  $("empty").hidden = false;
  redraw($("empty"), h("h2", {}, title), h("p", {}, text), example ? h("pre", {}, example) : null);
}

/** Those that are archived come last. */
const ordered = (experiments) => [...experiments].sort((a, b) => (a.status === "archived") - (b.status === "archived"));

function choose(experiments) {
  const wanted = decoded(location.hash.slice(1));
  const order = ordered(experiments);
  const found = order.find((one) => one.name === wanted) ?? order[0];
  list(order, found.name);
  show(found.name);
}

function list(experiments, name) {
  $("chooser").hidden = false;
  const options = experiments.map((one) => h("option", { value: one.name, selected: one.name === name }, one.status === "live" ? one.name : `${one.name} (${one.status})`));
  const text = options.map((one) => one.textContent).join("\n") + name;
  if ($("experiments").dataset.text === text) return;
  $("experiments").dataset.text = text;
  $("experiments").replaceChildren(...options);
}

/** Show an experiment, until another one is chosen. */
function show(name) {
  stop();
  watching = new AbortController();
  begin(name);
  restart();
  delete $("actions").dataset.status;
  if (location.hash !== `#${encodeURIComponent(name)}`) history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  const { signal } = watching;
  watch(name, signal);
  follow(name, signal);
}

/** Read what is now, once a second; a server that does not answer is asked less often. */
async function watch(name, signal) {
  for (let wait = ALWAYS; !signal.aborted; ) {
    try {
      const after = state.tail[0]?.seq ?? 0;
      const [now, { events }] = await Promise.all(["now", `tail?most=${TAIL}&after=${after}`].map((rest) => ask(about(name, rest), { signal })));
      if (signal.aborted) return;
      wait = ALWAYS;
      beat(now, events);
    } catch (problem) {
      if (signal.aborted || !refused(problem)) return;
      wait = problem.wait ? 1000 * problem.wait : Math.min(2 * wait, 4000);
    }
    await sleep(wait, signal);
  }
}

function beat(now, events) {
  const first = state.now === null, before = state.now?.health ?? {}, status = state.now?.status;
  const moved = state.now?.regime?.number !== now.regime?.number;
  state.now = now;
  if (gone !== null) back();
  if (first || !$("empty").hidden === now.health.decided > 0 || (!now.health.decided && status !== now.status)) shell(now);
  heard(events);
  lastReward();
  best();
  pipe();
  regimes();
  board();
  standing();
  const begun = before.decided === 0 || (before.rewarded === 0 && now.health.rewarded > 0);
  if (first || begun || moved || events.some((event) => PEOPLE.has(event.kind))) again();
}

/** Show the numbers, or what to do if there are none yet. */
function shell(now) {
  $("entrance").hidden = true;
  const none = now.health.decided === 0;
  if (none) {
    const command = (method, path, body) => `curl -X ${method} ${location.origin}/v1/experiments/${encodeURIComponent(now.name)}/${path} \\\n  -H "Authorization: Bearer $KEY" -d '${JSON.stringify(body)}'`;
    if (now.status === "archived") nothing("No decisions", `The experiment ${now.name} is archived, and none was ever made.`);
    else nothing("No decisions yet", `The experiment ${now.name} is ${now.status}. Its first decision appears here as soon as it is asked for:`, command("POST", "decide", { subject: "visitor-1" }));
    document.title = `${now.name} – latentbandits`;
  } else {
    $("empty").hidden = true;
    $("content").hidden = false;
  }
}

let asked = false, wake = () => {};

/** Read everything again: now, or as soon as what is being read is there. */
function again() {
  asked = true;
  wake();
}

/** Read what changes by the minute, and what is slow to compute, from time to time. */
async function follow(name, signal) {
  const rest = (ms) => Promise.race([new Promise((resolve) => (wake = resolve)), sleep(ms, signal)]);
  await rest(2000); // first what is best now
  for (let rare = 0; !signal.aborted; ) {
    try {
      const all = asked || Date.now() >= rare || state.gain === null, begun = Date.now();
      asked = false;
      await read(name, signal, all);
      if (all) rare = Date.now() + Math.max(RARELY, 60 * (Date.now() - begun)); // a long past is read less often
    } catch (problem) {
      if (signal.aborted || !refused(problem)) return;
    }
    if (!asked) await rest(OFTEN);
  }
}

async function read(name, signal, all) {
  const get = (...rest) => ask(about(name, ...rest), { signal });
  const newest = Math.max(-1, ...state.beliefs.keys(), ...state.minutes.keys());
  const now = Math.floor(Date.now() / 60000);
  const since = state.longest === 60 && newest < 0 ? now - 60 : newest - 1;
  const [spec, minutes, timeline, table] = await Promise.all([
    get(), get(`minutes?since=${Math.max(0, since)}`), get(`timeline?since=${Math.max(0, since)}`), get("regimes")]);
  if (signal.aborted) return;
  take(spec, minutes, timeline, table, since);
  if (state.now) paint();
  if (all) {
    const [gained, { events }, { experiments }] = await Promise.all([get("gain"), get("changes"), ask("/v1/experiments", { signal })]);
    if (signal.aborted) return;
    Object.assign(state, { gain: gained, changes: events });
    list(ordered(experiments), name);
    if (state.now) paint();
  }
  if (state.longest === 60 && 24 * minutes.minutes.length <= ROWS) {
    state.longest = 1440; // the hour came first, so that there was something to see; now the whole day
    const [longer, past] = await Promise.all([get(`minutes?since=${now - 1440}`), get(`timeline?since=${now - 1440}`)]);
    if (signal.aborted) return;
    take(spec, longer, past, table, 0);
    if (state.now) paint();
  }
}

function take(spec, minutes, timeline, table, since) {
  state.spec = spec;
  const more = minutes.arms.length !== state.arms.length;
  state.arms = minutes.arms;
  if (more) heard([]); // the last events in the colours of their arms
  state.regimes = table;
  remember(state.minutes, minutes.minutes, since);
  remember(state.beliefs, timeline.minutes, since);
  rememberStays(timeline.stays, since);
  const oldest = present() / MINUTE - 1441;
  for (const store of [state.minutes, state.beliefs]) for (const minute of store.keys()) if (minute < oldest) store.delete(minute);
  for (const one of [...table.regimes].sort((a, b) => a.number - b.number)) regimeColour(one.number);
}

function paint() {
  lastReward();
  best();
  pipe();
  gain();
  regimes();
  board();
  standing();
  changes();
  if ($("content").hidden) return;
  const { range } = span();
  for (const option of $("range").options) option.disabled = Number(option.value) > state.longest;
  $("range").value = String(range);
  draw();
}

$("entrance").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set($("key").value.trim());
  $("key").value = "";
  open();
});
$("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which experiment it is
  $("main").focus();
});
addEventListener("hashchange", () => {
  key.takeOver();
  if (key.get()) open();
});
$("leave").addEventListener("click", () => enter());
$("experiments").addEventListener("change", (event) => show(event.target.value));
$("range").addEventListener("change", (event) => {
  state.range = Number(event.target.value);
  paint();
});
document.addEventListener("visibilitychange", () => {
  if (!key.get()) return;
  if (document.hidden) stop(); // nobody looks: nothing is read
  else open();
});
let resized = 0;
new ResizeObserver(([{ contentRect: { width } }]) => {
  if (width !== resized && state.now && !$("content").hidden) draw();
  resized = width;
}).observe($("allocation-chart")); // what stands beside it depends on the window's height, too

key.takeOver();
patterns();
prepare();
whenChanged((said) => {
  if (said.name === state.now?.name && said.status) state.now.status = said.status;
  standing();
  again();
});
if (key.get()) open();
else enter();
