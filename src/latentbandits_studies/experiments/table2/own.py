"""The main table with policies of one's own: on the same matrices, beside the published cells and our rows, and never in a score."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from latentbandits.policies.groups import LIBRARY, LIMIT
from latentbandits.presentation.numbers import aligned, figure, multiple, span
from latentbandits.presentation.palette import label
from latentbandits.protocols import Contestant
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import Contestants, as_policies, labelled
from latentbandits.simulation.runs import Runner
from latentbandits_studies.experiments.case import OWN, Case, Size
from latentbandits_studies.experiments.paper.worlds import SCALE, SINGLE_GROUP, TITLES, TWO_GROUP, published, rows
from latentbandits_studies.experiments.registry import Experiment
from latentbandits_studies.experiments.table2.settings import added, cases, summary

HEAD = ("environment", "regret", "95 % interval", "x limit", "the paper's best", "published / 2", "our run", LIBRARY)
WORDS = (
    "Regret per group on the same matrices for all. The paper's best: of its policies with as many groups at most, the one with the lowest "
    "published cell; published cells are twice the regret per group."
)


def with_own(table2: Experiment, policies: Contestants) -> Experiment:
    """Return the main table with further policies.

    Parameters
    ----------
    table2 : Experiment
        The main table.
    policies : iterable or mapping
        Policies or specs, as `latentbandits.simulate` takes them.

    Examples
    --------
    >>> from latentbandits_studies.experiments.registry import experiment
    >>> from latentbandits_studies.experiments.table2.own import with_own
    >>> last = with_own(experiment("table2"), ["sw-ucb:window=300"]).cases("quick")[-1]
    >>> last.name, list(last.policies)
    ('T5000 | own', ['sw-ucb:window=300'])
    """
    named = labelled(policies, "reproduce")
    taken = {label for case in cases("quick") for label in case.policies}
    for each in named:
        if each in taken:
            raise InvalidValueError("reproduce", "policies", each, "policies that the main table does not have yet")
    wider = table2._replace(cases=partial(_cases, named=named))
    wider.cases("quick")  # refuses what cannot play
    return wider


def _cases(size: Size, named: Mapping[str, Contestant | str]) -> list[Case]:
    """Return the cases of the main table, and one more per row with policies of one's own, on as many runs as those that we added."""
    own = [
        replace(case, name=row + OWN, policies=as_policies(named, case.world, "reproduce"))
        for row, case in zip(rows(), added(size), strict=True)
    ]
    return [*cases(size), *own]


def own_text(results: pd.DataFrame, played: Sequence[Case]) -> str:
    """Return a table for every policy of one's own: a line per environment, with what the paper and our own runs have there."""
    cells = summary(results).set_index(["row", "policy"])
    groups = {
        own: Runner(policy).groups
        for case in played
        if case.name.endswith(OWN)
        for own, policy in case.policies.items()
    }
    parts = []
    for own in groups:
        lines = [
            _line(cells, row, own, (*TWO_GROUP, *SINGLE_GROUP) if groups[own] > 1 else SINGLE_GROUP) for row in rows()
        ]
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
