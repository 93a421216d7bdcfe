from __future__ import annotations

import io
from typing import Any

import av
import pytest
from PIL import Image

from memwell.history.media import check_media
from memwell.longterm.media.films import preview_film
from memwell.longterm.media.previews import Preview
from tests.media_files import FILMS, SOUNDS, film, sound, wav

MOST = 50_000_000


def preview(data: bytes, kind: str | None = None, most: int = MOST) -> Preview:
    return preview_film(data, check_media(data, kind=kind), most)


@pytest.mark.parametrize("ending", FILMS)
def test_the_first_frame_is_the_thumbnail(ending: str):
    found = preview(film(ending, size=(640, 320)))
    assert (found.width, found.height, found.warnings) == (640, 320, ())
    small = Image.open(io.BytesIO(found.thumbnail or b""))
    assert small.size == (256, 128)
    colour: Any = small.getpixel((100, 60))
    assert colour[0] > 150
    assert colour[1] < 80


@pytest.mark.parametrize("ending", SOUNDS)
def test_a_sound_has_a_length_and_no_thumbnail(ending: str):
    found = preview(sound(ending), kind="audio")
    assert found.duration_s == pytest.approx(1.0, abs=0.15)
    assert (found.thumbnail, found.warnings) == (None, ())


def test_a_wave_file_is_read_too():
    assert preview(wav(0.5)).duration_s == 0.5


def test_a_sound_that_is_called_a_film_says_so():
    assert preview(sound("mp4")).warnings == ("it holds no moving picture",)


@pytest.mark.parametrize("ending", FILMS)
def test_a_film_cut_short_is_told_and_raises_nothing(ending: str):
    data = film(ending)
    ends = {len(data) // 4, len(data) // 2, len(data) - 100}
    found = [preview(data[:end]) for end in ends]
    assert all(one.thumbnail is not None or one.warnings for one in found)
    assert any(one.warnings for one in found)


def test_frames_that_are_too_large_are_not_decoded():
    found = preview(film("mp4"), most=1000)
    assert found.thumbnail is None
    assert found.warnings == ("its frames of 64 × 48 pixels were not decoded",)


def test_a_title_in_another_encoding_is_nothing_against_a_film():
    out = io.BytesIO()
    with av.open(io.BytesIO(film("mkv")), "r") as source, av.open(out, "w", format="matroska") as target:
        target.metadata["title"] = "Kanarienvogel"
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    odd = out.getvalue().replace(b"Kanarienvogel", b"Kanarienv\xf6gel"[:13])
    assert b"\xf6" in odd
    assert preview(odd).warnings == ()
