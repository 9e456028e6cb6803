"""StateLibrary before and after a change: ``python -m benchmarks.library after.npz --against before.npz``.

Plays it in the stress worlds, on the rows of the main table and of the limit, and in worlds with late rewards and with clicks; with seeds
that choose (1000 and above) or that report (0). Writes every run's regret, and prints paired ratios to another such file. With
``--constants NAME=VALUE`` it plays with other constants, in machine code of its own.
"""

import argparse
import dataclasses
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import latentbandits as lb
from benchmarks.limit import MORE
from latentbandits import noise
from latentbandits.policies.groups import LIBRARY, LIMIT
from latentbandits.policies.state_library import constants
from latentbandits.presentation.numbers import aligned, figure
from latentbandits.protocols import Realisation
from latentbandits.specs import fair
from latentbandits_studies import data
from latentbandits_studies.experiments.paper.worlds import TITLES, rows
from latentbandits_studies.experiments.stress.claims import NAMES
from latentbandits_studies.experiments.stress.worlds import WORLDS

DELAYS = (1, 10, 50, 100, 300, (20, 200), "geometric 20", "geometric 100")
LATE = {f"delay {delay}": lb.HiddenMarkov(states=6, arms=3, noise=0.1, delay=delay) for delay in DELAYS}
CLICKS: Mapping[str, Mapping[str, Any]] = {
    "one state, 1, 2 and 0.5 %": {"means": [[0.01, 0.02, 0.005]]},
    "one state, 3, 5 and 2 %": {"means": [[0.03, 0.05, 0.02]]},
    "one state, 5, 8 and 3 %": {"means": [[0.05, 0.08, 0.03]]},
    "one state, 30, 40 and 20 %": {"means": [[0.3, 0.4, 0.2]]},
    "one state, ten ads, 2 to 6 %": {"states": 1, "arms": 10, "span": (0.02, 0.06)},
    "two regimes of 3,000 rounds, 20 to 40 %": {"means": [[0.3, 0.4, 0.2], [0.4, 0.2, 0.3]], "dwell": 3000},
    "two regimes of 2,000 rounds, 3 to 8 %": {"means": [[0.05, 0.08, 0.03], [0.08, 0.03, 0.05]], "dwell": 2000},
    "three states of 500 rounds, 5 to 30 %": {"states": 3, "arms": 3, "span": (0.05, 0.3), "stickiness": 0.998},
}


