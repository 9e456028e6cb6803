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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits import __version__, specs
from latentbandits.advice.compare import BINS, LIMIT, Ranking, fits, has_limit, rank, sizes_of, understand
from latentbandits.advice.problem import Problem
from latentbandits.advice.space import Axis, space
from latentbandits.policies.table import TABLE
from latentbandits.policies.table import policy as named
from latentbandits.protocols import World
from latentbandits.settings import describe, refusal, refuse, whole
from latentbandits.simulation.batch import enlist, simulate
from latentbandits.simulation.results import interval
from latentbandits.text import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from optuna.study import Study
    from optuna.trial import FrozenTrial

OWNER = "tune"
# Worlds are tuned on from draw 0 on and judged from this draw on: they share no randomness
HELD_OUT = 1_000_000
# Worlds tuned on: a quarter of the worlds judged on, but no fewer than this
FEWEST = 16
# A trial plays these parts of the horizon, each from the beginning, and is given up when it is not among the best third
PARTS, KEPT = (9, 3, 1), 3
# Rounds below which a policy has hardly begun
SHORTEST = 200
STUDY = "latentbandits tune"


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
    gain, gain_low, gain_high : mean regret of the defaults less that of the tuned policy on the same held-out worlds, with its 95 % interval
    recommended : whether the interval lies above 0
    ranking : both on the held-out worlds, beside the Bayes limit where it is known
    default : the policy before
    searched : where each setting was searched
    world : the world, or the problem that describes it
    """

    _metadata = (  # noqa: RUF012
        "policy", "spec", "name", "settings", "found", "gain", "gain_low", "gain_high", "recommended", "ranking", "default", "searched",
        "world", "call",
    )  # fmt: skip
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
        return pd.DataFrame  # a part of it is a plain frame

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
        specs.write_policy(path, self.name, self.policy, remarks)

    def python(self) -> str:
        """Return the Python that does the same."""
        return (
            f"import latentbandits as lb\n\n{self.call}\n"
            "print(tuning.settings, tuning.gain, tuning.gain_low, tuning.gain_high)\n"
            "tuning.save('tuned.toml')\nagent = lb.Agent('tuned.toml')"
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

    def settings(self, trial: "FrozenTrial") -> dict[str, Any]:
        """Return the settings of a trial."""
        return {axis.setting: axis.value(trial.params[axis.name]) for axis in self.axes}

    def training(self, policy: Any, rounds: int, worlds: int) -> float:
        """Return the mean regret per round in the first rounds of worlds to tune on."""
        results = simulate(
            self.world, {self.name: policy}, horizon=rounds, draws=worlds, repeats=1, seed=self.seed, bins=1, workers=self.workers
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

    The first trial is the defaults. Each trial plays a ninth, a third and then all of the horizon, and is given up when it is not among
    the best third so far. The best one then meets the defaults on worlds that no trial has seen; only that difference is reported.

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
        A file that remembers every trial. The same call goes on from there, after an interruption or with more trials, and ends as if it had
        never been interrupted.
    horizon, runs, units, seed : int, optional
        Instead of what the problem says, as in `latentbandits.compare`. `runs` held-out worlds; a quarter as many to tune on, at least 16.
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
    >>> fast = lb.Problem(states=2, dwell=15, noise=0.1, horizon=900, runs=40)
    >>> tuning = lb.tune("sw-ucb:exploration=0.2", fast, trials=12)
    >>> tuning.settings["window"] < 50, tuning.gain_low > 0, tuning.recommended
    (True, True, True)
    >>> tuning.columns.tolist()
    ['state', 'window', 'rounds', 'per_round', 'training_regret']
    """
    trials = whole(OWNER, "trials", trials, least=1)
    task = prepare(policy, world, search, horizon, runs, units, seed, workers)
    rehearse(task)
    steps = trials + 1
    shown = progress or (lambda _done, _all: None)
    with silent(), opened(study, task) as found:
        finished = searched(found, task, trials, lambda done: shown(done, steps))
        lines = [line(task, trial) for trial in finished]
    best = chosen(task, lines)
    default = describe(task.policy)
    changes = {field: value for field, value in best.items() if value != default[field]}
    made = judged(task, changes)
    made.call = call(policy, made.world, search, trials, study, horizon, runs, units, seed)
    frame = Tuning(pd.DataFrame(lines).rename_axis("trial"))
    for field in Tuning._metadata:
        setattr(frame, field, getattr(made, field))
    shown(steps, steps)
    return frame


def prepare(
    policy: Any, world: Any, search: Any, horizon: int | None, runs: int | None, units: int | None, seed: int | None, workers: int | None
) -> Task:  # fmt: skip
    """Return what is to be done, or refuse it; nothing is computed yet."""
    try:
        problem, _ = understand(world, horizon=horizon, runs=runs, units=units, seed=seed)
        spec = policy if isinstance(policy, str) else type(policy).__name__
        made: Any = enlist({spec: policy}, problem)[spec]
        fits(spec, made, problem.units if isinstance(problem, Problem) else units)
        sizes = sizes_of(problem, horizon, runs, seed)
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
    return Task(spec, name, made, axes, problem, sizes["horizon"], sizes["runs"], sizes["seed"], workers)


