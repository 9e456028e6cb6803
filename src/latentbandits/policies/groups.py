"""Groups of policies by name: the paper's, what they are compared with, and the reference limit."""

from latentbandits.policies.registry import REGISTRY, policy
from latentbandits.policies.traces import TraceLearner

LIMIT = "bayes-limit"  # what regret is a multiple of
LIBRARY, FORGETFUL = "state-library", "state-library-forgetful"
CONTROL, CLASSIC, AB_TEST = "random", "ucb1", "ab-test"
# Given the truth about a world before they play it
ORACLES = tuple(name for name in REGISTRY if hasattr(REGISTRY[name].make, "informed"))
# Kept as a record of the paper's text, never advised
STATED = tuple(name for name in REGISTRY if name.endswith("-stated"))

# The paper's own policies, by how they probe and by the units that they need
OWN = tuple(name for name in REGISTRY if REGISTRY[name].make is TraceLearner and name not in STATED)
ADAPTIVE = tuple(name for name in OWN if policy(name).gated)
TWO_UNIT = tuple(name for name in OWN if policy(name).units > 1)
# The six that the paper compares them with
BASELINES = ("d-ucb", "exp3", "exp3-s", "sw-ucb", "ts", "ucb1")
# One unit, in the order of the paper's main table
SINGLE_UNIT = tuple(sorted({*OWN, *BASELINES} - {*TWO_UNIT}))
# Policies from elsewhere that restart after a change
PEERS = ("cp-ts", "glr-ucb", "cusum-ucb", "m-ucb")
