import dataclasses
import functools
import html
import html.parser
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page

from latentbandits import cli
from latentbandits.policies.registry import REGISTRY
from latentbandits.presentation.palette import STYLES
from latentbandits_studies.commands import reproduce as command
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import KINDS, VERDICTS, Claim, temper
from latentbandits_studies.experiments.paper.worlds import rows
from latentbandits_studies.experiments.registry import Experiment, experiment, experiments, ids
from latentbandits_studies.experiments.reproduce import Outcome, reproduce
from latentbandits_studies.experiments.store import Store
from latentbandits_studies.report.page import write_report
from tests.browser import browser
from tests.conftest import made_once, make_hasty
from tests.constructed import runs
from tests.constructed_table2 import LIMITED, PRINTED

# Figures of these are plotted in their own tests, from tables made by hand or from a short run (test_own.py), so that only the slow
# tests have them on the page
ELSEWHERE = ("decomposition", "ladder", "limit", "real", "state-library", "table2", "theory")
SOME = tuple(name for name in ids() if name not in ELSEWHERE)
QUICK = ("ablation", "many-arms")
CHEAP = ("many-arms", "timing")  # to plot


def small(names: Sequence[str]) -> list[Experiment]:
    """Return experiments with fewer and shorter runs than even a quick one, but for those that must pass for a quick run."""

    def cases(size: Size, one: Experiment) -> list[Case]:
        return [
            dataclasses.replace(case, draws=min(case.draws, 3), horizon=min(case.horizon, 400))
            for case in one.cases(size)[: 4 if one.id == "stress" else None]
        ]

    return [
        one if one.id in QUICK else one._replace(cases=functools.partial(cases, one=one)) for one in experiments(names)
    ]


