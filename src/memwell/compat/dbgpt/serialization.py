"""Objects as bytes and back. A class is always named by the reader: bytes never say which class they become."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput
from memwell.values import shown

_MISFITS = (TypeError, ValueError, LookupError, AttributeError)
"""What a constructor raises when it is called with fields that are not its own."""

# Made once: making an encoder takes as long as a small object. One that holds itself is found by the depth it has.
_as_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode


class Serializable(ABC):
    """What can be written as bytes. The keys of ``to_dict`` are the parameters of the constructor."""

    _serializer: Serializer | None = None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of plain data."""

    def serialize(self) -> bytes:
        """The object as bytes. Raises ``InvalidInput`` when no serializer was set, ``StorageError`` for data it cannot
        write.
        """
        if self._serializer is None:
            raise InvalidInput("Serializer is not set. Please set the serializer before serialization.")
        return self._serializer.serialize(self)

    def set_serializer(self, serializer: Serializer) -> None:
        """Write the object with ``serializer`` from now on."""
        self._serializer = serializer


S = TypeVar("S", bound=Serializable)


class Serializer(ABC):
    """Turns objects into bytes and bytes into objects."""

    @abstractmethod
    def serialize(self, obj: Serializable) -> bytes:
        """The object as bytes. Raises ``StorageError`` for one that cannot be written."""

    @abstractmethod
    def deserialize(self, data: bytes, cls: type[S]) -> S:
        """A fresh object of ``cls``. Raises ``StorageError`` for bytes that do not fit it."""


class JsonSerializer(Serializer):
    """JSON in UTF-8, every character as it is."""

    def serialize(self, obj: Serializable) -> bytes:
        """The object as JSON. Raises ``StorageError`` for one that holds anything but plain data."""
        return _json_of(obj)

    def deserialize(self, data: bytes, cls: type[S]) -> S:
        """A fresh object of ``cls`` from JSON. Raises ``StorageError`` for bytes that do not fit it."""
        return _decoded(data, cls, self, msgspec.json.decode)


class MsgpackSerializer(Serializer):
    """MessagePack: smaller than JSON, and it keeps bytes and times with a zone as they are."""

    def serialize(self, obj: Serializable) -> bytes:
        """The object as MessagePack. Raises ``StorageError`` for one that holds what MessagePack has no form for."""
        try:
            return msgspec.msgpack.encode(obj.to_dict())
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise StorageError(f"a {type(obj).__name__} cannot be written as MessagePack: {error}") from error

    def deserialize(self, data: bytes, cls: type[S]) -> S:
        """A fresh object of ``cls`` from MessagePack. Raises ``StorageError`` for bytes that do not fit it."""
        return _decoded(data, cls, self, msgspec.msgpack.decode)


class JsonSerializable(Serializable):
    """What is written as JSON without a serializer being set."""

    def serialize(self) -> bytes:
        """The object as JSON. Raises ``StorageError`` for one that holds anything but plain data."""
        return _json_of(self)


def made_from(fields: Any, cls: type[S], serializer: Serializer | None) -> S:
    """A fresh object of ``cls`` made from its fields. Raises ``StorageError`` naming the class when they do not fit it."""
    if type(fields) is not dict:
        raise StorageError(f"a {cls.__name__} is made from named fields, not from {shown(fields)}")
    try:
        made = cls(**fields)
    except _MISFITS as error:
        raise StorageError(f"the data does not fit {cls.__name__}: {error}") from error
    if serializer is not None:
        made.set_serializer(serializer)
    return made


def all_made_from(rows: Sequence[Any], cls: type[S], serializer: Serializer) -> list[S]:
    """The same for many, which costs less for each."""
    try:
        made = [cls(**fields) for fields in rows]
    except _MISFITS:
        # One of them does not fit: say it as it is said of one.
        return [made_from(fields, cls, serializer) for fields in rows]
    if cls.set_serializer is Serializable.set_serializer:
        for one in made:
            one._serializer = serializer  # pyright: ignore[reportPrivateUsage] - what the method does, without the call
    else:
        for one in made:
            one.set_serializer(serializer)
    return made


def _json_of(obj: Serializable) -> bytes:
    try:
        return _as_json(obj.to_dict()).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"a {type(obj).__name__} cannot be written as JSON: {error}") from error


def _decoded(data: bytes, cls: type[S], serializer: Serializer, decode: Any) -> S:
    try:
        fields = decode(data)
    except (msgspec.DecodeError, UnicodeError, TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"these bytes are no {cls.__name__}: {error}") from error
    return made_from(fields, cls, serializer)


__all__ = [
    "JsonSerializable",
    "JsonSerializer",
    "MsgpackSerializer",
    "Serializable",
    "Serializer",
    "all_made_from",
    "made_from",
]
