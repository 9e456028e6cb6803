"""What the paper says about its main table, sentence by sentence, and how well ours fits it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product

import numpy as np
import pandas as pd

from latentbandits.policies import groups
from latentbandits.policies.groups import BASELINES
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments.claims import (
    ABOVE,
    BELOW,
    FAILS,
    HOLDS,
    OPEN,
    READING,
    TIED,
    Claim,
    all_of,
    compared,
    mean,
    near,
    order,
    paired,
    per_draw,
    printed,
    quotient,
    worst,
)
from latentbandits_studies.experiments.paper.choices import READINGS, judge
from latentbandits_studies.experiments.paper.worlds import (
    ADARP,
    ADASP,
    SCALE,
    TITLES,
    TWO_GROUP,
    in_table,
    profiled,
    published,
    rows,
)
from latentbandits_studies.experiments.table2.agreement import IN_SAMPLE, label, settings, targets
from latentbandits_studies.experiments.table2.closed import (
    decoding,
    gap_claim,
    gaps,
    harder_claim,
    mixed,
    switching_claim,
)
from latentbandits_studies.experiments.table2.settings import SAME

OWN = ("lc-ucb", "lc-ts", "adasp-ucb", "sp-ucb")
LAGGED, FORGETTING = ("lc-ucb", "lc-ts"), ("d-ucb", "sw-ucb")
VOLATILE = ("p.5", "p.8", "p.9", "p.95")
FAST = ("p.5", "p.8", "p.9")
# Little noise (0.05 at most), slow mixing (0.95 at least) and many states (10 at least), all at once
CALM = ("default", "S20", "S50", "p.95", "sd.05", "T500", "T1000", "T5000")
GROWING = ("S2", "default", "S20", "S50")


def listed(names: Iterable[str]) -> str:
    """Return rows as people call them."""
    return ", ".join(TITLES[name] for name in names) or "none"


def counted(words: dict[str, str]) -> str:
    """Return how many rows have which word, and which rows are not below."""
    counts = [f"below in {sum(word == BELOW for word in words.values())} of {len(words)} rows"]
    for word in (TIED, ABOVE):
        matching = [row for row, given in words.items() if given == word]
        if matching:
            counts.append(f"{word} in {listed(matching)}")
    return "; ".join(counts)


def over(results: pd.DataFrame, row: str, policy: str, others: Sequence[str], among: int) -> str:
    """Return whether a policy is below all others of a row, above at least one of them, or neither can be said."""
    words = [order(results, row, policy, other, among).word for other in others]
    return ABOVE if ABOVE in words else TIED if TIED in words else BELOW


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge every sentence about the table; then, as targets of our own, how near ours comes to it."""
    return [*_randomized(results), *_single(results), *_worlds(results), *settings(results), *targets(results)]


def _randomized(results: pd.DataFrame) -> list[Claim]:
    names = list(rows())
    print_ = {row: printed(*(published()[row][name] for name in TWO_GROUP)) for row in names}

    def words(profile: str) -> dict[str, str]:
        pair = profiled("adarp-ucb", profile), profiled("rp-ucb", profile)
        return {row: order(results, row, *pair, len(names)).word for row in names}

    def better(profile: str) -> str:
        apart = {row: word for row, word in words(profile).items() if print_[row] != TIED}
        contrary = any(word not in (print_[row], TIED) for row, word in apart.items())
        return FAILS if contrary else TIED if TIED in apart.values() else HOLDS

    fixed = {row: order(results, row, ADARP, SAME["rp-ucb"], len(names)).word for row in names}
    following = {row: order(results, row, "adarp-ucb", SAME["rp-ucb"], len(names)).word for row in names}
    return [
        _profiled(
            "adarp-over-rp",
            "With two groups AdaRP-UCB is better than RP-UCB in every row that print tells apart",
            "best in 12 of 13 configurations (the table has 14 rows), not at noise 0.5",
            better,
            lambda profile: counted(words(profile)),
            f"tied in print: {listed(row for row in names if print_[row] == TIED)}, so the exception itself is not judged",
        ),
        _largest(results, "volatile", "AdaRP-UCB improves most over RP-UCB in volatile environments", ["rp-ucb"]),
        _largest(results, "gains", "AdaRP-UCB gains most over the best baseline in volatile environments", BASELINES),
        Claim(
            "table2/gates-alone",
            "It is the gates that make AdaRP-UCB better: it beats a fixed schedule with the same features everywhere",
            "the table compares policies whose features it does not state",
            counted(fixed),
            all_of(fixed.values()),
            f"a probe every 10 rounds with AdaRP-UCB's features; with a residual floor that follows the noise: {counted(following)}",
            READING,
        ),
    ]


