"""What somebody should look at, once a minute: a line of the log, a number for Prometheus, and a request to a webhook.

Requests are signed as Standard Webhooks has it (https://www.standardwebhooks.com): libraries for it check them. They are sent again for
a few minutes, and never make anything else wait. What holds is said when it begins and when it is over; after a restart it is said again.
"""

import asyncio
import base64
import binascii
import hmac
import json
import logging
import math
import os
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from latentbandits.serve import history
from latentbandits.settings import InvalidValueError
from latentbandits.store import FencedError, Minute, View
from latentbandits.store.gain import Gain, Ratio, gain, ratio
from latentbandits.store.minutes import DAY_US, MINUTE_US

if TYPE_CHECKING:
    from latentbandits.serve.service import Service

VARIABLE = "LATENTBANDITS_WEBHOOK_SECRET"
SHORTEST = 24  # bytes of a secret
EVERY = 60.0  # seconds between two looks
PAUSES = (0.0, 1.0, 5.0, 30.0, 120.0)  # seconds before each try to send an alert
PATIENCE = 5.0  # seconds that a webhook may take to answer
MOST = 100  # alerts that may wait to be sent
EXPECTED = 20.0  # rewards that must be missing before the pipe is said to be dry: by chance with probability exp(-20)
SURE = 0.8  # probability from which on another regime is one
KINDS = ("regime", "guardrail", "rewards", "gain", "ratio")
log = logging.getLogger("latentbandits.serve")


class Alert(NamedTuple):
    """One thing to look at.

    Attributes
    ----------
    experiment, kind : of which experiment, and one of `KINDS`
    about : of several of a kind, which
    text : a sentence for people
    """

    experiment: str
    kind: str
    about: str
    text: str


class Alerts:
    """What is alerted of now.

    Parameters
    ----------
    service : Service
        Its setting `webhook` is where alerts go; the secret, in base64, is in the environment.

    Attributes
    ----------
    firing : what holds now
    regimes : how often the regime has changed, by experiment, since the start
    lost : alerts that could not be delivered
    """

    def __init__(self, service: "Service") -> None:
        self._service, self._url = service, service.settings.webhook
        self._secret = None if self._url is None else _secret()
        self._present: dict[str, int] = {}
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST)
        self.firing: dict[tuple[str, str, str], Alert] = {}
        self.regimes: Counter[str] = Counter()
        self.lost = 0

    async def look(self) -> None:
        """Look at every experiment that is held here, and say what has begun or is over."""
        service = self._service
        for name in await service.writer.look(lambda ledger: list(ledger.counts())):
            try:
                view = await service.view(name)
            except FencedError:  # another replica has it by now, and alerts
                self._forget(name)
                continue
            if view.status == "archived":
                self._forget(name)
                continue
            self._see_regime(view)
            now_us = service.now_us()
            minutes, gained, compared = await service.read(lambda reads: _read(reads, view, now_us))  # noqa: B023
            self._say(view.name, conditions(view, minutes, now_us, gained, compared))

    def _see_regime(self, view: View) -> None:
        present = None if view.belief is None else view.belief.present
        if present is None or present.probability < SURE:
            return
        before = self._present.get(view.name)
        self._present[view.name] = present.number
        if before is not None and before != present.number:
            self.regimes[view.name] += 1
            text = f"the regime is {present.number} now, after {before} (probability {present.probability:.2f})"
            self._send(Alert(view.name, "regime", str(present.number), text), "begun")

    def _say(self, name: str, found: Sequence[Alert]) -> None:
        """Say what is new, and what is over."""
        now = {alert[:3]: alert for alert in found}
        before = {key: alert for key, alert in self.firing.items() if key[0] == name}
        for key, alert in now.items():
            if key not in before:
                self._send(alert, "begun")
        for key, alert in before.items():
            if key not in now:
                self._send(alert, "over")
                del self.firing[key]
        self.firing |= now

    def _forget(self, name: str) -> None:
        self.firing = {key: alert for key, alert in self.firing.items() if key[0] != name}
        self._present.pop(name, None)

    def _send(self, alert: Alert, state: str) -> None:
        """Log an alert, and have it sent."""
        data = {**alert._asdict(), "state": state}
        log.log(logging.WARNING if state == "begun" else logging.INFO, "alert", extra=data)
        if self._url is None:
            return
        timestamp = datetime.now(UTC).isoformat()
        try:
            self._waiting.put_nowait({"type": f"{alert.kind}.{state}", "timestamp": timestamp, "data": data})
        except asyncio.QueueFull:
            self._lose(f"{MOST} wait already")

    async def deliver(self) -> None:
        """Send what waits, one after the other, as long as the service runs."""
        async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
            while True:
                message = await self._waiting.get()
                content, key = json.dumps(message).encode(), f"msg_{secrets.token_hex(12)}"
                reason = ""
                for pause in PAUSES:
                    await asyncio.sleep(pause)
                    reason = await self._try(client, key, content)
                    if not reason:
                        break
                else:
                    self._lose(reason)

    async def _try(self, client: httpx.AsyncClient, key: str, content: bytes) -> str:
        """Send once; return why it has not arrived, nothing if it has."""
        assert self._url is not None
        assert self._secret is not None
        headers = signed(self._secret, key, round(time.time()), content)
        try:
            answer = await client.post(self._url, content=content, headers=headers)
        except Exception as problem:  # whatever a network does: it must go on
            return str(problem) or type(problem).__name__
        return "" if answer.is_success else f"status {answer.status_code}"

    def _lose(self, reason: str) -> None:
        self.lost += 1
        log.error("alert not delivered", extra={"error": reason})


