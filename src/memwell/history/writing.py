"""``History``: writes one conversation: adds to it, changes it, trims it, copies it. ``MessageMarks``: marks messages."""

from __future__ import annotations

import contextlib
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import Conflict, InvalidInput, NotFound, Unsupported
from memwell.filters import id_begins_with
from memwell.history.media import DEFAULT_LIMITS, MediaLimits, check_media
from memwell.history.reading import CHUNK, HistoryReader, Target, keep_blob, key_part, thread_blobs, thread_keys
from memwell.messages import (
    Audio,
    Content,
    Image,
    Media,
    Message,
    Part,
    Role,
    ToolCall,
    ToolResult,
    Video,
    ai,
    check_message,
    human,
    system,
    tool_result,
)
from memwell.records import Space, paged
from memwell.stages import stage
from memwell.storage.protocols import Backend, Place, ThreadInfo
from memwell.tokens import counted
from memwell.values import check_count, check_metadata, check_type, new_id, now, shown
from memwell.windows import Round, kept_from

# Adding messages of each role, written once over ``add`` for local and remote conversations.


class Adding(ABC):
    """The methods that add one kind of message, for any class that has ``add``."""

    @abstractmethod
    @stage("store")
    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their indexes."""

    def add_human(self, content: Content, **fields: Any) -> Message:
        """Store a person's message; it starts the next round."""
        return self.add(human(content, **fields))[0]

    def add_ai(self, content: Content = (), *, tool_calls: tuple[ToolCall, ...] = (), **fields: Any) -> Message:
        """Store a model's message and its tool calls."""
        return self.add(ai(content, tool_calls=tool_calls, **fields))[0]

    def add_system(self, content: Content, **fields: Any) -> Message:
        """Store an instruction."""
        return self.add(system(content, **fields))[0]

    def add_tool_call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> ToolCall:
        """Store a model's call of one tool, and return the call; its ``id`` is what the result must refer to."""
        given = check_metadata({} if arguments is None else arguments, "a tool call's arguments")
        call = ToolCall(new_id() if call_id is None else call_id, name, given)
        self.add(ai((), tool_calls=(call,)))
        return call

    def add_tool_result(self, call_id: str, content: Content = (), *, is_error: bool = False, **fields: Any) -> Message:
        """Store the result of the tool call ``call_id``."""
        return self.add(tool_result(call_id, content, is_error=is_error, **fields))[0]

    aadd_human = asyncify(add_human)
    aadd_ai = asyncify(add_ai)
    aadd_system = asyncify(add_system)
    aadd_tool_call = asyncify(add_tool_call)
    aadd_tool_result = asyncify(add_tool_result)


# Copying conversations, with indexes, ids, times and earlier versions.


def transaction_of(history: HistoryReader) -> AbstractContextManager[None]:
    """A transaction of the conversation's store, where it has them."""
    return history.backend.together() if history.backend is not None else contextlib.nullcontext()


def copy_conversation(source: HistoryReader, target: HistoryReader, last: Message | None, *, versions: bool) -> int:
    """Copy the messages up to ``last`` (default: all) and the metadata. Returns how many messages were copied.

    Raises ``Conflict`` when the target exists. On any error the target is left as it was.
    """
    check_type(target, HistoryReader, "a conversation is copied to a History")
    with transaction_of(target):
        if target.info() is not None:
            raise Conflict(f"conversation {target.thread.id!r} has already begun: copy to one that does not exist yet")
        info = source.info()
        if info is None:
            return 0
        try:
            return _copy(source, target, info, last, versions=versions)
        except BaseException:
            # Without a transaction that undoes it, what was copied is deleted here.
            target.log.delete(target.thread)
            raise


def _copy(
    source: HistoryReader, target: HistoryReader, info: ThreadInfo, last: Message | None, *, versions: bool
) -> int:
    listing = replace(info, thread=target.thread)
    if not versions:
        listing = replace(listing, created=now(), edits=0)
    if last is not None:
        listing = replace(listing, next=(last.index or 0) + 1, rounds=last.round or 0, ended_round=None)
    copied = 0
    places: Sequence[Place] | None = None
    # The last call, which has no places, stores the listing of a conversation without messages.
    while places is None or places:
        after = places[-1].index if places else None
        found = source.log.places(source.thread, after=after, limit=CHUNK)
        places = [place for place in found if place.index < listing.next]
        live = [place for place in places if place.message is not None]
        copied += len(live)
        kept = places if versions else [replace(place, versions=[]) for place in live]
        held = [(place.message, *(version.message for version in place.versions)) for place in kept]
        _copy_blobs(source, target, (one for each in held for one in each))
        target.log.restore(listing, kept)
    return copied


