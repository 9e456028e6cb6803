"""Five ways to evict from a full cache, each simulated on its own over a trace of requests."""

import tarfile
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

TRACE = "src/libCacheSim/data/twitter_cluster52.csv"
REQUESTS = 100  # of one round
IN, OUT = (
    0.25,
    0.5,
)  # 2Q: shares of the cache's size for new keys, and for those remembered after eviction (Johnson & Shasha 1994)


class FIFO:
    """Evicts the key that came first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.keys: OrderedDict[int, None] = OrderedDict()

    def __call__(self, key: int) -> bool:
        """Return whether a key is in the cache, which then has it."""
        if key in self.keys:
            self.hit(key)
            return True
        if len(self.keys) == self.size:
            self.keys.popitem(last=False)
        self.keys[key] = None
        return False

    def hit(self, key: int) -> None:
        """Note that a key was there: it keeps its place."""


class LRU(FIFO):
    """Evicts the key that was not requested for the longest time."""

    def hit(self, key: int) -> None:
        """Note that a key was there: it comes last again."""
        self.keys.move_to_end(key)


class LFU:
    """Evicts the key with the fewest requests since it came; among equals the one whose last request is oldest."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.times: dict[int, int] = {}
        self.by_times: dict[int, OrderedDict[int, None]] = {}
        self.fewest = 1

    def __call__(self, key: int) -> bool:
        """Return whether a key is in the cache, which then has it."""
        before = self.times.get(key, 0)
        if before:
            group = self.by_times[before]
            del group[key]
            if not group:
                del self.by_times[before]
                self.fewest += self.fewest == before
        else:
            if len(self.times) == self.size:
                group = self.by_times[self.fewest]
                del self.times[group.popitem(last=False)[0]]
                if not group:
                    del self.by_times[self.fewest]
            self.fewest = 1
        self.times[key] = before + 1
        self.by_times.setdefault(before + 1, OrderedDict())[key] = None
        return before > 0


class TwoQueues:
    """2Q: new keys pass through a short queue, and only those that are requested again later enter the main part, which is LRU."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.new: OrderedDict[int, None] = OrderedDict()
        self.left: OrderedDict[int, None] = OrderedDict()  # remembered, no longer in the cache
        self.main: OrderedDict[int, None] = OrderedDict()
        self.most_new, self.most_left = max(1, int(IN * size)), max(1, int(OUT * size))

    def __call__(self, key: int) -> bool:
        """Return whether a key is in the cache, which then has it."""
        if key in self.main:
            self.main.move_to_end(key)
            return True
        if key in self.new:
            return True
        ghost = key in self.left  # looked up first: what is evicted now may push it out
        self.left.pop(key, None)
        if len(self.new) + len(self.main) == self.size:
            self._evict()
        if ghost:
            self.main[key] = None
        else:
            self.new[key] = None
        return False

    def _evict(self) -> None:
        if len(self.new) > self.most_new or not self.main:
            gone, _ = self.new.popitem(last=False)
            self.left[gone] = None
            if len(self.left) > self.most_left:
                self.left.popitem(last=False)
        else:
            self.main.popitem(last=False)


class Random:
    """Evicts any key, each with the same probability."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.keys: list[int] = []
        self.places: set[int] = set()
        self.random = np.random.default_rng(0)

    def __call__(self, key: int) -> bool:
        """Return whether a key is in the cache, which then has it."""
        if key in self.places:
            return True
        if len(self.keys) == self.size:
            place = int(self.random.random() * self.size)
            self.places.remove(self.keys[place])
            self.keys[place] = key
        else:
            self.keys.append(key)
        self.places.add(key)
        return False


# Given its size, a cache: called with a key, it says whether it has it, and has it from then on
CACHES: Mapping[str, Callable[[int], Callable[[int], bool]]] = {
    "LRU": LRU,
    "LFU": LFU,
    "FIFO": FIFO,
    "2Q": TwoQueues,
    "random": Random,
}


def trace(sdist: Path) -> list[int]:
    """Return the requested keys of the trace in libcachesim's source distribution, as small numbers in the order of appearance."""
    with tarfile.open(sdist) as archive:
        (member,) = [entry for entry in archive.getmembers() if entry.name.endswith(TRACE)]
        file = archive.extractfile(member)
        assert file is not None
        lines = file.read().decode().splitlines()
    numbers: dict[str, int] = {}
    return [numbers.setdefault(line.split(",")[1], len(numbers)) for line in lines if not line.startswith("#")]


def hits(keys: Sequence[int], size: int) -> np.ndarray:
    """Return the number of hits of every kind of cache in every stretch of `REQUESTS`: an array (stretches, caches).

    Every cache sees all requests, whichever a policy picks. The first stretches, before a cache of this size can be full, count too.

    Examples
    --------
    >>> from tests.caches import hits
    >>> hits([1, 2, 1, 3] * 50, size=2).tolist()
    [[49, 49, 25, 39, 35], [50, 50, 25, 40, 35]]
    """
    rounds = len(keys) // REQUESTS
    hit_counts = np.zeros((rounds, len(CACHES)), np.int64)
    for column, kind in enumerate(CACHES.values()):
        cache = kind(size)
        for row in range(rounds):
            hit_counts[row, column] = sum(map(cache, keys[row * REQUESTS : (row + 1) * REQUESTS]))
    return hit_counts
