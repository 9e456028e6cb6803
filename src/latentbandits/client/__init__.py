"""A service from a program: `Client` and `AsyncClient`, with the two verbs of an agent.

`exchange` has everything that both do, as steps that wait for nothing themselves; `blocking` and `asynchronous` take them.
"""

from latentbandits.client.asynchronous import AsyncClient
from latentbandits.client.blocking import Client
from latentbandits.client.exchange import FALLBACK, QUEUED, Refused, Unanswered

__all__ = ["FALLBACK", "QUEUED", "AsyncClient", "Client", "Refused", "Unanswered"]
