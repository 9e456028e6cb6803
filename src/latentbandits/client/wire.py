"""What goes from a client to a service and back: addresses, bodies, answers, and the exceptions that answers become."""

import json
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, get_args, get_origin, get_type_hints

import httpx
import numpy as np

from latentbandits.agent.decision import Decision, Name
from latentbandits.settings import InvalidValueError

NEVER_SENT = 0  # in place of a status: nobody listens there
TRY_AGAIN = (NEVER_SENT, 429, 502, 503, 504)
Rewards = float | Sequence[float] | np.ndarray
Round = Mapping[str, Any]  # what `ask` takes, by name


class ServiceError(Exception):
    """A service has not done what a client asked it, for the reason that it says in one sentence: the base of the next two.

    `status` is that of HTTP, 0 if there was no answer.
    """

    status = NEVER_SENT


class ServiceRefused(ServiceError, ValueError):  # noqa: N818
    """The service has refused a request; nothing has changed."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class ServiceTimeout(ServiceError, ConnectionError):  # noqa: N818
    """The service has not answered within the budget, and there is no fallback."""


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes = b""
    retry_after: str | None = None

    @property
    def payload(self) -> Any:
        """The answer; the empty mapping if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    @property
    def final(self) -> bool:
        """Whether another try would get the same answer."""
        return self.status not in TRY_AGAIN

    @property
    def reason(self) -> str:
        """Why it is no good answer."""
        if self.status == NEVER_SENT:
            return "nobody listens there"
        payload = self.payload
        return str(payload["error"]) if isinstance(payload, dict) and "error" in payload else f"status {self.status}"

    def refused(self) -> ServiceRefused:
        """Return the exception that says why."""
        return ServiceRefused(self.reason, self.status)


class Line(Protocol):
    """How requests are sent, and how one waits: all in which an event loop and threads differ."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""

    async def send(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str], seconds: float
    ) -> Reply | None:
        """Send a request, and return what came back; None if there was no answer in time."""

    async def sleep(self, seconds: float) -> None:
        """Wait; not longer than until the line is closed."""

    def alone(self) -> AbstractAsyncContextManager[object]:
        """Return what one caller at a time has."""

    def start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Let something run beside all else, unless it does already by the same name."""

    async def close(self) -> None:
        """End all connections, and what runs beside."""


def as_round(
    context: Iterable[float] | None = None,
    available: Iterable[Name] | None = None,
    subject: Name | None = None,
) -> dict[str, Any]:
    """Return a round as a request has it: what is not given is left out."""
    given = {
        "context": None if context is None else [float(value) for value in context],
        "available": None if available is None else list(available),
        "subject": subject,
    }
    return {name: value for name, value in given.items() if value is not None}


def as_decision(payload: Mapping[str, Any]) -> Decision:
    """Return a decision by its answer."""
    values = (payload[name] for name in Decision._fields)
    return Decision._make(tuple(value) if isinstance(value, list) else value for value in values)


def read(kind: Any, value: Any) -> Any:
    """Return a value of a type from what JSON says of it: null is NaN where it must be a number.

    Examples
    --------
    >>> from latentbandits.beliefs import Remembered
    >>> from latentbandits.client.wire import read
    >>> read(tuple[Remembered, ...], [{"number": 1, "probability": 0.5, "means": [None, 0.5], "counts": [0, 3], "visits": 1, "seen": 7,
    ...     "dwell": 7, "id": 1}])[0].means
    (nan, 0.5)
    """
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(read(one, each) for one, each in zip(kinds, value, strict=True))
    if isinstance(value, dict):
        return kind(**{name: read(one, value[name]) for name, one in get_type_hints(kind).items() if name in value})
    return math.nan if value is None and kind is float else value


def id_of(decision: Decision | str) -> str:
    """Return the id of a decision, empty if it was made here."""
    return decision.id if isinstance(decision, Decision) else str(decision)


def as_number(value: object) -> object:
    """Return rewards as JSON can hold them: true is 1 and false is 0, as for an agent."""
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(plain, list | tuple):
        return [as_number(each) for each in plain]
    return float(plain) if isinstance(plain, bool | Decimal) else plain


def as_plain(value: object) -> object:
    """Return a number or an array of NumPy as JSON can hold it."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def checked_address(url: str) -> str:
    """Return the base of all addresses, or refuse what cannot be one.

    Examples
    --------
    >>> from latentbandits.client.wire import checked_address
    >>> checked_address("http://127.0.0.1:8000/")
    'http://127.0.0.1:8000'
    >>> checked_address("127.0.0.1:8000")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: Client: url is '127.0.0.1:8000' but must be http://HOST or https://HOST
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host or "%" in parsed.host or (parsed.port or 0) > 65535:
        raise InvalidValueError("Client", "url", url, "http://HOST or https://HOST")
    return str(url).rstrip("/")
