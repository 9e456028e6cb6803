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
MOST, CORRECTIONS = 6, 3


@dataclass
class Known:
    """A decision as the dictionary knows it."""

    arm: str
    at: int
    killed: bool
    end: str = ""
    value: float | None = None  # as told, corrections included
    late: float | None = None


class Machine(RuleBasedStateMachine):
    """Everything that can happen to one experiment."""

    storage: Any = SQLite

    @initialize(
        default=st.sampled_from([None, 0.25]),
        learn=st.sampled_from(["at_window", "at_window", "at_once"]),
        outside=st.sampled_from(["refuse", "clip"]),
        policy=st.sampled_from(["exp3", "ucb1"]),
    )
    def begin(self, default: float | None, learn: str, outside: str, policy: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "d.db"
        self.rules: Any = {
            "window": WINDOW,
            "default": default,
            "learn": learn,
            "max_open": MOST,
            "corrections": CORRECTIONS,
        }
        self.rules |= {"reward_range": (0, 1), "outside": outside}
        self.case = Case(path, policy, durable=False, storage=self.storage, **self.rules)
        self.waits, self.clips = learn == "at_window", outside == "clip"
        self.counts = dict.fromkeys(("early", "corrected", "clipped"), 0)
        self.ended: list[tuple[str, bool]] = []  # decisions in the order of their ends, and whether they were learned
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
                self.close(one)

    def close(self, one: Known) -> None:
        """What happens when a window is over, or closes early."""
        one.end = "reward" if one.value is not None else "expire" if self.default is not None else "censor"
        self.learn(one)

    def learn(self, one: Known) -> None:
        learned = one.end != "censor" and not one.killed and self.status in ("live", "shadow")
        self.learned += learned
        self.ended.append((next(key for key, known in self.model.items() if known is one), learned))

    def tell(self, one: Known, value: float) -> str:
        """What must come out when a reward is told, which is then known."""
        inside = min(max(value, 0.0), 1.0)
        if inside != value and not self.clips:
            return "refused"
        told = one.late if one.end not in ("", "reward") and one.value is None else one.value
        if told is None:
            self.counts["clipped"] += inside != value
        if told is not None:
            return "duplicate" if told == inside else "conflict"
        if one.end:
            one.late = inside
            return "late"
        one.value = inside
        if not self.waits:
            one.end = "reward"
            self.learn(one)
        return "accepted"

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
        if sum(not one.end for one in self.model.values()) == MOST:
            oldest = next(one for one in self.model.values() if not one.end)
            self.close(oldest)
            self.counts["early"] += oldest.end != "censor"
        assert answer.arm in self.arms
        assert answer.arm not in self.retired
        assert self.status not in ("shadow", "killed") or answer.arm == "a"
        self.model[answer.id] = Known(answer.arm, int(answer.id[:13], 16), self.status == "killed")
        if key is not None:
            self.keys[key] = subject, answer.id

    @precondition(lambda self: self.model)
    @rule(data=st.data(), value=VALUES | st.sampled_from([-1000.0, 2.0]))
    def reward(self, data: st.DataObject, value: float) -> None:
        key, one = self.chosen(data)
        answer = self.call(Reward("e", key, value))
        assert answer == {"conflict": ConflictError, "refused": InvalidValueError}.get(
            wanted := self.tell(one, value), wanted
        )

    @precondition(lambda self: self.model)
    @rule(data=st.data(), value=VALUES)
    def correct(self, data: st.DataObject, value: float) -> None:
        """What is known is replaced while the window is open, and for the last that ended; the policy is what the log then leads to."""
        key, one = self.chosen(data)
        known = one.value is not None or one.late is not None or one.end == "expire"
        near = key in [ended for ended, _ in self.ended[-CORRECTIONS:]]
        answer = self.call(Reward("e", key, value, correct=True))
        if one.end == "censor" and one.late is None:
            assert answer == "late"
            one.late = value
        elif not known:
            assert answer == self.tell(one, value)
        elif one.end == "censor" or answer in ("duplicate", InvalidValueError, "late"):
            if answer == "late":
                assert not near
                one.late = value
            elif answer == "duplicate":
                assert value in (one.value, one.late)
            else:
                assert one.end
                assert not near or one.end == "censor"
        else:
            assert answer == "corrected"
            assert value != one.value
            one.value = value
            self.counts["corrected"] += 1
            assert self.case.ledger.digest("e") == self.case.repeated()

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def censor(self, data: st.DataObject) -> None:
        key, one = self.chosen(data)
        answer = self.call(Censor("e", key))
        if not one.end and one.value is None:
            assert answer == "accepted"
            one.end = "censor"
            self.learn(one)
        else:
            assert answer == ("duplicate" if one.end == "censor" else ConflictError)

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
        for value, answer in zip(values, answers, strict=True):
            wanted = self.tell(one, value)
            assert isinstance(answer, ConflictError) if wanted == "conflict" else answer == wanted

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
        assert view.waiting == sum(not one.end and one.value is not None for one in self.model.values())
        assert {name: view.counts[name] for name in self.counts} == self.counts
        assert view.counts["expired"] == ends.count("expire")
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
