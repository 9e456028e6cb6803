"""The part of an agent that follows from what it was asked and told, and from nothing else: no clock, no lock, no files."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from latentbandits.agent.contents import COUNTS, Contents
from latentbandits.agent.decision import WORDS, Decision, Name, Stats, is_id, time_of
from latentbandits.agent.mixing import POLICY, Mixing
from latentbandits.agent.names import number_of
from latentbandits.agent.records import field
from latentbandits.agent.slots import Slot, Slots, packed
from latentbandits.agent.steps import choose, learn
from latentbandits.compiled import plain
from latentbandits.memories import copied, parts, replaced
from latentbandits.policies.growth import grown, grown_choice
from latentbandits.protocols import WHY, Choice
from latentbandits.settings import Refusal, whole

_LONGEST = 100  # characters of the name of a state

_tuple = tuple.__new__  # takes half the time of Decision(...)


class Player:
    """A policy, its memory, its arms and its open decisions.

    Attributes
    ----------
    policy, memory, random, names, mixing, max_open, regimes, newest : see `Contents`
    retired : set of the numbers of retired arms
    numbers : the number of every name
    open : slot of every open decision, oldest first
    choice : where the policy works: the choice of the decision that was made or completed last
    told, late, forgotten, dropped : see `Stats`
    sure : whether chance has no part in its decisions
    choose, learn : the policy's methods, interpreted or compiled
    """

    def __init__(self, contents: Contents) -> None:
        self.policy, self.memory, self.random = contents.policy, contents.memory, contents.random
        self.max_open, self.newest = contents.max_open, contents.newest
        self.regimes = dict(contents.regimes)
        self.told, self.late, self.forgotten, self.dropped = (contents.counts[name] for name in COUNTS)
        self.choose, self.learn = plain(choose), plain(learn)
        self._deterministic = bool(getattr(self.policy, "deterministic", False))
        self.mix(contents.mixing)
        self._certain: tuple[float | None, ...] = (1.0,) * self.policy.units
        self.open: dict[str, Slot] = {}
        self._arrange(contents.names, contents.retired)
        for row, (known, by) in enumerate(contents.open.items()):
            choice = Choice(*(part[row] for part in contents.choices))
            self.open[known] = Slot(packed(choice), self._called(choice), by)

    def _arrange(self, names: list[Name], retired: Iterable[int]) -> None:
        """Take over the arms."""
        self.names, self.retired = names, set(retired)
        self.numbers = {name: arm for arm, name in enumerate(names)}
        self._single = [(name,) for name in names] if self.policy.units == 1 else []
        self._slots = Slots(self.policy, self.retired)
        self._blank, self._block, self.choice = self._slots.blank, self._slots.block, self._slots.choice

    def mix(self, mixing: Mixing) -> None:
        """Take over floor and holdback."""
        self.mixing, self._mixes = mixing, mixing.active
        self.sure = self._deterministic and not self._mixes

    def contents(self) -> Contents:
        """Return a copy of everything."""
        counts = dict(zip(COUNTS, (self.told, self.late, self.forgotten, self.dropped), strict=True))
        return Contents(
            self.policy,
            copied(self.memory),
            self.random.copy(),
            list(self.names),
            sorted(self.retired),
            self.mixing._replace(random=self.mixing.random.copy()),
            self.max_open,
            dict(self.regimes),
            counts,
            self.newest,
            {known: slot.by for known, slot in self.open.items()},
            self._slots.stacked([slot.content for slot in self.open.values()]),
        )

    def belief(self) -> Any:
        """Return what the policy believes, with the names that states were given."""
        if not hasattr(self.policy, "belief"):
            raise AttributeError("Agent: policy has no belief but must be one that has, such as StateLibrary")
        found = self.policy.belief(self.memory)
        if not self.regimes:
            return found
        named = (state._replace(name=self.regimes.get(state.number, "")) for state in found.states)
        return found._replace(states=tuple(named))

    def naming(self, regime: Any, name: Any) -> dict[str, Any]:
        """Return what is recorded of a name; refuse a regime that is not remembered, or a name that is none."""
        known = [state.number for state in self._numbered()]
        if isinstance(regime, bool) or regime not in known:
            which = f"one of {', '.join(map(str, known))}" if known else "of which there are none yet"
            raise Refusal("Agent", "regime", regime, f"the number of a remembered state, {which}")
        return {"number": int(regime), "name": _as_title(name)}

    def name(self, said: Mapping[str, Any]) -> None:
        """Give a regime the name that was recorded for it; if it is not remembered here, the name is left out."""
        number, name = whole("Agent", "number", field(said, "number")), _as_title(field(said, "name"))
        if any(state.number == number for state in self._numbered()):
            self.regimes[number] = name

    def _numbered(self) -> list[Any]:
        """Return the remembered states that have a number, or refuse a policy that has no belief."""
        if not hasattr(self.policy, "belief"):
            owner = type(self.policy).__name__
            raise Refusal("Agent", "policy", owner, "one that has a belief, such as StateLibrary")
        return [state for state in self.belief().states if hasattr(state, "number")]

    def stats(self, now: float) -> Stats:
        """Return what happened to the decisions so far."""
        waiting = len(self.open)
        age = max(0.0, now - time_of(next(iter(self.open)))) if waiting else None
        asked = self.told + self.forgotten + self.dropped + waiting
        return Stats(asked, self.told, self.late, self.forgotten, self.dropped, waiting, age)

    def offered(self, available: Any) -> list[int]:
        """Return the numbers of the arms that are available by name and not retired, or refuse."""
        refuse_fixed(self.policy, "available", available)
        if isinstance(available, str | bytes | Mapping) or not isinstance(available, Iterable):
            raise Refusal("Agent", "available", available, "a list of names of arms")
        named = list(available)
        arms = {number_of(name, self.numbers, "available") for name in named} - self.retired
        if not arms:
            raise Refusal("Agent", "available", named, "at least one arm that is not retired")
        return sorted(arms)

    def decide(self, known: str, seen: np.ndarray, offered: list[int] | None, unit: Name | None) -> Decision:
        """Make the decision that has an id."""
        self._block[:] = self._blank
        choice, by = self.choice, POLICY
        if offered is not None:
            choice.offers["available"] = 0
            choice.offers["available"][offered] = 1
        if self._mixes:
            by = self._mix(seen, choice, unit)
        else:
            self.choose(self.policy, self.memory, seen, self.random, choice)
        arm = choice.arms.item(0)
        if offered is None and not self.retired and self._single and 0 <= arm < len(self._single):
            arms = self._single[arm]
        else:
            refuse_unavailable(choice)
            arms = self._called(choice)
        chances = self._certain if self.sure else self._chances(offered)
        if len(self.open) >= self.max_open:
            del self.open[next(iter(self.open))]
            self.dropped += 1
        self.open[known] = _tuple(Slot, (bytes(self._block), arms, by))
        self.newest = known
        return _tuple(Decision, (known, arms, WORDS[choice.note.item(WHY)], chances, by))

    def overwrite(self, known: str, arms: list[int], chances: Iterable[float | None]) -> None:
        """Let an open decision be one for other arms, as somebody else decided, each with its probability."""
        slot, probability = self.open[known], self._slots.probability
        self._block[:] = slot.content
        self.choice.arms[:] = arms
        probability[:] = 0.0
        probability[arms] = [math.nan if chance is None else chance for chance in chances]
        self.open[known] = Slot(bytes(self._block), self._called(self.choice), slot.by)

    def _mix(self, seen: np.ndarray, choice: Choice, unit: Name | None) -> str:
        """Let the policy, the floor or the control arm decide, write the probability of every arm, and return who decided."""
        offers = choice.offers
        arms = np.flatnonzero(offers["available"]).tolist()
        by, arm = self.mixing.decide(arms, unit)
        alone = choice
        if by != POLICY:  # what would the policy have done?
            alone = Choice(*(part.copy() for part in choice))
            self.choose(self.policy, copied(self.memory), seen, self.random.copy(), alone)
            offers["available"] = 0
            offers["available"][arm] = 1
        self.choose(self.policy, self.memory, seen, self.random, choice)
        if by != POLICY:
            refuse_unavailable(choice)
            offers[:] = alone.offers  # an arm that was played among all these, with the probability below
        own = offers["probability"][arms]
        if self._deterministic:
            own = (np.array(arms) == alone.arms[0]).astype(np.float64)
        offers["probability"] = 0.0
        offers["probability"][arms] = self.mixing.probabilities(own, arms)
        return by

    def _chances(self, offered: list[int] | None) -> tuple[float | None, ...]:
        """Return the probability of every unit's arm in the choice at work, None where it is unknown."""
        if len(self.names) - len(self.retired) == 1 or (offered is not None and len(offered) == 1):
            return self._certain
        if self._single:
            chance = self._slots.probability.item(self.choice.arms.item(0))
            return (None if math.isnan(chance) else chance,)
        chances = self._slots.probability[self.choice.arms].tolist()
        return tuple([None if math.isnan(chance) else chance for chance in chances])

    def _called(self, choice: Choice) -> tuple[Name, ...]:
        """Return the names of the arms of a choice."""
        return tuple(self.names[arm] for arm in choice.arms.tolist())

    def choice_of(self, known: str) -> Choice:
        """Return the choice of an open decision, to read."""
        return self._slots.opened(self.open[known].content)

    def find(self, decision: Any, session: str) -> tuple[str, Slot]:
        """Return the id and the slot of an open decision, or refuse."""
        known = decision[0] if type(decision) is Decision else decision
        slot = self.open.get(known) if isinstance(known, str) else None
        if slot is None:
            hint = ""
            if is_id(known):
                elsewhere = ", was made after the last save, or belongs to another agent"
                hint = f" (this one is completed or forgotten{'' if known.endswith(session) else elsewhere})"
            raise Refusal(
                "Agent", "decision", decision.id if isinstance(decision, Decision) else decision, f"an open one{hint}"
            )
        if type(decision) is Decision and decision[1] != slot.arms:
            raise Refusal("Agent", "decision", decision, "one that this agent made")
        return known, slot

    def complete(self, known: str, rewards: np.ndarray) -> None:
        """Learn from the rewards of an open decision."""
        self._block[:] = self.open.pop(known).content
        self.learn(self.policy, self.memory, self.choice, rewards)
        self.told += 1
        if known != self.newest:
            self.late += 1

    def forget(self, known: str) -> None:
        """Drop an open decision."""
        del self.open[known]
        self.forgotten += 1

    def addition(self, name: Name) -> tuple[Any, Any, list[Choice]] | None:
        """Return what a new arm needs, the policy, its memory and the open choices with one arm more; None for a retired arm; or refuse."""
        refuse_fixed(self.policy, "arm", name)
        if name in self.numbers:
            if self.numbers[name] in self.retired:
                return None
            raise Refusal("Agent", "arm", name, "a new one or a retired one")
        policy, memory = grown(self.policy, copied(self.memory))
        arrays, fresh = parts(memory), parts(policy.init())
        kinds = [{name: (part.dtype, part.shape) for name, part in one.items()} for one in (arrays, fresh)]
        if type(memory) is not type(self.memory) or kinds[0] != kinds[1]:  # machine code would not notice
            rule = "a method that returns arrays of the types and shapes of a fresh memory with one more arm"
            raise Refusal(type(policy).__name__, "grow", type(memory), rule)
        memory = replaced(memory, {name: np.asarray(part, order="C") for name, part in arrays.items()})
        return (
            policy,
            memory,
            [grown_choice(self.policy, policy, self._slots.opened(slot.content)) for slot in self.open.values()],
        )

    def add(self, name: Name, addition: tuple[Any, Any, list[Choice]] | None) -> None:
        """Take over a new arm, or play a retired one again."""
        if addition is None:
            return self._arrange(self.names, self.retired - {self.numbers[name]})
        self.policy, self.memory, choices = addition
        self._arrange([*self.names, name], self.retired)
        for (known, before), choice in zip(list(self.open.items()), choices, strict=True):
            self.open[known] = before._replace(content=packed(choice))
        return None

    def retirable(self, name: Any) -> int:
        """Return the number of an arm that can be retired, or refuse."""
        refuse_fixed(self.policy, "arm", name)
        arm = number_of(name, self.numbers)
        if arm in self.retired:
            raise Refusal("Agent", "arm", name, "one that is not retired")
        if len(self.retired) + 1 == len(self.names):
            raise Refusal("Agent", "arm", name, "another than the last one that can be played")
        return arm

    def retire(self, arm: int) -> None:
        """Never play an arm again."""
        self._arrange(self.names, {*self.retired, arm})


def _as_title(name: Any) -> str:
    """Return the name of a state, or refuse it."""
    if isinstance(name, str) and name.strip() and name[:_LONGEST].splitlines() == [name]:
        return name
    raise Refusal("Agent", "name", name, f"a text of 1 to {_LONGEST} characters in one line")


def refuse_unavailable(choice: Choice) -> None:
    """Refuse a choice with an arm that is not available."""
    arms = choice.arms.tolist()
    known = range(len(choice.offers))
    if not all(arm in known and choice.offers[arm].available for arm in arms):
        allowed = [arm for arm in known if choice.offers[arm].available]
        raise Refusal("Agent", "choice", arms, f"among the arms {allowed} (this is an error of the policy)")


def refuse_fixed(policy: Any, field: str, value: object) -> None:
    """Refuse a change of the arms of a policy that needs all of them in every round."""
    if getattr(policy, "fixed_arms", False):
        raise Refusal("Agent", field, value, f"left out, since the arms of {type(policy).__name__} cannot change")
