"""StateLibrary: what it learns of worlds with late and lost rewards, outliers, states that last for a fixed time, and other ranges."""

import math
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.memories import copied, parts
from latentbandits.policies.state_library import constants, emissions
from latentbandits.policies.state_library.index import expect
from latentbandits.policies.state_library.library import end_visit
from latentbandits.policies.state_library.memory import ONE
from latentbandits.policies.state_library.outlook import suppose_learned
from latentbandits.policies.state_library.standardise import count_difference, learned_noise, rebase, set_range
from latentbandits.policies.state_library.transitions import hazard, hazard_at_age, staying
from latentbandits.protocols import Choice
from latentbandits.random import stream
from tests.naive_differences import Differences
from tests.naive_features import Slopes
from tests.naive_particles import Particle, Scale, Urns, age_class
from tests.test_state_library import play, scripted

TWO = [(0.3, 0.7), (0.8, 0.1)]


def heaviest(agent: Agent) -> Any:
    return agent.memory.library.particles[agent.memory.library.core[0].best]


def told_late(agent: Agent, rewards: np.ndarray, delays: np.ndarray) -> list[int]:
    """Tell an agent rewards (rounds, groups, arms) late, or never where the delay is -1, and return the arms of its first group."""
    decisions = []
    for t in range(len(rewards)):
        decisions.append(agent.ask())
        for when in np.flatnonzero((delays[: t + 1] >= 0) & (np.arange(t + 1) + delays[: t + 1] == t)):
            agent.tell(decisions[when], rewards[when, 0, list(decisions[when].arms)])
    return [decision.arms[0] for decision in decisions]


# --- noise ---


def streams() -> dict[str, np.ndarray]:
    """Return rewards of one arm."""
    generator = np.random.default_rng(1)
    noise = generator.normal(0, 0.1, 3000)
    return {
        "plain": noise,
        "changing": noise + np.repeat(generator.choice([0.0, 1.0, 2.0], 100), 30),
        "alternating": noise + np.arange(3000) % 2,
        "louder": noise * np.where(np.arange(3000) < 2000, 1, 3),
    }


@pytest.mark.parametrize("name", streams())
def test_noise_is_learned_as_the_twin_learns_it(name: str) -> None:
    """From differences that can be noise, changes or alternation; what was long ago counts less."""
    rewards, policy, twin = streams()[name], lb.policies.StateLibrary(arms=2), Differences(1, Slopes(2, 0, Scale()))
    memory, choice = policy.init(), Choice.blank(policy)
    memory.standard.scale[0].high = 4.0
    for t, reward in enumerate(rewards):
        choice.arms[0] = int(t % 50 == 49)  # now and then another arm
        due = count_difference(policy, memory.standard, memory.covariates, choice, np.array([reward]))
        assert due == twin.count([int(choice.arms[0])], [float(reward)], np.zeros(0))
        if due:
            noise = learned_noise(memory.standard)
            assert noise == pytest.approx(twin.noise(4.0), rel=1e-9)
    expected = {"louder": 0.16}.get(name, 0.1)
    assert noise == pytest.approx(expected, rel=0.12)


# --- late and lost rewards ---


def test_values_are_known_before_the_first_reward_if_the_range_is_given() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=3, low=0.0, high=1.0), seed=1)
    decisions = [agent.ask() for _ in range(6)]
    assert [decision.arm for decision in decisions] == [0, 1, 2, 0, 1, 2]  # rewards under way make an arm less unknown
    assert [option.value for option in agent.explain(decisions[-1].id).options] == pytest.approx([0.5] * 3)


def test_rewards_under_way_are_awaited_until_later_ones_arrive() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, groups=2, low=0.0, high=1.0), seed=1)
    decisions = [agent.ask() for _ in range(5)]
    assert agent.memory.history.pending.sum() == 10
    agent.tell(decisions[2], [0.4, 0.5])  # the first two are late
    later = [arm for decision in decisions[3:] for arm in decision.arms]
    assert agent.memory.history.pending.tolist() == [later.count(0), later.count(1)]
    agent.tell(decisions[0], [0.4, 0.5])
    assert agent.memory.history.pending.sum() == 4
    agent.tell(decisions[4], [0.4, 0.5])  # the others are late or lost: they are not awaited
    assert agent.memory.history.pending.tolist() == [0, 0]
    assert agent.memory.core[0].rounds == 3


