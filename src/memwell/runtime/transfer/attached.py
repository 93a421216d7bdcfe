"""Bytes and feature vectors in and out of an export: they go where what names them is, and nowhere else.

A store does not list its blobs, so one that nothing names would stay for ever. Nothing like that is written, and nothing
like that is taken in.
"""

from __future__ import annotations

from collections.abc import Iterator

from memwell.errors import InvalidInput, NotFound
from memwell.history.reading import blobs_beside, keep_blob
from memwell.history.writing import media_of
from memwell.longterm.traits import blobs_space, features_space, named_blobs, traits_of
from memwell.messages import Message
from memwell.records import Record, Space, Thread, pack_half
from memwell.runtime.transfer.lines import BlobLine, FeaturesLine, MessageLine, from_base64, in_base64, vector_of
from memwell.runtime.transfer.report import Tally
from memwell.runtime.transfer.shelf import Shelf
from memwell.runtime.transfer.threads import infos, thread_lines
from memwell.storage.protocols import ThreadInfo

PIECE = 48 * 1024 * 1024
"""So many bytes go into one line, which is half of what a line may be long when they are written as text."""

_MOST_BYTES = 512 * 1024 * 1024


def attached_lines(shelf: Shelf, *, blobs: bool) -> Iterator[BlobLine | FeaturesLine]:
    """The feature vectors of memories and, with ``blobs``, their bytes, each once."""
    seen: set[str] = set()
    for record in shelf.records():
        if dimensions := traits_of(record).features:
            for one in shelf.store.index.get(features_space(shelf.space, dimensions), [record.id]):
                if one.vector is not None:
                    yield FeaturesLine(memory=record.id, vector=in_base64(pack_half(one.vector)))
        if blobs:
            named = named_blobs([record, *(version.record for version in shelf.versions(record))])
            for digest in sorted(named - seen):
                yield from _blob_line(shelf, blobs_space(shelf.space), digest, memories=True)
            seen |= named


def space_blob_lines(shelf: Shelf) -> Iterator[BlobLine]:
    """The blobs of the space itself that messages name, each once."""
    seen: set[str] = set()
    for info in infos(shelf):
        for digest in _named_by_thread(shelf, info):
            if digest not in seen:
                seen.add(digest)
                yield from _blob_line(shelf, shelf.space, digest)


def thread_blob_lines(shelf: Shelf, info: ThreadInfo) -> Iterator[BlobLine]:
    """The blobs beside a conversation that its messages name, each once."""
    for digest in dict.fromkeys(_named_by_thread(shelf, info)):
        yield from _blob_line(shelf, blobs_beside(info.thread), digest, thread=info.thread.id)


def _named_by_thread(shelf: Shelf, info: ThreadInfo) -> Iterator[str]:
    for line in thread_lines(shelf, info):
        if isinstance(line, MessageLine):
            messages: list[Message | None] = [line.message, *(held.message for held in line.versions)]
            yield from (one.blob for one in media_of(messages) if one.blob is not None)


def _blob_line(
    shelf: Shelf, space: Space, digest: str, *, memories: bool = False, thread: str | None = None
) -> Iterator[BlobLine]:
    try:
        data = memoryview(shelf.backend.blobs.get(space, digest))
    except (NotFound, InvalidInput):
        # A message may name what was never stored, or is no digest at all. It goes out as it is.
        return
    for start in range(0, max(1, len(data)), PIECE):
        piece, more = in_base64(data[start : start + PIECE]), start + PIECE < len(data)
        yield BlobLine(digest=digest, data=piece, more=more, memories=memories, thread=thread)


class Attacher:
    """Puts bytes and feature vectors back beside what names them."""

    def __init__(self, shelf: Shelf, tally: Tally) -> None:
        self._shelf = shelf
        self._backend = shelf.backend
        self._tally = tally
        self._expected: set[str] = set()
        self._begun = bytearray()

    def expect(self, record: Record) -> None:
        """Let the bytes in that the memory of this id, as it is here now, names or named."""
        if traits_of(record).details or traits_of(record).blobs:
            here = self._backend.index.get(self._shelf.space, [record.id])
            versions = (version.record for one in here for version in self._shelf.versions(one))
            self._expected |= named_blobs([*here, *versions])

    def take_blob(self, line: BlobLine) -> None:
        """Store bytes, once the last of them are there. Raises ``InvalidInput`` when they have another digest, or nothing
        here names them.
        """
        self._begun += from_base64(line.data, "a blob")
        if line.more and len(self._begun) <= _MOST_BYTES:
            return
        data = bytes(self._begun)
        self._begun.clear()
        thread = None if line.thread is None else Thread(self._shelf.space, line.thread)
        space = self._space(line, thread)
        try:
            self._backend.blobs.get(space, line.digest)
        except NotFound:
            with self._backend.transaction():
                put = self._backend.blobs.put(space, data) if thread is None else keep_blob(self._backend, thread, data)
                if put != line.digest:
                    raise InvalidInput(f"a blob's bytes do not have the digest {line.digest!r}") from None
            self._tally.took("blobs")
        else:
            self._tally.knew()

    def _space(self, line: BlobLine, thread: Thread | None) -> Space:
        if thread is not None:
            if not self._backend.log.threads(thread.space, ids=[thread.id]).items:
                raise InvalidInput(f"a blob belongs to the conversation {thread.id!r}, which is not here")
            return blobs_beside(thread)
        if not line.memories:
            return self._shelf.space
        if line.digest not in self._expected:
            raise InvalidInput(f"no memory of the file names the blob {line.digest!r}")
        return blobs_space(self._shelf.space)

    def take_features(self, line: FeaturesLine) -> None:
        """Store the vector of a memory's features. Raises ``InvalidInput`` unless the memory is here and has such a one."""
        vector = vector_of(line.vector)
        found = self._backend.index.get(self._shelf.space, [line.memory])
        if vector is None or not found or traits_of(found[0]).features != len(vector):
            raise InvalidInput(f"there is no memory {line.memory!r} with features of {len(vector or ())} numbers")
        space = features_space(self._shelf.space, len(vector))
        if self._backend.index.get(space, [line.memory]):
            return
        session = traits_of(found[0]).session
        beside = {"session": session} if session else {}
        kind = found[0].kind
        self._backend.index.upsert(
            [Record(text="", space=space, id=line.memory, kind=kind, metadata=beside, vector=vector)]
        )


__all__ = ["Attacher", "attached_lines", "space_blob_lines", "thread_blob_lines"]
