"""A service from a program: `Client` and `AsyncClient`, with the verbs of an agent."""

from latentbandits.client.clients import AsyncClient, Client
from latentbandits.client.exchange import FALLBACK, QUEUED
from latentbandits.client.wire import ServiceError, ServiceRefused, ServiceTimeout

__all__ = ["FALLBACK", "QUEUED", "AsyncClient", "Client", "ServiceError", "ServiceRefused", "ServiceTimeout"]
