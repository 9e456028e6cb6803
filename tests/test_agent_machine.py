"""Any sequence of add, retire, ask, tell, late tell, forget, save and load keeps what must be true."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import latentbandits as lb
from latentbandits.agent.events import Event
from tests.fixtures import UNGROWN, policies
from tests.test_agent import snapshot

POLICIES = {name: policy for name, policy in policies().items() if not policy.fixed_arms}
MAX_OPEN = 5


class Life(RuleBasedStateMachine):
    """An agent, a twin that applies its journal, and plain Python that counts."""

    names: tuple[str, ...] = ()

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.name = data.draw(st.sampled_from(self.names))
        policy = POLICIES[self.name]
        share = data.draw(st.sampled_from([0.0, 0.3])) if policy.groups == 1 else 0.0
        self.settings: Any = {"arms": ["a", "b", "c"], "seed": 1, "max_open": MAX_OPEN, "floor": share}
        self.settings |= {"holdback": share, "control": "b", "compiled": False}
        self.journal: list[str] = []
        self.agent = lb.Agent(policy, journal=self.keep, **self.settings)
        self.twin = lb.Agent(policy, **self.settings)
        self.agent._warned = self.twin._warned = True
        self.folder = Path(tempfile.mkdtemp())
        self.playing, self.retired = ["a", "b", "c"], list[str]()
        self.open: dict[str, tuple[Any, ...]] = {}
        self.newest, self.applied = "", 0
        self.counts = dict.fromkeys(("told", "overtaken", "forgotten", "dropped"), 0)

    def keep(self, event: Event) -> None:
        self.journal.append(json.dumps(event))

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        known = st.sampled_from([*self.playing, *self.retired])
        offered = data.draw(st.none() | st.lists(known, min_size=1))
        subject = data.draw(st.none() | st.integers(0, 3))
        allowed = self.playing if offered is None else [name for name in self.playing if name in offered]
        if not allowed:
            with pytest.raises(lb.InvalidValueError, match="at least one arm that is not retired"):
                self.agent.ask(available=offered, subject=subject)
            return
        decision = self.agent.ask(available=offered, subject=subject)
        assert set(decision.arms) <= set(allowed)
        assert decision.id > self.newest
        assert decision.deterministic or len(allowed) > 1
        for probability in decision.probabilities:
            assert probability is None or 0 < probability <= 1
        self.newest = decision.id
        if len(self.open) == MAX_OPEN:
            del self.open[next(iter(self.open))]
            self.counts["dropped"] += 1
        self.open[decision.id] = decision.arms
        explained = self.agent.explain(decision)
        assert explained.arms == decision.arms
        assert {option.name for option in explained.options if option.available} == set(allowed)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), reward=st.floats(-1, 2))
    def tell(self, data: st.DataObject, reward: float) -> None:
        known = data.draw(st.sampled_from(list(self.open)))
        self.agent.tell(known, [reward] * len(self.open.pop(known)))
        self.counts["told"] += 1
        self.counts["overtaken"] += known != self.newest
        with pytest.raises(lb.InvalidValueError, match="completed or forgotten"):
            self.agent.tell(known, reward)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(list(self.open)))
        self.agent.forget(known)
        del self.open[known]
        self.counts["forgotten"] += 1

    @precondition(lambda self: self.name not in UNGROWN and len(self.playing) + len(self.retired) < 6)
    @rule()
    def add(self) -> None:
        name = f"new {len(self.playing) + len(self.retired)}"
        self.agent.add(name)
        self.playing.append(name)

    @precondition(lambda self: self.retired)
    @rule(data=st.data())
    def bring_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.retired))
        self.agent.add(name)
        self.retired.remove(name)
        self.playing.append(name)

    @precondition(lambda self: len(self.playing) > 1)
    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.playing))
        self.agent.retire(name)
        self.playing.remove(name)
        self.retired.append(name)

    @rule()
    def save_and_load(self) -> None:
        self.agent.save(self.folder / "agent")
        self.agent = lb.Agent.load(self.folder / "agent", journal=self.keep, compiled=False)
        self.agent._warned = True

    @rule()
    def lose_what_was_not_saved(self) -> None:
        """A crash: what a file restores refuses what it does not have, and goes on as the agent would have."""
        self.agent.save(self.folder / "other")
        lost = self.agent._state.newest
        restored = lb.Agent.load(self.folder / "other", compiled=False)
        restored._warned = True
        first = restored.ask()
        assert first.id > lost
        with pytest.raises(lb.InvalidValueError, match="must be an open one"):
            self.agent.tell(first, 1.0)

    @invariant()
    def all_is_as_counted(self) -> None:
        if not hasattr(self, "agent"):
            return
        assert set(self.agent.arms) == set(self.playing)
        assert set(self.agent.retired) == set(self.retired)
        assert list(self.agent.open) == list(self.open)
        stats = self.agent.stats
        assert stats.asked == sum(self.counts.values()) - self.counts["overtaken"] + len(self.open)
        assert {name: getattr(stats, name) for name in self.counts} == self.counts
        assert stats.open == len(self.open)

    @invariant()
    def the_twin_is_the_same(self) -> None:
        if not hasattr(self, "agent"):
            return
        for line in self.journal[self.applied :]:
            self.twin.apply(json.loads(line))
        self.applied = len(self.journal)
        assert snapshot(self.twin) == snapshot(self.agent)


@pytest.mark.parametrize("examples", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "names",
    [tuple(name for name in POLICIES if "library" not in name), tuple(name for name in POLICIES if "library" in name)],
    ids=["most", "state-library"],
)
def test_any_life_of_an_agent(names: tuple[str, ...], examples: int) -> None:
    life = type("Life", (Life,), {"names": names})
    few = settings(max_examples=examples * (4 if len(names) > 2 else 1), stateful_step_count=40, deadline=None)
    run_state_machine_as_test(life, settings=few)
