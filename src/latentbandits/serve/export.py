"""The log of an experiment as a file that `latentbandits diagnose` and `Log.read` take: a row per decision and unit."""

import asyncio
import csv
import io
import json
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response, StreamingResponse

from latentbandits.agent.decision import Name
from latentbandits.serve.endpoint import SECURITY, Call
from latentbandits.serve.problems import Failure
from latentbandits.store import Event, Reads
from latentbandits.store.events import ENDINGS
from latentbandits.store.state import arms_of, chances_of

CHUNK = 5000  # events that are read at once
COLUMNS = ("decision", "at", "unit", "arm", "propensity", "by", "why", "reward", "ended")
MEDIA = {"csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}


async def export(call: Call) -> Response:
    """Return the log of all decisions: as CSV, JSON lines or Parquet."""
    kind = call.path["kind"]
    if kind not in MEDIA:
        raise Failure(404, f"request: log.{kind} is none of {', '.join(f'log.{one}' for one in MEDIA)}")
    service = call.service
    view = await service.view(call.experiment)
    columns = [*COLUMNS, *(f"context_{n}" for n in range(int(getattr(view.spec.policy, "covariates", 0))))]
    headers = {name.decode(): value.decode() for name, value in SECURITY}
    headers["content-disposition"] = f'attachment; filename="{call.experiment}.{kind}"'
    chunks = rows(service.reads, view.id, view.names, view.head)
    if kind == "parquet":
        path = await asyncio.to_thread(_parquet, chunks, columns)
        return FileResponse(path, media_type=MEDIA[kind], headers=headers, background=BackgroundTask(path.unlink))
    text = _csv if kind == "csv" else _lines
    return StreamingResponse(_sent(text(chunks, columns)), media_type=MEDIA[kind], headers=headers)


def rows(reads: Reads, experiment: int, arms: list[Name], head: int) -> Iterator[list[dict[str, Any]]]:
    """Yield rows in pieces: a decision's when it ends, and those that are open at the end. Only open ones are kept in memory."""
    waiting: dict[str, Event] = {}
    after = 0
    while after < head:
        events = [event for event in reads.events(experiment, after, CHUNK) if event.seq <= head]
        if not events:
            break
        found: list[dict[str, Any]] = []
        for event in events:
            if event.kind == "decide":
                waiting[str(event.key)] = event
            elif event.kind in ENDINGS and event.key in waiting:
                found += _rows(waiting.pop(event.key), event, arms)
        yield found
        after = events[-1].seq
    yield [row for event in waiting.values() for row in _rows(event, None, arms)]


def _rows(made: Event, ended: Event | None, arms: list[Name]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a decision, one per unit."""
    said = made.said
    played, chances = arms_of(made, said), chances_of(made, said)
    rewards = ended.rewards if ended is not None and ended.kind != "censor" else [None] * len(played)
    seconds, micros = divmod(made.at_us, 1_000_000)
    at = time.strftime(f"%Y-%m-%dT%H:%M:%S.{micros:06}Z", time.gmtime(seconds))
    context = {f"context_{n}": value for n, value in enumerate(said.get("context", ()))}
    for unit, arm in enumerate(played):
        yield {
            "decision": made.key,
            "at": at,
            "unit": made.unit if len(played) == 1 else str(unit),
            "arm": arms[arm],
            "propensity": chances[unit],
            "by": made.decided_by,
            "why": " ".join(said.get("why", ())) or None,
            "reward": rewards[unit],
            "ended": "open" if ended is None else ended.kind,
            **context,
        }


def _csv(chunks: Iterator[list[dict[str, Any]]], columns: list[str]) -> Iterator[bytes]:
    yield (",".join(columns) + "\n").encode()
    for chunk in chunks:
        text = io.StringIO()
        csv.DictWriter(text, columns, lineterminator="\n").writerows(chunk)
        yield text.getvalue().encode()


def _lines(chunks: Iterator[list[dict[str, Any]]], columns: list[str]) -> Iterator[bytes]:  # noqa: ARG001
    for chunk in chunks:
        yield "".join(json.dumps(row) + "\n" for row in chunk).encode()


def _parquet(chunks: Iterator[list[dict[str, Any]]], columns: list[str]) -> Path:
    """Write a file and return where it is."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise Failure(501, "serve: pyarrow is not installed, `pip install 'latentbandits[report]'` brings it") from None
    kinds = {"propensity": pyarrow.float64(), "reward": pyarrow.float64()}
    schema = pyarrow.schema(
        [
            (name, pyarrow.float64() if name.startswith("context_") else kinds.get(name, pyarrow.string()))
            for name in columns
        ]
    )
    with tempfile.NamedTemporaryFile(suffix=".parquet", delete=False) as file:
        path = Path(file.name)
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for chunk in chunks:
            plain = [{**row, "arm": str(row["arm"])} for row in chunk]
            if plain:
                writer.write_table(pyarrow.Table.from_pylist(plain, schema=schema))
    return path


async def _sent(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield pieces that are made on another thread."""
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk
