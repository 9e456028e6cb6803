"""Rounds: those chosen whose rewards are under way, and the last ones learned, which can be learned again."""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.amounts import summary_of
from latentbandits.policies.state_library.covariates import effect
from latentbandits.policies.state_library.emissions import Outcome
from latentbandits.policies.state_library.memory import ALL, FEATURES, ONE, Covariates, History, Standard
from latentbandits.policies.state_library.standardise import within_reach
from latentbandits.protocols import Choice, Record


@kernel
def await_rewards(history: History, core: Record, choice: Choice) -> None:
    """Note the arms of a choice whose rewards are under way; of very many the oldest are given up."""
    pending, arms, others = history.pending, history.waiting[core.asked % constants.WAITING], len(choice.arms) - 1
    if core.asked - core.told > constants.WAITING:
        pending[arms[0]] -= 1
        pending[arms[1]] -= others
    arms[0] = choice.arms[0]
    arms[1] = choice.arms[others]
    pending[arms[0]] += 1
    pending[arms[1]] += others


@kernel
def receive(history: History, core: Record, number: int, others: int) -> None:
    """Await no rewards up to a round: they have arrived, or later ones have."""
    for i in range(max(core.told, core.asked - constants.WAITING) + 1, number + 1):
        arms = history.waiting[i % constants.WAITING]
        history.pending[arms[0]] -= 1
        history.pending[arms[1]] -= others
    core.told = max(core.told, number)


@kernel
def remember(history: History, standard: Standard, rounds: int, choice: Choice, rewards: np.ndarray) -> None:
    """Write the latest round into the history: the mean reward of all groups, or those of the first and of the others."""
    groups, first, second = len(choice.arms), choice.arms[0], -1
    reward, other = rewards[0], 0.0
    for group in range(1, groups):
        other += rewards[group]
    if groups > 1 and choice.arms[1] != first:
        second = choice.arms[1]
        other /= groups - 1
    else:
        reward = (reward + other) / groups
    latest = history.rounds[(rounds - 1) % constants.HISTORY]
    latest.first = first
    latest.second = second
    latest.number = int(choice.features[1])
    for j in range(history.features.shape[1]):
        history.features[(rounds - 1) % constants.HISTORY, j] = choice.features[FEATURES + j]
    latest.reward = within_reach(standard, rounds, reward)
    latest.other = within_reach(standard, rounds, other)
    last = 1 if second >= 0 else groups
    latest.hits, latest.amount = summary_of(standard.usual[0], rewards, 0, last)
    latest.other_hits, latest.other_amount = summary_of(standard.usual[0], rewards, last, groups)
    latest.u = choice.features[0]


@kernel
def recount(history: History, standard: Standard, rounds: int, others: int) -> None:
    """Count the amounts of all rounds before the usual value was known; equal rewards of several groups are taken to be alike."""
    usual = standard.usual[0]
    for i in range(min(rounds, constants.HISTORY)):
        past = history.rounds[i]
        size = others if past.second >= 0 else others + 1
        past.hits = past.other_hits = 0
        if past.reward != usual.value:
            past.hits = 1 if past.second >= 0 else size
            past.amount = math.log(abs(past.reward - usual.value))
        if past.second >= 0 and past.other != usual.value:
            past.other_hits = others
            past.other_amount = math.log(abs(past.other - usual.value))


@kernel
def outcome_of(history: History, covariates: Covariates, i: int, groups: int) -> Outcome:
    """Return the rewards of the i-th round learned, without the effects of features."""
    seen, x = history.rounds[(i - 1) % constants.HISTORY], history.features[(i - 1) % constants.HISTORY]
    first, second = effect(covariates, seen.first, x), 0.0
    if seen.second >= 0:
        second = effect(covariates, seen.second, x)
    group = ONE if groups == 1 or seen.second >= 0 else ALL
    return Outcome(
        seen.first,
        seen.reward - first,
        seen.second,
        seen.other - second,
        group,
        seen.hits,
        seen.amount,
        first,
        seen.other_hits,
        seen.other_amount,
        second,
    )
