"""A warm start: an agent learns from a log of decisions that somebody else made.

Every row is a round in which the arm that was played is alone on offer, as in rounds that an agent's floor or control arm decides; then the
policy learns from the reward. So its model, its clocks and its counts of plays are those of the log, and it has claimed, tested and spent
nothing: what it would have chosen was never tried.
"""

import warnings
from typing import Any

import numpy as np

from latentbandits.agent.inputs import as_name
from latentbandits.compiled import fast, plain
from latentbandits.memories import parts
from latentbandits.protocols import Choice
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.loop import Run, play
from latentbandits.simulation.runs import refuse_wrong

SHORT = 5000  # rows


class FeedWarning(UserWarning):
    """A policy that gets worse by being fed a log, or learns nothing from it."""


def feed(player: Any, log: Any) -> None:
    """Have an agent learn from a log; arms that it does not have are added, learned from and retired. Bad input changes nothing."""
    for field in ("arms", "played", "rewards"):
        if not hasattr(log, field):
            raise InvalidValueError("Agent", "log", log, "a log, as `latentbandits.Log.read` returns it")
    policy, called = player.policy, [as_name(name) for name in log.arms]
    if policy.groups != 1:
        raise InvalidValueError("Agent", "groups", policy.groups, "1 to be fed a log, which has one arm per row")
    needed, context = policy.covariates, list(log.context.values())
    if needed not in (0, len(context)):
        raise InvalidValueError(
            "Agent", "covariates", needed, f"0, or the {len(context)} columns of context that the log has"
        )
    if player.open:
        raise InvalidValueError("Agent", "open decisions", len(player.open), "0 before a log is fed")
    additions = [name for name in called if name not in player.numbers]
    if additions and policy.fixed_arms:
        raise InvalidValueError(
            "Agent",
            "log's arms",
            additions,
            f"among those of the agent, since those of {type(policy).__name__} cannot change",
        )
    if policy.harmed_by_logs:
        kind = type(policy.inner or policy).__name__
        message = f"Agent: {kind} gets worse by being fed a log: it never forgets, and notices late what is best now"
        warnings.warn(message, FeedWarning, stacklevel=3)
    for name in additions:
        player.add(name, player.addition(name))
    places = np.array([player.numbers[name] for name in called], dtype=np.int64)
    rounds, arms = len(log.played), len(player.names)
    offered = np.zeros(arms, bool)
    offered[places] = True
    run = Run(
        player.policy,
        player.memory,
        Choice.blank(player.policy),
        player.random,
        np.broadcast_to(np.asarray(log.rewards, dtype=np.float64)[:, None, None], (rounds, 1, arms)),
        np.ascontiguousarray(np.column_stack(context)) if needed else np.zeros((rounds, 0)),
        np.broadcast_to(offered, (rounds, arms)),
        played=places[log.played][:, None],
        propensities=None if log.propensities is None else np.asarray(log.propensities, dtype=np.float64),
    )
    before = {name: part.copy() for name, part in parts(player.memory).items()}
    # interpreted, a short log takes less time than compiling; the choices are the same to the bit
    refuse_wrong(run, (plain if rounds <= SHORT else fast)(play)(*run))
    for name in additions:
        player.retire(player.numbers[name])
    if all(part.tobytes() == before[name].tobytes() for name, part in parts(player.memory).items()):
        kind = type(policy.inner or policy).__name__
        message = f"Agent: {kind} has learned nothing from the log: it learns from its own tests alone"
        warnings.warn(message, FeedWarning, stacklevel=3)
