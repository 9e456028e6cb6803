"""The library of states: exact Bayes where nothing is pruned, pruning without bias, and what must hold whatever the rewards."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.policies import stories
from latentbandits.protocols import Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one

quick = settings(max_examples=60, deadline=None)


def play(agent: Agent, rewards: np.ndarray) -> list[tuple[int, ...]]:
    """Tell an agent the rewards (rounds, units, arms) of what it plays, and return that."""
    played = []
    for told in rewards:
        decision = agent.ask()
        agent.tell(decision, told[range(len(told)), list(decision.arms)])
        played.append(decision.arms)
    return played


def scripted(blocks: Sequence[tuple[float, float]], length: int, noise: float = 0.02, units: int = 1) -> np.ndarray:
    """Return rewards (rounds, units, 2) of means that last for `length` rounds each."""
    means = np.repeat(np.array(blocks), length, axis=0)[:, None, :]
    return means + np.random.default_rng(0).normal(0, noise, (len(means), units, 2))


# --- exact Bayes: a sum over all ways to assign rounds to states ---

EXACT: dict[str, Any] = {
    "floor": 0.0,
    "stories": 3000,
    "states": 8,
    "likeness": 0.0,
    "levels": 0,
    "low": -1.0,
    "high": 2.0,
}
CENTRE, SPREAD = 0.5, 0.29 * 3.0


def paths(rounds: int) -> Iterator[tuple[int, ...]]:
    """Return all sequences of states from the first, 0, on; a new state has the next number."""
    if rounds == 0:
        yield (0,)
        return
    for path in paths(rounds - 1):
        for to in range(max(path) + 2):
            yield (*path, to)


def prior_of(path: tuple[int, ...], policy: lb.StateLibrary) -> float:
    """Return the probability of a sequence of states, by the urns that the policy believes in."""
    chance, odds, stays, changes = 1.0, policy.structure, 0, 0
    entered, moves = Counter({0: 1}), Counter[tuple[int, int]]()
    for before, now in itertools.pairwise(path):
        stay = (stays + policy.stay_prior) / (stays + changes + policy.stay_prior + policy.change_prior)
        if now == before:
            chance *= stay
            stays += 1
            continue
        unseen = policy.novelty + list(entered.values()).count(1)
        flat = (entered.get(now, 0) or unseen) / (unseen + entered.total() - entered[before])
        left = sum(n for (start, _), n in moves.items() if start == before)
        counted = (moves[before, now] + flat) / (left + 1)
        chance *= (1 - stay) * (flat + odds * counted) / (1 + odds)
        odds *= counted / flat
        moves[before, now] += 1
        entered[now] += 1
        changes += 1
    return chance


def joint_density(rewards: Sequence[float], noise: float) -> float:
    """Return the density of rewards of one arm in one state whose mean is Gaussian."""
    n = len(rewards)
    covariance = noise**2 * np.eye(n) + SPREAD**2
    far = np.array(rewards) - CENTRE
    exponent = float(far @ np.linalg.solve(covariance, far)) / 2
    return math.exp(-exponent) / math.sqrt((2 * math.pi) ** n * np.linalg.det(covariance))


def posterior_mean(rewards: Sequence[float], noise: float) -> float:
    precision = 1 / SPREAD**2 + len(rewards) / noise**2
    return (CENTRE / SPREAD**2 + sum(rewards) / noise**2) / precision


def values_by_paths(policy: lb.StateLibrary, told: Sequence[tuple[Sequence[int], Sequence[float]]]) -> list[float]:
    """Return every arm's expected reward; what follows a change is taken from the heaviest path, as the policy does."""
    weighted = []
    for path in paths(len(told)):
        seen: dict[tuple[int, int], list[float]] = {}
        for state, (arms, rewards) in zip(path[1:], told, strict=True):
            for arm, reward in zip(arms, rewards, strict=True):
                seen.setdefault((state, arm), []).append(reward)
        like = math.prod(joint_density(rewards, policy.noise) for rewards in seen.values())
        weighted.append((prior_of(path, policy) * like, path, seen))
    total = sum(weight for weight, _, _ in weighted)
    _, best, by_best = max(weighted, key=lambda each: each[0])
    after = [prior_of((*best, to), policy) / prior_of(best, policy) for to in range(max(best) + 2)]
    values = []
    for arm in range(policy.arms):
        here = sum(w * posterior_mean(seen.get((path[-1], arm), []), policy.noise) for w, path, seen in weighted)
        there = [posterior_mean(by_best.get((to, arm), []), policy.noise) for to in range(max(best) + 2)]
        jumps = sum(p * mean for to, (p, mean) in enumerate(zip(after, there, strict=True)) if to != best[-1])
        values.append(here / total * after[best[-1]] + jumps)
    return values


