"""The registry of policies: names, and the policies and settings that they stand for."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from latentbandits.parameters import Settings, divided
from latentbandits.policies.ab_test import ABTest
from latentbandits.policies.arm_library import ArmLibrary
from latentbandits.policies.bayes_filter import BayesFilter, BayesGreedy
from latentbandits.policies.bayes_planner import BayesPlanner, PlanningFilter
from latentbandits.policies.change_point_thompson import ChangePointThompson
from latentbandits.policies.detection_augmented import DetectionAugmented
from latentbandits.policies.discounted_ucb import DiscountedUCB
from latentbandits.policies.epsilon_greedy import EpsilonGreedy
from latentbandits.policies.exp3 import EXP3
from latentbandits.policies.forgetful_thompson import DiscountedThompson, SlidingWindowThompson
from latentbandits.policies.latent_autoregressive import LatentAutoregressive
from latentbandits.policies.oracles import BestSingleArm, Scripted, StateOracle
from latentbandits.policies.periodic_thompson import PeriodicThompson
from latentbandits.policies.probe_commit import ProbeCommit
from latentbandits.policies.recurrent_bandit import RecurrentBandit
from latentbandits.policies.restarting_ucb import CUSUMUCB, GLRUCB, MonitoredUCB
from latentbandits.policies.scaled import Scaled
from latentbandits.policies.sliding_window_ucb import SlidingWindowUCB
from latentbandits.policies.state_library import StateLibrary
from latentbandits.policies.thompson import ThompsonSampling
from latentbandits.policies.traces import TraceLearner
from latentbandits.policies.ucb1 import UCB1
from latentbandits.policies.uniform import UniformRandom
from latentbandits.policies.whittle import WhittleFilter
from latentbandits.settings import InvalidValueError, check_int, nearest

Preset = Callable[[int, Settings], Settings]


def _fixed(**settings: object) -> Preset:
    return lambda _arms, _given: settings


class Registration(NamedTuple):
    """One row of the registry.

    Attributes
    ----------
    label : what figures call it
    make : its class
    look : its colour (a name of `presentation.palette.HUES`) and line style in figures: colours for families, lines for their members
    summary : one line about it
    preset : given the number of arms and the settings that the caller chose, the settings that the name stands for
    inner : for a policy around another, the name of the one that is within if no other is given
    """

    label: str
    make: Any
    look: str
    summary: str
    preset: Preset = _fixed()
    inner: str = ""


def _probe_rounds(arms: int, groups: int, given: Settings) -> int:
    """Return how many rounds a probe takes."""
    return check_int("policy", "probe_size", given.get("probe_size", 0), least=0) or -(-arms // groups)


def _gated(residual_floor: float, together: bool, learn_noise: bool) -> Preset:
    """Probe when a gate opens. For two arms the gates fit the paper's main table; for more they are in proportion to the rounds of a probe.

    The two highest of K uniform means are 1 / (K + 1) apart on average, so the margin shrinks alike. The package's residual floor follows
    the noise, which that of the paper's table did not.
    """

    def preset(arms: int, given: Settings) -> Settings:
        groups = given.get("groups") or (arms if together else 1)
        rounds = _probe_rounds(arms, groups, given)
        return {
            "groups": groups,
            "fingerprint": True,
            "gated": True,
            "exploration": 0.5,
            "residual_floor": residual_floor,
            "learn_noise": learn_noise,
            "margin": round(0.15 / (arms + 1), 6),
            "staleness": max(50, 25 * rounds),
            "min_gap": 4 if rounds <= 2 else 4 * rounds,
        }

    return preset


# What the text leaves open is ours in the policies that it states: alpha, lambda and tau are those of the other presets.
def _lag(arms: int) -> str:
    """Return the lag as the text encodes it: the pair (a, r), and one-hot, as its footnote allows, where an arm's number means nothing."""
    return "pair" if arms == 2 else "one-hot"


def _lagged(exploration: float, thompson: bool = False) -> Preset:
    return lambda arms, _given: {"lag": _lag(arms), "exploration": exploration, "thompson": thompson}


def _stated(together: bool) -> Preset:
    """Probe when a gate opens, as the text states it for any number of arms; the residual floor is the noise: given, told or learned."""

    def preset(arms: int, given: Settings) -> Settings:
        return {
            "groups": arms if together else 1,
            "fingerprint": True,
            "lag": _lag(arms),
            "gated": True,
            "exploration": 0.5,
            "residual_threshold": 2.0,
            "residual_floor": 0.0,
            "learn_noise": "residual_floor" not in given,
            "margin": 0.05,
            "staleness": 7,  # of the hazard rate 0.1 and threshold 0.5
            "min_gap": 2,
        }

    return preset


