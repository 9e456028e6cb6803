"""The client that waits."""

import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx
import numpy as np

from latentbandits.agent.decision import Decision, Name
from latentbandits.client.exchange import NEVER_SENT, REST, Exchange, Reply, Send, Steps, as_round
from latentbandits.settings import Refusal

UNIX = "unix:"


class Client:
    """An experiment of a service, with the verbs of an agent. Threads may share it, and forked processes.

    If the service does not answer within the budget, `ask` returns the control arm, marked by ``decision.by == "fallback"``; a reward for
    it is not sent. Rewards for the service's decisions that cannot be sent are queued, and sent when it is back.

    Parameters
    ----------
    url : str
        Where the service is: ``"http://127.0.0.1:8000"``, or ``"unix:/run/latentbandits.sock"`` for one that listens at a Unix socket.
    key : str
        A key with the roles decide and reward.
    experiment : str
        The experiment.
    control : str or int, optional
        The arm to play when the service does not answer; if not given, `ask` raises `Unanswered` then.
    budget : float
        Seconds that a call may take, tries included.
    queue : int
        Rewards that may wait for the service; beyond it the oldest are dropped, and `dropped` counts them.
    transport : httpx.BaseTransport, optional
        How requests are sent, for tests.

    Examples
    --------
    >>> import latentbandits as lb
    >>> client = lb.Client("http://127.0.0.1:9", "a key", "offers", control="red", budget=0.02)  # nobody listens there
    >>> decision = client.ask(unit="visitor-7")
    >>> decision.arm, decision.by
    ('red', 'fallback')
    >>> client.tell(decision, 1.0)
    'fallback'
    >>> client.close()

    With a service it is used as an agent is:

    >>> from latentbandits.serve import served
    >>> with served("offers", arms=["red", "blue"], policy="ucb1") as (url, key):
    ...     with lb.Client(url, key, "offers", control="red", budget=5) as client:
    ...         decision = client.ask()
    ...         client.tell(decision, 0.5), client.tell(decision, 0.5), decision.by
    ('accepted', 'duplicate', 'policy')
    """

    def __init__(
        self,
        url: str,
        key: str,
        experiment: str,
        *,
        control: Name | None = None,
        budget: float = 0.25,
        queue: int = 10_000,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._exchange = Exchange(key, experiment, control, budget, queue)
        self._address, self._transport = address(url), transport
        self._process, self._http = -1, None  # type: int, httpx.Client | None
        self._lock, self._connecting = threading.Lock(), threading.Lock()
        self._sending: threading.Thread | None = None
        self._closed = threading.Event()

    def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        unit: Name | None = None,
        *,
        key: str | None = None,
        deferred: bool = False,
    ) -> Decision:
        """Return a decision: see `Agent.ask`, and `DurableAgent.ask` for `key` and `deferred`. A key is made if none is given."""
        found: Decision = self._take(self._exchange.ask([as_round(context, available, unit, deferred)], key, True))[0]
        return found

    def ask_many(self, rounds: Iterable[Mapping[str, Any]], *, key: str | None = None) -> list[Decision]:
        """Return decisions for up to 1,000 rounds, in one request: each a mapping with what `ask` takes."""
        wanted = [as_round(**{"context": None, "available": None, "unit": None, **one}) for one in rounds]
        found: list[Decision] = self._take(self._exchange.ask(wanted, key, False))
        return found

    def tell(self, decision: Decision | str, rewards: float | Sequence[float] | np.ndarray) -> str:
        """Tell the rewards of a decision: "accepted", "duplicate", "late", "queued", or "fallback" for a decision that was made here."""
        found: str = self._take(self._exchange.tell([(decision, rewards)]))[0]
        return found

    def tell_many(self, told: Iterable[tuple[Decision | str, float | Sequence[float]]]) -> list[str]:
        """Tell rewards of up to 1,000 decisions in one request; what is refused is "refused", and the others count."""
        found: list[str] = self._take(self._exchange.tell(list(told)))
        return found

    def activate(self, decision: Decision | str) -> str:
        """Say that a deferred decision was shown."""
        return str(self._take(self._exchange.plain("/activate", decision)))

    def forget(self, decision: Decision | str) -> str:
        """End a decision whose rewards will never arrive."""
        return str(self._take(self._exchange.plain("/censor", decision)))

    @property
    def pending(self) -> int:
        """What waits for the service: rewards, and decisions to withdraw since they were never shown."""
        return len(self._exchange.pending)

    @property
    def dropped(self) -> int:
        """What was dropped, since too much waited."""
        return self._exchange.dropped

    @property
    def fallbacks(self) -> int:
        """Decisions that were made here, since the service did not answer."""
        return self._exchange.fallbacks

    def flush(self, seconds: float = 10.0) -> bool:
        """Send what waits, for so many seconds at most; return whether nothing waits any more."""
        refuse_closed(self._closed.is_set())
        with self._lock:
            return bool(self._driven(self._exchange.flush(seconds)))

    def close(self, seconds: float = 1.0) -> None:
        """Send what waits, for so many seconds at most, and end."""
        if self._exchange.pending and not self._closed.is_set():
            self.flush(seconds)
        self._closed.set()
        if self._http is not None and self._process == os.getpid():
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, steps: Steps) -> Any:
        """Take steps, and see to it that what is queued will be sent."""
        refuse_closed(self._closed.is_set())
        found = self._driven(steps)
        if self._exchange.pending:
            self._send_later()
        return found

    def _driven(self, steps: Steps) -> Any:
        answer: Reply | None = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Send):
                    answer = self._sent(step)
                else:
                    time.sleep(step.seconds)
                    answer = None
        except StopIteration as end:
            return end.value

    def _sent(self, step: Send) -> Reply | None:
        try:
            reply = self._connected().post(step.path, content=step.body, headers=step.headers, timeout=step.seconds)
            return Reply(reply.status_code, reply.content, reply.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return Reply(NEVER_SENT, b"", None)
        except httpx.TransportError:
            return None

    def _connected(self) -> httpx.Client:
        """Return the connections of this process: a forked one needs its own."""
        with self._connecting:
            if self._http is None or self._process != os.getpid():
                base, path = self._address
                transport = self._transport or (httpx.HTTPTransport(uds=path) if path else None)
                self._http, self._process = httpx.Client(base_url=base, transport=transport), os.getpid()
            return self._http

    def _send_later(self) -> None:
        """Start the thread that sends what is queued, unless it is at work."""
        if (self._sending is None or not self._sending.is_alive()) and not self._closed.is_set():
            self._sending = threading.Thread(target=self._keep_sending, name="latentbandits-client", daemon=True)
            self._sending.start()

    def _keep_sending(self) -> None:
        while self._exchange.pending and not self._closed.wait(REST):
            with self._lock:
                self._driven(self._exchange.flush(self._exchange.budget))


def address(url: str) -> tuple[str, str | None]:
    """Return the base of all addresses, and the path of the Unix socket if there is one; or refuse what cannot be an address.

    Examples
    --------
    >>> from latentbandits.client.blocking import address
    >>> address("unix:/run/lb.sock"), address("http://127.0.0.1:8000/")
    (('http://localhost', '/run/lb.sock'), ('http://127.0.0.1:8000', None))
    >>> address("127.0.0.1:8000")
    Traceback (most recent call last):
    latentbandits.settings.Refusal: Client: url is '127.0.0.1:8000' but must be http://HOST, https://HOST or unix:PATH
    """
    if isinstance(url, str) and url.startswith(UNIX) and (path := url.removeprefix(UNIX).removeprefix("//")):
        return "http://localhost", path
    try:
        found = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        found = httpx.URL("")
    if found.scheme not in ("http", "https") or not found.host or "%" in found.host or (found.port or 0) > 65535:
        raise Refusal("Client", "url", url, "http://HOST, https://HOST or unix:PATH")
    return str(url).rstrip("/"), None


def refuse_closed(closed: bool) -> None:
    """Refuse a call of a client that was closed."""
    if closed:
        raise Refusal("Client", "client", "closed", "open (make another one)")
