"""LiteLLM's own routing beside a policy, on the same made-up outages: ``python -m benchmarks.router [--requests N] [--seed N]``.

Needs `pip install litellm`; offline, nothing is asked of any provider. Three deployments answer in 4, 8 and 12 ms (a hundredth of what
models take; times are printed a hundredfold), the slower the cheaper. Each by itself becomes ten times slower, or fails, and recovers, for
60 requests on average. Every way of routing meets the same outages. A loaded machine adds to the times that they see, not to those printed.
"""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # asks no server for prices
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

SPEED = 0.01  # seconds here for one there
FINE = (0.4, 0.8, 1.2)  # seconds
PRICES = (2e-5, 1e-5, 2e-6)  # dollars per token
SLOWER = 10
LASTS = 60  # requests
FAILURE = 10.0  # seconds that a failed request counts
PER_DOLLAR = 1_000.0  # seconds
STATES = ("fine", "slow", "failing")
SHARES = (0.7, 0.15, 0.15)
COOLDOWN = 60.0  # seconds
OWN: Mapping[str, dict[str, Any]] = {
    "simple-shuffle, no cooldowns": {"disable_cooldowns": True},
    "simple-shuffle, cooldowns": {"allowed_fails": 1, "cooldown_time": COOLDOWN * SPEED},
    "latency-based, cooldowns": {
        "routing_strategy": "latency-based-routing",
        "routing_strategy_args": {"ttl": COOLDOWN * SPEED, "lowest_latency_buffer": 0},
        "allowed_fails": 1,
        "cooldown_time": COOLDOWN * SPEED,
    },
}
POLICIES = ("arm-library", "state-library", "ts")


class Outcome(NamedTuple):
    """What requests took on average: seconds (failures count `FAILURE`), dollars, and the share that failed."""

    seconds: float
    dollars: float
    failed: float

    @property
    def cost(self) -> float:
        """What a request costs, in seconds."""
        return self.seconds + PER_DOLLAR * self.dollars


def outages(requests: int, seed: int) -> np.ndarray:
    """Return the states of all deployments, (requests, deployments)."""
    random = np.random.default_rng(seed)
    states = np.empty((requests, len(FINE)), int)
    for deployment in range(len(FINE)):
        ends = np.flatnonzero(random.random(requests) < 1 / LASTS)
        drawn = random.choice(len(STATES), len(ends) + 1, p=SHARES)
        states[:, deployment] = np.repeat(drawn, np.diff([0, *ends, requests]))
    return states


async def run(states: np.ndarray, settings: dict[str, Any], policy: str = "") -> Outcome:
    """Send a request after the other through a router, whose deployments are in these states."""
    import litellm
    from litellm import Router
    from litellm_router import install

    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    logging.getLogger("LiteLLM Router").setLevel(logging.CRITICAL)
    litellm.suppress_debug_info = True
    litellm.callbacks = []
    listed = [
        {
            "model_name": "chat",
            "litellm_params": {
                "model": "openai/gpt-4o-mini",
                "api_key": "none",
                "input_cost_per_token": price,
                "output_cost_per_token": price,
                "mock_response": "fine",
            },
            "model_info": {"id": f"provider {place}"},
        }
        for place, price in enumerate(PRICES)
    ]
    router = Router(model_list=listed, num_retries=0, **settings)
    if policy:
        install(router, policy=policy, failure=FAILURE * SPEED, per_dollar=PER_DOLLAR * SPEED)
    taken, dollars, failed = 0.0, 0.0, 0
    for row in states:
        for state, deployment, fine in zip(row, router.model_list, FINE, strict=True):
            deployment["litellm_params"]["mock_response"] = (
                "litellm.InternalServerError" if STATES[state] == "failing" else "fine"
            )
            deployment["litellm_params"]["mock_delay"] = fine * SPEED * (SLOWER if STATES[state] == "slow" else 1)
        try:
            answer = await router.acompletion(model="chat", messages=[{"role": "user", "content": "What is new?"}])
            place = int(answer._hidden_params["model_id"].split()[1])
            taken += FINE[place] * (SLOWER if STATES[row[place]] == "slow" else 1)
            dollars += answer._hidden_params["response_cost"]
        except Exception:
            failed += 1
            taken += FAILURE
            await asyncio.sleep(FINE[0] * SPEED)
        await asyncio.sleep(0.001)  # what is logged is logged by now
    return Outcome(taken / len(states), dollars / len(states), failed / len(states))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    states = outages(given.requests, given.seed)
    print("| routing | cost of a request, seconds | seconds | dollars | failed |\n|---|---|---|---|---|")
    ways = [(name, settings, "") for name, settings in OWN.items()]
    ways += [(f"`{policy}`", {"disable_cooldowns": True}, policy) for policy in POLICIES]
    for name, settings, policy in ways:
        found = asyncio.run(run(states, settings, policy))
        print(
            f"| {name} | {found.cost:.2f} | {found.seconds:.2f} | {found.dollars:.5f} | {found.failed:.1%} |".replace(
                "%", " %"
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
