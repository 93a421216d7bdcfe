from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from memwell.history.picture_sizes import picture_size
from tests.media_files import claiming, picture

FORMATS = ["PNG", "JPEG", "GIF", "WEBP", "BMP"]
SIDES = st.integers(1, 300)


def type_of(format_: str) -> str:
    return f"image/{format_.lower()}"


@pytest.mark.parametrize("format_", FORMATS)
@settings(max_examples=10)
@given(size=st.tuples(SIDES, SIDES))
def test_the_size_is_the_one_that_pillow_finds(format_: str, size: tuple[int, int]):
    data = picture(format_, size)
    assert picture_size(data, type_of(format_)) == Image.open(io.BytesIO(data)).size == size


@pytest.mark.parametrize("options", [{"lossless": True}, {"exif": Image.Exif()}, {"quality": 10}])
def test_every_form_of_webp_is_read(options: dict[str, Any]):
    exif = options.get("exif")
    if isinstance(exif, Image.Exif):
        exif[0x010E] = "a picture"
    assert picture_size(picture("WEBP", (33, 44), **options), "image/webp") == (33, 44)


def test_a_progressive_jpeg_with_a_profile_is_read():
    data = picture("JPEG", (120, 80), progressive=True, comment=b"x" * 5000, icc_profile=bytes(70_000))
    assert picture_size(data, "image/jpeg") == (120, 80)


def test_a_header_is_believed_before_anything_is_decoded():
    assert picture_size(claiming(2**31 - 1, 2**31 - 1), "image/png") == (2**31 - 1, 2**31 - 1)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_cut_short_has_its_size_or_none(format_: str):
    data = picture(format_, (70, 50))
    assert {picture_size(data[:end], type_of(format_)) for end in range(len(data))} <= {None, (70, 50)}


def test_a_file_of_nothing_but_markers_ends():
    assert picture_size(b"\xff\xd8" + b"\xff" * 1_000_000, "image/jpeg") is None
    assert picture_size(b"\xff\xd8" + b"\xff\xe0\x00\x00" * 10, "image/jpeg") is None


@given(st.sampled_from(FORMATS), st.binary(max_size=60))
def test_any_bytes_have_a_size_above_zero_or_none(format_: str, data: bytes):
    size = picture_size(data, type_of(format_))
    assert size is None or min(size) > 0
