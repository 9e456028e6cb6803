"""Events: everything that ever happens to an experiment, in one order. All else follows from them.

============  ===============================================================================================================
kind          what it says, beside its number `seq`, its time `at_us` and who did it (`actor`)
============  ===============================================================================================================
create        ``body``: the specification
configure     ``body``: the settings that change
status        ``body``: status
add, retire   ``body``: arm (a name)
name          ``body``: number (of a regime), name
decide        key, unit, arm, decided_by, probability, scores; ``body``: context, available (names), why, deferred; status (if not
              live), policy (its arm, in shadow); arms and probabilities if there are several units
activate      key: the decision was shown
reward        key, value (``body``: rewards, if there are several units). One of these three ends a decision, once.
expire        key, value: the reward window is over, and the default value was taken
censor        key; ``body``: cause (asked: by the caller; time: the window is over; unseen: never activated; room: too many were open)
late          key, value: a reward for a decision that had expired or was censored; not learned
============  ===============================================================================================================
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

ENDINGS = ("reward", "expire", "censor")
OF_DECISIONS = ("decide", "activate", *ENDINGS, "late")


class Event(NamedTuple):
    """One row of the log, in the order of its columns; see the module for what each kind says."""

    seq: int
    kind: str
    at_us: int
    key: str | None = None
    unit: str | None = None
    arm: int | None = None
    decided_by: str | None = None
    probability: float | None = None
    value: float | None = None
    actor: str | None = None
    body: str | None = None
    scores: bytes | None = None

    @property
    def said(self) -> Mapping[str, Any]:
        """What the body says."""
        return {} if self.body is None else json.loads(self.body)

    @property
    def rewards(self) -> list[float]:
        """The rewards of all units."""
        return [self.value] if self.value is not None else list(self.said.get("rewards", []))


def text(said: Mapping[str, Any]) -> str | None:
    """Return a body as JSON, None if it says nothing; one mapping has one text."""
    return _encode(said) if said else None


@cache
def reasons(why: tuple[str, ...]) -> str | None:
    """Return the body of a decision of which there is nothing else to say than the reasons to probe."""
    return text({"why": list(why)} if why else {})


def valued(rewards: list[float]) -> dict[str, Any]:
    """Return where the rewards of a decision go."""
    return {"value": rewards[0]} if len(rewards) == 1 else {"body": text({"rewards": rewards})}


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # made once: it takes longer than most bodies
CAUSES = {cause: text({"cause": cause}) for cause in ("asked", "time", "unseen", "room")}
