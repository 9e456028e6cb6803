"""A provider of OpenFeature: flags are experiments of a service, variants are arms."""

from collections.abc import Mapping, Sequence
from typing import Any

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
from openfeature.provider import AbstractProvider, Metadata

from latentbandits.agent.decision import Decision
from latentbandits.client import FALLBACK, Client, ServiceError, ServiceTimeout
from latentbandits.client.exchange import checked_address


class Provider(AbstractProvider):
    """Resolves flags by decisions of a service.

    A flag is the name of an experiment. The value of a text flag is the arm; other flags need `values`, which says what an arm stands for.
    The targeting key is the subject; attributes that are numbers and named in `context` are the context. The decision's id is in the
    details (``flag_metadata["decision"]``): give it to `tell` with the reward. Every evaluation is a decision, so evaluate a flag once.

    Parameters
    ----------
    url, key, budget
        As for `Client`.
    values : mapping, optional
        Flag -> arm -> value.
    context : mapping, optional
        Flag -> names of attributes, in the order of the policy's covariates.

    Examples
    --------
    >>> from openfeature import api
    >>> from latentbandits.openfeature import Provider
    >>> from latentbandits.serve import served
    >>> with served("button", "ucb1", arms=["red", "blue"]) as (url, key):
    ...     provider = Provider(url, key, budget=5)
    ...     api.set_provider(provider)
    ...     details = api.get_client().get_string_details("button", "red")
    ...     details.value, provider.tell("button", details.flag_metadata["decision"], 1.0)
    ...     api.shutdown()
    ('red', 'accepted')
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        budget: float = 0.25,
        values: Mapping[str, Mapping[Any, FlagValueType]] | None = None,
        context: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__()
        checked_address(url)  # refused now rather than at the first flag
        self._url, self._key, self._budget = url, key, budget
        self._values, self._context = values or {}, context or {}
        self._clients: dict[str, Client] = {}

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata(name="latentbandits")

    def tell(self, flag: str, decision: str, reward: float) -> str:
        """Tell the reward of a decision that a flag was resolved by; see `Client.tell`."""
        return self._client(flag).tell(decision, reward)

    def shutdown(self) -> None:
        """Send what waits, and end."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Resolve a flag that is true or false."""
        return self._resolved(flag_key, default_value, evaluation_context, bool)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Resolve a flag that is a text."""
        return self._resolved(flag_key, default_value, evaluation_context, str)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Resolve a flag that is an integer."""
        return self._resolved(flag_key, default_value, evaluation_context, int)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Resolve a flag that is a number."""
        return self._resolved(flag_key, default_value, evaluation_context, float)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Any]:
        """Resolve a flag that is a list or a mapping."""
        return self._resolved(flag_key, default_value, evaluation_context, (list, dict))

    def _resolved(
        self, flag: str, default: Any, about: EvaluationContext | None, kind: Any
    ) -> FlagResolutionDetails[Any]:
        """Decide, or return the default and why."""
        try:
            decision = self._client(flag).ask(
                self._numbers(flag, about), subject=about.targeting_key if about else None
            )
        except ServiceTimeout as problem:
            return FlagResolutionDetails(default, ErrorCode.PROVIDER_NOT_READY, str(problem), Reason.ERROR)
        except (KeyError, ValueError, TypeError) as problem:  # what is refused is a ValueError
            missing = isinstance(problem, ServiceError) and problem.status == 404
            code = ErrorCode.FLAG_NOT_FOUND if missing else ErrorCode.INVALID_CONTEXT
            return FlagResolutionDetails(default, code, str(problem), Reason.ERROR)
        value = self._values.get(flag, {}).get(decision.arm, decision.arm)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self._client(flag).forget(decision)  # it will not be shown
            text = f"openfeature: flag {flag} is {value!r} but must be a {kind.__name__ if isinstance(kind, type) else 'list or mapping'}"
            return FlagResolutionDetails(default, ErrorCode.TYPE_MISMATCH, text, Reason.ERROR)
        return FlagResolutionDetails(
            value, reason=_reason(decision), variant=str(decision.arm), flag_metadata=_metadata(decision)
        )

    def _client(self, flag: str) -> Client:
        if flag not in self._clients:
            self._clients[flag] = Client(self._url, self._key, flag, budget=self._budget)
        return self._clients[flag]

    def _numbers(self, flag: str, about: EvaluationContext | None) -> list[float] | None:
        names = self._context.get(flag)
        if names is None:
            return None
        given = about.attributes if about is not None else {}
        return [float(given[name]) for name in names]  # type: ignore[arg-type]


def _reason(decision: Decision) -> Reason:
    return (
        Reason.DEFAULT
        if decision.by == FALLBACK
        else Reason.SPLIT
        if decision.by != "policy"
        else Reason.TARGETING_MATCH
    )


def _metadata(decision: Decision) -> dict[str, bool | int | float | str]:
    metadata: dict[str, bool | int | float | str] = {"decision": decision.id, "by": decision.by}
    if decision.probability is not None:
        metadata["probability"] = decision.probability
    return metadata
