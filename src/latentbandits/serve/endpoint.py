"""From a request to a handler and back: who may send it, how large it may be, what it says, and which error is which status.

A handler is declared by `Table.route`. What it takes and answers follows from its annotations: the parameter ``body`` is decoded from the
body by its type, ``query`` from the query. Nothing here knows about experiments.
"""

import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from latentbandits.serve.fields import Answer, Body, Problem, Query
from latentbandits.serve.service import Service
from latentbandits.settings import InvalidValueError
from latentbandits.store import ApiKey, ClosedError, ConflictError, FencedError, NotFoundError, StoreUnavailableError

REASON = "latentbandits.reason"  # why a request was refused: what the log says
STATUSES: dict[type[Exception], int] = {
    NotFoundError: 404,
    ConflictError: 409,
    ClosedError: 409,
    InvalidValueError: 422,
    StoreUnavailableError: 503,
    ClientDisconnect: 400,
}


class JSON(JSONResponse):
    """An answer that msgspec encodes, and that nobody may keep."""

    def __init__(
        self, content: Answer, status_code: int = 200, headers: typing.Mapping[str, str] | None = None
    ) -> None:
        super().__init__(content, status_code, {"cache-control": "no-store", **(headers or {})})

    def render(self, content: Answer) -> bytes:
        """Return the bytes of an answer."""
        return msgspec.json.encode(content)


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a handler, beside its body and query: the names in its path, who sends it, and its idempotency key."""

    service: Service
    path: dict[str, str]
    holder: ApiKey | None
    idempotency_key: str | None

    @property
    def experiment(self) -> str:
        """The experiment that it is about."""
        return self.path["name"]

    @property
    def actor(self) -> str | None:
        """Who does it, for the log."""
        return None if self.holder is None else self.holder.actor


Handler = Callable[..., Awaitable[Answer | Response]]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True)
class Route:
    """An endpoint.

    Attributes
    ----------
    method, path, handler : what is called when
    role : the role that it needs, None if everybody may
    summary : what it does, for people
    status : of an answer that is no error
    keyed : whether an idempotency key means something
    everywhere : whether a key to some experiments only is refused
    media : the type of an answer that is a `Response` of the handler's own
    body, query, answer : types of what is sent and answered, None where there is none
    """

    method: str
    path: str
    handler: Handler
    role: str | None
    summary: str
    status: int = 200
    keyed: bool = False
    everywhere: bool = False
    media: str = "application/json"
    body: type[Body] | None = None
    query: type[Query] | None = None
    answer: type[Answer] | None = None

    @property
    def name(self) -> str:
        """The name of its handler: what meters, logs and the description of the interface call it."""
        return self.handler.__name__


class Table(list[Route]):
    """Endpoints in the order in which they are tried.

    Examples
    --------
    >>> from latentbandits.serve.endpoint import Call, Table
    >>> from latentbandits.serve.fields import Answer
    >>> class Pong(Answer):
    ...     answer: str
    >>> table = Table()
    >>> @table.route("GET", "/ping", None, "Whether it hears")
    ... async def ping(call: Call) -> Pong:
    ...     return Pong(answer="pong")
    >>> table[0].name, table[0].answer.__name__
    ('ping', 'Pong')
    """

    def route(
        self,
        method: str,
        path: str,
        role: str | None,
        summary: str,
        *,
        status: int = 200,
        keyed: bool = False,
        everywhere: bool = False,
        media: str = "application/json",
    ) -> Callable[[H], H]:
        """Declare a handler: an async function of a `Call` and, if it takes them, of a ``body`` and a ``query``."""

        def declare(handler: H) -> H:
            hints = typing.get_type_hints(handler)
            answer = hints["return"] if issubclass(hints["return"], Answer) else None
            body, query = hints.get("body"), hints.get("query")
            self.append(
                Route(method, path, handler, role, summary, status, keyed, everywhere, media, body, query, answer)
            )
            return handler

        return declare


def endpoint(service: Service, route: Route) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that answers the requests of a route."""
    replicas = service.replicas if "{name}" in route.path else None  # another one may hold the experiment
    decode = None if route.body is None else msgspec.json.Decoder(route.body).decode
    most = service.settings.body

    async def answer(request: Request) -> Response:
        holder = _admit(service, route, request)
        content = b"" if decode is None else await _read(request, most)
        response = None if replicas is None else await replicas.answer(request, content)
        if response is not None:
            return response
        given: dict[str, Body | Query] = {}
        if decode is not None:
            given["body"] = _decode(decode, content or b"{}")
        if route.query is not None:
            given["query"] = _convert(request, route.query)
        key = request.headers.get("idempotency-key") if route.keyed else None
        call = Call(service, request.path_params, holder, key)
        try:
            result = await route.handler(call, **given)
        except FencedError:  # another replica has it by now: nothing was done here
            if replicas is None:
                raise
            replicas.forget(call.experiment)
            response = await replicas.answer(request, content)
            if response is not None:
                return response
            result = await route.handler(call, **given)
        return result if isinstance(result, Response) else JSON(result, route.status)

    answer.__name__ = route.name
    return answer


