"""The state of an experiment: what follows from its events, and from nothing else. No clock, no lock, no files."""

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from latentbandits.agent.decision import Decision, Name
from latentbandits.agent.inputs import observed
from latentbandits.agent.mixing import CONTROL
from latentbandits.agent.player import Player
from latentbandits.memories import copied
from latentbandits.protocols import Choice, Offer
from latentbandits.store.events import Event, text
from latentbandits.store.spec import LEARNING, Spec

NOTHING = np.zeros(0)  # what is observed without covariates
Steps = list[Callable[..., Any]]
COUNTS = ("decided", "rewarded", "expired", "censored", "late")
_ROUNDING = 1e-9
_COUNTED = dict(zip(("decide", "reward", "expire", "censor", "late"), COUNTS, strict=True))


class Waiting:
    """An open decision: when it was made, its arms by number, who decided (see `side_of`), and whether it was shown."""

    __slots__ = ("active", "arms", "at_us", "decided_by")

    def __init__(self, at_us: int, arms: tuple[int, ...], decided_by: str, active: bool) -> None:
        self.at_us, self.arms, self.decided_by, self.active = at_us, arms, decided_by, active


class Played(NamedTuple):
    """What was decided: the arms by number, their probabilities, why, by whom, what the policy wanted (in shadow), its choice's bytes."""

    arms: tuple[int, ...]
    chances: tuple[float | None, ...]
    why: tuple[str, ...]
    decided_by: str
    policy: tuple[int, ...] | None
    choice: bytes | None