@pytest.mark.parametrize(
    ("noise", "units", "rounds", "urns"),
    [
        (0.5, 1, 6, {}),
        (0.3, 1, 5, {"structure": 2.0, "novelty": 0.3}),
        (0.5, 1, 6, {"stay_prior": 1.0, "change_prior": 1.0, "structure": 1.0}),
        (0.4, 1, 5, {"stay_prior": 1.0, "change_prior": 2.0, "structure": 0.0}),
        (0.6, 2, 5, {"stay_prior": 2.0, "optimism": 20.0}),
        (0.6, 3, 4, {"change_prior": 3.0, "optimism": 20.0}),
    ],
)
def test_nothing_pruned_is_exact_bayes(noise: float, units: int, rounds: int, urns: dict[str, Any]) -> None:
    policy = lb.StateLibrary(arms=2, units=units, noise=noise, **{**EXACT, **urns})
    apart = 0  # rounds in which units played different arms
    for seed in range(3):
        agent = Agent(policy, seed=seed)
        rewards = np.random.default_rng(seed).normal([[[0.2, 0.8]], [[0.9, 0.1]]] * 3, noise, (6, units, 2))
        told: list[tuple[Sequence[int], Sequence[float]]] = []
        for t in range(rounds):
            decision = agent.ask()
            assert agent.memory.value == pytest.approx(values_by_paths(policy, told), abs=1e-9)
            told.append((decision.arms, [float(rewards[t, unit, arm]) for unit, arm in enumerate(decision.arms)]))
            agent.tell(decision, told[-1][1])
        agent.ask()
        assert agent.belief.stories == sum(1 for _ in paths(rounds))
        assert agent.memory.value == pytest.approx(values_by_paths(policy, told), abs=1e-9)
        apart += sum(len(set(arms)) > 1 for arms, _ in told)
    assert (apart > 0) == (units > 1)


# --- pruning ---


def pruned(weights: Sequence[float], most: int, floor: float, u: float) -> dict[int, float]:
    """Return the weights that are left, by position."""
    chance, parent, to = list(weights), list(range(len(weights))), list(range(len(weights)))
    scratch = [0.0] * len(weights)
    kept, total = stories.prune(chance, parent, to, scratch, len(weights), most, floor, u)  # type: ignore[arg-type]
    assert total == pytest.approx(sum(chance[:kept]))
    assert parent[:kept] == to[:kept] == sorted(set(to[:kept]))
    return dict(zip(to[:kept], chance[:kept], strict=True))


weights_to_prune = st.lists(
    st.one_of(st.sampled_from([0.0, 0.1, 1.0, 1e-17, 1e-300]), st.floats(0, 1), st.floats(-40, 0).map(math.exp)),
    min_size=1,
    max_size=40,
).filter(lambda weights: sum(weights) > 1e-12)


