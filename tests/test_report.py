import dataclasses
import functools
import html.parser
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from latentbandits import cli
from latentbandits.policies.registry import REGISTRY
from latentbandits.presentation.palette import STYLES
from latentbandits_studies.commands import reproduce as command
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import VERDICTS, Claim, temper
from latentbandits_studies.experiments.registry import Experiment, experiment, experiments, ids
from latentbandits_studies.experiments.reproduce import Outcome, reproduce
from latentbandits_studies.report.page import write_report
from tests.conftest import made_once, make_hasty

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Figures of these are plotted in their own tests, from tables made by hand or from a short run (test_own.py), so that only the slow
# tests have them on the page
ELSEWHERE = ("decomposition", "ladder", "real", "state-library", "table2", "theory")
SOME = tuple(name for name in ids() if name not in ELSEWHERE)
QUICK = ("ablation", "many-arms")
CHEAP = ("many-arms", "timing")  # to plot
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--allow-file-access-from-files", "--virtual-time-budget=20000",
]  # fmt: skip


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

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attrs)
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
    assert "script" not in reader.tags
    assert not re.findall(r"(?:src|href)=[\"'](?!data:|#|https://doi\.org)", content)
    assert "Quick run" in content
    assert ("Not run, and so not on this page" in content) == ({one.id for one in experiments()} > set(names))
    assert "Choices that the paper leaves open" in content
    for word in ("holds", "cannot be judged"):
        assert word in content


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
    content = write_report(tmp_path, tmp_path / "report").read_text()
    assert "Quick run of many-arms:" in content
    assert "In full: <code>latentbandits reproduce many-arms --full</code>" in content
    assert "Not run, and so not on this page: table2, winning-rates" in content
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
    assert f"Of {len(judged)}: {len(judged)} cannot be judged. A quick run judges nothing; it points to: " in said
    assert "In full: `latentbandits reproduce many-arms --full`." in said
    content = (tmp_path / "report" / "index.html").read_text()
    assert "Quick run of many-arms:" in content  # not of all experiments
    assert "In full: <code>latentbandits reproduce many-arms --full</code>" in content
    assert "| cannot be judged (points to: " in (tmp_path / "report" / "claims.md").read_text()


def test_what_a_quick_run_points_to_is_no_verdict() -> None:
    claims = [Claim(f"many-arms/{word}", f"It {word}", "", "", word) for word in VERDICTS]
    full, quick = (Outcome(experiment("many-arms"), temper(claims, hasty), 1.0, 4, 0) for hasty in (False, True))
    assert command.line(full, Path("results")).splitlines() == [
        "many-arms: 1.0 s. Of 4: 1 holds, 1 does not hold, 1 is tied, 1 cannot be judged.",
        "  does not hold: It does not hold",
    ]
    assert command.line(quick, Path("results")).splitlines() == [
        "many-arms: 1.0 s. Of 4: 4 cannot be judged. "
        "A quick run judges nothing; it points to: 1 holds, 1 does not hold, 1 is tied, 1 cannot be judged.",
        "  cannot be judged (points to: does not hold): It does not hold",
    ]
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
    assert warning not in write_report(tmp_path, tmp_path / "report").read_text()
    rows = pd.read_parquet(tmp_path / "ablation.parquet")
    for changed in (rows.assign(case=rows["case"] + "!"), rows.drop(columns="quick"), rows.iloc[:0]):
        changed.to_parquet(tmp_path / "ablation.parquet")
        content = write_report(tmp_path, tmp_path / "report").read_text()
        assert content.count(warning) == 1
        assert "many-arms/one-round" in content  # the others are judged all the same
    described = json.loads((tmp_path / "many-arms.json").read_text())
    (tmp_path / "many-arms.json").write_text(json.dumps(described | {"code": "other"}))
    assert write_report(tmp_path, tmp_path / "report").read_text().count(warning) == 2


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


PROBE = """<script>
const errors = []; window.onerror = (m) => errors.push(m);
window.onload = () => {
  const broken = [...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).length;
  const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const width = document.documentElement.clientWidth;
  document.title = `broken=${broken} images=${document.images.length} over=${over} width=${width} errors=${errors.length}`;
};
</script>"""


@pytest.mark.skipif(
    BROWSER is None and os.environ.get("CI") != "true", reason="no Chromium on this machine; CI has one"
)
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_opens_in_a_browser(site: Path, tmp_path: Path, width: int) -> None:
    """No broken image, no error, and no sideways scrolling on a phone."""
    assert BROWSER is not None, "Chromium is missing"
    page = (site / "report" / "index.html").read_text().replace("</head>", PROBE + "</head>")
    (tmp_path / "page.html").write_text(page)
    # a frame of the wanted width: headless windows cannot be as narrow as a phone
    (tmp_path / "frame.html").write_text(
        f'<iframe src="page.html" style="width:{width}px;height:800px;border:0" '
        'onload="setTimeout(() => { document.title = this.contentDocument.title; }, 1000)"></iframe>'
    )
    done = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'frame.html'}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r"broken=(\d+) images=(\d+) over=(-?\d+) width=(\d+) errors=(\d+)", done.stdout)
    assert found is not None, done.stdout[:500] + done.stderr[-500:]
    broken, images, over, shown, errors = map(int, found.groups())
    assert images == len(figures(SOME))
    assert (broken, over, errors) == (0, 0, 0)
    assert abs(shown - width) < 30
