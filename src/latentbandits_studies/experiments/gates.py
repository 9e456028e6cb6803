"""Which gate does what: AdaRP-UCB and AdaSP-UCB with every combination of their three gates.

Every probe that is right finds exactly one change, so that both have the same number: it is `found` in the results.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from latentbandits.policies.groups import ADAPTIVE
from latentbandits.presentation.palette import BLACK, label, style
from latentbandits.settings import LARGEST
from latentbandits.simulation.results import interval, ratio
from latentbandits_studies import theory
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    BELOW,
    READING,
    TARGET,
    Claim,
    Order,
    all_of,
    compared,
    near,
    order,
    per_draw,
    worst,
)
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.paper.choices import READINGS, Judgement, judge
from latentbandits_studies.experiments.paper.worlds import MATRICES, QUICK_MATRICES, TITLES, contestants, rows
from latentbandits_studies.experiments.plots import dots, panels, spans, stripe, ticks, titled
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = (
    "residual, margin and staleness gate, each on or off: regret, probes, and which changes of the best arm they find"
)
# The default world and the three in which the paper sweeps its thresholds: fast switching, noise, many states
ROWS = ("default", "p.5", "sd.1", "S50")
CALM, HARD = ("default", "S50"), ("p.5", "sd.1")
# What closes a gate. A margin of 0 opens at an exact tie alone: at most once, before anything is learned
CLOSED: Mapping[str, str] = {
    "residual": f"residual_threshold={LARGEST}",
    "margin": "margin=0",
    "staleness": f"staleness={LARGEST}",
}
GATES = tuple(CLOSED)
COMBINATIONS = tuple(on for number in range(len(GATES) + 1) for on in combinations(GATES, number))
NONE, PAIRS, ALL = COMBINATIONS[0], COMBINATIONS[4:7], COMBINATIONS[-1]
PROFILES = STATED, TABLE = "stated", "table"
POLICIES = tuple((name, profile) for name in ADAPTIVE for profile in PROFILES)
DEFINITIONS = (
    "A probe is right if the best arm has changed since the last probe began; a change is found if a probe begins before the best arm "
    "changes again. Precision is the share of probes that are right, recall the share of changes that are found, delay the rounds from "
    "a change that is found to its probe. A schedule that knows nothing is right too, by chance, and most often if its probes are equally "
    "far apart: '/ clock' is precision over that of such a clock with as many probes."
)
EFFECTS = (
    "The mean regret of four combinations over that of the other four. For one gate: with it over without it. For two: both or neither "
    "over one of them; below 1 they help each other, above 1 each makes the other less needed. For all three likewise."
)
SUFFICES = 0.1  # the share of regret by which a gate that is not needed may change it


def spec(name: str, profile: str, on: tuple[str, ...]) -> str:
    """Return the spec of a policy of a profile with some of its gates.

    Examples
    --------
    >>> from latentbandits_studies.experiments.gates import GATES, spec
    >>> spec("adarp-ucb", "table", GATES), spec("adasp-ucb", "stated", ("residual", "staleness"))
    ('adarp-ucb-table', 'adasp-ucb-stated:margin=0')
    """
    closed = ",".join(CLOSED[gate] for gate in GATES if gate not in on)
    return f"{name}-{profile}" + (f":{closed}" if closed else "")


def cases(size: Size) -> list[Case]:
    """Return one case per world, with all combinations of gates of both policies in both profiles."""
    quick = size != "full"
    specs = [spec(name, profile, on) for (name, profile), on in product(POLICIES, COMBINATIONS)]
    draws = QUICK_MATRICES if quick else MATRICES // 2
    return [
        Case(row, world, contestants(specs), horizon // 4 if quick else horizon, draws)
        for row, (world, horizon) in ((row, rows()[row]) for row in ROWS)
    ]


@cache
def _kept(row: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequency of each state of a world, and the chain without its changes of the best arm."""
    world = rows()[row][0]
    best = theory.optimal_arms(world.matrix(0, draw))
    return world.start, np.where(best[:, None] == best[None, :], world.chain, 0.0)


def changed(row: str, draw: int, gap: float) -> float:
    """Return the chance that the best arm of a world changes within a gap; some gaps of a clock are a round longer than others."""
    (start, chain), part = _kept(row, draw), gap - int(gap)
    stays = np.linalg.matrix_power(chain, int(gap)).sum(axis=1)
    return 1 - float(start @ ((1 - part) * stays + part * (chain @ stays)))