@quick
@given(weights_to_prune, st.integers(2, 20), st.sampled_from([0.0, 1e-12, 0.003, 0.1, 1.0]))
@example([0.1] * 10 + [1e-17] * 3, 11, 0.003)  # ten equal weights, whose sum is rounded down
@example([0.3] * 30, 16, 0.0)
@example([1.0], 2, 1.0)
def test_pruning_is_unbiased_and_keeps_few(weights: list[float], most: int, floor: float) -> None:
    steps = 200
    kept = [pruned(weights, most, floor, (i + 0.5) / steps) for i in range(steps)]
    assert 1 <= min(map(len, kept)) <= max(map(len, kept)) <= most
    cut = max((w for left in kept for i, w in left.items() if w != weights[i]), default=0.0)
    for i, weight in enumerate(weights):
        mean = sum(left.get(i, 0.0) for left in kept) / steps
        assert mean == pytest.approx(weight, rel=1e-9, abs=1.5 * (cut or sum(weights)) / steps)
        if weight > (cut or sum(weights) / most) * (1 + 1e-9):
            assert all(left[i] == weight for left in kept)


def test_pruning_is_unbiased_for_random_numbers() -> None:
    generator = np.random.default_rng(1)
    weights = generator.exponential(size=30).tolist()
    runs = [pruned(weights, 16, 0.003, u) for u in generator.random(4000)]
    for i, weight in enumerate(weights):
        values = np.array([left.get(i, 0.0) for left in runs])
        assert abs(values.mean() - weight) <= 4.5 * values.std() / math.sqrt(4000) + 1e-12
    assert {len(left) for left in runs} <= {15, 16}


# --- what always holds ---


def check(agent: Agent, told: int) -> None:
    """Check all books of all stories after some rounds of fewer than 256."""
    policy, state = agent.policy, agent.memory
    assert isinstance(policy, lb.StateLibrary)
    about = state.about
    live = state.slots[: int(about[stories.LIVE])]
    for part in state:
        assert np.isfinite(part).all()
    if about[stories.NOISE] == 0:
        assert len(live) == 0
        return
    assert sorted(state.slots.tolist()) == list(range(policy.stories))
    assert 1 <= len(live) <= policy.stories
    assert state.weight[live].sum() == pytest.approx(1.0, abs=1e-9)
    assert (state.weight[live] > 0).all()
    assert about[stories.BEST] in live
    assert state.weight[live].max() == state.weight[int(about[stories.BEST])]
    assert about[stories.LOW] < about[stories.HIGH]
    for slot in live:
        known = int(state.known[slot])
        entered, left, moves = state.entered[slot, :known], state.left[slot, :known], state.moves[slot, :known, :known]
        tale = state.tale[slot]
        assert 1 <= known <= policy.states
        assert 0 <= state.here[slot] < known
        assert entered.sum() == tale[stories.ENTRIES]
        assert (entered >= 0).all()
        assert (entered == 1).sum() == tale[stories.SINGLES]
        assert moves.sum(axis=1).tolist() == left.tolist()
        assert (np.diag(moves) == 0).all()
        assert tale[stories.STAYS] + tale[stories.CHANGES] == told
        assert policy.structure / 1000 <= tale[stories.ODDS] <= 1000
        if tale[stories.CHANGES] < policy.states:  # nothing was replaced
            assert state.counts[slot, :known].sum() == told * policy.units
            assert moves.sum() == tale[stories.CHANGES] == entered.sum() - 1


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


@settings(max_examples=150, deadline=None)
@given(
    sequences,
    st.sampled_from([(2, 1), (3, 1), (2, 2), (3, 3)]),
    st.sampled_from(
        [{}, {"states": 2}, {"stories": 2}, {"floor": 0.0}, {"structure": 0.0}, {"levels": 0}, {"noise": 0.1}]
    ),
    st.booleans(),
)
def test_books_are_kept(rewards: list[float], size: tuple[int, int], chosen: dict[str, Any], ranged: bool) -> None:
    arms, units = size
    limits: dict[str, Any] = {"low": 0.0, "high": 1.0} if ranged else {}
    agent = Agent(lb.StateLibrary(arms=arms, units=units, **chosen, **limits), seed=1)
    check(agent, 0)
    for t, reward in enumerate(rewards):
        decision = agent.ask()
        # other arms pay a little less, and units do not agree
        told = [reward * (1 - 0.25 * arm / arms) * (1 - 1e-3 * unit) for unit, arm in enumerate(decision.arms)]
        agent.tell(decision, told)
        check(agent, t + 1)


