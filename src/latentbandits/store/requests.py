"""What can be asked of an experiment. Each is answered after it is on disk, or refused and as if it had never been asked."""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from latentbandits.agent.decision import Decision, Outcome
from latentbandits.agent.spec import Spec
from latentbandits.store.errors import StoreUnavailableError

LONGEST_KEY = 200  # characters of an idempotency key, and of a subject


class Decide(NamedTuple):
    """Make a decision, of what `Agent.ask` takes; answered by it. With an idempotency key that was used before it is the same one."""

    experiment: str
    context: Any = None
    available: Any = None
    subject: Any = None
    idempotency_key: str | None = None
    actor: str | None = None

    def digest(self) -> str:
        """Return the digest of what is wanted: one request has one."""
        wanted = [self.context, self.available, self.subject]
        try:
            text = _encode(wanted)
        except (TypeError, ValueError):
            text = repr(wanted)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Reward(NamedTuple):
    """Tell the rewards of a decision; answered by "accepted", "duplicate" or "late", or a `ConflictError` or `NotFoundError`.

    With `correct`, others that were told before are replaced, which is answered by "corrected". A `guard` is the value of a second metric.
    """

    experiment: str
    id: str
    rewards: object
    actor: str | None = None
    correct: bool = False
    guard: object = None


class Censor(NamedTuple):
    """End a decision without a reward; answered by "accepted" or "duplicate"."""

    experiment: str
    id: str
    actor: str | None = None


class Expire(NamedTuple):
    """End the decisions whose window is over; answered by their number. It happens before every other request too."""

    experiment: str


class Change(NamedTuple):
    """Let an event happen that concerns no decision; answered by its number.

    Its kind, and what it says: ``add`` or ``retire`` (arm), ``status`` (status), ``configure`` (some of the settings of `ANY_TIME`).
    """

    experiment: str
    kind: str
    payload: Mapping[str, Any]
    actor: str | None = None


class Create(NamedTuple):
    """Make an experiment; answered by the number of its last event."""

    experiment: str
    spec: Spec
    status: str = "live"
    actor: str | None = None


Answer = Decision | Outcome | int  # a decision, what became of a reward, or the number of an event
Request = Decide | Reward | Censor | Expire | Change | Create


class Ticket:
    """Requests of one transaction, or a look at the ledger between two; `answer` is there once it is `done`.

    Whoever takes it from the queue answers it, and then calls `deliver` with all tickets of a group that have this function.
    """

    __slots__ = ("answer", "deliver", "done", "look", "requests")

    def __init__(
        self,
        wanted: Sequence["Request"],
        look: Callable[[Any], object] | None = None,
        deliver: Callable[[list["Ticket"]], None] | None = None,
    ) -> None:
        self.requests, self.look, self.deliver, self.done = wanted, look, deliver, False
        self.answer: Any = None


def deliver(group: Sequence[Ticket]) -> None:
    """Hand the tickets of a group to those who wait for them; those that were interrupted are answered by that."""
    waiting: dict[Callable[[list[Ticket]], None], list[Ticket]] = {}
    for ticket in group:
        if not ticket.done:
            ticket.answer = [interrupted()] * len(ticket.requests) if ticket.look is None else interrupted()
            ticket.done = True
        if ticket.deliver is not None:
            waiting.setdefault(ticket.deliver, []).append(ticket)
    for hand_over, tickets in waiting.items():
        hand_over(tickets)


def interrupted() -> StoreUnavailableError:
    """Return what a request is answered by whose group was interrupted."""
    return StoreUnavailableError(
        "store: the group of this request was interrupted; it may have been stored, send it again with its key"
    )


def idempotency_keys(wanted: Sequence["Request"]) -> list[tuple[str, str]]:
    """Return the idempotency keys of some requests, each with its experiment."""
    decides = [one for one in wanted if type(one) is Decide]
    return [
        (one.experiment, one.idempotency_key)
        for one in decides
        if isinstance(one.experiment, str) and isinstance(one.idempotency_key, str)
    ]


_encode = json.JSONEncoder(
    default=lambda value: np.asarray(value).tolist()
).encode  # made once: it takes longer than most requests


def fits(given: str) -> bool:
    """Return whether a store can hold a text."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return len(given) <= LONGEST_KEY and "\0" not in given
