"""Compile `state-library`, which takes longest of all policies, before the tests run (`make unit`).

Its loop, its loop with late rewards and its two steps share nearly everything, which one process compiles once and two workers twice.
The types are checked meanwhile, so that no processor is idle.
"""

import latentbandits as lb

if __name__ == "__main__":
    for delay in (0, 2):
        lb.trace(lb.Problem(delay=delay, horizon=50), "state-library")
    lb.simulate(lb.HiddenMarkov(), ["state-library"], horizon=50, draws=1, repeats=1)
    lb.Agent("state-library", compiled=True)