def _admit(service: Service, route: Route, request: Request) -> ApiKey | None:
    """Return who sends a request, or refuse it."""
    if route.role is None:
        return None
    holder = service.access.admit(request.headers.get("authorization"), route.role, request.path_params.get("name"))
    request.scope["latentbandits.key"] = holder.id  # for the log
    if route.everywhere and holder.experiments is not None:
        raise HTTPException(403, f"key: {holder.name} is for some experiments but this needs one for all")
    return holder


async def _read(request: Request, most: int) -> bytes:
    """Return the body, or refuse one that is too long."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > most:
            raise HTTPException(413, f"request: body is longer than {most} bytes, the most that it may have")
    return content


def _decode(decode: Callable[[bytes], Body], content: bytes) -> Body:
    """Return what a body says, or refuse it."""
    try:
        return decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise HTTPException(422, f"request: body is not as it must be ({problem})") from None


def _convert(request: Request, kind: type[Query]) -> Query:
    """Return what a query says, or refuse it."""
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as problem:
        raise HTTPException(422, f"request: query is not as it must be ({problem})") from None


def sentence(problem: Exception) -> str:
    """Return what people are told of an exception: of one that nobody expected, only its name.

    Examples
    --------
    >>> from latentbandits.serve.endpoint import sentence
    >>> from latentbandits.store import NotFoundError
    >>> sentence(NotFoundError("store", "experiment", "offers", "the name of one that exists"))
    "store: experiment is 'offers' but must be the name of one that exists"
    >>> sentence(ZeroDivisionError("of a secret"))
    'serve: an error of the service (ZeroDivisionError); its log says more'
    """
    if isinstance(problem, HTTPException):
        return problem.detail
    if isinstance(problem, tuple(STATUSES)):
        return str(problem) or "request: it ended before its body"
    return f"serve: an error of the service ({type(problem).__name__}); its log says more"


async def answer_problem(request: Request, problem: Exception) -> Response:
    """Answer a request that ended in an exception."""
    request.scope[REASON] = f"{type(problem).__name__}: {problem}"
    status = next((STATUSES[kind] for kind in type(problem).__mro__ if kind in STATUSES), 500)
    text = sentence(problem).replace(request.app.state.place, "its store")  # where that is concerns the log alone
    return JSON(Problem(error=text), status, {"retry-after": "1"} if status == 503 else None)


async def answer_http(request: Request, problem: Exception) -> Response:
    """Answer a request that was refused by a status; the router's own refusals become sentences."""
    assert isinstance(problem, HTTPException)
    text = request.scope[REASON] = problem.detail
    if text == HTTPStatus(problem.status_code).phrase:
        what = f"{request.method} {request.url.path}"[:200]
        missing = problem.status_code == 404
        text = f"request: there is no {what}" if missing else f"request: {what} is not allowed"
    return JSON(Problem(error=text), problem.status_code, problem.headers)
