"""The command `latentbandits serve`: options, a file of settings, keys, the simulated stream, and the commands of the guide."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from latentbandits import cli
from latentbandits.serve import demo
from latentbandits.serve.settings import Settings, read
from latentbandits.settings import InvalidValueError
from latentbandits.store import Reader, SQLite
from tests.services import ADMIN, ROOT, Process, Web

GUIDE = ROOT / "docs" / "service.md"


def test_a_file_can_say_everything_that_options_can(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('store = "s.db"\nport = 9000\nlease = 5.5\nlog_requests = true\n')
    found = read(file, {"port": 9001})
    assert (found.store, found.port, found.lease, found.log_requests) == ("s.db", 9001, 5.5, True)
    from latentbandits.cli.serve import WORDS

    assert {*WORDS, "demo", "log_requests", "compiled"} == set(Settings.__struct_fields__)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("prot = 1", "did you mean port"),
        ("port = 'x'", "port is 'x'"),
        ("port = 70000", "port is 70000"),
        ("lease = 0", "lease is 0"),
        ("port = ", "a TOML file"),
    ],
)
def test_bad_settings_are_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(InvalidValueError, match=reason):
        read(file, {})
    with pytest.raises(InvalidValueError, match="a TOML file"):
        read(tmp_path / "nowhere.toml", {})


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("shop", False),
    ],
)
def test_what_is_local(host: str, local: bool) -> None:
    assert Settings(host=host).local == local


def test_there_is_no_default_key_on_an_address_that_others_reach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # mutation: `_admin_key` that makes a key wherever the service listens
    monkeypatch.delenv("LATENTBANDITS_ADMIN_KEY", raising=False)
    monkeypatch.setattr("latentbandits.serve.run.uvicorn.Server.run", None)  # it must not come so far
    store = str(tmp_path / "s.db")
    arguments = ["serve", "--store", store, "--host", "0.0.0.0", "--port", "0"]
    assert cli.main(arguments) == 2
    assert "must be 127.0.0.1 until there is an admin key" in capsys.readouterr().err
    monkeypatch.setenv("LATENTBANDITS_ADMIN_KEY", "short")
    assert cli.main(arguments) == 2
    assert "short" not in capsys.readouterr().err
    monkeypatch.delenv("LATENTBANDITS_ADMIN_KEY")
    assert cli.main(["serve", "--store", store, "--new-key", "reader", "--roles", "read"]) == 0
    assert cli.main(arguments) == 2  # a key that may only read is no admin's
    assert cli.main(["serve", "--store", store, "--new-key", "boss"]) == 0
    secret = capsys.readouterr().out.split()[-1]
    web = Web(tmp_path / "s.db")
    assert web.send("GET", "/v1/keys", secret=secret)[0] == 200
    web.close()
    assert [key.role for key in list(Reader(store).keys())] == ["read", "admin"]


@pytest.mark.parametrize("options", [["--port", "99999"], ["--store", "nowhere/x.db"], ["--config", "no.toml"]])
def test_what_cannot_be_served_is_one_sentence(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["serve", *options]) == 2
    said = capsys.readouterr().err.strip()
    assert "must be" in said
    assert "\n" not in said
    SQLite(tmp_path / "latentbandits.db").close()  # the lock was given back


def test_what_is_no_store_is_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mutation: leave it to the database, which says to try again, in a traceback."""
    (tmp_path / "junk.db").write_text("hello")
    for place in (tmp_path / "junk.db", tmp_path):
        for more in (["--port", "0"], ["--new-key", "ann"]):
            assert cli.main(["serve", "--store", str(place), *more]) == 2
            said = capsys.readouterr().err.strip()
            assert "store: file is" in said
            assert "this is" in said
            assert "\n" not in said


def test_an_address_that_is_taken_is_refused(tmp_path: Path) -> None:
    server = Process(tmp_path, "--port", "0")
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-m", "latentbandits", "serve", "--store", "other.db", "--port", port]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (found.returncode, "one that is free here" in found.stderr) == (2, True)
    again = subprocess.run([*command[:4], "--port", "0"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (again.returncode, "used by one process at a time" in again.stderr) == (2, True)
    assert server.stop()[0] == 0


def test_the_simulated_stream_has_something_to_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PAST_MINUTES", 30)
    storage = SQLite(tmp_path / "d.db")
    storage._rows("PRAGMA synchronous = OFF")
    demo.past(storage, compiled=False)
    head = storage.experiments()[0].head
    demo.past(storage, compiled=False)
    assert storage.experiments()[0].head == head  # the second start goes on with it
    storage.close()
    reader = Reader(tmp_path / "d.db")
    kinds = [event.kind for event in reader.events(1)]
    assert kinds.count("decide") == 30 * demo.PAST_PER_MINUTE
    assert 0 < kinds.count("censor") < kinds.count("reward")
    assert len({json.loads(row.body)["current"] for row in reader.beliefs(1)}) >= 2


def test_the_command_with_the_simulated_stream(tmp_path: Path) -> None:
    environment = {**os.environ}
    environment.pop("LATENTBANDITS_ADMIN_KEY", None)
    script = (
        "from latentbandits.serve import demo; demo.PAST_MINUTES = 3\n"
        "from latentbandits.cli import main; raise SystemExit(main(['serve', '--demo', '--port', '0', '--no-compile']))"
    )
    command = [sys.executable, "-W", "error", "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        _, page, shown, _ = (process.stdout.readline() for _ in range(4))
        found = re.match(r"page: +(http://127\.0\.0\.1:\d+)/#key=(lb_\S+)\n", page)
        assert found is not None
        assert shown.split() == ["admin", "key:", found[2]]
        while json.loads(process.stderr.readline())["event"] != "ready":
            pass
        headers, path = {"authorization": f"Bearer {found[2]}"}, f"{found[1]}/v1/experiments/{demo.NAME}"
        before = httpx.get(f"{path}/now", headers=headers).json()["head"]
        while httpx.get(f"{path}/now", headers=headers).json()["head"] <= before + 3:
            pass  # visitors come
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def commands() -> list[str]:
    """Return the commands of the guide's first part, in order."""
    text = GUIDE.read_text().split("## Reference")[0]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [block.replace("\\\n", " ").strip() for block in blocks]


def test_the_commands_of_the_guide_work(tmp_path: Path) -> None:
    """The guide is run as it is written: only the port differs, and the server was started by this test."""
    install, start, *rest = commands()
    assert install.startswith("pip install 'latentbandits[serve")
    assert start == "latentbandits serve --store decisions.db"
    server = Process(tmp_path, "--store", "decisions.db", "--port", "0")
    environment = {**os.environ, "KEY": ADMIN, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = "set -e\n" + "\n".join(line for line in rest if not line.startswith("export KEY"))
    script = script.replace("http://127.0.0.1:8000", server.url)
    found = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 0, found.stderr + found.stdout
    assert '"error"' not in found.stdout
    assert '"outcome":"accepted"' in found.stdout
    assert server.stop()[0] == 0


def test_the_guide_names_every_endpoint_and_setting() -> None:
    from latentbandits.serve.routes import ROUTES

    text = GUIDE.read_text()
    for route in ROUTES:
        if route.path not in ("/", "/files/{file}"):
            assert f"`{route.method} {route.path}`" in text, route.path
    for name in Settings.__struct_fields__:
        assert f"`{name}`" in text, name
