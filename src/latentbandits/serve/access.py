"""Who may do what: keys of 256 random bits, of which only digests are kept; and roles."""

import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from starlette.exceptions import HTTPException

from latentbandits.settings import InvalidValueError, nearest
from latentbandits.store import ApiKey
from latentbandits.store.minutes import DAY_US

ROLES = ("read", "decide", "reward", "admin")
PREFIX = "lb"


class Access:
    """All keys that are valid now.

    Parameters
    ----------
    now_us : callable, optional
        Microseconds since 1970, by which keys expire.

    Examples
    --------
    >>> from latentbandits.serve.access import Access, generate_key
    >>> secret, key = generate_key("shop", ["decide", "reward"], ["offers"])
    >>> access = Access()
    >>> access.replace([key])
    >>> access.admit(f"Bearer {secret}", "decide", "offers").name
    'shop'
    >>> access.admit(f"Bearer {secret}", "admin", "offers")
    Traceback (most recent call last):
    starlette.exceptions.HTTPException: 403: key: shop has the roles decide, reward but this needs admin
    """

    def __init__(self, now_us: Callable[[], int] | None = None) -> None:
        self._now_us = now_us or (lambda: time.time_ns() // 1000)
        self._holders: dict[str, ApiKey] = {}
        self._session: dict[str, ApiKey] = {}

    def replace(self, keys: Iterable[ApiKey]) -> None:
        """Take over the keys of the store; those that are revoked open nothing from then on."""
        now = self._now_us()
        stored = {key.id: key for key in keys if key.revoked_us is None or key.revoked_us > now}
        self._holders = {**stored, **self._session}

    def lend(self, key: ApiKey) -> None:
        """Let a key be valid until the process ends; it is not stored."""
        self._session[key.id] = self._holders[key.id] = key

    @property
    def administered(self) -> bool:
        """Whether there is a key that may do everything."""
        holders = [each for each in self._holders.values() if not self._is_over(each)]
        return any("admin" in each.roles and each.experiments is None for each in holders)

    def admit(self, authorization: str | None, role: str, experiment: str | None = None) -> ApiKey:
        """Return who sends a request, or refuse it."""
        holder = self._holder(authorization)
        if holder is None:
            raise HTTPException(
                401,
                "key: it is missing or not known; send `Authorization: Bearer KEY`",
                {"www-authenticate": "Bearer"},
            )
        if self._is_over(holder):
            raise HTTPException(401, f"key: {holder.name} has expired", {"www-authenticate": "Bearer"})
        if not holder.may(role):
            raise HTTPException(
                403, f"key: {holder.name} has the roles {', '.join(sorted(holder.roles))} but this needs {role}"
            )
        if experiment is not None and not holder.reaches(experiment):
            raise HTTPException(403, f"key: {holder.name} is not a key to the experiment {experiment!r}")
        return holder

    def _is_over(self, holder: ApiKey) -> bool:
        ends, now = (holder.expires_us, holder.revoked_us), self._now_us()
        return any(end is not None and end <= now for end in ends)

    def _holder(self, authorization: str | None) -> ApiKey | None:
        if authorization is None or authorization[:7].lower() != "bearer ":
            return None
        secret = authorization[7:].strip()
        holder = self._holders.get(_id(secret))
        digest = digest_of(secret)  # always, and compared in constant time
        valid = hmac.compare_digest(digest, holder.digest if holder is not None else digest_of(""))
        return holder if valid else None


def generate_key(
    name: str,
    roles: Sequence[str],
    experiments: Sequence[str] | None = None,
    by: str | None = None,
    secret: str | None = None,
    days: float | None = None,
    now_us: int | None = None,
) -> tuple[str, ApiKey]:
    """Return a new key, good for some days or for good: its secret, which is told once and never kept, and what is kept of it."""
    for role in roles:
        if role not in ROLES:
            raise InvalidValueError("key", "role", role, f"one of {', '.join(ROLES)}{nearest(role, ROLES)}")
    if secret is None:
        secret = f"{PREFIX}_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
    scope = json.dumps(None if experiments is None else sorted(set(experiments)))
    ordered = " ".join(role for role in ROLES if role in roles)
    now = time.time_ns() // 1000 if now_us is None else now_us
    until = None if days is None else now + round(days * DAY_US)
    return secret, ApiKey(_id(secret), name, ordered, scope, digest_of(secret), now, by, None, until)


def digest_of(secret: str) -> str:
    """Return the digest of a secret. It has 256 random bits, so that a slow digest would protect nothing more."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _id(secret: str) -> str:
    """Return the part of a key that is no secret."""
    parts = secret.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == PREFIX else "given"
