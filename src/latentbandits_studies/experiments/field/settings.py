"""All traces of the user's folder, all policies that are given nothing, all sizes."""

import numpy as np

from latentbandits.policies.groups import FORGETFUL, LIBRARY, SCALED
from latentbandits.protocols import Contestant
from latentbandits.specs import is_unit, policy
from latentbandits_studies.data.traces import Trace, load
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.field.rule import REFUSED, traits
from latentbandits_studies.experiments.real.settings import candidates

SEEDS, QUICK_SEEDS = 32, 2
USERS = 4  # seeds of every record where there are many
QUICK_ROUNDS, QUICK_RECORDS = 600, 4
STEPS = 100  # of a curve
# What StateLibrary lacks in each of two variants, all else being equal; they are no rivals
TWINS = {"memory": f"{LIBRARY}:states=2", "own": f"{LIBRARY}:own=false"}
SHOWING = (LIBRARY, FORGETFUL, "arm-library", "ts", "d-ts", "cp-ts", "epsilon-greedy")  # play refused traces


def contestants(trace: Trace, quick: bool = False) -> dict[str, Contestant]:
    """Return the policies that play a trace, by spec: as they are, and within `scaled` if they expect rewards on [0, 1]."""
    world = trace.world
    found = {}
    names = SHOWING if traits(trace).kind == REFUSED else candidates(quick)
    for name in (*names, *TWINS.values()):
        one = policy(name, arms=world.arms)
        if one.groups > trace.units:
            continue
        if one.scale_free or is_unit(world):
            found[name] = one
        if not one.scale_free:
            found[f"{SCALED}({name})"] = policy(f"{SCALED}({name})", arms=world.arms)
    return found


def edges(rounds: int) -> np.ndarray:
    """Return the first round of every step of a curve, and the end of the last."""
    steps = min(STEPS, rounds)
    found: np.ndarray = np.arange(steps + 1) * rounds // steps
    return found


def part(trace: Trace, quick: bool) -> np.ndarray:
    """Return the rewards that are played, (records, rounds, arms)."""
    return trace.rewards[:QUICK_RECORDS, :QUICK_ROUNDS] if quick else trace.rewards


def cases(size: Size) -> list[Case]:
    """Return one case per trace."""
    quick = size != "full"
    found = []
    for trace in load():
        records, rounds, _ = part(trace, quick).shape
        seeds = QUICK_SEEDS if quick else SEEDS if records == 1 else USERS
        bins = len(edges(rounds)) - 1
        found.append(Case(trace.name, trace.world, contestants(trace, quick), rounds, records, seeds, bins=bins))
    return found
