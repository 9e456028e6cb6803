"""What a service logs, and how: records of the standard library, as a line of JSON each."""

import json
import logging
import time
from typing import Any
from weakref import WeakSet

# All that a record of the standard library has; what else it has was given by whoever logs
_RECORD = {*vars(logging.makeLogRecord({})), "message"}
QUIET = 1.0  # seconds between two lines about the same
log = logging.getLogger("latentbandits.serve")


class JSONFormatter(logging.Formatter):
    """Formats a record as a JSON object on one line: the time, the level, what happened, and what there is to say about it.

    Examples
    --------
    >>> import logging
    >>> from latentbandits.serve.logs import JSONFormatter
    >>> record = logging.makeLogRecord({"msg": "started", "levelname": "INFO", "port": 8000})
    >>> JSONFormatter().format(record)
    '{"at": "...Z", "level": "info", "event": "started", "port": 8000}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        at = time.strftime(f"%Y-%m-%dT%H:%M:%S.{int(record.msecs):03}Z", time.gmtime(record.created))
        fields: dict[str, object] = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        fields |= {name: value for name, value in vars(record).items() if name not in _RECORD}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


# Where a service logs to: the error stream
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JSONFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "loggers": {"latentbandits": {"level": "INFO"}},
    "root": {"level": "WARNING", "handlers": ["stderr"]},
}


class Seldom:
    """Logs what anybody may cause a thousand times a second: once a second, with how often it has happened, so that it fills no disk.

    Parameters
    ----------
    event : str
        What happens.
    """

    def __init__(self, event: str) -> None:
        self._event, self._times, self._until = event, 0, 0.0
        self._fields: dict[str, object] = {}
        _SELDOM.add(self)

    def __call__(self, **fields: object) -> None:
        """Note that it has happened, and what there is to say about it."""
        self._times, self._fields = self._times + 1, fields
        self.flush()

    def flush(self, stopping: bool = False) -> None:
        """Log what has happened since the last line, if that is long ago or nothing follows."""
        if self._times and (stopping or time.monotonic() >= self._until):
            log.warning(self._event, extra={"times": self._times, **self._fields})
            self._times, self._until = 0, time.monotonic() + QUIET


_SELDOM = WeakSet[Seldom]()


def flush(stopping: bool = False) -> None:
    """Log what has happened seldom or often, and has not been said."""
    for each in list(_SELDOM):
        each.flush(stopping)
