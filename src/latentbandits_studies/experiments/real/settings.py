"""All datasets, all policies that are given nothing, all sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from latentbandits.policies.groups import CONTROL, FEW, LIBRARY, ORACLES, RECORDS, SCALED
from latentbandits.policies.oracles import Scripted
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Contestant, Oracle, Policy, Realisation
from latentbandits.random import Purpose, stream
from latentbandits.simulation.batch import believe_one
from latentbandits.specs import fair, policy
from latentbandits.worlds.recorded import Replay
from latentbandits_studies.data import load, names
from latentbandits_studies.experiments.case import Case, Size

LEVELS = 64  # believed rewards are rounded to this many


@dataclass(frozen=True)
class Ruler:
    """A world in which arm a costs a: the regret of a run is the sequence of its arms. The context holds the rewards of a replay."""

    replay: Replay
    arms: int = LEVELS

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return the costs and, as context, the rewards of the replay; see `latentbandits.protocols.World`."""
        rewards = self.replay.realise(horizon, 1, seed, draw, repeat).rewards[:, 0]
        costs = np.tile(-np.arange(self.arms, dtype=float), (horizon, 1))
        return Realisation(costs, np.repeat(costs[:, None], groups, axis=1), rewards, np.full(horizon, -1), None)


class Believed(Oracle):
    """Oracle for a `Ruler`: plays, round by round, the mean reward of the state that another policy believes to be in.

    The mean is over the arms that the policy has tried in that state, and is rounded to one of `LEVELS` between the least and the
    greatest reward recorded. The policy's run is the one that a simulation with this seed and draw has.
    """

    base: Any
    draw: int
    seed: int = 0

    @property
    def arms(self) -> int:
        """Number of arms of the ruler."""
        return LEVELS

    @property
    def groups(self) -> int:
        """Groups per round."""
        return 1

    def informed(self, realisation: Realisation) -> Policy:
        """Return the levels believed in the rewards of the context."""
        rewards = realisation.context
        none = np.zeros((len(rewards), 0))
        played = Realisation(rewards, rewards[:, None], none, realisation.states, None)
        beliefs = believe_one(self.base, played, stream(self.seed, Purpose.POLICY, self.draw, 0))
        present = [belief.present for belief in beliefs]
        means = [np.zeros(0) if state is None else np.array(state.means) for state in present]
        low, high = rewards.min(), rewards.max()
        finite = [values[~np.isnan(values)] for values in means]
        level = np.array([values.mean() if len(values) else (low + high) / 2 for values in finite])
        share = np.clip((level - low) / max(high - low, 1e-300), 0.0, 1.0)
        return Scripted(LEVELS, 1, np.rint(share * (LEVELS - 1)).astype(np.int64))


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
    """Return every policy that plays one group and is given nothing, by spec; a few of them for a quick run.

    Where rewards are not on [0, 1], policies that need such rewards learn their range (`scaled(NAME)`). Policies that play several groups
    in a round would see several arms of it, so they are left out.
    """
    world = load(name).world
    chosen = [spec for spec in (QUICK_POLICIES if quick else REGISTRY) if spec not in (*ORACLES, *RECORDS, SCALED)]
    contestants = {spec: policy(spec, arms=world.arms) for spec in (fair(spec, world) for spec in chosen)}
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


def with_weather() -> list[str]:
    """Return the datasets for which the weather of every round is known."""
    return [name for name in names() if load(name).unseen]


def cases(size: Size) -> list[Case]:
    """Return one case per dataset, and one more for beliefs where the weather is known."""
    quick = size != "full"
    seeds = QUICK_SEEDS if quick else SEEDS
    planned = [
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
    for name in with_weather()[: 1 if quick else None]:
        base = policy(LIBRARY, arms=load(name).rewards.shape[1])
        runs = {f"{LIBRARY}|run {run}": Believed(base, run) for run in range(QUICK_SEEDS if quick else BELIEFS)}
        played = rounds(name, quick)
        planned.append(Case(name + ALONE, Ruler(load(name).world), runs, played, 1, bins=played))
    return planned
