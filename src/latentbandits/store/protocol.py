"""What a store must do: append groups of events, all or nothing, and return them in order. Two implementations pass one suite of checks."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from latentbandits.agent.events import Event


class Row(NamedTuple):
    """An experiment: its number, its name, and what it is as of the event `head`. `epoch` says who may append."""

    id: int
    name: str
    spec: str
    status: str
    head: int
    epoch: int


class Answered(NamedTuple):
    """An idempotency key: the digest of its request, and which events were the answer."""

    key: str
    digest: str
    seq: int
    decisions: int
    at_us: int


class Minute(NamedTuple):
    """What happened within a minute to one arm, by who decided while it was live, or else by the status at the decision.

    Rewards count in the minute in which they arrive.
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
    rate: float | None
    created_us: int
    created_by: str | None
    revoked_us: int | None


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


class Reads(Protocol):
    """What can be read. A thread other than the writer's reads through `Storage.reader`."""

    def experiments(self) -> list[Row]:
        """Return all experiments, in the order in which they were made."""

    def experiment(self, name: str) -> Row | None:
        """Return one experiment by its name."""

    def events(self, experiment: int, after: int = 0, most: int = 10_000) -> list[Event]:
        """Return events in order, from the one after `after` on, at most so many."""

    def latest(self, experiment: int, most: int = 100) -> list[Event]:
        """Return the last events, the newest first."""

    def changes(self, experiment: int) -> list[Event]:
        """Return the events that concern no decision, in order: what people did."""

    def story(self, experiment: int, key: str) -> list[Event]:
        """Return everything about one decision, in order: decide, activate, its end, a late reward."""

    def ends(self, experiment: int, keys: Sequence[str]) -> list[Event]:
        """Return how some decisions ended, and late rewards of theirs, in order; those that are open have nothing."""

    def answered(self, experiment: int, key: str) -> Answered | None:
        """Return what an idempotency key stands for."""

    def snapshots(self, experiment: int) -> list[Snapshot]:
        """Return the snapshots, the newest first."""

    def builds(self, experiment: int) -> list[Built]:
        """Return which builds have appended, in order."""

    def minutes(self, experiment: int, since: int = 0) -> list[Minute]:
        """Return the counts of minutes from `since` on, in order."""

    def beliefs(self, experiment: int, since: int = 0) -> list[Believed]:
        """Return the beliefs of minutes from `since` on, in order."""

    def keys(self) -> list[ApiKey]:
        """Return all keys of the service."""

    def close(self) -> None:
        """Give everything back."""


class Storage(Reads, Protocol):
    """A store. One thread at a time may use it; `reader` is for the others."""

    place: str
    shared: bool  # whether several processes may use it at the same time, each experiment held by one of them

    def size(self) -> int:
        """Return how many bytes it takes."""

    def create(self, name: str, spec: str, status: str, events: Sequence[Event]) -> Row:
        """Make an experiment with its first events, durably; raise `ConflictError` if the name is taken."""

    def claim(self, experiment: int, build: str = "") -> Row:
        """Become the one who may append to an experiment, and return it; whoever was is fenced from here on.

        Notes which build appends from here on. Raises `FencedError` while another one holds it, in a store that several processes may use.
        """

    def hold(self, row: Row) -> bool:
        """Return whether nobody has claimed an experiment since this row was, nor can for now. Asked before every group."""

    def renew(self, experiments: Sequence[int]) -> None:
        """Go on holding experiments for another lease, though nothing is appended; those that others have claimed are left alone."""

    def expect(self, keys: Sequence[tuple[int, str]]) -> None:
        """Take note that `answered` is about to be asked for these keys of experiments, so that they may be fetched at once."""

    def owner(self, experiment: int) -> Owner | None:
        """Return who holds an experiment now, None if nobody does: others send it what they are asked."""

    def append(self, groups: Sequence[Group]) -> None:
        """Append groups in one transaction; return when they are durable.

        Raises `FencedError` if an experiment has another head or epoch, or a decision ends twice, `StoreUnavailableError` if it cannot be
        written; then nothing was appended, or, if the failure hides it, all of it was.
        """

    def keep(self, experiment: int, snapshot: Snapshot, deep: int = 3) -> None:
        """Keep a snapshot, and of the older ones as many as make `deep`."""

    def forget_answers(self, experiment: int, before_us: int) -> int:
        """Forget idempotency keys from before a time; return how many."""

    def rebuild(self, row: Row, minutes: Sequence[Minute], beliefs: Sequence[Believed], spec: str, status: str) -> None:
        """Replace all that follows from the events of a claimed row by what was computed again; raise `FencedError` if it has moved on."""

    def add_key(self, key: ApiKey) -> None:
        """Add a key of the service, durably."""

    def revoke_key(self, key: str, at_us: int) -> bool:
        """Revoke a key by its id, durably; return whether there is such a key."""

    def compact(self) -> None:
        """Give back space that is not used."""

    def reader(self) -> Reads:
        """Return what other threads read with; it never waits for the writer nor makes it wait."""
