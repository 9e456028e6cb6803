"""An agent as a bandit policy of river, and river's datasets as worlds."""

from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Any

import numpy as np
from river import bandit

from latentbandits.agent import Agent
from latentbandits.settings import Refusal
from latentbandits.worlds.recorded import Recorded


class AgentPolicy(bandit.base.Policy):  # type: ignore[misc]
    """An agent with river's two verbs: `pull` decides between the arms that it is given, `update` tells the reward.

    New arms are added to the agent when they are first offered. A reward belongs to the oldest decision for its arm that is still open.

    Parameters
    ----------
    policy : str or policy
        As for `latentbandits.Agent`.
    seed : int
        The agent's seed.
    reward_obj, reward_scaler, burn_in
        As in river; rewards are told as they are.

    Examples
    --------
    >>> from latentbandits.neighbours.river import AgentPolicy
    >>> policy = AgentPolicy("ucb1", seed=1)
    >>> arm = policy.pull(["red", "blue"])
    >>> policy.update(arm, 1.0)
    >>> policy.ranking
    ['red']
    """

    def __init__(
        self,
        policy: Any = "state-library",
        seed: int = 0,
        reward_obj: Any = None,
        reward_scaler: Any = None,
        burn_in: int = 0,
    ) -> None:
        super().__init__(reward_obj, reward_scaler, burn_in)
        self.policy, self.seed = policy, seed
        self.agent: Agent | None = None
        self._open: dict[Hashable, list[str]] = {}

    def _pull(self, arm_ids: list[Any]) -> Any:
        if self.agent is None:
            self.agent = Agent(self.policy, arms=list(arm_ids), seed=self.seed)
        for arm in arm_ids:
            if arm not in self.agent.arms:
                self.agent.add(arm)
        decision = self.agent.ask(available=list(arm_ids))
        self._open.setdefault(decision.arm, []).append(decision.id)
        return decision.arm

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Tell the reward of an arm."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        waiting = self._open.get(arm_id)
        if self.agent is not None and waiting:  # a pull of river's own burn-in is no decision of the agent
            self.agent.tell(waiting.pop(0), float(reward_args[0]))

    @classmethod
    def _unit_test_params(cls) -> Iterable[dict[str, Any]]:
        yield {"policy": "ucb1"}


def classified(dataset: Iterable[tuple[dict[str, Any], Any]], rounds: int | None = None) -> Recorded:
    """Return a stream of labelled examples as a world.

    An arm is a label, and pays 1 where it is right; the numbers among the features are the context.

    Examples
    --------
    >>> from river import datasets
    >>> from latentbandits.neighbours.river import classified
    >>> classified(datasets.Phishing())
    <Recorded: 1,250 rounds, 2 arms>
    """
    examples = list(islice(dataset, rounds))
    labels = sorted({label for _, label in examples}, key=lambda label: (type(label).__name__, label))
    if len(labels) < 2:
        raise Refusal("classified", "labels", labels, "two or more")
    rewards = np.array([[float(label == one) for one in labels] for _, label in examples])
    numbers = sorted(key for key, value in examples[0][0].items() if isinstance(value, int | float))
    context = np.array([[float(features[key]) for key in numbers] for features, _ in examples])
    return Recorded(rewards, context=context.reshape(len(examples), len(numbers)))
