"""What is measured: the service, the same service whose store writes nothing, an echo of the same stack, and bare commits."""

import asyncio
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from latentbandits.serve import Service, Settings, create_app
from latentbandits.serve.access import generate_key
from latentbandits.serve.decisions import Decided, Round, decide
from latentbandits.serve.endpoint import Call
from latentbandits.serve.routes import ROUTES
from latentbandits.serve.run import SERVER, prepare
from latentbandits.store import Create, Group, Ledger, Spec, SQLite

ARMS = ["a", "b", "c", "d"]
KEY = "lb_bench_" + "k" * 43


class Forgetful(SQLite):
    """A store that says that it has written what it has not: the service without storage."""

    def append(self, groups: Sequence[Group]) -> None: ...


async def echo(call: Call, body: Round) -> Decided:  # type: ignore[valid-type]  # noqa: ARG001
    """Answer as a decision is answered: all that the stack itself does, from the socket, by route, key and body, and back."""
    return Decided("0" * 25, (str(body.subject),), (), (1.0,), "policy")


ECHO = [replace(route, handler=echo) if route.handler is decide else route for route in ROUTES]


def application(kind: str, folder: Path, experiments: int) -> Any:
    storage = (Forgetful if kind == "plain" else SQLite)(folder / f"{kind}.db")
    present = {row.name for row in storage.experiments()}
    ledger = Ledger(storage, compiled=True)
    for number in range(experiments):
        if f"e{number}" not in present:
            ledger.call(Create(f"e{number}", Spec.of("state-library", ARMS, max_open=2000), "live"))
    ledger.open("e0")  # compiles, if it has to: that is not what is measured
    service = Service(storage, Settings())
    _, key = generate_key("bench", ["admin"], secret=KEY)
    service.access.lend(key)
    return create_app(service, routes=ECHO if kind == "echo" else ROUTES)


def serve(kind: str, folder: Path, experiments: int) -> None:
    """Serve at a free port, which is the only thing that is printed."""
    heard = socket.socket()
    heard.bind(("127.0.0.1", 0))
    app = application(kind, folder, experiments)
    prepare()
    config = uvicorn.Config(app, **SERVER)
    print(heard.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[heard])


def commits(folder: Path, rows: int, seconds: float) -> float:
    """Return rows per second that SQLite commits, so many at a time, each group on disk before the next."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        connection = sqlite3.connect(Path(place) / "bare.db", isolation_level=None)
        for setting in ("journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, at_us INTEGER, body TEXT)")
        text, done, began = "x" * 160, 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO event VALUES (?, ?, ?)", [(done + n, done, text) for n in range(rows)])
            connection.execute("COMMIT")
            done += rows
        took = time.perf_counter() - began
        connection.close()
    return done / took


class Connection(asyncio.Protocol):
    """One connection that sends a request when the one before is answered."""

    def __init__(self, load: "Load") -> None:
        self.load, self.body, self.began = load, b"", 0.0
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def send(self, content: bytes, began: float | None = None) -> None:
        self.began = time.perf_counter() if began is None else began
        self.transport.write(content)

    def data_received(self, data: bytes) -> None:
        self.body += data
        head, found, rest = self.body.partition(b"\r\n\r\n")
        if not found:
            return
        lowered = head.lower()
        place = lowered.index(b"content-length: ") + 16
        length = int(lowered[place : place + 10].split(b"\r")[0])
        if len(rest) < length:
            return
        self.body = b""
        self.load.answered(self, head[9:12], rest[:length], time.perf_counter())


class Load:
    """A load on one address: closed (each connection sends when it is answered) or open (so many per second, whatever happens)."""

    def __init__(self, port: int, requests: Any) -> None:
        self._port, self._requests = port, requests
        self.times: list[float] = []
        self.bad = self.answers = 0
        self._idle: list[Connection] = []
        self._late: list[float] = []
        self._open = self._ended = False

    def answered(self, connection: Connection, status: bytes, body: bytes, now: float) -> None:
        self.times.append(now - connection.began)
        self.bad += status != b"200"
        self.answers += 1
        if self._open:
            if self._late:
                connection.send(self._requests(connection, body), self._late.pop(0))
            else:
                self._idle.append(connection)
        elif not self._ended:
            connection.send(self._requests(connection, body))

    async def _connect(self, connections: int) -> list[Connection]:
        loop = asyncio.get_running_loop()
        return [
            (await loop.create_connection(lambda: Connection(self), "127.0.0.1", self._port))[1]
            for _ in range(connections)
        ]

    async def closed(self, connections: int, seconds: float) -> float:
        """Return answers per second."""
        made = await self._connect(connections)
        for connection in made:
            connection.send(self._requests(connection, b""))
        await asyncio.sleep(seconds / 4)  # the first ones are not counted
        self.times.clear()
        began = time.perf_counter()
        await asyncio.sleep(seconds)
        found = len(self.times) / (time.perf_counter() - began)
        self._ended = True
        await asyncio.sleep(0.3)
        for connection in made:
            connection.transport.close()
        return found

    async def open(self, rate: float, seconds: float, connections: int = 64) -> float:
        """Return the 99th percentile of the time to an answer, counted from when the request was due."""
        self._open = True
        self._idle = await self._connect(connections)
        made, began, sent = list(self._idle), time.perf_counter(), 0
        while (now := time.perf_counter() - began) < seconds:
            while sent < now * rate:
                due = began + sent / rate
                sent += 1
                if self._idle:
                    connection = self._idle.pop()
                    connection.send(self._requests(connection, b""), due)
                else:
                    self._late.append(due)
            await asyncio.sleep(0.0005)
        await asyncio.sleep(0.5)
        for connection in made:
            connection.transport.close()
        found = sorted(self.times[len(self.times) // 5 :])
        return found[int(0.99 * (len(found) - 1))]


def request(path: str, body: bytes) -> bytes:
    """Return a request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
