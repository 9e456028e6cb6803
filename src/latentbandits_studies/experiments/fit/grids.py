"""The unknown settings behind the paper's main table: values to try, and what its text or a textbook says."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from latentbandits.parameters import describe
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.paper.worlds import fitted

Setting = str | float
Settings = Mapping[str, Setting]
NOISE = "noise"  # a residual floor that equals the world's noise, as the text has it


class Column(NamedTuple):
    """A column of the table and its unknown settings.

    Attributes
    ----------
    name : the policy
    grid : setting -> values to try, in order
    start : where the search begins: the text, or the textbook
    joint : pairs of settings that are also moved together, because one makes up for the other
    """

    name: str
    grid: Mapping[str, Sequence[Setting]]
    start: Settings
    joint: Sequence[tuple[str, str]] = ()

    @property
    def preset(self) -> dict[str, Setting]:
        """The values that the package's preset has."""
        settings = describe(fitted(self.name))
        return {name: settings[name] for name in self.grid}


def meant(name: str, settings: Settings, world: HiddenMarkov) -> Any:
    """Return the policy that settings mean in a world.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.fit.grids import meant
    >>> meant("adarp-ucb", {"residual_floor": "noise"}, lb.HiddenMarkov(noise=0.3)).residual_floor
    0.3
    """
    follows = {"residual_floor": world.noise} if settings.get("residual_floor") == NOISE else {}
    return fitted(name, world.arms, **{**settings, **follows})


_LINEAR: Mapping[str, Sequence[Setting]] = {
    "lag": ("pair", "one-hot", "slopes", "curves"),
    "exploration": (0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0),
    "regularization": (0.01, 0.1, 1.0, 10.0),
}
# The lag is the plain pair; a ridge penalty and an exploration of 1 are what a first LinUCB has
_LINEAR_START: Settings = {"lag": "pair", "exploration": 1.0, "regularization": 1.0}
_GATES: Mapping[str, Sequence[Setting]] = {
    "residual_threshold": (1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
    "residual_floor": (NOISE, 0.01, 0.02, 0.05, 0.1, 0.2),
    "margin": (0.0, 0.01, 0.02, 0.05, 0.1, 0.2),
    "staleness": (7, 10, 14, 20, 30, 50, 70, 100, 200),
    "min_gap": (1, 2, 3, 4, 6, 8),
}
_GATES_START: Settings = {
    "residual_threshold": 2.0,
    "residual_floor": NOISE,
    "margin": 0.05,
    "staleness": 7,
    "min_gap": 2,
}
# Pairs of which one makes up for the other
_LINEAR_JOINT = (("lag", "exploration"),)
_GATES_JOINT = (
    *_LINEAR_JOINT,
    ("lag", "residual_floor"),
    ("residual_threshold", "residual_floor"),
    ("staleness", "min_gap"),
)
_SCHEDULE_JOINT = (*_LINEAR_JOINT, ("lag", "interval"))


COLUMNS: Sequence[Column] = (
    Column("adarp-ucb", {**_LINEAR, **_GATES}, {**_LINEAR_START, **_GATES_START}, _GATES_JOINT),
    # the interval that minimises the bound of the paper's theorem is sqrt(1 / 0.01) for a stay probability of 0.99
    Column(
        "rp-ucb",
        {**_LINEAR, "interval": (5, 7, 10, 14, 20, 28, 40)},
        {**_LINEAR_START, "interval": 10},
        _SCHEDULE_JOINT,
    ),
    Column("adasp-ucb", {**_LINEAR, **_GATES}, {**_LINEAR_START, **_GATES_START}, _GATES_JOINT),
    Column(
        "sp-ucb",
        {**_LINEAR, "interval": (5, 7, 10, 14, 20, 28, 40, 56, 80)},
        {**_LINEAR_START, "interval": 10},
        _SCHEDULE_JOINT,
    ),
    Column("lc-ucb", _LINEAR, _LINEAR_START, _LINEAR_JOINT),
    Column("lc-ts", _LINEAR, _LINEAR_START, _LINEAR_JOINT),
    # Garivier and Moulines: xi = 1/2, discount 1 - sqrt(jumps / rounds) / 4, window 2 sqrt(rounds log(rounds) / jumps), rounded
    Column(
        "d-ucb",
        {"discount": (0.9, 0.95, 0.98, 0.99, 0.995, 0.999), "exploration": (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)},
        {"discount": 0.98, "exploration": 2.0},
        (("discount", "exploration"),),
    ),
    Column(
        "sw-ucb",
        {"window": (25, 35, 50, 70, 100, 200), "exploration": (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)},
        {"window": 70, "exploration": 0.7},
        (("window", "exploration"),),
    ),
    # Auer and others: mixing sqrt(K log K / ((e - 1) T)); with jumps sqrt(K (jumps log(K T) + e) / ((e - 1) T)) and share 1 / T, rounded
    Column("exp3", {"mixing": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)}, {"mixing": 0.005}),
    Column(
        "exp3-s",
        {"mixing": (0.05, 0.1, 0.2, 0.3, 0.4), "share": (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)},
        {"mixing": 0.3, "share": 1e-4},
        (("mixing", "share"),),
    ),
    # Auer and others: sqrt(2 log n / n_a)
    Column("ucb1", {"exploration": (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)}, {"exploration": 1.4}),
    Column(
        "ts",
        {"noise": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0), "prior_weight": (0.01, 0.1, 1.0, 10.0)},
        {"noise": 1.0, "prior_weight": 1.0},
        (("noise", "prior_weight"),),
    ),
)
