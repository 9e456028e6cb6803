"""What clients do: requests, tries, fallbacks and the queue of rewards, as generators that say what to send and how long to wait."""

import itertools
import json
import logging
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from latentbandits.agent.decision import Decision, Name
from latentbandits.settings import Above, Refusal, between, whole

FALLBACK, QUEUED = "fallback", "queued"
NEVER_SENT = 0  # in place of a status: nobody listens there
TRY_AGAIN = (NEVER_SENT, 429, 502, 503, 504)
BATCH = 1000  # rewards in one request
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # seconds between two tries of one call
REST = 1.0  # seconds in which a service that did not answer is not asked again, if there is a fallback
_log = logging.getLogger("latentbandits.client")


class Refused(ValueError):  # noqa: N818
    """The service has refused a request, in one sentence; nothing has changed. `status` is that of HTTP."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Unanswered(ConnectionError):  # noqa: N818
    """The service has not answered within the budget, and there is no fallback."""


class Send(NamedTuple):
    """A step: send this, and come back with a `Reply`, or with None if there was no answer in time."""

    path: str
    body: bytes
    headers: dict[str, str]
    seconds: float


class Wait(NamedTuple):
    """A step: wait."""

    seconds: float


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    retry_after: str | None

    @property
    def said(self) -> Any:
        """The answer; the empty mapping if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


Steps = Generator[Send | Wait, Reply | None, Any]


class Exchange:
    """Everything that the clients share.

    Parameters
    ----------
    key, experiment, control, budget, queue
        See `latentbandits.Client`.

    Attributes
    ----------
    pending : rewards, and decisions to withdraw, that wait for the service
    dropped : how many of them were dropped, since the queue was full
    refused : how many of them the service has refused
    fallbacks : decisions that were made here
    """

    def __init__(
        self, key: str, experiment: str, control: Name | None, budget: float, queue: int, clock: Any = time.monotonic
    ) -> None:
        self.control, self._clock = control, clock
        self.budget = between("Client", "budget", budget, Above(0))
        self._most = whole("Client", "queue", queue, least=0)
        self.pending: deque[tuple[str, Any]] = deque()
        self.dropped = self.refused = self.fallbacks = 0
        self._path = f"/v1/experiments/{quote(experiment, safe='')}"
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        self._rests_until = -1.0
        self._lock = threading.Lock()  # of the queue

    # Calls

    def ask(self, rounds: Sequence[Mapping[str, Any]], key: str | None, single: bool) -> Steps:
        """Return decisions for rounds: the service's, or the control arm if it does not answer."""
        known = key or uuid.uuid4().hex
        path, body = ("/decide", dict(rounds[0])) if single else ("/decide/batch", {"rounds": list(rounds)})
        resting = self.control is not None and self._clock() < self._rests_until
        reply = None if resting else (yield from self._tried(path, body, known))
        if reply is not None and reply.status == 200:
            said = reply.said
            return [_decision(one) for one in ([said] if single else said["decisions"])]
        if reply is not None and reply.status not in TRY_AGAIN:
            raise _refused(reply)
        if self.control is None:
            raise Unanswered(f"Client: the service has not decided within {self.budget:g} s ({_why(reply)})")
        self.fallbacks += len(rounds)
        if not resting and (
            reply is None or reply.status != NEVER_SENT
        ):  # perhaps it has decided: that was never shown
            self._queue("withdraw", (path, body, known))
        return [self._fallback(one.get("available")) for one in rounds]

    def _fallback(self, available: Any) -> Decision:
        arm = self.control if available is None or self.control in available else next(iter(available))
        return Decision("", (arm,), (), (None,), FALLBACK)

    def tell(self, told: Sequence[tuple[Any, Any]]) -> Steps:
        """Return what became of rewards; those that cannot be sent now are queued."""
        outcomes = [FALLBACK] * len(told)
        real = [
            (place, {"id": _id(one), "reward": _reward(value)}) for place, (one, value) in enumerate(told) if _id(one)
        ]
        if not real:
            return outcomes
        said = [body for _, body in real]
        path, body = ("/reward", said[0]) if len(told) == 1 else ("/reward/batch", {"rewards": said})
        resting = self._clock() < self._rests_until
        reply = None if resting else (yield from self._tried(path, body, None))
        if reply is not None and reply.status not in (200, *TRY_AGAIN):
            raise _refused(reply)
        if reply is None or reply.status != 200:
            for one in said:
                self._queue("reward", one)
            found = [QUEUED] * len(said)
        else:
            answer = reply.said
            found = [one["outcome"] for one in ([answer] if len(told) == 1 else answer["outcomes"])]
        for (place, _), outcome in zip(real, found, strict=True):
            outcomes[place] = outcome
        return outcomes

    def plain(self, path: str, decision: Any) -> Steps:
        """Return what became of a decision that is activated or censored."""
        if not _id(decision):
            return FALLBACK
        reply = yield from self._tried(path, {"id": _id(decision)}, None)
        if reply is None or reply.status in TRY_AGAIN:
            raise Unanswered(f"Client: the service has not answered within {self.budget:g} s ({_why(reply)})")
        if reply.status != 200:
            raise _refused(reply)
        return reply.said["outcome"]

    def flush(self, seconds: float) -> Steps:
        """Send what is queued, for so many seconds at most; return whether the queue is empty."""
        until = self._clock() + seconds
        while self.pending and self._clock() < until:
            sent = yield from self._sent(until)
            if not sent:
                pause = min(REST / 4, until - self._clock())
                if pause <= 0:
                    break
                yield Wait(pause)
        return not self.pending

    def _sent(self, until: float) -> Steps:
        """Send what stands first in the queue, rewards together; return whether the service has answered."""
        with self._lock:
            first, *more = list(self.pending)[:BATCH]
        if first[0] == "withdraw":
            return (yield from self._withdrawn(first, until))
        group = [first, *itertools.takewhile(lambda item: item[0] == "reward", more)]
        reply = yield from self._tried("/reward/batch", {"rewards": [body for _, body in group]}, None, until)
        if reply is None or reply.status in TRY_AGAIN:
            return False
        self._count_refused(reply, len(group))
        self._done(group)
        return True

    def _withdrawn(self, item: tuple[str, Any], until: float) -> Steps:
        """Censor a decision that was perhaps made and never shown: its key says which it is."""
        path, body, key = item[1]
        reply = yield from self._tried(path, body, key, until)
        if reply is None or reply.status in TRY_AGAIN:
            return False
        said = reply.said if reply.status == 200 else {"decisions": []}
        for one in said.get("decisions", [said]):
            ended = yield from self._tried("/censor", {"id": one["id"]}, None, until)
            if ended is None or ended.status in TRY_AGAIN:
                return False
        self._done([item])
        return True

    def _done(self, items: list[Any]) -> None:
        """Take items from the queue; those that had to give way are gone already."""
        with self._lock:
            for item in items:
                if self.pending and self.pending[0] is item:
                    self.pending.popleft()

    def _count_refused(self, reply: Reply, number: int) -> None:
        said = reply.said.get("outcomes", []) if reply.status == 200 else [{"outcome": "refused"}] * number
        bad = [one.get("error", _why(reply)) for one in said if one["outcome"] == "refused"]
        self.refused += len(bad)
        if bad:
            _log.warning("%d queued rewards were refused, the first since: %s", len(bad), bad[0])

    def _queue(self, kind: str, what: Any) -> None:
        """Keep something for later; the oldest gives way if there is too much."""
        with self._lock:
            self.pending.append((kind, what))
            while len(self.pending) > self._most:
                self.pending.popleft()
                self.dropped += 1

    def _tried(self, path: str, body: Any, key: str | None, until: float | None = None) -> Steps:
        """Send a request until it is answered or the budget is spent; every try has the same key."""
        began = self._clock()
        end = began + self.budget if until is None else min(until, began + self.budget)
        headers = self._headers if key is None else {**self._headers, "idempotency-key": key}
        try:
            content = json.dumps(body, allow_nan=False, default=_plain).encode()
        except ValueError:
            raise Refusal("Client", "request", body, "finite numbers, texts and lists of them") from None
        pause, found = FIRST_PAUSE, Reply(NEVER_SENT, b"", None)  # type: float, Reply | None
        while True:
            reply = yield Send(self._path + path, content, headers, max(end - self._clock(), 0.001))
            if reply is None or reply.status != NEVER_SENT:
                found = reply
            if reply is not None and reply.status not in TRY_AGAIN:
                self._rests_until = -1.0
                return reply
            wanted = pause * random.uniform(0.5, 1.0)
            if reply is not None and reply.retry_after and reply.retry_after.isdigit() and reply.status == 429:
                wanted = float(reply.retry_after)
            if self._clock() + wanted >= end:
                self._rests_until = self._clock() + REST
                return found
            yield Wait(wanted)
            pause = min(2 * pause, LONGEST_PAUSE)


