"""The registry of experiments: a stable id, and the package that holds its settings, score, figures and captions."""

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from latentbandits.settings import Refusal, nearest
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.claims import Claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# In the order of the page. `experiments/<id>/` (with underscores) is the package of an id.
IDS = (
    "table2",
    "winning-rates",
    "optimal-arm-frequency",
    "sensitivity",
    "ablation",
    "misspecification",
    "many-arms",
    "example",
    "residuals",
    "timing",
    "decomposition",
    "theory",
    "ladder",
    "state-library",
    "stress",
    "real",
)


class Experiment(NamedTuple):
    """One experiment: what to run, and how to judge it. Every package declares one, called `EXPERIMENT`.

    Attributes
    ----------
    id : its name, also of its files
    summary : one line about it
    cases : given whether it is to be quick, the simulations
    score : given the rows of all runs, the claims and their verdicts
    title : its heading on the page, if not the id
    table : given the rows, a readable table, written as `<id>.csv`
    ours : whether it is ours and not the paper's
    """

    id: str
    summary: str
    cases: Callable[[bool], list[Case]]
    score: Callable[["pd.DataFrame"], list[Claim]]
    title: str = ""
    table: Callable[["pd.DataFrame"], "pd.DataFrame"] | None = None
    ours: bool = False


class Illustration(NamedTuple):
    """A figure of an experiment: the name of its file, what it shows, and the function that plots it from the rows of all runs."""

    name: str
    caption: str
    plot: Callable[["pd.DataFrame"], "Figure"]


class Section(NamedTuple):
    """What an experiment's `figures.py` declares for the page.

    Attributes
    ----------
    figures : `FIGURES`, the figures in their order
    introduction : `INTRODUCTION`, HTML above the figures; empty where there is none
    tables : `tables`, given the rows, HTML below the figures; None where there is none
    """

    figures: Sequence[Illustration]
    introduction: str
    tables: Callable[["pd.DataFrame"], str] | None


def experiment(name: str) -> Experiment:
    """Return the experiment of an id, or refuse it with the nearest.

    Examples
    --------
    >>> from latentbandits_studies.experiments.registry import experiment
    >>> experiment("many-arms").summary
    '2 to 20 arms: randomized against sequential probing, regret and cost of probes'
    """
    if name not in IDS:
        raise Refusal(
            "reproduce", "experiment", name, f"one of {', '.join(IDS)}, or fit alone{nearest(name, (*IDS, 'fit'))}"
        )
    found: Experiment = _module(name).EXPERIMENT
    return found


def experiments(names: Sequence[str | Experiment] = (), without: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments of some ids, all if none are given, less those that are left out, in the order of the registry.

    An experiment that is given itself stays as it is.

    Examples
    --------
    >>> from latentbandits_studies.experiments.registry import experiments
    >>> [one.id for one in experiments(["theory", "table2", "stress"], without=["stress"])]
    ['table2', 'theory']
    """
    left_out = [experiment(name) for name in without]
    named = [experiment(one) if isinstance(one, str) else one for one in names or IDS]
    chosen = [one for one in named if one not in left_out]
    if not chosen:
        raise Refusal("reproduce", "without", " ".join(without), "such that an experiment is left")
    return sorted(dict.fromkeys(chosen), key=lambda one: IDS.index(one.id))


def section(name: str) -> Section:
    """Return an experiment's part of the page; only this imports matplotlib."""
    module = _module(name, ".figures")
    return Section(module.FIGURES, getattr(module, "INTRODUCTION", ""), getattr(module, "tables", None))


def _module(name: str, part: str = "") -> ModuleType:
    return importlib.import_module(f"latentbandits_studies.experiments.{name.replace('-', '_')}{part}")
