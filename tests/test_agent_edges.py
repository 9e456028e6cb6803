"""Edges that real programs meet: calls within calls, enumerations, an arm that was everything, files of others, read-only images."""

import os
import warnings
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import cache
from latentbandits.files import locked


def test_a_call_within_a_call_is_refused_and_nothing_hangs() -> None:
    """A signal handler is such a call too; waiting for the lock, it would wait forever."""
    said: list[str] = []

    def journal(_: object) -> None:
        for use in (agent.ask, lambda: agent.tell("x", 1.0), lambda: agent.stats, lambda: agent.save("nowhere")):
            with pytest.raises(lb.InvalidValueError) as refusal:
                use()
            said.append(str(refusal.value))

    agent = lb.Agent("ucb1", journal=journal)
    agent.ask()
    assert len(said) == 8  # what a journal begins with, and the decision
    assert all("call is 'made within another one of the same thread' but must be made after it" in one for one in said)
    assert agent.stats.asked == 1
    assert not Path("nowhere").exists()


def test_whoever_hears_the_warning_may_use_the_agent() -> None:
    agent, heard = lb.Agent("ucb1", max_open=1), []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *_: heard.append(agent.stats.open)
        for _ in range(3):
            agent.ask()
    assert heard == [1]
    assert agent.stats.dropped == 2


def test_names_of_an_enumeration_are_its_texts() -> None:
    class Colour(str, Enum):  # noqa: UP042
        RED = "red"
        BLUE = "blue"

    agent = lb.Agent("ucb1", arms=[Colour.RED, Colour.BLUE])
    assert agent.ask(available=["red"]).arm == Colour.RED
    assert agent.arms == ("red", "blue")


@pytest.mark.parametrize("arms", [{"a": 1, "b": 2}, {"a", "b"}, b"ab", "ab", -1, 1])
def test_arms_without_an_order_or_a_choice_are_refused(arms: Any) -> None:
    with pytest.raises(lb.InvalidValueError, match=r"^Agent: arms is"):
        lb.Agent("ucb1", arms=arms)


def test_a_mapping_is_no_list_of_arms() -> None:
    with pytest.raises(lb.InvalidValueError, match="available is"):
        lb.Agent("ucb1", arms=["a", "b"]).ask(available={"a": False, "b": True})


def test_exp3_learns_on_when_the_arm_that_was_everything_is_retired() -> None:
    agent = lb.Agent(lb.policies.EXP3(arms=3, mixing=0.5), seed=1)
    for _ in range(4000):
        decision = agent.ask()
        agent.tell(decision, float(decision.arm == 0))
    agent.retire(0)
    played = []
    for _ in range(1000):
        decision = agent.ask()
        agent.tell(decision, float(decision.arm == 1))
        played.append(decision.arm)
    assert played.count(1) > 600  # three quarters in the long run, by uniform exploration; a half without learning


def test_floor_and_holdback_alone_have_exact_probabilities() -> None:
    decision = lb.Agent("ts", arms=["a", "b"], floor=1.0).ask()
    assert decision.probability == 0.5
    assert lb.Agent("ts", arms=["a", "b"], holdback=1.0, control="b").ask().probability == 1.0
    agent = lb.Agent("ts", arms=["a", "b"])
    (option,) = [one for one in agent.explain(agent.ask(available=["b"])).options if one.available]
    assert option.probability == 1.0


def test_a_file_may_have_more_arms_than_the_policy_expected(tmp_path: Path) -> None:
    agent = lb.Agent("ucb1", arms=["a", "b"])
    agent.add("c")
    agent.save(tmp_path / "agent")
    assert lb.Agent.load(tmp_path / "agent", policy=lb.policies.UCB1(arms=2)).arms == ("a", "b", "c")
    with pytest.raises(lb.InvalidValueError, match="exploration"):
        lb.Agent.load(tmp_path / "agent", policy=lb.policies.UCB1(arms=2, exploration=1.0))


class Stubborn(lb.policies.UCB1):
    """Keeps its memory as it is when it should grow."""

    def grow(self, memory: Any) -> Any:
        return memory


def test_a_memory_that_did_not_grow_is_refused() -> None:
    agent = lb.Agent(Stubborn(arms=2))
    with pytest.raises(lb.InvalidValueError, match="grow is"):
        agent.add(2)
    agent.tell(agent.ask(), 0.5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_does_not_keep_a_file_locked(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with locked(tmp_path / "lock"):
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # lives on, with the file open
            os._exit(0)
    os.close(reading)
    with locked(tmp_path / "lock"):  # would wait for the child
        os.close(writing)
    os.waitpid(child, 0)


def test_a_read_only_cache_is_linked_into_folders_that_can_be_written(tmp_path: Path) -> None:
    source = tmp_path / "image"
    (source / "ready").mkdir(parents=True)
    (source / "ready" / "code").write_text("42")
    for folder in (source / "ready", source):
        folder.chmod(0o555)
    try:
        cache._copy(source, tmp_path / "private")
        assert (tmp_path / "private" / "ready" / "code").read_text() == "42"
        assert all((folder.stat().st_mode & 0o200) for folder in (tmp_path / "private", tmp_path / "private" / "ready"))
    finally:
        for folder in (source, source / "ready"):
            folder.chmod(0o755)


def test_numbers_that_are_none_or_exact() -> None:
    """Mutation: take what NumPy makes of them."""
    agent = lb.Agent("ucb1")
    decision = agent.ask()
    masked = np.ma.masked_array([0.25], mask=[True])
    for given in (np.ma.masked, masked, [np.ma.masked], [None], ["1"], Decimal("NaN")):
        with pytest.raises(lb.InvalidValueError, match="rewards is"):
            agent.tell(decision, given)  # type: ignore[arg-type]
    assert agent.memory.counts.sum() == 0
    agent.tell(decision, Decimal("0.25"))  # type: ignore[arg-type]
    agent.tell(agent.ask(), [Fraction(1, 4)])  # type: ignore[list-item]
    agent.tell(agent.ask(), np.ma.masked_array([0.25], mask=[False]))
    assert agent.memory.sums.sum() == 0.75


@pytest.mark.parametrize("arms", [10**9, 100_001])
def test_a_mistyped_number_of_arms_is_refused(arms: int) -> None:
    """Mutation: make the list of their names first."""
    with pytest.raises(lb.InvalidValueError, match=f"arms is {arms} but must be at most 100,000"):
        lb.Agent("ucb1", arms=arms)
    with pytest.raises(lb.InvalidValueError, match=f"arms is {arms} but must be at most 100,000"):
        lb.Agent(lb.policy("ucb1", arms=arms))
