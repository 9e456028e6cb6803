"""A policy in a user's own program: ask for a decision, tell its rewards, add and retire arms, save and restore exactly."""

from latentbandits.agent.agent import Agent
from latentbandits.agent.decision import Decision, OneSidedRewardsWarning, OpenDecisionsWarning, Stats
from latentbandits.agent.explain import Explanation, Option
from latentbandits.agent.steps import choose, compiled_jobs, learn

__all__ = [
    "Agent",
    "Decision",
    "Explanation",
    "OneSidedRewardsWarning",
    "OpenDecisionsWarning",
    "Option",
    "Stats",
    "choose",
    "compiled_jobs",
    "learn",
]
