"""Describe a problem question by question; what comes of it is a policy, a description of the problem and a program that decides."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice

SUMMARY = "describe a problem question by question, and get a policy and a program that uses it"
EXAMPLES = (
    "latentbandits quickstart",
    "latentbandits quickstart --defaults --out offers",
)
UNKNOWN = "?"
CANDIDATES = ["state-library", "state-library-forgetful", "cp-ts", "scaled(d-ucb)", "ts", "ab-test"]
PROGRAM = '''"""Decides between {listed}. Every decision and every reward is on disk: end it anywhere, start it again, and it goes on.

    python decide.py               makes a decision: prints its id and what to play
    python decide.py ID REWARD     tells what a decision earned, as soon as that is known

In a program of your own call `ask` and `tell` of an agent that is opened once.
"""

import sys

import latentbandits as lb

SETTINGS = {settings}


def main(given: list[str]) -> str:
    with lb.open_agent("decisions.db", "first", **SETTINGS) as agent:
        if given:
            return agent.tell(given[0], float(given[1]))
        decision = agent.ask()
        return f"{{decision.id}} {{decision.arm}}"


if __name__ == "__main__":
    print(main(sys.argv[1:]))
'''


def names(text: str) -> list[str]:
    """Return names of arms, from a list or a number.

    Examples
    --------
    >>> from latentbandits.cli.quickstart import names
    >>> names("red, green"), names("3")
    (['red', 'green'], ['arm 1', 'arm 2', 'arm 3'])
    """
    arms = [name.strip() for name in text.split(",") if name.strip()]
    if len(arms) == 1 and arms[0].isdigit():
        arms = [f"arm {n + 1}" for n in range(min(int(arms[0]), 1001))]
    if not 2 <= len(set(arms)) == len(arms) <= 1000:
        raise ValueError("2 to 1000 different names with commas between them, or their number")
    return arms


# Word, question, and the answer to an empty line
QUESTIONS = (
    ("arms", "What do you choose between? Names with commas between them, or how many", "a, b, c"),
    ("rewards", "What do you see afterwards: yes/no (a click, a sale) or a number", "yes/no"),
    ("means", "What does it earn on average, from the worst to the best", "0 to 1"),
    ("horizon", "How many decisions will there be", "10000"),
    ("dwell", f"After how many decisions may the best one change? A range will do, {UNKNOWN} if unknown", UNKNOWN),
    ("noise", "How far do rewards of one choice scatter (standard deviation)", UNKNOWN),
    ("delay", "After how many decisions does its reward arrive", "0"),
    ("window", "After how many decisions does no reward count as 0? 0 if each is told", "0"),
    ("rate", "How many decisions are there in an hour", "1000"),
    ("wrong", "Which share of the rewards is far off, such as a timeout or a mistake", "0"),
    (
        "limits",
        f"From what to what can a reward be right? Others are moved to the nearer end, {UNKNOWN} if any can",
        UNKNOWN,
    ),
)
OWN = ("rate", "limits")  # what the program needs and no simulated world has
REWARDS = {"yes/no": "bernoulli", "y": "bernoulli", "yes": "bernoulli", "number": "gaussian", "n": "gaussian"}


def rate(text: str) -> float:
    """Return a number above 0."""
    if not 0 < float(text) < float("inf"):
        raise ValueError("a number above 0")
    return float(text)


def needless(word: str, answers: Mapping[str, Any]) -> bool:
    """Return whether a question follows from the answers so far."""
    clicks = answers.get("rewards") == "bernoulli"
    return (word == "rate" and not answers["window"]) or (word in ("noise", "limits") and clicks)


def settings(policy: str, arms: list[str], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the agent that fits the answers.

    Examples
    --------
    >>> from latentbandits.cli.quickstart import settings
    >>> made = settings("ts", ["a", "b"], {"rewards": "bernoulli", "window": 20_000, "rate": 3600.0, "delay": 0})
    >>> made["max_open"], made["window"], made["default"], made["reward_range"]
    (40000, 20000.0, 0.0, (0.0, 1.0))
    """
    from latentbandits.worlds.delivery import as_delay

    made: dict[str, Any] = {"policy": policy, "arms": arms}
    window, delay = answers.get("window") or 0, as_delay(answers.get("delay") or 0)
    waiting = max(window, delay.high, 5 * int(delay.mean))
    if 2 * waiting > 10_000:
        made["max_open"] = 2 * waiting
    if window:
        made |= {"window": window / answers["rate"] * 3600, "default": 0.0}
    if answers["rewards"] == "bernoulli":
        made["reward_range"] = (0.0, 1.0)
    elif answers.get("limits"):
        made |= {"reward_range": answers["limits"], "outside": "clip"}
    return made | {"corrections": 100}


