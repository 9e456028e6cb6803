"""The particles of StateLibrary: exact Bayes where nothing is pruned, late rewards included, and pruning without bias."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import latentbandits as lb
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.filter import prune
from latentbandits.policies.state_library.memory import Branch
from latentbandits.protocols import Choice
from latentbandits.random import stream

# --- exact Bayes: a sum over all ways to assign rounds to states ---

EXACT: dict[str, Any] = {
    "floor": 0.0,
    "particles": 1000,
    "states": 8,
    "levels": 0,
    "low": -1.0,
    "high": 2.0,
}
WIDTH, CENTRE, SPREAD = 3.0, 0.5, 0.29 * 3.0
FAST_SWITCHING = {False: 0.98, True: 0.02}
Played = tuple[Sequence[int], Sequence[float]]  # arms and rewards of all groups


class Step(NamedTuple):
    """The state of a round, and whether its rewards are outliers."""

    state: int
    outlier: bool = False


Path = tuple[Step, ...]


def paths(rounds: int) -> Iterator[Path]:
    """Return all sequences of states from the first, 0, on; a new state has the next number. Outliers come while the state stays."""
    if rounds == 0:
        yield (Step(0),)
        return
    for path in paths(rounds - 1):
        for to in range(max(path).state + 2):
            yield (*path, Step(to))
        yield (*path, Step(path[-1].state, outlier=True))


class Urns(NamedTuple):
    """The probability of a path, and how often the state stayed or changed and rewards were outliers, as the next round sees it."""

    chance: float
    rounds: float
    outliers: int

    def outlier(self) -> float:
        return (self.outliers + 0.01) / (self.rounds + 100)


def urns_of(
    path: Path, policy: lb.policies.StateLibrary, fast_switching: bool, numbers: Sequence[int] = range(100)
) -> Urns:
    """Return what the policy believes of a sequence of states, with the numbers of the rounds. An outlier's chance is on top of 1."""
    chance, odds, ageing = FAST_SWITCHING[fast_switching], constants.RICHER, constants.RICHER
    stays, changes, outliers, changed = 0, constants.STAYS if fast_switching else 0.0, 0, 0
    entered, moves, ends = Counter({0: 1}), Counter[tuple[int, int]](), list[int]()
    for (before, _), (now, outlier), number, last in zip(path, path[1:], numbers[1:], numbers, strict=False):
        constant = (changes + constants.CHANGES) / (stays + changes + constants.STAYS + constants.CHANGES)
        if number - last > 1:  # rounds without rewards
            hazard = 1 - (1 - constant) ** (number - last)
        else:
            age = number - changed
            aged = (ends.count(age) + constant) / (sum(end >= age for end in ends) + 1)
            hazard = (constant + ageing * aged) / (1 + ageing)
            ageing *= (1 - aged) / (1 - constant) if now == before else aged / constant
        if now == before:
            chance *= (1 - hazard) * (Urns(1, stays + changes, outliers).outlier() if outlier else 1)
            stays += number - last
            outliers += outlier
            continue
        unseen = constants.NOVELTY + list(entered.values()).count(1)
        flat = (entered.get(now, 0) or unseen) / (unseen + entered.total() - entered[before])
        left = sum(n for (start, _), n in moves.items() if start == before)
        counted = (moves[before, now] + flat) / (left + 1)
        chance *= hazard * (flat + odds * counted) / (1 + odds)
        odds *= counted / flat
        moves[before, now] += 1
        entered[now] += 1
        ends.append(number - changed)
        stays, changes, changed = stays + number - last - 1, changes + 1, number
    return Urns(chance, stays + changes, outliers)


@cache
def joint_density(rewards: tuple[float, ...], noise: float) -> float:
    """Return the density of rewards of one arm in one state whose mean is Gaussian."""
    n = len(rewards)
    covariance = noise**2 * np.eye(n) + SPREAD**2
    far = np.array(rewards) - CENTRE
    exponent = float(far @ np.linalg.solve(covariance, far)) / 2
    return math.exp(-exponent) / math.sqrt((2 * math.pi) ** n * np.linalg.det(covariance))


