"""Which policies `advise` considers for a problem."""

import math
from typing import Any

import numpy as np

from latentbandits.advice.problem import Problem
from latentbandits.policies.groups import AB_TEST, CONTROL, ORACLES, SCALED, SINGLE_UNIT, STATED, TWO_UNIT
from latentbandits.policies.registry import REGISTRY
from latentbandits.simulation.batch import labelled

GROUPS = ("all", "paper")


def candidates(problem: Problem, policies: Any = None) -> dict[str, Any]:
    """Return the candidates that the number of units permits, label -> spec.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.candidates import candidates
    >>> list(candidates(lb.Problem(units=2, arms=4), "paper"))[:2]
    ['adarp-ucb:units=2', 'rp-ucb:units=2']
    """
    if policies is None or (isinstance(policies, str) and policies in GROUPS):
        return group(problem, policies or "all")
    found: dict[str, Any] = {}
    for label, spec in labelled(policies).items():
        found |= group(problem, spec) if isinstance(spec, str) and spec in GROUPS else {label: spec}
    return found


def group(problem: Problem, name: str) -> dict[str, str]:
    """Return a group of candidates: all, or the paper's."""
    several = min(problem.units, problem.arms)
    pairs = [one if several == problem.arms else f"{one}:units={several}" for one in TWO_UNIT] if several > 1 else []
    if name == "paper":
        return {one: one for one in [*pairs, *SINGLE_UNIT]}
    single = [one for one in REGISTRY if one not in (*TWO_UNIT, *STATED, *ORACLES, CONTROL, AB_TEST, SCALED)]
    libraries = [one for units in dict.fromkeys((1, problem.units)) for one in informed_libraries(problem, units)]
    shared = [f"state-library:units={problem.units}"] if problem.units > 1 else []
    return {one: one for one in [single[0], *shared, *libraries, *pairs, *single[1:], ab_test(problem)]}


def informed_libraries(problem: Problem, units: int) -> list[str]:
    """Return StateLibrary with what the problem gives exactly: the range of means, and the noise as well.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.candidates import informed_libraries
    >>> informed_libraries(lb.Problem(noise=0.3, means="0 to 1"), units=1)
    ['state-library:low=0,high=1', 'state-library:noise=0.3,low=0,high=1']
    >>> informed_libraries(lb.Problem(noise="0.1 to 0.3"), units=1)
    []
    """
    shared, noise, span = [f"units={units}"] if units > 1 else [], [], []
    if "noise" in problem.given and "noise" not in problem.vague and problem.noise > 0:
        noise = [f"noise={problem.noise * math.sqrt(units):.6g}"]
    if "means" in problem.given:
        known = np.asarray(problem.means, dtype=float)
        span = [f"low={known.min():.6g}", f"high={known.max():.6g}"]
    found = [[*shared, *span]] if span else []
    found += [[*shared, *noise, *span]] if noise else []
    return [f"state-library:{','.join(settings)}" for settings in found]


def ab_test(problem: Problem) -> str:
    """Return the plain test that takes a tenth of the rounds."""
    return f"{AB_TEST}:test={max(problem.arms, problem.horizon // 10)}"
