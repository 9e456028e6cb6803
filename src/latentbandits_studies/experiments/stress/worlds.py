"""The worlds of the stress experiment, by kind: whatever users may have, one difficulty at a time, and some at once."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from latentbandits.protocols import World
from latentbandits.worlds.drift import Drift
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.independent import Independent
from latentbandits.worlds.seasons import Seasons

# Worlds of this seed chose nothing: neither a setting nor a policy
SEED = 1_300_013
HORIZON = 10_000
# A rare state must come often enough to be met
LONG = 40_000


class Stress(NamedTuple):
    """A world under its name, of a kind, with its rounds."""

    kind: str
    name: str
    world: World
    horizon: int = HORIZON


def _usual(**options: Any) -> HiddenMarkov:
    """Return the usual world, six states of 100 rounds and three arms, with some options changed."""
    usual: dict[str, Any] = {"states": 6, "arms": 3, "noise": 0.1}
    if not {"stickiness", "dwell", "transition"} & set(options):
        usual["stickiness"] = 0.99
    if options.get("rewards", "gaussian") != "gaussian":
        del usual["noise"]  # it follows from the mean
    return HiddenMarkov(**{**usual, **options})


def _own(**options: Any) -> Independent:
    """Return six arms, each with two levels of its own that last 200 rounds, with some options changed."""
    own: dict[str, Any] = {"arms": 6, "dwell": 200, "noise": 0.1}
    if options.get("rewards", "gaussian") != "gaussian":
        del own["noise"]
    return Independent(**{**own, **options})


def _cycle(states: int, stay: float) -> np.ndarray:
    """Return the chain in which every state has one successor."""
    return stay * np.eye(states) + (1 - stay) * np.roll(np.eye(states), 1, axis=1)


_ONE: dict[str, Any] = {"states": 1, "means": [[0.50, 0.55, 0.45]]}
_THREE: dict[str, Any] = {"arms": 3, "noise": 0.1}
_BY_KIND: Mapping[str, Mapping[str, Any]] = {
    "noise": {
        "normal noise 0.1": _usual(),
        "normal noise 0.3": _usual(noise=0.3),
        "normal noise 1": _usual(noise=1.0),
        "Student t, 3 degrees": _usual(noise=0.2, noise_shape="t3"),
        "Student t, 5 degrees": _usual(noise=0.2, noise_shape="t5"),
        "Laplace": _usual(noise=0.2, noise_shape="laplace"),
        "two modes": _usual(noise=0.2, noise_shape="bimodal"),
        "1 % outliers": _usual(noise=0.2, noise_shape="outliers"),
        "arms with noise of their own": _usual(uneven_arms=10),
        "states with noise of their own": _usual(uneven_states=10),
        "noise in proportion to the mean": _usual(noise=0.2, proportional=1.0),
        "autocorrelation 0.5": _usual(autocorrelation=0.5),
        "autocorrelation 0.9": _usual(autocorrelation=0.9),
        "noise that changes": _usual(changing_noise=5),
    },
    "rewards": {
        "clicks": _usual(rewards="bernoulli"),
        "rare clicks": _usual(rewards="bernoulli", span=(0.01, 0.1)),
        "counts": _usual(rewards="counts", span=(0.0, 10.0)),
        "small counts": _usual(rewards="counts", span=(0.0, 1.0)),
        "ratings": _usual(rewards="ratings"),
        "revenue": _usual(rewards="revenue", span=(1.0, 20.0)),
        "dollars from -500 to 3,000": _usual(span=(-500.0, 3000.0), noise=350.0),
    },
    "dwell": {
        "states of 10 rounds": _usual(dwell=10),
        "states of 30 rounds": _usual(dwell=30),
        "states of 1,000 rounds": _usual(dwell=1000),
        "fixed dwell": _usual(dwell_shape="fixed"),
        "lognormal dwell": _usual(dwell_shape="lognormal"),
        "Pareto dwell": _usual(dwell_shape="pareto"),
        "every state has one successor": _usual(transition=_cycle(6, 0.99)),
    },
    "states": {
        "one state, small gaps": HiddenMarkov(**_ONE, noise=0.1),
        "one state, noise 0.5": HiddenMarkov(**_ONE, noise=0.5),
        "one state": HiddenMarkov(states=1, arms=3, noise=0.1),
        "two states": _usual(states=2),
        "20 states": _usual(states=20),
        "a rare state, 2 %": _usual(states=3, rare=0.02),
        "a rare state, 10 %": _usual(states=3, rare=0.1),
        "a rare disaster": HiddenMarkov(
            transition=[[0.999, 0.001], [0.02, 0.98]], means=[[1.0, 0.8, 0.2], [0.0, 0.8, 0.2]], noise=0.1
        ),
        "states that never return": _usual(returning=0.0),
        "half of the visits are new": _usual(returning=0.5),
        "half of the states alike in one arm": _usual(alike=0.5),
        "all states alike in one arm": _usual(alike=1.0),
        "arms move together": _usual(together=0.9),
        "two arms never better than the first": _usual(dominated=2),
        "means that differ little": _usual(span=(0.4, 0.6)),
        "carryover 0.3": _usual(carryover=0.3),
    },
    "own regimes": {
        "six arms with regimes of their own": _own(),
        "ten arms, noise 0.3": _own(arms=10, dwell=500, noise=0.3),
        "arms that mostly pay well": _own(rare=0.1),
        "own regimes, clicks": _own(rewards="bernoulli", dwell=500),
        "own regimes and incidents of all": _own(incidents=0.1, uneven_dwell=10),
    },
    "calendar": {
        "alternates every round": Seasons(states=2, dwell=1, **_THREE),
        "alternates every 10 rounds": Seasons(states=2, dwell=10, **_THREE),
        "week of seven states": Seasons(states=7, dwell=24, **_THREE),
        "four seasons": Seasons(states=4, dwell=500, **_THREE),
        "one change": Seasons(states=2, dwell=HORIZON, **_THREE),
        "calendar of all arms beside the states": _usual(calendar=0.3, period=200),
        "calendar of each arm beside the states": _usual(calendar_arms=0.3, period=200),
        "calendar of each arm, one state": _usual(**_ONE, calendar_arms=0.3, period=1000),
    },
    "drift": {
        "drift in 100 rounds": Drift(timescale=100, **_THREE),
        "drift in 500 rounds": Drift(timescale=500, **_THREE),
        "drift in 5,000 rounds": Drift(timescale=5000, **_THREE),
        "drift of all arms together": Drift(timescale=500, together=0.9, **_THREE),
        "trend beside the states": _usual(trend=0.2),
        "trend, one state": _usual(**_ONE, trend=0.2),
    },
    "features": {
        "features beside the states": _usual(features=2, feature_effect=0.3),
        "features, one state": _usual(**_ONE, features=2, feature_effect=0.3),
    },
    "delivery": {
        "10 rounds late": _usual(delay=10),
        "100 rounds late": _usual(delay=100),
        "20 to 200 rounds late": _usual(delay=(20, 200)),
        "about 20 rounds late": _usual(delay="geometric 20"),
        "a tenth is lost": _usual(lost=0.1),
        "half is lost": _usual(lost=0.5),
        "drift, 20 rounds late": Drift(timescale=500, delay=20, **_THREE),
    },
    "arms": {
        "two arms": _usual(arms=2),
        "five arms": _usual(arms=5),
        "ten arms": _usual(arms=10),
        "arms available in 70 % of rounds": _usual(arms=5, available=0.7),
        "arms come and go for 1,000 rounds": _usual(arms=5, available=0.5, stretch=1000),
    },
    "several": {
        "shop: clicks, late, some lost": _usual(
            rewards="bernoulli", span=(0.0, 0.5), dwell=500, delay="geometric 20", lost=0.05
        ),
        "latency: t3, lognormal, in proportion": _usual(
            noise=0.2, noise_shape="t3", proportional=0.5, dwell=200, dwell_shape="lognormal"
        ),
        "news: new states, calendar, arms that go": _usual(
            arms=5, returning=0.5, calendar_arms=0.1, period=500, available=0.8, stretch=500
        ),
    },
}
_LONG = ("a rare state, 2 %", "a rare state, 10 %", "a rare disaster")

WORLDS = tuple(
    Stress(kind, name, world, LONG if name in _LONG else HORIZON)
    for kind, worlds in _BY_KIND.items()
    for name, world in worlds.items()
)
KINDS: Mapping[str, str] = {stressed.name: stressed.kind for stressed in WORLDS}
