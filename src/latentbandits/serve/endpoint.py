"""From bytes to a handler and back: who may, how large, what it says, what came of it. Nothing here knows about experiments."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from latentbandits.serve.access import Holder
from latentbandits.serve.problems import Failure, Problem, failure
from latentbandits.serve.service import Service

SECURITY = [
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store"), *SECURITY]
_encode = msgspec.json.Encoder().encode


class Call(NamedTuple):
    """A request: the names in its path, what its body and its query say, who sends it, and its idempotency key."""

    service: Service
    path: dict[str, str]
    body: Any
    query: Any
    holder: Holder | None
    key: str | None

    @property
    def experiment(self) -> str:
        """The experiment that it is about."""
        return self.path["name"]

    @property
    def actor(self) -> str | None:
        """Who does it, for the log."""
        return None if self.holder is None else self.holder.actor


Handler = Callable[[Call], Awaitable[Any]]


class Route(NamedTuple):
    """An endpoint.

    Attributes
    ----------
    method, path, handler : what is called when
    role : the role that it needs, None if everybody may
    summary : what it does, for people
    body, query, answer : types of what is sent and answered; an answer may be a `Response` instead, of the type `media`
    status : of an answer that is no error
    keyed : whether an idempotency key means something
    everywhere : whether a key to some experiments only is refused
    """

    method: str
    path: str
    handler: Handler
    role: str | None
    summary: str
    body: Any = None
    answer: Any = None
    query: Any = None
    status: int = 200
    keyed: bool = False
    everywhere: bool = False
    media: str = "application/json"

    @property
    def name(self) -> str:
        """The name of its handler: what meters, logs and the description of the interface call it."""
        return str(self.handler.__name__)


class Endpoint:
    """An ASGI application that answers one route."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service, self._route = service, route
        self._replicas = (
            service.replicas if "{name}" in route.path else None
        )  # of an experiment, which another may hold
        self._decode = None if route.body is None else msgspec.json.Decoder(route.body).decode
        self._meter = service.meters.meter(route.name)
        self._times = service.meters.decisions if route.name == "decide" else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began = time.perf_counter()
        headers, holder, response = JSON, None, None
        try:
            given = dict(scope["headers"])
            holder = self._admitted(scope, given)
            content = await self._content(given, receive)
            answer = None if self._replicas is None else await self._replicas.answer(scope, given, content)
            if answer is None:
                body = None if self._decode is None else self._decode(content or b"{}")
                call = Call(self._service, scope["path_params"], body, self._query(scope), holder, _key(given))
                answer = await self._route.handler(call)
            status = self._route.status
            if isinstance(answer, Response):
                response, status = answer, answer.status_code
            else:
                content = _encode(answer)
        except Exception as problem:
            found = failure(problem)
            status, content, headers = found.status, _encode(Problem(str(found))), [*JSON, *found.headers]
            if status == 500:
                self._service.journal.note(
                    "error", endpoint=self._route.name, error=f"{type(problem).__name__}: {problem}"
                )
        if response is None:
            await _send(send, status, content, headers)
        else:
            await response(scope, receive, send)
        self._note(status, time.perf_counter() - began, scope, holder)

    def _admitted(self, scope: Scope, given: dict[bytes, bytes]) -> Holder | None:
        """Return who sends it, or refuse."""
        route = self._route
        if route.role is None:
            return None
        known = given.get(b"authorization")
        text = None if known is None else known.decode("latin-1")
        found = self._service.access.admit(text, route.role, scope["path_params"].get("name"))
        if route.everywhere and found.experiments is not None:
            raise Failure(403, f"key: {found.name} is for some experiments but this needs one for all")
        return found

    async def _content(self, given: dict[bytes, bytes], receive: Receive) -> bytes:
        """Return the body, or refuse it."""
        most = self._service.settings.body
        size = given.get(b"content-length", b"0")
        if size.isdigit() and int(size) > most:
            raise Failure(413, f"request: body has {int(size)} bytes but must have at most {most}")
        content = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Failure(400, "request: it ended before its body")
            content += message.get("body", b"")
            more = message.get("more_body", False)
            if len(content) > most:
                raise Failure(413, f"request: body is longer than {most} bytes, the most that it may have")
        return content

    def _query(self, scope: Scope) -> Any:
        """Return what the address says behind its question mark, or refuse it."""
        kind, text = self._route.query, scope["query_string"]
        if kind is None:
            return None
        given = dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True))
        try:
            return msgspec.convert(given, kind, strict=False)
        except msgspec.ValidationError as problem:
            raise Failure(422, f"request: query is not as it must be ({problem})") from None

    def _note(self, status: int, seconds: float, scope: Scope, holder: Holder | None) -> None:
        """Count and, if it says something, log."""
        self._meter.note(status, seconds)
        if self._times is not None:
            self._times.append(seconds)
        changes = self._route.role == "admin" and self._route.method != "GET"
        if changes or status >= 500 or self._service.settings.log_requests:
            self._service.journal.note(
                "request",
                endpoint=self._route.name,
                path=scope["path"],
                status=status,
                ms=round(1000 * seconds, 3),
                key=None if holder is None else holder.id,
            )


def _key(given: dict[bytes, bytes]) -> str | None:
    key = given.get(b"idempotency-key")
    return None if key is None else key.decode("latin-1")


async def _send(send: Send, status: int, content: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": content})
