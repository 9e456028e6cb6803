"""Play that the policy does not decide: a floor of uniform play, and subjects that are held back on a control arm."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from latentbandits.agent.decision import Name
from latentbandits.agent.inputs import number_of
from latentbandits.compiled import plain
from latentbandits.protocols import Policy
from latentbandits.random import Purpose, Stream, below, stream, uniform
from latentbandits.settings import InvalidValueError, Within, check_range

POLICY, FLOOR, CONTROL = "policy", "floor", "control"
_uniform, _below = plain(uniform), plain(below)


class Mixing(NamedTuple):
    """Shares of decisions that the policy does not make.

    Attributes
    ----------
    floor : float, share of uniform play over the available arms
    holdback : float, share of subjects that always get the control arm
    control : int, that arm; -1 for none
    salt : bytes, which subjects are held back follows from it
    random : its random stream
    """

    floor: float
    holdback: float
    control: int
    salt: bytes
    random: Stream

    @property
    def active(self) -> bool:
        """Whether it ever decides."""
        return self.floor > 0 or self.holdback > 0

    def decide(self, arms: Sequence[int], subject: Name | None) -> tuple[str, int]:
        """Return who decides, and the arm if it is not the policy."""
        if self.held(arms) and self.share(subject) < self.holdback:
            return CONTROL, self.control
        if self.floor > 0 and _uniform(self.random) < self.floor:
            return FLOOR, arms[_below(self.random, len(arms))]
        return POLICY, -1

    def held(self, arms: Sequence[int]) -> float:
        """Return the share of subjects that is held back now: none while the control arm is not available."""
        return self.holdback if self.control in arms else 0.0

    def share(self, subject: Name | None) -> float:
        """Return where a subject stands between 0 and 1, always the same; any place if there is none."""
        if subject is None:
            return float(_uniform(self.random))
        digest = blake2b(str(subject).encode("utf-8", "surrogatepass"), key=self.salt, digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2.0**64

    def probabilities(self, own: np.ndarray, arms: Sequence[int]) -> np.ndarray:
        """Return the probability of each available arm, given that of the policy alone; NaN where that is unknown."""
        if len(arms) == 1:
            return np.ones(1)
        held = self.held(arms)
        if held == 1 or self.floor == 1:  # the policy never decides, so that it does not matter if its own are unknown
            own = np.zeros(len(arms))
        total: np.ndarray = (1 - held) * (self.floor / len(arms) + (1 - self.floor) * own)
        if held:
            total[list(arms).index(self.control)] += held
        return total


def mixing(
    policy: Policy, names: Sequence[Name], seed: int, floor: object, holdback: object, control: object
) -> Mixing:
    """Return the mixing that an agent was given, or refuse it."""
    known = {name: arm for arm, name in enumerate(names)}
    made = Mixing(
        check_range("Agent", "floor", floor, Within(0, 1)),
        check_range("Agent", "holdback", holdback, Within(0, 1)),
        -1 if control is None else number_of(control, known, "control"),
        stream(seed, Purpose.AGENT, 0).tobytes(),
        stream(seed, Purpose.AGENT, 1),
    )
    if made.holdback > 0 and control is None:
        raise InvalidValueError(
            "Agent", "control", control, f"one of {', '.join(map(str, known))} when there is a holdback"
        )
    for field, share in (("floor", made.floor), ("holdback", made.holdback)):
        if share > 0 and policy.groups > 1:
            raise InvalidValueError(
                "Agent", field, share, f"0 for a policy with several groups (this one has {policy.groups})"
            )
        if share > 0 and policy.fixed_arms:
            raise InvalidValueError("Agent", field, share, f"0 for {type(policy).__name__}, which needs all its arms")
    return made
