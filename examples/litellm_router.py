"""A routing strategy for LiteLLM's Router, to copy: every deployment of a model group is an arm, and what a request takes is its reward.

Needs `pip install litellm`. In place of a cooldown, which bans a deployment for a fixed time after some errors, a policy learns which
deployment answers fast, cheaply and at all, and when to look again at one that was bad.
"""

import threading
from typing import Any
from uuid import uuid4

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.router import CustomRoutingStrategyBase

import latentbandits as lb

DECISION, TRIED = "latentbandits_decision", "latentbandits_tried"  # in the metadata of a request


class Strategy(CustomRoutingStrategyBase, CustomLogger):  # type: ignore[misc]
    """Routes the requests of every model group by an agent of its own.

    A request costs the seconds that it takes and its price; a failed one costs as much as `failure` seconds. A retry goes to a deployment
    that the request has not tried yet.

    Parameters
    ----------
    router : litellm.Router
        Give it `disable_cooldowns=True`, so that it tells the strategy of every failure and bans nothing by itself.
    policy : str
        As `latentbandits.Agent` takes it.
    failure : float
        Seconds that a failed request counts, and the most that any counts.
    per_dollar : float
        Seconds that one would wait to save a dollar.
    """

    def __init__(
        self, router: Any, policy: str = "state-library", failure: float = 30.0, per_dollar: float = 1_000.0
    ) -> None:
        super().__init__()
        self.router, self.policy, self.failure, self.per_dollar = router, policy, failure, per_dollar
        self.agents: dict[str, lb.Agent] = {}
        self.lock = threading.Lock()
        self.key = uuid4().hex  # LiteLLM takes two loggers for one if their texts and numbers are equal

    def agent(self, group: str, deployments: list[str]) -> lb.Agent:
        """Return the agent of a model group, with the deployments that it has now."""
        with self.lock:
            if group not in self.agents:
                self.agents[group] = lb.Agent(self.policy, arms=deployments)
            agent = self.agents[group]
            for name in deployments:
                if name not in agent.arms:
                    agent.add(name)
            return agent

    def get_available_deployment(
        self,
        model: str,
        messages: Any = None,  # noqa: ARG002
        input: Any = None,  # noqa: A002, ARG002
        specific_deployment: bool | None = False,  # noqa: ARG002
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the deployment that a request goes to."""
        group = {one["model_info"]["id"]: one for one in self.router.model_list if one["model_name"] == model}
        if len(group) < 2:
            return next(iter(group.values()), None)
        request = {} if request_kwargs is None else request_kwargs
        metadata = request.setdefault("metadata", {})
        tried = metadata.setdefault(TRIED, [])
        left = [name for name in group if name not in tried] or list(group)
        decision = self.agent(model, list(group)).ask(available=left)
        tried.append(decision.arm)
        request["metadata"] = {
            **metadata,
            DECISION: (self.key, model, decision.id),
        }  # of this attempt, and not of the next one
        return group[str(decision.arm)]

    async def async_get_available_deployment(self, *args: Any, **kwargs: Any) -> Any:
        """Return the deployment that a request goes to."""
        return self.get_available_deployment(*args, **kwargs)

    def tell(self, kwargs: dict[str, Any], seconds: float) -> None:
        """Tell what an attempt took."""
        found = (kwargs.get("litellm_params", {}).get("metadata") or {}).get(DECISION)
        if found is not None and found[0] == self.key:
            _, group, decision = found
            dollars = kwargs.get("response_cost") or 0.0
            self.agents[group].tell(decision, -min(seconds, self.failure) - self.per_dollar * dollars)

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
        """Hear of an answer."""
        self.tell(kwargs, (end_time - start_time).total_seconds())

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
        """Hear of a failure."""
        self.tell(kwargs, self.failure)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Hear of an answer."""
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Hear of a failure."""
        self.log_failure_event(kwargs, response_obj, start_time, end_time)


def install(router: Any, **settings: Any) -> Strategy:
    """Route the requests of a router by a strategy, and return it."""
    import litellm

    strategy = Strategy(router, **settings)
    router.set_custom_routing_strategy(strategy)
    litellm.callbacks.append(strategy)
    return strategy
