"""An agent as a bandit policy of river, to copy: `pull` decides between the arms that are offered, `update` tells the reward.

Needs `pip install river`. A reward belongs to the oldest decision for its arm that is still open.
"""

from collections import defaultdict, deque
from typing import Any

from river import bandit

import latentbandits as lb


class AgentPolicy(bandit.base.Policy):  # type: ignore[misc]
    """An agent with river's two verbs; arms are added when they are first offered."""

    def __init__(self, policy: str = "state-library", seed: int = 0, reward_obj: Any = None, burn_in: int = 0) -> None:
        super().__init__(reward_obj, None, burn_in)
        self.policy, self.seed = policy, seed
        self.agent: lb.Agent | None = None
        self.waiting: defaultdict[str | int, deque[str]] = defaultdict(deque)

    def _pull(self, arm_ids: list[str | int]) -> str | int:
        if self.agent is None:
            self.agent = lb.Agent(self.policy, arms=list(arm_ids), seed=self.seed)
        for arm in set(arm_ids) - set(self.agent.arms):
            self.agent.add(arm)
        decision = self.agent.ask(available=list(arm_ids))
        self.waiting[decision.arm].append(decision.id)
        return decision.arm  # type: ignore[no-any-return]

    def update(self, arm_id: str | int, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Tell the reward of an arm; a pull of river's own burn-in is no decision of the agent."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        if self.agent is not None and self.waiting[arm_id]:
            self.agent.tell(self.waiting[arm_id].popleft(), float(reward_args[0]))
