"""What is watched: whether the service lives, counters, live views, the log as a file, and the description of the interface."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response, StreamingResponse

from latentbandits import __version__
from latentbandits.serve.answers import Alive, Happened, Now, Ready
from latentbandits.serve.endpoint import Call, Table, sentence
from latentbandits.serve.fields import ONE, Answer, Problem
from latentbandits.serve.read import as_event, now
from latentbandits.store import FencedError
from latentbandits.store import export as write_log

ROUTES = Table()
TAIL = 20  # events in one message of a live view
EVERY = 1.0  # seconds between two of them
MEDIA = {
    "csv": "text/csv",
    "dsjson": "application/x-ndjson",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


class Beat(Answer):
    """A message of a live view: the experiment now, and the events since the message before, the newest first, the last 20 of them."""

    now: Now
    tail: list[Happened]


@ROUTES.route("GET", f"{ONE}/stream", "read", "Watch, once a second", media="text/event-stream")
async def stream(call: Call) -> Response:
    """Watch an experiment: a message per second, of the type `beat`; `gone` if the experiment cannot be read."""
    service = call.service
    if service.streams >= service.settings.streams:
        text = f"serve: {service.streams} live views are open, the most that may be"
        raise HTTPException(503, text, {"retry-after": "10"})
    await service.view(call.experiment)
    return StreamingResponse(_beats(call), media_type="text/event-stream", headers={"cache-control": "no-store"})


async def _beats(call: Call) -> AsyncIterator[bytes]:
    service, last = call.service, 0
    service.streams += 1
    try:
        while not service.stopping.is_set():
            try:
                view, present = await now(service, call.experiment)
                latest = await service.read(lambda reads, number=view.id: reads.latest(number, TAIL))  # type: ignore[misc]
                beat = Beat(now=present, tail=[as_event(event, view.names) for event in latest if event.seq > last])
                last = max([last, *(event.seq for event in latest)])
                yield b"event: beat\ndata: " + msgspec.json.encode(beat) + b"\n\n"
            except Exception as problem:
                yield b"event: gone\ndata: " + msgspec.json.encode(Problem(error=sentence(problem))) + b"\n\n"
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(service.stopping.wait(), EVERY)
    finally:
        service.streams -= 1


@ROUTES.route(
    "GET", f"{ONE}/log.{{kind}}", "read", "The log: log.csv, log.jsonl, log.parquet, log.dsjson", media="text/csv"
)
async def export(call: Call) -> Response:
    """Return the log of all decisions: as CSV, JSON lines, Parquet, or Vowpal Wabbit's dsjson."""
    name, kind = call.experiment, call.path["kind"]
    if kind not in MEDIA:
        raise HTTPException(404, f"request: log.{kind} is none of {', '.join(f'log.{each}' for each in MEDIA)}")
    with tempfile.NamedTemporaryFile(suffix=f".{kind}", delete=False) as file:
        path = Path(file.name)
    try:
        await asyncio.to_thread(write_log, call.service.reads, name, path)
    except BaseException as problem:
        path.unlink()
        if isinstance(problem, ModuleNotFoundError):
            raise HTTPException(501, f"serve: {problem}") from None
        raise
    return FileResponse(path, media_type=MEDIA[kind], filename=f"{name}.{kind}", background=BackgroundTask(path.unlink))


@ROUTES.route("GET", "/health", None, "Whether it runs")
async def alive(call: Call) -> Alive:  # noqa: ARG001
    """Say that the service runs."""
    return Alive(status="ok", version=__version__)


@ROUTES.route("GET", "/ready", None, "Whether it can decide")
async def ready(call: Call) -> Ready:
    """Say whether all experiments are open, so that it can decide."""
    service = call.service
    if not service.ready or service.stopping.is_set():
        text = "serve: experiments are not open (it starts, or it stops); try again"
        raise HTTPException(503, text, {"retry-after": "1"})
    rows = await service.read(lambda reads: reads.experiments())
    return Ready(status="ready", experiments=len(rows), waiting=service.writer.waiting, failed=service.failed)


@ROUTES.route("GET", "/metrics", "read", "Counters for Prometheus", everywhere=True, media="text/plain")
async def metrics(call: Call) -> Response:
    """Return counters in the format of Prometheus."""
    service, meters = call.service, call.service.meters
    rows = await service.read(lambda reads: reads.experiments())
    meters.forget_experiments()
    for row in rows:
        if row.status != "archived" and row.name not in service.failed:
            with contextlib.suppress(FencedError):  # another replica counts those that it holds
                view = await service.view(row.name)
                meters.set("open_decisions", "Decisions that wait for rewards", view.open, row.name)
                for kind, count in view.counts.items():
                    meters.set(f"{kind}_total", f"Decisions or rewards: {kind}", count, row.name)
    meters.set("waiting", "Requests that wait for the store", service.writer.waiting)
    meters.set("groups", "Transactions since the start", service.writer.groups)
    meters.set("stored", "Requests in them", service.writer.stored)
    meters.set("streams", "Live views that are open", service.streams)
    return Response(meters.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
