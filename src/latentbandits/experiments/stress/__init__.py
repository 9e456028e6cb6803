"""Stress: every policy that is given nothing, in many worlds of the kinds that users have."""

from latentbandits.experiments.registry import Experiment
from latentbandits.experiments.stress.claims import score, table
from latentbandits.experiments.stress.settings import cases

__all__ = ["EXPERIMENT"]

EXPERIMENT = Experiment(
    "stress",
    "many worlds of the kinds that users have: every policy that is given nothing against the best other, stuck runs, worst runs",
    cases,
    score,
    title="stress: where each policy fails",
    table=table,
    ours=True,
)
