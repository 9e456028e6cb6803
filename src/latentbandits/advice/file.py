"""A problem in a TOML file: read strictly, with the line of every mistake; and an example that explains itself."""

import re
import tomllib
from pathlib import Path
from typing import Any

from latentbandits.advice.problem import Problem
from latentbandits.files import write_whole
from latentbandits.settings import Refusal, nearest, refuse
from latentbandits.specs import policy

KEYS = tuple(Problem.__dataclass_fields__)

EXAMPLE = """\
# A problem, as `latentbandits compare`, `advise` and `tune` read it.
# Every line may be left out: `compare` and `tune` then take the value shown, `advise` takes it as unknown.
# What is not known exactly is a range: states = "3 to 20", dwell = "50 to 500".

kind = "hidden-markov"     # or "seasons" (a calendar), "drift" (no regimes, means wander), "recorded" (a file)
arms = 2                   # what you choose from
states = 10                # hidden regimes
dwell = 100                # rounds that a regime lasts on average
# stickiness = 0.99        # instead of dwell: the probability that a regime lasts one more round
# transition = [[0.99, 0.01], [0.02, 0.98]]   # instead of dwell: from each state (row) to each state

means = "0 to 1"           # mean rewards are drawn from here, anew for every run
# means = [[0.9, 0.1], [0.2, 0.6]]            # or they are known: a row per state, a column per arm
# separation = 0.2         # the two states most alike are this far apart (drawn means only)
rewards = "gaussian"       # or "bernoulli": 0 and 1, the means are probabilities
noise = 0.01               # standard deviation of a reward (gaussian only)
carryover = 0.0               # weight of the previous state in the expected reward
# timescale = 500          # kind "drift": rounds after which a mean has changed a lot
# file = "rewards.csv"     # kind "recorded": a column per arm, a line per round

units = 1                  # groups that can be treated differently at the same time
horizon = 10000            # rounds
runs = 200                 # worlds, each played once by every policy
seed = 0                   # names all randomness

# a name of `latentbandits policies`, a name with settings, your own module:Class, or a file that `tune` wrote
policies = ["state-library", "adasp-ucb", "adasp-ucb:staleness=12,min_gap=4", "glr-ucb", "sw-ucb", "ucb1"]
"""


def write(path: Path, content: bytes, owner: str, option: str) -> None:
    """Write a file whole, or refuse a place where that cannot be done."""
    try:
        write_whole(path, content)
    except OSError as problem:
        reason = (problem.strerror or type(problem).__name__).lower()
        raise refuse(owner, option, str(path), f"a file that can be written ({reason})") from None


def read(path: str | Path, **changes: Any) -> Problem:
    r"""Return what a file says, with some words changed, or refuse it with the line of the mistake.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.advice.file import read
    >>> path = Path(tempfile.mkdtemp(), "world.toml")
    >>> _ = path.write_text('arms = 4\nstate = "3 to 20"\n')
    >>> read(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...world.toml, line 2: key is 'state' but must be one of kind, ... (did you mean states?)
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "not a text"
        raise ValueError(f"problem: {path} cannot be read ({reason.lower()}) but must be a TOML file") from None
    try:
        words = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"{path}: {problem} but must be TOML, as `compare --write-example` writes it") from None
    for key in words:
        if key not in KEYS:
            rule = f"one of {', '.join(KEYS)}{nearest(key, KEYS)}"
            raise Refusal(f"{path}, line {line(text, key)}", "word", key, rule)
    if isinstance(words.get("file"), str):  # beside the description
        words["file"] = str(Path(path).parent / words["file"])
    try:
        found = Problem(**words)
        found = found.replace(**changes) if changes else found
        for spec in found.policies or ():
            check_spec(spec, found)
    except Refusal as refusal:
        if refusal.field in changes or refusal.field not in words:
            raise
        raise refusal.at(owner=f"{path}, line {line(text, refusal.field)}") from None
    return found


def check_spec(spec: str, problem: Problem) -> None:
    """Refuse a policy that cannot be made for a problem, as a mistake in the list of policies."""
    try:
        if spec not in ("all", "paper"):  # groups, for advice
            policy(spec, arms=problem.arms)
    except ValueError as refusal:
        raise Refusal("problem", "policies", spec, f"the spec of a policy ({refusal})") from None


def line(text: str, key: str) -> int:
    r"""Return the number of the line on which a key of a TOML file is set, or a table is opened.

    Examples
    --------
    >>> from latentbandits.advice.file import line
    >>> line('arms = 2\n# noise = 1\n"noise" = 2\n', "noise")
    3
    """
    named = re.compile(rf"""[ \t]*(\[+[ \t]*)?["']?{re.escape(key)}["']?[ \t]*[=.\]]""")
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, content in lines if named.match(content)), 1)
