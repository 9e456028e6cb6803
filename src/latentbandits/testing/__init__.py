"""Conformance suites for policies, worlds and stores of user code: inherit one in a pytest class and every check runs.

Examples
--------
>>> from latentbandits import HiddenMarkov
>>> from latentbandits.policies import UCB1
>>> from latentbandits.store import SQLite
>>> from latentbandits.testing import PolicyChecks, StoreChecks, WorldChecks
>>> class TestMine(PolicyChecks):
...     def policy(self):
...         return UCB1(arms=3)
>>> class TestMyWorld(WorldChecks):
...     def world(self):
...         return HiddenMarkov(states=2)
>>> class TestMyStore(StoreChecks):
...     def opened(self, folder):
...         return SQLite(folder / "mine.db")
"""

from latentbandits.testing.policy import PolicyChecks
from latentbandits.testing.store import StoreChecks
from latentbandits.testing.world import WorldChecks

__all__ = ["PolicyChecks", "StoreChecks", "WorldChecks"]
