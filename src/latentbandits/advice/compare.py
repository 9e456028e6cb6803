"""Any policies on any problem: a ranking, with everything paired."""

from collections.abc import Callable, Container, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from latentbandits.advice.base import BaseProblem
from latentbandits.advice.candidates import Spec, Specs, candidates, check_groups
from latentbandits.advice.parameter import Words
from latentbandits.advice.problem import as_problem
from latentbandits.advice.result import Result, Values, plain, records
from latentbandits.advice.worth import SINGLE, Worth, judge
from latentbandits.policies.groups import CONTROL, LIMIT
from latentbandits.presentation.numbers import counted
from latentbandits.presentation.progress import usual
from latentbandits.protocols import Contestant, Oracle, World
from latentbandits.settings import InvalidValueError, check_int
from latentbandits.simulation.batch import as_policies, simulate
from latentbandits.simulation.results import Results, interval, ratio
from latentbandits.specs import fairly
from latentbandits.worlds.available import WithAvailability
from latentbandits.worlds.base import SampledWorld

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT = ("state-library", "adasp-ucb", "glr-ucb", "lc-ucb", "sw-ucb", "ucb1")
REFERENCES = (LIMIT, SINGLE, CONTROL)  # what all policies are compared with
BINS = 100
DRAWS = 4  # of a world, which is a record if they are all the same


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Policies on the same runs of a problem, best first; oracles and references stand where their regret puts them, without a rank.

    The references are the limit (a planner that is given everything but the state; not for every world), the best single arm and random
    play. They are always simulated along.

    Attributes
    ----------
    table : data frame
        A row per policy: `rank` (0 for oracles and references), `groups`, `regret` per group with its 95 % interval (`low`, `high`), as
        a `share` of the attainable reward (what the best arm of every round earns more than random play: 0 is perfect, 1 is random), as a
        multiple of the limit's on the same runs (`x_limit`, with `x_low` and `x_high`), the share of rounds with the best arm
        (`optimal`), `probes` per 1,000 rounds, and the share of runs in which the policy has less regret than the next in the ranking
        (`beats_next` with `beats_low` and `beats_high`; a tie counts half).
    problem : the problem, or the world and its sizes
    policies : label -> spec or policy, as given
    results : everything per run, see `latentbandits.Results`
    record : whether there is one world only, such as recorded data. Then a run is a policy seed (the seed of a policy's own random
        numbers), `low` and `high` contain 95 % of the seeds (NaN for a policy that uses none), and other intervals are NaN
    """

    problem: BaseProblem
    policies: Mapping[str, Spec]
    results: Results
    record: bool
    owner: ClassVar[str] = "compare"

    @property
    def ranked(self) -> list[str]:
        """The policies without the oracles, best first."""
        return [str(name) for name in self.table.index[self.table["rank"] > 0]]

    @property
    def regret(self) -> dict[str, np.ndarray]:
        """Label -> cumulative regret per group of every run."""
        return dict(zip(self.results.labels, self.results.regret, strict=True))

    @property
    def worth(self) -> Worth | None:
        """The best policy beside the best single arm and the limit, and whether it is worth it; None if only oracles were compared."""
        return judge(self.regret, self.ranked[0], self.ranked, self.record) if self.ranked else None

    @property
    def size(self) -> str:
        """What was simulated, in words."""
        rounds = counted(self.results.horizon, "round")
        if self.record:
            return f"one record of {rounds}, {counted(self.results.draws, 'policy seed')}"
        return f"{counted(self.results.draws, 'run')} of {rounds}"

    @property
    def headline(self) -> str:
        """The best policy, out of how many, on what."""
        size = self.size
        return f"{self.ranked[0]} is first of {len(self.ranked)}, {size}" if self.ranked else size

    @property
    def best(self) -> str:
        """The best policy; empty if only oracles were compared."""
        return self.ranked[0] if self.ranked else ""

    def difference(self, label: str, other: str) -> tuple[float, float, float]:
        """Return the mean regret of one policy less that of another on the same runs, and its 95 % interval."""
        return interval(self.regret[label] - self.regret[other])

    def figure(self) -> "Figure":
        """Return a figure of regret over time, with 95 % bands; oracles are dashed or dotted."""
        from latentbandits.advice.figures import over_time

        return over_time(self)

    def text(self) -> str:
        """Return the ranking as a terminal shows it, and how the first two compare."""
        from latentbandits.advice.text import comparison_text

        return comparison_text(self)

    def python(self, path: str | Path = "compare.svg") -> str:
        """Return the Python that makes this comparison and saves its figure."""
        return (
            "import latentbandits as lb\n\n"
            f"comparison = lb.compare(\n    {self.problem.source()},\n    {policies_source(self.policies)},\n)\n"
            f"print(comparison.text())\ncomparison.save({str(path)!r})"
        )

    def values(self) -> Values:
        """Return everything but single runs as plain values."""
        results = self.results
        over_time = {
            name: bins.mean(axis=0).cumsum().tolist()
            for name, bins in zip(results.labels, results.regret_bins, strict=True)
        }
        return {
            "problem": self.problem.values(),
            "horizon": results.horizon,
            "runs": results.draws,
            "record": self.record,
            "worth": plain(self.worth),
            "seed": results.seed,
            "python": self.python(),
            "policies": [row | {"regret_over_time": over_time[row["policy"]]} for row in records(self.table)],
            "rounds": results.edges[1:].tolist(),
        }


def compare(
    problem: World | Words | str | Path,
    policies: Specs | None = None,
    *,
    horizon: int | None = None,
    runs: int | None = None,
    groups: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Play policies on the same runs of a problem and rank them.

    Parameters
    ----------
    problem : Problem, world, path or mapping
        A `Problem`, any world, such as `HiddenMarkov`, the path of a TOML file, or the words of a problem as a mapping.
    policies : iterable or mapping, optional
        Specs that `latentbandits.policy` takes, policies, or a mapping from labels to either; "all" and "paper" stand for all that the
        groups permit and those of the paper. Those that the problem names, or six usual ones, if not given.
    horizon, runs, groups, seed : int, optional
        Instead of the problem's own (for a world: 10,000 rounds, 200 runs, any number of groups, seed 0).
    workers : int, optional
        Threads; as many as there are cores if not given.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads, as in `latentbandits.simulate`.
    progress : callable, optional
        Called with the rounds played so far and the total; if not given, a notebook shows a line.

    Returns
    -------
    Comparison
        With a `.table`, best policy first, `.figure()`, `.text()`, and `.save(path)` for any of them.

    Examples
    --------
    >>> import latentbandits as lb
    >>> problem = lb.Problem(states=3, noise=0.1, runs=20, horizon=2000)
    >>> comparison = lb.compare(problem, ["ucb1", "state-library", "glr-ucb:risk=0.2"])
    >>> comparison
    <Comparison: state-library is first of 3, 20 runs of 2,000 rounds>
    >>> list(comparison.table.index)
    ['bayes-planner', 'state-library', 'glr-ucb:risk=0.2', 'ucb1', 'best-single-arm', 'random']
    >>> comparison.worth.verdict
    'worth it'
    >>> bool(comparison.table.loc["state-library", "beats_next"] > 0.5)
    True
    """
    if workers is not None:
        check_int("compare", "workers", workers, least=1)
    described = as_problem(problem, horizon=horizon, runs=runs, groups=groups, seed=seed)
    named = policies if policies is not None else described.policies or defaults(described)
    specs = fairly(candidates(described, named, "compare"), described)
    for name in REFERENCES:
        if specs.get(name, name) != name:
            raise InvalidValueError(
                "compare", "label", name, "another one: this is a reference that all are compared with"
            )
    contestants = as_policies(specs, described, "compare")
    for label, policy in contestants.items():
        check_groups("compare", label, policy, described.groups)
    contestants |= references(described, contestants)
    results = simulate(
        described, contestants, horizon=described.horizon, draws=described.runs, repeats=1, seed=described.seed, bins=BINS,
        workers=workers, executor=executor, progress=progress or usual("comparing"),
    )  # fmt: skip
    return rank(described, specs, contestants, results)


