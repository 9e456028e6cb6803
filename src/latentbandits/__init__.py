"""A library for choosing between options when the best one depends on hidden conditions that come and go.

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
    "Advice": "advice.advise",
    "Agent": "agent",
    "AsyncClient": "client",
    "WithAvailability": "worlds.available",
    "Client": "client",
    "Comparison": "advice.compare",
    "Decision": "agent",
    "Diagnosis": "logs.diagnosis",
    "Drift": "worlds.drift",
    "DurableAgent": "store",
    "HiddenMarkov": "worlds.hidden_markov",
    "Independent": "worlds.independent",
    "Log": "logs.log",
    "OneSidedRewardsWarning": "agent",
    "OpenDecisionsWarning": "agent",
    "Policy": "protocols",
    "Problem": "advice.problem",
    "Replay": "worlds.recorded",
    "Results": "simulation.results",
    "Seasons": "worlds.seasons",
    "InvalidValueError": "settings",
    "Trace": "advice.trace",
    "Tuning": "advice.tune",
    "advise": "advice.advise",
    "calendar": "calendars",
    "compare": "advice.compare",
    "diagnose": "logs.diagnose",
    "open_agent": "store",
    "policy": "specs",
    "simulate": "simulation.batch",
    "trace": "advice.trace",
    "tune": "advice.tune",
}
__all__ = sorted([*_HOMES, "policies", "__version__"])

if TYPE_CHECKING:
    from latentbandits import policies as policies
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
    from latentbandits.agent import OneSidedRewardsWarning as OneSidedRewardsWarning
    from latentbandits.agent import OpenDecisionsWarning as OpenDecisionsWarning
    from latentbandits.calendars import calendar as calendar
    from latentbandits.client import AsyncClient as AsyncClient
    from latentbandits.client import Client as Client
    from latentbandits.logs.diagnose import diagnose as diagnose
    from latentbandits.logs.diagnosis import Diagnosis as Diagnosis
    from latentbandits.logs.log import Log as Log
    from latentbandits.protocols import Policy as Policy
    from latentbandits.settings import InvalidValueError as InvalidValueError
    from latentbandits.simulation.batch import simulate as simulate
    from latentbandits.simulation.results import Results as Results
    from latentbandits.specs import policy as policy
    from latentbandits.store import DurableAgent as DurableAgent
    from latentbandits.store import open_agent as open_agent
    from latentbandits.worlds.available import WithAvailability as WithAvailability
    from latentbandits.worlds.drift import Drift as Drift
    from latentbandits.worlds.hidden_markov import HiddenMarkov as HiddenMarkov
    from latentbandits.worlds.independent import Independent as Independent
    from latentbandits.worlds.recorded import Replay as Replay
    from latentbandits.worlds.seasons import Seasons as Seasons


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'latentbandits' has no attribute {name!r}")
    if name == "policies":
        return importlib.import_module("latentbandits.policies")
    try:
        return getattr(importlib.import_module(f"latentbandits.{_HOMES[name]}"), name)
    except ModuleNotFoundError as absent:
        from latentbandits.extras import EXTRAS, missing

        if absent.name in EXTRAS:
            raise missing(absent.name) from None
        raise


def __dir__() -> list[str]:
    return list(__all__)
