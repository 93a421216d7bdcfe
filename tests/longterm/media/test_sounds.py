from __future__ import annotations

import struct

import pytest

from memwell.longterm.media.sounds import preview_wave
from tests.media_files import wav


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_the_length_of_every_form_is_known(width: int, channels: int):
    found = preview_wave(wav(0.25, 4000, width, channels))
    assert found is not None
    assert found.duration_s == 0.25
    assert found.thumbnail
    assert not found.warnings


def test_a_sound_shorter_than_the_drawing_is_wide_is_drawn():
    found = preview_wave(wav(0.01, 8000))
    assert found is not None
    assert found.duration_s == 0.01
    assert found.thumbnail


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


def test_numbers_with_a_point_are_left_to_others():
    data = bytearray(wav())
    data[20:22] = struct.pack("<H", 3)
    assert preview_wave(bytes(data)) is None


def test_a_header_that_promises_anything_is_not_believed():
    data = bytearray(wav(0.5))
    data[40:44] = struct.pack("<I", 2**31)
    found = preview_wave(bytes(data))
    assert found is not None
    assert (found.duration_s or 0) < 1.0
