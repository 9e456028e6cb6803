"""How files of earlier versions are read: each step turns the description and the arrays of one version into those of the next."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from latentbandits.protocols import Offer


def from_3(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Add names, counts and offers; ids were integers, and EXP3 kept the probability of its arms in the features."""
    settings = description["policy"]["settings"]
    number = settings["arms"] if "arms" in settings else len(settings["means"][0])
    ids, newest = [str(int(known)) for known in description["open"]], int(description.pop("next_decision")) - 1
    if ids and not 0 <= min(map(int, ids)) <= max(map(int, ids)) <= newest:
        raise KeyError("open")
    description |= {
        "revision": None,
        "arms": list(range(number)),
        "retired": [],
        "floor": 0.0,
        "holdback": 0.0,
        "control": None,
        "salt": "",
        "counts": {"told": 0, "late": 0, "forgotten": 0, "dropped": 0},  # counted from here on
        "newest": str(newest) if newest >= 0 else "",
        "open": ids,
        "by": ["policy"] * len(ids),
    }
    offers = np.zeros((len(ids), number), Offer)
    offers["available"] = 1
    for field in ("value", "index", "probability"):
        offers[field] = np.nan
    if description["policy"]["class"] == "EXP3":
        rows = np.arange(len(ids))[:, None]
        offers["probability"][rows, arrays["open/arms"]] = arrays["open/features"]
        arrays["open/features"] = np.zeros((len(ids), 0))
    if description["policy"]["class"] == "TraceLearner":
        _end_probes(settings, arrays)
    arrays |= {"open/offers": offers, "mixing": np.zeros(1, np.uint64)}


def _end_probes(settings: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Count the rounds that have arrived of a probe as they are now: below 0 once it has ended, by those that are missing."""
    scalars, owner = arrays["memory/scalars"][0], arrays["memory/owner"]
    ended = (owner < scalars["probe"]) | (scalars["next_phase"] == 0)
    begun = (owner > 0) | (settings["interval"] > 0 and scalars["now"] > 0)
    phases = -(-len(arrays["memory/fingerprint"]) // settings["units"])
    arrays["memory/arrived"] = np.where(ended & begun, arrays["memory/arrived"] - phases, arrays["memory/arrived"])


UPGRADES: Mapping[int, Callable[[dict[str, Any], dict[str, np.ndarray]], None]] = {3: from_3}