@dataclasses.dataclass(frozen=True)
class NearModes:
    """Rewards near 0 or near 1 and never between: yes or no, give or take a little."""

    clicks: lb.HiddenMarkov
    blur: float = 0.02

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.clicks.arms

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return the clicks, blurred."""
        made = self.clicks.realise(horizon, groups, seed, draw, repeat)
        chance = np.random.default_rng([seed, draw, repeat])
        return made._replace(rewards=made.rewards + self.blur * chance.normal(size=made.rewards.shape))


# Worlds in which it was found wanting by others
BLIND: Mapping[str, tuple[Any, int]] = {
    "burnt: 300 rounds in 6,000": (
        lb.HiddenMarkov(
            transition=[[1 - 1 / 6000, 1 / 6000], [1 / 300, 1 - 1 / 300]],
            means=[[1.0, 0.8, 0.2], [0.0, 0.8, 0.2]],
            noise=0.1,
        ),
        40_000,
    ),
    "burnt: a gap of 0.05": (
        lb.HiddenMarkov(
            transition=[[1 - 1 / 5000, 1 / 5000], [1 / 200, 1 - 1 / 200]],
            means=[[0.65, 0.6, 0.5, 0.4], [0.0, 0.6, 0.5, 0.4]],
            noise=0.1,
        ),
        40_000,
    ),
    "alternates every round, two arms": (lb.Seasons(states=2, dwell=1, arms=2, noise=0.1), 10_000),
    "alternates every round, five arms": (lb.Seasons(states=2, dwell=1, arms=5, noise=0.1), 10_000),
    "near 0 or near 1": (NearModes(lb.HiddenMarkov(states=6, arms=3, rewards="bernoulli")), 10_000),
    "near 0 or near 1, one state": (NearModes(lb.HiddenMarkov(states=1, arms=3, rewards="bernoulli")), 10_000),
    "a tiny gap in much noise": (
        lb.HiddenMarkov(means=[[0.5, 0.53, 0.47], [0.53, 0.5, 0.47]], dwell=2000, noise=0.5),
        20_000,
    ),
    "revenue, mostly zero": (
        lb.HiddenMarkov(states=3, arms=3, rewards="revenue", span=(1.0, 20.0), dwell=2000),
        20_000,
    ),
    "one change, three arms": (lb.Seasons(states=2, dwell=10_000, arms=3, noise=0.2), 20_000),
    "drift in 2,000 rounds": (lb.Drift(timescale=2000, arms=3, noise=0.1), 20_000),
    "drift in 1,000 rounds, five arms": (lb.Drift(timescale=1000, arms=5, noise=0.3), 20_000),
    "500 rounds, ten arms": (lb.HiddenMarkov(states=10, arms=10, noise=0.01), 500),
}
Place = tuple[Any, int]
JUDGES: Mapping[str, Mapping[str, Place]] = {
    "stress": {one.name: (one.world, one.horizon) for one in WORLDS},
    "rows": {f"row: {TITLES[row]}": place for row, place in rows().items()}
    | {f"row: {name}": (world, 20_000) for name, world in MORE.items()},
    "late": {name: (world, 10_000) for name, world in LATE.items()},
    "clicks": {
        f"clicks: {name}": (lb.HiddenMarkov(rewards="bernoulli", **settings), 20_000)
        for name, settings in CLICKS.items()
    },
    "blind": BLIND,
    "real": {f"real: {name}": (data.load(name).world, len(data.load(name).rewards)) for name in data.names()},
}


def ratio(new: np.ndarray, old: np.ndarray) -> tuple[float, float]:
    """Return the ratio of two means of paired runs, and half its 95 % interval (by the delta method)."""
    found = new.mean() / old.mean()
    spread = (new - found * old).std(ddof=1) / np.sqrt(len(new)) if len(new) > 1 else np.nan
    return float(found), float(1.96 * spread / old.mean())


def measure(places: Mapping[str, Place], policies: list[str], draws: int, seed: int) -> dict[str, np.ndarray]:
    """Return, per world and policy, the regret of every run."""
    made: dict[str, np.ndarray] = {}
    for name, (world, horizon) in places.items():
        number = draws * 4 if horizon < 5_000 else draws
        played = [fair(one, world) for one in policies]
        results = lb.simulate(world, played, horizon=horizon, draws=number, repeats=1, bins=1, seed=seed)
        made |= {f"{name}|{one}": regret for one, regret in zip(policies, results.regret, strict=True)}
        print(f"\r{len(made)} of {len(places) * len(policies)}", end="", flush=True)
    print("\r", end="")
    return made


def describe(made: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray]) -> str:
    """Return a line per world and policy, and the geometric mean of the ratios."""
    lines, ratios = [], []
    for key, new in made.items():
        line = [key, figure(new.mean()), figure(float(np.median(new))), figure(float(np.quantile(new, 0.99)))]
        if key in before:
            new, old = new[: len(before[key])], before[key][: len(new)]
            found, half = ratio(new, old)
            ratios.append(found)
            mark = "+" if found - half > 1 else "-" if found + half < 1 else ""
            middle, tail = np.median(new) / np.median(old), np.quantile(new, 0.99) / np.quantile(old, 0.99)
            line += [f"{found:.3f}", f"{half:.3f}", mark, f"{middle:.3f}", f"{tail:.3f}"]
        else:
            line += [""] * 5
        lines.append(line)
    text = aligned(["world", "mean", "median", "99 %", "ratio", "+-", "", "medians", "99 %s"], lines)
    return text + (f"\ngeometric mean of {len(ratios)} ratios {np.exp(np.log(ratios).mean()):.3f}" if ratios else "")


def main() -> None:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.library", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--judges", nargs="+", choices=JUDGES, default=list(JUDGES))
    parser.add_argument("--worlds", nargs="+", help="only worlds with one of these words in their name")
    parser.add_argument("--policies", nargs="+", default=[LIBRARY], help="others: all the rest; limit: the planner")
    parser.add_argument("--draws", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument(
        "--constants", nargs="+", default=[], metavar="NAME=VALUE", help="other constants of the policy"
    )
    given = parser.parse_args()
    for word in given.constants:
        name, _, value = word.partition("=")
        module = noise if hasattr(noise, name) else constants
        setattr(module, name, type(getattr(module, name))(float(value)))
    if given.constants:  # machine code is found by the source, which does not say these
        os.environ["LATENTBANDITS_CACHE"] = tempfile.mkdtemp()
    names = {"others": [name for name in NAMES if name != LIBRARY], "limit": [LIMIT]}
    policies = [name for one in given.policies for name in names.get(one, [one])]
    places = {name: place for judge in given.judges for name, place in JUDGES[judge].items()}
    if given.worlds:
        places = {name: place for name, place in places.items() if any(word in name for word in given.worlds)}
    before = dict(np.load(given.against)) if given.against else {}
    made = measure(places, policies, given.draws, given.seed)
    np.savez(given.file, **made)  # type: ignore[arg-type]
    print(describe(made, before))


if __name__ == "__main__":
    main()
