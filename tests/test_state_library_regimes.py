"""Numbers of regimes: they stay, whichever particle is the heaviest, and when the past is learned again."""

import itertools
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.policies.state_library.library import copy
from latentbandits.policies.state_library.regimes import show
from tests.test_state_library import scripted
from tests.test_state_library_belief import TWO, now, tell


def test_a_number_stays_with_its_regime() -> None:
    """Twenty visits to each of two regimes, 50 rounds each."""
    agent = Agent("state-library", seed=1, compiled=True)
    rewards = scripted(TWO * 20, 50, noise=0.05)
    found: list[tuple[int, int]] = []
    for t in range(0, 2000, 10):
        tell(agent, rewards[t : t + 10])
        if t > 200 and t % 50 == 40:  # at the end of a visit
            found.append((t // 50 % 2, now(agent).number))
            assert now(agent).means == pytest.approx(TWO[t // 50 % 2], abs=0.06)
    assert len(set(found)) == 2  # two pairs of a regime and its number
    assert len({number for _, number in found}) == 2
    numbers = [state.number for state in agent.belief.states]
    assert len(numbers) == len(set(numbers))
    assert min(numbers) > 0


def test_numbers_count_the_regimes_that_were_shown() -> None:
    """Ids of states count all that particles have tried."""
    agent = Agent("state-library", seed=1, compiled=True)
    tell(agent, scripted(TWO * 10, 50, noise=0.05))
    memory = agent.memory
    assert {state.number for state in agent.belief.states} == {1, 2}
    assert memory.regimes.core[0].numbered < 6 < memory.library.core[0].numbered


def test_the_first_regime_has_its_number_before_the_first_reward() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, low=0.0, high=1.0), seed=1)
    assert [state.number for state in agent.belief.states] == [1]
    tell(agent, scripted(TWO[:1], 20))
    assert now(agent).number == 1


def show_regimes(memory: Any) -> None:
    """Give the states of the heaviest particle their numbers."""
    show(memory.library, memory.regimes, memory.standard.deviation, memory.history.rounds, memory.core[0].rounds)


def rivals() -> tuple[Any, Any]:
    """Return a policy, and a memory in which two particles have each found the second regime for itself; the later is the heaviest."""
    agent = Agent(lb.policies.StateLibrary(arms=2, low=0.0, high=1.0, noise=0.1), seed=1)
    tell(agent, scripted(TWO, 30))
    policy: Any = agent.policy
    memory = agent.memory
    core = memory.library.core[0]
    best, slot = core.best, memory.library.slots[core.live]
    copy(memory.library, best, slot)
    core.live, core.best = core.live + 1, slot
    core.lineages = memory.library.particles[slot].lineage = core.lineages + 1
    here = memory.library.states[slot, memory.library.particles[slot].here]
    here.id, here.number = core.numbered + 1, 0
    assert [state.number for state in policy.belief(memory).states] == [1, 1]  # it has none yet
    return policy, memory


def test_another_particle_that_found_the_same_regime_shows_the_same_number() -> None:
    policy, memory = rivals()
    memory.library.means[memory.library.core[0].best, 1]["average"] += 0.01
    show_regimes(memory)
    assert [state.number for state in policy.belief(memory).states] == [1, 2]
    assert memory.regimes.core[0].numbered == 2


def test_a_state_with_other_means_is_another_regime() -> None:
    policy, memory = rivals()
    memory.library.means[memory.library.core[0].best, 1]["average"] = 0.5
    show_regimes(memory)
    assert [state.number for state in policy.belief(memory).states] == [1, 3]
    assert memory.regimes.core[0].numbered == 3


def test_regimes_keep_their_numbers_when_the_past_is_learned_again() -> None:
    """The noise at the start is made to look quite different: all particles begin again, with the last 256 rounds."""
    agent = Agent("state-library", seed=1, compiled=True)
    tell(agent, scripted(TWO * 5, 40, noise=0.05))
    before, lineages = agent.belief, agent.memory.library.core[0].lineages
    agent._player.memory.standard.scale[0].noise_at_start /= 10
    tell(agent, scripted(TWO * 2, 40, noise=0.05))
    assert agent.memory.standard.scale[0].noise_at_start == pytest.approx(before.noise, rel=0.2)  # it was learned again
    assert agent.memory.library.core[0].lineages < lineages
    assert [state.number for state in agent.belief.states] == [state.number for state in before.states] == [1, 2]


def test_a_regime_is_where_it_was_in_time_when_all_means_have_moved() -> None:
    agent = Agent("state-library", seed=1, compiled=True)
    tell(agent, scripted(TWO * 5, 40, noise=0.05))
    memory = agent._player.memory
    memory.regimes.means["average"] += 10
    memory.standard.scale[0].noise_at_start = 1e-9
    while (
        memory.standard.scale[0].noise_at_start == 1e-9
    ):  # until the noise is looked at, and all particles begin again
        tell(agent, scripted(TWO[1:], 1))
    assert [state.number for state in agent.belief.states] == [1, 2]
    best = memory.library.core[0].best
    for k, row in itertools.product(
        range(2), range(2)
    ):  # what both pay is known again, also that of the regime which is not present
        if memory.regimes.known[row].number == k + 1:
            assert memory.regimes.means[row].tobytes() == memory.library.means[best, k].tobytes()


def test_a_number_goes_to_the_state_that_holds_most_of_its_rounds() -> None:
    """The first state holds five rounds of regime 2 and three of regime 1, the second four and two, and a ninth round of none."""
    policy, memory = rivals()
    states = memory.library.states[memory.library.core[0].best]
    states["number"] = memory.regimes.core[0].shown = 0
    one, other = states["id"][:2]
    memory.history.rounds[:15]["state"] = [one] * 8 + [other] * 7
    memory.history.rounds["regime"] = 0
    memory.history.rounds[:14]["regime"] = [2] * 5 + [1] * 3 + [2] * 4 + [1] * 2
    show_regimes(memory)
    assert [state.number for state in policy.belief(memory).states] == [2, 1]
    assert memory.regimes.core[0].numbered == 2


def test_a_late_reward_belongs_to_the_regime_of_its_round() -> None:
    agent = Agent("state-library", seed=1, compiled=True)
    tell(agent, scripted([*TWO, TWO[0]], 40, noise=0.05))
    late = agent.ask()
    tell(agent, scripted(TWO, 20, noise=0.05))
    agent.tell(late, TWO[0][int(late.arm)])
    memory = agent.memory
    before, latest = memory.history.rounds[memory.core[0].rounds - 2 : memory.core[0].rounds]
    assert (before["number"], before["regime"], latest["number"], latest["regime"]) == (161, 2, 121, 1)
    assert now(agent).number == 2


def test_numbers_stay_over_long_runs() -> None:
    """Most states are shown under one number for all 2,000 rounds, whichever particle is the heaviest."""
    numbered = states = 0
    for draw in range(4):
        made = lb.HiddenMarkov(states=4, arms=2, noise=0.1, stickiness=0.98).realise(2000, 1, 1000, draw, 0)
        agent = Agent("state-library", seed=draw, compiled=True)
        shown: set[int] = set()
        for t in range(0, 2000, 10):
            tell(agent, made.rewards[t : t + 10])
            numbers = [state.number for state in agent.belief.states]
            assert len(set(numbers)) == len(numbers)
            shown |= set(numbers)
        assert max(shown) <= agent.memory.regimes.core[0].numbered
        numbered, states = numbered + len(shown), states + len(numbers)
    assert numbered / states < 2
