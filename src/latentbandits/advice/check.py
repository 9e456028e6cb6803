"""Which words of a problem go together: what excludes what, sizes that follow from matrices, and defaults for the rest."""

from collections.abc import Iterable

import numpy as np

from latentbandits.advice.parameter import MATRIX, OWNER, Range, Words, WordValues
from latentbandits.advice.vocabulary import PARAMETERS, words_of
from latentbandits.rewards import DISTRIBUTIONS, Distribution
from latentbandits.settings import InvalidValueError
from latentbandits.specs import policy
from latentbandits.worlds.registry import REGISTRY


def check_words(given: Words) -> WordValues:
    """Return the given words in their plain form, or refuse what the kind of world does not have and what excludes each other."""
    values: WordValues = {"kind": PARAMETERS["kind"].accept(given.get("kind", PARAMETERS["kind"].default))}
    kind = values["kind"]
    for name, value in given.items():
        word = PARAMETERS[name]
        if kind not in word.kinds:
            raise word.refusal(
                value,
                f"left out for kind {kind} (only {' and '.join(word.kinds)} {'has' if len(word.kinds) == 1 else 'have'} it)",
            )
        for other in values:
            if word.group and PARAMETERS[other].group == word.group:
                raise word.refusal(value, f"left out when {other} is given")
        values[name] = word.accept(value)
    if "noise" in values and not _rewards(values).noisy:
        raise PARAMETERS["noise"].refusal(given["noise"], f"left out when rewards are {values['rewards']}")
    arguments = REGISTRY[kind].arguments
    if "means" in values and "means" not in arguments and not isinstance(values["means"], Range):
        raise PARAMETERS["means"].refusal(given["means"], f"a range for kind {kind}")
    if "file" in arguments and "file" not in values:
        raise PARAMETERS["file"].refusal(None, f"the path of a file for kind {kind}")
    return values


def check_specs(specs: Iterable[str], arms: int) -> None:
    """Refuse specs that no policy has."""
    for spec in specs:
        try:
            if spec not in ("all", "paper"):  # groups, for advice
                policy(spec, arms=arms)
        except InvalidValueError as refusal:
            raise InvalidValueError(OWNER, "policies", spec, f"specs of policies ({refusal})") from None


def _rewards(values: Words) -> Distribution:
    return DISTRIBUTIONS[values.get("rewards", PARAMETERS["rewards"].default)]


def sizes_of_matrices(given: Words, values: Words) -> dict[str, tuple[int, str]]:
    """Return the sizes that follow from matrices, each with the word that it follows from."""
    sizes: dict[str, tuple[int, str]] = {}
    for name, word in PARAMETERS.items():
        if word.type == MATRIX and name in given and not isinstance(values[name], Range):
            for size, count in zip(word.sizes, np.shape(values[name]), strict=False):
                sizes.setdefault(size, (count, name))
    return sizes


def add_sizes(given: Words, values: WordValues, rows: list[list[float]] | None) -> None:
    """Add the sizes that follow from matrices and from recorded rewards, or refuse others."""
    following = sizes_of_matrices(given, values) | ({} if rows is None else {"arms": (len(rows[0]), "file")})
    for size, (count, source) in following.items():
        if values.setdefault(size, count) != count:
            raise PARAMETERS[size].refusal(given[size], f"{count}, as in {source}")
    if rows is not None and values.setdefault("horizon", len(rows)) > len(rows):
        raise PARAMETERS["horizon"].refusal(given["horizon"], f"at most the {len(rows)} rounds of the file")


def add_defaults(values: WordValues) -> None:
    """Add the defaults of the words that the kind of world has and that nothing else replaces."""
    groups = {PARAMETERS[name].group for name in values}
    for name in words_of(values["kind"]):
        word = PARAMETERS[name]
        replaced = (word.group and word.group in groups) or (name == "noise" and not _rewards(values).noisy)
        if name not in values and word.default is not None and not replaced:
            values[name] = Range(*_rewards(values).span) if name == "means" else word.default


def replace_words(given: Words, changes: Words) -> WordValues:
    """Return the words with some changed: a change drops the others of its group, and a matrix the sizes that follow from it."""
    changes = {name: value for name, value in changes.items() if value is not None}
    dropped = {size for name in changes if name in PARAMETERS for size in PARAMETERS[name].sizes}
    groups = {PARAMETERS[name].group for name in changes if name in PARAMETERS} - {""}
    dropped |= {name for name, word in PARAMETERS.items() if word.group in groups}
    return {name: value for name, value in given.items() if name not in dropped} | dict(changes)
