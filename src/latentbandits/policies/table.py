"""The table of names: what a person types, and the policy that it means."""

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from latentbandits.policies.bayes_filter import BayesFilter, BayesLimit
from latentbandits.policies.discounted_ucb import DiscountedUCB
from latentbandits.policies.epsilon_greedy import EpsilonGreedy
from latentbandits.policies.exp3 import EXP3
from latentbandits.policies.oracles import BestSingleArm, Scripted, StateOracle
from latentbandits.policies.sliding_window_ucb import SlidingWindowUCB
from latentbandits.policies.thompson import ThompsonSampling
from latentbandits.policies.traces import TraceLearner
from latentbandits.policies.ucb1 import UCB1
from latentbandits.policies.uniform import UniformRandom
from latentbandits.settings import refuse


class Entry(NamedTuple):
    """One row of the table: the label in figures, the class, the settings that the name stands for, and one line about it."""

    label: str
    make: Any
    preset: Mapping[str, Any]
    summary: str


_PROBING: Mapping[str, Any] = {"fingerprint": True, "regularization": 0.1, "exploration": 0.5}

# The paper states neither these settings nor its code. They are the ones whose regret fits its Table 2 best (docs/settings.md).
TABLE: Mapping[str, Entry] = {
    "adarp-ucb": Entry(
        "AdaRP-UCB",
        TraceLearner,
        {**_PROBING, "units": 2, "gated": True, "residual_floor": 0.05},
        "two units; fingerprints in one round, refreshed when a gate opens",
    ),
    "rp-ucb": Entry(
        "RP-UCB",
        TraceLearner,
        {**_PROBING, "units": 2, "lag": "pair", "interval": 10},
        "two units; a fingerprint every 10 rounds",
    ),
    "adasp-ucb": Entry(
        "AdaSP-UCB",
        TraceLearner,
        {**_PROBING, "gated": True, "residual_floor": 0.1},
        "fingerprints in consecutive rounds, refreshed when a gate opens",
    ),
    "sp-ucb": Entry(
        "SP-UCB",
        TraceLearner,
        {**_PROBING, "lag": "curves", "interval": 40},
        "a fingerprint in consecutive rounds, every 40 rounds",
    ),
    "lc-ucb": Entry(
        "LC-UCB", TraceLearner, {"lag": "curves", "exploration": 1.0}, "the last arm and reward as context"
    ),
    "lc-ts": Entry(
        "LC-TS",
        TraceLearner,
        {"lag": "curves", "thompson": True, "exploration": 0.6},
        "the same context, posterior sampling",
    ),
    "d-ucb": Entry("D-UCB", DiscountedUCB, {}, "forgets at a constant rate"),
    "sw-ucb": Entry("SW-UCB", SlidingWindowUCB, {}, "remembers the last 50 rewards"),
    "exp3": Entry("EXP3", EXP3, {}, "exponential weights against an adversary"),
    "exp3-s": Entry("EXP3-S", EXP3, {"mixing": 0.2, "share": 0.001}, "EXP3 that never forgets an arm"),
    "ucb1": Entry("UCB1", UCB1, {}, "the classical index policy"),
    "ts": Entry("TS", ThompsonSampling, {}, "Gaussian Thompson sampling"),
    "epsilon-greedy": Entry("eps-greedy", EpsilonGreedy, {}, "a random arm in a tenth of the rounds"),
    "random": Entry("random", UniformRandom, {}, "a random arm in every round"),
    "best-single-arm": Entry("Optimal single arm", BestSingleArm, {}, "oracle: the one arm that is best on average"),
    "bayes-limit": Entry("Bayes limit", BayesLimit, {}, "oracle: knows means, chain and noise, not the state"),
    "state-oracle": Entry("State oracle", StateOracle, {}, "oracle: sees the state"),
}


# All classes that an agent's file may name
CLASSES: Mapping[str, type] = {
    kind.__name__: kind for kind in (*dict.fromkeys(row.make for row in TABLE.values()), BayesFilter, Scripted)
}


def entry(name: str) -> Entry:
    """Return the row of a name, or refuse it with the nearest ones."""
    if name in TABLE:
        return TABLE[name]
    near = difflib.get_close_matches(str(name), TABLE, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise refuse("policy", "name", name, f"one of {', '.join(TABLE)}{hint}")


def policy(name: str, arms: int = 2, **settings: Any) -> Any:
    """Return the policy that a name stands for, with some settings changed.

    Parameters
    ----------
    name : str
        A name of the table, as listed by ``latentbandits policies``.
    arms : int
        Number of arms.
    **settings
        Settings that differ from the name's preset.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.policy("sw-ucb", arms=4, window=200)
    SlidingWindowUCB(arms=4, units=1, window=200, exploration=0.5)
    >>> lb.policy("sw-ubc")
    Traceback (most recent call last):
    ValueError: policy: name is 'sw-ubc', allowed is one of adarp-ucb, ... (did you mean sw-ucb?)
    """
    row = entry(name)
    return row.make(arms=arms, **{**row.preset, **settings})
