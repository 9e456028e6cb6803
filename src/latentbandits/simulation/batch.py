"""Thousands of paired runs on all cores, the same to the bit however they are split."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import fast, plain
from latentbandits.protocols import Contestant, Oracle, Policy, Realisation, World
from latentbandits.random import Stream
from latentbandits.settings import InvalidValueError, Vector, array, check_int
from latentbandits.simulation.blocks import Block, play_all
from latentbandits.simulation.loop import COUNTS, Tally, Trace, play
from latentbandits.simulation.results import Results
from latentbandits.simulation.runs import prepare, refuse_wrong, validate
from latentbandits.specs import policy

if TYPE_CHECKING:
    from latentbandits.beliefs import Belief

# Policies, texts that name them, or either under labels; or one of them
Contestants = Contestant | str | Iterable[Contestant | str] | Mapping[str, Contestant | str]


def cores() -> int:
    """Return the number of cores that this process may use."""
    return os.cpu_count() or 1 if sys.platform in ("darwin", "win32") else len(os.sched_getaffinity(0))


def simulate(
    world: World,
    policies: Contestants,
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
        Threads; as many as there are cores if not given. With an executor: how many workers it has.
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
        raise InvalidValueError("simulate", "world", world, "a world, such as HiddenMarkov()")
    contestants = as_policies(policies, world, "simulate")
    if horizon is None:
        horizon = getattr(world, "rounds", 20_000)
    horizon, draws, repeats, bins, workers = (
        check_int("simulate", field, value, least=1)
        for field, value in (
            ("horizon", horizon),
            ("draws", draws),
            ("repeats", repeats),
            ("bins", bins),
            ("workers", cores() if workers is None else workers),
        )
    )
    seed, first = check_int("simulate", "seed", seed, least=0), check_int("simulate", "first", first, least=0)
    runs, bins = draws * repeats, min(bins, horizon)
    block = Block(world, contestants, horizon, repeats, seed, first, bins, 0, runs, interpreted)
    regret, optimal, counts = play_all(block, workers, executor, progress)
    named = {name: counts[:, :, i] for i, name in enumerate(COUNTS)}
    return Results(tuple(contestants), horizon, draws, repeats, seed, regret, optimal, named, first)


def labelled(policies: Contestants, owner: str) -> dict[str, Contestant | str]:
    """Return policies, or texts that name them, under their labels; or refuse."""
    if isinstance(policies, Mapping):
        return dict(policies)
    if isinstance(policies, str | Contestant):
        policies = [policies]
    if not isinstance(policies, Iterable):
        raise InvalidValueError(owner, "policies", policies, "policies or names")
    named: dict[str, Contestant | str] = {}
    for given in policies:
        label = given if isinstance(given, str) else type(given).__name__
        if label in named:
            raise InvalidValueError(
                owner, "policies", label, "given once; use a mapping from labels for two policies of one kind"
            )
        named[label] = given
    return named


def as_policies(policies: Contestants, world: World, owner: str) -> dict[str, Contestant]:
    """Return labelled policies that fit the world, or refuse; where the world's noise is known, they are told."""
    named = labelled(policies, owner)
    if not named:
        raise InvalidValueError(owner, "policies", [], "at least one policy")
    contestants: dict[str, Contestant] = {}
    noise: float | None = getattr(world, "known_noise", None)
    for label, given in named.items():
        if not isinstance(given, str | Policy | Oracle) or isinstance(given, type):
            raise InvalidValueError(owner, f"policies[{label!r}]", given, "a policy or the name of one")
        contestant = policy(given, arms=world.arms) if isinstance(given, str) else given
        contestants[label] = (
            contestant.told(noise) if noise is not None and isinstance(contestant, Policy) else contestant
        )
        arms: int = contestants[label].arms
        if arms != world.arms:
            raise InvalidValueError(owner, f"policies[{label!r}].arms", arms, f"the world's {world.arms}")
    return contestants


def record_one(
    contestant: Contestant,
    realisation: Realisation,
    random: Stream,
    interpreted: bool = False,
    played: np.ndarray | None = None,
) -> Trace:
    """Play one policy on one realisation and return the arms (rounds, groups) and the reasons to probe (rounds,).

    With `played`, the policy sees these arms, which another played, and their rewards; its own arms are what it would have played.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.random import stream
    >>> from latentbandits.simulation.batch import record_one
    >>> realisation = lb.HiddenMarkov().realise(horizon=4, groups=2, seed=0, draw=0, repeat=0)
    >>> arms, reasons = record_one(lb.policy("rp-ucb", interval=3), realisation, stream(0))
    >>> arms[2].tolist(), reasons.tolist()
    ([0, 1], [0, 0, 8, 0])
    """
    rounds, (arms, groups) = len(realisation.means), (contestant.arms, contestant.groups)
    if played is not None:  # compiled code trusts that they are arms
        played = array("record_one", "played", played, Vector(2, whole=True))
        if played.shape != (rounds, groups) or (played < 0).any() or (played >= arms).any():
            rule = f"{rounds} rows of {groups}, each an arm from 0 to {arms - 1}"
            raise InvalidValueError("record_one", "played", played.tolist(), rule)
    trace = Trace.of(rounds, groups)
    run = prepare(contestant, validate(realisation, rounds, arms, groups), random, trace=trace)._replace(played=played)
    refuse_wrong(run, (plain(play) if interpreted else fast(play))(*run))
    return trace


def believe_one(policy: Policy, realisation: Realisation, random: Stream, start: int = 1) -> "list[Belief]":
    """Play as `record_one` does and return what the policy believes after every round from `start` on, counted from 1.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.random import stream
    >>> from latentbandits.simulation.batch import believe_one
    >>> realisation = lb.HiddenMarkov().realise(horizon=40, groups=1, seed=0, draw=0, repeat=0)
    >>> beliefs = believe_one(lb.policy("state-library"), realisation, stream(0), start=21)
    >>> len(beliefs), beliefs[-1].changed
    (20, 40)
    """
    rounds, beliefs, first = len(realisation.means), [], 0
    validated = validate(realisation, rounds, policy.arms, policy.groups)
    run, means = prepare(policy, validated, random), validated.offered
    for end in range(start, rounds + 1):
        part = slice(first, end)
        rewards, context, available = run.rewards[part], run.context[part], run.available[part]
        stretch = run._replace(rewards=rewards, context=context, available=available, tally=Tally.of(means[part]))
        refuse_wrong(stretch, fast(play)(*stretch))
        beliefs.append(policy.belief(run.memory))
        first = end
    return beliefs
