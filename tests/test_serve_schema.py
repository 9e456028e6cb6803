"""The description of the interface is right, and requests made from it at random never break the service."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from openapi_spec_validator import validate
from schemathesis import GenerationMode

from latentbandits.agent.spec import STATUSES
from latentbandits.serve.fields import SETTINGS
from latentbandits.serve.routes import ROUTES
from tests.services import ADMIN, ROOT, Web


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    found = Web(tmp_path_factory.mktemp("schema") / "web.db", "state-library")
    yield found
    found.close()


def test_the_description_is_valid_and_names_every_endpoint(web: Web) -> None:
    said = web.send("GET", "/openapi.json", secret=None)[1]
    validate(said)
    found = {(method.upper(), path) for path, methods in said["paths"].items() for method in methods}
    assert found == {(route.method, route.path) for route in ROUTES}
    assert len({one["operationId"] for methods in said["paths"].values() for one in methods.values()}) == len(ROUTES)
    round_schema = said["components"]["schemas"]["Round"]
    assert round_schema["additionalProperties"] is False


def test_the_reference_says_what_every_setting_and_status_means(web: Web) -> None:
    """Each description of a setting, and each status, is a row of the page."""
    page = (ROOT / "docs" / "service.md").read_text()
    schemas = web.send("GET", "/openapi.json", secret=None)[1]["components"]["schemas"]
    fields = {**schemas["Round"]["properties"], **schemas["NewExperiment"]["properties"]}
    for name, text in SETTINGS.items():
        assert re.search(rf"^\| `{name}` \| .* \| {re.escape(text)} \|$", page, re.MULTILINE), name
        assert text in json.dumps(fields[name]), name
    for status in STATUSES:
        assert re.search(rf"^\| {status} \|", page, re.MULTILINE), status


def test_what_is_wrong_with_a_query_is_said_of_the_query(web: Web) -> None:
    status, said = web.send("GET", "/v1/experiments/e/tail?most=-1")
    assert status == 422
    assert re.match(r"request: query is not as it must be \(.*`\$\.most`\)$", said["error"])


def attacked(web: Web, name: str, examples: int) -> int:
    """Send requests at random to one endpoint; return how many. Answers must be as described, and none may be a 500."""
    schema = schemathesis.openapi.from_dict(web.send("GET", "/openapi.json")[1])
    schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    every: list[Any] = [one.ok() for one in schema.get_all_operations()]
    (operation,) = [one for one in every if one.definition.raw["operationId"] == name]
    sent: list[int] = []

    @settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy())
    def attack(case: Any) -> None:
        case.headers["authorization"] = f"Bearer {ADMIN}"
        if "name" in case.path_parameters and len(sent) % 2:
            case.path_parameters["name"] = "e"
        wanted = case.as_transport_kwargs(base_url="http://here")
        wanted = {
            key: value
            for key, value in wanted.items()
            if key in ("method", "url", "headers", "json", "data", "params", "content")
        }
        if "data" in wanted:
            wanted["content"] = wanted.pop("data")
        wanted["headers"] = {key: value for key, value in wanted["headers"].items() if str(value).isascii()}
        response = web.runner.run(web.http.request(**wanted))
        sent.append(response.status_code)
        assert response.status_code != 500, (wanted, response.text)
        described = operation.definition.raw["responses"]
        assert str(response.status_code) in described or response.status_code == 405, (wanted, response.text)
        if response.status_code >= 400:
            assert set(json.loads(response.text)) == {"error"}

    attack()
    return len(sent)


@pytest.mark.parametrize("name", [route.name for route in ROUTES if route.body is not None or route.query is not None])
def test_random_requests_never_break_it(web: Web, name: str) -> None:
    # mutation: an endpoint that lets a ValueError through is a 500 here
    assert attacked(web, name, 8) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [route.name for route in ROUTES])
def test_many_random_requests_never_break_it(web: Web, name: str) -> None:
    assert attacked(web, name, 300) >= 1
