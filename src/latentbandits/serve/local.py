"""A service within this process, at a free port, for tests and for trying things out: gone when it ends."""

import contextlib
import io
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

from latentbandits.serve.access import made
from latentbandits.serve.app import App
from latentbandits.serve.journal import Journal
from latentbandits.serve.service import Service
from latentbandits.serve.settings import Settings
from latentbandits.store import Create, Ledger, Spec, SQLite


@contextlib.contextmanager
def served(
    experiment: str,
    policy: str = "state-library",
    store: str | Path | None = None,
    *,
    spans: bool = False,
    **settings: Any,
) -> Iterator[tuple[str, str]]:
    """Serve one experiment, live, and give the address and an admin key.

    Parameters
    ----------
    experiment, policy : str
        The experiment, which is made unless the store has it.
    store : path, optional
        A file; a temporary one if not given.
    spans : bool
        Whether decisions and rewards are OpenTelemetry spans.
    **settings
        Settings of the experiment, as for `latentbandits.open`; `arms` among them.

    Examples
    --------
    >>> import httpx
    >>> from latentbandits.serve.local import served
    >>> with served("offers", "ucb1", arms=["red", "blue"]) as (url, key):
    ...     headers = {"Authorization": f"Bearer {key}"}
    ...     httpx.post(f"{url}/v1/experiments/offers/decide", json={}, headers=headers).json()["arm"]
    'red'
    """
    with tempfile.TemporaryDirectory() as folder:
        storage = SQLite(store or Path(folder) / "decisions.db")
        if storage.experiment(experiment) is None:
            Ledger(storage, compiled=False).call(Create(experiment, Spec.of(policy, **settings), "live"))
        service = Service(storage, Settings(compiled=False, spans=spans), Journal(io.StringIO()))
        secret, key = made("local", ["admin"])
        service.access.lend(key)
        heard = socket.socket()
        heard.bind(("127.0.0.1", 0))
        config = uvicorn.Config(App(service), ws="none", lifespan="on", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([heard],))
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            yield f"http://127.0.0.1:{heard.getsockname()[1]}", secret
        finally:
            service.stopping.set()
            server.should_exit = True
            thread.join()
            heard.close()
