"""Embeddings and completions that were already paid for, kept by their content and shared between processes.

A cache is itself a model: it stands in front of one and asks it only for what it has not seen. Its entries belong to one
space and are found by a digest of the model's name and the whole question, so nothing of one space is read by another.
They are bounded in number, the oldest going first. An entry that cannot be read is asked for again, and a process killed
while it adds an entry leaves either the entry or nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, Unpack, cast

import msgspec
import numpy as np

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Message, decode_message, encode_message
from memwell.models.ports import (
    ChatModel,
    ChatOptions,
    Completion,
    Delta,
    Embedder,
    Floats,
    Usage,
    given_texts,
    zero_rows,
)
from memwell.records import Space, SpaceLike, as_space
from memwell.storage.protocols import Entry, KeyValue
from memwell.transcript import to_openai
from memwell.values import check_count, new_id, now

# A bounded number of values in a store: what every cache that is shared between processes is kept in.


Transaction: TypeAlias = Callable[[], AbstractContextManager[None]]
"""What opens a transaction, such as a backend's own; ``nullcontext`` for none."""


class Ring:
    """Values by digest, at most ``slots`` of them: each new one takes the place of the one written longest ago.

    A value ``v…`` is only ever written after the slot ``s…`` that names it, and only dropped with its slot, so that a
    process may die at any moment and the bound still holds. Places are handed out by a counter with compare-and-set;
    two processes that add the same value take two places, and nothing else happens. A ring that ``renews`` also knows the
    place ``p…`` of each value, so that one written again stays where it is and ``renew`` can move it; it needs
    transactions. ``dropped`` is told of every value that goes, in the same transaction.
    """

    def __init__(
        self,
        kv: KeyValue,
        space: Space,
        kind: str,
        slots: int,
        transaction: Transaction,
        *,
        renews: bool = False,
        dropped: Callable[[str], object] | None = None,
    ) -> None:
        self._kv = kv
        self._space = space
        self._kind = kind
        self._slots = check_count(slots, "most_entries", least=1)
        self._transaction = transaction
        self._renews = renews
        self._dropped = dropped

    def read(self, digest: str) -> Any:
        """The value of a digest, or None."""
        entry = self._kv.get(self._space, self._value(digest))
        return None if entry is None else entry.value

    def write(self, values: Mapping[str, Any], *, ttl: float | None = None) -> None:
        """Store values, for ``ttl`` seconds when given, in one transaction if there are transactions."""
        with self._transaction():
            # What is more than the ring holds would only push itself out again.
            kept = list(values.items())[-self._slots :]
            new = [digest for digest, _ in kept if self._place(digest) is None]
            for slot, digest in zip(self._take(len(new)) if new else (), new, strict=True):
                self._vacate(slot)
                self._settle(slot, digest)
            for digest, value in kept:
                self._kv.put(self._space, self._value(digest), value, ttl=ttl)

    def renew(self, digest: str) -> bool:
        """Move a value to the newest place if it is in the older half of the ring. Returns whether it was moved.

        The one that had to make room takes its old place: nothing is dropped for something that was there already.
        """
        if not self._is_old(digest):
            return False
        with self._transaction():
            place = self._place(digest)
            if place is None:
                return False
            slot = next(self._take(1))
            other = self._named(slot)
            if other is not None and other != digest and self._place(other) == slot:
                self._settle(place, other)
            else:
                self._kv.delete(self._space, self._slot(place))
            self._settle(slot, digest)
        return True

    def drop(self, digest: str) -> bool:
        """Drop a value; its slot is used again when its turn comes."""
        if self._renews:
            self._kv.delete(self._space, f"{self._kind}.p{digest}")
        if self._dropped is not None:
            self._dropped(digest)
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
        """How many values there are whose time is not over."""
        # All keys of values lie between these two, and no others do.
        bounds = {"$ge": f"{self._kind}.v", "$lt": f"{self._kind}.w"}
        return self._kv.count(self._space, where={"@id": bounds})

    def taken(self) -> int:
        """How many places were ever taken: when it has not grown, nothing new was written."""
        return self._state().taken

    def latest(self, count: int) -> list[str]:
        """The digests in the ``count`` places taken last, the newest first."""
        state = self._state()
        places = ((state.next - 1 - back) % self._slots for back in range(min(count, state.used, self._slots)))
        return [digest for place in places if (digest := self._named(place)) is not None]

    def _take(self, count: int) -> Iterator[int]:
        """The next places of the ring, claimed for this writer."""
        while True:
            state = self._state()
            used = state.used
            # A ring that became larger goes on behind its old end, so that the oldest are still the next to go.
            place = used if state.next == 0 and used < self._slots else state.next % self._slots
            end = place + count
            after = {
                "next": end % self._slots,
                "used": min(max(used, end), self._slots),
                "taken": state.taken + count,
            }
            try:
                self._kv.put(self._space, f"{self._kind}.ring", after, expect=state.version)
            except Conflict:
                continue
            break
        # A ring that became smaller gives up what lies beyond its end.
        for slot in range(self._slots, used):
            self._vacate(slot)
            self._kv.delete(self._space, self._slot(slot))
        return ((place + number) % self._slots for number in range(count))

    def _state(self) -> _RingState:
        entry: Entry | None = self._kv.get(self._space, f"{self._kind}.ring")
        if entry is None:
            return _RingState(0, 0, 0, 0)
        try:
            state = msgspec.convert(entry.value, dict[str, int])
            used = max(0, state["used"])
            return _RingState(max(0, state["next"]), used, max(used, state.get("taken", 0)), entry.version)
        except (msgspec.ValidationError, KeyError):
            # Somebody else wrote here. Starting over is safe: slots say themselves what they hold.
            return _RingState(0, self._slots, self._slots, entry.version)

    def _settle(self, slot: int, digest: str) -> None:
        """Give a value its place."""
        self._kv.put(self._space, self._slot(slot), digest)
        if self._renews:
            self._kv.put(self._space, f"{self._kind}.p{digest}", slot)

    def _place(self, digest: str) -> int | None:
        """The slot that holds a digest; None when there is none, and always in a ring that does not renew."""
        entry = self._kv.get(self._space, f"{self._kind}.p{digest}") if self._renews else None
        if entry is None or type(entry.value) is not int:
            return None
        return entry.value if self._named(entry.value) == digest else None

    def _is_old(self, digest: str) -> bool:
        entry = self._kv.get(self._space, f"{self._kind}.p{digest}")
        if entry is None or type(entry.value) is not int:
            return False
        state = self._state()
        # While there are free places nothing has to go, and a move would leave a gap that is then taken for the oldest.
        return state.used >= self._slots and (entry.value - state.next) % self._slots < self._slots // 2

    def _named(self, slot: int) -> str | None:
        entry = self._kv.get(self._space, self._slot(slot))
        return entry.value if entry is not None and isinstance(entry.value, str) else None

    def _vacate(self, slot: int) -> None:
        digest = self._named(slot)
        if digest is not None and self._place(digest) in (None, slot):
            self.drop(digest)

    def _value(self, digest: str) -> str:
        return f"{self._kind}.v{digest}"

    def _slot(self, slot: int) -> str:
        return f"{self._kind}.s{slot}"


