"""Settings of one policy for one problem: searched on some worlds, judged on others."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from latentbandits import __version__, specs
from latentbandits.advice.base import BaseProblem
from latentbandits.advice.candidates import Spec, fit_policy
from latentbandits.advice.compare import BINS, Comparison, has_limit, is_record, rank
from latentbandits.advice.parameter import Words
from latentbandits.advice.problem import as_problem
from latentbandits.advice.result import Result, Values, records
from latentbandits.advice.space import OWNER, Axis, Value, space
from latentbandits.advice.study import Task, run_study
from latentbandits.parameters import all_settings, replaced
from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.numbers import aligned, counted, figure, percent, span
from latentbandits.presentation.progress import usual
from latentbandits.protocols import Contestant, Policy, World
from latentbandits.settings import InvalidValueError, check_int
from latentbandits.simulation.batch import as_policies, simulate
from latentbandits.simulation.results import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Result):
    """What `latentbandits.tune` returns: the trials, and what the best settings are worth on worlds that no trial has seen.

    Attributes
    ----------
    table : data frame with a row per trial, in order: its `outcome` (complete, pruned, or refused by the policy itself), a column per
        searched setting, `rounds` (the horizon that the trial reached), `per_round` and `training_regret` (mean regret on the worlds tuned
        on, per round and over the whole horizon; the latter is NaN for a trial that was pruned)
    problem : the problem, or the world
    spec, name : the policy as it was given, and its name (or module:Class) without settings
    default : the policy before tuning
    axes : the settings that were searched, each with its range
    found : the changes that were best on the worlds tuned on
    gain, gain_low, gain_high : mean regret of the defaults less that of the tuned policy on the same held-out worlds, and its 95 % interval
    comparison : both on the held-out worlds, beside the Bayes limit where it is known
    search : the settings to search, as they were given
    """

    problem: BaseProblem
    spec: str
    name: str
    default: Policy
    axes: Sequence[Axis]
    found: dict[str, Any]
    gain: float
    gain_low: float
    gain_high: float
    comparison: Comparison
    search: Mapping[str, object] | None
    owner: ClassVar[str] = OWNER
    suffixes: ClassVar[tuple[str, ...]] = (".toml", *Result.suffixes)

    @property
    def recommended(self) -> bool:
        """Whether the interval of the gain lies above 0."""
        return self.gain_low > 0

    @property
    def settings(self) -> dict[str, Any]:
        """The recommended changes; empty for the defaults."""
        return dict(self.found) if self.recommended else {}

    @property
    def policy(self) -> Policy:
        """The recommended policy: the tuned one if its gain on held-out worlds is above 0, else the default."""
        policy: Policy = replaced(self.default, self.settings)
        return policy

    @property
    def before(self) -> float:
        """Mean regret of the defaults on the held-out worlds."""
        return float(self.comparison.results.regret[0].mean())

    @property
    def gain_percent(self) -> float:
        """The gain in per cent of the defaults' regret on the held-out worlds."""
        return 100 * self.gain / self.before if self.before else 0.0

    @property
    def headline(self) -> str:
        """One sentence: what the settings found are worth on held-out worlds."""
        results = self.comparison.results
        where = f"{counted(results.draws, 'held-out world')} of {counted(results.horizon, 'round')}"
        if not self.found:
            return f"No settings did better than the defaults where they were tuned: keep the defaults (gain 0 on {where})."
        gain = (
            f"{figure(self.gain)} (95 % interval {span(self.gain_low, self.gain_high)}), "
            f"{percent(self.gain_percent / 100, 1)} of the defaults' {figure(self.before)}"
        )
        if self.recommended:
            return f"On {where} the tuned settings save regret: {gain}."
        return f"No gain shown on {where}: keep the defaults. Gain {gain}."

    def text(self) -> str:
        """Return the number of trials, the changes that were found and the headline."""
        outcomes = self.table["outcome"].value_counts()
        counts = ", ".join(
            f"{outcomes[outcome]} {outcome}" for outcome in ("complete", "pruned", "refused") if outcome in outcomes
        )
        parts = [f"{counted(len(self.table), 'trial')} of {self.spec} ({counts}) for {self.problem}."]
        if self.found:
            before = all_settings(self.default)
            head = ["setting", "default", "tuned" if self.recommended else "found", "searched"]
            rows = [
                [axis.setting, str(before[axis.setting]), str(self.found.get(axis.setting, "same")), str(axis)]
                for axis in self.axes
            ]
            parts.append(aligned(head, rows))
        return "\n".join([*parts, self.headline])

    def figure(self) -> "Figure":
        """Return a figure: the search on the left, the defaults and the tuned policy on held-out worlds on the right."""
        from latentbandits.advice.figures import search_and_verdict

        return search_and_verdict(self)

    def values(self) -> Values:
        """Return everything but single runs as plain values."""
        results = self.comparison.results
        return {
            "policy": self.spec,
            "problem": str(self.problem),
            "horizon": results.horizon,
            "held_out_worlds": results.draws,
            "seed": results.seed,
            "gain": self.gain,
            "gain_low": self.gain_low,
            "gain_high": self.gain_high,
            "gain_percent": self.gain_percent,
            "recommended": self.recommended,
            "settings": self.settings,
            "found": self.found,
            "searched": {axis.setting: str(axis) for axis in self.axes},
            "held_out": records(self.comparison.table),
            "trials": records(self.table),
            "python": self.python(),
        }

    def content(self, suffix: str) -> bytes:
        """Return the content of a file; as TOML, the recommended policy, which `latentbandits.policy`, `Agent` and `compare` read."""
        if suffix != ".toml":
            return super().content(suffix)
        if "<" in self.name or "__main__:" in self.name:
            raise InvalidValueError(
                OWNER, "policy", self.name, "one whose class can be imported, or else no file could name it"
            )
        searched = "; ".join(f"{axis.setting} {axis}" for axis in self.axes)
        remarks = (
            f"{self.spec}, tuned by latentbandits {__version__} for\n  {self.problem}\n"
            f"Searched in {len(self.table)} trials: {searched}.\n{self.headline}"
        )
        return specs.as_toml(self.name, self.policy, remarks).encode()

    def python(self, path: str | Path = "tuned.toml") -> str:
        """Return the Python code that does the same, with the file that `save` writes."""
        searched = "" if self.search is None else f"    search={dict(self.search)!r},\n"
        return (
            f"import latentbandits as lb\n\ntuning = lb.tune(\n    {self.problem.source()},\n    {self.spec!r},\n{searched}"
            f"    trials={len(self.table)},\n)\nprint(tuning.text())\ntuning.save({str(path)!r})\nagent = lb.Agent({str(path)!r})"
        )


