"""Journals: everything that happens to an agent can be repeated to the same bits."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
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
    assert len(journal) == 1 + moves
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
    twin.replay(journal)
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
    assert twin.apply(journal[0]) is None
    assert twin.apply(journal[1]) == decision
    assert twin.apply(journal[1]._replace(seq=2, kind="reward", value=1)) is None
    assert own == []
    assert twin.ask().id > decision.id
    assert [event.kind for event in own] == ["create", "decide"]
    assert [event.seq for event in own] == [0, 3]


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
    head, *journal = journal
    assert (head.seq, head.kind, json.loads(head.body or "")["arms"]) == (0, "create", ["a", "b"])
    assert json.loads(json.dumps([list(event) for event in journal])) == [list(event) for event in journal]
    assert [event.seq for event in journal] == [1, 2, 3, 4, 5, 6]
    assert sorted(event.at_us for event in journal) == [event.at_us for event in journal]
    assert [event[:2] + event[3:] for event in journal] == [
        event[:2] + event[3:]
        for event in (
            Event(1, "decide", 0, decision.id, "x", 0, "policy", 1.0, body='{"context":[0.5],"available":["a","b"]}'),
            Event(2, "reward", 0, decision.id, value=1.0),
            Event(3, "decide", 0, other.id, None, "ab".index(str(other.arm)), "policy", 1.0, body='{"context":[1.0]}'),
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
    assert [(event.kind, event.decision) for event in journal][3] == ("censor", first.id)
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
    assert len(journal) == 2


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
        agent.apply(journal[1])


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"arms": ["a", "c"]}, r"journal's arms is \['a', 'b'\] but must be \['a', 'c'\], as this agent has it"),
        ({"policy": "exp3"}, r"journal's policy is .*'UCB1'.* but must be .*'EXP3'"),
        ({"seed": 1}, "journal's seed is 0 but must be 1"),
        ({"floor": 0.5}, r"journal's floor is 0.0 but must be 0.5"),
    ],
)
def test_the_journal_of_another_agent_is_refused(other: dict[str, Any], sentence: str) -> None:
    """Mutation: a journal that says nothing about its agent."""
    journal: list[Event] = []
    settings: dict[str, Any] = {"policy": "ucb1", "arms": ["a", "b"]}
    agent = lb.Agent(**settings, journal=journal.append)
    agent.tell(agent.ask(), 1.0)
    twin = lb.Agent(**{**settings, **other})
    before = snapshot(twin)
    with pytest.raises(lb.InvalidValueError, match=sentence):
        twin.replay(journal)
    assert snapshot(twin) == before


@pytest.mark.parametrize("name", ["ucb1", "ts", "exp3", "state-library"])
def test_no_reward_is_credited_to_an_arm_that_was_not_played(name: str) -> None:
    """A pair of records is lost and the rest numbered anew. Mutation: events of decisions without their arms."""
    journal: list[Event] = []
    agent = made(name, journal=journal.append)
    for n in range(60):
        agent.tell(agent.ask(), [float(n % 3 == 0)] * agent.policy.groups)
    for lost in (1, 5, 11):
        kept = [*journal[:lost], *(event._replace(seq=event.seq - 2) for event in journal[lost + 2 :])]
        twin = made(name)
        with pytest.raises(lb.InvalidValueError, match=r"must be one that this agent repeats: it played \["):
            twin.replay(kept)
        stopped = twin._state.head
        arms = {event.decision: event.arm for event in journal if event.kind == "decide"}
        assert all(
            arms[one.id] == twin._player.numbers[one.arm] for one in map(twin._state.decision, _open(kept, twin))
        )
        with pytest.raises(lb.InvalidValueError, match="must be one that this agent repeats"):
            twin.apply(kept[stopped + 1])
        assert twin._state.head == stopped  # nothing has changed


def _open(events: list[Event], agent: lb.Agent) -> list[Event]:
    return [event for event in events if event.kind == "decide" and event.decision in agent.open]


@pytest.mark.parametrize("when", ["before", "after"])
def test_records_of_calls_that_were_taken_back_are_left_out(when: str) -> None:
    """The journal wrote the record, and raised: it is not known whether that is there. Mutation: apply every record."""
    journal: list[Event] = []
    chance = random.Random(0)
    failed = 0

    def keep(event: Event) -> None:
        nonlocal failed
        fails = event.kind != "create" and chance.random() < 0.3
        if not fails or when == "after":
            journal.append(event)
        if fails:
            failed += 1
            raise OSError("disk full")

    agent = made("state-library", journal=keep)
    moves = 0
    while moves < 150:
        try:
            if len(agent.open) < 3:
                agent.ask()
            else:
                waiting = chance.choice(agent.open)
                agent.tell(waiting, chance.random()) if chance.random() < 0.9 else agent.forget(waiting)
            moves += 1
        except OSError:
            continue
    assert failed > 20
    while journal[-1].seq > agent._state.head:  # the process has ended after a call that was taken back
        journal.pop()
    twin = made("state-library")
    twin.replay(journal)
    assert snapshot(twin) == snapshot(agent)


@pytest.mark.parametrize("method", ["choose", "learn"])
def test_a_policy_that_fails_leaves_no_record_and_no_trace(method: str) -> None:
    """Mutation: write the record first."""
    journal: list[Event] = []
    agent = made("exp3", journal=journal.append)
    live(agent, 50, seed=3)
    decision = agent.ask()
    before, records, player = snapshot(agent), len(journal), agent._player

    def broken(policy: Any, memory: Any, *_: Any) -> None:
        for array in memory:
            if isinstance(array, np.ndarray) and array.dtype == np.float64:
                array += 1.0
        raise ZeroDivisionError

    kept = getattr(player, method)
    setattr(player, method, broken)
    with pytest.raises(ZeroDivisionError):
        agent.ask() if method == "choose" else agent.tell(decision, 0.5)
    setattr(player, method, kept)
    assert (snapshot(agent), len(journal)) == (before, records)
    twin = made("exp3")
    twin.replay(journal)
    assert snapshot(twin) == before
