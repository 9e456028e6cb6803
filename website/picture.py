"""Write docs/run.svg, the picture at the top of the README: one run of StateLibrary, next to two plain bandits.

``python -m website.picture`` plays the run, which takes some seconds.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.patches import Patch

import latentbandits as lb
from latentbandits.presentation.palette import BLUE, GREY, ORANGE, SKY, Figure, plotting, saved
from website.sources import ROOT

PICTURE = ROOT / "docs" / "run.svg"
ARMS = ("A", "B", "C")
# What every option pays on average under each hidden condition, the noise around it, and how long conditions last
MEANS: Mapping[str, tuple[float, ...]] = {"calm": (0.8, 0.2, 0.5), "busy": (0.3, 0.7, 0.4), "night": (0.2, 0.3, 0.6)}
NOISE = 0.15
CYCLE = ("calm", "busy", "calm", "night", "busy", "calm", "night", "busy", "calm", "night", "busy")
PERIODS = tuple(zip(CYCLE, (120, 90, 100, 80, 110, 70, 90, 80, 110, 70, 80), strict=True))
POLICIES = {"state-library": "StateLibrary", "sw-ucb": "sliding-window UCB", "ts": "Thompson sampling"}
TINTS = {"calm": SKY, "busy": ORANGE, "night": GREY}


class Run(NamedTuple):
    """What a policy played, and its cumulative regret."""

    arms: list[int]
    regret: np.ndarray


def conditions() -> list[str]:
    """Return the hidden condition of every round."""
    return [name for name, rounds in PERIODS for _ in range(rounds)]


def play(policy: str, hidden: Sequence[str], seed: int = 1) -> Run:
    """Let a policy decide in every round, and tell it what its arm paid.

    Examples
    --------
    >>> play("ucb1", ["calm"] * 4).arms
    [0, 1, 2, 0]
    """
    chance = random.Random(seed)
    agent = lb.Agent(policy, arms=list(ARMS), seed=seed, compiled=False)
    arms, lost = [], []
    for name in hidden:
        noise = [chance.gauss(0, NOISE) for _ in ARMS]  # the same for every policy
        decision = agent.ask()
        arm = ARMS.index(decision.arm)
        agent.tell(decision, min(1.0, max(0.0, MEANS[name][arm] + noise[arm])))
        arms.append(arm)
        lost.append(max(MEANS[name]) - MEANS[name][arm])
    return Run(arms, np.cumsum(lost))


def stretches(played: Sequence[int], arm: int) -> list[tuple[int, int]]:
    """Return where an arm was played: first round and number of rounds of every stretch.

    Examples
    --------
    >>> stretches([0, 1, 1, 0, 1], 1)
    [(1, 2), (4, 1)]
    """
    edges = np.flatnonzero(np.diff([0, *(other == arm for other in played), 0]))
    return [(int(first), int(last - first)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def picture() -> bytes:
    """Return the picture as SVG."""
    hidden = conditions()
    runs = {policy: play(policy, hidden) for policy in POLICIES}
    with plotting():
        figure = Figure(figsize=(8.6, 4.4))
        top, plain, below = figure.subplots(3, 1, sharex=True, height_ratios=[1, 1, 1.5])
        edges = np.cumsum([0, *(rounds for _, rounds in PERIODS)])
        for axes in (top, plain, below):
            for (name, _), first, last in zip(PERIODS, edges[:-1], edges[1:], strict=True):
                axes.axvspan(first, last, color=TINTS[name], alpha=0.28, linewidth=0)
            axes.grid(visible=False)
        for axes, policy in ((top, "state-library"), (plain, "ts")):
            best = [int(np.argmax(MEANS[name])) for name in hidden]
            axes.step(range(len(hidden)), best, where="post", color="white", linewidth=9)
            for arm in range(len(ARMS)):
                axes.broken_barh(
                    stretches(runs[policy].arms, arm), (arm - 0.22, 0.44), color="black", linewidth=0.4, zorder=3
                )
            axes.set_yticks(range(len(ARMS)), ARMS)
            axes.set_ylim(len(ARMS) - 0.5, -0.5)
            axes.set_ylabel("arm played")
            axes.set_title(POLICIES[policy], loc="left", fontsize=9, fontweight="bold")
        looks: dict[str, tuple[str, str]] = {
            "state-library": (BLUE, "-"),
            "sw-ucb": ("black", "--"),
            "ts": ("black", ":"),
        }
        for policy, (color, line) in looks.items():
            below.plot(runs[policy].regret, color=color, linestyle=line, linewidth=1.8)
            below.annotate(
                f" {POLICIES[policy]}: {runs[policy].regret[-1]:.0f}",
                (len(hidden), runs[policy].regret[-1]),
                va="center",
                annotation_clip=False,
            )
        below.set_title("Reward lost so far (cumulative regret)", loc="left", fontsize=9, fontweight="bold")
        below.set_xlabel("round")
        below.set_xlim(0, len(hidden))
        below.set_ylim(0)
        marks = [Patch(color=TINTS[name], alpha=0.28, label=f"hidden: {name}") for name in MEANS]
        marks += [Patch(facecolor="white", edgecolor=GREY, label="best arm"), Patch(color="black", label="played")]
        figure.legend(handles=marks, loc="outside upper center", ncols=len(marks))
        return saved(figure, "svg")


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1e3:.0f} kB")
