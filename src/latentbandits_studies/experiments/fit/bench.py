"""A bench for settings: settings of a policy in, the main table's quantity out; what was measured is kept on disk."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

import numpy as np

from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.fit.grids import Setting, Settings, meant
from latentbandits_studies.experiments.paper.worlds import SCALE, rows
from latentbandits_studies.experiments.store import Store

TOGETHER = 8  # settings that share the making of a world; results are on disk after each batch


def word(value: Setting) -> str:
    """Return a setting's value as people write it.

    Examples
    --------
    >>> from latentbandits_studies.experiments.fit.bench import word
    >>> word("pair"), word(2.0), word(0.001)
    ('pair', '2', '0.001')
    """
    return value if isinstance(value, str) else f"{value:g}"


class Shelf(Store):
    """A store from which only regrets are wanted."""

    executor: Executor | None = None

    def regrets(self, case: Case, workers: int | None = None) -> tuple[dict[str, np.ndarray], int]:
        """Return each policy's regret per run, simulated unless it is there, and the number of rounds that were simulated."""
        computed = self.compute(case, workers, executor=self.executor)
        regrets = {label: self.runs(case, label)["regret"].to_numpy() for label in case.policies}
        return regrets, len(computed) * case.horizon * case.draws * case.repeats


class Bench:
    """Settings of one policy in, the table's quantity out, on the same draws for all of them."""

    def __init__(
        self, name: str, shelf: Shelf, draws: int, seed: int, workers: int | None, simulated: Callable[[int], None]
    ) -> None:
        self._name, self._shelf, self._draws, self._seed = name, shelf, draws, seed
        self._workers, self._simulated = workers, simulated
        self._known: dict[tuple[str, str], np.ndarray] = {}

    def __call__(self, settings: Sequence[Settings], among: Sequence[str]) -> np.ndarray:
        """Return settings x rows x draws."""
        labels = [" ".join(f"{name}={word(value)}" for name, value in sorted(one.items())) for one in settings]
        labelled = dict(zip(labels, settings, strict=True))
        for row in among:
            wanted = [label for label in labelled if (row, label) not in self._known]
            for first in range(0, len(wanted), TOGETHER):
                self._simulate(row, {label: labelled[label] for label in wanted[first : first + TOGETHER]})
        return np.array([[self._known[row, label] for row in among] for label in labels])

    def _simulate(self, row: str, wanted: Mapping[str, Settings]) -> None:
        world, horizon = rows()[row]
        policies = {label: meant(self._name, settings, world) for label, settings in wanted.items()}
        found, rounds = self._shelf.regrets(
            Case(row, world, policies, horizon, self._draws, seed=self._seed), self._workers
        )
        self._known |= {(row, label): SCALE * regret for label, regret in found.items()}
        self._simulated(rounds)

    @property
    def tried(self) -> int:
        """Number of settings that were measured."""
        return len({label for _, label in self._known})
