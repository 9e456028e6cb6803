"""What the paper says about its main table, sentence by sentence, and how well ours fits it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd

from latentbandits.policies.groups import BASELINES
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies import theory
from latentbandits_studies.experiments.claims import (
    ABOVE,
    BELOW,
    FAILS,
    HOLDS,
    OPEN,
    READING,
    TIED,
    Claim,
    agreed,
    all_of,
    compared,
    mean,
    near,
    order,
    per_draw,
    printed,
    worst,
)
from latentbandits_studies.experiments.paper.worlds import (
    ADARP,
    ADASP,
    SCALE,
    SINGLE_GROUP,
    TITLES,
    TWO_GROUP,
    published,
    rows,
)
from latentbandits_studies.experiments.table2.agreement import IN_SAMPLE, label, settings, targets
from latentbandits_studies.experiments.table2.settings import SAME

OWN = ("lc-ucb", "lc-ts", ADASP, "sp-ucb")
VOLATILE = ("p.5", "p.8", "p.9", "p.95")
FAST = ("p.5", "p.8", "p.9")
# Little noise (0.05 at most), slow mixing (0.95 at least) and many states (10 at least), all at once
CALM = ("default", "S20", "S50", "p.95", "sd.05", "T500", "T1000", "T5000")
GROWING = ("S2", "default", "S20", "S50")
DECODED = 24  # worlds in which the state is decoded


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
    words = {row: order(results, row, ADARP, "rp-ucb", len(names)).word for row in names}
    print_ = {row: printed(*(published()[row][name] for name in TWO_GROUP)) for row in names}
    apart = {row: words[row] for row in names if print_[row] != TIED}
    fixed = {row: order(results, row, ADARP, SAME["rp-ucb"], len(names)).word for row in names}
    following = {row: order(results, row, "adarp-ucb", SAME["rp-ucb"], len(names)).word for row in names}
    stated = {row: order(results, row, "adarp-ucb-stated", "rp-ucb", len(names)).word for row in names}
    contrary = any(word != print_[row] and word != TIED for row, word in apart.items())
    return [
        Claim(
            "table2/adarp-over-rp",
            "With two groups AdaRP-UCB is better than RP-UCB in every row that print tells apart",
            "best in 12 of 13 configurations (the table has 14 rows), not at noise 0.5",
            counted(words),
            FAILS if contrary else TIED if TIED in apart.values() else HOLDS,
            f"{IN_SAMPLE}; tied in print: {listed(row for row in names if print_[row] == TIED)}, so the exception itself is not judged; "
            f"with the stated gates: {counted(stated)}",
        ),
        _largest(
            results,
            "volatile",
            "AdaRP-UCB improves most over RP-UCB in volatile environments",
            lambda row: per_draw(results, row, "rp-ucb"),
            lambda row: published()[row]["rp-ucb"],
        ),
        _largest(
            results,
            "gains",
            "AdaRP-UCB gains most over the best baseline in volatile environments",
            lambda row: per_draw(results, row, min(BASELINES, key=lambda name: mean(results, row, name))),
            lambda row: min(published()[row][name] for name in BASELINES),
        ),
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


def _largest(
    results: pd.DataFrame,
    name: str,
    text: str,
    rival: Callable[[str], np.ndarray],
    in_print: Callable[[str], float],
) -> Claim:
    """Judge where AdaRP-UCB gains most over a rival, in regret and as a share of it: both must say the same."""
    verdicts, ours_listed, theirs_listed = [], [], []
    for relative in (False, True):
        gains = {row: rival(row) - per_draw(results, row, ADARP) for row in rows()}
        printed_gains = {row: in_print(row) - published()[row][ADARP] for row in rows()}
        if relative:
            gains = {row: gain / rival(row).mean() for row, gain in gains.items()}
            printed_gains = {row: gain / in_print(row) for row, gain in printed_gains.items()}
        ours, theirs = (
            sorted(gains, key=lambda row: -gains[row].mean()),
            sorted(printed_gains, key=lambda row: -printed_gains[row]),
        )
        most = next(row for row in ours if row in VOLATILE)
        other = next(row for row in ours if row not in VOLATILE)
        _, low, high = interval(gains[most] - gains[other], 1 - 0.05 / 2)
        verdicts.append(HOLDS if low > 0 else FAILS if high < 0 else TIED)
        form, scale = ("{:.0%}", 1.0) if relative else ("{:,.0f}", SCALE)
        ours_listed.append(", ".join(f"{TITLES[row]} {form.format(scale * gains[row].mean())}" for row in ours[:3]))
        theirs_listed.append(", ".join(f"{TITLES[row]} {form.format(printed_gains[row])}" for row in theirs[:3]))
    return Claim(
        f"table2/{name}",
        text,
        f"the largest gains in print: {theirs_listed[0]}; as shares: {theirs_listed[1]}",
        f"{ours_listed[0]} (x2); as shares: {ours_listed[1]}",
        agreed(verdicts),
        f"in regret: {verdicts[0]}; as a share of the rival's regret: {verdicts[1]}; volatile: stay 0.50 to 0.95; {IN_SAMPLE}",
    )


def _single(results: pd.DataFrame) -> list[Claim]:
    names = list(rows())
    many = len(OWN) * len(BASELINES) * len(names)
    lower = {row: all_of(over(results, row, own, BASELINES, many) for own in OWN) for row in names}
    in_print = [
        row for row in names if max(published()[row][x] for x in OWN) < min(published()[row][x] for x in BASELINES)
    ]
    rest = [name for name in SINGLE_GROUP if name != ADASP]
    calm = {row: over(results, row, ADASP, rest, len(rest) * len(CALM)) for row in CALM}
    text_calm = {row: over(results, row, "adasp-ucb-stated", rest, len(rest) * len(CALM)) for row in CALM}
    lag = {row: min(("lc-ucb", "lc-ts"), key=lambda name: mean(results, row, name)) for row in FAST}
    others = [name for name in SINGLE_GROUP if name not in ("lc-ucb", "lc-ts")]
    quick = {row: over(results, row, lag[row], others, len(others) * len(FAST)) for row in FAST}
    noisy = min(("d-ucb", "sw-ucb"), key=lambda name: mean(results, "sd.5", name))
    prints, loud = (*TWO_GROUP, ADASP, "sp-ucb"), published()["sd.5"]
    weak = [order(results, "sd.5", noisy, name, len(prints)).word for name in prints]
    return [
        Claim(
            "table2/consistently-lower",
            "LC-UCB, LC-TS, AdaSP-UCB and SP-UCB consistently have less regret than the six baselines",
            f"all four below all six in {len(in_print)} of {len(names)} printed rows",
            f"all four below all six in {sum(word == HOLDS for word in lower.values())} of {len(names)} rows; "
            f"not in {listed(row for row, word in lower.items() if word == FAILS)}; "
            f"tied in {listed(row for row, word in lower.items() if word == TIED)}",
            FAILS if FAILS in lower.values() else TIED if TIED in lower.values() else HOLDS,
            "" if len(in_print) == len(names) else "false in the printed table itself",
        ),
        Claim(
            "table2/adasp-calm",
            "With one group AdaSP-UCB has the least regret under little noise, slow mixing and many states",
            "best under low noise, slow mixing, or larger state spaces",
            counted(calm),
            all_of(calm.values()),
            f"against each of the other nine policies; {IN_SAMPLE}; with the stated gates: {counted(text_calm)}; the paper "
            "says or, which is false in print: with 2 states, little noise and slow mixing LC-UCB has a fifth of its regret",
        ),
        Claim(
            "table2/lagged-fast",
            "Lagged contexts are stronger under faster mixing (stay 0.5, 0.8, 0.9)",
            "LC-UCB or LC-TS the best in 3 of 3 rows",
            counted(quick),
            all_of(quick.values()),
            f"the better of LC-UCB and LC-TS against each of the other eight policies; {IN_SAMPLE}",
        ),
        Claim(
            "table2/noisy",
            "At noise 0.5 fingerprints are weak and D-UCB or SW-UCB does better",
            f"D-UCB {loud['d-ucb']:,.0f}, SW-UCB {loud['sw-ucb']:,.0f}, the best fingerprint {min(loud[x] for x in prints):,.0f}",
            f"{label(noisy)} {SCALE * mean(results, 'sd.5', noisy):,.0f}; "
            + ", ".join(f"{label(x)} {SCALE * mean(results, 'sd.5', x):,.0f}" for x in prints)
            + " (x2)",
            all_of(weak),
            f"against each of the four with fingerprints; {IN_SAMPLE}",
        ),
        gap_claim(*gaps(rows()["sd.5"][0].states)),
    ]


@cache
def gaps(states: int) -> tuple[float, float]:
    """Return the expected gap between two arms with uniform means: in a state, and of their averages over the states.

    Examples
    --------
    >>> from latentbandits_studies.experiments.table2.claims import gaps
    >>> [round(gap, 2) for gap in gaps(10)]
    [0.33, 0.1]
    """
    averages = np.random.default_rng(0).random((200_000, 2, states)).mean(axis=2)
    return 1 / 3, float(np.abs(averages[:, 0] - averages[:, 1]).mean())


def gap_claim(in_a_state: float, of_averages: float) -> Claim:
    """Judge the expected gap between the arms, of which the paper does not say which one it means."""
    verdicts = [HOLDS if 0.05 <= gap <= 0.15 else FAILS for gap in (in_a_state, of_averages)]
    return Claim(
        "table2/gap",
        "The expected gap between the arms is about 0.1",
        "about 0.1",
        f"{in_a_state:.3f} in a state, {of_averages:.3f} between the arms' averages over ten states",
        agreed(verdicts),
        "two means uniform on [0, 1]; the paper does not say which gap it means",
    )


@cache
def decoding(states: int) -> np.ndarray:
    """Return how often the state is named wrongly from the last arm and reward, at best, in some worlds of the paper."""
    world = HiddenMarkov(states=states)
    return np.array(
        [theory.lagged_error(world.matrix(0, draw), world.chain, world.noise, bayes=True) for draw in range(DECODED)]
    )


def harder_claim(errors: Mapping[int, np.ndarray]) -> Claim:
    """Judge that the error of naming the state grows with the number of states, at every step."""
    climb = [compared(after, before, len(errors) - 1) for before, after in pairwise(errors.values())]
    return Claim(
        "table2/harder",
        "Telling the state from the last arm and reward becomes harder as the states grow in number",
        "increasingly difficult",
        ", ".join(f"{error.mean():.1%} with {count}" for count, error in errors.items()),
        all_of((comparison.word for comparison in climb), ABOVE),
        f"least possible error of naming the state, in closed form, in {DECODED} worlds of each number of states; every step is judged",
    )


def _worlds(results: pd.DataFrame) -> list[Claim]:
    cells, steps = published()["default"], list(pairwise(GROWING))
    relative = {row: per_draw(results, row, "lc-ucb") / mean(results, row, "best-single-arm") for row in GROWING}
    grown = [compared(relative[after], relative[before], len(steps)) for before, after in steps]
    fast = {
        name: order(results, "p.5", name, name, 4, other_case="default") for name in (ADARP, "rp-ucb", ADASP, "sp-ucb")
    }
    sequential, randomized = ([fast[name].word for name in pair] for pair in ((ADASP, "sp-ucb"), TWO_GROUP))
    settled = {name: order(results, "default", name, "best-single-arm", 2) for name in ("ucb1", "ts")}
    return [
        Claim(
            "table2/states",
            "LC-UCB degrades as the states grow in number: its regret over that of the best single arm, with 2, 10, 20, 50 states",
            ", ".join(f"{published()[row]['lc-ucb'] / published()[row]['best-single-arm']:.2f}" for row in GROWING),
            ", ".join(f"{relative[row].mean():.2f}" for row in GROWING),
            all_of((comparison.word for comparison in grown), ABOVE),
            f"every step is judged; more states also leave more to lose, hence the ratio; {IN_SAMPLE}",
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
        Claim(
            "table2/switching",
            "Sequential variants degrade under fast switching, randomized variants do not",
            f"AdaRP-UCB {published()['default'][ADARP]:,.0f} to {published()['p.5'][ADARP]:,.0f}, "
            f"AdaSP-UCB {published()['default'][ADASP]:,.0f} to {published()['p.5'][ADASP]:,.0f}",
            "; ".join(f"{label(name)} {comparison.text} times" for name, comparison in fast.items()),
            FAILS
            if ABOVE in randomized or BELOW in sequential
            else OPEN
            if TIED in (*sequential, *randomized)
            else HOLDS,
            "regret at stay 0.5 over that of the default row (stay 0.99); false in print too",
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
