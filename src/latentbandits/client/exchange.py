"""What both clients do: requests, tries, fallbacks and the queue of rewards, written once, as coroutines.

A coroutine here waits for its `Line` alone. The line of an event loop awaits; that of a thread blocks, so that the coroutine runs to its
end in one step.
"""

import itertools
import json
import logging
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

import httpx
import numpy as np

from latentbandits.agent.decision import Decision, Name
from latentbandits.settings import Above, InvalidValueError, check_int, check_range

FALLBACK, QUEUED = "fallback", "queued"
NEVER_SENT = 0  # in place of a status: nobody listens there
TRY_AGAIN = (NEVER_SENT, 429, 502, 503, 504)
BATCH = 1000  # rewards in one request
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # seconds between two tries of one call
REST = 1.0  # seconds in which a service that did not answer is not asked again, if there is a fallback
Rewards = float | Sequence[float] | np.ndarray
Round = Mapping[str, Any]  # what `ask` takes, by name
_log = logging.getLogger("latentbandits.client")


class ServiceError(ValueError):
    """The service has refused a request, in one sentence; nothing has changed. `status` is that of HTTP."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class ServiceTimeout(ConnectionError):  # noqa: N818
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

    def refused(self) -> ServiceError:
        """Return the exception that says why."""
        return ServiceError(self.reason, self.status)


class Line(Protocol):
    """How requests are sent, and how one waits: all in which an event loop and threads differ."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""

    async def post(self, path: str, content: bytes, headers: Mapping[str, str], seconds: float) -> Reply | None:
        """Send a request, and return what came back; None if there was no answer in time."""

    async def sleep(self, seconds: float) -> None:
        """Wait; not longer than until the line is closed."""

    def alone(self) -> AbstractAsyncContextManager[object]:
        """Return what one caller at a time has."""

    def start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Let something run beside all else, unless it does already."""

    async def close(self) -> None:
        """End all connections, and what runs beside."""


class Exchange:
    """Everything that the clients share.

    Parameters
    ----------
    line : Line
    key, experiment, control, budget, queue
        See `latentbandits.Client`.
    clock : callable, optional
        Seconds, for tests.

    Attributes
    ----------
    pending : rewards, and decisions to withdraw, that wait for the service
    dropped : how many of them were dropped, since the queue was full
    refused : how many of them the service has refused
    fallbacks : decisions that were made here
    """

    def __init__(
        self,
        line: Line,
        key: str,
        experiment: str,
        control: Name | None,
        budget: float,
        queue: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line, self.control, self._clock = line, control, clock
        self.budget = check_range("Client", "budget", budget, Above(0))
        self._most = check_int("Client", "queue", queue, least=0)
        self.pending: deque[_Reward | _Withdrawal] = deque()
        self.dropped = self.refused = self.fallbacks = 0
        self._path = f"/v1/experiments/{quote(experiment, safe='')}"
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        self._rests_until = -1.0
        self._lock = threading.Lock()  # of the queue

    # Calls

    async def ask(self, given: Iterable[Round], key: str | None, single: bool = False) -> list[Decision]:
        """Return decisions for rounds: the service's, or the control arm if it does not answer."""
        self._refuse_closed()
        rounds, key = [_round(**each) for each in given], key or uuid.uuid4().hex
        path, body = ("/decide", rounds[0]) if single else ("/decide/batch", {"rounds": rounds})
        resting = self.control is not None and self._clock() < self._rests_until
        reply = None if resting else await self._try(path, body, key)
        if reply is not None and reply.status == 200:
            return [_decision(payload) for payload in ([reply.payload] if single else reply.payload["decisions"])]
        if reply is not None and reply.final:
            raise reply.refused()
        if self.control is None:
            raise self._unanswered(reply, "decided")
        self.fallbacks += len(rounds)
        if not resting and (reply is None or reply.status != NEVER_SENT):  # perhaps it has decided: nobody was shown it
            self._queue(_Withdrawal(path, body, key))
        return [self._fallback(each.get("available")) for each in rounds]

    def _fallback(self, available: Sequence[Name] | None) -> Decision:
        arm = self.control if available is None or self.control in available else available[0]
        return Decision("", (arm,), (), (None,), FALLBACK)

    async def tell(self, told: Iterable[tuple[Decision | str, Rewards]], correct: bool = False) -> list[str]:
        """Return what became of rewards; those that cannot be sent now are queued."""
        self._refuse_closed()
        rewards = [_Reward(_id(decision), _number(reward), correct) for decision, reward in told]
        real = [reward for reward in rewards if reward.id]  # a decision that was made here has no id
        outcomes = iter(await self._outcomes(real, single=len(rewards) == 1) if real else ())
        return [next(outcomes) if reward.id else FALLBACK for reward in rewards]

    async def _outcomes(self, rewards: "list[_Reward]", single: bool) -> list[str]:
        path, body = ("/reward", rewards[0].body) if single else ("/reward/batch", _together(rewards))
        reply = None if self._clock() < self._rests_until else await self._try(path, body)
        if reply is None or not reply.final:
            for reward in rewards:
                self._queue(reward)
            return [QUEUED] * len(rewards)
        if reply.status != 200:
            raise reply.refused()
        return [payload["outcome"] for payload in ([reply.payload] if single else reply.payload["outcomes"])]

    async def forget(self, decision: Decision | str) -> str:
        """Return what became of a decision that is censored."""
        self._refuse_closed()
        if not _id(decision):
            return FALLBACK
        reply = await self._try("/censor", {"id": _id(decision)})
        if reply is None or not reply.final:
            raise self._unanswered(reply, "answered")
        if reply.status != 200:
            raise reply.refused()
        return str(reply.payload["outcome"])

    def _unanswered(self, reply: Reply | None, done: str) -> ServiceTimeout:
        reason = "no answer" if reply is None else reply.reason
        return ServiceTimeout(f"Client: the service has not {done} within {self.budget:g} s ({reason})")

    # What waits

    async def flush(self, seconds: float) -> bool:
        """Send what is queued, for so many seconds at most; return whether the queue is empty."""
        self._refuse_closed()
        async with self._line.alone():
            until = self._clock() + seconds
            while self.pending and self._clock() < until:
                if not await self._send_first(until):
                    pause = min(REST / 4, until - self._clock())
                    if pause <= 0:
                        break
                    await self._line.sleep(pause)
        return not self.pending

    async def keep_sending(self) -> None:
        """Send what is queued until nothing is, or the line is closed."""
        while self.pending:
            await self._line.sleep(REST)
            if self._line.closed:
                return
            await self.flush(self.budget)

    async def close(self, seconds: float) -> None:
        """Send what is queued, for so many seconds at most, and end."""
        if self.pending and not self._line.closed:
            await self.flush(seconds)
        await self._line.close()

    def _refuse_closed(self) -> None:
        if self._line.closed:
            raise InvalidValueError("Client", "client", "closed", "open (make another one)")

    async def _send_first(self, until: float) -> bool:
        """Send what stands first in the queue, rewards together; return whether the service has answered."""
        with self._lock:
            first, *more = itertools.islice(self.pending, BATCH)
        if isinstance(first, _Withdrawal):
            return await self._withdraw(first, until)
        rewards = [first]
        for item in more:
            if isinstance(item, _Withdrawal):
                break
            rewards.append(item)
        reply = await self._try("/reward/batch", _together(rewards), None, until)
        if reply is None or not reply.final:
            return False
        self._count_refused(reply, len(rewards))
        self._done(rewards)
        return True

    async def _withdraw(self, item: "_Withdrawal", until: float) -> bool:
        """Censor a decision that was perhaps made and never shown: its key says which it is."""
        reply = await self._try(item.path, item.body, item.key, until)
        if reply is None or not reply.final:
            return False
        payload = reply.payload if reply.status == 200 else {"decisions": []}
        for decision in payload.get("decisions", [payload]):
            ended = await self._try("/censor", {"id": decision["id"]}, None, until)
            if ended is None or not ended.final:
                return False
        self._done([item])
        return True

    def _done(self, items: "Sequence[_Reward | _Withdrawal]") -> None:
        """Take items from the queue; those that had to give way are gone already."""
        with self._lock:
            for item in items:
                if self.pending and self.pending[0] is item:
                    self.pending.popleft()

    def _count_refused(self, reply: Reply, number: int) -> None:
        payload = reply.payload.get("outcomes", []) if reply.status == 200 else [{"outcome": "refused"}] * number
        reasons = [outcome.get("error", reply.reason) for outcome in payload if outcome["outcome"] == "refused"]
        self.refused += len(reasons)
        if reasons:
            _log.warning("%d queued rewards were refused, the first since: %s", len(reasons), reasons[0])

    def _queue(self, item: "_Reward | _Withdrawal") -> None:
        """Keep something for later; the oldest gives way if there is too much."""
        with self._lock:
            self.pending.append(item)
            while len(self.pending) > self._most:
                self.pending.popleft()
                self.dropped += 1
        self._line.start(self.keep_sending)

    async def _try(
        self, path: str, body: Mapping[str, object], key: str | None = None, until: float | None = None
    ) -> Reply | None:
        """Send a request until it is answered or the budget is spent; every try has the same key."""
        began = self._clock()
        end = began + self.budget if until is None else min(until, began + self.budget)
        headers = self._headers if key is None else {**self._headers, "idempotency-key": key}
        try:
            content = json.dumps(body, allow_nan=False, default=_plain).encode()
        except ValueError:
            raise InvalidValueError("Client", "request", body, "finite numbers, texts and lists of them") from None
        pause, last = FIRST_PAUSE, Reply(NEVER_SENT)  # type: float, Reply | None
        while True:
            reply = await self._line.post(self._path + path, content, headers, max(end - self._clock(), 0.001))
            if reply is None or reply.status != NEVER_SENT:
                last = reply
            if reply is not None and reply.final:
                self._rests_until = -1.0
                return reply
            wanted = pause * random.uniform(0.5, 1.0)
            if reply is not None and reply.status == 429 and reply.retry_after and reply.retry_after.isdigit():
                wanted = float(reply.retry_after)
            if self._clock() + wanted >= end:
                self._rests_until = self._clock() + REST
                return last
            await self._line.sleep(wanted)
            pause = min(2 * pause, LONGEST_PAUSE)


