"""
A service and its client
========================

Decisions over HTTP: a service with one experiment, and a client that asks and tells as an agent does. Every answer
was on disk before it left. The picture shows which offer each of 300 visitors got while the weather, which nobody
told the service about, changed twice.
"""

import random

import matplotlib.pyplot as plt

import latentbandits as lb
from latentbandits.presentation.palette import BLUE, ORANGE, SKY, plotting
from latentbandits.serve import served

chance = random.Random(3)
calm, storm = {"red": 0.8, "blue": 0.4}, {"red": 0.2, "blue": 0.6}
weather = [storm if 100 <= visitor < 200 else calm for visitor in range(300)]
shown, earned = [], []
with (
    served("offers", arms=["red", "blue"], seed=1) as (url, key),
    lb.Client(url, key, "offers", budget=10) as client,
):
    for visitor, pays in enumerate(weather):
        decision = client.ask(subject=visitor)
        reward = chance.gauss(pays[decision.arm], 0.1)
        client.tell(decision, reward)
        shown.append(decision.arm)
        earned.append(reward)

with plotting():
    figure, axes = plt.subplots(figsize=(8, 3.2))
    axes.axvspan(100, 200, color=SKY, alpha=0.25, lw=0, label="storm")
    for name, color, mark in (("red", ORANGE, "o"), ("blue", BLUE, "s")):
        rounds = [visitor for visitor, arm in enumerate(shown) if arm == name]
        axes.plot(
            rounds,
            [earned[visitor] for visitor in rounds],
            mark,
            ms=3.5,
            color=color,
            label=f"offer {name}",
        )
    axes.set(xlabel="visitor", ylabel="reward")
    axes.legend(ncols=3, loc="lower left")
