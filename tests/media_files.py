"""Real pictures, sounds and films, made when they are asked for."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from functools import cache
from math import sin
from typing import Any

import av
from PIL import Image

RED = (200, 30, 30)
FILMS = {
    "mp4": ("mp4", "libx264"), "mov": ("mov", "mpeg4"), "webm": ("webm", "libvpx"), "mkv": ("matroska", "mpeg4"),
    "avi": ("avi", "mpeg4"),
}  # fmt: skip
SOUNDS = {
    "mp3": ("mp3", "libmp3lame", 16_000), "flac": ("flac", "flac", 16_000), "ogg": ("ogg", "libopus", 48_000),
    "m4a": ("ipod", "aac", 16_000), "mp4": ("mp4", "aac", 16_000), "weba": ("webm", "libopus", 48_000),
}  # fmt: skip


def picture(
    format_: str = "PNG", size: tuple[int, int] = (64, 48), colour: tuple[int, ...] = RED, **options: Any
) -> bytes:
    """A picture of one colour."""
    out = io.BytesIO()
    Image.new("RGBA" if len(colour) == 4 else "RGB", size, colour).save(out, format_, **options)
    return out.getvalue()


def claiming(width: int, height: int, *, content: bytes = zlib.compress(bytes(100))) -> bytes:
    """A small PNG whose header claims any size, with other content than that."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = b"".join(_chunk(*one) for one in ((b"IHDR", header), (b"IDAT", content), (b"IEND", b"")))
    return b"\x89PNG\r\n\x1a\n" + body


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def wav(seconds: float = 0.5, rate: int = 8000, width: int = 2, channels: int = 1) -> bytes:
    """A tone that grows louder."""
    out = io.BytesIO()
    frames = int(seconds * rate)
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        for number in range(frames):
            value = int(0.9 * sin(number / 3) * number / frames * (2 ** (8 * width - 1) - 1))
            sample = bytes([value + 128]) if width == 1 else value.to_bytes(width, "little", signed=True)
            file.writeframesraw(sample * channels)
    return out.getvalue()


@cache
def film(ending: str = "mp4", frames: int = 5, size: tuple[int, int] = (64, 48)) -> bytes:
    """A film of one colour, ten frames a second."""
    container, codec = FILMS[ending]
    out = io.BytesIO()
    with av.open(out, "w", format=container) as file:
        stream: Any = file.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for _ in range(frames):
            frame = av.VideoFrame.from_image(Image.new("RGB", size, RED))
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    return out.getvalue()


@cache
def sound(ending: str) -> bytes:
    """A second of silence."""
    container, codec, rate = SOUNDS[ending]
    out = io.BytesIO()
    with av.open(out, "w", format=container) as file:
        stream: Any = file.add_stream(codec, rate=rate, layout="mono")
        resampler = av.AudioResampler(
            format=stream.format, layout="mono", rate=rate, frame_size=stream.codec_context.frame_size or 1024
        )
        frame = av.AudioFrame(format="s16", layout="mono", samples=rate)
        frame.sample_rate = rate
        frame.planes[0].update(bytes(frame.planes[0].buffer_size))
        for piece in [*resampler.resample(frame), *resampler.resample(None)]:
            file.mux(stream.encode(piece))
        file.mux(stream.encode())
    return out.getvalue()


__all__ = ["FILMS", "RED", "SOUNDS", "claiming", "film", "picture", "sound", "wav"]
