"""The routing strategy for LiteLLM, in its real Router, with mocked answers."""

import asyncio
import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # asks no server for prices
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the package has warnings of its own


@pytest.fixture(scope="module")
def benchmark() -> Any:
    pytest.importorskip("litellm", reason="litellm is not installed: pip install litellm")
    return importlib.import_module("benchmarks.router")


@pytest.fixture
def routed(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A router of two deployments, the first of which fails, with a strategy."""
    import litellm

    monkeypatch.setattr(litellm, "callbacks", [])
    params = {"model": "openai/gpt-4o-mini", "api_key": "none"}
    listed = [
        {"model_name": "chat", "litellm_params": {**params, "mock_response": answer}, "model_info": {"id": name}}
        for name, answer in (("broken", "litellm.InternalServerError"), ("fine", "hello"))
    ]

    def make(**settings: Any) -> Any:
        router = litellm.Router(model_list=listed, disable_cooldowns=True, **settings)
        monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "examples"))
        return router, importlib.import_module("litellm_router").install(router, failure=5.0)

    return make


async def send(router: Any, requests: int) -> list[str]:
    """Return where requests were answered, "" for a failure."""
    answered = []
    for _ in range(requests):
        try:
            answer = await router.acompletion(model="chat", messages=[{"role": "user", "content": "?"}])
            answered.append(answer._hidden_params["model_id"])
        except Exception:
            answered.append("")
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    return answered


def test_a_failing_deployment_is_left_alone_and_comes_back(routed: Any) -> None:
    router, strategy = routed(num_retries=0)

    async def before_and_after() -> tuple[list[str], list[str]]:
        before = await send(router, 40)
        for deployment, answer in zip(router.model_list, ("hello", "litellm.InternalServerError"), strict=True):
            deployment["litellm_params"]["mock_response"] = answer
        return before, await send(router, 60)

    before, after = asyncio.run(before_and_after())
    assert before[20:].count("fine") >= 15
    assert before.count("") >= 1
    assert after[30:].count("broken") >= 20
    stats = strategy.agents["chat"].stats
    assert (stats.asked, stats.open) == (100, 0)  # every attempt was told, failures too


def test_a_retry_goes_elsewhere(routed: Any) -> None:
    router, strategy = routed(num_retries=1, retry_after=0)
    assert set(asyncio.run(send(router, 6))) == {"fine"}
    assert strategy.agents["chat"].stats.asked > 6


def test_a_policy_leaves_what_fails_or_is_slow_while_a_shuffle_with_cooldowns_goes_on(benchmark: Any) -> None:
    states = np.zeros((160, 3), int)
    states[:, 0] = benchmark.STATES.index("failing")
    states[40:, 1] = benchmark.STATES.index("slow")
    shuffled = asyncio.run(benchmark.run(states, benchmark.OWN["simple-shuffle, cooldowns"]))
    routed = asyncio.run(benchmark.run(states, {"disable_cooldowns": True}, "state-library"))
    assert routed.failed < 0.2
    assert routed.cost < shuffled.cost


def test_outages_come_and_go_as_often_as_said(benchmark: Any) -> None:
    states = benchmark.outages(20_000, seed=1)
    shares = np.bincount(states.ravel()) / states.size
    assert shares == pytest.approx(benchmark.SHARES, abs=0.06)
