"""The provider of OpenFeature, with the real SDK."""

from collections.abc import Iterator

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

import latentbandits as lb
from latentbandits.openfeature import Provider
from latentbandits.serve import served


@pytest.fixture
def service() -> Iterator[tuple[str, str]]:
    with served("button", "lc-ucb:covariates=1", arms=["red", "blue"], holdback=0.3) as found:
        yield found
    api.shutdown()


def test_flags_are_decisions(service: tuple[str, str]) -> None:
    url, key = service
    values = {"button": {"red": True, "blue": False}}
    provider = Provider(url, key, budget=20, context={"button": ["hour"]})
    api.set_provider(provider)
    client = api.get_client()
    about = EvaluationContext("visitor-7", {"hour": 9})
    found = client.get_string_details("button", "none", about)
    assert found.value in ("red", "blue")
    assert found.variant == found.value
    assert found.flag_metadata["by"] in ("policy", "control")
    assert provider.tell("button", str(found.flag_metadata["decision"]), 1.0) == "accepted"
    again = [client.get_string_details("button", "none", about).flag_metadata["by"] for _ in range(6)]
    assert set(again) == {
        found.flag_metadata["by"]
    }  # a subject that is held back stays so: the targeting key is the subject

    typed = Provider(url, key, budget=20, values=values, context={"button": ["hour"]})
    api.set_provider(typed)
    assert client.get_boolean_value("button", False, about) in (True, False)
    assert client.get_boolean_details("button", False, about).variant in ("red", "blue")
    assert client.get_integer_details("button", 7, about).error_code == ErrorCode.TYPE_MISMATCH  # True is no integer
    typed.shutdown()


def test_what_goes_wrong_is_the_default_and_says_why(service: tuple[str, str]) -> None:
    url, key = service
    api.set_provider(Provider(url, key, budget=20, context={"button": ["hour"]}))
    client = api.get_client()
    found = client.get_float_details("button", 0.5, EvaluationContext("v", {"hour": 9}))
    assert (found.value, found.error_code) == (0.5, ErrorCode.TYPE_MISMATCH)
    with lb.Client(url, key, "button", budget=20) as agent:  # that decision was never shown
        assert agent.forget(agent.ask([1.0])) == "accepted"
    unknown = client.get_object_details("nobody", {}, EvaluationContext("v", {}))
    assert (unknown.value, unknown.error_code) == ({}, ErrorCode.FLAG_NOT_FOUND)
    missing = client.get_string_details("button", "none", EvaluationContext("v", {}))
    assert (missing.value, missing.error_code) == ("none", ErrorCode.INVALID_CONTEXT)
    api.set_provider(Provider("http://127.0.0.1:9", key, budget=0.01))
    gone = client.get_string_details("button", "none")
    assert (gone.value, gone.error_code) == ("none", ErrorCode.PROVIDER_NOT_READY)
