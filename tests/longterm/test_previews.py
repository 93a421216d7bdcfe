from __future__ import annotations

import io
import random
import struct
from typing import Any

import pytest
from PIL import Image

from memwell.errors import InvalidInput
from memwell.history.media import MediaLimits, check_media
from memwell.longterm import previews
from memwell.longterm.previews import Preview, preview_film, preview_picture, preview_wave
from tests.media_files import FILMS, SOUNDS, claiming, film, picture, sound, wav

LIMITS = MediaLimits()
FORMATS = ["PNG", "JPEG", "GIF", "WEBP", "BMP"]


def preview(data: bytes, limits: MediaLimits = LIMITS) -> Preview:
    return preview_picture(data, check_media(data), limits)


def opened(data: bytes | None) -> Image.Image:
    assert data is not None
    return Image.open(io.BytesIO(data))


def pixel(image: Image.Image, across: int, down: int) -> tuple[int, int, int]:
    found: Any = image.getpixel((across, down))
    return found


def exif(**tags: Any) -> Image.Exif:
    found = Image.Exif()
    found[0x010F] = "Kanarienvogel Cameras"
    found[0x8825] = {1: "N", 2: (59.0, 20.0, 30.0), 3: "E", 4: (18.0, 4.0, 5.0)}
    for tag, value in tags.items():
        found[int(tag.removeprefix("t"), 16)] = value
    return found


@pytest.mark.parametrize("format_", ["JPEG", "WEBP", "PNG"])
def test_a_thumbnail_tells_no_place_and_no_camera(format_: str):
    data = picture(format_, (400, 300), exif=exif(), icc_profile=b"Kanarienvogel profile")
    assert b"Kanarienvogel" in data
    small = preview(data).thumbnail
    assert small is not None
    assert b"Kanarienvogel" not in small
    assert b"Exif" not in small
    assert dict(opened(small).getexif()) == {}
    assert "icc_profile" not in opened(small).info


def test_a_thumbnail_is_upright():
    out = io.BytesIO()
    image = Image.new("RGB", (400, 200), (0, 0, 255))
    image.paste((255, 0, 0), (0, 0, 400, 100))
    image.save(out, "JPEG", exif=exif(t0112=6))
    small = opened(preview(out.getvalue()).thumbnail)
    assert small.size == (128, 256)
    # Its upper edge lies at the right once it is turned.
    assert pixel(small, 120, 128)[0] > 200
    assert pixel(small, 8, 128)[0] < 60


def test_a_bomb_is_refused_before_pillow_sees_it(monkeypatch: pytest.MonkeyPatch):
    def never() -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr(previews, "pillow", never)
    with pytest.raises(InvalidInput, match="over the limit of 50,000,000"):
        preview(claiming(20_000, 20_000))
    # A single column within the number of pixels costs a gigabyte: every row has its own memory.
    for width, height in ((1, 50_000_000), (50_000_000, 1)):
        with pytest.raises(InvalidInput, match="over the limit of 65,535 for a side"):
            preview(claiming(width, height))


def test_a_picture_larger_than_was_said_is_not_decoded():
    assert preview(picture("PNG", (200, 200)), MediaLimits(image_pixels=1000)).warnings == (
        "it is larger than its header says, and was not decoded",
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_whatever_is_broken_nothing_is_raised(format_: str):
    whole, dice = picture(format_, (60, 40)), random.Random(7)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(dice.choice((1, 3, 20))):
            data[dice.randrange(8, len(data))] = dice.randrange(256)
        try:
            found = preview(bytes(data[: dice.randrange(20, len(data))] if dice.random() < 0.3 else data))
        except InvalidInput:
            continue
        assert (found.thumbnail is None) == bool(found.warnings)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_the_length_of_every_form_is_known(width: int, channels: int):
    found = preview_wave(wav(0.25, 4000, width, channels))
    assert found is not None
    assert found.duration_s == 0.25
    assert found.thumbnail
    assert not found.warnings


def test_a_file_cut_short_says_so():
    found = preview_wave(wav(1.0)[:5000])
    assert found is not None
    assert found.warnings == ("it ends before its header says",)
    assert found.duration_s == pytest.approx(0.31, abs=0.01)


@pytest.mark.parametrize("data", [wav(0.0), wav()[:30], b"RIFF\x00\x00\x00\x00WAVE", wav()[:44]], ids=len)
def test_a_file_without_sound_has_a_warning(data: bytes):
    found = preview_wave(data)
    assert found is not None
    assert found.thumbnail is None
    assert found.warnings


def test_a_header_that_promises_anything_is_not_believed():
    data = bytearray(wav(0.5))
    data[40:44] = struct.pack("<I", 2**31)
    found = preview_wave(bytes(data))
    assert found is not None
    assert (found.duration_s or 0) < 1.0


def films_preview(data: bytes, kind: str | None = None, limits: MediaLimits = LIMITS) -> Preview:
    return preview_film(data, check_media(data, kind=kind), limits)


@pytest.mark.parametrize("ending", SOUNDS)
def test_a_sound_has_a_length_and_no_thumbnail(ending: str):
    found = films_preview(sound(ending), kind="audio")
    assert found.duration_s == pytest.approx(1.0, abs=0.15)
    assert (found.thumbnail, found.warnings) == (None, ())


def test_a_sound_that_is_called_a_film_says_so():
    assert films_preview(sound("mp4")).warnings == ("it holds no moving picture",)


@pytest.mark.parametrize("ending", FILMS)
def test_a_film_cut_short_is_told_and_raises_nothing(ending: str):
    data = film(ending)
    ends = {len(data) // 4, len(data) // 2, len(data) - 100}
    found = [films_preview(data[:end]) for end in ends]
    assert all(one.thumbnail is not None or one.warnings for one in found)
    assert any(one.warnings for one in found)


def test_frames_that_are_too_large_are_not_decoded():
    found = films_preview(film("mp4"), limits=MediaLimits(image_pixels=1000))
    assert found.thumbnail is None
    assert found.warnings == ("its frames of 64 × 48 pixels were not decoded",)
