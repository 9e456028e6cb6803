"""Conformance suites for policies and worlds of user code: inherit one in a pytest class and every check runs.

Examples
--------
>>> from latentbandits import UCB1, HiddenMarkov
>>> from latentbandits.testing import PolicyChecks, WorldChecks
>>> class TestMine(PolicyChecks):
...     def policy(self):
...         return UCB1(arms=3)
>>> class TestMyWorld(WorldChecks):
...     def world(self):
...         return HiddenMarkov(states=2)
"""

from latentbandits.testing.policy import PolicyChecks
from latentbandits.testing.world import WorldChecks

__all__ = ["PolicyChecks", "WorldChecks"]
