"""A store of decisions: nothing that was acknowledged is ever lost, and everything follows from one log.

Events are the only truth (`latentbandits.agent.events`). A `Ledger` answers requests in groups: it decides and learns in memory, appends
what happened in one transaction, and answers when that is on disk. If the append fails, the states in question are dropped and made again
from the log, so that an agent is always what its log says, to the last bit.

========================  =====================================================================================================
`open_agent`                    an agent that is on disk: `DurableAgent`, with the same ``ask`` and ``tell`` as `Agent`
`Ledger`                  ``run(requests)`` answers a group on the caller's thread, ``call(request)`` one, together with those of other
                          threads; ``view``, ``explain``, ``digest``, ``due``, ``snapshot``, ``close``
requests                  `Create`, `Decide`, `Reward`, `Censor`, `Expire`, `Change`
answers                   a decision, "accepted", "duplicate" or "late", or the number of an event
errors                    `NotFoundError`, `ConflictError`, `ClosedError`: the caller's; `StoreUnavailableError`, `FencedError`: try again
`Spec`                    the settings of an experiment
`Storage`, `Reads`        what a store must do (`queries`); `SQLite` is one, ``storage.reader()`` is for other threads: events, stories of
                          decisions, minutes, beliefs, keys
`verify`                  repeats a log, and compares everything with what it leads to
`export`                  the decisions as a table that `latentbandits diagnose` reads
========================  =====================================================================================================
"""

from latentbandits.agent.events import Event
from latentbandits.agent.spec import STATUSES, Spec
from latentbandits.agent.state import State
from latentbandits.store.addresses import reader_of, storage_of
from latentbandits.store.durable import DurableAgent, open_agent
from latentbandits.store.errors import ClosedError, ConflictError, FencedError, NotFoundError, StoreUnavailableError
from latentbandits.store.export import export
from latentbandits.store.ledger import Ledger
from latentbandits.store.queries import Reads, Storage
from latentbandits.store.records import ApiKey, Believed, Built, Group, Minute, Owner, Row, Snapshot
from latentbandits.store.requests import Censor, Change, Create, Decide, Expire, Reward
from latentbandits.store.sqlite import Reader, SQLite
from latentbandits.store.verify import Verdict, verify
from latentbandits.store.view import View

__all__ = [
    "STATUSES",
    "ApiKey",
    "Believed",
    "Built",
    "Censor",
    "Change",
    "ClosedError",
    "ConflictError",
    "Create",
    "Decide",
    "DurableAgent",
    "Event",
    "Expire",
    "FencedError",
    "Group",
    "Ledger",
    "Minute",
    "NotFoundError",
    "Owner",
    "Reader",
    "Reads",
    "Reward",
    "Row",
    "SQLite",
    "Snapshot",
    "Spec",
    "State",
    "Storage",
    "StoreUnavailableError",
    "Verdict",
    "View",
    "export",
    "open_agent",
    "reader_of",
    "storage_of",
    "verify",
]