def value(word: str, text: str) -> object:
    """Return what an answer means, None for what is not known; raise ValueError, with the rule, if it means nothing."""
    from latentbandits.advice.problem import Problem
    from latentbandits.advice.vocabulary import PARAMETERS
    from latentbandits.cli.problem import parse

    if word == "arms":
        return names(text)
    if word == "rewards":
        if text.lower() not in REWARDS:
            raise ValueError("yes/no or number")
        return REWARDS[text.lower()]
    if text == UNKNOWN:
        return None
    if word == "rate":
        return rate(text)
    if word == "limits":
        low, high = (float(end) for end in text.split(" to ")) if text.count(" to ") == 1 else (0.0, 0.0)
        if not low < high:
            raise ValueError("two numbers, such as 0 to 1")
        return low, high
    try:
        return vars(Problem(**{word: parse(word, text)}))[word]
    except ValueError:
        raise ValueError(f"{PARAMETERS[word].must_be}, or {UNKNOWN}") from None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--defaults", action="store_true", help="ask nothing, take the default of every question")
    parser.add_argument(
        "--runs", type=int, default=32, help="worlds that choose, and that measure (default: %(default)s)"
    )
    parser.add_argument(
        "--policies", nargs="+", metavar="POLICY", help="candidates (default: a short list of common ones)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("quickstart"), help="folder to write to (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Ask, advise, write the problem, the advice and the program."""
    from latentbandits.advice.advise import advise
    from latentbandits.advice.text import verdict
    from latentbandits.presentation.progress import Progress
    from latentbandits.settings import InvalidValueError

    if options.out.exists():
        raise InvalidValueError("quickstart", "--out", str(options.out), "a folder that does not exist yet")
    answers: dict[str, Any] = {}
    for word, question, default in QUESTIONS:
        if not needless(word, answers):
            answers[word] = value(word, default) if options.defaults else ask(word, question, default)
    arms: list[str] = answers["arms"]
    words = {"arms": len(arms)} | {
        name: value for name, value in answers.items() if value not in (None, 0) and name not in ("arms", *OWN)
    }
    if "wrong" in words and answers["rewards"] == "bernoulli":
        words["wrong_reward"] = 1  # a click that was none
    print(
        f"\nLooking for a policy in simulated worlds of this kind ({options.runs} that choose, as many that measure)."
    )
    with Progress("choosing, measuring") as progress:
        advice = advise(words | {"runs": options.runs}, options.policies or CANDIDATES, sweep=False, progress=progress)
    write(options.out, arms, words, settings(advice.winner, arms, answers), advice)
    print()
    print("\n".join([*verdict(advice), ""]))
    print(
        f"Next: `cd {options.out} && python decide.py` makes a decision; advice.html has everything that was measured;"
    )
    print("`latentbandits advise problem.toml` takes longer and says when another policy would be better.")
    return 0


def ask(word: str, question: str, default: str) -> object:
    """Return the answer to a question; one that cannot be used is asked for again."""
    while True:
        try:
            text = input(f"{question} [{default}]: ").strip()
        except EOFError:
            raise ValueError(f"quickstart: {word} has no answer but must be given; --defaults asks nothing") from None
        try:
            return value(word, text or default)
        except ValueError as rule:
            print(f"{text!r} does not fit, it must be {rule}.", file=sys.stderr)


def write(
    folder: Path, arms: list[str], words: Mapping[str, object], used: Mapping[str, object], advice: "Advice"
) -> None:
    """Write the problem, the advice and the program."""
    from latentbandits.cli.problem import write as written

    folder.mkdir(parents=True)
    lines = [
        f"{name} = {value if isinstance(value, int | float) else json.dumps(str(value))}"
        for name, value in words.items()
    ]
    written(folder / "problem.toml", ("\n".join(lines) + "\n").encode(), "quickstart")
    listed = f"{', '.join(arms[:-1])} and {arms[-1]}"
    written(folder / "decide.py", PROGRAM.format(listed=listed, settings=dict(used)).encode(), "quickstart")
    advice.save(folder / "advice.html")
