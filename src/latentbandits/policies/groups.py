"""Groups of policies by name: the paper's, what they are compared with, and the reference limit."""

from latentbandits.policies.registry import REGISTRY, policy
from latentbandits.policies.traces import TraceLearner
from latentbandits.protocols import Oracle

LIMIT = "bayes-planner"  # what regret is a multiple of
GREEDY = "bayes-greedy"  # given the same, but does not plan
LIBRARY, FORGETFUL = "state-library", "state-library-forgetful"
SCALED = "scaled"  # around others, and none by itself
CONTROL, CLASSIC, AB_TEST = "random", "ucb1", "ab-test"
# Given the truth about a world before they play it
ORACLES = tuple(name for name in REGISTRY if issubclass(REGISTRY[name].make, Oracle))
# Profiles of the paper's policies that are kept as a record of its text and of its main table, and never advised
STATED = tuple(name for name in REGISTRY if name.endswith("-stated"))
TABLE = tuple(name for name in REGISTRY if name.endswith("-table"))
RECORDS = (*STATED, *TABLE)

# The paper's own policies, by how they probe and by the groups that they need
OWN = tuple(name for name in REGISTRY if REGISTRY[name].make is TraceLearner and name not in RECORDS)
ADAPTIVE = tuple(name for name in OWN if policy(name).gated)
TWO_GROUP = tuple(name for name in OWN if policy(name).groups > 1)
# The six that the paper compares them with
BASELINES = ("d-ucb", "exp3", "exp3-s", "sw-ucb", "ts", "ucb1")
# One group, in the order of the paper's main table
SINGLE_GROUP = tuple(sorted({*OWN, *BASELINES} - {*TWO_GROUP}))
# Policies from elsewhere that restart after a change
PEERS = ("cp-ts", "glr-ucb", "cusum-ucb", "m-ucb")
# Enough for a first look: one that remembers, and one of each way to forget or not; quick to compile
FEW = (LIBRARY, FORGETFUL, "ts", "sw-ucb", "cp-ts", "glr-ucb", "epsilon-greedy")
