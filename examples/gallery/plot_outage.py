"""
An outage and a recovery
========================

Three servers; the best one fails in round 400 and is repaired in round 600, and so again in rounds 1,000 and 1,200. A
failure is noticed at once: the server in use pays less. A recovery is not: on the servers in use nothing changes, so
that somebody has to look. SW-UCB looks all the time, and pays for it all the time. StateLibrary has never seen an
outage end, and takes long to look for the first time; the second time it knows the state, and comes back soon.
"""

import matplotlib.pyplot as plt
import numpy as np

import latentbandits as lb
from latentbandits.presentation.palette import YELLOW, label, legend_below, plotting, style

healthy, broken = [0.9, 0.7, 0.6], [0.1, 0.7, 0.6]
means = np.array(
    [broken if 400 <= t < 600 or 1000 <= t < 1200 else healthy for t in range(1500)]
)
policies = ["state-library", "sw-ucb", "ucb1"]
runs = 12
found = {
    name: np.zeros((runs, 60)) for name in policies
}  # share of rounds with the best server, in stretches of 25
for run in range(runs):
    noise = np.random.default_rng(run).normal(0, 0.1, means.shape)
    world = lb.Replay(means + noise, means=means)
    results = lb.simulate(world, policies, horizon=1500, draws=1, repeats=1, seed=run, bins=60)
    for name, shares in zip(results.labels, results.optimal_bins, strict=True):
        found[name][run] = shares[0]

with plotting():
    figure, axes = plt.subplots(figsize=(8, 3.8))
    rounds = np.arange(60) * 25 + 12
    for begin, end in ((400, 600), (1000, 1200)):
        axes.axvspan(
            begin, end, color=YELLOW, alpha=0.3, lw=0, label="outage" if begin == 400 else None
        )
    for name in policies:
        mean, look = found[name].mean(axis=0), style(name)
        half = 2.2 * found[name].std(axis=0, ddof=1) / np.sqrt(runs)  # 95 % of 12 runs
        axes.plot(rounds, mean, color=look.color, ls=look.line, label=label(name))
        axes.fill_between(
            rounds,
            np.clip(mean - half, 0, 1),
            np.clip(mean + half, 0, 1),
            color=look.color,
            alpha=0.15,
            lw=0,
        )
    axes.set(xlabel="round", ylabel="share of rounds on the best server", ylim=(0, 1.02))
    legend_below(figure, axes, columns=4)
