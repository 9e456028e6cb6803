"""The functions of an agent that are compiled, and the arguments that they are compiled for."""

import weakref
from collections.abc import Callable

import numpy as np

from latentbandits.agent.slots import Slots
from latentbandits.compiled import in_background, loaded, machine_code, on_disk, quick
from latentbandits.compiled.background import Job
from latentbandits.compiled.cache import Compilable
from latentbandits.memories import NamedArrays
from latentbandits.protocols import Choice, Policy, Waiting
from latentbandits.random import stream

Steps = list[Compilable]  # choose, learn and, if the policy does, peek, compiled


@quick
def choose(policy: Policy, memory: NamedArrays, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
    """Make one choice (compiled)."""
    policy.choose(memory, context, random, choice)


@quick
def learn(policy: Policy, memory: NamedArrays, choice: Choice, rewards: np.ndarray) -> None:
    """Learn from one choice (compiled)."""
    policy.learn(memory, choice, rewards)


@quick
def peek(policy: Policy, memory: NamedArrays, waiting: Waiting) -> None:
    """Take open decisions into account (compiled)."""
    policy.peek(memory, waiting)


def compiled_jobs(policy: Policy) -> list[Job]:
    """Return the functions that an agent of a policy runs, each with arguments of the types that it passes."""
    memory, choice = policy.init(), Slots(policy).choice
    jobs: list[Job] = [
        (choose, (policy, memory, np.zeros(0), stream(0), choice)),
        (learn, (policy, memory, choice, np.zeros(policy.groups))),
    ]
    if policy.peeks:
        none = np.zeros((0, policy.groups))
        jobs.append((peek, (policy, memory, Waiting(none.astype(np.int64), none, np.zeros(0), 0.0))))
    return jobs


def bind(policy: Policy, compiled: bool | None, switch: Callable[[Steps], None], wait: bool = False) -> None:
    """Hand the compiled steps to a method: now, when they are there, or, if `compiled` is False, never.

    Whoever has much to do may `wait` a second for what is on disk; nobody waits for a compilation.
    """
    if compiled is False:
        return None
    jobs = compiled_jobs(policy)
    now = compiled or (wait and all(on_disk(step, *args) for step, args in jobs))
    codes = [machine_code(step, *args) if now else loaded(step, *args) for step, args in jobs]
    made = [code for code in codes if code is not None]
    if len(made) == len(codes):
        return switch(made)
    # an agent that nobody uses any more must not wait for its machine code
    weak = weakref.WeakMethod(switch)

    def done(made: Steps) -> None:
        here = weak()
        if here is not None:
            here(made)

    in_background(jobs, done)
    return None
