"""Scrubbing: removing what was erased from a store's files too, in one pass for many erasures.

    with backend.transaction():
        ...                                       # delete
        note = note_erasure(backend)              # last, so that no one waits long for it
    done = scrubbed(backend, note, wait=False)    # False: a worker does it

A note is part of the transaction that deletes. One pass of ``Backend.scrub`` covers all notes that it finds; they are
deleted when it has succeeded. So a process that is killed in between leaves the note, and the next worker does the pass.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

import msgspec

from memwell.errors import MemwellError
from memwell.records import Space, paged
from memwell.storage.protocols import Backend, Entry
from memwell.values import new_id

SCRUBS = Space("memwell", "scrubs")
"""Where the notes are, of the whole store."""

_WAIT_S = 60.0
"""How long ``wait`` waits for readers of an older state, in whose view nothing is erased."""
_AGAIN_S = 0.2
_PAGE = 500
_log = logging.getLogger("memwell.jobs")
_locks: WeakKeyDictionary[Backend, threading.Lock] = WeakKeyDictionary()
_choosing = threading.Lock()


class PendingScrubs(msgspec.Struct, frozen=True):
    """Erasures that may still be in the store's files: how many, and since when."""

    count: int = 0
    since: datetime | None = None


def note_erasure(backend: Backend) -> str:
    """Note that something was erased, inside the transaction that does so; the note's key."""
    key = new_id()
    backend.kv.put(SCRUBS, key, datetime.now(UTC).isoformat())
    return key


def pending_scrubs(backend: Backend) -> PendingScrubs:
    """What was erased and not scrubbed."""
    times = [datetime.fromisoformat(str(entry.value)) for entry in _notes(backend)]
    return PendingScrubs(len(times), min(times, default=None))


def any_scrub_pending(backend: Backend) -> bool:
    """Whether anything was erased and not scrubbed."""
    return bool(backend.kv.scan(SCRUBS, limit=1).items)


def scrub_pending(backend: Backend, note: str | None = None) -> bool:
    """Scrub the store if anything is noted, or only if ``note`` still is. Whether nothing of it is left.

    Threads that call it at once share a pass: each waits for the one under way, and then finds its note gone or begins
    the next. Raises ``BackendError`` as ``Backend.scrub`` does.
    """
    with _lock_of(backend):
        if note is not None and backend.kv.get(SCRUBS, note) is None:
            return True
        notes = [entry.key for entry in _notes(backend)]
        if not notes:
            return True
        begun = time.monotonic()
        if not backend.scrub():
            _log.info("erased data is still in use by a reader; scrubbing is tried again; erasures: %d", len(notes))
            return False
        with backend.together():
            for key in notes:
                backend.kv.delete(SCRUBS, key)
        _log.info(
            "the store was scrubbed of what was erased; erasures: %d, seconds: %.2f",
            len(notes),
            time.monotonic() - begun,
        )
        return True


def scrubbed(backend: Backend, note: str, *, wait: bool) -> bool:
    """Whether the erasure of a note is gone from the store's files, after doing what is to be done at once.

    With ``wait`` that is all, and errors are raised; only a reader of an older state can keep it from that for longer than
    a minute. Otherwise it is what the store can do quickly, and an error is logged: a worker tries again.
    """
    if not wait:
        try:
            return backend.scrubs_quickly and scrub_pending(backend, note)
        except MemwellError as error:
            _log.warning("what was erased is not scrubbed yet, which is tried again: %s", error)
            return False
    end = time.monotonic() + _WAIT_S
    while not scrub_pending(backend, note):
        if time.monotonic() > end:
            return False
        time.sleep(_AGAIN_S)
    return True


def _notes(backend: Backend) -> Iterator[Entry]:
    return paged(lambda cursor: backend.kv.scan(SCRUBS, limit=_PAGE, cursor=cursor))


def _lock_of(backend: Backend) -> threading.Lock:
    with _choosing:
        return _locks.setdefault(backend, threading.Lock())
