"""Specs: texts that stand for policies (`text`), their syntax (`syntax`), and what no unit of rewards harms (`fair`)."""

from latentbandits.specs.fair import fair, fairly, in_unit, is_unit, means_range
from latentbandits.specs.syntax import file_stem, setting, split, value, wrapper
from latentbandits.specs.text import as_toml, from_toml, name_of, named_in, policy, shown_as, spec_of

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