def defaults(problem: BaseProblem) -> list[str]:
    """Return the policies that are compared if none are named."""
    groups = problem.groups or 1
    several = [f"adarp-ucb:groups={min(groups, problem.arms)}", f"state-library:groups={groups}"]
    return [*DEFAULT, *(several if groups > 1 else [])]


def policies_source(specs: Mapping[str, Spec]) -> str:
    """Return policies as Python that names them: a list of specs, or a mapping from labels where it needs one.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.compare import policies_source
    >>> print(policies_source({"ucb1": "ucb1", "mine": lb.policy("ts")}))
    {'ucb1': 'ucb1', 'mine': lb.policies.ThompsonSampling(arms=2, groups=1, noise=0.1, prior_weight=0.1)}
    """
    if all(isinstance(spec, str) and label == spec for label, spec in specs.items()):
        return repr(list(specs))

    def source(spec: Spec) -> str:
        ours = type(spec).__module__.startswith("latentbandits.")
        return f"lb.policies.{spec!r}" if ours else repr(spec)

    return "{" + ", ".join(f"{label!r}: {source(spec)}" for label, spec in specs.items()) + "}"


def is_record(problem: BaseProblem, seed: int) -> bool:
    """Whether every draw of a problem is the same, as those of a recorded world are.

    A world of this package that samples is none of these, even if its first rounds happen to be alike.
    """
    inner = problem.sample(seed, 0)
    while isinstance(inner, WithAvailability):
        inner = inner.world
    if isinstance(inner, SampledWorld):
        return False
    rounds = min(200, problem.horizon)
    first, *others = (problem.realise(rounds, 1, seed, draw, 0) for draw in range(DRAWS))
    return all(
        np.array_equal(first.rewards, other.rewards) and np.array_equal(first.offered, other.offered)
        for other in others
    )