def _copy_blobs(source: HistoryReader, target: HistoryReader, messages: Iterable[Message | None]) -> None:
    """Copy the blobs that messages name; digests that this store does not hold are skipped."""
    blobs = None if source.backend is None else source.backend.blobs
    named = {one.blob for one in media_of(messages) if one.blob is not None}
    for digest in sorted(named):
        if blobs is None:
            return
        try:
            data = blobs.get(thread_blobs(source.thread), digest)
        except (NotFound, InvalidInput):
            # A message may name a blob of another store, or an invalid digest.
            continue
        if target.backend is None:
            raise Unsupported("a log alone keeps no bytes of media; copy the conversation to a store")
        keep_blob(target.backend, target.thread, data)


def media_of(messages: Iterable[Message | None]) -> Iterator[Media]:
    """All media of messages, also those inside tool results."""
    for message in messages:
        for part in message.parts if message else ():
            for one in part.content if isinstance(part, ToolResult) else (part,):
                if isinstance(one, Media):
                    yield one


# The media of a conversation: checked, stored as blobs of the conversation, and deleted with it.

P = TypeVar("P", bound=Part)

_KINDS = {Image: "image", Audio: "audio", Video: "video"}


def _checked(part: P, limits: MediaLimits) -> P:
    """A part with checked bytes and their detected type."""
    if isinstance(part, ToolResult):
        return replace(part, content=tuple(_checked(one, limits) for one in part.content))
    if isinstance(part, Image | Audio | Video) and part.data is not None:
        found = check_media(part.data, kind=_KINDS[type(part)], media_type=part.media_type, limits=limits)
        return replace(part, media_type=found.media_type)
    return part


