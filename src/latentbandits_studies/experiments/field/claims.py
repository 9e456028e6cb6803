"""What policies earned on public traces: where memory pays, where it does not, and where nothing does."""

import numpy as np
import pandas as pd

from latentbandits.policies.groups import TWO_GROUP
from latentbandits_studies.data.traces import load
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TARGET, TIED, Claim
from latentbandits_studies.experiments.field.rule import ORDER, REFUSED, REGIMES, Traits, traits
from latentbandits_studies.experiments.field.settings import TWINS, edges, part
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.real.claims import plain
from latentbandits_studies.experiments.real.standings import Played, rank, summarise

LEVEL = 0.95  # of every interval by itself
RESAMPLES = 4_000


@once
def kinds(results: pd.DataFrame) -> dict[str, Traits]:
    """Return what the traces of some results are like, those with regimes first, refused ones last."""
    played = set(results["case"])
    found = {trace.name: traits(trace) for trace in load() if trace.name in played}
    return dict(sorted(found.items(), key=lambda item: ORDER.index(item[1].kind)))


@once
def played(results: pd.DataFrame) -> dict[str, Played]:
    """Return what was earned on every trace; of a policy as it is and within `scaled`, the better one."""
    quick, traces = bool(results["quick"].any()), {trace.name: trace for trace in load()}
    found = {}
    for name in kinds(results):
        rows = results[results["case"] == name]
        rewards = part(traces[name], quick)
        rewards = rewards[: int(rows["draw"].max()) + 1]
        one = Played.of(rows, rewards, traces[name].arms, edges(rewards.shape[1]))
        better: dict[str, str] = {}
        for policy, values in one.curves.items():
            rival = better.setdefault(plain(policy), policy)
            if values.mean() > one.curves[rival].mean():
                better[plain(policy)] = policy
        found[name] = one._replace(curves={policy: one.curves[policy] for policy in better.values()})
    return found


def leader(rewards: np.ndarray) -> float:
    """Return what one earns who sees all arms and plays the one that has paid most so far, a mean over records.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.field.claims import leader
    >>> leader(np.array([[[0, 1], [0, 1], [5, 0], [0, 1]]]))
    0.25
    """
    before = np.cumsum(rewards, axis=1)[:, :-1].argmax(axis=2)
    first = np.zeros((len(rewards), 1), int)
    followed = np.take_along_axis(rewards, np.concatenate([first, before], axis=1)[:, :, None], axis=2)
    return float(followed.mean())


@once
def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per trace and policy; those that play two arms in a round are marked as such."""
    lines = summarise(played(results))
    lines["units"] = np.where(lines["policy"].map(plain).isin(TWO_GROUP), 2, 1)
    lines["kind"] = lines["dataset"].map({name: one.kind for name, one in kinds(results).items()})
    return lines


@once
def standings(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per trace: what it is like, the references, and StateLibrary beside the best other policy and its twins."""
    apart = {policy for one in played(results).values() for policy in one.curves if plain(policy) in TWO_GROUP}
    lines = rank(played(results), LEVEL, RESAMPLES, apart | set(TWINS.values()), TWINS)
    about = kinds(results)
    quick, traces = bool(results["quick"].any()), {trace.name: trace for trace in load()}
    lines["kind"] = [about[name].kind for name in lines["dataset"]]
    lines["leader"] = [leader(part(traces[name], quick)) for name in lines["dataset"]]
    lines["switches_10"] = [played(results)[name].bounds.switching[10] for name in lines["dataset"]]
    return lines


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge StateLibrary on the traces that are not refused; every claim is a target of our own."""
    table = standings(results)
    counted, regimes = table[table["kind"] != REFUSED], table[table["kind"] == REGIMES]
    return [
        _judge(
            "above-single-arm",
            "Earns more than the best single arm, picked in hindsight, on every trace with regimes",
            regimes,
            "gain",
        ),
        _judge(
            "first", "First, or tied with the first, on every trace with regimes", regimes, "difference", tied=HOLDS
        ),
        _judge("memory", "Earns more than with room for two states on every trace with regimes", regimes, "memory"),
        _judge("own", "Earns more than without regimes of single arms on every trace with regimes", regimes, "own"),
        _judge(
            "controls",
            "Not behind the best other policy on any trace with drift or without regimes",
            counted[counted["kind"] != REGIMES],
            "difference",
            tied=HOLDS,
        ),
    ]


def _judge(name: str, text: str, table: pd.DataFrame, column: str, tied: str = TIED) -> Claim:
    """Judge a difference on every trace: behind on one fails, ahead on all holds."""
    behind, ahead = table[f"{column}_high"] < 0, table[f"{column}_low"] > 0
    listed = "; ".join(
        f"{line['dataset']} {line[column]:+.3g} ({line[f'{column}_low']:+.3g} to {line[f'{column}_high']:+.3g})"
        for _, line in table.iterrows()
    )
    verdict = FAILS if behind.any() else HOLDS if len(table) and ahead.all() else tied
    why = "intervals of 95 % over blocks of time and seeds, or users; the best other policy is picked in hindsight"
    found = f"ahead on {ahead.sum()}, undecided on {(~ahead & ~behind).sum()}, behind on {behind.sum()} of {len(table)}: {listed}"
    return Claim(f"field/{name}", text, f"{len(table)} of {len(table)}", found, verdict, why, TARGET)
