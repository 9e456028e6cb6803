"""All datasets, all policies that are given nothing, all sizes."""

from functools import cache

import numpy as np

from latentbandits.policies.groups import CONTROL, FEW, LIBRARY, ORACLES, SCALED, STATED
from latentbandits.policies.registry import REGISTRY
from latentbandits.simulation.runs import Contestant
from latentbandits.specs import fair, policy
from latentbandits_studies.data import load, names
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.real.replay import Believed, Replay, Ruler

SEEDS, QUICK_SEEDS = 16, 2
QUICK_ROUNDS = 600
QUICK_POLICIES = (*FEW, CONTROL)
STEP = 24  # rounds of one step of a curve, about: a day of hours
STEPS = (
    256  # at least, unless there are fewer rounds: intervals of a short record would be far too narrow with few steps
)
BELIEFS = 2  # runs whose beliefs are compared with the weather
ALONE = ": beliefs"  # marks the cases that hold them


def contestants(name: str, quick: bool = False) -> dict[str, Contestant]:
    """Return every policy that plays one unit and is given nothing, by spec; a few of them for a quick run.

    Where rewards are not on [0, 1], policies that need such rewards learn their range (`scaled:NAME`). Policies that play several units
    in a round would see several arms of it, so they are left out.
    """
    world = load(name).world
    chosen = [spec for spec in (QUICK_POLICIES if quick else REGISTRY) if spec not in (*ORACLES, *STATED, SCALED)]
    made = {spec: policy(spec, arms=world.arms) for spec in (fair(spec, world) for spec in chosen)}
    return {spec: one for spec, one in made.items() if one.units == 1}


@cache
def replay(name: str) -> Replay:
    """Return a dataset as a world."""
    return Replay(name, load(name).world)


def rounds(name: str, quick: bool) -> int:
    """Return how many rounds of a dataset are played."""
    return min(QUICK_ROUNDS, len(load(name).rewards)) if quick else len(load(name).rewards)


def edges(name: str, quick: bool) -> np.ndarray:
    """Return the first round of every step of a curve, and the end of the last."""
    played = rounds(name, quick)
    steps = max(played // STEP, min(played, STEPS))
    found: np.ndarray = np.arange(steps + 1) * played // steps
    return found


def with_weather() -> list[str]:
    """Return the datasets for which the weather of every round is known."""
    return [name for name in names() if load(name).unseen]


def cases(quick: bool) -> list[Case]:
    """Return one case per dataset, and one more for beliefs where the weather is known."""
    seeds = QUICK_SEEDS if quick else SEEDS
    made = [
        Case(name, replay(name), contestants(name, quick), rounds(name, quick), seeds, bins=len(edges(name, quick)) - 1)
        for name in names()
    ]
    for name in with_weather()[: 1 if quick else None]:
        base = policy(LIBRARY, arms=load(name).rewards.shape[1])
        runs = {f"{LIBRARY}|run {run}": Believed(base, run) for run in range(QUICK_SEEDS if quick else BELIEFS)}
        played = rounds(name, quick)
        made.append(Case(name + ALONE, Ruler(replay(name)), runs, played, 1, bins=played))
    return made