class History(HistoryReader, Adding):
    """One conversation: read it, add to it, change it, trim it, copy it.

    ``History.open("chat.db", "trip")`` opens a file; ``History(backend, "trip", space=…)`` uses an open store.
    """

    # Adding

    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their indexes. They are on disk when it returns.

        Raises ``InvalidInput`` for an invalid message and ``Conflict`` for an id that exists already.
        """
        return self.log.append(self.thread, [_counted(one) for one in messages])

    # Media, stored as blobs so that messages stay small

    def with_blobs(self, message: Message, *, limits: MediaLimits | None = None) -> Message:
        """Store the bytes of a message's media as blobs, and return the message to add.

        The bytes are on disk when it returns; in one ``transaction`` with ``add``, both are stored or neither. A message
        without bytes is returned as it is. Raises ``InvalidInput`` for bytes that contradict their part or exceed the
        limits, and then stores nothing; ``Unsupported`` for a log without a store.
        """
        if not any(one.data is not None for one in media_of([check_message(message)])):
            return message
        backend = self._store()
        # Check all parts before the first is stored.
        parts = tuple(_checked(part, limits or DEFAULT_LIMITS) for part in message.parts)
        with transaction_of(self):
            return message.changed(parts=tuple(self._stored(backend, part) for part in parts))

    def data_of(self, part: Media) -> bytes:
        """The bytes of a part: its own, or its blob of the conversation or the space.

        Raises ``InvalidInput`` for a part with a URL only, which is not fetched, and for anything but a medium;
        ``NotFound`` when the blob is missing.
        """
        data = check_type(part, Media, "only an Image, Audio or Video has bytes").data
        if data is not None:
            return data
        if part.blob is None:
            raise InvalidInput(f"the part is given by the address {shown(part.url)}, and nothing is fetched here")
        blobs = self._store().blobs
        try:
            return blobs.get(thread_blobs(self.thread), part.blob)
        except NotFound:
            return blobs.get(self.thread.space, part.blob)

    def _store(self) -> Backend:
        if self.backend is None:
            raise Unsupported("a log alone keeps no bytes of media; open the conversation on a store")
        return self.backend

    def _stored(self, backend: Backend, part: P) -> P:
        """The part with its bytes stored as a blob."""
        if isinstance(part, ToolResult):
            return replace(part, content=tuple(self._stored(backend, one) for one in part.content))
        if isinstance(part, Media) and part.data is not None:
            return replace(part, data=None, blob=keep_blob(backend, self.thread, part.data))
        return part

    # Rounds

    def end_round(self) -> None:
        """End the current round: the next message starts a new one."""
        self.log.annotate(self.thread, end_round=True)

    def start_round(self) -> int:
        """End the current round, if any, and return the number of the round that the next message starts."""
        return self.log.annotate(self.thread, end_round=True).rounds + 1

    def trim(self, *, rounds: int | None = None, tokens: int | None = None) -> int:
        """Delete the oldest rounds, keeping the last ``rounds`` or those that fit ``tokens``. Returns how many messages
        were deleted.

        Rounds are deleted whole. System messages before the first round stay and count. The latest round stays unless the
        limit is 0, and a round stays if a kept round has results of its tool calls. Raises ``InvalidInput`` unless exactly
        one limit is given.
        """
        if (rounds is None) == (tokens is None):
            raise InvalidInput("trim takes either 'rounds' or 'tokens'")
        limit = check_count(tokens if rounds is None else rounds, "the limit")
        info = self.info()
        if info is None:
            return 0
        spared = self._preamble()
        if limit == 0:
            cut = info.next
        elif rounds is not None:
            cut = kept_from(self._rounds_backwards(), limit, lambda round_: min(round_.number, 1))
        else:
            cut = kept_from(self._rounds_backwards(), limit - self._size(spared), self._size_to_drop)
        return self.log.trim(self.thread, cut, keep=[message.index or 0 for message in spared])

    def _size(self, messages: Iterable[Message]) -> int:
        return sum(map(self.counter.count_message, messages))

    def _size_to_drop(self, round_: Round) -> int:
        return self._size(one for one in round_.messages if round_.number or one.role is not Role.SYSTEM)

    # Changing

    def edit(self, target: Target, change: Content | Message) -> Message:
        """Replace a message or its content; the old one is kept among its versions.

        New content keeps a message's tool calls and the call of a tool result; a new message replaces everything. Raises
        ``NotFound``.
        """
        with transaction_of(self):
            place = self._place(target)
            new = change if isinstance(change, Message) else self.get(place).rewritten(change)
            stored = self.log.edit(self.thread, {place: _counted(new)})[0]
        assert stored is not None
        return stored

    def remove(self, *targets: Target) -> None:
        """Remove messages, all or none; ``restore`` restores one from its versions.

        Raises ``NotFound``.
        """
        self.log.edit(self.thread, {self._place(target): None for target in targets})

    def restore(self, target: int | Message) -> Message:
        """Restore the last earlier version at an index. Raises ``NotFound`` when it was never changed."""
        with transaction_of(self):
            place = self._place(target)
            held = [version.message for version in self.versions(place) if version.message is not None]
            if not held:
                raise NotFound(f"nothing was ever changed at index {place} of conversation {self.thread.id!r}")
            return self.edit(place, held[-1])

    def set_metadata(self, **values: Any) -> dict[str, Any]:
        """Set keys of the conversation's metadata (None deletes one), and return all of it."""
        with transaction_of(self):
            merged = {key: value for key, value in {**self.metadata(), **values}.items() if value is not None}
            return self.log.annotate(self.thread, metadata=merged).metadata

    def delete(self) -> bool:
        """Delete the conversation and everything derived from it, for good. Returns whether it existed."""
        if self.backend is None:
            return self.log.delete(self.thread)
        space, prefix = thread_keys(self.thread)
        with transaction_of(self):
            self._drop_kept(self.backend, space, prefix)
            self._drop_kept(self.backend, thread_blobs(self.thread), "")
            return self.log.delete(self.thread)

    def _drop_kept(self, backend: Backend, space: Space, prefix: str) -> None:
        """Delete the conversation's own keys with a prefix, and the blobs that they name."""
        where = id_begins_with(prefix)
        for entry in list(paged(lambda cursor: backend.kv.scan(space, where=where, cursor=cursor))):
            value: object = entry.value
            if isinstance(value, dict) and "blob" in value:
                backend.blobs.delete(thread_blobs(self.thread), cast("dict[str, Any]", value)["blob"])
            backend.kv.delete(space, entry.key)

    # Copies

    def fork(self, thread: str, *, upto: Target | None = None) -> History:
        """A new conversation with a copy of this one's messages up to and including ``upto``.

        Indexes, ids and times are the same. Raises ``Conflict`` when a conversation of that name exists and ``NotFound``
        when there is no message ``upto``.
        """
        last = None if upto is None else self.get(upto)
        other = History(self.backend or self.log, thread, space=self.thread.space, counter=self.counter)
        with transaction_of(other):
            copy_conversation(self, other, last, versions=False)
            other.set_metadata(forked_from={"thread": self.thread.id, "index": None if last is None else last.index})
        return other

    def copy_to(self, other: History) -> int:
        """Copy everything, earlier versions too, into an empty conversation of this or another store.

        Returns how many messages it has. Raises ``Conflict`` when ``other`` is not empty; on any error ``other`` is left as
        it was.
        """
        return copy_conversation(self, other, None, versions=True)

    aadd = asyncify(add)
    awith_blobs = asyncify(with_blobs)
    adata_of = asyncify(data_of)
    aend_round = asyncify(end_round)
    astart_round = asyncify(start_round)
    atrim = asyncify(trim)
    aedit = asyncify(edit)
    aremove = asyncify(remove)
    arestore = asyncify(restore)
    aset_metadata = asyncify(set_metadata)
    adelete = asyncify(delete)
    afork = asyncify(fork)
    acopy_to = asyncify(copy_to)


