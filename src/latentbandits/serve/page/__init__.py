"""The page: files beside this module, served as they are. Nothing outside this folder is ever read."""

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response

from latentbandits.serve.endpoint import Call, Table

ROUTES = Table()
FOLDER = Path(__file__).parent / "files"
MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FILES = {path.name: path for path in FOLDER.iterdir() if path.suffix in MEDIA}


@ROUTES.route("GET", "/", None, "The page", media="text/html")
async def index(call: Call) -> Response:  # noqa: ARG001
    """Show the page."""
    return _response("index.html")


@ROUTES.route("GET", "/files/{file}", None, "A file of the page", media="text/html")
async def file(call: Call) -> Response:
    """Return a file of the page."""
    name = call.path["file"]
    if name not in _FILES:
        raise HTTPException(404, f"request: there is no file {name!r} of the page")
    return _response(name)


def _response(name: str) -> Response:
    path = _FILES[name]
    return Response(path.read_bytes(), media_type=MEDIA[path.suffix], headers={"cache-control": "no-cache"})
