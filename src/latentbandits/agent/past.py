"""What is kept so that a reward can be replaced after it was learned: two states as they were, and every event since the older one.

The policy learns anew from there: the events are repeated with the other reward, and with the arms that were played. So what is known is
what would be known had the reward been told right at first; what was decided meanwhile stays. Only the last decisions can be corrected,
and memory is bounded: two copies of the policy's memory, and the events of at most twice as many decisions as can be.
"""

from typing import TYPE_CHECKING

from latentbandits.agent.events import ROLES, Event, rewarded

if TYPE_CHECKING:
    from latentbandits.agent.state import State


class Past:
    """The last states and events.

    Parameters and attributes
    -------------------------
    within : at least so many of the decisions that ended last can be corrected
    bases : states as they were, the older one first
    since : the events after each of them, up to the next one
    """

    def __init__(self, within: int, bases: "list[State]", since: list[list[Event]]) -> None:
        self.within, self.bases, self.since = within, bases, since
        self._ended = sum(event.kind in ROLES["ended"] for event in since[-1])

    def copy(self) -> "Past":
        """Return a copy that shares the states, which do not change."""
        return Past(self.within, list(self.bases), [list(events) for events in self.since])

    def add(self, state: "State", event: Event) -> None:
        """Take note of an event that has happened to a state."""
        self.since[-1].append(event._replace(actor=None, scores=None))
        self._ended += event.kind in ROLES["ended"]
        if self._ended >= self.within:
            self.bases, self.since, self._ended = [*self.bases, state.twin()][-2:], [*self.since, []][-2:], 0

    def _place(self, key: str) -> tuple[int, int] | None:
        """Return where the event is from which a decision's rewards were learned, None if it is too long ago."""
        for part, events in enumerate(self.since):
            for place, event in enumerate(events):
                if event.decision == key and event.kind in ("reward", "expire"):
                    return part, place
        return None

    def rewards(self, key: str) -> list[float] | None:
        """Return the rewards that were learned for a decision and can be corrected, None if they cannot."""
        place = self._place(key)
        return None if place is None else self.since[place[0]][place[1]].rewards

    def corrected(self, key: str, rewards: list[float]) -> "State":
        """Return the state to which everything leads if a decision had these rewards."""
        found = self._place(key)
        assert found is not None
        part, place = found
        before = self.since[part][place]
        self.since[part][place] = rewarded(before.seq, before.kind, before.at_us, key, rewards)
        state = self.bases[part].twin()
        for n in range(part, len(self.since)):
            if n > part:
                self.bases[n] = state.twin()
            for event in self.since[n]:
                state.apply(event)
        return state
