"""The table of experiments: a stable id, and the file that holds its settings and score."""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from latentbandits.experiments.case import Case
from latentbandits.experiments.claims import Claim
from latentbandits.settings import nearest, refuse

if TYPE_CHECKING:
    import pandas as pd

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
    "beyond",
)
# Experiments that are not the paper's
OWN = ("ladder", "beyond")


class Experiment(NamedTuple):
    """One experiment: what to run, and how to judge it.

    Attributes
    ----------
    id : its name for people and files
    summary : one line about it
    cases : given whether it is to be quick, the simulations
    score : given the rows of all runs, the claims and their verdicts
    """

    id: str
    summary: str
    cases: Callable[[bool], list[Case]]
    score: Callable[["pd.DataFrame"], list[Claim]]


def experiment(name: str) -> Experiment:
    """Return the experiment of a name, or refuse it with the nearest."""
    if name not in IDS:
        raise refuse(
            "reproduce", "experiment", name, f"one of {', '.join(IDS)}, or fit alone{nearest(name, (*IDS, 'fit'))}"
        )
    room = "experiments" if name in OWN else "experiments.paper"
    module = importlib.import_module(f"latentbandits.{room}.{name.replace('-', '_')}")
    return Experiment(name, module.SUMMARY, module.cases, module.score)


def experiments(names: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments of some names, all if none are given, in the table's order."""
    chosen = [experiment(name) for name in (names or IDS)]
    return sorted(dict.fromkeys(chosen), key=lambda one: IDS.index(one.id))
