"""What can be seen of an experiment."""

from typing import NamedTuple, Self

from latentbandits.agent.decision import Name
from latentbandits.agent.guardrail import Guarded, guarded
from latentbandits.agent.rewards import one_sided
from latentbandits.agent.spec import Spec
from latentbandits.beliefs import Belief
from latentbandits.store.experiment import Experiment
from latentbandits.store.minutes import belief_of


class View(NamedTuple):
    """An experiment as it is now.

    Attributes
    ----------
    name, status, spec : see `Spec`
    arms, retired : names
    head, last_us : number and time of the last event
    counts : decided, rewarded, expired, censored, late, early, corrected, clipped; and, since the start, duplicates, conflicts and refused
    open : decisions that wait
    waiting : those of them whose reward is known
    problem : what is wrong with the rewards so far, if they say nothing
    oldest_us : when the oldest of them was made
    belief : what the policy believes, None if it has no beliefs
    compiled : whether it runs machine code
    snapshot : the event up to which there is a snapshot
    diverged : decisions that came out otherwise when they were repeated by another build
    id : the number that the store gives it
    names : names of all arms that it ever had, by their number
    broken : arms that break the guardrail, each with the regime in which it does
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
    waiting: int
    problem: str | None
    oldest_us: int | None
    belief: Belief | None
    compiled: bool
    snapshot: int
    diverged: int
    id: int
    names: list[Name]
    broken: tuple[Guarded, ...]

    @classmethod
    def of(cls, experiment: Experiment, compiled: bool, snapshot: int) -> Self:
        """Return what can be seen of an experiment at work."""
        state, row = experiment.state, experiment.row
        oldest = next((waiting.at_us for waiting in state.open.values()), None)
        return cls(
            row.name, state.status, state.spec, state.arms, state.retired, state.head, state.last_us, experiment.counts, len(state.open),
            state.waiting, one_sided(state), oldest, belief_of(state), compiled, snapshot, state.diverged, row.id, list(state.player.names),
            tuple(one for one in guarded(state) if not one.kept),
        )  # fmt: skip