def has_limit(world: World) -> bool:
    """Whether the limit of a world is known."""
    realisation = world.realise(1, 1, 0, 0, 0)
    known = realisation.truth is not None or realisation.chains is not None
    return known and realisation.context.shape[1] == 0  # it reads no context


def references(world: World, present: Container[str] = ()) -> dict[str, Contestant]:
    """Return the references of a world that are not present yet, label -> policy.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.compare import references
    >>> list(references(lb.Drift(), present=["random"]))
    ['best-single-arm']
    """
    wanted = [name for name in REFERENCES if name not in present and (name != LIMIT or has_limit(world))]
    return as_policies(wanted, world, "compare") if wanted else {}


def rank(
    problem: BaseProblem, specs: Mapping[str, Spec], contestants: Mapping[str, Contestant], results: Results
) -> Comparison:
    """Return the comparison of paired results: `specs` as given, `contestants` the policies that played."""
    regret = dict(zip(results.labels, results.regret, strict=True))
    order = sorted(results.labels, key=lambda label: float(regret[label].mean()))
    ranked = [label for label in order if label in specs and not isinstance(contestants[label], Oracle)]
    record = is_record(problem, results.seed)
    summaries = {row.label: row for row in results.summary()}
    unknown = (np.nan,) * 3
    lines = []
    for label in order:
        row = summaries[label]
        multiple, share_lost = (
            ratio(regret[label], regret[name]) if name in regret and regret[name].mean() > 0 else unknown
            for name in (LIMIT, CONTROL)
        )
        beats = unknown
        if label in ranked[:-1] and results.draws > 1:
            following = ranked[ranked.index(label) + 1]
            beats = wilson_interval(wins(regret[label], regret[following]), len(regret[label]))
        lines.append(
            {
                "policy": label,
                "rank": 1 + sum(regret[other].mean() < regret[label].mean() for other in ranked)
                if label in ranked
                else 0,
                "groups": contestants[label].groups,
                "regret": row.regret,
                "low": max(row.low, 0.0),  # regret is never less
                "high": row.high,
                "share": share_lost[0],
                **dict(zip(("x_limit", "x_low", "x_high"), multiple, strict=True)),
                "optimal": row.optimal,
                "probes": row.probes,
                **dict(zip(("beats_next", "beats_low", "beats_high"), beats, strict=True)),
            }
        )
    table = pd.DataFrame(lines).set_index("policy")
    if record:  # one world says nothing about others
        table[["x_low", "x_high", "beats_next", "beats_low", "beats_high"]] = np.nan
        table[["low", "high"]] = [over_seeds(regret[label]) for label in order]
    return Comparison(table, problem, dict(specs), results, record)


def over_seeds(values: np.ndarray) -> tuple[float, float]:
    """Return what contains 95 % of the values of policy seeds; NaN if they are all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.advice.compare import over_seeds
    >>> over_seeds(np.arange(41.0)), over_seeds(np.ones(3))
    ((1.0, 39.0), (nan, nan))
    """
    if np.ptp(values) == 0:
        return np.nan, np.nan
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def wins(regret: np.ndarray, other: np.ndarray) -> float:
    """Return the number of runs in which one has less regret than the other; a tie counts half."""
    return float((regret < other).sum() + 0.5 * (regret == other).sum())


def wilson_interval(count: float, size: int) -> tuple[float, float, float]:
    """Return a share and its 95 % interval (Wilson).

    Examples
    --------
    >>> from latentbandits.advice.compare import wilson_interval
    >>> tuple(round(x, 3) for x in wilson_interval(9, 10))
    (0.9, 0.596, 0.982)
    """
    z, rate = 1.959964, count / size
    middle = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * float(np.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size)))
    return rate, max(0.0, middle - half), min(1.0, middle + half)
