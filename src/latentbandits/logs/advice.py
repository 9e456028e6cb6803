"""Advice on a log: by the verdict, or by each explanation that is still in the race."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from latentbandits.advice.advise import Advice, advise
from latentbandits.logs.text import named
from latentbandits.logs.verdict import MARGIN
from latentbandits.presentation import html
from latentbandits.presentation.html import tag
from latentbandits.settings import Refusal

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis


@dataclass(frozen=True, eq=False, repr=False)
class LogAdvice(Advice):
    """Advice by the best explanation of a log, and by the others that are still in the race.

    Attributes
    ----------
    explanation : by which explanation the advice is
    others : explanation -> advice by it
    """

    explanation: str = ""
    others: Mapping[str, Advice] = None  # type: ignore[assignment]

    @property
    def agreed(self) -> bool:
        """Whether all explanations that are still in the race lead to the same policy."""
        return all(other.winner == self.winner for other in self.others.values())

    @property
    def common(self) -> list[str]:
        """The policies that are best, or not shown to be worse, by every explanation that is still in the race."""
        sets = [{one.winner, *one.as_good} for one in self.others.values()]
        return [label for label in (self.winner, *self.as_good) if all(label in found for found in sets)]

    def remarks(self) -> list[str]:
        """Return what the other explanations say."""
        if not self.others:
            return [f"This is by one explanation of the log: {named(self.explanation)}. No other is in the race."]
        found = [f"The log does not settle it. By {named(self.explanation)}: {self.headline}."]
        found += [f"By {named(kind)}: {other.headline}." for kind, other in self.others.items()]
        if self.agreed:
            return [*found, "All lead to the same policy."]
        safe = f", but {self.common[0]} is not shown to be worse by any of them" if self.common else ""
        return [*found, f"They differ{safe}: more rows settle it, from a margin of {MARGIN:.0f} nats on."]

    def text(self) -> str:
        """Return the advice as a terminal shows it."""
        return "\n".join([*self.remarks(), "", super().text()])

    def page(self) -> str:
        """Return the advice as one HTML page that needs no other file."""
        notes = "\n".join(tag("p", line, classes="quick") for line in self.remarks())
        return super().page().replace("</h1>", f"</h1>\n{html.Html(notes)}", 1)

    def python(self, path: Any = "advice.html") -> str:
        """Return the Python that gives this advice and saves its page."""
        return (
            "import latentbandits as lb\n\n"
            'd = lb.diagnose("log.csv")\nadvice = lb.advise(d)\n'
            f"print(advice.text())\nadvice.save({str(path)!r})\nagent = d.agent(advice.policy)"
        )

    def values(self) -> dict[str, Any]:
        """Return everything but single runs as plain values."""
        others = {kind: {"policy": other.winner, "sure": other.sure} for kind, other in self.others.items()}
        return {**super().values(), "explanation": self.explanation, "others": others, "agreed": self.agreed}


def log_advice(d: "Diagnosis", policies: Any, sizes: Mapping[str, Any], **options: Any) -> LogAdvice:
    """Return the advice on a log: with flips for the best explanation, without them for the others."""
    kinds = [one.kind for one in d.race if one.kind in d.worlds]
    if not kinds:
        raise Refusal("advise", "explanation", d.verdict.kind, f"one of {', '.join(d.worlds)}")
    first, *rest = kinds
    worlds = {id(d.worlds[kind]) for kind in kinds}
    if options["seconds"] is not None:
        options["seconds"] /= len(worlds)
    best = advise(d.problem(first, **sizes), policies, **options)
    later = {**options, "sweep": False}
    seen, others = {id(d.worlds[first])}, {}
    for kind in rest:  # several explanations may stand for one world: that in which nothing changes
        if id(d.worlds[kind]) not in seen:
            seen.add(id(d.worlds[kind]))
            others[kind] = advise(d.problem(kind, **sizes), policies, **later)
    parts = {field.name: getattr(best, field.name) for field in dataclasses.fields(best)}
    return LogAdvice(**parts, explanation=first, others=others)
