"""What a store keeps beside events, in the order of its columns."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from latentbandits.agent.events import Event


class Row(NamedTuple):
    """An experiment: its number, its name, and what it is as of the event `head`. `epoch` says who may append.

    The id of a decision is its time and, counted from the `salt`, the number of its event: so a decision is found where it is, and no other
    experiment has the id.
    """

    id: int
    name: str
    spec: str
    status: str
    head: int
    epoch: int
    salt: int


class Answered(NamedTuple):
    """An idempotency key: the digest of its request, and the event that was the answer."""

    idempotency_key: str
    digest: str
    seq: int
    at_us: int


class Minute(NamedTuple):
    """What happened within a minute to one arm, by who decided while it was live, or else by the status at the decision.

    Rewards count in the minute in which they are learned, and corrections by the difference in that in which they are told.
    """

    minute: int
    arm: int
    decided_by: str
    decided: int = 0
    probed: int = 0
    rewarded: int = 0
    expired: int = 0
    censored: int = 0
    late: int = 0
    total: float = 0.0
    squares: float = 0.0
    delay_us: int = 0


class Believed(NamedTuple):
    """The belief at the end of a minute, as JSON, and the last event before it."""

    minute: int
    seq: int
    body: str


class Snapshot(NamedTuple):
    """The state after an event: who built it, the digest of the state, a checksum of the bytes."""

    seq: int
    build: str
    digest: str
    checksum: str
    at_us: int
    state: bytes


class Owner(NamedTuple):
    """Who holds an experiment: a name, the address at which others reach it (None if they cannot), and whether it is this store."""

    name: str
    address: str | None
    here: bool


class Built(NamedTuple):
    """What computed, from an event on until the next of these."""

    seq: int
    name: str


class ApiKey(NamedTuple):
    """A key of the service, by the digest of its secret. `scope` is a JSON list of experiments, or null for all."""

    id: str
    name: str
    role: str
    scope: str
    digest: str
    created_us: int
    created_by: str | None
    revoked_us: int | None
    expires_us: int | None = None

    @property
    def roles(self) -> list[str]:
        """What whoever holds it may do."""
        return self.role.split()

    @property
    def experiments(self) -> list[str] | None:
        """The experiments that it is for, None for all."""
        names: list[str] | None = json.loads(self.scope)
        return names

    @property
    def actor(self) -> str:
        """How the log names whoever holds it."""
        return f"{self.name} ({self.id})"

    def may(self, role: str) -> bool:
        """Return whether it has a role; an admin has all of them."""
        return role in self.roles or "admin" in self.roles

    def reaches(self, experiment: str) -> bool:
        """Return whether it is a key to an experiment."""
        return self.experiments is None or experiment in self.experiments


class Group(NamedTuple):
    """What one experiment appends in one transaction.

    Attributes
    ----------
    experiment, epoch : its number, and the epoch of whoever appends
    base : the head that the events follow
    events : numbered from ``base + 1`` on
    answered, minutes, beliefs : what follows from them; counts of minutes are added to those that are there
    spec, status : as of the last event, None if neither has changed
    """

    experiment: int
    epoch: int
    base: int
    events: Sequence[Event]
    answered: Sequence[Answered] = ()
    minutes: Sequence[Minute] = ()
    beliefs: Sequence[Believed] = ()
    spec: str | None = None
    status: str | None = None
