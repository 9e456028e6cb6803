"""Policies: every class by its name, ``lb.policies.StateLibrary``; `registry` has the names and settings that texts stand for.

Examples
--------
>>> import latentbandits as lb
>>> lb.policies.UCB1(arms=3)
UCB1(arms=3, groups=1, exploration=2.0)
"""

import importlib
from typing import TYPE_CHECKING, Any

# class -> module; imported on first use
_HOMES = {
    "ABTest": "ab_test",
    "BayesFilter": "bayes_filter",
    "BayesGreedy": "bayes_filter",
    "BayesPlanner": "bayes_planner",
    "BestSingleArm": "oracles",
    "CUSUMUCB": "restarting_ucb",
    "ChangePointThompson": "change_point_thompson",
    "DetectionAugmented": "detection_augmented",
    "DiscountedThompson": "forgetful_thompson",
    "DiscountedUCB": "discounted_ucb",
    "EXP3": "exp3",
    "EpsilonGreedy": "epsilon_greedy",
    "GLRUCB": "restarting_ucb",
    "LatentAutoregressive": "latent_autoregressive",
    "MonitoredUCB": "restarting_ucb",
    "PeriodicThompson": "periodic_thompson",
    "PlanningFilter": "bayes_planner",
    "ProbeCommit": "probe_commit",
    "RecurrentBandit": "recurrent_bandit",
    "Scaled": "scaled",
    "Scripted": "oracles",
    "SlidingWindowThompson": "forgetful_thompson",
    "SlidingWindowUCB": "sliding_window_ucb",
    "StateLibrary": "state_library",
    "StateOracle": "oracles",
    "ThompsonSampling": "thompson",
    "TraceLearner": "traces",
    "UCB1": "ucb1",
    "UniformRandom": "uniform",
}
__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from latentbandits.policies.ab_test import ABTest as ABTest
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'latentbandits.policies' has no attribute {name!r}")
    return vars(importlib.import_module(f"latentbandits.policies.{_HOMES[name]}"))[name]


def __dir__() -> list[str]:
    return list(__all__)
