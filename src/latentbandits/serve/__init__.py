"""Decisions over HTTP: the agents of a store behind a service.

`Service` holds the ledger on one thread, the keys and the counters; `create_app` makes the application; ``latentbandits serve`` runs it.
Endpoints are declared where their handlers are: `decisions` (what programs use), `read`, `admin` and `monitor`. Routes, checks, meters and
``/openapi.json`` follow from these declarations.
"""

from latentbandits.serve.app import create_app
from latentbandits.serve.logs import JSONFormatter
from latentbandits.serve.run import served
from latentbandits.serve.service import Service
from latentbandits.serve.settings import Settings

__all__ = ["JSONFormatter", "Service", "Settings", "create_app", "served"]
