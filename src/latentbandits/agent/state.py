"""The state of an agent: what follows from its events, and from nothing else. No clock, no lock, no files.

A decision is made in one way, by an agent in memory, in a store and behind a service: `State.prepare` checks what is wanted,
`State.next_us` says when, `State.decide` makes it, and `State.event` is what the log says of it.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

import numpy as np

from latentbandits.agent import guardrail
from latentbandits.agent.decision import EARLIEST, Decision, Name, Stats, is_id, near
from latentbandits.agent.events import COUNTED, Event, Payload, reasons, text
from latentbandits.agent.inputs import as_name, observed, received
from latentbandits.agent.mixing import CONTROL
from latentbandits.agent.past import Past
from latentbandits.agent.player import Player
from latentbandits.agent.slots import Open
from latentbandits.agent.spec import LEARNING, Spec, plainly
from latentbandits.settings import InvalidValueError

# What a decision is made of: the context as numbers, the available arms by number (None for all), and the subject as a text
Inputs = tuple[np.ndarray, list[int] | None, str | None]
NOTHING = np.zeros(0)  # what is observed without covariates
_tuple = tuple.__new__  # takes half the time of Event(...)
# Of decisions: how they ended, rewards that came later still; and of those that ended: the policy did not learn from the reward,
# it did after a later one was made, it was censored for want of room, or its window closed early for it; rewards that were replaced or
# clipped; and whether any was other than the first one
COUNTS = ("rewarded", "expired", "censored", "late", "unlearned", "overtaken", "dropped", "early", "corrected", "clipped",
          "varied")  # fmt: skip


@dataclass(slots=True)
class State:
    """An agent as of the event `head`.

    Attributes
    ----------
    spec : its settings
    player : the policy at work
    status : live, shadow, frozen, killed or archived; an agent that is in no store is live
    head, last_us : number and time of the last event
    newest : id of the newest decision, empty if there is none
    counts : how many of what `COUNTS` names
    diverged : decisions that came out otherwise when they were repeated; the log is right
    first : the first reward that was learned
    refused : rewards outside the range that were refused, since the process has begun
    past : what corrections need, None if rewards that were learned cannot be corrected
    guards : what was told of the second metric, if there is a guardrail
    """

    spec: Spec
    player: Player
    status: str = "live"
    head: int = 0
    last_us: int = 0
    newest: str = ""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    diverged: int = 0
    first: float | None = None
    refused: int = 0
    past: Past | None = None
    guards: guardrail.Cells = field(default_factory=dict)

    @classmethod
    def fresh(cls, spec: Spec) -> Self:
        """Return an agent to which nothing has happened yet."""
        return cls(spec, Player.fresh(spec)).remembering()

    def remembering(self) -> Self:
        """Begin to keep what corrections need, if there may be any."""
        within = self.spec.corrections
        self.past = Past(within, [self.twin()], [[]]) if within else None
        return self

    def twin(self) -> "State":
        """Return a copy, without its past."""
        given = self.spec, self.player.twin(), self.status, self.head, self.last_us, self.newest, dict(self.counts)
        return State(*given, first=self.first, guards=dict(self.guards))

    @property
    def open(self) -> "OrderedDict[str, Open]":
        """The decisions that wait, oldest first."""
        return self.player.open

    @property
    def control(self) -> int:
        """The number of the control arm."""
        return self.player.numbers[cast("Name", self.spec.control)]

    @property
    def covariates(self) -> int:
        """How many numbers a context has."""
        return self.player.policy.covariates

    @property
    def arms(self) -> tuple[Name, ...]:
        """Names of the arms that can be played."""
        return tuple(name for arm, name in enumerate(self.player.names) if arm not in self.player.retired)

    @property
    def retired(self) -> tuple[Name, ...]:
        """Names of the arms that are retired."""
        return tuple(name for arm, name in enumerate(self.player.names) if arm in self.player.retired)

    @property
    def decided(self) -> int:
        """How many decisions were made."""
        return self.counts["rewarded"] + self.counts["expired"] + self.counts["censored"] + len(self.open)

    @property
    def learned(self) -> int:
        """How many of them the policy has learned from."""
        return self.counts["rewarded"] + self.counts["expired"] - self.counts["unlearned"]

    @property
    def waiting(self) -> int:
        """How many open decisions have rewards that wait for their window to close."""
        return sum(one.told is not None for one in self.open.values()) if self.spec.defers else 0

    def stats(self, now_us: int) -> Stats:
        """Return what happened to the decisions so far."""
        counts, oldest = self.counts, next(iter(self.open.values()), None)
        told = counts["rewarded"] + counts["expired"]
        forgotten = counts["censored"] - counts["dropped"]
        age = None if oldest is None else max(0.0, (now_us - oldest.at_us) / 1e6)
        rest = {
            name: counts[name] for name in ("overtaken", "dropped", "expired", "early", "late", "corrected", "clipped")
        }
        return Stats(
            self.decided, told, forgotten=forgotten, open=len(self.open), oldest=age, waiting=self.waiting, refused=self.refused, **rest
        )  # fmt: skip

    def prepare(self, context: object, available: object, subject: object) -> Inputs:
        """Return what a decision is made of, or refuse it; nothing changes."""
        seen = NOTHING if context is None and not self.covariates else observed(context, self.covariates)
        offered = None if available is None else self.player.offered(available)
        return seen, offered, None if subject is None else str(as_name(subject, "subject"))

    @property
    def is_full(self) -> bool:
        """Whether the oldest open decision must end before another one is made."""
        return len(self.player.open) >= self.spec.max_open

    def next_us(self, now_us: int) -> int:
        """Return when the next decision is made: ids begin with the time, sort by it, and no two have the same."""
        return max(now_us, self.last_us + 1, EARLIEST)

    def event(
        self,
        key: str,
        at_us: int,
        inputs: Inputs,
        made: tuple[Decision, Open | None] | None = None,
        actor: str | None = None,
    ) -> Event:
        """Return the event of a decision: of one that is wanted and, once `decide` has made it, also what came of it.

        In place of scores there are the bytes of the choice: see `slots.scored`, which takes many at once.
        """
        seen, offered, subject = inputs
        payload = Payload()
        if len(seen):
            payload["context"] = seen.tolist()
        if offered is not None:
            payload["available"] = [self.player.names[arm] for arm in offered]
        if made is None:
            return Event(self.head + 1, "decide", at_us, key, subject, actor=actor, body=text(payload))
        decision, meant = made
        waiting = self.open[key]
        if payload or meant is not None or len(waiting.arms) > 1 or self.status != "live":
            body = text(self._outcome(payload, decision, waiting, meant))
        else:
            body = reasons(decision.probe_reasons)  # nearly always
        arm, chance, content = waiting.arms[0], decision.probabilities[0], (meant or waiting).content or None
        row = (self.head, "decide", at_us, key, subject, arm, decision.by, chance, None, actor, body, content)
        return _tuple(Event, row)

    def _outcome(self, payload: Payload, decision: Decision, waiting: Open, meant: Open | None) -> Payload:
        """Return what a body says, with what came of the decision and has no column."""
        if decision.probe_reasons:
            payload["probe_reasons"] = list(decision.probe_reasons)
        if meant is not None:
            payload["policy"] = self.player.names[meant.arms[0]]
        if len(waiting.arms) > 1:
            payload["arms"], payload["probabilities"] = list(waiting.arms), list(decision.probabilities)
        if self.status != "live":
            payload["status"] = self.status
        return payload

    def decide(
        self,
        key: str,
        at_us: int,
        seen: np.ndarray,
        offered: list[int] | None,
        subject: Name | None,
    ) -> tuple[Decision, Open | None]:
        """Decide, as the status says; return also what the policy decided, if something else is played."""
        wanted: Open | None = None
        if self.guards:
            offered = guardrail.offered(self, offered)
        if self.spec.peeks and self.status in LEARNING:
            self.player.look_ahead(at_us, self.spec)
        if self.status == "live":
            decision = self.player.decide(key, at_us, seen, offered, subject)
        else:
            decision, wanted = self._decide_otherwise(key, at_us, seen, offered, subject)
        self.newest = key
        self.head += 1
        self.last_us = at_us
        return decision, wanted

    def remember(self, event: Event) -> None:
        """Keep an event for corrections, once it has happened."""
        if self.past is not None:
            self.past.add(self, event)

    def _decide_otherwise(
        self, key: str, at_us: int, seen: np.ndarray, offered: list[int] | None, subject: Name | None
    ) -> tuple[Decision, Open | None]:
        """Decide while frozen, or play the control arm."""
        player, status = self.player, self.status
        if status == "frozen":
            return player.decide(key, at_us, seen, offered, subject, status), None
        fallback = self.control if offered is None or self.control in offered else offered[0]
        arms, chances = (fallback,) * player.policy.groups, (1.0,) * player.policy.groups
        decision = Decision(key, player.called(arms), (), chances, CONTROL)
        if status != "shadow":  # killed: the policy is not asked, since it may be what is wrong
            player.open[key] = Open(b"", arms, CONTROL, at_us, status)
            return decision, None
        probe_reasons = player.decide(key, at_us, seen, offered, subject, status).probe_reasons
        wanted = player.open[key]
        player.overwrite(key, arms, chances, CONTROL)
        return decision._replace(probe_reasons=probe_reasons), wanted

    def end(self, kind: str, key: str, at_us: int, rewards: np.ndarray | None) -> None:
        """End an open decision, by its rewards (`reward`, `expire`) or without (`censor`)."""
        player, counts = self.player, self.counts
        one = player.end(key)
        content = one.content
        if self.spec.peeks and one.told is not None and any(reward != self.spec.default for reward in one.told):
            player.delays.add(one.told_us - one.at_us)
        if rewards is None:
            pass
        elif content and self.status in LEARNING:
            player.block[:] = content
            player.learn(player.policy, player.memory, player.choice, rewards)
            if key != self.newest:
                counts["overtaken"] += 1
        else:
            counts["unlearned"] += 1
        counts[COUNTED[kind]] += 1
        if kind == "reward" and not counts["varied"] and rewards is not None:
            first = rewards.item(0)
            if self.first is None:
                self.first = first
            if first != self.first or (len(rewards) > 1 and (rewards != first).any()):
                counts["varied"] = 1
        self.head += 1
        self.last_us = at_us

    def adding(self, name: object) -> Payload:
        """Return what an event says that adds an arm, or refuse it."""
        arm = as_name(name)
        self.player.addition(arm)
        return {"arm": arm}

    def retiring(self, name: object) -> Payload:
        """Return what an event says that retires an arm, or refuse it."""
        return {"arm": self.player.names[self.player.retirable(name)]}

    def apply(self, event: Event) -> Decision | None:
        """Let an event happen, and return the decision if it is one. The log says what was played, whatever comes out here."""
        if event.seq != self.head + 1 or event.at_us < self.last_us:
            rule = f"{self.head + 1}, at {self.last_us} or later (it was applied before, or the log is damaged)"
            raise InvalidValueError("log", "event", event.seq, rule)
        if event.kind not in RULES:
            raise InvalidValueError("log", "event's kind", event.kind, f"one of {', '.join(RULES)}")
        decision = RULES[event.kind](self, event)
        self.head, self.last_us = event.seq, event.at_us
        if event.kind != "decide":
            self.remember(event)
        return decision

    def _decide_again(self, event: Event) -> Decision:
        payload, player, key = event.payload, self.player, event.decision
        if not is_id(key) or key <= self.newest:
            raise InvalidValueError("log", "decision", key, f"an id above {self.newest!r}, the newest so far")
        inputs = self.prepare(payload.get("context"), payload.get("available"), event.subject)
        decision, meant = self.decide(key, event.at_us, *inputs)
        if event.arm is not None:  # what came of it is noted
            arms, chances, here = event.arms, event.probabilities, self.open[key].arms
            same = here == arms and decision.by == event.decided_by
            self.diverged += not (same and near(decision.probabilities, chances))
            if here != arms and self.open[key].content:
                player.overwrite(key, arms, chances, str(event.decided_by))
            player.change(key, self.open[key]._replace(counted_under=event.counted_under))
        if self.past is not None:
            self.remember(event if event.arm is not None else self.event(key, event.at_us, inputs, (decision, meant)))
        return decision

    def _end_again(self, event: Event) -> None:
        key = str(event.decision)
        if key not in self.open:
            raise InvalidValueError("log", "decision", event.decision, "an open one")
        payload = event.payload
        rewards = None if event.kind == "censor" else received(event.rewards, self.player.policy.groups)
        guardrail.note(self, payload, self.open[key])
        self.end(event.kind, key, event.at_us, rewards)
        counts = self.counts
        if payload.get("cause") == "room":
            counts["dropped" if rewards is None else "early"] += 1
        counts["clipped"] += "given" in payload

    def _tell(self, event: Event) -> None:
        key = str(event.decision)
        if key not in self.open:
            raise InvalidValueError("log", "decision", event.decision, "an open one")
        told = tuple(received(event.rewards, self.player.policy.groups).tolist())
        guardrail.note(self, event.payload, self.open[key])
        self.player.change(key, self.open[key]._replace(told=told, told_us=event.at_us))
        self.counts["clipped"] += "given" in event.payload

    def _correct(self, event: Event) -> None:
        key = str(event.decision)
        if key in self.open:
            self._tell(event)
        elif self.past is not None:  # else it is the past that is repeated, in which the reward is right by now
            rewards = received(event.rewards, self.player.policy.groups).tolist()
            if self.past.rewards(key) is None:
                raise InvalidValueError("log", "decision", event.decision, "one that can be corrected")
            self.player.become(self.past.corrected(key, rewards).player)
            self.counts["clipped"] += "given" in event.payload
        self.counts["corrected"] += 1

    def _note_late(self, event: Event) -> None:
        self.counts["late"] += 1
        self.counts["clipped"] += "given" in event.payload

    def _add(self, event: Event) -> None:
        name = as_name(_field(event.payload, "arm"))
        self.player.add(name, self.player.addition(name))
        self.guards = guardrail.without(self.guards, self.player.numbers[name])

    def _retire(self, event: Event) -> None:
        self.player.retire(self.player.retirable(_field(event.payload, "arm")))

    def _set_status(self, event: Event) -> None:
        self.status = event.payload["status"]

    def _configure(self, event: Event) -> None:
        changes = cast("dict[str, Any]", event.payload)
        self.spec = self.spec._replace(**plainly(changes))
        if "guardrail" in changes:
            self.guards = {}
        self.player.mix(self.spec.mixing(self.player.names)._replace(random=self.player.mixing.random))

    def shown(self) -> str:
        """Return the settings as they are now, as JSON: what a store shows of an experiment."""
        return text({**self.spec.plain(), "arms": list(self.arms), "retired": list(self.retired)}) or ""

    def decision(self, event: Event) -> Decision:
        """Return a decision as it was answered."""
        probe_reasons = tuple(event.payload.get("probe_reasons", ()))
        return Decision(
            str(event.decision),
            self.player.called(event.arms),
            probe_reasons,
            event.probabilities,
            str(event.decided_by),
        )


# How each kind of event happens
RULES: Mapping[str, Callable[[State, Event], Decision | None]] = {
    "create": lambda state, event: None,  # noqa: ARG005
    "configure": State._configure,
    "status": State._set_status,
    "add": State._add,
    "retire": State._retire,
    "erase": lambda state, event: None,  # noqa: ARG005
    "decide": State._decide_again,
    "reward": State._end_again,
    "expire": State._end_again,
    "censor": State._end_again,
    "late": State._note_late,
    "told": State._tell,
    "correct": State._correct,
}


def _field(payload: Payload, name: str) -> object:
    """Return what a body must say, or refuse it."""
    if name not in payload:
        raise InvalidValueError("log", "event's body", payload, f"one that has {name}")
    return payload[name]  # type: ignore[literal-required]
