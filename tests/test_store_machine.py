"""A machine that does anything at any time, crashes included, against a dictionary that says what must come out."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from latentbandits.agent import Decision
from latentbandits.settings import InvalidValueError
from latentbandits.store import (
    Censor,
    Change,
    ClosedError,
    ConflictError,
    Decide,
    Reward,
    SQLite,
)
from tests.stores import SECOND, Case

WINDOW = 60
VALUES = st.sampled_from([0.0, 0.5, 1.0])


@dataclass
class Known:
    """A decision as the dictionary knows it."""

    arm: str
    at: int
    killed: bool
    end: str = ""
    value: float | None = None
    late: float | None = None


class Machine(RuleBasedStateMachine):
    """Everything that can happen to one experiment."""

    storage: Any = SQLite

    @initialize(default=st.sampled_from([None, 0.25]))
    def begin(self, default: float | None) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "d.db"
        self.case = Case(path, "exp3", durable=False, storage=self.storage, window=WINDOW, default=default, max_open=6)
        self.default, self.model = default, dict[str, Known]()
        self.keys: dict[str, tuple[str | None, str]] = {}
        self.status, self.arms, self.retired = "live", ["a", "b", "c"], set[str]()
        self.learned = 0

    def teardown(self) -> None:
        if hasattr(self, "case"):
            self.case.ledger.close()
            self.folder.cleanup()

    def expire(self) -> None:
        """What every request does first."""
        last, clock = self.case.ledger.view("e").last_us, self.case.clock.now
        experiment = self.case.ledger._held["e"].experiment
        assert experiment is not None
        ahead, opened = experiment._begun  # it may have been opened while its log was ahead of the clock
        now = max(clock, last, ahead + (clock - opened) * 9 // 10)
        for one in self.model.values():
            if not one.end and one.at + WINDOW * SECOND <= now:
                one.end = "expire" if self.default is not None else "censor"
                self.learn(one)

    def learn(self, one: Known) -> None:
        self.learned += one.end != "censor" and not one.killed and self.status in ("live", "shadow")

    def chosen(self, data: st.DataObject) -> tuple[str, Known]:
        key = data.draw(st.sampled_from(sorted(self.model)))
        self.expire()
        return key, self.model[key]

    def call(self, request: Any) -> Any:
        try:
            return self.case.ledger.call(request)
        except InvalidValueError as refusal:
            return type(refusal)

    @rule(subject=st.sampled_from([None, "u", "v"]), key=st.sampled_from([None, None, None, "k", "l"]))
    def decide(self, subject: str | None, key: str | None) -> None:
        self.expire()
        answer = self.call(Decide("e", subject=subject, idempotency_key=key))
        if key in self.keys:
            before, known = self.keys[key]
            assert answer is ConflictError if before != subject else answer.id == known
            return
        if self.status == "archived":
            assert answer is ClosedError
            return
        assert isinstance(answer, Decision)
        if sum(not one.end for one in self.model.values()) == 6:
            next(one for one in self.model.values() if not one.end).end = "censor"
        assert answer.arm in self.arms
        assert answer.arm not in self.retired
        assert self.status not in ("shadow", "killed") or answer.arm == "a"
        self.model[answer.id] = Known(answer.arm, int(answer.id[:13], 16), self.status == "killed")
        if key is not None:
            self.keys[key] = subject, answer.id

    @precondition(lambda self: self.model)
    @rule(data=st.data(), value=VALUES)
    def reward(self, data: st.DataObject, value: float) -> None:
        key, one = self.chosen(data)
        answer = self.call(Reward("e", key, value))
        if not one.end:
            assert answer == "accepted"
            one.end, one.value = "reward", value
            self.learn(one)
            return
        told = one.value if one.end == "reward" else one.late
        if told is None:
            assert answer == "late"
            one.late = value
        else:
            assert answer == ("duplicate" if told == value else ConflictError)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def censor(self, data: st.DataObject) -> None:
        key, one = self.chosen(data)
        answer = self.call(Censor("e", key))
        assert answer == ("accepted" if not one.end else "duplicate" if one.end == "censor" else ConflictError)
        one.end = one.end or "censor"

    @rule(status=st.sampled_from(["live", "shadow", "frozen", "killed", "live"]))
    def change(self, status: str) -> None:
        self.expire()
        answer = self.call(Change("e", "status", {"status": status}))
        if self.status == "archived" and status != "archived":
            assert answer is ClosedError
        else:
            self.status = status

    @precondition(lambda self: len(self.model) > 8)
    @rule()
    def archive(self) -> None:
        self.expire()
        self.call(Change("e", "status", {"status": "archived"}))
        self.status = "archived"

    @precondition(lambda self: self.status != "archived")
    @rule(values=st.lists(VALUES, min_size=1, max_size=3), wait=st.sampled_from([0, 0, 30, 61]))
    def group(self, values: list[float], wait: int) -> None:
        """Decide, wait, and tell several times in one group: the first one counts, unless the window is over."""
        self.decide(None, None)
        key, one = list(self.model.items())[-1]
        self.case.clock.move(wait)
        self.expire()
        answers = self.case.ledger.run([Reward("e", key, value) for value in values])
        first, *others = answers
        assert first == ("late" if one.end else "accepted")
        if one.end:
            one.late = values[0]
        else:
            one.end, one.value = "reward", values[0]
            self.learn(one)
        for value, answer in zip(values[1:], others, strict=True):
            assert answer == "duplicate" if value == values[0] else isinstance(answer, ConflictError)

    @rule(arm=st.sampled_from(["b", "c", "d"]))
    def come_or_go(self, arm: str) -> None:
        self.expire()
        if arm in self.arms and arm not in self.retired:
            self.call(Change("e", "retire", {"arm": arm}))
            self.retired.add(arm)
        else:
            self.call(Change("e", "add", {"arm": arm}))
            self.retired.discard(arm)
            self.arms = [*self.arms, arm] if arm not in self.arms else self.arms

    @rule(floor=st.sampled_from([0.0, 0.3]), holdback=st.sampled_from([0.0, 0.4]))
    def configure(self, floor: float, holdback: float) -> None:
        self.expire()
        assert isinstance(self.call(Change("e", "configure", {"floor": floor, "holdback": holdback})), int)

    @rule(seconds=st.sampled_from([1, 30, 61, -100]))
    def wait(self, seconds: int) -> None:
        self.case.clock.move(seconds)  # it may be set back

    @rule()
    def crash(self) -> None:
        before = self.case.ledger.digest("e")
        self.case.again()
        assert self.case.ledger.digest("e") == before

    @rule()
    def snapshot(self) -> None:
        self.case.ledger.snapshot("e")

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "case"):
            return
        view = self.case.ledger.view("e")
        ends = [one.end for one in self.model.values()]
        # the ledger notices that a window is over when it is asked for something
        assert view.status == self.status
        assert view.counts["rewarded"] == ends.count("reward")
        assert view.counts["late"] == sum(one.late is not None for one in self.model.values())
        assert view.open == ends.count("")
        assert self.case.ledger.state("e", lambda state: state.learned) == self.learned


class MachineForLong(Machine):
    """The same, for the slow suite."""


def suite(machine: type[Machine], examples: int, steps: int) -> Any:
    """Return a machine as a test that lives so many lives of so many steps."""
    made = machine.TestCase
    made.settings = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return made


TestMachine = suite(Machine, 25, steps=40)
TestMachineForLong = pytest.mark.slow(suite(MachineForLong, 60, steps=40))
