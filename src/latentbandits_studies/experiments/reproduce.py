"""Run experiments, keep their results, and judge them; what was run before is not run again."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from latentbandits.files import write_whole
from latentbandits.presentation.progress import Stages
from latentbandits.settings import InvalidValueError, check_int
from latentbandits_studies.experiments.case import SIZES, Case, Size, resize
from latentbandits_studies.experiments.claims import Claim, temper
from latentbandits_studies.experiments.registry import Experiment, experiments
from latentbandits_studies.experiments.store import Store


class Outcome(NamedTuple):
    """What came of one experiment: its claims, and how many of its cells (a policy in a case) were computed or reused."""

    experiment: Experiment
    claims: list[Claim]
    seconds: float
    computed: int
    reused: int


def reproduce(
    names: Sequence[str | Experiment],
    folder: str | Path,
    size: Size = "paper",
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    finished: Callable[[Outcome], None] | None = None,
    executor: Executor | None = None,
    sizes: tuple[int | None, int] | None = None,
) -> list[Outcome]:
    """Run the named experiments (all if none) and leave rows, a description and tables in a folder.

    Parameters
    ----------
    names : sequence of str or Experiment
        Ids, as listed by ``latentbandits experiments``, or experiments themselves.
    folder : path or str
        Where results are kept; what is there already is used.
    size : {"quick", "paper", "full"}
        How much is run. Quick: fewer matrices, shorter sweeps, nothing is judged. Paper: the columns of the paper's main table in full, and
        what is made of them, are judged; all else is quick. Full: everything is judged.
    workers : int, optional
        Threads; as many as there are cores if not given.
    progress : callable, optional
        Called with rounds done and the total, of all experiments together.
    finished : callable, optional
        Called with each outcome as soon as it is there.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads, as in `latentbandits.simulate`.
    sizes : tuple of int, optional
        Draws of every case (its own if None), and the number of the first: a part of a run, which judges nothing.

    Examples
    --------
    >>> import tempfile
    >>> from latentbandits_studies.experiments.reproduce import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcomes = reproduce(["timing"], folder, "quick", sizes=(4, 0))
    >>> outcomes[0].computed > 0
    True
    """
    chosen = experiments(names)
    if workers is not None:
        check_int("reproduce", "workers", workers, least=1)
    if size not in SIZES:
        raise InvalidValueError("reproduce", "size", size, f"one of {', '.join(SIZES)}")
    store = Store(folder)
    for experiment in chosen:
        store.refuse_smaller(experiment.id, size, sizes)
    planned = {experiment: resize(experiment.cases(size), sizes) for experiment in chosen}
    stages = Stages(progress, *_waiting(store, [case for cases in planned.values() for case in cases]))
    outcomes = []
    for experiment, cases in planned.items():
        begin = time.perf_counter()
        computed = sum(len(store.compute(case, workers, stages.next(), executor)) for case in cases)
        quick = experiment.is_quick(size)
        rows = store.rows(cases, quick)
        store.save(experiment.id, rows)
        if experiment.table is not None:
            table = experiment.table(rows).to_csv(index=False, float_format="%.6g")
            write_whole(store.folder / f"{experiment.id}.csv", table.encode())
        seconds = time.perf_counter() - begin
        store.note(experiment.id, cases, size, seconds if computed else 0.0, sizes)
        cells = sum(len(case.policies) for case in cases)
        claims = temper(experiment.score(rows), quick or sizes is not None)
        outcomes.append(Outcome(experiment, claims, seconds, computed, cells - computed))
        if finished is not None:
            finished(outcomes[-1])
    return outcomes


def _waiting(store: Store, cases: Sequence[Case]) -> list[int]:
    """Return how many rounds of each case remain; what two cases share is simulated for the first of them."""
    seen, rounds = set[str](), []
    for case in cases:
        keys = {case.keys[label] for label in store.missing(case)} - seen
        seen |= keys
        rounds.append(case.horizon * case.draws * case.repeats * len(keys))
    return rounds