def test_merging_moves_weight_and_loses_none() -> None:
    policy = lb.StateLibrary(arms=2, noise=0.1, low=0.0, high=1.0, likeness=1e9, stories=8)
    state = policy.init()
    state.about[stories.LIVE] = 4
    state.weight[:4] = [0.1, 0.4, 0.3, 0.2]
    for slot in range(4):
        stories.copy(policy, state, 0, slot)
        state.mean[slot] = slot
    state.lineage[3] = 2
    stories.merge(policy, state, 0)  # lighter than its match: its library goes
    assert state.slots[:3].tolist() == [3, 1, 2]
    assert state.weight[[3, 1, 2]].tolist() == [0.2, 0.5, 0.3]
    stories.merge(policy, state, 1)  # the heavier one
    assert state.slots[:2].tolist() == [3, 1]
    assert state.weight[[3, 1]].tolist() == [0.2, 0.8]
    stories.merge(policy, state, 3)  # another lineage
    assert state.about[stories.LIVE] == 2
    assert state.mean[1, 0, 0] == 1.0


# --- scale and zero ---


class Shifted(NamedTuple):
    """A world whose rewards are told in other units."""

    world: lb.HiddenMarkov
    zero: float
    unit: float

    @property
    def arms(self) -> int:
        return self.world.arms

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        table = self.world.realise(horizon, units, seed, draw, repeat)
        means, rewards = self.zero + self.unit * table.means, self.zero + self.unit * table.rewards
        return table._replace(means=means, rewards=rewards, truth=None)


@pytest.mark.parametrize("units", [1, 2])
@pytest.mark.parametrize("power", [-60, -7, 1, 40])
def test_powers_of_two_change_no_choice(power: int, units: int) -> None:
    policy = lb.StateLibrary(arms=2, units=units)
    for seed, noise in enumerate((0.01, 0.1, 0.4)):
        world = lb.HiddenMarkov(stickiness=0.97, noise=noise)
        plain, scaled = (
            record_one(policy, Shifted(world, 0.0, unit).realise(1500, units, seed, 0, 0), stream(seed))
            for unit in (1.0, 2.0**power)
        )
        assert (plain[0] == scaled[0]).all()
        assert (plain[1] == scaled[1]).all()


def test_regret_does_not_depend_on_zero_and_unit() -> None:
    world = lb.HiddenMarkov(noise=0.05)

    def regret(zero: float, unit: float) -> float:
        results = lb.simulate(
            Shifted(world, zero, unit), ["state-library"], horizon=1000, draws=40, repeats=1, seed=8, bins=1
        )
        return float(results.regret.mean()) / unit

    plain = regret(0.0, 1.0)
    for zero, unit in itertools.product((-50.0, 0.0, 7.0), (1e-3, 0.1, 1e3)):
        assert plain / 1.15 < regret(zero, unit) < plain * 1.15


# --- memory, files ---


@pytest.mark.parametrize("units", [1, 2])
def test_memory_is_constant_and_a_saved_agent_goes_on_alike(units: int, tmp_path: Path) -> None:
    rewards = lb.HiddenMarkov(stickiness=0.97, noise=0.1).realise(20_000, units, seed=4, draw=0, repeat=0).rewards
    agent = Agent(lb.StateLibrary(arms=2, units=units), seed=1)
    size = sum(part.nbytes for part in agent.memory)
    play(agent, rewards[:500])
    agent.save(tmp_path / "early")
    restored = Agent.load(tmp_path / "early")
    assert play(restored, rewards[500:1500]) == play(agent, rewards[500:1500])
    assert restored.belief == agent.belief
    play(agent, rewards[1500:])
    assert sum(part.nbytes for part in agent.memory) == size < 700_000
    agent.save(tmp_path / "late")
    assert (tmp_path / "late").stat().st_size < 150_000


