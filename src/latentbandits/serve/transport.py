"""Answers leave by one call of the system each: the server writes head and body apart, and a call costs as much as a decision."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 65_536  # bytes that wait for the end of a turn


class Joined:
    """A transport that sends at once what is written within one turn of the event loop.

    Parameters
    ----------
    transport : asyncio.Transport
    """

    __slots__ = ("_loop", "_parts", "_size", "_transport")

    def __init__(self, transport: Any) -> None:
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send something, together with what else is written in this turn."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > MOST:
            self._flush()

    def _flush(self) -> None:
        if self._parts and not self._transport.is_closing():
            self._transport.write(b"".join(self._parts))
        self._parts, self._size = [], 0

    def close(self) -> None:
        """Send what waits, and close."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(HttpToolsProtocol):
    """The server's own protocol on such a transport."""

    def connection_made(self, transport: Any) -> None:
        """Begin to hear somebody."""
        super().connection_made(Joined(transport))  # type: ignore[arg-type]
