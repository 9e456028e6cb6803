"""The machinery of the real datasets fed with made-up series, many times over: ``python -m benchmarks.lifelike``.

A real dataset is one draw of whatever made it, and the best of many policies on it is picked in hindsight. Here the same forecasters, and
departures with a weather that all arms share, are played on as many draws as one likes, so that luck can be told from merit.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

import latentbandits as lb
from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.numbers import aligned
from latentbandits.protocols import Realisation
from latentbandits.specs import fair
from latentbandits_studies.data.forecasters import Series, scores

ROUNDS, SEASON, BEFORE = (
    8000,
    24,
    240,
)  # rounds, steps of a season, and those that the forecasters need before the first round
RIVALS = (LIBRARY, "state-library-forgetful", "ts", "epsilon-greedy", "ab-test", "ucb1", "cp-ts", "sw-ts", "d-ts")
Generator = np.random.Generator


def wandering(chance: Generator, memory: float, rounds: int = ROUNDS + BEFORE) -> np.ndarray:
    """Return a series with mean 0 and variance 1 that forgets a share 1 - memory in every step."""
    shocks = chance.normal(size=rounds + 200) * np.sqrt(1 - memory**2)
    found: np.ndarray = lfilter([1], [1, -memory], shocks)[200:]
    return found


def daily(size: float) -> np.ndarray:
    """Return a daily wave."""
    return size * np.sin(2 * np.pi * np.arange(ROUNDS + BEFORE) / SEASON)


def temperature(chance: Generator) -> np.ndarray:
    """Fronts, days whose size changes, noise that is loud for a while."""
    loud = np.exp(0.6 * wandering(chance, 0.97))
    days = (1 + 0.5 * wandering(chance, 0.99)) * daily(4)
    found: np.ndarray = 8 * wandering(chance, 0.995) + days + 0.7 * loud * wandering(chance, 0.5)
    return found


def wind(chance: Generator) -> np.ndarray:
    """Never below zero, gusty, on the coarse grid of an instrument."""
    loud = np.exp(0.6 * wandering(chance, 0.97))
    speed = 9 + 5 * wandering(chance, 0.95) + daily(2) + 2 * loud * chance.normal(size=ROUNDS + BEFORE)
    found: np.ndarray = np.round(np.maximum(speed, 0) / 1.15) * 1.15
    return found


def pressure(chance: Generator) -> np.ndarray:
    """Smooth, with a jump now and then."""
    jumps = (chance.random(ROUNDS + BEFORE) < 0.002) * chance.normal(0, 8, ROUNDS + BEFORE)
    smooth = lfilter([1], [1, -0.995], 0.4 * wandering(chance, 0.97))
    found: np.ndarray = smooth + lfilter([1], [1, -0.7], jumps) + 0.15 * chance.normal(size=ROUNDS + BEFORE)
    return found


def heavy(chance: Generator) -> np.ndarray:
    """Shocks with heavy tails (Student t, 2.5 degrees) that are loud for a while."""
    loud = np.exp(0.9 * wandering(chance, 0.97))
    shocks = 0.5 * loud * chance.standard_t(2.5, ROUNDS + BEFORE)
    found: np.ndarray = 8 * wandering(chance, 0.995) + daily(3) + shocks
    return found


def flipping(chance: Generator) -> np.ndarray:
    """Trending or noisy, for 150 steps on average: a regime, in which another forecaster is best."""
    noisy = np.cumsum(chance.random(ROUNDS + BEFORE) < 1 / 150) % 2 == 1
    trend = lfilter([1], [1, -0.9], 0.3 * chance.normal(size=ROUNDS + BEFORE))
    steps = np.where(noisy, 0.1 * chance.normal(size=ROUNDS + BEFORE), trend)
    found: np.ndarray = np.cumsum(steps) + np.where(noisy, 1.5, 0.2) * chance.normal(size=ROUNDS + BEFORE)
    return found


def forecast(series: Callable[[Generator], np.ndarray]) -> Callable[[Generator], np.ndarray]:
    """Return what makes the scores of all forecasters of such a series."""
    return lambda chance: scores(Series(np.arange(ROUNDS + BEFORE), series(chance)), SEASON).values


def punctuality(chance: Generator, arms: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weather that all arms share, and for every round and arm the probability to be on time."""
    weather = 0.9 * wandering(chance, 0.97, ROUNDS) + 0.6 * wandering(chance, 0.999, ROUNDS) + daily(0.5)[:ROUNDS]
    own = [0.35 * wandering(chance, 0.95, ROUNDS) + 0.25 * wandering(chance, 0.999, ROUNDS) for _ in range(arms)]
    odds = 1.5 + 0.25 * chance.normal(size=arms) + weather[:, None] + np.stack(own, axis=1)
    return weather, 1 / (1 + np.exp(-odds))


