"""The scripts of examples/ run, and describe the problems of docs/problems."""

import csv
import json
import runpy
import shlex
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.cli import main as command

ROOT = Path(__file__).parents[1]
PROGRAMS = (
    "batch_job",
    "django_app",
    "fastapi_app",
    "flask_app",
    "gymnasium_env",
    "litellm_router",
    "mlflow_run",
    "openfeature_provider",
    "providers",
    "river_policy",
    "web_app",
    "workers",
)
STORIES = {"advertising": {"trials": 1}, "pricing": {}, "routing": {"trials": 1}}


def test_every_story_has_a_script() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "problems").glob("*.md")} - {"README"}
    assert pages == set(STORIES)
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == {*STORIES, *PROGRAMS, "skeleton", "softmax"}


@pytest.mark.usefixtures("hasty_limit")
@pytest.mark.parametrize("name", STORIES)
def test_a_script_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    script = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    script["main"](horizon=300, runs=8, **STORIES[name])
    said = capsys.readouterr().out
    assert all(policy in said for policy in script["POLICIES"])


@pytest.mark.parametrize("name", STORIES)
def test_a_script_has_the_problem_of_its_story(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--full` the script plays what the page describes."""
    found: list[Any] = []

    def stop(problem: Any, policies: Any) -> None:
        found.extend((problem, policies))
        raise InterruptedError

    monkeypatch.setattr(lb, "compare", stop, raising=False)
    script = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    with pytest.raises(InterruptedError):
        script["main"](full=True)
    page = (ROOT / "docs" / "problems" / f"{name}.md").read_text()
    words = tomllib.loads(page.split("```toml\n")[1].split("```")[0])
    policies = words.pop("policies", None)
    assert found[0] == lb.Problem(**words)
    if policies is None:  # they are in the command
        policies = page.split("--policies ")[1].splitlines()[0].split()
    assert found[1] == policies


def request(shop: Any, text: str) -> tuple[str, Any]:
    """Send a request, such as "GET /decide?visitor=1", to a WSGI application."""
    method, address = text.split(" ")
    path, _, query = address.partition("?")
    status: list[str] = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    body = b"".join(shop(environ, lambda line, headers: status.append(line)))
    return status[0][:3], json.loads(body) if body else None


def test_the_web_application_serves_many_threads_and_survives_a_restart(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "examples" / "web_app.py"))
    shop = script["Shop"](tmp_path / "offers.agent", seconds=0.05)

    def visit(visitor: int) -> tuple[str, str]:
        status, answer = request(shop, f"GET /decide?visitor={visitor}")
        assert status == "200"
        if visitor % 3:
            assert request(shop, f"POST /reward?decision={answer['decision']}&value={visitor % 2}") == ("204", None)
        return answer["decision"], answer["offer"]

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(visit, range(60)))
    assert len({made for made, _ in seen}) == 60
    _, health = request(shop, "GET /health")
    assert (health["asked"], health["told"], health["open"]) == (60, 40, 20)

    assert request(shop, "POST /offers?add=e")[0] == request(shop, "POST /offers?retire=b")[0] == "204"
    for text, reason in (
        ("POST /reward?decision=nobody&value=1", "decision is 'nobody' but must be an open one"),
        ("POST /offers?add=e", "'e'"),
        ("GET /decide", "visitor"),
        ("GET /elsewhere", "/elsewhere"),
    ):
        status, answer = request(shop, text)
        assert status == "400"
        assert reason in answer["error"]
    shop.close()

    again = script["Shop"](tmp_path / "offers.agent")
    assert again.agent.arms == ("a", "c", "d", "e")
    assert request(again, f"POST /reward?decision={seen[0][0]}&value=1") == ("204", None)
    assert all(request(again, f"GET /decide?visitor={n}")[1]["offer"] != "b" for n in range(20))
    again.close()


def test_the_batch_job_learns_tonight_what_it_decided_last_night(tmp_path: Path) -> None:
    run = runpy.run_path(str(ROOT / "examples" / "batch_job.py"))["main"]
    rewards, customers, decisions = (tmp_path / f"{name}.csv" for name in ("rewards", "customers", "decisions"))
    file = tmp_path / "messages.agent"
    customers.write_text("customer\n" + "\n".join(f"c{n}" for n in range(30)) + "\n")
    assert run(rewards, customers, decisions, file) == (0, 0)
    rows = list(csv.DictReader(decisions.read_text().splitlines()))
    assert len(rows) == 30
    assert all(0.05 / 3 <= float(row["probability"]) <= 1 for row in rows)
    rewards.write_text("decision,reward\n" + "".join(f"{row['decision']},{n % 2}\n" for n, row in enumerate(rows)))
    assert run(rewards, customers, decisions, file) == (30, 0)
    assert run(rewards, customers, decisions, file) == (0, 30)  # the same rewards again: refused, nothing changed


def test_the_container_file_uses_commands_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "examples" / "container" / "Dockerfile").read_text().replace("\\\n", " ")
    commands = [
        part.strip() for line in text.splitlines() for part in line.split("&&") if "latentbandits policies" in part
    ]
    assert commands == ["latentbandits policies --compile state-library"]
    _, *words = shlex.split(commands[0])
    with pytest.raises(SystemExit) as end:
        command([*words, "--help"])
    assert end.value.code == 0
    assert "latentbandits policies" in capsys.readouterr().out
    assert (ROOT / "examples" / "web_app.py").exists()
    assert "COPY web_app.py" in text


def test_state_library_loses_less_than_circuit_breakers_on_the_same_outages(capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(ROOT / "examples" / "providers.py"))
    lost = script["main"](requests=4000, runs=8)
    assert 1.2 * lost.pop("state-library") < min(lost.values())
    assert "cooldown 100" in capsys.readouterr().out
