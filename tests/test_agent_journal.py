"""Journals: everything that happens to an agent can be repeated to the same bits."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.agent import file
from latentbandits.agent.events import Event
from tests.test_agent import ONLINE, snapshot

AFTER = 2**52  # microseconds: in the year 2112


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
            agent.ask(available=some, subject=chance.choice([None, "someone", move]))
        elif kind < 0.52:
            agent.forget(chance.choice(agent.open))
        else:
            known = next(reversed(agent._player.open)) if kind < 0.9 else chance.choice(agent.open)
            agent.tell(known, [chance.random() for _ in range(agent.policy.groups)])


def made(name: str, **settings: Any) -> lb.Agent:
    policy = lb.policy(name, arms=3, **({"groups": 1} if "rp-" in name else {}))
    return lb.Agent(policy, arms=["a", "b", "c"], seed=4, floor=0.1, holdback=0.1, control="b", **settings)


@pytest.mark.parametrize("name", ONLINE)
def test_a_replayed_journal_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    journal: list[str] = []
    agent = made(name, journal=lambda event: journal.append(json.dumps(event)), compiled=True)
    moves = 400
    live(agent, moves, seed=1)
    assert len(journal) == moves
    twin = made(name, compiled=True)
    for number, line in enumerate(journal):
        if number == moves // 2:
            twin.save(tmp_path / "twin")
            twin = lb.Agent.load(tmp_path / "twin", compiled=True)
        twin.apply(json.loads(line))
    assert snapshot(twin) == snapshot(agent)
    assert twin.stats[:6] == agent.stats[:6]


def replay(records: int) -> None:
    journal: list[Event] = []
    agent = made("adasp-ucb", journal=journal.append, compiled=True)
    live(agent, records, seed=2)
    twin = made("adasp-ucb", compiled=True)
    for event in journal:
        twin.apply(event)
    assert snapshot(twin) == snapshot(agent)


def test_two_thousand_records() -> None:
    replay(2_000)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latentbandits.OpenDecisionsWarning")
def test_a_million_records() -> None:
    replay(1_000_000)


def test_an_applied_decision_is_returned_and_not_written_again() -> None:
    journal: list[Event] = []
    own: list[Event] = []
    agent = lb.Agent("ts", journal=journal.append)
    twin = lb.Agent("ts", journal=own.append)
    decision = agent.ask()
    assert twin.apply(journal[0]) == decision
    assert twin.apply(journal[0]._replace(seq=2, kind="reward", value=1)) is None
    assert own == []
    assert twin.ask().id > decision.id
    assert [event.kind for event in own] == ["decide"]


def test_ids_after_a_replay_are_later_even_if_the_clock_is_not() -> None:
    ahead = "7" + "f" * 12  # of a machine whose clock is wrong
    agent = lb.Agent("ucb1")
    agent.apply(Event(1, "decide", int(ahead, 16), f"{ahead}{'0' * 12}"))
    first, second = agent.ask().id, agent.ask().id
    assert ahead < first < second


def test_events_are_small_and_plain() -> None:
    journal: list[Event] = []
    agent = lb.Agent(lb.policies.TraceLearner(arms=2, covariates=1), arms=["a", "b"], journal=journal.append)
    decision = agent.ask([0.5], available=["b", "a"], subject="x")
    agent.tell(decision, 1)
    other = agent.ask([1])
    agent.forget(other)
    agent.add("c")
    agent.retire("a")
    assert [event.seq for event in journal] == [1, 2, 3, 4, 5, 6]
    assert sorted(event.at_us for event in journal) == [event.at_us for event in journal]
    assert [event[:2] + event[3:] for event in journal] == [
        event[:2] + event[3:]
        for event in (
            Event(1, "decide", 0, decision.id, "x", body='{"context":[0.5],"available":["a","b"]}'),
            Event(2, "reward", 0, decision.id, value=1.0),
            Event(3, "decide", 0, other.id, body='{"context":[1.0]}'),
            Event(4, "censor", 0, other.id, body='{"cause":"asked"}'),
            Event(5, "add", 0, body='{"arm":"c"}'),
            Event(6, "retire", 0, body='{"arm":"a"}'),
        )
    ]


@pytest.mark.filterwarnings("ignore::latentbandits.OpenDecisionsWarning")
def test_a_decision_that_is_dropped_is_in_the_journal_and_counted_by_the_twin() -> None:
    journal: list[Event] = []
    agent, twin = lb.Agent("exp3", max_open=2, journal=journal.append), lb.Agent("exp3", max_open=2)
    first, _, _ = (agent.ask() for _ in range(3))
    assert [(event.kind, event.decision) for event in journal][2] == ("censor", first.id)
    for event in journal:
        twin.apply(event)
    assert twin.stats[:6] == agent.stats[:6] == (3, 0, 0, 0, 1, 2)
    assert snapshot(twin) == snapshot(agent)


def test_the_log_of_a_store_is_a_journal(tmp_path: Path) -> None:
    """An agent in memory is the same state machine: given the store's events it is the same to the last bit, shadow and all."""
    settings: Any = {"arms": ["a", "b", "c"], "seed": 4, "floor": 0.1, "holdback": 0.1, "control": "b"}
    twin = lb.Agent("exp3", **settings)
    with lb.open_agent(tmp_path / "d.db", "e", "exp3", compiled=False, **settings) as agent:
        for n in range(60):
            decision = agent.ask(subject=n, available=None if n % 4 else ["a", "c"])
            if n % 5:
                agent.tell(decision, n / 60)
            elif n % 10:
                agent.forget(decision)
            if n in (20, 30):
                agent.status = "shadow" if n == 20 else "live"
            if n == 40:
                agent.add("d")
        wanted = agent._ledger.state("e", file.contents)
        log = agent._ledger.storage.events(1)
    for event in log:
        twin.apply(event)
    assert file.contents(twin._state).digest == wanted.digest
    assert twin._state.diverged == 0