def _profiled(
    name: str,
    text: str,
    published: str,
    verdict: Callable[..., str],
    measured: Callable[[str], str],
    why: str,
    others: tuple[str, ...] = (),
) -> Claim:
    """Judge under both profiles of the paper's policies and other readings, and show what comes out under each profile."""
    found = judge(("profile", *others), verdict)
    shown = "; ".join(f"{profile}'s settings: {measured(profile)}" for profile in READINGS["profile"].values)
    remark = "; ".join(filter(None, [why, _by_profile(verdict, others)]))
    return Claim(
        f"table2/{name}",
        text,
        published,
        f"{shown}; {found.words}",
        found.verdict,
        remark,
        depends=found.depends,
        lean=found.lean,
    )


def _by_profile(verdict: Callable[..., str], others: tuple[str, ...]) -> str:
    """Return what is so with the settings that reproduce the table, which were fitted to it, and with those that the text states."""
    ways = list(product(*(READINGS[name].values for name in others)))
    fitted, stated = (
        " or ".join(dict.fromkeys(verdict(profile, *way) for way in ways)) for profile in READINGS["profile"].values
    )
    if fitted == stated:
        return IN_SAMPLE
    return f"with the settings that reproduce print (in-sample): {fitted}; with those stated: {stated}"


def _gains(results: pd.DataFrame, row: str, rivals: Sequence[str], profile: str, relative: bool) -> np.ndarray:
    """Return AdaRP-UCB's gain over the best of some rivals in a row, draw by draw; of a share, to first order."""
    best = min((profiled(name, profile) for name in rivals), key=lambda name: mean(results, row, name))
    mine, theirs = paired(results, ((row, profiled("adarp-ucb", profile)), (row, best)))
    gain: np.ndarray = theirs - mine
    if not relative:
        return gain
    share = gain.mean() / theirs.mean()
    linear: np.ndarray = share + (gain - share * theirs) / theirs.mean()
    return linear


def _largest(results: pd.DataFrame, name: str, text: str, rivals: Sequence[str]) -> Claim:
    """Judge where AdaRP-UCB gains most over the best of some rivals, in regret and as a share of it, under both profiles."""
    others = [row for row in rows() if row not in VOLATILE]
    among = len(VOLATILE) * len(others) * len(rivals)  # any row, and any rival, could have been the best

    def verdict(profile: str, measure: str) -> str:
        relative = READINGS["gain"].values[measure]
        gains = {row: _gains(results, row, rivals, profile, relative) for row in rows()}
        spans = {
            pair: interval(gains[pair[0]] - gains[pair[1]], 1 - 0.05 / among) for pair in product(VOLATILE, others)
        }
        if any(all(spans[row, other][1] > 0 for other in others) for row in VOLATILE):
            return HOLDS
        return FAILS if any(all(spans[row, other][2] < 0 for row in VOLATILE) for other in others) else TIED

    found = judge(("profile", "gain"), verdict)
    ours: list[str] = []
    theirs: list[str] = []
    for relative, form, scale in ((False, "{:,.0f}", SCALE), (True, "{:.0%}", 1.0)):
        here = {row: float(_gains(results, row, rivals, "table", relative).mean()) for row in rows()}
        best = {row: min(published()[row][rival] for rival in rivals) for row in rows()}
        print_ = {row: (best[row] - published()[row][ADARP]) / (best[row] if relative else 1) for row in rows()}
        for listed_, gains, unit in ((ours, here, scale), (theirs, print_, 1.0)):
            three = sorted(gains, key=lambda row: -gains[row])[:3]
            listed_.append(", ".join(f"{TITLES[row]} {form.format(unit * gains[row])}" for row in three))
    return Claim(
        f"table2/{name}",
        text,
        f"the largest gains in print: {theirs[0]}; as shares: {theirs[1]}",
        f"with the table's settings {ours[0]} (x2); as shares: {ours[1]}; {found.words}",
        found.verdict,
        f"volatile: stay 0.50 to 0.95; the intervals pay for picking rows and rivals in hindsight; {_by_profile(verdict, ('gain',))}",
        depends=found.depends,
        lean=found.lean,
    )


