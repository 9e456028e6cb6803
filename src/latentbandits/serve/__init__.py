"""Decisions over HTTP: the agents of a store behind a service.

`Service` holds the ledger on one thread, the keys and the counters; `App` is the ASGI application; `run` serves it.
``latentbandits serve`` does all of it. ``routes`` has the table of endpoints, from which routes, checks and ``/openapi.json`` follow.
"""

from latentbandits.serve.app import App
from latentbandits.serve.journal import Journal
from latentbandits.serve.service import Service
from latentbandits.serve.settings import Settings

__all__ = ["App", "Journal", "Service", "Settings"]