def test_at_most_1024_rewards_are_awaited() -> None:
    policy = lb.policies.StateLibrary(arms=2, low=0.0, high=1.0)
    memory, random = policy.init(), stream(1)
    choices = [Choice.blank(policy) for _ in range(1300)]
    with np.errstate(over="ignore"):
        for t, choice in enumerate(choices):
            policy.choose(memory, np.zeros(0), random, choice)
            assert memory.history.pending.sum() == min(t + 1, 1024)
    for told, awaited in ((100, 1024), (400, 900), (1299, 1), (1300, 0), (5, 0)):
        policy.learn(memory, choices[told - 1], np.array([0.5]))
        expected = [sum(choice.arms[0] == arm for choice in choices[1300 - awaited :]) for arm in range(2)]
        assert memory.history.pending.tolist() == expected


@pytest.mark.parametrize("lost", [0.0, 0.5])
def test_states_are_recognised_by_rewards_that_are_late_or_lost(lost: float) -> None:
    """A B A B ..., 80 rounds each, with rewards up to ten rounds late: two states are remembered, and the changes are where they are."""
    rewards = scripted(TWO * 5, 80)
    generator = np.random.default_rng(2)
    delays = np.where(generator.random(800) < lost, -1, generator.integers(0, 11, 800))
    agent = Agent("state-library", seed=1, compiled=True)
    arms = told_late(agent, rewards, delays)
    belief: Any = agent.belief
    assert len(belief.states) == 2
    assert belief.present.means == pytest.approx((0.8, 0.1), abs=0.05)
    assert abs(belief.changed - 721) <= 2
    assert np.mean(arms[400:] == np.repeat([1, 0] * 5, 80)[400:]) > 0.8


def test_a_reward_of_an_earlier_state_leaves_the_present_one_as_it_is() -> None:
    """All of A's last 20 rewards come after the change to B, in the wrong order."""
    rewards = scripted(TWO * 2, 60)
    delays = np.zeros(240, int)
    delays[160:180] = np.arange(60, 20, -2)
    agent = Agent("state-library", seed=1)
    told_late(agent, rewards, delays)
    belief = agent.belief
    assert len(belief.states) == 2
    assert belief.current == 2
    assert belief.changed == 181
    assert [math.dist(known.means, TWO[k]) < 0.05 for k, known in enumerate(belief.states)] == [True, True]


# --- ages, outliers, fast switching, range ---


def hazard_of(policy: Any, memory: Any, slot: int, now: int) -> float:
    library = memory.library
    return hazard(library.particles[slot], library.ended[slot], library.core[0].front, now)


def test_states_that_last_for_a_fixed_time_are_expected_to_end() -> None:
    agent = Agent("state-library", seed=1, compiled=True)
    play(agent, scripted(TWO * 25, 20)[:-1])
    policy: Any = agent.policy
    memory, best = agent.memory, agent.memory.library.core[0].best
    particle = memory.library.particles[best]
    ages = [
        hazard_at_age(particle, memory.library.ended[best], particle.changed + age, 1.0 - staying(particle))
        for age in range(1, 21)
    ]
    assert ages[19] > 0.4
    assert max(ages[:18]) < 0.1
    assert heaviest(agent).ageing > 10
    now = memory.core[0].asked + 1
    assert now - heaviest(agent).changed == 19
    assert hazard_of(policy, memory, best, now) < 0.1
    play(agent, scripted(TWO * 25, 20)[-1:])
    assert hazard_of(policy, agent.memory, agent.memory.library.core[0].best, now + 1) > 0.4


