"""Looks of StateLibrary at arms that were not played for long, see `correctors.staleness`."""

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.memories import copied
from latentbandits.policies.arms import highest_value
from latentbandits.policies.state_library.correctors import staleness
from latentbandits.policies.state_library.index import expect
from latentbandits.policies.state_library.outlook import suppose_learned
from latentbandits.policies.state_library.transitions import staying
from latentbandits.protocols import Choice
from tests.test_state_library import play, scripted
from tests.test_state_library_worlds import heaviest


def rounds_to_a_look(agent: Agent, odds: float, rounds_ago: int = 1) -> int:
    """Return after how many rounds without a look the other arm is overdue, if the rival explanation has such odds."""
    memory, policy = copied(agent.memory), agent.policy
    library, looks, scale = memory.library, memory.staleness, memory.standard.scale[0]
    looks.core[0].odds = odds
    looks.arms["loss"] = 0.0
    looks.arms["played"] = memory.core[0].asked - rounds_ago
    looks.arms["state"] = library.states["id"][library.core[0].best, heaviest(agent).here]
    choice = Choice.blank(policy)
    choice.arm_scores["available"] = True
    suppose_learned(memory.outlook, library)
    expect(memory, 1.0, choice)
    greedy = highest_value(choice)
    for rounds in range(1, 20_000):
        now = memory.core[0].asked + rounds
        if staleness.overdue(looks, library, scale, staying(heaviest(agent)), greedy, now, choice) == 1 - greedy:
            return rounds
    return 20_000


def test_a_look_comes_sooner_the_better_the_rival_predicts_and_the_longer_an_arm_was_not_played() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, noise=0.05, low=0.0, high=1.0), seed=1)
    play(agent, scripted([(0.8, 0.2), (0.2, 0.8)] * 2, 50, noise=0.05))
    never, seldom, often = (rounds_to_a_look(agent, odds) for odds in (0.0, 0.01, 10.0))
    assert never == 20_000
    assert often < seldom / 4 < 5_000
    assert rounds_to_a_look(agent, 10.0, rounds_ago=100) < often


def test_an_arm_that_recovers_unseen_speaks_for_the_rival() -> None:
    """The arm in use pays the same in both states: only a look shows that the state is back, and the library had not expected it."""
    agent = Agent(lb.policies.StateLibrary(arms=2, noise=0.05, low=0.0, high=1.0), seed=1)
    play(agent, scripted([(1.0, 0.6)], 200, noise=0.05))
    before = float(agent.memory.staleness.core[0].odds)
    play(agent, scripted([(0.0, 0.6)], 60, noise=0.05))
    while agent.memory.staleness.core[0].odds <= before:
        play(agent, scripted([(1.0, 0.6)], 1, noise=0.05))
        assert agent.memory.core[0].asked < 1500
    assert agent.memory.staleness.core[0].odds > 2 * before
