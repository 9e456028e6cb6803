"""What an experiment is: its policy, its arms, and the rules about rewards. Checked when it is made, kept as JSON."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Self
from unicodedata import category

from latentbandits.agent.contents import Contents
from latentbandits.agent.decision import Name
from latentbandits.agent.file import plain, restored
from latentbandits.agent.mixing import Mixing, mixing
from latentbandits.agent.names import as_name, online
from latentbandits.protocols import LARGEST_REWARD, Policy
from latentbandits.random import stream
from latentbandits.settings import Above, Refusal, Within, between, nearest, whole

STATUSES = ("draft", "shadow", "live", "frozen", "killed", "archived")
# Which follow which; an experiment that has decided is never a draft again, and an archived one stays so
AFTER = {
    "draft": ("shadow", "live", "archived"),
    **dict.fromkeys(("shadow", "live", "frozen", "killed"), ("shadow", "live", "frozen", "killed", "archived")),
    "archived": (),
}
DECIDING, LEARNING = ("shadow", "live", "frozen", "killed"), ("shadow", "live")
ANY_TIME = ("max_open", "floor", "holdback", "control", "window", "default")
USUAL = "state-library"  # the policy of an experiment of which only the arms are given
_UNSEEN = (
    "Cc",
    "Cs",
    "Zl",
    "Zp",
)  # categories of characters that are no text: control, half a pair, line and paragraph separators
_LONGEST = 10 * 365 * 86_400.0  # seconds


class Spec(NamedTuple):
    """The settings of an experiment.

    Attributes
    ----------
    policy : Policy
    arms : names of the first arms; `add` and `retire` change them
    seed : names the randomness
    max_open : decisions that may wait for rewards; beyond it the oldest is censored
    floor, holdback : as for `Agent`
    control : the arm of units that are held back, of a shadow and of a killed experiment
    window : seconds that a decision waits for its reward, None for no limit
    default : the reward that is taken when the window is over, None to censor the decision
    """

    policy: Any
    arms: tuple[Name, ...]
    seed: int
    max_open: int
    floor: float
    holdback: float
    control: Name
    window: float | None
    default: float | None

    @classmethod
    def of(
        cls,
        policy: Policy | str,
        arms: Sequence[Name] | int | None = None,
        seed: int = 0,
        max_open: int = 10_000,
        floor: float = 0.0,
        holdback: float = 0.0,
        control: Name | None = None,
        window: float | None = None,
        default: float | None = None,
        *,
        added: Sequence[Name] = (),
    ) -> Self:
        """Return the settings, checked, or refuse them. `added` are arms that came later.

        Examples
        --------
        >>> from latentbandits.store import Spec
        >>> Spec.of("ucb1", arms=["red", "blue"], window=3600).control
        'red'
        >>> Spec.of("ucb1", arms=["red", "blue"], window=-1)
        Traceback (most recent call last):
        latentbandits.settings.Refusal: experiment: window is -1 but must be a finite number above 0
        """
        try:
            made, names = online(policy, arms)
            refuse_unclear(names)
            every = list(dict.fromkeys([*names, *added]))
            control = names[0] if control is None else as_name(control, "control")
            mix = mixing(made, every, whole("Agent", "seed", seed, least=0), floor, holdback, control)
            most = whole("Agent", "max_open", max_open, least=1)
        except Refusal as refusal:
            raise refusal.at(owner="experiment") from None
        if window is not None:
            window = between("experiment", "window", window, Above(0))
            window = between("experiment", "window", window, Within(1e-3, _LONGEST))
        if default is not None:
            if window is None:
                raise Refusal("experiment", "default", default, "given with a window (without one it is never taken)")
            default = between("experiment", "default", default, Within(-LARGEST_REWARD, LARGEST_REWARD))
        return cls(made, tuple(names), seed, most, mix.floor, mix.holdback, control, window, default)

    def changed(self, changes: Mapping[str, Any], added: Sequence[Name] = ()) -> Self:
        """Return the settings with some of them changed, or refuse; the policy is given as text or as itself."""
        for name in changes:
            if name not in self._fields:
                raise Refusal(
                    "experiment", "setting", name, f"one of {', '.join(self._fields)}{nearest(name, self._fields)}"
                )
        given = {**self._asdict(), **changes}
        if "arms" in changes and "policy" not in changes:
            raise Refusal("experiment", "arms", changes["arms"], "changed together with the policy")
        if "arms" in changes and "control" not in changes and self.control not in _named(**given):
            given["control"] = None
        return self.of(**given, added=added)

    def plain(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return {**self._asdict(), "policy": plain(self.policy), "arms": list(self.arms)}

    @classmethod
    def read(cls, said: Mapping[str, Any], expected: Policy | type | str | None = None) -> Self:
        """Return the settings that `plain` returned; a policy from outside this package must be the expected one."""
        kind, settings = str(said["policy"]["class"]), dict(said["policy"]["settings"])
        return cls(**{**said, "policy": restored(kind, settings, expected), "arms": tuple(said["arms"])})

    def contents(self) -> Contents:
        """Return a fresh agent."""
        return Contents.fresh(
            self.policy, stream(self.seed), list(self.arms), self.mixing(list(self.arms)), self.max_open
        )

    def mixing(self, names: list[Name]) -> Mixing:
        """Return floor and holdback, with a fresh random stream."""
        return mixing(self.policy, names, self.seed, self.floor, self.holdback, self.control)

    @property
    def window_us(self) -> int | None:
        """The window in microseconds."""
        return None if self.window is None else round(self.window * 1e6)


def _named(policy: Any, arms: Any, **_: Any) -> list[Name]:
    try:
        return online(policy, arms)[1]
    except Refusal as refusal:
        raise refusal.at(owner="experiment") from None


def refuse_unclear(names: Collection[Name]) -> None:
    """Refuse names of arms that a table or a page cannot show, or tell apart.

    Examples
    --------
    >>> from latentbandits.store.spec import refuse_unclear
    >>> refuse_unclear(["1", 1])
    Traceback (most recent call last):
    latentbandits.settings.Refusal: experiment: arms is ['1', 1] but must be names that differ when they are written (1 and '1' do not)
    """
    for name in names:
        if isinstance(name, str) and (not name.strip() or any(category(one) in _UNSEEN for one in name)):
            raise Refusal(
                "experiment", "arm", name, "a text that can be seen, without line breaks and control characters"
            )
    if len(set(map(str, names))) < len(names):
        raise Refusal("experiment", "arms", list(names), "names that differ when they are written (1 and '1' do not)")


def as_experiment(name: Any) -> str:
    """Return the name of an experiment, or refuse it: it is part of addresses.

    Examples
    --------
    >>> from latentbandits.store.spec import as_experiment
    >>> as_experiment("spring-offers.2")
    'spring-offers.2'
    >>> as_experiment("../etc")
    Traceback (most recent call last):
    latentbandits.settings.Refusal: store: experiment is '../etc' but must be 1 to 64 letters, digits, '-', '_' and '.', ...
    """
    if is_experiment(name):
        return str(name)
    raise Refusal("store", "experiment", name, "1 to 64 letters, digits, '-', '_' and '.', the first a letter or digit")


def is_experiment(name: Any) -> bool:
    """Return whether something can be the name of an experiment."""
    if not isinstance(name, str) or not 0 < len(name) <= 64 or not name.isascii():
        return False
    return name[0].isalnum() and all(one.isalnum() or one in "-_." for one in name)
