"""Which multiplier a planner should use: the one that does best in an imagined run of the world that it is given."""

import functools
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import fast
from latentbandits.protocols import Choice
from latentbandits.random import Purpose, Stream, stream, uniform
from latentbandits.rewards import DISTRIBUTIONS, FILTERED

if TYPE_CHECKING:
    from latentbandits.policies.bayes_planner import Memory, PlanningFilter

IMAGINED = 20_000  # rounds
MULTIPLIERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_BLOCKS = 10


def imagine_path(
    transition: np.ndarray, start: np.ndarray, means: np.ndarray, random: Stream, paid: np.ndarray
) -> None:
    """Walk along the chain and write the expected rewards of every round."""
    state, row = 0, start
    for t in range(len(paid)):
        left = uniform(random)
        for to in range(len(row)):
            if row[to] > 0:  # what rounding leaves goes to the last possible state
                state = to
                left -= row[to]
                if left < 0:
                    break
        row = transition[state]
        for arm in range(means.shape[1]):
            paid[t, arm] = means[state, arm]


def expected_regret(
    policy: "PlanningFilter",
    memory: "Memory",
    choice: Choice,
    nothing: np.ndarray,
    random: Stream,
    tops: np.ndarray,
    rewards: np.ndarray,
    arrives: np.ndarray,
) -> float:
    """Play on, and return the regret that a policy expects under its own belief: less noisy than what happens to it."""
    regret = 0.0
    received = np.zeros(policy.groups)
    for t in range(len(rewards)):
        policy.choose(memory, nothing, random, choice)
        arm = choice.arms[0]
        for s in range(len(tops)):
            regret += memory.belief[s] * tops[s]
        regret -= choice.arm_scores[arm].value
        if arrives[t]:
            for group in range(policy.groups):
                received[group] = rewards[t, group, arm]
            policy.learn(memory, choice, received)
    return regret


def regrets(known: "PlanningFilter", rounds: int, lost: float = 0.0, race: bool = True) -> dict[float, float]:
    """Return the regret per round of every multiplier in an imagined run, or in a race of those that were not hopeless to its end."""
    random = stream(0, Purpose.IMAGINATION)
    paid = np.empty((rounds, known.arms))
    fast(imagine_path)(known.transition, known.start, known.means, random, paid)
    rewards = np.empty((rounds, known.groups, known.arms))
    fast(DISTRIBUTIONS[FILTERED[known.rewards]].sample)(paid, np.resize(known.noise, known.groups), random, rewards)
    arrives = np.random.default_rng(stream(0, Purpose.IMAGINATION, 1)).random(rounds) >= lost
    tops = known.means.max(axis=1)
    racing = {h: known._replace(multiplier=h) for h in MULTIPLIERS}
    memories = {h: known.init() for h in racing}
    choice, nothing, found = Choice.blank(known), np.zeros(0), {h: np.zeros(0) for h in racing}
    for part in np.array_split(np.arange(rounds), min(_BLOCKS, rounds)):
        now = slice(part[0], part[-1] + 1)
        for h, policy in racing.items():
            cost = fast(expected_regret)(policy, memories[h], choice, nothing, random, tops, rewards[now], arrives[now])
            found[h] = np.append(found[h], cost / len(part))
        if race and len(racing) > 1:
            leader = min(racing, key=lambda h: found[h].sum())
            racing = {h: racing[h] for h in racing if h == leader or not hopeless(found[h], found[leader])}
            if len(racing) == 1:
                break
    return {h: float(found[h].mean()) for h in racing}


def hopeless(costs: np.ndarray, least: np.ndarray) -> bool:
    """Return whether costs, block by block, are by three standard errors not 1 % below the leader's: worse, or hardly better."""
    lags = costs - least
    blocks = len(lags)
    return blocks > 2 and bool(lags.mean() + 0.01 * least.mean() > 3.0 * lags.std(ddof=1) / np.sqrt(blocks))


@functools.lru_cache(maxsize=1024)
def best_multiplier(known: "PlanningFilter", lost: float = 0.0) -> float:
    """Return the multiplier with the least regret for a planning filter in the world that it is given, the smallest of equals.

    It depends on the world alone, its share of lost rewards included: the imagined run has a random stream of its own.
    """
    costs = regrets(known, IMAGINED, lost)
    return min(costs, key=lambda h: costs[h])
