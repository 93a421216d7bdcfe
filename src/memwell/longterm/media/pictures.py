"""Small pictures made with Pillow: of pictures, of the frames of films, and of sounds. Without Pillow there are none."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING

from memwell.history.media import Medium
from memwell.longterm.media.previews import WITHOUT_EXTRA, Preview, cut_short

if TYPE_CHECKING:
    from PIL.Image import Image

EDGE = 256
"""A thumbnail is at most so many pixels wide and high."""

_QUALITY = 80
_FORMATS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
}
_WAVE_HEIGHT = 96
_WAVE_COLOUR = (38, 110, 171)
# What Pillow raises for bytes that are no picture after all. It knows no error of its own for that, and warns of some
# things, which is an error where somebody made warnings errors.
_DECODE_ERRORS = (
    Warning,
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    EOFError,
    MemoryError,
    struct.error,
    zlib.error,
)


def pillow() -> ModuleType | None:
    """Pillow's module of images, or None when it is not installed."""
    try:
        # Optional, and a twentieth of a second to load: only who stores a picture waits for it.
        from PIL import Image  # noqa: PLC0415
    except ImportError:
        return None
    return Image


def preview_picture(data: bytes, medium: Medium, most_pixels: int) -> Preview:
    """The thumbnail of a picture whose header was checked. One that cannot be decoded has none, and a warning."""
    images = pillow()
    if images is None:
        return Preview(warnings=(WITHOUT_EXTRA,))
    if medium.width is None:
        return Preview(warnings=("its size cannot be read, so it was not decoded and has no thumbnail",))
    try:
        # Of one format alone: Pillow knows dozens, and some of them run programs.
        with images.open(io.BytesIO(data), formats=[_FORMATS[medium.media_type]]) as image:
            if image.width * image.height > most_pixels:
                return Preview(warnings=("it is larger than its header says, and was not decoded",))
            return Preview(thumbnail=_thumbnail(image))
    except (*_DECODE_ERRORS, images.DecompressionBombError) as error:
        return Preview(warnings=(f"it cannot be decoded and has no thumbnail: {cut_short(error)}",))


def _thumbnail(image: Image) -> bytes:
    """The picture made small and upright, with nothing of it but what it shows: no place, no camera, no comment."""
    from PIL import ImageOps  # noqa: PLC0415 - see pillow()

    # A JPEG is decoded at an eighth of its size where that is enough.
    image.draft("RGB", (EDGE * 2, EDGE * 2))
    # First of all: what fails here is not tried again, and would be a black picture to whoever asks next.
    image.load()
    orientation = 1
    with suppress(*_DECODE_ERRORS):
        orientation = image.getexif().get(0x0112, 1)
    image.thumbnail((EDGE, EDGE))
    if orientation != 1:
        with suppress(*_DECODE_ERRORS):
            image = ImageOps.exif_transpose(image)
    return _written(image)


def _written(image: Image) -> bytes:
    from PIL import Image as Images  # noqa: PLC0415 - see pillow()

    shown = image.convert("RGBA")
    # On white, and in a new picture: what the old one carries beside its pixels stays behind.
    flat = Images.new("RGB", shown.size, (255, 255, 255))
    flat.paste(shown, mask=shown.getchannel("A"))
    out = io.BytesIO()
    flat.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()


def thumbnail_of_pixels(pixels: bytes, width: int, height: int) -> bytes | None:
    """The thumbnail of a frame given as its red, green and blue bytes; None without Pillow."""
    images = pillow()
    if images is None:
        return None
    image = images.frombytes("RGB", (width, height), pixels)
    image.thumbnail((EDGE, EDGE))
    return _written(image)


def thumbnail_of_sound(peaks: Sequence[float]) -> bytes | None:
    """A sound drawn as a wave, of how loud it is from 0 to 1 at each moment; None without Pillow."""
    images = pillow()
    if images is None:
        return None
    from PIL import ImageDraw  # noqa: PLC0415 - see pillow()

    image = images.new("RGB", (EDGE, _WAVE_HEIGHT), (255, 255, 255))
    pen = ImageDraw.Draw(image)
    middle = _WAVE_HEIGHT // 2
    for column in range(EDGE):
        peak = peaks[column * len(peaks) // EDGE] if peaks else 0.0
        reach = round(peak * (middle - 2))
        pen.line((column, middle - reach, column, middle + reach), fill=_WAVE_COLOUR)
    return _written(image)


__all__ = ["EDGE", "pillow", "preview_picture", "thumbnail_of_pixels", "thumbnail_of_sound"]
