"""An experiment at work: requests become events, and what is answered follows from both.

Within a group of requests the state runs ahead of the store: events are applied as they are made, and wait in `pending` until the ledger
has appended them. If it cannot, the ledger drops the state and makes it again from the store, so that nobody ever sees what was not stored.
"""

import os
from typing import Any

import numpy as np

from latentbandits.agent.decision import EARLIEST, SESSION_DIGITS, Decision, is_id
from latentbandits.agent.inputs import observed, received
from latentbandits.agent.names import as_name
from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import Refusal, nearest
from latentbandits.store import requests
from latentbandits.store.errors import Closed, Conflict, Unknown
from latentbandits.store.events import CAUSES, ENDINGS, Event, reasons, text, valued
from latentbandits.store.minutes import Minutes
from latentbandits.store.protocol import Answered, Group, Reads, Row
from latentbandits.store.spec import AFTER, ANY_TIME, DECIDING, STATUSES, Spec, refuse_unclear
from latentbandits.store.state import NOTHING, Played, State, Waiting, scored, side_of

_tuple = tuple.__new__  # takes half the time of Event(...)
LONGEST_KEY = 200  # characters of an idempotency key, and of a unit
MOST_ROUNDS = 1000


class Experiment:
    """One experiment of a ledger.

    Attributes
    ----------
    row : its number, name and epoch
    state : as of the last event, pending ones included
    pending : events that are not stored yet
    duplicates, conflicts : rewards that were told again, with the same value or another; counted since the start
    """

    def __init__(self, row: Row, state: State, reads: Reads) -> None:
        self.row, self.state, self._reads = row, state, reads
        self.pending: list[Event] = []
        self._choices: dict[
            int, dict[int, bytes]
        ] = {}  # of pending decisions, by the number of arms and by their place
        self._answered: dict[str, tuple[str, tuple[Decision, ...], Answered]] = {}
        self._ended: dict[str, Event] = {}
        self._shown: set[str] = set()
        self._changed = False
        self._minutes = Minutes(state)
        self._session = os.urandom(SESSION_DIGITS // 2).hex()
        self.duplicates = self.conflicts = 0

    @property
    def name(self) -> str:
        """Its name."""
        return self.row.name

    def group(self) -> Group:
        """Return what is to be appended."""
        state, changed = self.state, self._changed
        self._score()
        return Group(
            self.row.id,
            self.row.epoch,
            state.head - len(self.pending),
            self.pending,
            [answered for *_, answered in self._answered.values()],
            self._minutes.rows(),
            self._minutes.beliefs,
            state.shown() if changed else None,
            state.status if changed else None,
        )

    def _score(self) -> None:
        """Complete pending decisions by what the policy thought of every arm: for all of them at once, since that takes no longer."""
        pending = self.pending
        for arms, choices in self._choices.items():
            for place, scores in zip(choices, scored(list(choices.values()), arms), strict=True):
                pending[place] = _tuple(Event, (*pending[place][:-1], scores))
        self._choices = {}

    def stored(self) -> None:
        """Take note that all that was pending is stored."""
        self.pending = []
        self._answered.clear()
        self._ended.clear()
        self._shown.clear()
        self._changed = False
        self._minutes.clear()

    def answer(self, request: Any, now_us: int) -> Any:
        """Answer a request at a time, or refuse it; afterwards `pending` has what must be stored before anybody hears of it."""
        expired = self._expire(now_us)
        if type(request) is requests.Expire:
            return expired
        return _METHODS[type(request)](self, request, now_us)

    def _add(self, event: Event, waiting: Waiting | None = None, ends: Waiting | None = None) -> None:
        """Let an event happen, and keep it for the store; `waiting` is the decision that it makes, `ends` the open one that it is about."""
        self._minutes.add(event, waiting or ends)
        self.state.enter(event, waiting)
        self.pending.append(event)

    def _event(self, kind: str, now_us: int, **fields: Any) -> Event:
        state = self.state
        return Event(state.head + 1, kind, now_us if now_us > state.last_us else state.last_us, **fields)

    # Decisions

    def _expire(self, now_us: int) -> int:
        """End the decisions whose window is over: it counts from the decision, by times that never decrease."""
        state, window = self.state, self.state.spec.window_us
        if window is None or not state.open:
            return 0
        until, ended = max(now_us, state.last_us) - window, 0
        while state.open:
            key, waiting = next(iter(state.open.items()))
            if waiting.at_us > until:
                break
            self._end_without(key, waiting, "time" if waiting.active else "unseen", now_us)
            ended += 1
        return ended

    def _end_without(self, key: str, waiting: Waiting, cause: str, now_us: int, actor: str | None = None) -> None:
        """End a decision that has no reward: by the default value if its window is over, else as censored."""
        default = self.state.spec.default
        if cause == "time" and default is not None:
            event = self._event("expire", now_us, key=key, **valued([default] * len(waiting.arms)))
        else:
            event = self._event("censor", now_us, key=key, actor=actor, body=CAUSES[cause])
        self._add(event, ends=waiting)
        self._ended[key] = event

    def _decide(self, request: requests.Decide, now_us: int) -> requests.Made:
        if request.key is not None:
            known = self._known(request)
            if known is not None:
                return requests.Made(known, again=True)
        if self.state.status not in DECIDING:
            raise Closed("experiment", "status", self.state.status, f"one of {', '.join(DECIDING)} to decide")
        if not 0 < len(request.rounds) <= MOST_ROUNDS:
            raise Refusal("experiment", "rounds", len(request.rounds), f"from 1 to {MOST_ROUNDS}")
        checked = [self._checked(wanted) for wanted in request.rounds]
        if len(checked) > self.state.spec.max_open:
            raise Refusal("experiment", "rounds", len(checked), f"at most max_open, {self.state.spec.max_open}")
        while len(self.state.open) + len(checked) > self.state.spec.max_open:
            key, waiting = next(iter(self.state.open.items()))
            self._end_without(key, waiting, "room", now_us)
        first = self.state.head + 1
        decisions = tuple([self._decided(one, request.actor, now_us) for one in checked])
        if request.key is not None:
            answered = Answered(request.key, request.digest(), first, len(decisions), self.state.last_us)
            self._answered[request.key] = (answered.digest, decisions, answered)
        return requests.Made(decisions)

    def _known(self, request: requests.Decide) -> tuple[Decision, ...] | None:
        """Return the decisions that a key stands for, None if it is new; refuse it if it stands for another request."""
        key = request.key
        if not isinstance(key, str) or not key or not _fits(key):
            raise Refusal("experiment", "key", key, f"a text of 1 to {LONGEST_KEY} characters that UTF-8 can hold")
        if key in self._answered:
            digest, decisions, _ = self._answered[key]
        else:
            found = self._reads.answered(self.row.id, key)
            if found is None:
                return None
            digest = found.digest
            events = self._reads.events(self.row.id, found.seq - 1, found.decisions)
            decisions = tuple(map(self.state.decision, events))
        if digest != request.digest():
            raise Conflict("experiment", "key", key, "new, or sent with the same request as before (this one differs)")
        return decisions

    def _checked(self, wanted: requests.Round) -> tuple[np.ndarray, list[int] | None, str | None, bool]:
        """Return what is observed, offered, for whom, and whether it is deferred; or refuse."""
        context, available, unit, deferred = wanted
        try:
            seen = (
                NOTHING if context is None and not self.state.covariates else observed(context, self.state.covariates)
            )
            offered = None if available is None else self.state.player.offered(available)
            unit = None if unit is None else str(as_name(unit, "unit"))
        except Refusal as refusal:
            raise refusal.at(owner="experiment") from None
        if unit is not None and not _fits(unit):
            raise Refusal("experiment", "unit", unit, f"a text of at most {LONGEST_KEY} characters that UTF-8 can hold")
        return seen, offered, unit, bool(deferred)

    def _decided(
        self, wanted: tuple[np.ndarray, list[int] | None, str | None, bool], actor: str | None, now_us: int
    ) -> Decision:
        """Make one decision."""
        seen, offered, unit, deferred = wanted
        state = self.state
        at_us = max(now_us, state.last_us + 1, EARLIEST)  # ids sort by time, and no two have the same
        key = f"{at_us:x}{self._session}"
        played = state.play(key, seen, offered, unit)
        arms, chances, why, by, meant, choice = played
        names = state.player.names
        if (
            len(arms) == 1
            and offered is None
            and meant is None
            and not deferred
            and not len(seen)
            and state.status == "live"
        ):
            body = reasons(why)  # nearly always
        else:
            available = None if offered is None else [names[arm] for arm in offered]
            status = None if state.status == "live" else state.status
            body = text(_said(played, seen, available, deferred, names, status))
        if choice is not None:
            self._choices.setdefault(len(names), {})[len(self.pending)] = choice
        event = _tuple(
            Event, (state.head + 1, "decide", at_us, key, unit, arms[0], by, chances[0], None, actor, body, None)
        )
        self._add(event, Waiting(at_us, arms, by if state.status == "live" else state.status, not deferred))
        return _tuple(Decision, (key, tuple([names[arm] for arm in arms]), why, chances, by))

    def _reward(self, request: requests.Reward, now_us: int) -> str:
        key, given, waiting = request.id, request.rewards, self._waiting(request.id)
        units = self.state.player.policy.units
        try:  # the usual case first: checks take longer than learning
            plain = type(given) is float and units == 1 and -LARGEST_REWARD <= given <= LARGEST_REWARD
            values = [given] if plain else received(given, units).tolist()
        except Refusal as refusal:
            raise refusal.at(owner="experiment") from None
        if waiting is not None:
            event = self._event("reward", now_us, key=key, actor=request.actor, **valued(values))
            self._add(event, ends=waiting)
            self._ended[key] = event
            return "accepted"
        story = self._story(key)
        last = next((event for event in reversed(story) if event.kind in ("reward", "late")), None)
        if last is None:
            made = self.state.decision(story[0])
            numbers = tuple(self.state.player.numbers[arm] for arm in made.arms)
            event = self._event("late", now_us, key=key, actor=request.actor, **valued(values))
            self._minutes.add(event, Waiting(story[0].at_us, numbers, side_of(story[0], story[0].said), True))
            self.state.enter(event)
            self.pending.append(event)
            self._ended[f"late {key}"] = event
            return "late"
        if last.rewards == values:
            self.duplicates += 1
            return "duplicate"
        self.conflicts += 1
        told = last.rewards[0] if units == 1 else last.rewards
        raise Conflict("experiment", "rewards", request.rewards, f"{told}, as they were told for this decision before")

    def _censor(self, request: requests.Censor, now_us: int) -> str:
        waiting = self._waiting(request.id)
        if waiting is not None:
            self._end_without(request.id, waiting, "asked", now_us, request.actor)
            return "accepted"
        end = next(event for event in self._story(request.id) if event.kind in ENDINGS)
        if end.kind == "censor":
            return "duplicate"
        raise Conflict("experiment", "decision", request.id, f"open to be censored (it has ended: {end.kind})")

    def _activate(self, request: requests.Activate, now_us: int) -> str:
        waiting = self._waiting(request.id)
        if waiting is not None and not waiting.active:
            self._add(self._event("activate", now_us, key=request.id, actor=request.actor))
            self._shown.add(request.id)
            return "accepted"
        if waiting is not None or request.id in self._shown:
            return "duplicate"
        story = self._story(request.id)
        if not story[0].said.get("deferred") or any(event.kind == "activate" for event in story):
            return "duplicate"
        raise Conflict("experiment", "decision", request.id, "open to be activated (it has ended)")

    def _waiting(self, key: Any) -> Waiting | None:
        """Return an open decision, None if it is not open."""
        return self.state.open.get(key) if isinstance(key, str) else None

    def _story(self, key: Any) -> list[Event]:
        """Return everything about a decision that is not open, in order, or refuse one that was never made."""
        story: list[Event] = []
        if is_id(key):
            story = self._reads.story(self.row.id, key)
            story += [event for event in self.pending if event.kind == "decide" and event.key == key]
            story += [self._ended[name] for name in (key, f"late {key}") if name in self._ended]
        if not story:
            raise Unknown("experiment", "decision", key, f"the id of a decision of {self.name}")
        return story

    # What people change

    def _change(self, kind: str, said: dict[str, Any], actor: str | None, now_us: int) -> int:
        event = self._event(kind, now_us, actor=actor, body=text(said))
        self._changed = True
        self._add(event)
        return event.seq

    def _add_arm(self, request: requests.AddArm, now_us: int) -> int:
        name = _refused_here(as_name, request.arm)
        _refused_here(self.state.player.addition, name)
        refuse_unclear(dict.fromkeys([*self.state.player.names, name]))
        return self._change("add", {"arm": name}, request.actor, now_us)

    def _retire_arm(self, request: requests.RetireArm, now_us: int) -> int:
        arm = _refused_here(self.state.player.retirable, request.arm)
        if arm == self.state.control:
            raise Refusal("experiment", "arm", request.arm, "another than the control arm (change that first)")
        return self._change("retire", {"arm": self.state.player.names[arm]}, request.actor, now_us)

    def _name_regime(self, request: requests.NameRegime, now_us: int) -> int:
        said = _refused_here(self.state.player.naming, request.regime, request.name)
        return self._change("name", said, request.actor, now_us)

    def _set_status(self, request: requests.SetStatus, now_us: int) -> int:
        status, present = request.status, self.state.status
        if status not in STATUSES:
            raise Refusal(
                "experiment", "status", status, f"one of {', '.join(STATUSES)}{nearest(str(status), STATUSES)}"
            )
        if status == present:
            return self.state.head
        if status not in AFTER[present]:
            rule = f"one of {', '.join(AFTER[present])}" if AFTER[present] else "left as it is"
            raise Closed("experiment", "status", status, f"{rule}, since the experiment is {present}")
        return self._change("status", {"status": status}, request.actor, now_us)

    def _configure(self, request: requests.Configure, now_us: int) -> int:
        state = self.state
        later = [name for name in request.changes if name not in ANY_TIME]
        if later and state.status != "draft":
            rule = f"one of {', '.join(ANY_TIME)}, since the experiment is {state.status}"
            raise Closed("experiment", "setting", later[0], rule)
        arms = "arms" in request.changes
        spec = state.spec.changed(request.changes, () if arms else state.player.names)
        if spec.control in state.retired and not arms:
            raise Refusal("experiment", "control", spec.control, "an arm that is not retired")
        said, before = spec.plain(), state.spec.plain()
        changes = {name: value for name, value in said.items() if value != before[name] or (arms and name == "arms")}
        if not changes:
            return state.head
        if state.status == "draft":
            _refused_here(state.begun, spec, arms)
        if "policy" in changes:
            Spec.read(said)  # the log must not choose which code runs
        for key, waiting in list(state.open.items())[: max(0, len(state.open) - spec.max_open)]:
            self._end_without(key, waiting, "room", now_us)
        return self._change("configure", changes, request.actor, now_us)


_METHODS: dict[type, Any] = {
    requests.Decide: Experiment._decide,
    requests.Reward: Experiment._reward,
    requests.Censor: Experiment._censor,
    requests.Activate: Experiment._activate,
    requests.AddArm: Experiment._add_arm,
    requests.RetireArm: Experiment._retire_arm,
    requests.NameRegime: Experiment._name_regime,
    requests.SetStatus: Experiment._set_status,
    requests.Configure: Experiment._configure,
}


def _said(
    played: Played, seen: np.ndarray, available: Any, deferred: bool, names: Any, status: str | None
) -> dict[str, Any]:
    """Return what the columns of a decision do not say."""
    said: dict[str, Any] = {}
    if len(seen):
        said["context"] = seen.tolist()
    if available is not None:
        said["available"] = available
    if played.why:
        said["why"] = list(played.why)
    if played.policy is not None:
        said["policy"] = names[played.policy[0]]
    if deferred:
        said["deferred"] = True
    if len(played.arms) > 1:
        said |= {"arms": list(played.arms), "probabilities": list(played.chances)}
    if status is not None:
        said["status"] = status
    return said


def _refused_here(check: Any, *given: Any) -> Any:
    """Return what a check returns, or refuse as an experiment."""
    try:
        return check(*given)
    except Refusal as refusal:
        raise refusal.at(owner="experiment") from None


def _fits(given: str) -> bool:
    """Return whether a store can hold a text."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return len(given) <= LONGEST_KEY and "\0" not in given