def _counted(value: Message) -> Message:
    try:
        return counted(value)
    except AttributeError:
        # check_message() raises an error that says what is wrong.
        check_message(value)
        raise


# Marks on the messages of a conversation: named sets of places, kept in the same store. A set of places is a whole number
# with one bit a place. It is stored in blocks of some thousand bits, so that marking ten thousand messages writes a few
# values, and reading by mark reads no other message. The messages stay as they are: with marks in their metadata, every
# mark set or removed would be another version of a message.

_BLOCK = 4096
_ONES = re.compile("1+")
# Reading over this many unwanted messages costs about as much as another call of the store.
_GAP = 16


class MessageMarks:
    """The marks of one conversation. Every change is a compare-and-set; changes that belong together need a transaction."""

    def __init__(self, history: History) -> None:
        self._kv = cast(Backend, history.backend).kv
        self._space, prefix = thread_keys(history.thread)
        self._prefix = f"{prefix}agentscope/mark/"

    def places(self, mark: str, info: ThreadInfo) -> int:
        """The places that have this mark; the message of a place may have been removed since."""
        blocks = range(info.first // _BLOCK, info.next // _BLOCK + 1)
        found = ((block, self._kv.get(self._space, self._key(mark, block))) for block in blocks)
        return sum(_bits(entry.value) << block * _BLOCK for block, entry in found if entry is not None)

    def all(self) -> dict[str, int]:
        """Every mark with its places, in the order in which the marks were first used."""
        where = id_begins_with(self._prefix)
        found: dict[str, int] = {}
        since: dict[str, int] = {}
        for entry in paged(lambda cursor: self._kv.scan(self._space, where=where, limit=500, cursor=cursor)):
            fields = cast("dict[str, Any]", entry.value)
            name = fields["mark"]
            found[name] = found.get(name, 0) | _bits(fields) << fields["block"] * _BLOCK
            since[name] = min(since.get(name, fields["since"]), fields["since"])
        return {name: found[name] for name in sorted(found, key=since.__getitem__)}

    def add(self, mark: str, places: int) -> None:
        """Put the mark on these places."""
        for block, bits in _blocks(places):
            self._change(mark, block, bits, 0)

    def remove(self, mark: str, places: int) -> None:
        """Take the mark off these places."""
        for block, bits in _blocks(places):
            self._change(mark, block, 0, bits)

    def _change(self, mark: str, block: int, more: int, less: int) -> None:
        key = self._key(mark, block)
        while True:
            entry = self._kv.get(self._space, key)
            blank: dict[str, Any] = {"mark": mark, "block": block, "bits": "0", "since": time.time_ns()}
            held = blank if entry is None else cast("dict[str, Any]", entry.value)
            old = _bits(held)
            new = (old | more) & ~less
            try:
                if new and new != old:
                    expect = 0 if entry is None else entry.version
                    self._kv.put(self._space, key, {**held, "bits": f"{new:x}"}, expect=expect)
                elif old and not new and entry is not None:
                    self._kv.delete(self._space, key, expect=entry.version)
            except Conflict:
                # Another writer changed the block since it was read.
                continue
            return

    def _key(self, mark: str, block: int) -> str:
        return f"{self._prefix}{key_part(mark)}/{block:012d}"


def _bits(value: object) -> int:
    return int(cast("dict[str, str]", value)["bits"], 16)


def _blocks(places: int) -> Iterator[tuple[int, int]]:
    """The blocks that are not empty, each with its bits."""
    for block in range(places.bit_length() // _BLOCK + 1):
        if bits := places >> block * _BLOCK & (1 << _BLOCK) - 1:
            yield block, bits


def places_at(indexes: Iterable[int]) -> int:
    """The set of these places."""
    places = 0
    for index in indexes:
        places |= 1 << index
    return places


def every_place(info: ThreadInfo) -> int:
    """The set of all places of a conversation."""
    return (1 << info.next) - (1 << info.first)


def stretches(places: int) -> Iterator[tuple[int, int]]:
    """The ranges to read for these places: start and end (excluded), in order, small gaps included."""
    begun: tuple[int, int] | None = None
    # Mostly the latest messages are wanted, so the zeros before them are not searched.
    first = (places & -places).bit_length() - 1 if places else 0
    for run in _ONES.finditer(f"{places >> first:b}"[::-1]):
        start, end = first + run.start(), first + run.end()
        if begun is not None and start - begun[1] <= _GAP:
            begun = (begun[0], end)
            continue
        if begun is not None:
            yield begun
        begun = (start, end)
    if begun is not None:
        yield begun
