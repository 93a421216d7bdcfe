"""API keys: which space a key opens and which scopes it has; rate limits and counts of wrong keys.

    keys = Keys(backend)
    key, token = keys.create("phone", space=Space("acme", "ann"), scopes=BUNDLES["app"])
    keys.check(token)                       # the key, or AccessDenied

A key belongs to one space and reaches no other, unless it has the scope ``spaces``: then a request may name a space below
the key's, so that the backend of an application needs one key for all its users. The token is ``mw_<id>_<secret>``. It is
shown once, when it is made; the store holds a digest of its secret.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import AccessDenied, BackendError, Busy, InvalidInput, MemwellError, NotFound
from memwell.longterm.base import utc_now
from memwell.records import Page, Space, SpaceLike, as_space, paged
from memwell.runtime.grants import OWN_SPACES, SERVICE, check_to_come
from memwell.runtime.wire.codec import Key, as_written
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend, Entry
from memwell.values import as_utc, check_count, check_id, new_id, shown

SPACES = "spaces"
"""The scope of a key whose requests may name a space below its own."""
SCOPES = ("read", "write", "erase", "admin", SPACES)
"""The scopes of a key. None includes another."""

BUNDLES: dict[str, tuple[str, ...]] = {
    "reader": ("read",),
    "app": ("read", "write"),
    "owner": ("read", "write", "erase"),
    "backend": ("read", "write", "erase", SPACES),
    "operator": ("read", "write", "erase", "admin"),
}
"""Named sets of scopes."""

_KEYS = SERVICE / "keys"
_USES = _KEYS / "used"
_RATES = SERVICE / "rates"
_ID = re.compile("[0-9a-f]{16}")
_LINK_S = 3600.0
_TOKEN = re.compile("mw_([0-9a-f]{16})_([0-9a-f]{64})")
_TOKEN_IN_TEXT = re.compile("(mw_[0-9a-f]{16}_)[0-9a-z]+", re.IGNORECASE)
_TOKEN_IN_BYTES = re.compile(_TOKEN.pattern.encode())
_LONGEST_NAME = 200
_LONGEST_GRACE = timedelta(days=366)
_NOT_KNOWN = "the key is not known here"
TRUSTED_S = 2.0
"""How long a key of a remote store is cached: the longest that one revoked by another process may still work here."""

_MOST_TRUSTED = 10_000
_TOPIC = "memwell key "
_NO_SECRET = sha256(b"").hexdigest()
"""The digest that an unknown key is compared with. No secret is empty, so none has this digest."""


class _Kept(msgspec.Struct, frozen=True):
    """A key as it is stored: with the digest of its secret, and of the ``old`` secret, which is valid until ``grace``."""

    key: Key
    secret: str
    old: str = _NO_SECRET
    grace: datetime | None = None


class _Trusted:
    """A cache of valid tokens, by their digests. Safe to use from any thread."""

    def __init__(self) -> None:
        self._held: dict[bytes, tuple[Key, float]] = {}

    def put(self, token: str, key: Key) -> None:
        """Cache a token."""
        if len(self._held) >= _MOST_TRUSTED:
            self._held = {}
        self._held[sha256(token.encode()).digest()] = (key, time.monotonic() + TRUSTED_S)

    def get(self, token: str, now: datetime) -> Key | None:
        """The key of a cached token, or None."""
        key, until = self._held.get(sha256(token.encode(errors="replace")).digest(), (None, 0.0))
        if key is None or until <= time.monotonic() or (key.expires is not None and key.expires <= now):
            return None
        return key

    def drop(self, id_: str) -> None:
        """Drop the tokens of a key."""
        self._held = {digest: held for digest, held in self._held.items() if held[0].id != id_}


class Keys:
    """The keys of a store. A revocation works at once in the process that makes it, and in others within 2 seconds.

    When the store is a file or in memory, every check reads it, so a revocation works at once everywhere. After ``watch``
    the keys of a remote store are cached for 2 seconds, and dropped when the store notifies of a change.
    """

    def __init__(self, backend: Backend, clock: Callable[[], datetime] = utc_now) -> None:
        self._backend = backend
        self._kv = backend.kv
        self._clock = clock
        self._trusted: _Trusted | None = None
        self._stop_listening: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._noted: dict[str, datetime] = {}
        self._unsaved: dict[str, datetime] = {}

    def create(
        self,
        name: str,
        *,
        space: SpaceLike,
        scopes: Iterable[str],
        expires: datetime | None = None,
        rate: int | None = None,
    ) -> tuple[Key, str]:
        """Make a key and its token, which cannot be read again later.

        Raises ``InvalidInput`` for a name that is empty or over 200 characters, a space of memwell's own, no or unknown
        scopes, a time that is over, or a rate below 0.
        """
        created = self._clock()
        key = Key(
            id=secrets.token_hex(8),
            name=_checked_name(name),
            space=_checked_space(space),
            scopes=_checked_scopes(scopes),
            created=created,
            expires=check_to_come(expires, "expires", created),
            rate=None if rate is None else check_count(rate, "rate"),
        )
        secret = secrets.token_hex(32)
        self._kv.put(_KEYS, key.id, _written(_Kept(key, _digest(secret))), expect=0)
        return key, _token(key, secret)

    def watch(self) -> None:
        """Cache the keys of a remote store and listen for their changes, until ``unwatch``."""
        if _is_near(self._backend):
            return
        self._trusted = _Trusted()
        self._stop_listening = self._backend.listen(self._heard)

    def unwatch(self) -> None:
        """Stop caching and listening."""
        self._trusted = None
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    @property
    def far(self) -> bool:
        """Whether a check may wait for a remote store, which must not be done on an event loop."""
        return self._trusted is not None

    def recent(self, token: str) -> Key | None:
        """The key of a cached token; None when the store must be asked."""
        return None if self._trusted is None else self._trusted.get(token, self._clock())

    def _heard(self, topic: str) -> None:
        if topic.startswith(_TOPIC) and self._trusted is not None:
            self._trusted.drop(topic[len(_TOPIC) :])

    def check(self, token: str) -> Key:
        """The key of a token. Raises ``AccessDenied`` for anything that is not the token of a key in force.

        Only a caller with the right secret learns that the key expired or was revoked, or that it exists.
        """
        found = _TOKEN.fullmatch(token)
        if found is None:
            raise AccessDenied(_NOT_KNOWN)
        entry = self._kv.get(_KEYS, found[1])
        kept = None if entry is None else _read(entry)
        # An unknown id costs the same digest and the same two comparisons as a known one.
        if not self._fits(kept, _digest(found[2])) or kept is None:
            raise AccessDenied(_NOT_KNOWN)
        if kept.key.revoked is not None:
            raise AccessDenied("the key was revoked")
        if kept.key.expires is not None and kept.key.expires <= self._clock():
            raise AccessDenied(f"the key expired on {kept.key.expires:%Y-%m-%d at %H:%M} UTC")
        if self._trusted is not None:
            self._trusted.put(token, kept.key)
        return kept.key

    def _fits(self, kept: _Kept | None, digest: str) -> bool:
        current, old = (_NO_SECRET, _NO_SECRET) if kept is None else (kept.secret, kept.old)
        is_current = hmac.compare_digest(digest, current)
        is_old = hmac.compare_digest(digest, old)
        in_grace = kept is not None and kept.grace is not None and self._clock() < kept.grace
        return is_current or (is_old and in_grace)

    def rotate(self, id_: str, /, *, grace: timedelta = timedelta(0)) -> tuple[Key, str]:
        """Give a key another secret. The one it has now works on for ``grace``; an older one ends at once.

        Raises ``NotFound`` for an unknown key, ``InvalidInput`` for one that was revoked or has expired, and for a grace
        below 0 or over a year.
        """
        if not timedelta(0) <= grace <= _LONGEST_GRACE:
            raise InvalidInput(f"grace must be from 0 to 366 days, not {shown(grace)}")
        secret, now = secrets.token_hex(32), self._clock()

        def turned(kept: _Kept) -> _Kept:
            if kept.key.revoked is not None or (kept.key.expires is not None and kept.key.expires <= now):
                raise InvalidInput(f"the key {kept.key.id} is revoked or has expired; make another")
            old, until = (kept.secret, now + grace) if grace else (_NO_SECRET, None)
            return _Kept(replace(kept.key, rotated=now), _digest(secret), old, until)

        key = self._change(id_, turned)
        return key, _token(key, secret)

    def renew(self, id_: str, /, *, expires: datetime) -> Key:
        """Set when a key expires. Raises ``NotFound`` for an unknown key."""
        return self._change(id_, lambda kept: replace(kept, key=replace(kept.key, expires=as_utc(expires, "expires"))))

    def revoke(self, id_: str, /) -> Key:
        """Revoke a key, at once and for good; a second time changes nothing. Raises ``NotFound`` for an unknown key."""
        now = self._clock()
        return self._change(id_, lambda kept: replace(kept, key=replace(kept.key, revoked=kept.key.revoked or now)))

    def get(self, id_: str, /) -> Key:
        """One key. Raises ``NotFound`` for an unknown one."""
        return self._with_use(self._kept(id_)[0].key)

    def page(self, space: SpaceLike | None = None, *, limit: int = 100, cursor: str | None = None) -> Page[Key]:
        """One page of all keys, revoked ones too, or of those of exactly this space; by id.

        Raises ``InvalidInput`` for a limit below 1, or a cursor that is none.
        """
        where = None if space is None else {"space": as_space(space).encoded()}
        if cursor is not None and _ID.fullmatch(cursor) is None:
            # Not shown: it may be a token.
            raise InvalidInput("this is no cursor; take 'next' of the page before")
        found = self._kv.scan(_KEYS, where=where, limit=limit, cursor=cursor)
        return Page([self._with_use(_read(entry).key) for entry in found.items], found.next)

    def all(self, space: SpaceLike | None = None) -> list[Key]:
        """All of them; oldest first."""
        keys = paged(lambda cursor: self.page(space, limit=_PAGE, cursor=cursor))
        return sorted(keys, key=lambda key: (key.created, key.id))

    def reaching(self, space: Space) -> list[Key]:
        """The keys of a space and of those above it, without their uses; in one pass over all keys."""
        paths = [Space(*space[:depth]).encoded() for depth in range(1, len(space) + 1)]
        found = paged(lambda cursor: self._kv.scan(_KEYS, where={"space": {"$in": paths}}, limit=_PAGE, cursor=cursor))
        return [_read(entry).key for entry in found]

    def note_use(self, key: Key) -> None:
        """Note that a key was used now. ``write_uses`` stores it later, outside of requests."""
        minute = self._minute()
        # A race of two threads notes the same minute twice, which changes nothing.
        if self._noted.get(key.id) != minute:
            with self._lock:
                self._noted[key.id] = self._unsaved[key.id] = minute

    def write_uses(self) -> int:
        """Store the noted uses, at most one a minute for each key, and return for how many keys.

        Call it about once a minute, and at the end: uses that are not stored are lost with the process.
        """
        minute = self._minute()
        with self._lock:
            unsaved, self._unsaved = self._unsaved, {}
            self._noted = {id_: noted for id_, noted in self._noted.items() if noted == minute}
        try:
            with self._backend.transaction() if unsaved else nullcontext():
                for id_, noted in unsaved.items():
                    # Stored apart from the key, so that a use never overwrites a revocation.
                    last = _moment(self._kv.get(_USES, id_))
                    if last is None or last < noted:
                        self._kv.put(_USES, id_, noted.isoformat())
        except MemwellError:
            with self._lock:
                self._unsaved = unsaved | self._unsaved
            raise
        return len(unsaved)

    def _minute(self) -> datetime:
        return self._clock().replace(second=0, microsecond=0)

    def _with_use(self, key: Key) -> Key:
        times = (_moment(self._kv.get(_USES, key.id)), self._noted.get(key.id))
        return replace(key, last_used=max((time for time in times if time is not None), default=None))

    def _kept(self, id_: str) -> tuple[_Kept, int]:
        if _ID.fullmatch(id_) is None:
            # Not shown: it may be a token.
            raise NotFound("there is no such key; the id of a key is 16 hexadecimal digits")
        entry = self._kv.get(_KEYS, id_)
        if entry is None:
            raise NotFound(f"there is no key {id_!r}")
        return _read(entry), entry.version

    def _change(self, id_: str, change: Callable[[_Kept], _Kept]) -> Key:
        with self._backend.transaction():
            kept, version = self._kept(id_)
            changed = change(kept)
            self._kv.put(_KEYS, id_, _written(changed), expect=version)
        self._heard(_TOPIC + id_)
        # A process that is not notified sees it within two seconds.
        with suppress(BackendError):
            self._backend.notify(_TOPIC + id_)
        return self._with_use(changed.key)


def without_tokens(text: str) -> str:
    """The text without the secrets of tokens, for logs."""
    return _TOKEN_IN_TEXT.sub(r"\1…", text)


def holds_token(data: bytes) -> bool:
    """Whether the bytes hold a token, and must not be stored."""
    return _TOKEN_IN_BYTES.search(data) is not None


def id_in_token(token: str) -> str | None:
    """The id in a token, or None when this is no token. The secret is not checked."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else found[1]


