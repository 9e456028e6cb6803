"""A web shop that decides which offer a visitor sees: one process, many threads, clicks that come later, offers that come and go.

``python examples/web_app.py`` serves it on port 8000 with nothing but the standard library. `Shop` is plain WSGI, so any WSGI server runs
it too, with one process and as many threads as you like: ``gunicorn --workers 1 --threads 16 'web_app:Shop()'``.

    GET  /decide?visitor=17                   {"offer": "b", "decision": "063f0c2a9d4e10b2c4d6e8f0a"}
    POST /reward?decision=063f...&value=1     204
    POST /offers?add=e    POST /offers?retire=b    204
    GET  /health                              {"asked": 120, "told": 97, ...}
"""

import atexit
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIServer, make_server

import latentbandits as lb

FILE = Path(os.environ.get("AGENT_FILE", "offers.agent"))
OFFERS = ["a", "b", "c", "d"]


class Shop:
    """The WSGI application: every request is one call of the agent, which is saved now and then, and at the end.

    A crash loses what was learned since the last save. It never mixes up decisions: a reward for one that the restored agent does not know
    is refused.
    """

    def __init__(self, file: Path = FILE, seconds: float = 10.0) -> None:
        # one visitor in ten always sees offer a: what the others earn more is what the policy is worth
        self.agent = (
            lb.Agent.load(file) if file.exists() else lb.Agent("state-library", arms=OFFERS, holdback=0.1, control="a")
        )
        self.file, self.saved, self._stop = file, time.time(), threading.Event()
        self._saver = threading.Thread(target=self._save_regularly, args=(seconds,), daemon=True)
        self._saver.start()
        atexit.register(self.close)

    def _save_regularly(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
            self._save()

    def _save(self) -> None:
        """Save, or say why not and try again later: the disk may be full, or another process has saved there."""
        try:
            self.agent.save(self.file)
            self.saved = time.time()
        except (OSError, ValueError) as problem:
            print(problem, file=sys.stderr)

    def close(self) -> None:
        """Save for the last time."""
        if not self._stop.is_set():
            self._stop.set()
            self._saver.join()
            self._save()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request; what the agent refuses is the client's error, in one sentence."""
        request = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        try:
            answer = self.answer(request, dict(parse_qsl(environ.get("QUERY_STRING", ""))))
            status = "200 OK" if answer else "204 No Content"
        except (KeyError, ValueError) as problem:  # an InvalidValueError is a ValueError
            missing = f"{request}: parameter {problem} is missing" if isinstance(problem, KeyError) else str(problem)
            answer, status = {"error": missing}, "400 Bad Request"
        start_response(status, [("Content-Type", "application/json")] if answer else [])
        return [json.dumps(answer).encode()] if answer else []

    def answer(self, request: str, query: dict[str, str]) -> dict[str, Any]:
        """Return the answer to a request, empty if there is nothing to say."""
        match request:
            case "GET /decide":
                decision = self.agent.ask(subject=query["visitor"])
                return {"offer": decision.arm, "decision": decision.id}
            case "POST /reward":
                self.agent.tell(query["decision"], float(query["value"]))
            case "POST /offers" if "add" in query:
                self.agent.add(query["add"])
            case "POST /offers":
                self.agent.retire(query["retire"])
            case "GET /health":
                return {**self.agent.stats._asdict(), "compiled": self.agent.compiled, "saved": self.saved}
            case _:
                raise ValueError(f"{request}: there is no such request")
        return {}


class Server(ThreadingMixIn, WSGIServer):
    """A thread per request."""

    daemon_threads = True


def main(port: int = 8000) -> None:
    """Serve until interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # an ordinary end, so that the agent is saved
    with make_server("127.0.0.1", port, Shop(), Server) as server:
        print(f"http://127.0.0.1:{port}/decide?visitor=17")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("saved")


if __name__ == "__main__":
    main()
