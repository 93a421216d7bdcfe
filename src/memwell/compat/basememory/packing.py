"""Items as bytes, and in fewer bytes: what goes in comes back equal, of the same type."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import msgspec

from memwell.compat.basememory.vectors import SparseVector
from memwell.errors import InvalidInput
from memwell.messages import Message, decode_message, encode_message
from memwell.values import check_json, shown

_TEXT, _BYTES, _JSON, _MESSAGE, _VECTOR = b"s", b"b", b"j", b"m", b"v"
_RAW = -zlib.MAX_WBITS
_LARGEST_DICTIONARY = 32_000
_SAMPLES = 200
_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder().decode


def encode_item(item: object) -> bytes:
    """The item as bytes. Raises ``InvalidInput`` for one that is neither text, bytes, plain JSON data, a ``Message`` nor a
    ``SparseVector``, or that would not come back as it went in.
    """
    kind = type(item)
    if isinstance(item, str) and kind is str:
        return _TEXT + _encoded(item)
    if isinstance(item, bytes) and kind is bytes:
        return _BYTES + item
    if isinstance(item, Message):
        return _MESSAGE + encode_message(item)
    if isinstance(item, SparseVector):
        return _VECTOR + msgspec.msgpack.encode(item)
    check_json(item, "an item")
    encoded = _json(item)
    if _from_json(encoded) != item:
        raise InvalidInput(f"an item must come back as it went in, and a tuple would not: {shown(item)}")
    return _JSON + encoded


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"an item must not contain lone surrogates: {shown(text)} at {error.start}") from None


def decode_item(encoded: bytes) -> Any:
    """The item that ``encode_item`` wrote."""
    kind, body = encoded[:1], encoded[1:]
    if kind == _TEXT:
        # Stores of earlier versions may hold half a character.
        return body.decode(errors="surrogatepass")
    if kind == _BYTES:
        return body
    if kind == _MESSAGE:
        return decode_message(body)
    return msgspec.msgpack.decode(body, type=SparseVector) if kind == _VECTOR else _from_json(body)


class Packed(bytes):
    """An item in few bytes, as a list holds it: the number of its dictionary, then what zlib made of it."""

    __slots__ = ()


class Packer:
    """Packs items one by one, so that each can be read alone. Short ones are packed by what they have in common."""

    def __init__(self) -> None:
        self._dictionaries: list[bytes] = []

    def learn(self, encoded: Sequence[bytes], level: int) -> None:
        """Take what many items have in common for the dictionary of those packed next, if that makes them smaller."""
        if len(self._dictionaries) >= 255:
            return
        step = max(1, len(encoded) // _SAMPLES)
        sample = encoded[::step][:_SAMPLES]
        # A dictionary costs its own size: it may take a small part of what it is for.
        most = min(_LARGEST_DICTIONARY, sum(map(len, encoded)) // 16)
        dictionary = b"".join(encoded[step // 2 :: step][:_SAMPLES])[:most]
        plain, better = _Deflate(b"", level), _Deflate(dictionary, level)
        gain = sum(len(plain(one)) - len(better(one)) for one in sample) * len(encoded) / max(1, len(sample))
        if gain > 2 * len(dictionary):
            self._dictionaries.append(dictionary)

    def packed(self, encoded: Sequence[bytes], level: int) -> list[Packed]:
        """Each in few bytes."""
        number = len(self._dictionaries)
        deflate = _Deflate(self._dictionaries[-1] if number else b"", level)
        return [Packed(bytes([number]) + deflate(one)) for one in encoded]

    def unpacked(self, item: Packed) -> Any:
        """The item as it was."""
        number = item[0]
        dictionary = self._dictionaries[number - 1] if number else b""
        return decode_item(zlib.decompressobj(_RAW, zdict=dictionary).decompress(item[1:]))


class _Deflate:
    """zlib with a dictionary that is read once."""

    def __init__(self, dictionary: bytes, level: int) -> None:
        self._fresh = zlib.compressobj(level, zlib.DEFLATED, _RAW, zdict=dictionary)

    def __call__(self, data: bytes) -> bytes:
        one = self._fresh.copy()
        return one.compress(data) + one.flush()


def check_level(level: int) -> int:
    """Raises ``InvalidInput`` for what is no level of zlib."""
    if type(level) is not int or not 1 <= level <= 9:
        raise InvalidInput(f"level must be a whole number from 1 to 9, not {shown(level)}")
    return level


__all__ = ["Packed", "Packer", "check_level", "decode_item", "encode_item"]
