"""What every store must do."""

import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import SkipTest

from latentbandits.agent.decision import decision_id
from latentbandits.store import (
    ApiKey,
    Believed,
    Change,
    ConflictError,
    Create,
    Decide,
    Event,
    FencedError,
    Group,
    Ledger,
    Minute,
    NotFoundError,
    Reads,
    Reward,
    Row,
    Snapshot,
    Spec,
    Storage,
    StoreUnavailableError,
    verify,
)
from latentbandits.store.records import Answered

BEGIN = 1_800_000_000_000_000
FIRST = (Event(1, "create", BEGIN, body='{"said":"é"}'), Event(2, "status", BEGIN + 1, actor="ann"))
ADDED = Event(8, "add", BEGIN + 7, actor="O'Brien\"; --", body='{"arm":"new"}')


def whole(row: Row) -> tuple[Event, ...]:
    """Return events with every column, and numbers that a store must return to the last bit."""
    k1, k2 = (decision_id(BEGIN + 2 + n, 3 + n, row.salt) for n in range(2))
    return (
        Event(3, "decide", BEGIN + 2, k1, "ünit", 0, "policy", 1 / 3, None, "ann", '{"probe_reasons":["probe"]}', bytes(range(256))),
        Event(4, "decide", BEGIN + 3, k2, None, 2**31, "floor", 5e-324, None, None, None, b""),
        Event(5, "reward", BEGIN + 4, k1, value=-0.1),
        Event(6, "censor", BEGIN + 5, k2, body='{"cause":"time"}'),
        Event(7, "late", BEGIN + 6, k2, value=1e100),
        ADDED,
    )  # fmt: skip


MINUTE = Minute(7, 1, "policy", 1, 2, 3, 4, 5, 6, 0.25, 0.5, 2**40)


