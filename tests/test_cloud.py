"""Results at an address: in memory, and on a real server that speaks S3."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits_studies.experiments.cells import Part
from latentbandits_studies.experiments.folders import RemoteFolder, folder_at
from latentbandits_studies.experiments.reproduce import reproduce, reproduce_shard, status
from latentbandits_studies.experiments.store import Shard, Store
from tests.test_parts import NAME, content, small, tiny

__all__ = ["small"]
BUCKET = "results"


def contents(address: str) -> dict[str, bytes]:
    folder = folder_at(address)
    return {name: folder.read(f"cells/{name}") or b"" for name in folder.names("cells")}


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """A server on this machine, and a bucket in it."""
    try:
        import boto3
        import s3fs  # noqa: F401
        from moto.server import ThreadedMotoServer
    except ModuleNotFoundError as absent:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"{absent.name} is not installed")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server._server.socket.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    given = {
        "AWS_ACCESS_KEY_ID": "anyone", "AWS_SECRET_ACCESS_KEY": "anything", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": address
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        boto3.client("s3", endpoint_url=address).create_bucket(Bucket=BUCKET)
        yield f"s3://{BUCKET}"
    server.stop()


@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_shards_at_an_address_are_the_same_bytes(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    address = "memory://results" if kind == "memory" else f"{request.getfixturevalue('s3')}/run"
    for number in (2, 2, 1, 3):
        reproduce_shard([NAME], address, Shard(number, 3))
        if number == 1:  # a file is torn
            folder = folder_at(address)
            name = folder.names("cells")[0]
            folder.write(f"cells/{name}", (folder.read(f"cells/{name}") or b"")[:50])
    assert not status([NAME], address)[0].complete
    (outcome,) = reproduce([NAME], address)
    assert outcome.computed == 1
    reproduce([NAME], tmp_path)
    assert contents(address) == content(tmp_path)
    assert folder_at(address).read(f"{NAME}.parquet") == (tmp_path / f"{NAME}.parquet").read_bytes()
    found = Store(address, read_only=True)
    assert found.experiments() == [NAME]
    assert list(found.manifest["experiments"]) == [NAME]
    assert all(Part.of(name) for name in contents(address))
    assert found.missing(tiny()) == []


def test_an_address_that_nothing_opens_is_refused() -> None:
    with pytest.raises(lb.Refusal, match="reproduce: out is 'nowhere://x' but must be a folder that answers"):
        RemoteFolder("nowhere://x")


@pytest.mark.parametrize("command", [["reproduce"], ["sweep", "problem.toml"]])
def test_an_address_that_ends_with_the_command_is_refused(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*command, "--out", "memory://x"]) == 2
    said = capsys.readouterr().err
    assert f"{command[0]}: out is 'memory://x' but must be an address that outlives this program" in said


def test_a_file_address_is_a_folder(tmp_path: Path) -> None:
    folder: Any = folder_at(f"file://{tmp_path}")
    folder.write("a/b", b"1")
    assert (tmp_path / "a" / "b").read_bytes() == b"1"
    assert folder.names("a") == ["b"]
    folder.remove("a/b")
    folder.remove("a/b")
    assert folder.read("a/b") is None
    assert folder.names("none") == []
