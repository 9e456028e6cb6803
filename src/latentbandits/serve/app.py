"""The application: every endpoint behind one ASGI callable, which any server can run."""

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from latentbandits.serve.endpoint import REASON, STATUSES, Route, answer_http, answer_problem, endpoint
from latentbandits.serve.logs import Seldom
from latentbandits.serve.routes import ROUTES
from latentbandits.serve.service import Service, Task

SECURITY = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
_RAW = [(name.encode(), value.encode()) for name, value in SECURITY.items()]
log = logging.getLogger("latentbandits.serve")


def create_app(service: Service, *also: Task, routes: Sequence[Route] = ROUTES) -> Starlette:
    """Return the service as an application of Starlette, which begins and ends with the server.

    Parameters
    ----------
    service : Service
    *also : async functions
        Tasks that run beside it, each given the service: a simulated stream, say.
    routes : routes, optional
        All endpoints; those of the service if not given.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from pathlib import Path
    >>> import httpx
    >>> from latentbandits.serve import Service, create_app
    >>> from latentbandits.store import SQLite
    >>> async def health(service):
    ...     transport = httpx.ASGITransport(create_app(service))
    ...     async with service.running(), httpx.AsyncClient(transport=transport, base_url="http://here") as client:
    ...         return (await client.get("/health")).json()["status"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     async def main():
    ...         return await health(Service(SQLite(Path(folder) / "decisions.db")))
    ...     asyncio.run(main())
    'ok'
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with service.running(*also):
            yield

    app = Starlette(
        routes=[
            Path(route.path, endpoint(service, route), methods=[route.method], name=route.name) for route in routes
        ],
        middleware=[Middleware(Watch, service=service, routes=routes)],
        exception_handlers={
            **dict.fromkeys(STATUSES, answer_problem),
            HTTPException: answer_http,
            Exception: _answer_error,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.place = service.storage.place
    return app


async def _answer_error(request: Request, problem: Exception) -> Response:
    """Answer a request that ended in an error of the service; it is raised again afterwards, for the server's log."""
    response = await answer_problem(request, problem)
    response.raw_headers.extend(_RAW)  # no middleware sees this answer
    return response


class Watch:
    """Counts, times and logs the answers of all endpoints, and adds the headers of security to whatever is sent.

    Parameters
    ----------
    app : ASGI application
    service : Service
    routes : routes
        The endpoints of the application.
    """

    def __init__(self, app: ASGIApp, service: Service, routes: Sequence[Route]) -> None:
        self._app, self._service = app, service
        self._refused = Seldom("key refused")
        self._changing = {route.name for route in routes if route.role == "admin" and route.method != "GET"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the server."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].extend(_RAW)
            await send(message)

        try:
            await self._app(scope, receive, secured)
        except Exception as problem:
            status, scope[REASON] = 500, f"{type(problem).__name__}: {problem}"
            raise
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count and, if it says something, log."""
        if "endpoint" not in scope or status == 405:
            return
        name = scope["endpoint"].__name__
        self._service.meters.note(name, status, seconds)
        refused = status in (401, 403)
        if refused:
            self._refused(
                path=scope["path"],
                status=status,
                client=(scope.get("client") or [None])[0],
                key=scope.get("latentbandits.key"),
                error=scope.get(REASON),
            )
        if (name in self._changing and not refused) or status >= 500 or self._service.settings.log_requests:
            fields: dict[str, object] = {"endpoint": name, "path": scope["path"], "status": status}
            fields |= {"ms": round(1000 * seconds, 3), "key": scope.get("latentbandits.key")}
            if status >= 500:
                fields["error"] = scope.get(REASON)
            log.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra=fields)
