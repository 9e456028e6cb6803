"""Files that were saved once open for good, and the agents in them go on as they did then."""

import json
import os

import pytest

import latentbandits as lb
from tests.fixtures import AGENTS, FOLDER, MORE, ROUNDS, played, policies

CHOSEN: dict[str, dict[str, str]] = {
    version: json.loads((AGENTS / version / "choices.json").read_text()) for version in sorted(os.listdir(AGENTS))
}


@pytest.mark.parametrize(("version", "name"), [(version, name) for version, names in CHOSEN.items() for name in names])
def test_a_saved_agent_goes_on_with_the_recorded_choices(version: str, name: str) -> None:
    agent = lb.Agent.load(AGENTS / version / f"{name}.agent")
    assert agent.open
    assert " ".join(played(agent, range(ROUNDS + 1, ROUNDS + 1 + MORE))) == CHOSEN[version][name]


def test_fixtures_are_of_policies() -> None:
    """`python -m tests.fixtures` writes those of policies that came later: no need in the change that adds one."""
    assert set(CHOSEN[FOLDER.name]) <= set(policies())
    for version, names in CHOSEN.items():
        files = os.listdir(AGENTS / version)
        assert {file.removesuffix(".agent") for file in files if file.endswith(".agent")} == set(names)


def test_decisions_of_version_3_are_found_by_their_numbers() -> None:
    for known in (300, "300"):
        agent = lb.Agent.load(AGENTS / "3" / "ucb1.agent")
        assert agent.open == ("300",)
        assert list(agent.stats) == [1, 0, 0, 0, 0, 1, None]
        assert agent.explain(300).time is None
        agent.tell(known, 0.5)
        assert agent.stats.open == 0
        assert len(agent.ask().id) == 25


def test_open_decisions_of_version_4_are_numbered_after_the_rounds_that_state_library_has_learned() -> None:
    """Of four open decisions the last was made by the policy around it, which has restarted it; two units play the same arm."""
    agent = lb.Agent.load(AGENTS / "4" / "dal-state-library.agent")
    contents = agent._player.contents()
    assert contents.choices.features[:, 1].tolist() == [7, 8, 9, 0]
    memory = contents.memory.inner
    assert (memory.core[0].asked, memory.core[0].told, memory.core[0].rounds, memory.core[0].front) == (9, 6, 6, 6)
    assert memory.pending.sum() == 2 * 3
    assert sorted(memory.history["number"])[-7:] == [0, 1, 2, 3, 4, 5, 6]
    agent.tell(agent.open[2], [0.5, 0.5])
    assert not agent._player.contents().memory.inner.pending.any()
