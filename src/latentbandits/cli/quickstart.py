"""Describe a problem question by question; what comes of it is a policy, a description of the problem and a program that decides."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice

SUMMARY = "describe a problem question by question, and get a policy and a program that uses it"
EXAMPLES = (
    "latentbandits quickstart",
    "latentbandits quickstart --defaults --out offers",
)
UNKNOWN = "?"
CANDIDATES = ["state-library", "state-library-forgetful", "cp-ts", "scaled(d-ucb)", "ts", "ab-test"]
PROGRAM = '''"""Decides between {listed}. Every decision and every reward is on disk: end it anywhere, start it again, and it goes on."""

import latentbandits as lb

ARMS = {arms!r}

with lb.open_agent("decisions.db", "first", policy={policy!r}, arms=ARMS) as agent:
    while True:
        decision = agent.ask()
        reward = input(f"Play {{decision.arm}}. What did it earn (a number, or nothing to end)? ")
        if not reward:
            break
        agent.tell(decision, float(reward))
'''


class Question(NamedTuple):
    """A question.

    Attributes
    ----------
    word : what the answer describes
    text : the question
    default : the answer to an empty line
    answer : makes a value of the text of an answer; raises ValueError, with the rule, if it cannot
    """

    word: str
    text: str
    default: str
    answer: Callable[[str], object]


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


def word(name: str) -> Callable[[str], object]:
    """Return what makes a value of an answer by the rule of a word of the problem; None for what is not known."""

    def answer(text: str) -> object:
        from latentbandits.advice.problem import Problem
        from latentbandits.advice.vocabulary import PARAMETERS
        from latentbandits.cli.problem import parse

        if text == UNKNOWN:
            return None
        try:
            return vars(Problem(**{name: parse(name, text)}))[name]
        except ValueError:
            raise ValueError(f"{PARAMETERS[name].must_be}, or {UNKNOWN}") from None

    return answer


def kind_of_reward(text: str) -> str:
    """Return the distribution of rewards that an answer means."""
    kinds = {"yes/no": "bernoulli", "y": "bernoulli", "yes": "bernoulli", "number": "gaussian", "n": "gaussian"}
    if text.lower() not in kinds:
        raise ValueError("yes/no or number")
    return kinds[text.lower()]


QUESTIONS = (
    Question("arms", "What do you choose between? Names with commas between them, or how many", "a, b, c", names),
    Question("rewards", "What do you see afterwards: yes/no (a click, a sale) or a number", "yes/no", kind_of_reward),
    Question("means", "What does it earn on average, from the worst to the best", "0 to 1", word("means")),
    Question("horizon", "How many decisions will there be", "10000", word("horizon")),
    Question("dwell", f"After how many decisions may the best one change? A range will do, {UNKNOWN} if unknown", UNKNOWN, word("dwell")),
    Question("delay", "After how many decisions does its reward arrive", "0", word("delay")),
)  # fmt: skip


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
    answers: dict[str, Any] = {
        question.word: question.answer(question.default) if options.defaults else ask(question)
        for question in QUESTIONS
    }
    arms: list[str] = answers.pop("arms")
    words = {"arms": len(arms)} | {name: value for name, value in answers.items() if value not in (None, 0)}
    print(
        f"\nLooking for a policy in simulated worlds of this kind ({options.runs} that choose, as many that measure)."
    )
    with Progress("choosing, measuring;") as progress:
        advice = advise(words | {"runs": options.runs}, options.policies or CANDIDATES, sweep=False, progress=progress)
    write(options.out, arms, words, advice)
    print()
    print("\n".join([*verdict(advice), ""]))
    print(
        f"Next: `cd {options.out} && python decide.py` makes decisions; advice.html has everything that was measured;"
    )
    print("`latentbandits advise problem.toml` takes longer and says when another policy would be better.")
    return 0


def ask(question: Question) -> object:
    """Return the answer to a question; one that cannot be used is asked for again."""
    while True:
        try:
            text = input(f"{question.text} [{question.default}]: ").strip()
        except EOFError:
            raise ValueError(
                f"quickstart: {question.word} has no answer but must be given; --defaults asks nothing"
            ) from None
        try:
            return question.answer(text or question.default)
        except ValueError as rule:
            print(f"{text!r} does not fit, it must be {rule}.", file=sys.stderr)


def write(folder: Path, arms: list[str], words: Mapping[str, object], advice: "Advice") -> None:
    """Write the problem, the advice and the program."""
    from latentbandits.cli.problem import write as written

    folder.mkdir(parents=True)
    lines = [
        f"{name} = {value if isinstance(value, int | float) else json.dumps(str(value))}"
        for name, value in words.items()
    ]
    written(folder / "problem.toml", ("\n".join(lines) + "\n").encode(), "quickstart")
    listed = f"{', '.join(arms[:-1])} and {arms[-1]}"
    written(folder / "decide.py", PROGRAM.format(listed=listed, arms=arms, policy=advice.winner).encode(), "quickstart")
    advice.save(folder / "advice.html")
