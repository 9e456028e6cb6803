"""Any policies on any world: a ranking, with everything paired."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from latentbandits.advice import file
from latentbandits.advice.problem import Problem
from latentbandits.experiments.paper.worlds import LIMIT
from latentbandits.protocols import Oracle, World
from latentbandits.settings import refuse, whole
from latentbandits.simulation.batch import enlist, labelled, simulate
from latentbandits.simulation.results import Results, interval, ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT = ("state-library", "adasp-ucb", "glr-ucb", "lc-ucb", "sw-ucb", "ucb1")
BINS = 100


class Ranking(pd.DataFrame):  # type: ignore[misc]
    """A data frame with a line per policy, best first; oracles stand where their regret puts them, without a rank.

    Attributes
    ----------
    world : the world, or the problem that describes it
    results : everything per run, see `latentbandits.Results`
    """

    _metadata: ClassVar[list[str]] = ["world", "results", "specs"]
    world: Any
    results: Results
    specs: dict[str, Any]

    @property
    def _constructor(self) -> Any:
        return Ranking

    @property
    def ranked(self) -> list[str]:
        """The policies without the oracles, best first."""
        return [str(name) for name in self.index[self["rank"] > 0]]

    def plot(self) -> "Figure":
        """Return a figure of regret over time, with 95 % bands."""
        from latentbandits.advice.figures import over_time

        return over_time(self.results, self.ranked)

    def difference(self, one: str, other: str) -> tuple[float, float, float]:
        """Return the mean regret of one policy less that of another on the same runs, and its 95 % interval."""
        regret = dict(zip(self.results.labels, self.results.regret, strict=True))
        return interval(regret[one] - regret[other])

    def text(self) -> str:
        """Return the ranking as a table, and what it says about the first two."""
        from latentbandits.advice.words import ranked

        return ranked(self)

    def python(self, figure: str | Path = "compare.svg") -> str:
        """Return the Python that makes this ranking."""
        given = spelled(self.specs)
        world = self.world if isinstance(self.world, Problem) else f"{type(self.world).__name__}(...)"
        return (
            "import latentbandits as lb\n\n"
            f"ranking = lb.compare(\n    lb.{world},\n    {given},\n)\nprint(ranking.text())\n"
            f"ranking.plot().savefig({str(figure)!r})"
        )


def compare(
    world: World | Mapping[str, Any] | str | Path,
    policies: Iterable[Any] | Mapping[str, Any] | None = None,
    *,
    horizon: int | None = None,
    runs: int | None = None,
    units: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Ranking:
    """Play policies on the same runs of a world and rank them.

    Parameters
    ----------
    world : World, mapping or path
        A `Problem`, its words as a mapping, the path of a TOML file, or any world, such as `HiddenMarkov`.
    policies : iterable or mapping, optional
        Texts that `latentbandits.policy` takes, policies, or a mapping from labels to either; what the file names, or six usual ones, if
        not given.
    horizon, runs, units, seed : int, optional
        Instead of what the problem says (10,000 rounds, 200 runs, seed 0; as many units as the policies need, for a world that is no
        problem).
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Called with the rounds played so far and in all.

    Returns
    -------
    Ranking
        A data frame, best policy first: `regret` per unit with its 95 % interval (`low`, `high`), as a multiple of the Bayes limit on the
        same runs (`x_limit`, with `x_low` and `x_high`), the share of rounds with the best arm (`optimal`), `probes` per 1,000 rounds, and
        the share of runs in which the policy has less regret than the next in the ranking (`beats_next`, a draw counts half).

    Examples
    --------
    >>> import latentbandits as lb
    >>> ranking = lb.compare(lb.Problem(states=3, noise=0.1, runs=20, horizon=2000), ["ucb1", "state-library", "glr-ucb:risk=0.2"])
    >>> list(ranking.index)
    ['bayes-limit', 'state-library', 'glr-ucb:risk=0.2', 'ucb1']
    >>> bool(ranking.loc["state-library", "beats_next"] > 0.5)
    True
    """
    problem, found = understand(world, horizon=horizon, runs=runs, units=units, seed=seed)
    policies = policies if policies is not None else found if found is not None else defaults(problem)
    specs = labelled(policies)
    if specs.get(LIMIT, LIMIT) != LIMIT:
        raise refuse("compare", "label", LIMIT, "another one, for this is what all are compared with")
    made = enlist(specs, problem)
    most = problem.units if isinstance(problem, Problem) else units
    for label, one in made.items():
        fits(label, one, most)
    if LIMIT not in made and has_limit(problem):
        made |= enlist([LIMIT], problem)
    sizes = sizes_of(problem, horizon, runs, seed)
    results = simulate(
        problem, made, horizon=sizes["horizon"], draws=sizes["runs"], repeats=1, seed=sizes["seed"], bins=BINS,
        workers=workers, progress=progress,
    )  # fmt: skip
    return rank(problem, specs, made, results)


def understand(world: Any, **changes: Any) -> tuple[Any, list[str] | None]:
    """Return the world (a problem, with some of its words changed, or a world as it is) and the policies that a file names."""
    changes = {field: value for field, value in changes.items() if value is not None}
    if isinstance(world, str | Path):
        return file.read(world, **changes)
    if isinstance(world, Mapping):
        unknown = [key for key in world if key not in Problem.__dataclass_fields__]
        if unknown:
            raise refuse("problem", "key", unknown[0], "one of " + ", ".join(Problem.__dataclass_fields__))
        return Problem(**{**world, **changes}), None
    if isinstance(world, Problem):
        return world.but(**changes) if changes else world, None
    if not isinstance(world, World) or isinstance(world, type):
        raise refuse("compare", "world", world, "a Problem, a mapping, the path of a TOML file or a world")
    return world, None


def sizes_of(world: Any, horizon: int | None, runs: int | None, seed: int | None) -> dict[str, int]:
    """Return horizon, runs and seed of a problem, or the usual ones for a world that is none."""
    if isinstance(world, Problem):
        return {"horizon": world.horizon, "runs": world.runs, "seed": world.seed}
    found = {"horizon": horizon or getattr(world, "rounds", 10_000), "runs": runs or 200, "seed": seed or 0}
    return {field: whole("compare", field, value, least=0 if field == "seed" else 1) for field, value in found.items()}


def defaults(world: Any) -> list[str]:
    """Return the policies that are compared if none are named."""
    several = isinstance(world, Problem) and world.units > 1
    extra = [f"adarp-ucb:units={min(world.units, world.arms)}", f"state-library:units={world.units}"] if several else []
    return [*DEFAULT, *extra]


def fits(label: str, policy: Any, units: int | None) -> None:
    """Refuse a policy that needs more units than there are."""
    if units is not None and policy.units > units:
        raise refuse("compare", f"units of {label}", policy.units, f"at most the problem's {units} (its key is units)")


def spelled(specs: Mapping[str, Any]) -> str:
    """Return policies as Python that names them: a list of texts, or a mapping from labels where it needs one.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.compare import spelled
    >>> print(spelled({"ucb1": "ucb1", "mine": lb.policy("ts")}))
    {'ucb1': 'ucb1', 'mine': lb.ThompsonSampling(arms=2, units=1, noise=0.1, prior_weight=0.1)}
    """
    if all(label == spec for label, spec in specs.items() if isinstance(spec, str)) and all(
        isinstance(spec, str) for spec in specs.values()
    ):
        return repr(list(specs))
    texts = [
        f"{label!r}: {spec!r}" if isinstance(spec, str) else f"{label!r}: {'lb.' if _ours(spec) else ''}{spec!r}"
        for label, spec in specs.items()
    ]
    return "{" + ", ".join(texts) + "}"


def _ours(policy: Any) -> bool:
    return type(policy).__module__.startswith("latentbandits.")


def always_the_same(world: World, seed: int) -> bool:
    """Whether every draw of a world is the same, as those of a recorded one are."""
    rounds = min(200, getattr(world, "horizon", 200), getattr(world, "rounds", 200))
    one, other = (world.realise(rounds, 1, seed, draw, 0) for draw in (0, 1))
    return bool(np.array_equal(one.rewards, other.rewards) and np.array_equal(one.means, other.means))


def has_limit(world: World) -> bool:
    """Whether the Bayes limit of a world is known."""
    return world.realise(1, 1, 0, 0, 0).truth is not None


def rank(world: Any, specs: Mapping[str, Any], made: Mapping[str, Any], results: Results) -> Ranking:
    """Return the ranking of paired results."""
    regret = dict(zip(results.labels, results.regret, strict=True))
    order = sorted(results.labels, key=lambda label: float(regret[label].mean()))
    ranked = [label for label in order if not isinstance(made[label], Oracle)]
    lines = []
    summaries = {row.label: row for row in results.summary()}
    for label in order:
        row = summaries[label]
        limit = regret.get(LIMIT)
        several = ratio(regret[label], limit) if limit is not None and limit.mean() > 0 else (np.nan,) * 3
        beats = (np.nan,) * 3
        if label in ranked[:-1]:
            next_one = ranked[ranked.index(label) + 1]
            beats = share(wins(regret[label], regret[next_one]), len(regret[label]))
        lines.append(
            {
                "policy": label,
                "rank": 1 + sum(regret[one].mean() < regret[label].mean() for one in ranked) if label in ranked else 0,
                "units": made[label].units,
                "regret": row.regret,
                "low": max(row.low, 0.0),  # regret is never less
                "high": row.high,
                **dict(zip(("x_limit", "x_low", "x_high"), several, strict=True)),
                "optimal": row.optimal,
                "probes": row.probes,
                **dict(zip(("beats_next", "beats_low", "beats_high"), beats, strict=True)),
            }
        )
    found = Ranking(pd.DataFrame(lines).set_index("policy"))
    if always_the_same(world, results.seed):  # one world says nothing about others
        found[["low", "high", "x_low", "x_high", "beats_low", "beats_high"]] = np.nan
    found.world, found.results, found.specs = world, results, dict(specs)
    return found


def wins(one: np.ndarray, other: np.ndarray) -> float:
    """Return the number of runs in which one has less regret than the other; a draw counts half."""
    return float((one < other).sum() + 0.5 * (one == other).sum())


def share(count: float, size: int) -> tuple[float, float, float]:
    """Return a share and its 95 % interval (Wilson).

    Examples
    --------
    >>> from latentbandits.advice.compare import share
    >>> tuple(round(x, 3) for x in share(9, 10))
    (0.9, 0.596, 0.982)
    """
    z, found = 1.959964, count / size
    middle = (found + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * float(np.sqrt(found * (1 - found) / size + z * z / (4 * size * size)))
    return found, max(0.0, middle - half), min(1.0, middle + half)
