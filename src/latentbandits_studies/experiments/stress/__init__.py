"""Stress: every policy that is given nothing, in many worlds of the kinds that users have."""

from latentbandits_studies.experiments.registry import Experiment
from latentbandits_studies.experiments.stress.claims import cases, score, table
from latentbandits_studies.experiments.stress.figures import FIGURES, INTRODUCTION, tables

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "stress",
    "many worlds of the kinds that users have: every policy that is given nothing against the best other, stuck runs, worst runs",
    cases,
    score,
    title="stress: where each policy fails",
    table=table,
    ours=True,
    place=150,
    figures=FIGURES,
    introduction=INTRODUCTION,
    tables=tables,
)
