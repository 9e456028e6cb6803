"""Which policies play: the candidates that `advise` considers for a problem, and one policy for `tune` and `trace`."""

from collections.abc import Iterable, Mapping

from latentbandits import specs
from latentbandits.advice.base import BaseProblem
from latentbandits.advice.problem import as_problem
from latentbandits.policies.groups import AB_TEST, CONTROL, ORACLES, RECORDS, SCALED, SINGLE_GROUP, TWO_GROUP
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Contestant
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import as_policies, labelled

Spec = str | Contestant  # a policy, or a text that stands for it
Specs = Iterable[Spec] | Mapping[str, Spec] | str
GROUPS = ("all", "paper")


def candidates(problem: BaseProblem, policies: Specs | None = None, owner: str = "candidates") -> dict[str, Spec]:
    """Return the candidates that the number of groups permits, label -> spec.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.candidates import candidates
    >>> list(candidates(lb.Problem(groups=2, arms=4), "paper"))[:2]
    ['adarp-ucb:groups=2', 'rp-ucb:groups=2']
    """
    if policies is None or (isinstance(policies, str) and policies in GROUPS):
        return group(problem, policies or "all")
    chosen: dict[str, Spec] = {}
    for label, spec in labelled(policies, owner).items():
        chosen |= group(problem, spec) if isinstance(spec, str) and spec in GROUPS else {label: spec}
    return chosen


def group(problem: BaseProblem, name: str) -> dict[str, Spec]:
    """Return a group of candidates: all, or the paper's.

    Where rewards have no noise of their own, StateLibrary with the range of means that the problem gives is one of them.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.candidates import group
    >>> list(group(lb.Problem(rewards="bernoulli", means="0.02 to 0.2"), "all"))[:2]
    ['state-library', 'state-library:low=0.02,high=0.2']
    """
    groups = problem.groups or 1
    several, means = min(groups, problem.arms), problem.known_range()
    pairs = (
        [spec if several == problem.arms else f"{spec}:groups={several}" for spec in TWO_GROUP] if several > 1 else []
    )
    if name == "paper":
        return {spec: spec for spec in [*pairs, *SINGLE_GROUP]}
    single = [spec for spec in REGISTRY if spec not in (*TWO_GROUP, *RECORDS, *ORACLES, CONTROL, AB_TEST, SCALED)]
    shared = [f"groups={groups}"] if groups > 1 else []
    libraries = [shared] if shared else []
    if means is not None:
        ends = [f"low={means.low:.6g}", f"high={means.high:.6g}"]
        libraries += [ends, *([[*shared, *ends]] if shared else [])]
    variants = [f"state-library:{','.join(settings)}" for settings in libraries]
    return {spec: spec for spec in [single[0], *variants, *pairs, *single[1:], ab_test(problem)]}


def ab_test(problem: BaseProblem) -> str:
    """Return the plain test that takes a tenth of the rounds."""
    return f"{AB_TEST}:test={max(problem.arms, problem.horizon // 10)}"


def check_groups(owner: str, label: str, policy: Contestant, groups: int | None) -> None:
    """Refuse a policy that needs more groups than there are."""
    needed: int = policy.groups
    if groups is not None and needed > groups:
        raise InvalidValueError(
            owner, f"groups of {label}", needed, f"at most the problem's {groups} (its key is groups)"
        )


def fit_policy(owner: str, problem: object, policy: Spec, **words: object) -> tuple[BaseProblem, str, str, Contestant]:
    """Return a problem, with some words changed, and a policy that fits it, after its spec and its name without settings; or refuse.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.candidates import fit_policy
    >>> fit_policy("trace", lb.Problem(arms=4), "SW-UCB:window=300", seed=3)[:3]
    (Problem(arms=4, seed=3), 'sw-ucb:window=300', 'sw-ucb')
    >>> fit_policy("trace", lb.Problem(), "rp-ucb")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: trace: groups of rp-ucb is 2 but must be at most the problem's 1 (its key is groups)
    """
    described = as_problem(problem, **words)
    spec = specs.shown_as(policy)
    contestant = as_policies({spec: policy}, described, owner)[spec]
    check_groups(owner, spec, contestant, described.groups)
    return described, spec, specs.name_of(policy), contestant
