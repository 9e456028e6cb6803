"""StateLibrary, which has no knowledge of the world, beside the paper's policies, change-point peers and the Bayes limit."""

from latentbandits_studies.experiments.registry import Experiment
from latentbandits_studies.experiments.state_library.claims import score, summary
from latentbandits_studies.experiments.state_library.figures import FIGURES, INTRODUCTION, tables
from latentbandits_studies.experiments.state_library.settings import cases

__all__ = ["EXPERIMENT", "cases", "score", "summary"]

EXPERIMENT = Experiment(
    "state-library",
    "a policy without knowledge of the world: multiples of the Bayes limit, other worlds, more arms, ablations, where it loses",
    cases,
    score,
    title="state-library: a policy that the paper does not have",
    table=summary,
    ours=True,
    place=140,
    figures=FIGURES,
    introduction=INTRODUCTION,
    tables=tables,
)