def timing(runs: pd.DataFrame, row: str, known: str, among: int = 1) -> Order:
    """Return how many changes the probes of a policy find, over those that a clock with as many probes would find of as many changes."""
    found, probes, changes, rounds = (
        per_draw(runs, row, known, column) for column in ("found", "probes", "changes", "rounds")
    )
    draws = sorted(map(int, runs.loc[runs["case"] == row, "draw"].unique()))
    gaps = rounds / np.maximum(probes, 1.0)
    clock = np.array([changed(row, draw, gap) for draw, gap in zip(draws, gaps, strict=True)])
    usual = np.array([changed(row, draw, 1) for draw in draws]) * rounds
    return compared(found, probes * clock * np.divide(changes, usual, out=np.ones(len(usual)), where=usual > 0), among)


def _with_rounds(results: pd.DataFrame) -> pd.DataFrame:
    """Add the length of every run, which a quick run has shortened."""
    quick = "quick" in results and bool(results["quick"].iloc[0])
    return results.assign(
        rounds=results["case"].map({case.name: case.horizon for case in cases("quick" if quick else "full")})
    )


@once
def table(results: pd.DataFrame) -> pd.DataFrame:
    """Return a line per world, policy and combination of gates: regret, probes, precision, recall and delay, with intervals."""
    runs, lines = _with_rounds(results), []
    for row, (name, profile), on in product(ROWS, POLICIES, COMBINATIONS):
        known = spec(name, profile, on)
        probes, changes, found, delay = (
            per_draw(runs, row, known, column) for column in ("probes", "changes", "found", "delay")
        )
        line: dict[str, object] = {"case": row, "policy": name, "profile": profile}
        line |= {gate: gate in on for gate in GATES}
        for column, span in (
            ("regret", interval(per_draw(runs, row, known))),
            ("probes", interval(1000 * probes / per_draw(runs, row, known, "rounds"))),
            ("precision", _share(found, probes)),
            ("recall", _share(found, changes)),
            ("delay", _share(delay, found)),
            ("clock", timing(runs, row, known) if found.any() else (np.nan,) * 3),
        ):
            line |= dict(zip((column, f"{column}_low", f"{column}_high"), span, strict=True))
        lines.append(line)
    return pd.DataFrame(lines)


def _share(part: np.ndarray, whole: np.ndarray) -> tuple[float, float, float]:
    """Return a sum over another, over all draws, with its interval."""
    return ratio(part, whole) if whole.any() else (np.nan,) * 3