class _Reward:
    """A reward to tell; compared by identity, since the same may wait twice."""

    def __init__(self, decision: str, reward: object, correct: bool) -> None:
        self.id, self.body = decision, {"id": decision, "reward": reward} | ({"correct": True} if correct else {})


class _Withdrawal:
    """A request to decide that was perhaps heard: its decision is to be censored."""

    def __init__(self, path: str, body: Mapping[str, object], key: str) -> None:
        self.path, self.body, self.key = path, body, key


def _together(rewards: list[_Reward]) -> dict[str, object]:
    return {"rewards": [reward.body for reward in rewards]}


def _round(
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


def _decision(payload: Mapping[str, Any]) -> Decision:
    values = (payload[name] for name in Decision._fields)
    return Decision._make(tuple(value) if isinstance(value, list) else value for value in values)


def _id(decision: Decision | str) -> str:
    return decision.id if isinstance(decision, Decision) else str(decision)


def _number(value: object) -> object:
    """Return rewards as JSON can hold them: true is 1 and false is 0, as for an agent."""
    plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(plain, list | tuple):
        return [_number(each) for each in plain]
    return float(plain) if isinstance(plain, bool) else plain


def _plain(value: object) -> object:
    """Return a number or an array of NumPy as JSON can hold it."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def checked_address(url: str) -> str:
    """Return the base of all addresses, or refuse what cannot be one.

    Examples
    --------
    >>> from latentbandits.client.exchange import checked_address
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
