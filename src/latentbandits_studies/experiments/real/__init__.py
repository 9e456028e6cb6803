"""Real data: what all policies earn where the reward of every arm is known in every round, and what could be earned."""

from latentbandits_studies.experiments.real.claims import score, summary
from latentbandits_studies.experiments.real.figures import FIGURES, INTRODUCTION, tables
from latentbandits_studies.experiments.real.settings import cases
from latentbandits_studies.experiments.registry import Experiment

__all__ = ["EXPERIMENT", "cases", "score", "summary"]

EXPERIMENT = Experiment(
    "real",
    "real data: departures, forecasts and caches; mean reward of all policies, the attainable gain, believed regimes and the weather",
    cases,
    score,
    title="real: data that nobody here made up",
    table=summary,
    ours=True,
    place=160,
    figures=FIGURES,
    introduction=INTRODUCTION,
    tables=tables,
)