def _token(key: Key, secret: str) -> str:
    return f"mw_{key.id}_{secret}"


def _is_near(backend: Backend) -> bool:
    """Whether keys are read without a network. A composed store has them in its home."""
    home = getattr(backend, "home", backend)
    return isinstance(home, MemoryBackend) or getattr(home, "path", None) is not None


def _digest(secret: str) -> str:
    # One round of SHA-256 is enough: a slow hash protects guessable passwords, and these are 256 random bits.
    return sha256(secret.encode()).hexdigest()


def _checked_name(name: object) -> str:
    text = check_id(name, "the name of a key")
    if len(text) > _LONGEST_NAME:
        raise InvalidInput(f"the name of a key is at most {_LONGEST_NAME} characters: {shown(without_tokens(text))}")
    return text


def is_open_space(space: Space) -> bool:
    """Whether a space is the users', and not memwell's own."""
    # What memwell keeps about the memory of a space lies in the segment "memwell" below it.
    return space[:2] not in OWN_SPACES and "memwell" not in space[1:]


def owner_of(space: Space) -> Space | None:
    """Whose space it is: what memwell keeps about a space lies below it. None for what is memwell's alone."""
    inner = next((place for place, segment in enumerate(space) if place and segment == "memwell"), len(space))
    owner = Space(*space[:inner])
    return owner if owner[0] != "memwell" and is_open_space(owner) else None


