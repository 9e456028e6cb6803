"""The paper's main table: cumulative regret of all policies in fourteen environments.

By order in the paper's source it is Table 3; `table2` is this experiment's id.
"""

from latentbandits_studies.experiments.registry import Experiment
from latentbandits_studies.experiments.table2.claims import score
from latentbandits_studies.experiments.table2.figures import FIGURES, tables
from latentbandits_studies.experiments.table2.settings import (
    ADDED_GROUP,
    APART,
    FOLLOWING,
    PAPER_GROUP,
    SAME,
    STATED,
    added,
    best,
    cases,
    paper,
    summary,
)

__all__ = [
    "ADDED_GROUP",
    "APART",
    "EXPERIMENT",
    "FOLLOWING",
    "PAPER_GROUP",
    "SAME",
    "STATED",
    "added",
    "best",
    "cases",
    "paper",
    "score",
    "summary",
    "tables",
]

EXPERIMENT = Experiment(
    "table2",
    "the main table: cumulative regret, 14 environments x 13 policies, the Bayes limit, and policies that the paper does not have",
    cases,
    score,
    title="table2: the main table",
    table=summary,
    place=10,
    figures=FIGURES,
    tables=tables,
)
