"""The readings ledger: what the paper does not state, the values that its text allows, and the rule for claims that depend on them.

Experiments take their variants from here, so that a value which is added is run and judged. The first value is the default.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from latentbandits_studies.experiments.claims import FAILS, HOLDS, VERDICTS, agreed


class Reading(NamedTuple):
    """Something that the paper does not state.

    Attributes
    ----------
    what : what it is
    values : what the text allows, in words -> for the code; the first is the default. A claim that depends on several is judged under each
    why : why these values, and why that default
    """

    what: str
    values: Mapping[str, Any]
    why: str

    @property
    def default(self) -> str:
        """The value that is taken where nothing else is said."""
        return next(iter(self.values))


def _numbers(*values: float) -> dict[str, float]:
    return {f"{value:,g}": value for value in values}


FIT = "fitted to the main table; the paper states none"
READINGS: Mapping[str, Reading] = {
    # What several experiments depend on
    "profile": Reading(
        "settings of the paper's policies in the main table",
        {"table": "", "text": "-stated"},
        "the text states gates and features; with them the table does not come out, with fitted ones it does",
    ),
    "gates": Reading(
        "gates of AdaRP-UCB and AdaSP-UCB outside of the main table",
        {"stated": "-stated", "table's": "-table"},
        "stated: z 2, margin 0.05, age cap 7, minimum gap 2, residual floor equal to the noise. The main table shows that its own were "
        "others: age cap 50, minimum gap 4, floor 0.05 (AdaRP) and 0.1 (AdaSP) fit it",
    ),
    "lag": Reading(
        "encoding of the last arm a and reward r",
        {"pair": "pair", "one-hot": "one-hot", "slopes": "slopes"},
        "the algorithms print the pair (a, r); a footnote allows one-hot of a, and does not say whether r then has a slope for each arm",
    ),
    "lag of many": Reading(
        "the same with three arms or more",
        {"one-hot": "one-hot", "slopes": "slopes"},
        "the footnote allows one-hot where appropriate: the number of an arm means nothing there",
    ),
    "residual": Reading(
        "residual of the residual gate",
        {"after": False, "before": True},
        "Algorithm 4 prints it with the coefficients after the update; the prose, prediction errors, reads as before",
    ),
    "repeats": Reading(
        "runs on each reward matrix outside of the main table",
        {"1": 1},
        "5 in the main table, as stated. The mean does not depend on it, and intervals are over matrices",
    ),
    # Main table
    "scale": Reading(
        "scale of the main table",
        {"twice the regret per group": 2.0},
        "Optimal single arm with means uniform on [0, 1] tends to T/6 per group; the table tends to T/3",
    ),
    "number of the table": Reading(
        "number of the main table",
        {"Table 3": 3},
        "by order in the source; the printed page was not at hand, and table2 is only the experiment's id",
    ),
    "default world": Reading(
        "world of the default row",
        {"10 states, stay 0.99, noise 0.01, 20,000 rounds": None},
        "every row of the table changes one of these",
    ),
    "jumps": Reading(
        "jumps of the chain",
        {"uniform over the other states, from the stationary distribution": None},
        "the simplest reading",
    ),
    "table's lag": Reading(
        "features that fit the main table",
        {
            "LC-UCB, LC-TS, SP-UCB: one-hot of the last arm times 1, r and r squared; AdaRP, AdaSP: times 1 and r; RP: the pair": None
        },
        f"{FIT}. Policies whose names end in -stated have the text's: (a, r) for two arms, one-hot of a and r for more",
    ),
    "LinUCB": Reading(
        "ridge penalty and exploration",
        {"0.1; 1.0 for LC-UCB, 0.6 as LC-TS's scale, 0.5 for the probing family": None},
        f"{FIT}, so that the stated policies have the same; for LC-UCB both are also swept (table2/stated-lag)",
    ),
    "intervals": Reading("intervals of the fixed schedules in the main table", {"RP-UCB 10, SP-UCB 40": None}, FIT),
    "baselines": Reading(
        "settings of the baselines",
        {
            "D-UCB discount 0.99, exploration 0.5 (4 xi); SW-UCB window 50, exploration 0.5 (sqrt xi); EXP3 0.1; EXP3-S 0.2 with share "
            "0.001; UCB1 factor 2; TS noise 0.1": None
        },
        FIT,
    ),
    "gain": Reading(
        "what the largest gain is measured in",
        {"regret": False, "a share of the rival's regret": True},
        "the paper says most, without a measure",
    ),
    "loss": Reading(
        "what LC-UCB's degrading with the states is measured in",
        {"regret": False, "a share of the best single arm's": True},
        "the paper says that it may degrade, without a measure; more states also leave more to lose",
    ),
    "degrading": Reading(
        "what degrading under fast switching means",
        {"more fingerprints of another state": False, "more regret": True},
        "section 4.2 gives the change of state within a probe as the reason, and says it of the variants, not of their fingerprints",
    ),
    "gap": Reading(
        "which gap between the arms is meant",
        {"in a state": 0, "of their averages over the states": 1},
        "the paper says expected arm gap",
    ),
    # Other experiments
    "grid": Reading(
        "values of the sensitivity sweeps",
        {"up to the value that is called the best": False, "beyond it": True},
        "the paper names only the best ones; a value that is best because the grid ends there proves nothing",
    ),
    "ablation noise": Reading(
        "noise of the ablation",
        _numbers(0.05, 0.01),
        "0.05 is that of the robustness experiments, 0.01 that of the main table",
    ),
    "ablation horizon": Reading(
        "rounds of the ablation",
        _numbers(3_000, 2_000, 5_000),
        "its figures exclude the main table's 20,000, which has five times as much regret, and the 1,000 of a row of it, which has less",
    ),
    "ablation schedule": Reading(
        "rounds between the probes of the ablation's fixed schedules, which have the features of the adaptive policy",
        _numbers(10, 4, 20, 40),
        "section 6.2 speaks of fixed-schedule AdaSP; 10 and 40 fit RP-UCB and SP-UCB in the main table",
    ),
    "ablation RP-UCB": Reading(
        "the same of AdaRP-UCB, or RP-UCB as in the main table",
        {**_numbers(10, 4, 20, 40), "RP-UCB": None},
        "section 6.2 names fixed-schedule RP-UCB, whose features may differ from AdaRP-UCB's; with these and a probe every 4 rounds its "
        "figures come out",
    ),
    "last probe": Reading(
        "time of the last probe in Algorithm 5",
        {"the first round of the probe": None},
        "as printed, the algorithm never sets it; the text says that a probe's first round does",
    ),
    "group noise": Reading(
        "variance of a reward where K groups share a round",
        {"K sigma^2": None, "2 sigma^2": 2},
        "the paper says 2 sigma^2 for two groups, and nothing for more",
    ),
    "many arms": Reading(
        "many arms",
        {
            "5,000 rounds, one-hot lag, gates and intervals in proportion to the rounds of a probe, a group per arm": None
        },
        "the paper gives no figures; the gaps contribute to the growth of sequential probing",
    ),
    "robustness horizon": Reading(
        "rounds of the misspecification checks",
        _numbers(5_000, 4_000, 6_000),
        "with 5,000 the figures of SW-UCB come out at the scale of regret per group",
    ),
    "robustness D-UCB": Reading(
        "discount and exploration of D-UCB in the misspecification checks",
        {
            f"{discount:g} and {exploration:g}": f"d-ucb:discount={discount:g},exploration={exploration:g}"
            for discount, exploration in ((0.98, 4.0), (0.99, 0.5), (0.99, 4.0), (0.95, 0.5), (0.95, 4.0))
        },
        "the first is nearest to its published figures; with the one that fits the main table, 0.99 and 0.5, its regret would be 40 % "
        "lower than published",
    ),
    "memory": Reading(
        "how the reward depends on the previous state",
        {"the means of both states, weighted by rho": False, "a matrix of its own for the previous state": True},
        "the paper names only rho",
    ),
    "memory statistic": Reading(
        "statistic of the matched learner with memory",
        {"the expected rewards of the round": None},
        "the paper says only that it is the correct one",
    ),
    "overlap": Reading(
        "worlds of the overlap sweep",
        {"one pair of states at delta": False, "every state at delta from another": True},
        "the paper gives only delta, the joint separation: the distance of the nearest two",
    ),
    "check states": Reading(
        "states of the memory and overlap checks",
        {"10 states": 10, "4 states": 4},
        "ten are stated for the checks of switching; the paper's examples have four",
    ),
    "faster": Reading(
        "what fails faster means",
        {"more regret": 0, "more growth from stay 0.95": 1, "more regret over the matched learner's": 2},
        "the paper does not define it",
    ),
    "probe error": Reading(
        "error of a completed probe in the hazard corollary",
        {"of a probe when it is completed": False, "given all that was seen by the round, as in Theorem 1": True},
        "the corollary says error of each completed probe; its proof applies Theorem 1, which asks for more",
    ),
}


class Judgement(NamedTuple):
    """The verdict under all readings that a claim depends on, what each of them says, their names, and which way they lean."""

    verdict: str
    words: str
    depends: tuple[str, ...]
    lean: str = ""


def judge(names: Sequence[str], verdict: Callable[..., str]) -> Judgement:
    """Judge under every reading that the text allows: what all of them say is the verdict; where they differ, it cannot be judged.

    Parameters
    ----------
    names : sequence of str
        The readings, by their names in `READINGS`.
    verdict : callable
        Given a value of each, in words, the verdict.

    Examples
    --------
    >>> from latentbandits_studies.experiments.paper.choices import judge
    >>> found = judge(["residual", "gap"], lambda residual, gap: "holds" if residual == "after" else "tied")
    >>> found.verdict
    'cannot be judged'
    >>> found.words
    'holds under 2, tied under 2 of 4 readings; residual: after (holds), before (tied)'
    """
    found = {labels: verdict(*labels) for labels in product(*(READINGS[name].values for name in names))}
    return Judgement(agreed(found.values()), told(names, found), tuple(names), leaning(found.values()))


def leaning(verdicts: Iterable[str]) -> str:
    """Return that readings which differ never hold, or never fail, if that is so.

    Examples
    --------
    >>> from latentbandits_studies.experiments.paper.choices import leaning
    >>> leaning(["does not hold", "cannot be judged"]), leaning(["holds", "tied"]), leaning(["holds", "does not hold"])
    ('never holds', 'never fails', '')
    """
    given = set(verdicts)
    if len(given) == 1:
        return ""
    return "never holds" if HOLDS not in given else "never fails" if FAILS not in given else ""


def told(names: Sequence[str], found: Mapping[tuple[str, ...], str]) -> str:
    """Return what each reading says; of one that makes no difference, nothing."""
    total = len(found)
    if len(set(found.values())) == 1:
        return f"the same under {'both' if total == 2 else f'all {total}'} readings ({', '.join(names)})"
    parts = []
    for place, name in enumerate(names):
        counts = {
            value: [word for labels, word in found.items() if labels[place] == value] for value in READINGS[name].values
        }
        if len({tuple(sorted(words)) for words in counts.values()}) > 1:
            tallies = {value: _tally(words) for value, words in counts.items()}
            groups = {word: [value for value in tallies if tallies[value] == word] for word in tallies.values()}
            parts.append(f"{name}: " + ", ".join(f"{' or '.join(group)} ({word})" for word, group in groups.items()))
    words = list(found.values())
    every = ", ".join(f"{word} under {words.count(word)}" for word in VERDICTS if word in words)
    return f"{every} of {total} readings; " + "; ".join(parts)


def _tally(words: Sequence[str]) -> str:
    """Return how often each verdict occurs, in words."""
    if len(set(words)) == 1:
        return words[0]
    return ", ".join(f"{word} {words.count(word)}" for word in VERDICTS if word in words)


def ledger() -> list[tuple[str, str, str]]:
    """Return the whole ledger as lines of a table: its name and what it is, the values with the default first, and why."""
    return [(f"{name}: {entry.what}", "; ".join(entry.values), entry.why) for name, entry in READINGS.items()]
