"""Records: everything an agent is given can be repeated to the same bits."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from tests.test_agent import ONLINE, snapshot


def live(agent: lb.Agent, moves: int, seed: int) -> None:
    """Use an agent as a program would, with everything that it offers, for a number of records."""
    chance = random.Random(seed)
    fixed = agent.policy.fixed_arms
    grows = not fixed and not isinstance(
        agent.policy, lb.policies.ABTest | lb.policies.BayesFilter | lb.policies.PlanningFilter
    )
    for move in range(moves):
        kind = chance.random()
        if move == moves // 3 and grows:
            agent.add("later")
        elif kind > 0.98 and not fixed and len(agent.arms) > 2:
            agent.retire(chance.choice(agent.arms))
        elif kind > 0.97 and not fixed and agent.retired:
            agent.add(chance.choice(agent.retired))
        elif kind < 0.5 or not agent._player.open:
            some = chance.sample(agent.arms, 2) if kind < 0.05 and not fixed else None
            agent.ask(available=some, unit=chance.choice([None, "someone", move]))
        elif kind < 0.52:
            agent.forget(chance.choice(agent.open))
        else:
            known = next(reversed(agent._player.open)) if kind < 0.9 else chance.choice(agent.open)
            agent.tell(known, [chance.random() for _ in range(agent.policy.units)])


def made(name: str, **settings: Any) -> lb.Agent:
    policy = lb.policy(name, arms=3, **({"units": 1} if "rp-" in name else {}))
    return lb.Agent(policy, arms=["a", "b", "c"], seed=4, floor=0.1, holdback=0.1, control="b", **settings)


@pytest.mark.parametrize("name", ONLINE)
def test_a_replayed_journal_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    journal: list[str] = []
    agent = made(name, journal=lambda record: journal.append(json.dumps(record)))
    moves = 400
    live(agent, moves, seed=1)
    assert len(journal) == moves
    twin = made(name)
    for number, line in enumerate(journal):
        if number == moves // 2:
            twin.save(tmp_path / "twin")
            twin = lb.Agent.load(tmp_path / "twin")
        twin.apply(json.loads(line))
    assert snapshot(twin) == snapshot(agent)
    assert twin.stats[:6] == agent.stats[:6]


def replay(records: int) -> None:
    journal: list[dict[str, Any]] = []
    agent = made("adasp-ucb", journal=journal.append, compiled=True)
    live(agent, records, seed=2)
    twin = made("adasp-ucb", compiled=True)
    for record in journal:
        twin.apply(record)
    assert snapshot(twin) == snapshot(agent)


def test_five_thousand_records() -> None:
    replay(5_000)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latentbandits.OpenDecisionsWarning")
def test_a_million_records() -> None:
    replay(1_000_000)


def test_an_applied_ask_returns_the_decision_and_writes_no_record() -> None:
    journal: list[Any] = []
    own: list[Any] = []
    agent = lb.Agent("ts", journal=journal.append)
    twin = lb.Agent("ts", journal=own.append)
    decision = agent.ask()
    assert twin.apply(journal[0]) == decision
    assert twin.apply({"event": "tell", "id": decision.id, "rewards": 1}) is None
    assert own == []
    assert twin.ask().id > decision.id
    assert [record["event"] for record in own] == ["ask"]


def test_ids_after_a_replay_are_later_even_if_the_clock_is_not() -> None:
    ahead = "f" * 13 + "0" * 12  # of a machine whose clock is wrong
    agent = lb.Agent("ucb1")
    agent.apply({"event": "ask", "id": "7" + ahead[1:]})
    first, second = agent.ask().id, agent.ask().id
    assert "7" + ahead[1:] < first < second


def test_records_are_small_and_plain() -> None:
    journal: list[dict[str, Any]] = []
    agent = lb.Agent(lb.policies.TraceLearner(arms=2, covariates=1), arms=["a", "b"], journal=journal.append)
    decision = agent.ask([0.5], available=["b", "a"], unit="x")
    agent.tell(decision, 1)
    other = agent.ask([1])
    agent.forget(other)
    agent.add("c")
    agent.retire("a")
    assert journal == [
        {"event": "ask", "id": decision.id, "context": [0.5], "available": ["a", "b"], "unit": "x"},
        {"event": "tell", "id": decision.id, "rewards": [1.0]},
        {"event": "ask", "id": other.id, "context": [1.0]},
        {"event": "forget", "id": other.id},
        {"event": "add", "arm": "c"},
        {"event": "retire", "arm": "a"},
    ]


ACTS = {
    "ask": lambda a: a.ask(),
    "tell": lambda a: a.tell(a.open[0], 0.5),
    "forget": lambda a: a.forget(a.open[0]),
    "add": lambda a: a.add("d"),
    "retire": lambda a: a.retire("a"),
}


@pytest.mark.parametrize("event", ACTS)
def test_a_journal_that_fails_leaves_everything_as_it_was(event: str) -> None:
    failing = False

    def journal(record: dict[str, Any]) -> None:
        if failing:
            assert record["event"] == event
            raise OSError("disk full")

    agent = made("exp3", journal=journal)
    live(agent, 50, seed=3)
    if not agent.open:
        agent.ask()
    if "a" in agent.retired:
        agent.add("a")
    before, failing = snapshot(agent), True
    with pytest.raises(OSError, match="disk full"):
        ACTS[event](agent)
    assert snapshot(agent) == before


def test_a_refused_call_writes_no_record() -> None:
    journal: list[Any] = []
    agent = lb.Agent("ucb1", arms=["a", "b"], journal=journal.append)
    decision = agent.ask()
    for act in (
        lambda: agent.ask([1.0]),
        lambda: agent.ask(available=["z"]),
        lambda: agent.ask(unit=0.5),  # type: ignore[arg-type]
        lambda: agent.tell(decision, "much"),  # type: ignore[arg-type]
        lambda: agent.tell("unknown", 1.0),
        lambda: agent.forget("unknown"),
        lambda: agent.add("a"),
        lambda: agent.retire("z"),
    ):
        with pytest.raises(lb.Refusal):
            act()
    assert len(journal) == 1


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ("ask", "record is 'ask' but must be a dict with event, as a journal receives it"),
        ({}, r"record is \{\} but must be a dict with event"),
        ({"event": "sing"}, "record's event is 'sing' but must be ask, tell, forget, add, retire or name"),
        ({"event": "tell", "id": "x"}, "must be a dict with rewards"),
        ({"event": "tell", "id": "x", "rewards": [1]}, "decision is 'x' but must be an open one"),
        ({"event": "ask"}, "must be a dict with id"),
        ({"event": "ask", "id": "7"}, "record's id is '7' but must be an id above"),
        ({"event": "ask", "id": "0" * 25}, "must be an id above"),
        ({"event": "ask", "id": "f" * 25, "context": [1]}, r"context is \[1\] but must be left out"),
    ],
)
def test_bad_records_are_refused(record: Any, sentence: str) -> None:
    agent = lb.Agent("ucb1")
    agent.ask()
    before = snapshot(agent)
    with pytest.raises(lb.Refusal, match=sentence):
        agent.apply(record)
    assert snapshot(agent) == before


def test_a_record_is_applied_once() -> None:
    journal: list[Any] = []
    agent = lb.Agent("ucb1", journal=journal.append)
    agent.ask()
    with pytest.raises(lb.Refusal, match="must be an id above"):
        agent.apply(journal[0])