def as_round(
    context: Any, available: Iterable[Name] | None, unit: Name | None, deferred: bool = False
) -> dict[str, Any]:
    """Return a round as a request has it: what is not given is left out."""
    given = {
        "context": None if context is None else [float(value) for value in context],
        "available": None if available is None else list(available),
        "unit": unit,
        "deferred": deferred or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _decision(said: Mapping[str, Any]) -> Decision:
    arms, chances = said.get("arms"), said.get("probabilities")
    return Decision(
        said["id"],
        (said["arm"],) if arms is None else tuple(arms),
        tuple(said["why"]),
        (said["probability"],) if chances is None else tuple(chances),
        said["by"],
    )


def _id(decision: Any) -> str:
    return str(decision.id if isinstance(decision, Decision) else decision)


def _refused(reply: Reply) -> Refused:
    return Refused(_why(reply), reply.status)


def _why(reply: Reply | None) -> str:
    if reply is None or reply.status == NEVER_SENT:
        return "no answer" if reply is None else "nobody listens there"
    said = reply.said
    return str(said["error"]) if isinstance(said, dict) and "error" in said else f"status {reply.status}"


def _reward(value: Any) -> Any:
    """Return rewards as JSON can hold them: true is 1 and false is 0, as for an agent."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(plain, list | tuple):
        return [_reward(one) for one in plain]
    return float(plain) if isinstance(plain, bool) else plain


def _plain(value: Any) -> Any:
    """Return a number or an array of NumPy as JSON can hold it."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
