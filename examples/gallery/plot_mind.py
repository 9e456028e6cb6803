"""
A policy's mind at work
=======================

Three hundred rounds of StateLibrary, with what it cannot see above and what it believes below. Bands are hidden
states in the tint of their best arm; a black bar is a round with the best arm, a red one a loss. The thin lines are
the means that it remembers for the state it believes in: when a known state returns, the mean of the arm that is
*not* played jumps to the right level at once, since it is remembered.
"""

import latentbandits as lb

trace = lb.trace(lb.Problem(states=5, noise=0.05, seed=6), "state-library")
figure = trace.figure()

# %%
# What it amounts to.
print(trace.text())
