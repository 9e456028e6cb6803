"""The report: one page that reads offline, on a phone and in print; it walks the registry of experiments."""

from collections.abc import Callable, Container, Mapping
from pathlib import Path

import pandas as pd

from latentbandits.files import write_whole
from latentbandits.presentation import html
from latentbandits.presentation.html import Html, tag
from latentbandits.presentation.numbers import millions
from latentbandits.presentation.palette import plotting, saved
from latentbandits.settings import InvalidValueError
from latentbandits_studies.experiments.case import resize
from latentbandits_studies.experiments.claims import TARGET, Claim, temper
from latentbandits_studies.experiments.registry import Experiment, experiment, ids
from latentbandits_studies.experiments.store import Description, Store, digest_cases
from latentbandits_studies.report import verdicts

TITLE = "Adaptive exploration for latent-state bandits, reproduced"


def write_report(results: str | Path, folder: Path, progress: Callable[[int, int], None] | None = None) -> Path:
    """Plot every experiment whose rows are there, and return the page's path.

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
    names = [name for name in ids() if name in there]
    if not names:
        raise InvalidValueError("report", "results", str(results), "a folder that `latentbandits reproduce` has filled")
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidValueError("report", "out", str(folder), "a folder that can be written to") from problem
    sections, judged, quick, described = [], {}, {}, store.descriptions()
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        rows = store.load(name)
        try:
            quick[name] = bool(rows["quick"].any())
            about = described.get(name)
            claims = temper(
                experiment(name).score(rows), quick[name] or (about is not None and about["sizes"] is not None)
            )
            sections.append(section(experiment(name), rows, folder, claims) + _warn_stale(about, name))
            judged[name] = claims
        except (LookupError, ValueError):  # a case, policy or column that this version does not have
            quick.pop(name, None)
            sections.append(tag("h2", name, id=name) + _other(name))
    if progress is not None:
        progress(len(names), len(names))
    parts = [head(described, quick), verdicts.tables(judged), verdicts.sentences(judged), *sections, verdicts.choices()]
    try:
        write_whole(folder / "index.html", html.page("Latent-state bandits, reproduced", *parts).encode())
        write_whole(folder / "claims.csv", verdicts.frame(judged).to_csv(index=False).encode())
        write_whole(folder / "claims.md", verdicts.markdown(judged).encode())
    except OSError as problem:
        raise InvalidValueError("report", "out", str(folder), "a folder that can be written to") from problem
    return folder / "index.html"


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


def section(experiment: Experiment, results: pd.DataFrame, folder: Path, judged: list[Claim]) -> str:
    """Return one experiment: its line, where its claims are judged, its figures and tables."""
    links = ", ".join(tag("a", claim.id.split("/")[1], href=f"#{claim.id}") for claim in judged)
    kind = "Targets" if all(claim.kind == TARGET for claim in judged) else "Claims"
    parts = [
        tag("h2", experiment.title or experiment.id, id=experiment.id),
        tag("p", f"{experiment.summary}."),
        tag("p", f"{kind}: ", Html(links), ".", classes="note"),
        experiment.introduction,
    ]
    for name, caption, plot in experiment.figures:
        with plotting():
            content = saved(plot(results), "svg")
        write_whole(folder / "figures" / f"{name}.svg", content)
        parts.append(html.figure(content, caption))
    if experiment.tables is not None:
        parts.append(experiment.tables(results))
    return "\n".join(filter(None, parts))


def head(described: Mapping[str, Description], quick: dict[str, bool]) -> str:
    """Return what was run, on what, and how long it took; `quick` says of each experiment on the page whether it was a quick run."""
    lines = []
    for name, hasty in quick.items():
        run = described.get(name)
        lines.append(
            [
                Html(tag("a", name, href=f"#{name}") + tag("small", experiment(name).summary)),
                "quick" if hasty else "full",
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
    source = tag("a", "doi:10.1145/3770855.3817882", href="https://doi.org/10.1145/3770855.3817882")
    return "".join(
        [
            tag("h1", TITLE),
            tag(
                "p",
                "Jin, Hung, Krishnamurthy, Shi & Zhang, KDD 2026, ",
                source,
                ": every table, figure and claim beside ours. Regret is per group, against an oracle that sees the hidden state; the ",
                tag("em", "Bayes limit"),
                " is a filter that is given the means, the chain and the noise but not the state, and that plans; the ",
                tag("em", "greedy filter"),
                " is given the same and never tests.",
            ),
            _warning([name for name, hasty in quick.items() if hasty]),
            _left_out(quick),
            tag("p", where),
            html.table(["experiment", "size", "million rounds", "seconds"], lines),
        ]
    )


def _warning(hasty: list[str]) -> str:
    """Return which experiments were quick runs."""
    if not hasty:
        return ""
    every = len(hasty) == len(ids())
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
