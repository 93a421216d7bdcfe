"""Imports memories and conversations into a memory.

``RawMemory`` reads and restores memories as they were exported. ``Intake`` remembers memories and conversations of other
products once. A file is the word of its author: its texts pass the gate, none is a user's own, none is pinned, and
its system messages are hidden from models, unless the caller trusts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, cast
from unicodedata import normalize

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput
from memwell.filters import id_begins_with
from memwell.language.claims import claims
from memwell.longterm.base import MemoryBase, MemoryVersion
from memwell.longterm.gate import STATES_FACTS, TRUSTS
from memwell.longterm.indexing import ALIAS
from memwell.longterm.journal import inner_key
from memwell.longterm.remembering import Remembered, Rememberer
from memwell.longterm.traits import FORGOTTEN, importance_of, own_metadata, traits_of, with_traits
from memwell.longterm.uses import all_uses, counted_record
from memwell.messages import Message, Role
from memwell.models.ports import TokenEmbedder
from memwell.records import Record, Thread, paged
from memwell.runtime.transfer.files import FileLike, ImportCounts, Imported, Piece, Progress, Reading, reading
from memwell.storage.protocols import Backend
from memwell.tokens import counted
from memwell.transcript.text import speaker
from memwell.values import TOO_DEEP, as_utc, check_text, check_type, shown

_PAGE = 500
_EMBEDDER = "embedder"


_LOOKALIKES = str.maketrans("ѕуетмԁѵораοντρεαꜱʏᴛᴇᴍᴅᴠʟᴏᴘʀυ053ӏіι1|iıɪ", "syetmdvopaovtpeasytemdvlopryosellllllll")
"""Letters and digits that are drawn like Latin letters; i, l and 1 are one letter, since a capital i looks like an l."""


def is_system_name(name: str) -> bool:
    """Whether a role or a name reads as the system's, in other letters, cases or widths too."""
    return _drawn(name) in _SYSTEM_NAMES


def _drawn(name: str) -> str:
    """How a name looks: two with the same result are hard to tell apart."""
    folded = normalize("NFKD", name[:100]).casefold().translate(_LOOKALIKES)
    return "".join(filter(str.isalnum, folded)).replace("rn", "m")


_SYSTEM_NAMES = frozenset(map(_drawn, ("system", "developer", "系统", "系統")))


def as_imported(message: Message, now: datetime) -> Message:
    """A message of a file or a table: one that a model would hear as the system is kept, and hidden from models.

    None has the name of the system, or a time in the future.
    """
    is_system = speaker(message) is Role.SYSTEM or is_system_name(message.chat_role or "")
    taken = message.changed(
        hidden=message.hidden or is_system,
        name=None if is_system_name(message.name or "") else message.name,
        time=min(message.time, now),
    )
    return counted(taken)


