"""Advice on a vague problem, played by the workers of a Dask cluster: `python dask_cluster.py HOST:PORT`.

Start a cluster of your own with `dask scheduler` on one machine and `dask worker HOST:8786 --nthreads 1 --nworkers -1` on the others, all
with the same version of this package. Without an address, two workers are started on this machine.
"""

import contextlib
import sys
from collections.abc import Iterator

import latentbandits as lb
from latentbandits.executors import open_executor

PROBLEM = lb.Problem(states="2 to 8", dwell="50 to 500", noise="0.05 to 0.3", horizon=5000, runs=64)
POLICIES = ["state-library", "cp-ts", "sw-ucb", "ucb1"]


@contextlib.contextmanager
def scheduler(address: str | None) -> Iterator[str]:
    """Return the address of a scheduler, of one that is started here if none is given."""
    if address is not None:
        yield address
        return
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1") as cluster:
        yield cluster.scheduler_address.removeprefix("tcp://")


def main(address: str | None = None, problem: lb.Problem = PROBLEM, policies: list[str] = POLICIES) -> lb.Advice:
    """Advise, and print what was found; the same to the bit as without a cluster."""
    with scheduler(address) as where, open_executor(f"dask://{where}") as executor:
        advice = lb.advise(problem, policies, sweep=False, executor=executor)
    print(advice.text())
    return advice


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
