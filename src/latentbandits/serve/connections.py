"""What a client may take before it has said who it is: bytes of headers, time for a request to arrive, a connection.

uvicorn bounds none of the first two, and closes no connection to make room for another.
"""

import asyncio
from http import HTTPStatus

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from latentbandits.serve.fields import Problem
from latentbandits.serve.logs import Seldom

HEADERS = 64 * 1024  # bytes of a request's first line and headers
ARRIVAL = 20.0  # seconds in which a request must be here, from its first byte to its last; the first byte of a new connection; and in which
# a client that does not read must read on
SPARE = 100  # open files that a service keeps for everything but connections
_note = Seldom("connection closed")


class Connection(HttpToolsProtocol):
    """A connection of uvicorn that is closed if its request does not arrive, or if another one needs its place.

    When there are as many as `limit_concurrency` says, the one that has waited for its client for longest makes room: for a whole
    request, or until the client reads its answer. Whoever is being answered is left alone.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, in the place of another one if need be."""
        super().connection_made(transport)
        self._headers = 0  # bytes of headers that have no end yet
        self._in_headers = self._partial = False
        self._late: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        # of all connections: those without a whole request or a reader, in the order in which they began to wait
        self._idle: dict[Connection, None] = self.server_state.__dict__.setdefault("latentbandits_idle", {})
        self._idle[self] = None
        self._set_alarm()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            oldest = next(iter(self._idle))
            if oldest is not self:  # else all others are being answered, and uvicorn says so
                oldest._end("another one needs its place")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._idle.pop(self, None)
        self._unset_alarm()
        self._unset_unread()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait until the client reads."""
        super().pause_writing()
        self._unread = self.loop.call_later(
            ARRIVAL, self._end, f"its answer has not been read within {ARRIVAL:g} seconds"
        )
        self._look()

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self._unset_unread()
        self._look()

    def data_received(self, data: bytes) -> None:
        """Take what has come; refuse headers without an end."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_headers:
            self._headers += len(data)
            if self._headers > HEADERS:
                self._refuse(431, f"headers are longer than {HEADERS} bytes, the most that they may have")
                return
        self._look()

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        super().on_message_begin()
        self._in_headers = self._partial = True
        self._headers = 0

    def on_headers_complete(self) -> None:
        """Note that its headers are here."""
        self._in_headers = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that all of it is here."""
        self._partial = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin to wait for the next one."""
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Note whether it waits for its client, and until when."""
        if self._partial or self._unread is not None or self.cycle is None or self.cycle.response_complete:
            self._idle.setdefault(self, None)
        else:
            self._idle.pop(self, None)
        if not self._partial:
            self._unset_alarm()  # uvicorn ends connections that are kept open
        elif self._late is None:
            self._set_alarm()

    def _set_alarm(self) -> None:
        self._late = self.loop.call_later(ARRIVAL, self._refuse, 408, f"it has not arrived within {ARRIVAL:g} seconds")

    def _unset_alarm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _unset_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _refuse(self, status: int, reason: str) -> None:
        """Say why, unless an answer has begun or nobody has asked, and end."""
        if not self.transport.is_closing():
            answering = not self._in_headers and self.cycle is not None and self.cycle.response_started
            if self._partial and not answering:
                content = msgspec.json.encode(Problem(error=f"request: {reason}"))
                head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
                head += f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
                self.transport.write(head.encode() + content)
            self.transport.close()
            self._end(reason, abort=False)

    def _end(self, reason: str, abort: bool = True) -> None:
        """Close the connection, and give up its place at once, or, without `abort`, once all is read or another one needs it."""
        _note(client=None if self.client is None else self.client[0], reason=reason)
        if abort:
            self._idle.pop(self, None)
            self.connections.discard(self)  # whoever needs the place may be read before this one is lost
            self.transport.abort()
