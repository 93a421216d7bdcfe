"""Token vectors of memories: stored with their vectors, and compared with a query's for the candidates of a recall."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from memwell.longterm.journal import inner_key
from memwell.models.ports import QueryTokens, TokenEmbedder, WordMatch
from memwell.records import Space
from memwell.storage.protocols import KeyValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PREFIX = "tokens/"
_MARK = 4
_MOST_CACHED = 64 * 2**20


class TokenStore:
    """The token vectors of a space, by memory. Each begins with a mark of its embedder: those of another are ignored."""

    def __init__(self, kv: KeyValue, inner: Space) -> None:
        self._kv = kv
        self._inner = inner

    def put(self, id_: str, model: str, tokens: bytes) -> None:
        """Store those of a memory. Call it in the transaction that stores its vector."""
        if tokens:
            self._kv.put(self._inner, inner_key(PREFIX, id_), _mark(model) + tokens)
        else:
            self.delete(id_)

    def delete(self, id_: str) -> None:
        """Drop those of a memory."""
        self._kv.delete(self._inner, inner_key(PREFIX, id_))

    def read(self, ids: Sequence[str], model: str) -> dict[str, bytes]:
        """Those of memories, by id, in one query; memories that have none are left out."""
        keys, mark = {inner_key(PREFIX, id_): id_ for id_ in ids}, _mark(model)
        found = self._kv.get_many(self._inner, list(keys))
        return {keys[key]: entry.value[_MARK:] for key, entry in found.items() if entry.value[:_MARK] == mark}


def _mark(model: str) -> bytes:
    return blake2b(model.encode(), digest_size=_MARK).digest()


class TokenCache:
    """Unpacked token vectors that were read lately, about 64 MB at most; its owner drops those of memories that changed."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._bytes = 0
        self._model: str = ""

    def drop(self, id_: str) -> None:
        """Forget those of a memory."""
        self._bytes -= len(self._held.pop(id_, b""))

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
        self._bytes = 0

    def read(self, store: TokenStore, ids: Sequence[str], embedder: TokenEmbedder) -> list[bytes]:
        """Those of memories, in order; empty for a memory that has none."""
        model = embedder.name
        if model != self._model or self._bytes > _MOST_CACHED:
            self.clear()
            self._model = model
        missing = [id_ for id_ in ids if id_ not in self._held]
        if missing:
            found = store.read(missing, model)
            unpacked = dict(zip(found, embedder.unpacked(list(found.values())), strict=True))
            for id_ in missing:
                self._held[id_] = unpacked.get(id_, b"")
            self._bytes += sum(map(len, unpacked.values()))
        return [self._held[id_] for id_ in ids]


def best_matches(embedder: TokenEmbedder, query: QueryTokens, tokens: Sequence[bytes]) -> NDArray[np.float32] | None:
    """``TokenEmbedder.best_matches`` of texts that may have no token vectors: NaN for those, None when none has any."""
    import numpy as np  # noqa: PLC0415 - programs that only converse do without it

    known = [at for at, one in enumerate(tokens) if one]
    if not known:
        return None
    best = np.full((len(query.weights), len(tokens)), np.nan, np.float32)
    best[:, known] = embedder.best_matches(query, [tokens[at] for at in known])
    return best


class LateInteraction(NamedTuple):
    """Compares the token vectors of a query with those of memories."""

    embedder: TokenEmbedder
    query: QueryTokens
    store: TokenStore
    cache: TokenCache

    def best(self, ids: Sequence[str]) -> NDArray[np.float32] | None:
        """``best_matches`` of memories, a column each, NaN for one without token vectors; None when no memory has any."""
        return best_matches(self.embedder, self.query, self._tokens(ids))

    def matches(self, ids: Sequence[str], texts: Sequence[str]) -> list[tuple[WordMatch, ...]]:
        """The words of the query and those that match them, for each memory, given the texts that were embedded."""
        tokens = self._tokens(ids)
        known = [at for at, one in enumerate(tokens) if one]
        made = self.embedder.word_matches(self.query, [tokens[at] for at in known], [texts[at] for at in known])
        found = dict(zip(known, made, strict=True))
        return [tuple(found.get(at, ())) for at in range(len(ids))]

    def _tokens(self, ids: Sequence[str]) -> list[bytes]:
        return self.cache.read(self.store, ids, self.embedder)
