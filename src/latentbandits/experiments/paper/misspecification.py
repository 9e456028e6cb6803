"""A matched learner, which is given the true statistic, against one that must make do with lag and fingerprint."""

import pandas as pd

from latentbandits.environments.hidden_markov import HiddenMarkov
from latentbandits.experiments.case import Case, Claim, verdict
from latentbandits.experiments.paper.worlds import LIMIT, MATRICES, QUICK_MATRICES, STATED_GATES
from latentbandits.policies.table import policy

SUMMARY = "matched and misspecified learners: switching, reward memory, overlap of the states"
# The paper does not state the horizon; with 5,000 rounds its figures come out at the scale of regret per unit.
HORIZON, NOISE, STATES = 5_000, 0.05, 10
OVERLAPS = (0.05, 0.1, 0.2, 0.25)
# Published: matched AdaRP-UCB, misspecified AdaRP-UCB, SW-UCB, D-UCB
PUBLISHED = {
    "stay 0.95": (111, 189, 392, 468),
    "stay 0.5": (91, 580, 635, 617),
    "memory 0.25": (92, 145, 298, 418),
    "memory 0.5": (85, 133, 283, 400),
    "overlap 0.2": (67, 128, 384, 394),
}
ORDER = ("adarp-ucb matched", "adarp-ucb", "sw-ucb", "d-ucb")


def cases(quick: bool) -> list[Case]:
    """Return switching, memory and overlap; with memory the true statistic is the round's expected rewards."""
    worlds = {
        f"stay {stay:g}": HiddenMarkov(states=STATES, arms=2, stickiness=stay, noise=NOISE, reveal="state")
        for stay in (0.95, 0.5)
    }
    for memory in (0.25, 0.5):
        worlds[f"memory {memory:g}"] = HiddenMarkov(
            states=STATES, arms=2, stickiness=0.95, noise=NOISE, memory=memory, reveal="means"
        )
    for distance in OVERLAPS:
        worlds[f"overlap {distance:g}"] = HiddenMarkov(
            states=STATES, arms=2, stickiness=0.95, noise=NOISE, separation=distance, reveal="state"
        )
    draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, 2)
    return [Case(name, world, _policies(world), HORIZON, draws, repeats) for name, world in worlds.items()]


def _policies(world: HiddenMarkov) -> dict[str, object]:
    covariates = STATES if world.reveal == "state" else 2
    gates = {**STATED_GATES, "residual_floor": NOISE}
    made: dict[str, object] = {}
    for name in ("adarp-ucb", "adasp-ucb"):
        made[f"{name} matched"] = policy(name, **gates, covariates=covariates, lag="none", fingerprint=False)
        made[name] = policy(name, **gates)
    return made | {name: policy(name) for name in ("sw-ucb", "d-ucb", LIMIT)}


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge the order of the four policies, which is what the paper builds on, and show the figures."""
    regret = results.groupby(["case", "policy"])["regret"].mean()
    claims = []
    for case, figures in PUBLISHED.items():
        ours = [regret[case, label] for label in ORDER]
        claims.append(
            Claim(
                f"{case}: misspecified AdaRP-UCB lies between the matched learner and SW-UCB, D-UCB",
                ", ".join(map(str, figures)),
                ", ".join(f"{x:.0f}" for x in ours),
                verdict(ours[0] < ours[1] < min(ours[2:])),
                "in this order: matched, misspecified, SW-UCB, D-UCB; the paper's D-UCB must have another discount",
            )
        )
    fast = regret["stay 0.5"]
    blind = fast["adasp-ucb"]
    claims.append(
        Claim(
            "stay 0.5: misspecified AdaSP-UCB is the worst of all, far from its matched learner",
            "189 matched, 738 misspecified",
            f"{fast['adasp-ucb matched']:.0f} matched, {blind:.0f} misspecified, next worst {fast.drop('adasp-ucb').max():.0f}",
            verdict(fast.idxmax() == "adasp-ucb" and blind > 2 * fast["adasp-ucb matched"]),
        )
    )
    return claims
