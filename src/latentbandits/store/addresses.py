"""Addresses of stores: files and databases."""

import importlib
import os
from pathlib import Path
from typing import Any, TypeGuard

from latentbandits.extras import missing
from latentbandits.settings import InvalidValueError
from latentbandits.store.queries import Reads, Storage
from latentbandits.store.sqlite import Reader, SQLite

_PREFIX, _REMOTE = "sqlite:///", ("postgresql://", "postgres://")


def storage_of(store: str | os.PathLike[str], **replica: Any) -> Storage:
    """Return the store that an address stands for, or refuse it; it is made if it is not there.

    Of several processes that use it, each may say where the others reach it (``reached_at``), and for how many seconds it holds an
    experiment without doing anything (``lease``).

    Examples
    --------
    >>> from latentbandits.store import storage_of
    >>> storage_of("mysql://localhost/decisions")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: store: address is 'mysql://localhost/decisions' but must be sqlite:///PATH, ...
    """
    if is_remote(store):
        storage: Storage = _postgresql().PostgreSQL(store, **replica)
        return storage
    return SQLite(path_of(store))


def reader_of(store: str | os.PathLike[str]) -> Reads:
    """Return what reads the store at an address, which may be in use; or refuse it.

    Examples
    --------
    >>> from latentbandits.store import reader_of
    >>> reader_of("nowhere.db")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: store: file is 'nowhere.db' but must be one that exists
    """
    if is_remote(store):
        reader: Reads = _postgresql().PostgresReader(store)
        return reader
    return Reader(path_of(store))


def is_remote(store: object) -> TypeGuard[str]:
    """Return whether an address is that of a database."""
    return isinstance(store, str) and store.startswith(_REMOTE)


def _postgresql() -> Any:
    try:
        return importlib.import_module("latentbandits.store.postgresql")
    except ModuleNotFoundError:
        raise missing("psycopg") from None


def path_of(store: str | os.PathLike[str]) -> Path:
    """Return the path of a file by its address, or refuse it."""
    if str(store).removeprefix(_PREFIX) == ":memory:":
        raise InvalidValueError("store", "address", store, "one of a file (`Agent` is what keeps nothing on disk)")
    if isinstance(store, str) and store.startswith(_PREFIX) and len(store) > len(_PREFIX):
        return Path(store[len(_PREFIX) :])
    if isinstance(store, os.PathLike) or (isinstance(store, str) and store and "://" not in store):
        return Path(store)
    raise InvalidValueError("store", "address", store, f"{_PREFIX}PATH, {_REMOTE[0]}... or a path")


def place_of(store: str | os.PathLike[str]) -> str:
    """Return what two addresses of one store have in common."""
    return str(store) if is_remote(store) else os.path.realpath(path_of(store))
