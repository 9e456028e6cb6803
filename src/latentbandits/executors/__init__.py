"""Executors by name: threads of this process, processes of this machine, workers of a Dask cluster.

Whatever plays, results are the same to the bit: `latentbandits.simulate` cuts work into blocks, and any `concurrent.futures.Executor` plays
them. Here is what a pool or a cluster needs before it plays well.
"""

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor

from latentbandits.executors.tally import Tally, Watched
from latentbandits.settings import Refusal, whole

__all__ = ["NAMES", "Tally", "Watched", "opened"]

NAMES = "threads, processes or dask://HOST:PORT"


@contextlib.contextmanager
def opened(name: str = "threads", workers: int | None = None) -> Iterator[Executor | None]:
    """Open an executor by its name: a context that returns what the argument `executor` takes.

    Parameters
    ----------
    name : str
        ``"threads"`` (None is returned, which stands for them), ``"processes"`` or ``"dask://HOST:PORT"``, the address of a scheduler.
    workers : int, optional
        Number of processes; as many as there are cores if not given. A Dask cluster has as many as it has.

    Examples
    --------
    >>> from latentbandits.executors import opened
    >>> with opened("threads") as executor:
    ...     print(executor)
    None
    """
    if workers is not None:
        whole("executor", "workers", workers, least=1)
    if name == "threads":
        yield None
    elif name == "processes":
        from latentbandits.executors.processes import processes

        with processes(workers) as pool:
            yield pool
    elif name.startswith("dask://") and len(name) > len("dask://"):
        from latentbandits.executors.dask import cluster

        with cluster(name.removeprefix("dask://")) as pool:
            yield pool
    else:
        raise Refusal("executor", "name", name, f"one of {NAMES}")
