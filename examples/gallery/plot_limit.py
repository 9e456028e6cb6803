"""
Regret as a multiple of the limit
=================================

How much of the regret is avoidable? The limit is a planner that is given means, chain and noise, everything but the
state. StateLibrary is given nothing and stays within a small factor of it while the noise grows; the others are far
from it where noise is low, and nearer where even the limit loses much.
"""

import matplotlib.pyplot as plt
import numpy as np

import latentbandits as lb
from latentbandits.presentation.palette import label, plotting, style
from latentbandits.simulation.results import ratio

noises = [0.02, 0.1, 0.3]
policies = ["state-library", "sw-ucb", "ucb1"]
found = []
for noise in noises:
    world = lb.HiddenMarkov(states=5, noise=noise)
    limit, *regrets = lb.simulate(
        world, ["bayes-planner", *policies], horizon=4000, draws=12, repeats=1
    ).regret
    found.append([ratio(regret, limit) for regret in regrets])

with plotting():
    figure, axes = plt.subplots(figsize=(7.2, 4))
    for place, name in enumerate(policies):
        middle, low, high = np.array(found)[:, place].T
        look = style(name)
        axes.plot(noises, middle, color=look.color, ls=look.line, marker="o", label=label(name))
        axes.fill_between(noises, low, high, color=look.color, alpha=0.15, lw=0)
    axes.axhline(1, color="black", ls=":", lw=1, label="limit")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="noise of a reward",
        ylabel="regret / regret of the limit",
    )
    axes.set(
        xticks=noises,
        xticklabels=map(str, noises),
        yticks=[1, 3, 10, 30, 100],
        yticklabels=["1", "3", "10", "30", "100"],
    )
    axes.minorticks_off()
    axes.legend(title="95 % bands over 12 worlds")
