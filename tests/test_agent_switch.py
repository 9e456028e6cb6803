"""Interpreted and compiled, an agent is the same to the bit: with masks, new arms, floors and late rewards, at every round."""

import gc
import json
import weakref
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.agent import compiled_jobs
from latentbandits.compiled import machine_code
from tests.fixtures import policies
from tests.test_agent import snapshot
from tests.test_agent_journal import live

POLICIES = policies()


def journal_of(name: str, settings: Any) -> list[str]:
    lines: list[str] = []
    agent = lb.Agent(POLICIES[name], journal=lambda record: lines.append(json.dumps(record)), **settings)
    live(agent, 120, seed=5)
    return lines


@pytest.mark.compiled
@pytest.mark.parametrize("name", POLICIES)
def test_machine_code_does_what_the_interpreter_does_at_every_record(name: str) -> None:
    """From the bits of an interpreted agent, at every point of its life, one step by machine code gives the interpreter's bits."""
    share = 0.1 if POLICIES[name].groups == 1 and name != "scripted" else 0.0
    settings: Any = {"arms": ["a", "b", "c"], "seed": 3, "floor": share, "compiled": False}
    lines = journal_of(name, settings)
    agent, fast = (lb.Agent(POLICIES[name], **settings) for _ in range(2))
    machine = [machine_code(function, *args) for function, args in compiled_jobs(POLICIES[name])]
    fast._switch(machine)
    for line in lines:
        assert fast.apply(json.loads(line)) == agent.apply(json.loads(line))
        assert snapshot(fast) == snapshot(agent)


def test_an_agent_does_not_wait_for_its_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs in the background keeps no agent alive, and switches those that live."""
    waiting: list[Any] = []
    monkeypatch.setattr("latentbandits.agent.steps.loaded", lambda *_: None)
    monkeypatch.setattr("latentbandits.agent.steps.in_background", lambda jobs, done: waiting.append(done))
    lost, kept = lb.Agent("ucb1"), lb.Agent("ucb1")
    gone = weakref.ref(lost)
    del lost
    gc.collect()
    assert gone() is None
    made = [kept._player.choose, kept._player.learn]
    for done in waiting:
        done(made[::-1])
    assert [kept._player.choose, kept._player.learn] == made[::-1]


def test_compiled_says_when(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("latentbandits.agent.steps.loaded", lambda *_: asked.append("loaded"))
    monkeypatch.setattr("latentbandits.agent.steps.in_background", lambda *_: asked.append("background"))

    def machine_code(function: Any, *_: Any) -> Any:
        asked.append("now")
        return function

    monkeypatch.setattr("latentbandits.agent.steps.machine_code", machine_code)
    lb.Agent("ucb1", compiled=False)
    assert asked == []
    lb.Agent("ucb1", compiled=True)
    assert asked == ["now", "now"]
    lb.Agent("ucb1")
    assert asked[2:] == ["loaded", "loaded", "background"]


def test_the_steps_of_an_agent_keep_pythons_lock() -> None:
    """To give it up costs a busy program's thread a whole turn of another one, for a call of microseconds."""
    pytest.importorskip("numba")
    from latentbandits.agent import steps
    from latentbandits.compiled import backend
    from latentbandits.simulation import loop

    kept = {step: backend._dispatcher(step, False).targetoptions["nogil"] for step in (steps.choose, loop.play)}
    assert kept == {steps.choose: False, loop.play: True}
