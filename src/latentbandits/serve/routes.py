"""Every endpoint, in one table: routes, checks, meters and the description of the interface follow from it."""

import contextlib

from starlette.responses import Response

from latentbandits.serve import answers, changes, decisions, export, looks, messages, page, stream
from latentbandits.serve.endpoint import SECURITY, Call, Route
from latentbandits.serve.meters import Meters
from latentbandits.serve.openapi import described
from latentbandits.store import Fenced

ONE = "/v1/experiments/{name}"


async def metrics(call: Call) -> Response:
    """Return counters in the format of Prometheus."""
    service, meters = call.service, call.service.meters
    rows = await service.read(lambda reads: reads.experiments())
    meters.forget_experiments()
    for row in rows:
        if row.status != "archived" and row.name not in service.failed:
            with contextlib.suppress(Fenced):  # another replica counts those that it holds
                view = await service.view(row.name)
                _measure(meters, row.name, view.open, view.counts)
    meters.set("waiting", "Requests that wait for the store", service.writer.waiting)
    meters.set("groups", "Transactions since the start", service.writer.groups)
    meters.set("stored", "Requests in them", service.writer.stored)
    meters.set("streams", "Live views that are open", service.streams)
    headers = {name.decode(): value.decode() for name, value in SECURITY}
    return Response(meters.text(), media_type="text/plain; version=0.0.4; charset=utf-8", headers=headers)


def _measure(meters: Meters, name: str, waiting: int, counts: dict[str, int]) -> None:
    meters.set("open_decisions", "Decisions that wait for rewards", waiting, name)
    for kind, count in counts.items():
        meters.set(f"{kind}_total", f"Decisions or rewards: {kind}", count, name)


async def openapi(call: Call) -> Response:  # noqa: ARG001
    """Describe the interface, as OpenAPI 3.1."""
    headers = {name.decode(): value.decode() for name, value in SECURITY}
    return Response(described(ROUTES), media_type="application/json", headers=headers)


# The two that are called most come first: routes are tried in order
ROUTES = (
    Route("POST", f"{ONE}/decide", decisions.decide, "decide", "Decide", messages.Round, answers.Decided, keyed=True),
    Route("POST", f"{ONE}/reward", decisions.reward, "reward", "Tell a reward", messages.Told, answers.Outcome),
    Route(
        "POST",
        f"{ONE}/decide/batch",
        decisions.decide_batch,
        "decide",
        "Decide up to 1,000 times",
        messages.Rounds,
        answers.DecidedMany,
        keyed=True,
    ),
    Route(
        "POST",
        f"{ONE}/reward/batch",
        decisions.reward_batch,
        "reward",
        "Tell up to 1,000 rewards",
        messages.ToldMany,
        answers.Outcomes,
    ),
    Route(
        "POST",
        f"{ONE}/activate",
        decisions.activate,
        "reward",
        "Say that a decision was shown",
        messages.Which,
        answers.Outcome,
    ),
    Route(
        "POST",
        f"{ONE}/censor",
        decisions.censor,
        "reward",
        "End a decision without a reward",
        messages.Which,
        answers.Outcome,
    ),
    Route("GET", "/v1/experiments", looks.list_experiments, "read", "List experiments", None, answers.Experiments),
    Route(
        "POST",
        "/v1/experiments",
        changes.create_experiment,
        "admin",
        "Make an experiment",
        messages.NewExperiment,
        answers.Experiment,
        status=201,
    ),
    Route("GET", ONE, looks.read_experiment, "read", "Read an experiment", None, answers.Experiment),
    Route("PATCH", ONE, changes.change_experiment, "admin", "Change settings", messages.Changes, answers.Experiment),
    Route(
        "PUT", f"{ONE}/status", changes.set_status, "admin", "Change the status", messages.Status, answers.Experiment
    ),
    Route("POST", f"{ONE}/arms", changes.add_arm, "admin", "Add an arm", messages.Arm, answers.Changed),
    Route("POST", f"{ONE}/arms/retire", changes.retire_arm, "admin", "Retire an arm", messages.Arm, answers.Changed),
    Route("GET", f"{ONE}/now", looks.read_now, "read", "Best now, the regime, and the health", None, answers.Now),
    Route("GET", f"{ONE}/belief", looks.read_belief, "read", "The whole belief", None, answers.Belief),
    Route("GET", f"{ONE}/regimes", looks.read_regimes, "read", "Arm by regime", None, answers.Regimes),
    Route(
        "PUT",
        f"{ONE}/regimes/{{regime}}",
        changes.name_regime,
        "admin",
        "Name a regime",
        messages.Called,
        answers.Changed,
    ),
    Route(
        "GET",
        f"{ONE}/timeline",
        looks.read_timeline,
        "read",
        "Regimes through time",
        None,
        answers.Timeline,
        messages.Since,
    ),
    Route(
        "GET",
        f"{ONE}/minutes",
        looks.read_minutes,
        "read",
        "What happened by minute",
        None,
        answers.Minutes,
        messages.Since,
    ),
    Route(
        "GET", f"{ONE}/gain", looks.read_gain, "read", "Gain against the holdback", None, answers.Gains, messages.Since
    ),
    Route("GET", f"{ONE}/tail", looks.read_tail, "read", "The last events", None, answers.Events, messages.Tail),
    Route("GET", f"{ONE}/changes", looks.read_changes, "read", "What people changed", None, answers.Events),
    Route("GET", f"{ONE}/decisions/{{id}}", looks.explain, "read", "Explain a decision", None, answers.Explained),
    Route("GET", f"{ONE}/stream", stream.stream, "read", "Watch, once a second", media="text/event-stream"),
    Route(
        "GET",
        f"{ONE}/log.{{kind}}",
        export.export,
        "read",
        "The log: log.csv, log.jsonl, log.parquet, log.dsjson",
        media="text/csv",
    ),
    Route("GET", "/v1/keys", changes.list_keys, "admin", "List keys", None, answers.Keys, everywhere=True),
    Route(
        "POST",
        "/v1/keys",
        changes.create_key,
        "admin",
        "Make a key",
        messages.NewKey,
        answers.NewKey,
        None,
        201,
        everywhere=True,
    ),
    Route("DELETE", "/v1/keys/{id}", changes.revoke_key, "admin", "Revoke a key", None, answers.Key, everywhere=True),
    Route("GET", "/health", looks.alive, None, "Whether it runs", None, answers.Alive),
    Route("GET", "/ready", looks.ready, None, "Whether it can decide", None, answers.Ready),
    Route("GET", "/metrics", metrics, "read", "Counters for Prometheus", everywhere=True, media="text/plain"),
    Route("GET", "/openapi.json", openapi, None, "This description"),
    Route("GET", "/", page.index, None, "The page", media="text/html"),
    Route("GET", "/files/{file}", page.file, None, "A file of the page", media="text/html"),
)