def called(policy: Any, made: Any) -> tuple[str, dict[str, Any]]:
    """Return the name (or module:Class) of a policy, and the settings that its text fixes."""
    if not isinstance(policy, str):
        kind = type(made)
        kin = [name for name, row in TABLE.items() if row.make is kind]
        if not kin:
            return f"{kind.__module__}:{kind.__qualname__}", {}
        own = describe(made)

        def strange(name: str) -> int:
            other = describe(named(name, made.arms, units=made.units))
            return sum(own[field] != other[field] for field in own)

        return min(kin, key=strange), {}
    if policy.endswith(".toml"):
        return str(tomllib.loads(Path(policy).read_text())["policy"]).lower(), {}
    name, fixed = specs.split(policy)
    return name if ":" in name else name.lower(), fixed


def rehearse(task: Task) -> None:
    """Refuse what cannot be played, and a world that is the same in every draw, before any file is touched."""
    rounds = task.rungs[0]
    task.training(task.policy, rounds, 1)
    one, other = (task.world.realise(rounds, task.policy.units, task.seed, draw, 0) for draw in (0, HELD_OUT))
    if np.array_equal(one.rewards, other.rewards):
        raise refuse(
            OWNER, "world", task.world, "one whose draws differ, or else it would be judged where it was tuned"
        )


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
            kept = storage.get_all_studies()
        except Exception:  # whatever a file that is no journal makes of it
            kept = None
        about = task.about
        if kept is None or [one.study_name for one in kept] != ([STUDY] if path.stat().st_size else []):
            raise refuse(OWNER, "study", str(path), "a new file, or one that `tune` wrote")
        for key, now in about.items() if kept and kept[0].user_attrs else ():
            was = kept[0].user_attrs.get(key)
            if was != now:
                raise refuse(
                    OWNER,
                    "study",
                    str(path),
                    f"a new file, or one of the same {key} ({_short(was)} there, {_short(now)} now)",
                )
        mend(path)
        study = optuna.create_study(storage=storage, study_name=STUDY, load_if_exists=True)
        for key, now in about.items():
            if key not in study.user_attrs:
                study.set_user_attr(key, now)
        yield study


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a file to this process, and make it if it is new; the system lets go of it however the process ends."""
    new = not path.exists()
    try:
        with open(path, "ab" if new else "rb") as file:
            try:
                import fcntl
            except ModuleNotFoundError:  # a system that has no such locks
                yield
                return
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise refuse(OWNER, "study", str(path), "a file that no other process is tuning with") from None
            yield
    except OSError as problem:
        reason = (problem.strerror or type(problem).__name__).lower()
        raise refuse(OWNER, "study", str(path), f"a file that can be written ({reason})") from None


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
        try:
            policy = task.policy._replace(**{axis.setting: axis.value(trial.params[axis.name]) for axis in task.axes})
        except ValueError:  # settings that contradict each other
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


def chosen(task: Task, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings with the least regret where they were tuned; the first of equals."""
    complete = [one for one in lines if one["state"] == "complete"]
    if not complete:
        raise refuse(
            OWNER, "search", {axis.setting: str(axis) for axis in task.axes}, f"settings that {task.name} accepts"
        )
    best = min(complete, key=lambda one: float(one["training_regret"]))
    return {axis.setting: best[axis.setting] for axis in task.axes}


def judged(task: Task, changes: Mapping[str, Any]) -> SimpleNamespace:
    """Return what the changes are worth on worlds that no trial has seen."""
    labels = [f"{task.name} (defaults)", f"{task.name} (tuned)"]
    tuned = task.policy._replace(**changes)
    made = dict(zip(labels, (task.policy, tuned) if changes else (task.policy,), strict=False))
    given: dict[str, Any] = dict(made)
    if has_limit(task.world):
        made |= enlist([LIMIT], task.world)
    results = simulate(
        task.world, made, horizon=task.horizon, draws=task.runs, repeats=1, seed=task.seed, first=max(HELD_OUT, task.worlds), bins=BINS,
        workers=task.workers,
    )  # fmt: skip
    gain, low, high = interval(results.regret[0] - results.regret[1]) if changes else (0.0, 0.0, 0.0)
    better = low > 0
    return SimpleNamespace(
        policy=tuned if better else task.policy, spec=task.spec, name=task.name, settings=dict(changes) if better else {},
        found=dict(changes), gain=gain, gain_low=low, gain_high=high, recommended=better, default=task.policy, searched=task.axes,
        ranking=rank(task.world, given, made, results), world=task.world,
    )  # fmt: skip


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
