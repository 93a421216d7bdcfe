"""The two logs of the service: the audit log in the store, and the request log on standard error.

The audit log has actions that cannot be undone or concern security, with their keys and targets. Each entry has the
digest of the entry before it, so a changed, removed, inserted or moved entry breaks the chain, and ``verify`` says
where. The number and digest of the last entry, the head, are stored apart, which shows when the end was cut off. A user
who can write the store's file can still rewrite the whole log with all digests: to see that, keep a copy of the head's
digest elsewhere and give it to ``verify(noted=…)``.

Refusals are logged at most 20 times a minute for each key; the next entry counts the rest. The log has ids, names of
actions and counts, no text of a memory and no secret. It is never shortened.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TextIO, cast

import msgspec

from memwell.errors import BackendError, BadModelOutput, Busy, ConfigurationError, Conflict, InvalidInput, MemwellError
from memwell.longterm.base import utc_now
from memwell.records import Page, Space, paged
from memwell.runtime.wire.codec import Key, LogEntry, Outcome, Verified, as_written
from memwell.service.keys import SERVICE, Failures, without_tokens
from memwell.storage.protocols import Backend, Entry
from memwell.values import check_count, shown

_LOG = SERVICE / "log"
_HEAD = _LOG / "head"
_BEGINNING = "0" * 64
_MOST_TARGETS = 100
_LONGEST = 200
_PAGE = 1000
_TRIES = 20
_REFUSALS_A_MINUTE = 20
_MOST_WHO = 10_000
_LOOK_S = 600.0
_MOST_LOOKS = 10_000
_CURSOR = re.compile("<([0-9]{1,15})")
_ENCODER = msgspec.json.Encoder(order="sorted")


class _DamagedHead(BackendError):
    """The head cannot be read."""


class Refusals:
    """Limits how many refusals are logged: 20 a minute for each key or address, 600 in all. The rest are counted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = Failures(clock, per_minute=_REFUSALS_A_MINUTE)
        self._lock = threading.Lock()
        self._unnoted: OrderedDict[str, int] = OrderedDict()

    def count(self, who: str) -> int | None:
        """How many refusals were left out before this one; None when this one is left out too."""
        with self._lock:
            try:
                self._bounds.count(who)
            except Busy:
                self._unnoted[who] = self._unnoted.get(who, 0) + 1
                if len(self._unnoted) > _MOST_WHO:
                    self._unnoted.popitem(last=False)
                return None
            return self._unnoted.pop(who, 0)


