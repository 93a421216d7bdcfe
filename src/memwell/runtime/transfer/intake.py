"""Taking memories and conversations in: as an export of memwell had them, or as another product did.

``Shelf`` reads and restores memories as they are, past the gate, which judged them before. ``Intake`` remembers what comes
from other products, once, through the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput
from memwell.filters import id_begins_with
from memwell.language.claims import claims
from memwell.longterm.base import MemoryBase, MemoryVersion
from memwell.longterm.indexing import ALIAS
from memwell.longterm.journal import inner_key, pending_vector
from memwell.longterm.remembering import Rememberer
from memwell.longterm.traits import FORGOTTEN, own_metadata, traits_of, with_traits
from memwell.messages import Message
from memwell.records import Record, Thread, paged
from memwell.runtime.transfer.files import Imported, Piece, Tally
from memwell.storage.protocols import Backend, Entry
from memwell.values import as_utc, check_text, shown

_PAGE = 500
_EMBEDDER = "embedder"
_TRUSTED = ("user", "document")


class Shelf(MemoryBase):
    """What memories are taken from and put back on, whatever their status, past the gate: it judged them before."""

    store: Backend
    """Where all stands that is no memory: a store that cannot be written may be read through a copy of the memories."""

    @classmethod
    def of(cls, memory: MemoryBase) -> Shelf:
        """The shelf of a memory. It shares all that the memory holds."""
        memory.catch_up()
        shelf = cls.sharing(memory, memory.indexer.view)
        shelf.store = memory.backend
        return shelf

    def records(self) -> Iterator[Record]:
        """Every memory, whatever its status, in the order of storing."""
        return self._all()

    def versions(self, record: Record) -> list[MemoryVersion]:
        """What a memory was before, oldest first."""
        # Only what was changed has versions, and looking for them costs more than reading the memory.
        return self._versions(record.id) if traits_of(record).version > 1 else []

    def aliases(self) -> Iterator[tuple[str, str]]:
        """The ids of what was said again, each with the memory it was counted to."""
        for entry in self.entries(ALIAS):
            id_, memory = cast("list[str]", entry.value)
            yield id_, memory

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """What memwell keeps about the space under a prefix."""
        where = id_begins_with(prefix)
        return paged(lambda cursor: self.backend.kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor))

    def value(self, key: str) -> Any:
        """What memwell keeps about the space under a key, or None."""
        entry = self.backend.kv.get(self._inner, key)
        return None if entry is None else entry.value

    def keep(self, key: str, value: Any) -> None:
        """Keep something about the space."""
        self.backend.kv.put(self._inner, key, value)

    @property
    def embedder_name(self) -> str | None:
        """Whose vectors the memories carry."""
        return self.value(_EMBEDDER) or (None if self.embedder is None else self.embedder.name)

    def adopt_embedder(self, name: str | None) -> bool:
        """Whether vectors of this embedder may be stored here; the first to come say whose they are."""
        if self.embedder_name is None and name is not None:
            self.keep(_EMBEDDER, name)
        return self.embedder_name == name

    def restore(self, record: Record, versions: Sequence[MemoryVersion] = ()) -> bool:
        """Put a memory back as it was, with its versions and its facts; whether that changed anything.

        One that is here already stays, unless what comes is a later version of it. Raises ``InvalidInput`` for a memory
        that breaks a rule; nothing of it is stored then.
        """
        traits = traits_of(record)
        here = self.backend.index.get(self.space, [record.id])
        if here and traits_of(here[0]).version >= traits.version:
            return False
        with self.backend.transaction():
            for version in versions:
                self._keep_version(version.record, version.until, version.reason)
            self.backend.index.upsert([record])
            self._relearn(record, fresh=not here)
            if record.vector is None:
                self.indexer.journal.write([pending_vector(record.id)])
        return True

    def judged(self, record: Record) -> Record:
        """A memory with words that were changed, as the gate lets them in. Raises ``InvalidInput`` when it does not."""
        traits = traits_of(record)
        verdict = self._gate.judge(record.text, speaker=traits.speaker, trust=traits.trust)
        if not verdict.accepted:
            raise InvalidInput("; ".join(f"{one.code}: {one.detail}" for one in verdict.reasons))
        judged = replace(traits, flags=verdict.flags)
        return replace(record, text=verdict.text, metadata=with_traits(own_metadata(record), judged))

    def _relearn(self, record: Record, *, fresh: bool) -> None:
        """Know the text again when it is said again, and learn the facts in it."""
        traits = traits_of(record)
        if not fresh:
            self.indexer.facts.retract([record.id], final=True)
        if traits.active and not traits.session and self.value(self.indexer.duplicate_key(record)) is None:
            self.keep(self.indexer.duplicate_key(record), record.id)
        if traits.trust in _TRUSTED:
            found = claims(record.text, speaker=traits.speaker, time=record.time)
            self.indexer.facts.learn(found, record=record.id, learned_at=traits.learned or record.time)
        if traits.status == FORGOTTEN:
            self.indexer.facts.retract([record.id], at=traits.changed)

    def add_alias(self, id_: str, memory: str) -> bool:
        """Let something that was said again be found under its own id; whether that is new."""
        key = inner_key(ALIAS, id_)
        if self.value(key) is not None:
            return False
        self.keep(key, [id_, memory])
        return True

    def knows(self, id_: str) -> bool:
        """Whether a memory of this id was ever stored here, be it forgotten or counted to another that says the same."""
        return bool(self.backend.index.get(self.space, [id_])) or self.value(inner_key(ALIAS, id_)) is not None

    def done(self) -> None:
        """Notify the worker that vectors are pending."""
        self._notify(self.space)


_BATCH = 100


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as another system had it."""

    id: str
    text: str
    time: datetime | None = None
    session: str = ""
    kind: str | None = None
    metadata: dict[str, Any] = {}
    trust: str = "user"
    expires: datetime | None = None


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as another system had it."""

    id: str
    messages: Sequence[Message]
    metadata: dict[str, Any] = {}
    remember: bool = False


class Intake:
    """Takes what arrives into a memory. What is there already, or ever was, is left alone."""

    def __init__(self, memory: Rememberer, format_: str, *, strict: bool = False) -> None:
        self._memory = memory
        self._shelf = Shelf.of(memory)
        self._taken: set[str] = set()
        self.tally = Tally(format_, strict=strict)

    def take_all(self, pieces: Iterator[Piece], read: Callable[[Piece], Sequence[Arrival | Talk]]) -> Imported:
        """Take what ``read`` makes of each piece of a file; what it or the memory refuses is reported."""
        # What was remembered a moment ago is known by its id only once it is in the index.
        self._memory.catch_up()
        batch: list[Piece] = []
        for piece in pieces:
            batch.append(piece)
            if len(batch) >= _BATCH:
                self._take_batch(batch, read)
                batch = []
        self._take_batch(batch, read)
        self._shelf.done()
        return self.tally.report()

    def _take_batch(self, batch: Sequence[Piece], read: Callable[[Piece], Sequence[Arrival | Talk]]) -> None:
        if not batch:
            return
        with self._memory.backend.transaction():
            for piece in batch:
                try:
                    if piece.wrong:
                        raise InvalidInput(piece.wrong)
                    # Inside the other, so that a piece is taken as a whole or not at all.
                    with self._memory.backend.transaction(), self._counted():
                        for one in read(piece):
                            self._take(piece.number, one)
                except (InvalidInput, Conflict) as error:
                    self.tally.problem(piece.number, error)
                except RecursionError:
                    self.tally.problem(piece.number, "it is nested too deep")

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Count what was taken only once it is known to stay."""
        mark = self.tally.mark()
        try:
            yield
        except (InvalidInput, Conflict, RecursionError):
            self.tally.back_to(mark)
            raise

    def _take(self, number: int, one: Arrival | Talk) -> None:
        if isinstance(one, Talk):
            self._take_talk(number, one)
        else:
            self._take_arrival(number, one)

    def _take_arrival(self, number: int, one: Arrival) -> None:
        if one.id in self._taken:
            self.tally.skip(number, f"the file has another item with the id {shown(one.id)}, or with the same words")
            return
        self._taken.add(one.id)
        if self._shelf.knows(one.id):
            self.tally.knew()
            return
        ttl = None if one.expires is None else (one.expires - self._memory.clock()).total_seconds()
        if ttl is not None and ttl <= 0:
            self.tally.skip(number, "it has expired")
            return
        done = self._memory.remember(
            one.text,
            id=one.id,
            time=one.time,
            session=one.session,
            kind=one.kind,
            metadata=one.metadata,
            trust=one.trust,
            ttl=ttl,
        )
        self.tally.took("memories", len(done.ids))
        for refused in done.rejected:
            self.tally.skip(number, "; ".join(refused.reasons))

    def _take_talk(self, number: int, talk: Talk) -> None:
        thread = Thread(self._memory.space, talk.id)
        log = self._memory.backend.log
        _check_distinct(talk)
        here = {one.id for one in log.read(thread, ids=[one.id for one in talk.messages])}
        begun = bool(log.threads(thread.space, ids=[thread.id]).items)
        # One that was removed here must not come back, and its id is still taken.
        here |= self._removed(thread, [one for one in talk.messages if one.id not in here]) if begun else set()
        fresh = [one for one in talk.messages if one.id not in here]
        log.append(thread, fresh)
        if not begun:
            log.annotate(thread, metadata=talk.metadata)
            self.tally.took("threads")
        self.tally.took("messages", len(fresh))
        self.tally.knew(len(here))
        if talk.remember and fresh:
            self._remember_messages(number, talk.id, fresh)

    def _removed(self, thread: Thread, missing: Sequence[Message]) -> set[str]:
        if not missing:
            return set()
        log = self._memory.backend.log
        info = log.threads(thread.space, ids=[thread.id]).items[0]
        if info.messages == info.next - info.first:
            return set()
        live = {one.index for one in log.read(thread)}
        gaps = (index for index in range(info.first, info.next) if index not in live)
        held = (version.message for index in gaps for version in log.versions(thread, index))
        return {one.id for one in held if one is not None} & {one.id for one in missing}

    def _remember_messages(self, number: int, session: str, fresh: Sequence[Message]) -> None:
        worded = [one for one in fresh if one.text.strip() and not self._shelf.knows(one.id)]
        done = self._memory.remember(worded, session=session)
        self.tally.took("memories", len(done.ids))
        for refused in done.rejected:
            self.tally.skip(number, "; ".join(refused.reasons))


