"""Clients without a key that take all they can: bytes of headers, time, connections. Nobody else notices."""

import json
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from latentbandits.serve.connections import HEADERS
from tests.services import ADMIN, Process

HASTY = "import latentbandits.serve.connections as c; c.ARRIVAL = 0.5"
OPEN_FILES = 300
FEW_FILES = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({OPEN_FILES}, {OPEN_FILES}))"
HEALTH = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    found = Process(tmp_path_factory.mktemp("hasty"), "--store", "k.db", "--port", "0", first=HASTY)
    yield found
    found.kill()


def connected(server: Process) -> socket.socket:
    url = httpx.URL(server.url)
    assert url.port is not None
    made = socket.create_connection((url.host, url.port))
    made.settimeout(60)
    return made


def answer(connection: socket.socket) -> tuple[int, str]:
    """Return the status and the sentence of the last answer, 0 if the connection was closed without one."""
    said = b""
    try:
        while part := connection.recv(65536):
            said += part
    except ConnectionResetError:
        pass
    if not said:
        return 0, ""
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


def healthy(connection: socket.socket) -> bool:
    """Return whether the answer to `HEALTH` is 200; its head and its body may come one after the other."""
    said = b""
    while not said.endswith(b'"}') and (part := connection.recv(65536)):
        said += part
    return said.startswith(b"HTTP/1.1 200 OK\r\n") and said.endswith(b'"}')


def trickled(server: Process, begin: bytes) -> tuple[int, str]:
    """Send a byte now and then, as slowly as it takes to keep a connection, until the other side ends it."""
    with connected(server) as connection:
        connection.sendall(begin)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                connection.sendall(b"x")
            except (BrokenPipeError, ConnectionResetError):
                break
            connection.settimeout(0.05)
            try:
                if connection.recv(1, socket.MSG_PEEK) is not None:
                    break
            except TimeoutError:
                continue
            except ConnectionResetError:
                break
        connection.settimeout(60)
        return answer(connection)


def test_headers_without_an_end_are_refused(hasty: Process) -> None:
    """Mutation: count nothing, and each byte of them is copied again for every further one."""
    with connected(hasty) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nx: ")
        sent = 0
        while sent < 100 * HEADERS:
            try:
                sent += connection.send(b"y" * 16384)
            except (BrokenPipeError, ConnectionResetError):
                break
        assert sent < 100 * HEADERS
    with connected(hasty) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nx: " + b"y" * (HEADERS + 1))
        status, text = answer(connection)
    assert (status, f"longer than {HEADERS} bytes" in text) == (431, True)
    fits = {"x": "y" * (HEADERS - 1000)}
    assert httpx.get(f"{hasty.url}/health", headers=fits).status_code == 200


@pytest.mark.parametrize(
    "begin",
    [
        b"GET /hea",
        b"GET /health HTTP/1.1\r\nhost: x\r\nx: ",
        b"POST /v1/experiments HTTP/1.1\r\nhost: x\r\ncontent-length: 4000\r\nauthorization: Bearer "
        + ADMIN.encode()
        + b"\r\n\r\n{",
    ],
)
def test_a_request_that_does_not_arrive_is_refused(hasty: Process, begin: bytes) -> None:
    """Mutation: begin to wait anew with every byte, or stop waiting with the headers."""
    assert trickled(hasty, begin) == (408, "request: it has not arrived within 0.5 seconds")


def test_a_connection_that_says_nothing_is_closed(hasty: Process) -> None:
    with connected(hasty) as connection:
        assert answer(connection) == (0, "")


def test_a_connection_that_is_kept_open_is_not_late(hasty: Process) -> None:
    """Mutation: leave the alarm of the first request on."""
    with connected(hasty) as connection:
        for _ in range(5):
            connection.sendall(HEALTH)
            assert healthy(connection)
            time.sleep(0.2)


def unread(server: Process) -> socket.socket:
    """Ask for far more than the buffers of two sockets hold, and read nothing of it."""
    made, url = socket.socket(), httpx.URL(server.url)
    assert url.port is not None
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((url.host, url.port))
    made.settimeout(60)
    made.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 500)
    return made


def test_an_answer_that_is_not_read_is_given_up(hasty: Process) -> None:
    """Mutation: wait for ever for whoever does not read."""
    with unread(hasty) as connection:
        time.sleep(1.5)
        whole, got = 500 * len(httpx.get(f"{hasty.url}/openapi.json").content), 0
        try:
            while part := connection.recv(65536):
                got += len(part)
        except ConnectionResetError:
            pass
        assert got < whole


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of open files")
def test_half_open_connections_shut_nobody_out(tmp_path: Path) -> None:
    """Mutations: no limit of connections, and the service can open neither them nor its own files; or a place that is given up a while
    after it was taken, and a request that is there as soon as its connection finds none.
    """
    server = Process(tmp_path, "--store", "k.db", "--port", "0", first=FEW_FILES)
    silent = []
    try:
        for _ in range(OPEN_FILES):
            silent.append(connected(server))
            silent[-1].sendall(b"GET /he")
        server.process.send_signal(signal.SIGSTOP)
        with connected(server) as connection:
            connection.sendall(HEALTH)
            server.process.send_signal(signal.SIGCONT)
            assert healthy(connection)
        headers = {"authorization": f"Bearer {ADMIN}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
            body = {"name": "e", "policy": "ucb1", "arms": ["a", "b"]}
            assert client.post("/v1/experiments", json=body).status_code == 201
            for _ in range(20):
                assert client.post("/v1/experiments/e/decide", json={}).status_code == 200
            assert client.get("/v1/experiments/e/log.csv").status_code == 200
            assert client.get("/ready").status_code == 200
    finally:
        for one in silent:
            one.close()
        code, _, log = server.stop()
    assert code == 0
    assert "housekeeping failed" not in log
    assert "another one needs its place" in log