def _checked_space(space: SpaceLike) -> Space:
    checked = as_space(space)
    if not is_open_space(checked):
        raise InvalidInput(f"the space {checked!r} is memwell's own; no key is for it")
    return checked


def in_space(key: Key, space: Space) -> Key:
    """The key, for a request that names a space. A key that may administrate looks into any space, and changes nothing.

    Raises ``AccessDenied`` (``foreign-space``) when the key may not go there, ``InvalidInput`` for what is no space.
    """
    named = _checked_space(space)
    if named == key.space:
        return key
    # By segments: "app/user-17" is below "app", and "apple" is not.
    if SPACES in key.scopes and named[: len(key.space)] == key.space:
        return replace(key, space=named)
    if "admin" in key.scopes:
        return replace(key, space=named, scopes=("read",))
    if SPACES in key.scopes:
        raise AccessDenied(f"the key {key.name!r} reaches only spaces below its own", code="foreign-space")
    raise AccessDenied(
        f"the key {key.name!r} is for one space; only one with the scope {SPACES} may name another",
        code="foreign-space",
    )


def _checked_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    given = list(scopes)
    unknown = [scope for scope in given if scope not in SCOPES]
    if unknown or not given:
        raise InvalidInput(f"scopes must be some of {', '.join(SCOPES)}, not {shown(unknown[0] if unknown else given)}")
    return tuple(scope for scope in SCOPES if scope in given)