def effects(results: pd.DataFrame) -> pd.DataFrame:
    """Return main effects and interactions of the gates on regret (see `EFFECTS`), a line per world, policy and set of gates."""
    lines = []
    for row, (name, profile), of in product(ROWS, POLICIES, COMBINATIONS[1:]):
        sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        for on in COMBINATIONS:
            sides[(len(of) - len(set(of) & set(on))) % 2].append(per_draw(results, row, spec(name, profile, on)))
        found = compared(*(np.mean(side, axis=0) for side in sides))
        lines.append({"case": row, "policy": name, "profile": profile, "effect": " x ".join(of), **found._asdict()})
    return pd.DataFrame(lines)


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge what each gate is for, as the text says it, in both profiles; and which gates are needed."""
    runs, spared = _with_rounds(results), _with_gate(results, "margin", TABLE)
    capped = _with_gate(results, "staleness", STATED, tuple(row for row in ROWS if row != "p.5"))
    return [
        _detects(runs, CALM, "calm"),
        _detects(runs, HARD, "hard"),
        _purpose(
            results,
            "margin-pays",
            "A small margin is worth a probe: with the other two gates on, the margin gate lowers regret",
            "refreshes the fingerprint before it is relied on",
            "margin",
            "regret",
            BELOW,
        ),
        _purpose(
            results,
            "staleness-covers",
            "The staleness gate covers what the other two miss: with it more changes of the best arm are found",
            "covers cases in which the others do not open",
            "staleness",
            "found",
            ABOVE,
        ),
        Claim(
            "gates/stated-cap",
            "With the text's gates the age cap of 7 costs more than it saves where states last: all three gates have more regret than "
            "residual and margin gate alone",
            "derived",
            _listed(capped),
            all_of((one.word for one in capped.values()), ABOVE),
            "the gate opens at least every seventh round, whatever the other two say",
            TARGET,
        ),
        Claim(
            "gates/two-suffice",
            f"With the table's gates residual and staleness gate suffice: the margin gate changes regret by {SUFFICES:.0%} at most",
            "derived",
            _listed(spared),
            worst(near(one, SUFFICES) for one in spared.values()),
            "regret with all three over that without the margin gate",
            TARGET,
        ),
    ]


def _detects(runs: pd.DataFrame, worlds: tuple[str, ...], name: str) -> Claim:
    """Judge that the residual gate finds changes: its probes are right more often than those of a clock."""
    among = len(worlds) * len(POLICIES)
    found = {
        (profile, row, policy): timing(runs, row, spec(policy, profile, ("residual",)), among)
        for row in worlds
        for policy, profile in POLICIES
    }
    judged = _judged([(key[0], one) for key, one in found.items()], ABOVE)
    margin = [
        timing(runs, row, spec(policy, profile, ("margin",))).ratio for row in worlds for policy, profile in POLICIES
    ]
    return Claim(
        f"gates/residual-{name}",
        "The residual gate detects changes of state: alone, its probes find the best arm changed more often than those of a clock that "
        f"probes as often ({', '.join(TITLES[row] for row in worlds)})",
        "detects model drift",
        "; ".join(
            f"{label(policy)}, {profile}, {TITLES[row]}: {one.text}" for (profile, row, policy), one in found.items()
        ),
        judged.verdict,
        f"changes found over those that a clock would find; the margin gate alone: {min(margin):.2f} to {max(margin):.2f}",
        READING,
        depends=judged.depends,
        lean=judged.lean,
    )


def _judged(found: Sequence[tuple[str, Order]], wanted: str) -> Judgement:
    """Judge orders, each of a profile, under both readings of the gates."""
    ends = READINGS["gates"].values
    return judge(("gates",), lambda gates: all_of((one.word for of, one in found if ends[gates] == f"-{of}"), wanted))


Orders = dict[tuple[str, str], Order]  # by world and policy


def _with_gate(
    results: pd.DataFrame, gate: str, profile: str, worlds: tuple[str, ...] = ROWS, column: str = "regret"
) -> Orders:
    """Return a column with all three gates over that without one of them."""
    rest, pairs = tuple(one for one in GATES if one != gate), list(product(worlds, ADAPTIVE))
    return {
        (row, name): order(results, row, spec(name, profile, ALL), spec(name, profile, rest), len(pairs), column)
        for row, name in pairs
    }


def _listed(orders: Orders) -> str:
    return "; ".join(f"{label(name)}, {TITLES[row]}: {one.text}" for (row, name), one in orders.items())


def _counted(orders: Orders) -> str:
    words, ratios = [one.word for one in orders.values()], [one.ratio for one in orders.values()]
    counts = f"lower in {words.count(BELOW)} of {len(words)}, higher in {words.count(ABOVE)}"
    return f"{counts} (ratio {min(ratios):.2f} to {max(ratios):.2f})"


def _purpose(results: pd.DataFrame, name: str, text: str, said: str, gate: str, column: str, wanted: str) -> Claim:
    """Judge what the text says that a gate is for: what it changes beside the other two, in both profiles."""
    found = {profile: _with_gate(results, gate, profile, column=column) for profile in PROFILES}
    judged = _judged([(profile, one) for profile, orders in found.items() for one in orders.values()], wanted)
    return Claim(
        f"gates/{name}",
        text,
        said,
        "; ".join(f"{profile}: {_counted(orders)}" for profile, orders in found.items()),
        judged.verdict,
        "all three gates over the other two, in four worlds, for both policies",
        READING,
        depends=judged.depends,
        lean=judged.lean,
    )


def finding(results: pd.DataFrame) -> str:
    """Return what the figure shows, in words, for AdaRP-UCB in the default world, and what two gates find alone."""
    lines = dict(zip(product(ROWS, POLICIES, COMBINATIONS), table(results).itertuples(), strict=True))
    found = [{on: lines["default", (ADAPTIVE[0], profile), on] for on in COMBINATIONS} for profile in PROFILES]
    stated, fitted = (
        ", ".join(f"{of[rest].regret / of[ALL].regret:.2f} without {({*ALL} - {*rest}).pop()}" for rest in PAIRS)
        for of in found
    )
    residual, margin = (found[1][gate,] for gate in GATES[:2])
    return (
        f"{label(ADAPTIVE[0])} in the default world, regret without a gate over that with all: {stated} (the text's gates); {fitted} (the "
        f"table's). Alone, the table's residual gate finds {residual.recall:.0%} of the changes of the best arm, {residual.delay:.0f} "
        f"rounds after them; its margin gate {margin.recall:.0%}, {margin.clock:.2f} times what as many probes of a clock would."
    )


_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)


def plot_gates(results: pd.DataFrame) -> Figure:
    """Regret of all combinations of gates, as a multiple of that with all three."""
    figure, (matrix, *grid) = panels(1, len(ROWS) + 1, (9.6, 4.2), sharey=True, width_ratios=[0.75, *[1.6] * len(ROWS)])
    places = np.arange(len(COMBINATIONS))
    for place, on in enumerate(COMBINATIONS):
        matrix.plot([GATES.index(gate) for gate in on], [place] * len(on), color=BLACK, linewidth=2)
        for x, gate in enumerate(GATES):
            matrix.plot(x, place, marker="o", ms=8, color=BLACK if gate in on else "#d9d9d9")
    matrix.set_xticks(range(len(GATES)), GATES, rotation=50, ha="right", fontsize=8)
    matrix.set_yticks([])
    matrix.set_xlim(-0.6, len(GATES) - 0.4)
    matrix.set_title("gates that are on", fontsize=9)
    lanes = np.linspace(-0.27, 0.27, len(POLICIES))
    for axes, row in zip(grid, ROWS, strict=True):
        for lane, (name, profile) in zip(lanes, POLICIES, strict=True):
            cells = [order(results, row, spec(name, profile, on), spec(name, profile, ALL)) for on in COMBINATIONS]
            dots(axes, cells, places + lane, **_look(name, profile))
        axes.axvline(1, color=BLACK, linewidth=0.8)
        ticks(axes, _TICKS)
        axes.set_xlim(0.25, 12)
        axes.set_title(TITLES[row], fontsize=9)
        axes.set_xlabel("regret / regret with all three", fontsize=8)
    for axes in (matrix, *grid):
        stripe(axes, len(COMBINATIONS))
    handles = [Line2D([], [], **_look(name, profile)) for name, profile in POLICIES]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _look(name: str, profile: str) -> dict[str, Any]:
    """Return how a policy of a profile is marked: filled with the table's gates, hollow with the text's."""
    color, words = style(name).color, "the text's gates" if profile == STATED else "the table's gates"
    looks = {"color": color, "markerfacecolor": "white" if profile == STATED else color, "marker": "o", "ms": 4.5}
    return {**looks, "linestyle": "none", "label": f"{label(name)}, {words}"}


def tables(results: pd.DataFrame) -> str:
    """Return what probes find in the default world, and the effects of the gates in all worlds, as HTML."""
    lines, found = table(results), effects(results)
    lines = lines[lines["case"] == "default"]
    shown = pd.DataFrame(
        {
            "policy": _named(lines),
            "gates": [" + ".join(gate for gate in GATES if line[gate]) or "none" for _, line in lines.iterrows()],
            "regret": spans(lines, "regret", ",.0f", "regret_low", "regret_high"),
            **{name: lines[column].map(form.format).replace("nan", "-") for name, (column, form) in _SHOWN.items()},
        }
    )
    wide = found.assign(world=found["case"].map(TITLES), policy=_named(found), text=spans(found, "ratio", ".2f"))
    wide = wide.pivot_table("text", ["world", "policy"], "effect", aggfunc="first", sort=False).reset_index()
    default = titled(
        "Probes in the default world, and what they find", f"{DEFINITIONS} The other worlds: gates.csv.", shown
    )
    return default + titled("Effects of the gates on regret", EFFECTS, wide)


_SHOWN: Mapping[str, tuple[str, str]] = {
    "probes per 1,000 rounds": ("probes", "{:,.1f}"),
    "precision": ("precision", "{:.1%}"),
    "/ clock": ("clock", "{:.2f}"),
    "recall": ("recall", "{:.1%}"),
    "delay (rounds)": ("delay", "{:.1f}"),
}


def _named(lines: pd.DataFrame) -> list[str]:
    return [label(f"{name}-{profile}") for name, profile in zip(lines["policy"], lines["profile"], strict=True)]


COMBINED = Illustration(
    "gates",
    "Regret with every combination of the three gates, as a multiple of the regret with all three: left of the line a combination does "
    "better. Hollow: the text's gates; filled: the table's. Bars: 95 % intervals over matrices.",
    plot_gates,
)
EXPERIMENT = Experiment(
    "gates",
    SUMMARY,
    cases,
    score,
    title="Which gate does what",
    finding=finding,
    table=table,
    place=126,
    figures=(COMBINED,),
    tables=tables,
)
