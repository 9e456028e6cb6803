"""StateLibrary beside its rivals: multiples of the limit, differences, parts, losses, and the targets that are judged by them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from latentbandits.policies.groups import LIBRARY, LIMIT, ORACLES, PEERS
from latentbandits.presentation.numbers import figure
from latentbandits.simulation.results import interval, ratio
from latentbandits.specs import policy
from latentbandits_studies.experiments.claims import BELOW, FAILS, HOLDS, TARGET, TIED, Claim, compared, near
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.paper.worlds import ADARP, COLUMNS, LIBRARY_TWO, SINGLE_GROUP, TWO_GROUP, rows
from latentbandits_studies.experiments.state_library.settings import (
    ALONE,
    CHAINS,
    HORIZON,
    MANY,
    PARTS,
    RESCALED,
    RIVALS,
    SHORT,
    short,
    title,
)
from latentbandits_studies.experiments.table2 import settings as table2

SAME = 0.01  # share by which regret may differ between two groups


@once
def per_matrix(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return, per case but those of the ablation, regret per matrix (lines) and policy, over the runs that all policies share.

    Settings of the main table that are swept in some rows, on fewer runs, are no policies here, and take no runs away.
    """
    tables = {}
    swept = results["policy"].isin((*table2.LAGGED, *table2.GATED))
    plain = results[~(results["case"].str.endswith(ALONE) | swept)]
    for case, part in plain.groupby(plain["case"].str.removesuffix(table2.APART), sort=False):
        wide = part.pivot(index=["draw", "repeat"], columns="policy", values="regret").dropna()
        tables[str(case)] = wide.groupby(level=0).mean()
    return tables


def best(table: pd.DataFrame, group: tuple[str, ...]) -> str:
    """Return the policy of a group with the lowest mean regret in a case, seen in hindsight."""
    return str(table[list(group)].mean().idxmin())


@once
def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per case and policy: regret with its interval, and as a multiple of the limit on the same runs.

    Where there is no limit the multiple is that of the best rival.
    """
    lines = []
    for case, table in per_matrix(results).items():
        group = LIMIT if LIMIT in table else best(table, RIVALS)
        for name in table:
            mean, low, high = interval(table[name].to_numpy())
            line = {"case": case, "policy": name, "regret": mean, "low": low, "high": high, "group": group}
            several = ratio(table[name].to_numpy(), table[group].to_numpy())
            lines.append(line | dict(zip(("multiple", "multiple_low", "multiple_high"), several, strict=True)))
    return pd.DataFrame(lines)


@once
def differences(results: pd.DataFrame) -> pd.DataFrame:
    """Return StateLibrary's regret less that of each policy of the paper, per row of the main table, with 95 % intervals over matrices.

    With one group it stands against every column, with two against those with two.
    """
    tables = per_matrix(results)
    lines = []
    for row in rows():
        for ours, names in ((LIBRARY, COLUMNS), (LIBRARY_TWO, TWO_GROUP)):
            for name in names:
                mean, low, high = interval((tables[row][ours] - tables[row][name]).to_numpy())
                lines.append({"row": row, "ours": ours, "policy": name, "difference": mean, "low": low, "high": high})
    return pd.DataFrame(lines)


class Standing(NamedTuple):
    """Where StateLibrary stands with one group in the main table, and the paper's best policy with one group, picked row by row.

    Attributes
    ----------
    ahead, sure : rows in which it has less regret than the paper's best, and those in which that is beyond doubt
    to_paper : its regret over that of the paper's best
    to_limit, paper_to_limit : regret over that of the limit, its own and that of the paper's best, per row
    """

    ahead: int
    sure: int
    to_paper: pd.Series
    to_limit: pd.Series
    paper_to_limit: pd.Series

    @property
    def text(self) -> str:
        """How it stands beside the paper's best."""
        return (
            f"StateLibrary, ours, has {typical(self.to_paper):.2f} times the regret of the paper's best with one group "
            f"(geometric mean), "
            f"less in {self.ahead} of {len(self.to_paper)} rows ({self.sure} beyond doubt)."
        )

    @property
    def limit_text(self) -> str:
        """How it stands beside the limit."""
        spread = f"{self.to_limit.min():.2f} to {self.to_limit.max():.2f}"
        return f"It has {typical(self.to_limit):.2f} times the regret of the limit ({spread})."

    @property
    def paper_text(self) -> str:
        """How the paper's best stands beside the limit, and what that is."""
        return (
            f"The limit is a filter that is given the truth; the paper's best has {typical(self.paper_to_limit):.2f} times its regret "
            f"({self.paper_to_limit.min():.2f} to {self.paper_to_limit.max():.2f})."
        )


