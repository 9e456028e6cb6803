"""All datasets, all policies that are given nothing, all sizes."""

import numpy as np

from latentbandits.policies.groups import CONTROL, FEW, ORACLES, RECORDS, SCALED
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Contestant
from latentbandits.specs import fair, policy
from latentbandits_studies.data import load, names
from latentbandits_studies.experiments.case import Case, Size

SEEDS, QUICK_SEEDS = 16, 2
QUICK_ROUNDS = 600
QUICK_POLICIES = (*FEW, CONTROL)
STEP = 24  # rounds of one step of a curve, about: a day of hours
STEPS = (
    256  # at least, unless there are fewer rounds: intervals of a short record would be far too narrow with few steps
)


def candidates(quick: bool = False) -> list[str]:
    """Return the names of all policies that are given nothing; a few of them for a quick run."""
    return [name for name in (QUICK_POLICIES if quick else REGISTRY) if name not in (*ORACLES, *RECORDS, SCALED)]


def contestants(name: str, quick: bool = False) -> dict[str, Contestant]:
    """Return every policy that plays one group and is given nothing, by spec; a few of them for a quick run.

    Where rewards are not on [0, 1], policies that need such rewards learn their range (`scaled(NAME)`). Policies that play several groups
    in a round would see several arms of it, so they are left out.
    """
    world = load(name).world
    contestants = {spec: policy(spec, arms=world.arms) for spec in (fair(name, world) for name in candidates(quick))}
    return {spec: contestant for spec, contestant in contestants.items() if contestant.groups == 1}


def rounds(name: str, quick: bool) -> int:
    """Return how many rounds of a dataset are played."""
    return min(QUICK_ROUNDS, len(load(name).rewards)) if quick else len(load(name).rewards)


def edges(name: str, quick: bool) -> np.ndarray:
    """Return the first round of every step of a curve, and the end of the last."""
    played = rounds(name, quick)
    steps = max(played // STEP, min(played, STEPS))
    edges: np.ndarray = np.arange(steps + 1) * played // steps
    return edges


def cases(size: Size) -> list[Case]:
    """Return one case per dataset."""
    quick = size != "full"
    seeds = QUICK_SEEDS if quick else SEEDS
    return [
        Case(
            name,
            load(name).world,
            contestants(name, quick),
            rounds(name, quick),
            seeds,
            bins=len(edges(name, quick)) - 1,
        )
        for name in names()
    ]
