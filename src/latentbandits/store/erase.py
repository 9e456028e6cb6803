"""One subject is forgotten: in every decision that names it a pseudonym takes its place, and nothing else changes, so that the log repeats.

A pseudonym is on the same side of every holdback that the experiment ever had. It is random, and nobody knows whose it was.
"""

import secrets
from typing import NamedTuple

from latentbandits.agent.mixing import Mixing
from latentbandits.store.ledger import Ledger
from latentbandits.store.queries import Reads
from latentbandits.store.requests import Change

PART = 900  # decisions that are changed in one transaction: others wait meanwhile


class Erased(NamedTuple):
    """What stands for a subject now, None if no decision named it, and in how many decisions it does."""

    pseudonym: str | None
    decisions: int


def erase(ledger: Ledger, reads: Reads, name: str, subject: str, actor: str | None = None) -> Erased:
    """Forget a subject of an experiment, durably. The event that says so has the pseudonym, who did it, and not the subject.

    Its decisions, with their contexts and rewards, stay. Idempotency keys of these decisions are forgotten. Copies of the store and files
    that were exported before have the subject still.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.store import Create, Decide, Ledger, Spec, SQLite
    >>> from latentbandits.store.erase import erase
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(SQLite(Path(folder.name) / "decisions.db"))
    >>> _ = ledger.run([Create("offers", Spec.of("ucb1", arms=["red", "blue"])), Decide("offers", subject="visitor-17")])
    >>> erase(ledger, ledger.storage.reader(), "offers", "visitor-17").decisions
    1
    >>> ledger.storage.events(1)[2].subject.startswith("erased-")
    True
    >>> ledger.close()
    >>> folder.cleanup()
    """
    view = ledger.view(name)
    mixing = ledger.state(name, lambda state: state.player.mixing)
    holdbacks = [event.payload.get("holdback", 0.0) for event in reads.changes(view.id)]
    pseudonym, decisions = _alike(mixing, subject, holdbacks), 0
    while found := reads.of_subject(view.id, subject, PART):  # what is decided for it meanwhile too
        ledger.erase(view.id, found, pseudonym)
        decisions += len(found)
    if not decisions:
        return Erased(None, 0)
    ledger.call(Change(name, "erase", {"erased": pseudonym, "decisions": decisions}, actor))
    return Erased(pseudonym, decisions)


def _alike(mixing: Mixing, subject: str, holdbacks: list[float]) -> str:
    """Return a random pseudonym that is held back whenever the subject is."""
    share = mixing.share(subject)
    while True:
        pseudonym = f"erased-{secrets.token_hex(8)}"
        if all((mixing.share(pseudonym) < each) == (share < each) for each in holdbacks):
            return pseudonym