def made(names: Sequence[str], folder: Path) -> None:
    """Make the page of a run that is smaller than a quick one, and whose limit is a hasty one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("latentbandits_studies.experiments.reproduce.experiments", small)
        make_hasty(patch)
        reproduce(names, folder / "results", "quick")
    write_report(folder / "results", folder / "report")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of most experiments; not to be changed."""
    return made_once(tmp_path_factory, "site", functools.partial(made, SOME))


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of all experiments; not to be changed."""
    return made_once(tmp_path_factory, "whole_site", functools.partial(made, ids()))


SITES = pytest.mark.parametrize(
    ("page", "names"), [("site", SOME), pytest.param("whole_site", ids(), marks=pytest.mark.slow)], ids=["some", "all"]
)


def figures(names: Sequence[str]) -> list[str]:
    return [figure.name for name in names for figure in experiment(name).figures]


class Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.images: list[dict[str, str | None]] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.heads: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attrs)
        if tag == "th":
            self.heads.append(known)
        if tag == "img":
            self.images.append(known)
        if tag == "a":
            self.links.append(known["href"] or "")
        if "id" in known:
            self.ids.append(known["id"] or "")


@SITES
def test_the_page_has_everything_and_needs_nothing(
    page: str, names: Sequence[str], request: pytest.FixtureRequest
) -> None:
    content = (request.getfixturevalue(page) / "report" / "index.html").read_text()
    reader = Reader()
    reader.feed(content)
    assert len(reader.images) == len(figures(names))
    assert all((image["src"] or "").startswith("data:image/svg+xml") and image["alt"] for image in reader.images)
    assert set(names) <= set(reader.ids)
    assert all(link[1:] in reader.ids for link in reader.links if link.startswith("#"))
    assert reader.tags.count("script") == reader.tags.count("main") == reader.tags.count("nav") == 1
    assert reader.tags.count("table") == reader.tags.count("caption")
    assert all(head.get("scope") for head in reader.heads)
    assert len(set(reader.ids)) == len(reader.ids)
    assert len(content) < 6e6
    assert not re.findall(r"(?:src|href)=[\"'](?!data:|#|https://doi\.org)", content)
    assert "Quick run" in content
    assert ("Not run, and so not on this page" in content) == ({one.id for one in experiments()} > set(names))
    assert "Choices that the paper leaves open" in content
    for word in ("holds", "cannot be judged"):
        assert word in content


def test_every_experiment_has_a_title_and_says_what_came_out(site: Path) -> None:
    content = (site / "report" / "index.html").read_text()
    for one in experiments():
        assert one.finding is not None
        assert one.title[0].isupper()
        assert one.id != one.title.lower()
        found = re.search(
            rf'<h3 id="{one.id}">(.*?) <span class="short">quick run</span></h3>\n<p class="finding">', content
        )
        assert (found is not None and html.unescape(found[1]) == one.title) == (one.id in SOME)


def test_every_experiment_has_a_figure_of_its_own_name() -> None:
    names = figures(ids())
    assert len(set(names)) == len(names)
    assert set(ids()) <= {*names, "table2"}


@pytest.mark.usefixtures("words_alone")
def test_the_page_says_which_experiments_were_quick(site: Path, tmp_path: Path) -> None:
    """Even without the file that describes the runs: the rows have a column for it."""
    for name in QUICK:
        shutil.copy(site / "results" / f"{name}.parquet", tmp_path)
    rows = pd.read_parquet(tmp_path / "ablation.parquet")
    rows.assign(quick=False).to_parquet(tmp_path / "ablation.parquet")
    content = write_report(tmp_path, tmp_path / "report").page.read_text()
    assert "Quick run of many-arms:" in content
    assert "In full: <code>latentbandits reproduce many-arms --full</code>" in content
    assert "Not run, and so not on this page: table2, scale, winning-rates" in content
    assert "file that describes these runs is missing" in content
    assert "None" not in re.sub(r"base64,[^\"]*", "", content)


@pytest.mark.usefixtures("words_alone")
def test_console_page_and_files_of_one_quick_run_say_the_same(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(site / "results" / "runs", tmp_path / "results" / "runs")
    assert cli.main(["reproduce", "many-arms", "--quick", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    judged = pd.read_csv(tmp_path / "report" / "claims.csv")
    assert set(judged["verdict"]) == {"cannot be judged"}
    assert re.search(r"^many-arms +[\d.]+ s  quick runs point to: ", said, re.MULTILINE)
    assert f"  `latentbandits reproduce many-arms --full --out {tmp_path}` judges all\n" in said
    assert str(tmp_path / "report" / "index.html") in said
    content = (tmp_path / "report" / "index.html").read_text()
    assert "Quick run of many-arms:" in content  # not of all experiments
    assert "In full: <code>latentbandits reproduce many-arms --full</code>" in content
    assert "| cannot be judged (points to: " in (tmp_path / "report" / "claims.md").read_text()


def test_what_a_quick_run_points_to_is_no_verdict() -> None:
    claims = [Claim(f"many-arms/{word}", f"It {word}", "", "", word) for word in VERDICTS]
    full, quick = (Outcome(experiment("many-arms"), temper(claims, hasty), 1.0, 4, 0) for hasty in (False, True))
    words = "1 holds, 1 does not hold, 1 is tied, 1 cannot be judged"
    assert command.line(full) == f"many-arms                1.0 s  {words}"
    assert command.line(quick) == f"many-arms                1.0 s  quick runs point to: {words}"
    assert [claim.wording for claim in quick.claims] == [
        *(f"cannot be judged (points to: {word})" for word in VERDICTS[:-1]),
        "cannot be judged",
    ]


@pytest.mark.usefixtures("words_alone")
def test_rows_of_another_version_are_said_to_be_so(site: Path, tmp_path: Path) -> None:
    """Cases, policies or columns that this version does not know, or rows that other code computed."""
    warning = "These results are of another version of the code"
    for name in QUICK:
        shutil.copy(site / "results" / f"{name}.parquet", tmp_path)
        shutil.copy(site / "results" / f"{name}.json", tmp_path)
    assert warning not in write_report(tmp_path, tmp_path / "report").page.read_text()
    rows = pd.read_parquet(tmp_path / "ablation.parquet")
    for changed in (rows.assign(case=rows["case"] + "!"), rows.drop(columns="quick"), rows.iloc[:0]):
        changed.to_parquet(tmp_path / "ablation.parquet")
        content = write_report(tmp_path, tmp_path / "report").page.read_text()
        assert content.count(warning) == 1
        assert "many-arms/one-round" in content  # the others are judged all the same
    described = json.loads((tmp_path / "many-arms.json").read_text())
    (tmp_path / "many-arms.json").write_text(json.dumps(described | {"code": "other"}))
    assert write_report(tmp_path, tmp_path / "report").page.read_text().count(warning) == 2


def test_a_damaged_table_is_named(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "ablation.parquet").write_bytes(b"PAR1 not really")
    assert cli.main(["report", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "(it is damaged" in said
    assert len(said.strip().splitlines()) == 1


def test_results_that_are_not_there_are_said_to_be_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "--out", str(tmp_path)]) == 2
    assert "but must be a folder that `latentbandits reproduce` has filled" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []  # looking leaves no trace


@pytest.mark.parametrize(
    ("page", "names"),
    [("site", CHEAP), pytest.param("whole_site", ids(), marks=pytest.mark.slow)],
    ids=["cheap", "all"],
)
def test_the_same_results_give_the_same_page(
    page: str, names: Sequence[str], request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = request.getfixturevalue(page)
    (tmp_path / "results").mkdir()
    for name in names:
        for path in (site / "results").glob(f"{name}.*"):
            shutil.copy(path, tmp_path / "results")
    pages = []
    for _ in range(2):
        assert cli.main(["report", "--out", str(tmp_path)]) == 0
        assert "index.html" in capsys.readouterr().out
        pages.append((tmp_path / "report" / "index.html").read_bytes())
        (tmp_path / "report" / "index.html").unlink()
    assert pages[0] == pages[1]
    for name in figures(names):
        made, before = (folder / "report" / "figures" / f"{name}.svg" for folder in (tmp_path, site))
        assert made.read_bytes() == before.read_bytes(), name


def test_every_policy_has_its_own_look() -> None:
    assert set(STYLES) == set(REGISTRY)
    looks = [(style.color, str(style.line)) for style in STYLES.values()]
    assert len(set(looks)) == len(looks)


@pytest.mark.usefixtures("words_alone")
def test_the_closing_screen_has_the_numbers_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a main table as printed, but for one column that is a third higher: what the screen says is counted in the page's own table."""
    monkeypatch.setenv("COLUMNS", "80")
    changed = LIMITED | {(row, "d-ucb"): 1.34 * PRINTED[row, "d-ucb"] for row in rows()}
    Store(tmp_path).save("table2", runs(changed).assign(quick=False))
    report = write_report(tmp_path, tmp_path / "report")
    said, content = report.screen("open it"), report.page.read_text()
    assert len(said.splitlines()) <= 23  # an empty line comes before it, and a line with the time after it
    assert max(map(len, said.replace(str(tmp_path), "").splitlines())) <= 80
    printed = content.split("As the paper prints it")[1].split("</table>")[0]
    cells = [
        (float(theirs.replace(",", "")), float(ours.replace(",", "")))
        for theirs, ours in re.findall(r"<small[^>]*>([\d,]+)</small><span[^>]*>([\d,]+)</span>", printed)
    ]
    near = sum(abs(ours / theirs - 1) < 0.15 for theirs, ours in cells)
    assert (len(cells), near) == (182, 168)
    assert f"{near} of 182 cells are within 15 % of print" in said
    assert len(re.findall(r'<small class="best">', printed)) == len(re.findall(r'<span class="best">', printed)) == 28
    for kind, group in pd.read_csv(tmp_path / "report" / "claims.csv").groupby("kind"):
        line = next(line for line in said.splitlines() if f"{KINDS[str(kind)].removesuffix(' claims')}: " in line)
        assert sum(map(int, re.findall(r"\d+", line))) == len(group), line
        for word, many in (("holds", "hold"), ("does not hold", "do not hold"), ("tied", "are tied")):
            count = int((group["verdict"] == word).sum())
            assert count < 2 or f" {count} {many}" in line
    assert "paper and ours: AdaRP-UCB, RP-UCB" in said
    assert said.count("paper and ours: ") == 1  # with one group D-UCB falls behind


