"""The likelihood-ratio test for a change of an arm's mean (Besson, Kaufmann, Maillard & Seznec 2022).

A memory with these arrays can be tested: `counts` and `sums` of every arm's rewards, `split_counts` and `split_sums`, both at earlier
moments (oldest first), and `splits`, the number of these moments.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel

if TYPE_CHECKING:
    from latentbandits.policies.detection_augmented import Memory
    from latentbandits.policies.restarting_ucb import SplitMemory


@kernel
def changes(memory: "SplitMemory | Memory", arm: int, reward: float, noise: float, risk: float) -> bool:
    """Count a reward of an arm, and return whether its mean seems to have changed since the first reward.

    The rewards are split into s earlier and s' later ones; for some split ``(mean - mean')^2 / (1 / s + 1 / s') / (2 noise^2)`` is
    ``log(3 n^1.5 / risk)`` or more.
    """
    most = memory.split_counts.shape[1]
    if memory.counts[arm] > 0:
        if memory.splits[arm] == most:
            thin_out(memory, arm)
        newest = memory.splits[arm]
        memory.split_counts[arm, newest] = memory.counts[arm]
        memory.split_sums[arm, newest] = memory.sums[arm]
        memory.splits[arm] += 1
    memory.counts[arm] += 1
    memory.sums[arm] += reward

    n, total = memory.counts[arm], memory.sums[arm]
    threshold = math.log(3.0 * n * math.sqrt(n) / risk) * 2.0 * noise * noise
    changed = False
    for i in range(memory.splits[arm]):
        early = memory.split_counts[arm, i]
        # the statistic with one division: the difference of the two means is n / (early * late) times this
        gap = memory.split_sums[arm, i] - total * early / n
        if gap * gap * n >= threshold * early * (n - early) > 0.0:
            changed = True
    return changed


@kernel
def forget(memory: "SplitMemory | Memory") -> None:
    """Forget all rewards."""
    for arm in range(len(memory.counts)):
        memory.counts[arm] = 0
        memory.sums[arm] = 0.0
        memory.splits[arm] = 0


@kernel
def thin_out(memory: "SplitMemory | Memory", arm: int) -> None:
    """Drop the split whose two neighbours are nearest to each other, for the older one's age; the newest stays."""
    size, now = memory.splits[arm], memory.counts[arm]
    least, place, before = np.inf, 0, 0
    for i in range(size - 1):
        distance = (memory.split_counts[arm, i + 1] - before) / (now - before)
        if distance < least:
            least, place = distance, i
        before = memory.split_counts[arm, i]
    for i in range(place, size - 1):
        memory.split_counts[arm, i] = memory.split_counts[arm, i + 1]
        memory.split_sums[arm, i] = memory.split_sums[arm, i + 1]
    memory.splits[arm] -= 1