def shares(chance: Generator) -> np.ndarray:
    """Share of the hour's departures that are on time."""
    _, on_time = punctuality(chance, 4)
    number = 1 + chance.poisson(6, on_time.shape)
    found: np.ndarray = chance.binomial(number, on_time) / number
    return found


def single(chance: Generator) -> np.ndarray:
    """Whether one departure is on time."""
    _, on_time = punctuality(chance, 3)
    return (chance.random(on_time.shape) < on_time).astype(float)


def minutes(chance: Generator) -> np.ndarray:
    """Minus the mean minutes late, the more the worse the weather."""
    weather, on_time = punctuality(chance, 4)
    number, total = 1 + chance.poisson(6, on_time.shape), np.zeros(on_time.shape)
    for i in range(number.max()):
        late = 15 + chance.exponential(40, on_time.shape) * np.exp(-0.3 * weather[:, None])
        one = np.where(chance.random(on_time.shape) > on_time, np.minimum(late, 180), 3 * chance.random(on_time.shape))
        total += np.where(i < number, one, 0)
    return -total / number


KINDS: Mapping[str, Callable[[Generator], np.ndarray]] = {
    "forecasts: temperature": forecast(temperature),
    "forecasts: wind": forecast(wind),
    "forecasts: pressure": forecast(pressure),
    "forecasts: heavy tails": forecast(heavy),
    "forecasts: two regimes": forecast(flipping),
    "departures: shares": shares,
    "departures: single": single,
    "departures: minutes": minutes,
}


class Lifelike(NamedTuple):
    """A kind of record as a world: every draw is another one."""

    kind: str

    def table(self, seed: int, draw: int) -> np.ndarray:
        """Return the rewards of all arms in all rounds."""
        return KINDS[self.kind](np.random.default_rng([seed, draw, list(KINDS).index(self.kind)]))

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return a draw; see `latentbandits.protocols.World`."""
        return lb.Replay(self.table(seed, draw)).realise(horizon, groups, seed, draw, repeat)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.table(0, 0).shape[1])


def losses(kind: str, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Return, per policy and draw, the loss to the best single arm per round, in thousandths of the rewards' standard deviation."""
    world, tables = Lifelike(kind), [Lifelike(kind).table(seed, draw) for draw in range(draws)]
    played = {name: lb.policy(fair(name, lb.Replay(tables[0])), arms=world.arms) for name in RIVALS}
    results = lb.simulate(world, played, horizon=ROUNDS, draws=draws, repeats=1, bins=1, seed=seed)
    best = np.array([(each.max(axis=1) - each[:, each.mean(axis=0).argmax()]).sum() for each in tables])
    group = np.array([each.std() for each in tables]) * ROUNDS / 1000
    return {name: (regret - best) / group for name, regret in zip(RIVALS, results.regret, strict=True)}


def main() -> None:
    """Print a row per kind: the library, the three best others, and its difference to the best of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lifelike", description=__doc__)
    parser.add_argument("--draws", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rows, firsts, total = [], 0, dict.fromkeys(RIVALS, 0.0)
    for kind in KINDS:
        found = losses(kind, asked.draws, asked.seed)
        others = sorted(RIVALS[1:], key=lambda name: float(found[name].mean()))
        less = found[LIBRARY] - found[others[0]]
        half = 1.96 * less.std(ddof=1) / np.sqrt(len(less))
        firsts += sum(min(RIVALS, key=lambda name: found[name][draw]) == LIBRARY for draw in range(asked.draws))
        total = {name: total[name] + float(found[name].mean()) / len(KINDS) for name in RIVALS}
        best = ", ".join(f"{name} {found[name].mean():.1f}" for name in others[:3])
        rows.append([kind, f"{found[LIBRARY].mean():.1f}", best, f"{less.mean():+.1f} ± {half:.1f}"])
    print(aligned(["kind", LIBRARY, "best others", "less the best other"], rows))
    print(f"first in {firsts} of {asked.draws * len(KINDS)} draws; means over all kinds:", end=" ")
    print(", ".join(f"{name} {value:.1f}" for name, value in sorted(total.items(), key=lambda pair: pair[1])))


if __name__ == "__main__":
    main()
