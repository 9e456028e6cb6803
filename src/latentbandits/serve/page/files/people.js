// What people do: freeze, kill, resume; and the log of what they have changed.

import { about, ask } from "./api.js";
import { $, h, redraw, say, table, time, times } from "./dom.js";
import { state } from "./state.js";

const NEXT = { shadow: ["live", "frozen", "killed"], live: ["frozen", "killed"], frozen: ["back", "killed"], killed: ["back"], archived: [] };
const LABELS = { live: "Go live", frozen: "Freeze", killed: "Kill" };
let changed = () => {};

/** Say what happens once something was changed. */
export const whenChanged = (handler) => (changed = handler);

const control = () => String(state.spec?.control ?? "the control arm");

/** What a status means, in words. */
export function meaning(status) {
  return {
    shadow: `Shadow: everybody gets ${control()}; what the policy would have done is only recorded. It learns from the rewards.`,
    live: "Live: the policy decides and learns.",
    frozen: "Frozen: the policy decides by what it knows and learns nothing new.",
    killed: `Killed: everybody gets ${control()}; the policy is not asked and learns nothing.`,
    archived: "Archived: no decisions are made any more; the past can be read.",
  }[status];
}

/** The status in a word, in a sentence if it is not live, and what can be done about it. */
export function standing() {
  const { status } = state.now, badge = $("status");
  say(badge, status);
  badge.className = `badge ${status}`;
  const last = (state.changes ?? []).filter((event) => event.kind === "status").at(-1);
  const who = last?.payload?.status === status ? ` Since ${time(last.at_us)}${last.actor ? `, by ${last.actor}` : ""}.` : "";
  say($("standing"), status === "live" ? "" : meaning(status) + who);
  $("standing").className = `banner ${status}`;
  const wanted = NEXT[status] ?? [];
  if ($("actions").dataset.status === status) return;
  $("actions").dataset.status = status;
  redraw($("actions"), wanted.map((one) => h("button", { type: "button", class: one === "killed" ? "danger" : "quiet", "data-key": one, onclick: () => change(one) }, LABELS[one] ?? "Resume")));
}

/** What it was before it was frozen or killed. */
function before() {
  const past = (state.changes ?? []).filter((event) => event.kind === "status").map((event) => event.payload.status);
  return past.findLast((status) => status === "live" || status === "shadow") ?? "live";
}

function change(wanted) {
  const status = wanted === "back" ? before() : wanted, name = state.name;
  const label = wanted === "back" ? "Resume" : LABELS[wanted];
  dialog({
    title: `${label} ${name}?`,
    text: `${meaning(status)} It happens at once, and it is recorded with the name of the key.`,
    label, danger: wanted === "killed",
    act: (secret) => ask(about(name, "status"), { method: "PUT", body: { status }, secret }),
  });
}

function dialog({ title, text, label, danger = false, act }) {
  const box = $("dialog"), form = $("dialog-form");
  say($("dialog-title"), title);
  say($("dialog-text"), text);
  say($("dialog-problem"), "");
  say($("dialog-do"), label);
  $("dialog-do").className = danger ? "danger" : "";
  $("dialog-do").disabled = false;
  $("dialog-key-label").hidden = true;
  $("dialog-key").value = "";
  form.onsubmit = async (event) => {
    event.preventDefault();
    $("dialog-do").disabled = true;
    try {
      const said = await act($("dialog-key").value.trim() || undefined);
      box.close();
      changed(said);
    } catch (problem) {
      say($("dialog-problem"), problem.message);
      if ([401, 403].includes(problem.status)) {
        $("dialog-key-label").hidden = false;
        $("dialog-key").focus();
      }
    } finally {
      $("dialog-do").disabled = false;
    }
  };
  $("dialog-cancel").onclick = () => box.close();
  box.onclose = () => ($("dialog-key").value = "");
  box.showModal();
  $("dialog-cancel").focus();
}

const set = (payload) => Object.entries(payload).map(([name, value]) => `${name} = ${value === null ? "none" : Array.isArray(value) ? value.join(", ") : value}`).join("; ");
const WORDS = {
  create: ({ policy, arms }) => `made, with the policy ${policy.class} and ${times(arms.length, "arm")}`,
  status: ({ status }) => `status: ${status}`,
  configure: (payload) => `settings: ${set(payload)}`,
  add: ({ arm }) => `arm added: ${arm}`,
  retire: ({ arm }) => `arm retired: ${arm}`,
  erase: ({ erased, decisions }) => `a subject forgotten: ${erased} stands for it in ${times(decisions, "decision")}`,
};

/** The log of what people changed, the newest first. */
export function changes() {
  const events = [...(state.changes ?? [])].reverse().slice(0, 100);
  if ($("changes").dataset.last === `${state.name} ${events[0]?.seq}`) return;
  $("changes").dataset.last = `${state.name} ${events[0]?.seq}`;
  redraw($("changes"), table(["when", "what", "who"], events.map((event) => [
    time(event.at_us, true), WORDS[event.kind]?.(event.payload ?? {}) ?? event.kind, event.actor ?? "–"])));
}
