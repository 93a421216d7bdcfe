"""Keys that mean nearly the same: which part of a key is text, and which kept text is nearest.

Two keys can only stand for each other when all their other fields are equal. A text is embedded when somebody first asks
for something similar, never while it is set.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from memwell.compat.dbgpt.cache.keys import CacheConfig, RetrievalPolicy
from memwell.compat.dbgpt.cache.storage import Key, key_parts
from memwell.models.callables import as_embedder
from memwell.models.ports import Embedder
from memwell.records import unpack_half

if TYPE_CHECKING:
    from memwell.storage.vectors import Matrix

T = TypeVar("T")
TEXT_KEYS = ""
"""The name under which keys that are plain text are compared; no field is called so."""

NEAREST = 8
"""So many of the nearest are looked at, whether they say the same."""

_INTEGER = 32
_PAIR = 56
Vectors = list[bytes | None]


class KeyText(NamedTuple):
    """The text of a key, and a digest of everything else in it."""

    text: str
    rest: str


def wants_similar(cache_config: CacheConfig | None) -> bool:
    """Whether a call also takes what is only similar."""
    return cache_config is not None and cache_config.retrieval_policy is RetrievalPolicy.SIMILARITY_MATCH


def asked_text(key: Key) -> tuple[str, KeyText | None]:
    """Which field of such keys is text, and the text of this one; None when it has none. Raises as ``key_parts``."""
    name, _, data = key_parts(key)
    field = TEXT_KEYS if isinstance(key, str) else key.text_field
    return field or TEXT_KEYS, None if field is None else text_of(data, field, is_text=isinstance(name, str))


def text_of(data: bytes, field: str, *, is_text: bool) -> KeyText | None:
    """The text of a serialised key and what else it holds; None when it has no such field.

    JSON and MessagePack are understood. ``is_text`` tells a key that is plain text from a key object.
    """
    if is_text or field == TEXT_KEYS:
        whole = is_text and field == TEXT_KEYS
        return KeyText(data.decode(errors="replace"), TEXT_KEYS) if whole else None
    fields = _fields(data)
    text = None if fields is None else fields.pop(field, None)
    if not isinstance(text, str):
        return None
    rest = msgspec.json.encode(fields, order="sorted")
    return KeyText(text, blake2b(rest, digest_size=20).hexdigest())


def _fields(data: bytes) -> dict[str, Any] | None:
    for decode in (msgspec.json.decode, msgspec.msgpack.decode):
        try:
            fields: Any = decode(data)
        except (msgspec.DecodeError, UnicodeError, ValueError, RecursionError):
            continue
        if isinstance(fields, dict) and all(isinstance(name, str) for name in cast("dict[object, Any]", fields)):
            return cast("dict[str, Any]", fields)
    return None


class LazyEmbedder:
    """The embedder given, or the local one, loaded when it is first needed."""

    def __init__(self, given: Any = None) -> None:
        self._embedder: Embedder | None = None if given is None else embedder_of(given)

    @property
    def embedder(self) -> Embedder:
        """The embedder itself."""
        if self._embedder is None:
            # Loads a model's run-time, which a cache that only matches exactly never needs.
            from memwell.models.local import LocalEmbedder  # noqa: PLC0415

            self._embedder = LocalEmbedder()
        return self._embedder

    def halves(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts at half precision; None for a text that has no direction."""
        rows = self.embedder.embed(list(texts))
        return [row.astype("<f2").tobytes() if row.any() else None for row in rows]


def embedder_of(given: Any) -> Embedder:
    """An embedder of an ``Embedder``, a function, or an object with ``embed_documents``. Raises ``InvalidInput``."""
    if hasattr(given, "embed_documents"):
        model = getattr(given, "model_name", None) or getattr(given, "model", "")
        # Kept vectors are known by the name: two models of one class must not share it.
        return as_embedder(given.embed_documents, name=f"{type(given).__qualname__} {model}".strip())
    return as_embedder(given)


class SimilarTexts(Generic[T]):
    """The vectors of texts in this process's memory, each with the name of its entry. Not safe between threads."""

    def __init__(self) -> None:
        self._matrix: Matrix | None = None
        self._groups: dict[str, dict[int, T]] = {}
        self._known: dict[T, tuple[int, str]] = {}
        self._numbers = 0

    def __contains__(self, name: T) -> bool:
        return name in self._known

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        if self._matrix is None:
            return 0
        # The matrix finds its rows by a table as large as the one of names; each name has a number, a place and a pair.
        tables = 3 * sys.getsizeof(self._known) + sys.getsizeof(self._groups)
        return self._matrix.nbytes + tables + len(self._known) * (2 * _INTEGER + _PAIR)

    def add(self, texts: Mapping[T, KeyText], vectors: Iterable[bytes | None]) -> None:
        """Take in the texts of entries with their vectors; one without a vector is left out."""
        rows: list[tuple[int, bytes]] = []
        for (name, text), vector in zip(texts.items(), vectors, strict=True):
            if vector is not None and name not in self._known:
                self._numbers += 1
                rows.append((self._numbers, vector))
                self._groups.setdefault(text.rest, {})[self._numbers] = name
                self._known[name] = (self._numbers, text.rest)
        if rows:
            self._apply(rows)

    def _apply(self, rows: list[tuple[int, bytes]]) -> None:
        if self._matrix is None:
            # Loads numpy and usearch, which a cache that only matches exactly never needs.
            from memwell.storage.vectors import Matrix  # noqa: PLC0415

            self._matrix = Matrix(len(rows[0][1]) // 2, 0)
        self._matrix.apply(0, rows)

    def drop(self, name: T) -> None:
        """Forget the text of an entry, if it is known."""
        number, rest = self._known.pop(name, (0, ""))
        if number and self._matrix is not None:
            self._matrix.apply(0, [(number, None)])
            group = self._groups[rest]
            del group[number]
            if not group:
                del self._groups[rest]

    def nearest(
        self, vector: bytes, rest: str, threshold: float, accepted: Callable[[T], bool] = lambda _: True
    ) -> T | None:
        """The entry whose text is nearest among those with the same rest that are near enough and accepted."""
        group = self._groups.get(rest)
        if self._matrix is None or not group:
            return None
        from memwell.storage.vectors import as_query  # noqa: PLC0415  (loaded already, with the matrix)

        allowed: Any = None if len(self._groups) == 1 else list(group)
        best = self._matrix.view().nearest(as_query(unpack_half(vector)), NEAREST, allowed)
        near = (group[one.key] for one in best if one.score >= threshold)
        return next((name for name in near if accepted(name)), None)


__all__ = [
    "KeyText",
    "LazyEmbedder",
    "NEAREST",
    "SimilarTexts",
    "TEXT_KEYS",
    "asked_text",
    "embedder_of",
    "text_of",
    "wants_similar",
]
