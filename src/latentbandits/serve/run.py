"""A service until it is told to stop: a socket, a server, signals, logs, and what the terminal says; or one for tests, within a process."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from latentbandits.serve import demo
from latentbandits.serve.access import Access, generate_key
from latentbandits.serve.app import create_app
from latentbandits.serve.connections import SPARE, Connection
from latentbandits.serve.logs import LOGGING
from latentbandits.serve.service import Service, Task
from latentbandits.serve.settings import OWNER, Settings
from latentbandits.settings import InvalidValueError
from latentbandits.store import ApiKey, Create, Ledger, Spec, SQLite, Storage, storage_of

VARIABLE = "LATENTBANDITS_ADMIN_KEY"
SHORTEST = 32  # characters of a key that is given
GARBAGE = 20_000, 20, 50  # objects after which Python looks for cycles among the newest, and how often among older ones
SWITCH = 0.0005  # seconds after which threads take turns: the writer and the event loop share one interpreter

log = logging.getLogger("latentbandits.serve")


SERVER: dict[str, Any] = {
    "http": Connection,
    "loop": "uvloop" if sys.platform != "win32" else "asyncio",
    "ws": "none",
    "lifespan": "on",
    "log_config": LOGGING,
    "log_level": "warning",
    "access_log": False,
    "proxy_headers": False,
    "server_header": False,
}


def run(settings: Settings, say: Callable[[str], None] = print) -> int:
    """Serve until SIGTERM or SIGINT; what was accepted by then is finished."""
    prepare()
    heard = _socket(settings)
    host, port = heard.getsockname()[:2]
    address = Settings(host=host, port=port).address
    storage = None
    try:
        storage = storage_of(settings.store, reached_at=_reached_at(settings, port), lease=settings.lease)
        admin = _admin_key(storage, settings)
    except BaseException:
        heard.close()
        if storage is not None:
            storage.close()
        raise
    also: list[Task] = []
    if settings.demo:
        say("making an hour of the past of a simulated stream ...")
        demo.past(storage, compiled=settings.compiled)
        also = [demo.visitors]
    service = Service(storage, settings)
    if admin is not None:
        secret, key = admin
        service.access.lend(key)
        _say(say, address, secret)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # the server handles them, and sends them again when it has ended
    config = uvicorn.Config(
        create_app(service, *also),
        timeout_graceful_shutdown=settings.stop,
        limit_concurrency=_most_connections(settings),
        **SERVER,
    )
    log.info("started", extra={"address": address, "store": storage.place, "demo": settings.demo})
    try:
        Server(config, service).run(sockets=[heard])
    finally:
        heard.close()
    return 0


class Server(uvicorn.Server):
    """A server that hands over what it holds before it stops to listen, and ends whatever happens.

    Parameters
    ----------
    config : uvicorn.Config
    service : Service
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Hand over, finish what was accepted, and end: within three times `stop`, whether or not the store answers."""
        stop = self._service.settings.stop
        deadline = threading.Timer(3 * stop, _give_up)
        deadline.daemon = True
        deadline.start()
        try:
            await asyncio.wait_for(self._service.hand_over(), stop)
        except Exception as problem:  # it must go on, whatever it was
            log.error("not handed over", extra={"error": str(problem) or type(problem).__name__})
        await super().shutdown(sockets)


def _give_up() -> None:
    """End the process: what was answered is on disk, and what was not is not answered."""
    log.error("not stopped in time")
    os._exit(1)


def prepare() -> None:
    """Prepare the process for many small requests in two threads: short turns, and no long pauses in which Python looks for garbage.

    What is there when a service starts (modules, machine code) is not looked at again; what a request leaves has few cycles.
    """
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def new_key(settings: Settings, name: str, roles: list[str], days: float | None = None) -> str:
    """Make a key in the store, good for some days or for good, and return its secret: it is told only here."""
    storage = storage_of(settings.store)
    try:
        secret, key = generate_key(name, roles, by="command line", days=days)
        storage.add_key(key)
    finally:
        storage.close()
    return secret


@contextlib.contextmanager
def served(
    experiment: str,
    policy: str = "state-library",
    store: str | Path | None = None,
    **settings: Any,
) -> Iterator[tuple[str, str]]:
    """Serve one experiment, live, in this process and at a free port, and give the address and an admin key; gone when it ends.

    Parameters
    ----------
    experiment, policy : str
        The experiment, which is made unless the store has it.
    store : path, optional
        A file; a temporary one if not given.
    **settings
        Settings of the experiment, as for `latentbandits.open_agent`; `arms` among them.

    Examples
    --------
    >>> import httpx
    >>> from latentbandits.serve import served
    >>> with served("offers", "ucb1", arms=["red", "blue"]) as (url, key):
    ...     headers = {"Authorization": f"Bearer {key}"}
    ...     httpx.post(f"{url}/v1/experiments/offers/decide", json={}, headers=headers).json()["arms"]
    ['red']
    """
    with tempfile.TemporaryDirectory() as folder:
        storage = SQLite(store or Path(folder) / "decisions.db")
        if storage.experiment(experiment) is None:
            Ledger(storage, compiled=False).call(Create(experiment, Spec.of(policy, **settings), "live"))
        service = Service(storage, Settings(compiled=False))
        secret, key = generate_key("local", ["admin"])
        service.access.lend(key)
        heard = socket.socket()
        heard.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_app(service), ws="none", lifespan="on", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([heard],))
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            yield f"http://127.0.0.1:{heard.getsockname()[1]}", secret
        finally:
            server.should_exit = True
            thread.join()
            heard.close()


def _reached_at(settings: Settings, port: int) -> str:
    """Return where other replicas reach this one: as given, or where it listens."""
    if settings.reached_at is not None:
        return settings.reached_at
    host = socket.gethostname() if settings.host in ("0.0.0.0", "::") else settings.host
    return Settings(host=host, port=port).address


def _most_connections(settings: Settings) -> int:
    """Return how many connections there may be: as many as requests may wait, and so many that files can still be opened."""
    if sys.platform == "win32":
        return settings.waiting
    import resource

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # as many as are allowed
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        files = most
    return settings.waiting if files == resource.RLIM_INFINITY else max(2, min(settings.waiting, files - SPARE))


def _admin_key(storage: Storage, settings: Settings) -> tuple[str, ApiKey] | None:
    """Return a key for this run: the one that the environment gives, or, where only this machine can reach the service, a new one."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        if len(given) < SHORTEST:
            raise InvalidValueError(
                OWNER, VARIABLE, f"{len(given)} characters", f"at least {SHORTEST} random characters"
            )
        return generate_key("environment", ["admin"], secret=given)
    if settings.local and not storage.shared:
        return generate_key("this run", ["admin"])
    access = Access()
    access.replace(storage.keys())
    if not access.administered:
        how = f"(`latentbandits serve --new-key NAME` makes one, or give {VARIABLE})"
        if settings.local:  # a key of one process would be unknown to the others
            raise InvalidValueError(OWNER, "store", storage.place, f"one file until there is an admin key {how}")
        raise InvalidValueError(OWNER, "host", settings.host, f"127.0.0.1 until there is an admin key {how}")
    return None


def _say(say: Callable[[str], None], address: str, secret: str) -> None:
    """Say where it is, and the key unless whoever started it has given it."""
    given = os.environ.get(VARIABLE) is not None
    say(f"page:      {address}/" + ("" if given else f"#key={secret}"))
    if not given:
        say(f"admin key: {secret}")
        say("           (until this process ends; POST /v1/keys, or `--new-key NAME`, makes keys that stay)")


def _socket(settings: Settings) -> socket.socket:
    """Return the socket to listen at, or refuse."""
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        heard = socket.create_server((settings.host, settings.port), family=family)
    except OSError as problem:
        where = f"{settings.host}:{settings.port}"
        raise InvalidValueError(
            OWNER, "address", where, f"one that is free here ({problem.strerror or problem})"
        ) from None
    heard.set_inheritable(True)
    return heard
