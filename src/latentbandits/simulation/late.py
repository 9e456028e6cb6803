"""Rewards that arrive late or never: the choices that wait for theirs."""

from typing import NamedTuple, Self

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import LARGEST_DELAY, TAGS, ArmScore, Choice, Policy, record_type
from latentbandits.settings import InvalidValueError

Clock = record_type(now=int, arrived=int)
SOME, NONE, ALWAYS = 0, 1, 2


class Late(NamedTuple):
    """Choices that wait for their rewards, in a pool that is used again and again.

    Attributes
    ----------
    arrivals : int array (arrivals, 3), the round of the arrival and that of the choice, in order; and whether it arrives then in any case
        (`ALWAYS`), if some reward is not 0 (`SOME`), or if all are (`NONE`)
    clock : one `Clock`, the round and the number of arrivals so far
    arms, features, tags, arm_scores, rewards : the pool, with a row per slot; the choice of a round has the slot ``round % slots``
    choice, received : what arrives
    """

    arrivals: np.ndarray
    clock: np.ndarray
    arms: np.ndarray
    features: np.ndarray
    tags: np.ndarray
    arm_scores: np.ndarray
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
        groups, width, arms = len(choice.arms), len(choice.features), len(choice.arm_scores)
        return cls(
            in_order(delays),
            np.zeros(1, Clock),
            np.zeros((slots, groups), np.int64),
            np.zeros((slots, width)),
            np.zeros((slots, TAGS), np.int64),
            np.zeros((slots, arms), ArmScore),
            np.zeros((slots, groups)),
            choice,
            np.zeros(groups),
        )


def in_order(delays: np.ndarray) -> np.ndarray:
    """Return the round of every arrival and of its choice, ordered by the former, then by the latter, and for which rewards it is.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.simulation.late import in_order
    >>> in_order(np.array([2, 0, 0, -1])).tolist()
    [[1, 1, 2], [2, 0, 2], [2, 2, 2]]
    >>> in_order(np.array([[1, 2], [0, 2]])).tolist()
    [[1, 0, 0], [1, 1, 0], [2, 0, 1], [3, 1, 1]]
    """
    columns = delays.reshape(len(delays), -1)
    chosen, column = np.nonzero(columns >= 0)
    arrival = chosen + columns[chosen, column]
    order = np.lexsort((chosen, arrival))
    return np.stack([arrival, chosen, column if delays.ndim == 2 else np.full_like(column, ALWAYS)], axis=1)[order]


def validate_delays(delays: object, rounds: int) -> np.ndarray:
    """Return delays that compiled code can trust, with -1 for rewards that would arrive after the last round, or refuse."""
    given = np.asarray(delays)
    if given.shape not in ((rounds,), (rounds, 2)):
        raise InvalidValueError("world", "shape of delays", given.shape, (rounds,))
    if given.dtype.kind not in "iu" or (given < -1).any():
        raise InvalidValueError("world", "delays", given, "integers from 0 on, or -1 for never")
    left = (rounds - np.arange(rounds)).reshape(rounds, *[1] * (given.ndim - 1))
    valid: np.ndarray = np.where(given < left, given, -1).astype(np.int64)
    if valid.max(initial=0) > LARGEST_DELAY:  # the pool alone could fill the machine's memory
        raise InvalidValueError("world", "delays", valid.max(), f"at most {LARGEST_DELAY} rounds")
    return valid


@kernel
def deliver(policy: Policy, memory: object, choice: Choice, rewards: np.ndarray, late: Late) -> None:
    """Put a round's choice and its rewards into the pool, and let the policy learn from all that arrive in this round."""
    clock = late.clock[0]
    slots, groups = late.rewards.shape
    slot = clock.now % slots
    for group in range(groups):
        late.arms[slot, group] = choice.arms[group]
        late.rewards[slot, group] = rewards[group]
    for i in range(len(choice.features)):
        late.features[slot, i] = choice.features[i]
    for i in range(len(choice.tags)):
        late.tags[slot, i] = choice.tags[i]
    for arm in range(len(choice.arm_scores)):
        late.arm_scores[slot, arm] = choice.arm_scores[arm]
    while clock.arrived < len(late.arrivals) and late.arrivals[clock.arrived, 0] == clock.now:
        slot, when, known = late.arrivals[clock.arrived, 1] % slots, late.arrivals[clock.arrived, 2], NONE
        for group in range(groups):
            late.choice.arms[group] = late.arms[slot, group]
            late.received[group] = late.rewards[slot, group]
            if late.received[group] != 0.0:
                known = SOME
        clock.arrived += 1
        if when != ALWAYS and when != known:
            continue
        for i in range(len(choice.features)):
            late.choice.features[i] = late.features[slot, i]
        for i in range(len(choice.tags)):
            late.choice.tags[i] = late.tags[slot, i]
        for arm in range(len(choice.arm_scores)):
            late.choice.arm_scores[arm] = late.arm_scores[slot, arm]
        policy.learn(memory, late.choice, late.received)
    clock.now += 1
