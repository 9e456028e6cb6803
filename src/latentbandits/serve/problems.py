"""What goes wrong, as a small document with one sentence. After a 4xx nothing has changed."""

from typing import Any

import msgspec

from latentbandits.settings import Refusal
from latentbandits.store import Closed, Conflict, Unavailable, Unknown


class Problem(msgspec.Struct, frozen=True):
    """An error: one sentence that says what, where and what it must be."""

    error: str


class Failure(Exception):  # noqa: N818
    """An answer that is an error."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]


def failure(problem: BaseException) -> Failure:
    """Return the answer to a request that ended in an exception.

    Examples
    --------
    >>> from latentbandits.serve.problems import failure
    >>> from latentbandits.store import Unknown
    >>> found = failure(Unknown("store", "experiment", "offers", "the name of one that exists"))
    >>> found.status, str(found)
    (404, "store: experiment is 'offers' but must be the name of one that exists")
    """
    if isinstance(problem, Failure):
        return problem
    if isinstance(problem, Unknown):
        return Failure(404, str(problem))
    if isinstance(problem, Conflict | Closed):
        return Failure(409, str(problem))
    if isinstance(problem, Refusal):
        return Failure(422, str(problem))
    if isinstance(problem, Unavailable):
        return Failure(503, str(problem), retry_after="1")
    if isinstance(
        problem, msgspec.DecodeError | UnicodeDecodeError | RecursionError
    ):  # a ValidationError is a DecodeError
        return Failure(422, f"request: body is not as it must be ({problem})")
    return Failure(500, f"serve: an error of the service ({type(problem).__name__}); its log says more")


def raised(answer: Any) -> Any:
    """Return an answer of the ledger, or raise it if it is an exception."""
    if isinstance(answer, Exception):
        raise answer
    return answer
