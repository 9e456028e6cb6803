"""Executors by name: threads of this process, processes of this machine, workers of a Dask cluster.

Whatever plays, results are the same to the bit: `latentbandits.simulate` cuts work into blocks, and any `concurrent.futures.Executor` plays
them.
"""

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

from latentbandits.extras import missing
from latentbandits.settings import InvalidValueError, check_int

NAMES = "threads, processes or dask://HOST:PORT"
CONNECT = 10  # seconds to wait for a scheduler


@contextlib.contextmanager
def open_executor(name: str = "threads", workers: int | None = None) -> Iterator[Executor | None]:
    """Open an executor by its name: a context that returns what the argument `executor` takes.

    Parameters
    ----------
    name : str
        ``"threads"`` (None is returned, which stands for them), ``"processes"`` or ``"dask://HOST:PORT"``, the address of a scheduler. A
        script that uses processes needs ``if __name__ == "__main__":``, since they are spawned.
    workers : int, optional
        Number of processes; as many as there are cores if not given. A Dask cluster has as many as it has.

    Examples
    --------
    >>> from latentbandits.executors import open_executor
    >>> with open_executor("threads") as executor:
    ...     print(executor)
    None
    """
    if workers is not None:
        check_int("executor", "workers", workers, least=1)
    if name == "threads":
        yield None
    elif name == "processes":  # which leave an interrupt to the process that sends the work
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
            yield pool
    elif name.startswith("dask://"):
        with _connect(name.removeprefix("dask://")) as cluster:
            yield cluster
    else:
        raise InvalidValueError("executor", "name", name, f"one of {NAMES}")


@contextlib.contextmanager
def _connect(address: str) -> Iterator[Executor]:
    """Connect with a Dask scheduler and print the address of its dashboard."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise missing("distributed") from None
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
        raise InvalidValueError("executor", "dask", address, f"HOST:PORT of a scheduler ({reason})") from problem
    with client:
        workers = "" if client.ncores() else "; it has no workers yet, and waits for them"
        print(f"Dask dashboard: {client.dashboard_link}{workers}", file=sys.stderr, flush=True)
        yield client.get_executor(pure=False)
