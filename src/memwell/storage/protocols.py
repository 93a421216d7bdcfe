"""The storage protocols: what every store does, and what a store may declare to do. Everything above uses them alone.

Each class is a contract. Its methods block; each has an async twin of the same name with an ``a`` in front, derived here
for all backends. Every read and write names its space. Any method of an open backend may raise ``BackendError`` (the
store failed, nothing of the call was stored) or ``BackendUnavailable`` (it stayed busy or cannot be reached), and after
``close`` every method raises ``BackendError``; what else a method raises, it says.

Every backend keeps conversations (``log``) and values (``kv``). What it does beyond that, ``Backend.abilities`` declares;
the methods of an ability that a backend does not have raise ``Unsupported``.

A call that has returned is durable, as far as the backend says it is. A call that raised has changed nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

import msgspec

from memwell._asyncify import AsyncContext, Closing, asyncify
from memwell.errors import SecretRefused, Unsupported
from memwell.filters import FilterLike
from memwell.messages import Message, forget_decoded
from memwell.records import Hit, Page, Record, Space, Thread, Vector, paged

T = TypeVar("T")

ABILITIES: Final[frozenset[str]] = frozenset({"records", "blobs", "transactions", "copies", "seal"})
"""What a backend may do beyond conversations and values.

``records`` and ``blobs``: the parts of these names. ``transactions``: ``Backend.transaction`` covers all parts. ``copies``:
``MessageLog.places``, ``MessageLog.restore`` and ``KeyValue.restore``. ``seal``: ``Backend.seal``.
"""

_INSTEAD = (
    "open one that can, sqlite:memwell.db or postgresql://…, which may keep its conversations in Redis: "
    "postgresql://…,log=redis://…"
)


def unsupported(ability: str) -> Unsupported:
    """The error for an ability that a store does not have."""
    does = {
        "records": "keeps no records and cannot remember, recall or hold documents",
        "blobs": "keeps no blobs",
        "transactions": "has no transactions",
        "copies": "cannot be copied",
        "seal": "cannot be sealed",
    }
    return Unsupported(f"this store {does[ability]}; {_INSTEAD}")


def _lacking(part: type[T], ability: str) -> T:
    """A part whose every method raises ``Unsupported``."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise unsupported(ability)

    methods: frozenset[str] = getattr(part, "__abstractmethods__")  # noqa: B009 - known to classes alone
    return cast(T, type(f"No{part.__name__}", (part,), dict.fromkeys(methods, refuse))())


class ThreadInfo(msgspec.Struct, frozen=True):
    """A thread without its messages.

    ``first`` and ``next`` bound the indexes in use: the oldest that may still be there and the one the next message gets.
    ``tokens`` adds up the counts its messages carry. ``ended_round`` is the last round that was closed by hand, or None.
    ``edits`` grows whenever messages are changed, removed, restored or trimmed away, by one for each place edited and for
    each trim: with the same ``created``, ``next`` and ``edits``, whatever was read before still stands.
    """

    thread: Thread
    first: int
    next: int
    messages: int
    tokens: int
    rounds: int
    created: datetime
    updated: datetime
    metadata: dict[str, Any]
    ended_round: int | None = None
    edits: int = 0


class Version(msgspec.Struct, frozen=True):
    """What a place held until ``replaced``; ``message`` is None while it was removed."""

    message: Message | None
    replaced: datetime


class Place(msgspec.Struct, frozen=True):
    """One place of a thread with all its versions; ``message`` is None where it was removed."""

    index: int
    round: int
    id: str
    message: Message | None
    versions: list[Version] = []