class Looks:
    """Which looks into a space get an entry: one that repeats the same within ten minutes is counted for the next entry."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: OrderedDict[bytes, tuple[float, int]] = OrderedDict()

    def count(self, what: bytes) -> int | None:
        """How often the same was repeated since its last entry; None when that entry stands for this look, too."""
        with self._lock:
            now = self._clock()
            noted, again = self._noted.get(what, (-math.inf, 0))
            if now < noted + _LOOK_S:
                self._noted[what] = noted, again + 1
                return None
            self._noted[what] = now, 0
            self._noted.move_to_end(what)
            if len(self._noted) > _MOST_LOOKS:
                self._noted.popitem(last=False)
            return again

    def drop(self, what: bytes) -> None:
        """Let the next look of this kind have an entry."""
        with self._lock:
            self._noted.pop(what, None)


class AuditLog:
    """The audit log of a store. Several threads and processes may append to it at once."""

    def __init__(self, backend: Backend, clock: Callable[[], datetime] = utc_now) -> None:
        self._backend = backend
        self._kv = backend.kv
        self._clock = clock
        self._refusals = Refusals()
        self._looks = Looks()

    def append(
        self,
        action: str,
        *,
        key: str | None = None,
        space: Space | None = None,
        targets: Iterable[str] = (),
        outcome: Outcome = "done",
        detail: Mapping[str, str | int] | None = None,
    ) -> LogEntry:
        """Add an entry at the end. Inside a transaction it is stored with the rest of it, or not at all.

        Of more than 100 targets the first 100 are kept, and the number of all is ``targets`` in the detail. A longer text
        than 200 characters is cut; as a target it becomes its digest. Raises ``BackendError`` when the log was tampered
        with so that nothing can follow its head.
        """
        ids = list(targets)
        counts = {name: one if isinstance(one, int) else _cut(one) for name, one in (detail or {}).items()}
        if len(ids) > _MOST_TARGETS:
            counts["targets"] = len(ids)
        fields: dict[str, Any] = {
            "key": None if key is None else _cut(key),
            "space": None if space is None else list(space),
            "action": _cut(action),
            "targets": [_target(one) for one in ids[:_MOST_TARGETS]],
            "outcome": outcome,
            "detail": counts,
        }
        for _ in range(_TRIES):
            # Where transactions run side by side, another process may have appended first.
            with suppress(Conflict), self._backend.transaction():
                return self._put(fields)
        raise BackendError("the audit log cannot be continued: its head does not fit its entries; verify it")

    def refuse(
        self,
        action: str,
        *,
        code: str,
        key: str | None = None,
        space: Space | None = None,
        address: str = "",
        tried: str = "",
        later: Callable[[Callable[[], object]], object] = lambda work: work(),
    ) -> bool:
        """Log a refusal, and return whether it was logged: not when the key, or the address, had too many of late.

        ``tried`` is the space that the key may not name. ``later`` runs the write, for a caller that must not wait.
        """
        unnoted = self._refusals.count(key or address)
        if unnoted is None:
            return False
        detail: dict[str, str | int] = {"code": code}
        detail |= {name: one for name, one in (("tried", tried), ("unnoted", unnoted)) if one}
        later(lambda: self.append(action, key=key, space=space, outcome="refused", detail=detail))
        return True

    def look_into(self, operation: str, *, key: str, space: Space, asked: bytes) -> None:
        """Log that a key looks into a space that is not its own. ``asked`` is all that the request says.

        The same request of the same key within ten minutes, as a page that is open sends it, has no entry of its own; the
        next entry has the number of these as ``again``.
        """
        what = sha256(b"\0".join((key.encode(), space.encoded().encode(), operation.encode(), asked))).digest()
        again = self._looks.count(what)
        if again is None:
            return
        detail: dict[str, str | int] = {"operation": operation, **({"again": again} if again else {})}
        try:
            self.append("look_into", key=key, space=space, detail=detail)
        except BaseException:
            self._looks.drop(what)
            raise

    def _put(self, fields: dict[str, Any]) -> LogEntry:
        number, previous, version = self._head()
        moment = msgspec.to_builtins(self._clock())
        value = {"number": number + 1, "time": moment, **fields, "previous": previous}
        value["digest"] = _digest(value)
        self._kv.put(_LOG, _key(number + 1), value, expect=0)
        self._kv.put(_HEAD, "head", [number + 1, value["digest"]], expect=version)
        return msgspec.convert(value, LogEntry, dec_hook=as_written)

    def _head(self) -> tuple[int, str, int]:
        """The number and digest of the last entry, and the version of the head."""
        entry = self._kv.get(_HEAD, "head")
        if entry is None:
            return 0, _BEGINNING, 0
        try:
            number, digest = msgspec.convert(entry.value, tuple[int, str])
        except msgspec.ValidationError as error:
            raise _DamagedHead(f"the head of the audit log is damaged: {error}") from None
        return number, digest, entry.version

    def _head_after(self, walked: int) -> tuple[int, str]:
        try:
            return self._head()[:2]
        except _DamagedHead:
            return walked + 1, ""

    def entries(self, *, limit: int = 100, cursor: str | None = None) -> Page[LogEntry]:
        """One page of the log, newest first. Raises ``InvalidInput`` for a cursor that is not of this list, or a limit
        below 1, and ``BackendError`` for an entry that cannot be read; ``verify`` says what is wrong.
        """
        check_count(limit, "limit", least=1)
        # Keys are numbers without a gap, so a page from the end is one read from where it begins.
        last = self._head()[0] if cursor is None else _place(cursor)
        before = max(last - limit, 0)
        found = [_entry(one) for one in self._kv.scan(_LOG, limit=limit, cursor=_key(before)).items]
        items = [entry for entry in reversed(found) if entry.number <= last]
        return Page(items, f"<{before}" if before else None)

    def verify(
        self, progress: Callable[[int, int | None], None] | None = None, *, noted: str | None = None
    ) -> Verified:
        """Read the whole log and say whether it is as it was written, and whether ``noted``, a digest, is in it."""
        walk = _Walk(noted)
        head = self._head_after(0)
        while True:
            promised = head
            for entry in self._after(walk.number):
                if not walk.follows(entry):
                    break
                if progress is not None and walk.number % _PAGE == 0:
                    progress(walk.number, promised[0])
            # Read after the entries, so that an entry appended meanwhile is not one too many.
            head = self._head_after(walk.number)
            if walk.broken_at is not None or walk.number < promised[0] or head[0] <= walk.number:
                return walk.ended(*head)

    def _after(self, number: int) -> Iterator[Entry]:
        # From the very beginning, to see entries before the first number.
        start = _key(number) if number else None
        return paged(lambda cursor: self._kv.scan(_LOG, limit=_PAGE, cursor=cursor or start))


class _Walk:
    """A walk along the chain."""

    def __init__(self, noted: str | None) -> None:
        self.number = 0
        self.digest: str = _BEGINNING
        self.broken_at: int | None = None
        self._noted = noted
        self._seen = noted is None or noted == _BEGINNING

    def follows(self, entry: Entry) -> bool:
        """Whether this is the next entry, unchanged; then go on to it."""
        number = self.number + 1
        digest = _fitting(entry.value, number, self.digest) if entry.key == _key(number) else None
        if digest is None:
            self.broken_at = number
            return False
        self.number, self.digest = number, digest
        self._seen = self._seen or self.digest == self._noted
        return True

    def ended(self, number: int, digest: str) -> Verified:
        """The result, given the head."""
        if self.broken_at is None and (number, digest) != (self.number, self.digest):
            # The head is behind or ahead of the entries; with the same number its digest is another.
            self.broken_at = min(number, self.number) + (number != self.number)
        ok = self.broken_at is None and self._seen
        return Verified(entries=self.number, ok=ok, broken_at=self.broken_at, head=self.digest)


def _fitting(value: object, number: int, previous: str) -> str | None:
    """The digest of an entry, or None when it was changed or moved."""
    if not isinstance(value, dict):
        return None
    rest = dict(cast("dict[str, Any]", value))
    digest = rest.pop("digest", None)
    # Compared as JSON: to Python 1, 1.0 and True are the same.
    placed = _ENCODER.encode([rest.get("number"), rest.get("previous")]) == _ENCODER.encode([number, previous])
    right = _digest(rest)
    return right if placed and digest == right else None


def _digest(fields: dict[str, Any]) -> str:
    return sha256(_ENCODER.encode(fields)).hexdigest()


def _key(number: int) -> str:
    return f"{number:015d}"


def _entry(entry: Entry) -> LogEntry:
    try:
        read = msgspec.convert(entry.value, LogEntry, dec_hook=as_written)
    except (msgspec.ValidationError, InvalidInput) as error:
        raise BackendError(f"the entry {entry.key} of the audit log is damaged: {error}") from None
    if entry.key != _key(read.number):
        raise BackendError(f"the entry {entry.key} of the audit log is damaged: it says that it is {read.number}")
    return read


def _place(cursor: object) -> int:
    found = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if found is None:
        raise InvalidInput(f"this is no cursor of this list: {shown(cursor)}")
    return int(found[1])


def _cut(text: str) -> str:
    safe = without_tokens(text)
    return safe if len(safe) <= _LONGEST else f"{safe[: _LONGEST - 1]}…"


def _target(id_: str) -> str:
    text = without_tokens(id_)
    # Such a long id may be a text.
    return text if len(text) <= _LONGEST else f"sha256:{sha256(text.encode()).hexdigest()}"


# The request log: one line for each request and each failure, as text or JSON, without secrets.
#
# A line has the name of the operation, not the address, so it holds no id and no query; of the key it has the id. Of an
# unexpected error it has the class and the traceback, not the message, which may quote a memory.

_log = logging.getLogger("memwell.service")
_FIELDS = "memwell"
FORMATS = ("text", "json", "off")


def request(
    id_: str, method: str, operation: str, status: int, seconds: float, key: Key | None, *, trace: str = ""
) -> None:
    """Log a request that was answered; ``trace`` is the id of its trace."""
    if not _log.isEnabledFor(logging.INFO):
        return
    fields = {
        "request": id_,
        "method": method,
        "route": operation,
        "status": status,
        "ms": round(seconds * 1000, 2),
        "key": "" if key is None else key.id,
        **({"trace_id": trace} if trace else {}),
    }
    _log.info("%s %s %s %.1f ms", method, operation, status, seconds * 1000, extra={_FIELDS: fields})


def failure(id_: str, operation: str, error: BaseException, *, trace: str = "") -> None:
    """Log a failure whose details the caller does not see; ``trace`` is the id of its request's trace."""
    fields = {"request": id_, "route": operation, **({"trace_id": trace} if trace else {})}
    _log.error("%s failed", operation, exc_info=error, extra={_FIELDS: fields})


