"""Which policies `advise` considers for a problem."""

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
    libraries = [one for units in dict.fromkeys((1, problem.units)) for one in library_with_range(problem, units)]
    shared = [f"state-library:units={problem.units}"] if problem.units > 1 else []
    return {one: one for one in [single[0], *shared, *libraries, *pairs, *single[1:], ab_test(problem)]}


def library_with_range(problem: Problem, units: int) -> list[str]:
    """Return StateLibrary with the range of means, if the problem gives it and its rewards have no noise that could be another.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.candidates import library_with_range
    >>> library_with_range(lb.Problem(rewards="bernoulli", means="0.02 to 0.2"), units=1)
    ['state-library:low=0.02,high=0.2']
    >>> library_with_range(lb.Problem(noise=0.3, means="0 to 1"), units=1)
    []
    """
    if "means" not in problem.given or problem.noise is not None:
        return []
    means = np.asarray(problem.means, dtype=float)
    shared = f"units={units}," if units > 1 else ""
    return [f"state-library:{shared}low={means.min():.6g},high={means.max():.6g}"]


def ab_test(problem: Problem) -> str:
    """Return the plain test that takes a tenth of the rounds."""
    return f"{AB_TEST}:test={max(problem.arms, problem.horizon // 10)}"