def test_to_ask_for_a_hazard_changes_nothing() -> None:
    agent = Agent("state-library", seed=1, compiled=True)
    play(agent, scripted(TWO * 5, 20))
    policy: Any = agent.policy
    before, now = copied(agent.memory), agent.memory.core[0].asked
    for slot in agent.memory.library.slots[: agent.memory.library.core[0].live]:
        chances = [hazard_of(policy, agent.memory, slot, now + later) for later in (1, 2, 1)]
        assert chances[0] == chances[2]
    for name, part in parts(agent.memory).items():
        np.testing.assert_array_equal(part, parts(before)[name])


def test_nothing_is_claimed_before_the_scale_is_known() -> None:
    agent = Agent("state-library", arms=4, seed=1, compiled=True)
    while agent.memory.standard.noise[0].sd == 0.0:
        decision = agent.ask()
        agent.tell(decision, 0.1 * int(decision.arm))
    memory = agent.memory
    assert not memory.trust.claims["number"].any()
    assert not any(part[name].any() for part in (memory.trust.checked, memory.trust.core) for name in part.dtype.names)


def test_hazards_by_age_are_those_of_the_twin() -> None:
    policy = lb.policies.StateLibrary(arms=2, low=0.0, high=1.0)
    memory, urns = policy.init(), Urns(64)
    twin = Particle(urns, [], changed=0, until=0, weight=1.0, odds=1.0, ageing=1.0)
    for age in [1, 1, 2, 5, 19, 20, 20, 21, 22, 23, 24, 150, 150, 151, 1200, 1324, 1325, 5000]:
        memory.library.core[0].now = age
        end_visit(memory.library, 0)
        twin.ended[age_class(age)] += 1
    particle = memory.library.particles[0]
    for age in [*range(1, 200), *range(200, 3000, 7)]:
        hazard = hazard_at_age(particle, memory.library.ended[0], age, 1.0 - staying(particle))
        assert hazard == pytest.approx(twin.aged(age), rel=1e-12)


def test_states_that_end_by_chance_have_one_hazard() -> None:
    world = lb.HiddenMarkov(stickiness=0.96, noise=0.05, states=2)
    agent = Agent("state-library", seed=1, compiled=True)
    play(agent, world.realise(3000, 1, seed=3, draw=0, repeat=0).rewards)
    assert heaviest(agent).ageing < 0.05
    assert agent.belief.dwell == pytest.approx(25, rel=0.3)


@pytest.mark.parametrize("seed", range(4))
def test_outliers_make_no_states(seed: int) -> None:
    """One reward in fifty is anything between 0 and 1."""
    rewards = scripted(TWO * 4, 100)
    generator = np.random.default_rng(seed)
    some = generator.random(len(rewards)) < 0.02
    rewards[some] = generator.random((some.sum(), 1, 1))
    agent = Agent("state-library", seed=1, compiled=True)
    play(agent, rewards)
    assert [known.visits for known in agent.belief.states] == [4, 4]
    for known, means in zip(agent.belief.states, TWO, strict=True):
        assert known.means == pytest.approx(means, abs=0.05)
    assert 0.7 * some.sum() < heaviest(agent).outliers <= some.sum()


def test_rewards_of_two_values_have_no_outliers() -> None:
    agent = Agent("state-library", seed=1, compiled=True)
    play(agent, lb.HiddenMarkov(rewards="bernoulli").realise(500, 1, seed=3, draw=0, repeat=0).rewards)
    live = agent.memory.library.slots[: agent.memory.library.core[0].live]
    assert agent.memory.library.particles["outliers"][live].max() <= 1  # before two rewards were equal


@pytest.mark.parametrize("seed", range(3))
def test_rare_clicks_are_no_states(seed: int) -> None:
    """One state that pays 1 in 100 rounds, 1 in 50 or 1 in 200: what it pays is how often it does."""
    rates = (0.01, 0.02, 0.005)
    rewards = (np.random.default_rng(seed).random((20_000, 1, 3)) < rates).astype(float)
    agent = Agent("state-library", arms=3, seed=seed, compiled=True)
    play(agent, rewards)
    present = agent.belief.present
    assert present is not None
    assert present.means[present.counts.index(512)] == pytest.approx(0.015, abs=0.015)
    assert present.dwell > 1000