def _scheduled(lag: str, interval: int, together: bool) -> Preset:
    """Probe on a schedule, `interval` rounds for each round of a probe; without a lag that of the text."""

    def preset(arms: int, given: Settings) -> Settings:
        groups = given.get("groups") or (arms if together else 1)
        rounds = _probe_rounds(arms, groups, given)
        encoding = lag or _lag(arms)
        return {
            "groups": groups,
            "fingerprint": True,
            "lag": encoding,
            "exploration": 0.5,
            "interval": interval * rounds,
        }

    return preset


# The paper states neither these settings nor its code. Its policies have three profiles (docs/settings.md). Names that end in -stated are
# the text's. The others are the package's: what a user should take. Where the settings whose regret fits the main table best are not the
# package's, they have names that end in -table.
REGISTRY: Mapping[str, Registration] = {
    "state-library": Registration(
        "StateLibrary",
        StateLibrary,
        "black -",
        "keeps a library of states and tracks the present one with a particle filter; needs no settings",
    ),
    "state-library-forgetful": Registration(
        "StateLibrary (forgetful)",
        StateLibrary,
        "black --",
        "the same with a library of two states: no memory",
        _fixed(states=2, own=False),
    ),
    "arm-library": Registration(
        "ArmLibrary",
        ArmLibrary,
        "black -.",
        "keeps the levels of every arm by itself and looks again at arms that may have recovered; needs no settings",
    ),
    "adarp-ucb": Registration(
        "AdaRP-UCB",
        TraceLearner,
        "red -",
        "as many groups as arms; fingerprints in one round, refreshed when a gate opens",
        _gated(0.05, True, learn_noise=True),
    ),
    "adarp-ucb-table": Registration(
        "AdaRP-UCB (table)",
        TraceLearner,
        "red long",
        "AdaRP-UCB as it fits the paper's main table: its residual floor does not follow the noise",
        _gated(0.05, True, learn_noise=False),
    ),
    "adarp-ucb-stated": Registration(
        "AdaRP-UCB (stated)",
        TraceLearner,
        "red -.",
        "AdaRP-UCB as the paper's text states it: lag, gates, and a residual floor that is the noise",
        _stated(True),
    ),
    "rp-ucb": Registration(
        "RP-UCB",
        TraceLearner,
        "red --",
        "as many groups as arms; a fingerprint every 10 rounds",
        _scheduled("pair", 10, True),
    ),
    "rp-ucb-stated": Registration(
        "RP-UCB (stated)",
        TraceLearner,
        "red :",
        "RP-UCB with the lag that the paper's text states; for two arms it is rp-ucb itself",
        _scheduled("", 10, True),
    ),
    "adasp-ucb": Registration(
        "AdaSP-UCB",
        TraceLearner,
        "blue -",
        "fingerprints in consecutive rounds, refreshed when a gate opens",
        _gated(0.1, False, learn_noise=True),
    ),
    "adasp-ucb-table": Registration(
        "AdaSP-UCB (table)",
        TraceLearner,
        "blue long",
        "AdaSP-UCB as it fits the paper's main table: its residual floor does not follow the noise",
        _gated(0.1, False, learn_noise=False),
    ),
    "adasp-ucb-stated": Registration(
        "AdaSP-UCB (stated)",
        TraceLearner,
        "blue -.",
        "AdaSP-UCB as the paper's text states it: lag, gates, and a residual floor that is the noise",
        _stated(False),
    ),
    "sp-ucb": Registration(
        "SP-UCB",
        TraceLearner,
        "blue --",
        "a fingerprint in consecutive rounds, a twentieth of the time",
        _scheduled("curves", 20, False),
    ),
    "sp-ucb-stated": Registration(
        "SP-UCB (stated)",
        TraceLearner,
        "blue :",
        "SP-UCB with the lag that the paper's text states",
        _scheduled("", 20, False),
    ),
    "lc-ucb": Registration(
        "LC-UCB", TraceLearner, "green -", "the last arm and reward as context", _fixed(lag="curves", exploration=1.0)
    ),
    "lc-ucb-stated": Registration(
        "LC-UCB (stated)",
        TraceLearner,
        "green dotted",
        "LC-UCB with the lag that the paper's text states",
        _lagged(1.0),
    ),
    "lc-ts": Registration(
        "LC-TS",
        TraceLearner,
        "green --",
        "the same context, posterior sampling",
        _fixed(lag="curves", thompson=True, exploration=0.6),
    ),
    "lc-ts-stated": Registration(
        "LC-TS (stated)",
        TraceLearner,
        "green long",
        "LC-TS with the lag that the paper's text states",
        _lagged(0.6, thompson=True),
    ),
    "d-ucb": Registration("D-UCB", DiscountedUCB, "orange -", "forgets at a constant rate"),
    "sw-ucb": Registration(
        "SW-UCB",
        SlidingWindowUCB,
        "orange --",
        "remembers the last 25 rewards for each arm",
        lambda arms, _given: {"window": 25 * arms},
    ),
    "exp3": Registration("EXP3", EXP3, "pink -", "exponential weights against an adversary"),
    "exp3-s": Registration(
        "EXP3-S", EXP3, "pink --", "EXP3 that never forgets an arm", _fixed(mixing=0.2, share=0.001)
    ),
    "ucb1": Registration("UCB1", UCB1, "sky -", "the classical index policy"),
    "ts": Registration("TS", ThompsonSampling, "sky --", "Gaussian Thompson sampling"),
    "epsilon-greedy": Registration("eps-greedy", EpsilonGreedy, "sky :", "a random arm in a tenth of the rounds"),
    "ab-test": Registration(
        "A/B test", ABTest, "sky -.", "tries every arm for a thousand rounds, then always plays the best"
    ),
    "cp-ts": Registration("CP-TS", ChangePointThompson, "brown -", "Thompson sampling over when the last change was"),
    "glr-ucb": Registration("GLR-UCB", GLRUCB, "brown --", "restarts when a likelihood ratio signals a change"),
    "cusum-ucb": Registration(
        "CUSUM-UCB",
        CUSUMUCB,
        "brown -.",
        "restarts when rewards leave the mean of the first few",
        _fixed(together=True),
    ),
    "m-ucb": Registration("M-UCB", MonitoredUCB, "brown :", "restarts when the halves of a window differ"),
    "d-ts": Registration("D-TS", DiscountedThompson, "orange -.", "Thompson sampling that forgets at a constant rate"),
    "sw-ts": Registration(
        "SW-TS",
        SlidingWindowThompson,
        "orange :",
        "Thompson sampling with the last 15 rounds for each arm",
        lambda arms, _given: {"window": 15 * arms},
    ),
    "br-mab": Registration(
        "BR-MAB",
        RecurrentBandit,
        "green -.",
        "restarts after a change, and recalls earlier times that were like the present",
        _fixed(together=True),
    ),
    "larl": Registration("LARL", LatentAutoregressive, "green :", "the last five arms and rewards as context"),
    "period": Registration(
        "Period-TS", PeriodicThompson, "pink -.", "learns a period, and the means of each of its phases"
    ),
    "probe-commit": Registration(
        "Probe-commit",
        ProbeCommit,
        "yellow -",
        "probes a twentieth of the time, then plays the arm that paid most",
        lambda arms, given: {"interval": 20 * -(-arms // (given.get("groups") or 1))},
    ),
    "scaled": Registration(
        "Scaled",
        Scaled,
        "grey -.",
        "around any other, scaled(NAME): learns the range of rewards, and hands them on as numbers on [0, 1]",
        inner="cp-ts",
    ),
    "dal": Registration(
        "DAL",
        DetectionAugmented,
        "yellow --",
        "around any other, dal(NAME): restarts it when a likelihood ratio signals a change; Thompson sampling if none is named",
        inner="ts",
    ),
    "random": Registration("random", UniformRandom, "grey :", "a random arm in every round"),
    "best-single-arm": Registration(
        "Optimal single arm", BestSingleArm, "grey --", "oracle: the one arm that is best on average"
    ),
    "bayes-planner": Registration(
        "Bayes limit", BayesPlanner, "black dotted", "oracle: given means, chain and noise, not the state; plans"
    ),
    "bayes-greedy": Registration(
        "Greedy filter", BayesGreedy, "grey dotted", "oracle: given the same, never plays an arm to learn something"
    ),
    "state-oracle": Registration("State oracle", StateOracle, "black :", "oracle: sees the state"),
}

# All classes that an agent's file may name
CLASSES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *dict.fromkeys(row.make for row in REGISTRY.values()),
        BayesFilter,
        PlanningFilter,
        WhittleFilter,
        Scripted,
    )
}


def registration(name: str) -> Registration:
    """Return the row of a name, or refuse it with the nearest ones."""
    known = str(name).lower()
    if known in REGISTRY:
        return REGISTRY[known]
    raise InvalidValueError("policy", "name", name, f"one of {', '.join(REGISTRY)}{nearest(known, REGISTRY)}")


def policy(name: str, arms: int = 2, **settings: Any) -> Any:
    """Return the policy that a name of the registry stands for, with some settings of the preset changed."""
    row = registration(name)
    if row.inner:
        own, rest = divided(row.make, settings)
        return row.make(inner=policy(row.inner, arms, **rest), **{**row.preset(arms, own), **own})
    check_int("policy", "arms", arms, least=2)
    groups = settings.get("groups")
    if groups is not None:
        check_int("policy", "groups", groups, least=1)
    return row.make(arms=arms, **{**row.preset(arms, settings), **settings})
