"""A figure, its target, and the clock: what every measurement of this folder shares."""

import operator
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeVar

Name = TypeVar("Name", bound=Hashable)

_COMPARE = {"<=": operator.le, "<": operator.lt, ">=": operator.ge}


class Figure(NamedTuple):
    """One measured number: its key, the value (None if not measured), the target ("" for none), what it means."""

    key: str
    value: float | None
    target: str
    meaning: str

    @property
    def missed(self) -> bool:
        """Whether there is a target and the value fails it."""
        if self.value is None or not self.target:
            return False
        sign, limit = self.target.split()
        return not _COMPARE[sign](self.value, float(limit))

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "skipped"
        if not self.target:
            return ""
        return "MISSED" if self.missed else "ok"


def say(text: str) -> None:
    """Tell the person who waits what is going on."""
    print(text, file=sys.stderr, flush=True)


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fastest(contestants: Mapping[Name, Callable[[], object]], repeats: int) -> dict[Name, float]:
    """Return the fewest seconds that each took; they take turns, so that a busy machine slows all of them or none."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repeats):
        for name, work in contestants.items():
            best[name] = min(best[name], seconds(work))
    return best


def table(figures: list[Figure]) -> str:
    """Return the figures as aligned text."""
    rows = [("key", "value", "target", "", "meaning")]
    rows += [(f.key, "-" if f.value is None else f"{f.value:.4g}", f.target, f.verdict, f.meaning) for f in figures]
    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{key:<{wide[0]}}  {value:>{wide[1]}}  {target:<{wide[2]}}  {verdict:<{wide[3]}}  {meaning}"
        for key, value, target, verdict, meaning in rows
    )
