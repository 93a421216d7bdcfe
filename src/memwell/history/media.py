"""Checks of media before they are stored: detects the type of bytes, compares it with the declared one, limits the size."""

from __future__ import annotations

import struct
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from memwell.errors import InvalidInput
from memwell.values import check_count, shown

# The type of a file by its first bytes, never by its name alone.

HEAD = 4096
"""How many bytes are examined."""

KINDS = ("image", "audio", "video")

_FAMILIES = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WebP",
    "image/bmp": "BMP",
    "audio/wav": "WAV",
    "audio/mpeg": "MP3",
    "audio/flac": "FLAC",
    "audio/ogg": "Ogg",
    "video/ogg": "Ogg",
    "audio/mp4": "MP4",
    "video/mp4": "MP4",
    "video/3gpp": "MP4",
    "video/quicktime": "MP4",
    "audio/webm": "Matroska",
    "video/webm": "Matroska",
    "audio/x-matroska": "Matroska",
    "video/x-matroska": "Matroska",
    "video/x-msvideo": "AVI",
}
"""The container format of each type: a declared type must have the same one as the bytes."""

_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "image/x-ms-bmp": "image/bmp",
    **dict.fromkeys(("audio/x-wav", "audio/wave", "audio/vnd.wave"), "audio/wav"),
    **dict.fromkeys(("audio/mp3", "audio/x-mp3", "audio/x-mpeg"), "audio/mpeg"),
    **dict.fromkeys(("audio/m4a", "audio/x-m4a"), "audio/mp4"),
    **dict.fromkeys(("audio/opus", "application/ogg"), "audio/ogg"),
    "audio/x-flac": "audio/flac",
    "audio/3gpp": "audio/mp4",
    "video/x-m4v": "video/mp4",
    **dict.fromkeys(("video/avi", "video/msvideo"), "video/x-msvideo"),
    "video/matroska": "video/x-matroska",
    "audio/matroska": "audio/x-matroska",
}
_SUFFIXES = {
    **dict.fromkeys((".jpg", ".jpeg", ".jpe", ".jfif"), "image/jpeg"),
    **dict.fromkeys((".bmp", ".dib"), "image/bmp"),
    **dict.fromkeys((".wav", ".wave"), "audio/wav"),
    **dict.fromkeys((".ogg", ".oga", ".opus", ".spx"), "audio/ogg"),
    **dict.fromkeys((".m4a", ".m4b"), "audio/mp4"),
    **dict.fromkeys((".mp4", ".m4v"), "video/mp4"),
    **dict.fromkeys((".3gp", ".3g2"), "video/3gpp"),
    **dict.fromkeys((".mov", ".qt"), "video/quicktime"),
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogv": "video/ogg",
    ".webm": "video/webm",
    ".weba": "audio/webm",
    ".mkv": "video/x-matroska",
    ".mka": "audio/x-matroska",
    ".avi": "video/x-msvideo",
}
_OTHER_SUFFIXES = frozenset(
    (
        ".txt .md .rst .html .htm .xml .svg .json .jsonl .csv .tsv .yaml .yml .toml .ini .log .py .js .ts .sh .bat .ps1 "
        ".exe .dll .so .bin .pdf .doc .docx .xls .xlsx .ppt .pptx .odt .rtf .epub .zip .tar .gz .bz2 .xz .7z .rar .db "
        ".tif .tiff .heic .heif .avif .ico .psd .raw .cr2 .nef .aac .aif .aiff .wma .amr .mid .midi .wmv .flv .mpg .mpeg"
    ).split()
)
"""Suffixes of other files. An unknown suffix says nothing."""


class DeclaredType(NamedTuple):
    """The type that a name or a declaration gives a file; None for a type that is no known medium."""

    media_type: str | None
    said: str


def declared_by_name(name: str) -> DeclaredType | None:
    """The type by a file name's suffix; None when it says nothing."""
    suffix = PurePath(name).suffix.lower()
    if suffix in _SUFFIXES:
        return DeclaredType(_SUFFIXES[suffix], f"the name {name!r}")
    return DeclaredType(None, f"the name {name!r}") if suffix in _OTHER_SUFFIXES else None