def outlying_density(played: Played, noise: float) -> float:
    """Return the density of outliers: the mean of all groups with one arm is anywhere in the range, and they differ by noise."""
    density = 1.0
    for arm in set(played[0]):
        mine = [reward for other, reward in zip(*played, strict=True) if other == arm]
        far = sum((reward - sum(mine) / len(mine)) ** 2 for reward in mine)
        density *= math.exp(-far / noise**2 / 2) / (math.sqrt(2 * math.pi) * noise) ** (len(mine) - 1)
        density /= math.sqrt(len(mine)) * WIDTH
    return density


def posterior_mean(rewards: Sequence[float], noise: float) -> float:
    precision = 1 / SPREAD**2 + len(rewards) / noise**2
    return (CENTRE / SPREAD**2 + sum(rewards) / noise**2) / precision


class Weighed(NamedTuple):
    """A hypothesis with its weight, and the rewards of every state and arm by it."""

    weight: float
    fast_switching: bool
    path: Path
    seen: dict[tuple[int, int], list[float]]

    def mean(self, state: int, arm: int, noise: float) -> float:
        return posterior_mean(self.seen.get((state, arm), []), noise)


def far(seen: dict[tuple[int, int], list[float]], state: int, played: Played, noise: float) -> float:
    """Return how far rewards are from what a state makes expect: half the sum of squares, in standard deviations of each arm's mean."""
    total = 0.0
    for arm in set(played[0]):
        mine = [reward for other, reward in zip(*played, strict=True) if other == arm]
        known = seen.get((state, arm), [])
        variance = noise**2 / len(mine) + 1 / (1 / SPREAD**2 + len(known) / noise**2)
        total += (sum(mine) / len(mine) - posterior_mean(known, noise)) ** 2 / (2 * variance)
    return total


def weighed(
    chance: float,
    fast_switching: bool,
    path: Path,
    rounds: Sequence[tuple[Step, Played]],
    noise: float,
    candidates: Mapping[int, set[int]] = MappingProxyType({}),
) -> Weighed:
    """Multiply the prior of a hypothesis by the likelihood of the rewards of some rounds.

    Outliers are three deviations from what the state makes expect, or all states that the round may have had (`candidates`)
    """
    seen: dict[tuple[int, int], list[float]] = {}
    for i, ((state, outlier), played) in enumerate(rounds):
        if outlier:
            apart = min(far(seen, one, played, noise) for one in candidates.get(i, {state}))
            chance *= outlying_density(played, noise) if apart > 4.5 else 0
            continue
        for arm, reward in zip(*played, strict=True):
            seen.setdefault((state, arm), []).append(reward)
    return Weighed(
        chance * math.prod(joint_density(tuple(rewards), noise) for rewards in seen.values()),
        fast_switching,
        path,
        seen,
    )


def all_hypotheses(policy: lb.policies.StateLibrary, observed: Sequence[Played]) -> list[Weighed]:
    """Return all possible paths, for particles that expect fast switching or not."""
    found = [
        weighed(
            urns_of(path, policy, fast_switching).chance,
            fast_switching,
            path,
            list(zip(path[1:], observed, strict=True)),
            policy.noise,
        )
        for fast_switching in (False, True)
        for path in paths(len(observed))
    ]
    return [one for one in found if one.weight > 0]


def values_by_paths(policy: lb.policies.StateLibrary, all_paths: Sequence[Weighed]) -> list[float]:
    """Return every arm's expected reward; what follows a change is taken from the heaviest path, as the policy does."""
    total = sum(one.weight for one in all_paths)
    best = max(all_paths, key=lambda one: one.weight)
    known, here = range(max(best.path).state + 2), best.path[-1].state
    now = urns_of(best.path, policy, best.fast_switching).chance
    after = [urns_of((*best.path, Step(to)), policy, best.fast_switching).chance / now for to in known]
    values = []
    for arm in range(policy.arms):
        stays = sum(one.weight * one.mean(one.path[-1].state, arm, policy.noise) for one in all_paths) / total
        jumps = sum(after[to] * best.mean(to, arm, policy.noise) for to in known if to != here)
        values.append(stays * after[here] + jumps)
    return values


