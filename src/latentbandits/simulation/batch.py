"""Thousands of paired runs on all cores, the same to the bit however they are split."""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from latentbandits.compiled import fast, machine_code, plain
from latentbandits.protocols import LARGEST_REWARD, Choice, Oracle, Policy, Realisation, World, refuse_fixed
from latentbandits.random import stream
from latentbandits.settings import Refusal, Vector, array, whole
from latentbandits.simulation.late import Late, validated_delays
from latentbandits.simulation.loop import COUNTS, play, record
from latentbandits.simulation.results import Results
from latentbandits.specs import policy

Contestant = Policy | Oracle


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate(
    world: World,
    policies: Iterable[Any] | Mapping[str, Any],
    *,
    horizon: int | None = None,
    draws: int = 128,
    repeats: int = 5,
    seed: int = 0,
    first: int = 0,
    bins: int = 100,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    interpreted: bool = False,
) -> Results:
    """Play every policy on the same worlds and return what each run cost.

    A run depends on the seed and its own number alone, so results do not depend on the number of workers, on the other policies
    or on their order. Memory does not grow with the number of runs but for the results themselves.

    Parameters
    ----------
    world : World
        For instance `HiddenMarkov`.
    policies : iterable or mapping
        Policies, texts that `latentbandits.policy` takes (names, say), or a mapping from labels to either.
    horizon : int, optional
        Rounds per run; 20,000 if not given, or all of a recorded world.
    draws, repeats : int
        Draws of the world (reward matrices), and runs on each.
    seed : int
        Names all randomness.
    first : int
        Number of the first draw: two simulations whose draws do not overlap share no randomness.
    bins : int
        Number of stretches of rounds for which regret and optimal arms are recorded; at most the horizon.
    workers : int, optional
        Threads; as many as there are cores if not given. With an executor: how many blocks it plays at a time, if it
        does not say so itself.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads, in blocks of some seconds: a pool of processes, a Dask cluster's `client.get_executor()` or any
        other. World and policies must be what pickle takes. Results are the same to the bit.
    progress : callable, optional
        Called with the rounds played so far and the total, in the calling thread.
    interpreted : bool
        Run the same code without compiling it: about a thousand times slower, for debugging.

    Returns
    -------
    Results

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.HiddenMarkov(states=2, stickiness=0.95)
    >>> results = lb.simulate(world, ["lc-ucb", "ucb1"], horizon=2000, draws=8, repeats=2)
    >>> [row.label for row in results.summary()]
    ['lc-ucb', 'ucb1']
    """
    if not isinstance(world, World) or isinstance(world, type):
        raise Refusal("simulate", "world", world, "a world, such as HiddenMarkov()")
    contestants = as_policies(policies, world)
    if horizon is None:
        horizon = getattr(world, "rounds", 20_000)
    horizon, draws, repeats, bins, workers = (
        whole("simulate", field, value, least=1)
        for field, value in (
            ("horizon", horizon),
            ("draws", draws),
            ("repeats", repeats),
            ("bins", bins),
            ("workers", cores() if workers is None else workers),
        )
    )
    seed, first = whole("simulate", "seed", seed, least=0), whole("simulate", "first", first, least=0)
    from latentbandits.simulation.blocks import Block, play_all  # which imports this module

    runs, bins = draws * repeats, min(bins, horizon)
    block = Block(world, contestants, horizon, repeats, seed, first, bins, 0, runs, interpreted)
    regret, optimal, counts = play_all(block, workers, executor, progress)
    named = {name: counts[:, :, i] for i, name in enumerate(COUNTS)}
    return Results(tuple(contestants), horizon, draws, repeats, seed, regret, optimal, named, first)


def labelled(policies: Any) -> dict[str, Any]:
    """Return policies, or texts that name them, under their labels; or refuse."""
    if isinstance(policies, Mapping):
        return dict(policies)
    if isinstance(policies, str) or hasattr(policies, "_fields"):
        policies = [policies]
    if not isinstance(policies, Iterable):
        raise Refusal("simulate", "policies", policies, "policies or names")
    named: dict[str, Any] = {}
    for given in policies:
        label = given if isinstance(given, str) else type(given).__name__
        if label in named:
            raise Refusal(
                "simulate", "policies", label, "given once; use a mapping from labels for two policies of one kind"
            )
        named[label] = given
    return named


