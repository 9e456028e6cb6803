"""Settings of one policy for one problem: searched on some worlds, judged on others."""

import json
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from latentbandits import __version__, specs
from latentbandits.advice.compare import (
    BINS,
    Ranking,
    always_the_same,
    fits,
    has_limit,
    rank,
    sizes_of,
    understand,
)
from latentbandits.advice.problem import Problem
from latentbandits.advice.space import Axis, space
from latentbandits.experiments.paper.worlds import LIMIT
from latentbandits.policies.registry import REGISTRY
from latentbandits.policies.registry import policy as named
from latentbandits.presentation.numbers import figure
from latentbandits.protocols import World
from latentbandits.settings import describe, refusal, refuse, whole
from latentbandits.simulation.batch import enlist, simulate
from latentbandits.simulation.results import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

OWNER = "tune"
# The draw of the first world to tune on. Worlds to judge on are those of `compare`, from draw 0 on: the two share no randomness, and
# `compare` finds what was said about the tuned settings.
TUNED_ON = 1_000_000
# Worlds tuned on: a quarter of the worlds judged on, but no fewer than this
FEWEST = 16
# A trial plays these parts of the horizon, each from the beginning, and is given up when it is not among the best third
PARTS, KEPT = (9, 3, 1), 3
# Rounds below which a policy has hardly begun
SHORTEST = 200
STUDY = "latentbandits tune"
# Places to look at before a search is refused because its policy accepts none of them
ATTEMPTS = 100


class Tuning(pd.DataFrame):  # type: ignore[misc]
    """A data frame with a line per trial, in order.

    Its columns: `state` (complete, pruned, or refused by the policy itself), one per searched setting, `rounds` (the horizon that the
    trial reached), `per_round` and `training_regret` (mean regret on the worlds tuned on, per round and over the whole horizon; the latter
    is nan for a trial that was given up). The numbers below are from worlds that no trial has seen.

    Attributes
    ----------
    policy : the recommended policy: the tuned one if its gain on held-out worlds is above 0, else the default
    spec, name : what was tuned, as it was given, and the name or class without settings
    settings : the recommended changes; empty for the defaults
    found : the changes that were best on the worlds tuned on
    gain, gain_low, gain_high : mean regret of the defaults less that of the tuned policy on the same held-out worlds, and its 95 % interval
    recommended : whether the interval lies above 0
    ranking : both on the held-out worlds, beside the Bayes limit where it is known
    default : the policy before
    searched : where each setting was searched
    world : the world, or the problem that describes it
    """

    _metadata: ClassVar[list[str]] = [
        "policy", "spec", "name", "settings", "found", "gain", "gain_low", "gain_high", "recommended", "ranking", "default", "searched",
        "world", "call",
    ]  # fmt: skip
    policy: Any
    spec: str
    name: str
    settings: dict[str, Any]
    found: dict[str, Any]
    gain: float
    gain_low: float
    gain_high: float
    recommended: bool
    ranking: Ranking
    default: Any
    searched: Sequence[Axis]
    world: Any
    call: str

    @property
    def _constructor(self) -> Any:
        return Tuning

    @property
    def gain_percent(self) -> float:
        """The gain in per cent of the defaults' regret on the held-out worlds."""
        before = float(self.ranking["regret"][f"{self.name} (defaults)"])
        return 100 * self.gain / before if before else 0.0

    @property
    def verdict(self) -> str:
        """One sentence: what the settings found are worth on held-out worlds."""
        results = self.ranking.results
        where = f"{results.draws:,} held-out worlds of {results.horizon:,} rounds"
        if not self.found:
            return f"No settings did better than the defaults where they were tuned: keep the defaults (gain 0 on {where})."
        before = float(self.ranking["regret"][f"{self.name} (defaults)"])
        said = (
            f"{figure(self.gain)} (95 % interval {figure(self.gain_low)} to {figure(self.gain_high)}), {self.gain_percent:.1f} % of the "
            f"defaults' {figure(before)}"
        )
        if self.recommended:
            return f"On {where} the tuned settings save regret: {said}."
        return f"No gain shown on {where}: keep the defaults. Gain {said}."

    def plot(self) -> "Figure":
        """Return a figure: the search on the left, the defaults and the tuned policy on held-out worlds on the right."""
        from latentbandits.advice.figures import search_and_verdict

        return search_and_verdict(self)

    def save(self, path: str | Path) -> None:
        """Write the recommended settings as TOML that `latentbandits.policy`, `Agent` and `compare` read."""
        if "<" in self.name or self.name.startswith("__main__:"):
            raise refuse(OWNER, "policy", self.name, "one whose class can be imported, or else no file could name it")
        searched = "; ".join(f"{axis.setting} {axis}" for axis in self.searched)
        remarks = (
            f"{self.spec}, tuned by latentbandits {__version__} for\n  {self.world}\n"
            f"Searched in {len(self)} trials: {searched}.\n{self.verdict}"
        )
        try:
            specs.write_policy(path, self.name, self.policy, remarks)
        except OSError as problem:
            reason = (problem.strerror or type(problem).__name__).lower()
            raise refuse(OWNER, "path", str(path), f"a file that can be written ({reason})") from None

    def python(self, path: str | Path = "tuned.toml") -> str:
        """Return the Python that does the same, with the file that `save` writes."""
        return (
            f"import latentbandits as lb\n\n{self.call}\n"
            "print(tuning.settings, tuning.gain, tuning.gain_low, tuning.gain_high)\n"
            f"tuning.save({str(path)!r})\nagent = lb.Agent({str(path)!r})"
        )