def _written(kept: _Kept) -> dict[str, Any]:
    fields = cast("dict[str, Any]", msgspec.to_builtins(replace(kept, key=replace(kept.key, last_used=None))))
    # As one text too: that is what `all` looks for.
    return {**fields, "space": kept.key.space.encoded()}


def _read(entry: Entry) -> _Kept:
    try:
        return msgspec.convert(entry.value, _Kept, dec_hook=as_written)
    except (msgspec.ValidationError, InvalidInput) as error:
        raise BackendError(f"the key {entry.key} is damaged in the store: {error}") from None


def _moment(entry: Entry | None) -> datetime | None:
    return None if entry is None else datetime.fromisoformat(cast("str", entry.value))


class OneTimeLink:
    """A code that is exchanged for a key once, within an hour, and stands in an address in the place of the key.

    An address gets into the arguments of a browser and into logs, where a key would be found later. ``token`` is called
    for the key when the code is used.
    """

    def __init__(self, token: Callable[[], str | None], clock: Callable[[], float] = time.monotonic) -> None:
        self.code = secrets.token_urlsafe(24)
        self._token = token
        self._clock = clock
        self._until = clock() + _LINK_S
        self._lock = threading.Lock()
        self._used = False

    def redeem(self, code: str) -> str:
        """The token of the key. Raises ``AccessDenied`` for another code, and when it was used or is too old."""
        with self._lock:
            right = secrets.compare_digest(code.encode(errors="replace"), self.code.encode())
            fresh = right and not self._used and self._clock() < self._until
            self._used = self._used or fresh
        token = self._token() if fresh else None
        if token is None:
            raise AccessDenied(
                "this link was used already, is older than an hour, or came before another key; where the store is, "
                "memwell keys create NAME --as operator makes a key"
            )
        return token