def _check_distinct(talk: Talk) -> None:
    if len({one.id for one in talk.messages}) != len(talk.messages):
        raise InvalidInput(f"the conversation {shown(talk.id)} has two messages of one id")


# Reading what others wrote


def derived_id(source: str, *parts: object) -> str:
    """An id for something that came without one: the same content has the same id whenever it comes."""
    digest = sha256(msgspec.json.encode([source, *map(str, parts)])).hexdigest()
    return f"{source}:{digest[:32]}"


def as_object(value: Any, what: str) -> dict[str, Any]:
    """A JSON object. Raises ``InvalidInput`` for anything else."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} must be an object, not {shown(value)}")
    return value  # pyright: ignore[reportUnknownVariableType] - JSON's keys are text


def as_list(value: Any, what: str) -> list[Any]:
    """A JSON list. Raises ``InvalidInput`` for anything else."""
    if not isinstance(value, list):
        raise InvalidInput(f"{what} must be a list, not {shown(value)}")
    return value  # pyright: ignore[reportUnknownVariableType] - anything may be in it


def as_text(value: Any, what: str) -> str:
    """A text that says something. Raises ``InvalidInput`` for anything else."""
    text = check_text(value, what)
    if not text.strip():
        raise InvalidInput(f"{what} must not be empty")
    return text


def as_moment(value: Any, what: str) -> datetime | None:
    """A time written as ISO 8601 or as seconds since 1970; None stays None. Raises ``InvalidInput`` for anything else."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            return as_utc(datetime.fromisoformat(value), what)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(f"{what} must be a time, not {shown(value)}")
