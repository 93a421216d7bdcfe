"""A cache of embeddings: stored by content, bounded in number, shared between processes.

It is itself an embedder: it wraps another one and calls it only for what is not stored. Its entries belong to one space;
their keys are digests of the whole input, keyed with random bytes of the space: without them no text can be compared with a
digest, and two spaces share none. The oldest entries are dropped first. An entry that cannot be read is made again. A
process killed while it adds an entry leaves either the entry or nothing. In a read-only store nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from hashlib import blake2b
from secrets import token_bytes
from typing import NamedTuple, TypeAlias

import msgspec

from memwell.errors import Conflict, ReadOnlyStore
from memwell.models.ports import Embedder, Floats, given_texts, zero_rows
from memwell.records import Space, SpaceLike, as_space
from memwell.storage.protocols import Entry, KeyValue
from memwell.values import check_count

_DIGEST = 20
_KEY = 32
_MARK = 8
_SLOT = 4


class EmbeddingCache(Embedder):
    """An embedder with a cache. Vectors have half precision, whether they come from the cache or not.

    ``most_entries`` bounds the store. With ``transaction`` (a backend's own) a batch is stored by one commit. Raises
    ``InvalidInput`` for a bound below 1.
    """

    def __init__(
        self,
        embedder: Embedder,
        kv: KeyValue,
        space: SpaceLike,
        *,
        most_entries: int = 100_000,
        transaction: Transaction = nullcontext,
    ) -> None:
        self._embedder = embedder
        self._ring = embedding_ring(kv, as_space(space), most_entries, transaction)

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def shared_from(self) -> int | None:
        return self._embedder.shared_from

    def towards_answers(self, vector: Floats) -> Floats:
        return self._embedder.towards_answers(vector)

    def embed(self, texts: Sequence[str]) -> Floats:
        given = given_texts(texts)
        name, dimensions = self._embedder.name, self._embedder.dimensions
        rows = zero_rows(given, dimensions)
        missing: dict[str, list[int]] = {}
        key, model = self._ring.key(), _mark(name)
        for place, text in enumerate(given):
            digest = _digest_of(key, text)
            found = _unpacked(self._ring.read(digest), model, dimensions)
            if found is None:
                missing.setdefault(digest, []).append(place)
            else:
                rows[place] = found
        if missing:
            self._ask(given, rows, missing)
        return rows

    def _ask(self, texts: Sequence[str], rows: Floats, missing: Mapping[str, list[int]]) -> None:
        vectors = self._embedder.embed([texts[places[0]] for places in missing.values()])
        halves = vectors.astype("float16")
        rounded = halves.astype("float32")
        for row, places in zip(rounded, missing.values(), strict=True):
            rows[places] = row
        with suppress(ReadOnlyStore):
            model = _mark(self._embedder.name)
            self._ring.write({digest: model + half.tobytes() for digest, half in zip(missing, halves, strict=True)})

    def forget(self, texts: Iterable[str]) -> int:
        """Drop the vectors of these texts. Returns how many there were."""
        return forget_texts(self._ring, texts)

    def clear(self) -> None:
        """Drop every vector of the space."""
        self._ring.clear()


def embedding_ring(kv: KeyValue, space: Space, slots: int, transaction: Transaction) -> Ring:
    """The storage of the embeddings of a space."""
    return Ring(kv, space, "embedding", slots, transaction)


def forget_texts(ring: Ring, texts: Iterable[str]) -> int:
    """Drop the vectors of texts, whichever model made them. Returns how many there were."""
    key = ring.stored_key()
    if key is None:
        return 0
    return sum(ring.drop(_digest_of(key, text)) for text in given_texts(texts))


def _unpacked(data: object, model: bytes, dimensions: int) -> Floats | None:
    """The vector of these bytes at single precision; None when they cannot be one of this model and size."""
    if not isinstance(data, bytes) or len(data) != _MARK + 2 * dimensions or data[:_MARK] != model:
        return None
    import numpy as np  # noqa: PLC0415 - programs that only converse do without it

    return np.frombuffer(data, np.float16, offset=_MARK).astype(np.float32)


def _mark(name: str) -> bytes:
    return blake2b(name.encode(errors="surrogatepass"), digest_size=_MARK).digest()


def _digest_of(key: bytes, text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST, key=key).hexdigest()


# The storage of caches: a ring buffer of values in a store

Transaction: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Opens a transaction, such as a backend's own; ``nullcontext`` for none."""


class Ring:
    """Values by digest, at most ``slots`` of them: each new one replaces the one written longest ago.

    A value ``v…`` begins with the number of its slot ``s…``, which names it. It is only written after the slot, and only
    dropped with it, so the bound holds even when a process is killed at any moment. Slots are assigned by a counter with
    compare-and-set; two processes that add the same value take two slots.
    """

    def __init__(self, kv: KeyValue, space: Space, kind: str, slots: int, transaction: Transaction) -> None:
        self._kv = kv
        self._space = space
        self._kind = kind
        self._slots = check_count(slots, "most_entries", least=1)
        self._transaction = transaction

    def stored_key(self) -> bytes | None:
        """The random bytes that the digests of this ring are keyed with; None before the first one."""
        entry = self._kv.get(self._space, f"{self._kind}.key")
        return entry.value if entry is not None and isinstance(entry.value, bytes) else None

    def key(self) -> bytes:
        """As ``stored_key``, and made if there is none; in a read-only store it is not stored."""
        found = self.stored_key()
        if found is not None:
            return found
        made = token_bytes(_KEY)
        with suppress(ReadOnlyStore):
            try:
                self._kv.put(self._space, f"{self._kind}.key", made, expect=0)
            except Conflict:
                return self.stored_key() or made
        return made

    def read(self, digest: str) -> bytes | None:
        """The value of a digest, or None."""
        held = self._held(digest)
        return None if held is None else held[_SLOT:]

    def _held(self, digest: str) -> bytes | None:
        entry = self._kv.get(self._space, self._value(digest))
        return entry.value if entry is not None and isinstance(entry.value, bytes) and entry.value[:_SLOT] else None

    def write(self, values: Mapping[str, bytes]) -> None:
        """Store values, in one transaction if there are transactions. One that is stored already keeps its slot."""
        with self._transaction():
            self._shrink()
            # More values than the ring has slots would only replace each other.
            kept = list(values.items())[-self._slots :]
            slots = {digest: held[:_SLOT] for digest, _ in kept if (held := self._held(digest)) is not None}
            new = [digest for digest, _ in kept if digest not in slots]
            for slot, digest in zip(self._take(len(new)) if new else (), new, strict=True):
                self._vacate(slot)
                self._kv.put(self._space, self._slot(slot), digest)
                slots[digest] = slot.to_bytes(_SLOT, "big")
            for digest, value in kept:
                self._kv.put(self._space, self._value(digest), slots[digest] + value)

    def drop(self, digest: str) -> bool:
        """Drop a value. Returns whether there was one. Its slot is blank, and used again in its turn."""
        held = self._held(digest)
        if held is not None:
            slot = self._slot(int.from_bytes(held[:_SLOT], "big"))
            entry = self._kv.get(self._space, slot)
            if entry is not None and entry.value == digest:
                self._kv.put(self._space, slot, "")
        return self._kv.delete(self._space, self._value(digest))

    def clear(self) -> None:
        """Drop everything."""
        with self._transaction():
            used = self._state().used
            for slot in range(used):
                self._vacate(slot)
                self._kv.delete(self._space, self._slot(slot))
            for name in ("ring", "key"):
                self._kv.delete(self._space, f"{self._kind}.{name}")

    def count(self) -> int:
        """How many values there are."""
        bounds = {"$ge": f"{self._kind}.v", "$lt": f"{self._kind}.w"}
        return self._kv.count(self._space, where={"@id": bounds})

    def _shrink(self) -> None:
        """Drop what lies beyond the end of a ring that was made smaller."""
        state = self._state()
        if state.used > self._slots:
            for slot in range(self._slots, state.used):
                self._vacate(slot)
                self._kv.delete(self._space, self._slot(slot))
            smaller = {"next": state.next % self._slots, "used": self._slots}
            # Another process has done the same already.
            with suppress(Conflict):
                self._kv.put(self._space, f"{self._kind}.ring", smaller, expect=state.version)

    def _take(self, count: int) -> Iterator[int]:
        """The next slots of the ring, claimed for this writer."""
        while True:
            state = self._state()
            used = state.used
            # A ring that was enlarged goes on after its old end, so that the oldest are still the next to be replaced.
            place = used if state.next == 0 and used < self._slots else state.next % self._slots
            end = place + count
            after = {"next": end % self._slots, "used": min(max(used, end), self._slots)}
            try:
                self._kv.put(self._space, f"{self._kind}.ring", after, expect=state.version)
            except Conflict:
                continue
            break
        return ((place + number) % self._slots for number in range(count))

    def _state(self) -> _RingState:
        entry: Entry | None = self._kv.get(self._space, f"{self._kind}.ring")
        if entry is None:
            return _RingState(0, 0, 0)
        try:
            state = msgspec.convert(entry.value, dict[str, int])
            return _RingState(max(0, state["next"]), max(0, state["used"]), entry.version)
        except (msgspec.ValidationError, KeyError):
            # Another program wrote here. Starting over is safe: each slot names its value.
            return _RingState(0, self._slots, entry.version)

    def _vacate(self, slot: int) -> None:
        entry = self._kv.get(self._space, self._slot(slot))
        if entry is not None and isinstance(entry.value, str) and entry.value:
            self._kv.delete(self._space, self._value(entry.value))

    def _value(self, digest: str) -> str:
        return f"{self._kind}.v{digest}"

    def _slot(self, slot: int) -> str:
        return f"{self._kind}.s{slot}"


class _RingState(NamedTuple):
    """Which slot is next, how many are in use, and the version of this state."""

    next: int
    used: int
    version: int
