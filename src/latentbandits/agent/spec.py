"""What an agent is: its policy, its arms, and, of one in a store, the rules about rewards. Checked when it is made, kept as JSON."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypedDict, TypeGuard, cast
from unicodedata import bidirectional, category

from latentbandits.agent import guardrail
from latentbandits.agent.decision import Name
from latentbandits.agent.inputs import as_name, online
from latentbandits.agent.mixing import Mixing, mixing
from latentbandits.parameters import all_settings, describe
from latentbandits.policies import registry
from latentbandits.protocols import LARGEST_REWARD, LEARN, Policy
from latentbandits.settings import Above, InvalidValueError, Within, check_int, check_range, nearest
from latentbandits.specs import split, wrapper

DECIDING, LEARNING = ("shadow", "live", "frozen", "killed"), ("shadow", "live")
STATUSES = (*DECIDING, "archived")  # any may follow any, but an archived experiment stays so
ANY_TIME = (
    "max_open", "floor", "holdback", "control", "window", "default", "learn", "reward_range", "outside", "guardrail",
)  # fmt: skip
OUTSIDE = ("refuse", "clip")
LEARNS = ("censored", *LEARN)
USUAL = "state-library"  # the policy of an experiment of which only the arms are given
_UNSEEN = ("Cc", "Cs", "Zl", "Zp")  # characters that are no text: control, half a pair, separators of lines
_TURNING = (
    "LRE",
    "RLE",
    "LRO",
    "RLO",
    "PDF",
    "LRI",
    "RLI",
    "FSI",
    "PDI",
)  # those that let other text be read the other way round
_LONGEST = 10 * 365 * 86_400.0  # seconds
Expected = Policy | type | str | None  # the policy that a file must have
PolicyRecord = TypedDict("PolicyRecord", {"class": str, "settings": dict[str, object]})


class SpecRecord(TypedDict):
    """A specification as JSON holds it."""

    policy: PolicyRecord
    arms: list[Name]
    seed: int
    max_open: int
    floor: float
    holdback: float
    control: Name
    window: float | None
    default: float | None
    learn: str
    reward_range: list[float] | None
    outside: str
    corrections: int
    guardrail: float | None


class Spec(NamedTuple):
    """The settings of an agent.

    Attributes
    ----------
    policy : Policy
    arms : names of the first arms; `add` and `retire` change them
    seed : names the randomness
    max_open : decisions that may wait; beyond it the window of the oldest closes early, or it is censored
    floor, holdback : as for `Agent`
    control : the arm of subjects that are held back, of a shadow and of a killed experiment
    window : seconds that a decision waits for its reward, None for no limit
    default : the reward that is taken when the window is over, None to censor the decision
    learn : when a decision with a window is learned: ``"at_window"``, when it closes, in the order of decisions, whatever arrives when;
        ``"censored"``, then too, but choices take into account before which open decisions have a reward, and which have none at their
        age; or ``"at_once"``, when its reward arrives, for delays that do not depend on the reward. Not given, it is ``"censored"`` if the
        policy can `peek`, else ``"at_window"``
    reward_range : (low, high) of rewards, None for any
    outside : what happens to a reward outside it: ``"refuse"``, or ``"clip"``, which moves it to the end of the range
    corrections : how many of the decisions that ended last can be corrected after they were learned
    guardrail : least mean that a second metric must have, by arm and regime; None for none
    """

    policy: Policy
    arms: tuple[Name, ...]
    seed: int = 0
    max_open: int = 10_000
    floor: float = 0.0
    holdback: float = 0.0
    control: Name | None = None
    window: float | None = None
    default: float | None = None
    learn: str | None = None
    reward_range: tuple[float, float] | None = None
    outside: str = OUTSIDE[0]
    corrections: int = 0
    guardrail: float | None = None

    @classmethod
    def of(cls, policy: Policy | str, arms: Sequence[Name] | int | None = None, **settings: Any) -> Self:
        """Return the settings of an experiment, checked, or refuse them.

        Examples
        --------
        >>> from latentbandits.store import Spec
        >>> Spec.of("ucb1", arms=["red", "blue"], window=3600).control
        'red'
        >>> Spec.of("ucb1", arms=["red", "blue"], window=-1)
        Traceback (most recent call last):
        latentbandits.settings.InvalidValueError: experiment: window is -1 but must be a finite number above 0
        """
        try:
            policy, names = online(policy, arms)
            refuse_unclear(names)
        except InvalidValueError as refusal:
            raise refusal.at(owner="experiment") from None
        return cls(policy, tuple(names), control=names[0]).changed(settings, names)

    def changed(self, changes: Mapping[str, Any], names: Sequence[Name]) -> Self:
        """Return the settings with some of them changed, or refuse; `names` are those of all arms by now."""
        known = self._fields[2:]
        for name in changes:
            if name not in known:
                rule = f"one of {', '.join(known)}{nearest(name, known)}"
                raise InvalidValueError("experiment", "setting", name, rule)
        given = {name: value for name, value in changes.items() if (name, value) != ("control", None)}
        try:
            return self._replace(**given).checked(names)
        except InvalidValueError as refusal:
            raise refusal.at(owner="experiment") from None

    def checked(self, names: Sequence[Name]) -> Self:
        """Return the settings as plain values, or refuse them."""
        seed = check_int("Agent", "seed", self.seed, least=0)
        mix = mixing(self.policy, names, seed, self.floor, self.holdback, self.control)
        most = check_int("Agent", "max_open", self.max_open, least=1)
        control = names[0] if self.control is None else as_name(self.control, "control")
        window, default = self.window, self.default
        if window is not None:
            window = check_range("experiment", "window", window, Above(0))
            window = check_range("experiment", "window", window, Within(1e-3, _LONGEST))
        if default is not None:
            if window is None:
                rule = "given with a window (without one it is never taken)"
                raise InvalidValueError("experiment", "default", default, rule)
            default = check_range("experiment", "default", default, Within(-LARGEST_REWARD, LARGEST_REWARD))
        return type(self)(
            self.policy,
            self.arms,
            seed,
            most,
            mix.floor,
            mix.holdback,
            control,
            window,
            default,
            _learning(self.policy, self.learn),
            _range(self.reward_range, default),
            _among("outside", self.outside, OUTSIDE),
            check_int("experiment", "corrections", self.corrections, least=0),
            guardrail.checked(self.policy, self.guardrail),
        )

    @property
    def defers(self) -> bool:
        """Whether rewards wait for the window of their decision to close."""
        return self.window is not None and self.learn != "at_once"

    @property
    def peeks(self) -> bool:
        """Whether choices take open decisions into account: what none is told of by its window must have a reward."""
        return self.learn == "censored" and self.default is not None

    def plain(self) -> SpecRecord:
        """Return everything as values that JSON can hold."""
        record = {**self._asdict(), "policy": policy_record(self.policy), "arms": list(self.arms)}
        return cast("SpecRecord", record)

    @classmethod
    def read(cls, record: SpecRecord, expected: Expected = None) -> Self:
        """Return the settings that `plain` returned; a policy from outside this package must be the expected one."""
        given = {**record, "policy": policy_of(record["policy"], expected), "arms": tuple(record["arms"])}
        return cls(**plainly(given))

    def mixing(self, names: Sequence[Name]) -> Mixing:
        """Return floor and holdback, with a fresh random stream."""
        return mixing(self.policy, names, self.seed, self.floor, self.holdback, self.control)

    @property
    def window_us(self) -> int | None:
        """The window in microseconds."""
        return None if self.window is None else round(self.window * 1e6)


def plainly(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that JSON has held as they are here: a range is a pair."""
    limits = record.get("reward_range")
    return dict(record) if limits is None else {**record, "reward_range": tuple(limits)}


