"""Processes of this machine, spawned, with one thread each."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

from latentbandits.simulation.batch import cores

# A worker is one thread: what NumPy's algebra and numba would add to it is taken from the other workers
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@contextlib.contextmanager
def processes(workers: int | None = None) -> Iterator[Executor]:
    """Start processes and end them, whatever happens; a script that uses them needs ``if __name__ == "__main__":``.

    They are spawned, not forked: a fork copies locks that a thread may hold.
    """
    pool = ProcessPoolExecutor(workers or cores(), mp_context=multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        with _environment():  # which the processes inherit when the first work is submitted
            pool.submit(os.getpid).result()
        yield pool
    except BaseException:
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.kill()  # one may hang, or play a block that nobody waits for
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _begin() -> None:
    """Leave an interrupt to the process that sends the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update({name: value for name, value in ONE_THREAD.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
