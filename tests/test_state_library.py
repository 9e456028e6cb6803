"""StateLibrary: what must hold whatever the rewards, saved agents, beliefs and settings."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.memories import copied, parts, saved
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.amounts import is_mistake
from latentbandits.policies.state_library.filter import merge
from latentbandits.policies.state_library.library import copy
from latentbandits.policies.state_library.memory import Memory
from latentbandits.protocols import Choice, Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one

quick = settings(max_examples=25, deadline=None)


def play(agent: Agent, rewards: np.ndarray) -> list[tuple[int, ...]]:
    """Tell an agent the rewards (rounds, groups, arms) of what it plays, and return that."""
    played = []
    for received in rewards:
        decision = agent.ask()
        agent.tell(decision, received[range(len(received)), list(decision.arms)])
        played.append(decision.arms)
    return played


def scripted(blocks: Sequence[tuple[float, float]], length: int, noise: float = 0.02, groups: int = 1) -> np.ndarray:
    """Return rewards (rounds, groups, 2) of means that last for `length` rounds each."""
    means = np.repeat(np.array(blocks), length, axis=0)[:, None, :]
    return means + np.random.default_rng(0).normal(0, noise, (len(means), groups, 2))


# --- what always holds ---


def tell(agent: Agent, decision: lb.Decision, rewards: list[float]) -> int:
    """Tell an agent rewards, and return how many rounds it learns from them: none if one is absurd among nothing and amounts."""
    choice = Choice.blank(agent.policy)
    choice.arms[:] = decision.arms
    mistaken = is_mistake(copied(agent.memory).standard, choice, np.array(rewards))
    agent.tell(decision, rewards)
    return 0 if mistaken else 1


def check(agent: Agent, rounds: int, begun: int = 0, prompt: bool = True) -> None:
    """Check all counts of all particles after some rounds of fewer than 256, the first of which is the one after `begun`."""
    policy, memory = agent.policy, agent.memory
    assert isinstance(policy, lb.policies.StateLibrary)
    for part in saved(policy, memory).values():
        for name in part.dtype.names or ():
            assert np.isfinite(part[name]).all()
        assert part.dtype.names or np.isfinite(part).all()
    clock, core, scale = memory.core[0], memory.library.core[0], memory.standard.scale[0]
    live = memory.library.slots[: core.live]
    if memory.standard.noise[0].sd == 0:
        assert len(live) == 0
        return
    assert sorted(memory.library.slots.tolist()) == list(range(policy.particles))
    assert 1 <= len(live) <= policy.particles
    weight = memory.library.particles["weight"]
    assert weight[live].sum() == pytest.approx(1.0, abs=1e-9)
    assert (weight[live] > 0).all()
    assert core.best in live
    assert weight[live].max() == weight[core.best]
    assert scale.low < scale.high
    assert clock.rounds == rounds
    assert memory.history.pending.sum() == policy.groups * (clock.asked - clock.told)
    for slot in live:
        check_particle(policy, memory, slot, core.front - begun)
        outliers, count = (
            memory.library.particles[slot].outliers,
            memory.library.means["count"][slot, : memory.library.particles[slot].known],
        )
        if (
            prompt and memory.library.states["spent"][slot, : memory.library.particles[slot].known].sum() == core.front
        ):  # nothing was replaced
            assert count.sum() == (rounds - outliers) * policy.groups


def check_particle(policy: lb.policies.StateLibrary, memory: Memory, slot: int, rounds: int) -> None:
    """Check that the counts of a particle agree with each other."""
    particle = memory.library.particles[slot]
    known = particle.known
    entered, left = memory.library.states["entered"][slot, :known], memory.library.states["left"][slot, :known]
    moves = memory.library.moves[slot, :known, :known]
    assert 1 <= known <= policy.states
    assert 0 <= particle.here < known
    assert entered.sum() == particle.entries
    assert (entered >= 0).all()
    assert (entered == 1).sum() == particle.singles
    assert moves.sum(axis=1).tolist() == left.tolist()
    assert (np.diag(moves) == 0).all()
    fast_switching = constants.STAYS if particle.stays + particle.changes > rounds else 0.0
    changes = particle.changes - fast_switching
    assert particle.stays + changes == rounds
    for odds in (particle.odds, particle.ageing):
        assert constants.RICHER / 1000 <= odds <= 1000
    assert memory.library.ended[slot].sum() == particle.visits == changes
    assert memory.library.ended[slot, : particle.age].sum() == particle.younger
    assert particle.until < particle.changed <= memory.library.core[0].front or changes == 0
    if changes < policy.states:  # nothing was replaced
        assert memory.library.states["spent"][slot, :known].sum() == rounds
        assert moves.sum() == changes == entered.sum() - 1


numbers = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.floats(-1e50, 1e50),
    st.sampled_from([1e50, -1e50, 1e-50, 1e-200, 1e9, 1e9 + 1]),
)
sequences = st.one_of(
    st.lists(numbers, min_size=1, max_size=60),
    st.builds(lambda a, b, n, m: ([a] * n + [b] * n) * m, numbers, numbers, st.integers(1, 20), st.integers(1, 4)),
    st.builds(
        lambda seed, noise, n: (np.random.default_rng(seed).normal(0, noise, n) + np.arange(n) // 9 % 3).tolist(),
        st.integers(0, 99),
        st.sampled_from([1e-9, 0.05, 1.0]),
        st.integers(1, 200),
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    sequences,
    st.sampled_from([(2, 1), (3, 1), (2, 2), (3, 3)]),
    st.sampled_from(
        [{}, {"states": 2}, {"particles": 2}, {"floor": 0.0}, {"staleness": False}, {"levels": 0}, {"noise": 0.1}]
    ),
    st.booleans(),
)
@example([1.0] * 3 + [1.825005674924402e-226] * 3, (3, 1), {}, False)  # a mistake at first
@example(([1.0] * 7 + [0.03125] * 7) * 2, (2, 2), {}, False)  # rewards that are mistakes
def test_counts_agree(rewards: list[float], size: tuple[int, int], chosen: dict[str, Any], ranged: bool) -> None:
    arms, groups = size
    limits: dict[str, Any] = {"low": 0.0, "high": 1.0} if ranged else {}
    agent = Agent(lb.policies.StateLibrary(arms=arms, groups=groups, **chosen, **limits), seed=1)
    rounds = 0
    check(agent, rounds)
    for reward in rewards:
        decision = agent.ask()
        # other arms pay a little less, and groups do not agree
        received = [reward * (1 - 0.25 * arm / arms) * (1 - 1e-3 * group) for group, arm in enumerate(decision.arms)]
        rounds += tell(agent, decision, received)
        check(agent, rounds)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(numbers, st.integers(-1, 12)), min_size=1, max_size=40),
    st.sampled_from([(2, 1), (3, 2)]),
    st.booleans(),
)
@example([(0.0, 0), (0.0, 0), (0.0, 0), (0.5, 0), (75.0, 0)], (2, 1), False)  # the last one is a mistake
def test_counts_agree_with_late_and_lost_rewards(
    told: list[tuple[float, int]], size: tuple[int, int], ranged: bool
) -> None:
    arms, groups = size
    limits: dict[str, Any] = {"low": 0.0, "high": 1.0, "noise": 0.1} if ranged else {}
    agent = Agent(lb.policies.StateLibrary(arms=arms, groups=groups, **limits), seed=1)
    waiting: list[tuple[int, float, lb.Decision]] = []
    rounds, begun = 0, 0
    for t in range(len(told) + 13):
        if t < len(told):
            reward, delay = told[t]
            waiting.append((t + delay, reward, agent.ask()))
        for _, reward, decision in [one for one in waiting if one[0] == t]:
            number = [one[2] for one in waiting].index(decision) + 1
            begun = begun if ranged or rounds else number - 1
            rounds += tell(agent, decision, [reward * (1 - 0.25 * arm / arms) for arm in decision.arms])
            check(agent, rounds, begun, prompt=False)
    if told[-1][1] >= 0:
        assert not agent.memory.history.pending.any()


def test_merging_moves_weight_and_loses_none() -> None:
    policy = lb.policies.StateLibrary(arms=2, noise=0.1, low=0.0, high=1.0, particles=8)
    memory = policy.init()
    for slot, weight in enumerate((0.1, 0.4, 0.3, 0.2)):
        copy(memory.library, 0, slot)
        memory.library.particles[slot].weight = weight
        memory.library.means["average"][slot] = slot
    memory.library.core[0].live = 4
    memory.library.particles[3].lineage = 2
    merge(memory.library, memory.standard.deviation, 1e9, 0)  # lighter than its match: its library goes
    assert memory.library.slots[:3].tolist() == [3, 1, 2]
    assert memory.library.particles["weight"][[3, 1, 2]].tolist() == [0.2, 0.5, 0.3]
    merge(memory.library, memory.standard.deviation, 1e9, 1)  # the heavier one
    assert memory.library.slots[:2].tolist() == [3, 1]
    assert memory.library.particles["weight"][[3, 1]].tolist() == [0.2, 0.8]
    merge(memory.library, memory.standard.deviation, 1e9, 3)  # another lineage
    assert memory.library.core[0].live == 2
    assert memory.library.means[1, 0, 0].average == 1.0


# --- scale and zero ---


class Shifted(NamedTuple):
    """A world whose rewards are in other groups."""

    world: lb.HiddenMarkov
    zero: float
    group: float

    @property
    def arms(self) -> int:
        return self.world.arms

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        made = self.world.realise(horizon, groups, seed, draw, repeat)
        means, rewards = self.zero + self.group * made.means, self.zero + self.group * made.rewards
        return made._replace(means=means, rewards=rewards, truth=None)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("power", [-60, -7, 1, 40])
def test_powers_of_two_change_no_choice(power: int, groups: int) -> None:
    policy = lb.policies.StateLibrary(arms=2, groups=groups)
    for seed, noise in enumerate((0.01, 0.1, 0.4)):
        world = lb.HiddenMarkov(stickiness=0.97, noise=noise)
        plain, scaled = (
            record_one(policy, Shifted(world, 0.0, group).realise(1500, groups, seed, 0, 0), stream(seed))
            for group in (1.0, 2.0**power)
        )
        assert (plain[0] == scaled[0]).all()
        assert (plain[1] == scaled[1]).all()


def test_regret_does_not_depend_on_zero_and_unit() -> None:
    world = lb.HiddenMarkov(noise=0.05)

    def regret(zero: float, group: float) -> float:
        results = lb.simulate(
            Shifted(world, zero, group), ["state-library"], horizon=1000, draws=40, repeats=1, seed=8, bins=1
        )
        return float(results.regret.mean()) / group

    plain = regret(0.0, 1.0)
    for zero, group in ((-50.0, 1e-3), (-50.0, 1e3), (0.0, 0.1), (7.0, 1e-3), (7.0, 1e3)):
        assert plain / 1.15 < regret(zero, group) < plain * 1.15


# --- memory, files ---


@pytest.mark.parametrize("groups", [1, 2])
def test_memory_is_constant_and_a_saved_agent_goes_on_alike(groups: int, tmp_path: Path) -> None:
    rewards = lb.HiddenMarkov(stickiness=0.97, noise=0.1).realise(20_000, groups, seed=4, draw=0, repeat=0).rewards
    agent = Agent(lb.policies.StateLibrary(arms=2, groups=groups), seed=1, compiled=True)
    size = sum(part.nbytes for part in parts(agent.memory).values())
    play(agent, rewards[:500])
    agent.save(tmp_path / "early")
    restored = Agent.load(tmp_path / "early", compiled=True)
    assert play(restored, rewards[500:1500]) == play(agent, rewards[500:1500])
    assert restored.belief == agent.belief
    play(agent, rewards[1500:])
    assert sum(part.nbytes for part in parts(agent.memory).values()) == size < 700_000
    agent.save(tmp_path / "late")
    assert (tmp_path / "late").stat().st_size < 150_000


@pytest.mark.parametrize("absurd", [1e3, 1e6, -1e6])
def test_one_absurd_reward_is_forgotten_within_500_rounds(absurd: float) -> None:
    agent, noise = Agent("state-library", seed=3, compiled=True), np.random.default_rng(3)
    best = []
    for t in range(3000):
        decision = agent.ask()
        agent.tell(decision, absurd if t == 400 else float(noise.normal((0.8, 0.3)[decision.arm], 0.05)))
        best.append(decision.arm == 0)
    assert np.mean(best[900:]) > 0.95


# --- belief ---


@quick
@given(sequences, st.integers(1, 2))
def test_belief_is_a_distribution_and_changes_nothing(rewards: list[float], groups: int) -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, groups=groups), seed=1)
    for reward in [None, *rewards[:40]]:
        if reward is not None:
            decision = agent.ask()
            agent.tell(decision, [reward * (1 - 0.2 * arm) for arm in decision.arms])
        before = [part.copy() for part in saved(agent.policy, agent.memory).values()]
        belief = agent.belief
        for old, part in zip(before, saved(agent.policy, agent.memory).values(), strict=True):
            assert (old == part).all()
        assert sum(known.probability for known in belief.states) + belief.elsewhere == pytest.approx(1.0)
        assert all(0 <= known.probability <= 1 + 1e-9 for known in belief.states)
        assert 0 <= belief.elsewhere <= 1
        assert 0 <= belief.sure <= 1
        assert 0 < belief.stay <= 1
        assert belief.current in [state.number for state in belief.states] or not belief.states


def test_belief_before_the_first_round() -> None:
    assert Agent("state-library").belief[:6] == ((), 0, 1.0, (), 1.0, math.inf)
    ranged = Agent(lb.policies.StateLibrary(arms=2, low=0.0, high=1.0)).belief
    assert (len(ranged.states), ranged.low, ranged.high, ranged.noise, ranged.particles) == (1, 0.0, 1.0, 0.1, 2)
    assert ranged.states[0].counts == (0, 0)
    assert all(math.isnan(mean) for mean in ranged.states[0].means)


@pytest.mark.parametrize("groups", [1, 2])
def test_belief_of_a_world_of_two_states(groups: int) -> None:
    """A B A B A, 60 rounds each: two states are remembered, and the last return to the first one is recognised."""
    agent = Agent(lb.policies.StateLibrary(arms=2, groups=groups), seed=1)
    play(agent, scripted([(0.3, 0.7), (0.8, 0.1)] * 2 + [(0.3, 0.7)], 60, groups=groups))
    belief = agent.belief
    assert len(belief.states) == 2
    now: Any = belief.present
    (other,) = (state for state in belief.states if state is not now)
    assert now.means == pytest.approx((0.3, 0.7), abs=0.05)
    assert other.means == pytest.approx((0.8, 0.1), abs=0.05)
    assert now.probability > 0.95
    assert belief.changed == 241
    assert belief.sure > 0.9
    assert (now.visits, other.visits) == (3, 2)
    assert belief.noise == pytest.approx(0.02, rel=0.3)
    assert belief.dwell == pytest.approx(60, rel=0.4)
    assert belief.stay == pytest.approx(1 - 1 / belief.dwell)


def test_policies_without_a_belief_say_so() -> None:
    with pytest.raises(AttributeError, match="must be one that has, such as StateLibrary"):
        _ = Agent("ucb1").belief
    assert not hasattr(Agent("ucb1"), "belief")


# --- the parts ---


def test_every_chosen_number_is_in_the_table_of_constants() -> None:
    package = Path(lb.policies.__file__).parent / "state_library"
    places = {"FEATURES", "ONE", "OTHERS", "ALL", "GAUSSIAN", "AMOUNTS", "OUTLIER", "HERE", "BEFORE"}
    places |= {"_PREFERRED", "_TESTED", "_INSTEAD"}
    for file in {*package.rglob("*.py")} - {package / "constants.py"}:
        for line in re.findall(r"^([A-Z_, ]+) = [-\d., e]+(?:$| +#)", file.read_text(), re.MULTILINE):
            assert set(line.split(", ")) <= places, file


def test_parts_that_may_overrule_the_library_can_be_switched_off() -> None:
    rewards = lb.HiddenMarkov(noise=0.3).realise(1500, 1, seed=4, draw=0, repeat=0).rewards
    agent = Agent(lb.policies.StateLibrary(arms=2, levels=0, trust=False, staleness=False), seed=1, compiled=True)
    reasons = set()
    for received in rewards:
        decision = agent.ask()
        reasons |= set(decision.probe_reasons)
        agent.tell(decision, received[0, int(decision.arm)])
    assert "staleness" not in reasons
    assert not any(part[name].any() for part in agent.memory.trust[:3] for name in part.dtype.names)
    assert agent.belief.lag_weight == 0


# --- settings ---


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"low": 1.0, "high": 0.0}, "high is 0.* but must be at least low, which is 1"),
        ({"particles": 1}, "particles is 1"),
        ({"states": 1}, "states is 1"),
        ({"floor": 1.5}, "floor is 1.5"),
        ({"levels": -1}, "levels is -1"),
        ({"noise": 1e-200}, "noise is 1e-200"),
        ({"low": 0.0, "high": 1e-200}, "high - low is 1e-200"),
        ({"particles": 10**6, "states": 10**6}, "at most 50000000 numbers: lower states or particles"),
    ],
)
def test_bad_settings_are_refused(chosen: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lb.policies.StateLibrary(arms=2, **chosen)
