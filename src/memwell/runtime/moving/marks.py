"""What a move notes down: whose copy a target is, and how far it has come, so that a killed one goes on where it was."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, cast

import msgspec

from memwell.errors import ConfigurationError, ReadOnlyStore
from memwell.records import Space, Thread
from memwell.runtime.moving.reading import MOVING, spaces_of
from memwell.storage.protocols import Backend
from memwell.values import new_id

_IDENTITY = "identity"
_COPY = "copy"

_REFUSALS = {
    "same": "the source and the target are the same store, or one is a copy of the other's file",
    "unfinished": "the source is itself the unfinished copy of another store; finish that move first",
    "other": "the target holds the copy of another store; name one that is empty",
    "holds": "the target already holds something else; name one that is empty or does not exist",
    "touched": "the target was written to since it became the copy of this store, and that would be lost; "
    "name another target",
}


class MoveRefused(ConfigurationError):
    """A move that would destroy something. ``code`` says what: same, unfinished, other, holds or touched."""

    def __init__(self, code: str) -> None:
        super().__init__(_REFUSALS[code])
        self.code = code


def identity_of(source: Backend) -> str:
    """A name for the store that stays with it, made when it is first moved."""
    known = source.kv.get(MOVING, _IDENTITY)
    if known is not None:
        return str(known.value)
    made = new_id()
    try:
        source.kv.put(MOVING, _IDENTITY, made, expect=0)
    except ReadOnlyStore:
        # It cannot be written, so it cannot change either: where it lies names it well enough.
        facts = source.facts()
        return f"{facts.get('kind')}:{facts.get('path', facts.get('url'))}"
    return made


class Finished(NamedTuple):
    """What a finished move left in its target: the checksum of the copy, and whether the source was sealed for it."""

    checksum: str
    sealed: bool


class Marks:
    """The notes in the target's own space for moves."""

    def __init__(self, target: Backend) -> None:
        self._target = target

    def claim(self, source: Backend) -> Finished | None:
        """Note that the target is to be this source's copy; what is known of the copy when one was finished before.

        Raises ``MoveRefused`` when the target is the source itself, or holds something else.
        """
        identity = identity_of(source)
        if _value(source, _COPY).get("finished", "") is None:
            raise MoveRefused("unfinished")
        here = self._target.kv.get(MOVING, _IDENTITY)
        if self._target is source or (here is not None and here.value == identity):
            raise MoveRefused("same")
        noted = _value(self._target, _COPY)
        if noted and noted["source"] != identity:
            raise MoveRefused("other")
        if not noted and next(spaces_of(self._target), None) is not None:
            raise MoveRefused("holds")
        if not noted:
            self._target.kv.put(MOVING, _COPY, {"source": identity, "finished": None}, expect=0)
        finished = noted.get("finished")
        return None if finished is None else Finished(finished, noted.get("sealed", False))

    def resume(self, source: Backend) -> None:
        """Note that the copy is being changed again."""
        self._target.kv.put(MOVING, _COPY, {"source": identity_of(source), "finished": None})

    def complete(self, source: Backend, checksum: str, *, sealed: bool) -> None:
        """Take all notes away but whose copy this is, as what, and whether the source was sealed for it."""
        for entry in self._target.kv.scan(MOVING, limit=1000).items:
            if entry.key not in (_COPY, _IDENTITY):
                self._target.kv.delete(MOVING, entry.key)
        if self._target.kv.count(MOVING) > 2:
            self.complete(source, checksum, sealed=sealed)
            return
        note = {"source": identity_of(source), "finished": checksum, "sealed": sealed}
        self._target.kv.put(MOVING, _COPY, note)

    # How far the records of a space have come

    def state_of(self, space: Space) -> int | None:
        """The state of the source's space that the target's is at least at."""
        return _number(self._target, _name("records", space.encoded()))

    def set_state(self, space: Space, state: int | None) -> None:
        """Note it; None for not known."""
        self._target.kv.put(MOVING, _name("records", space.encoded()), state)

    # How far a long thread has come

    def reached(self, thread: Thread) -> int | None:
        """The index of the last place of a thread that is only half copied; None for one that is whole or not there."""
        return _number(self._target, _thread_name(thread))

    def reach(self, thread: Thread, index: int) -> None:
        """Note it."""
        self._target.kv.put(MOVING, _thread_name(thread), index)

    def finish(self, thread: Thread) -> None:
        """The thread is whole, or gone."""
        self._target.kv.delete(MOVING, _thread_name(thread))


def _value(backend: Backend, key: str) -> dict[str, Any]:
    found = backend.kv.get(MOVING, key)
    return {} if found is None else cast("dict[str, Any]", found.value)


def _number(backend: Backend, key: str) -> int | None:
    found = backend.kv.get(MOVING, key)
    return None if found is None else cast("int | None", found.value)


def _thread_name(thread: Thread) -> str:
    return _name("thread", thread.space.encoded(), thread.id)


def _name(kind: str, *parts: str) -> str:
    # Paths and ids can be longer than a key may be.
    return f"{kind}:{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()}"


__all__ = ["Finished", "Marks", "MoveRefused", "identity_of"]
