"""What is run: the rows of the main table, other worlds, more arms, short runs, and StateLibrary without each of its parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from latentbandits import specs
from latentbandits.policies.groups import FORGETFUL, LIBRARY, LIMIT, PEERS, SINGLE_GROUP
from latentbandits.policies.registry import policy
from latentbandits.protocols import Contestant, Realisation, World
from latentbandits.settings import InvalidValueError
from latentbandits.worlds.drift import Drift
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.seasons import Seasons
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.paper.worlds import MATRICES, TITLES, rows
from latentbandits_studies.experiments.table2 import settings as table2


@dataclass(frozen=True)
class Rescaled:
    """A hidden Markov world in another unit: every reward x becomes shift + scale x.

    Parameters
    ----------
    world : HiddenMarkov
        The world; its rewards must be Gaussian.
    shift, scale : float
        Zero and unit of the rewards; the scale must be positive.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.state_library.settings import Rescaled
    >>> world = Rescaled(lb.HiddenMarkov(), shift=5.0, scale=0.001)
    >>> bool((abs(world.realise(horizon=9, groups=1, seed=0, draw=0, repeat=0).means - 5.0005) < 0.0005).all())
    True
    """

    world: HiddenMarkov
    shift: float
    scale: float

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise InvalidValueError("Rescaled", "scale", self.scale, "above 0")
        if self.world.rewards != "gaussian":
            raise InvalidValueError("Rescaled", "rewards", self.world.rewards, "gaussian")

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.world.arms

    @property
    def span(self) -> tuple[float, float]:
        """Range of the means."""
        means = self.world.span if self.world.means is None else self.world.means
        return self.shift + self.scale * float(np.min(means)), self.shift + self.scale * float(np.max(means))

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        table = self.world.realise(horizon, groups, seed, draw, repeat)
        truth = table.truth
        if truth is not None:
            truth = truth._replace(means=self.shift + self.scale * truth.means, noise=self.scale * truth.noise)
        return table._replace(
            means=self.shift + self.scale * table.means,
            rewards=self.shift + self.scale * table.rewards,
            truth=truth,
        )


HORIZON, DRAWS, PARTS_DRAWS = 20_000, 64, 32
QUICK_HORIZON, QUICK_DRAWS = 4_000, 4
SHORT, SHORT_REPEATS = 500, 2
# Settings of StateLibrary were chosen on worlds of these seeds; all results here are of another
TUNED_SEEDS, SEED = (1000, 2000, 3000), 0

RIVALS = (*SINGLE_GROUP, *PEERS)  # one group, and no knowledge of the world
# What is taken away from StateLibrary, one at a time
PARTS: Mapping[str, Mapping[str, Any]] = {
    "full": {},
    "two particles": {"particles": 2},
    "library of two": {"states": 2},
    "no lag model": {"levels": 0},
    "no trust": {"trust": False},
    "no staleness": {"staleness": False},
}
PARTS_ROWS = ("default", "S2", "S50", "p.5", "sd.5")
ALONE = " | parts"  # ends the names of the ablation's cases
CYCLIC_NOISY = "cyclic chain, noise 0.1"
# Worlds in which the limit has no regret, or that have no chain; their group is the best rival's regret
UNLIMITED = ("one state", "drift", "seasons")
MANY = (5, 10)
CHAINS = ("cyclic chain", "dominant successor")
# The same world in other groups, by the factor of its rewards
RESCALED = {"rewards / 1,000": 1e-3, "rewards x 1,000": 1e3}


def successor(states: int, share: float, stay: float = 0.99) -> np.ndarray:
    """Return a chain in which each state is followed by the next one in a share of all jumps, else by any other.

    Examples
    --------
    >>> from latentbandits_studies.experiments.state_library.settings import successor
    >>> successor(3, 0.8, stay=0.5).tolist()
    [[0.5, 0.4, 0.1], [0.1, 0.5, 0.4], [0.4, 0.1, 0.5]]
    """
    chain = np.full((states, states), (1 - stay) * (1 - share) / (states - 2))
    for state in range(states):
        chain[state, state] = stay
        chain[state, (state + 1) % states] = (1 - stay) * share
    return chain.round(12)


def worlds() -> dict[str, World]:
    """Return worlds unlike those of the main table."""
    return {
        "cyclic chain": HiddenMarkov(transition=successor(10, 1.0)),
        "dominant successor": HiddenMarkov(transition=successor(10, 0.8)),
        "100 states": HiddenMarkov(states=100),
        "narrow means": Rescaled(HiddenMarkov(noise=0.1), shift=0.45, scale=0.1),
        "Bernoulli": HiddenMarkov(rewards="bernoulli"),
        **{
            name: Rescaled(HiddenMarkov(), shift, scale)
            for (name, scale), shift in zip(RESCALED.items(), (5.0, -300.0), strict=True)
        },
        "one state": HiddenMarkov(states=1),
        "drift": Drift(),
        "seasons": Seasons(),
    }


def arms_worlds() -> dict[str, World]:
    """Return worlds with more than two arms."""
    worlds: dict[str, World] = {}
    for arms in MANY:
        worlds[f"{arms} arms"] = HiddenMarkov(arms=arms)
        worlds[f"{arms} arms, stay 0.80"] = HiddenMarkov(arms=arms, stickiness=0.8)
        worlds[f"{arms} arms, noise 0.50"] = HiddenMarkov(arms=arms, noise=0.5)
    return worlds


def cases(size: Size) -> list[Case]:
    """Return the rows of the main table, which are not run twice, other worlds, more arms, short runs, and the ablation."""
    quick = size != "full"
    horizon, draws = (QUICK_HORIZON, QUICK_DRAWS) if quick else (HORIZON, DRAWS)
    planned = [case for case in table2.cases(size) if tuple(case.policies) != table2.LAGGED]
    for name, world in {**worlds(), **arms_worlds()}.items():
        planned.append(Case(name, world, _all(name, world), horizon, draws, seed=SEED))
    for arms in MANY:
        name, world = short(arms), HiddenMarkov(arms=arms)
        runs = (2 * QUICK_DRAWS, 1) if quick else (MATRICES, SHORT_REPEATS)
        planned.append(Case(name, world, _all(name, world), SHORT, *runs, seed=SEED))
    for name, world in _parts_worlds().items():
        policies = {f"{LIBRARY}|{part}": policy(LIBRARY, **changes) for part, changes in PARTS.items()}
        planned.append(Case(name + ALONE, world, policies, horizon, QUICK_DRAWS if quick else PARTS_DRAWS, seed=SEED))
    return planned


def short(arms: int) -> str:
    """Return the name of the short case with so many arms."""
    return f"{arms} arms, {SHORT} rounds"


def _parts_worlds() -> dict[str, World]:
    worlds: dict[str, World] = {row: rows()[row][0] for row in PARTS_ROWS}
    return worlds | {CYCLIC_NOISY: HiddenMarkov(transition=successor(10, 1.0), noise=0.1)}


def _all(case: str, world: World) -> dict[str, Contestant]:
    """Return all policies; rivals that expect rewards on [0, 1] have them scaled in other groups."""
    names = [LIBRARY, FORGETFUL, *RIVALS, *([] if case in UNLIMITED else [LIMIT])]
    return {name: specs.policy(specs.fair(name, world), arms=world.arms) for name in names}


def title(case: str) -> str:
    """Return a case's title."""
    return TITLES.get(case.removesuffix(ALONE), case.removesuffix(ALONE))
