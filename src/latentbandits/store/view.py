"""What can be seen of an experiment."""

from typing import Any, NamedTuple

from latentbandits.agent.decision import Name
from latentbandits.agent.spec import Spec


class View(NamedTuple):
    """An experiment as it is now.

    Attributes
    ----------
    name, status, spec : see `Spec`
    arms, retired : names
    head, last_us : number and time of the last event
    counts : decided, rewarded, expired, censored, late; and, since the start, duplicates and conflicts
    open : decisions that wait
    oldest_us : when the oldest of them was made
    belief : what the policy believes, None if it has no beliefs
    compiled : whether it runs machine code
    snapshot : the event up to which there is a snapshot
    diverged : decisions that came out otherwise when they were repeated by another build
    id : the number that the store gives it
    names : names of all arms that it ever had, by their number
    regimes : names that people gave to regimes, by their number
    """

    name: str
    status: str
    spec: Spec
    arms: tuple[Name, ...]
    retired: tuple[Name, ...]
    head: int
    last_us: int
    counts: dict[str, int]
    open: int
    oldest_us: int | None
    belief: Any
    compiled: bool
    snapshot: int
    diverged: int
    id: int
    names: list[Name]
    regimes: dict[int, str]