class StoreChecks:
    """Inherit it in a pytest class and return a store from `opened`."""

    def opened(self, folder: Path) -> Storage:
        """Open the store that belongs to a folder: a new one, or the one that was opened for this folder before."""
        raise NotImplementedError

    def lapse(self, storage: Storage) -> None:
        """Let the lease of a store end, as time does; needed if it is shared."""
        raise NotImplementedError

    def setup_method(self) -> None:
        """Open a new store."""
        self._folder = TemporaryDirectory()
        self.storage = self.opened(Path(self._folder.name))

    def teardown_method(self) -> None:
        """Close it."""
        self.storage.close()
        self._folder.cleanup()

    def _again(self) -> None:
        """Close the store and open it again."""
        self.storage.close()
        self.storage = self.opened(Path(self._folder.name))

    def _made(self, name: str = "e") -> Row:
        """Make an experiment of two events, and claim it."""
        return self.storage.claim(self.storage.create(name, "{}", "live", FIRST).id)

    def _refused(self, *groups: Group) -> None:
        """Check that groups are fenced, and that nothing of them is there."""
        before = self._all()
        try:
            self.storage.append(groups)
        except FencedError:
            pass
        else:
            raise AssertionError("append must raise Fenced")
        assert self._all() == before, "a group that was refused must leave nothing behind"

    def _all(self, reads: Reads | None = None) -> Any:
        """Return everything that there is."""
        reads = reads or self.storage
        found: list[Any] = [reads.experiments(), reads.keys()]
        for row in reads.experiments():
            of = (reads.events, reads.snapshots, reads.minutes, reads.beliefs, reads.builds)
            found += [one(row.id) for one in of]
            found.append([reads.answered(row.id, key) for key in ("q", "r", "s")])
        return found

    def test_experiments(self) -> None:
        """In the order in which they were made, each by its name; a name can be taken once."""
        assert self.storage.experiments() == []
        made = [self.storage.create(name, f'{{"of":"{name}"}}', "shadow", FIRST) for name in ("z", "a")]
        assert self.storage.experiments() == made
        assert self.storage.experiment("a") == made[1]
        assert self.storage.experiment("A") is None
        assert (made[0].name, made[0].spec, made[0].status, made[0].head) == ("z", '{"of":"z"}', "shadow", 2)
        assert self.storage.events(made[0].id) == list(FIRST)
        before = self._all()
        try:
            self.storage.create("z", "{}", "live", FIRST)
        except ConflictError:
            pass
        else:
            raise AssertionError("create must raise Conflict if the name is taken")
        assert self._all() == before

    def test_events_come_back_as_they_were(self) -> None:
        """To the last bit, in order, and each where it is looked for."""
        row = self._made()
        other = self._made("other")
        events, others = whole(row), whole(other)
        (k1, k2), (o1, o2) = ([str(one.decision) for one in two[:2]] for two in (events, others))
        later, elsewhere = decision_id(BEGIN + 9, 3, row.salt), decision_id(BEGIN + 3, 5, row.salt)
        self.storage.append([Group(row.id, row.epoch, 2, events)])
        self.storage.append([Group(other.id, other.epoch, 2, others[:2])])
        assert self.storage.events(row.id) == [*FIRST, *events]
        assert [type(value) for value in self.storage.events(row.id)[2]] == [type(value) for value in events[0]]
        assert self.storage.events(row.id, 3, 2) == list(events[1:3])
        assert self.storage.events(row.id, 8) == []
        assert self.storage.latest(row.id, 2) == [ADDED, events[4]]
        assert self.storage.changes(row.id) == [*FIRST, ADDED]
        assert self.storage.story(row.id, k2) == [events[1], events[3], events[4]]
        assert [self.storage.story(row.id, key) for key in (later, elsewhere, o1, "nobody")] == [[]] * 4
        assert self.storage.story(other.id, o2) == [others[1]]
        assert self.storage.ends(row.id, [o1, k2, k1]) == list(events[2:5])
        assert self.storage.ends(other.id, [o1, o2] * 500) == []
        assert self.storage.made(row.id, [o1, k2, later, elsewhere, k1]) == list(events[:2])
        assert [one.head for one in self.storage.experiments()] == [8, 4]

    def test_a_store_opened_again_has_everything(self) -> None:
        """And readers see it, at once."""
        row = self._made()
        answered = Answered("q", "digest", 3, BEGIN)
        belief = Believed(7, 4, '{"states":[]}')
        group = Group(row.id, row.epoch, 2, whole(row), [answered], [MINUTE], [belief], '{"new":1}', "frozen")
        self.storage.append([group])
        self.storage.keep(row.id, Snapshot(8, "b", "d", "c", BEGIN, bytes(1000)))
        self.storage.add_key(ApiKey("id", "name", "admin", "null", "digest", BEGIN, None, None))
        found, reader = self._all(), self.storage.reader()
        assert self._all(reader) == found
        reader.close()
        self._again()
        assert self._all() == found
        kept = self.storage.experiments()[0]
        assert (kept.spec, kept.status, kept.head) == ('{"new":1}', "frozen", 8)
        assert self.storage.answered(row.id, "q") == answered
        assert self.storage.minutes(row.id) == [MINUTE]
        assert self.storage.beliefs(row.id) == [belief]

    def test_groups_are_appended_all_or_none(self) -> None:
        """If one of several cannot be, nothing is."""
        one, other = self._made("one"), self._made("other")
        good = Group(
            one.id, one.epoch, 2, whole(one)[:1], [Answered("q", "d", 3, BEGIN)], [MINUTE], [Believed(7, 3, "{}")]
        )
        self._refused(good, Group(other.id, other.epoch + 1, 2, whole(other)[:1]))
        self._refused(Group(other.id, other.epoch - 1, 2, whole(other)[:1]), good)
        self._refused(good, Group(other.id, other.epoch, 1, [whole(other)[0]._replace(seq=2)]))
        self._refused(good, Group(other.id, other.epoch, 3, [whole(other)[0]._replace(seq=4)]))
        self._refused(good._replace(events=(whole(one)[0], whole(one)[0])))
        self.storage.append([good, Group(other.id, other.epoch, 2, whole(other)[:3])])
        assert [row.head for row in self.storage.experiments()] == [3, 5]
        self._refused(good)

    def test_a_decision_has_one_end(self) -> None:
        """One beginning, one end and one late reward, whoever appends: the store is the last to refuse a second."""
        row = self._made()
        self.storage.append([Group(row.id, row.epoch, 2, whole(row))])
        for event in whole(row)[:5]:
            for kind in ("reward", "expire", "censor") if event.kind in ("reward", "censor") else (event.kind,):
                self._refused(Group(row.id, row.epoch, 8, [event._replace(seq=9, kind=kind)]))
        self._refused(Group(row.id, row.epoch, 8, [], [Answered("q", "d", 3, BEGIN)] * 2))

    def test_an_id_is_of_one_experiment(self) -> None:
        """Also of two that are made, and decide, in one microsecond (mutation: no salt)."""
        ledger = Ledger(self.storage, lambda: BEGIN, compiled=False)
        spec = Spec.of("ucb1", arms=["a", "b"])
        *_, one, other = ledger.run([Create("e", spec), Create("f", spec), Decide("e"), Decide("f")])
        assert one.id[:13] == other.id[:13]
        assert one.id != other.id
        refused, told = ledger.run([Reward("f", one.id, 1.0), Reward("e", one.id, 1.0)])
        assert isinstance(refused, NotFoundError)
        assert told == "accepted"

    def test_whoever_claims_last_appends(self) -> None:
        """The one before is fenced."""
        first = self._made()
        assert self.storage.hold(first)
        second = self.storage.claim(first.id)
        assert second.epoch > first.epoch
        self._refused(Group(first.id, first.epoch, 2, whole(first)[:1]))
        self.storage.append([Group(first.id, second.epoch, 2, whole(first)[:1])])

    def test_builds(self) -> None:
        """A claim notes who computes from the next event on, unless that is who did before."""
        row = self.storage.create("e", "{}", "live", FIRST)
        for build in ("one", "one"):
            row = self.storage.claim(row.id, build)
        self.storage.append([Group(row.id, row.epoch, 2, whole(row)[:3])])
        for build in ("two", "three"):
            self.storage.claim(row.id, build)
        assert self.storage.builds(row.id) == [(3, "one"), (6, "three")]

    def test_counts_of_minutes_are_added(self) -> None:
        """Beliefs are replaced."""
        row = self._made()
        later = MINUTE._replace(minute=8)
        for n in range(3):
            group = Group(row.id, row.epoch, 2 + n, [ADDED._replace(seq=3 + n)])
            minutes = [later, MINUTE, MINUTE._replace(arm=0), MINUTE._replace(decided_by="control")]
            self.storage.append([group._replace(minutes=minutes, beliefs=[Believed(7 + n // 2, n, f"{n}")])])
        tripled = Minute._make([*MINUTE[:3], *(3 * value for value in MINUTE[3:])])
        wanted = [tripled._replace(arm=0), tripled._replace(decided_by="control"), tripled, tripled._replace(minute=8)]
        assert self.storage.minutes(row.id) == wanted
        assert self.storage.minutes(row.id, 8) == wanted[3:]
        assert self.storage.beliefs(row.id) == [(7, 1, "1"), (8, 2, "2")]
        assert self.storage.beliefs(row.id, 8) == [(8, 2, "2")]

    def test_snapshots(self) -> None:
        """The newest first, as many as are wanted, bytes as they were; one of the same event takes the place of the other."""
        row, other = self._made(), self._made("other")
        made = [Snapshot(seq, "build", "digest", "sum", BEGIN, bytes([seq] * 100_000)) for seq in (1, 2, 3, 4)]
        for snapshot in made:
            self.storage.keep(row.id, snapshot)
        self.storage.keep(other.id, made[0])
        assert self.storage.snapshots(row.id) == made[:0:-1]
        self.storage.keep(row.id, made[3]._replace(state=b"new", build="other"))
        self.storage.keep(row.id, made[2], deep=2)
        assert self.storage.snapshots(row.id) == [made[3]._replace(state=b"new", build="other"), made[2]]
        assert self.storage.snapshots(other.id) == [made[0]]

    def test_answers(self) -> None:
        """Are found by their keys, of one experiment."""
        row, other = self._made(), self._made("other")
        answers = [Answered(key, "digest", 3, BEGIN + n) for n, key in enumerate(("q", "r", "s"))]
        for one in (row, other):
            self.storage.append([Group(one.id, one.epoch, 2, whole(one)[:1], answers)])
        self.storage.expect([(row.id, "q"), (other.id, "s"), (row.id, "new")])
        assert self.storage.answered(row.id, "q") == answers[0]
        assert self.storage.answered(other.id, "s") == answers[2]
        new = Answered("new", "digest", 4, BEGIN + 3)
        assert self.storage.answered(row.id, "new") is None
        self.storage.append([Group(row.id, row.epoch, 3, whole(row)[1:2], [new])])
        assert self.storage.answered(row.id, "new") == new, "what was expected must not outlive an append"

    def test_keys(self) -> None:
        """A key is revoked once."""
        keys = [ApiKey(f"id{n}", "é", "read", '["e"]', f"digest{n}", BEGIN + n, "ann", None) for n in (2, 1)]
        for key in keys:
            self.storage.add_key(key)
        assert self.storage.revoke_key("id1", 5)
        assert self.storage.revoke_key("id1", 6)
        assert not self.storage.revoke_key("nobody", 5)
        assert self.storage.keys() == [keys[1]._replace(revoked_us=5), keys[0]]
        new = ApiKey("id3", "é", "read", "null", "digest3", BEGIN + 9, None, None, 99)
        self.storage.rotate_key("id2", new, 70)
        assert self.storage.keys()[1:] == [keys[0]._replace(revoked_us=70), new]
        assert self.storage.revoke_key("id2", 60)  # at once, though it was to be good until 70
        self.storage.rotate_key("id3", new._replace(id="id4", digest="digest4", created_us=BEGIN + 10), 100)
        until = [(key.revoked_us, key.expires_us) for key in sorted(self.storage.keys())]
        assert until == [(5, None), (60, None), (100, 99), (None, 99)]  # none is good for longer than it was

    def test_a_subject_is_erased(self) -> None:
        """In its decisions, whose idempotency keys are forgotten; of one experiment."""
        row, other = self._made(), self._made("other")
        for one in (row, other):
            events = whole(one)
            self.storage.append([Group(one.id, one.epoch, 2, events, [Answered("q", "digest", 3, BEGIN)])])
        events = whole(row)
        assert self.storage.of_subject(row.id, "ünit", 5) == [3]
        self.storage.erase(row.id, [3], "erased")
        assert self.storage.of_subject(row.id, "ünit", 5) == []
        assert self.storage.events(row.id, 2) == [events[0]._replace(subject="erased"), *events[1:]]
        assert self.storage.answered(row.id, "q") is None
        assert self.storage.answered(other.id, "q") is not None

    def test_threads_read_while_another_writes(self) -> None:
        """Whole groups, in order, never half of one."""
        row, reader = self._made(), self.storage.reader()
        seen: list[Sequence[int]] = []

        def look() -> None:
            while not seen or len(seen[-1]) < 302:
                seen.append([event.seq for event in reader.events(row.id)])

        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        for n in range(100):
            base = 2 + 3 * n
            events = [ADDED._replace(seq=base + 1 + k) for k in range(3)]
            self.storage.append([Group(row.id, row.epoch, base, events)])
        for thread in threads:
            thread.join()
        reader.close()
        for one in seen:
            assert list(one) == list(range(1, len(one) + 1))
            assert len(one) % 3 == 2, "a reader must see a whole group or nothing of it"

    def test_a_closed_store_is_unavailable(self) -> None:
        """Nothing is acknowledged that nobody can keep."""
        row = self._made()
        self.storage.close()
        for act in (
            self.storage.experiments,
            lambda: self.storage.append([Group(row.id, row.epoch, 2, whole(row)[:1])]),
        ):
            try:
                act()
            except StoreUnavailableError:
                continue
            raise AssertionError("a store that is closed must raise Unavailable")
        self._again()
        assert self.storage.experiments()[0].head == 2

    def test_an_agent_goes_on_exactly(self) -> None:
        """Opened again its state is the same to the last bit, and the log can be verified."""
        ledger = Ledger(self.storage, compiled=False)
        ledger.call(Create("e", Spec.of("exp3", arms=["a", "b"], floor=0.1, holdback=0.1), "live"))
        made = []
        for n in range(30):
            made.append(ledger.call(Decide("e", idempotency_key=f"{n}")))
            if n % 3:
                ledger.run([Reward("e", made[-1].id, n / 30), Change("e", "add", {"arm": f"arm{n}"})])
            if n == 20:
                ledger.snapshot("e")
        live = ledger.digest("e")
        self._again()
        ledger = Ledger(self.storage, compiled=False)
        assert ledger.digest("e") == live
        assert ledger.call(Decide("e", idempotency_key="7")) == made[7]
        verdict = verify(self.storage, "e")
        assert (verdict.label, verdict.digest, verdict.snapshots) == ("identical", live, 1)

    def test_one_process_holds_an_experiment(self) -> None:
        """Another one is fenced until the lease ends; then it goes on, and the first writes nothing any more."""
        if not self.storage.shared:
            raise SkipTest("the store is for one process")
        row = self._made()
        other = self.opened(Path(self._folder.name))
        try:
            told = "nobody"
            try:
                other.claim(row.id)
            except FencedError as fenced:
                told = str(fenced)
            holder, seen = self.storage.owner(row.id), other.owner(row.id)
            assert holder is not None
            assert holder.here, "owner must say who holds the experiment"
            assert seen == holder._replace(here=False)
            assert holder.name in told, "claim must raise Fenced, and name who holds the experiment"
            self.storage.append([Group(row.id, row.epoch, 2, whole(row)[:1])])
            self.lapse(self.storage)
            self.storage.renew([row.id])
            assert other.owner(row.id) == seen, "renew must begin another lease, though nothing is appended"
            self.lapse(self.storage)
            taken = other.claim(row.id)
            assert (taken.head, taken.epoch > row.epoch) == (3, True)
            self._refused(Group(row.id, row.epoch, 3, whole(row)[1:2]))
            assert not self.storage.hold(row), "hold must be False once another process has claimed"
            self.storage.renew([row.id])
            now = other.owner(row.id)
            assert now is not None
            assert now.here, "renew must leave alone what another process has claimed"
            other.append([Group(row.id, taken.epoch, 3, whole(row)[1:2])])
        finally:
            other.close()
        assert self.storage.claim(row.id).head == 4, "a store that is closed must give its experiments back"
