"""A service from a program: `Client` and `AsyncClient`, with the two verbs of an agent."""

from latentbandits.client.clients import AsyncClient, Client
from latentbandits.client.exchange import FALLBACK, QUEUED, ServiceError, ServiceTimeout

__all__ = ["FALLBACK", "QUEUED", "AsyncClient", "Client", "ServiceError", "ServiceTimeout"]
