"""Many threads, forked processes, and two processes on one file."""

import os
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.agent.events import Event
from tests.test_agent import snapshot


@pytest.fixture(autouse=True)
def _often() -> Any:
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["adasp-ucb", "exp3"])
def test_many_threads_share_one_agent(name: str, compiled: bool, tmp_path: Path) -> None:
    """Every decision is completed once, whoever does it; the counts add up; the journal in its order gives the same bits."""
    journal: list[Event] = []
    settings: Any = {"arms": ["a", "b", "c"], "floor": 0.1, "seed": 1, "compiled": compiled}
    agent = lb.Agent(name, journal=journal.append, **settings)
    shared: list[lb.Decision] = []
    made: list[list[lb.Decision]] = [[] for _ in range(8)]
    completed: list[list[str]] = [[] for _ in range(8)]
    refused = [0] * 8
    start = threading.Barrier(8)

    def work(worker: int) -> None:
        chance = random.Random(worker)
        start.wait()
        for turn in range(150):
            decision = agent.ask(available=["a", "b"] if turn % 5 == 0 else None)
            made[worker].append(decision)
            shared.append(decision)
            waiting = chance.choice(shared)  # often that of another thread, and sometimes completed already
            try:
                agent.tell(waiting, chance.random())
                completed[worker].append(waiting.id)
            except lb.InvalidValueError as refusal:
                refused[worker] += "completed or forgotten" in str(refusal)
            if turn % 30 == worker:
                agent.save(tmp_path / "agent")
                assert all(part.flags.owndata for part in agent.memory)
                agent.explain(agent.ask())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    every = Counter(known for part in completed for known in part)
    assert max(every.values()) == 1
    assert len({decision.id for part in made for decision in part}) == 8 * 150
    assert all(part == sorted(part) for part in made)  # by id: later decisions have later ids
    stats = agent.stats
    assert stats.told == len(every)
    assert stats.told + sum(refused) == 8 * 150
    assert stats.asked == sum(event.kind == "decide" for event in journal)
    twin = lb.Agent(name, **settings)
    for event in journal:
        twin.apply(event)
    assert snapshot(twin) == snapshot(agent)
    assert lb.Agent.load(tmp_path / "agent").stats.asked <= stats.asked


def test_threads_that_save_one_agent_leave_its_newest_state(tmp_path: Path) -> None:
    agent = lb.Agent("ucb1")

    def work(_: int) -> None:
        for _ in range(10):
            agent.tell(agent.ask(), 0.5)
            agent.save(tmp_path / "agent")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert [path.name for path in tmp_path.iterdir()] == ["agent"]
    assert snapshot(lb.Agent.load(tmp_path / "agent")) == snapshot(agent)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_agent_refuses_every_call(tmp_path: Path) -> None:
    code = f"""
        import os, threading, latentbandits as lb
        agent = lb.Agent("state-library", arms=["a", "b"], compiled=False)
        waiting = agent.ask()
        agent.save({str(tmp_path / "agent")!r})
        agent._lock.raw.acquire()  # as another thread may do at the moment of the fork
        child = os.fork()
        if child == 0:
            acts = dict(
                ask=agent.ask, tell=lambda: agent.tell(waiting, 1.0), forget=lambda: agent.forget(waiting),
                add=lambda: agent.add("c"), retire=lambda: agent.retire("a"), save=lambda: agent.save("x"),
                explain=lambda: agent.explain(waiting), apply=lambda: agent.apply(()),
                **{{name: lambda name=name: getattr(agent, name)
                   for name in ("arms", "belief", "memory", "open", "policy", "retired", "stats")}},
            )
            for name, act in acts.items():
                try:
                    act()
                    print(name, "went through")
                except lb.InvalidValueError as refusal:
                    last = str(refusal).replace(str(os.getpid()), "PID")
            print(last, flush=True)
            own = lb.Agent.load({str(tmp_path / "agent")!r}, compiled=False)
            own.tell(waiting.id, 1.0)
            os._exit(0)
        agent._lock.raw.release()
        assert os.waitpid(child, 0)[1] == 0
        agent.tell(waiting, 1.0)
        print("parent goes on")
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.splitlines() == [
        "Agent: process is PID but must be the one that made the agent (a forked process must make or load an agent of its own, "
        "and save it to a path of its own)",
        "parent goes on",
    ]


def test_ids_are_unique_across_restarts_and_never_credited_to_another(tmp_path: Path) -> None:
    """Save, decide more, die, load, decide: the lost decisions are refused, whoever asks."""
    agent = lb.Agent("random", seed=1)
    agent.ask()
    agent.save(tmp_path / "agent")
    lost = [agent.ask() for _ in range(5)]
    restored = lb.Agent.load(tmp_path / "agent")
    again = [restored.ask() for _ in range(5)]
    assert [decision.arms for decision in again] == [decision.arms for decision in lost]
    assert {decision.id for decision in again}.isdisjoint(decision.id for decision in lost)
    for decision in lost:
        for known in (decision, decision.id):
            with pytest.raises(
                lb.InvalidValueError,
                match=r"must be an open one \(this one is completed or forgotten, was made after the last save, or belongs to",
            ):
                restored.tell(known, 1.0)
    assert restored.stats.told == 0


def test_ids_sort_by_time_and_fit_into_a_url() -> None:
    before = time.time()
    agent = lb.Agent("ucb1")
    asked = [agent.ask() for _ in range(2000)]
    ids = [decision.id for decision in asked]
    assert ids == sorted(set(ids))
    assert all(known.isalnum() and known.isascii() and len(known) == 25 for known in ids)
    assert before - 1e-3 <= asked[0].time < asked[-1].time <= time.time() + 1.0
