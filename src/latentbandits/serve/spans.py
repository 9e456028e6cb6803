"""OpenTelemetry spans of decisions and rewards (`spans = true`). Without it nothing here is imported, and no request does anything more.

A span says which endpoint, which experiment, which status, and how long the request was with the store. It never has a key, a context, a
unit, an id or the text of an error.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from latentbandits.extras import missing
from latentbandits.serve.endpoint import Route
from latentbandits.serve.writer import Writer
from latentbandits.settings import Refusal

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError:
    raise missing("opentelemetry") from None

TRACED = ("decide", "decide_batch", "reward", "reward_batch")
NAMED = b"traceparent", b"tracestate"  # headers by which a caller says of which trace its request is a part
STRANGER = 401, 403, 404  # answers to whoever may not know of the experiment, or names none
VARIABLE = "OTEL_TRACES_EXPORTER"
_propagator = TraceContextTextMapPropagator()
_with_store: ContextVar[list[float] | None] = ContextVar("with_store", default=None)


class TimedWriter(Writer):
    """A writer that notes for every request how long it waited until its group was on disk."""

    def run(self, requests: Sequence[Any], weight: int = 1) -> "asyncio.Future[list[Any]]":
        """Return the future answers to requests; see `Writer.run`."""
        future, noted = super().run(requests, weight), _with_store.get()
        if noted is not None:
            began = time.perf_counter()
            future.add_done_callback(lambda _: noted.append(time.perf_counter() - began))
        return future


class Traced:
    """An endpoint of which every request is a span.

    Parameters
    ----------
    app : ASGI application
    route : Route
        What it answers.
    """

    def __init__(self, app: ASGIApp, route: Route) -> None:
        self._app, self._tracer = app, tracer()
        self._name = f"{route.method} {route.path}"
        self._known = {"http.request.method": route.method, "http.route": route.path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        carried = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in NAMED}
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with self._tracer.start_as_current_span(
            self._name,
            _propagator.extract(carried),
            trace.SpanKind.SERVER,
            self._known,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            sent: dict[str, str] = {}
            _propagator.inject(sent)  # if another replica answers, its span is below this one
            headers = [pair for pair in scope["headers"] if pair[0] not in NAMED]
            own = [(name.encode(), value.encode("latin-1")) for name, value in sent.items()]
            scope["headers"] = [*headers, *own]
            times: list[float] = []
            marked, began = _with_store.set(times), time.perf_counter()
            try:
                await self._app(scope, receive, noted)
            finally:
                _with_store.reset(marked)
                span.set_attributes(_told(scope, status, sum(times), time.perf_counter() - began))
                if not 0 < status < 500:
                    span.set_status(trace.StatusCode.ERROR)


def _told(scope: Scope, status: int, stored: float, seconds: float) -> dict[str, Any]:
    """Return what a span says of a request that has its answer."""
    told: dict[str, Any] = {
        "http.response.status_code": status,
        "latentbandits.store.seconds": stored,
        "latentbandits.store.share": min(1.0, stored / seconds),
    }
    return told if status in STRANGER else told | {"latentbandits.experiment": scope["path_params"]["name"]}


def tracer() -> trace.Tracer:
    """Return what makes spans: that of the provider that this process has."""
    from latentbandits import __version__

    return trace.get_tracer("latentbandits", __version__)


@contextlib.contextmanager
def sending() -> Iterator[None]:
    """Send the spans of this process while the context is open, as OpenTelemetry's variables say; what waits at its end is sent then.

    ``OTEL_TRACES_EXPORTER`` is otlp (HTTP, to ``OTEL_EXPORTER_OTLP_ENDPOINT``), console or none; ``OTEL_SERVICE_NAME`` and
    ``OTEL_TRACES_SAMPLER`` mean what they always do.
    """
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "latentbandits"}
    provider = TracerProvider(resource=Resource.create(named))
    exporter = _exporters().get(os.environ.get(VARIABLE, "otlp"))
    if exporter is None:
        raise Refusal("serve", VARIABLE, os.environ[VARIABLE], f"one of {', '.join(_exporters())}")
    if made := exporter():
        provider.add_span_processor(BatchSpanProcessor(made))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()


def _exporters() -> dict[str, Callable[[], Any]]:
    def otlp() -> Any:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()

    def console() -> Any:
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(formatter=lambda span: f"{span.to_json(indent=None)}\n")

    return {"otlp": otlp, "console": console, "none": lambda: None}
