"""The field study: public traces in which regimes exist, with controls in which they do not; users bring the data."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.beliefs import Belief
from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.html import tag
from latentbandits.presentation.palette import RED, label
from latentbandits.random import stream
from latentbandits.simulation.batch import believe_one, record_one
from latentbandits.specs import policy
from latentbandits_studies.data.traces import load
from latentbandits_studies.experiments import plots
from latentbandits_studies.experiments.field import claims
from latentbandits_studies.experiments.field.rule import REFUSED, REGIMES
from latentbandits_studies.experiments.field.settings import TWINS, cases, part
from latentbandits_studies.experiments.real import share_rows
from latentbandits_studies.experiments.real.claims import plain
from latentbandits_studies.experiments.real.standings import MAIN
from latentbandits_studies.experiments.registry import Experiment, Illustration

SHOWN = 1_000  # rounds of the picture of beliefs, from the middle of the record


def shares(results: pd.DataFrame) -> Figure:
    """Plot a row per trace, those with regimes on top."""
    lines = claims.standings(results)
    policies = claims.summary(results)
    figure = share_rows(policies[~policies["policy"].isin(TWINS.values())], lines, list(lines["dataset"]))
    axes = figure.axes[0]
    kinds = list(lines["kind"])
    for place, kind in enumerate(kinds):
        if place == 0 or kind != kinds[place - 1]:
            axes.axhline(place - 0.5, color="#999999", linewidth=0.8)
            axes.text(0.005, place - 0.27, kind, fontsize=8, style="italic", transform=axes.get_yaxis_transform())
    return figure


def expected(belief: Belief, arms: int) -> np.ndarray:
    """Return what each arm is believed to pay by the explanation that is held, NaN if it was never tried."""
    if belief.own > 0.5 and belief.arms:
        levels = [[(one.probability, one.probability * one.mean) for one in arm.levels] for arm in belief.arms]
        sums = (np.sum(np.reshape(one, (-1, 2)), axis=0) for one in levels)
        return np.array([paid / known if known > 0 else np.nan for known, paid in sums])
    means = np.array([state.means for state in belief.states]).reshape(-1, arms)
    weights = np.array([[state.probability] for state in belief.states]).reshape(-1, 1) * ~np.isnan(means)
    known = weights.sum(axis=0)
    found: np.ndarray = np.where(
        known > 0, (weights * np.nan_to_num(means)).sum(axis=0) / np.maximum(known, 1e-12), np.nan
    )
    return found


def beliefs(results: pd.DataFrame) -> Figure:
    """Plot what the arms of one trace paid, what StateLibrary played, and what it believed each arm would pay."""
    quick = bool(results["quick"].any())
    regimes = [name for name, about in claims.kinds(results).items() if about.kind == REGIMES]
    named = {trace.name: trace for trace in load()}
    trace = max((named[name] for name in regimes or named), key=lambda one: len(one.arms))
    horizon = part(trace, quick).shape[1]
    begin = horizon // 2
    end = min(begin + SHOWN, horizon)
    library = policy(LIBRARY, arms=len(trace.arms))
    realisation = trace.world.realise(end, 1, 0, 0, 0)
    arms = record_one(library, realisation, stream(0)).arms[begin:, 0]
    held = believe_one(library, realisation, stream(0), begin + 1)
    believed = np.array([expected(belief, len(trace.arms)) for belief in held])
    own = np.mean([belief.own > 0.5 for belief in held])
    held_by = f"held: levels of each arm by itself in {own:.0%} of these rounds, else states of all arms".replace(
        "%", " %"
    )
    figure, (paid, thought) = plots.panels(2, 1, (9.4, 2.2 + 0.42 * len(trace.arms)), sharex=True)
    rounds = (begin - 0.5, end - 0.5, len(trace.arms) - 0.5, -0.5)
    looks: dict[str, Any] = {"aspect": "auto", "interpolation": "none", "extent": rounds, "cmap": "cividis"}
    span = {"vmin": trace.rewards.min(), "vmax": trace.rewards.max()}
    for axes, values, title in (
        (paid, trace.rewards[0, begin:end], f"what each arm paid, and the one that {label(LIBRARY)} played (red)"),
        (
            thought,
            believed,
            f"what it believed that each arm would pay (white: it has no idea)\n{held_by}",
        ),
    ):
        image = axes.imshow(values.T, **looks, **span)
        axes.set_title(title, fontsize=9)
        axes.set_yticks(range(len(trace.arms)), [name.partition("_")[0] for name in trace.arms], fontsize=8)
        axes.grid(visible=False)
    paid.plot(np.arange(begin, end), arms, ".", color=RED, ms=2.4)
    thought.set_xlabel(f"round of {trace.name}")
    figure.colorbar(image, ax=[paid, thought], label=trace.unit, fraction=0.03)
    return figure


def tables(results: pd.DataFrame) -> str:
    """Return what the traces are like, who is first on each, and the rewards of all policies."""
    about, ranked = claims.kinds(results), claims.standings(results)
    like = [
        {
            "trace": name,
            "kind": f"{one.kind}: {one.why}" if one.why else one.kind,
            "rounds": one.rounds,
            "arms": one.arms,
            "records": one.records,
            "persistence": one.persistence,
            "10 switches": one.gains[0],
            "shuffled": one.shuffled[0],
            "100 switches": one.gains[1],
            "new": one.new,
        }
        for name, one in about.items()
    ]
    standings = {
        "trace": ranked["dataset"],
        "best single arm": ranked["best_arm_reward"],
        "follow the leader": ranked["leader"],
        "10 switches": ranked["switches_10"],
        f"{MAIN} switches": ranked[f"switches_{MAIN}"],
        label(LIBRARY): ranked["reward"],
        "its rank": [f"{place} of {count}" for place, count in ranked[["rank", "policies"]].to_numpy()],
        "less the best single arm": plots.spans(ranked, "gain", "+.3g", "gain_low", "gain_high"),
        "best other": ranked["other"].map(label),
        "less the best other": plots.spans(ranked, "difference", "+.3g", "difference_low", "difference_high"),
        **{
            f"less {label(twin)}": plots.spans(ranked, lacking, "+.3g", f"{lacking}_low", f"{lacking}_high")
            for lacking, twin in TWINS.items()
        },
    }
    rewards = claims.summary(results)
    wide = rewards.assign(reward=plots.spans(rewards, "reward", ".4g"), policy=rewards["policy"].map(plain))
    wide = wide.pivot(index="dataset", columns="policy", values="reward").loc[list(about)].rename(columns=label)
    return (
        plots.titled(
            "What the traces are like", "Known before any policy plays; docs/field.md has the rule.", pd.DataFrame(like)
        )
        + plots.titled("Standings", "Mean reward of a round, with 95 % intervals.", pd.DataFrame(standings))
        + plots.titled("All policies", "Those that play two arms in a round see twice as much.", wide.reset_index())
    )


def finding(results: pd.DataFrame) -> str:
    """Return on how many traces with regimes StateLibrary beats the best single arm, and where it loses."""
    table = claims.standings(results)
    regimes = table[table["kind"] == REGIMES]
    others = table[~table["kind"].isin((REGIMES, REFUSED))]
    above, memory, own = (int((regimes[f"{column}_low"] > 0).sum()) for column in ("gain", "memory", "own"))
    below = int((others["gain_high"] < 0).sum())
    return (
        f"On {len(regimes)} public traces with regimes StateLibrary surely earns more than the best single arm, picked in hindsight, on "
        f"{above}. Memory of more than two states surely pays on {memory} of them, regimes of single arms on {own}. "
        f"On {len(others)} controls it is surely below that arm on {below}."
    )


SHARES = Illustration(
    "field",
    f"One row per trace. 0 is the reward of the best single arm, 1 that of the best sequence with {MAIN} switches, both known in "
    "hindsight only. Bars: 95 % intervals over blocks of time and seeds, or users. Refused traces repeat measurements or are too short; "
    "they are shown to say what that does.",
    shares,
)
BELIEFS = Illustration(
    "field-beliefs",
    "Regimes on one trace: arms that pay come and go (above), and what StateLibrary, which sees only the arm that it plays, makes of it "
    "(below): by levels of each arm or by states of all arms, whichever it holds to be more probable.",
    beliefs,
)
EXPERIMENT = Experiment(
    "field",
    "public traces with regimes, and controls: mean reward of all policies, and where memory and own regimes pay (needs --data)",
    cases,
    claims.score,
    title="The field study: public traces with regimes",
    finding=finding,
    table=claims.summary,
    ours=True,
    place=165,
    figures=(SHARES, BELIEFS),
    introduction=tag(
        "p",
        "Public traces that are not shipped: where the best of several zones, servers or carriers stays for a while and cannot be seen "
        "without trying, and controls where that is not so. Which trace is which was decided from the rewards alone.",
    ),
    tables=tables,
    brought=True,
)
