"""Whole simulations: what a second core gives, and how long the paper's main table takes."""

import time
from collections.abc import Mapping
from functools import partial

import latentbandits as lb
from benchmarks.figures import Figure, fastest, say, seconds
from latentbandits.simulation.batch import cores

_POLICIES = (
    "adarp-ucb",
    "rp-ucb",
    "adasp-ucb",
    "d-ucb",
    "exp3",
    "exp3-s",
    "lc-ts",
    "lc-ucb",
    "sp-ucb",
    "sw-ucb",
    "ts",
    "ucb1",
    "best-single-arm",
)
_HORIZON, _DRAWS = 20_000, 128
_ROWS = (
    (lb.HiddenMarkov(), _HORIZON),
    *((lb.HiddenMarkov(states=states), _HORIZON) for states in (2, 20, 50)),
    *((lb.HiddenMarkov(stickiness=stickiness), _HORIZON) for stickiness in (0.5, 0.8, 0.9, 0.95)),
    *((lb.HiddenMarkov(noise=noise), _HORIZON) for noise in (0.05, 0.1, 0.5)),
    *((lb.HiddenMarkov(), horizon) for horizon in (500, 1000, 5000)),
)


def speedup() -> list[Figure]:
    """Measure the same simulation with one worker and with two."""
    key, target = "two_core_speedup", ">= 1.8"
    if cores() < 2:
        return [Figure(key, None, target, "this process may use only one core")]
    say("scaling: one worker against two")

    def work(workers: int) -> object:
        return lb.simulate(lb.HiddenMarkov(), ["adarp-ucb", "lc-ucb", "exp3"], repeats=2, workers=workers)

    work(2)  # compile first
    best = fastest({1: lambda: work(1), 2: lambda: work(2)}, repeats=12)
    return [Figure(key, best[1] / best[2], target, "simulate with two workers, times faster than with one")]


def table_2(ns: Mapping[str, float], quick: bool) -> list[Figure]:
    """Time the paper's main table; `ns` are nanoseconds per round on one core, just measured on the default world."""
    workers, repeats = min(2, cores()), 1 if quick else 5
    rounds, wall, busy = 0, 0.0, time.process_time()
    for number, (world, horizon) in enumerate(_ROWS, start=1):
        runs = partial(lb.simulate, world, _POLICIES, draws=_DRAWS, repeats=repeats, workers=workers)
        took = seconds(partial(runs, horizon=horizon))
        rounds, wall = rounds + horizon * _DRAWS * repeats, wall + took
        say(f"table 2: row {number} of {len(_ROWS)} took {took:.1f} s")
    busy = time.process_time() - busy
    ideal = rounds * sum(ns[name] for name in _POLICIES) * 1e-9 / workers
    size = f"{len(_ROWS)} worlds, {len(_POLICIES)} policies, {_DRAWS * repeats} runs, {workers} workers"
    figures = [
        Figure("table2_seconds", wall, "", f"the paper's main table: {size}"),
        Figure("table2_rounds_per_second", rounds * len(_POLICIES) / wall, "", "rounds of all its policies per second"),
        Figure(
            "table2_efficiency", ideal / wall, ">= 0.8", "time of the bare loops (default world) over its wall time"
        ),
        Figure("table2_cores_used", busy / wall, "", f"below {workers}: the workers waited, or the machine was busy"),
    ]
    return [figure._replace(meaning=figure.meaning + " (quick)") for figure in figures] if quick else figures
