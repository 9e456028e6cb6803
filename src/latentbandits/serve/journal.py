"""Structured logs: a JSON object per line on the error stream. Keys are never in them."""

import sys
import threading
import time
from typing import Any, TextIO

import msgspec


class Journal:
    r"""Writes lines.

    Parameters
    ----------
    stream : text stream, optional
        The error stream if not given.

    Examples
    --------
    >>> import io
    >>> from latentbandits.serve.journal import Journal
    >>> stream = io.StringIO()
    >>> Journal(stream).note("started", port=8000)
    >>> stream.getvalue()
    '{"at":"...Z","event":"started","port":8000}\n'
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def note(self, event: str, **said: Any) -> None:
        """Write a line: what happened, and what there is to say about it."""
        seconds, millis = divmod(time.time_ns() // 1_000_000, 1000)
        at = time.strftime(f"%Y-%m-%dT%H:%M:%S.{millis:03}Z", time.gmtime(seconds))
        line = msgspec.json.encode({"at": at, "event": event, **said}).decode()
        with self._lock:
            print(line, file=self._stream or sys.stderr, flush=True)
