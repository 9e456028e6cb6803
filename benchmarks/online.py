"""One decision and its reward, online: an agent against the linear bandits of two other libraries."""

import random
from collections.abc import Callable
from importlib.util import find_spec

import latentbandits as lb
from benchmarks.figures import Figure, fastest, say

_ROUNDS, _REPEATS, _FEATURES = 500, 25, 4
_generator = random.Random(1)
_CONTEXTS = [[_generator.random() for _ in range(_FEATURES)] for _ in range(_ROUNDS)]
_REWARDS = [_generator.random() for _ in range(_ROUNDS)]
Rounds = Callable[[], None]


def measure() -> list[Figure]:
    """Time an ask and a tell, and the same of the others that are installed."""
    say("online: ask and tell against other libraries, in turns")
    rivals = {"river": _river, "mabwiser": _mabwiser}
    targets = {"river": "<= 0.25", "mabwiser": ""}
    installed = {name: make() for name, make in rivals.items() if find_spec(name) is not None}
    best = fastest({"ours": _ours(), **installed}, _REPEATS)
    figures = [Figure("ask_tell_us", best["ours"] / _ROUNDS * 1e6, "", "microseconds per ask + tell of adasp-ucb")]
    for name in ("adasp-ucb", "state-library"):
        spent = fastest({name: _ours(name, compiled=False)}, 3)[name] / _ROUNDS * 1e6
        key = f"interpreted_{name.replace('-', '_')}_us"
        figures.append(
            Figure(key, spent, "", f"the same of {name}, interpreted: without numba, or before machine code is there")
        )
    for name, target in targets.items():
        value = best["ours"] / best[name] if name in best else None
        meaning = f"ask + tell over one round of {name}'s LinUCB" if name in best else f"{name} is not installed"
        figures.append(Figure(f"ask_tell_over_{name}_linucb", value, target, meaning))
    return figures


def _ours(name: str = "adasp-ucb", compiled: bool = True) -> Rounds:
    agent = lb.Agent(name, compiled=compiled)

    def rounds() -> None:
        for reward in _REWARDS:
            agent.tell(agent.ask(), reward)

    rounds()  # warm up
    return rounds


def _river() -> Rounds:
    from river.bandit import LinUCBDisjoint

    policy, arms = LinUCBDisjoint(seed=1), [0, 1]
    contexts = [dict(enumerate(context)) for context in _CONTEXTS]  # river's form of features

    def rounds() -> None:
        for context, reward in zip(contexts, _REWARDS, strict=True):
            policy.update(policy.pull(arms, context=context), context, reward)

    return rounds


def _mabwiser() -> Rounds:
    from mabwiser.mab import MAB, LearningPolicy

    policy = MAB([0, 1], LearningPolicy.LinUCB(alpha=1.0), seed=1)
    policy.fit([0, 1], _REWARDS[:2], _CONTEXTS[:2])  # it does not predict before a fit

    def rounds() -> None:
        for context, reward in zip(_CONTEXTS, _REWARDS, strict=True):
            policy.partial_fit([policy.predict([context])], [reward], [context])

    return rounds
