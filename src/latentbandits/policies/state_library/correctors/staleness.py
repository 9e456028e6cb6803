"""Staleness: an arm that was not played for long is tried once more, since it may pay otherwise by now."""

from latentbandits.compiled import kernel
from latentbandits.policies.arms import available, nth_available
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.memory import Staleness
from latentbandits.protocols import Choice


@kernel
def note_played(staleness: Staleness, choice: Choice, rounds: int) -> None:
    """Note the arms of the latest round learned."""
    staleness.played[choice.arms[0]] = rounds
    staleness.played[choice.arms[min(1, len(choice.arms) - 1)]] = rounds


@kernel
def stalest(staleness: Staleness, choice: Choice, rounds: int, max_idle_rounds: int, calm: bool) -> int:
    """Return the available arm that was not played for longest if that is too long ago, else -1.

    Too long: available arms * max(max_idle_rounds, rounds / 10) rounds, counted from the last choice made for this reason if that was
    later; 2.5 times that in a `calm` world, whose state has never changed
    """
    number = available(choice)
    if number < 2 or max_idle_rounds == 0:
        return -1
    oldest = nth_available(choice, 0)
    for arm in range(oldest + 1, len(staleness.played)):
        if choice.arm_scores[arm].available and staleness.played[arm] < staleness.played[oldest]:
            oldest = arm
    limit = number * max(float(max_idle_rounds), constants.IDLE_SHARE * rounds)
    if calm:
        limit *= constants.CALM
    if rounds - max(staleness.played[oldest], staleness.core[0].forced) <= limit:
        return -1
    staleness.core[0].forced = rounds
    return int(oldest)
