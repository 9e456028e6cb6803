"""What can be asked of an experiment. Each is answered after it is on disk, or refused and as if it had never been asked."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

import numpy as np

from latentbandits.agent.decision import Decision, Outcome
from latentbandits.agent.spec import Spec

LONGEST_KEY = 200  # characters of an idempotency key, and of a subject


class Wanted(Protocol):
    """One decision that is wanted: a `Round`, or anything else that says the same, such as a decoded body."""

    @property
    def context(self) -> object:
        """What is observed, as for `Agent.ask`."""

    @property
    def available(self) -> object:
        """The names of the arms that can be played, None for all."""

    @property
    def subject(self) -> object:
        """For whom it is, None if nobody is named."""

    @property
    def deferred(self) -> bool:
        """Whether it counts once it is activated."""


class Round(NamedTuple):
    """One decision that is wanted, by values."""

    context: Any = None
    available: Any = None
    subject: Any = None
    deferred: bool = False


class Decide(NamedTuple):
    """Decide for one round or several; answered by the decisions. With a `key` that was used before they are `Repeated`."""

    experiment: str
    rounds: Sequence[Wanted] = (Round(),)
    key: str | None = None
    actor: str | None = None

    def digest(self) -> str:
        """Return the digest of what is wanted: one request has one."""
        rounds = [[each.context, each.available, each.subject, each.deferred] for each in self.rounds]
        try:
            text = json.dumps(rounds, default=_plain, allow_nan=True)
        except (TypeError, ValueError):
            text = repr(rounds)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Repeated(tuple[Decision, ...]):
    """The decisions of a key that was used before, once more."""


class Reward(NamedTuple):
    """Tell the rewards of a decision; answered by "accepted", "duplicate" or "late", or a `ConflictError` or `NotFoundError`."""

    experiment: str
    id: str
    rewards: object
    actor: str | None = None


class Censor(NamedTuple):
    """End a decision without a reward; answered by "accepted" or "duplicate"."""

    experiment: str
    id: str
    actor: str | None = None


class Activate(NamedTuple):
    """Say that a deferred decision was shown; answered by "accepted" or "duplicate"."""

    experiment: str
    id: str
    actor: str | None = None


class Expire(NamedTuple):
    """End the decisions whose window is over; answered by their number. It happens before every other request too."""

    experiment: str
    actor: str | None = None


class AddArm(NamedTuple):
    """Add an arm, or bring a retired one back; answered by the number of the event."""

    experiment: str
    arm: object
    actor: str | None = None


class RetireArm(NamedTuple):
    """Never play an arm again; answered by the number of the event."""

    experiment: str
    arm: object
    actor: str | None = None


class NameRegime(NamedTuple):
    """Name a state that the policy remembers; answered by the number of the event."""

    experiment: str
    regime: object
    name: object
    actor: str | None = None


class SetStatus(NamedTuple):
    """Change the status; answered by the number of the event."""

    experiment: str
    status: object
    actor: str | None = None


class Configure(NamedTuple):
    """Change settings (see `Spec`): those of `ANY_TIME` always, all of them in a draft; answered by the number of the event."""

    experiment: str
    changes: Mapping[str, object]
    actor: str | None = None


class Create(NamedTuple):
    """Make an experiment; answered by the number of its last event."""

    experiment: str
    spec: Spec
    status: str = "draft"
    actor: str | None = None


Answer = tuple[Decision, ...] | Outcome | int  # decisions, what became of a reward, or the number of an event
Request = (
    Decide | Reward | Censor | Activate | Expire | AddArm | RetireArm | NameRegime | SetStatus | Configure | Create
)


def keys(wanted: Sequence["Request"]) -> list[tuple[str, str]]:
    """Return the idempotency keys of some requests, each with its experiment."""
    decides = [one for one in wanted if type(one) is Decide]
    return [
        (one.experiment, one.key) for one in decides if isinstance(one.experiment, str) and isinstance(one.key, str)
    ]


def _plain(value: object) -> object:
    return np.asarray(value).tolist()


def fits(given: str) -> bool:
    """Return whether a store can hold a text."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return len(given) <= LONGEST_KEY and "\0" not in given