def _single(results: pd.DataFrame) -> list[Claim]:
    names, prints, loud = list(rows()), ("adarp-ucb", "rp-ucb", "adasp-ucb", "sp-ucb"), published()["sd.5"]
    usual = [row for row in names if row != "sd.5"]  # the exception that the paper names
    alone = [name for name in groups.SINGLE_GROUP if name != "adasp-ucb"]
    others = [name for name in groups.SINGLE_GROUP if name not in LAGGED]

    def each(profile: str, of: Sequence[str]) -> list[str]:
        return [profiled(name, profile) for name in of]

    def printed_so(of: Sequence[str]) -> int:
        cells = [published()[row] for row in of]
        return sum(max(row[in_table(x)] for x in OWN) < min(row[x] for x in BASELINES) for row in cells)

    def in_print(of: Sequence[str]) -> str:
        return f"all four below all six in {printed_so(of)} of {len(of)} printed rows"

    def contradicted(of: Sequence[str]) -> str:
        return "" if printed_so(of) == len(of) else "false in the printed table itself"

    def lower(profile: str, of: Sequence[str]) -> dict[str, str]:
        many = len(OWN) * len(BASELINES) * len(of)
        return {row: all_of(over(results, row, own, BASELINES, many) for own in each(profile, OWN)) for row in of}

    def calm(profile: str) -> dict[str, str]:
        many = len(alone) * len(CALM)
        return {row: over(results, row, profiled("adasp-ucb", profile), each(profile, alone), many) for row in CALM}

    def lagged(profile: str) -> dict[str, str]:
        many = len(LAGGED) * len(others) * len(FAST)  # the better of the two is picked in hindsight
        best = {row: min(each(profile, LAGGED), key=lambda name: mean(results, row, name)) for row in FAST}
        return {row: over(results, row, best[row], each(profile, others), many) for row in FAST}

    noisy = min(FORGETTING, key=lambda name: mean(results, "sd.5", name))

    def weak(profile: str) -> str:
        many = len(FORGETTING) * len(prints)
        return all_of(order(results, "sd.5", noisy, name, many).word for name in each(profile, prints))

    def told(found: Mapping[str, str]) -> str:
        return (
            f"all four below all six in {sum(word == HOLDS for word in found.values())} of {len(found)} rows; "
            f"not in {listed(row for row, word in found.items() if word == FAILS)}; "
            f"tied in {listed(row for row, word in found.items() if word == TIED)}"
        )

    return [
        _profiled(
            "consistently-lower",
            "LC-UCB, LC-TS, AdaSP-UCB and SP-UCB consistently have less regret than the six baselines, but at noise 0.5",
            in_print(usual),
            lambda profile: worst(lower(profile, usual).values()),
            lambda profile: told(lower(profile, usual)),
            contradicted(usual),
        ),
        _profiled(
            "lower-calm",
            "They have less regret than the six baselines under little noise, slow mixing and many states",
            in_print(CALM),
            lambda profile: worst(lower(profile, CALM).values()),
            lambda profile: told(lower(profile, CALM)),
            "; ".join(
                filter(
                    None, [contradicted(CALM), "where summaries tell the states apart and are fresh, as we read that"]
                )
            ),
        ),
        _profiled(
            "adasp-calm",
            "With one group AdaSP-UCB has the least regret under little noise, slow mixing and many states",
            "best under low noise, slow mixing, or larger state spaces",
            lambda profile: all_of(calm(profile).values()),
            lambda profile: counted(calm(profile)),
            "against each of the other nine policies; the paper says or, which is false in print: with 2 states, little noise and slow "
            "mixing LC-UCB has a fifth of its regret",
        ),
        _profiled(
            "lagged-fast",
            "Lagged contexts are stronger under faster mixing (stay 0.5, 0.8, 0.9)",
            "LC-UCB or LC-TS the best in 3 of 3 rows",
            lambda profile: all_of(lagged(profile).values()),
            lambda profile: counted(lagged(profile)),
            "the better of LC-UCB and LC-TS against each of the other eight policies",
        ),
        _profiled(
            "noisy",
            "At noise 0.5 fingerprints are weak and D-UCB or SW-UCB does better",
            f"D-UCB {loud['d-ucb']:,.0f}, SW-UCB {loud['sw-ucb']:,.0f}, the best fingerprint "
            f"{min(loud[in_table(x)] for x in prints):,.0f}",
            weak,
            lambda profile: (
                f"{label(noisy)} {SCALE * mean(results, 'sd.5', noisy):,.0f}; "
                + ", ".join(
                    f"{label(in_table(x))} {SCALE * mean(results, 'sd.5', profiled(x, profile)):,.0f}" for x in prints
                )
                + " (x2)"
            ),
            "against each of the four with fingerprints",
        ),
        gap_claim(*gaps(rows()["sd.5"][0].states)),
    ]


