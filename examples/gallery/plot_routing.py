"""
Routing between models: quality, price and latency
==================================================

Four language models answer requests. What an answer is worth is its quality less its price and less a penalty for
waiting, and waiting depends on load that nobody announces. Each regime lasts about 300 requests and has another best
model. The best single model is a compromise, and policies that average (UCB1) or forget (SW-UCB) do not get beyond
it.
"""

import matplotlib.pyplot as plt
import numpy as np

import latentbandits as lb
from latentbandits.presentation.palette import label, plotting, style

models = ["large", "medium", "small", "cached"]
quality = np.array([0.95, 0.85, 0.70, 0.40])
price = np.array([0.20, 0.10, 0.03, 0.00])
seconds = np.array(
    [[1.5, 1.0, 0.6, 0.1], [6.0, 4.0, 0.8, 0.1], [2.0, 5.0, 2.5, 0.1]]
)  # quiet, peak, the medium one has trouble
value = quality - price - 0.08 * seconds

world = lb.HiddenMarkov(means=value, dwell=300, noise=0.15)
policies = ["state-library", "sw-ucb", "ucb1", "best-single-arm"]
results = lb.simulate(world, policies, horizon=6000, draws=12, repeats=1)

with plotting():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    image = left.imshow(value, cmap="cividis", aspect="auto")
    left.set(
        xticks=range(4),
        xticklabels=models,
        yticks=range(3),
        yticklabels=["quiet", "peak", "medium slow"],
        title="value of an answer",
    )
    left.grid(visible=False)
    for (state, arm), worth in np.ndenumerate(value):
        left.text(
            arm,
            state,
            f"{worth:.2f}",
            ha="center",
            va="center",
            color="white" if worth < 0.45 else "black",
        )
    for name, bins in zip(results.labels, results.regret_bins, strict=True):
        total, look = bins.cumsum(axis=1), style(name)
        half = 2.2 * total.std(axis=0, ddof=1) / np.sqrt(len(total))  # 95 % of 12 runs
        right.plot(
            results.edges[1:],
            total.mean(axis=0),
            color=look.color,
            ls=look.line,
            label=label(name),
        )
        right.fill_between(
            results.edges[1:],
            total.mean(axis=0) - half,
            total.mean(axis=0) + half,
            color=look.color,
            alpha=0.15,
            lw=0,
        )
    right.set(xlabel="requests", ylabel="value lost so far", ylim=(0, None))
    right.legend()
