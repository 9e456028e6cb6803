"""One policy for one problem, as `tune` and `trace` take them."""

from typing import Any, NamedTuple

from latentbandits import specs
from latentbandits.advice.compare import check_units
from latentbandits.advice.problem import as_problem
from latentbandits.settings import Refusal
from latentbandits.simulation.batch import as_policies


class Single(NamedTuple):
    """A problem and a policy that fits it.

    Attributes
    ----------
    problem : the problem, or the world and its sizes
    spec : the policy as labels show it
    name : its name, or module:Class, without settings
    policy : the policy
    """

    problem: Any
    spec: str
    name: str
    policy: Any


def single(owner: str, problem: Any, policy: Any, **words: Any) -> Single:
    """Return a problem, with some words changed, and a policy that fits it, or refuse either.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.single import single
    >>> single("trace", lb.Problem(arms=4), "SW-UCB:window=300", seed=3)[:3]
    (Problem(arms=4, seed=3), 'sw-ucb:window=300', 'sw-ucb')
    >>> single("trace", lb.Problem(), "rp-ucb")
    Traceback (most recent call last):
    latentbandits.settings.Refusal: trace: units of rp-ucb is 2 but must be at most the problem's 1 (its key is units)
    """
    try:
        described = as_problem(problem, **words)
        spec = specs.shown_as(policy)
        made = as_policies({spec: policy}, described)[spec]
        check_units(spec, made, described.units)
        return Single(described, spec, specs.name_of(policy), made)
    except Refusal as refusal:
        if refusal.owner in ("compare", "simulate"):
            raise refusal.at(owner=owner) from None
        raise
