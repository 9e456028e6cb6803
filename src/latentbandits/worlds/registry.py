"""The kinds of world that a problem can describe, by name."""

import functools
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from latentbandits.worlds.drift import Drift
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.independent import Independent
from latentbandits.worlds.recorded import Replay
from latentbandits.worlds.seasons import Seasons


class Registration(NamedTuple):
    """A kind of world: what makes it, and how it changes. A problem of this kind has the words that `make` takes as arguments."""

    make: Any
    summary: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(_parameters(self.make))

    def takes_integer(self, argument: str) -> bool:
        """Whether an argument must be an integer."""
        return get_args(_parameters(self.make)[argument].annotation)[:1] == (int,)


@functools.cache
def _parameters(make: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(make).parameters


def recorded(file: Any) -> Replay:
    """Return the world of the rows of a file, a number per arm."""
    return Replay(file)


HIDDEN_MARKOV, INDEPENDENT, SEASONS = "hidden-markov", "independent", "seasons"
DRIFT, RECORDED = "drift", "recorded"
REGISTRY: Mapping[str, Registration] = {
    HIDDEN_MARKOV: Registration(HiddenMarkov, "regimes change at random"),
    INDEPENDENT: Registration(Independent, "every arm has regimes of its own, which change at random"),
    SEASONS: Registration(Seasons, "regimes follow a calendar"),
    DRIFT: Registration(Drift, "no regimes, means drift"),
    RECORDED: Registration(recorded, "a file of recorded rewards"),
}
