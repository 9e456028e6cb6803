"""Events: everything that ever happens to an agent, in one order. All else follows from them.

A journal receives them, a store keeps them, and `State.apply` lets them happen, whoever wrote them.

============  ===============================================================================================================
kind          what it says, beside its number `seq`, its time `at_us` and who did it (`actor`); `decision` is an id
============  ===============================================================================================================
create        ``body``: the specification; a journal begins with one, which has the number of the event before
configure     ``body``: the settings that change
status        ``body``: status
add, retire   ``body``: arm (a name)
erase         ``body``: erased (the pseudonym of a subject that was forgotten), decisions (how many)
decide        decision, subject; ``body``: context, available (names); what came of it: arm, decided_by, probability, in a store also
              scores; ``body``: probe_reasons, status (if not live), policy (its arm, in shadow), arms and probabilities of several groups
told          decision, value (``body``: rewards, if there are several groups): a reward that is learned when the window closes
reward        decision, value. One of these three ends a decision, once.
expire        decision, value: the reward window is over, and the default value was taken
censor        decision; ``body``: cause (asked: by the caller; time: the window is over; room: too many were open)
late          decision, value: a reward for a decision that had expired or was censored; not learned
correct       decision, value: what was told, or taken, is replaced; if it was learned, the policy learns anew from there
============  ===============================================================================================================

A window that closes early, to make room, has ``body``: cause (room); a reward that was clipped has ``body``: given, as it was told; one
that is told with a second metric has ``body``: guard, and regime, in which that is counted (`guardrail`).

To add a kind: a row in `KINDS` (and in the table above), and a function in `state.RULES` that lets it happen.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypedDict, cast

from latentbandits.agent.decision import Name


class Kind(NamedTuple):
    """What a kind of event is to a decision: one of each `role` happens to it, but for `REPEATED`; `counted` names its count."""

    role: str | None = None
    counted: str | None = None


KINDS = {
    "create": Kind(),
    "configure": Kind(),
    "status": Kind(),
    "add": Kind(),
    "retire": Kind(),
    "erase": Kind(),
    "decide": Kind("decided", "decided"),
    "told": Kind("told"),
    "reward": Kind("ended", "rewarded"),
    "expire": Kind("ended", "expired"),
    "censor": Kind("ended", "censored"),
    "late": Kind("late", "late"),
    "correct": Kind("corrected"),
}
ROLES = {role: tuple(name for name, kind in KINDS.items() if kind.role == role) for role in
         ("decided", "told", "ended", "late", "corrected")}  # fmt: skip
REPEATED = ("corrected",)
COUNTED = {name: kind.counted for name, kind in KINDS.items() if kind.counted is not None}


class Payload(TypedDict, total=False):
    """What the body of an event says; the module tells which kind has which."""

    context: list[float]
    available: list[Name]
    probe_reasons: list[str]
    policy: Name
    arms: list[int]
    probabilities: list[float | None]
    status: str
    rewards: list[float]
    given: list[float]
    cause: str
    arm: Name
    erased: str
    decisions: int
    holdback: float
    guard: float
    regime: int


class Event(NamedTuple):
    """One row of the log, in the order of its columns; see the module for what each kind says."""

    seq: int
    kind: str
    at_us: int
    decision: str | None = None
    subject: str | None = None
    arm: int | None = None
    decided_by: str | None = None
    probability: float | None = None
    value: float | None = None
    actor: str | None = None
    body: str | None = None
    scores: bytes | None = None

    @property
    def payload(self) -> Payload:
        """What the body says."""
        return cast("Payload", {} if self.body is None else _KNOWN.get(self.body) or json.loads(self.body))

    @property
    def rewards(self) -> list[float]:
        """The rewards of all groups."""
        return [self.value] if self.value is not None else self.payload.get("rewards", [])

    @property
    def arms(self) -> tuple[int, ...]:
        """The arms of a decision by number, one per group."""
        assert self.arm is not None
        return tuple(self.payload.get("arms", ())) or (self.arm,)

    @property
    def probabilities(self) -> tuple[float | None, ...]:
        """The probabilities of a decision's arms."""
        return tuple(self.payload.get("probabilities", ())) or (self.probability,)

    @property
    def counted_under(self) -> str:
        """Under what a decision is counted: who decided while it was live (policy, floor or control), else the status of then."""
        return str(self.payload.get("status", self.decided_by))


def text(payload: Mapping[str, object]) -> str | None:
    """Return a body as JSON, None if it says nothing; one mapping has one text."""
    return _encode(payload) if payload else None


@cache
def reasons(probe_reasons: tuple[str, ...]) -> str | None:
    """Return the body of a decision of which there is nothing else to say than the reasons to probe."""
    return text({"probe_reasons": list(probe_reasons)} if probe_reasons else {})


def rewarded(
    seq: int,
    kind: str,
    at_us: int,
    key: str,
    rewards: Sequence[float],
    actor: str | None = None,
    more: Payload | None = None,
) -> Event:
    """Return the event of a reward of some kind; those of several groups are in the body, and what `more` says."""
    if len(rewards) == 1:
        return Event(seq, kind, at_us, key, value=rewards[0], actor=actor, body=text(more) if more else None)
    return Event(seq, kind, at_us, key, actor=actor, body=text({"rewards": list(rewards), **(more or {})}))


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # made once: it takes longer than most bodies
CAUSES = {cause: text({"cause": cause}) for cause in ("asked", "time", "room")}
_KNOWN = {body: {"cause": cause} for cause, body in CAUSES.items()}
