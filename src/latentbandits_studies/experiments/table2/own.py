"""The main table with policies of one's own: on the same matrices, beside the published cells and our rows, and never in a score."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from latentbandits.policies.groups import LIBRARY, LIMIT, SINGLE_UNIT, TWO_UNIT
from latentbandits.presentation.numbers import aligned, figure, multiple, span
from latentbandits.presentation.palette import label
from latentbandits.settings import Refusal, whole
from latentbandits.simulation.batch import as_policies, labelled
from latentbandits_studies.experiments.case import OWN, Case, resized
from latentbandits_studies.experiments.paper.worlds import (
    ADDED_REPEATS,
    MATRICES,
    QUICK_MATRICES,
    SCALE,
    TITLES,
    published,
    rows,
)
from latentbandits_studies.experiments.registry import Experiment
from latentbandits_studies.experiments.table2.settings import cases, summary

HEAD = ("environment", "regret", "95 % interval", "x limit", "the paper's best", "published / 2", "our run", LIBRARY)
FEWEST = 4  # matrices: intervals of fewer say nothing
WORDS = (
    "Regret per unit on the same matrices for all. The paper's best: of its policies with as many units at most, the one with the lowest "
    "published cell; published cells are twice the regret per unit."
)


def with_own(one: Experiment, policies: Any, draws: int | None = None, first: int | None = None) -> Experiment:
    """Return the main table with further policies, and on matrices of one's choice.

    Parameters
    ----------
    one : Experiment
        The main table.
    policies : iterable or mapping
        Policies or specs, as `latentbandits.simulate` takes them; they may be empty.
    draws, first : int, optional
        How many matrices, each played once, and the number of the first; as many as the experiment has if neither is given.

    Examples
    --------
    >>> from latentbandits_studies.experiments.registry import experiment
    >>> from latentbandits_studies.experiments.table2.own import with_own
    >>> made = with_own(experiment("table2"), ["sw-ucb:window=300"], draws=4, first=1000)
    >>> made.cases(True)[-1].name, made.cases(True)[-1].draws, list(made.cases(True)[-1].policies)
    ('T5000 | own', 4, ['sw-ucb:window=300'])
    """
    named = labelled(policies)
    taken = {known for case in cases(quick=True) for known in case.policies}
    for each in named:
        if each in taken:
            raise Refusal("reproduce", "policies", each, "policies that the main table does not have yet")
    if not named and draws is None and first is None:
        return one
    sizes = None
    if draws is not None or first is not None:
        sizes = (
            whole("reproduce", "draws", QUICK_MATRICES if draws is None else draws, least=FEWEST),
            whole("reproduce", "first", first or 0, least=0),
        )
    made = one._replace(cases=partial(_cases, named=named, sizes=sizes), sizes=sizes)
    made.cases(True)  # refuses what cannot play
    return made


def _cases(quick: bool, named: dict[str, Any], sizes: tuple[int, int] | None) -> list[Case]:
    """Return the cases of the main table, and one more per row with policies of one's own."""
    draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, ADDED_REPEATS)
    own = [
        Case(name + OWN, world, as_policies(named, world, "reproduce"), horizon, draws, repeats)
        for name, (world, horizon) in (rows().items() if named else ())
    ]
    return resized([*cases(quick), *own], sizes)


def own_policies(results: pd.DataFrame) -> list[str]:
    """Return the labels of the policies of one's own among the rows of all runs."""
    return list(dict.fromkeys(results.loc[results["case"].str.endswith(OWN), "policy"]))


def own_text(results: pd.DataFrame, units: dict[str, int]) -> str:
    """Return a table for every policy of one's own: a line per environment, with what the paper and our own runs have there."""
    cells = summary(results).set_index(["row", "policy"])
    parts = []
    for own in own_policies(results):
        lines = [_line(cells, row, own, (*TWO_UNIT, *SINGLE_UNIT) if units[own] > 1 else SINGLE_UNIT) for row in rows()]
        parts += [f"{own} in the main table:", aligned(HEAD, lines)]
    return "\n".join([*parts, WORDS])


def _line(cells: pd.DataFrame, row: str, own: str, rivals: Sequence[str]) -> list[str]:
    mine, best = cells.loc[(row, own)], min(rivals, key=lambda name: published()[row][name])
    return [
        TITLES[row],
        figure(mine["regret"]),
        span(max(0.0, mine["low"]), mine["high"]),
        multiple(mine["regret"] / cells.loc[(row, LIMIT), "regret"]),
        label(best),
        figure(published()[row][best] / SCALE),
        *(figure(cells.loc[(row, name), "regret"]) for name in (best, LIBRARY)),
    ]
