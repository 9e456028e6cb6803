"""Workers of a Dask cluster: the real scheduler, which sends a block again if its worker is lost and uses workers that join late."""

import contextlib
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from latentbandits.executors.processes import ONE_THREAD
from latentbandits.extras import missing
from latentbandits.settings import Refusal

try:
    from distributed import Client, WorkerPlugin
except ModuleNotFoundError:
    raise missing("distributed") from None

# Seconds to wait for a scheduler, when it is first asked and when it is lost
CONNECT = 10


class Node(WorkerPlugin):  # type: ignore[misc]
    """What every worker does before its first block, also one that joins late or is started again.

    Machine code is compiled once per node, into a folder of that node: a home folder that machines share would make them race for one
    cache. A worker that has LATENTBANDITS_CACHE, an image with the code in it say, keeps to that.
    """

    name = "latentbandits"

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Set the environment of the worker."""
        for name, value in ONE_THREAD.items():
            os.environ.setdefault(name, value)
        if "LATENTBANDITS_CACHE" not in os.environ:
            os.environ["LATENTBANDITS_CACHE"] = str(local_folder())


def local_folder() -> Path:
    """Return a folder of this node that belongs to this user alone."""
    user = os.getuid() if hasattr(os, "getuid") else os.getlogin()
    folder = Path(tempfile.gettempdir()) / f"latentbandits-{user}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and (not hasattr(os, "getuid") or found.st_uid == os.getuid()):
            return folder
    return Path(tempfile.mkdtemp(prefix="latentbandits-"))


class Cluster(Executor):
    """The workers of a Dask client as an executor: Dask's own never says that the scheduler is gone."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._remote: dict[Future[Any], Any] = {}  # Dask drops a result to which nobody refers

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Send a call to the scheduler."""
        future: Future[Any] = Future()
        remote = self._remote[future] = self._client.submit(function, *args, pure=False, **kwargs)
        future.add_done_callback(self._drop)
        remote.add_done_callback(lambda done: _settle(future, done))
        return future

    def _drop(self, future: "Future[Any]") -> None:
        remote = self._remote.pop(future)
        if future.cancelled():
            with contextlib.suppress(Exception):
                remote.cancel()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Cancel what is not done; the cluster itself goes on."""
        for future in list(self._remote):
            future.cancel()


def _settle(future: "Future[Any]", remote: Any) -> None:
    """Hand on what became of a call, in a thread of the client."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        if remote.status == "finished":
            future.set_result(remote.result(timeout=60))
        elif remote.status == "error":
            future.set_exception(remote.exception(timeout=60))
        else:
            future.set_exception(ConnectionError("the scheduler is gone, or has cancelled the work"))
    except Exception as problem:
        future.set_exception(problem)


def _refuse_unless_address(address: str) -> None:
    try:
        parts = urlsplit(f"//{address.rpartition('://')[2]}")
        known = parts.hostname and parts.port
    except ValueError:  # of the port
        known = None
    if not known:
        raise Refusal("executor", "dask", address, "the address of a scheduler, HOST:PORT, such as 10.0.0.7:8786")


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Connect with a scheduler, prepare its workers, and print the address of its dashboard.

    A worker whose code is not that of this program is refused when it plays its first block.
    """
    import dask

    _refuse_unless_address(address)  # a client that cannot even look for it would complain when it is collected
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.core")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:  # what ends a run is said in one sentence
        logger.setLevel(logging.CRITICAL)
    client = None
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT}s"}):
            try:
                client = Client(address, timeout=CONNECT, set_as_default=False)
                client.register_plugin(Node())
            except Exception as problem:
                said = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
                raise Refusal("executor", "dask", address, f"the address of a scheduler ({said})") from problem
            if "dashboard" in client.scheduler_info()["services"]:
                print(f"Dask dashboard: {client.dashboard_link}", file=sys.stderr, flush=True)
            if not client.ncores():  # some clusters start them when work is sent
                print(f"Waiting for workers: the scheduler at {address} has none yet.", file=sys.stderr, flush=True)
            yield Cluster(client)
    finally:
        if client is not None:
            with contextlib.suppress(Exception):
                client.close(timeout=2)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
