"""Many arms: a randomized probe stays one round, a sequential probe grows with the arms."""

import pandas as pd

from latentbandits.environments.hidden_markov import HiddenMarkov
from latentbandits.experiments.case import Case, Claim, verdict
from latentbandits.experiments.paper.worlds import LIMIT
from latentbandits.policies.table import policy

SUMMARY = "2 to 20 arms: randomized against sequential probing, regret and cost of probes"
ARMS = (2, 3, 5, 10, 20)
HORIZON = 5_000
# With a reward's slope per previous arm, 20 arms would have 60 features; one-hot plus reward has 41.
LAG = "one-hot"


def cases(quick: bool) -> list[Case]:
    """Return one case per number of arms; randomized probing has as many units as arms."""
    made = []
    for arms in ARMS:
        world = HiddenMarkov(states=10, arms=arms, stickiness=0.99, noise=0.01)
        policies = {
            "adarp-ucb": policy("adarp-ucb", arms=arms, units=arms, lag=LAG),
            "adasp-ucb": policy("adasp-ucb", arms=arms, lag=LAG, min_gap=2 * arms),
            "rp-ucb": policy("rp-ucb", arms=arms, units=arms, lag=LAG, interval=10),
            "sp-ucb": policy("sp-ucb", arms=arms, lag=LAG, interval=max(40, 4 * arms)),
            "sw-ucb": policy("sw-ucb", arms=arms, window=25 * arms),
            LIMIT: policy(LIMIT, arms=arms),
        }
        draws = (8 if arms <= 5 else 2) if quick else (64 if arms <= 10 else 24)
        made.append(Case(f"{arms} arms", world, policies, HORIZON // 2 if quick else HORIZON, draws))
    return made


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge how the two kinds of probing grow."""
    regret = results.groupby(["case", "policy"])["regret"].mean()
    rounds = results.groupby(["case", "policy"])["probe_rounds"].mean()
    growth = {name: regret["20 arms", name] / regret["2 arms", name] for name in ("adarp-ucb", "adasp-ucb")}
    share = {name: rounds["20 arms", name] / rounds["2 arms", name] for name in ("adarp-ucb", "adasp-ucb")}
    return [
        Claim(
            "With more arms sequential probing becomes less attractive than randomized probing",
            "stated without figures",
            f"from 2 to 20 arms regret grows {growth['adasp-ucb']:.1f}-fold sequential, {growth['adarp-ucb']:.1f}-fold randomized",
            verdict(growth["adasp-ucb"] > growth["adarp-ucb"]),
        ),
        Claim(
            "The rounds spent on sequential probes grow with the arms, those of randomized probes do not",
            "K rounds against one",
            f"probe rounds grow {share['adasp-ucb']:.1f}-fold sequential, {share['adarp-ucb']:.1f}-fold randomized",
            verdict(share["adasp-ucb"] > 2 * share["adarp-ucb"]),
        ),
    ]
