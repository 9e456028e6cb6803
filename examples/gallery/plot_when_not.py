"""
When *not* to use StateLibrary
==============================

It remembers states, so it needs states that return. Regret of three others as a multiple of its own, on the same
sampled worlds: left of the line the other policy is better. Where nothing ever changes Thompson sampling is enough;
where means drift, a policy that discounts is better; with 300 states that last ten rounds each, memory is worth
little, and its own twin without memory does as well.
"""

import matplotlib.pyplot as plt

import latentbandits as lb
from latentbandits.presentation.palette import label, plotting, style
from latentbandits.simulation.results import ratio

worlds = {
    "three states that return": lb.HiddenMarkov(states=3, noise=0.1),
    "nothing ever changes": lb.HiddenMarkov(states=1, noise=0.1),
    "300 states, ten rounds each": lb.HiddenMarkov(states=300, stickiness=0.9),
    "means drift fast": lb.Drift(timescale=100, noise=0.1),
}
others = ["d-ts", "ts", "state-library-forgetful"]

with plotting():
    figure, axes = plt.subplots(figsize=(8, 4.2))
    for place, world in enumerate(worlds.values()):
        ours, *theirs = lb.simulate(
            world, ["state-library", *others], horizon=4000, draws=12, repeats=1
        ).regret
        for offset, (name, regret) in enumerate(zip(others, theirs, strict=True)):
            middle, low, high = ratio(regret, ours)
            look, y = style(name), place + 0.2 * (offset - 1)
            said = label(name) if place == 0 else None
            axes.errorbar(
                middle,
                y,
                xerr=[[middle - low], [high - middle]],
                fmt="osD"[offset],
                color=look.color,
                capsize=3,
                label=said,
            )
    axes.axvline(1, color="black", lw=0.8)
    axes.set(
        xscale="log",
        xlabel="regret as a multiple of StateLibrary's, 95 % interval over 12 worlds",
    )
    axes.set(xticks=[0.3, 1, 3, 10, 30], xticklabels=["0.3", "1", "3", "10", "30"])
    axes.minorticks_off()
    axes.set(yticks=range(len(worlds)), yticklabels=worlds)
    axes.invert_yaxis()
    axes.legend()