def tune(
    problem: World | Words | str | Path,
    policy: Spec,
    *,
    search: Mapping[str, object] | None = None,
    trials: int = 60,
    horizon: int | None = None,
    runs: int | None = None,
    groups: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """Search for better settings of a policy on some worlds, and judge what was found on others.

    The first trial is the defaults, if they are within what is searched. Each trial plays a ninth, a third and then all of the horizon,
    and is pruned when it is not among the best third so far. The best one then meets the defaults on worlds that no trial has seen;
    only that difference is reported.

    Parameters
    ----------
    problem : Problem, World, mapping or path
        As `latentbandits.compare` takes it. Its worlds must not be the same in every draw, as a recorded one is.
    policy : str or Policy
        A spec that `latentbandits.policy` takes, or a policy. Settings in the spec stay as they are.
    search : mapping, optional
        Search only these settings: ``{"staleness": "5 to 200", "min_gap": [2, 4, 8]}``, ranges and lists of choices. If not given: every
        number that changes how the policy behaves, from an eighth of its value to eight times that.
    trials : int
        Number of trials.
    horizon, runs, groups, seed : int, optional
        Instead of the problem's own, as in `latentbandits.compare`. `runs` worlds are held out; a quarter as many, at least 16,
        are tuned on.
    workers : int, optional
        Threads; as many as there are cores if not given.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads, as in `latentbandits.simulate`.
    progress : callable, optional
        Called with the number of steps done and the total: a step per trial, and one for the held-out worlds.

    Returns
    -------
    Tuning
        `.policy` is the recommended policy, `.gain` what it saves on held-out worlds, `.table` has a row per trial, `.save("tuned.toml")`
        writes the policy for `Agent` and `compare`, `.figure()` shows the search and the verdict.

    Examples
    --------
    >>> import latentbandits as lb
    >>> problem = lb.Problem(means=[[0.9, 0.1], [0.1, 0.9]], dwell=100, noise=0.1, horizon=900, runs=40)
    >>> tuning = lb.tune(problem, "d-ucb:discount=0.9", search={"discount": "0.8 to 0.999"}, trials=10)
    >>> tuning.settings["discount"] > 0.95, tuning.gain_low > 0, tuning.recommended
    (True, True, True)
    >>> tuning.table.columns.tolist()
    ['outcome', 'discount', 'rounds', 'per_round', 'training_regret']
    """
    trials = check_int(OWNER, "trials", trials, least=1)
    sizes = {"horizon": horizon, "runs": runs, "groups": groups, "seed": seed}
    if workers is not None:
        check_int(OWNER, "workers", workers, least=1)
    task = prepare(problem, policy, search, sizes)._replace(workers=workers, executor=executor)
    report = progress or usual("tuning", "trials") or (lambda _done, _total: None)
    table, changes = run_study(task, trials, lambda done: report(done, trials + 1))
    gain, comparison = judge(task, changes)
    report(trials + 1, trials + 1)
    return Tuning(table, task.problem, task.spec, task.name, task.policy, task.axes, changes, *gain, comparison, search)


def prepare(
    problem: object, policy: Spec, search: Mapping[str, object] | None, sizes: Mapping[str, int | None]
) -> Task:
    """Return what is to be done, or refuse it; nothing is searched yet."""
    described = as_problem(problem, **sizes)
    if not search or not isinstance(policy, str) or not any(specs.in_unit(specs.policy(policy), key) for key in search):
        policy = specs.fair(policy, described)
    place, spec, name, contestant = fit_policy(OWNER, described, policy)
    if not isinstance(contestant, Policy):
        raise InvalidValueError(OWNER, "policy", policy, "a policy that needs no knowledge of the world")
    check_int(OWNER, "runs", place.runs, least=2)
    if is_record(place, place.seed):
        raise InvalidValueError(
            OWNER, "problem", place, "one whose draws differ, or else it would be judged where it was tuned"
        )
    fixed = specs.split(policy)[1] if isinstance(policy, str) and not policy.endswith(".toml") else {}
    bare = not contestant.scale_free and not specs.is_unit(place)
    axes = space(contestant, fixed, search, specs.means_range(place) if bare else None)
    return Task(spec, name, contestant, axes, place)


def judge(task: Task, changes: dict[str, Value]) -> tuple[tuple[float, float, float], Comparison]:
    """Return what changes save on worlds that no trial has seen, with its 95 % interval, and the comparison there."""
    labels = [f"{task.name} (defaults)", *([f"{task.name} (tuned)"] if changes else [])]
    contestants: dict[str, Contestant] = dict(zip(labels, (task.policy, replaced(task.policy, changes)), strict=False))
    given: dict[str, Spec] = {label: specs.spec_of(policy, task.name) for label, policy in contestants.items()}
    if has_limit(task.problem):
        contestants |= as_policies([LIMIT], task.problem, OWNER)
    results = simulate(
        task.problem, contestants, horizon=task.horizon, draws=task.problem.runs, repeats=1, seed=task.problem.seed, bins=BINS,
        workers=task.workers, executor=task.executor,
    )  # fmt: skip
    gain = interval(results.regret[0] - results.regret[1]) if changes else (0.0, 0.0, 0.0)
    return gain, rank(task.problem, given, contestants, results)
