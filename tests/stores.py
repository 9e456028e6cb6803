"""A ledger to test, and a clock that it goes by."""

from pathlib import Path
from typing import Any

import latentbandits as lb
from latentbandits.store import Create, Decide, Ledger, Reads, Reward, Spec, SQLite, reader_of, replay

SECOND = 1_000_000


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)


class Case:
    """A ledger with one experiment, in a file that can be opened again."""

    def __init__(
        self, path: Path, policy: str = "ucb1", durable: bool = True, storage: Any = SQLite, **settings: Any
    ) -> None:
        self.path, self.clock, self.durable, self.storage = path, Clock(), durable, storage
        self.ledger = self._opened()
        self.ledger.call(Create("e", Spec.of(policy, **{"arms": ["a", "b", "c"], **settings}), "live"))

    def again(self) -> None:
        """Close without a snapshot, as a crash does, and open again."""
        self.ledger.storage.close()
        self.ledger = self._opened()

    def _opened(self) -> Ledger:
        storage = self.storage(self.path)
        if not self.durable and isinstance(
            storage, SQLite
        ):  # for tests that are about something else: it saves their time
            storage._rows("PRAGMA synchronous = OFF")
        return Ledger(storage, self.clock, compiled=False)

    def decide(self, **given: Any) -> lb.Decision:
        decision: lb.Decision = self.ledger.call(Decide("e", **given))
        return decision

    def tell(self, decision: lb.Decision, reward: Any) -> str:
        outcome: str = self.ledger.call(Reward("e", decision.id, reward))
        return outcome

    def kinds(self) -> list[str]:
        return [event.kind for event in self.ledger.storage.events(1)]

    def repeated(self) -> str:
        """Return the digest of the state that the whole log leads to."""
        return repeated(self.ledger.storage)


def repeated(reads: Reads) -> str:
    """Return the digest of the state that the whole log of the experiment leads to."""
    row = reads.experiment("e")
    assert row is not None
    state = replay.first(reads, row, None)
    replay.replay(reads, row.id, state)
    assert state.head == row.head
    assert state.diverged == 0
    return replay.digest(state)


def played(case: Case, rounds: int) -> list[lb.Decision]:
    """Decide and, mostly, tell; some decisions stay open."""
    decisions = []
    for n in range(rounds):
        decisions.append(case.decide(subject=f"u{n}"))
        if n % 4:
            case.tell(decisions[-1], (n % 7) / 7)
    return decisions


def assert_kept(store: str, made: dict[str, tuple[str, str]], told: dict[str, float]) -> None:
    """Check that a store of killed writers has all that was acknowledged: decisions (id and arm) by their keys, rewards by the ids."""
    reader = reader_of(store)
    for known, arm in made.values():  # mutation: synchronous=OFF passes here, answering before COMMIT does not
        assert reader.story(1, known)[0].arm == ("a", "b", "c").index(arm)
    events = reader.events(1, 0, 1_000_000)
    said = {(event.decision, event.value) for event in events if event.kind in ("told", "reward", "late", "correct")}
    assert told.items() <= said
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    with lb.open_agent(store, "e", compiled=False) as agent:
        live, asked = agent.digest, agent.stats.asked
        assert repeated(reader) == live
        for key, (known, _) in list(made.items())[-20:]:  # a request in doubt is asked again by its key
            assert agent.ask(subject=key, key=key).id == known
        assert agent.stats.asked == asked  # windows close meanwhile
        assert repeated(reader) == agent.digest
    reader.close()
