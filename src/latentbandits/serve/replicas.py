"""Several processes on one store: whoever is asked for an experiment that another one holds sends the request on to it, once."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from latentbandits.serve.journal import Journal
from latentbandits.serve.problems import Failure
from latentbandits.serve.settings import Settings
from latentbandits.serve.writer import Writer
from latentbandits.store import Fenced, Ledger, Owner

HOP = b"latentbandits-forwarded"  # a request that has it was sent on by another replica: it is not sent on again
SENT = (b"authorization", b"idempotency-key", b"content-type", b"accept", b"traceparent", b"tracestate")
ANSWERED = ("content-type", "content-length", "content-disposition", "cache-control", "retry-after", "www-authenticate")
KNOWN = 1.0  # seconds for which it is known who holds an experiment; the database has the last word in any case
FILE = 60.0  # seconds that another replica has to begin to send a log: a file may be made first
IDLE = 2.0  # seconds after which a connection is closed: before the other side does
_EVENTS = "text/event-stream"


class Replicas:
    """The processes of a store that is shared: who holds which experiment, and what they answer.

    Parameters
    ----------
    writer : Writer
        Claims experiments that nobody holds.
    settings : Settings
        ``lease`` is how long another replica may take to answer: one that takes longer has lost what it held.
    journal : Journal
    stopping : asyncio.Event
        Live views that come from elsewhere end when it is set.
    """

    def __init__(self, writer: Writer, settings: Settings, journal: Journal, stopping: asyncio.Event) -> None:
        self._writer, self._journal, self._stopping = writer, journal, stopping
        self._lease, self._most = settings.lease, settings.waiting
        self._holders: dict[str, tuple[asyncio.Future[Owner | None], float]] = {}
        self._told: dict[str, str] = {}
        self._http: httpx.AsyncClient | None = None

    async def answer(self, scope: Scope, given: dict[bytes, bytes], content: bytes) -> Response | None:
        """Return what the replica that holds the experiment answers to a request, None if that is this one."""
        name = scope["path_params"]["name"]
        owner = await self._holder(name)
        if owner is None:
            return None
        with contextlib.suppress(
            httpx.ConnectError, httpx.ConnectTimeout
        ):  # nobody has heard it, so it may be done here
            return await self._sent_on(owner, name, scope, given, content)
        self._holders.pop(name, None)
        if await self._holder(name) is None:
            return None
        raise _away(f"{_called(owner)} holds {name} and does not listen; until its lease ends nobody else may decide")

    async def _holder(self, name: str) -> Owner | None:
        """Return who holds an experiment, None if this replica does; one that nobody holds is claimed here."""
        asked, until = self._holders.get(name, (None, 0.0))
        if asked is None or (asked.done() and time.monotonic() >= until):
            asked = asyncio.ensure_future(self._writer.look(lambda ledger: _claimed(ledger, name)))
            self._holders[name] = asked, time.monotonic() + KNOWN
            asked.add_done_callback(lambda done: self._note(name, done))
        return await asyncio.shield(asked)

    def _note(self, name: str, asked: "asyncio.Future[Owner | None]") -> None:
        """Forget an experiment that cannot be had, and log if another replica holds it than before."""
        if asked.cancelled() or asked.exception() is not None:
            self._holders.pop(name, None)
            return
        owner = asked.result()
        who = "this replica" if owner is None else _called(owner)
        if self._told.get(name) != who:
            self._told[name] = who
            self._journal.note("held", experiment=name, by=who)

    async def _sent_on(
        self, owner: Owner, name: str, scope: Scope, given: dict[bytes, bytes], content: bytes
    ) -> Response:
        """Return what another replica answers; a request that it may have heard is never sent again from here."""
        if HOP in given or owner.address is None:
            self._holders.pop(name, None)
            reason = "was asked in its stead" if HOP in given else "has no address (`--reached-at`)"
            raise _away(f"{owner.name} holds {name} and {reason}")
        headers = [(key, given[key]) for key in SENT if key in given]
        path = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        address = owner.address + path.decode("latin-1")
        client = self._client()
        patience = httpx.Timeout(self._lease, read=FILE if "kind" in scope["path_params"] else self._lease)
        request = client.build_request(
            scope["method"], address, headers=[*headers, (HOP, b"1")], content=content, timeout=patience
        )
        try:
            found = await client.send(request, stream=True)
            if found.headers.get("content-type", "").startswith(_EVENTS) or "content-disposition" in found.headers:
                return StreamingResponse(self._relayed(found), found.status_code, _headers(found))
            body = await found.aread()
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise
        except httpx.HTTPError as problem:
            self._holders.pop(name, None)
            raise _away(
                f"{_called(owner)} holds {name} and has not answered ({type(problem).__name__}); perhaps it has done it"
            ) from None
        if found.status_code == 503:
            self._holders.pop(name, None)
        return Response(body, found.status_code, _headers(found))

    async def _relayed(self, found: httpx.Response) -> AsyncIterator[bytes]:
        """Yield a long answer as it comes; a live view ends with the service, and when the other replica does."""
        live = found.headers["content-type"].startswith(_EVENTS)
        try:
            async for piece in found.aiter_raw():
                yield piece
                if live and self._stopping.is_set():
                    return
        except httpx.HTTPError:
            if not live:  # a file that is cut short must not look whole
                raise
        finally:
            await found.aclose()

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
    except Fenced as fenced:
        if fenced.owner is None or fenced.owner.here:
            raise
        return fenced.owner
    return None


def _called(owner: Owner) -> str:
    return owner.address or owner.name


def _headers(found: httpx.Response) -> dict[str, Any]:
    from latentbandits.serve.endpoint import SECURITY

    own = {name.decode(): value.decode() for name, value in SECURITY}
    return own | {name: found.headers[name] for name in ANSWERED if name in found.headers}


def _away(sentence: str) -> Failure:
    return Failure(503, f"serve: {sentence}; send it again with the same key", retry_after="1")
