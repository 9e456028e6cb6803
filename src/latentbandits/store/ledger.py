"""All experiments of a store, and the one way to change them: a group of requests, appended in one transaction, then answered.

There is no timer. Whoever comes while a group is being written waits, and all who waited are the next group; so one `fsync` serves as many
as have come, and a lone request waits for nobody.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from latentbandits.agent.base import Seen
from latentbandits.agent.decision import EARLIEST, is_id
from latentbandits.agent.events import Event, text
from latentbandits.agent.explain import Explanation
from latentbandits.agent.processes import OneCall, refuse_in_children
from latentbandits.agent.spec import STATUSES, Expected, as_experiment, is_experiment
from latentbandits.agent.state import State
from latentbandits.settings import InvalidValueError
from latentbandits.store import replay, requests
from latentbandits.store.clock import Clock
from latentbandits.store.errors import FencedError, NotFoundError, StoreUnavailableError
from latentbandits.store.experiment import Experiment
from latentbandits.store.gain import Gain, gain
from latentbandits.store.held import SNAPSHOT_EVENTS, Held
from latentbandits.store.queries import Storage
from latentbandits.store.records import Group, Row
from latentbandits.store.view import View

GROUP = 2000  # requests in one transaction, about: a large one makes others wait


class Ledger:
    """Decides, learns and remembers for all experiments of a store. Threads may share it.

    Parameters
    ----------
    storage : Storage
        Where everything is kept.
    clock : callable, optional
        Returns microseconds since 1970; if not given, the system's clock as `Clock` bounds it.
    compiled : bool, optional
        As for `Agent`.

    Attributes
    ----------
    clock : what it goes by
    waiting : deque of tickets that wait for an answer
    failing : experiments whose last request could not be answered here: when (by `time.monotonic`), and why

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.store import Create, Decide, Ledger, Reward, Spec, SQLite
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(SQLite(Path(folder.name) / "decisions.db"))
    >>> spec = Spec.of("ucb1", arms=["red", "blue"])
    >>> ledger.call(Create("offers", spec))
    2
    >>> first, second = ledger.run([Decide("offers", idempotency_key="visit-1"), Decide("offers", subject="visitor-2")])
    >>> first.arm
    'red'
    >>> ledger.call(Decide("offers", idempotency_key="visit-1")) == first
    True
    >>> ledger.run([Reward("offers", first.id, 0.5), Reward("offers", first.id, 0.5)])
    ['accepted', 'duplicate']
    >>> ledger.close()
    >>> folder.cleanup()
    """

    def __init__(self, storage: Storage, clock: Callable[[], int] | None = None, compiled: bool | None = None) -> None:
        self.storage = storage
        self.clock, self._compiled = clock or Clock(), compiled
        self._held: dict[str, Held] = {}
        self.waiting: deque[requests.Ticket] = deque()
        self._released = False
        self.failing: dict[str, tuple[float, str]] = {}
        self._lock = self._saving = OneCall()
        refuse_in_children(
            self,
            "a forked process must open the store itself, once this one has closed it, or ask a service by a `Client`",
        )

    def call(self, request: requests.Request) -> Any:
        """Answer one request, or raise why not; together with others that come meanwhile."""
        ticket = requests.Ticket((request,))
        self.waiting.append(ticket)
        try:
            while not ticket.done:
                self.work(ticket)
        finally:
            if not ticket.done:  # the lock has refused this thread, or this process
                self.waiting.remove(ticket)
        (answer,) = ticket.answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    def work(self, own: requests.Ticket | None = None) -> None:
        """Answer and deliver what waits, about `GROUP` requests of it; nothing if a ticket of one's `own` was answered meanwhile."""
        group: list[requests.Ticket] = []
        try:
            with self._lock:
                size = 0
                while self.waiting and size < GROUP and not (own and own.done):
                    group.append(self.waiting.popleft())
                    size += len(group[-1].requests)
                self._answer_group(group)
            for ticket in group:
                if ticket.look is not None:
                    try:
                        ticket.answer = ticket.look(self)
                    except Exception as problem:
                        ticket.answer = problem
                    ticket.done = True
        finally:
            requests.deliver(group)

    def _answer_group(self, group: Sequence[requests.Ticket]) -> None:
        """Answer the requests of a group; whatever happens, everybody has an answer. Looks come later: they need the lock."""
        wanted = [request for ticket in group for request in ticket.requests]
        answers: Sequence[requests.Answer | Exception] = [requests.interrupted()] * len(wanted)
        try:
            answers = self._run(wanted) if wanted else ()
        except Exception as problem:
            failure = StoreUnavailableError(
                f"store: the group of this request failed ({type(problem).__name__}: {problem})"
            )
            failure.__cause__ = problem
            answers = [failure] * len(wanted)
        finally:
            each = iter(answers)
            for ticket in group:
                if ticket.look is None:
                    ticket.answer, ticket.done = [next(each) for _ in ticket.requests], True

    def run(self, wanted: Sequence[requests.Request]) -> list[Any]:
        """Answer a group of requests in their order, in one transaction: an answer each, or the exception that says why not."""
        with self._lock:
            return self._run(wanted)

    def _run(self, wanted: Sequence[requests.Request]) -> list[requests.Answer | Exception]:
        now, began = self.clock(), time.perf_counter()
        touched: dict[str, Experiment] = {}
        failed: dict[str, Exception] = {}
        held = self._held
        self.storage.expect(
            [(held[name].row.id, key) for name, key in requests.idempotency_keys(wanted) if name in held]
        )
        try:
            answers = [self._answer(request, now, touched, failed) for request in wanted]
            spent = time.perf_counter() - began
            groups = {name: one.group() for name, one in touched.items() if one.pending and name not in failed}
            if groups:
                self._append(groups, failed)
            for name, one in touched.items():
                if name not in failed:
                    one.stored()
        except BaseException:
            self._drop(touched)
            raise
        self._drop(failed)
        self._note_failures(touched, failed)
        for name in touched:
            self._held[name].work += spent / len(touched)
            self._held[name].keep_if_due(self.storage)
        if not failed:
            return answers
        of = [request.experiment for request in wanted]
        return [
            failed.get(name, answer) if is_experiment(name) else answer
            for name, answer in zip(of, answers, strict=True)
        ]

    def _append(self, groups: dict[str, Group], failed: dict[str, Exception]) -> None:
        """Store what is pending; where that is not possible, say so of every experiment in question."""
        try:
            self.storage.append(list(groups.values()))
        except StoreUnavailableError as problem:
            failed.update(dict.fromkeys(groups, problem))
            if isinstance(problem, FencedError):
                for name in groups:
                    self._held[name].claimed = False

    def _answer(
        self, request: requests.Request, now: int, touched: dict[str, Experiment], failed: dict[str, Exception]
    ) -> requests.Answer | Exception:
        """Answer a request, by an exception if need be; nothing is stored yet."""
        try:
            if isinstance(request, requests.Create):
                return self._create(request, now)
            one = self._ready(request.experiment, touched)
        except InvalidValueError as refusal:
            return refusal
        except StoreUnavailableError as problem:
            failed[request.experiment] = problem
            return problem
        touched[one.name] = one
        if one.name in failed:
            return failed[one.name]
        try:
            return one.answer(request, now)
        except InvalidValueError as refusal:
            return refusal
        except StoreUnavailableError as problem:  # a look into the store failed
            failed[one.name] = problem
        except Exception as problem:  # of the policy: its memory may be half changed
            failure = StoreUnavailableError(
                f"experiment: {one.name} failed ({type(problem).__name__}: {problem}); nothing was decided or learned"
            )
            failure.__cause__ = problem
            failed[one.name] = failure
        return failed[one.name]

    def _drop(self, names: Iterable[str]) -> None:
        """Forget states that may be ahead of the store; they are made again from it when they are needed."""
        for name in names:
            if name in self._held:
                self._held[name].experiment = None

    def _note_failures(self, touched: Iterable[str], failed: dict[str, Exception]) -> None:
        """Note what could not be answered; that another process holds an experiment is no failure."""
        for name in touched:
            self.failing.pop(name, None)
        for name, problem in failed.items():
            if not (isinstance(problem, FencedError) and problem.owner is not None):
                self.failing[name] = time.monotonic(), str(problem)

    def _create(self, request: requests.Create, now: int) -> int:
        name, spec = as_experiment(request.experiment), request.spec
        if request.status not in STATUSES:
            raise InvalidValueError("experiment", "status", request.status, f"one of {', '.join(STATUSES)}")
        payloads = {"create": spec.plain(), "status": {"status": request.status}}
        events = [
            Event(seq, kind, max(now, EARLIEST), actor=request.actor, body=text(payload))
            for seq, (kind, payload) in enumerate(payloads.items(), 1)
        ]
        shown = text({**spec.plain(), "retired": []}) or ""
        row = self.storage.create(name, shown, request.status, events)
        self._held[name] = Held(row, spec.policy)
        return len(events)

    # States

    def open(self, name: str, expected: Expected = None) -> None:
        """Make an experiment ready; a policy from outside this package must be given, as the expected one."""
        with self._lock:
            if name not in self._held:
                self._held[name] = Held(self._found(name), expected)
            self._ready(name)

    def _found(self, name: str) -> Row:
        row = self.storage.experiment(name) if is_experiment(name) else None
        if row is None:
            raise NotFoundError("store", "experiment", name, "the name of one that exists")
        return row

    def _ready(self, name: str, touched: Collection[str] = ()) -> Experiment:
        """Return an experiment whose state is that of the store, or ahead of it by what this group has done."""
        held = self._held.get(name) if isinstance(name, str) else None
        if self._released:
            raise FencedError(
                f"store: this process stops, and holds {name} no more", self.storage.owner(self._found(name).id)
            )
        if held is None:
            held = self._held[name] = Held(self._found(name), None)
        if held.experiment is not None and name not in touched and not self.storage.hold(held.row):
            held.experiment, held.claimed = None, False  # somebody else may have gone on from it
        if held.experiment is None:
            held.restore(self.storage, self.clock(), self._compiled)
        one = held.experiment
        assert one is not None
        if held.steps is not None and not held.bound:
            one.state.player.use(held.steps)
            held.bound = True
        return one

    def probe(self) -> None:
        """Raise `StoreUnavailableError` if nothing can be stored now."""
        with self._lock:
            self.storage.probe()

    def renew(self) -> None:
        """Go on holding what is open, though nothing happens to it: for a service, which keeps what it has.

        If a start would repeat too much, the one that is furthest behind keeps a snapshot.
        """
        with self._lock:
            held = self._held.values()
            if sum(one.behind for one in held) > SNAPSHOT_EVENTS:
                max(held, key=lambda one: one.behind).keep(self.storage)
            self.storage.renew([held.row.id for held in self._held.values() if held.experiment is not None])

    def erase(self, experiment: int, events: Sequence[int], pseudonym: str) -> None:
        """Put a pseudonym in the place of the subject of some decisions."""
        with self._lock:
            self.storage.erase(experiment, events, pseudonym)

    def snapshot(self, name: str) -> None:
        """Keep a snapshot of an experiment now."""
        with self._lock:
            self._ready(name)
            self._held[name].keep(self.storage)

    # Looking

    def view(self, name: str) -> View:
        """Return an experiment as it is now: as of what is stored."""
        with self._lock:
            one, held = self._ready(name), self._held[name]
            return View.of(one, held.bound, held.snapshot)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return what happened to the decisions of every experiment that is at work here, and how many are `open`."""
        with self._lock:
            working = {name: held.experiment for name, held in self._held.items()}
            return {
                name: {"open": len(one.state.open), **one.counts} for name, one in working.items() if one is not None
            }

    def state(self, name: str, look: Callable[[State], Seen]) -> Seen:
        """Return what a function finds in a state, which it must not change."""
        with self._lock:
            return look(self._ready(name).state)

    def check(self, wanted: Sequence[requests.Decide]) -> None:
        """Refuse decisions if one of them could not be made now; nothing changes."""
        with self._lock:
            for request in wanted:
                self._ready(request.experiment).checked(request)

    def digest(self, name: str) -> str:
        """Return the digest of a state: two are equal if they are the same to the last bit."""
        return self.state(name, replay.digest)

    def due(self) -> list[str]:
        """Return the experiments with decisions whose window is over; `Expire` ends them, and so does any other request."""
        with self._lock:
            now = self.clock()
            return [
                name for name, held in self._held.items() if held.experiment is not None and held.experiment.is_due(now)
            ]

    def gain(self, name: str) -> Gain:
        """Return what the policy gains against the subjects that are held back."""
        with self._lock:
            return gain(self.storage, self._ready(name).row.id)

    def explain(self, name: str, key: str) -> Explanation:
        """Return why a decision was made, however long ago."""
        with self._lock:
            one = self._ready(name)
            story = self.storage.story(one.row.id, key) if is_id(key) else []
            if not story:
                raise NotFoundError("experiment", "decision", key, f"the id of a decision of {name}")
            return replay.explain(story[0], one.state)

    def release(self) -> None:
        """Keep a snapshot of what has changed much, and give all experiments back, for good: another process may go on with them."""
        with self._lock:
            for held in self._held.values():
                if held.behind >= 100 and not held.keep(self.storage):
                    break  # the store cannot be written, and time is short
            self._held.clear()
            self.storage.release()
            self._released = True

    def close(self) -> None:
        """Give experiments back, and the store."""
        if not self._released:
            self.release()
        with self._lock:
            self.storage.close()
