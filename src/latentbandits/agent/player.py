"""A policy at work: its memory, its arms and its open decisions. No clock, no lock, no files."""

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from latentbandits.agent.decision import WORDS, Decision, Name, is_id
from latentbandits.agent.inputs import number_of
from latentbandits.agent.mixing import POLICY, Mixing
from latentbandits.agent.slots import Open, Slots, packed
from latentbandits.agent.spec import Spec
from latentbandits.agent.steps import Steps, choose, learn, peek
from latentbandits.agent.windows import Delays, Windows
from latentbandits.beliefs import Belief
from latentbandits.compiled import plain
from latentbandits.memories import copied, parts, replaced
from latentbandits.protocols import PROBE_REASON, Choice, Policy, grown, grown_choice, refuse_fixed
from latentbandits.random import Stream, stream
from latentbandits.settings import InvalidValueError

_tuple = tuple.__new__  # takes half the time of Decision(...)
Addition = tuple[Policy, Any, dict[str, Choice]]  # with one arm more: the policy, its memory and the open choices


class Player:
    """A policy, its memory, its arms and its open decisions.

    Parameters and attributes
    -------------------------
    policy, memory, random : the policy with its settings, its memory and its random stream
    names : the arms' names
    mixing : floor and holdback
    retired : set of the numbers of retired arms
    numbers : the number of every name
    open : the open decisions by id, oldest first
    choice, block : where the policy works: the choice of the decision that was made or completed last, and its bytes
    sure : whether chance has no part in its decisions
    choose, learn, peek : the policy's methods, interpreted or compiled
    delays : how long rewards took that were learned when a window closed
    """

    def __init__(
        self,
        policy: Policy,
        memory: Any,
        random: Stream,
        names: Iterable[Name],
        mixing: Mixing,
        retired: Iterable[int] = (),
    ) -> None:
        self.policy, self.memory, self.random = policy, memory, random
        self.choose, self.learn, self.peek = plain(choose), plain(learn), plain(peek)
        self._deterministic = policy.deterministic
        self.mix(mixing)
        self._certain: tuple[float | None, ...] = (1.0,) * policy.groups
        self.open: OrderedDict[str, Open] = OrderedDict()
        self.windows: Windows | None = None  # of the open ones, made when it is needed
        self.delays = Delays()
        self._arrange(list(names), retired)

    @classmethod
    def fresh(cls, spec: Spec) -> Self:
        """Return a player to whom nothing has happened yet."""
        return cls(spec.policy, spec.policy.init(), stream(spec.seed), spec.arms, spec.mixing(spec.arms))

    def twin(self) -> "Player":
        """Return a copy."""
        mixing = self.mixing._replace(random=self.mixing.random.copy())
        twin = Player(self.policy, copied(self.memory), self.random.copy(), self.names, mixing, self.retired)
        twin.choose, twin.learn, twin.peek, twin.open = self.choose, self.learn, self.peek, self.open.copy()
        twin.delays = self.delays.copy()
        return twin

    def become(self, other: "Player") -> None:
        """Take over all that another one knows; what it had is left to this one."""
        self.policy, self.memory, self.random, self.open = other.policy, other.memory, other.random, other.open
        self.delays, self.windows = other.delays, None
        self.mix(other.mixing)
        self._arrange(other.names, other.retired)

    def use(self, steps: Steps | None) -> None:
        """Run machine code, which changes no choice."""
        if steps is not None:
            self.choose, self.learn = steps[:2]
            self.peek = steps[2] if self.policy.peeks else self.peek

    def _arrange(self, names: list[Name], retired: Iterable[int]) -> None:
        """Take over the arms."""
        self.names, self.retired = names, set(retired)
        self.numbers = {name: arm for arm, name in enumerate(names)}
        self._single = [(name,) for name in names] if self.policy.groups == 1 else []
        self._slots = Slots(self.policy, self.retired)
        self._blank, self.block, self.choice = self._slots.blank, self._slots.block, self._slots.choice

    def mix(self, mixing: Mixing) -> None:
        """Take over floor and holdback."""
        self.mixing, self._mixes = mixing, mixing.active
        self.sure = self._deterministic and not self._mixes

    def belief(self) -> Belief:
        """Return what the policy believes."""
        if not self.policy.has_belief:
            raise AttributeError("Agent: policy has no belief but must be one that has, such as StateLibrary")
        return self.policy.belief(self.memory)

    def offered(self, available: object) -> list[int]:
        """Return the numbers of the arms that are available by name and not retired, or refuse."""
        refuse_fixed(self.policy)
        if isinstance(available, str | bytes | Mapping) or not isinstance(available, Iterable):
            raise InvalidValueError("Agent", "available", available, "a list of names of arms")
        named = list(available)
        arms = {number_of(name, self.numbers, "available") for name in named} - self.retired
        if not arms:
            raise InvalidValueError("Agent", "available", named, "at least one arm that is not retired")
        return sorted(arms)

    def decide(
        self,
        key: str,
        at_us: int,
        seen: np.ndarray,
        offered: list[int] | None,
        subject: Name | None,
        counted_under: str | None = None,
    ) -> Decision:
        """Make the decision that has an id."""
        self.block[:] = self._blank
        choice, by = self.choice, POLICY
        if offered is not None:
            choice.arm_scores["available"] = 0
            choice.arm_scores["available"][offered] = 1
        if self._mixes:
            by = self._mix(seen, choice, subject)
        else:
            self.choose(self.policy, self.memory, seen, self.random, choice)
        arm = choice.arms.item(0)
        numbers: tuple[int, ...]
        if offered is None and not self.retired and self._single and 0 <= arm < len(self._single):
            numbers, names = (arm,), self._single[arm]
        else:
            refuse_unavailable(choice)
            numbers = tuple(choice.arms.tolist())
            names = self.called(numbers)
        chances = self._certain if self.sure else self._chances(offered)
        one = self.open[key] = _tuple(Open, (bytes(self.block), numbers, by, at_us, counted_under or by, None, 0))
        if self.windows is not None:
            self.windows.open(key, one)
        return _tuple(Decision, (key, names, WORDS[choice.tags.item(PROBE_REASON)], chances, by))

    def overwrite(self, key: str, arms: tuple[int, ...], chances: Iterable[float | None], by: str) -> None:
        """Let an open decision be one for other arms, as somebody else decided, each with its probability."""
        waiting, probability = self.open[key], self._slots.probability
        self.block[:] = waiting.content
        self.choice.arms[:] = arms
        probability[:] = 0.0
        probability[list(arms)] = [math.nan if chance is None else chance for chance in chances]
        self.change(key, waiting._replace(content=bytes(self.block), arms=arms, by=by))

    def change(self, key: str, one: Open) -> None:
        """Replace what is known of an open decision."""
        self.open[key] = one
        if self.windows is not None:
            self.windows.change(key, one)

    def end(self, key: str) -> Open:
        """Return an open decision, which is no longer open."""
        if self.windows is not None:
            self.windows.end(key)
        return self.open.pop(key)

    def look_ahead(self, at_us: int, spec: Spec) -> None:
        """Let the policy know, for its next choice, what open decisions say."""
        if self.windows is None:
            self.windows = Windows(self.policy.groups, self.open)
        if len(self.windows) and spec.window_us is not None and spec.default is not None:
            waiting = self.windows.waiting(at_us, self.delays, spec.window_us, spec.default)
            self.peek(self.policy, self.memory, waiting)

    def _mix(self, seen: np.ndarray, choice: Choice, subject: Name | None) -> str:
        """Let the policy, the floor or the control arm decide, write the probability of every arm, and return who decided."""
        arm_scores = choice.arm_scores
        arms = np.flatnonzero(arm_scores["available"]).tolist()
        by, arm = self.mixing.decide(arms, subject)
        alone = choice
        if by != POLICY:  # what would the policy have done?
            alone = Choice(*(part.copy() for part in choice))
            self.choose(self.policy, copied(self.memory), seen, self.random.copy(), alone)
            arm_scores["available"] = 0
            arm_scores["available"][arm] = 1
        self.choose(self.policy, self.memory, seen, self.random, choice)
        if by != POLICY:
            refuse_unavailable(choice)
            arm_scores[:] = alone.arm_scores  # an arm that was played among all these, with the probability below
        own = arm_scores["probability"][arms]
        if self._deterministic:
            own = (np.array(arms) == alone.arms[0]).astype(np.float64)
        arm_scores["probability"] = 0.0
        arm_scores["probability"][arms] = self.mixing.probabilities(own, arms)
        return by

    def _chances(self, offered: list[int] | None) -> tuple[float | None, ...]:
        """Return the probability of every group's arm in the choice at work, None where it is unknown."""
        if len(self.names) - len(self.retired) == 1 or (offered is not None and len(offered) == 1):
            return self._certain
        if self._single:
            chance = self._slots.probability.item(self.choice.arms.item(0))
            return (None if math.isnan(chance) else chance,)
        chances = self._slots.probability[self.choice.arms].tolist()
        return tuple([None if math.isnan(chance) else chance for chance in chances])

    def called(self, arms: Sequence[int]) -> tuple[Name, ...]:
        """Return the names of the arms of all groups."""
        return self._single[arms[0]] if self._single else tuple([self.names[arm] for arm in arms])

    def choice_of(self, key: str) -> Choice:
        """Return the choice of an open decision, to read."""
        return self._slots.opened(self.open[key].content)

    def find(self, decision: object, session: str) -> str:
        """Return the id of an open decision, or refuse; those of a `session` cannot be somebody else's."""
        key = decision[0] if type(decision) is Decision else decision
        waiting = self.open.get(key) if isinstance(key, str) else None
        if waiting is not None:
            names = self._single[waiting.arms[0]] if self._single else self.called(waiting.arms)
            if key is decision or names == decision[1]:  # type: ignore[index]
                return key  # type: ignore[return-value]
            raise InvalidValueError("Agent", "decision", decision, "one that this agent made")
        elsewhere = ", was made after the last save, or belongs to another agent"
        here = is_id(key) and key.endswith(session)
        hint = f" (this one is completed or forgotten{'' if here else elsewhere})" if is_id(key) else ""
        raise InvalidValueError("Agent", "decision", key, f"an open one{hint}")

    def stacked(self) -> Choice:
        """Return the choices of all open decisions that the policy was asked for, one row each."""
        return self._slots.stacked([waiting.content for waiting in self.open.values() if waiting.content])

    def addition(self, name: Name) -> Addition | None:
        """Return what a new arm needs, the policy, its memory and the open choices with one arm more; None for a retired arm; or refuse."""
        refuse_fixed(self.policy)
        if name in self.numbers:
            if self.numbers[name] in self.retired:
                return None
            raise InvalidValueError("Agent", "arm", name, "a new one or a retired one")
        policy, memory = grown(self.policy, copied(self.memory))
        arrays, fresh = parts(memory), parts(policy.init())
        kinds = [{name: (part.dtype, part.shape) for name, part in one.items()} for one in (arrays, fresh)]
        if type(memory) is not type(self.memory) or kinds[0] != kinds[1]:  # machine code would not notice
            rule = "a method that returns arrays of the types and shapes of a fresh memory with one more arm"
            raise InvalidValueError(type(policy).__name__, "grow", type(memory), rule)
        memory = replaced(memory, {name: np.asarray(part, order="C") for name, part in arrays.items()})
        contents = {key: waiting.content for key, waiting in self.open.items() if waiting.content}
        choices = {
            key: grown_choice(self.policy, policy, self._slots.opened(content)) for key, content in contents.items()
        }
        return policy, memory, choices

    def add(self, name: Name, addition: Addition | None) -> None:
        """Take over a new arm, or play a retired one again."""
        if addition is None:
            return self._arrange(self.names, self.retired - {self.numbers[name]})
        self.policy, self.memory, choices = addition
        self._arrange([*self.names, name], self.retired)
        for key, choice in choices.items():
            self.open[key] = self.open[key]._replace(content=packed(choice))
        return None

    def retirable(self, name: object) -> int:
        """Return the number of an arm that can be retired, or refuse."""
        refuse_fixed(self.policy)
        arm = number_of(name, self.numbers)
        if arm in self.retired:
            raise InvalidValueError("Agent", "arm", name, "one that is not retired")
        if len(self.retired) + 1 == len(self.names):
            raise InvalidValueError("Agent", "arm", name, "another than the last one that can be played")
        return arm

    def retire(self, arm: int) -> None:
        """Never play an arm again."""
        self._arrange(self.names, {*self.retired, arm})


def refuse_unavailable(choice: Choice) -> None:
    """Refuse a choice with an arm that is not available."""
    arms = choice.arms.tolist()
    known = range(len(choice.arm_scores))
    if not all(arm in known and choice.arm_scores[arm].available for arm in arms):
        allowed = [arm for arm in known if choice.arm_scores[arm].available]
        raise InvalidValueError("Agent", "choice", arms, f"among the arms {allowed} (this is an error of the policy)")