class Task(NamedTuple):
    """What is tuned, for what and how: everything that decides how a study goes."""

    spec: str
    name: str
    policy: Any
    axes: list[Axis]
    world: World
    horizon: int
    runs: int
    seed: int
    workers: int | None

    @property
    def worlds(self) -> int:
        """Number of worlds tuned on."""
        return max(FEWEST, self.runs // 4)

    @property
    def first(self) -> int:
        """Draw of the first of them."""
        return max(TUNED_ON, self.runs)

    @property
    def rungs(self) -> list[int]:
        """The partial horizons, and the whole one."""
        return sorted({min(self.horizon, max(SHORTEST, round(self.horizon / part))) for part in PARTS})

    @property
    def start(self) -> dict[str, Any] | None:
        """Where the defaults are in a study; None if they are outside of what is searched."""
        found = {axis.name: axis.coordinate(axis.default) for axis in self.axes}
        return None if None in found.values() else found

    @property
    def about(self) -> dict[str, Any]:
        """What a study file remembers."""
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            world = re.sub(r" at 0x[0-9a-f]+", "", repr(self.world))
        found = {
            "policy": self.name,
            "settings": describe(self.policy),
            "search": {axis.setting: str(axis) for axis in self.axes},
            "problem": world,
            "horizon": self.horizon,
            "worlds tuned on": self.worlds,
            "seed": self.seed,
            "version": __version__,
        }
        loaded: dict[str, Any] = json.loads(json.dumps(found))
        return loaded

    def settings(self, trial: "FrozenTrial | Trial") -> dict[str, Any]:
        """Return the settings of a trial."""
        return {axis.setting: axis.value(trial.params[axis.name]) for axis in self.axes}

    def replaced(self, trial: "FrozenTrial | Trial") -> Any:
        """Return the policy with the settings of a trial; None where they contradict each other."""
        try:
            return self.policy._replace(**self.settings(trial))
        except ValueError:
            return None

    def training(self, policy: Any, rounds: int, worlds: int) -> float:
        """Return the mean regret per round in the first rounds of worlds to tune on."""
        results = simulate(
            self.world, {self.name: policy}, horizon=rounds, draws=worlds, repeats=1, seed=self.seed, first=self.first, bins=1,
            workers=self.workers,
        )  # fmt: skip
        return float(results.regret.mean()) / rounds


def tune(
    policy: Any,
    world: World | Mapping[str, Any] | str | Path,
    *,
    search: Mapping[str, Any] | None = None,
    trials: int = 60,
    study: str | Path | None = None,
    horizon: int | None = None,
    runs: int | None = None,
    units: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """Search for better settings of a policy on some worlds, and judge what was found on others.

    The first trial is the defaults, if they are within what is searched. Each trial plays a ninth, a third and then all of the horizon,
    and is given up when it is not among the best third so far. The best one then meets the defaults on worlds that no trial has seen;
    only that difference is reported.

    Parameters
    ----------
    policy : str or Policy
        A text that `latentbandits.policy` takes, or a policy. Settings in the text stay as they are.
    world : World, mapping or path
        As `latentbandits.compare` takes it. It must not be the same in every draw, as a recorded one is.
    search : mapping, optional
        Search only these settings: ``{"staleness": "5 to 200", "min_gap": [2, 4, 8]}``, ranges and lists of choices. If not given: every
        number that changes how the policy behaves, from an eighth of its value to eight times that.
    trials : int
        Number of trials.
    study : path, optional
        A file that remembers every trial. The same call goes on from there, after an interruption or with more trials, and ends as if it
        had never been interrupted.
    horizon, runs, units, seed : int, optional
        Instead of what the problem says, as in `latentbandits.compare`. `runs` worlds are held out; a quarter as many, at least 16,
        are tuned on.
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Called with the number of steps done and in all: a step per trial, and one for the held-out worlds.

    Returns
    -------
    Tuning
        A data frame with a line per trial. `.policy` is the recommended policy, `.gain` what it saves on held-out worlds, `.save(path)`
        writes it for `Agent` and `compare`, `.plot()` draws it.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.Problem(means=[[0.9, 0.1], [0.1, 0.9]], dwell=100, noise=0.1, horizon=900, runs=40)
    >>> tuning = lb.tune("d-ucb:discount=0.9", world, search={"discount": "0.8 to 0.999"}, trials=10)
    >>> tuning.settings["discount"] > 0.95, tuning.gain_low > 0, tuning.recommended
    (True, True, True)
    >>> tuning.columns.tolist()
    ['state', 'discount', 'rounds', 'per_round', 'training_regret']
    """
    trials = whole(OWNER, "trials", trials, least=1)
    task = prepare(policy, world, search, horizon, runs, units, seed, workers)
    steps = trials + 1
    shown = progress or (lambda _done, _all: None)
    with silent():
        rehearse(task)
        with opened(study, task) as found:
            finished = searched(found, task, trials, lambda done: shown(done, steps))
    tuning = Tuning(pd.DataFrame([line(task, trial) for trial in finished]).rename_axis("trial"))
    judge(tuning, task, best(task, finished))
    tuning.call = call(policy, task.world, search, trials, study, horizon, runs, units, seed)
    shown(steps, steps)
    return tuning


def prepare(
    policy: Any, world: Any, search: Any, horizon: int | None, runs: int | None, units: int | None, seed: int | None, workers: int | None
) -> Task:  # fmt: skip
    """Return what is to be done, or refuse it; nothing is computed yet."""
    try:
        place, _ = understand(world, horizon=horizon, runs=runs, units=units, seed=seed)
        spec = policy if isinstance(policy, str) else type(policy).__name__
        made: Any = enlist({spec: policy}, place)[spec]
        fits(spec, made, place.units if isinstance(place, Problem) else units)
        sizes = sizes_of(place, horizon, runs, seed)
    except ValueError as problem:
        owner, _, said = str(problem).partition(": ")
        if owner in ("compare", "simulate"):
            raise refusal(f"{OWNER}: {said}", getattr(problem, "field", "")) from None
        raise
    if not hasattr(made, "_fields"):
        raise refuse(OWNER, "policy", policy, "a NamedTuple of settings")
    whole(OWNER, "runs", sizes["runs"], least=2)
    if workers is not None:
        whole(OWNER, "workers", workers, least=1)
    name, fixed = called(policy, made)
    axes = space(made, fixed, search)
    return Task(spec, name, made, axes, place, sizes["horizon"], sizes["runs"], sizes["seed"], workers)


def called(policy: Any, made: Any) -> tuple[str, dict[str, Any]]:
    """Return the name (or module:Class) of a policy, and the settings that its text fixes."""
    if not isinstance(policy, str):
        kind = type(made)
        kin = [name for name, row in REGISTRY.items() if row.make is kind]
        return min(kin, key=lambda name: len(text(name, made)), default=f"{kind.__module__}:{kind.__qualname__}"), {}
    if policy.endswith(".toml"):
        name, fixed = tomllib.loads(Path(policy).read_text())["policy"], dict[str, Any]()
    else:
        name, fixed = specs.split(policy)
    return name if ":" in name else name.lower(), fixed


def text(name: str, policy: Any) -> str:
    """Return the text that stands for a policy of this name.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.tune import text
    >>> text("adasp-ucb", lb.policy("adasp-ucb", arms=3, units=2, min_gap=7, probe_set=[0, 2]))
    'adasp-ucb:units=2,min_gap=7,probe_set=0,2'
    """
    own, preset = describe(policy), {"arms": policy.arms}
    if name in REGISTRY:
        preset = {**describe(named(name, policy.arms, units=policy.units)), "units": named(name, policy.arms).units}
    changed = {setting: value for setting, value in own.items() if setting not in preset or value != preset[setting]}
    texts = [
        f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}" for key, value in changed.items()
    ]
    return f"{name}:{','.join(texts)}" if texts else name


def rehearse(task: Task) -> None:
    """Refuse what cannot be played, and a world that is the same in every draw, before any file is touched."""
    if task.start is None and not any(task.replaced(trial) for trial in anywhere(task)):
        raise nowhere(task)
    rounds = task.rungs[0]
    task.training(task.policy, rounds, 1)
    if always_the_same(task.world, task.seed):
        raise refuse(
            OWNER, "world", task.world, "one whose draws differ, or else it would be judged where it was tuned"
        )


def anywhere(task: Task) -> Iterator["Trial"]:
    """Yield some places of what is searched."""
    import optuna

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(ATTEMPTS):
        yield study.ask({axis.name: axis.distribution for axis in task.axes})


@contextmanager
def silent() -> Iterator[None]:
    """Keep Optuna from talking, or refuse if it is not there."""
    try:
        import optuna
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"{OWNER}: {missing.name} is not installed, `pip install 'latentbandits[tune]'` brings it"
        ) from None
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def opened(path: str | Path | None, task: Task) -> Iterator["Study"]:
    """Open the study of a task: a new one, or the one in a file if it is about the same."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    if path is None:
        yield optuna.create_study()
        return
    path = Path(path)
    with locked(path):
        # `locked` keeps others out and is free again however this process ends: a lock file of Optuna's would outlive a kill
        free: Any = SimpleNamespace(acquire=lambda: True, release=lambda: None)
        try:
            storage = JournalStorage(JournalFileBackend(str(path), lock_obj=free))
            kept = {one.study_name: one.user_attrs.get("about", {}) for one in storage.get_all_studies()}
        except Exception:  # whatever a file that is no journal makes of it
            kept = {}
        if list(kept) != ([STUDY] if path.stat().st_size else []):
            raise refuse(OWNER, "study", str(path), "a new file, or one that `tune` wrote")
        for key, was in kept.get(STUDY, {}).items():
            now = task.about.get(key)
            if was != now:
                there = f"{_short(was)} there, {_short(now)} now"
                raise refuse(OWNER, "study", str(path), f"a new file, or one about the same {key} ({there})")
        mend(path)
        study = optuna.create_study(storage=storage, study_name=STUDY, load_if_exists=True)
        if not kept.get(STUDY):
            study.set_user_attr("about", task.about)
        yield study


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a file to this process, and make it if it is new; the system lets go of it however the process ends."""
    try:
        file = path.open("r+b" if path.exists() else "ab")
    except OSError as problem:
        reason = (problem.strerror or type(problem).__name__).lower()
        raise refuse(OWNER, "study", str(path), f"a file that can be written ({reason})") from None
    with file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ModuleNotFoundError:  # a system without such locks
            pass
        except OSError:
            raise refuse(OWNER, "study", str(path), "a file that no other process is tuning with") from None
        yield


