"""Policies around another policy: what they have of it, and how it restarts.

A wrapper has a setting `inner`, the policy within. Its memory has the fields `inner`, the memory of that policy, `fresh`,
the same before the first round, and `scalars`, a record with the field `restarts`. A choice's last feature is the number of restarts
before it: rewards that arrive after a later one are not handed on, since the features beside them belong to a memory that is gone.
"""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from latentbandits.compiled import copy_into, kernel
from latentbandits.protocols import Choice, Policy, corner
from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    from latentbandits.beliefs import Belief
    from latentbandits.policies import detection_augmented, scaled


class Wrapper(Policy):
    """A policy with the setting `inner`, the policy within: arms, groups, features, traits and scratch space follow from it.

    Examples
    --------
    >>> import latentbandits as lb
    >>> made = lb.policy("scaled(lc-ts)", arms=3)
    >>> made.arms, made.width == made.inner.width + 1, made.deterministic
    (3, True, False)
    """

    inner: Policy

    def check(self) -> None:
        """Refuse what cannot be within: anything but a policy, an oracle, and a wrapper of the same kind."""
        owner = type(self).__name__
        if not isinstance(self.inner, Policy):
            raise InvalidValueError(owner, "inner", self.inner, "a policy that needs no knowledge of the world")
        part: Policy | None = self.inner
        while part is not None:  # every level has its memory twice
            if type(part) is type(self):
                raise InvalidValueError(owner, "inner", self.inner, f"a policy without another {owner} within it")
            part = part.inner

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.inner.arms

    @property
    def groups(self) -> int:
        """Number of groups."""
        return self.inner.groups

    @property
    def covariates(self) -> int:
        """Number of observed features."""
        return self.inner.covariates

    @property
    def fixed_arms(self) -> bool:
        """Whether all arms are needed in every round."""
        return self.inner.fixed_arms

    @property
    def width(self) -> int:
        """Number of features: those of the policy within, and the number of restarts."""
        return self.inner.width + 1

    @property
    def deterministic(self) -> bool:
        """Whether the policy within samples nothing."""
        return self.inner.deterministic

    @property
    def harmed_by_logs(self) -> bool:
        """Whether the policy within gets worse by being fed a log."""
        return self.inner.harmed_by_logs

    @property
    def scratch(self) -> tuple[str, ...]:
        """The fresh memory, and what the policy within need not save."""
        return ("fresh", *(f"inner.{name}" for name in self.inner.scratch))

    @property
    def has_belief(self) -> bool:
        """Whether the policy within has a belief."""
        return self.inner.has_belief

    def belief(self, memory: Any) -> "Belief":
        """Return what the policy within believes."""
        return self.inner.belief(memory.inner)

    def larger(self) -> Self:
        """Return the same around a policy with one more arm."""
        return self._replace(inner=self.inner.larger())

    def grow(self, memory: Any) -> Any:
        """Return a memory with one more arm, around that of the policy within."""
        inner, fresh = self.inner.grow(memory.inner), self.larger().init()
        own = [at for at, name in enumerate(memory._fields) if name not in ("inner", "fresh")]
        corner([fresh[at] for at in own], [memory[at] for at in own])
        return fresh._replace(inner=inner)

    def positions(self) -> np.ndarray:
        """Return where the features go: the last one stays the last."""
        return np.append(self.inner.positions(), self.larger().width - 1)


@kernel
def within(choice: Choice) -> Choice:
    """Return a choice as the policy within sees it: without the last feature."""
    return Choice(choice.arms, choice.features[: len(choice.features) - 1], choice.tags, choice.arm_scores)


@kernel
def stamp(choice: Choice, restarts: int) -> None:
    """Write the number of restarts into a choice."""
    choice.features[len(choice.features) - 1] = restarts


@kernel
def is_current(choice: Choice, restarts: int) -> bool:
    """Return whether no restart came after a choice."""
    return bool(choice.features[len(choice.features) - 1] == restarts)


@kernel
def restart(memory: "detection_augmented.Memory | scaled.Memory") -> None:
    """Let the policy within forget everything."""
    copy_into(memory.inner, memory.fresh)
    memory.scalars[0].restarts += 1
