"""WAV files: how long they are, and how loud at each moment."""

from __future__ import annotations

import io
import sys
import wave
from array import array

from memwell.longterm.media.pictures import EDGE, thumbnail_of_sound
from memwell.longterm.media.previews import WITHOUT_EXTRA, Preview, cut_short

_FRAMES_A_COLUMN = 1000
"""So many are looked at for one column of the drawing: an hour of sound costs no more than a minute of it."""

_HEADER = 44


def preview_wave(data: bytes) -> Preview | None:
    """The length of a WAV file and a drawing of it; None when its samples are in a form that is not read here."""
    try:
        with wave.open(io.BytesIO(data)) as sound:
            return _preview(sound, len(data))
    except wave.Error as error:
        # Numbers with a point, and sound that is compressed: nothing is wrong with those.
        return None if "unknown format" in str(error) else Preview(warnings=(_broken(error),))
    except (EOFError, ValueError, RuntimeError, OverflowError) as error:
        return Preview(warnings=(_broken(error),))


def _broken(error: BaseException) -> str:
    return f"its samples cannot be read: {cut_short(error)}"


def _preview(sound: wave.Wave_read, size: int) -> Preview:
    width = sound.getsampwidth() * sound.getnchannels()
    # The header may promise more than there is.
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
    """How loud it is from a frame on, from 0 to 1."""
    sound.setpos(start)
    raw = sound.readframes(min(frames, _FRAMES_A_COLUMN))
    width = sound.getsampwidth()
    if width == 1:
        return max((abs(one - 128) for one in raw), default=0) / 128
    # The two highest bytes of a sample say enough, and lie last.
    samples = array("h")
    tops = raw if width == 2 else b"".join(raw[at - 2 : at] for at in range(width, len(raw) + 1, width))
    samples.frombytes(tops[: len(tops) // 2 * 2])
    if sys.byteorder == "big":
        samples.byteswap()
    return min(1.0, max(map(abs, samples), default=0) / 32_767)


__all__ = ["preview_wave"]