def _worlds(results: pd.DataFrame) -> list[Claim]:
    cells, steps = published()["default"], list(pairwise(GROWING))

    def grown(profile: str, loss: str) -> str:
        lagged, single = profiled("lc-ucb", profile), "best-single-arm"
        words = []
        for before, after in steps:
            if not READINGS["loss"].values[loss]:
                words.append(order(results, after, lagged, lagged, len(steps), other_case=before).word)
                continue
            upper = paired(results, ((after, lagged), (before, single), (after, single), (before, lagged)))
            words.append(quotient(upper[:2], upper[2:], len(steps)).word)
        return all_of(words, ABOVE)

    def relative(profile: str) -> str:
        pairs = [paired(results, ((row, profiled("lc-ucb", profile)), (row, "best-single-arm"))) for row in GROWING]
        shares = ", ".join(f"{mine.mean() / single.mean():.2f}" for mine, single in pairs)
        return ", ".join(f"{SCALE * mine.mean():,.0f}" for mine, _ in pairs) + f" (x2); as shares {shares}"

    fast = {
        name: order(results, "p.5", name, name, 4, other_case="default") for name in (ADARP, "rp-ucb", ADASP, "sp-ucb")
    }
    randomized, sequential = ({label(name): fast[name] for name in names} for names in (TWO_GROUP, (ADASP, "sp-ucb")))
    in_print = ", ".join(f"{label(name)} {published()['p.5'][name] / cells[name]:.1f}" for name in fast)
    settled = {name: order(results, "default", name, "best-single-arm", 2) for name in ("ucb1", "ts")}
    return [
        _profiled(
            "states",
            "LC-UCB degrades as the states grow in number: its regret with 2, 10, 20, 50 states, or its share of the best single arm's",
            ", ".join(f"{published()[row]['lc-ucb']:,.0f}" for row in GROWING)
            + "; as shares "
            + ", ".join(f"{published()[row]['lc-ucb'] / published()[row]['best-single-arm']:.2f}" for row in GROWING),
            grown,
            relative,
            "every step is judged",
            ("loss",),
        ),
        harder_claim({count: decoding(count) for count in (2, 10, 20, 50)}),
        Claim(
            "table2/converges",
            "By 20,000 rounds classical methods have settled for the arm that is best on average: UCB1 and TS within 10 % of it",
            f"UCB1 {cells['ucb1']:,.0f}, TS {cells['ts']:,.0f}, optimal single arm {cells['best-single-arm']:,.0f}",
            ", ".join(
                f"{label(name)} {comparison.text} times the best single arm" for name, comparison in settled.items()
            ),
            worst(near(comparison, 0.1) for comparison in settled.values()),
            "default row; the paper speaks of the limit of many rounds, so this is our reading: after 20,000 UCB1 still changes arms",
            READING,
        ),
        switching_claim(
            mixed(0.99),
            mixed(0.5),
            randomized,
            sequential,
            in_print,
        ),
        _persistent(results),
    ]


def _persistent(results: pd.DataFrame) -> Claim:
    """Judge the regret per round of the baselines in a long run by that in a shorter one."""
    long, short = "default", "T5000"
    lasting = {
        name: compared(
            per_draw(results, long, name) / rows()[long][1], per_draw(results, short, name) / rows()[short][1], 6
        )
        for name in BASELINES
    }
    held, broken = all(x.low >= 0.9 for x in lasting.values()), any(x.high < 0.9 for x in lasting.values())
    return Claim(
        "table2/persistent",
        "Standard baselines incur persistent regret: per round it does not fall from 5,000 to 20,000 rounds (by more than 10 %)",
        "persistent dynamic regret",
        ", ".join(f"{label(name)} {comparison.text}" for name, comparison in lasting.items()),
        HOLDS if held else FAILS if broken else OPEN,
        "regret per round at 20,000 over that at 5,000 rounds",
    )