def typical(ratios: pd.Series) -> float:
    """Return the geometric mean of ratios."""
    return float(np.exp(np.log(ratios).mean()))


@once
def standing(results: pd.DataFrame) -> Standing:
    """Return where StateLibrary stands in the main table."""
    tables, words, ratios = per_matrix(results), [], {}
    for row in rows():
        mine, limit = (tables[row][name].to_numpy() for name in (LIBRARY, LIMIT))
        theirs = tables[row][best(tables[row], SINGLE_GROUP)].to_numpy()
        words.append(compared(mine, theirs, len(rows())).word)
        ratios[row] = [mine.mean() / theirs.mean(), mine.mean() / limit.mean(), theirs.mean() / limit.mean()]
    lines = pd.DataFrame(ratios).T
    return Standing(int((lines[0] < 1).sum()), words.count(BELOW), lines[0], lines[1], lines[2])


@once
def parts(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per world and part taken away: regret over that of the full policy, with its interval."""
    lines = []
    for case, part in results[results["case"].str.endswith(ALONE)].groupby("case", sort=False):
        table = part.pivot(index=["draw", "repeat"], columns="policy", values="regret").groupby(level=0).mean()
        full = table[f"{LIBRARY}|full"].to_numpy()
        for name in PARTS:
            span = ratio(table[f"{LIBRARY}|{name}"].to_numpy(), full)
            lines.append({"case": case, "part": name} | dict(zip(("ratio", "low", "high"), span, strict=True)))
    return pd.DataFrame(lines)


@once
def lost(results: pd.DataFrame) -> pd.DataFrame:
    """Return every case in which a policy without prior knowledge has less regret than StateLibrary with as many groups.

    `sure` says whether the 95 % interval of the paired difference excludes zero.
    """
    lines = []
    for case, table in per_matrix(results).items():
        rivals = [name for name in table if name not in (*ORACLES, LIBRARY, LIBRARY_TWO)]
        duels = [(LIBRARY if policy(name).groups == 1 else LIBRARY_TWO, name) for name in rivals]
        for ours, name in duels:
            mean, low, high = interval((table[ours] - table[name]).to_numpy())
            if mean > 0:
                figures = {"regret": table[name].mean(), "state-library": table[ours].mean()}
                span = {"difference": mean, "low": low, "high": high, "sure": low > 0}
                lines.append({"case": case, "ours": ours, "policy": name} | figures | span)
    columns = ["case", "ours", "policy", "regret", "state-library", "difference", "low", "high", "sure"]
    return pd.DataFrame(lines, columns=columns)


def losses(results: pd.DataFrame) -> str:
    """Return where StateLibrary loses, in words."""
    losses = lost(results)
    listed = [
        f"{title(line.case)}: {line.policy} {figure(line.regret)}, {line.ours} {figure(line.ours_regret)}"
        f" ({'sure' if line.sure else 'may be chance'})"
        for line in losses.rename(columns={"state-library": "ours_regret"}).itertuples()
    ]
    return "; ".join(listed) if listed else "none"


def _target(lines: pd.DataFrame, id: str, most: Mapping[str, float], text: str, why: str = "") -> Claim:  # noqa: A002
    """Judge highest multiples, by case: met if every interval ends below its own, missed if one begins above it, else tied."""
    limits = pd.Series(most)
    chosen = lines.loc[list(most)]
    worst = chosen.loc[(chosen["multiple_high"] / limits).idxmax()]
    missed = bool((chosen["multiple_low"] > limits).any())
    listed = ", ".join(f"{title(name)} {chosen.loc[name, 'multiple']:.2f}" for name in most)
    wanted = sorted(set(most.values()), key=list(most.values()).index)
    return Claim(
        f"state-library/{id}",
        text,
        f"at most {', '.join(f'{bound:.2f}' for bound in wanted)} times",
        f"{listed}; the interval that reaches highest above its target is {worst['multiple_low']:.2f} to {worst['multiple_high']:.2f} "
        f"({title(str(worst.name))})",
        FAILS if missed else HOLDS if (chosen["multiple_high"] <= limits).all() else TIED,
        why,
        TARGET,
    )


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge StateLibrary against the paper's policies, its targets and its rivals."""
    pairs = differences(results)
    return [
        _below(
            pairs[pairs["ours"] == LIBRARY],
            "one-group",
            "With one group: below every policy of the paper in every row of the main table",
        ),
        _below(
            pairs[(pairs["ours"] == LIBRARY_TWO) & (pairs["policy"] == ADARP)],
            "two-groups",
            "With two groups: below AdaRP-UCB in every row of the main table",
        ),
        *_targets(results),
        _short_runs(results),
        Claim(
            "state-library/no-rival-below",
            "No policy without prior knowledge has less regret, in any case of this experiment",
            "none",
            losses(results),
            FAILS if lost(results)["sure"].any() else HOLDS if lost(results).empty else TIED,
            "regret per group; sure: the 95 % interval of the paired difference excludes zero",
            TARGET,
        ),
    ]


def _targets(results: pd.DataFrame) -> list[Claim]:
    """Judge multiples of the limit."""
    table = summary(results)
    mine = table[table["policy"] == LIBRARY].set_index("case")
    long = {row: world for row, (world, horizon) in rows().items() if horizon == HORIZON and world.states <= 10}
    calm, noisy = (
        dict.fromkeys([row for row in long if row.startswith("sd") == loud], 1.22 if loud else 1.12)
        for loud in (False, True)
    )
    return [
        _target(mine, "near-limit", calm, f"Near the limit with {HORIZON:,} rounds, up to 10 states and noise 0.01"),
        _target(mine, "noise", noisy, "Near the limit in noise"),
        _target(mine, "many-states", {"S20": 1.27, "S50": 1.4}, "Near the limit with 20 and 50 states"),
        _target(mine, "fast", {"T500": 2.1, "T1000": 1.85, "T5000": 1.45}, "Learns fast: 500, 1,000 and 5,000 rounds"),
        _target(
            mine,
            "chains",
            dict.fromkeys(CHAINS, 1.4),
            "Learns which state follows which: a cycle, and a successor in 80 % of all jumps",
        ),
        _no_unit(results),
        _target(
            mine,
            "arms",
            {"5 arms": 1.27, "10 arms": 1.47, "5 arms, noise 0.50": 1.38},
            "More arms: 5 and 10, and 5 at noise 0.5",
        ),
    ]


def _no_unit(results: pd.DataFrame) -> Claim:
    """Judge that regret, in units of the rewards, is the same in every unit: the worlds are the same, run by run."""
    small, large = (per_matrix(results)[case][LIBRARY].to_numpy() / scale for case, scale in RESCALED.items())
    same = compared(small, large)
    return Claim(
        "state-library/rescaled",
        "Needs no unit: the same regret / b with rewards a + b x, b of 0.001 and 1,000",
        f"the same to {SAME:.0%}".replace("%", " %"),
        f"regret / b {figure(small.mean())} and {figure(large.mean())}, ratio {same.text}; no matrix differs by more than "
        f"{np.abs(small / large - 1).max():.0e}",
        near(same, SAME),
        "the same worlds in two groups",
        TARGET,
    )


def _short_runs(results: pd.DataFrame) -> Claim:
    """Judge short runs by the best change-point peer."""
    differences = []
    for case in map(short, MANY):
        table = per_matrix(results)[case]
        peer = best(table, PEERS)
        differences.append((case, peer, *interval((table[LIBRARY] - table[peer]).to_numpy())))
    return Claim(
        "state-library/short",
        f"In {SHORT} rounds with 5 and 10 arms not worse than the best change-point peer",
        "difference not above 0",
        "; ".join(
            f"{case}: {mean:+.1f} ({low:+.1f} to {high:+.1f}) to {peer}" for case, peer, mean, low, high in differences
        ),
        FAILS if any(x[3] > 0 for x in differences) else HOLDS if all(x[4] <= 0 for x in differences) else TIED,
        kind=TARGET,
    )


def _below(pairs: pd.DataFrame, id: str, text: str) -> Claim:  # noqa: A002
    held = pairs["high"] < 0
    near = pairs.loc[pairs["high"].idxmax()]
    return Claim(
        f"state-library/{id}",
        text,
        f"{len(pairs)} of {len(pairs)} differences below zero with their 95 % intervals",
        f"{int(held.sum())} of {len(pairs)}; the nearest to zero is {near['policy']} at {title(near['row'])}: "
        f"{near['difference']:,.1f} ({near['low']:,.1f} to {near['high']:,.1f})",
        FAILS if (pairs["low"] > 0).any() else HOLDS if held.all() else TIED,
        kind=TARGET,
    )