def as_policies(
    policies: Iterable[Any] | Mapping[str, Any], world: World, owner: str = "simulate"
) -> dict[str, Contestant]:
    """Return labelled policies that fit the world, or refuse."""
    named = labelled(policies)
    if not named:
        raise Refusal(owner, "policies", [], "at least one policy")
    for label, given in named.items():
        if isinstance(given, str):
            named[label] = policy(given, arms=world.arms)
        elif not isinstance(given, Policy | Oracle) or isinstance(given, type):
            raise Refusal(owner, f"policies[{label!r}]", given, "a policy or the name of one")
        if named[label].arms != world.arms:
            raise Refusal(owner, f"policies[{label!r}].arms", named[label].arms, f"the world's {world.arms}")
    return named


def validated(realisation: Realisation, rounds: int, arms: int, units: int) -> Realisation:
    """Return a realisation that compiled code can trust, or refuse a world that does not keep to the protocol."""
    shapes = {
        "means": (rounds, arms),
        "rewards": (rounds, units, arms),
        "context": (rounds, np.shape(realisation.context)[-1]),
    }
    parts = {name: np.ascontiguousarray(getattr(realisation, name), dtype=np.float64) for name in shapes}
    for name, part in parts.items():
        if part.shape != shapes[name]:
            raise Refusal("world", f"shape of {name}", part.shape, shapes[name])
        if part.size and not max(part.max(), -part.min()) <= LARGEST_REWARD:  # NaN fails too
            bad = part.flat[np.argmax(~(np.abs(part) <= LARGEST_REWARD))]
            raise Refusal("world", name, bad, f"finite numbers of size at most {LARGEST_REWARD:g}")
    available = realisation.available
    if available is not None:
        # a table that cannot be written to would be another type, for which every policy is compiled again
        available = np.require(available, dtype=bool, requirements=["C", "W"])
        if available.shape != (rounds, arms):
            raise Refusal("world", "shape of available", available.shape, (rounds, arms))
        if not available.any(axis=1).all():
            none = int(np.argmin(available.any(axis=1)))
            raise Refusal("world", "available arms", 0, "at least 1", f" in round {none}")
    delays = realisation.delays
    if delays is not None:
        delays = validated_delays(delays, rounds)
    means, rewards, context = parts.values()
    return Realisation(means, rewards, context, realisation.states, realisation.truth, available, delays)


def prepare(contestant: Contestant, realisation: Realisation) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the policy that will play this realisation (an oracle is given the truth first), the context that it may see, and the arms."""
    chosen: Any = contestant.informed(realisation) if isinstance(contestant, Oracle) else contestant
    available = np.empty((len(realisation.means), 0), bool)
    if realisation.available is not None:
        if chosen is contestant:  # an oracle was given the availability
            refuse_fixed(chosen)
        available = realisation.available
    needed, found = chosen.covariates, realisation.context.shape[1]
    if needed not in (0, found):
        raise Refusal("simulate", "covariates", needed, f"0, or the {found} that the world reveals")
    return chosen, realisation.context if needed else np.zeros((len(realisation.means), 0)), available


def _refuse_wrong(policy: Any, choice: Choice, wrong: int) -> None:
    """Refuse a policy that chose arms in some round which do not exist or are not available."""
    if wrong >= 0:
        arms = ", ".join(map(str, np.flatnonzero(choice.offers["available"])))
        raise Refusal(
            type(policy).__name__, f"choice in round {wrong}", choice.arms, f"among the available arms {arms}"
        )


class Player:
    """One contestant, ready to play realisation after realisation: its machine code is looked up once."""

    def __init__(self, contestant: Contestant, interpreted: bool = False) -> None:
        self.contestant = contestant
        self.units: int = contestant.units
        self._interpreted = interpreted
        self._runs: dict[type, Callable[..., int]] = {}  # one for realisations with delays, one for others

    def play(
        self, realisation: Realisation, random: np.ndarray, regret: np.ndarray, optimal: np.ndarray, counts: np.ndarray
    ) -> None:
        """Play one realisation and write what it cost."""
        args = self.arguments(realisation, random, regret, optimal, counts)
        late = type(args[7])
        if late not in self._runs:
            self._runs[late] = plain(play) if self._interpreted else machine_code(play, *args)
        _refuse_wrong(args[0], args[2], self._runs[late](*args))

    def arguments(self, realisation: Realisation, random: np.ndarray, *results: np.ndarray) -> tuple[Any, ...]:
        """Return the arguments of the loop."""
        chosen, context, available = prepare(self.contestant, realisation)
        means, rewards, late = realisation.offered, realisation.rewards, Late.of(chosen, realisation.delays)
        return chosen, chosen.init(), Choice.blank(chosen), means, rewards, context, available, late, random, *results

    def example(self, world: World) -> tuple[Any, ...]:
        """Return arguments of the types that the loop is compiled for."""
        realisation = validated(world.realise(1, self.units, 0, 0, 0), 1, world.arms, self.units)
        return self.arguments(realisation, stream(0), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))


def record_one(
    contestant: Contestant, realisation: Realisation, random: np.ndarray, interpreted: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Play one policy on one realisation and return the arms (rounds, units) and the reasons to probe (rounds,).

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.random import stream
    >>> from latentbandits.simulation.batch import record_one
    >>> realisation = lb.HiddenMarkov().realise(horizon=4, units=2, seed=0, draw=0, repeat=0)
    >>> arms, why = record_one(lb.policy("rp-ucb", interval=3), realisation, stream(0))
    >>> arms[2].tolist(), why.tolist()
    ([0, 1], [0, 0, 8, 0])
    """
    units: int = contestant.units
    return _record(contestant, realisation, random, np.empty((0, units), np.int64), interpreted)


