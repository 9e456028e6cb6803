"""Every endpoint, in one table: routes, checks, meters and the description of the interface follow from it."""

from functools import cache

from starlette.responses import Response

from latentbandits.serve import admin, decisions, monitor, page, read
from latentbandits.serve.endpoint import Call, Table
from latentbandits.serve.openapi import describe

# Those of decisions, which are called most, come first: routes are tried in order
ROUTES = Table((*decisions.ROUTES, *read.ROUTES, *admin.ROUTES, *monitor.ROUTES, *page.ROUTES))


@ROUTES.route("GET", "/openapi.json", None, "This description")
async def openapi(call: Call) -> Response:  # noqa: ARG001
    """Describe the interface, as OpenAPI 3.1."""
    return Response(_description(), media_type="application/json")


@cache
def _description() -> bytes:
    """Return the description, which is made once: strangers may ask for it."""
    return describe(ROUTES)