def warn(what: str, error: BaseException) -> None:
    """Log a failure outside of requests."""
    _log.warning("%s: %s", what, _said_by(error))


def _said_by(error: BaseException) -> str:
    kind = type(error).__name__
    # Our own messages are safe to log, except that of a bad model output, which quotes the output.
    is_ours = isinstance(error, MemwellError) and not isinstance(error, BadModelOutput)
    return f"{kind}: {error}" if is_ours and str(error) else kind


def _trace(error: BaseException) -> str:
    """The traceback of an error and of its causes, with their classes."""
    lines: list[str] = []
    for one in _chain(error, set()):
        lines += [*traceback.format_tb(one.__traceback__), _said_by(one), "\n"]
    return "".join(lines).rstrip()


def _chain(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """The causes of an error, then the error."""
    if id(error) in seen:
        return
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _chain(before, seen)
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _chain(one, seen)
    yield error


class _Own(logging.StreamHandler[TextIO]):
    """A handler that ``set_up`` installed."""


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%d %H:%M:%S")
        line = f"{moment} {record.levelname.lower():7} {record.getMessage()}"
        fields: dict[str, Any] = getattr(record, _FIELDS, {})
        line += "".join(f" {name}={fields[name]}" for name in ("request", "key", "trace_id") if fields.get(name))
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + _trace(record.exc_info[1])
        return without_tokens(line)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _trace(record.exc_info[1])
        return without_tokens(json.dumps(line, ensure_ascii=False))


def set_up(form: str, stream: TextIO | None = None) -> None:
    """Log the service and the library to standard error. Raises ``ConfigurationError`` for an unknown form."""
    if form not in FORMATS:
        raise ConfigurationError(f"the log is written as {', '.join(FORMATS)}, not {form!r}")
    for name in ("memwell", "uvicorn.error"):
        logger = logging.getLogger(name)
        for old in [one for one in logger.handlers if isinstance(one, _Own)]:
            logger.removeHandler(old)
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "memwell" else logging.WARNING)
        if form == "off":
            logger.setLevel(logging.CRITICAL + 1)
            continue
        handler = _Own(stream or sys.stderr)
        handler.setFormatter(_Json() if form == "json" else _Text())
        logger.addHandler(handler)
