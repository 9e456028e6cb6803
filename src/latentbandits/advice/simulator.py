"""Who plays the worlds of an advice, and for how long: seconds that its stages share, without those of compiling."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

from latentbandits.advice.base import BaseProblem
from latentbandits.compiled import waited
from latentbandits.presentation.numbers import counted
from latentbandits.protocols import Contestant
from latentbandits.settings import Above, check_int, check_range
from latentbandits.simulation.batch import simulate
from latentbandits.simulation.results import Results

Report = Callable[
    [int, int | None], None
]  # called with the rounds played, and an estimate of their total if time is limited
# The share of the seconds that may be spent by the end of each stage; what one leaves is the next one's
RACE, MEASURE, FLIPS = 0.5, 0.8, 1.0
NO_LIMIT = "the limit, which takes long"
START = 2  # worlds that tell how long one takes; choice and measurement play these in any case


class BudgetExceeded(Exception):  # noqa: N818
    """The seconds are spent before a search has ended."""


class Spent(NamedTuple):
    """What became of the seconds.

    Attributes
    ----------
    budget : seconds that were given
    seconds : that were spent on simulating
    compiling : that compiling took besides
    undone : what there was no time for, in words
    """

    budget: float
    seconds: float
    compiling: float
    undone: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Return what was left undone for lack of time."""
        besides = f", besides {self.compiling:.0f} s of compiling" if self.compiling >= 0.5 else ""
        spent = f"{self.seconds:.0f} s of {self.budget:g} s were spent{besides}"
        if not self.undone:
            return [f"Nothing was left undone: {spent}."]
        return [
            f"{spent[0].upper()}{spent[1:]}. Left undone: {'; '.join(self.undone)}. More seconds leave less undone."
        ]


class Simulator:
    """Plays policies on worlds of a problem, as many as there is time for; what is played does not depend on the steps.

    Parameters
    ----------
    seconds : float, optional
        To spend, counted without compiling; as many as it takes if not given.
    workers : int, optional
        Threads.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads, as in `latentbandits.simulate`.
    progress : callable, optional
        Called with the rounds played so far, and where seconds are limited with as many as there may be in all, else None.

    Examples
    --------
    >>> from latentbandits.advice.simulator import Simulator
    >>> Simulator().left
    inf
    >>> Simulator(60.0).left > 50
    True
    """

    def __init__(
        self,
        seconds: float | None = None,
        workers: int | None = None,
        executor: Executor | None = None,
        progress: Report | None = None,
    ) -> None:
        self.seconds = None if seconds is None else check_range("advise", "seconds", seconds, Above(0))
        self.workers = None if workers is None else check_int("advise", "workers", workers, least=1)
        self.executor, self.progress = executor, progress
        self._rounds = 0  # played so far
        self._begin, self._compiled = time.perf_counter(), waited()
        self._share, self._pace = 1.0, 0.0  # seconds per round of this stage, as last measured

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.seconds is not None

    @property
    def compiling(self) -> float:
        """Seconds that compiling has taken since the beginning."""
        return waited() - self._compiled

    @property
    def spent(self) -> float:
        """Seconds since the beginning, without those of compiling."""
        return time.perf_counter() - self._begin - self.compiling

    @property
    def left(self) -> float:
        """Seconds that this stage may still spend."""
        return float("inf") if self.seconds is None else self._share * self.seconds - self.spent

    def stage(self, share: float) -> None:
        """Begin a stage that ends when this share of the seconds is spent."""
        self._share, self._pace = share, 0.0

    def simulate(
        self,
        problem: BaseProblem,
        policies: Mapping[str, Contestant],
        first: int,
        worlds: int,
        bins: int = 1,
    ) -> Results:
        """Play a number of worlds, from number `first` on, whatever time that takes."""
        before = self._rounds
        results = simulate(
            problem, policies, horizon=problem.horizon, draws=worlds, repeats=1, seed=problem.seed, first=first, bins=bins,
            workers=self.workers, executor=self.executor, progress=lambda done, _: self._report(before + done),
        )  # fmt: skip
        self._rounds = before + results.regret.size * problem.horizon
        return results

    def _report(self, rounds: int) -> None:
        if self.progress is not None:
            share = 0.0 if self.seconds is None else self.spent / self.seconds
            self.progress(rounds, max(rounds, round(rounds / share)) if share > 0 else None)

    def play(
        self,
        problem: BaseProblem,
        policies: Mapping[str, Contestant],
        first: int,
        worlds: int,
        *,
        needed: int = 0,
        bins: int = 1,
    ) -> Results:
        """Play as many worlds as there is time for, and `needed` ones in any case; all of them if that is 0, or raise `BudgetExceeded`."""
        rounds = len(policies) * problem.horizon
        results, done = None, 0
        while done < worlds and (step := self._step(worlds - done, rounds, needed - done)):
            begin = self.spent
            part = self.simulate(problem, policies, first + done, step, bins)
            self._pace = (self.spent - begin) / (step * rounds)
            results = part if results is None else results.joined(part)
            done += step
        if results is None or (done < worlds and not needed):
            raise BudgetExceeded
        return results

    def _step(self, worlds: int, rounds: int, needed: int) -> int:
        """Return how many worlds to play next: those that there is time for, at first a few to find out how long they take."""
        if not self.limited:
            return worlds
        pace = self._pace * rounds
        afforded = int(min(max(0.0, self.left) / pace, worlds)) if pace else START * (self.left > 0)
        return min(worlds, max(afforded, needed))

    def afford(self, costs: Sequence[float], worlds: int) -> tuple[int, int]:
        """Return how many of some candidates there is time for, by the seconds that a world takes each, and for how many worlds.

        Examples
        --------
        >>> from latentbandits.advice.simulator import Simulator
        >>> Simulator(1000.0).afford([1.0, 2.0, 500.0], worlds=4)
        (2, 4)
        >>> Simulator().afford([1.0, 2.0, 500.0], worlds=4)
        (3, 4)
        """
        if not self.limited:
            return len(costs), worlds
        left, count = max(0.0, self.left), 0
        while count < len(costs) and worlds * sum(costs[: count + 1]) <= left:
            count += 1
        count = max(count, min(2, len(costs)))
        return count, int(min(worlds, left / max(sum(costs[:count]), 1e-9)))

    def account(self, undone: Sequence[str]) -> Spent | None:
        """Report the end, and return what became of the seconds; None if there was no limit."""
        if self.progress is not None:
            self.progress(self._rounds, self._rounds)
        return None if self.seconds is None else Spent(self.seconds, self.spent, self.compiling, tuple(undone))


def name_undone(done: int, worlds: int, what: str) -> list[str]:
    """Return which part of a stage was left undone; nothing if none was.

    Examples
    --------
    >>> from latentbandits.advice.simulator import name_undone
    >>> name_undone(24, 200, "the measurement"), name_undone(200, 200, "the measurement")
    (['176 of 200 worlds of the measurement'], [])
    """
    return [f"{worlds - done:,} of {counted(worlds, 'world')} of {what}"] if done < worlds else []