class MessageLog(ABC):
    """Conversations: threads of messages in order.

    A message gets the next ``index`` of its thread (from 0, never used twice) and a ``round``: a human message opens the
    next round, and so does any message after a round was ended; what comes before the first round is round 0.
    """

    @abstractmethod
    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        """Store messages at the end of a thread, all or none, and return them as stored.

        Each gets a new index and round; with ``keep_places`` (for copies) it keeps those it carries.
        Raises ``InvalidInput`` for a message that breaks a rule, and ``Conflict`` for an id that is in the thread already
        or for kept places that do not follow the thread's last.
        """

    @abstractmethod
    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        """The messages with an index above ``after`` and below ``before``, in order.

        ``last`` keeps that many from the end, ``first`` from the beginning; ``ids`` keeps those of these ids. A thread
        that does not exist has no messages.
        """

    @abstractmethod
    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        """Replace stored messages, or remove them with None; all or none.

        The new message takes the place's index, round and id. The old one is kept as a version. Returns what the places
        hold now. Raises ``NotFound`` for an index that holds nothing and never did, or was trimmed away.
        """

    @abstractmethod
    def versions(self, thread: Thread, index: int) -> list[Version]:
        """What the place held before, oldest first; empty when it was never changed."""

    @abstractmethod
    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        """Drop all messages with an index below ``before``, except those in ``keep``, with their versions, for good.

        Returns how many were dropped.
        """

    @abstractmethod
    def delete(self, thread: Thread) -> bool:
        """Drop the thread with all it holds, for good. Returns whether there was one."""

    @abstractmethod
    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        """Set a thread's metadata (as a whole) or close its latest round, making the thread if need be.

        Raises ``InvalidInput`` for metadata that is not plain JSON data.
        """

    @abstractmethod
    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        """The threads of exactly this space, by id; ``ids`` keeps those named."""

    @abstractmethod
    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        """The messages of the thread that share a word with ``text``, best first, with their BM25 score.

        Ties are broken by index, the newest first. Any text is safe to search for.
        """

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        """The places with an index above ``after``, in order, with what they hold and held: what a copy is made of."""
        raise unsupported("copies")

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        """Put copied places behind those of the thread ``info.thread``, and take over all else that ``info`` says.

        The places keep their indexes, rounds, ids and versions; they are given in order. Made so, piece by piece with the
        same ``info``, a thread is the same as the one it was copied from. Raises ``Conflict`` when a place does not
        follow the thread's last, or its id is in the thread already.
        """
        raise unsupported("copies")

    aappend = asyncify(append)
    aread = asyncify(read)
    aedit = asyncify(edit)
    aversions = asyncify(versions)
    atrim = asyncify(trim)
    adelete = asyncify(delete)
    aannotate = asyncify(annotate)
    athreads = asyncify(threads)
    amatch = asyncify(match)
    aplaces = asyncify(places)
    arestore = asyncify(restore)


JSONValue: TypeAlias = Any
"""Plain JSON data: None, booleans, numbers, text, lists and dicts of them."""


class Entry(msgspec.Struct, frozen=True):
    """A stored value. ``version`` changes with every put and is never used twice for a key."""

    key: str
    value: JSONValue | bytes
    version: int
    expires: datetime | None = None


class KeyValue(ABC):
    """Values by key: plain JSON data or bytes, with a time to live and compare-and-set."""

    @abstractmethod
    def get(self, space: Space, key: str) -> Entry | None:
        """The value of a key, or None when there is none or it has expired."""

    def get_many(self, space: Space, keys: Sequence[str]) -> dict[str, Entry]:
        """The values of several keys, in one query where the store can; keys without a value are left out."""
        return {key: found for key in keys if (found := self.get(space, key)) is not None}

    @abstractmethod
    def put(
        self, space: Space, key: str, value: JSONValue | bytes, *, ttl: float | None = None, expect: int | None = None
    ) -> Entry:
        """Store a value, for ``ttl`` seconds when given, and return it as stored.

        With ``expect`` it is stored only if the key is at that version now; 0 means the key must not exist. Raises
        ``Conflict`` when it is not, ``InvalidInput`` for a value that is neither plain JSON data nor bytes.
        """

    def put_many(self, space: Space, values: Mapping[str, JSONValue | bytes]) -> None:
        """Store several values, all or none and in one statement where the store can.

        Raises ``InvalidInput`` for a value that is neither plain JSON data nor bytes, and then stores nothing.
        """
        for key, value in values.items():
            self.put(space, key, value)

    @abstractmethod
    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        """Drop a key. Returns whether there was one; raises ``Conflict`` when it is not at the expected version."""

    @abstractmethod
    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        """The live entries of the space in the order of their keys (by code point), those that satisfy ``where``.

        Fields of the filter are keys of values that are JSON objects; bytes and other values have no fields, but ``@id``
        is the key. ``skip`` leaves out that many of those behind the cursor; a store still looks at each of them, so a
        long list is better read on with the cursor.
        """

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        """How many live entries of the space satisfy ``where``."""
        return sum(1 for _ in paged(lambda cursor: self.scan(space, where=where, limit=1000, cursor=cursor)))

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        """Store copied entries as they are, with their versions and the moments they end; all or none."""
        raise unsupported("copies")

    aget = asyncify(get)
    aget_many = asyncify(get_many)
    aput = asyncify(put)
    aput_many = asyncify(put_many)
    adelete = asyncify(delete)
    ascan = asyncify(scan)
    acount = asyncify(count)
    arestore = asyncify(restore)


