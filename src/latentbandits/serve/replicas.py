"""Several processes on one store: whoever is asked for an experiment that another one holds sends the request on to it, once."""

import asyncio
import contextlib
import logging
import time

import httpx
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from latentbandits.serve.fields import UNTIL
from latentbandits.serve.settings import Settings
from latentbandits.serve.writer import Writer
from latentbandits.store import FencedError, Ledger, Owner, StoreUnavailableError

HOP = "latentbandits-forwarded"  # a request that has it was sent on by another replica: it is not sent on again
AWAY = "latentbandits-elsewhere"  # an answer that has it says that nothing was done, since another replica holds the experiment by now
TRIES, PAUSE = 2, 0.05  # how often a request is sent on, and seconds between two looks at who has taken over
SENT = ("authorization", "idempotency-key", "content-type", "accept", "traceparent", "tracestate")
ANSWERED = (
    UNTIL,
    "content-type",
    "content-length",
    "content-disposition",
    "cache-control",
    "retry-after",
    "www-authenticate",
)
KNOWN = 1.0  # seconds for which it is known who holds an experiment; the database has the last word in any case
FILE = 60.0  # seconds that another replica has to begin to send a log: a file may be made first
IDLE = 2.0  # seconds after which a connection is closed: before the other side does
log = logging.getLogger("latentbandits.serve")


class Replicas:
    """The processes of a store that is shared: who holds which experiment, and what they answer.

    Parameters
    ----------
    writer : Writer
        Claims experiments that nobody holds.
    settings : Settings
        ``lease`` is how long another replica may take to answer: one that takes longer has lost what it held.

    Attributes
    ----------
    leaving : whether this replica stops, and has given back what it held
    """

    def __init__(self, writer: Writer, settings: Settings) -> None:
        self._writer, self._lease, self._most = writer, settings.lease, settings.waiting
        self._holders: dict[str, tuple[asyncio.Future[Owner | None], float]] = {}
        self._last: dict[str, Owner | None] = {}  # as of the last answer
        self._told: dict[str, str] = {}
        self.leaving = False
        self._http: httpx.AsyncClient | None = None

    async def answer(self, request: Request, content: bytes) -> Response | None:
        """Return what the replica that holds the experiment answers to a request, None if that is this one."""
        name, patience = request.path_params["name"], time.monotonic() + self._lease
        owner: Owner | None = None
        for _ in range(TRIES):
            while True:
                try:
                    owner = await self._holder(name)
                    break
                except FencedError as fenced:  # nobody holds it, and this replica stops
                    if not self.leaving or HOP in request.headers or time.monotonic() > patience:
                        raise _away(str(fenced).removeprefix("store: "), {AWAY: "1"}) from None
                    await asyncio.sleep(PAUSE)
            if owner is None:
                return None
            with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
                reply = await self._forward(owner, name, request, content)
                if reply is not None:
                    return reply
            self.forget(name)  # nobody has heard it, or it was given back: it may be done by another, or here
        assert owner is not None
        raise _away(f"{_called(owner)} holds {name} and does not listen; until its lease ends nobody else may decide")

    def forget(self, name: str) -> None:
        """Look up anew who holds an experiment."""
        self._holders.pop(name, None)

    def leave(self) -> None:
        """From here on hold nothing."""
        self.leaving = True
        self._holders.clear()
        self._last.clear()

    async def _holder(self, name: str) -> Owner | None:
        """Return who holds an experiment, None if this replica does; one that nobody holds is claimed here."""
        asked, until = self._holders.get(name, (None, 0.0))
        last = self._last.get(name)
        if asked is None or (asked.done() and time.monotonic() >= until):
            asked = asyncio.ensure_future(self._writer.look(lambda ledger: _claimed(ledger, name)))
            self._holders[name] = asked, time.monotonic() + KNOWN
            asked.add_done_callback(lambda done: self._note(name, done))
        if last is not None and not (await asyncio.wait({asked}, timeout=KNOWN))[0]:
            return last  # the database does not answer here; perhaps it does where the experiment was held
        try:
            return await asyncio.shield(asked)
        except FencedError:
            raise
        except StoreUnavailableError:
            if last is None:
                raise
            return last

    def _note(self, name: str, asked: "asyncio.Future[Owner | None]") -> None:
        """Forget an experiment that cannot be had, and log if another replica holds it than before."""
        if asked.cancelled() or asked.exception() is not None:
            self._holders.pop(name, None)
            return
        owner = self._last[name] = asked.result()
        who = "this replica" if owner is None else _called(owner)
        if self._told.get(name) != who:
            self._told[name] = who
            log.info("held", extra={"experiment": name, "by": who})

    async def _forward(self, owner: Owner, name: str, request: Request, content: bytes) -> Response | None:
        """Return what another replica answers, None if it holds the experiment no more.

        A request that it may have done is never sent again from here.
        """
        if HOP in request.headers or owner.address is None:
            self._holders.pop(name, None)
            reason = "was asked in its stead" if HOP in request.headers else "has no address (`--reached-at`)"
            raise _away(f"{owner.name} holds {name} and {reason}", {AWAY: "1"})
        headers = {key: request.headers[key] for key in SENT if key in request.headers}
        query = request.scope["query_string"]
        path = request.scope["raw_path"] + (b"?" + query if query else b"")
        address = owner.address + path.decode("latin-1")
        client = self._client()
        patience = httpx.Timeout(self._lease, read=FILE if "kind" in request.path_params else self._lease)
        forwarded = client.build_request(
            request.method, address, headers={**headers, HOP: "1"}, content=content, timeout=patience
        )
        try:
            reply = await client.send(forwarded, stream=True)
            if "content-disposition" in reply.headers:  # a file may be long
                return StreamingResponse(
                    reply.aiter_raw(), reply.status_code, _headers(reply), background=BackgroundTask(reply.aclose)
                )
            body = await reply.aread()
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise
        except httpx.HTTPError as problem:
            self._holders.pop(name, None)
            raise _away(
                f"{_called(owner)} holds {name} and has not answered ({type(problem).__name__}); perhaps it has done it"
            ) from None
        if AWAY in reply.headers:
            return None
        if reply.status_code == 503:
            self._holders.pop(name, None)
        return Response(body, reply.status_code, _headers(reply))

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            limits = httpx.Limits(max_connections=self._most, max_keepalive_connections=100, keepalive_expiry=IDLE)
            plain = {"accept-encoding": "identity"}
            self._http = httpx.AsyncClient(limits=limits, headers=plain, trust_env=False)
        return self._http

    async def close(self) -> None:
        """End all connections."""
        if self._http is not None:
            await self._http.aclose()


def _claimed(ledger: Ledger, name: str) -> Owner | None:
    """Return who holds an experiment, None once this process does."""
    try:
        ledger.open(name)
    except FencedError as fenced:
        if fenced.owner is None or fenced.owner.here:
            raise
        return fenced.owner
    return None


def _called(owner: Owner) -> str:
    return owner.address or owner.name


def _headers(reply: httpx.Response) -> dict[str, str]:
    return {name: reply.headers[name] for name in ANSWERED if name in reply.headers}


def _away(sentence: str, more: dict[str, str] | None = None) -> HTTPException:
    headers = {"retry-after": "1", **(more or {})}
    return HTTPException(503, f"serve: {sentence}; send it again with the same key", headers)
