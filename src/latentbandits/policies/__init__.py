"""Policies: every class by its name, ``lb.policies.StateLibrary``; `registry` has the names and settings that texts stand for.

Examples
--------
>>> import latentbandits as lb
>>> lb.policies.UCB1(arms=3)
UCB1(arms=3, groups=1, exploration=2.0)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbandits.policies.ab_test import ABTest as ABTest
    from latentbandits.policies.arm_library import ArmLibrary as ArmLibrary
    from latentbandits.policies.bayes_filter import BayesFilter as BayesFilter
    from latentbandits.policies.bayes_filter import BayesGreedy as BayesGreedy
    from latentbandits.policies.bayes_planner import BayesPlanner as BayesPlanner
    from latentbandits.policies.bayes_planner import PlanningFilter as PlanningFilter
    from latentbandits.policies.change_point_thompson import ChangePointThompson as ChangePointThompson
    from latentbandits.policies.detection_augmented import DetectionAugmented as DetectionAugmented
    from latentbandits.policies.discounted_ucb import DiscountedUCB as DiscountedUCB
    from latentbandits.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
    from latentbandits.policies.exp3 import EXP3 as EXP3
    from latentbandits.policies.forgetful_thompson import DiscountedThompson as DiscountedThompson
    from latentbandits.policies.forgetful_thompson import SlidingWindowThompson as SlidingWindowThompson
    from latentbandits.policies.latent_autoregressive import LatentAutoregressive as LatentAutoregressive
    from latentbandits.policies.oracles import BestSingleArm as BestSingleArm
    from latentbandits.policies.oracles import Scripted as Scripted
    from latentbandits.policies.oracles import StateOracle as StateOracle
    from latentbandits.policies.periodic_thompson import PeriodicThompson as PeriodicThompson
    from latentbandits.policies.probe_commit import ProbeCommit as ProbeCommit
    from latentbandits.policies.recurrent_bandit import RecurrentBandit as RecurrentBandit
    from latentbandits.policies.restarting_ucb import CUSUMUCB as CUSUMUCB
    from latentbandits.policies.restarting_ucb import GLRUCB as GLRUCB
    from latentbandits.policies.restarting_ucb import MonitoredUCB as MonitoredUCB
    from latentbandits.policies.scaled import Scaled as Scaled
    from latentbandits.policies.sliding_window_ucb import SlidingWindowUCB as SlidingWindowUCB
    from latentbandits.policies.state_library import StateLibrary as StateLibrary
    from latentbandits.policies.thompson import ThompsonSampling as ThompsonSampling
    from latentbandits.policies.traces import TraceLearner as TraceLearner
    from latentbandits.policies.ucb1 import UCB1 as UCB1
    from latentbandits.policies.uniform import UniformRandom as UniformRandom
    from latentbandits.policies.whittle import WhittleFilter as WhittleFilter


def __getattr__(name: str) -> Any:
    from latentbandits.policies.registry import CLASSES

    if name == "__all__":
        return sorted(CLASSES)
    if name not in CLASSES:
        raise AttributeError(f"module 'latentbandits.policies' has no attribute {name!r}")
    return CLASSES[name]


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
