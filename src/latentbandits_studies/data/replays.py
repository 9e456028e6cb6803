"""Rounds that repeat the same measurement: found by how long values stay."""

import numpy as np
from scipy.stats import binom

FEWEST = 20  # changes of an arm's values, below which nothing can be told
WINDOWS = (2, 4, 8, 16, 32, 64)  # rounds in which changes are counted
SHORTAGE = 0.8  # of the changes expected in the round after a change
LEVEL = 1e-3  # shared by all arms
LONGEST = 64  # rounds that a measurement may be repeated for


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


def is_replayed(values: np.ndarray, level: float = LEVEL) -> bool:
    """Return whether an arm's rewards look as if rounds repeated a measurement.

    What changes by itself changes in the round after a change at least as often as later. Where each measurement fills several rounds,
    hardly any value stays for a single one.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.replays import is_replayed
    >>> coins = np.random.default_rng(0).integers(2, size=400)
    >>> is_replayed(coins), is_replayed(np.repeat(coins, 10))
    (False, True)
    """
    lengths = stays(values)
    if len(lengths) < FEWEST:
        return False
    once = int((lengths == 1).sum())
    for window in WINDOWS:
        usual = (lengths <= window).sum() / np.minimum(lengths, window).sum()
        expected = usual * len(lengths)
        if once < SHORTAGE * expected and binom.cdf(once, len(lengths), usual) < level:
            return True
    return False


def repeats(rewards: np.ndarray) -> int:
    """Return for how many rounds a measurement stays in rewards (records, rounds, arms), 1 if every round has its own.

    It is the smallest step such that, of every so many rounds one is kept, no arm of any record looks replayed.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.replays import repeats
    >>> honest = np.random.default_rng(0).random((1, 300, 3))
    >>> repeats(honest), repeats(np.repeat(honest, 5, axis=1))
    (1, 5)
    """
    columns = np.moveaxis(rewards, 1, 2).reshape(-1, rewards.shape[1])
    level = LEVEL / len(columns)
    return next(
        (step for step in range(1, LONGEST) if not any(is_replayed(values[::step], level) for values in columns)),
        LONGEST,
    )
