"""The report: one page that reads offline, on a phone and in print; it walks the registry of experiments.

It tells a story: what the paper asks and finds, its main table beside ours, its figures in their order, what goes beyond it, then all
verdicts, the choices, and what was run.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from latentbandits.files import write_whole
from latentbandits.presentation import html
from latentbandits.presentation.html import Html, tag
from latentbandits.presentation.numbers import millions
from latentbandits.presentation.palette import plotting, saved
from latentbandits.settings import InvalidValueError
from latentbandits_studies.experiments.case import resize
from latentbandits_studies.experiments.claims import PAPER, Claim, temper
from latentbandits_studies.experiments.paper.worlds import FEWER_MATRICES
from latentbandits_studies.experiments.registry import Experiment, experiment, ids
from latentbandits_studies.experiments.store import Description, Store, digest_cases
from latentbandits_studies.experiments.table2 import markdown
from latentbandits_studies.report import closing, verdicts

TITLE = "Adaptive exploration for latent-state bandits, reproduced"
MAIN, WHY = "table2", "scale"  # the main table, and why ours is doubled beside it, which is said first
# Chapters: the id of each, its title, and the lowest place of an experiment in it
CHAPTERS: tuple[tuple[str, str, int], ...] = (
    ("main-table", "The main table", 0),
    ("figures", "The paper's experiments", 20),
    ("examples", "The paper's examples and theory", 70),
    ("beyond", "Beyond the paper", 125),
)
LAST = {"verdicts": "Verdicts", "choices": "Choices", "runs": "What was run"}
# What the paper asks, does and finds, in our words
STORY = (
    "Which arm should one play when the best arm depends on a hidden state that changes by itself, and past actions and rewards are all "
    "that tells anything about it? ",
    "The paper gives LinUCB two summaries of that past: the last arm with its reward, and a fingerprint, one reward of every arm, which "
    "probes take on a schedule or when a residual, margin or staleness gate opens. ",
    "It reports less regret than standard, adversarial and non-stationary baselines where these summaries distinguish the states and are "
    "recent, and three failure modes: fingerprints that are alike, high noise, and changes of state during a sequential probe.",
)

DOUBLED = (
    "The printed cells agree with twice the regret per group (the paper's unit), or with twice the rounds, and not with means on [0, 2]. "
    "So ours are doubled next to them; the paper does not say why. "
    "Stay 0.50 is a self-transition probability (p_stay) of 0.50, noise 0.05 a standard deviation (sigma) of the rewards, "
    "and print what the "
    "paper prints. "
)


class Report(NamedTuple):
    """A page that was written: its path, the claims that were judged, and what the rows of the main table say on the closing screen."""

    page: Path
    judged: dict[str, list[Claim]]
    main: list[str]

    def screen(self, *following: str) -> str:
        """Return the closing screen of a run; `following` is what to do next, line by line."""
        return closing.screen(self.main, self.judged, self.page, following)


def write_report(results: str | Path, folder: Path, progress: Callable[[int, int], None] | None = None) -> Report:
    """Plot every experiment whose rows are there, write the page, and return what it says in short.

    Parameters
    ----------
    results : path or str
        A folder that `latentbandits reproduce` has filled.
    folder : path
        Where the page, its figures and the verdicts are written.
    progress : callable, optional
        Called with the number of experiments done and the total.
    """
    store = Store(results, read_only=True)
    there = store.experiments()
    names = [name for name in ids(brought=True) if name in there]
    if not names:
        raise InvalidValueError("report", "results", str(results), "a folder that `latentbandits reproduce` has filled")
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidValueError("report", "out", str(folder), "a folder that can be written to") from problem
    report, quick, described = Report(folder / "index.html", {}, []), {}, store.descriptions()
    sections, findings = dict[str, str](), dict[str, str]()
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        rows, one = store.load(name), experiment(name)
        try:
            hasty, about = bool(rows["quick"].any()), described.get(name)
            claims = temper(one.score(rows), hasty or (about is not None and about["sizes"] is not None))
            findings[name] = one.finding(rows) if one.finding is not None else verdicts.counts(claims)
            sections[name] = section(one, rows, folder, claims, findings[name], hasty) + _warn_stale(about, name)
            if name == MAIN:
                report.main.extend(closing.main_table(rows))
                write_whole(folder / "main-table.md", markdown(rows).encode())
            report.judged[name], quick[name] = claims, hasty
        except InvalidValueError as reason:  # data of the user are not there
            sections[name] = _heading(one) + tag("p", str(reason), classes="quick")
        except (LookupError, ValueError):  # a case, policy or column that this version does not have
            sections[name] = _heading(one) + _other(name)
    if progress is not None:
        progress(len(names), len(names))
    parts = [
        head(quick, report.judged),
        *chapters(sections, findings),
        verdicts.tables(report.judged),
        verdicts.choices(),
        runs(described, quick),
    ]
    contents = {id: title for id, title, _ in CHAPTERS} | LAST  # noqa: A001
    content = html.page("Latent-state bandits, reproduced", *parts, contents=contents, script=verdicts.SCRIPT)
    try:
        write_whole(report.page, content.encode())
        write_whole(folder / "claims.csv", verdicts.frame(report.judged).to_csv(index=False).encode())
        write_whole(folder / "claims.md", verdicts.markdown(report.judged).encode())
    except OSError as problem:
        raise InvalidValueError("report", "out", str(folder), "a folder that can be written to") from problem
    return report


def _other(name: str) -> str:
    command = tag("code", f"latentbandits reproduce {name}")
    words = "These results are of another version of the code: "
    return tag("p", words, command, " computes what has changed.", classes="quick")


def _warn_stale(about: Description | None, name: str) -> str:
    """Return a warning if the rows of an experiment were not computed by this code."""
    if about is None:
        return ""
    cases = resize(experiment(name).cases(about["size"]), about["sizes"])
    return "" if about["code"] == digest_cases(cases) else _other(name)


def _heading(experiment: Experiment, quick: bool = False) -> str:
    mark = [" ", tag("span", "quick run", classes="short")] if quick else []
    return tag("h3", experiment.title or experiment.id, *mark, id=experiment.id)


def section(
    experiment: Experiment,
    results: pd.DataFrame,
    folder: Path,
    judged: Sequence[Claim],
    finding: str,
    quick: bool = False,
) -> str:
    """Return one experiment: what came out, its figures and tables, what was done, and where its claims are judged."""
    parts = [_heading(experiment, quick), tag("p", finding, classes="finding"), experiment.introduction]
    for name, caption, plot in experiment.figures:
        with plotting():
            content = saved(plot(results), "svg")
        write_whole(folder / "figures" / f"{name}.svg", content)
        parts.append(html.figure(content, caption))
    if experiment.tables is not None:
        parts.append(experiment.tables(results))
    links = ", ".join(tag("a", claim.id.split("/")[1].replace("-", " "), href=f"#{claim.id}") for claim in judged)
    parts.append(
        tag("p", f"What was run: {experiment.summary}. Judged: ", Html(links or "nothing"), ".", classes="note")
    )
    return "\n".join(filter(None, parts))


def chapters(sections: Mapping[str, str], findings: Mapping[str, str]) -> list[str]:
    """Return the chapters with their experiments; the first begins with why cells are compared with twice our regret."""
    parts: list[str] = []
    for place, (id, title, begin) in enumerate(CHAPTERS):  # noqa: A001
        end = CHAPTERS[place + 1][2] if place + 1 < len(CHAPTERS) else float("inf")
        chosen = [name for name in sections if begin <= experiment(name).place < end]
        told = [sections[name] for name in chosen]
        if MAIN in chosen and WHY in findings:
            told.insert(0, tag("p", DOUBLED, findings[WHY]))
        empty = tag("p", "Nothing of this chapter was run.", classes="note")
        parts.append(tag("section", tag("h2", title, id=id), Html("\n".join(told) or empty)))
    return parts


def head(quick: Mapping[str, bool], judged: verdicts.Judged) -> str:
    """Return the beginning: the paper in three sentences, what came of its claims, and what is missing on this page, if anything."""
    claims = [claim for _, claim in verdicts.of_kind(judged, PAPER)]
    link = tag("a", "Verdicts", href="#verdicts")
    source = tag("a", "doi:10.1145/3770855.3817882", href="https://doi.org/10.1145/3770855.3817882")
    return "".join(
        [
            tag("h1", TITLE),
            tag(
                "p",
                "Jin, Hung, Krishnamurthy, Shi & Zhang, KDD 2026, ",
                source,
                ", next to our own runs.",
                classes="note",
            ),
            tag("p", *STORY),
            tag("p", link, f" on what it claims: {verdicts.brief(claims)}."),
            _short(quick),
        ]
    )


def runs(described: Mapping[str, Description], quick: Mapping[str, bool]) -> str:
    """Return what was run, on what, and how long it took; `quick` says of each experiment on the page whether it was a quick run."""
    lines = []
    for name, hasty in quick.items():
        run = described.get(name)
        lines.append(
            [
                Html(tag("a", experiment(name).title or name, href=f"#{name}") + tag("small", name)),
                "quick" if hasty else run["size"] if run else "?",
                millions(run["rounds"]) if run else "?",
                f"{run['seconds']:.1f}" if run else "?",
            ]
        )
    last = max(described.values(), key=lambda about: about["finished"], default=None)
    where = (
        f"latentbandits {last['latentbandits']}, Python {last['python']}, {last['cores']} cores "
        f"({last['processor']}). Runs that two experiments share are counted in both."
        if last is not None
        else "The file that describes these runs is missing: when and where they were computed is not known."
    )
    words = tag(
        "p",
        "Regret is per group, against an oracle that sees the hidden state. The ",
        tag("em", "Bayes limit"),
        " is a filter that is given the means, the chain and the noise but not the state, and that plans; the ",
        tag("em", "greedy filter"),
        " is given the same and never tests. Of the size ",
        tag("em", "paper"),
        f", what the paper has is in full, and what stands beside it on the first {FEWER_MATRICES} matrices.",
    )
    heads = ["experiment", "size", "million rounds", "seconds"]
    table = html.table(heads, lines, caption="Experiments on this page: their size and their time")
    notes = _warning([name for name, hasty in quick.items() if hasty]) + _left_out(quick)
    return tag("h2", LAST["runs"], id="runs") + notes + words + tag("p", where) + table


def _short(quick: Mapping[str, bool]) -> str:
    """Return in a line that experiments were quick or are missing, if some were or are, and where the page says which."""
    hasty, absent = sum(quick.values()), sum(name not in quick for name in ids())
    said = [f"{hasty} of {len(ids())} experiments are quick runs, marked as such, which judge nothing"] if hasty else []
    said += (
        [f"{absent} were not run" if hasty else f"{absent} of {len(ids())} experiments were not run"] if absent else []
    )
    more = tag("a", LAST["runs"].lower(), href="#runs")
    return tag("p", f"{'; '.join(said)}: see ", more, ".", classes="quick") if said else ""


def _warning(hasty: list[str]) -> str:
    """Return which experiments were quick runs."""
    if not hasty:
        return ""
    every = set(ids()) <= set(hasty)
    which = "all experiments" if every else ", ".join(hasty)
    words = (
        "fewer matrices and policies, shorter sweeps and wider intervals, so that it judges nothing. Not for citing. "
    )
    full = tag("code", " ".join(["latentbandits reproduce", *([] if every else hasty), "--full"]))
    minutes = ", in tens of minutes" if every else ""
    return tag("p", f"Quick run of {which}: {words}In full{minutes}: ", full, ".", classes="quick")


def _left_out(shown: Container[str]) -> str:
    """Return which experiments are not on the page, and the command that runs them."""
    absent = [name for name in ids() if name not in shown]
    if not absent:
        return ""
    command = tag("code", f"latentbandits reproduce {' '.join(absent)}")
    return tag("p", f"Not run, and so not on this page: {', '.join(absent)}. ", command, " adds them.", classes="quick")
