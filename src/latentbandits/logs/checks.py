"""What a log must have before anything can be said about it, and what a reader should know of it."""

from itertools import pairwise

import numpy as np

from latentbandits.logs.log import Log
from latentbandits.presentation.numbers import percent
from latentbandits.settings import Refusal

OWNER = "diagnose"
FEWEST, RARE = 500, 20  # rows in all, and of an arm
TIED = 0.3
FLATTEST = 1e-6  # deviation of the rewards in units of the largest: below, sums of squares lose it
UNEVEN = 2.0
WEEKS = 14


def check_log(log: Log) -> None:
    """Refuse a log that is too short, that pays one number only, or whose arms never overlap in time."""
    if len(log) < FEWEST:
        raise Refusal(OWNER, "rows", len(log), f"at least {FEWEST}")
    if len(log.arms) < 2:
        raise Refusal(OWNER, "arms", list(log.arms), "at least two")
    if np.ptp(log.rewards) == 0:
        raise Refusal(OWNER, "rewards", float(log.rewards[0]), "not the same in all rows")
    size = float(np.abs(log.rewards).max())
    if np.std(log.rewards) < FLATTEST * size:
        rule = f"a millionth of their size, {size:g}, or more: subtract a constant from them"
        raise Refusal(OWNER, "spread of the rewards", float(np.std(log.rewards)), rule)
    tried = np.bincount(log.played, minlength=len(log.arms))
    if tried[tried >= RARE].sum() < 0.5 * len(log):
        rule = f"few enough for most rows to be of arms with at least {RARE} rewards (is this the column of the arm?)"
        raise Refusal(OWNER, "arms", len(log.arms), rule)
    first = np.array([np.flatnonzero(log.played == arm)[0] for arm in range(len(log.arms))])
    last = np.array([np.flatnonzero(log.played == arm)[-1] for arm in range(len(log.arms))])
    order = np.argsort(first)
    if all(last[earlier] < first[later] for earlier, later in pairwise(order)):
        rule = "played in turns: here each arm ends before the next begins, so that time and arm cannot be told apart"
        raise Refusal(OWNER, "arms", list(log.arms), rule)
    values, counts = np.unique(log.rewards, return_counts=True)
    if len(values) > 2 and counts.max() > TIED * len(log):
        place = int(counts.argmax())
        share, value = percent(counts.max() / len(log)), float(values[place])
        above = float(values[place - 1]) if place == len(values) - 1 else value  # so that both sides have some
        rule = (
            f"spread out, or 0 and 1: {share} are {value:g} (log.above({above:g}), or --above {above:g}, makes 0 and 1)"
        )
        raise Refusal(OWNER, "rewards", "mostly one value", rule)
    if len(values) == 2 and values.tolist() != [0.0, 1.0]:
        low = float(values[0])
        rule = f"0 and 1, or more than two numbers (log.above({low:g}), or --above {low:g}, makes 0 and 1)"
        raise Refusal(OWNER, "rewards", values.tolist(), rule)


def list_flags(log: Log, noise: np.ndarray, binary: bool) -> list[str]:
    """Return what a reader should know, as sentences."""
    sentences = []
    if log.bad:
        sentences.append(f"{log.left_out:,} rows could not be used.")
    if not log.sorted:
        sentences.append("The rows were not in order of time; they were sorted.")
    tried = np.bincount(log.played, minlength=len(log.arms))
    rare = [str(name) for name, rows in zip(log.arms, tried, strict=True) if rows < RARE]
    if rare:
        sentences.append(
            f"Fewer than {RARE} rewards of {', '.join(rare)}: nothing can be said of {'it' if len(rare) == 1 else 'them'}."
        )
    if not binary and noise.max() > UNEVEN * noise.min():
        low, high = str(log.arms[int(noise.argmin())]), str(log.arms[int(noise.argmax())])
        sentences.append(f"The arms differ in noise: {high} has {noise.max() / noise.min():.1f} times that of {low}.")
    if not log.dated:
        sentences.append("There are no dates, so the calendar could not be ruled out.")
    elif log.times is not None and (log.times[-1] - log.times[0]) < np.timedelta64(WEEKS, "D"):
        sentences.append(f"The log lasts less than {WEEKS} days, so that weekdays could not be told from regimes.")
    paused = int((log.gaps > 1).sum())
    if paused:
        many = f"{paused:,} pauses: over each of them" if paused > 1 else "A pause: over it"
        sentences.append(f"{many} the state may have changed unseen.")
    sentences.append(
        "Did whoever chose the arms see something that is not in the log? Then the means of its states are off."
    )
    return sentences
