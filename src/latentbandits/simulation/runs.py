"""One policy on one realisation: what is checked before compiled code may trust it, and the run itself."""

from collections.abc import Callable

import numpy as np

from latentbandits.compiled import machine_code, plain
from latentbandits.protocols import LARGEST_REWARD, Choice, Contestant, Oracle, Policy, Realisation, World, refuse_fixed
from latentbandits.random import Stream, stream
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.late import Late, validate_delays
from latentbandits.simulation.loop import NOT_TRACED, Run, Tally, Trace, play


def validate(realisation: Realisation, rounds: int, arms: int, groups: int) -> Realisation:
    """Return a realisation that compiled code can trust, or refuse a world that does not keep to the protocol."""
    means = _floats("means", realisation.means, (rounds, arms))
    rewards = _floats("rewards", realisation.rewards, (rounds, groups, arms))
    context = _floats("context", realisation.context, (rounds, np.shape(realisation.context)[-1]))
    available = realisation.available
    if available is not None:
        # a table that cannot be written to would be another type, for which every policy is compiled again
        available = np.require(available, dtype=bool, requirements=["C", "W"])
        if available.shape != (rounds, arms):
            raise InvalidValueError("world", "shape of available", available.shape, (rounds, arms))
        if not available.any(axis=1).all():
            none = int(np.argmin(available.any(axis=1)))
            raise InvalidValueError("world", "available arms", 0, "at least 1", f" in round {none}")
    delays = None if realisation.delays is None else validate_delays(realisation.delays, rounds)
    return realisation._replace(means=means, rewards=rewards, context=context, available=available, delays=delays)


def _floats(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return finite numbers of a shape, or refuse them."""
    part = np.ascontiguousarray(values, dtype=np.float64)
    if part.shape != shape:
        raise InvalidValueError("world", f"shape of {name}", part.shape, shape)
    if part.size and not max(part.max(), -part.min()) <= LARGEST_REWARD:  # NaN fails too
        bad = part.flat[np.argmax(~(np.abs(part) <= LARGEST_REWARD))]
        raise InvalidValueError("world", name, bad, f"finite numbers of size at most {LARGEST_REWARD:g}")
    return part


def prepare(
    contestant: Contestant, realisation: Realisation, random: Stream, tally: Tally | None = None, trace: Trace = NOT_TRACED
) -> Run:  # fmt: skip
    """Return a run on a realisation, from a fresh memory; an oracle is given the truth first."""
    policy = contestant.informed(realisation) if isinstance(contestant, Oracle) else contestant
    assert isinstance(policy, Policy)
    available, context = np.empty((len(realisation.means), 0), bool), realisation.context
    if realisation.available is not None:
        if policy is contestant:  # an oracle was given the availability
            refuse_fixed(policy)
        available = realisation.available
    needed, revealed = policy.covariates, context.shape[1]
    if needed not in (0, revealed):
        rule = f"0, or the {revealed} that the world reveals"
        raise InvalidValueError(type(policy).__name__, "covariates", needed, rule)
    if not needed:
        context = np.zeros((len(realisation.means), 0))
    late = Late.of(policy, realisation.delays)
    choice, tally = Choice.blank(policy), tally or Tally.of(realisation.offered)
    return Run(policy, policy.init(), choice, random, realisation.rewards, context, available, late, tally, trace)


def refuse_wrong(run: Run, wrong: int) -> None:
    """Refuse a policy that chose arms in some round which do not exist or are not available."""
    if wrong >= 0:
        arms = ", ".join(map(str, np.flatnonzero(run.choice.arm_scores["available"])))
        name = type(run.policy).__name__
        raise InvalidValueError(name, f"choice in round {wrong}", run.choice.arms, f"among the available arms {arms}")


class Runner:
    """One contestant, ready to play realisation after realisation: its machine code is looked up once."""

    def __init__(self, contestant: Contestant, interpreted: bool = False) -> None:
        self.contestant, self._interpreted = contestant, interpreted
        self._code: dict[bool, Callable[..., int]] = {}  # one for realisations with delays, one for others

    @property
    def groups(self) -> int:
        """Groups that receive an arm in every round."""
        return self.contestant.groups

    def play(self, realisation: Realisation, random: Stream, tally: Tally) -> None:
        """Play one realisation and write what it cost."""
        run = prepare(self.contestant, realisation, random, tally)
        late = run.late is not None
        if late not in self._code:
            self._code[late] = plain(play) if self._interpreted else machine_code(play, *run)
        refuse_wrong(run, self._code[late](*run))

    def example(self, world: World) -> Run:
        """Return a run of the types that the loop is compiled for."""
        realisation = validate(world.realise(1, self.groups, 0, 0, 0), 1, world.arms, self.groups)
        return prepare(self.contestant, realisation, stream(0))
