"""``Preview``: the thumbnail, duration and warnings of a medium, made when it is stored."""

from __future__ import annotations

import io
import struct
import sys
import wave
import zlib
from array import array
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from memwell.confined import confined
from memwell.errors import UnreadableDocument, install_command
from memwell.history.media import MediaLimits, Medium, family_of

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from PIL.Image import Image


_LONGEST_WARNING = 160
WITHOUT_EXTRA = f"it has no thumbnail, as memwell[media] was not installed: {install_command('media')}"
"""The warning for a medium that would have a thumbnail with the extra."""


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """A JPEG thumbnail where one could be made, the duration, and warnings."""

    thumbnail: bytes | None = None
    width: int | None = None
    height: int | None = None
    duration_s: float | None = None
    warnings: tuple[str, ...] = ()


def preview_here(data: bytes, medium: Medium, limits: MediaLimits) -> Preview:
    """The preview of a medium with a checked header, made in this process. One that cannot be decoded has a warning."""
    if medium.kind == "image":
        return preview_picture(data, medium, limits)
    known = preview_wave(data) if medium.media_type == "audio/wav" else None
    return preview_film(data, medium, limits) if known is None else known


def preview_of(data: bytes, medium: Medium, limits: MediaLimits) -> Preview:
    """The preview of a medium with a checked header, made in a worker process with limits (``memwell.confined``).

    One that cannot be decoded, or not within the limits, has a warning instead of a thumbnail.
    """
    if not (find_spec("PIL") or find_spec("av")):
        # Nothing is decoded then.
        return preview_here(data, medium, limits)
    try:
        return confined(preview_here, data, medium, limits)
    except UnreadableDocument as error:
        return Preview(warnings=(f"it has no thumbnail: {error}",))


def cut_short(error: BaseException) -> str:
    """The message of a decoder error, in one short line that any store accepts."""
    text = " ".join(str(error).split()).replace("\x00", " ") or type(error).__name__
    return text.encode(errors="replace").decode()[:_LONGEST_WARNING]


# Thumbnails made with Pillow: of images, of video frames, and of sounds. Without Pillow there are none.

EDGE = 256
"""The largest width and height of a thumbnail in pixels."""

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
# What Pillow raises for invalid images. It has no error class of its own for them, and emits some warnings, which are
# errors in a program that makes them so.
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
    struct.error,
    zlib.error,
)


def pillow() -> ModuleType | None:
    """Pillow's ``Image`` module, or None when it is not installed."""
    try:
        # Optional, and 50 ms to load: only a program that stores an image loads it.
        from PIL import Image  # noqa: PLC0415
    except ImportError:
        return None
    return Image


def preview_picture(data: bytes, medium: Medium, limits: MediaLimits) -> Preview:
    """The thumbnail of an image with a checked header. One that cannot be decoded has a warning instead."""
    images = pillow()
    if images is None:
        return Preview(warnings=(WITHOUT_EXTRA,))
    if medium.width is None:
        return Preview(warnings=("its size cannot be read, so it was not decoded and has no thumbnail",))
    try:
        # Only with the decoder of its type: some of Pillow's many decoders run programs.
        with images.open(io.BytesIO(data), formats=[_FORMATS[medium.media_type]]) as image:
            if not limits.allow_size(image.width, image.height):
                return Preview(warnings=("it is larger than its header says, and was not decoded",))
            return Preview(thumbnail=_thumbnail(image))
    except (*_DECODE_ERRORS, images.DecompressionBombError) as error:
        return Preview(warnings=(f"it cannot be decoded and has no thumbnail: {cut_short(error)}",))


def _thumbnail(image: Image) -> bytes:
    """A small upright copy of an image, without its metadata (location, camera, comments)."""
    from PIL import ImageOps  # noqa: PLC0415 - see pillow()

    # A JPEG is decoded at a reduced size where that is enough.
    image.draft("RGB", (EDGE * 2, EDGE * 2))
    # A load that fails later would not be tried again, and would give a black image.
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
    # A new image on white, so that no metadata is copied.
    flat = Images.new("RGB", shown.size, (255, 255, 255))
    flat.paste(shown, mask=shown.getchannel("A"))
    out = io.BytesIO()
    flat.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()


def thumbnail_of_pixels(pixels: bytes, width: int, height: int) -> bytes | None:
    """The thumbnail of a frame given as RGB bytes; None without Pillow."""
    images = pillow()
    if images is None:
        return None
    image = images.frombytes("RGB", (width, height), pixels)
    image.thumbnail((EDGE, EDGE))
    return _written(image)


def thumbnail_of_sound(peaks: Sequence[float]) -> bytes | None:
    """The waveform of a sound, from its loudness (0 to 1) at each moment; None without Pillow."""
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


# WAV files: their duration and their loudness at each moment.

_FRAMES_A_COLUMN = 1000
"""How many frames are read for a column of the waveform, so that the cost does not grow with the length."""

_HEADER = 44


def preview_wave(data: bytes) -> Preview | None:
    """The duration and waveform of a WAV file; None for an encoding that is not read here."""
    try:
        with wave.open(io.BytesIO(data)) as sound:
            return _preview(sound, len(data))
    except wave.Error as error:
        # Floating point and compressed samples are valid.
        return None if "unknown format" in str(error) else Preview(warnings=(_broken(error),))
    except (EOFError, ValueError, RuntimeError, OverflowError) as error:
        return Preview(warnings=(_broken(error),))