@pytest.mark.parametrize(
    ("noise", "groups", "urns"),
    [
        (0.5, 1, {}),
        (0.3, 1, {"RICHER": 2.0, "NOVELTY": 0.3}),
        (0.5, 1, {"STAYS": 1.0, "CHANGES": 1.0, "RICHER": 1.0}),
        (0.4, 1, {"STAYS": 1.0, "CHANGES": 2.0, "RICHER": 1e-9}),
        (0.6, 2, {"STAYS": 2.0, "OPTIMISM": 20.0}),
        (0.6, 3, {"CHANGES": 3.0, "OPTIMISM": 20.0}),
    ],
)
def test_nothing_pruned_is_exact_bayes(
    noise: float, groups: int, urns: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in urns.items():
        monkeypatch.setattr(constants, name, value)
    policy = lb.policies.StateLibrary(arms=2, groups=groups, noise=noise, **EXACT)
    rounds, apart, outlying = 4, 0, 0  # rounds in which groups played different arms, and paths with an outlier
    for seed in range(3):
        memory, random, choice = policy.init(), stream(seed), Choice.blank(policy)
        rewards = np.random.default_rng(seed).normal([[[0.2, 0.8]], [[0.9, 0.1]]] * 3, noise, (6, groups, 2))
        rewards[seed + 1] += 2 * seed * noise
        observed: list[Played] = []
        for t in range(rounds + 1):
            with np.errstate(over="ignore"):
                policy.choose(memory, np.zeros(0), random, choice)
            values = choice.features[2:]  # those of the library alone
            all_paths = all_hypotheses(policy, observed)
            assert values == pytest.approx(values_by_paths(policy, all_paths), abs=1e-9)
            assert choice.arm_scores["value"].tolist() == values.tolist()
            if groups == 1:
                evidence = math.log(sum(one.weight for one in all_paths))
                assert memory.library.core[0].log_evidence == pytest.approx(evidence, abs=1e-8)
            if t < rounds:
                received = rewards[t, range(groups), choice.arms]
                observed.append((choice.arms.tolist(), received.tolist()))
                policy.learn(memory, choice, received)
        assert policy.belief(memory).particles == len(all_paths)
        outlying += sum(step.outlier for one in all_paths for step in one.path)
        apart += sum(len(set(arms)) > 1 for arms, _ in observed)
    assert (apart > 0) == (groups > 1)
    assert outlying > 0


# --- late rewards: a sum over all moments of the change, too ---


def asked_and_told(
    policy: lb.policies.StateLibrary, numbers: Sequence[int], rewards: Sequence[float]
) -> tuple[Any, list[int]]:
    """Ask as often as the highest number says, then tell the rewards of some rounds; returns the memory and the arms of all rounds."""
    memory, random = policy.init(), stream(0)
    choices = [Choice.blank(policy) for _ in range(max(numbers))]
    with np.errstate(over="ignore"):
        for choice in choices:
            policy.choose(memory, np.zeros(0), random, choice)
    for number, reward in zip(numbers, rewards, strict=True):
        policy.learn(memory, choices[number - 1], np.array([reward]))
    return memory, [int(choice.arms[0]) for choice in choices]


FRONT, LATER = (1, 2, 8), (5, 3, 7)  # told in this order


def late_hypotheses(
    policy: lb.policies.StateLibrary, arms: list[int], rewards: dict[int, float]
) -> Iterator[tuple[Any, Weighed]]:
    """Weigh all paths of the rounds 1, 2 and 8, moments of the change after round 2, and which of the late rewards are outliers."""
    played = {number: ([arms[number - 1]], [reward]) for number, reward in rewards.items()}
    for fast_switching, path in itertools.product((False, True), paths(len(FRONT))):
        urns = urns_of(path, policy, fast_switching, (0, *FRONT))
        *_, (before, _), (state, _) = path
        moments = range(3, 9) if state != before else [0]  # the first round of the present state
        for moment, outliers in itertools.product(moments, itertools.product((False, True), repeat=len(LATER))):
            chance, far = urns.chance / len(moments), urns
            for outlier in outliers:
                chance *= far.outlier() if outlier else 1
                far = far._replace(outliers=far.outliers + outlier)
            late = [
                Step(state if number >= moment else before, outlier)
                for number, outlier in zip(LATER, outliers, strict=True)
            ]
            steps = [*path[1:], *late]
            rounds = [(step, played[number]) for number, step in zip((*FRONT, *LATER), steps, strict=True)]
            # Of a late round in which a particle may have been in either state, both count
            candidates, until, changed = {}, 2, 8 if state != before else 0
            for i, (number, step) in enumerate(zip(LATER, late, strict=True)):
                either = {state, before} if until < number < changed else {state if number >= changed else before}
                candidates[len(FRONT) + i] = either
                if not step.outlier and state != before:
                    until, changed = (
                        (until, min(changed, number)) if number >= moment else (max(until, number), changed)
                    )
            # A particle does not say more about the moment than its rewards do
            particle = fast_switching, path, tuple(None if step.outlier else step.state for step in late)
            yield particle, weighed(chance, fast_switching, path, rounds, policy.noise, candidates)


@pytest.mark.parametrize("seed", range(3))
def test_late_rewards_are_weighed_by_all_moments_of_the_change(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "RICHER", 0.5)
    monkeypatch.setattr(constants, "STAYS", 5.0)
    policy = lb.policies.StateLibrary(arms=2, noise=0.4, **EXACT)
    drawn = np.random.default_rng(seed).normal([0.1, 0.2, 0.9, 0.8, 0.2, 0.9], 0.2)
    drawn[3 + seed] += 1.2 * seed  # an outlier
    rewards = dict(zip((*FRONT, *LATER), drawn.tolist(), strict=True))
    memory, arms = asked_and_told(policy, (*FRONT, *LATER), list(rewards.values()))
    found = [(particle, one) for particle, one in late_hypotheses(policy, arms, rewards) if one.weight > 0]
    assert any(None in late for (_, _, late), _ in found) == (seed == 2)
    live = memory.library.slots[: memory.library.core[0].live]
    assert len(live) == len({particle for particle, _ in found})
    total = sum(one.weight for _, one in found)
    for arm in range(2):
        expected = sum(one.weight * one.mean(one.path[-1].state, arm, policy.noise) for _, one in found) / total
        now = memory.library.means["average"][live, memory.library.particles["here"][live], arm]
        assert memory.library.particles["weight"][live] @ now == pytest.approx(expected, abs=1e-9)
    # how sure it is that the state has changed by round 5
    by_then = sum(
        one.weight
        for (_, (*_, before, here), late), one in found
        if here.state in late[:2] and here.state != before.state
    )
    changed = memory.library.particles["changed"][live]
    assert memory.library.particles["weight"][live][(changed > 2) & (changed <= 5)].sum() == pytest.approx(
        by_then / total
    )


def test_a_late_reward_belongs_to_the_state_before_the_change() -> None:
    """The state pays 0.2 until round 4 and 0.9 from round 5 on; round 8 shows that it has changed, rounds 5 and 4 when."""
    policy = lb.policies.StateLibrary(arms=2, noise=0.05, low=0.0, high=1.0)
    memory, arms = asked_and_told(policy, [1, 2, 8], [0.2, 0.2, 0.9])
    best = memory.library.core[0].best
    assert (memory.library.particles[best].until, policy.belief(memory).changed) == (2, 8)
    memory, arms = asked_and_told(policy, [1, 2, 8, 5, 4], [0.2, 0.2, 0.9, 0.9, 0.2])
    best = memory.library.core[0].best
    assert (memory.library.particles[best].until, policy.belief(memory).changed) == (4, 5)
    assert len(policy.belief(memory).states) == 2
    before, now = memory.library.means[best, :2]
    for arm in range(2):
        assert before[arm].count == sum(arms[number - 1] == arm for number in (1, 2, 4))
        assert now[arm].count == sum(arms[number - 1] == arm for number in (5, 8))
    assert memory.library.core[0].front == memory.core[0].told == 8
    assert memory.library.particles[best].stays + memory.library.particles[best].changes == 8


# --- pruning ---


def pruned(weights: Sequence[float], most: int, floor: float, u: float) -> dict[int, float]:
    """Return the weights that are left, by position."""
    branches, scratch = np.zeros(len(weights), Branch), np.zeros(len(weights))
    branches["chance"], branches["parent"], branches["to"] = weights, range(len(weights)), range(len(weights))
    kept, total = prune(branches, scratch, len(weights), sum(weights), most, floor, u)
    chance, parent, to = (branches[field][:kept].tolist() for field in ("chance", "parent", "to"))
    assert total == pytest.approx(sum(chance))
    assert parent == to == sorted(set(to))
    return dict(zip(to, chance, strict=True))


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
