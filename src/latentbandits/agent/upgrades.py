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


def from_4(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Add names of states and the doubt of offers; StateLibrary's rounds and states get numbers, also within another policy."""
    description["regimes"] = {}
    arrays["open/offers"] = _with(
        arrays["open/offers"], "available value index probability doubt", doubt=np.float64(np.nan)
    )
    policy, prefix, features = description["policy"], "memory/", arrays["open/features"]
    own, stamp = np.ones(len(features), bool), features.shape[1]  # which open decisions are its own
    while "inner" in policy["settings"]:
        stamp -= 1
        if f"{prefix}scalars" in arrays:
            own &= features[:, stamp] == arrays[f"{prefix}scalars"]["restarts"][0]
        policy, prefix = policy["settings"]["inner"], f"{prefix}inner."
    if policy["class"] == "StateLibrary":
        rounds = int(arrays[f"{prefix}core"]["rounds"][0])
        numbers = np.where(own, rounds + np.cumsum(own), 0)
        arrays["open/features"] = np.insert(features, 1, numbers, axis=1)
        library = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        library |= _await(library, policy["settings"]["units"], numbers[own], arrays["open/arms"][own])
        _number(library, policy["settings"], rounds, rounds + int(own.sum()))
        arrays |= {f"{prefix}{name}": array for name, array in library.items()}


def _number(library: dict[str, np.ndarray], settings: dict[str, Any], rounds: int, asked: int) -> None:
    """Give the rounds learned the numbers of their order, and make room for what was not counted."""
    count, particles, states = np.int64, len(library["particles"]), library["states"]
    ids = np.tile(
        np.arange(1, states.shape[1] + 1), (particles, 1)
    )  # the same place in two libraries is the same state
    library["core"] = _with(
        library["core"],
        "asked rounds told now front forced live best numbered retold lineages turn",
        asked=count(asked),
        told=count(rounds),
        front=count(rounds),
        numbered=count(states.size),
        retold=count(0),
    )
    library["particles"] = _with(
        library["particles"],
        "weight here known lineage stays changes changed until outliers by_age ageing entries singles odds by_entry by_move novel",
        until=np.maximum(library["particles"]["changed"] - 1, 0),
        outliers=np.float64(0),
        by_age=np.float64(0),
        ageing=np.float64(settings["structure"]),
    )
    # The rounds spent in a state are not known, but the rewards behind its means are
    spent = library["means"]["count"].sum(axis=-1) / settings["units"]
    library["states"] = _with(states, "id entered left spent seen", id=ids, spent=spent, seen=count(0))
    library["scale"] = _with(
        library["scale"], "pairs ties noise_at_start low high centre spread", pairs=count(0), ties=count(0)
    )
    size = len(library["history"])
    numbers = rounds - (rounds - 1 - np.arange(size)) % size  # the latest round at each place
    library["history"] = _with(
        library["history"], "first reward number second other u", number=np.maximum(numbers, 0).astype(count)
    )
    apart = np.zeros(1, library["noise"].dtype)  # differences of rewards two rounds apart
    apart["sd"], apart["last_arm"] = 1.0, -1
    library["noise"] = np.concatenate([library["noise"], apart])
    library["visits"] = np.zeros((particles, 4), [("state", count), ("began", count)])
    library["visits"]["state"] = -1
    for name in ("ended", "reached"):
        library[name] = np.zeros((particles, 64), np.int32)
    settings["covariates"] = 0
    _without_features(library, len(library["played"]), settings["states"])


def _without_features(library: dict[str, np.ndarray], arms: int, states: int) -> None:
    """Make room for the slopes of no features."""
    counts = [("count", np.int64), ("average", np.float64), ("squares", np.float64), ("prior", np.float64)]
    library["features"] = np.zeros(0, counts)
    library["regressed"] = np.zeros(arms)
    library["cells"] = np.zeros((states, arms), [("id", np.int64), ("count", np.float64), ("average", np.float64)])
    empty = {
        "slopes": (arms, 0),
        "told_slopes": (arms, 0),
        "moments": (arms, 0, 0),
        "products": (arms, 0),
        "inverse": (arms, 0, 0),
        "cell_features": (states, arms, 0),
        "history_features": (len(library["history"]), 0),
        "last_features": (2, 0),
    }
    library |= {name: np.zeros(shape) for name, shape in empty.items()}


def _await(library: dict[str, np.ndarray], units: int, numbers: np.ndarray, arms: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arms of the rounds whose rewards are under way, and how many of each arm."""
    pending, waiting = np.zeros(len(library["played"]), np.int64), np.zeros((1024, 2), np.int64)
    for number, played in zip(numbers[-1024:], arms[-1024:], strict=True):
        waiting[number % 1024] = played[0], played[-1]
        pending[played[0]] += 1
        pending[played[-1]] += units - 1
    return {"pending": pending, "waiting": waiting}


def from_5(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """StateLibrary, also within another policy, counts visits that lasted long by those that did not, and has claimed nothing yet."""
    policy, prefix = description["policy"], "memory/"
    while "inner" in policy["settings"]:
        policy, prefix = policy["settings"]["inner"], f"{prefix}inner."
    if policy["class"] == "StateLibrary":
        visits = arrays[f"{prefix}ended"].sum(axis=1).astype(np.int64)
        arrays[f"{prefix}particles"] = _with(
            arrays[f"{prefix}particles"],
            "weight here known lineage stays changes changed until outliers constant by_age ageing age younger visits "
            "entries singles odds by_entry by_move novel",
            constant=np.float64(0),
            age=np.int64(0),
            younger=np.int64(0),
            visits=visits,
        )
        del arrays[f"{prefix}reached"]
        claim = [("number", np.int64), ("kind", np.int64), ("gap", np.float64), ("value", np.float64)]
        sums = ("rounds", "gaps", "weights", "products", "surprise", "squares")
        arrays |= {
            f"{prefix}plays": np.zeros(len(arrays[f"{prefix}played"]), np.int64),
            f"{prefix}claims": np.zeros(1024, claim),
            f"{prefix}trust": np.zeros(3, [(name, np.float64) for name in sums]),
            f"{prefix}budget": np.zeros(1, [("cost", np.float64), ("gained", np.float64)]),
        }


def from_6(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """StateLibrary, also within another policy, showed the ids of the heaviest particle's states: they are the numbers of their regimes."""
    policy, prefix = description["policy"], "memory/"
    while "inner" in policy["settings"]:
        policy, prefix = policy["settings"]["inner"], f"{prefix}inner."
    if policy["class"] != "StateLibrary":
        return
    core, states, means = (arrays[f"{prefix}{name}"] for name in ("core", "states", "means"))
    best, count = core["best"][0], np.int64
    known = arrays[f"{prefix}particles"]["known"][best] if core["live"][0] else 0
    ids = states["id"][best, :known]
    arrays[f"{prefix}core"] = _with(
        core,
        "asked rounds told now front forced live best numbered regimes shown row retold lineages turn",
        regimes=core["numbered"],
        shown=count(0),
        row=count(0),
    )
    shown = np.where(np.isin(states["id"], ids), states["id"], 0)
    arrays[f"{prefix}states"] = _with(states, "id number entered left spent seen", number=shown)
    arrays[f"{prefix}regimes"] = np.zeros(states.shape[1], [("number", count), ("seen", count)])
    arrays[f"{prefix}regime_means"] = np.zeros(means.shape[1:], means.dtype)
    arrays[f"{prefix}regimes"]["number"][:known] = ids
    arrays[f"{prefix}regimes"]["seen"][:known] = states["seen"][best, :known]
    arrays[f"{prefix}regime_means"][:known] = means[best, :known]


def from_7(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """StateLibrary, also within another policy, did not note which regime it showed in a round: that of the present visit is known.

    Neither did it count the different rewards: those of the rounds that it remembers are known.
    """
    policy, prefix = description["policy"], "memory/"
    while "inner" in policy["settings"]:
        policy, prefix = policy["settings"]["inner"], f"{prefix}inner."
    if policy["class"] != "StateLibrary":
        return
    history, best = arrays[f"{prefix}history"], arrays[f"{prefix}core"]["best"][0]
    particle = arrays[f"{prefix}particles"][best]
    present = arrays[f"{prefix}states"]["number"][best, particle["here"]]
    since = (history["number"] > 0) & (history["number"] >= particle["changed"])
    arrays[f"{prefix}history"] = _with(
        history,
        "first reward number second other u state regime",
        state=np.int64(0),
        regime=np.where(since, present, 0),
    )
    rewards = np.unique(history["reward"][history["number"] > 0])
    ends = (rewards[0], rewards[-1]) if len(rewards) else (0.0, 0.0)
    arrays[f"{prefix}scale"] = _with(
        arrays[f"{prefix}scale"],
        "pairs ties noise_at_start values least most low high centre spread",
        values=np.int64(min(len(rewards), 3)),
        least=np.float64(ends[0]),
        most=np.float64(ends[1]),
    )


def _with(rows: np.ndarray, names: str, **new: Any) -> np.ndarray:
    """Return records with these fields, in this order: new ones and those that they had."""
    kinds = [(name, new[name].dtype if name in new else rows.dtype[name]) for name in names.split()]
    made = np.zeros(rows.shape, kinds)
    for name, _ in kinds:
        made[name] = new[name] if name in new else rows[name]
    return made


UPGRADES: Mapping[int, Callable[[dict[str, Any], dict[str, np.ndarray]], None]] = {
    3: from_3,
    4: from_4,
    5: from_5,
    6: from_6,
    7: from_7,
}
