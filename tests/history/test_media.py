from __future__ import annotations

from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.history.media import MediaLimits, check_kind, check_media
from tests.media_files import claiming, film, picture, sound, wav


def test_bytes_are_told_what_they_are():
    found = check_media(picture("JPEG", (30, 20)), name="holiday.jpg", kind="image", media_type="image/jpg")
    assert (found.kind, found.media_type, found.width, found.height) == ("image", "image/jpeg", 30, 20)
    assert found.size == len(picture("JPEG", (30, 20)))
    assert check_media(film("mp4")).kind == "video"
    assert check_media(wav()).media_type == "audio/wav"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "audio"}, "not audio"),
        ({"name": "photo.jpg"}, r"'photo.jpg' says image/jpeg"),
        ({"name": "notes.txt"}, r"'notes.txt' says something else"),
        ({"media_type": "image/gif"}, "'image/gif' says image/gif"),
        ({"media_type": "text/html"}, "'text/html' says something else"),
    ],
)
def test_what_bytes_are_not_is_refused(options: dict[str, Any], said: str):
    with pytest.raises(InvalidInput, match=said):
        check_media(picture("PNG"), **options)


def test_a_film_is_no_picture():
    with pytest.raises(InvalidInput, match=r"video/mp4, but the name 'a\.png' says image/png"):
        check_media(film("mp4"), name="a.png")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "none"),
        (b"hello, I am a text", "no image, audio or video"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "SVG"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<SVG></SVG>", "SVG"),
        (b"PK\x03\x04 a document", "no image, audio or video"),
    ],
)
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


@pytest.mark.parametrize("size", [(50_001, 1000), (2**31 - 1, 2**31 - 1), (1, 2**31 - 1)])
def test_too_many_pixels_are_refused_by_the_header(size: tuple[int, int]):
    with pytest.raises(InvalidInput, match="pixels, over the limit of 50,000,000"):
        check_media(claiming(*size))


def test_as_many_pixels_as_allowed_are_kept():
    assert check_media(claiming(50_000, 1000)).width == 50_000


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "many", None])
def test_a_limit_is_a_number_above_zero(value: object):
    with pytest.raises(InvalidInput, match="image_pixels"):
        MediaLimits(image_pixels=value)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("kind", ["text", "", None, 3, ["image"]])
def test_a_kind_is_one_of_three(kind: object):
    with pytest.raises(InvalidInput, match="image, audio, video"):
        check_kind(kind)
