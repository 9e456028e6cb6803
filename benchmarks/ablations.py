"""What every heuristic of StateLibrary is worth: ``python -m benchmarks.ablations --folder ablations --draws 16``.

Plays it with one corrector, heuristic or constant switched off at a time, in the worlds of `benchmarks.library` and on the real datasets,
on the same draws, and prints the ratio of regrets: above 1, what was switched off is worth something. What gains less than 1 % anywhere
is to go.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.library import ratio
from latentbandits.presentation.numbers import aligned

# Settings of the policy in lower case, constants in upper case
OFF: Mapping[str, Mapping[str, float | str]] = {
    "lag model": {"levels": 0},
    "trust": {"trust": "false"},
    "staleness": {"staleness": "false"},
    "tests between particles": {"TESTING": 0, "ALLOWANCE": 0},
    "budget for tests": {"ALLOWANCE": 1e9},
    "hazard of one state in tests": {"LEAVING": 1e9},
    "outlier branch": {"OUTLIERS": 1e-12, "OUTLIER_ROUNDS": 1e12},
    "fast-switching particle": {"FAST_SWITCHING": 1e-12},
    "clamped odds": {"MOST_ODDS": 1e12},
    "hazard by age": {"RICHER": 1e-12, "MOST_ODDS": 1.0},
    "unlikely changes left out of the bonus": {"LIKELY": 0.002},
    "optimism": {"OPTIMISM": 0},
    "caution about noise": {"CAUTION": 0},
    "mixture of noise must prove itself": {"PROOF": -1e9},
    "differences two rounds apart": {"ALTERNATING": 0},
    "noise is learned again": {"LOUDER": 1e9, "QUIETER": 0},
    "rewards out of reach cut off": {"REACH": 1e9, "REACH_AT_FIRST": 1e9},
    "absurd ranges": {"ABSURD": 1e99},
    "fading of old rewards of a level": {"LAG_FADING": 10**9},
}


def play(file: Path, changes: Mapping[str, float | str], more: list[str]) -> dict[str, np.ndarray]:
    """Return the regret of every run per world, with some settings and constants; from the file if it is there."""
    if not file.exists():
        settings = ",".join(f"{name}={value}" for name, value in changes.items() if name.islower())
        words = [f"{name}={value}" for name, value in changes.items() if name.isupper()]
        command = [sys.executable, "-m", "benchmarks.library", str(file), *more]
        command += ["--policies", f"state-library:{settings}" if settings else "state-library"]
        subprocess.run([*command, *(["--constants", *words] if words else [])], check=True, stdout=subprocess.DEVNULL)
    return {key.partition("|")[0]: regret for key, regret in np.load(file).items()}


def describe(name: str, off: Mapping[str, np.ndarray], on: Mapping[str, np.ndarray]) -> list[str]:
    """Return the geometric mean of the ratios, the worlds in which it certainly gains and costs, and the largest of these."""
    found = {world: ratio(regret, on[world]) for world, regret in off.items() if on[world].mean() > 0}
    mean = np.exp(np.mean([np.log(max(value, 1e-9)) for value, _ in found.values()]))
    gains = {world: value for world, (value, half) in found.items() if value - half > 1.0}
    costs = {world: value for world, (value, half) in found.items() if value + half < 1.0}
    most = ", ".join(f"{world} {gains[world]:.2f}" for world in sorted(gains, key=gains.__getitem__)[:-4:-1])
    least = ", ".join(f"{world} {costs[world]:.2f}" for world in sorted(costs, key=costs.__getitem__)[:2])
    return [name, f"{mean:.3f}", str(len(gains)), str(len(costs)), most, least]


def main() -> None:
    """Switch off, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("ablations"))
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--judges", nargs="+", default=["stress", "rows", "blind", "clicks", "late", "real"])
    parser.add_argument("--only", nargs="+", choices=OFF, default=list(OFF))
    parser.add_argument("--constants", nargs="+", metavar="NAME=VALUE", help="other values, in place of the table")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    more = ["--draws", str(given.draws), "--seed", str(given.seed), "--judges", *given.judges]
    table = {name: OFF[name] for name in given.only}
    if given.constants:
        pairs = [word.partition("=")[::2] for word in given.constants]
        table = {" ".join(given.constants): {name: float(value) for name, value in pairs}}
    on, lines = play(given.folder / "on.npz", {}, more), []
    for name, changes in table.items():
        off = play(given.folder / f"{name.replace(' ', '-')}.npz", changes, more)
        lines.append(describe(name, off, on))
        print(lines[-1], flush=True)
    print(aligned(["switched off", "ratio", "gains", "costs", "where it gains most", "where it costs"], lines))


if __name__ == "__main__":
    main()