# Rate limits for keys, and for wrong keys from an address.

_MOST_BUCKETS = 10_000
_SHARED_PARTS = 10
"""A key's use is shared with other services from this part of its limit on, so that most keys cost nothing."""
_SHARED_S = 180.0
_PAGE = 500


class _Buckets:
    """Token buckets by name. The caller holds the lock. Above ``most`` the least recently used is dropped."""

    def __init__(self, clock: Callable[[], float], most: int = _MOST_BUCKETS) -> None:
        self._clock = clock
        self._most = most
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """How many are left in a bucket, and since when."""

    def take(self, name: str, per_minute: int) -> float:
        """Take one from a bucket of ``per_minute``; returns 0, or the seconds until there is one."""
        now = self._clock()
        left, since = self._held.get(name, (float(per_minute), now))
        # A key's rate may have become smaller meanwhile.
        left = min(left + (now - since) * per_minute / 60, per_minute)
        self._held[name] = (left - 1 if left >= 1 else left, now)
        self._held.move_to_end(name)
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) * 60 / per_minute

    def subtract(self, name: str, many: int, per_minute: int) -> None:
        """Take ``many`` from a bucket that were used elsewhere, if need be of what is still to come; a minute's at most."""
        left, since = self._held.get(name, (float(per_minute), self._clock()))
        self._held[name] = (max(left - many, -float(per_minute)), since)

    def __len__(self) -> int:
        return len(self._held)


class _Used(msgspec.Struct):
    """How many requests a key has made in one service, in a minute and in the one before."""

    minute: int
    requests: int = 0
    before: int = 0

    def go_on(self, minute: int) -> None:
        if minute != self.minute:
            self.before = self.requests if minute == self.minute + 1 else 0
            self.minute, self.requests = minute, 0

    def since(self, seen: _Used | None) -> int:
        """How many came after what was seen earlier; without that, those of the minute."""
        if seen is not None and seen.minute == self.minute:
            return self.requests - seen.requests
        if seen is not None and seen.minute == self.minute - 1:
            return self.requests + self.before - seen.requests
        return self.requests