TOKEN_BITS: Final = 27


def state_of(change: int, token: int = 0) -> int:
    """The state of a space after a number of changes, the last of which has this token.

    A store that can lose changes, by a failover or a restored copy, gives every change a token that another change of the
    same number hardly has. So a state of the lost history is not mistaken for one of the present.
    """
    return change << TOKEN_BITS | token


def split_state(state: int) -> tuple[int, int]:
    """The number of changes in a state, and the token of the last."""
    return state >> TOKEN_BITS, state & ((1 << TOKEN_BITS) - 1)


def changes_between(old: int, new: int) -> int:
    """How many changes lie between two states of one history."""
    return split_state(new)[0] - split_state(old)[0]


class IndexInfo(msgspec.Struct, frozen=True):
    """How a space is indexed: the number of records, the number and size of vectors, and what searches them."""

    records: int
    vectors: int
    dimensions: int | None
    search: str
    """What searches them: ``exact``, ``hnsw``, or the name of an engine that follows the store."""
    state: int = 0
    """The state of the space, as in ``Changes``: see ``state_of``."""
    forgotten: int = 0
    """The oldest state since which ``changes`` knows what changed."""


class Changes(msgspec.Struct, frozen=True):
    """The changes of a space's records since a state. A record keeps its number while it exists."""

    state: int | None
    """The state after these changes; None inside a transaction, which may still be rolled back."""
    whole: bool
    """Whether ``records`` is the whole space, and what was known before is void."""
    records: Sequence[tuple[int, Record]]
    """The records that were stored or changed, by number, with their vectors."""
    gone: list[int]
    """The numbers of deleted records; some may never have been reported."""


class KeptCache(NamedTuple):
    """What a program derived from a space and kept in the store, and the state of the space that it was derived from."""

    state: int
    data: Any
    """A writable buffer of this process alone."""