def declared_by_type(media_type: str | None) -> DeclaredType | None:
    """The type by a declaration; None for one that says nothing, such as ``application/octet-stream`` and ``image/*``."""
    plain = (media_type or "").split(";", 1)[0].strip().lower()
    if not plain or plain == "application/octet-stream" or plain.endswith("/*"):
        return None
    plain = _ALIASES.get(plain, plain)
    return DeclaredType(plain if plain in _FAMILIES else None, f"the type {media_type!r}")


def family_of(media_type: str) -> str:
    """The container format of a type."""
    return _FAMILIES[media_type]


def kind_of(media_type: str) -> str:
    """``image``, ``audio`` or ``video``."""
    return media_type.split("/", 1)[0]


def types_of(head: bytes) -> tuple[str, ...]:
    """The possible types of a file by its first bytes, the likeliest first; empty for no known medium."""
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return (media_type,)
    if head[:4] in (b"RIFF", b"RF64"):
        return _RIFF.get(head[8:12], ())
    if head.startswith(b"OggS"):
        return ("video/ogg",) if b"theora" in head[:512] else ("audio/ogg",)
    if head.startswith(b"\x1aE\xdf\xa3"):
        return _of_matroska(head[:256])
    if head[4:8] == b"ftyp":
        return _of_brand(head[8:12])
    if head[4:8] in (b"moov", b"mdat", b"wide", b"pnot"):
        return ("video/quicktime",)
    if _is_bitmap(head):
        return ("image/bmp",)
    return ("audio/mpeg",) if _is_mp3(head) else ()


_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
)
_RIFF = {b"WEBP": ("image/webp",), b"WAVE": ("audio/wav",), b"AVI ": ("video/x-msvideo",)}
_PICTURE_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1", b"avif", b"avis", b"crx ", b"jxl ")


def _of_brand(brand: bytes) -> tuple[str, ...]:
    if brand in _PICTURE_BRANDS:
        return ()
    if brand in (b"M4A ", b"M4B ", b"M4P "):
        return ("audio/mp4",)
    if brand == b"qt  ":
        return ("video/quicktime", "audio/mp4")
    return ("video/3gpp", "audio/mp4") if brand.startswith(b"3g") else ("video/mp4", "audio/mp4")


def _of_matroska(head: bytes) -> tuple[str, ...]:
    if b"webm" in head:
        return ("video/webm", "audio/webm")
    return ("video/x-matroska", "audio/x-matroska") if b"matroska" in head else ()


def _is_bitmap(head: bytes) -> bool:
    """Whether it is a BMP header: two letters alone may begin any text."""
    header = int.from_bytes(head[14:18], "little")
    return head.startswith(b"BM") and head[6:10] == bytes(4) and header in (12, 40, 52, 56, 64, 108, 124)


_BITRATES = {
    3: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}


def _is_mp3(head: bytes) -> bool:
    """Whether it begins with a frame of MPEG audio, layer III, followed by another frame."""
    length = _frame_length(head)
    if not length:
        return False
    following = head[length : length + 4]
    return len(following) < 4 or _frame_length(following) > 0


def _frame_length(frame: bytes) -> int:
    """The length of a frame by its header; 0 for no frame."""
    if len(frame) < 4 or frame[0] != 0xFF or frame[1] & 0xE6 != 0xE2:
        return 0
    version, bitrate, rate = frame[1] >> 3 & 3, frame[2] >> 4, frame[2] >> 2 & 3
    if version == 1 or bitrate in (0, 15) or rate == 3:
        return 0
    samples = 144_000 if version == 3 else 72_000
    return samples * _BITRATES[3 if version == 3 else 2][bitrate] // _RATES[version][rate] + (frame[2] >> 1 & 1)


def looks_like_svg(head: bytes) -> bool:
    """Whether it is an SVG drawing, which may contain scripts and URLs."""
    return b"<svg" in head[:HEAD].lower() and head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"


# The size of an image by its header, without decoding: an image that claims to be too large is never decoded.

_MOST_SEGMENTS = 4096
"""A bound for files of nothing but markers."""


def picture_size(data: bytes, media_type: str) -> tuple[int, int] | None:
    """Width and height by the header; None when the header is incomplete or invalid."""
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
    # A negative height means that rows go from top to bottom.
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

