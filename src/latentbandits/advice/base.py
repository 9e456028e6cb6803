"""What `compare`, `advise`, `tune` and `trace` need to know of a problem, whoever describes it: words, a world, or a log."""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from latentbandits.advice.parameter import OWNER, Range
from latentbandits.advice.vocabulary import DEFAULT_HORIZON, DEFAULT_RUNS, PARAMETERS, refuse_unknown
from latentbandits.protocols import Realisation, World

# How much is simulated
SIZES = ("groups", "horizon", "runs", "seed")
SHORTEST, FEWER = 50, 64  # the horizon is moved to this, or to this part of it


class BaseProblem(ABC):
    """A problem: worlds that can be sampled, how much of them is simulated, and what could be otherwise.

    A subclass defines `arms`, `replace` and `sample`. One whose quantities can be moved, so that `advise` can tell when its advice would
    change, extends `movable`, `bounds`, `grid` and `move`, which know the horizon alone.

    Attributes
    ----------
    kind : how the world changes
    horizon, runs, seed : rounds, sampled worlds, and what names all randomness
    policies : specs of the policies to compare, if the problem names some
    advisable : whether every draw is another world that fits, so that advice is about all of them
    """

    kind: str
    horizon: int
    runs: int
    seed: int
    policies: list[str] | None
    advisable: ClassVar[bool] = True

    @property
    @abstractmethod
    def arms(self) -> int:
        """Number of arms."""

    @property
    @abstractmethod
    def groups(self) -> int | None:
        """Most groups that a policy may have; None for any number."""

    @abstractmethod
    def replace(self, **words: object) -> Self:
        """Return the same problem with some words changed."""

    @abstractmethod
    def sample(self, seed: int, draw: int) -> World:
        """Return one world that fits."""

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        return self.sample(seed, draw).realise(horizon, groups, seed, draw, repeat)

    def widen(self) -> Self:
        """Return the same problem with wide ranges for what was left out, as `advise` takes it."""
        return self

    def known_range(self) -> Range | None:
        """Return the range of means, if it is given and rewards have no noise of their own, such as clicks; else None."""
        return None

    def movable(self) -> list[str]:
        """Return the quantities whose change could change the advice."""
        return ["horizon"]

    def bounds(self, quantity: str) -> Range:  # noqa: ARG002
        """Return the range that the problem gives for a quantity."""
        return Range(self.horizon, self.horizon)

    def grid(self, quantity: str) -> list[float]:  # noqa: ARG002
        """Return the values that a quantity is moved to, within its range and beyond it."""
        values = np.geomspace(max(SHORTEST, self.horizon / FEWER), self.horizon, 4)
        return [float(n) for n in np.unique(values.round().astype(int))]

    def counts(self, quantity: str) -> bool:
        """Whether a quantity is a whole number."""
        return quantity == "horizon"

    def move(self, quantity: str, value: float) -> Self:
        """Return the problem with one quantity at a value."""
        return self.replace(**{quantity: round(value)})

    def alternatives(self) -> "dict[str, BaseProblem]":
        """Return what the world could be instead, in words -> as a problem."""
        return {}

    def source(self) -> str:
        """Return the Python that makes the problem, as far as that is known."""
        return str(self)

    def values(self) -> dict[str, object]:
        """Return the problem as plain values."""
        sizes = {"groups": self.groups, "horizon": self.horizon, "runs": self.runs, "seed": self.seed}
        given = {name: value for name, value in sizes.items() if value is not None}
        return {"kind": self.kind, "arms": self.arms, **given, "world": str(self)}


@runtime_checkable
class Finite(Protocol):
    """A world that has a number of rounds, such as a recorded one."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""


@dataclass(frozen=True)
class WorldProblem(BaseProblem):
    """Any world with the sizes of a simulation: a problem about which nothing else is known.

    Attributes
    ----------
    world : the world
    groups : most groups that a policy may have; None for any number
    horizon : rounds; 10,000 if not given, or all that were recorded
    runs : sampled worlds, each played once
    seed : names all randomness
    policies : as in a `Problem`
    """

    world: World
    groups: int | None = None
    horizon: int = 0
    runs: int = DEFAULT_RUNS
    seed: int = 0
    policies: list[str] | None = None
    kind: str = "world"
    advisable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.horizon:
            rounds = self.world.rounds if isinstance(self.world, Finite) else DEFAULT_HORIZON
            object.__setattr__(self, "horizon", rounds)
        for size, value in (
            ("groups", self.groups),
            ("horizon", self.horizon),
            ("runs", self.runs),
            ("seed", self.seed),
        ):
            if value is not None:
                PARAMETERS[size].accept(value)

    def __repr__(self) -> str:
        return repr(self.world)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.world.arms

    def replace(self, **words: object) -> Self:
        """Return the same problem with some sizes changed."""
        for word, value in words.items():
            if word not in PARAMETERS:
                raise refuse_unknown(OWNER, word)
            if word not in (*SIZES, "policies"):
                raise PARAMETERS[word].refusal(value, "left out for a world that is given")
            PARAMETERS[word].accept(value)
        sizes: dict[str, Any] = words
        return dataclasses.replace(self, **sizes)

    def sample(self, seed: int, draw: int) -> World:  # noqa: ARG002
        """Return the world."""
        return self.world

    def source(self) -> str:
        """Return the name of the world's class: its arguments are not known."""
        return f"{type(self.world).__name__}(...)"
