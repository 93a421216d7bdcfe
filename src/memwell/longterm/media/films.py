"""Films and sounds looked into with PyAV: how long they last, and their first frame. Without PyAV nothing is known."""

from __future__ import annotations

import io
from types import ModuleType
from typing import TYPE_CHECKING, Any

from memwell.history.media import Medium
from memwell.history.media_types import family_of
from memwell.longterm.media.pictures import EDGE, pillow, thumbnail_of_pixels
from memwell.longterm.media.previews import WITHOUT_EXTRA, Preview, cut_short

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame

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
"""The first frame comes within so many, or there is none."""


def _pyav() -> ModuleType | None:
    try:
        # Optional, and it loads the whole of FFmpeg: only who stores a film waits for it.
        import av  # noqa: PLC0415
    except ImportError:
        return None
    return av


def preview_film(data: bytes, medium: Medium, most_pixels: int) -> Preview:
    """What a film or a sound is found to be. One that cannot be decoded has no thumbnail, and a warning."""
    av = _pyav()
    if av is None:
        # A sound that is not drawn lacks nothing but its length.
        return Preview(warnings=() if medium.kind == "audio" else (WITHOUT_EXTRA,))
    try:
        # With the one demuxer that its bytes ask for: others read playlists, and open what these name.
        # A title in another encoding than UTF-8 is nothing against a film.
        demuxer = _DEMUXERS[family_of(medium.media_type)]
        with av.open(io.BytesIO(data), "r", format=demuxer, metadata_errors="replace") as container:
            return _preview(container, medium, most_pixels)
    except (av.FFmpegError, OSError, ValueError, OverflowError, IndexError, EOFError, MemoryError) as error:
        return Preview(warnings=(f"it cannot be decoded: {cut_short(error)}",))


def _preview(container: InputContainer, medium: Medium, most_pixels: int) -> Preview:
    duration = container.duration
    seconds = None if duration is None or duration < 0 else round(duration / 1_000_000, 3)
    if medium.kind == "audio":
        warnings = () if container.streams.audio else ("it holds no sound",)
        return Preview(duration_s=seconds, warnings=warnings)
    if not container.streams.video:
        return Preview(duration_s=seconds, warnings=("it holds no moving picture",))
    # None for a codec that this FFmpeg does not know, whatever its types say.
    codec: Any = container.streams.video[0].codec_context
    width, height = (0, 0) if codec is None else (codec.width, codec.height)
    known: dict[str, Any] = {"duration_s": seconds, "width": width or None, "height": height or None}
    if not 0 < width * height <= most_pixels:
        return Preview(**known, warnings=(f"its frames of {width:,} × {height:,} pixels were not decoded",))
    frame = _first_frame(container)
    if frame is None or frame.width * frame.height > most_pixels:
        return Preview(**known, warnings=("its first frame cannot be decoded, so it has no thumbnail",))
    if pillow() is None:
        return Preview(**known, warnings=(WITHOUT_EXTRA,))
    return Preview(**known, thumbnail=_thumbnail(frame))


def _first_frame(container: InputContainer) -> VideoFrame | None:
    stream = container.streams.video[0]
    # Threads would decode more frames than the one that is wanted.
    stream.codec_context.thread_count = 1
    for number, packet in enumerate(container.demux(stream)):
        for frame in packet.decode():
            return frame
        if number >= _MOST_PACKETS:
            break
    return None


def _thumbnail(frame: VideoFrame) -> bytes | None:
    scale = min(1.0, EDGE / max(frame.width, frame.height))
    width, height = max(1, round(frame.width * scale)), max(1, round(frame.height * scale))
    small = frame.reformat(width=width, height=height, format="rgb24")
    plane = small.planes[0]
    raw, row = bytes(plane), 3 * width
    # Rows are padded to a length that suits the processor.
    pixels = b"".join(raw[at : at + row] for at in range(0, plane.line_size * height, plane.line_size))
    return thumbnail_of_pixels(pixels, width, height)


__all__ = ["preview_film"]