class RateLimits:
    """Limits the requests a minute of each key: to the key's own rate, or ``per_minute``; 0 is no limit.

    Services over one store share the limits, as far as ``share`` is called: each writes down what it has served of a key,
    from a tenth of its limit on, and subtracts what others have. Until the next call a key may get more than its limit.
    """

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        backend: Backend | None = None,
        time_of_day: Callable[[], float] = time.time,
    ) -> None:
        self._per_minute = check_count(per_minute, "per_minute")
        self._lock = threading.Lock()
        self._buckets = _Buckets(clock)
        self._backend = backend
        self._time_of_day = time_of_day
        self._me = new_id()
        self._used: dict[str, tuple[int, _Used]] = {}
        """By the id of a key, its rate and what it has used here."""
        self._seen: dict[str, _Used] = {}
        """What others had written down, by the key of their row."""

    def check(self, key: Key) -> None:
        """Count a request. Raises ``Busy`` when the key has made too many; that one is not counted."""
        rate = self._per_minute if key.rate is None else key.rate
        if rate == 0:
            return
        with self._lock:
            wait = self._buckets.take(key.id, rate)
            if not wait and self._backend is not None:
                minute = int(self._time_of_day() // 60)
                _, used = self._used[key.id] = rate, self._used.get(key.id, (rate, _Used(minute)))[1]
                used.go_on(minute)
                used.requests += 1
        if wait:
            message = f"this key may make {rate:,} requests a minute; try again in {wait:.1f} s"
            raise Busy(message, retry_after=wait, code="rate-limited")

    def share(self) -> None:
        """Write down what keys have used here, and subtract what they have used in other services over the store.

        Raises ``BackendError`` when the store cannot be used; what was not written down then is at the next call.
        """
        backend = self._backend
        if backend is None:
            return
        minute = int(self._time_of_day() // 60)
        with self._lock:
            self._used = {key: held for key, held in self._used.items() if held[1].minute >= minute - 1}
            busy = {
                key: (rate, replace(used))
                for key, (rate, used) in self._used.items()
                if (used.requests + used.before) * _SHARED_PARTS >= rate
            }
        if not busy:
            return
        for key, (_, used) in busy.items():
            backend.kv.put(_RATES, f"{key}/{self._me}", msgspec.to_builtins(used), ttl=_SHARED_S)
        rows = list(paged(lambda cursor: backend.kv.scan(_RATES, limit=_PAGE, cursor=cursor)))
        with self._lock:
            now: dict[str, _Used] = {}
            for row in rows:
                key, service = row.key.split("/")
                if key in busy and service != self._me:
                    now[row.key] = msgspec.convert(row.value, _Used)
                    self._buckets.subtract(key, now[row.key].since(self._seen.get(row.key)), busy[key][0])
            self._seen = now


class Failures:
    """Limits wrong keys: 20 a minute from one address, and 600 from all addresses together.

    Only refused keys are counted, so a valid key works from any address: behind a proxy many tenants share one, and a
    tenant with wrong keys must not lock out the others. The limit keeps the audit log short: where ``count`` raises,
    nothing is logged. It need not stop guessing, since a secret has 256 random bits.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, per_minute: int = 20, together: int = 600
    ) -> None:
        self._per_minute = check_count(per_minute, "per_minute", least=1)
        self._together = check_count(together, "together", least=1)
        self._lock = threading.Lock()
        self._by_address = _Buckets(clock)
        self._all = _Buckets(clock)

    def count(self, address: str) -> None:
        """Count a refused key. Raises ``Busy`` when there were too many."""
        with self._lock:
            # In this order, so that one address does not use up the limit of all.
            wait = self._by_address.take(_network(address), self._per_minute) or self._all.take("", self._together)
        if wait:
            message = f"too many wrong keys; try again in {wait:.1f} s"
            raise Busy(message, retry_after=wait, code="rate-limited")


def _network(address: str) -> str:
    """The address, or the /64 network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        # The name of a socket, or empty.
        return address[:100]
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or int(parsed) >> 64)