@pytest.mark.parametrize(("low", "high"), [(0.0, 2.0), (-2.0, 0.0), (5.0, 6.0)])
def test_a_range_that_rules_out_yes_or_no_does_no_lasting_harm(low: float, high: float) -> None:
    """Its middle says that every reward is yes, or no; but both come."""
    rewards = (np.random.default_rng(1).random((1500, 1, 2)) < (0.2, 0.7)).astype(float)
    agent = Agent(lb.policies.StateLibrary(arms=2, low=low, high=high), seed=1, compiled=True)
    arms = np.array([arm for (arm,) in play(agent, rewards)])
    live = agent.memory.library.slots[: agent.memory.library.core[0].live]
    assert agent.memory.library.particles["weight"][live].sum() == pytest.approx(1.0)
    assert np.mean(arms[1000:] == 1) > 0.8


def test_a_state_that_changes_all_the_time_is_that_of_the_fast_switching_particle() -> None:
    agent = Agent("state-library", seed=1)
    play(agent, scripted([(0.1, 0.2), (0.8, 0.9)] * 30, 2))
    best = heaviest(agent)
    assert best.stays + best.changes == 120 + constants.STAYS
    assert agent.belief.stay == pytest.approx(0.5, abs=0.05)


def test_a_wider_range_keeps_the_library() -> None:
    """A and B for 300 rounds, then a third state whose rewards are far outside the range: what was learned of A and B stays."""
    agent = Agent(lb.policies.StateLibrary(arms=2, noise=0.02), seed=1)
    play(agent, scripted(TWO * 3, 50))
    width, before = agent.belief.high - agent.belief.low, agent.belief.states
    play(agent, scripted([(2.3, 1.7)], 30))
    assert agent.belief.high > 2.3 > agent.belief.low + width
    assert len(agent.belief.states) == 3
    for old, new in zip(before, agent.belief.states, strict=False):
        assert new.counts == old.counts
        assert new.means == pytest.approx(old.means, abs=1e-3)


def test_rewards_far_outside_the_range_widen_it_only_if_they_are_confirmed() -> None:
    """One in a hundred is an outlier of up to a hundred times the range: it leaves range and choices as they were. Two that agree count."""
    world = lb.HiddenMarkov(states=4, arms=2, noise=0.05, stickiness=0.99).realise(3000, 1, seed=3, draw=0, repeat=0)
    generator = np.random.default_rng(1)
    absurd = (generator.random(3000) < 0.01) & (np.arange(3000) > 10)
    corrupt = np.where(absurd[:, None, None], generator.uniform(-100, 100, (3000, 1, 1)), world.rewards)
    shares = []
    for rewards in (world.rewards, corrupt):
        agent = Agent("state-library", seed=1, compiled=True)
        arms = [arm for (arm,) in play(agent, rewards)]
        shares.append(np.mean(arms == world.means.argmax(axis=1)))
        assert agent.belief.high - agent.belief.low < 5
    assert shares[1] > shares[0] - 0.05
    high = agent.belief.high
    play(agent, np.full((1, 1, 2), high + 2.0))
    assert agent.belief.high == high
    play(agent, np.full((4, 1, 2), high + 2.0))
    assert agent.belief.high > high


@pytest.mark.parametrize("when", [0, 1])
def test_an_absurd_reward_among_the_very_first_is_forgotten(when: int) -> None:
    """It makes a range in which nothing can be told apart, until 256 rounds have shown what is usual."""
    rewards = scripted([(0.8, 0.3), (0.1, 0.6)] * 5, 100, noise=0.05)
    best = np.array([0, 1] * 5).repeat(100)
    rewards[when] *= 1000
    agent = Agent("state-library", seed=1, compiled=True)
    arms = np.array([arm for (arm,) in play(agent, rewards)])
    assert agent.belief.high - agent.belief.low < 3
    assert np.mean(arms[400:] == best[400:]) > 0.9