class RawMemory(MemoryBase):
    """The memories of a space as they are stored, of any status, for export and restore."""

    store: Backend
    """The store itself; ``backend`` is a read-only view with indexed memories when the store cannot be written."""

    @classmethod
    def of(cls, memory: MemoryBase) -> RawMemory:
        """The stored memories of a memory. It shares the memory's parts."""
        memory.catch_up()
        raw = cls.sharing(memory, memory.indexer.view)
        raw.store = memory.backend
        return raw

    def records(self) -> Iterator[Record]:
        """Every memory of any status with its uses, in the order in which they were stored."""
        uses = all_uses(self.backend.kv, self.space)
        return (counted_record(record, uses.get(record.id)) for record in self._all())

    def versions(self, record: Record) -> list[MemoryVersion]:
        """The earlier versions of a memory, oldest first."""
        # Looking for versions costs more than reading the memory, so only changed ones are looked up.
        return self._versions(record.id) if traits_of(record).version > 1 else []

    def aliases(self) -> Iterator[tuple[str, str]]:
        """The ids of repeated statements, each with the memory that stands for it."""
        kv, where = self.backend.kv, id_begins_with(ALIAS)
        for entry in paged(lambda cursor: kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor)):
            id_, memory = cast("list[str]", entry.value)
            yield id_, memory

    def value(self, key: str) -> Any:
        """The value that memwell keeps about the space under a key, or None."""
        entry = self.backend.kv.get(self._inner, key)
        return None if entry is None else entry.value

    def keep(self, key: str, value: Any) -> None:
        """Store a value about the space."""
        self.backend.kv.put(self._inner, key, value)

    @property
    def embedder_name(self) -> str | None:
        """The name of the embedder that made the vectors."""
        return self.value(_EMBEDDER) or (None if self.embedder is None else self.embedder.name)

    def adopt_embedder(self, name: str | None) -> bool:
        """Whether vectors of this embedder may be stored here; a space without an embedder adopts it.

        Not those of an embedder with token vectors, which files do not have: both are made again.
        """
        if isinstance(self.embedder, TokenEmbedder):
            return False
        if self.embedder_name is None and name is not None:
            self.keep(_EMBEDDER, name)
        return self.embedder_name == name

    def judged(self, record: Record) -> Record:
        """A memory of a file after the gate: a first version, unpinned, the word of a user only as ``imported``.

        It weighs no more than its text does, and none of its times is in the future. Raises ``InvalidInput`` when the gate
        refuses it.
        """
        traits, now = traits_of(record), self.clock()
        trust = "imported" if traits.trust == "user" or traits.trust not in TRUSTS else traits.trust
        verdict = self._gate.judge(record.text, speaker=traits.speaker, trust=trust)
        if not verdict.accepted:
            raise InvalidInput("; ".join(f"{one.code}: {one.detail}" for one in verdict.reasons))
        flags = tuple(dict.fromkeys((*traits.flags, *verdict.flags)))
        said = claims(verdict.text, speaker=traits.speaker, time=record.time)
        content = importance_of(verdict.text, claims=len(said))
        taken = replace(
            traits,
            speaker="" if is_system_name(traits.speaker) else traits.speaker,
            trust=trust,
            flags=flags,
            pinned=False,
            importance=content if traits.importance is None else min(traits.importance, content),
            content=content,
            uses=0,
            useful=min(traits.useful, 0),
            version=1,
            # Read from the text when it is asked for.
            stated=None,
            accessed=None,
            learned=min(traits.learned or now, now),
            changed=None if traits.changed is None else min(traits.changed, now),
        )
        return replace(
            record,
            text=verdict.text,
            time=min(record.time, now),
            metadata=with_traits(own_metadata(record), taken),
            vector=record.vector if verdict.text == record.text else None,
        )

    def restore(self, record: Record, versions: Sequence[MemoryVersion] = ()) -> bool:
        """Store a memory as it was, with its versions and its facts; whether that changed anything.

        A memory that is stored already is only replaced by a later version. Raises ``InvalidInput`` for a memory that
        breaks a rule; nothing of it is stored then.
        """
        with self.backend.transaction():
            here = self.backend.index.get(self.space, [record.id])
            if here and traits_of(here[0]).version >= traits_of(record).version:
                return False
            for version in versions:
                self._keep_version(version.record, version.until, version.reason)
            self._put(record)
            self._relearn(record, fresh=not here)
        return True

    def _relearn(self, record: Record, *, fresh: bool) -> None:
        """Register the text for duplicate detection, and learn its facts."""
        traits = traits_of(record)
        if not fresh:
            self.indexer.facts.withdraw([record.id], final=True)
        if traits.active and not traits.session and self.value(self.indexer.duplicate_key(record)) is None:
            self.keep(self.indexer.duplicate_key(record), record.id)
        if traits.trust in STATES_FACTS:
            found = claims(record.text, speaker=traits.speaker, time=record.time)
            self.indexer.learn(record, found)
        if traits.status == FORGOTTEN:
            self.indexer.facts.withdraw([record.id], at=traits.changed)

    def add_alias(self, id_: str, memory: str) -> bool:
        """Store the id of a repeated statement; whether it is new."""
        key = inner_key(ALIAS, id_)
        if self.value(key) is not None:
            return False
        self.keep(key, [id_, memory])
        return True

    def stored(self, id_: str) -> Record | None:
        """The memory of this id, of any status, or the one that stands for a repeated statement; None without one."""
        found = self.backend.index.get(self.space, [id_])
        return found[0] if found else next(iter(self.backend.index.get(self.space, [self.indexer.resolved(id_)])), None)

    def knows(self, id_: str) -> bool:
        """Whether a memory of this id was ever stored here, also if it is forgotten or a repeated statement."""
        return bool(self.backend.index.get(self.space, [id_])) or self.value(inner_key(ALIAS, id_)) is not None

    def done(self) -> None:
        """Notify the worker that vectors are pending."""
        self._notify(self.space)


_BATCH = 100
_BATCH_BYTES = 1 << 20


