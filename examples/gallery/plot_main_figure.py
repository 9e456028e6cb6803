"""
The paper's main figure in ten lines
====================================

Regret over time in the paper's default world: ten hidden states, two arms, a state that stays with probability 0.99.
All policies play the same sampled worlds; bands are 95 % intervals over them. Policies that average (UCB1) or forget
(SW-UCB) lose at a constant rate, the paper's AdaSP-UCB loses less, and StateLibrary is close to the limit, a planner
that is given everything but the state.
"""

import latentbandits as lb

problem = lb.Problem(states=10, arms=2, stickiness=0.99, noise=0.01, horizon=10_000, runs=24)
comparison = lb.compare(problem, ["state-library", "adasp-ucb", "sw-ucb", "ucb1"])
figure = comparison.figure()

# %%
# The same as a table.
comparison.table[["regret", "low", "high", "x_limit", "optimal"]].round(2)