@pytest.mark.parametrize("first", [-30.0, -1e3, -1e6, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_an_absurd_first_reward_of_the_best_arm_costs_256_rounds(first: float, seed: int) -> None:
    rewards = np.random.default_rng(seed).normal((0.2, 0.5, 0.8), 0.1, (800, 1, 3))
    rewards[:3, :, 2] = first  # all arms are tried in these rounds, once each
    agent = Agent("state-library", arms=3, seed=seed, compiled=True)
    arms = np.array([arm for (arm,) in play(agent, rewards)])
    assert np.mean(arms[300:] == 2) > 0.95


def test_an_arm_that_pays_far_less_in_little_noise_is_no_outlier() -> None:
    """It looks like one after a single look; one more would cost as much as all others together."""
    rewards = np.random.default_rng(1).normal((0.1, 0.9), 0.01, (600, 1, 2))
    agent = Agent(lb.policies.StateLibrary(arms=2, staleness=False), seed=1, compiled=True)
    arms = np.array([arm for (arm,) in play(agent, rewards)])
    assert not (arms[10:] == 0).any()


def test_a_mean_that_creeps_out_of_the_range_widens_it() -> None:
    """Rewards within the noise of the edge confirm nothing one by one, but their mean does."""
    agent = Agent(lb.policies.StateLibrary(arms=2, noise=0.3), seed=1)
    play(agent, scripted([(0.4, 0.6)], 2))
    low, high = agent.belief.low, agent.belief.high
    play(agent, scripted([(high + 0.5, high + 0.6)], 200, noise=0.3))
    assert agent.belief.low <= low
    assert agent.belief.high > high + 0.4


def test_doubt_about_the_state_that_follows_counts_where_a_change_is_likely() -> None:
    """The state alternates: an arm that was never tried in the other one has a bonus before it comes, not only once it is there."""
    agent = Agent(lb.policies.StateLibrary(arms=2, noise=0.02, low=0.0, high=1.0), seed=1)
    play(agent, scripted([(0.1, 0.2), (0.8, 0.9)] * 40, 1))
    policy: Any = agent.policy
    memory = agent.memory
    follows = int(np.argmax(memory.library.moves[memory.library.core[0].best, heaviest(agent).here]))
    for tried in (True, False):
        if not tried:
            memory.library.means[memory.library.core[0].best, follows, 0].count = 0
        for stay in (0.1, 0.95):
            choice = Choice.blank(policy)
            suppose_learned(memory.outlook, memory.library)
            expect(memory, stay, choice)
            assert (choice.arm_scores[0].std_error > 0.1) == (not tried and stay == 0.1)
            assert 0.0 < choice.arm_scores[1].std_error < 0.05


def test_means_move_to_another_prior_as_if_it_had_been_there_from_the_beginning() -> None:
    rewards = np.random.default_rng(1).normal(0.4, 0.1, 20)
    narrow, wide = (lb.policies.StateLibrary(arms=2, noise=0.1, low=0.0, high=high) for high in (1.0, 7.0))
    moved, straight = narrow.init(), wide.init()
    for memory in (moved, straight):
        for arm, reward in enumerate(rewards):
            emissions.update(memory.library.means[0, 0, arm % 2], memory.standard.gaussians[ONE], reward, 1, 0, 0.0)
    centre, spread = moved.standard.scale[0].centre, moved.standard.scale[0].spread
    assert moved.library.means[0, 0, 0].average != pytest.approx(straight.library.means[0, 0, 0].average)
    set_range(moved.standard.scale[0], 0.0, 7.0)
    for k in range(2):
        rebase(moved.library.means[k], 1, moved.standard, centre, spread)
    emissions.set_gaussians(moved.standard, groups=1)
    for k in range(2):
        np.testing.assert_allclose(
            moved.library.means[k, 0]["average"], straight.library.means[k, 0]["average"], atol=1e-12
        )
    for table in ("gaussians", "deviation"):
        np.testing.assert_array_equal(getattr(moved.standard, table), getattr(straight.standard, table))
