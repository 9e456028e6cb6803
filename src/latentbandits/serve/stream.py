"""A live view: what an experiment is now, and what has just happened to it, once a second, as server-sent events."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from starlette.responses import StreamingResponse

from latentbandits.serve.answers import Answer, Happened, Now
from latentbandits.serve.endpoint import SECURITY, Call
from latentbandits.serve.looks import happened, now
from latentbandits.serve.problems import Failure, failure

TAIL = 20  # events in one message
EVERY = 1.0  # seconds


class Beat(Answer):
    """A message of the stream: the experiment now, and the events since the message before, the newest first, the last 20 of them."""

    now: Now
    tail: list[Happened]


async def stream(call: Call) -> StreamingResponse:
    """Watch an experiment: a message per second, of the type `beat`; `gone` if the experiment cannot be read."""
    service = call.service
    if service.streams >= service.settings.streams:
        raise Failure(503, f"serve: {service.streams} live views are open, the most that may be", retry_after="10")
    await service.view(call.experiment)
    headers = {name.decode(): value.decode() for name, value in SECURITY} | {"cache-control": "no-store"}
    return StreamingResponse(_beats(call), media_type="text/event-stream", headers=headers)


async def _beats(call: Call) -> AsyncIterator[bytes]:
    service, name, last = call.service, call.experiment, 0
    service.streams += 1
    try:
        while not service.stopping.is_set():
            try:
                view = await service.view(name)
                latest = await service.read(lambda reads, number=view.id: reads.latest(number, TAIL))  # type: ignore[misc]
                beat = Beat(
                    now=await now(service, view), tail=[happened(one, view.names) for one in latest if one.seq > last]
                )
                last = max([last, *(one.seq for one in latest)])
                yield b"event: beat\ndata: " + msgspec.json.encode(beat) + b"\n\n"
            except Exception as problem:
                yield b"event: gone\ndata: " + msgspec.json.encode({"error": str(failure(problem))}) + b"\n\n"
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(service.stopping.wait(), EVERY)
    finally:
        service.streams -= 1
