"""The loop: one policy, one realisation, all rounds.

Where rewards are not late, `late` is None, and the branch that delivers them is not compiled.
"""

from typing import Any

import numpy as np

from latentbandits.protocols import CONTINUED, GATES, REASONS, WHY, Choice
from latentbandits.random import Stream
from latentbandits.simulation.late import Late, deliver

# Slots of `counts`; a slot per gate follows
PROBES, PROBE_ROUNDS, FIRST_GATE = 0, 1, 2
COUNTS = ("probes", "probe_rounds", *(f"{REASONS[gate]}_gate" for gate in GATES))


def play(
    policy: Any,
    memory: Any,
    choice: Choice,
    means: np.ndarray,
    rewards: np.ndarray,
    context: np.ndarray,
    available: np.ndarray,
    late: Late | None,
    random: Stream,
    regret: np.ndarray,
    optimal: np.ndarray,
    counts: np.ndarray,
) -> int:
    """Play a whole realisation with a fresh memory and write, per bin of rounds, regret per unit and share of optimal arms; and the probes.

    The mean of an arm that is not available is minus infinity, so regret is against the best available arm; `available` has no columns
    where all arms always are. A choice costs its regret when it is made, whenever its rewards arrive. A probe that takes several rounds
    counts once, and every gate that was open when it began counts once. Returns -1, or the round in which the policy chose an arm that
    does not exist or is not available.
    """
    observed = np.zeros(context.shape[1])
    received = np.zeros(len(choice.arms))
    horizon, arms = means.shape
    units = len(choice.arms)
    bins = len(regret)
    for b in range(bins):
        first, end = b * horizon // bins, (b + 1) * horizon // bins
        lost, hits = 0.0, 0
        for t in range(first, end):
            for i in range(context.shape[1]):
                observed[i] = context[t, i]
            for arm in range(available.shape[1]):
                choice.offers[arm].available = available[t, arm]
            policy.choose(memory, observed, random, choice)
            best = means[t, 0]
            for arm in range(1, arms):
                best = max(best, means[t, arm])
            for unit in range(units):
                arm = choice.arms[unit]
                if arm < 0 or arm >= arms or means[t, arm] == -np.inf:
                    return t
                received[unit] = rewards[t, unit, arm]
                gap = best - means[t, arm]
                lost += gap
                hits += gap == 0
            if late is None:
                policy.learn(memory, choice, received)
            else:
                deliver(policy, memory, choice, received, late)
            why = choice.note[WHY]
            if why:
                counts[PROBE_ROUNDS] += 1
                if why != CONTINUED:
                    counts[PROBES] += 1
                    for gate in range(len(GATES)):
                        counts[FIRST_GATE + gate] += (why & GATES[gate]) != 0
        regret[b] = lost / units
        optimal[b] = hits / (units * (end - first))
    return -1


def record(
    policy: Any,
    memory: Any,
    choice: Choice,
    rewards: np.ndarray,
    context: np.ndarray,
    available: np.ndarray,
    late: Late | None,
    random: Stream,
    played: np.ndarray,
    arms: np.ndarray,
    why: np.ndarray,
) -> int:
    """Play on from a memory and write what happened: the arm of every unit and the reason to probe, round by round.

    If `played` is not empty, the arms in it are played instead of the policy's own: it learns from the arms of another. Returns -1, or the
    round in which the policy chose an arm that does not exist or is not available.
    """
    observed = np.zeros(context.shape[1])
    received = np.zeros(len(choice.arms))
    for t in range(len(rewards)):
        for i in range(context.shape[1]):
            observed[i] = context[t, i]
        for arm in range(available.shape[1]):
            choice.offers[arm].available = available[t, arm]
        policy.choose(memory, observed, random, choice)
        for unit in range(len(choice.arms)):
            arm = choice.arms[unit]
            arms[t, unit] = arm
            if arm < 0 or arm >= rewards.shape[2] or not choice.offers[arm].available:
                return t
            if len(played) > 0:
                choice.arms[unit] = played[t, unit]
            received[unit] = rewards[t, unit, choice.arms[unit]]
        why[t] = choice.note[WHY]
        if late is None:
            policy.learn(memory, choice, received)
        else:
            deliver(policy, memory, choice, received, late)
    return -1