@pytest.mark.parametrize("absurd", [1e3, 1e6, -1e6])
def test_one_absurd_reward_is_forgotten_within_500_rounds(absurd: float) -> None:
    agent, noise = Agent("state-library", seed=3), np.random.default_rng(3)
    best = []
    for t in range(3000):
        decision = agent.ask()
        agent.tell(decision, absurd if t == 400 else float(noise.normal((0.8, 0.3)[decision.arm], 0.05)))
        best.append(decision.arm == 0)
    assert np.mean(best[900:]) > 0.95


# --- belief ---


@quick
@given(sequences, st.integers(1, 2))
def test_belief_is_a_distribution_and_changes_nothing(rewards: list[float], units: int) -> None:
    agent = Agent(lb.StateLibrary(arms=2, units=units), seed=1)
    for reward in [None, *rewards[:40]]:
        if reward is not None:
            decision = agent.ask()
            agent.tell(decision, [reward * (1 - 0.2 * arm) for arm in decision.arms])
        before = [part.copy() for part in agent.memory]
        belief = agent.belief
        for old, part in zip(before, agent.memory, strict=True):
            assert (old == part).all()
        assert sum(known.probability for known in belief.states) + belief.elsewhere == pytest.approx(1.0)
        assert all(0 <= known.probability <= 1 + 1e-9 for known in belief.states)
        assert 0 <= belief.elsewhere <= 1
        assert 0 <= belief.sure <= 1
        assert 0 < belief.stay <= 1
        assert not belief.states or 0 <= belief.current < len(belief.states)


def test_belief_before_the_first_round() -> None:
    assert Agent("state-library").belief[:5] == ((), 0, 1.0, 1.0, math.inf)
    told = Agent(lb.StateLibrary(arms=2, low=0.0, high=1.0)).belief
    assert (len(told.states), told.low, told.high, told.noise, told.stories) == (1, 0.0, 1.0, 0.1, 1)
    assert told.states[0].counts == (0, 0)
    assert all(math.isnan(mean) for mean in told.states[0].means)


@pytest.mark.parametrize("units", [1, 2])
def test_belief_of_a_world_of_two_states(units: int) -> None:
    """A B A B A, 60 rounds each: two states are remembered, and the last return to the first one is recognised."""
    agent = Agent(lb.StateLibrary(arms=2, units=units), seed=1)
    play(agent, scripted([(0.3, 0.7), (0.8, 0.1)] * 2 + [(0.3, 0.7)], 60, units=units))
    belief = agent.belief
    assert len(belief.states) == 2
    now, other = belief.states[belief.current], belief.states[1 - belief.current]
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
    with pytest.raises(AttributeError, match="must be one that does, such as StateLibrary"):
        _ = Agent("ucb1").belief
    assert not hasattr(Agent("ucb1"), "belief")


# --- settings ---


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"low": 1.0, "high": 0.0}, "high is 0.* but must be at least low, which is 1"),
        ({"novelty": 0.0}, "novelty is 0"),
        ({"stories": 1}, "stories is 1"),
        ({"states": 1}, "states is 1"),
        ({"floor": 1.5}, "floor is 1.5"),
        ({"structure": -0.1}, "structure is -0.1"),
        ({"stay_prior": 0.0}, "stay_prior is 0"),
        ({"patience": 0}, "patience is 0"),
        ({"noise": 1e-200}, "noise is 1e-200"),
        ({"low": 0.0, "high": 1e-200}, "high - low is 1e-200"),
        ({"stories": 10**6, "states": 10**6}, "at most 50000000 numbers"),
        ({"levels": 10**9}, "at most 50000000 numbers"),
    ],
)
def test_bad_settings_are_refused(chosen: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lb.StateLibrary(arms=2, **chosen)