def mend(path: Path) -> None:
    """Cut off a last line that was never finished."""
    content = path.read_bytes()
    whole_lines = content.rfind(b"\n") + 1
    if whole_lines < len(content):
        with open(path, "r+b") as file:
            file.truncate(whole_lines)


def _short(value: Any) -> str:
    shown = value if isinstance(value, str) else json.dumps(value)
    return shown if len(shown) < 100 else shown[:97] + "..."


def searched(study: "Study", task: Task, trials: int, shown: Callable[[int], None]) -> list["FrozenTrial"]:
    """Return the first so many finished trials of a study, after running those that are missing."""
    from optuna.samplers import TPESampler
    from optuna.trial import TrialState

    for left in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(left.number, state=TrialState.FAIL)  # a kill cut it short; it is run again
    ends = (TrialState.COMPLETE, TrialState.PRUNED)
    distributions = {axis.name: axis.distribution for axis in task.axes}
    while True:
        finished = study.get_trials(deepcopy=False, states=ends)
        shown(min(len(finished), trials))
        if len(finished) >= trials:
            return finished[:trials]
        # Anew for every trial: what is tried next depends on the trials before it, not on interruptions between them
        study.sampler = TPESampler(seed=int(np.random.SeedSequence([task.seed, len(finished)]).generate_state(1)[0]))
        if not finished and task.start and not study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
            study.enqueue_trial(task.start)
        trial = study.ask(distributions)
        policy = task.replaced(trial)
        if policy is None:
            study.tell(trial, state=TrialState.PRUNED)
            continue
        for rounds in task.rungs:
            value = task.training(policy, rounds, task.worlds)
            trial.report(value, rounds)
            if rounds == task.horizon:
                study.tell(trial, value)
            elif not promising(
                value, [one.intermediate_values[rounds] for one in finished if rounds in one.intermediate_values]
            ):
                study.tell(trial, state=TrialState.PRUNED)
                break


