"""The particles of StateLibrary: exact Bayes where nothing is pruned, and pruning without bias."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import latentbandits as lb
from latentbandits.policies.state_library.particles import prune
from latentbandits.protocols import Choice
from latentbandits.random import stream

# --- exact Bayes: a sum over all ways to assign rounds to states ---

EXACT: dict[str, Any] = {
    "floor": 0.0,
    "particles": 3000,
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


def values_by_paths(policy: lb.StateLibrary, observed: Sequence[tuple[Sequence[int], Sequence[float]]]) -> list[float]:
    """Return every arm's expected reward; what follows a change is taken from the heaviest path, as the policy does."""
    weighted = []
    for path in paths(len(observed)):
        seen: dict[tuple[int, int], list[float]] = {}
        for state, (arms, rewards) in zip(path[1:], observed, strict=True):
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
        memory, random, choice = policy.init(), stream(seed), Choice.blank(policy)
        rewards = np.random.default_rng(seed).normal([[[0.2, 0.8]], [[0.9, 0.1]]] * 3, noise, (6, units, 2))
        observed: list[tuple[Sequence[int], Sequence[float]]] = []
        for t in range(rounds + 1):
            with np.errstate(over="ignore"):
                policy.choose(memory, np.zeros(0), random, choice)
            values = choice.features[1:]  # those of the library alone
            assert values == pytest.approx(values_by_paths(policy, observed), abs=1e-9)
            assert choice.offers["value"].tolist() == values.tolist()
            if t < rounds:
                received = rewards[t, range(units), choice.arms]
                observed.append((choice.arms.tolist(), received.tolist()))
                policy.learn(memory, choice, received)
        assert policy.belief(memory).particles == sum(1 for _ in paths(rounds))
        apart += sum(len(set(arms)) > 1 for arms, _ in observed)
    assert (apart > 0) == (units > 1)


# --- pruning ---


def pruned(weights: Sequence[float], most: int, floor: float, u: float) -> dict[int, float]:
    """Return the weights that are left, by position."""
    chance, parent, to = list(weights), list(range(len(weights))), list(range(len(weights)))
    scratch = [0.0] * len(weights)
    kept, total = prune(chance, parent, to, scratch, len(weights), most, floor, u)  # type: ignore[arg-type]
    assert total == pytest.approx(sum(chance[:kept]))
    assert parent[:kept] == to[:kept] == sorted(set(to[:kept]))
    return dict(zip(to[:kept], chance[:kept], strict=True))


weights_to_prune = st.lists(
    st.one_of(st.sampled_from([0.0, 0.1, 1.0, 1e-17, 1e-300]), st.floats(0, 1), st.floats(-40, 0).map(math.exp)),
    min_size=1,
    max_size=40,
).filter(lambda weights: sum(weights) > 1e-12)


@settings(max_examples=60, deadline=None)
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
