"""An agent as a bandit policy of river, and a labelled stream of river as a world (``pip install river``): copy what you need."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from river import bandit, datasets

import latentbandits as lb


class AgentPolicy(bandit.base.Policy):  # type: ignore[misc]
    """An agent with river's two verbs. Arms are added when they are first offered.

    A reward belongs to the oldest decision for its arm that is still open.
    """

    def __init__(self, policy: str = "state-library", seed: int = 0) -> None:
        super().__init__()
        self.policy, self.seed = policy, seed
        self.agent: lb.Agent | None = None
        self.waiting: dict[Hashable, list[str]] = {}

    def _pull(self, arm_ids: list[Any]) -> Any:
        if self.agent is None:
            self.agent = lb.Agent(self.policy, arms=list(arm_ids), seed=self.seed)
        for arm in set(arm_ids) - set(self.agent.arms):
            self.agent.add(arm)
        decision = self.agent.ask(available=list(arm_ids))
        self.waiting.setdefault(decision.arm, []).append(decision.id)
        return decision.arm

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Tell the reward of an arm."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        if self.agent is not None and self.waiting.get(arm_id):
            self.agent.tell(self.waiting[arm_id].pop(0), float(reward_args[0]))


def labelled(examples: Iterable[tuple[dict[str, Any], Any]]) -> lb.Recorded:
    """Return a labelled stream as a world: an arm is a label, which pays 1 where it is right; the features are the context."""
    features, labels = zip(*examples, strict=True)
    rewards = [[float(label == arm) for arm in sorted(set(labels))] for label in labels]
    return lb.Recorded(np.array(rewards), context=np.array([list(map(float, row.values())) for row in features]))


if __name__ == "__main__":
    world = labelled(datasets.Phishing())
    policy = AgentPolicy("ts", seed=1)
    for rewards in world.rewards[:, 0]:
        arm = policy.pull([0, 1])
        policy.update(arm, rewards[arm])
    print(policy.ranking)
