"""A warm start: an agent learns from a log of decisions that somebody else made.

For every row the policy makes its own choice, which is overwritten by the arm that was played; then it learns from the reward. So its
memory, its clocks and its random stream are where they would be had it made these decisions itself.
"""

import warnings
from typing import Any

import numpy as np

from latentbandits.agent.inputs import as_name
from latentbandits.compiled import fast, plain
from latentbandits.protocols import Choice
from latentbandits.settings import Refusal

# Policies that are worse after it: they never forget, so that a long log makes them slow to notice what is best now
WORSE = ("UCB1",)
SHORT = 5000  # rows


class FeedWarning(UserWarning):
    """A policy that gets worse by being fed a log."""


def replay(
    policy: Any,
    memory: Any,
    choice: Choice,
    random: np.ndarray,
    context: np.ndarray,
    played: np.ndarray,
    rewards: np.ndarray,
    chances: np.ndarray,
    offered: np.ndarray,
) -> None:
    """Learn from all rows: arms, rewards, and the probabilities of the arms if there are any; `offered` are the arms of the log."""
    observed, received = np.zeros(context.shape[1]), np.zeros(1)
    for t in range(len(played)):
        for i in range(context.shape[1]):
            observed[i] = context[t, i]
        for arm in range(len(offered)):
            choice.offers[arm].available = offered[arm]
            choice.offers[arm].value = np.nan
            choice.offers[arm].index = np.nan
            choice.offers[arm].probability = np.nan
        for i in range(len(choice.note)):
            choice.note[i] = 0
        policy.choose(memory, observed, random, choice)
        choice.arms[0] = played[t]
        if len(chances) > 0:
            choice.offers[played[t]].probability = chances[t]
        received[0] = rewards[t]
        policy.learn(memory, choice, received)


def feed(player: Any, log: Any) -> None:
    """Have an agent learn from a log; arms that it does not have are added, learned from and retired. Bad input changes nothing."""
    for field in ("arms", "played", "rewards"):
        if not hasattr(log, field):
            raise Refusal("Agent", "log", log, "a log, as `latentbandits.Log.read` returns it")
    policy, called = player.policy, [as_name(name) for name in log.arms]
    if policy.units != 1:
        raise Refusal("Agent", "units", policy.units, "1 to be fed a log, which has one arm per row")
    needed, context = getattr(policy, "covariates", 0), list(log.context.values())
    if needed not in (0, len(context)):
        raise Refusal("Agent", "covariates", needed, f"0, or the {len(context)} columns of context that the log has")
    if player.open:
        raise Refusal("Agent", "open decisions", len(player.open), "0 before a log is fed")
    additions = [name for name in called if name not in player.numbers]
    if additions and getattr(policy, "fixed_arms", False):
        raise Refusal(
            "Agent",
            "log's arms",
            additions,
            f"among those of the agent, since those of {type(policy).__name__} cannot change",
        )
    kind = type(getattr(policy, "inner", policy)).__name__
    if kind in WORSE:
        message = f"Agent: {kind} gets worse by being fed a log: it never forgets, and notices late what is best now"
        warnings.warn(message, FeedWarning, stacklevel=3)
    for name in additions:
        player.add(name, player.addition(name))
    places = np.array([player.numbers[name] for name in called], dtype=np.int64)
    offered = np.zeros(len(player.names), np.int64)
    offered[places] = 1
    seen = np.column_stack(context) if needed else np.zeros((len(log.played), 0))
    chances = np.zeros(0) if log.propensities is None else np.ascontiguousarray(log.propensities, dtype=np.float64)
    rewards = np.ascontiguousarray(log.rewards, dtype=np.float64)
    blank = Choice.blank(player.policy)
    args = (
        player.policy,
        player.memory,
        blank,
        player.random,
        np.ascontiguousarray(seen),
        places[log.played],
        rewards,
        chances,
        offered,
    )
    # interpreted, a short log takes less time than compiling; the choices are the same to the bit
    (plain if len(log.played) <= SHORT else fast)(replay)(*args)
    for name in additions:
        player.retire(player.numbers[name])
