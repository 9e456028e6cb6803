"""A recorded world: the reward of every arm in every round."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from latentbandits.protocols import Realisation
from latentbandits.settings import InvalidValueError, Vector, array, checked


@checked
@dataclass(frozen=True, repr=False)
class Replay:
    """Rewards that were recorded; regret is measured against `means`, or against the rewards themselves.

    Parameters
    ----------
    rewards : array (rounds, arms) or (rounds, groups, arms)
        What each arm paid; without an axis for groups all groups receive the same.
    means : array (rounds, arms), optional
        Expected rewards, if they are known.
    context : array (rounds, covariates), optional
        What a policy may observe before it chooses.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.Replay([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]])
    >>> world.realise(horizon=3, groups=1, seed=0, draw=0, repeat=0).means.max(axis=1).tolist()
    [0.9, 0.8, 0.7]
    """

    rewards: Any
    means: Annotated[Any, Vector(2)] = None
    context: Annotated[Any, Vector(2)] = None

    def check(self) -> None:
        """Refuse arrays that do not fit each other; fill in what follows from the rewards."""
        try:
            axes = 3 if np.ndim(self.rewards) == 3 else 2
        except ValueError:
            axes = 2  # ragged: refused below
        rewards = array("Replay", "rewards", self.rewards, Vector(axes))
        rewards = rewards[:, None, :] if axes == 2 else rewards
        rounds, groups, arms = rewards.shape
        if rounds == 0 or groups == 0 or arms < 2:
            raise InvalidValueError(
                "Replay", "rewards", np.shape(self.rewards), "at least one round and two arms", ".shape"
            )
        means = rewards.mean(axis=1) if self.means is None else self.means
        if means.shape != (rounds, arms):
            raise InvalidValueError("Replay", "means", means.shape, f"({rounds}, {arms}), as for the rewards", ".shape")
        context = np.zeros((rounds, 0)) if self.context is None else self.context
        if len(context) != rounds:
            raise InvalidValueError(
                "Replay", "context", context.shape, f"({rounds}, columns), a row per round", ".shape"
            )
        for field, value in (("rewards", rewards), ("means", means), ("context", context)):
            object.__setattr__(self, field, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return how to make it again elsewhere: a dataset of this package by its name (`origin`), others by all their numbers."""
        return getattr(self, "origin", None) or super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<Replay: {self.rounds:,} rounds, {self.arms} arms>"

    @property
    def rounds(self) -> int:
        """Number of rounds recorded."""
        return len(self.rewards)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.rewards.shape[2])

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:  # noqa: ARG002
        """Return the first rounds of the record, the same in every run; see `latentbandits.protocols.World`."""
        rounds, recorded, _ = self.rewards.shape
        if horizon > rounds:
            raise InvalidValueError("Replay", "horizon", horizon, f"at most the {rounds} rounds recorded")
        if recorded not in (1, groups):
            raise InvalidValueError("Replay", "groups", groups, f"the {recorded} groups recorded")
        rewards = np.array(np.broadcast_to(self.rewards[:horizon], (horizon, groups, self.arms)), order="C")
        means, context = np.ascontiguousarray(self.means[:horizon]), np.ascontiguousarray(self.context[:horizon])
        return Realisation(means, rewards, context, np.full(horizon, -1), None)
