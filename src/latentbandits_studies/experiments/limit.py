"""How far every policy is from the Bayes limit, on the runs of the main table."""

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import FORGETFUL, LIBRARY, LIMIT, PEERS
from latentbandits.presentation.palette import BLACK
from latentbandits_studies.experiments import plots
from latentbandits_studies.experiments.claims import ABOVE, BELOW, TARGET, TIED, Claim, all_of, compared
from latentbandits_studies.experiments.paper.worlds import COLUMNS, SINGLE_GROUP, TITLES, rows
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.state_library import claims as library
from latentbandits_studies.experiments.table2 import settings as table2

SUMMARY = "every policy as a multiple of the Bayes limit, on the runs of the main table"
ALONE = (*SINGLE_GROUP, LIBRARY, FORGETFUL, *PEERS)  # those with one group, as the limit has
cases = table2.cases  # the same runs; nothing is simulated twice


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge that the limit is one: nobody who is given less has less regret."""
    tables = library.per_matrix(results)
    orders = {
        (row, name): compared(tables[row][name].to_numpy(), tables[row][LIMIT].to_numpy(), len(rows()) * len(ALONE))
        for row in rows()
        for name in ALONE
    }
    words = [comparison.word for comparison in orders.values()]
    (row, name), nearest = min(orders.items(), key=lambda item: item[1].ratio)
    return [
        Claim(
            "limit/below-all",
            "The Bayes limit has less regret than every policy with one group, in every row of the main table",
            f"{len(words)} of {len(words)} comparisons",
            f"less in {words.count(ABOVE)} of {len(words)}, tied in {words.count(TIED)}, more in {words.count(BELOW)}; the nearest is "
            f"{name} at {TITLES[row]}: {nearest.text} times",
            all_of(words, ABOVE),
            "a policy that is given everything but the state, and not a bound: near the least possible regret where that is known",
            TARGET,
        )
    ]


def finding(results: pd.DataFrame) -> str:
    """Return how far StateLibrary and the best of the paper's policies with one group are from the limit."""
    own = library.standing(results)
    return f"{own.limit_text.replace('It', 'StateLibrary', 1)} {own.paper_text}"


def multiples(results: pd.DataFrame) -> Figure:
    """Regret as a multiple of the Bayes limit, per row and policy."""
    cells = library.summary(results).set_index(["policy", "case"])[["multiple", "multiple_low", "multiple_high"]]
    figure, (axes,) = plots.panels(1, 1, (8.6, 4.6))
    for name in (*COLUMNS, LIBRARY):
        looks = {"marker": "D", "ms": 5} if name == LIBRARY else {"marker": "o", "ms": 3}
        spans = cells.loc[name].loc[list(rows())].to_numpy()
        plots.curve(axes, range(len(rows())), spans, **plots.look(name, elinewidth=0.7, capsize=1.5, **looks))
    axes.axhline(1, **plots.look(LIMIT, color=BLACK))
    plots.ticks(axes, (1, 2, 5, 10, 20, 50, 100), "regret / regret of the Bayes limit", across=False)
    axes.set_xticks(range(len(rows())), [TITLES[row] for row in rows()], rotation=40, ha="right")
    axes.legend(ncols=1, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return figure


MULTIPLES = Illustration(
    "limit",
    "Regret as a multiple of the Bayes limit, a filter that is given means, chain and noise, and that plans; a log axis. Bars: 95 % "
    "intervals over matrices.",
    multiples,
)
EXPERIMENT = Experiment(
    "limit",
    SUMMARY,
    cases,
    score,
    title="The limit: how much less regret is possible",
    finding=finding,
    ours=True,
    place=125,
    figures=(MULTIPLES,),
    judged="paper",
)
