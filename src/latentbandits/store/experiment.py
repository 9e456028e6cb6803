"""An experiment at work: requests become events, and what is answered follows from both.

Within a group of requests the state runs ahead of the store: events are applied as they are made, and wait in `pending` until the ledger
has appended them. If it cannot, the ledger drops the state and makes it again from the store, so that nobody ever sees what was not stored.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from latentbandits.agent import guardrail
from latentbandits.agent import rewards as ends
from latentbandits.agent.decision import Decision, Outcome, decision_id, is_id
from latentbandits.agent.events import ROLES, Event, rewarded, text
from latentbandits.agent.inputs import received
from latentbandits.agent.slots import Open, scored
from latentbandits.agent.spec import ANY_TIME, DECIDING, STATUSES, refuse_unclear
from latentbandits.agent.state import Inputs, State
from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import InvalidValueError, nearest
from latentbandits.store import requests
from latentbandits.store.clock import SHARE
from latentbandits.store.errors import ClosedError, ConflictError, NotFoundError
from latentbandits.store.minutes import Minutes
from latentbandits.store.queries import Reads
from latentbandits.store.records import Answered, Group, Row

COUNTED_ENDS = ("rewarded", "expired", "censored", "late", "early", "corrected", "clipped")


class Experiment:
    """One experiment of a ledger.

    Attributes
    ----------
    row : its number, name and epoch
    state : as of the last event, pending ones included
    pending : events that are not stored yet
    duplicates, conflicts : rewards that were told again, with the same value or another; counted since the start
    """

    def __init__(self, row: Row, state: State, reads: Reads, now_us: int) -> None:
        self.row, self.state, self._reads = row, state, reads
        self._begun = state.last_us, now_us
        self.pending: list[Event] = []
        self._answered: dict[str, tuple[Decision, Answered]] = {}
        self._recent: defaultdict[str, list[Event]] = defaultdict(list)  # what has happened to decisions, pending still
        self._scored, self._changed = 0, False
        self._minutes = Minutes(state)
        self.duplicates = self.conflicts = 0

    @property
    def name(self) -> str:
        """Its name."""
        return self.row.name

    @property
    def counts(self) -> dict[str, int]:
        """What happened to its decisions and, since the start, duplicates, conflicts and rewards that were refused."""
        counts = self.state.counts
        found = {"decided": self.state.decided} | {name: counts[name] for name in COUNTED_ENDS}
        return found | {"duplicates": self.duplicates, "conflicts": self.conflicts, "refused": self.state.refused}

    def group(self) -> Group:
        """Return what is to be appended."""
        self._write_scores()
        state, changed = self.state, self._changed
        return Group(
            self.row.id,
            self.row.epoch,
            state.head - len(self.pending),
            self.pending,
            [answered for _, answered in self._answered.values()],
            self._minutes.rows(),
            self._minutes.beliefs,
            state.shown() if changed else None,
            state.status if changed else None,
        )

    def stored(self) -> None:
        """Take note that all that was pending is stored."""
        self.pending = []
        self._answered.clear()
        self._recent.clear()
        self._scored, self._changed = 0, False
        self._minutes.clear()

    def _write_scores(self) -> None:
        """Write what the policy thought of every arm, at once for all decisions that are pending and have the same arms."""
        places = [place for place in range(self._scored, len(self.pending)) if self.pending[place].scores]
        written = scored([self.pending[place].scores or b"" for place in places], len(self.state.player.names))
        for place, scores in zip(places, written, strict=True):
            self.pending[place] = Event._make((*self.pending[place][:-1], scores))
        self._scored = len(self.pending)

    def answer(self, request: requests.Request, now_us: int) -> requests.Answer:
        """Answer a request at a time, or refuse it; afterwards `pending` has what must be stored before anybody hears of it."""
        now_us = self._now(now_us)
        expired = self._expire(now_us)
        try:
            return expired if type(request) is requests.Expire else _METHODS[type(request)](self, request, now_us)
        except InvalidValueError as refusal:
            raise (refusal.at(owner="experiment") if refusal.owner == "Agent" else refusal) from None

    def _happen(self, event: Event) -> None:
        """Let an event happen that needs nothing but itself, and keep it for the store."""
        self._minutes.add(event, self.state.open.get(event.decision or ""))
        self.state.apply(event)
        self.pending.append(event)

    def _event(
        self, kind: str, now_us: int, key: str | None = None, actor: str | None = None, body: str | None = None
    ) -> Event:
        return Event(self.state.head + 1, kind, self._at(now_us), key, actor=actor, body=body)

    def _at(self, now_us: int) -> int:
        return now_us if now_us > self.state.last_us else self.state.last_us

    def _now(self, clock_us: int) -> int:
        """Return the time; if the log is ahead of the clock it goes on from there, a tenth slower, until the clock has caught up."""
        last, opened = self._begun
        passed = clock_us - opened
        return max(clock_us, last + passed - passed // SHARE)

    # Decisions

    def is_due(self, clock_us: int) -> bool:
        """Return whether the window of some decision is over."""
        window, waiting = self.state.spec.window_us, next(iter(self.state.open.values()), None)
        return window is not None and waiting is not None and waiting.at_us + window <= self._now(clock_us)

    def _expire(self, now_us: int) -> int:
        """End the decisions whose window is over."""
        ended = 0
        while (event := ends.closing(self.state, now_us)) is not None:
            self._end(event)
            ended += 1
        return ended

    def _end(self, event: Event) -> None:
        """Let a decision end."""
        self._happen(event)
        self._recent[str(event.decision)].append(event)

    def _decide(self, request: requests.Decide, now_us: int) -> Decision:
        if request.idempotency_key is not None:
            repeated = self._repeat(request)
            if repeated is not None:
                return repeated
        state, inputs = self.state, self.checked(request)
        while state.is_full:
            self._end(ends.making_room(state, now_us))
        at_us = state.next_us(now_us)
        key = decision_id(at_us, state.head + 1, self.row.salt)
        self._minutes.turn(at_us)
        made = state.decide(key, at_us, *inputs)
        event = state.event(key, at_us, inputs, made, request.actor)
        state.remember(event)
        self._minutes.count(event, state.open[key])
        self.pending.append(event)
        decision = made[0]
        if request.idempotency_key is not None:
            self._answered[request.idempotency_key] = (
                decision,
                Answered(request.idempotency_key, request.digest(), event.seq, at_us),
            )
        return decision

    def _repeat(self, request: requests.Decide) -> Decision | None:
        """Return the decision that a key stands for, None if it is new; refuse it if it stands for another request."""
        key = request.idempotency_key
        if not isinstance(key, str) or not key or not requests.fits(key):
            raise InvalidValueError(
                "experiment", "key", key, f"a text of 1 to {requests.LONGEST_KEY} characters that UTF-8 can hold"
            )
        if key in self._answered:
            decision, answered = self._answered[key]
        else:
            stored = self._reads.answered(self.row.id, key)
            if stored is None:
                return None
            answered = stored
            decision = self.state.decision(self._reads.events(self.row.id, answered.seq - 1, 1)[0])
        if answered.digest != request.digest():
            raise ConflictError(
                "experiment", "key", key, "new, or sent with the same request as before (this one differs)"
            )
        return decision

    def checked(self, wanted: requests.Decide) -> Inputs:
        """Return what a decision is made of, or refuse it."""
        if self.state.status not in DECIDING:
            raise ClosedError("experiment", "status", self.state.status, f"one of {', '.join(DECIDING)} to decide")
        inputs = self.state.prepare(wanted.context, wanted.available, wanted.subject)
        subject = inputs[2]
        if subject is not None and not requests.fits(subject):
            rule = f"a text of at most {requests.LONGEST_KEY} characters that UTF-8 can hold"
            raise InvalidValueError("experiment", "subject", subject, rule)
        return inputs

    def _reward(self, request: requests.Reward, now_us: int) -> Outcome:
        key, given, waiting, state = request.id, request.rewards, self._waiting(request.id), self.state
        groups = state.player.policy.groups
        # the usual case first: checks take longer than learning
        if isinstance(given, float) and groups == 1 and -LARGEST_REWARD <= given <= LARGEST_REWARD:
            values = [float(given)]
        else:
            values = received(given, groups).tolist()
        values, more = ends.admitted(state, values)
        if waiting is not None and waiting.told is None:
            more = guardrail.admitted(state, request.guard, more)
            event = ends.telling(state, key, values, more, now_us, request.actor)
            if event.kind == "reward" and more is None:  # the usual case once more
                self._minutes.add(event, waiting)
                state.end("reward", key, event.at_us, np.array(values))
                state.remember(event)
                self.pending.append(event)
                self._recent[key].append(event)
            else:
                self._end(event)
            return "accepted"
        story = self._story(key)
        last = next((event for event in reversed(story) if event.kind in _TOLD), None)
        revived = request.correct and ends.is_correctable(state, key)
        if last is not None and last.rewards == values and not (revived and last.kind == "late"):
            self.duplicates += 1
            return "duplicate"
        if revived:
            self._add(ends.correcting(state, key, values, more, now_us, request.actor), story[0])
            return "corrected"
        if last is None:
            event = rewarded(state.head + 1, "late", self._at(now_us), key, values, request.actor, more)
            self._add(event, story[0])
            return "late"
        self.conflicts += 1
        if request.correct:
            ends.correcting(state, key, values, more, now_us)  # refuses it
        told = last.rewards[0] if groups == 1 else last.rewards
        rule = f"{told}, as they were told for this decision before (`correct` replaces them)"
        raise ConflictError("experiment", "rewards", request.rewards, rule)

    def _add(self, event: Event, begun: Event) -> None:
        """Let something happen to a decision that has ended, or whose reward is known."""
        self._minutes.add(event, Open(b"", begun.arms, str(begun.decided_by), begun.at_us, begun.counted_under))
        self.state.apply(event)
        self.pending.append(event)
        self._recent[str(event.decision)].append(event)

    def _censor(self, request: requests.Censor, now_us: int) -> Outcome:
        waiting = self._waiting(request.id)
        if waiting is not None and waiting.told is None:
            self._end(ends.ending(self.state, request.id, "asked", now_us, request.actor))
            return "accepted"
        end = next(event for event in self._story(request.id) if event.kind in (*ROLES["told"], *ROLES["ended"]))
        if end.kind == "censor":
            return "duplicate"
        raise ConflictError("experiment", "decision", request.id, f"open to be censored (it has ended: {end.kind})")

    def _waiting(self, key: object) -> Open | None:
        """Return an open decision, None if it is not open."""
        return self.state.open.get(key) if isinstance(key, str) else None

    def _story(self, key: object) -> list[Event]:
        """Return everything about a decision that is not open, in order, or refuse one that was never made."""
        story: list[Event] = []
        if is_id(key):
            story = self._reads.story(self.row.id, key)
            story += [event for event in self.pending if event.kind == "decide" and event.decision == key]
            story += self._recent.get(key, [])
        if not story:
            raise NotFoundError("experiment", "decision", key, f"the id of a decision of {self.name}")
        return story

    # What people change

    def _change(self, request: requests.Change, now_us: int) -> int:
        if request.kind not in _CHECKS:
            raise InvalidValueError("experiment", "change", request.kind, f"one of {', '.join(_CHECKS)}")
        payload = _CHECKS[request.kind](self, request.payload)
        if not payload:
            return self.state.head  # it is so already
        if "max_open" in payload:
            while len(self.state.open) > payload["max_open"]:
                self._end(ends.making_room(self.state, now_us))
        event = self._event(request.kind, now_us, actor=request.actor, body=text(payload))
        self._changed = True
        self._write_scores()  # from here on there may be another arm
        self._happen(event)
        if not self.state.spec.defers:  # of those that are known no window is waited for any more
            for key in [key for key, waiting in self.state.open.items() if waiting.told is not None]:
                self._end(ends.ending(self.state, key, "time", now_us))
        return event.seq

    def _adding(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        payload = self.state.adding(given.get("arm"))
        refuse_unclear(dict.fromkeys([*self.state.player.names, payload["arm"]]))
        return payload

    def _retiring(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        payload = self.state.retiring(given.get("arm"))
        if payload["arm"] == self.state.spec.control:
            rule = "another than the control arm (change that first)"
            raise InvalidValueError("experiment", "arm", payload["arm"], rule)
        return payload

    def _setting_status(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        status, present = given.get("status"), self.state.status
        if status not in STATUSES:
            rule = f"one of {', '.join(STATUSES)}{nearest(str(status), STATUSES)}"
            raise InvalidValueError("experiment", "status", status, rule)
        if present == "archived" != status:
            raise ClosedError("experiment", "status", status, "left as it is, since the experiment is archived")
        return {} if status == present else {"status": status}

    def _configuring(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        state = self.state
        for name in given:
            if name in state.spec._fields and name not in ANY_TIME:
                raise ClosedError("experiment", "setting", name, f"one of {', '.join(ANY_TIME)}: the others stay")
        spec = state.spec.changed(given, state.player.names)
        if spec.control in state.retired:
            raise InvalidValueError("experiment", "control", spec.control, "an arm that is not retired")
        before = state.spec._asdict()
        return {name: value for name, value in spec._asdict().items() if name in ANY_TIME and value != before[name]}


_TOLD = ("told", "reward", "late", "correct")  # kinds of events that say what somebody has told
# What may happen to an experiment beside decisions: each returns what the event says, nothing if it changes nothing, or refuses
_CHECKS: dict[str, Callable[[Experiment, Mapping[str, Any]], Mapping[str, Any]]] = {
    "add": Experiment._adding,
    "retire": Experiment._retiring,
    "status": Experiment._setting_status,
    "configure": Experiment._configuring,
    "erase": lambda one, given: given,  # noqa: ARG005
}
_METHODS: dict[type, Callable[[Experiment, Any, int], requests.Answer]] = {
    requests.Decide: Experiment._decide,
    requests.Reward: Experiment._reward,
    requests.Censor: Experiment._censor,
    requests.Change: Experiment._change,
}
