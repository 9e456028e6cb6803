"""What a file keeps of an agent."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from latentbandits.agent.decision import Name
from latentbandits.agent.mixing import Mixing
from latentbandits.protocols import Choice
from latentbandits.random import Stream

COUNTS = ("told", "late", "forgotten", "dropped")


class Contents(NamedTuple):
    """All of an agent, copied.

    Attributes
    ----------
    policy, memory, random : the policy with its settings, its memory and its random stream
    names : the arms' names
    retired : the numbers of those that are retired
    mixing : floor and holdback
    max_open : how many decisions may wait
    regimes : names that were given to states, by their number
    counts : the counts of `Stats` that do not follow from others
    newest : id of the newest decision, empty if there is none
    open : id of every open decision, oldest first, and who decided
    choices : their choices, one row each
    """

    policy: Any
    memory: Any
    random: Stream
    names: list[Name]
    retired: list[int]
    mixing: Mixing
    max_open: int
    regimes: Mapping[int, str]
    counts: Mapping[str, int]
    newest: str
    open: Mapping[str, str]
    choices: Choice

    @classmethod
    def fresh(cls, policy: Any, random: Stream, names: list[Name], mixing: Mixing, max_open: int) -> Self:
        """Return what there is of a new agent."""
        counts = dict.fromkeys(COUNTS, 0)
        choices = Choice(*(np.empty((0, len(part)), part.dtype) for part in Choice.blank(policy)))
        return cls(policy, policy.init(), random, names, [], mixing, max_open, {}, counts, "", {}, choices)
