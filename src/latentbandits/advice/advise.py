"""Which policy for this problem, how sure, what it costs to be wrong, and when it would be another."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from latentbandits.advice import explain, file, flips
from latentbandits.advice.compare import (
    Ranking,
    always_the_same,
    fits,
    has_limit,
    rank,
    spelled,
    understand,
    wins,
)
from latentbandits.advice.problem import Problem
from latentbandits.advice.race import RISK, Race, chance, race
from latentbandits.experiments.paper.worlds import LIMIT, SINGLE_UNIT, TWO_UNIT
from latentbandits.policies.registry import RECORDS, REGISTRY
from latentbandits.protocols import Oracle, World
from latentbandits.settings import refuse, whole
from latentbandits.simulation.batch import enlist, labelled, simulate
from latentbandits.simulation.results import interval
from latentbandits.specs import policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELD_OUT = 1_000_000  # the first of the worlds that measure; those that choose begin at 0
# Who is measured: whoever is left, and whoever had less than so many times the winner's regret; at most so many
CLOSE, FINALISTS = 2.0, 6
FEWEST = 8  # worlds
CONTROL = "random"  # never a candidate
PLAIN = "ucb1"
GROUPS = ("all", "paper")
TOO_DOUBTFUL = 0.5  # advice that is less sure than this has no thresholds to look for


class Advice(pd.DataFrame):  # type: ignore[misc]
    """A data frame with a line per candidate, best first: its regret over the winner's, and on how many worlds it ran.

    Attributes
    ----------
    problem : the problem, with ranges for whatever was left out
    winner : text that names the policy to use
    policy : the policy itself, for `Agent`
    runner_up : the candidate that comes next on the worlds that measure
    sure : how sure it is that no other candidate has less regret on average over the ranges
    ranking : winner, runner-up and the plain ways, measured on worlds that did not choose; see `latentbandits.compare`
    race : how the candidates fell, see `latentbandits.advice.race`
    sweeps : races along every quantity
    suppositions : other kinds of world in which another policy would be better
    """

    _metadata: ClassVar[list[str]] = [
        "problem", "winner", "policy", "runner_up", "sure", "ranking", "sweeps", "suppositions", "race", "given", "_theory"
    ]  # fmt: skip
    problem: Problem
    winner: str
    policy: Any
    runner_up: str | None
    sure: float
    ranking: Ranking
    race: Race
    sweeps: list[flips.Sweep]
    suppositions: list[flips.Flip]
    given: Any
    _theory: pd.DataFrame | None

    @property
    def _constructor(self) -> Any:
        return Advice

    @property
    def flips(self) -> pd.DataFrame:
        """Where another policy would be better: a line per threshold, the nearest first."""
        known = {sweep.quantity: sweep.range for sweep in self.sweeps}
        lines = [flip for sweep in self.sweeps for flip in sweep.flips]
        lines.sort(key=lambda flip: flips.away(flip.threshold, known[flip.quantity]))
        lines += self.suppositions
        fields = [*flips.Flip._fields, "threshold"]
        return pd.DataFrame([[*flip, flip.threshold] for flip in lines], columns=fields)

    @property
    def costs(self) -> pd.DataFrame:
        """What it costs to be wrong: how much more regret the others have on the same fresh worlds, with 95 % intervals."""
        regret = dict(zip(self.ranking.results.labels, self.ranking.results.regret, strict=True))
        ours = regret[self.winner]
        lines = []
        for label in self.ranking.ranked:
            if label == self.winner:
                continue
            more, low, high = interval(regret[label] - ours)
            times = float(regret[label].mean() / ours.mean()) if ours.mean() > 0 else float("inf")
            lines.append([label, more, low, high, times, wins(ours, regret[label]) / len(ours)])
        return pd.DataFrame(lines, columns=["policy", "more", "low", "high", "times", "beaten"]).set_index("policy")

    @property
    def theory(self) -> pd.DataFrame:
        """The theory's quantities, as median and 10 and 90 % quantiles over worlds."""
        if self._theory is None:
            self._theory = explain.quantities(self.problem)
        return self._theory

    def plot(self) -> "Figure":
        """Return a figure: regret over time on fresh worlds, and the first of the candidates; `page` has them all, and the flips."""
        from latentbandits.advice.figures import advised

        return advised(self)

    def text(self) -> str:
        """Return the advice in words."""
        from latentbandits.advice.words import text

        return text(self)

    def page(self) -> str:
        """Return the advice as one HTML page that needs nothing else."""
        from latentbandits.advice.page import page

        return page(self)

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        file.write(Path(path), self.page().encode(), "advise", "path")

    def python(self) -> str:
        """Return the Python that gives this advice."""
        given = [f"lb.{self.problem}"]
        if self.given is not None:
            given.append(repr(self.given) if isinstance(self.given, str) else spelled(labelled(self.given)))
        if not self.sweeps and self.sure >= TOO_DOUBTFUL:
            given.append("sweep=False")
        return (
            "import latentbandits as lb\n\n"
            f"advice = lb.advise({', '.join(given)})\n"
            "print(advice.text())\nadvice.save('advice.html')\nagent = lb.Agent(advice.policy)"
        )


