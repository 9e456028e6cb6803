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


def test_every_policy_has_a_fixture() -> None:
    """`python -m tests.fixtures` writes those that are missing."""
    assert set(CHOSEN[FOLDER.name]) == set(policies())
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
