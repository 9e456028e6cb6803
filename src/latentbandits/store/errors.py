"""What can go wrong, in one sentence. A `Refusal` is the caller's mistake, `Unavailable` is not; after either nothing has changed."""

from typing import TYPE_CHECKING

from latentbandits.settings import Refusal

if TYPE_CHECKING:
    from latentbandits.store.protocol import Owner


class Unknown(Refusal):
    """There is no such experiment, decision or key."""


class Conflict(Refusal):
    """It contradicts what the log already says: another value, another request with the same key, a name that is taken."""


class Closed(Refusal):
    """The status of the experiment does not allow it."""


class Unavailable(RuntimeError):  # noqa: N818
    """The store cannot be written or read now. Nothing was acknowledged; the same request may be sent again."""


class Fenced(Unavailable):
    """Somebody else appends to this experiment now: another process, which holds it until its lease ends; `owner` says who, if known."""

    def __init__(self, sentence: str, owner: "Owner | None" = None) -> None:
        super().__init__(sentence)
        self.owner = owner
