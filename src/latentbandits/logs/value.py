"""What a fixed rule would have earned, by importance weighting: where the log has the probabilities of its arms.

A fixed rule chooses by what it sees in a row, never by what it learned from other rows. A policy that learns is refused: its choices depend
on the rewards of its own earlier ones, which the log does not have, so that weighting the rows of another rule says little about it (a
rank correlation of about 0.5 with the truth under hidden regimes); `Diagnosis.compare` simulates it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from latentbandits.logs.log import Log
from latentbandits.presentation.numbers import figure, span
from latentbandits.protocols import Oracle, Policy
from latentbandits.settings import InvalidValueError

OWNER = "value"
Rule = str | int | Mapping[int | str, float] | Sequence[int] | np.ndarray | Callable[[Log], np.ndarray]
Z = 1.959964
FEW = 100.0  # rows that count, below which nothing should be decided


class Value(NamedTuple):
    """What a fixed rule earns per round.

    Attributes
    ----------
    snips : the self-normalised estimate, with its 95 % interval (`snips_low`, `snips_high`)
    robust : the doubly robust estimate, with its 95 % interval (`robust_low`, `robust_high`)
    logged : what the log itself earned per round
    effective : how many rows of the log count: the effective sample size
    """

    snips: float
    snips_low: float
    snips_high: float
    robust: float
    robust_low: float
    robust_high: float
    logged: float
    effective: float

    def text(self) -> str:
        """Return it in words."""
        few = "" if self.effective >= FEW else "; too few rows to decide by"
        return (
            f"{figure(self.robust)} per round ({span(self.robust_low, self.robust_high)}; self-normalised {figure(self.snips)}), "
            f"the log itself {figure(self.logged)}; {self.effective:,.0f} rows count{few}."
        )


def value(log: Log, rule: Rule) -> Value:
    """Return what a fixed rule would have earned per round.

    Parameters
    ----------
    log : Log
        With the probability of every arm that was played.
    rule : name of an arm, mapping, array or callable
        Always this arm; arm -> probability; an arm for every row (their positions in ``log.arms``); or a function of the log that returns
        an array (rows, arms) of probabilities.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.logs.value import value
    >>> log = lb.Log.read({"action": [0, 1] * 500, "reward": [0.0, 1.0] * 500, "pscore": [0.5] * 1000})
    >>> found = value(log, {0: 0.25, 1: 0.75})
    >>> round(found.snips, 3), round(found.robust, 3), found.effective
    (0.75, 0.75, 800.0)
    """
    if log.propensities is None:
        raise InvalidValueError(
            OWNER, "propensity", None, "a column of the log: the probability with which each arm was played"
        )
    chances = _rule_probs(log, rule)
    rows = np.arange(len(log))
    weights = chances[rows, log.played] / log.propensities
    total_weight = float(weights.sum())
    if total_weight <= 0:
        raise InvalidValueError(
            OWNER, "rule", "an arm that the log never plays there", "one that the log plays now and then"
        )
    rewards = log.rewards
    snips = float((weights * rewards).sum() / total_weight)
    spread = float(np.sqrt((weights**2 * (rewards - snips) ** 2).sum())) / total_weight
    tried = np.bincount(log.played, minlength=len(log.arms))
    means = np.bincount(log.played, rewards, minlength=len(log.arms)) / np.maximum(tried, 1)
    parts = chances @ means + weights * (rewards - means[log.played])
    robust, deviation = float(parts.mean()), float(parts.std(ddof=1)) / np.sqrt(len(parts))
    return Value(
        snips, snips - Z * spread, snips + Z * spread, robust, robust - Z * deviation, robust + Z * deviation,
        float(rewards.mean()), total_weight**2 / float((weights**2).sum()),
    )  # fmt: skip


def _rule_probs(log: Log, rule: Rule) -> np.ndarray:
    """Return the probability of every arm in every row under a rule, or refuse it."""
    rows, arms = len(log), len(log.arms)
    if isinstance(rule, Policy | Oracle) or (isinstance(rule, str) and rule not in log.arms):
        must = (
            "a fixed rule: an arm, arm -> probability, an arm for every row, or a function of the log; a policy that learns depends on "
            "rewards of its own that the log does not have, and `compare` simulates it"
        )
        raise InvalidValueError(OWNER, "rule", rule if isinstance(rule, str) else type(rule).__name__, must)
    if isinstance(rule, Mapping):
        unknown = [name for name in rule if name not in log.arms]
        if unknown or abs(sum(rule.values()) - 1) > 1e-6 or min(rule.values()) < 0:
            raise InvalidValueError(
                OWNER, "rule", dict(rule), f"probabilities that sum to one, for arms of {', '.join(map(str, log.arms))}"
            )
        return np.tile([float(rule.get(name, 0.0)) for name in log.arms], (rows, 1))
    if isinstance(rule, str | int | np.integer):
        if rule not in log.arms:
            raise InvalidValueError(OWNER, "rule", rule, f"one of {', '.join(map(str, log.arms))}")
        probs = np.tile(np.eye(arms)[log.arms.index(rule)], (rows, 1))
    elif callable(rule):
        probs = np.asarray(rule(log), dtype=float)
    else:
        positions = np.asarray(rule)
        if (
            positions.shape == (rows,)
            and positions.dtype.kind in "iu"
            and ((positions >= 0) & (positions < arms)).all()
        ):
            probs = np.eye(arms)[positions]
        else:
            probs = positions
    if (
        probs.shape != (rows, arms)
        or probs.dtype.kind != "f"
        or (probs < 0).any()
        or np.abs(probs.sum(axis=1) - 1).max() > 1e-6
    ):
        raise InvalidValueError(
            OWNER, "rule", np.shape(probs), f"({rows}, {arms}), probabilities that sum to one in every row", ".shape"
        )
    return probs
