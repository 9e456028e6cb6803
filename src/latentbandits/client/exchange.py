"""What both clients do: requests, tries, fallbacks and the queue of rewards, written once, as coroutines.

A coroutine here waits for its `Line` alone. The line of an event loop awaits; that of a thread blocks, so that the coroutine runs to its
end in one step.
"""

import itertools
import json
import logging
import math
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from latentbandits.agent.decision import Decision, Name, Stats
from latentbandits.agent.explain import Explanation
from latentbandits.beliefs import Belief
from latentbandits.client.wire import (
    NEVER_SENT,
    Line,
    Reply,
    Rewards,
    Round,
    ServiceTimeout,
    as_decision,
    as_number,
    as_plain,
    as_round,
    id_of,
    read,
)
from latentbandits.settings import Above, AtLeast, InvalidValueError, check_int, check_range, nearest

FALLBACK, QUEUED = "fallback", "queued"
BATCH = 1000  # rewards in one request
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 1.0  # seconds between two tries of one call
REFRESH = 5.0  # seconds between two looks at what a client plays while the service is away
REST = 1.0  # seconds in which a service that did not answer is not asked again, if there is a fallback
_log = logging.getLogger("latentbandits.client")


class Exchange:
    """Everything that the clients share.

    Parameters
    ----------
    line : Line
    key, experiment, control, copy, budget, queue
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
        copy: float,
        budget: float,
        queue: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line, self.control, self._clock = line, control, clock
        self._fresh = check_range("Client", "copy", copy, AtLeast(0))
        self._copy: dict[Name, float] = {}
        self._copied = self._refreshed = -math.inf  # when it was made, and when one was asked for
        self._others: list[Name] = []  # the arms that there are, if the control arm is none of them
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
        if self._others:
            names = [str(name) for name in self._others]
            rule = f"one of {', '.join(names)}{nearest(str(self.control), names)}"
            raise InvalidValueError("Client", "control", self.control, rule)
        rounds, key = [as_round(**each) for each in given], key or uuid.uuid4().hex
        path, body = ("/decide", rounds[0]) if single else ("/decide/batch", {"rounds": rounds})
        resting = self.control is not None and self._clock() < self._rests_until
        reply = None if resting else await self._try(path, body, key)
        if reply is not None and reply.status == 200:
            if self._fresh and self.control is not None and self._clock() >= self._refreshed + REFRESH:
                self._refreshed = self._clock()
                self._line.start(self.refresh)
            return [as_decision(payload) for payload in ([reply.payload] if single else reply.payload["decisions"])]
        if reply is not None and reply.final:
            raise reply.refused()
        if self.control is None:
            raise self._unanswered(reply, "decided")
        self.fallbacks += len(rounds)
        if not resting and (reply is None or reply.status != NEVER_SENT):  # perhaps it has decided: nobody was shown it
            self._queue(_Withdrawal(path, body, key))
        return [self._fallback(each.get("available")) for each in rounds]

    def _fallback(self, available: Sequence[Name] | None) -> Decision:
        if self._clock() <= self._copied + self._fresh:
            likely = {arm: chance for arm, chance in self._copy.items() if available is None or arm in available}
            total = sum(likely.values())
            if total > 0:
                (arm,) = random.choices(list(likely), list(likely.values()))
                return Decision("", (arm,), (), (likely[arm] / total,), FALLBACK)
        assert self.control is not None
        fixed = self.control if available is None or self.control in available else available[0]
        return Decision("", (fixed,), (), (None,), FALLBACK)

    async def refresh(self) -> None:
        """Copy the probabilities of the arms, as they are now."""
        reply = await self._try("/probabilities", None)
        if reply is not None and reply.status == 200:
            payload = reply.payload
            self._copy = dict(zip(payload["arms"], payload["probabilities"], strict=True))
            if self._copied < 0 and self.control not in (known := payload.get("known") or [self.control]):
                self._others = known
            self._copied = self._clock()

    async def tell(
        self, told: Iterable[tuple[Decision | str, Rewards]], correct: bool = False, guard: float | None = None
    ) -> list[str]:
        """Return what became of rewards; those that cannot be sent now are queued."""
        self._refuse_closed()
        rewards = [_Reward(id_of(decision), as_number(reward), correct, guard) for decision, reward in told]
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
        return str((await self._do("/censor", {"id": id_of(decision)}))["outcome"]) if id_of(decision) else FALLBACK

    # What is known

    async def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision was made."""
        if not id_of(decision):
            raise InvalidValueError("Client", "decision", decision, "one of the service (this one was made here)")
        payload = await self._do(f"/decisions/{quote(id_of(decision), safe='')}")
        made: Explanation = read(Explanation, payload | {"time": payload["at_us"] / 1e6})
        return made

    async def belief(self) -> Belief:
        """Return what the policy believes."""
        made: Belief = read(Belief, await self._do("/belief"))
        return made

    async def stats(self) -> Stats:
        """Return what happened to the decisions."""
        made: Stats = read(Stats, await self._do("/stats"))
        return made

    async def change(self, path: str, arm: Name) -> None:
        """Add or retire an arm."""
        await self._do(path, {"arm": arm})

    async def _do(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Return the answer to a request that has no fallback, or raise why there is none."""
        self._refuse_closed()
        reply = await self._try(path, body)
        if reply is None or not reply.final:
            raise self._unanswered(reply, "answered")
        if reply.status != 200:
            raise reply.refused()
        return reply.payload

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
        self, path: str, body: Mapping[str, object] | None, key: str | None = None, until: float | None = None
    ) -> Reply | None:
        """Send a request until it is answered or the budget is spent; every try has the same key. Without a body it asks."""
        began = self._clock()
        end = began + self.budget if until is None else min(until, began + self.budget)
        headers = self._headers if key is None else {**self._headers, "idempotency-key": key}
        try:
            content = b"" if body is None else json.dumps(body, allow_nan=False, default=as_plain).encode()
        except ValueError:
            raise InvalidValueError("Client", "request", body, "finite numbers, texts and lists of them") from None
        pause, last = FIRST_PAUSE, Reply(NEVER_SENT)  # type: float, Reply | None
        while True:
            method, left = "GET" if body is None else "POST", max(end - self._clock(), 0.001)
            reply = await self._line.send(method, self._path + path, content, headers, left)
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

    def __init__(self, decision: str, reward: object, correct: bool, guard: float | None) -> None:
        more = ({"correct": True} if correct else {}) | ({} if guard is None else {"guard": float(guard)})
        self.id, self.body = decision, {"id": decision, "reward": reward, **more}


class _Withdrawal:
    """A request to decide that was perhaps heard: its decision is to be censored."""

    def __init__(self, path: str, body: Mapping[str, object], key: str) -> None:
        self.path, self.body, self.key = path, body, key


def _together(rewards: list[_Reward]) -> dict[str, object]:
    return {"rewards": [reward.body for reward in rewards]}
