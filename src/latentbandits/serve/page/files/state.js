// What the page knows of the experiment that it shows, and the colours of arms and regimes.

export const MINUTE = 60e6; // microseconds
const COLOURS = 8; // of arms, and as many others of regimes; beyond them all are grey

export const state = {};

/** Forget everything but the name of the experiment. */
export function begin(name) {
  Object.assign(state, {
    name, spec: null, now: null, arms: [], minutes: new Map(), beliefs: new Map(), stays: [], regimes: null,
    gain: null, changes: null, tail: [], played: new Map(), slots: new Map(), longest: 60, range: state.range ?? null, rewarded: 0,
  });
}

/** Take over minutes from `since` on: they replace those that are known. */
export function remember(store, rows, since) {
  for (const minute of store.keys()) if (minute >= since) store.delete(minute);
  for (const row of rows) {
    if (store === state.beliefs) store.set(row.minute, row);
    else if (store.has(row.minute)) store.get(row.minute).push(row);
    else store.set(row.minute, [row]);
  }
}

/** Take over visits of regimes from a minute on; the first of them may go on with one that is known. */
export function rememberStays(stays, since) {
  const before = state.stays.filter((stay) => stay.from_us < since * MINUTE), last = before.pop();
  if (!last) state.stays = stays;
  else if (!stays.length) state.stays = [...before, last];
  else if (last.regime === stays[0].regime) state.stays = [...before, { ...stays[0], from_us: last.from_us }, ...stays.slice(1)];
  else state.stays = [...before, { ...last, until_us: stays[0].from_us }, ...stays];
}

/** The colour of an arm: the same everywhere. */
export function armColour(name) {
  const place = state.arms.findIndex((one) => String(one) === String(name));
  return place >= 0 && place < COLOURS ? `a${place}` : "rest";
}

/** The colour of a regime: the same everywhere, for as long as the page is open. */
export function regimeColour(regime) {
  if (regime === null) return "rest";
  if (!state.slots.has(regime)) state.slots.set(regime, state.slots.size);
  const slot = state.slots.get(regime);
  return slot < COLOURS ? `r${slot}` : "rest";
}

/** What a regime is called. */
export const regimeName = (regime) => (regime === null ? "not recorded" : `regime ${regime}`);

/** The microsecond that it is, by the clock of the service. */
export const present = () => state.now?.at_us ?? Date.now() * 1000;

/** The minutes that charts show: from, until, and how many make one column. */
export function span() {
  const until = Math.floor(present() / MINUTE) + 1;
  const all = [...state.minutes.keys(), ...state.beliefs.keys()];
  const first = all.length ? Math.min(...all) : until - 60;
  const fits = [60, 360, 1440].find((range) => range + 10 >= until - first) ?? 1440;
  const range = Math.min(state.range ?? fits, state.longest);
  const from = Math.max(until - range, Math.min(first, until - 10)); // as far back as there is something to see
  const step = [1, 2, 5, 10, 15, 30, 60].find((size) => (until - from) / size <= 75);
  return { from, until, step, range };
}

/** Sum what happened into columns of `step` minutes: a list of `{ from, rows }`, empty ones left out. */
export function columns({ from, until, step }) {
  const found = new Map();
  for (const [minute, rows] of state.minutes) {
    if (minute < from || minute >= until) continue;
    const begun = from + step * Math.floor((minute - from) / step);
    found.set(begun, [...(found.get(begun) ?? []), ...rows]);
  }
  return [...found].sort(([a], [b]) => a - b).map(([begun, rows]) => ({ from: begun, rows }));
}

/** The beliefs from a minute on, and the one before it, in order. */
export function believed({ from, until }) {
  const all = [...state.beliefs.values()].sort((a, b) => a.minute - b.minute).filter((row) => row.minute < until);
  const before = all.filter((row) => row.minute < from).pop();
  const inside = all.filter((row) => row.minute >= from);
  return before && inside[0]?.minute !== from ? [{ ...before, minute: from }, ...inside] : inside;
}

/** Visits of regimes within what charts show: which, from, until (null while it lasts), in minutes. */
export function visits({ from, until }) {
  return state.stays
    .map((stay) => ({ regime: stay.regime, from: Math.max(from, stay.from_us / MINUTE), until: stay.until_us === null ? null : stay.until_us / MINUTE }))
    .filter((stay) => stay.from < Math.min(until, stay.until ?? until));
}

/** Add up a field over rows. */
export const total = (rows, field) => rows.reduce((sum, row) => sum + row[field], 0);
