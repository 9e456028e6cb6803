"""What can go wrong, in one sentence; after it nothing has changed.

An `InvalidValueError` is the caller's mistake, `StoreUnavailableError` is not.
"""

from typing import TYPE_CHECKING

from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    from latentbandits.store.records import Owner


class NotFoundError(InvalidValueError):
    """There is no such experiment, decision or key."""


class ConflictError(InvalidValueError):
    """It contradicts what the log already says: another value, another request with the same key, a name that is taken."""


class ClosedError(InvalidValueError):
    """The status of the experiment does not allow it."""


class StoreUnavailableError(RuntimeError):
    """The store cannot be written or read now. Nothing was acknowledged; the same request may be sent again."""


class FencedError(StoreUnavailableError):
    """Somebody else appends to this experiment now: another process, which holds it until its lease ends; `owner` says who, if known."""

    def __init__(self, sentence: str, owner: "Owner | None" = None) -> None:
        super().__init__(sentence)
        self.owner = owner
