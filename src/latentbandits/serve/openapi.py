"""The description of the interface, as OpenAPI 3.1, made from the table of endpoints."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from latentbandits import __version__
from latentbandits.serve.endpoint import Route
from latentbandits.serve.fields import Experiment, Id, Problem

Schema = dict[str, Any]
_REFERENCE = "#/components/schemas/{name}"
_ERRORS = {
    401: "the key is missing or not known",
    403: "the key is not for this",
    404: "there is no such thing",
    409: "it contradicts what is known, or the status does not allow it",
    413: "the body is too large",
    422: "something is not as it must be; nothing has changed",
    500: "an error of the service",
    503: "the store cannot be used now; nothing was acknowledged, send it again with the same key",
}


def describe(routes: Sequence[Route]) -> bytes:
    """Return the description of endpoints as JSON."""
    types = [kind for route in routes for kind in (route.body, route.answer, route.query) if kind is not None]
    shown, schemas = msgspec.json.schema_components([*types, Problem, Experiment, Id], ref_template=_REFERENCE)
    of = dict(zip([*map(id, types)], shown, strict=False))
    places = {"name": shown[-2], "id": shown[-1]}
    paths: dict[str, Schema] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, of, places, schemas)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "latentbandits",
                "version": __version__,
                "description": "Decisions under hidden regimes.",
            },
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def _operation(route: Route, of: dict[int, Schema], places: Schema, schemas: Schema) -> Schema:
    """Return the description of one endpoint."""
    named = re.findall(r"{(\w+)}", route.path)
    own = places if "/experiments/" in route.path else {}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": own.get(name, {"type": "string", "minLength": 1})}
        for name in named
    ]
    if route.query is not None:
        fields = schemas[of[id(route.query)]["$ref"].rpartition("/")[2]]["properties"]
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": schema} for name, schema in fields.items()
        ]
    if route.keyed:
        schema = {"type": "string", "minLength": 1, "maxLength": 200}
        parameters.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema})
    answer = {} if route.answer is None else {"schema": of[id(route.answer)]}
    responses: Schema = {str(route.status): {"description": route.summary, "content": {route.media: answer}}}
    for status, meaning in _ERRORS.items():
        content = {"application/json": {"schema": {"$ref": _REFERENCE.format(name="Problem")}}}
        responses[str(status)] = {"description": meaning, "content": content}
    operation = {
        "operationId": route.name,
        "summary": route.summary,
        "description": str(route.handler.__doc__ or "").strip(),
        "parameters": parameters,
        "responses": responses,
        "security": [] if route.role is None else [{"key": []}],
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": of[id(route.body)]}}}
    return operation
