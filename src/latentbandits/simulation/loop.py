"""The loop: one policy, all rounds of a realisation or of a log.

Simulation and traces have one machine code of a policy: who wants no trace gives one without rounds. What else a caller does not need is
None in `Run`, and numba leaves out the branches for it when it compiles.
"""

from typing import NamedTuple, Self

import numpy as np

from latentbandits.protocols import CONTINUED, GATES, PROBE_REASON, REASONS, Choice, Policy
from latentbandits.random import Stream
from latentbandits.simulation.late import Late, deliver

# Slots of `Tally.counts`; a slot per gate follows
PROBES, PROBE_ROUNDS, CHANGES, FOUND, DELAY, FIRST_GATE = 0, 1, 2, 3, 4, 5
COUNTS = ("probes", "probe_rounds", "changes", "found", "delay", *(f"{REASONS[gate]}_gate" for gate in GATES))


class Tally(NamedTuple):
    """What a run cost.

    Attributes
    ----------
    means : float array (rounds, arms), expected rewards; minus infinity for an arm that is not available
    regret, optimal : float arrays (bins,), regret per group and share of optimal arms in each bin of rounds
    counts : int array, the slots that `COUNTS` names
    """

    means: np.ndarray
    regret: np.ndarray
    optimal: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray) -> Self:
        """Return a tally of one bin."""
        return cls(means, np.zeros(1), np.zeros(1), np.zeros(len(COUNTS), np.int64))


class Trace(NamedTuple):
    """What a policy chose: its arms (rounds, groups) and its reasons to probe (rounds,). Nothing is written to one without rounds."""

    arms: np.ndarray
    reasons: np.ndarray

    @classmethod
    def of(cls, rounds: int, groups: int) -> Self:
        """Return a trace to write to."""
        return cls(np.zeros((rounds, groups), np.int64), np.zeros(rounds, np.int64))


NOT_TRACED = Trace.of(0, 0)


class Run(NamedTuple):
    """The arguments of `play`, in its order.

    Attributes
    ----------
    policy, memory, choice : who plays, what it remembers, and what it writes its decisions to
    random : the stream of the policy's own randomness
    rewards : float array (rounds, groups, arms)
    context : float array (rounds, covariates)
    available : bool array (rounds, arms), without columns where all arms always are
    late : the choices that wait for their rewards; None where rewards are there before the next choice
    tally : where the cost is written; None for a log, of which no means are known
    trace : where the choices are written
    played : int array (rounds, groups), the arms that somebody else played and the policy learns from; None for its own. If choices are
        traced, it chooses freely and is overruled; else that arm alone is on offer, so that it decides nothing, and claims nothing
    propensities : float array (rounds,), the probabilities of the arms in `played`, if they are known
    """

    policy: Policy
    memory: object
    choice: Choice
    random: Stream
    rewards: np.ndarray
    context: np.ndarray
    available: np.ndarray
    late: Late | None = None
    tally: Tally | None = None
    trace: Trace = NOT_TRACED
    played: np.ndarray | None = None
    propensities: np.ndarray | None = None


def play(
    policy: Policy,
    memory: object,
    choice: Choice,
    random: Stream,
    rewards: np.ndarray,
    context: np.ndarray,
    available: np.ndarray,
    late: Late | None,
    tally: Tally | None,
    trace: Trace,
    played: np.ndarray | None,
    propensities: np.ndarray | None,
) -> int:
    """Play all rounds from a memory on, as `Run` describes it.

    Regret is against the best available arm. A choice costs its regret when it is made, whenever its rewards arrive. A probe that takes
    several rounds counts once, and every gate that was open when it began counts once. A change of the best available arm (the first of
    equals) is found by a probe that begins before the next change, and its delay is the number of rounds until then. So a probe finds
    one change at most, the last one since the probe before it began: a probe that finds none was not needed. Returns -1, or the round in
    which the policy chose an arm that does not exist or is not available.
    """
    rounds, groups, arms = rewards.shape
    observed, received = np.zeros(context.shape[1]), np.zeros(groups)
    bins, traced = 1 if tally is None else len(tally.regret), len(trace.reasons) > 0
    leader, changed = -1, -1  # the best arm, and the round of a change that no probe has found
    for b in range(bins):
        first, end = b * rounds // bins, (b + 1) * rounds // bins
        lost, hits = 0.0, 0
        for t in range(first, end):
            for i in range(context.shape[1]):
                observed[i] = context[t, i]
            for arm in range(available.shape[1]):
                choice.arm_scores[arm].available = available[t, arm]
            if played is not None:  # what is known of another's choice must not stay for the next one
                for arm in range(arms):
                    choice.arm_scores[arm].value = np.nan
                    choice.arm_scores[arm].index = np.nan
                    choice.arm_scores[arm].probability = np.nan
                    choice.arm_scores[arm].std_error = np.nan
                for i in range(len(choice.tags)):
                    choice.tags[i] = 0
                if not traced:
                    for arm in range(arms):
                        choice.arm_scores[arm].available = arm == played[t, 0]
            policy.choose(memory, observed, random, choice)
            best = -np.inf
            if tally is not None:
                top = -1
                for arm in range(arms):
                    if tally.means[t, arm] > best:
                        best, top = tally.means[t, arm], arm
                if top != leader:
                    if leader >= 0:
                        tally.counts[CHANGES] += 1
                        changed = t
                    leader = top
            for group in range(groups):
                arm = choice.arms[group]
                if arm < 0 or arm >= arms or not choice.arm_scores[arm].available:
                    return t
                if played is not None:
                    if traced:
                        trace.arms[t, group] = arm
                    else:
                        for other in range(available.shape[1]):  # what it learns is about a choice among all
                            choice.arm_scores[other].available = available[t, other]
                    arm = choice.arms[group] = played[t, group]
                    if propensities is not None:
                        choice.arm_scores[arm].probability = propensities[t]
                received[group] = rewards[t, group, arm]
                if tally is not None:
                    gap = best - tally.means[t, arm]
                    lost += gap
                    hits += gap == 0
            probe_reason = choice.tags[PROBE_REASON]
            if traced:
                trace.reasons[t] = probe_reason
                if played is None:
                    for group in range(groups):
                        trace.arms[t, group] = choice.arms[group]
            if late is None:
                policy.learn(memory, choice, received)
            else:
                deliver(policy, memory, choice, received, late)
            if tally is not None and probe_reason:
                tally.counts[PROBE_ROUNDS] += 1
                if probe_reason != CONTINUED:
                    tally.counts[PROBES] += 1
                    if changed >= 0:
                        tally.counts[FOUND] += 1
                        tally.counts[DELAY] += t - changed
                        changed = -1
                    for gate in range(len(GATES)):
                        tally.counts[FIRST_GATE + gate] += (probe_reason & GATES[gate]) != 0
        if tally is not None:
            tally.regret[b] = lost / groups
            tally.optimal[b] = hits / (groups * (end - first))
    return -1
