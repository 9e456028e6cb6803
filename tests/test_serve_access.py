"""Who may do what, how much, and what strangers try."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from latentbandits.serve.access import Access, generate_key
from latentbandits.serve.admin import read_policy
from latentbandits.serve.logs import flush
from latentbandits.serve.routes import ROUTES, _description
from tests.services import ADMIN, Web

E = "/v1/experiments/e"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A service for tests that leave it as others need it."""
    found = Web(tmp_path_factory.mktemp("access") / "web.db")
    yield found
    found.close()


@pytest.fixture(scope="module")
def contextual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    found = Web(tmp_path_factory.mktemp("contextual") / "web.db", "lc-ucb:covariates=1")
    yield found
    found.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Web]:
    """A service of which nobody else knows."""
    found = Web(tmp_path / "web.db")
    yield found
    found.close()


def called(path: str) -> str:
    """Return an address that a route answers."""
    known = "f" * 25 if "/decisions/" in path else "nobody"
    return path.format(name="e", id=known, kind="csv", file="index.html")


@pytest.mark.parametrize("role", ["read", "decide", "reward", "admin"])
def test_every_endpoint_needs_its_role(web: Web, role: str) -> None:
    # mutation: a route without its role in the table is open to all of these keys
    secret = web.key(role)
    for route in ROUTES:
        status = web.response(route.method, called(route.path), b"[", secret=secret).status_code
        allowed = route.role in (None, role) or role == "admin"
        assert (status == 403) == (not allowed), (route.path, status)
        nobody = web.response(route.method, called(route.path), b"[", secret=None)
        assert (nobody.status_code == 401) == (route.role is not None), route.path
        if route.role is not None:
            assert nobody.headers["www-authenticate"] == "Bearer"


def test_every_route_that_changes_something_needs_a_key() -> None:
    for route in ROUTES:
        if route.method != "GET" or "{name}" in route.path:
            assert route.role is not None, route.path


