"""The application: every endpoint behind one ASGI callable, which any server can run."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.routing import Route as Path
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from latentbandits.serve.endpoint import JSON, Endpoint, Route
from latentbandits.serve.problems import Problem
from latentbandits.serve.routes import ROUTES
from latentbandits.serve.service import Service

EXPERIMENTS = "/v1/experiments"


class App:
    """The service as an ASGI application.

    Parameters
    ----------
    service : Service
    also : callables
        Tasks that run beside it, each given the service: a simulated stream, say.
    routes : routes, optional
        All endpoints; those of the service if not given.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from pathlib import Path
    >>> import httpx
    >>> from latentbandits.serve import App, Service
    >>> from latentbandits.store import SQLite
    >>> async def health(app):
    ...     async with app, httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
    ...         return (await client.get("/health")).json()["status"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     async def main():
    ...         return await health(App(Service(SQLite(Path(folder) / "decisions.db"))))
    ...     asyncio.run(main())
    'ok'
    """

    def __init__(self, service: Service, *also: Callable[[Service], Any], routes: Sequence[Route] = ROUTES) -> None:
        self.service, self._also = service, also
        ends = [(route, _end(service, route)) for route in routes]
        self._router = Router(
            [Path(route.path, end, methods=[route.method], name=route.name) for route, end in ends],
            redirect_slashes=False,
        )
        # a router tries one pattern after the other: what is asked of an experiment, the most of it all, is found at once
        self._ends = {
            (route.method, rest): end
            for route, end in ends
            for start, _, rest in [route.path.partition("/{name}/")]
            if start == EXPERIMENTS and rest and "{" not in rest
        }

    async def __aenter__(self) -> "App":
        await self.service.start(*self._also)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.service.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        path = scope["path"]
        if path.startswith(f"{EXPERIMENTS}/") and not scope.get("root_path"):
            start, _, rest = path[len(EXPERIMENTS) + 1 :].partition("/")
            end = self._ends.get((scope["method"], rest))
            if end is not None and start:
                scope["path_params"] = {"name": start}
                await end(scope, receive, send)
                return
        scope["app"] = self  # the router then raises what it does not find
        try:
            await self._router(scope, receive, send)
        except HTTPException as problem:
            await _refuse(scope, send, problem)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.service.start(*self._also)
        except Exception as problem:
            await send({"type": "lifespan.startup.failed", "message": str(problem)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.service.stop()
        await send({"type": "lifespan.shutdown.complete"})


def _end(service: Service, route: Route) -> Callable[[Scope, Receive, Send], Any]:
    """Return what answers a route."""
    end = Endpoint(service, route)
    if not service.settings.spans:
        return end
    from latentbandits.serve.spans import TRACED, Traced

    return Traced(end, route) if route.name in TRACED else end


async def _refuse(scope: Scope, send: Send, problem: HTTPException) -> None:
    """Say that there is no such endpoint, or that it is called by another method."""
    what = f"{scope['method']} {scope['path']}"[:200]
    text = f"request: there is no {what}" if problem.status_code == 404 else f"request: {what} is not allowed"
    content = msgspec.json.encode(Problem(text))
    more = [(name.lower().encode(), value.encode()) for name, value in (problem.headers or {}).items()]
    length = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": problem.status_code, "headers": [*JSON, *more, length]})
    await send({"type": "http.response.body", "body": content})
