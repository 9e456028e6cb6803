"""A provider of OpenFeature, to copy: a flag is an experiment of a service, its value is the arm, the targeting key is the subject.

Needs `pip install openfeature-sdk` and `latentbandits[client]`. Every evaluation is a decision, so evaluate a flag once. The id of the
decision is in the details (`flag_metadata["decision"]`): give it to `tell` with the reward.
"""

from typing import Any

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.provider import AbstractProvider, Metadata

import latentbandits as lb
from latentbandits.client import ServiceError, ServiceTimeout


class Provider(AbstractProvider):
    """Resolves flags by decisions of a service; an arm that has another type than the flag is not shown."""

    def __init__(self, url: str, key: str, **options: Any) -> None:
        super().__init__()
        self.url, self.key, self.options = url, key, options
        self.clients: dict[str, lb.Client] = {}

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata(name="latentbandits")

    def client(self, flag: str) -> lb.Client:
        """Return the client of a flag's experiment."""
        if flag not in self.clients:
            self.clients[flag] = lb.Client(self.url, self.key, flag, **self.options)
        return self.clients[flag]

    def tell(self, flag: str, decision: str, reward: float) -> str:
        """Tell the reward of a decision by which a flag was resolved."""
        return self.client(flag).tell(decision, reward)

    def shutdown(self) -> None:
        """Send what waits, and end."""
        for client in self.clients.values():
            client.close()

    def resolve(self, flag: str, default: Any, about: EvaluationContext | None) -> FlagResolutionDetails[Any]:
        """Decide, or return the default and why."""
        try:
            decision = self.client(flag).ask(subject=about.targeting_key if about else None)
        except ServiceTimeout as problem:
            return FlagResolutionDetails(default, ErrorCode.PROVIDER_NOT_READY, str(problem), Reason.ERROR)
        except ServiceError as problem:
            code = ErrorCode.FLAG_NOT_FOUND if problem.status == 404 else ErrorCode.GENERAL
            return FlagResolutionDetails(default, code, str(problem), Reason.ERROR)
        if type(decision.arm) is not type(default):
            self.client(flag).forget(decision)
            return FlagResolutionDetails(default, ErrorCode.TYPE_MISMATCH, f"arm {decision.arm!r}", Reason.ERROR)
        said = {"decision": decision.id, "by": decision.by}
        return FlagResolutionDetails(decision.arm, reason=Reason.SPLIT, variant=str(decision.arm), flag_metadata=said)

    def resolve_string_details(self, flag_key: str, default_value: Any, evaluation_context: Any = None) -> Any:  # noqa: D102
        return self.resolve(flag_key, default_value, evaluation_context)

    resolve_boolean_details = resolve_integer_details = resolve_float_details = resolve_object_details = (
        resolve_string_details
    )