class Arrival(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A memory of another product."""

    id: str
    text: str
    time: datetime | None = None
    session: str = ""
    kind: str | None = None
    metadata: dict[str, Any] = {}
    trust: str = "user"
    expires: datetime | None = None


class Talk(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A conversation of another product."""

    id: str
    messages: Sequence[Message]
    metadata: dict[str, Any] = {}
    remember: bool = False


class Intake:
    """Imports memories and conversations into a memory. What was ever stored there stays as it is."""

    def __init__(self, memory: Rememberer, format_: str, *, strict: bool = False) -> None:
        self._memory = memory
        self._raw = RawMemory.of(memory)
        self._taken: set[str] = set()
        self._begun: set[str] = set()
        """The conversations that this import has begun or continues."""
        self.counts = ImportCounts(format_, strict=strict)

    def take_file(
        self,
        file: FileLike,
        pieces: Callable[[Reading], Iterator[Piece]],
        read: Callable[[Piece], Sequence[Arrival | Talk]],
        progress: Progress | None,
    ) -> Imported:
        """Import a file that is cut into ``pieces``, as ``take_all`` does. Raises ``FileError`` when it cannot be read."""
        with reading(file, progress) as source:
            return self.take_all(pieces(source), read)

    def take_all(self, pieces: Iterator[Piece], read: Callable[[Piece], Sequence[Arrival | Talk]]) -> Imported:
        """Import what ``read`` makes of each piece of a file; what it or the memory refuses is reported."""
        # A memory is known by its id once it is indexed.
        self._memory.catch_up()
        batch: list[tuple[int, Sequence[Arrival | Talk] | InvalidInput]] = []
        size = 0
        for piece in pieces:
            # Before a transaction begins: a piece may be read for long, and others wait for a transaction to end.
            try:
                batch.append((piece.number, InvalidInput(piece.wrong) if piece.wrong else read(piece)))
            except InvalidInput as error:
                batch.append((piece.number, error))
            except RecursionError:
                batch.append((piece.number, _too_deep()))
            size += len(piece.data)
            if len(batch) >= _BATCH or size >= _BATCH_BYTES:
                self._store(batch)
                batch, size = [], 0
        self._store(batch)
        self._raw.done()
        return self.counts.report()

    def _store(self, batch: Sequence[tuple[int, Sequence[Arrival | Talk] | InvalidInput]]) -> None:
        if not batch:
            return
        with self._memory.backend.transaction():
            for number, found in batch:
                try:
                    if isinstance(found, InvalidInput):
                        raise found
                    # Nested, so that a piece is imported whole or not at all.
                    with self._memory.backend.transaction(), self.counts.attempt():
                        for one in found:
                            take = self._take_talk if isinstance(one, Talk) else self._take_arrival
                            take(number, one)  # pyright: ignore[reportArgumentType]
                except (InvalidInput, Conflict) as error:
                    self.counts.problem(number, error)
                except RecursionError:
                    self.counts.problem(number, _too_deep())

    def _take_arrival(self, number: int, one: Arrival) -> None:
        if one.id in self._taken:
            self.counts.skip(number, f"the file has another item with the id {shown(one.id)}, or with the same words")
            return
        self._taken.add(one.id)
        if self._raw.knows(one.id):
            self.counts.add_known()
            return
        ttl = None if one.expires is None else (one.expires - self._memory.clock()).total_seconds()
        if ttl is not None and ttl <= 0:
            self.counts.skip(number, "it has expired")
            return
        now = self._memory.clock()
        if one.time is not None and one.time > now:
            self.counts.add_future()
        done = self._memory.remember(
            one.text,
            id=one.id,
            time=None if one.time is None else min(one.time, now),
            session=one.session,
            kind=one.kind,
            metadata=one.metadata,
            trust="imported" if one.trust == "user" else one.trust,
            ttl=ttl,
        )
        self._count(number, done)

    def _take_talk(self, number: int, talk: Talk) -> None:
        thread = Thread(self._memory.space, talk.id)
        log = self._memory.backend.log
        if len({one.id for one in talk.messages}) != len(talk.messages):
            raise InvalidInput(f"the conversation {shown(talk.id)} has two messages of one id")
        here = {one.id for one in log.read(thread, ids=[one.id for one in talk.messages])}
        begun = bool(log.threads(thread.space, ids=[thread.id]).items)
        # A message that was removed here is not imported again.
        here |= self._removed(thread, [one for one in talk.messages if one.id not in here]) if begun else set()
        if begun and not here and talk.messages and talk.id not in self._begun:
            self.counts.skip(number, f"the conversation {shown(talk.id)} is another one here, which stays")
            return
        self._begun.add(talk.id)
        now = self._memory.clock()
        fresh = [as_imported(one, now) for one in talk.messages if one.id not in here]
        self.counts.add_future(sum(one.time > now for one in talk.messages if one.id not in here))
        log.append(thread, fresh)
        if not begun:
            log.annotate(thread, metadata=talk.metadata)
            self.counts.add("threads")
        self.counts.add("messages", len(fresh))
        self.counts.add_known(len(here))
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
        worded = [one for one in fresh if one.for_model and one.text.strip() and not self._raw.knows(one.id)]
        done = self._memory.remember(worded, session=session, trust="imported")
        self._count(number, done)

    def _count(self, number: int, done: Remembered) -> None:
        self.counts.add("memories", len(done.ids))
        for refused in done.rejected:
            self.counts.skip(number, "; ".join(refused.reasons))


def _too_deep() -> InvalidInput:
    return InvalidInput(f"it is {TOO_DEEP}")


def derived_id(source: str, *parts: object) -> str:
    """An id derived from the content, for something without one."""
    digest = sha256(msgspec.json.encode([source, *map(str, parts)])).hexdigest()
    return f"{source}:{digest[:32]}"


def as_object(value: Any, what: str) -> dict[str, Any]:
    """A JSON object. Raises ``InvalidInput`` for anything else."""
    return cast("dict[str, Any]", check_type(value, dict, f"{what} must be an object"))


def as_list(value: Any, what: str) -> list[Any]:
    """A JSON list. Raises ``InvalidInput`` for anything else."""
    return cast("list[Any]", check_type(value, list, f"{what} must be a list"))


def as_text(value: Any, what: str) -> str:
    """A text that is not empty. Raises ``InvalidInput`` for anything else."""
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
