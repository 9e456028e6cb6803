"""Everything that can be said about a service: by options, or by a TOML file with the same words."""

import ipaddress
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec

from latentbandits.settings import InvalidValueError, nearest

OWNER = "serve"
Count = Annotated[int, msgspec.Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a service.

    Attributes
    ----------
    store : where everything is kept: the address or the path of a store
    host, port : where it listens; 0 stands for any free port
    reached_at : where other replicas reach this one, if the store is shared; if not given, `host` (the machine's name, if that stands for
        every address) and `port`
    lease : seconds without a sign of life after which another replica takes over; also how long one may take to answer another
    demo : whether a simulated stream of visitors is served as well
    body : bytes that a request may have
    open : decisions of one experiment that may wait for rewards
    waiting : requests that may wait for the store; beyond it the answer is 503
    stop : seconds that requests have to end when the service stops
    log_requests : whether every request is logged, or only those that fail or change something
    webhook : where alerts are sent, signed by the secret in LATENTBANDITS_WEBHOOK_SECRET
    export_days : how old the decisions of an exported log may be; None for all
    compiled : whether policies run machine code once it is there

    Examples
    --------
    >>> from latentbandits.serve.settings import Settings
    >>> Settings(port=9000).address
    'http://127.0.0.1:9000'
    """

    store: str = "latentbandits.db"
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8000
    reached_at: Annotated[str, msgspec.Meta(pattern=r"^https?://[^/?#\s]+$")] | None = None
    lease: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    demo: bool = False
    body: Count = 4 * 2**20
    open: Count = 100_000
    waiting: Count = 10_000
    stop: Annotated[int, msgspec.Meta(ge=1)] = 10
    log_requests: bool = False
    webhook: Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s/]+")] | None = None
    export_days: Annotated[float, msgspec.Meta(gt=0)] | None = None
    compiled: bool = True

    @property
    def local(self) -> bool:
        """Whether nobody from another machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def address(self) -> str:
        """The address, for people."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def read(path: str | Path | None, options: dict[str, object]) -> Settings:
    """Return the settings of a file, with those changed that options give, or refuse.

    Examples
    --------
    >>> from latentbandits.serve.settings import read
    >>> read(None, {"port": 9000}).port
    9000
    >>> read(None, {"prot": 9000})
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: serve: setting is 'prot' but must be one of store, host, port, ... (did you mean port?)
    """
    given = options
    if path is not None:
        try:
            given = tomllib.loads(Path(path).read_text(encoding="utf-8")) | options
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
            reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
            raise InvalidValueError(OWNER, "file", str(path), f"a TOML file of settings ({reason})") from None
    known = Settings.__struct_fields__
    for name, value in given.items():
        if name not in known:
            raise InvalidValueError(OWNER, "setting", name, f"one of {', '.join(known)}{nearest(name, known)}")
        try:
            msgspec.convert({name: value}, Settings)
        except msgspec.ValidationError as problem:
            raise InvalidValueError(OWNER, name, value, f"right ({str(problem).partition(' - at')[0]})") from None
    return msgspec.convert(given, Settings)