def promising(value: float, rivals: Sequence[float]) -> bool:
    """Whether a value is in the best third, itself included: asynchronous successive halving (Li et al. 2020).

    Optuna's own pruner counts trials that were cut short as well, so that a study would go on differently after a kill.

    Examples
    --------
    >>> from latentbandits.advice.tune import promising
    >>> [promising(2.5, rivals) for rivals in ([], [1.0, 3.0], [1.0, 3.0, 4.0, 5.0, 6.0])]
    [True, False, True]
    """
    return value <= sorted([*rivals, value])[max(0, (len(rivals) + 1) // KEPT - 1)]


def line(task: Task, trial: "FrozenTrial") -> dict[str, Any]:
    """Return the line of a trial in the frame."""
    rounds = max(trial.intermediate_values, default=0)
    per_round = trial.intermediate_values.get(rounds, np.nan)
    state = "complete" if rounds == task.horizon else "pruned" if rounds else "refused"
    regret = per_round * rounds if state == "complete" else np.nan
    return {"state": state, **task.settings(trial), "rounds": rounds, "per_round": per_round, "training_regret": regret}


def best(task: Task, finished: Sequence["FrozenTrial"]) -> dict[str, Any]:
    """Return the changes with the least regret where they were tuned; the first of equals."""
    complete = [trial for trial in finished if task.horizon in trial.intermediate_values]
    if not complete:
        raise nowhere(task)
    found = task.settings(min(complete, key=lambda trial: trial.intermediate_values[task.horizon]))
    return {axis.setting: found[axis.setting] for axis in task.axes if found[axis.setting] != axis.default}


def nowhere(task: Task) -> ValueError:
    """Return the refusal of a search that has nothing to find."""
    where = {axis.setting: str(axis) for axis in task.axes}
    return refuse(OWNER, "search", where, f"settings that {task.name} accepts together with its others")


def judge(tuning: Tuning, task: Task, changes: dict[str, Any]) -> None:
    """Write down what changes are worth on worlds that no trial has seen."""
    tuned = task.policy._replace(**changes)
    labels = [f"{task.name} (defaults)", *([f"{task.name} (tuned)"] if changes else [])]
    made: dict[str, Any] = dict(zip(labels, (task.policy, tuned), strict=False))
    given = {label: text(task.name, one) for label, one in made.items()}
    if has_limit(task.world):
        made |= enlist([LIMIT], task.world)
    results = simulate(
        task.world, made, horizon=task.horizon, draws=task.runs, repeats=1, seed=task.seed, bins=BINS, workers=task.workers
    )  # fmt: skip
    gain, low, high = interval(results.regret[0] - results.regret[1]) if changes else (0.0, 0.0, 0.0)
    tuning.spec, tuning.name, tuning.default, tuning.searched, tuning.world = (
        task.spec,
        task.name,
        task.policy,
        task.axes,
        task.world,
    )
    tuning.gain, tuning.gain_low, tuning.gain_high, tuning.recommended, tuning.found = gain, low, high, low > 0, changes
    tuning.policy, tuning.settings = (tuned, dict(changes)) if low > 0 else (task.policy, {})
    tuning.ranking = rank(task.world, given, made, results)


def call(policy: Any, world: Any, search: Any, trials: int, study: Any, *sizes: Any) -> str:
    """Return the call that did this."""
    given: dict[str, Any] = {
        "search": dict(search) if search else None,
        "trials": trials,
        "study": str(study) if study else None,
    }
    if not isinstance(world, Problem):  # a problem says these itself
        given |= dict(zip(("horizon", "runs", "units", "seed"), sizes, strict=True))
    described = f"lb.{world}" if isinstance(world, Problem) else f"{type(world).__name__}(...)"
    what = (
        repr(policy)
        if isinstance(policy, str)
        else f"{'lb.' if type(policy).__module__.startswith('latentbandits.') else ''}{policy!r}"
    )
    options = "".join(f",\n    {key}={value!r}" for key, value in given.items() if value is not None)
    return f"tuning = lb.tune(\n    {what},\n    {described}{options},\n)"