async def watch(service: "Service") -> None:
    """Look once a minute, and send what is found: a task of a service."""
    async with asyncio.TaskGroup() as group:
        group.create_task(service.alerts.deliver())
        while True:
            await asyncio.sleep(EVERY)
            try:
                await service.alerts.look()
            except Exception as problem:  # it must go on, whatever it was
                log.error("alerts failed", extra={"error": str(problem)})


def conditions(view: View, minutes: Sequence[Minute], now_us: int, gained: Gain, compared: Ratio | None) -> list[Alert]:
    """Return what holds and should not."""
    found = []
    for one in view.broken:
        text = f"arm {one.arm} breaks the guardrail in regime {one.regime}: its mean is {one.mean:.4g} after {one.told} values"
        found.append(Alert(view.name, "guardrail", f"{one.arm} in {one.regime}", text))
    if is_dry(minutes, now_us // MINUTE_US, _lag(view, minutes)):
        found.append(Alert(view.name, "rewards", "", "decisions go on, and their rewards have stopped"))
    if gained.high is not None and gained.high <= 0:
        text = f"the policy is no better than the holdback: {gained.low:.4g} to {gained.high:.4g} per decision"
        found.append(Alert(view.name, "gain", "", text))
    if compared is not None and compared.mismatch:
        text = f"{compared.held} of {compared.subjects} subjects are held back, which is not {compared.share:g} of them by chance"
        found.append(Alert(view.name, "ratio", "", text))
    return found


def is_dry(rows: Sequence[Minute], minute: int, lag: int) -> bool:
    """Return whether rewards have stopped, though decisions go on whose rewards should be here, `lag` minutes after them."""
    last = max((row.minute for row in rows if row.rewarded), default=None)
    if last is None:
        return False
    rewarded = sum(row.rewarded for row in rows)
    decided = sum(row.decided for row in rows if row.minute <= last)
    since = sum(row.decided for row in rows if last < row.minute < minute - lag)
    return rewarded * since >= EXPECTED * max(1, decided)


def _lag(view: View, minutes: Sequence[Minute]) -> int:
    """Return after how many minutes the reward of a decision should be here."""
    delay, window = history.mean_delay(list(minutes)) or 0.0, view.spec.window_us or 0
    return math.ceil(min(max(3 * delay, window), DAY_US) / MINUTE_US)


def _read(reads: Any, view: View, now_us: int) -> tuple[list[Minute], Gain, Ratio | None]:
    """Return what must be read of an experiment: its last minutes, and the comparison."""
    since = now_us - 60 * MINUTE_US - 2 * min(view.spec.window_us or 0, DAY_US)
    return reads.minutes(view.id, since // MINUTE_US), gain(reads, view.id), ratio(reads, view.id, view.head)


def signed(secret: bytes, key: str, at: int, content: bytes) -> dict[str, str]:
    """Return the headers of a message, by which whoever has the secret knows that it is ours, and new.

    Examples
    --------
    >>> from latentbandits.serve.alerts import signed
    >>> signed(b"0" * 24, "msg_1", 1_800_000_000, b"{}")["webhook-signature"]
    'v1,...'
    """
    digest = hmac.digest(secret, f"{key}.{at}.".encode() + content, "sha256")
    return {
        "content-type": "application/json",
        "webhook-id": key,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _secret() -> bytes:
    """Return the secret of the environment, or refuse to send anything unsigned."""
    text = os.environ.get(VARIABLE, "").removeprefix("whsec_")
    try:
        secret = base64.b64decode(text, validate=True)
    except binascii.Error:
        secret = b""
    if len(secret) < SHORTEST:
        rule = f"at least {SHORTEST} bytes in base64, since there is a webhook (`openssl rand -base64 32` makes some)"
        raise InvalidValueError("serve", VARIABLE, f"{len(text)} characters", rule)
    return secret
