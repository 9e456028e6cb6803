"""
Advertising with late clicks
============================

A click comes minutes after the impression, so hundreds of decisions are made before the first reward is in. Here two
banners, two hidden moods of the audience that last about 500 impressions, clicks of 0 and 1, and delays of up to 300
impressions. While delays are short against a mood, all policies cope; when they are nearly as long, what arrives is
about a mood that is over, and every policy comes closer to playing at random.
"""

import matplotlib.pyplot as plt
import numpy as np

import latentbandits as lb
from latentbandits.presentation.palette import label, plotting, style
from latentbandits.simulation.results import interval

delays = [0, 30, 100, 300]
policies = ["d-ts", "sw-ts", "ucb1", "random"]
means = [[0.10, 0.30], [0.25, 0.05]]
regret = {
    delay: lb.simulate(
        lb.HiddenMarkov(means=means, dwell=500, rewards="bernoulli", delay=delay),
        policies,
        horizon=6000,
        draws=16,
        repeats=1,
    ).regret
    for delay in delays
}

with plotting():
    figure, axes = plt.subplots(figsize=(7.2, 4))
    for place, name in enumerate(policies):
        found = np.array([interval(regret[delay][place]) for delay in delays])
        look = style(name)
        axes.plot(
            range(len(delays)),
            found[:, 0],
            color=look.color,
            ls=look.line,
            marker="o",
            label=label(name),
        )
        axes.fill_between(
            range(len(delays)), found[:, 1], found[:, 2], color=look.color, alpha=0.15, lw=0
        )
    axes.set(
        xticks=range(len(delays)),
        xticklabels=map(str, delays),
        xlabel="delay of a click, in impressions",
    )
    axes.set(ylabel="clicks lost in 6,000 impressions", ylim=(0, None))
    axes.legend(title="95 % bands over 16 audiences")
