"""What is found out about a medium's content when it is taken in."""

from __future__ import annotations

import msgspec

_LONGEST_WARNING = 160
WITHOUT_EXTRA = 'it has no thumbnail, as memwell[media] was not installed: pip install "memwell[media]"'
"""What is said of a medium that would have a thumbnail with the extra."""


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """A thumbnail as JPEG where one could be made, how long it lasts, and what is wrong with it if anything is."""

    thumbnail: bytes | None = None
    width: int | None = None
    height: int | None = None
    duration_s: float | None = None
    warnings: tuple[str, ...] = ()


def cut_short(error: BaseException) -> str:
    """What a decoder complains of, in one short line that any store can keep."""
    text = " ".join(str(error).split()).replace("\x00", " ") or type(error).__name__
    return text.encode(errors="replace").decode()[:_LONGEST_WARNING]


__all__ = ["WITHOUT_EXTRA", "Preview", "cut_short"]
