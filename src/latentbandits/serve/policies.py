"""Policies that are named over a network: only those of this package, and none that fills the memory."""

import re
from typing import Any

from latentbandits import specs
from latentbandits.memories import parts
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Oracle
from latentbandits.serve.messages import MOST
from latentbandits.settings import Refusal, nearest

LARGEST = 256 * 2**20  # bytes of one policy's memory


def policy(text: str, arms: int, toml: bool = False, **settings: Any) -> Any:
    """Return the policy that a text stands for, or refuse it: a class of other code and the path of a file are none.

    Parameters
    ----------
    text : str
        A name with or without settings, or, if `toml`, what `latentbandits tune` writes into a file.
    arms : int
        How many arms it has.
    **settings
        Settings beside those of the text.

    Examples
    --------
    >>> from latentbandits.serve.policies import policy
    >>> policy("sw-ucb:window=300", 3).window
    300
    >>> policy("os:system", 3)
    Traceback (most recent call last):
    latentbandits.settings.Refusal: experiment: policy is 'os' but must be one of state-library, ...
    """
    try:
        if toml:
            _refuse_foreign(specs.named_in(text))
            made = specs.from_toml(text, arms, **settings)
        else:
            _refuse_foreign(text)
            made = specs.policy(text, arms=arms, **settings)
    except Refusal as refusal:
        raise refusal.at(owner="experiment") from None
    if not isinstance(made, Oracle):  # those are refused for what they are
        _refuse_large(made, text)
    return made


def _refuse_foreign(text: str) -> None:
    """Refuse a text with a name in it that is not in the registry."""
    for part in re.split("[:()]", text):
        if part == "" or ("=" in part and not part.lower().endswith(".toml")):
            continue
        if part.strip().lower() not in REGISTRY:
            raise Refusal("experiment", "policy", part, f"one of {', '.join(REGISTRY)}{nearest(part, REGISTRY)}")


def _refuse_large(made: Any, text: str) -> None:
    """Refuse a policy whose memory, or whose choices, would be too large."""
    for name in ("units", "covariates"):
        if int(getattr(made, name, 0)) > MOST:
            raise Refusal("experiment", name, getattr(made, name), f"at most {MOST}")
    try:
        size = sum(part.nbytes for part in parts(made.init()).values())
    except (MemoryError, OverflowError, ValueError) as problem:
        if isinstance(problem, Refusal):
            raise
        size = LARGEST + 1
    if size > LARGEST:
        raise Refusal("experiment", "policy", text, f"one whose memory has at most {LARGEST // 2**20} MB")