def _record(
    contestant: Any, realisation: Realisation, random: np.ndarray, played: np.ndarray, interpreted: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Play one policy, or the arms in `played`, and return its own arms and the reasons to probe."""
    rounds, units = len(realisation.means), contestant.units
    realisation = validated(realisation, rounds, contestant.arms, units)
    chosen, context, available = prepare(contestant, realisation)
    arms, why = np.zeros((rounds, units), np.int64), np.zeros(rounds, np.int64)
    run = plain(record) if interpreted else fast(record)
    blank, late = Choice.blank(chosen), Late.of(chosen, realisation.delays)
    wrong = run(chosen, chosen.init(), blank, realisation.rewards, context, available, late, random, played, arms, why)
    _refuse_wrong(chosen, blank, wrong)
    return arms, why


def follow_one(
    contestant: Contestant, realisation: Realisation, played: np.ndarray, random: np.ndarray, interpreted: bool = False
) -> np.ndarray:
    """Return the arms (rounds, units) that a policy would have played had it seen the arms that another played, and their rewards.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.random import stream
    >>> from latentbandits.simulation.batch import follow_one, record_one
    >>> realisation = lb.HiddenMarkov().realise(horizon=200, units=1, seed=0, draw=0, repeat=0)
    >>> played, _ = record_one(lb.policy("ucb1"), realisation, stream(0))
    >>> bool((follow_one(lb.policy("ucb1"), realisation, played, stream(0)) == played).all())
    True
    """
    rounds, (arms, units) = len(realisation.means), (contestant.arms, contestant.units)
    seen = array("follow_one", "played", played, Vector(2, whole=True))  # compiled code trusts that they are arms
    if seen.shape != (rounds, units) or (seen < 0).any() or (seen >= arms).any():
        raise Refusal(
            "follow_one", "played", seen.tolist(), f"{rounds} rows of {units}, each an arm from 0 to {arms - 1}"
        )
    return _record(contestant, realisation, random, seen, interpreted)[0]


def believe_one(policy: Any, realisation: Realisation, random: np.ndarray, start: int = 1) -> list[Any]:
    """Play as `record_one` does and return what the policy believes after every round from `start` on, counted from 1.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.random import stream
    >>> from latentbandits.simulation.batch import believe_one
    >>> realisation = lb.HiddenMarkov().realise(horizon=40, units=1, seed=0, draw=0, repeat=0)
    >>> beliefs = believe_one(lb.policy("state-library"), realisation, stream(0), start=21)
    >>> len(beliefs), beliefs[-1].changed
    (20, 40)
    """
    realisation = validated(realisation, len(realisation.means), policy.arms, policy.units)
    chosen, context, available = prepare(policy, realisation)
    memory, choice, run = chosen.init(), Choice.blank(chosen), fast(record)
    late = Late.of(chosen, realisation.delays)
    none = np.empty((0, chosen.units), np.int64)
    beliefs, first = [], 0
    for end in range(start, len(realisation.means) + 1):
        arms, why = np.empty((end - first, chosen.units), np.int64), np.empty(end - first, np.int64)
        part = slice(first, end)
        args = (realisation.rewards[part], context[part], available[part], late, random, none, arms, why)
        run(chosen, memory, choice, *args)
        beliefs.append(chosen.belief(memory))
        first = end
    return beliefs
