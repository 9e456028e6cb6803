"""Specs: texts that stand for policies (`text`), and how they are made fair to each other in any unit of rewards (`fair`)."""

from latentbandits.specs.fair import fair, fairly, in_unit, is_unit, means_range
from latentbandits.specs.text import (
    as_toml,
    file_stem,
    from_toml,
    name_of,
    named_in,
    policy,
    setting,
    shown_as,
    spec_of,
    split,
    value,
    wrapper,
)

__all__ = [
    "as_toml",
    "fair",
    "fairly",
    "file_stem",
    "from_toml",
    "in_unit",
    "is_unit",
    "means_range",
    "name_of",
    "named_in",
    "policy",
    "setting",
    "shown_as",
    "spec_of",
    "split",
    "value",
    "wrapper",
]