_MEGABYTE = 1024 * 1024


class MediaLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The largest allowed sizes of media. Raises ``InvalidInput`` for a limit that is no integer above 0."""

    image_bytes: int = 20 * _MEGABYTE
    audio_bytes: int = 50 * _MEGABYTE
    video_bytes: int = 200 * _MEGABYTE
    image_pixels: int = 50_000_000
    """Width times height of an image or video: a file of kilobytes can claim an image of gigabytes."""
    image_side: int = 65_535
    """Width and height of an image or video: each row costs memory too, however narrow it is."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_count(getattr(self, name), name, least=1)

    @property
    def most_bytes(self) -> int:
        """The largest size of any medium."""
        return max(self.image_bytes, self.audio_bytes, self.video_bytes)

    def allow_size(self, width: int, height: int) -> bool:
        """Whether an image or video of this size is decoded."""
        return max(width, height) <= self.image_side and width * height <= self.image_pixels

    def bytes_of(self, kind: str) -> int:
        """The largest size of an ``image``, ``audio`` or ``video``."""
        return {"image": self.image_bytes, "audio": self.audio_bytes, "video": self.video_bytes}[kind]


DEFAULT_LIMITS = MediaLimits()


class Medium(msgspec.Struct, frozen=True):
    """The detected type and size of bytes. Width and height are by the header, None when it cannot be read."""

    kind: str
    media_type: str
    size: int
    width: int | None = None
    height: int | None = None


def check_kind(kind: object) -> str:
    """Return a valid kind. Raises ``InvalidInput``."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"a medium is one of {', '.join(KINDS)}, not {shown(kind)}")
    return kind


def check_media(
    data: bytes,
    *,
    kind: str | None = None,
    name: str = "",
    media_type: str | None = None,
    limits: MediaLimits = DEFAULT_LIMITS,
) -> Medium:
    """The type and size of a medium's bytes, after they are checked against the declared ones and the limits.

    Nothing is decoded. Raises ``InvalidInput`` for bytes of no known format, for a kind, name or type that contradicts
    them, and for too many bytes or pixels.
    """
    if kind is not None:
        check_kind(kind)
    found = _agreed_type(_known(data[:HEAD]), kind, declared_by_name(name), declared_by_type(media_type))
    most = limits.bytes_of(kind_of(found))
    if len(data) > most:
        raise InvalidInput(f"the {kind_of(found)} has {len(data):,} bytes, over the limit of {most:,}")
    size = picture_size(data, found) if found.startswith("image/") else None
    if size is None:
        return Medium(kind_of(found), found, len(data))
    if not limits.allow_size(*size):
        over = f"{limits.image_pixels:,}" if max(size) <= limits.image_side else f"{limits.image_side:,} for a side"
        raise InvalidInput(f"the image claims {size[0]:,} × {size[1]:,} pixels, over the limit of {over}")
    return Medium("image", found, len(data), *size)


def _known(head: bytes) -> tuple[str, ...]:
    if not head:
        raise InvalidInput("a medium must have bytes; these are none")
    types = types_of(head)
    if types:
        return types
    if looks_like_svg(head):
        raise InvalidInput("an SVG drawing may hold scripts and is not kept as an image; give it as PNG")
    raise InvalidInput(f"the bytes are no image, audio or video of a known format; they begin {head[:12]!r}")


def _agreed_type(types: tuple[str, ...], kind: str | None, *claims: DeclaredType | None) -> str:
    """The possible type that agrees with everything declared."""
    for claim in claims:
        if claim is not None and (claim.media_type is None or family_of(claim.media_type) != family_of(types[0])):
            says = claim.media_type or "something else"
            raise InvalidInput(f"the bytes are {types[0]}, but {claim.said} says {says}: they are not what it says")
    wanted = [kind] if kind else [kind_of(claim.media_type) for claim in claims if claim and claim.media_type]
    fitting = [one for one in types if not wanted or kind_of(one) == wanted[0]]
    if fitting:
        return fitting[0]
    if kind is not None:
        raise InvalidInput(f"the bytes are {types[0]}, not {kind}: they are not what was said")
    return types[0]
