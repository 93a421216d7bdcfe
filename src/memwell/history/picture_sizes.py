"""How large a picture is by its header, read without decoding it: what claims to be too large is never decoded."""

from __future__ import annotations

import struct

_MOST_SEGMENTS = 4096
"""A file of nothing but markers must not keep anybody busy."""


def picture_size(data: bytes, media_type: str) -> tuple[int, int] | None:
    """Width and height as the header has them; None when the header is cut short or makes no sense."""
    try:
        width, height = _READERS[media_type](data)
    except (KeyError, struct.error, IndexError):
        return None
    return (width, height) if width > 0 and height > 0 else None


def _png(data: bytes) -> tuple[int, int]:
    return struct.unpack_from(">II", data, 16) if data[12:16] == b"IHDR" else (0, 0)


def _gif(data: bytes) -> tuple[int, int]:
    return struct.unpack_from("<HH", data, 6)


def _bmp(data: bytes) -> tuple[int, int]:
    if data[14] == 12:
        return struct.unpack_from("<HH", data, 18)
    width, height = struct.unpack_from("<ii", data, 18)
    # A height below zero says that the rows go from top to bottom.
    return width, abs(height)


def _webp(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return _three_bytes(data, 24) + 1, _three_bytes(data, 27) + 1
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF


def _three_bytes(data: bytes, at: int) -> int:
    return data[at] | data[at + 1] << 8 | data[at + 2] << 16


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(_MOST_SEGMENTS):
        if data[at] != 0xFF:
            return 0, 0
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            if length < 2:
                return 0, 0
            at += 2 + length
    return 0, 0


_READERS = {
    "image/png": _png,
    "image/gif": _gif,
    "image/bmp": _bmp,
    "image/webp": _webp,
    "image/jpeg": _jpeg,
}


__all__ = ["picture_size"]
