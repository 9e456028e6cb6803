"""The real data of the package as logs, and what is said of them: `python -m tests.real_logs` prints what docs/logs.md quotes."""

import sys

import numpy as np

import latentbandits as lb
from latentbandits.logs.log import Log, count_gaps
from latentbandits_studies import data as datasets
from tests.logged import played

RULES = ("uniform", "epsilon-greedy", "ucb1")


def real_log(name: str, rule: str, seed: int = 0) -> Log:
    """Return a dataset as a rule would have logged it."""
    data = datasets.load(name)
    arms = played(data.rewards, rule, np.random.default_rng(seed), seed)
    used, place = np.unique(arms, return_inverse=True)
    times = data.times.astype("datetime64[us]") if data.times.dtype.kind == "M" else None
    rows = len(arms)
    chance = np.full(rows, 1 / len(data.arms)) if rule == "uniform" else None
    rewards = data.rewards[np.arange(rows), arms]
    return Log(
        tuple(data.arms[arm] for arm in used),
        place,
        rewards,
        times=times,
        propensities=chance,
        gaps=count_gaps(times, None, rows),
    )


def main(names: list[str]) -> None:
    """Print the verdicts."""
    for name in names or datasets.names():
        for rule in RULES:
            try:
                d = lb.diagnose(real_log(name, rule))
            except lb.InvalidValueError as refusal:
                print(f"{name}, {rule}: refused ({refusal})", flush=True)
                continue
            print(f"{name}, {rule}: {d.headline}; margin {d.conclusion.margin:.0f}", flush=True)
            if d.regimes and name.startswith(("airports", "carriers")):
                print(f"    gain {d.gain[0]:.3f} ({d.gain[1]:.3f} to {d.gain[2]:.3f})", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