def advise(
    ranges: World | Mapping[str, Any] | str | Path | None = None,
    policies: Iterable[Any] | Mapping[str, Any] | str | None = None,
    *,
    horizon: int | None = None,
    runs: int | None = None,
    units: int | None = None,
    seed: int | None = None,
    sweep: bool = True,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Advice:
    """Return which policy suits a problem that may be known only roughly.

    Worlds are drawn from the ranges. All candidates that the number of units permits meet the same worlds, a few more at a time, and drop
    out when they have clearly lost. What is said of the winner is then measured on other worlds, so that the choice does not flatter it.

    Parameters
    ----------
    ranges : Problem, mapping or path, optional
        The problem; whatever is left out is taken as unknown and ranges widely (2 to 20 states, 20 to 500 rounds, noise 0.01 to 0.5).
    policies : iterable or mapping, "all" or "paper", optional
        Candidates; all that the package has and the units permit, if not given.
    horizon, runs, units, seed : int, optional
        Instead of what the problem says; `runs` is the number of worlds that measure, and at most as many again choose.
    sweep : bool
        Look for the values of every quantity beyond which another policy is better.
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Called with the number of rounds that each step has played.

    Returns
    -------
    Advice

    Examples
    --------
    >>> import latentbandits as lb
    >>> problem = lb.Problem(arms=2, states="2 to 5", dwell="100 to 300", noise=0.1, horizon=2000, runs=16)
    >>> advice = lb.advise(problem, ["state-library", "sw-ucb", "random"], sweep=False)
    >>> advice.winner, bool(advice.sure > 0.9)
    ('state-library', True)
    >>> agent = lb.Agent(advice.policy)
    """
    problem, named = understand({} if ranges is None else ranges, horizon=horizon, runs=runs, units=units, seed=seed)
    if not isinstance(problem, Problem):
        raise refuse("advise", "ranges", ranges, "a Problem, its words as a mapping, or the path of a TOML file")
    problem = problem.widened()
    whole("advise", "runs", problem.runs, least=FEWEST)
    if always_the_same(problem, problem.seed):
        raise refuse("advise", "kind", problem.kind, "a problem whose worlds differ; `compare` plays a single one")
    specs = candidates(problem, policies if policies is not None else named)
    entrants = enlist(specs, problem)
    for label, one in entrants.items():
        fits(label, one, problem.units)
        if isinstance(one, Oracle) or label == LIMIT:
            raise refuse("advise", "policies", label, "policies that are not told the truth")
    chosen = race(
        problem,
        entrants,
        looks(problem.runs),
        horizon=problem.horizon,
        seed=problem.seed,
        workers=workers,
        progress=progress,
    )
    order = chosen.order
    close = [label for label in order if label in chosen.left or chosen.over(label, chosen.winner) < CLOSE]
    rivals = [label for label in order if type(entrants[label]) is not type(entrants[chosen.winner])]
    finalists = [*dict.fromkeys([*order[:2], *close[:FINALISTS], *rivals[:1]])]
    ranking = measure(problem, specs, finalists, workers, progress)

    lines = [
        {
            "policy": label,
            "over_winner": chosen.over(label, chosen.winner),
            "worlds": chosen.worlds(label),
            "dropped": label not in chosen.left,
        }
        for label in order
    ]
    found = Advice(pd.DataFrame(lines).set_index("policy"))
    found.problem, found.winner, found.policy = problem, chosen.winner, entrants[chosen.winner]
    found.runner_up = next((one for one in ranking.ranked if one in entrants and one != chosen.winner), None)
    found.ranking, found.sure = ranking, sureness(chosen, ranking)
    found.race, found.sweeps, found.suppositions, found.given, found._theory = chosen, [], [], policies or named, None
    if sweep and len(specs) > 1 and found.sure >= TOO_DOUBTFUL:
        # of many variants of the winner the best other will do, and those that are told nothing
        kin = [label for label in order[1:] if type(entrants[label]) is type(entrants[chosen.winner])]
        spared = [label for label in kin[1:] if label not in REGISTRY]
        others = {label: spec for label, spec in specs.items() if label not in spared}
        doubt = flips.Doubt(
            problem, chosen.winner, lambda there: enlist(others, there), workers, progress or (lambda _: None)
        )
        found.sweeps, found.suppositions = doubt.sweeps(), doubt.suppositions()
    return found


def candidates(problem: Problem, policies: Any = None) -> dict[str, Any]:
    """Return the candidates that a deployment permits, label -> text that names one.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.advise import candidates
    >>> list(candidates(lb.Problem(units=2, arms=4), "paper"))[:2]
    ['adarp-ucb:units=2', 'rp-ucb:units=2']
    """
    if policies is None or (isinstance(policies, str) and policies in GROUPS):
        return group(problem, policies or "all")
    found: dict[str, Any] = {}
    for label, spec in labelled(policies).items():
        found |= group(problem, spec) if isinstance(spec, str) and spec in GROUPS else {label: spec}
    return found


def group(problem: Problem, name: str) -> dict[str, str]:
    """Return a group of candidates: all, or the paper's."""
    several = min(problem.units, problem.arms)
    pairs = [one if several == problem.arms else f"{one}:units={several}" for one in TWO_UNIT] if several > 1 else []
    if name == "paper":
        return {one: one for one in [*pairs, *SINGLE_UNIT]}
    single = [one for one in REGISTRY if one not in (*TWO_UNIT, *RECORDS, CONTROL, "ab-test") and not _oracle(one)]
    libraries = [told(problem, units) for units in dict.fromkeys((1, problem.units))]
    shared = [f"state-library:units={problem.units}"] if problem.units > 1 else []
    return {one: one for one in [single[0], *shared, *filter(None, libraries), *pairs, *single[1:], ab_test(problem)]}


def told(problem: Problem, units: int) -> str | None:
    """Return StateLibrary that is told what the problem says exactly, noise and range of means; None if that is nothing.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.advise import told
    >>> told(lb.Problem(noise=0.3, means="0 to 1"), units=1), told(lb.Problem(noise="0.1 to 0.3"), units=1)
    ('state-library:noise=0.3,low=0,high=1', None)
    """
    settings: dict[str, float] = {"units": units} if units > 1 else {}
    if "noise" in problem.given and "noise" not in problem.vague and problem.noise > 0:
        settings["noise"] = problem.noise * math.sqrt(units)
    if "means" in problem.given:
        known = np.asarray(problem.means, dtype=float)
        settings |= {"low": float(known.min()), "high": float(known.max())}
    texts = [f"{field}={value:.6g}" for field, value in settings.items()]
    return f"state-library:{','.join(texts)}" if set(settings) - {"units"} else None


def _oracle(name: str) -> bool:
    return hasattr(REGISTRY[name].make, "informed")


def ab_test(problem: Problem) -> str:
    """Return the plain test that a tenth of the rounds is given to."""
    return f"ab-test:test={max(problem.arms, problem.horizon // 10)}"


def looks(runs: int) -> list[int]:
    """Return after how many worlds candidates are compared: twice as many every time.

    Examples
    --------
    >>> from latentbandits.advice.advise import looks
    >>> looks(200), looks(5)
    ([8, 16, 32, 64, 128, 200], [5])
    """
    found = [8 * 2**i for i in range(20) if 8 * 2**i < runs * 0.8]
    return [*found, runs]


def measure(
    problem: Problem,
    specs: Mapping[str, Any],
    finalists: list[str],
    workers: int | None,
    progress: Callable[[int], None] | None,
) -> Ranking:
    """Return the ranking of finalists and the plain ways on worlds that did not choose them."""
    shown = {label: specs[label] for label in finalists}
    tests = [label for label, spec in specs.items() if isinstance(spec, str) and spec.startswith("ab-test")]
    shown |= {label: specs.get(label, label) for label in (PLAIN, *(tests[:1] or [ab_test(problem)]))}
    made = enlist(shown, problem)
    if has_limit(problem):
        made[LIMIT] = policy(LIMIT, arms=problem.arms)
    results = simulate(
        problem,
        made,
        horizon=problem.horizon,
        draws=problem.runs,
        repeats=1,
        seed=problem.seed,
        first=HELD_OUT,
        workers=workers,
    )
    if progress is not None:
        progress(results.regret.size * problem.horizon)
    return rank(problem, shown, made, results)


def sureness(chosen: Race, ranking: Ranking) -> float:
    """Return how sure it is that the winner has the least regret on average: all chances of an error, taken off 1.

    They are the race's risk and, for every candidate that was measured, the p-value of a paired t-test on fresh worlds. Besides, what
    happens in one world of n may not show in n worlds, so that n worlds bear no more than n / (n + 1).
    """
    if len(chosen.regret) == 1:
        return 1.0
    regret = dict(zip(ranking.results.labels, ranking.results.regret, strict=True))
    ours = regret[chosen.winner]
    doubts = [chance(regret[label] - ours) for label in regret if label in chosen.regret and label != chosen.winner]
    unmeasured = [label for label in chosen.left if label not in regret]
    sure = 0.0 if unmeasured else 1 - sum(doubts) - RISK
    return max(0.0, min(sure, len(ours) / (len(ours) + 1)))
