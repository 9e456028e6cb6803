"""Whether a problem is worth a policy at all: the best one beside the best single arm and the limit."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from latentbandits.policies.groups import AB_TEST, CONTROL, LIMIT
from latentbandits.presentation.numbers import figure, percent, span
from latentbandits.simulation.results import interval

SINGLE = "best-single-arm"
LITTLE = 0.01  # a share of the attainable reward that is next to nothing
PLANNER = "a planner that is given everything but the state"
# The verdicts
WORTH, TIED, WORSE, NO_ROOM, FLAT, UNKNOWN = (
    "worth it",
    "not shown to be worth it",
    "not worth it",
    "no policy can help",
    "nothing to learn",
    "not judged",
)


class Worth(NamedTuple):
    """The best policy beside the best single arm and the limit, on the same runs.

    Attributes
    ----------
    verdict : "worth it", "not shown to be worth it", "not worth it", "no policy can help", "nothing to learn" or "not judged" (one run)
    policy : the best policy
    regret, single, limit : regret of the policy, of the best single arm and of the limit (NaN if it is not known)
    gain, low, high : how much less regret than the best single arm the policy has, with its paired 95 % interval
    attainable : what the best arm of every round earns more than random play
    instead : what to do if it is not worth it
    """

    verdict: str
    policy: str
    regret: float
    single: float
    limit: float
    gain: float
    low: float
    high: float
    attainable: float
    instead: str

    @property
    def relative_gain(self) -> float:
        """The gain as a share of the best single arm's regret."""
        return self.gain / self.single if self.single > 0 else math.nan

    @property
    def of_the_limit(self) -> float:
        """The gain as a share of what the limit gains over the best single arm."""
        room = self.single - self.limit
        return self.gain / room if room > 0 else math.nan


def judge(regret: Mapping[str, np.ndarray], policy: str, ranked: Sequence[str], record: bool = False) -> Worth:
    """Return whether the best policy is worth it, by paired intervals.

    Parameters
    ----------
    regret : mapping
        Label -> regret of every run, with the references `best-single-arm` and `random`, and the limit if there is one.
    policy : str
        Label of the best policy.
    ranked : sequence of str
        Labels of all policies that are no references; an A/B test among them is what is advised instead.
    record : bool
        Whether all runs are of one world: then nothing is judged.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.advice.worth import judge
    >>> runs = np.array([0.9, 1.0, 1.1])
    >>> judge({"ts": 10 * runs, "best-single-arm": 40 * runs, "random": 90 * runs}, "ts", ["ts"]).verdict
    'worth it'
    """
    ours, single = regret[policy], regret[SINGLE]
    limit = regret.get(LIMIT)
    gain, low, high = interval(single - ours)
    attainable = float(regret[CONTROL].mean())
    if attainable == 0:
        verdict = FLAT
    elif record or len(ours) < 2:
        verdict = UNKNOWN
    elif low <= 0 and limit is not None and interval(single - limit)[2] <= LITTLE * attainable:
        verdict = NO_ROOM
    else:
        verdict = WORTH if low > 0 else WORSE if high < 0 else TIED
    return Worth(
        verdict,
        policy,
        float(ours.mean()),
        float(single.mean()),
        math.nan if limit is None else float(limit.mean()),
        gain,
        low,
        high,
        attainable,
        instead(regret, policy, ranked),
    )


def instead(regret: Mapping[str, np.ndarray], policy: str, ranked: Sequence[str]) -> str:
    """Return how to find the best single arm: by what was measured, an A/B test or the best policy if that is cheaper."""
    tests = sorted((float(regret[label].mean()), label) for label in ranked if label.split(":")[0] == AB_TEST)
    if not tests:
        return "Find that arm once, and stay with it."
    cost, test = tests[0]
    if test == policy:
        return f"Find that arm with an A/B test ({test}: {figure(cost)})."
    _, low, high = interval(regret[test] - regret[policy])
    than = "cheaper than" if low > 0 else "dearer than" if high < 0 else "not shown to be cheaper than"
    return f"To find that arm, {policy} is {than} an A/B test ({test}: {figure(cost)})."


def sentences(worth: Worth, record: bool = False) -> list[str]:
    """Return the first sentences of a comparison or an advice: whether a policy is worth it, and if not, what to do instead.

    Examples
    --------
    >>> from latentbandits.advice.worth import WORSE, Worth, sentences
    >>> worth = Worth(WORSE, "ts", 701.0, 502.0, 480.0, -199.0, -230.0, -168.0, 2900.0, "Find that arm once, and stay with it.")
    >>> print(" ".join(sentences(worth)))
    Not worth it: always playing the best single arm costs 502.0 regret, less than every policy here (best: ts, 701.0, +40 %). Find that arm once, and stay with it.
    """  # noqa: E501
    single, regret = figure(worth.single), figure(worth.regret)
    costs = f"always playing the best single arm costs {single} regret"
    if worth.verdict == FLAT:
        return ["Not worth it: no arm is better than another, so there is nothing to learn."]
    if worth.verdict == UNKNOWN:
        return [beside(worth, "On this record" if record else "In this one run")]
    if worth.verdict == NO_ROOM:
        limit = f"and even the limit, {PLANNER}, has {figure(worth.limit)}: no policy can exploit regimes here"
        return [f"Not worth it: {costs}, {limit}.", worth.instead]
    if worth.verdict == WORSE:
        more = f", +{percent(-worth.relative_gain)}" if worth.single > 0 else ""
        best = f"(best: {worth.policy}, {regret}{more})"
        return [f"Not worth it: {costs}, less than every policy here {best}.", worth.instead]
    if worth.verdict == TIED:
        better = worth.gain > 0
        ends = (worth.low, worth.high) if better else (-worth.high, -worth.low)
        gain = f"{figure(abs(worth.gain))} {'less' if better else 'more'}, which may be chance (95 % interval {span(*ends)})"
        more = "More runs may show that it is." if better else worth.instead
        return [f"Not shown to be worth it: {costs}, the best policy here, {worth.policy}, {regret}: {gain}.", more]
    limit = (
        f", {percent(worth.of_the_limit)} of what the limit gains" if worth.of_the_limit == worth.of_the_limit else ""
    )
    return [
        f"Worth it: {worth.policy} has {percent(worth.relative_gain)} less regret than always playing the best single arm "
        f"({regret} against {single}){limit}."
    ]


def beside(worth: Worth, where: str) -> str:
    """Return the numbers beside each other, for a single run, of which nothing can be judged."""
    share = abs(worth.relative_gain)
    word = "less than" if worth.gain > 0 else "more than"
    much = (
        f"{percent(share)} {word}" if share >= 0.005 else word if worth.gain and share != share else "about as much as"
    )
    limit = f"; the limit has {figure(worth.limit)}" if worth.limit == worth.limit else ""
    return (
        f"{where} {worth.policy} has the least regret of the policies, {figure(worth.regret)}: {much} always playing the best single "
        f"arm ({figure(worth.single)}){limit}."
    )
