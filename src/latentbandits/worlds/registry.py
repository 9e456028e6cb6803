"""The kinds of world that a problem can describe, by name."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from latentbandits.worlds.drift import Drift
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.recorded import Recorded
from latentbandits.worlds.seasons import Seasons


class Registration(NamedTuple):
    """A kind of world: its class, and how it changes. A problem of this kind has the words that the class takes as arguments."""

    make: Any
    summary: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the class's arguments."""
        return tuple(inspect.signature(self.make).parameters)


HIDDEN_MARKOV, SEASONS, DRIFT, RECORDED = "hidden-markov", "seasons", "drift", "recorded"
REGISTRY: Mapping[str, Registration] = {
    HIDDEN_MARKOV: Registration(HiddenMarkov, "regimes change at random"),
    SEASONS: Registration(Seasons, "regimes follow a calendar"),
    DRIFT: Registration(Drift, "no regimes, means drift"),
    RECORDED: Registration(Recorded, "a file of recorded rewards"),
}
