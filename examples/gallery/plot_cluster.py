"""
A sweep on a cluster
====================

Nine problems, three machines: how long do regimes last, and how loud is the noise? Each machine is told its share
and nothing of the others; what is finished is in one folder, and whoever comes last finds the whole table. Here the
shares run one after the other; on a cluster each is a job, ``latentbandits sweep *.toml --out SHARED --shard 1/3``.
StateLibrary is advised except where loud noise hides all but the longest regimes; there it is UCB1, and with such noise
no policy is shown to be better than one arm for good.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from latentbandits.advice.sweep import sweep
from latentbandits.experiments.store import Shard
from latentbandits.presentation.palette import label, plotting, style

dwells, noises = (20, 100, 500), (0.05, 0.2, 0.8)
with tempfile.TemporaryDirectory() as folder:
    for dwell in dwells:
        for noise in noises:
            words = f'arms = 3\nstates = 4\ndwell = {dwell}\nnoise = "{noise} t3"\nhorizon = 2000\nruns = 24\n'
            Path(folder, f"{dwell}-{noise}.toml").write_text(words)
    problems = [Path(folder, f"{dwell}-{noise}.toml") for dwell in dwells for noise in noises]
    for machine in (1, 2, 3):
        found = sweep(
            problems,
            Path(folder, "shared"),
            policies=["state-library", "ucb1", "sw-ucb"],
            flips=False,
            shard=Shard(machine, 3),
        )
        print(
            f"after machine {machine}: {len(found.left)} of {len(problems)} problems are left"
        )

with plotting():
    figure, axes = plt.subplots(figsize=(7.2, 3.6))
    for place, row in enumerate(found.table.itertuples()):
        y, x = divmod(place, len(noises))
        axes.add_patch(Rectangle((x, y), 1, 1, color=style(row.policy).color, alpha=0.2, lw=0))
        words = f"{label(row.policy)}\n{row.sure:.0%} sure\n{row.worth}"
        axes.text(x + 0.5, y + 0.5, words, ha="center", va="center")
    axes.set(
        xlim=(0, len(noises)),
        ylim=(0, len(dwells)),
        xlabel="noise (heavy-tailed)",
        ylabel="rounds of a regime",
    )
    axes.set_xticks([0.5, 1.5, 2.5], map(str, noises))
    axes.set_yticks([0.5, 1.5, 2.5], map(str, dwells))
    axes.grid(visible=False)
