"""The words for what most problems do not have: unusual noise, effects on the means, late rewards, arms that come and go."""

from latentbandits.advice.parameter import DELAY, INTEGER, LINEAR, LOG, NAME, NUMBER, Parameter
from latentbandits.settings import AtLeast, Within
from latentbandits.worlds.delivery import RULE
from latentbandits.worlds.dwell import DWELLS
from latentbandits.worlds.noise import SHAPES


def _share(name: str, text: str, metavar: str, rule: Within, default: float, label: str) -> Parameter:
    """Return a word for a number on a linear scale."""
    return Parameter(name, NUMBER, text, metavar, rule, default, ranged=True, scale=LINEAR, label=label)


def _amount(name: str, text: str, metavar: str, rule: AtLeast | None, default: float) -> Parameter:
    """Return a word for a number without an upper limit."""
    scale = LINEAR if rule is None or rule.low <= 0 else LOG
    return Parameter(name, NUMBER, text, metavar, rule, default, ranged=True, scale=scale, swept=False)


# New words that may be ranges go last: the position names a word's random numbers
OPTIONS = tuple(
    word._replace(option=True)
    for word in (
        Parameter(
            "noise_shape",
            NAME,
            "shape of the noise; or behind the noise, as in 0.1 t3",
            "NAME",
            names={name: shape.summary for name, shape in SHAPES.items()},
            default="normal",
        ),
        _amount(
            "uneven_arms",
            "every arm has noise of its own; the noisiest has up to this many times that of the quietest",
            "FACTOR",
            AtLeast(1),
            1,
        ),
        _amount("uneven_states", "the same for states", "FACTOR", AtLeast(1), 1),
        _share(
            "proportional",
            "how much the noise depends on the mean: 1 for proportional to it",
            "SHARE",
            Within(0, 1),
            0,
            "dependence of the noise on the mean",
        ),
        _share(
            "autocorrelation",
            "correlation of the noise of one round with that of the next",
            "R",
            Within(0, 0.999),
            0,
            "autocorrelation of the noise",
        ),
        _amount(
            "changing_noise",
            "the noise changes between two levels every 500 rounds or so; the upper is this many times the lower",
            "FACTOR",
            AtLeast(1),
            1,
        ),
        Parameter(
            "dwell_shape",
            NAME,
            "how the time that a regime lasts varies; or behind the dwell, as in 200 lognormal",
            "NAME",
            names=DWELLS,
            default="geometric",
        ),
        _share(
            "rare",
            "share of time of one rare state, in which the arm that is usually best is the worst; 0 for no such state",
            "SHARE",
            Within(0, 0.5),
            0,
            "share of time of the rare state",
        ),
        _share(
            "returning",
            "share of visits to a state that bring back its means; the others have new ones, which never return",
            "SHARE",
            Within(0, 1),
            1,
            "share of visits that bring back known means",
        ),
        _share(
            "alike",
            "share of states that share the mean of one arm with another state",
            "SHARE",
            Within(0, 1),
            0,
            "share of states that share a mean",
        ),
        _share(
            "together",
            "correlation of the arms' means: arms that move together",
            "R",
            Within(0, 1),
            0,
            "correlation of the arms' means",
        ),
        Parameter(
            "dominated", INTEGER, "arms, the last ones, that are never better than the first", "N", Within(0, 999), 0
        ),
        _amount("trend", "change of all means in 1,000 rounds", "AMOUNT", None, 0),
        _amount("calendar", "amplitude of a periodic change of all means together", "AMOUNT", AtLeast(0), 0),
        _amount(
            "calendar_arms",
            "amplitude of a periodic change with a phase of its own for every arm",
            "AMOUNT",
            AtLeast(0),
            0,
        ),
        _amount("period", "rounds after which the calendar repeats", "ROUNDS", AtLeast(2), 100),
        Parameter(
            "features",
            INTEGER,
            "observed features, each -1 or 1, that change the mean of every arm",
            "N",
            Within(0, 100),
            0,
        ),
        _amount("feature_effect", "largest effect of a feature on a mean", "AMOUNT", AtLeast(0), 0.2),
        Parameter(
            "delay",
            DELAY,
            "rounds after which a reward arrives; in a range every reward takes its own time",
            "ROUNDS",
            form=RULE,
            default=0,
        ),
        _share(
            "lost", "share of rounds whose rewards never arrive", "SHARE", Within(0, 0.99), 0, "share of lost rewards"
        ),
        _share(
            "available",
            "share of rounds in which an arm is available; one arm always is",
            "SHARE",
            Within(0.01, 1),
            1,
            "share of rounds in which an arm is available",
        ),
        _amount(
            "stretch", "rounds for which an arm is available before it leaves, on average", "ROUNDS", AtLeast(1), 200
        ),
    )
)
