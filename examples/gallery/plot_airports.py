"""
Airports: a story with real data
================================

Which of New York's three airports has the best chance of a punctual departure this hour? All departures of 2013 are
known (``pip install 'latentbandits[data]'``). Good and bad times come and go, but mostly for all three airports at
once (above, week by week), which is no reason to change airports. Below is what policies earned beyond always using
the best airport: the mean of ten policy seeds, and the range of all ten. StateLibrary ends ahead by less than one per
cent of all hours. This is one record of one year, so that the range over seeds does not say whether it would be ahead
in the next one; the page about real data does not count it as certain.
"""

import matplotlib.pyplot as plt
import numpy as np

import latentbandits as lb
from latentbandits.presentation.palette import BLUE, GREEN, ORANGE, label, plotting, style
from latentbandits_studies import data

airports = data.load("airports")
weeks = (airports.times - airports.times[0]).astype(int) // (7 * 24)
starts = airports.times[np.searchsorted(weeks, np.unique(weeks))]
policies = ["state-library", "ts", "epsilon-greedy"]
results = lb.simulate(airports.world, policies, draws=10, repeats=1)
best = airports.rewards[:, airports.rewards.mean(axis=0).argmax()]
oracle = airports.rewards.max(axis=1)

with plotting():
    figure, (top, below) = plt.subplots(2, figsize=(8, 6.4))
    for arm, color in enumerate((BLUE, ORANGE, GREEN)):
        shares = [airports.rewards[weeks == week, arm].mean() for week in np.unique(weeks)]
        top.plot(starts, shares, color=color, label=airports.arms[arm])
    top.set(ylabel="departures on time, share of a week", ylim=(0, 1))
    top.legend(ncols=3)
    edges = results.edges
    lost_by_best = np.add.reduceat(oracle - best, edges[:-1])
    for name, bins in zip(results.labels, results.regret_bins, strict=True):
        gained = (lost_by_best - bins).cumsum(
            axis=1
        )  # on the best airport, less what the policy lost
        look = style(name)
        below.plot(
            airports.times[edges[1:] - 1],
            gained.mean(axis=0),
            color=look.color,
            ls=look.line,
            label=label(name),
        )
        below.fill_between(
            airports.times[edges[1:] - 1],
            gained.min(axis=0),
            gained.max(axis=0),
            color=look.color,
            alpha=0.15,
            lw=0,
        )
    below.axhline(0, color="black", lw=0.8)
    below.set(
        xlabel="2013",
        ylabel=f"hours on time beyond always {airports.arms[airports.rewards.mean(axis=0).argmax()]}",
    )
    below.legend()
