"""
What a log shows
================

A log of decisions, written by a rule that played at random: are there hidden regimes in it, or is it noise, drift,
the calendar? In the diagnosis hypotheses compete. This is the timeline of the one that won: the probability of
every state, and of a change; below them, rewards and arms as the log has them.
"""

import numpy as np
import pandas as pd

import latentbandits as lb

shop = lb.HiddenMarkov(means=[[0.2, 0.8], [0.9, 0.3]], dwell=80, noise=0.3).realise(
    1500, 1, seed=2, draw=0, repeat=0
)
arms = np.random.default_rng(0).integers(2, size=1500)
log = pd.DataFrame(
    {
        "banner": np.array(["red", "blue"])[arms],
        "revenue": shop.rewards[np.arange(1500), 0, arms],
    }
)
diagnosis = lb.diagnose(log)
figure = diagnosis.figure()

# %%
# The conclusion in words.
print(diagnosis.text())