@dataclass
class State:
    """An experiment as of the event `head`.

    Attributes
    ----------
    spec : its settings
    player : the agent
    status : draft, shadow, live, frozen, killed or archived
    head, last_us : number and time of the last event
    open : the decisions that wait, oldest first
    counts : how many events of each kind that `COUNTS` names
    diverged : decisions that came out otherwise when they were repeated; the log is right
    """

    spec: Spec
    player: Player
    status: str = "draft"
    head: int = 0
    last_us: int = 0
    open: "OrderedDict[str, Waiting]" = field(default_factory=OrderedDict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    diverged: int = 0

    @classmethod
    def fresh(cls, spec: Spec) -> Self:
        """Return an experiment to which nothing has happened yet."""
        return cls(spec, Player(spec.contents()))

    def use(self, steps: Steps | None) -> None:
        """Run machine code, which changes nothing."""
        if steps is not None:
            self.player.choose, self.player.learn = steps

    @property
    def control(self) -> int:
        """The number of the control arm."""
        return self.player.numbers[self.spec.control]

    @property
    def covariates(self) -> int:
        """How many numbers a context has."""
        return int(self.spec.policy.covariates)

    @property
    def arms(self) -> tuple[Name, ...]:
        """Names of the arms that can be played."""
        return tuple(name for arm, name in enumerate(self.player.names) if arm not in self.player.retired)

    @property
    def retired(self) -> tuple[Name, ...]:
        """Names of the arms that are retired."""
        return tuple(name for arm, name in enumerate(self.player.names) if arm in self.player.retired)

    def play(self, key: str, seen: np.ndarray, offered: list[int] | None, unit: str | None) -> Played:
        """Decide, as the status says."""
        units = self.player.policy.units
        if self.status == "killed":  # the policy is not asked: it may be what is wrong
            return Played((self._fallback(offered),) * units, (1.0,) * units, (), CONTROL, None, None)
        decision = self.player.decide(key, seen, offered, unit)
        arms, content = tuple(self.player.choice.arms.tolist()), self.player.open[key].content
        if self.status == "shadow":
            played = (self._fallback(offered),) * units
            self.player.overwrite(key, list(played), (1.0,) * units)
            return Played(played, (1.0,) * units, decision.why, CONTROL, arms, content)
        return Played(arms, decision.probabilities, decision.why, decision.by, None, content)

    def offers(self) -> np.ndarray | None:
        """Return every arm as the policy would see it if it were asked now; None if it would need a context."""
        if self.covariates:
            return None
        player, choice = self.player, Choice.blank(self.player.policy)
        choice.offers["available"][list(player.retired)] = 0
        player.choose(player.policy, copied(player.memory), NOTHING, player.random.copy(), choice)
        return choice.offers

    def _fallback(self, offered: list[int] | None) -> int:
        """Return the control arm, or the first arm on offer where it is not."""
        return self.control if offered is None or self.control in offered else offered[0]

    def apply(self, event: Event) -> None:
        """Let an event happen; a decision is made again. The log says what was played, whatever comes out here."""
        if event.kind != "decide":
            return self.enter(event)
        said, key = event.said, str(event.key)
        seen = (
            NOTHING if not self.covariates and "context" not in said else observed(said.get("context"), self.covariates)
        )
        offered = self.player.offered(said["available"]) if "available" in said else None
        played = self.play(key, seen, offered, event.unit)
        arms = arms_of(event, said)
        chances = chances_of(event, said)
        self.diverged += (
            played.arms != arms or played.decided_by != event.decided_by or not _near(played.chances, chances)
        )
        if played.arms != arms and key in self.player.open:
            self.player.overwrite(key, list(arms), chances)
        return self.enter(event, Waiting(event.at_us, arms, side_of(event, said), not said.get("deferred")))

    def enter(self, event: Event, waiting: Waiting | None = None) -> None:
        """Let everything about an event happen that is not the choice of an arm; a decision is given as it waits from here on."""
        kind = event.kind
        if waiting is not None:
            self.open[event.key] = waiting  # type: ignore[index]
        elif kind in ("reward", "expire", "censor"):
            self._end(event)
        elif kind == "activate":
            self.open[str(event.key)].active = True
        elif kind != "late":
            self._change(event)
        if kind in _COUNTED:
            self.counts[_COUNTED[kind]] += 1
        self.head, self.last_us = event.seq, event.at_us

    def _end(self, event: Event) -> None:
        key = str(event.key)
        del self.open[key]
        if key not in self.player.open:  # made while the experiment was killed
            return
        if event.kind != "censor" and self.status in LEARNING:
            self.player.complete(key, np.array(event.rewards))
        else:
            self.player.forget(key)

    def _change(self, event: Event) -> None:
        """Let something happen that concerns no decision."""
        said, player = event.said, self.player
        if event.kind == "status":
            self.status = said["status"]
        elif event.kind == "add":
            player.add(said["arm"], player.addition(said["arm"]))
        elif event.kind == "retire":
            player.retire(player.retirable(said["arm"]))
        elif event.kind == "name":
            player.name(said)
        elif event.kind == "configure":
            spec = Spec.read({**self.spec.plain(), **said}, self.spec.policy if "policy" not in said else None)
            self.configure(spec, "arms" in said)

    def begun(self, spec: Spec, arms: bool) -> Player:
        """Return a draft's beginning with other settings, or refuse: arms that were added or retired stay so, unless new `arms` are set."""
        if arms:
            return Player(spec.contents())
        player = Player(spec._replace(control=spec.arms[0]).contents())
        for name in self.player.names[len(spec.arms) :]:
            player.add(name, player.addition(name))
        for name in self.retired:
            player.retire(player.retirable(name))
        player.mix(spec.mixing(player.names))
        return player

    def configure(self, spec: Spec, arms: bool) -> None:
        """Go on with other settings; a draft begins anew."""
        if self.status == "draft":
            steps = [self.player.choose, self.player.learn]
            self.player = self.begun(spec, arms)
            self.use(steps if type(spec.policy) is type(self.spec.policy) else None)
        else:
            self.player.mix(spec.mixing(self.player.names)._replace(random=self.player.mixing.random))
            self.player.max_open = spec.max_open
        self.spec = spec

    def shown(self) -> str:
        """Return the settings as they are now, as JSON: what a store shows of an experiment."""
        return text(self.spec.plain() | {"arms": list(self.arms), "retired": list(self.retired)}) or ""

    def decision(self, event: Event) -> Decision:
        """Return a decision as it was answered."""
        said, names = event.said, self.player.names
        arms = tuple(names[arm] for arm in arms_of(event, said))
        return Decision(
            str(event.key), arms, tuple(said.get("why", ())), chances_of(event, said), str(event.decided_by)
        )


def arms_of(event: Event, said: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the arms of a decision by number."""
    assert event.arm is not None
    return tuple(said["arms"]) if "arms" in said else (event.arm,)


def side_of(event: Event, said: Mapping[str, Any]) -> str:
    """Return under what a decision is counted: who decided while it was live (policy, floor or control), else the status of then."""
    return str(said.get("status", event.decided_by))


def chances_of(event: Event, said: Mapping[str, Any]) -> tuple[float | None, ...]:
    """Return the probabilities of a decision's arms."""
    return tuple(said["probabilities"]) if "probabilities" in said else (event.probability,)


def _near(chances: Sequence[float | None], others: Sequence[float | None]) -> bool:
    """Return whether probabilities are the same, up to the rounding of another build."""
    return chances == others or all(
        one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=_ROUNDING))
        for one, other in zip(chances, others, strict=True)
    )


def scored(choices: Sequence[bytes], arms: int) -> list[bytes]:
    """Return what a policy thought of every arm in each of some choices: available, value, index, doubt and probability, as 32-bit numbers.

    Many at once take little longer than one.
    """
    words = np.frombuffer(b"".join(choices), np.float64).reshape(len(choices), -1)
    offers = words[:, words.shape[1] - arms * _OFFER :].reshape(
        len(choices), arms, _OFFER
    )  # a choice ends with its offers
    table = np.empty((len(choices), arms, 5), "<f4")
    table[:, :, 0] = offers.view(np.int64)[:, :, 0]
    with np.errstate(over="ignore"):  # indices that go before all others are beyond these numbers: infinite
        table[:, :, 1:] = offers[:, :, _SCORES]
    content, size = table.tobytes(), arms * 5 * 4
    return [content[start : start + size] for start in range(0, len(content), size)]


def scores(content: bytes | None) -> list[list[float]]:
    """Return what `scored` wrote: five numbers per arm."""
    return np.frombuffer(content or b"", "<f4").reshape(-1, 5).tolist()


_OFFER = Offer.itemsize // 8
_SCORES = [1, 2, 4, 3]  # places of value, index, doubt and probability in an offer
