// The top of the page: what is best now, the gain, the reward pipe; and what is known of arms by regime.

import { interval } from "./charts.js";
import { $, between, chip, count, h, lasting, number, ordinal, percent, redraw, say, share, signed, sure, table, time, times } from "./dom.js";
import { armColour, present, regimeColour, regimeName, state, total } from "./state.js";

const QUIET = 5 * 60e6; // microseconds without a reward that are long, unless rewards take longer anyway
export const MOST = 12; // regimes, and arms of a regime, that are shown at once

/** What is best now, and which regime this is. */
export function best() {
  const { best: found, regime, elsewhere, health } = state.now;
  if (found) {
    const since = found.since_us === null ? "" : `, since ${time(found.since_us)}`;
    const box = $("best"), how = found.belief === null ? since : doubtful() ? ", not sure" : `, belief ${sure(found.belief)}${since}`;
    const shown = `Best now: ${found.arm}${how} ${armColour(found.arm)}`; // arms have colours once all of them are known
    if (box.dataset.text !== shown) redraw(box, "Best now: ", chip(armColour(found.arm)), h("strong", {}, String(found.arm)), how);
    box.dataset.text = shown;
    box.hidden = false;
  } else {
    delete $("best").dataset.text;
    say($("best"), health.rewarded ? "Best now: not known" : "Best now: nothing learned yet");
  }
  if (!regime) {
    const known = !found ? "It cannot say what is best now." : found.value === null ? "This is the arm that it plays most often." : `It expects ${number(found.value)} per decision of this arm.`;
    say($("regime"), health.rewarded ? `The policy ${state.spec?.policy ?? ""} keeps no belief over regimes. ${known}` : "");
    say($("seen"), "");
  } else {
    const since = regime.since_us === null ? "" : `, since ${time(regime.since_us)}`;
    const alone = leaderIn(regime.number);
    const other = doubtful() && alone && String(alone.arm) !== String(found.arm) ? ` There ${alone.arm} earns most, but the regime may have changed since the last reward was learned: ${times(health.open, "decision waits", "decisions wait")}.` : "";
    const there = alone?.arm === found?.arm && alone ? ` (${number(alone.mean)} if this is still the regime)` : "";
    const expected = found ? ` It is expected to earn ${number(found.value)} per decision${there}.` : "";
    say($("regime"), `Regime ${regime.number}, belief ${sure(regime.probability)}${since}.${other || expected}`);
    const typical = regime.typical_us === null ? "" : `, typical stay ${lasting(regime.typical_us)}`;
    const visit = regime.visits > 1 ? `Seen before: ${ordinal(regime.visits)} visit${typical}.` : "First visit: not seen before.";
    const strange = elsewhere > 0.05 ? ` With probability ${share(elsewhere)} this is a regime that is new.` : "";
    say($("seen"), visit + strange);
  }
  document.title = found ? `${found.arm} – ${state.name}` : `${state.name} – latentbandits`;
}

/** Whether the arm that is expected to earn most is not the one that does in the regimes that are probable: while these change. */
const doubtful = () => state.now.best?.belief !== null && state.now.best?.belief < 0.5;

/** Whether it earns more than the holdback. */
export function gain() {
  const found = state.gain;
  if (!found) return;
  const { policy, control, difference, low, high, total: sum, ratio } = found;
  const box = $("gain");
  box.className = "headline";
  if (difference === null) {
    say(box, "Cannot be said yet");
    say($("gain-more"), !state.spec?.holdback ? "No subjects are held back: without a holdback there is nothing to compare with." : `It needs rewards of both sides: the policy has ${count(policy.count)}, the holdback ${count(control.count)}.`);
  } else {
    const sure = low !== null && (low > 0 || high < 0);
    box.classList.add(!sure ? "unsure" : low > 0 ? "good" : "bad");
    say(box, `${!sure ? "Not clear yet" : low > 0 ? "Yes" : "No, less"}: ${signed(difference)} per decision`);
    const odd = ratio?.mismatch ? `Do not trust it: ${count(ratio.held)} of ${times(ratio.subjects, "subject")} that were compared lately are held back, and ${percent(ratio.share)} should be. Rewards of one side may get lost. ` : "";
    const interval = low === null ? "95 % interval: from 20 rewards of each side on." : `95 % interval ${between(low, high)}, at any time.`;
    say($("gain-more"), `${odd}${interval} That makes about ${signed(sum)} in all, an estimate that follows the difference, from ${times(policy.count, "reward")} against ${count(control.count)} of the holdback (${state.spec?.control ?? "control"}).`);
  }
}

