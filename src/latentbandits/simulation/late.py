"""Rewards that arrive late or never: the choices that wait for theirs."""

from typing import NamedTuple, Self

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import LARGEST_DELAY, NOTES, Choice, Offer, Policy, record_type
from latentbandits.settings import Refusal

Clock = record_type(now=int, arrived=int)


class Late(NamedTuple):
    """Choices that wait for their rewards, in a pool that is used again and again.

    Attributes
    ----------
    arrivals : int array (arrivals, 2), the round of the arrival and that of the choice, in order
    clock : one `Clock`, the round and the number of arrivals so far
    arms, features, note, offers, rewards : the pool, with a row per slot; the choice of a round has the slot ``round % slots``
    choice, received : what arrives
    """

    arrivals: np.ndarray
    clock: np.ndarray
    arms: np.ndarray
    features: np.ndarray
    note: np.ndarray
    offers: np.ndarray
    rewards: np.ndarray
    choice: Choice
    received: np.ndarray

    @classmethod
    def of(cls, policy: Policy, delays: np.ndarray | None) -> Self | None:
        """Return an empty pool with a slot more than the largest delay, None if there are no delays."""
        if delays is None:
            return None
        slots = int(delays.max(initial=0)) + 1
        choice = Choice.blank(policy)
        units, width, arms = len(choice.arms), len(choice.features), len(choice.offers)
        return cls(
            in_order(delays),
            np.zeros(1, Clock),
            np.zeros((slots, units), np.int64),
            np.zeros((slots, width)),
            np.zeros((slots, NOTES), np.int64),
            np.zeros((slots, arms), Offer),
            np.zeros((slots, units)),
            choice,
            np.zeros(units),
        )


def in_order(delays: np.ndarray) -> np.ndarray:
    """Return the round of every arrival and of its choice, ordered by the former, then by the latter.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.simulation.late import in_order
    >>> in_order(np.array([2, 0, 0, -1])).tolist()
    [[1, 1], [2, 0], [2, 2]]
    """
    chosen = np.flatnonzero(delays >= 0)
    arrival = chosen + delays[chosen]
    order = np.argsort(arrival, kind="stable")
    return np.stack([arrival[order], chosen[order]], axis=1)


def validate_delays(delays: object, rounds: int) -> np.ndarray:
    """Return delays that compiled code can trust, with -1 for rewards that would arrive after the last round, or refuse."""
    given = np.asarray(delays)
    if given.shape != (rounds,):
        raise Refusal("world", "shape of delays", given.shape, (rounds,))
    if given.dtype.kind not in "iu" or (given < -1).any():
        raise Refusal("world", "delays", given, "integers from 0 on, or -1 for never")
    valid: np.ndarray = np.where(given < rounds - np.arange(rounds), given, -1).astype(np.int64)
    if valid.max(initial=0) > LARGEST_DELAY:  # the pool alone could fill the machine's memory
        raise Refusal("world", "delays", valid.max(), f"at most {LARGEST_DELAY} rounds")
    return valid


@kernel
def deliver(policy: Policy, memory: object, choice: Choice, rewards: np.ndarray, late: Late) -> None:
    """Put a round's choice and its rewards into the pool, and let the policy learn from all that arrive in this round."""
    clock = late.clock[0]
    slots, units = late.rewards.shape
    slot = clock.now % slots
    for unit in range(units):
        late.arms[slot, unit] = choice.arms[unit]
        late.rewards[slot, unit] = rewards[unit]
    for i in range(len(choice.features)):
        late.features[slot, i] = choice.features[i]
    for i in range(len(choice.note)):
        late.note[slot, i] = choice.note[i]
    for arm in range(len(choice.offers)):
        late.offers[slot, arm] = choice.offers[arm]
    while clock.arrived < len(late.arrivals) and late.arrivals[clock.arrived, 0] == clock.now:
        slot = late.arrivals[clock.arrived, 1] % slots
        for unit in range(units):
            late.choice.arms[unit] = late.arms[slot, unit]
            late.received[unit] = late.rewards[slot, unit]
        for i in range(len(choice.features)):
            late.choice.features[i] = late.features[slot, i]
        for i in range(len(choice.note)):
            late.choice.note[i] = late.note[slot, i]
        for arm in range(len(choice.offers)):
            late.choice.offers[arm] = late.offers[slot, arm]
        policy.learn(memory, late.choice, late.received)
        clock.arrived += 1
    clock.now += 1
