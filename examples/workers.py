"""A web application in several processes that share one learner: each talks to `latentbandits serve` through the client.

    latentbandits serve                                         # prints an admin key: make an experiment `offers`, and a key
    OFFERS_KEY=lb_... uvicorn workers:app --workers 4 --port 8080  # from this folder

    curl 'http://127.0.0.1:8080/decide?visitor=17'             # {"offer": "b", "decision": "6606a0910...", "by": "policy", ...}
    curl -X POST 'http://127.0.0.1:8080/reward?decision=6606a0910...&value=1'

If the service is gone, visitors get the control arm, and rewards wait until it is back.
"""

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

import latentbandits as lb


class Shop:
    """An ASGI application."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key
        self._client: lb.AsyncClient | None = None

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        query = dict(parse_qsl(scope["query_string"].decode()))
        try:
            status, answer = 200, await self.answer(f"{scope['method']} {scope['path']}", query)
        except (KeyError, ValueError) as problem:  # what the service refuses is a ValueError
            status, answer = 400, {"error": str(problem)}
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]}
        )
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    async def answer(self, request: str, query: dict[str, str]) -> dict[str, Any]:
        """Return the answer to a request."""
        assert self._client is not None
        if request == "GET /decide":
            decision = await self._client.ask(subject=query["visitor"])
            return {"offer": decision.arm, "decision": decision.id, "by": decision.by, "worker": os.getpid()}
        if request == "POST /reward":
            return {"outcome": await self._client.tell(query["decision"], float(query["value"]))}
        raise ValueError(f"{request}: there is no such request")

    async def _live(self, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        """Have a client for as long as the worker lives; in the end it sends what waits."""
        await receive()
        async with lb.AsyncClient(self._url, self._key, "offers", control="a", budget=2.0) as self._client:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


app = Shop(os.environ.get("OFFERS_URL", "http://127.0.0.1:8000"), os.environ.get("OFFERS_KEY", ""))