ACTS = {
    "decide": lambda a: a.ask(),
    "reward": lambda a: a.tell(a.open[0], 0.5),
    "censor": lambda a: a.forget(a.open[0]),
    "add": lambda a: a.add("d"),
    "retire": lambda a: a.retire("a"),
}


@pytest.mark.parametrize("kind", ACTS)
def test_a_journal_that_fails_leaves_everything_as_it_was(kind: str) -> None:
    failing = False

    def journal(event: Event) -> None:
        if failing:
            assert event.kind == kind
            raise OSError("disk full")

    agent = made("exp3", journal=journal)
    live(agent, 50, seed=3)
    if not agent.open:
        agent.ask()
    if "a" in agent.retired:
        agent.add("a")
    before, failing = snapshot(agent), True
    with pytest.raises(OSError, match="disk full"):
        ACTS[kind](agent)
    assert snapshot(agent) == before


def test_a_refused_call_writes_no_record() -> None:
    journal: list[Any] = []
    agent = lb.Agent("ucb1", arms=["a", "b"], journal=journal.append)
    decision = agent.ask()
    for act in (
        lambda: agent.ask([1.0]),
        lambda: agent.ask(available=["z"]),
        lambda: agent.ask(subject=0.5),  # type: ignore[arg-type]
        lambda: agent.tell(decision, "much"),  # type: ignore[arg-type]
        lambda: agent.tell("unknown", 1.0),
        lambda: agent.forget("unknown"),
        lambda: agent.add("a"),
        lambda: agent.retire("z"),
    ):
        with pytest.raises(lb.InvalidValueError):
            act()
    assert len(journal) == 1


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (7, "event is 7 but must be one that a journal received"),
        ([], r"event is \[\] but must be one that a journal received"),
        ((2, "sing", AFTER), "event's kind is 'sing' but must be one of create, configure, status, add"),
        ((2, "reward", AFTER, "x"), "decision is 'x' but must be an open one"),
        ((2, "decide", AFTER, "7"), "decision is '7' but must be an id above"),
        ((2, "decide", AFTER, "0" * 25), "must be an id above"),
        ((2, "decide", AFTER, "f" * 25, None, None, None, None, None, None, '{"context":[1]}'), "must be left out"),
        ((2, "add", AFTER), r"event's body is \{\} but must be one that has arm"),
        ((2, "status", AFTER), "must be one that a journal received [(]KeyError"),
        ((2, "decide", 0, "f" * 25), "event is 2 but must be 2, at [0-9]+ or later"),
        ((1, "decide", AFTER, "f" * 25), "event is 1 but must be 2, .*it was applied before, or the log is damaged"),
    ],
)
def test_bad_events_are_refused(event: Any, sentence: str) -> None:
    agent = lb.Agent("ucb1")
    agent.ask()
    before = snapshot(agent)
    with pytest.raises(lb.InvalidValueError, match=sentence):
        agent.apply(event)
    assert snapshot(agent) == before


def test_an_event_is_applied_once() -> None:
    journal: list[Event] = []
    agent = lb.Agent("ucb1", journal=journal.append)
    agent.ask()
    with pytest.raises(lb.InvalidValueError, match="event is 1 but must be 2"):
        agent.apply(journal[0])
