"""The trials of a tuning: an Optuna study that continues after an interruption as if there had been none."""

import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from latentbandits import __version__
from latentbandits.advice.base import BaseProblem
from latentbandits.advice.space import OWNER, Axis, Settings, Value
from latentbandits.extras import missing
from latentbandits.parameters import all_settings, replaced
from latentbandits.protocols import Contestant, Policy
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import simulate

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

# The first draw of the worlds to tune on. The worlds to judge on are those of `compare`, from draw 0 on: the two share no randomness,
# and `compare` confirms the gain that is reported.
FIRST_DRAW = 1_000_000
# Worlds to tune on: a quarter of the worlds to judge on, but no fewer than this
FEWEST_WORLDS = 16
# A trial plays the horizon divided by each of these, each time from the beginning, and is pruned when it is not among the best third
PARTS, KEPT = (9, 3, 1), 3
# Rounds below which a policy has hardly begun
FEWEST_ROUNDS = 200
ATTEMPTS = 100  # random settings to try before a search is refused because its policy accepts none of them


class Task(NamedTuple):
    """What is tuned, for which problem and how: everything that decides the course of a study.

    Attributes
    ----------
    spec : the policy as the caller gave it
    name : its name, or module:Class, without settings
    policy : the policy before tuning
    axes : the settings that are searched
    problem : the problem
    workers, executor : number of threads, or who plays instead of them
    """

    spec: str
    name: str
    policy: Policy
    axes: list[Axis]
    problem: BaseProblem
    workers: int | None = None
    executor: Executor | None = None

    @property
    def worlds(self) -> int:
        """Number of worlds to tune on."""
        return max(FEWEST_WORLDS, self.problem.runs // 4)

    @property
    def horizon(self) -> int:
        """Number of rounds."""
        return self.problem.horizon

    @property
    def rungs(self) -> list[int]:
        """The partial horizons, and the whole one."""
        return sorted({min(self.horizon, max(FEWEST_ROUNDS, round(self.horizon / part))) for part in PARTS})

    @property
    def start(self) -> dict[str, Value | None] | None:
        """The defaults as parameters of the study; None if they are outside of what is searched."""
        start = {axis.setting: axis.coordinate(axis.default) for axis in self.axes}
        return None if None in start.values() else start

    @property
    def identity(self) -> str:
        """The name of its study: a digest of everything that decides which trials are made and how they end."""
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            problem = re.sub(r" at 0x[0-9a-f]+", "", repr(self.problem))
        sizes = (self.horizon, self.worlds, self.problem.seed, __version__)
        content = repr((self.name, all_settings(self.policy), self.axes, problem, sizes))
        return f"{self.name} {hashlib.sha256(content.encode()).hexdigest()[:16]}"

    def settings(self, trial: "FrozenTrial | Trial") -> Settings:
        """Return the settings of a trial."""
        return {axis.setting: axis.value(trial.params[axis.setting]) for axis in self.axes}

    def candidate(self, trial: "FrozenTrial | Trial") -> Contestant | None:
        """Return the policy with the settings of a trial; None where they contradict each other."""
        try:
            candidate: Contestant = replaced(self.policy, self.settings(trial))
            return candidate
        except ValueError:
            return None

    def train(self, policy: Contestant, rounds: int, worlds: int) -> float:
        """Return the mean regret per round in the first rounds of worlds to tune on."""
        results = simulate(
            self.problem, {self.name: policy}, horizon=rounds, draws=worlds, repeats=1, seed=self.problem.seed,
            first=max(FIRST_DRAW, self.problem.runs), bins=1, workers=self.workers, executor=self.executor,
        )  # fmt: skip
        return float(results.regret.mean()) / rounds


def run_study(
    task: Task, trials: int, path: str | Path | None, progress: Callable[[int], None]
) -> tuple[pd.DataFrame, dict[str, Value]]:
    """Return a row per trial, those of the file at `path` included, and the changes with the least regret on the worlds to tune on."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise ValueError(f"{OWNER}: {missing('optuna')}") from None
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        samples = (study.ask({axis.setting: axis.distribution for axis in task.axes}) for _ in range(ATTEMPTS))
        if task.start is None and not any(task.candidate(trial) for trial in samples):
            raise refuse_search(task)
        finished = run_trials(open_study(path, task), task, trials, progress)
    finally:
        optuna.logging.set_verbosity(before)
    return pd.DataFrame([row(task, trial) for trial in finished]).rename_axis("trial"), best_changes(task, finished)


def refuse_search(task: Task) -> InvalidValueError:
    """Return the refusal of a search in which the policy accepts no settings."""
    where = {axis.setting: str(axis) for axis in task.axes}
    return InvalidValueError(OWNER, "search", where, f"settings that {task.name} accepts together with its others")


def open_study(path: str | Path | None, task: Task) -> "Study":
    """Return the study of a task: a new one, or the one of its name in an SQLite file, which may have studies of other tasks too."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    if path is None:
        return optuna.create_study()
    try:
        return optuna.create_study(storage=f"sqlite:///{path}", study_name=task.identity, load_if_exists=True)
    except (SQLAlchemyError, RuntimeError) as problem:
        reason = str(problem).partition("\n")[0]
        rule = f"a file that can be written, a new one or one that `tune` wrote ({reason})"
        raise InvalidValueError(OWNER, "study", str(path), rule) from None


def run_trials(study: "Study", task: Task, trials: int, progress: Callable[[int], None]) -> list["FrozenTrial"]:
    """Return the first `trials` finished trials of a study, after running those that are missing."""
    from optuna.samplers import TPESampler
    from optuna.trial import TrialState

    distributions = {axis.setting: axis.distribution for axis in task.axes}
    while True:  # a trial that a kill cut short is never finished: it is run again
        finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        progress(min(len(finished), trials))
        if len(finished) >= trials:
            return finished[:trials]
        # A new sampler for every trial: the next settings depend on the trials before, not on interruptions between them
        study.sampler = TPESampler(
            seed=int(np.random.SeedSequence([task.problem.seed, len(finished)]).generate_state(1)[0])
        )
        if not finished and task.start and not study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
            study.enqueue_trial(task.start)
        trial = study.ask(distributions)
        policy = task.candidate(trial)
        if policy is None:
            study.tell(trial, state=TrialState.PRUNED)
            continue
        for rounds in task.rungs:
            value = task.train(policy, rounds, task.worlds)
            trial.report(value, rounds)
            rivals = [
                earlier.intermediate_values[rounds] for earlier in finished if rounds in earlier.intermediate_values
            ]
            if rounds == task.horizon:
                study.tell(trial, value)
            elif not promising(value, rivals):
                study.tell(trial, state=TrialState.PRUNED)
                break


def promising(value: float, rivals: Sequence[float]) -> bool:
    """Whether a value is in the best third, itself included: asynchronous successive halving (Li et al. 2020).

    Optuna's own pruner counts trials that were cut short as well, so that a study would continue differently after a kill.

    Examples
    --------
    >>> from latentbandits.advice.study import promising
    >>> [promising(2.5, rivals) for rivals in ([], [1.0, 3.0], [1.0, 3.0, 4.0, 5.0, 6.0])]
    [True, False, True]
    """
    return value <= sorted([*rivals, value])[max(0, (len(rivals) + 1) // KEPT - 1)]


def row(task: Task, trial: "FrozenTrial") -> dict[str, object]:
    """Return the row of a trial in the table."""
    rounds = max(trial.intermediate_values, default=0)
    per_round = trial.intermediate_values.get(rounds, np.nan)
    outcome = "complete" if rounds == task.horizon else "pruned" if rounds else "refused"
    regret = per_round * rounds if outcome == "complete" else np.nan
    return {
        "outcome": outcome, **task.settings(trial), "rounds": rounds, "per_round": per_round, "training_regret": regret
    }  # fmt: skip


def best_changes(task: Task, finished: Sequence["FrozenTrial"]) -> dict[str, Value]:
    """Return the changes with the least regret on the worlds to tune on; the first of equals."""
    complete = [trial for trial in finished if task.horizon in trial.intermediate_values]
    if not complete:
        raise refuse_search(task)
    best = task.settings(min(complete, key=lambda trial: trial.intermediate_values[task.horizon]))
    return {axis.setting: best[axis.setting] for axis in task.axes if best[axis.setting] != axis.default}
