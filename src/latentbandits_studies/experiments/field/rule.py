"""Which traces the field study counts, and as what: decided from the rewards alone, before any policy plays."""

from typing import NamedTuple

import numpy as np

from latentbandits_studies.data.traces import RECORDED, Trace
from latentbandits_studies.experiments.real.statistics import switching

LEAST_ROUNDS = 500
SWITCHES = (10, 100)
PERSISTENT = 0.2  # of the way from chance to never changing
GAIN = (
    0.05  # of what the best arm of every round earns beyond the best single arm, by 10 switches, beyond shuffled rounds
)
NEW = 0.25  # of the later rewards
USUAL = (5, 95)  # per cent: between them 90 % of the earlier rewards lie
REGIMES, DRIFT, NEITHER, REFUSED = "regimes", "drift", "neither", "refused"
ORDER = (REGIMES, DRIFT, NEITHER, REFUSED)


class Traits(NamedTuple):
    """What a trace is like, each a mean over its records.

    Attributes
    ----------
    rounds, arms, records : its size
    elsewhere : share of rounds in which another arm than the best single one is best
    stay, chance : how often the best arm of a round is that of the round before, and how often it would be in shuffled rounds
    gains : what 10 and 100 switches earn beyond the best single arm, in hindsight, as a share of what the best arm of every round does
    shuffled : the same where the rounds are in random order
    new : share of the later half's rewards outside the range of nine tenths of the earlier half's; a tenth if levels come back
    kind : regimes, drift, neither, or refused
    why : the reason if it is refused
    """

    rounds: int
    arms: int
    records: int
    elsewhere: float
    stay: float
    chance: float
    gains: tuple[float, ...]
    shuffled: tuple[float, ...]
    new: float
    kind: str
    why: str

    @property
    def persistence(self) -> float:
        """How far the best arm stays, from 0 for chance to 1 for always."""
        return (self.stay - self.chance) / max(1 - self.chance, 1e-9)


def traits(trace: Trace) -> Traits:
    """Return what a trace is like.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.traces import Trace
    >>> from latentbandits_studies.experiments.field.rule import traits
    >>> days = np.repeat(np.random.default_rng(0).random(200) < 0.5, 5)
    >>> noise = np.random.default_rng(1).normal(scale=0.1, size=(1000, 2))
    >>> weather = Trace("weather", (np.stack([days, ~days], axis=1) + noise)[None], ("sun", "rain"), "a day", "sales")
    >>> found = traits(weather)
    >>> found.kind, found.rounds, round(found.stay, 1), round(found.chance, 1)
    ('regimes', 1000, 0.9, 0.5)
    """
    parts = [_record(rewards) for rewards in trace.rewards]
    records, rounds, arms = trace.rewards.shape
    elsewhere, stay, chance, new, *gains = np.mean(parts, axis=0).tolist()
    found = Traits(
        rounds, arms, records, elsewhere, stay, chance, (gains[0], gains[1]), (gains[2], gains[3]), new, NEITHER, ""
    )
    if trace.name.endswith(RECORDED):
        return found._replace(kind=REFUSED, why="rounds repeat a measurement")
    if rounds < LEAST_ROUNDS:
        return found._replace(kind=REFUSED, why=f"fewer than {LEAST_ROUNDS} rounds")
    if new > NEW:
        return found._replace(kind=DRIFT)
    if trace.seen == "all":
        return found._replace(kind=NEITHER, why="everybody sees it")
    regimes = found.persistence >= PERSISTENT and gains[0] - gains[2] >= GAIN
    return found._replace(kind=REGIMES if regimes else NEITHER)


def _record(rewards: np.ndarray) -> list[float]:
    """Return the traits of one record; ties go to the arm that is better overall."""
    ranked = rewards[:, np.argsort(-rewards.mean(axis=0), kind="stable")]
    best = ranked.argmax(axis=1)
    shares = np.bincount(best) / len(best)
    early, late = np.array_split(rewards, 2)
    low, high = np.percentile(early, USUAL, axis=0)
    mixed = np.random.default_rng(0).permutation(ranked)
    return [
        float((best > 0).mean()),
        float((best[1:] == best[:-1]).mean()),
        float((shares**2).sum()),
        float(((late < low) | (late > high)).mean()),
        *_gains(ranked),
        *_gains(mixed),
    ]


def _gains(rewards: np.ndarray) -> list[float]:
    totals = switching(rewards, max(SWITCHES))
    perfect = rewards.max(axis=1).sum() - totals[0]
    return [float((totals[k] - totals[0]) / perfect) if perfect > 0 else 0.0 for k in SWITCHES]
