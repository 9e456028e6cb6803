"""The trials of a tuning: an Optuna study."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from latentbandits.advice.base import BaseProblem
from latentbandits.advice.space import OWNER, Axis, Settings, Value
from latentbandits.extras import missing
from latentbandits.parameters import replaced
from latentbandits.protocols import Contestant, Policy
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import simulate

if TYPE_CHECKING:
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
    """What is tuned, for which problem and how: everything that decides the course of the trials.

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


def run_study(task: Task, trials: int, progress: Callable[[int], None]) -> tuple[pd.DataFrame, dict[str, Value]]:
    """Return a row per trial, and the changes with the least regret on the worlds to tune on."""
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
        finished = run_trials(task, trials, progress)
    finally:
        optuna.logging.set_verbosity(before)
    return pd.DataFrame([row(task, trial) for trial in finished]).rename_axis("trial"), best_changes(task, finished)


def refuse_search(task: Task) -> InvalidValueError:
    """Return the refusal of a search in which the policy accepts no settings."""
    where = {axis.setting: str(axis) for axis in task.axes}
    return InvalidValueError(OWNER, "search", where, f"settings that {task.name} accepts together with its others")


def run_trials(task: Task, trials: int, progress: Callable[[int], None]) -> list["FrozenTrial"]:
    """Run trials, the defaults first if they are within what is searched, and return them."""
    import optuna

    study, distributions = optuna.create_study(), {axis.setting: axis.distribution for axis in task.axes}
    if task.start is not None:
        study.enqueue_trial(task.start)
    for number in range(trials):
        progress(number)
        # A new sampler for every trial: its settings depend on the seed, its number and the trials before
        seed = int(np.random.SeedSequence([task.problem.seed, number]).generate_state(1)[0])
        study.sampler = optuna.samplers.TPESampler(seed=seed)
        earlier = study.get_trials(deepcopy=False)
        trial = study.ask(distributions)
        policy = task.candidate(trial)
        if policy is None:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        for rounds in task.rungs:
            value = task.train(policy, rounds, task.worlds)
            trial.report(value, rounds)
            rivals = [other.intermediate_values[rounds] for other in earlier if rounds in other.intermediate_values]
            if rounds == task.horizon:
                study.tell(trial, value)
            elif not promising(value, rivals):
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
    progress(trials)
    return study.get_trials(deepcopy=False)


def promising(value: float, rivals: Sequence[float]) -> bool:
    """Whether a value is in the best third, itself included: asynchronous successive halving (Li et al. 2020).

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
