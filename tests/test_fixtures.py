"""Files that were saved once open for good, and the agents in them go on as they did then."""

import json
import os

import pytest

import latentbandits as lb
from tests.fixtures import CHOICES, FOLDER, MORE, ROUNDS, played, policies

CHOSEN: dict[str, str] = json.loads(CHOICES.read_text())


@pytest.mark.parametrize("name", CHOSEN)
def test_a_saved_agent_goes_on_with_the_recorded_choices(name: str) -> None:
    agent = lb.Agent.load(FOLDER / f"{name}.agent")
    assert agent.open
    assert " ".join(played(agent, range(ROUNDS + 1, ROUNDS + 1 + MORE))) == CHOSEN[name]


def test_fixtures_are_of_policies() -> None:
    """`python -m tests.fixtures` writes those of policies that came later: no need in the change that adds one."""
    files = {file.removesuffix(".agent") for file in os.listdir(FOLDER) if file.endswith(".agent")}
    assert files == set(CHOSEN) <= set(policies())
