"""Machine code for later cases, made by another process while the first one is compiled and played."""

import contextlib
from collections.abc import Sequence
from typing import Any

from latentbandits.compiled import in_background
from latentbandits.compiled.cache import Code, disabled, installed
from latentbandits.protocols import Oracle
from latentbandits.settings import Refusal
from latentbandits.simulation.batch import Player
from latentbandits.simulation.loop import play
from latentbandits_studies.experiments.case import Case


def compile_ahead(cases: Sequence[Case]) -> list[str]:
    """Have another process compile what all cases but the first need, and return the names of the classes.

    Compiling takes one core, so that a second one halves the time. Whoever comes to a code first compiles it, the other one loads it. Not
    compiled ahead is what oracles need, since to inform one may take long, and what is not kept on disk.

    Parameters
    ----------
    cases : sequence of Case
        What is going to be played, in this order.
    """
    if not cases or not installed() or disabled():
        return []
    first, *later = cases
    own = {code.key for code in _codes([first])}
    codes = {code.key: code for code in _codes(later) if code.key not in own and not code.ready}
    if codes:
        in_background([(code.function, code.args) for code in codes.values()], done=lambda _: None)
    return [code.owner for code in codes.values()]


def _codes(cases: Sequence[Case]) -> list[Code]:
    """Return what the policies of some cases need, each class once in every world."""
    found: dict[Any, Code] = {}
    for case in cases:
        for policy in case.policies.values():
            kind = (id(case.world), _classes(policy))
            if isinstance(policy, Oracle) or kind in found:
                continue
            with contextlib.suppress(Refusal):
                code = Code(play, Player(policy).example(case.world))
                if not code.outside:
                    found[kind] = code
    return list(found.values())


def _classes(policy: Any) -> tuple[type, ...]:
    """Return the classes of a policy and of the one within it."""
    inner = policy.inner
    return (type(policy), *(() if inner is None else _classes(inner)))