def _broken(error: BaseException) -> str:
    return f"its samples cannot be read: {cut_short(error)}"


def _preview(sound: wave.Wave_read, size: int) -> Preview:
    width = sound.getsampwidth() * sound.getnchannels()
    # The header may announce more than the file holds.
    held = min(sound.getnframes(), max(0, size - _HEADER) // width if width else 0)
    rate = sound.getframerate()
    if not held or rate <= 0 or sound.getsampwidth() not in (1, 2, 3, 4):
        return Preview(warnings=("it holds no sound",))
    warnings = () if held == sound.getnframes() else ("it ends before its header says",)
    peaks = [_peak(sound, column * held // EDGE, max(1, held // EDGE)) for column in range(EDGE)]
    drawn = thumbnail_of_sound(peaks)
    warnings += () if drawn else (WITHOUT_EXTRA,)
    return Preview(thumbnail=drawn, duration_s=round(held / rate, 3), warnings=warnings)


def _peak(sound: wave.Wave_read, start: int, frames: int) -> float:
    """The loudness from a frame on, from 0 to 1."""
    sound.setpos(start)
    raw = sound.readframes(min(frames, _FRAMES_A_COLUMN))
    width = sound.getsampwidth()
    if width == 1:
        return max((abs(one - 128) for one in raw), default=0) / 128
    # The two highest bytes of a sample, which come last, are exact enough.
    samples = array("h")
    tops = raw if width == 2 else b"".join(raw[at - 2 : at] for at in range(width, len(raw) + 1, width))
    samples.frombytes(tops[: len(tops) // 2 * 2])
    if sys.byteorder == "big":
        samples.byteswap()
    return min(1.0, max(map(abs, samples), default=0) / 32_767)


# Videos and other sounds, read with PyAV: their duration and first frame. Without PyAV they are unknown.

_DEMUXERS = {
    "MP4": "mov",
    "Matroska": "matroska",
    "AVI": "avi",
    "Ogg": "ogg",
    "MP3": "mp3",
    "FLAC": "flac",
    "WAV": "wav",
}
_MOST_PACKETS = 400
"""The first frame is searched in this many packets."""


def _pyav() -> ModuleType | None:
    try:
        # Optional, and it loads all of FFmpeg: only a program that stores a video loads it.
        import av  # noqa: PLC0415
    except ImportError:
        return None
    return av


def preview_film(data: bytes, medium: Medium, limits: MediaLimits) -> Preview:
    """The preview of a video or sound. One that cannot be decoded has a warning instead of a thumbnail."""
    av = _pyav()
    if av is None:
        # Of a sound only the duration is missing.
        return Preview(warnings=() if medium.kind == "audio" else (WITHOUT_EXTRA,))
    try:
        # Only with the demuxer of its type: others read playlists and open the files these name. A title that is not
        # in UTF-8 is no reason to refuse a video.
        demuxer = _DEMUXERS[family_of(medium.media_type)]
        with av.open(io.BytesIO(data), "r", format=demuxer, metadata_errors="replace") as container:
            return _video_preview(container, medium, limits)
    except (av.FFmpegError, OSError, ValueError, OverflowError, IndexError, EOFError) as error:
        return Preview(warnings=(f"it cannot be decoded: {cut_short(error)}",))


def _video_preview(container: InputContainer, medium: Medium, limits: MediaLimits) -> Preview:
    duration = container.duration
    seconds = None if duration is None or duration < 0 else round(duration / 1_000_000, 3)
    if medium.kind == "audio":
        warnings = () if container.streams.audio else ("it holds no sound",)
        return Preview(duration_s=seconds, warnings=warnings)
    if not container.streams.video:
        return Preview(duration_s=seconds, warnings=("it holds no moving picture",))
    # None for a codec that this FFmpeg does not know, contrary to the type stubs.
    codec: Any = container.streams.video[0].codec_context
    width, height = (0, 0) if codec is None else (codec.width, codec.height)
    known: dict[str, Any] = {"duration_s": seconds, "width": width or None, "height": height or None}
    if not (width > 0 and height > 0 and limits.allow_size(width, height)):
        return Preview(**known, warnings=(f"its frames of {width:,} × {height:,} pixels were not decoded",))
    frame = _first_frame(container)
    if frame is None or not limits.allow_size(frame.width, frame.height):
        return Preview(**known, warnings=("its first frame cannot be decoded, so it has no thumbnail",))
    if pillow() is None:
        return Preview(**known, warnings=(WITHOUT_EXTRA,))
    return Preview(**known, thumbnail=_video_thumbnail(frame))


def _first_frame(container: InputContainer) -> VideoFrame | None:
    stream = container.streams.video[0]
    # With threads it would decode more frames than one.
    stream.codec_context.thread_count = 1
    for number, packet in enumerate(container.demux(stream)):
        for frame in packet.decode():
            return frame
        if number >= _MOST_PACKETS:
            break
    return None


def _video_thumbnail(frame: VideoFrame) -> bytes | None:
    scale = min(1.0, EDGE / max(frame.width, frame.height))
    width, height = max(1, round(frame.width * scale)), max(1, round(frame.height * scale))
    small = frame.reformat(width=width, height=height, format="rgb24")
    plane = small.planes[0]
    raw, row = bytes(plane), 3 * width
    # Rows are padded for alignment.
    pixels = b"".join(raw[at : at + row] for at in range(0, plane.line_size * height, plane.line_size))
    return thumbnail_of_pixels(pixels, width, height)
