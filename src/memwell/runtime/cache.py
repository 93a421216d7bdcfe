"""Caches of embeddings and completions: stored by content, bounded in number, shared between processes.

A cache is itself a model: it wraps another one and calls it only for what is not stored. Its entries belong to one space;
their keys are digests of the model's name and the whole input. The oldest entries are dropped first. An entry that cannot
be read is made again. A process killed while it adds an entry leaves either the entry or nothing. In a read-only store
nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from hashlib import blake2b
from typing import Any, Unpack, cast

import msgspec
import numpy as np

from memwell.errors import InvalidInput, ReadOnlyStore
from memwell.messages import Message, decode_message, encode_message
from memwell.models.ports import (
    ChatModel,
    ChatOptions,
    Completion,
    Embedder,
    Floats,
    Usage,
    given_texts,
    zero_rows,
)
from memwell.records import SpaceLike, as_space
from memwell.runtime.ring import Ring, Transaction
from memwell.storage.protocols import KeyValue
from memwell.transcript import to_openai
from memwell.values import new_id, now

_DIGEST = 20
_KEPT_ENDINGS = frozenset({"stop", "tool_calls", "function_call"})


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

    def distinct(self, vector: Floats) -> Floats:
        return self._embedder.distinct(vector)

    def embed(self, texts: Sequence[str]) -> Floats:
        given = given_texts(texts)
        name, dimensions = self._embedder.name, self._embedder.dimensions
        rows = zero_rows(given, dimensions)
        missing: dict[str, list[int]] = {}
        for place, text in enumerate(given):
            digest = _digest_of(name, text.encode(errors="surrogatepass"))
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
        halves = vectors.astype(np.float16)
        rounded = halves.astype(np.float32)
        for row, places in zip(rounded, missing.values(), strict=True):
            rows[places] = row
        with suppress(ReadOnlyStore):
            self._ring.write({digest: half.tobytes() for digest, half in zip(missing, halves, strict=True)})

    def forget(self, texts: Iterable[str]) -> int:
        """Drop the vectors of these texts. Returns how many there were."""
        name = self._embedder.name
        return sum(
            self._ring.drop(_digest_of(name, text.encode(errors="surrogatepass"))) for text in given_texts(texts)
        )

    def clear(self) -> None:
        """Drop every vector of the space."""
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
    """A chat model with a cache: the same messages with the same options get the stored answer.

    A cached answer is a new message, with an id and a time of its own. An answer that was cut off is not cached.
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
            # No entry, or one that this version cannot read.
            return None
        return Completion(
            message=message, model=kept.model, finish=kept.finish, usage=kept.usage, cost=0.0, data=kept.data
        )

    def _keep(self, digest: str, completion: Completion) -> None:
        if completion.finish in _KEPT_ENDINGS:
            message = encode_message(completion.message).decode()
            kept = _Kept(message, completion.model, completion.finish, completion.usage, completion.data)
            with suppress(ReadOnlyStore):
                self._ring.write({digest: msgspec.to_builtins(kept)})

    def _digest(self, messages: Sequence[Message], options: ChatOptions) -> str:
        # An option that is None is the same as one left out.
        said = {key: value for key, value in cast("dict[str, object]", options).items() if value is not None}
        question = msgspec.json.encode([to_openai(messages), msgspec.to_builtins(said)], order="sorted")
        return _digest_of(self._chat.name, question)