class _RingState(NamedTuple):
    """Which place is next, how many are in use, how many were ever taken, and the version of this state."""

    next: int
    used: int
    taken: int
    version: int


T = TypeVar("T")
_DIGEST = 20
_KEPT_ENDINGS = frozenset({"stop", "tool_calls", "function_call"})


class _Recent(Generic[T]):
    """The values this process used last."""

    def __init__(self, most: int) -> None:
        self._most = check_count(most, "most_recent")
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> T | None:
        if not self._most:
            return None
        with self._lock:
            value = self._values.get(digest)
            if value is not None:
                self._values.move_to_end(digest)
            return value

    def add(self, digest: str, value: T) -> None:
        if not self._most:
            return
        with self._lock:
            self._values[digest] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def drop(self, digest: str) -> None:
        with self._lock:
            self._values.pop(digest, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()


class EmbeddingCache(Embedder):
    """An embedder that remembers. Vectors come at half precision, whether they were remembered or not.

    ``most_entries`` bounds the store and ``most_recent`` this process's memory. With ``transaction`` (a backend's own) a
    batch is stored by one commit. Raises ``InvalidInput`` for a bound that is none.
    """

    def __init__(
        self,
        embedder: Embedder,
        kv: KeyValue,
        space: SpaceLike,
        *,
        most_entries: int = 100_000,
        most_recent: int = 2048,
        transaction: Transaction = nullcontext,
    ) -> None:
        self._embedder = embedder
        self._ring = Ring(kv, as_space(space), "embedding", most_entries, transaction)
        self._recent: _Recent[Floats] = _Recent(most_recent)

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Floats:
        given = given_texts(texts)
        name, dimensions = self._embedder.name, self._embedder.dimensions
        rows = zero_rows(given, dimensions)
        missing: dict[str, list[int]] = {}
        for place, text in enumerate(given):
            digest = _digest_of(name, text.encode(errors="surrogatepass"))
            found = self._found(digest, dimensions)
            if found is None:
                missing.setdefault(digest, []).append(place)
            else:
                rows[place] = found
        if missing:
            self._ask(given, rows, missing)
        return rows

    def _found(self, digest: str, dimensions: int) -> Floats | None:
        recent = self._recent.get(digest)
        if recent is not None:
            return recent
        row = _unpacked(self._ring.read(digest), dimensions)
        if row is not None:
            self._recent.add(digest, row)
        return row

    def _ask(self, texts: Sequence[str], rows: Floats, missing: Mapping[str, list[int]]) -> None:
        vectors = self._embedder.embed([texts[places[0]] for places in missing.values()])
        halves = vectors.astype(np.float16)
        rounded = halves.astype(np.float32)
        for row, (digest, places) in zip(rounded, missing.items(), strict=True):
            rows[places] = row
            # A copy of its own, or one remembered row would hold on to the whole batch.
            self._recent.add(digest, row.copy())
        self._ring.write({digest: half.tobytes() for digest, half in zip(missing, halves, strict=True)})

    def forget(self, texts: Iterable[str]) -> int:
        """Drop the vectors of these texts from the store and from this process. Returns how many the store had."""
        dropped = 0
        for text in given_texts(texts):
            digest = _digest_of(self._embedder.name, text.encode(errors="surrogatepass"))
            self._recent.drop(digest)
            dropped += self._ring.drop(digest)
        return dropped

    def clear(self) -> None:
        """Drop every vector of the space from the store and from this process."""
        self._recent.clear()
        self._ring.clear()


def _unpacked(data: object, dimensions: int) -> Floats | None:
    """The vector of these bytes at single precision; None when they cannot be one of this size."""
    if not isinstance(data, bytes) or len(data) != 2 * dimensions:
        return None
    return np.frombuffer(data, np.float16).astype(np.float32)


def _digest_of(name: str, question: bytes) -> str:
    # The length of the name keeps it apart from what follows.
    model = name.encode(errors="surrogatepass")
    return blake2b(b"%d:%b%b" % (len(model), model, question), digest_size=_DIGEST).hexdigest()


class _Kept(msgspec.Struct, omit_defaults=True):
    """A completion as it is stored."""

    message: str
    model: str
    finish: str
    usage: Usage | None = None
    data: Any = None


class CompletionCache(ChatModel):
    """A chat model that remembers. The same messages with the same options get the same answer, at no cost.

    A remembered answer is a new message, with an id and a time of its own. An answer that was cut off is not remembered.
    """

    def __init__(
        self,
        chat: ChatModel,
        kv: KeyValue,
        space: SpaceLike,
        *,
        most_entries: int = 10_000,
        transaction: Transaction = nullcontext,
    ) -> None:
        self._chat = chat
        self._ring = Ring(kv, as_space(space), "completion", most_entries, transaction)

    @property
    def name(self) -> str:
        return self._chat.name

    def complete(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Completion:
        digest = self._digest(messages, options)
        found = self._found(digest)
        if found is not None:
            return found
        completion = self._chat.complete(messages, **options)
        self._keep(digest, completion)
        return completion

    def stream(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> Iterator[Delta]:
        digest = self._digest(messages, options)
        found = self._found(digest)
        if found is not None:
            yield from (Delta(found.text), Delta(completion=found))
            return
        for piece in self._chat.stream(messages, **options):
            if piece.completion is not None:
                self._keep(digest, piece.completion)
            yield piece

    def forget(self, messages: Sequence[Message], **options: Unpack[ChatOptions]) -> bool:
        """Drop the answer to these messages. Returns whether there was one."""
        return self._ring.drop(self._digest(messages, options))

    def clear(self) -> None:
        """Drop every answer of the space."""
        self._ring.clear()

    def _found(self, digest: str) -> Completion | None:
        try:
            kept = msgspec.convert(self._ring.read(digest), _Kept)
            message = decode_message(kept.message).changed(id=new_id(), time=now())
        except (msgspec.ValidationError, InvalidInput):
            # Nothing there, or nothing that this version understands.
            return None
        return Completion(
            message=message, model=kept.model, finish=kept.finish, usage=kept.usage, cost=0.0, data=kept.data
        )

    def _keep(self, digest: str, completion: Completion) -> None:
        if completion.finish in _KEPT_ENDINGS:
            message = encode_message(completion.message).decode()
            kept = _Kept(message, completion.model, completion.finish, completion.usage, completion.data)
            self._ring.write({digest: msgspec.to_builtins(kept)})

    def _digest(self, messages: Sequence[Message], options: ChatOptions) -> str:
        # An option that is None is the same as one left out.
        said = {key: value for key, value in cast("dict[str, object]", options).items() if value is not None}
        question = msgspec.json.encode([to_openai(messages), msgspec.to_builtins(said)], order="sorted")
        return _digest_of(self._chat.name, question)
