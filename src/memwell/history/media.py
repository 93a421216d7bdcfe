"""Checking media before they are kept: what the bytes are, whether that is what was said, and how large they are."""

from __future__ import annotations

import msgspec

from memwell.errors import InvalidInput
from memwell.history.media_types import (
    HEAD,
    KINDS,
    Claim,
    claim_of_name,
    claim_of_type,
    family_of,
    kind_of,
    looks_like_svg,
    types_of,
)
from memwell.history.picture_sizes import picture_size
from memwell.values import check_count, shown

_MEGABYTE = 1024 * 1024


class MediaLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How large media may be. Raises ``InvalidInput`` for a limit that is no whole number above 0."""

    image_bytes: int = 20 * _MEGABYTE
    audio_bytes: int = 50 * _MEGABYTE
    video_bytes: int = 200 * _MEGABYTE
    image_pixels: int = 50_000_000
    """Width times height, of a picture and of a film: a file of some kilobytes can claim a picture of gigabytes."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_count(getattr(self, name), name, least=1)

    @property
    def most_bytes(self) -> int:
        """The largest that any medium may be."""
        return max(self.image_bytes, self.audio_bytes, self.video_bytes)

    def bytes_of(self, kind: str) -> int:
        """How many bytes an ``image``, ``audio`` or ``video`` may have."""
        return {"image": self.image_bytes, "audio": self.audio_bytes, "video": self.video_bytes}[kind]


DEFAULT_LIMITS = MediaLimits()


class Medium(msgspec.Struct, frozen=True):
    """What bytes were found to be. A picture's size is that of its header, None when that cannot be read."""

    kind: str
    media_type: str
    size: int
    width: int | None = None
    height: int | None = None


def check_kind(kind: object) -> str:
    """Return it when it is one. Raises ``InvalidInput``."""
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
    """What the bytes of a medium are, once they are known to be what was said of them and within the limits.

    Nothing is decoded. Raises ``InvalidInput`` for bytes of no known format, for a kind, name or type that they are not,
    and for too many bytes or pixels.
    """
    if kind is not None:
        check_kind(kind)
    found = _agreed(_known(data[:HEAD]), kind, claim_of_name(name), claim_of_type(media_type))
    most = limits.bytes_of(kind_of(found))
    if len(data) > most:
        raise InvalidInput(f"the {kind_of(found)} has {len(data):,} bytes, over the limit of {most:,}")
    size = picture_size(data, found) if found.startswith("image/") else None
    if size is None:
        return Medium(kind_of(found), found, len(data))
    if size[0] * size[1] > limits.image_pixels:
        raise InvalidInput(
            f"the image claims {size[0]:,} × {size[1]:,} pixels, over the limit of {limits.image_pixels:,}"
        )
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


def _agreed(types: tuple[str, ...], kind: str | None, *claims: Claim | None) -> str:
    """The one of the types that bytes may be which all that is said agrees with."""
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


__all__ = ["DEFAULT_LIMITS", "MediaLimits", "Medium", "check_kind", "check_media"]
