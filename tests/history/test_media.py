from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from memwell.errors import InvalidInput
from memwell.history.media import (
    KINDS,
    MediaLimits,
    check_media,
    declared_by_name,
    declared_by_type,
    family_of,
    kind_of,
    picture_size,
    types_of,
)
from tests.media_files import FILMS, SOUNDS, claiming, film, picture, sound, wav

FORMATS = ["PNG", "JPEG", "GIF", "WEBP", "BMP"]
FILM_TYPES = {
    "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "mkv": "video/x-matroska",
    "avi": "video/x-msvideo",
}  # fmt: skip
SOUND_TYPES = {
    "mp3": "audio/mpeg", "flac": "audio/flac", "ogg": "audio/ogg", "m4a": "audio/mp4", "mp4": "video/mp4",
    "weba": "video/webm",
}  # fmt: skip
HEADS_OF_SOUNDS = [sound(ending)[:4096] for ending in SOUNDS]


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        *((picture(format_), f"image/{format_.lower()}") for format_ in FORMATS),
        *((film(ending)[:4096], FILM_TYPES[ending]) for ending in FILMS),
        *zip(HEADS_OF_SOUNDS, (SOUND_TYPES[ending] for ending in SOUNDS), strict=True),
    ],
)
def test_media_are_known_by_their_bytes(data: bytes, media_type: str):
    assert types_of(data)[0] == media_type
    assert data not in HEADS_OF_SOUNDS or any(kind_of(one) == "audio" for one in types_of(data))


def test_an_mp3_without_a_tag_is_known_by_two_frames():
    data = sound("mp3")
    bare = data[data.index(b"\xff\xf3") if b"\xff\xf3" in data else data.index(b"\xff\xfb") :]
    assert types_of(bare) == ("audio/mpeg",)
    assert types_of(bare[:8] + bytes(2000)) == ()


@pytest.mark.parametrize(
    "head",
    [
        b"", b"BM is how this letter begins, and it is no bitmap", "\ufeffUTF-16 is no sound".encode("utf-16-le"),
        b"%PDF-1.7\n", b"PK\x03\x04", b"\x7fELF", b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", b"\x00\x00\x00\x18ftypavif\x00\x00\x00\x00", b"II*\x00",
        b"RIFF\x00\x00\x00\x00CDR ", b"\x1aE\xdf\xa3 something else",
    ],
)  # fmt: skip
def test_what_is_no_known_medium_has_no_type(head: bytes):
    assert types_of(head) == ()


@given(
    st.binary(max_size=64), st.sampled_from([b"", b"RIFF", b"OggS", b"BM", b"\xff\xfb", b"\x1aE\xdf\xa3", b"GIF89a"])
)
def test_any_bytes_have_known_types_or_none(rest: bytes, start: bytes):
    assert all(kind_of(one) in KINDS and family_of(one) for one in types_of(start + rest))


NOTHING_SAID = object()


@pytest.mark.parametrize(
    ("declare", "given_", "says"),
    [
        (declared_by_name, "A.JPG", "image/jpeg"), (declared_by_name, "照片.png", "image/png"),
        (declared_by_name, "x.tar.gz", None), (declared_by_name, "C:\\a\\b.pdf", None),
        (declared_by_name, "b.m4a", "audio/mp4"), (declared_by_type, "image/jpg", "image/jpeg"),
        (declared_by_type, "Audio/X-WAV; rate=8000", "audio/wav"), (declared_by_type, "text/html", None),
        (declared_by_type, "image/svg+xml", None),
        *((declared_by_name, name, NOTHING_SAID) for name in ("", "photo", "photo.", "photo.holiday", ".png")),
        *((declared_by_type, one, NOTHING_SAID) for one in (None, "", "image/*", "application/octet-stream")),
    ],
)  # fmt: skip
def test_a_name_and_a_type_say_what_they_say_or_nothing(declare: Any, given_: str | None, says: Any):
    claim = declare(given_)
    assert (NOTHING_SAID if claim is None else claim.media_type) == says


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


def test_bytes_are_told_what_they_are():
    found = check_media(picture("JPEG", (30, 20)), name="holiday.jpg", kind="image", media_type="image/jpg")
    assert (found.kind, found.media_type, found.width, found.height) == ("image", "image/jpeg", 30, 20)
    assert found.size == len(picture("JPEG", (30, 20)))
    assert check_media(film("mp4")).kind == "video"
    assert check_media(wav()).media_type == "audio/wav"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "audio"}, "not audio"), ({"name": "photo.jpg"}, r"'photo.jpg' says image/jpeg"),
        ({"name": "notes.txt"}, r"'notes.txt' says something else"),
        ({"media_type": "image/gif"}, "'image/gif' says image/gif"),
        ({"media_type": "text/html"}, "'text/html' says something else"),
    ],
)  # fmt: skip
def test_what_bytes_are_not_is_refused(options: dict[str, Any], said: str):
    with pytest.raises(InvalidInput, match=said):
        check_media(picture("PNG"), **options)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "none"), (b"hello, I am a text", "no image, audio or video"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "SVG"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<SVG></SVG>", "SVG"),
        (b"PK\x03\x04 a document", "no image, audio or video"),
    ],
)  # fmt: skip
def test_what_is_no_medium_is_refused(data: bytes, said: str):
    with pytest.raises(InvalidInput, match=said):
        check_media(data)


def test_a_container_is_what_the_caller_or_the_name_says():
    both = sound("mp4")
    assert check_media(both).media_type == "video/mp4"
    assert check_media(both, kind="audio").media_type == "audio/mp4"
    assert check_media(both, name="talk.m4a").kind == "audio"
    assert check_media(both, media_type="audio/x-m4a").kind == "audio"
    assert check_media(sound("m4a"), name="talk.mp4").kind == "audio"
    with pytest.raises(InvalidInput, match="not video"):
        check_media(sound("m4a"), kind="video")


def test_too_many_bytes_are_refused():
    data = picture("BMP", (100, 100))
    assert check_media(data, limits=MediaLimits(image_bytes=len(data))).size == len(data)
    with pytest.raises(InvalidInput, match="over the limit of 1,000"):
        check_media(data, limits=MediaLimits(image_bytes=1000))


@pytest.mark.parametrize(
    ("size", "limit"),
    [
        ((50_001, 1000), "50,000,000"),
        ((2**31 - 1, 2**31 - 1), "65,535 for a side"),
        ((1, 2**31 - 1), "65,535 for a side"),
        ((1, 50_000_000), "65,535 for a side"),
    ],
)
def test_too_many_pixels_are_refused_by_the_header(size: tuple[int, int], limit: str):
    with pytest.raises(InvalidInput, match=f"pixels, over the limit of {limit}"):
        check_media(claiming(*size))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "many", None])
def test_a_limit_is_a_number_above_zero(value: object):
    with pytest.raises(InvalidInput, match="image_pixels"):
        MediaLimits(image_pixels=value)  # pyright: ignore[reportArgumentType]
