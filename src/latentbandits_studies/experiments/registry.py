"""The registry of experiments: every module or package here that declares an `EXPERIMENT` is one."""

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple

from latentbandits.settings import InvalidValueError, nearest
from latentbandits_studies import experiments as package
from latentbandits_studies.experiments.case import SIZES, Case, Size
from latentbandits_studies.experiments.claims import Claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Experiment(NamedTuple):
    """One experiment: what to run, how to judge it, and what the page shows.

    Attributes
    ----------
    id : its name, also of its files; its module has the same name, with underscores
    summary : one line about it
    cases : given the size of a run, the simulations
    score : given the rows of all runs, the claims and their verdicts
    title : its heading on the page, in plain words
    finding : given the rows, the one sentence above its figures: what came out
    table : given the rows, a readable table, written as `<id>.csv`
    ours : whether it is ours and not the paper's
    place : its place on the page: lower ones come first
    figures : its figures, in their order
    introduction : HTML above the figures
    tables : given the rows, HTML below the figures
    judged : the smallest size in which its claims are judged; smaller ones are quick
    brought : whether it plays data that the user brings (`--data`), so that it runs only when it is named
    """

    id: str
    summary: str
    cases: Callable[[Size], list[Case]]
    score: Callable[["pd.DataFrame"], list[Claim]]
    title: str = ""
    finding: Callable[["pd.DataFrame"], str] | None = None
    table: Callable[["pd.DataFrame"], "pd.DataFrame"] | None = None
    ours: bool = False
    place: int = 0
    figures: "Sequence[Illustration]" = ()
    introduction: str = ""
    tables: Callable[["pd.DataFrame"], str] | None = None
    judged: Size = "full"
    brought: bool = False

    def is_quick(self, size: Size) -> bool:
        """Return whether a run of this size is too small for verdicts.

        Examples
        --------
        >>> from latentbandits_studies.experiments.registry import experiment
        >>> [[experiment(name).is_quick(size) for size in ("quick", "paper", "full")] for name in ("table2", "ablation")]
        [[True, False, False], [True, True, False]]
        """
        return SIZES.index(size) < SIZES.index(self.judged)


class Illustration(NamedTuple):
    """A figure of an experiment: the name of its file, what it shows, and the function that plots it from the rows of all runs."""

    name: str
    caption: str
    plot: Callable[["pd.DataFrame"], "Figure"]


@cache
def _all() -> dict[str, Experiment]:
    """Return all experiments by id, in the order of the page."""
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}") for module in iter_modules(package.__path__)
    ]
    declared = [vars(module)["EXPERIMENT"] for module in modules if "EXPERIMENT" in vars(module)]
    return {experiment.id: experiment for experiment in sorted(declared, key=lambda experiment: experiment.place)}


def ids(brought: bool = False) -> list[str]:
    """Return the ids of all experiments, in the order of the page; of those that need data of the user only if asked for."""
    return [name for name, one in _all().items() if brought or not one.brought]


def experiment(name: str) -> Experiment:
    """Return the experiment of an id, or refuse it with the nearest.

    Examples
    --------
    >>> from latentbandits_studies.experiments.registry import experiment
    >>> experiment("many-arms").summary
    '2 to 20 arms: randomized against sequential probing, regret and cost of probes'
    """
    if name not in _all():
        known = ids(brought=True)
        raise InvalidValueError("reproduce", "experiment", name, f"one of {', '.join(known)}{nearest(name, known)}")
    return _all()[name]


def experiments(names: Sequence[str | Experiment] = (), without: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments of some ids, all if none are given, less those that are left out, in the order of the page.

    An experiment that is given itself stays as it is.

    Examples
    --------
    >>> from latentbandits_studies.experiments.registry import experiments
    >>> [one.id for one in experiments(["theory", "table2", "stress"], without=["stress"])]
    ['table2', 'theory']
    """
    left_out = [experiment(name) for name in without]
    named = [experiment(given) if isinstance(given, str) else given for given in names or ids()]
    chosen = [given for given in named if given not in left_out]
    if not chosen:
        raise InvalidValueError("reproduce", "without", " ".join(without), "such that an experiment is left")
    return sorted(dict.fromkeys(chosen), key=lambda given: given.place)
