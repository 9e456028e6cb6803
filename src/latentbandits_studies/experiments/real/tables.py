"""The page's tables: standings, all rewards, and the weather."""

import pandas as pd

from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.html import Cell, Html, table, tag
from latentbandits.presentation.palette import label
from latentbandits_studies.data import load, names
from latentbandits_studies.experiments.real import claims

INTRODUCTION = tag(
    "p",
    "Recorded problems in which the reward of every arm is known in every round, so that nothing is made up: ",
    tag("code", "latentbandits_studies.data"),
    " ships them with source and licence. Policies are given nothing and play one arm in each round. There is no limit here: the "
    "references are the best single arm and the best sequence of arms with few switches, both picked in hindsight. Such a sequence also "
    "follows noise, so a share of 1 is out of reach.",
)


def tables(results: pd.DataFrame) -> str:
    """Return all tables."""
    return _standings(results) + _rewards(results) + _weather(results)


def _standings(results: pd.DataFrame) -> str:
    lines: list[list[str | Cell]] = []
    for line in claims.standings(results).to_dict("records"):
        behind, first = line["difference_high"] < 0, line["rank"] == 1
        spans = [
            Html(f"{line[name]:+.4g}" + tag("small", f"{line[f'{name}_low']:+.3g} to {line[f'{name}_high']:+.3g}"))
            for name in ("difference", "gain")
        ]
        lines.append(
            [
                Html(line["dataset"] + tag("small", load(line["dataset"]).summary)),
                f"{label(line['winner'])} {line['winner_reward']:.4g}",
                f"{line['reward']:.4g}",
                Cell(f"{line['rank']} of {line['policies']}", "best" if first else "not" if behind else ""),
                Html(spans[0] + tag("small", f"to {label(line['other'])}")),
                f"{line['best_arm']} {line['best_arm_reward']:.4g}",
                spans[1],
                f"{line[f'switches_{claims.MAIN}']:.4g}",
            ]
        )
    heads = ["dataset", "winner", label(LIBRARY), "its rank", "difference to the best other", "best single arm"]
    heads += ["difference to it", f"{claims.MAIN} switches"]
    words = (
        "Mean reward of a round. The winner and the best other policy are picked in hindsight. Coloured: first, or behind with certainty; "
        "intervals over blocks of time and seeds, which all datasets share the 5 % of."
    )
    return tag("h3", "Standings") + tag("p", words) + table(heads, lines, classes="wide")


def _rewards(results: pd.DataFrame) -> str:
    found = claims.summary(results)
    policies = list(dict.fromkeys(found["policy"].map(claims.plain)))
    lines = []
    for name in names():
        part = found[found["dataset"] == name]
        cells = part.assign(policy=part["policy"].map(claims.plain)).set_index("policy")
        best = cells["reward"].idxmax()
        line: list[str | Cell] = [name]
        for policy in policies:
            cell = cells.loc[policy]
            halves = ((cell["seed_high"] - cell["seed_low"]) / 2, (cell["high"] - cell["low"]) / 2)
            inner = tag("small", "\N{PLUS-MINUS SIGN} " + ", ".join(f"{half:.2g}" for half in halves))
            line.append(Cell(Html(f"{cell['reward']:.4g}{inner}"), "best" if policy == best else ""))
        lines.append(line)
    words = "Mean reward of a round, and half the width of its 95 % intervals: over seeds alone, and over blocks of time and seeds."
    return (
        tag("h3", "All policies") + tag("p", words) + table(["dataset", *map(label, policies)], lines, classes="wide")
    )


def _weather(results: pd.DataFrame) -> str:
    lines = [
        [
            line["dataset"],
            line["measurement"],
            f"{line['correlation']:+.3f}",
            f"{line['p']:.4f}",
            Cell(f"{line['corrected']:.4f}", "best" if line["corrected"] < claims.LEVEL else ""),
            f"{line['of_rewards']:+.3f}",
        ]
        for line in claims.weather(results).to_dict("records")
    ]
    words = (
        "Does the state that StateLibrary believes to be in go with the weather, which it does not see? Rank correlation of the mean "
        "reward of that state with each measurement (mean of the three airports; visibility: the least, precipitation: the most), without "
        "the mean of the hour of the day. p-values by circular shifts of at least a week, then corrected for all lines (Holm)."
    )
    heads = ["dataset", "measurement", "correlation", "p", "corrected p", "correlation of the rewards themselves"]
    return tag("h3", "Believed states and the weather") + tag("p", words) + table(heads, lines, text=(0, 1))
