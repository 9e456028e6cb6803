"""A log as a problem, which `compare` and `advise` take like a description in words; and advice on it, by each hypothesis in the race."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from latentbandits.advice.advise import Advice, advise
from latentbandits.advice.base import WorldProblem
from latentbandits.advice.candidates import Specs
from latentbandits.logs.conclusion import MARGIN
from latentbandits.logs.text import describe
from latentbandits.logs.worlds import FittedWorld
from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis


@dataclass(frozen=True)
class FittedProblem(WorldProblem):
    """A world that is as a log was, with the sizes of a simulation.

    Attributes
    ----------
    kind : the hypothesis that the world stands for
    world, groups, horizon, runs, seed, policies : as in `WorldProblem`
    """

    world: FittedWorld
    groups: int | None = 1
    kind: str = "fitted"
    advisable: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"a log as {self.world}"


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
        from latentbandits.advice.page import page

        return page(self, self.remarks())

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
    policies: Specs | None,
    sizes: Mapping[str, int | None],
    seconds: float | None,
    sweep: bool,
    **played: Any,
) -> LogAdvice:
    """Return the advice on a log: with flips for the best hypothesis, without them for the others."""
    kinds = [h.kind for h in d.contenders if h.kind in d.worlds]
    if not kinds:
        raise InvalidValueError("advise", "hypothesis", d.conclusion.kind, f"one of {', '.join(d.worlds)}")
    # several hypotheses may stand for one world: that in which nothing changes
    distinct = {str(d.worlds[kind]): kind for kind in reversed(kinds)}
    part = None if seconds is None else seconds / len(distinct)

    def by(kind: str, sweep: bool) -> Advice:
        return advise(d.problem(kind, **sizes), policies, sweep=sweep, seconds=part, **played)

    best = by(kinds[0], sweep)
    others = {kind: by(kind, False) for kind in kinds[1:] if distinct[str(d.worlds[kind])] == kind}
    parts = {field.name: getattr(best, field.name) for field in dataclasses.fields(best)}
    return LogAdvice(**parts, hypothesis=kinds[0], others=others)
