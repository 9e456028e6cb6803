"""StateLibrary with observed features: ``python -m benchmarks.features [--draws 32] [--seed 0]``.

Three regimes of 200 rounds on average (or one), three arms, 10,000 rounds, Gaussian rewards (noise 0.1 and 0.3) and clicks. StateLibrary
with the features, beside StateLibrary without them, and LinUCB with them and a constant, which knows no states.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np

import latentbandits as lb
from latentbandits.presentation.numbers import aligned, figure
from latentbandits.protocols import Realisation

HORIZON, DAY = 10_000, 24
KINDS = {
    "two binary features": 2,
    "two of four binary features": 4,
    "daily sine, the same for all arms": 2,
    "daily sine per arm": 2,
    "four useless binary features": 4,
    "useless binary features and sines": 4,
}


class Shown(NamedTuple):
    """A world whose features are observed and, unless they are useless, shift the mean of every arm; with a constant if asked for."""

    kind: str
    world: Any
    clicks: bool
    constant: bool = False

    @property
    def arms(self) -> int:
        return int(self.world.arms)

    def effects(self, x: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return the effect of every round's features on every arm."""
        size = 0.15 if self.clicks else 0.3
        slopes = generator.uniform(-size, size, (x.shape[1], self.arms))
        if "of four" in self.kind:
            slopes[2:] = 0
        if "same for all" in self.kind:
            slopes[:] = slopes[:, :1]
        return np.asarray(x @ slopes if "useless" not in self.kind else np.zeros((len(x), self.arms)))

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return a realisation of the world with the effects added, and the features as context."""
        made: Realisation = self.world.realise(horizon, groups, seed, draw, repeat)
        generator = np.random.default_rng([seed, draw, repeat, 14])
        binary = np.where(generator.random((horizon, 4)) < 0.5, -1.0, 1.0)
        angle = 2 * np.pi * np.arange(horizon) / DAY
        sines = np.stack([np.sin(angle), np.cos(angle)], axis=1)
        wanted = KINDS[self.kind]
        x = sines if "daily" in self.kind else np.hstack([binary[:, :2], sines])
        x = binary[:, :wanted] if "sine" not in self.kind else x
        effects = self.effects(x, generator)
        means, rewards = made.means + effects, made.rewards + effects[:, None]
        if self.clicks:
            rewards = (generator.random(rewards.shape) < means[:, None]).astype(float)
        context = np.hstack([np.ones((horizon, 1)), x]) if self.constant else x
        return made._replace(means=means, rewards=rewards, context=context)


def places(states: int) -> dict[str, tuple[Any, bool]]:
    """Return the worlds beneath: Gaussian rewards with two sizes of noise, and clicks."""
    clicks = lb.HiddenMarkov(states=states, arms=3, dwell=200, rewards="bernoulli", span=(0.3, 0.7))
    quiet, loud = (lb.HiddenMarkov(states=states, arms=3, dwell=200, noise=noise) for noise in (0.1, 0.3))
    return {"noise 0.1": (quiet, False), "noise 0.3": (loud, False), "clicks": (clicks, True)}


def regrets(kind: str, world: Any, clicks: bool, draws: int, seed: int) -> list[np.ndarray]:
    """Return the regret of StateLibrary with and without features, and of LinUCB, on the same draws."""
    wanted = KINDS[kind]
    library = {
        "with": lb.policy("state-library", arms=3, covariates=wanted),
        "without": lb.policy("state-library", arms=3),
    }
    linear = lb.policies.TraceLearner(arms=3, lag="none", fingerprint=False, covariates=1 + wanted, exploration=1.0)
    options: dict[str, Any] = {"horizon": HORIZON, "draws": draws, "repeats": 1, "bins": 1, "seed": seed}
    found = lb.simulate(Shown(kind, world, clicks), library, **options).regret
    return [*found, lb.simulate(Shown(kind, world, clicks, True), {"linear": linear}, **options).regret[0]]


def main() -> None:
    """Print a line per world."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.features", description=__doc__)
    parser.add_argument("--draws", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[""], help="words of the worlds to play")
    given = parser.parse_args()
    lines = []
    for states, kinds in ((3, list(KINDS)), (1, ["two binary features", "four useless binary features"])):
        for kind in kinds:
            for name, (world, clicks) in places(states).items():
                label = f"{states} state{'s' * (states > 1)}, {kind}, {name}"
                if not any(word in label for word in given.only):
                    continue
                mine, plain, linear = regrets(kind, world, clicks, given.draws, given.seed)
                other = min((plain, linear), key=lambda regret: float(regret.mean()))
                ratio = mine.mean() / other.mean()
                half = 1.96 * (mine - ratio * other).std(ddof=1) / np.sqrt(len(mine)) / other.mean()
                cells = [figure(float(one.mean())) for one in (mine, plain, linear)]
                lines.append([label, *cells, f"{ratio:.2f}", f"{half:.2f}"])
                print(f"\r{len(lines)} worlds", end="", flush=True)
    heads = ["world", "with features", "without", "LinUCB", "with / better of the two", "+-"]
    print("\r" + aligned(heads, lines))


if __name__ == "__main__":
    main()
