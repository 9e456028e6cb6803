"""What is watched: whether the service lives, counters, and the log as a file."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Annotated

from msgspec import Meta
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from latentbandits import __version__
from latentbandits.serve.alerts import KINDS, Alerts
from latentbandits.serve.answers import Alive, Ready
from latentbandits.serve.endpoint import Call, Table
from latentbandits.serve.fields import ONE, UNTIL, Query
from latentbandits.store.export import pieces, table
from latentbandits.store.minutes import DAY_US
from latentbandits.store.replay import named

ROUTES = Table()
MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


class Part(Query):
    """Only decisions that were made, or have changed, after an event: the number that the header `latentbandits-until` said last time."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


@ROUTES.route("GET", f"{ONE}/log.{{kind}}", "read", "The log: log.csv or log.parquet", media="text/csv")
async def export(call: Call, query: Part) -> Response:
    """Return the log of all decisions, or of those that have changed: as CSV or Parquet, while it is read."""
    service, name, kind = call.service, call.experiment, call.path["kind"]
    reads, days = service.reads, service.settings.export_days
    if kind not in MEDIA:
        raise HTTPException(404, f"request: log.{kind} is none of {', '.join(f'log.{each}' for each in MEDIA)}")
    since_us = 0 if days is None else service.now_us() - round(days * DAY_US)
    found = await asyncio.to_thread(lambda: table(reads, named(reads, name), query.after, since_us))
    made = pieces(reads, found, f".{kind}")
    try:
        begin = await asyncio.to_thread(next, made)
    except ModuleNotFoundError as problem:
        raise HTTPException(501, f"serve: {problem}") from None
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"', UNTIL: str(found.until)}
    content = (part for part, _ in chain((begin,), made))
    return StreamingResponse(content, media_type=MEDIA[kind], headers=headers)


@ROUTES.route("GET", "/health", None, "Whether it runs")
async def alive(call: Call) -> Alive:  # noqa: ARG001
    """Say that the service runs."""
    return Alive(status="ok", version=__version__)


@ROUTES.route("GET", "/ready", None, "Whether it can decide")
async def ready(call: Call) -> Ready:
    """Say whether it can decide: experiments are open, the store can be written, and not every experiment fails."""
    service = call.service
    if not service.ready or service.stopping:
        text = "serve: experiments are not open (it starts, or it stops); try again"
        raise HTTPException(503, text, {"retry-after": "1"})
    await service.probe()
    rows, place = await service.read(lambda reads: reads.experiments()), service.storage.place
    failed = {name: text.replace(place, "its store") for name, text in service.failed.items()}
    if failed and failed.keys() >= {row.name for row in rows if row.status != "archived"}:
        raise HTTPException(
            503, f"serve: no experiment can decide ({next(iter(failed.values()))})", {"retry-after": "1"}
        )
    return Ready(status="ready", experiments=len(rows), waiting=service.writer.waiting, failed=failed)


@ROUTES.route("GET", "/metrics", "read", "Counters for Prometheus", everywhere=True, media="text/plain")
async def metrics(call: Call) -> Response:
    """Return counters in the format of Prometheus."""
    service = call.service
    found = await service.writer.look(lambda ledger: ledger.counts())  # of those that this replica holds
    numbers: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for name, counts in found.items():
        for kind, count in counts.items():
            metric = numbers.get(kind)
            if metric is None:
                metric = numbers[kind] = (
                    GaugeMetricFamily(
                        "latentbandits_open_decisions", "Decisions that wait for rewards", labels=["experiment"]
                    )
                    if kind == "open"
                    else CounterMetricFamily(
                        f"latentbandits_{kind}", f"Decisions or rewards: {kind}", labels=["experiment"]
                    )
                )
            metric.add_metric([name], count)
    writer, behind = service.writer, service.clock_behind_us / 1e6
    one = [
        GaugeMetricFamily("latentbandits_waiting", "Requests that wait for the store", writer.waiting),
        GaugeMetricFamily("latentbandits_clock_behind_seconds", "What the system's clock has jumped ahead", behind),
        CounterMetricFamily("latentbandits_groups", "Transactions since the start", writer.groups),
        CounterMetricFamily("latentbandits_stored", "Requests in them", writer.stored),
    ]
    content = service.meters.text([*numbers.values(), *one, *_alerts(service.alerts, found)])
    return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")


def _alerts(alerts: Alerts, experiments: Iterable[str]) -> list[Metric]:
    """Return how many alerts hold, for every experiment and kind."""
    labels = ["experiment", "kind"]
    firing = GaugeMetricFamily("latentbandits_alert", "How many alerts of a kind hold now", labels=labels)
    regimes = CounterMetricFamily("latentbandits_regime_changes", "Changes of the regime", labels=labels[:1])
    held = Counter((alert.experiment, alert.kind) for alert in alerts.firing.values())
    for name in experiments:
        regimes.add_metric([name], alerts.regimes[name])
        for kind in KINDS[1:]:
            firing.add_metric([name, kind], held[name, kind])
    lost = CounterMetricFamily("latentbandits_alerts_lost", "Alerts that could not be delivered", alerts.lost)
    return [firing, regimes, lost]
