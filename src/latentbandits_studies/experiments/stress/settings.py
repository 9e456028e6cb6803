"""Who plays the stress worlds, and how long."""

from latentbandits.policies.groups import CONTROL, FEW, ORACLES, SCALED, STATED, TWO_UNIT
from latentbandits.policies.registry import REGISTRY
from latentbandits.specs import fair, policy
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.stress.worlds import SEED, WORLDS

DRAWS, QUICK_DRAWS = 24, 4
# A quick run plays this part of the rounds
QUICK_PART = 5

# All that are given nothing about the world, with one unit; `scaled` is no policy of its own
NAMES = tuple(name for name in REGISTRY if name not in (*ORACLES, *STATED, *TWO_UNIT, CONTROL, SCALED))


def cases(quick: bool) -> list[Case]:
    """Return one case per world; the same draws of a world for all policies, and no unit of rewards that harms one.

    A quick run has a few policies only: to compile all of them takes longer than to play.
    """
    return [
        Case(
            one.name,
            one.world,
            {name: policy(fair(name, one.world), arms=one.world.arms) for name in (FEW if quick else NAMES)},
            one.horizon // QUICK_PART if quick else one.horizon,
            QUICK_DRAWS if quick else DRAWS,
            seed=SEED,
        )
        for one in WORLDS
    ]
