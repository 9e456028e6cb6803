"""Compile `state-library`, which takes longest of all policies, before the tests run (`make unit`).

Its loop, which simulations and traces share, its loop with late rewards and its two steps have nearly everything in common: one process
compiles that once, two workers twice. The types are checked meanwhile, so that no processor is idle.
"""

import latentbandits as lb

if __name__ == "__main__":
    for delay in (0, 2):
        lb.trace(lb.Problem(delay=delay, horizon=50), "state-library")
    lb.Agent("state-library", compiled=True)