def _among(name: str, value: object, known: Sequence[str]) -> str:
    if value not in known:
        raise InvalidValueError("experiment", name, value, f"one of {', '.join(known)}{nearest(str(value), known)}")
    return str(value)


def _learning(policy: Policy, learn: str | None) -> str:
    """Return when a policy learns; one that cannot look at open decisions waits for their windows, which is said if it was wanted."""
    if learn is not None and _among("learn", learn, LEARNS) != "censored":
        return learn
    if policy.peeks:
        return "censored"
    if learn is not None:
        advice = f"{type(policy).__name__} cannot look at open decisions, so learn='censored' is 'at_window' here"
        warnings.warn(advice, stacklevel=2)
    return "at_window"


def _range(given: object, default: float | None) -> tuple[float, float] | None:
    """Return the range of rewards as plain numbers, or refuse it."""
    if given is None:
        return None
    rule = "a pair (low, high) of finite numbers, the second one above the first"
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) != 2:
        raise InvalidValueError("experiment", "reward_range", given, rule)
    bounds = Within(-LARGEST_REWARD, LARGEST_REWARD)
    low, high = (check_range("experiment", "reward_range", end, bounds) for end in given)
    if not low < high:
        raise InvalidValueError("experiment", "reward_range", given, rule)
    if default is not None and not low <= default <= high:
        raise InvalidValueError("experiment", "default", default, f"within the reward_range, {low:g} to {high:g}")
    return low, high