def contrast(page: Page) -> float:
    """Return how much lighter one of text and ground is, as WCAG counts it."""
    both = (
        "['color', 'backgroundColor'].map(part => getComputedStyle(document.body)[part].match(/[0-9]+/g).map(Number))"
    )
    rgb = page.evaluate(both)
    light = sorted(
        sum(
            share * (x / 3294.6 if x <= 10 else ((x / 255 + 0.055) / 1.055) ** 2.4)
            for share, x in zip((0.2126, 0.7152, 0.0722), color, strict=False)
        )
        for color in rgb
    )
    return float((light[1] + 0.05) / (light[0] + 0.05))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_opens_in_a_browser(
    site: Path, chromium: Browser, width: int, scheme: Literal["light", "dark"]
) -> None:
    """No broken image, no error, no sideways scrolling on a phone, and text that can be read in the dark."""
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "report" / "index.html").as_uri())
    assert errors == []
    images = page.evaluate("[...document.images].map(image => image.complete && image.naturalWidth > 0)")
    assert images == [True] * len(figures(SOME))
    root = "document.documentElement"
    assert page.evaluate(f"[{root}.scrollWidth, {root}.clientWidth]") == [width, width]
    assert contrast(page) > 10
    assert page.evaluate("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'") == (
        scheme == "light"
    )
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#filter").is_visible()
    page.close()


def test_verdicts_can_be_filtered_and_links_still_arrive(site: Path, chromium: Browser) -> None:
    page = chromium.new_page()
    page.goto((site / "report" / "index.html").as_uri())
    judged = pd.read_csv(site / "report" / "claims.csv")
    shown = page.locator("[data-kind]:not([data-kind=sentence]) tbody tr:visible")
    assert shown.count() == len(judged)
    page.locator("select[name=verdict]").select_option("to-holds")
    assert shown.count() == (judged["points_to"] == "holds").sum() > 0
    page.locator("select[name=kind]").select_option("reading")
    wanted = judged[(judged["points_to"] == "holds") & (judged["kind"] == "reading")]
    assert set(shown.evaluate_all("rows => rows.map(row => row.id)")) == set(wanted["id"])
    hidden = judged.loc[judged["points_to"] == "cannot be judged", "id"].iloc[0]
    row = page.locator(f'[id="{hidden}"]')
    assert not row.is_visible()
    page.evaluate("id => { location.hash = '#' + id; }", hidden)
    row.wait_for(state="visible")
    page.close()


def test_the_page_works_without_script_and_by_keys(site: Path, chromium: Browser) -> None:
    page = chromium.new_page(java_script_enabled=False)
    page.goto((site / "report" / "index.html").as_uri())
    assert not page.locator("#filter").is_visible()
    assert page.locator("[data-kind]").first.is_visible()
    page.close()
    page = chromium.new_page()
    page.goto((site / "report" / "index.html").as_uri())
    page.keyboard.press("Tab")
    focused = "document.activeElement"
    assert page.evaluate(f"{focused}.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    page.wait_for_function(f"{focused}.id === 'main'")
    page.close()
