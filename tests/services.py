"""A service to test, in this process: requests go to the application itself, and a clock stands still until it is moved."""

import asyncio
import io
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from latentbandits.serve import JSONFormatter, Service, Settings, create_app
from latentbandits.serve.access import generate_key
from latentbandits.store import SQLite
from tests.stores import Clock

ROOT = Path(__file__).parent.parent
ADMIN = "lb_testing0_" + "a" * 43


class Web:
    """An application with one experiment, `e`, and whoever talks to it."""

    def __init__(
        self, path: Path, policy: str = "ucb1", storage: Any = None, settings: Any = None, **spec: Any
    ) -> None:
        self.runner, self.clock, self.said = asyncio.Runner(), Clock(), io.StringIO()
        self.storage = storage or SQLite(path)
        if storage is None:
            self.storage._rows("PRAGMA synchronous = OFF")  # these tests are about something else: it saves their time
        given = {"compiled": False, **(settings or {})}
        self._log = logging.StreamHandler(self.said)
        self._log.setFormatter(JSONFormatter())
        logger = logging.getLogger("latentbandits.serve")
        logger.addHandler(self._log)
        logger.setLevel(logging.INFO)
        self.service = Service(self.storage, Settings(**given), self.clock)
        _, key = generate_key("tester", ["admin"], secret=ADMIN)
        self.service.access.lend(key)
        self.app = create_app(self.service)
        self._running = self.service.running()
        self.runner.run(self._running.__aenter__())
        self.runner.run(self._ready())
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://here")
        body = {"name": "e", "policy": policy, "arms": ["a", "b", "c"], "status": "live", **spec}
        if self.storage.experiment("e") is None:
            assert self.send("POST", "/v1/experiments", body)[0] == 201

    async def _ready(self) -> None:
        while not self.service.ready:
            await asyncio.sleep(0.001)

    async def _send(
        self, method: str, path: str, body: Any = None, secret: str | None = ADMIN, key: str | None = None
    ) -> httpx.Response:
        headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
        if key is not None:
            headers["idempotency-key"] = key
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        return await self.http.request(method, path, content=content, headers=headers)

    def response(self, method: str, path: str, *args: Any, **given: Any) -> httpx.Response:
        return self.runner.run(self._send(method, path, *args, **given))

    def send(self, method: str, path: str, *args: Any, **given: Any) -> tuple[int, Any]:
        found = self.response(method, path, *args, **given)
        return found.status_code, found.json()

    def together(self, wanted: Sequence[tuple[Any, ...]]) -> list[tuple[int, Any]]:
        """Send requests at the same time."""

        async def all_of() -> list[httpx.Response]:
            return await asyncio.gather(*(self._send(*one) for one in wanted))

        return [(one.status_code, one.json()) for one in self.runner.run(all_of())]

    def decide(self, body: Any = None, **given: Any) -> Any:
        status, said = self.send("POST", "/v1/experiments/e/decide", body or {}, **given)
        assert status == 200, said
        return said

    def reward(self, decision: Any, reward: Any) -> tuple[int, Any]:
        return self.send("POST", "/v1/experiments/e/reward", {"id": decision["id"], "reward": reward})

    def look(self, look: Any) -> Any:
        async def looked() -> Any:
            return await self.service.writer.look(look)

        return self.runner.run(looked())

    def everything(self) -> Any:
        """Return all that could change: events, keys, and the state of the experiment."""
        digest = self.look(_digest)  # which opens it
        rows = self.storage.experiments()
        return rows, [self.storage.events(row.id) for row in rows], self.storage.keys(), digest

    def key(self, *roles: str, **given: Any) -> str:
        """Make a key and return its secret."""
        status, said = self.send("POST", "/v1/keys", {"name": "+".join(roles), "roles": list(roles), **given})
        assert status == 201, said
        return str(said["secret"])

    def close(self) -> None:
        self.runner.run(self.http.aclose())
        self.runner.run(self._running.__aexit__(None, None, None))
        self.runner.close()
        logging.getLogger("latentbandits.serve").removeHandler(self._log)


def _digest(ledger: Any) -> Any:
    return ledger.digest("e")


class Process:
    """A server of its own, started by the command, as users have it; `first` is code that its process runs before."""

    def __init__(self, folder: Path, *options: str, key: str = ADMIN, first: str = "pass") -> None:
        script = f"{first}\nimport sys; from latentbandits.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-W", "error", "-c", script, "serve", "--no-compile", *options]
        environment = {**os.environ, "LATENTBANDITS_ADMIN_KEY": key}
        handle, name = tempfile.mkstemp(
            ".log", "serve", folder
        )  # not a pipe: a full one that nobody reads stops the server
        self._log, self._read, self.url = Path(name), 0, ""
        with os.fdopen(handle, "w") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        with self._log.open() as lines:
            while True:
                line = lines.readline()
                if not line.endswith("\n"):
                    assert self.process.poll() is None, f"it has ended: {self._log.read_text()}"
                    lines.seek(self._read)
                    time.sleep(0.02)
                    continue
                self._read = lines.tell()
                said = json.loads(line)
                if said["event"] == "started":
                    self.url = said["address"]
                if said["event"] == "ready":
                    break

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> tuple[int, str, str]:
        """Stop it gracefully; return its code, and what it has said."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=60)
        with self._log.open() as lines:
            lines.seek(self._read)
            return self.process.returncode, out, lines.read()
