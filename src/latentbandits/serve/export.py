"""The log of an experiment as a file that `latentbandits diagnose` and `Log.read` take: what `latentbandits store export` writes."""

import asyncio
import tempfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from latentbandits.serve.endpoint import SECURITY, Call
from latentbandits.serve.problems import Failure
from latentbandits.store import export as written

MEDIA = {
    "csv": "text/csv",
    "dsjson": "application/x-ndjson",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


async def export(call: Call) -> Response:
    """Return the log of all decisions: as CSV, JSON lines, Parquet, or Vowpal Wabbit's dsjson."""
    name, kind = call.experiment, call.path["kind"]
    if kind not in MEDIA:
        raise Failure(404, f"request: log.{kind} is none of {', '.join(f'log.{one}' for one in MEDIA)}")
    with tempfile.NamedTemporaryFile(suffix=f".{kind}", delete=False) as file:
        path = Path(file.name)
    try:
        await asyncio.to_thread(written, call.service.reads, name, path)
    except BaseException as problem:
        path.unlink()
        if isinstance(problem, ModuleNotFoundError):
            raise Failure(501, f"serve: {problem}") from None
        raise
    headers = {key.decode(): value.decode() for key, value in SECURITY}
    headers["content-disposition"] = f'attachment; filename="{name}.{kind}"'
    return FileResponse(path, media_type=MEDIA[kind], headers=headers, background=BackgroundTask(path.unlink))