/** Whether the reward pipe is healthy: words, and the numbers behind them. */
export function pipe() {
  const { health, at_us: now } = state.now, spec = state.spec;
  const last = [...state.minutes.keys()].filter((minute) => minute > now / 60e6 - 60).flatMap((minute) => state.minutes.get(minute));
  const ended = total(last, "rewarded") + total(last, "expired") + total(last, "censored");
  const matched = ended ? total(last, "rewarded") / ended : null;
  const problems = complaints(health, now, spec);
  const box = $("pipe");
  box.className = `headline ${problems.length ? "bad" : health.rewarded ? "good" : "unsure"}`;
  say(box, problems.length ? "Needs a look" : !health.decided ? "No decisions yet" : health.rewarded ? "Healthy" : "No rewards yet");
  const list = $("pipe-why");
  if (list.dataset.text !== problems.join("\n")) redraw(list, problems.map((one) => h("li", {}, one)));
  list.dataset.text = problems.join("\n");
  say($("pipe-more"), health.decided ? `${number(health.per_second)} decisions per second; ${percent(matched)} of those that ended in the last hour got a reward.` : "");
  const pairs = [
    ["decisions", `${number(health.per_second)} /s`, `${count(health.decided)} since the start`],
    ["reward match", percent(matched), "of decisions that ended in the last hour"],
    ["rewards", count(health.rewarded), "since the start"],
    spec?.default === null || spec === null ? ["ended without", count(health.censored), "censored when the window was over, to make room, or by request"] : ["expired", count(health.expired), `took the default reward ${number(spec.default)}`],
    ["waiting", count(health.waiting), "rewards that are known, learned when their window closes"],
    ["late", count(health.late), "after the decision had ended: recorded, not learned"],
    ["duplicates", count(health.duplicates), health.conflicts ? `${count(health.conflicts)} with another value` : "told twice, learned once"],
    ["open", count(health.open), spec ? `decisions that wait, of at most ${count(spec.max_open)}` : "decisions that wait"],
    ["p99 latency", health.p99_ms === null ? "–" : `${number(health.p99_ms)} ms`, health.p99_ms === null ? "no decisions over HTTP yet" : "of the last decisions over HTTP"],
    ["snapshot", count(health.behind_snapshot), "events to repeat after a crash"],
  ];
  if (spec?.default !== null && spec && health.censored) pairs.push(["censored", count(health.censored), "ended without a reward"]);
  redraw($("health"), pairs.map(([name, value, note]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, h("small", {}, ` ${note}`)))));
}

/** What is wrong with the reward pipe, in words. */
function complaints(health, now, spec) {
  const found = [], ages = Object.entries(health.matched).filter(([, value]) => value !== null);
  const crowded = spec && (spec.window === null || health.open >= spec.max_open);
  const long = Math.max(QUIET, 5 * (health.delay_us ?? 0), health.rewarded ? 0 : 1e6 * (spec?.window ?? 0));
  if (health.decided && now - health.last_us > 2 * QUIET) found.push(`Nothing has happened for ${lasting(now - health.last_us)}: nobody asks, and no rewards come.`);
  else if (health.rewarded && state.rewarded && now - state.rewarded > long) found.push(`No reward for ${lasting(now - state.rewarded)}, although decisions are made. What is learned grows stale.`);
  else if (!health.rewarded && !health.waiting && health.oldest_us !== null && now - health.oldest_us > long) found.push(`No reward has ever come; the oldest decision waits since ${time(health.oldest_us)}.`);
  const [least, most] = [Math.min(...ages.map(([, value]) => value)), Math.max(...ages.map(([, value]) => value))];
  if (health.problem) found.push(`${health.problem[0].toUpperCase()}${health.problem.slice(1)}.`);
  if (spec?.default !== null) { /* a decision without a reward is one as well */ }
  else if (ages.length && least < 0.5) found.push(`Only ${percent(least)} of the decisions for ${ages.find(([, value]) => value === least)[0]} get a reward.`);
  else if (ages.length > 1 && most - least > 0.2) found.push(`Rewards are lost more often for ${ages.find(([, value]) => value === least)[0]} (${percent(least)} arrive) than for ${ages.find(([, value]) => value === most)[0]} (${percent(most)}): comparisons are biased.`);
  if (health.late > 0.05 * (health.rewarded + health.late)) found.push(`${percent(health.late / (health.rewarded + health.late))} of the rewards come after their decision has ended: ${crowded ? `at most ${count(spec.max_open)} may wait (max_open), too few unless they were censored by request` : "the window is too short"}.`);
  if (spec && health.open > 0.8 * spec.max_open) found.push(`${count(health.open)} decisions wait, of at most ${count(spec.max_open)}: ${spec.default === null ? "the oldest are censored" : "the windows of the oldest close early"} to make room.`);
  if (health.conflicts) found.push(`${times(health.conflicts, "reward")} came a second time with another value; the first counts.`);
  for (const one of state.now.broken) found.push(`${one.arm} breaks the guardrail${one.regime ? ` in regime ${one.regime}` : ""} and is not offered there: ${number(one.mean)} after ${times(one.told, "value")}.`);
  if (health.diverged) found.push(`${times(health.diverged, "decision")} came out otherwise when the log was repeated; the log counts.`);
  return found;
}

/** Every arm in every regime. */
export function regimes() {
  const found = state.regimes;
  if (!found) return;
  if (!found.regimes.length) return together();
  say($("regimes-note"), "Mean reward of every arm in every regime that is remembered, with its 95 % interval. Over all regimes together such means would mislead. n counts the rewards behind a mean, up to 512. A regime keeps its number; those that are missing were merged or forgotten.");
  const here = state.now?.regime?.number;
  const order = [...found.regimes].sort((a, b) => (b.number === here) - (a.number === here) || b.visits - a.visits || a.number - b.number);
  const range = reach(order.flatMap((one) => one.arms)), left = order.length - MOST;
  redraw($("regimes"), order.slice(0, MOST).map((one) => card(one, one.number === here, range)),
    left > 0 ? h("p", { class: "muted" }, `${times(left, "more regime")} with fewer visits: the interface has all of them.`) : null);
}

/** The arm with the highest mean in a regime, null if none was tried there. */
export function leaderIn(number) {
  const tried = (state.regimes?.regimes.find((one) => one.number === number)?.arms ?? []).filter((arm) => arm.mean !== null);
  return tried.length ? tried.reduce((a, b) => (b.mean > a.mean ? b : a)) : null;
}

function card(one, here, range) {
  const arms = one.arms.slice(0, MOST), leader = leaderIn(one.number);
  const believed = here ? state.now.regime.probability : one.probability; // what is now is read more often
  return h("article", { class: here ? "regime here" : "regime" },
    h("div", { class: "head" }, h("h3", {}, chip(regimeColour(one.number)), regimeName(one.number), here ? h("span", { class: "badge" }, "now") : null)),
    h("p", { class: "muted" }, `Belief ${sure(believed)}, ${times(one.visits, "visit")} within a week, about ${times(Math.round(one.dwell_rounds), "decision")} each.`),
    armTable(arms, leader, range), one.arms.length > MOST ? h("p", { class: "muted" }, `and ${count(one.arms.length - MOST)} other arms`) : null);
}

/** The scale that all intervals share. */
export function reach(arms) {
  const known = arms.filter((arm) => arm.mean !== null);
  return [Math.min(0, ...known.map((arm) => Math.max(arm.low ?? arm.mean, arm.mean - 3))), Math.max(...known.map((arm) => arm.high ?? arm.mean))];
}

/** What an arm has earned: the mean, and the interval in numbers and as a bar. */
export const earned = (arm, range) => (arm.mean === null ? "not tried" : [h("span", { class: "figure" }, number(arm.mean), h("small", {}, ` ${between(arm.low, arm.high)}`)), interval(arm, range, armColour(arm.arm), "interval")]);

function armTable(arms, leader, range) {
  return table(["arm", "mean and 95 % interval", "n"], arms.map((arm) => [
    [chip(armColour(arm.arm)), arm === leader ? h("strong", {}, String(arm.arm)) : String(arm.arm)],
    earned(arm, range),
    count(arm.count)]), { numbers: [2] });
}

/** Arms over all rewards that the page has, for policies without regimes. */
function together() {
  say($("regimes-note"), state.now?.health.rewarded ? "No regimes are known, so that these are means over all rewards of the time that is loaded. Where the best arm changes, such means mislead." : "There will be a table of every arm in every regime once rewards have come.");
  const known = overall();
  return known.some((arm) => arm.mean !== null) ? redraw($("regimes"), h("article", { class: "regime" }, armTable(known.slice(0, MOST), null, reach(known)))) : redraw($("regimes"));
}

/** What is known of every arm now: in the present regime, or over all rewards that the page has if there is none. */
export const arms = () => state.regimes?.regimes.find((one) => one.number === state.now?.regime?.number)?.arms ?? overall();

function overall() {
  const rows = [...state.minutes.values()].flat();
  return state.arms.map((arm) => {
    const own = rows.filter((row) => String(row.arm) === String(arm)), n = total(own, "rewarded") + total(own, "expired");
    const mean = n ? total(own, "total") / n : null;
    const half = n > 1 ? 1.96 * Math.sqrt(Math.max(0, total(own, "squares") - n * mean * mean) / (n - 1) / n) : null;
    return { arm, mean, low: half === null ? null : mean - half, high: half === null ? null : mean + half, count: n };
  });
}

/** When the last reward came, as far as the page knows. */
export function lastReward() {
  const told = state.tail.filter((event) => event.kind === "reward").map((event) => event.at_us);
  for (const [minute, rows] of state.minutes) if (total(rows, "rewarded")) told.push(Math.min(minute * 60e6 + 60e6, present()));
  state.rewarded = Math.max(state.rewarded, ...told);
}
