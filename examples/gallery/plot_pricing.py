"""
Pricing in a market with moods
==============================

Five prices for one product. In a good mood the market takes a high price, in a bad one only a low one; moods last
about a thousand customers and are not observed. The profit of a price is its margin times the share of customers who
buy.
"""

import matplotlib.pyplot as plt
import numpy as np

import latentbandits as lb
from latentbandits.presentation.palette import BLUE, GREEN, ORANGE, label, plotting, style

prices = np.array([4.0, 5.0, 6.0, 7.0, 8.0])
moods = {
    "bad": (4.6, BLUE),
    "usual": (6.0, ORANGE),
    "good": (7.6, GREEN),
}  # the price that half of the customers would pay
buy = np.array([1 / (1 + np.exp(2 * (prices - middle))) for middle, _ in moods.values()])
profit = (prices - 3.0) * buy

world = lb.HiddenMarkov(means=profit, dwell=1000, noise=0.5)
results = lb.simulate(
    world,
    ["state-library", "glr-ucb", "ts", "best-single-arm"],
    horizon=8000,
    draws=12,
    repeats=1,
)

with plotting():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    for row, (mood, (_, color)) in zip(profit, moods.items(), strict=True):
        left.plot(prices, row, "o-", color=color, label=f"{mood} mood")
        left.plot(prices[row.argmax()], row.max(), "o", ms=11, mfc="none", color=color)
    left.set(xlabel="price", ylabel="mean profit per customer")
    left.legend(title="ring: best price")
    rows = results.summary()
    means = np.array([row.regret for row in rows])
    reach = np.array([[row.regret - row.low, row.high - row.regret] for row in rows]).T
    right.barh(
        [label(row.label) for row in rows],
        means,
        xerr=reach,
        color=[style(row.label).color for row in rows],
        alpha=0.7,
        capsize=3,
    )
    right.invert_yaxis()
    right.set(xlabel="profit lost, 8,000 customers, 95 % interval", xlim=(0, None))