def test_strangers_cause_neither_work_nor_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutations: describe the interface for everybody anew; log wrong keys when the next one comes, which is never."""
    made: list[int] = []

    def described(routes: Any) -> bytes:
        made.append(len(routes))
        return b"{}"

    monkeypatch.setattr("latentbandits.serve.routes.describe", described)
    _description.cache_clear()
    flush(stopping=True)  # of other tests
    web = Web(tmp_path / "web.db")
    for _ in range(3):
        assert web.send("GET", "/openapi.json", secret=None) == (200, {})
        assert web.send("GET", E, secret="wrong")[0] == 401
    web.close()
    _description.cache_clear()
    said = [json.loads(line) for line in web.said.getvalue().splitlines()]
    assert sum(one["times"] for one in said if one["event"] == "key refused") == 3
    assert len(made) == 1


def test_a_key_is_for_its_experiments(fresh: Web) -> None:
    body = {"name": "other", "arms": ["x", "y"], "policy": "ucb1", "status": "live"}
    assert fresh.send("POST", "/v1/experiments", body)[0] == 201
    secret = fresh.key("admin", experiments=["other"])
    assert fresh.send("POST", "/v1/experiments/other/decide", {}, secret=secret)[0] == 200
    assert fresh.send("POST", f"{E}/decide", {}, secret=secret)[0] == 403
    assert (
        fresh.send("GET", "/v1/experiments/never-made", secret=secret)[0] == 403
    )  # whether it exists is none of its business
    assert [one["name"] for one in fresh.send("GET", "/v1/experiments", secret=secret)[1]["experiments"]] == ["other"]
    assert fresh.send("POST", "/v1/experiments", {**body, "name": "third"}, secret=secret)[0] == 403
    for method, path in (("GET", "/v1/keys"), ("POST", "/v1/keys"), ("DELETE", "/v1/keys/x"), ("GET", "/metrics")):
        new = {"name": "mine", "roles": ["admin"]}
        assert fresh.response(method, path, new if method == "POST" else None, secret=secret).status_code == 403


def test_keys_are_made_used_and_revoked(fresh: Web) -> None:
    status, said = fresh.send("POST", "/v1/keys", {"name": "shop", "roles": ["decide", "reward"]})
    assert status == 201
    secret, key = said["secret"], said["key"]
    decision = fresh.decide(secret=secret)
    assert decision["id"]
    assert fresh.send("GET", E, secret=secret)[0] == 403
    assert [one["id"] for one in fresh.send("GET", "/v1/keys")[1]["keys"]] == [key["id"]]
    assert fresh.send("DELETE", f"/v1/keys/{key['id']}")[1]["revoked_us"] is not None
    assert (
        fresh.send("POST", f"{E}/decide", {}, secret=secret)[0] == 401
    )  # mutation: keys that are read only at the start
    assert fresh.send("DELETE", "/v1/keys/nobody")[0] == 404
    assert fresh.send("POST", "/v1/keys", {"name": "x", "roles": ["king"]})[0] == 422


def test_secrets_are_kept_nowhere(fresh: Web, tmp_path: Path) -> None:
    secret = fresh.key("read", "admin")
    fresh.send("GET", E, secret=secret)
    fresh.send("PUT", f"{E}/status", {"status": "frozen"}, secret=secret)
    fresh.send("PUT", f"{E}/status", {"status": "asleep"}, secret=f"{secret}x")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"read+admin" in content
    for kept in (secret, secret.split("_", 2)[2], ADMIN):  # mutation: a log line with the headers of a request
        assert kept.encode() not in content
        assert kept not in fresh.said.getvalue()
    said = [json.loads(line) for line in fresh.said.getvalue().splitlines()]
    (changed,) = [one for one in said if one.get("endpoint") == "set_status" and one["status"] == 200]
    assert changed["key"] == secret.split("_")[1]
    assert f"({changed['key']})" in fresh.send("GET", f"{E}/changes")[1]["events"][-1]["actor"]


@pytest.mark.parametrize(
    "bad", ["", "lb", "lb_testing0_", ADMIN[:-1], ADMIN + "a", "Basic x", "lb_testing0_" + "b" * 43]
)
def test_a_key_that_is_nearly_right_opens_nothing(web: Web, bad: str) -> None:
    assert web.send("POST", f"{E}/decide", {}, secret=bad)[0] == 401


def test_a_secret_is_compared_as_a_whole_and_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def compare(one: str, other: str) -> bool:
        seen.append((one, other))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)  # mutation: `==` in its place is not seen here
    secret, key = generate_key("x", ["read"])
    access = Access()
    access.replace([key])
    assert access.admit(f"Bearer {secret}", "read").name == "x"
    for wrong in (secret + "x", "lb_unknown_" + "x" * 43):
        with pytest.raises(HTTPException):
            access.admit(f"Bearer {wrong}", "read")
    assert len(seen) == 3  # for a key that nobody has as well
    assert all(len(one) == len(other) == 64 for one, other in seen)


BAD_CONTEXTS = [
    b'{"context":[NaN]}',
    b'{"context":[Infinity]}',
    b'{"context":[-Infinity]}',
    b'{"context":[1e999]}',
    b'{"context":[1e300]}',
    b'{"context":["1"]}',
    b'{"context":[null]}',
    b'{"context":[[1]]}',
    b'{"context":[1,2]}',
    b'{"context":{}}',
    b'{"context":[' + b",".join([b"1"] * 1001) + b"]}",
    b'{"context":[1],"subject":"' + b"u" * 201 + b'"}',
    b'{"context":[1],"subject":"\\ud800"}',
    b'{"context":[1],"subject":"a\\u0000b"}',
    b'{"context":[1],"available":[]}',
    b'{"context":[1],"available":["nobody"]}',
    b'{"context":[1],"extra":1}',
    b"[" * 5000,
    b'{"context":[1]',
    b"\xff\xfe",
    b"null",
]


@pytest.mark.parametrize("body", BAD_CONTEXTS, ids=range(len(BAD_CONTEXTS)))
def test_a_bad_context_changes_nothing(contextual: Web, body: bytes) -> None:
    # mutation: `allow_nan` in the digest, or a check after the policy was asked, changes the state
    before = contextual.everything()
    status, said = contextual.send("POST", f"{E}/decide", body)
    assert (status, set(said)) == (422, {"error"})
    rounds = b'{"rounds":[{"context":[1]},' + body + b"]}"
    assert contextual.send("POST", f"{E}/decide/batch", rounds)[0] == 422  # the good round is not decided either
    assert contextual.everything() == before


@pytest.mark.parametrize("reward", [b"NaN", b"Infinity", b"1e999", b"1e300", b'"1"', b"null", b"[]", b"[1,2]", b"true"])
def test_a_bad_reward_changes_nothing(web: Web, reward: bytes) -> None:
    known = web.decide()["id"].encode()
    before = web.everything()
    assert web.send("POST", f"{E}/reward", b'{"id":"' + known + b'","reward":' + reward + b"}")[0] == 422
    assert web.everything() == before


def test_limits(tmp_path: Path) -> None:
    settings = {"body": 2000, "open": 50, "waiting": 4}
    web = Web(tmp_path / "web.db", "lc-ucb:covariates=2", settings=settings)
    try:
        before = web.everything()
        assert web.send("POST", f"{E}/decide", b" " * 2001)[0] == 413
        assert web.send("PATCH", E, {"max_open": 51})[0] == 422
        assert web.everything() == before
        found = web.together([("POST", f"{E}/decide", {"context": [1, 2]})] * 12)
        assert {status for status, _ in found} == {200, 503}  # more than `waiting` at once
        made = [said for status, said in found if status == 200]
        assert len(made) == web.look(lambda ledger: ledger.view("e")).counts["decided"]
    finally:
        web.close()


def test_open_decisions_are_bounded(fresh: Web) -> None:
    assert fresh.send("PATCH", E, {"max_open": 5})[0] == 200
    made = [fresh.decide() for _ in range(8)]
    assert fresh.look(lambda ledger: ledger.view("e")).open == 5
    assert fresh.reward(made[0], 1.0) == (200, {"outcome": "late"})


def test_a_body_without_a_length_is_bounded_too(tmp_path: Path) -> None:
    web = Web(tmp_path / "web.db", settings={"body": 100})
    try:

        async def endless() -> Any:
            sent: list[Any] = []
            parts = iter(range(100))

            async def receive() -> Any:
                assert next(parts, None) is not None  # it would go on for ever
                return {
                    "type": "http.request",
                    "body": b" " * 60,
                    "more_body": True,
                }  # mutation: a check of the header alone

            async def send(message: Any) -> None:
                sent.append(message)

            headers = [(b"authorization", f"Bearer {ADMIN}".encode())]
            scope = {"type": "http", "method": "POST", "path": f"{E}/decide", "query_string": b"", "headers": headers}
            await web.app(scope, receive, send)
            return sent[0]["status"]

        assert web.runner.run(endless()) == 413
    finally:
        web.close()


FOREIGN = [
    "os:system",
    "latentbandits.policies.ucb1:UCB1",
    "builtins:eval",
    "evil.toml",
    "/etc/passwd.toml",
    "scaled(evil.toml)",
    "scaled(os:system)",
    "scaled(x=1.toml)",
    "x=1.toml",
    "dal(scaled(os:system))",
    "ucb1:exploration=1:os:system",
    "state-oracle",
    "",
    ":",
    "ucb1:",
    "sw-ucb:window=2000000000",
    "ucb1:groups=900000000",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_policy_from_the_network_is_one_of_this_package(
    web: Web, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutation: `Spec.of(text)` without the check imports the module that the text names, or reads the file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("evil.toml", "x=1.toml"):
        (tmp_path / name).write_text('policy = "ucb1"\narms = 2\n[settings]\n')
    before = web.everything()
    for body in ({"policy": text}, {"toml": f'policy = "{text}"\narms = 2\n'}):
        status, _ = web.send("POST", "/v1/experiments", {"name": "x", "arms": ["a", "b"], **body})
        assert status == 422, body
    assert web.everything() == before


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "..%2fetc%2fpasswd",
        "e'--",
        "e%27%20OR%20%271%27%3D%271",
        "e%00",
        "e;DROP TABLE event",
        "e%0d%0aX: y",
        "é",
        "e" * 300,
    ],
)
def test_names_of_experiments_reach_neither_files_nor_statements(web: Web, name: str) -> None:
    before = web.everything()
    for suffix in ("", "/now", "/tail", "/log.csv", "/decisions/x"):
        assert web.response("GET", f"/v1/experiments/{name}{suffix}").status_code in (401, 404)
    assert web.response("POST", f"/v1/experiments/{name}/decide", {}).status_code == 404
    assert web.send("POST", "/v1/experiments", {"name": name, "arms": ["a", "b"], "policy": "ucb1"})[0] == 422
    assert web.everything() == before


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE event; --", '" OR 1=1', "<script>alert(1)</script>", "${jndi:x}", "../../etc/passwd"]
)
def test_texts_are_only_texts(web: Web, text: str) -> None:
    assert web.send("POST", f"{E}/arms", {"arm": text})[0] == 200
    made = web.decide({"available": [text], "subject": text}, key=text)
    assert made["arms"] == [text]
    assert web.decide({"available": [text], "subject": text}, key=text)["id"] == made["id"]
    event = web.send("GET", f"{E}/tail?most=1")[1]["events"][0]
    assert (event["subject"], event["arm"]) == (text, text)
    assert web.send("GET", f"{E}/decisions/{text.replace('/', '%2f')}")[0] in (404, 405)


@pytest.mark.parametrize(
    "path",
    [
        "/files/..%2f__init__.py",
        "/files/../__init__.py",
        "/files/%2e%2e/app.py",
        "/files//etc/passwd",
        "/files/",
        "/files/%2e%2e",
    ],
)
def test_files_of_the_page_are_the_only_ones(web: Web, path: str) -> None:
    # mutation: a folder that is joined with the name of the request
    found = web.response("GET", path, secret=None)
    assert found.status_code == 404
    assert "import" not in found.text


def test_a_policy_that_is_too_large_is_refused_by_the_settings_that_help() -> None:
    with pytest.raises(
        ValueError, match=r"memory has at most 256 MB; less of `arms`, `particles`, `states`, .* takes less"
    ):
        read_policy("state-library:states=1000", 1000)
