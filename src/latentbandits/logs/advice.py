"""Advice on a log: by the conclusion, or by each hypothesis that is still in the race."""

import dataclasses
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latentbandits.advice.advise import Advice, advise
from latentbandits.advice.simulator import Report
from latentbandits.logs.conclusion import MARGIN
from latentbandits.logs.text import describe
from latentbandits.presentation import html
from latentbandits.presentation.html import tag
from latentbandits.protocols import Contestant
from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis


@dataclass(frozen=True, eq=False, repr=False)
class LogAdvice(Advice):
    """Advice by the best hypothesis of a log, and by the others that are still in the race.

    Attributes
    ----------
    hypothesis : by which hypothesis the advice is
    others : hypothesis -> advice by it
    """

    hypothesis: str = ""
    others: Mapping[str, Advice] = None  # type: ignore[assignment]

    @property
    def agreed(self) -> bool:
        """Whether all hypotheses that are still in the race lead to the same policy."""
        return all(other.winner == self.winner for other in self.others.values())

    @property
    def common(self) -> list[str]:
        """The policies that are best, or not shown to be worse, by every hypothesis that is still in the race."""
        sets = [{advice.winner, *advice.as_good} for advice in self.others.values()]
        return [label for label in (self.winner, *self.as_good) if all(label in policies for policies in sets)]

    def remarks(self) -> list[str]:
        """Return what the other hypotheses say."""
        if not self.others:
            return [f"This is by one hypothesis of the log: {describe(self.hypothesis)}. No other is in the race."]
        sentences = [f"The log does not settle it. By {describe(self.hypothesis)}: {self.headline}."]
        sentences += [f"By {describe(kind)}: {other.headline}." for kind, other in self.others.items()]
        if self.agreed:
            return [*sentences, "All lead to the same policy."]
        safe = f", but {self.common[0]} is not shown to be worse by any of them" if self.common else ""
        return [*sentences, f"They differ{safe}: more rows settle it, from a margin of {MARGIN:.0f} nats on."]

    def text(self) -> str:
        """Return the advice as a terminal shows it."""
        return "\n".join([*self.remarks(), "", super().text()])

    def page(self) -> str:
        """Return the advice as one HTML page that needs no other file."""
        notes = "\n".join(tag("p", line, classes="quick") for line in self.remarks())
        return super().page().replace("</h1>", f"</h1>\n{html.Html(notes)}", 1)

    def python(self, path: str | Path = "advice.html") -> str:
        """Return the Python that gives this advice and saves its page."""
        return (
            "import latentbandits as lb\n\n"
            'd = lb.diagnose("log.csv")\nadvice = lb.advise(d)\n'
            f"print(advice.text())\nadvice.save({str(path)!r})\nagent = d.agent(advice.policy)"
        )

    def values(self) -> dict[str, object]:
        """Return everything but single runs as plain values."""
        others = {kind: {"policy": other.winner, "sure": other.sure} for kind, other in self.others.items()}
        return {**super().values(), "hypothesis": self.hypothesis, "others": others, "agreed": self.agreed}


def log_advice(
    d: "Diagnosis",
    policies: Iterable[str | Contestant] | Mapping[str, str | Contestant] | str | None,
    sizes: Mapping[str, int | None],
    sweep: bool,
    seconds: float | None,
    workers: int | None,
    executor: Executor | None,
    progress: Report | None,
) -> LogAdvice:
    """Return the advice on a log: with flips for the best hypothesis, without them for the others."""
    kinds = [h.kind for h in d.contenders if h.kind in d.worlds]
    if not kinds:
        raise InvalidValueError("advise", "hypothesis", d.conclusion.kind, f"one of {', '.join(d.worlds)}")
    first, *rest = kinds
    # several hypotheses may stand for one world: that in which nothing changes
    distinct = {id(d.worlds[kind]): kind for kind in reversed(kinds)}
    part = None if seconds is None else seconds / len(distinct)

    def by(kind: str, sweep: bool) -> Advice:
        problem: Any = d.problem(kind, **sizes)
        return advise(
            problem, policies, sweep=sweep, seconds=part, workers=workers, executor=executor, progress=progress
        )

    best = by(first, sweep)
    others = {kind: by(kind, False) for kind in rest if distinct[id(d.worlds[kind])] == kind}
    parts = {field.name: getattr(best, field.name) for field in dataclasses.fields(best)}
    return LogAdvice(**parts, hypothesis=first, others=others)
