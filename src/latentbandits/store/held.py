"""What a ledger keeps of an experiment, and how its state is made again from the store."""

import contextlib
import time
from collections.abc import Callable

from latentbandits.agent.events import Event
from latentbandits.agent.spec import Expected
from latentbandits.agent.state import State
from latentbandits.agent.steps import Steps, bind
from latentbandits.store import replay
from latentbandits.store.errors import FencedError, StoreUnavailableError
from latentbandits.store.experiment import Experiment
from latentbandits.store.queries import Storage
from latentbandits.store.records import Row

# a start repeats at most so many events (or twice as many as wait), or so many seconds of work
SNAPSHOT_EVENTS, SNAPSHOT_WORK = 50_000, 2.0

STILL = 256  # events of a replay between two looks at whether the experiment is still held
LONG = 2_000  # events that take longer to repeat without machine code than it takes to load that


class Held:
    """An experiment of a ledger, whether its state is there or must be made again.

    Attributes
    ----------
    row : as of the last claim
    expected : its policy, if that is from outside this package
    experiment : at work, None if its state must be made again
    steps, bound : machine code, and whether the experiment uses it
    claimed : whether the experiment was claimed, as far as is known
    snapshot, work : the event up to which there is a snapshot, and the seconds of work since
    """

    def __init__(self, row: Row, expected: Expected) -> None:
        self.row, self.expected = row, expected
        self.experiment: Experiment | None = None
        self.steps: Steps | None = None
        self.bound = self.claimed = False
        self.snapshot, self.work = 0, 0.0

    def switch(self, steps: Steps) -> None:
        """Go on with machine code from the next group on."""
        self.steps = steps

    def restore(self, storage: Storage, now_us: int, compiled: bool | None) -> None:
        """Make the state again: from the newest snapshot that is whole, and the events after it."""
        if not (self.claimed and storage.hold(self.row)):
            self.row, self.claimed = storage.claim(self.row.id, replay.build()), True
        state = replay.newest(storage, self.row, self.expected)
        self.snapshot = state.head
        if self.steps is None and not self.bound:
            bind(state.spec.policy, compiled, self.switch, wait=self.row.head - state.head > LONG)
        state.player.use(self.steps)
        self.bound = self.steps is not None
        began = time.perf_counter()
        replay.replay(storage, self.row.id, state, each=self._holding(storage, state))
        self.work = time.perf_counter() - began
        if state.head < self.row.head:
            raise StoreUnavailableError(
                f"store: the log of {self.row.name} ends at event {state.head}, though {self.row.head} were stored; "
                "nothing was appended, restore it from a copy"
            )
        self.experiment = Experiment(self.row, state, storage, now_us)

    def _holding(self, storage: Storage, state: State) -> Callable[[Event], None]:
        """Return what to call with each repeated event: it stops if others claim the experiment, and takes machine code when there."""

        def each(event: Event) -> None:
            if event.seq % STILL == 0:
                if not storage.hold(self.row):
                    said = f"store: another process has claimed {self.row.name} while its log was repeated; try again"
                    raise FencedError(said, storage.owner(self.row.id))
                if not self.bound and self.steps is not None:
                    state.player.use(self.steps)
                    self.bound = True

        return each

    @property
    def behind(self) -> int:
        """How many events a start would repeat."""
        return 0 if self.experiment is None else self.experiment.state.head - self.snapshot

    def keep_if_due(self, storage: Storage) -> None:
        """Keep a snapshot if a start would take long without."""
        if self.experiment is None:
            return
        most = max(SNAPSHOT_EVENTS, 2 * len(self.experiment.state.open))
        if self.behind >= most or (self.work >= SNAPSHOT_WORK and self.behind > 100):
            self.keep(storage)

    def keep(self, storage: Storage) -> bool:
        """Keep a snapshot, and return whether it is there; if not, a start takes longer, and nothing else."""
        one, kept = self.experiment, False
        if one is None or one.pending or not self.behind:
            return True
        with contextlib.suppress(StoreUnavailableError):
            storage.keep(self.row.id, replay.take_snapshot(one.state))
            kept = True
        self.snapshot, self.work = one.state.head, 0.0
        return kept