class RecordIndex(ABC):
    """Records that are found by vector, by words and by filter. All vectors of a space have one size.

    The records of hits come without their vectors, which are large and seldom wanted; ``get`` and ``scan`` have them.
    """

    @abstractmethod
    def upsert(self, records: Sequence[Record]) -> None:
        """Store records, all or none; one with the id of a stored one in its space replaces it.

        Raises ``InvalidInput`` for a vector whose size differs from those already in its space.
        """

    @abstractmethod
    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        """The records of these ids that exist, in the order asked."""

    @abstractmethod
    def delete(self, space: Space, ids: Iterable[str]) -> int:
        """Drop records with their words and vectors, for good. Returns how many there were."""

    @abstractmethod
    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        """The records of the space that satisfy ``where``, oldest first stored, or the other way round.

        A cursor goes on in the direction that it came from.
        """

    @abstractmethod
    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        """The records whose vectors point most nearly the same way, best first, scored by cosine.

        Raises ``InvalidInput`` for a vector that has no direction or another size than those of the space.
        """

    @abstractmethod
    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        """The records that share a word with ``text``, best first, scored by BM25 over the space's own statistics.

        In a large space, words that are in tens of thousands of records are left out, if the text has others. Any text is
        safe to search for; text without a word finds nothing.
        """

    @abstractmethod
    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        """Replace all vectors of the space, all or none: the named records get theirs, the others have none.

        The new vectors have one size, which may differ from the old. Nothing else of a record changes. Unknown ids are
        ignored.
        """

    @abstractmethod
    def changes(self, space: Space, since: int | None = None) -> Changes:
        """The changes after the state ``since``, or the whole space when that is None, too old, or of a lost history.

        This is how a cache of a space stays current; when nothing changed it is cheap.
        """

    def numbered(self, space: Space, numbers: Mapping[str, int]) -> list[Record]:
        """The records of these ids that exist, with or without their vectors; their numbers are those of ``changes``."""
        return self.get(space, numbers)

    def metadata_of(self, space: Space, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The metadata of the records of these ids that exist, by id. Cheaper than ``get``."""
        return {record.id: record.metadata for record in self.get(space, ids)}

    def metadata(self, space: Space) -> Iterable[tuple[int, dict[str, Any]]]:
        """The number and the metadata of every record of the space."""
        return ((number, record.metadata) for piece in self.pieces(space) for number, record in piece.records)

    def texts(self, space: Space) -> Iterable[tuple[int, str]]:
        """The number and the text of every record of the space."""
        return ((number, record.text) for piece in self.pieces(space) for number, record in piece.records)

    def pieces(self, space: Space) -> Iterator[Changes]:
        """The whole space as ``changes`` gives it, in pieces where the store can: all of it might not fit into memory.

        Only the first piece says that it is the whole. All have the same state; what is stored while they are read may be
        in them, and is among the ``changes`` since that state.
        """
        yield self.changes(space)

    @abstractmethod
    def info(self, space: Space) -> IndexInfo:
        """How the space is indexed now."""

    def keep_cache(self, space: Space, state: int, parts: Iterable[bytes | memoryview]) -> bool:
        """Keep what was derived from the space at a state, in the place of what was kept before.

        Returns whether it was kept: not every store has a place for it, and a record may have been deleted since. It may be
        lost at any time; ``Backend.scrub`` drops it when a record was deleted since.
        """
        return False

    def kept_cache(self, space: Space) -> KeptCache | None:
        """What ``keep_cache`` kept, if it is still there and ``changes`` since its state are known."""
        return None

    aupsert = asyncify(upsert)
    aget = asyncify(get)
    adelete = asyncify(delete)
    ascan = asyncify(scan)
    anear = asyncify(near)
    amatch = asyncify(match)
    arevector = asyncify(revector)
    achanges = asyncify(changes)
    ainfo = asyncify(info)
    anumbered = asyncify(numbered)
    ametadata = asyncify(metadata)
    ametadata_of = asyncify(metadata_of)
    apieces = asyncify(pieces)
    akeep_cache = asyncify(keep_cache)
    akept_cache = asyncify(kept_cache)


class VectorEngine(ABC):
    """An engine that searches by vector for a store. The rows in the store are the truth; the engine holds a copy.

    A search sees all earlier writes. Every method may raise ``BackendUnavailable`` (the engine is unavailable) or
    ``BackendError`` (it failed). Every method is idempotent, so a call whose outcome is unknown is made again.
    """

    name: str
    """What ``IndexInfo.search`` calls it."""

    most: int
    """How many a search can find at most."""

    @abstractmethod
    def identity(self, dimensions: int) -> str:
        """An id of what it holds for this vector size. It changes when the engine is emptied by someone else."""

    @abstractmethod
    def store(self, space: Space, records: Sequence[Record]) -> None:
        """Store records of a space, each with a vector; they replace those with their ids."""

    @abstractmethod
    def drop(self, space: Space, ids: Iterable[str]) -> None:
        """Drop records; unknown ids are ignored."""

    @abstractmethod
    def near(self, space: Space, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """The ids of the nearest records and their cosines, best first."""

    @abstractmethod
    def ids(self, space: Space) -> Iterator[str]:
        """All ids it holds of the space."""

    @abstractmethod
    def count(self, space: Space) -> int:
        """How many it holds of the space."""

    @abstractmethod
    def forget(self, space: Space) -> None:
        """Drop all of the space."""

    @abstractmethod
    def spaces(self) -> Iterator[Space]:
        """The spaces it holds anything of, each once."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The engine's version and so on; raises when it does not answer."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection. Closing twice is fine."""


class Blobs(ABC):
    """Bytes by their SHA-256 digest. A space sees only what was put into it."""

    @abstractmethod
    def put(self, space: Space, data: bytes) -> str:
        """Store bytes and return their digest; storing the same bytes again changes nothing."""

    @abstractmethod
    def get(self, space: Space, digest: str) -> bytes:
        """The bytes. Raises ``NotFound`` when the space does not hold them."""

    @abstractmethod
    def delete(self, space: Space, digest: str) -> bool:
        """Drop the bytes. Returns whether they were there."""

    @abstractmethod
    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        """The digests of what the space holds, in their order."""

    aput = asyncify(put)
    aget = asyncify(get)
    adelete = asyncify(delete)
    ascan = asyncify(scan)


class Written(NamedTuple):
    """A note of ``Backend.watch``: something was stored, changed or deleted."""

    space: Space
    part: str
    """``entries``, ``records``, ``threads`` or ``blobs``."""
    key: str
    """The key of the entry, the id of the record or of the thread, the digest of the blob."""
    number: int = -1
    """The number of a record that was not there before; a record with a higher one comes behind it."""
    version: int = 0
    """Another one after every write."""


ENCRYPTED: Final = b"MWE1"
"""The begin of an encrypted file. Its last character stands for the parameters of scrypt."""


class Backend(Closing, ABC):
    """A store: conversations and values, and what else ``abilities`` declares.

    Safe to use from several threads; a durable one also from several processes, each with a backend of its own.
    """

    abilities: frozenset[str] = ABILITIES
    """Which of ``ABILITIES`` this store has."""

    log: MessageLog
    kv: KeyValue
    index: RecordIndex = _lacking(RecordIndex, "records")
    blobs: Blobs = _lacking(Blobs, "blobs")

    @property
    @abstractmethod
    def durable(self) -> bool:
        """Whether a call that has returned survives the death of the process and of the machine."""

    @property
    def read_only(self) -> bool:
        """Whether writes are known to be refused now. False where only a write can tell."""
        return False

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Facts for the operator: kind, version, sizes, counts, and how the store is indexed."""

    @abstractmethod
    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        """Every space that holds a thread, an entry, a record or a blob, in the order of their encoded paths."""

    def connections(self) -> dict[str, int]:
        """How many connections to a server are ``in_use`` and ``idle``; nothing for a store without any."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Close the store. Closing twice is fine; inside a transaction of its own it raises ``BackendError``."""

    @property
    def encrypted(self) -> bool:
        """Whether everything that the store writes is encrypted with a secret."""
        return False

    def export_writer(self, path: Path) -> BinaryIO:
        """A new file, encrypted with the secret of the store. Raises ``Unsupported`` where that has none."""
        raise Unsupported("this store is not encrypted, so it cannot encrypt a file")

    def export_reader(self, path: Path) -> BinaryIO | None:
        """A file that ``export_writer`` made, to read; None for a plain one.

        Raises ``SecretRefused`` when it has another secret than the store, and ``OSError`` when it cannot be read.
        """
        with path.open("rb") as file:
            if file.read(len(ENCRYPTED)) == ENCRYPTED:
                raise SecretRefused.of("wrong-export", str(path))
        return None

    def require(self, ability: str) -> None:
        """Raises ``Unsupported`` when the store does not have the ability."""
        if ability not in self.abilities:
            raise unsupported(ability)

    def transaction(self) -> AbstractContextManager[None]:
        """A transaction: everything written inside is stored together when it ends, or not at all when it raises.

        Reads inside see the writes inside; others see them only afterwards. Inside another transaction it is a savepoint
        of that one. Other writers wait, so keep it short.
        """
        raise unsupported("transactions")

    def atransaction(self) -> AsyncContext[None]:
        """The async twin of ``transaction``: ``async with backend.atransaction(): …``."""
        raise unsupported("transactions")

    def together(self) -> AbstractContextManager[None]:
        """A transaction where the store has them; otherwise each call inside is stored by itself, and none is undone.

        For writes of which the first may be stored without the others.
        """
        return self.transaction() if "transactions" in self.abilities else nullcontext()

    def check(self) -> list[str]:
        """Check the whole store and return its faults, in words."""
        return []

    @property
    def scrubs_quickly(self) -> bool:
        """Whether ``scrub`` is so quick that an erasure does it itself. Otherwise a worker does, for many at once."""
        return True

    def scrub(self) -> bool:
        """Remove what was deleted from the store's files and caches too, where it would stay until it is overwritten.

        False when something is left because another program still reads an older state: call it again later. Inside a
        transaction of its own it raises ``BackendError``.
        """
        # Decoded messages are cached for the whole process.
        forget_decoded()
        return True

    def seal(self, reason: str | None) -> None:
        """Refuse every write, from every process, with ``ReadOnlyStore`` and this reason; None lifts the seal.

        For a store whose content was moved, so that no write is lost. Inside a transaction of its own it raises
        ``BackendError``.
        """
        raise unsupported("seal")

    def watch(self, name: str | None) -> bool:
        """Note from now on what every process writes, until ``watch(None)``; False where the store cannot.

        A watch of another name that was begun before ends, with its notes. Inside a transaction of its own it raises
        ``BackendError``.
        """
        return False

    def watched(self) -> str | None:
        """The name of the watch that notes what is written, or None."""
        return None

    def written(self, part: str, *, after: Written | None = None, limit: int = 100) -> list[Written]:
        """The notes about one part behind ``after``: by space, number and key. Each write renews the note."""
        return []

    def drop_written(self, notes: Sequence[Written]) -> None:
        """Drop notes, except those that were renewed since they were read."""

    def notify(self, topic: str) -> None:
        """Notify the listeners in all processes, where the store can."""

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None] | None:
        """Call ``heard`` with every topic that any process notifies, until the returned function is called.

        None where the store has no notifications. ``heard`` runs in a thread of the store and must be quick.
        """
        return None

    aspaces = asyncify(spaces)
    aseal = asyncify(seal)
    acheck = asyncify(check)
    ascrub = asyncify(scrub)
    afacts = asyncify(facts)
