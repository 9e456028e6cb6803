"""The page: files beside this module, served as they are. Nothing outside this folder is ever read."""

from pathlib import Path

from starlette.responses import Response

from latentbandits.serve.endpoint import SECURITY, Call
from latentbandits.serve.problems import Failure

FOLDER = Path(__file__).parent / "files"
MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_FILES = {path.name: path for path in FOLDER.iterdir() if path.suffix in MEDIA}


async def index(call: Call) -> Response:  # noqa: ARG001
    """Show the page."""
    return _sent("index.html")


async def file(call: Call) -> Response:
    """Return a file of the page."""
    name = call.path["file"]
    if name not in _FILES:
        raise Failure(404, f"request: there is no file {name!r} of the page")
    return _sent(name)


def _sent(name: str) -> Response:
    headers = {key.decode(): value.decode() for key, value in SECURITY} | {"cache-control": "no-cache"}
    path = _FILES[name]
    return Response(path.read_bytes(), media_type=MEDIA[path.suffix], headers=headers)
