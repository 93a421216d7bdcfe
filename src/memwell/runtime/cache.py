"""A cache of embeddings: stored by content, bounded in number, shared between processes.

It is itself an embedder: it wraps another one and calls it only for what is not stored. Its entries belong to one space;
their keys are digests of the model's name and the whole input. The oldest entries are dropped first. An entry that cannot
be read is made again. A process killed while it adds an entry leaves either the entry or nothing. In a read-only store
nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from hashlib import blake2b

import numpy as np

from memwell.errors import ReadOnlyStore
from memwell.models.ports import Embedder, Floats, given_texts, zero_rows
from memwell.records import SpaceLike, as_space
from memwell.runtime.ring import Ring, Transaction
from memwell.storage.protocols import KeyValue

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

    def distinct(self, vector: Floats) -> Floats:
        return self._embedder.distinct(vector)

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
        halves = vectors.astype(np.float16)
        rounded = halves.astype(np.float32)
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
    return np.frombuffer(data, np.float16).astype(np.float32)


def _digest_of(name: str, text: str) -> str:
    # The length of the name keeps it apart from what follows.
    model, asked = name.encode(errors="surrogatepass"), text.encode(errors="surrogatepass")
    return blake2b(b"%d:%b%b" % (len(model), model, asked), digest_size=_DIGEST).hexdigest()
