"""Multi-armed bandits for problems in which the best arm depends on a latent state (regime switching).

Examples
--------
>>> import latentbandits as lb
>>> agent = lb.Agent(lb.policy("state-library", arms=2), seed=1)
>>> decision = agent.ask()
>>> agent.tell(decision, rewards=0.7)
'accepted'
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> module; imported on first use, so that `import latentbandits` costs nothing
_HOMES = {
    "ABTest": "policies.ab_test",
    "Advice": "advice.advise",
    "Agent": "agent",
    "AsyncClient": "client",
    "Available": "worlds.available",
    "BayesFilter": "policies.bayes_filter",
    "BayesLimit": "policies.bayes_filter",
    "BayesPlanner": "policies.bayes_planner",
    "BestSingleArm": "policies.oracles",
    "CUSUMUCB": "policies.cusum_ucb",
    "ChangePointThompson": "policies.change_point_thompson",
    "Choice": "protocols",
    "Client": "client",
    "Comparison": "advice.compare",
    "Decision": "agent",
    "Diagnosis": "logs.diagnosis",
    "DiscountedThompson": "policies.discounted_thompson",
    "DetectionAugmented": "policies.detection_augmented",
    "DiscountedUCB": "policies.discounted_ucb",
    "Drift": "worlds.drift",
    "DurableAgent": "store",
    "EXP3": "policies.exp3",
    "EpsilonGreedy": "policies.epsilon_greedy",
    "Explanation": "agent",
    "GLRUCB": "policies.glr_ucb",
    "HiddenMarkov": "worlds.hidden_markov",
    "LatentAutoregressive": "policies.latent_autoregressive",
    "Log": "logs.log",
    "MonitoredUCB": "policies.monitored_ucb",
    "OpenDecisionsWarning": "agent",
    "PlanningFilter": "policies.bayes_planner",
    "PeriodicThompson": "policies.periodic_thompson",
    "ProbeCommit": "policies.probe_commit",
    "Problem": "advice.problem",
    "Recorded": "worlds.recorded",
    "RecurrentBandit": "policies.recurrent_bandit",
    "Results": "simulation.results",
    "Scaled": "policies.scaled",
    "Scripted": "policies.oracles",
    "Seasons": "worlds.seasons",
    "SlidingWindowThompson": "policies.sliding_window_thompson",
    "SlidingWindowUCB": "policies.sliding_window_ucb",
    "StateLibrary": "policies.state_library",
    "StateOracle": "policies.oracles",
    "Stats": "agent",
    "Realisation": "protocols",
    "Refusal": "settings",
    "ThompsonSampling": "policies.thompson",
    "TraceLearner": "policies.traces",
    "Trace": "advice.trace",
    "Tuning": "advice.tune",
    "UCB1": "policies.ucb1",
    "UniformRandom": "policies.uniform",
    "advise": "advice.advise",
    "calendar": "calendars",
    "compare": "advice.compare",
    "describe": "settings",
    "diagnose": "logs.diagnose",
    "kernel": "compiled",
    "open": "store",
    "policy": "specs",
    "simulate": "simulation.batch",
    "trace": "advice.trace",
    "tune": "advice.tune",
}
__all__ = sorted([*_HOMES, "__version__"])

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice as Advice
    from latentbandits.advice.advise import advise as advise
    from latentbandits.advice.compare import Comparison as Comparison
    from latentbandits.advice.compare import compare as compare
    from latentbandits.advice.problem import Problem as Problem
    from latentbandits.advice.trace import Trace as Trace
    from latentbandits.advice.trace import trace as trace
    from latentbandits.advice.tune import Tuning as Tuning
    from latentbandits.advice.tune import tune as tune
    from latentbandits.agent import Agent as Agent
    from latentbandits.agent import Decision as Decision
    from latentbandits.agent import Explanation as Explanation
    from latentbandits.agent import OpenDecisionsWarning as OpenDecisionsWarning
    from latentbandits.agent import Stats as Stats
    from latentbandits.calendars import calendar as calendar
    from latentbandits.client import AsyncClient as AsyncClient
    from latentbandits.client import Client as Client
    from latentbandits.compiled import kernel as kernel
    from latentbandits.logs.diagnose import diagnose as diagnose
    from latentbandits.logs.diagnosis import Diagnosis as Diagnosis
    from latentbandits.logs.log import Log as Log
    from latentbandits.policies.ab_test import ABTest as ABTest
    from latentbandits.policies.bayes_filter import BayesFilter as BayesFilter
    from latentbandits.policies.bayes_filter import BayesLimit as BayesLimit
    from latentbandits.policies.bayes_planner import BayesPlanner as BayesPlanner
    from latentbandits.policies.bayes_planner import PlanningFilter as PlanningFilter
    from latentbandits.policies.change_point_thompson import ChangePointThompson as ChangePointThompson
    from latentbandits.policies.cusum_ucb import CUSUMUCB as CUSUMUCB
    from latentbandits.policies.detection_augmented import DetectionAugmented as DetectionAugmented
    from latentbandits.policies.discounted_thompson import DiscountedThompson as DiscountedThompson
    from latentbandits.policies.discounted_ucb import DiscountedUCB as DiscountedUCB
    from latentbandits.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
    from latentbandits.policies.exp3 import EXP3 as EXP3
    from latentbandits.policies.glr_ucb import GLRUCB as GLRUCB
    from latentbandits.policies.latent_autoregressive import LatentAutoregressive as LatentAutoregressive
    from latentbandits.policies.monitored_ucb import MonitoredUCB as MonitoredUCB
    from latentbandits.policies.oracles import BestSingleArm as BestSingleArm
    from latentbandits.policies.oracles import Scripted as Scripted
    from latentbandits.policies.oracles import StateOracle as StateOracle
    from latentbandits.policies.periodic_thompson import PeriodicThompson as PeriodicThompson
    from latentbandits.policies.probe_commit import ProbeCommit as ProbeCommit
    from latentbandits.policies.recurrent_bandit import RecurrentBandit as RecurrentBandit
    from latentbandits.policies.scaled import Scaled as Scaled
    from latentbandits.policies.sliding_window_thompson import SlidingWindowThompson as SlidingWindowThompson
    from latentbandits.policies.sliding_window_ucb import SlidingWindowUCB as SlidingWindowUCB
    from latentbandits.policies.state_library import StateLibrary as StateLibrary
    from latentbandits.policies.thompson import ThompsonSampling as ThompsonSampling
    from latentbandits.policies.traces import TraceLearner as TraceLearner
    from latentbandits.policies.ucb1 import UCB1 as UCB1
    from latentbandits.policies.uniform import UniformRandom as UniformRandom
    from latentbandits.protocols import Choice as Choice
    from latentbandits.protocols import Realisation as Realisation
    from latentbandits.settings import Refusal as Refusal
    from latentbandits.settings import describe as describe
    from latentbandits.simulation.batch import simulate as simulate
    from latentbandits.simulation.results import Results as Results
    from latentbandits.specs import policy as policy
    from latentbandits.store import DurableAgent as DurableAgent
    from latentbandits.store import open as open  # noqa: A004
    from latentbandits.worlds.available import Available as Available
    from latentbandits.worlds.drift import Drift as Drift
    from latentbandits.worlds.hidden_markov import HiddenMarkov as HiddenMarkov
    from latentbandits.worlds.recorded import Recorded as Recorded
    from latentbandits.worlds.seasons import Seasons as Seasons


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'latentbandits' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"latentbandits.{_HOMES[name]}"), name)
    except ModuleNotFoundError as absent:
        from latentbandits.extras import EXTRAS, missing

        if absent.name in EXTRAS:
            raise missing(absent.name) from None
        raise


def __dir__() -> list[str]:
    return list(__all__)