def refuse_unclear(names: Collection[Name]) -> None:
    """Refuse names of arms that a table or a page cannot show, or tell apart.

    Examples
    --------
    >>> from latentbandits.agent.spec import refuse_unclear
    >>> refuse_unclear(["1", 1])
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: experiment: arms is ['1', 1] but must be names that differ when ...
    """
    for name in names:
        if isinstance(name, str) and (
            not name.strip() or any(category(one) in _UNSEEN or bidirectional(one) in _TURNING for one in name)
        ):
            raise InvalidValueError(
                "experiment", "arm", name, "a text that can be seen, without line breaks and control characters"
            )
    if len(set(map(str, names))) < len(names):
        raise InvalidValueError(
            "experiment", "arms", list(names), "names that differ when they are written (1 and '1' do not)"
        )


def as_experiment(name: object) -> str:
    """Return the name of an experiment, or refuse it: it is part of addresses.

    Examples
    --------
    >>> from latentbandits.agent.spec import as_experiment
    >>> as_experiment("spring-offers.2")
    'spring-offers.2'
    >>> as_experiment("../etc")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: store: experiment is '../etc' but must be 1 to 64 letters, digits, '-', '_' and '.', ...
    """
    if is_experiment(name):
        return name
    raise InvalidValueError(
        "store", "experiment", name, "1 to 64 letters, digits, '-', '_' and '.', the first a letter or digit"
    )


def is_experiment(name: object) -> TypeGuard[str]:
    """Return whether something can be the name of an experiment."""
    if not isinstance(name, str) or not 0 < len(name) <= 64 or not name.isascii():
        return False
    return name[0].isalnum() and all(one.isalnum() or one in "-_." for one in name)


def policy_record(policy: Policy) -> PolicyRecord:
    """Return the class and the settings of a policy as plain values, with those of a policy within it."""
    settings = {
        key: policy_record(value) if isinstance(value, Policy) else value for key, value in describe(policy).items()
    }
    return {"class": class_name(type(policy)), "settings": settings}


def class_name(kind: type) -> str:
    """Return the name of a policy class in a file: short for the package's own, with its module for others."""
    return kind.__name__ if registry.CLASSES.get(kind.__name__) is kind else f"{kind.__module__}:{kind.__qualname__}"


def policy_of(record: PolicyRecord, expected: Expected) -> Policy:
    """Return the policy of a file, or refuse it."""
    name, settings = record["class"], dict(record["settings"])
    classes: dict[str, Any] = dict(registry.CLASSES)
    within: Expected = expected.inner if isinstance(expected, tuple) else None
    if isinstance(expected, str):
        outer, rest = wrapper(split(expected)[0])
        within = rest if outer and rest else None
        expected = registry.registration(outer or expected).make
    if expected is not None:
        kind = expected if isinstance(expected, type) else type(expected)
        wanted = class_name(kind)
        if wanted != name:
            raise InvalidValueError("Agent", "policy of the file", name, f"the expected {wanted}")
        classes = {wanted: kind}
    if "inner" in settings:
        settings["inner"] = policy_of(cast("PolicyRecord", settings["inner"]), within)
    if name not in classes or not issubclass(classes[name], Policy):
        raise InvalidValueError(
            "Agent",
            "policy of the file",
            name,
            "one of this package, or its class given by Agent.load(path, policy=...)",
        )
    policy: Policy = classes[name](**settings)
    if isinstance(expected, Policy):
        wanted_settings = all_settings(expected)
        differ = {
            key: value for key, value in all_settings(policy).items() if value != wanted_settings[key] and key != "arms"
        }
        if differ:  # arms may have been added
            raise InvalidValueError("Agent", "policy of the file", differ, f"the expected {expected}")
    return policy
