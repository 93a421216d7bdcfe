"""What a cache is asked with: keys, values, and how an entry is found and how long it stays."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, StrEnum
from hashlib import sha256
from typing import Any, ClassVar, Generic, TypeVar

from memwell.compat.dbgpt.serialization import JsonSerializer, Serializable, Serializer
from memwell.errors import InvalidInput
from memwell.storage.arguments import check_ttl
from memwell.values import shown

K = TypeVar("K")
V = TypeVar("V")

_set = object.__setattr__


class RetrievalPolicy(StrEnum):
    """How an entry is found: by its key alone, or also by a key whose text means nearly the same."""

    EXACT_MATCH = "exact_match"
    SIMILARITY_MATCH = "similarity_match"


class CachePolicy(StrEnum):
    """Which entry goes first when the cache is full: the one used longest ago, or the one that came first."""

    LRU = "lru"
    FIFO = "fifo"


@dataclass
class CacheConfig:
    """How one call uses the cache. Raises ``InvalidInput`` for a value that is none of those possible.

    ``similarity_threshold`` is the least cosine at which two texts count as the same; ``ttl`` is how many seconds an
    entry that is set lives.
    """

    retrieval_policy: RetrievalPolicy | None = RetrievalPolicy.EXACT_MATCH
    cache_policy: CachePolicy | None = CachePolicy.LRU
    similarity_threshold: float = 0.9
    ttl: float | None = None

    renews: ClassVar[bool | None] = None
    """Whether a use makes an entry the newest, in a config that was checked; None once a field was set after that."""

    def __post_init__(self) -> None:
        self.check()

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)
        _set(self, "renews", None)

    def check(self) -> None:
        """Raises ``InvalidInput`` for a field that was given or set to something impossible."""
        if self.retrieval_policy is not None:
            self.retrieval_policy = _member(RetrievalPolicy, self.retrieval_policy, "retrieval_policy")
        if self.cache_policy is not None:
            self.cache_policy = _member(CachePolicy, self.cache_policy, "cache_policy")
        if not _is_number(self.similarity_threshold) or not -1 <= self.similarity_threshold <= 1:
            raise InvalidInput(f"similarity_threshold must be from -1 to 1, not {shown(self.similarity_threshold)}")
        check_ttl(self.ttl, 0.0)
        # Every call with the config asks; checking costs more than finding the entry does.
        _set(self, "renews", self.cache_policy is not CachePolicy.FIFO)


E = TypeVar("E", bound=Enum)


def _member(kind: type[E], value: object, what: str) -> E:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(one.value) for one in kind)
        raise InvalidInput(f"{what} must be one of {known}, not {shown(value)}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class CacheKey(Serializable, ABC, Generic[K]):
    """What an entry is found by. Two keys mean the same entry when their hash bytes and their serialised data are equal.

    A subclass gives ``to_dict`` and ``get_value``; the rest follows, and may be overridden.
    """

    text_field: ClassVar[str | None] = None
    """Which field of ``to_dict`` is the text that similarity looks at; without one only the exact key is found."""

    kept_hash: bytes | None = None
    """The hash bytes that ``identity`` gave, in a key that keeps them."""

    kept_data: bytes | None = None
    """The serialised key that ``identity`` gave, in a key that keeps it."""

    def __hash__(self) -> int:
        return hash(self.identity()[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CacheKey) and self.identity() == other.identity()

    def get_hash_bytes(self) -> bytes:
        """The SHA-256 of the serialised key. A shorter hash is safe too: entries are told apart by the whole key."""
        return sha256(self.serialize()).digest()

    def identity(self) -> tuple[bytes, bytes]:
        """The hash bytes and the serialised key, which together name the entry."""
        return self.get_hash_bytes(), self.serialize()

    @abstractmethod
    def get_value(self) -> K:
        """What the key stands for."""


class CacheValue(Serializable, ABC, Generic[V]):
    """What an entry holds."""

    @abstractmethod
    def get_value(self) -> V:
        """What the value stands for."""


class FieldsKey(CacheKey[K]):
    """A key made of fields that do not change. It is serialised once, and again after an attribute was set."""

    # Slots, because a cache looks at these for every read and they are nearer than a dict.
    __slots__ = ("config", "kept_data", "kept_hash")
    _serializer: Serializer | None = JsonSerializer()

    def __init__(self, config: K) -> None:
        _set(self, "config", config)
        _set(self, "kept_hash", None)
        _set(self, "kept_data", None)

    def __setattr__(self, name: str, value: Any) -> None:
        _set(self, name, value)
        _set(self, "kept_hash", None)
        _set(self, "kept_data", None)

    def serialize(self) -> bytes:
        """The key as bytes. Raises as ``Serializable.serialize`` does."""
        data = self.kept_data
        if data is None:
            data = super().serialize()
            _set(self, "kept_data", data)
        return data

    def identity(self) -> tuple[bytes, bytes]:
        """The hash bytes and the serialised key, which together name the entry."""
        data, key_hash = self.serialize(), self.kept_hash
        if key_hash is None:
            key_hash = self.get_hash_bytes()
            # A subclass may serialise in a way of its own; what is kept is a pair, the hash last.
            _set(self, "kept_data", data)
            _set(self, "kept_hash", key_hash)
        return key_hash, data

    def get_value(self) -> K:
        """The fields."""
        return self.config

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shown(self.config)})"


__all__ = [
    "CacheConfig",
    "CacheKey",
    "CachePolicy",
    "CacheValue",
    "FieldsKey",
    "RetrievalPolicy",
]
