"""A cache of embeddings: stored by content, bounded in number, shared between processes.

It is itself an embedder: it wraps another one and calls it only for what is not stored. Its entries belong to one space;
their keys are digests of the model's name and the whole input. The oldest entries are dropped first. An entry that cannot
be read is made again. A process killed while it adds an entry leaves either the entry or nothing. In a read-only store
nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import msgspec

from memwell.errors import Conflict, ReadOnlyStore
from memwell.models.ports import Embedder, Floats, given_texts, zero_rows
from memwell.records import Space, SpaceLike, as_space
from memwell.storage.protocols import Entry, KeyValue
from memwell.values import check_count

_DIGEST = 20


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
        self._ring = Ring(kv, as_space(space), "embedding", most_entries, transaction)

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
        for place, text in enumerate(given):
            digest = _digest_of(name, text)
            found = _unpacked(self._ring.read(digest), dimensions)
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
            self._ring.write({digest: half.tobytes() for digest, half in zip(missing, halves, strict=True)})

    def forget(self, texts: Iterable[str]) -> int:
        """Drop the vectors of these texts. Returns how many there were."""
        name = self._embedder.name
        return sum(self._ring.drop(_digest_of(name, text)) for text in given_texts(texts))

    def clear(self) -> None:
        """Drop every vector of the space."""
        self._ring.clear()


def _unpacked(data: object, dimensions: int) -> Floats | None:
    """The vector of these bytes at single precision; None when they cannot be one of this size."""
    if not isinstance(data, bytes) or len(data) != 2 * dimensions:
        return None
    import numpy as np  # noqa: PLC0415 - programs that only converse do without it

    return np.frombuffer(data, np.float16).astype(np.float32)


def _digest_of(name: str, text: str) -> str:
    # The length of the name keeps it apart from what follows.
    model, asked = name.encode(errors="surrogatepass"), text.encode(errors="surrogatepass")
    return blake2b(b"%d:%b%b" % (len(model), model, asked), digest_size=_DIGEST).hexdigest()


# The storage of caches: a ring buffer of values in a store

Transaction: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Opens a transaction, such as a backend's own; ``nullcontext`` for none."""


class Ring:
    """Values by digest, at most ``slots`` of them: each new one replaces the one written longest ago.

    A value ``v…`` is only written after the slot ``s…`` that names it, and only dropped with its slot, so the bound
    holds even when a process is killed at any moment. Slots are assigned by a counter with compare-and-set; two
    processes that add the same value take two slots.
    """

    def __init__(self, kv: KeyValue, space: Space, kind: str, slots: int, transaction: Transaction) -> None:
        self._kv = kv
        self._space = space
        self._kind = kind
        self._slots = check_count(slots, "most_entries", least=1)
        self._transaction = transaction

    def read(self, digest: str) -> Any:
        """The value of a digest, or None."""
        entry = self._kv.get(self._space, self._value(digest))
        return None if entry is None else entry.value

    def write(self, values: Mapping[str, Any], *, ttl: float | None = None, may_exist: bool = False) -> None:
        """Store values, for ``ttl`` seconds when given, in one transaction if there are transactions.

        With ``may_exist`` a value whose digest is stored already keeps its slot.
        """
        with self._transaction():
            self._shrink()
            # More values than the ring has slots would only replace each other.
            kept = list(values.items())[-self._slots :]
            new = [digest for digest, _ in kept if not may_exist or self.read(digest) is None]
            for slot, digest in zip(self._take(len(new)) if new else (), new, strict=True):
                self._vacate(slot)
                self._kv.put(self._space, self._slot(slot), digest)
            for digest, value in kept:
                self._kv.put(self._space, self._value(digest), value, ttl=ttl)

    def drop(self, digest: str) -> bool:
        """Drop a value. Returns whether there was one. Its slot is used again in its turn."""
        return self._kv.delete(self._space, self._value(digest))

    def clear(self) -> None:
        """Drop everything."""
        with self._transaction():
            used = self._state().used
            for slot in range(used):
                self._vacate(slot)
                self._kv.delete(self._space, self._slot(slot))
            self._kv.delete(self._space, f"{self._kind}.ring")

    def count(self) -> int:
        """How many values there are that have not expired."""
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
        if entry is not None and isinstance(entry.value, str):
            self.drop(entry.value)

    def _value(self, digest: str) -> str:
        return f"{self._kind}.v{digest}"

    def _slot(self, slot: int) -> str:
        return f"{self._kind}.s{slot}"


class _RingState(NamedTuple):
    """Which slot is next, how many are in use, and the version of this state."""

    next: int
    used: int
    version: int
