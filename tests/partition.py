"""A network that a test cuts: connections to a server go through it, are broken, or lead into a black hole."""

import contextlib
import selectors
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Self


class Network:
    """Forwards connections at a port of this machine to a server.

    Parameters
    ----------
    server : path or pair of host and port
        Where they lead: a socket's file, or an address.

    Attributes
    ----------
    port : where it listens
    """

    def __init__(self, server: Path | tuple[str, int]) -> None:
        self._server = server
        self._heard = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._heard.getsockname()[1]
        self._peers: dict[socket.socket, socket.socket] = {}
        self._cut = self._swallowing = self._over = False
        self._lock, self._selector = threading.Lock(), selectors.DefaultSelector()
        self._selector.register(self._heard, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Break all connections, and those that come."""
        with self._lock:
            self._cut = True
            for one in list(self._peers):
                self._end(one)

    def swallow(self) -> None:
        """Let nothing through from here on, and tell nobody: as a firewall does that drops packets."""
        with self._lock:
            self._swallowing = True

    def mend(self) -> None:
        """Forward again; what was swallowed is lost, with its connections."""
        with self._lock:
            if self._swallowing:
                for one in list(self._peers):
                    self._end(one)
            self._cut = self._swallowing = False

    def _work(self) -> None:
        while not self._over:
            for key, _ in self._selector.select(0.05):
                with self._lock, contextlib.suppress(OSError, KeyError, ValueError):
                    self._accept() if key.fileobj is self._heard else self._forward(key.fileobj)  # type: ignore[arg-type]

    def _accept(self) -> None:
        came, _ = self._heard.accept()
        if self._cut:
            came.close()
            return
        if isinstance(self._server, Path):
            other = socket.socket(socket.AF_UNIX)
            other.connect(str(self._server))
        else:
            other = socket.create_connection(self._server)
        for one, two in ((came, other), (other, came)):
            self._peers[one] = two
            self._selector.register(one, selectors.EVENT_READ)

    def _forward(self, one: socket.socket) -> None:
        content = one.recv(65536)
        if self._swallowing:
            return
        if content:
            self._peers[one].sendall(content)
        else:
            self._end(one)

    def _end(self, one: socket.socket) -> None:
        for each in (one, self._peers.get(one)):
            if each is not None and self._peers.pop(each, None) is not None:
                self._selector.unregister(each)
                each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        self._over = True
        self._thread.join()
        self._heard.close()
        self._selector.close()
