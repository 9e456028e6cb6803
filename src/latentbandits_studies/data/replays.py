"""Rounds that repeat the same measurement: found by how long values stay."""

import numpy as np
from scipy.stats import binom

FEWEST = 20  # changes of an arm's values, below which nothing can be told
WINDOWS = (2, 4, 8, 16, 32, 64)  # rounds in which changes are counted
SHORTAGE = 0.8  # of the changes expected in the round after a change
LEVEL = 1e-3  # shared by all arms


def stays(values: np.ndarray) -> np.ndarray:
    """Return for how many rounds each value stays; the first and the last are left out, as they are cut off.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.replays import stays
    >>> stays(np.array([7, 7, 5, 5, 5, 7, 5, 5])).tolist()
    [3, 1]
    """
    lengths: np.ndarray = np.diff(np.flatnonzero(values[1:] != values[:-1]))
    return lengths


def fills(values: np.ndarray, level: float = LEVEL) -> int:
    """Return how many rounds each measurement of an arm fills, 1 if every round has its own.

    What changes by itself changes in the round after a change at least as often as later. Where each measurement fills several rounds,
    hardly any value stays for a single one, and changes come when a measurement has been filled out.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.replays import fills
    >>> coins = np.random.default_rng(0).integers(2, size=400)
    >>> fills(coins), fills(np.repeat(coins, 10))
    (1, 10)
    """
    lengths = stays(values)
    if len(lengths) < FEWEST:
        return 1
    ends = np.bincount(lengths)
    begun = len(lengths) - np.cumsum(ends) + ends
    for window in WINDOWS:
        usual = ends[: window + 1].sum() / begun[1 : window + 1].sum()
        short = ends[1] < SHORTAGE * usual * len(lengths)
        if short and binom.cdf(ends[1], len(lengths), usual) < level:
            return int((ends[1:] >= usual * begun[1:]).argmax()) + 1
    return 1


def repeats(rewards: np.ndarray) -> int:
    """Return for how many rounds a measurement stays in rewards (records, rounds, arms): the most of any arm, 1 if every round has its own.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.replays import repeats
    >>> honest = np.random.default_rng(0).random((1, 300, 3))
    >>> repeats(honest), repeats(np.repeat(honest, 5, axis=1))
    (1, 5)
    """
    columns = np.moveaxis(rewards, 1, 2).reshape(-1, rewards.shape[1])
    return max(fills(values, LEVEL / len(columns)) for values in columns)
