"""What a user waits for a diagnosis of a log, the memory that it takes, and the pass over a log beside hmmlearn's."""

import subprocess
import sys

import numpy as np
from hmmlearn.hmm import GaussianHMM

import latentbandits as lb
from benchmarks.figures import Figure, say, seconds
from latentbandits.logs import em, hmm
from latentbandits.logs.series import Series

SHORT, LONG, STATES, ARMS = 10_000, 1_000_000, 4, 3
MEMORY = """
import resource, time
from benchmarks.logs import LONG, log
import latentbandits as lb
made = log(LONG)
lb.diagnose(log(2_000))
begin = time.perf_counter()
lb.diagnose(made)
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def log(rows: int) -> lb.Log:
    """Return a log of four states and three arms that are played at random."""
    means = np.random.default_rng(0).random((STATES, ARMS))
    world = lb.HiddenMarkov(means=means, dwell=100, noise=0.2).realise(rows, 1, 0, 0, 0)
    arms = np.random.default_rng(1).integers(ARMS, size=rows)
    return lb.Log.read({"action": arms, "reward": world.rewards[np.arange(rows), 0, arms]})


def measure() -> list[Figure]:
    """Time diagnoses of a short and of a long log, and one pass."""
    say("logs: diagnoses of 10,000 and of a million rows, a pass beside hmmlearn's")
    made = log(SHORT)
    lb.diagnose(log(2_000))
    short = seconds(lambda: lb.diagnose(made))
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    long, memory = map(float, done.stdout.split())
    ours, theirs = passes()
    return [
        Figure("diagnose_seconds", short, "< 10", f"lb.diagnose: {SHORT:,} rows, {ARMS} arms, warm"),
        Figure("diagnose_million_seconds", long, "< 30", f"lb.diagnose: {LONG:,} rows, warm"),
        Figure("diagnose_million_gb", memory, "< 2", "the most memory that the process has taken, in GB"),
        Figure(
            "pass_over_hmmlearn",
            ours / theirs,
            "< 0.3",
            "one E step per row and state, relative to hmmlearn's on the same data",
        ),
        Figure("pass_ns", 1e9 * ours / (SHORT * STATES), "", "the same in nanoseconds"),
    ]


def passes() -> tuple[float, float]:
    """Return the seconds of one pass over a log in which everything is observed: ours, and hmmlearn's."""
    random = np.random.default_rng(2)
    means = np.arange(STATES, dtype=float)
    values = means[np.arange(SHORT) // 100 % STATES] + random.normal(size=SHORT)
    series = Series(np.zeros(SHORT, np.int64), values, np.ones(SHORT), np.ones(1), False)
    model = em.init_model(series, means[:, None], dwell=100)
    other = GaussianHMM(STATES, init_params="", params="")
    other.startprob_, other.transmat_ = model.entry_prob, hmm.transition_matrix(model.exit_prob, model.entry_prob)
    other.means_, other.covars_ = means[:, None], np.ones((STATES, 1))
    column = values[:, None]
    return (
        min(seconds(lambda: em.e_step(series, model)) for _ in range(5)),
        min(seconds(lambda: other.score_samples(column)) for _ in range(5)),
    )


if __name__ == "__main__":
    for figure in measure():
        print(figure.key, figure.value, figure.target, figure.meaning)
