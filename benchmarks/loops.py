"""Nanoseconds per round of the compiled loop, against the C kernel on the same realised realisations."""

import math
import tempfile
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import latentbandits as lb
from benchmarks import yardstick
from benchmarks.figures import Figure, say, seconds
from latentbandits.compiled import machine_code
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Contestant, Realisation
from latentbandits.random import stream
from latentbandits.simulation.loop import COUNTS, PROBES, Tally, play
from latentbandits.simulation.runs import prepare

_ROUNDS, _DRAWS, _REPEATS, _BINS = 20_000, 30, 7, 100
_C = "the C kernel"
_NOISY = "state-library at noise 0.5"
_RATIOS = (
    ("adarp_over_c", "adarp-ucb", "<= 1.5"),
    ("lc_ucb_over_c", "lc-ucb", "<= 0.8"),
    ("ucb1_over_c", "ucb1", "<= 0.3"),
    ("state_library_over_c", "state-library", "<= 4"),
    ("state_library_noisy_over_c", _NOISY, "<= 20"),
)
Job = Callable[[], object]


class Loop(NamedTuple):
    """A loop that is ready to start, and where it will write what it cost."""

    start: Job
    regret: np.ndarray
    counts: np.ndarray


def measure() -> tuple[list[Figure], dict[str, float]]:
    """Return the figures, and each policy's nanoseconds per round."""
    say("loops: every policy and the C kernel, in turns")
    realisations = [{groups: _realise(draw, groups) for groups in (1, 2)} for draw in range(_DRAWS)]
    with tempfile.TemporaryDirectory() as folder:
        kernel = yardstick.build(folder)
        _verify(kernel, [realisation[2] for realisation in realisations])
    jobs: dict[tuple[str, int], Job] = {}
    # all on one realisation, then on the next, as `simulate` plays them
    for draw, realisation in enumerate(realisations):
        jobs[_C, draw] = partial(kernel, realisation[2])
        for name in REGISTRY:
            policy = lb.policy(name)
            jobs[name, draw] = _ready(policy, realisation[policy.groups]).start
        jobs[_NOISY, draw] = _ready(lb.policy("state-library"), _realise(draw, 1, noise=0.5)).start
    ns = _per_round(jobs)
    c, noisy = ns.pop(_C), ns.pop(_NOISY)
    figures = [Figure("c_adarp_ns", c, "", "the yardstick: AdaRP-UCB by hand in C, ns per round")]
    for key, name, target in _RATIOS:
        figures.append(
            Figure(
                key, (noisy if name == _NOISY else ns[name]) / c, target, f"compiled loop of {name} over the C kernel"
            )
        )
    figures += [Figure(f"{name.replace('-', '_')}_ns", ns[name], "", f"ns per round, {name}") for name in ns]
    return figures, ns


def _realise(draw: int, groups: int, noise: float = 0.01) -> Realisation:
    return lb.HiddenMarkov(noise=noise).realise(horizon=_ROUNDS, groups=groups, seed=0, draw=draw, repeat=0)


def _ready(contestant: Contestant, realisation: Realisation) -> Loop:
    """Do all that is not the loop: tell an oracle the truth, find the machine code, allocate the results."""
    tally = Tally(realisation.offered, np.zeros(_BINS), np.zeros(_BINS), np.zeros(len(COUNTS), np.int64))
    run = prepare(contestant, realisation, stream(0), tally)
    code = machine_code(play, *run)
    # every run begins with a fresh memory
    return Loop(lambda: code(*run._replace(memory=run.policy.init())), tally.regret, tally.counts)


def _verify(kernel: yardstick.Kernel, realisations: list[Realisation]) -> None:
    """Refuse to compare two programs that do not do the same."""
    for draw, realisation in enumerate(realisations):
        regret, probes = kernel(realisation)
        ours = _ready(lb.policy("adarp-ucb"), realisation)
        ours.start()
        if not math.isclose(ours.regret.sum(), regret, rel_tol=1e-6) or ours.counts[PROBES] != probes:
            raise AssertionError(
                f"on realisation {draw} the C kernel has regret {regret} and {probes} probes, "
                f"adarp-ucb has {ours.regret.sum()} and {ours.counts[PROBES]}"
            )


def _per_round(jobs: dict[tuple[str, int], Job]) -> dict[str, float]:
    """Return ns per round by name: that of its fastest pass over all realisations.

    A whole pass, not the fastest run on each realisation: repeated runs on one of them would train the branch predictor, which does not
    happen in a simulation.
    """
    for job in jobs.values():  # compile first
        job()
    names = dict.fromkeys(name for name, _ in jobs)
    best = dict.fromkeys(names, math.inf)
    for _ in range(_REPEATS):
        spent = dict.fromkeys(names, 0.0)
        for (name, _draw), job in jobs.items():
            spent[name] += seconds(job)
        best = {name: min(best[name], spent[name]) for name in names}
    return {name: time / (_DRAWS * _ROUNDS) * 1e9 for name, time in best.items()}
