from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.history.media_types import KINDS, claim_of_name, claim_of_type, family_of, kind_of, types_of
from tests.media_files import FILMS, SOUNDS, film, picture, sound, wav

FILM_TYPES = {
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "mkv": "video/x-matroska",
    "avi": "video/x-msvideo",
}
SOUND_TYPES = {
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "weba": "video/webm",
}


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_pictures_are_known_by_their_bytes(format_: str):
    assert types_of(picture(format_)) == (f"image/{format_.lower()}",)


@pytest.mark.parametrize("ending", FILMS)
def test_films_are_known_by_their_bytes(ending: str):
    assert types_of(film(ending)[:4096])[0] == FILM_TYPES[ending]


@pytest.mark.parametrize("ending", SOUNDS)
def test_sounds_are_known_by_their_bytes(ending: str):
    types = types_of(sound(ending)[:4096])
    assert types[0] == SOUND_TYPES[ending]
    assert any(kind_of(one) == "audio" for one in types)


def test_a_wave_file_is_known():
    assert types_of(wav()) == ("audio/wav",)


def test_an_mp3_without_a_tag_is_known_by_two_frames():
    data = sound("mp3")
    bare = data[data.index(b"\xff\xf3") if b"\xff\xf3" in data else data.index(b"\xff\xfb") :]
    assert types_of(bare) == ("audio/mpeg",)
    assert types_of(bare[:8] + bytes(2000)) == ()


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"BM is how this letter begins, and it is no bitmap",
        "\ufeffUTF-16 is no sound".encode("utf-16-le"),
        b"%PDF-1.7\n",
        b"PK\x03\x04",
        b"\x7fELF",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00",
        b"\x00\x00\x00\x18ftypavif\x00\x00\x00\x00",
        b"II*\x00",
        b"RIFF\x00\x00\x00\x00CDR ",
        b"\x1aE\xdf\xa3 something else",
    ],
)
def test_what_is_no_known_medium_has_no_type(head: bytes):
    assert types_of(head) == ()


def test_a_film_in_ogg_is_told_from_a_sound():
    assert types_of(b"OggS" + bytes(24) + b"\x80theora") == ("video/ogg",)


@given(
    st.binary(max_size=64), st.sampled_from([b"", b"RIFF", b"OggS", b"BM", b"\xff\xfb", b"\x1aE\xdf\xa3", b"GIF89a"])
)
def test_any_bytes_have_known_types_or_none(rest: bytes, start: bytes):
    assert all(kind_of(one) in KINDS and family_of(one) for one in types_of(start + rest))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("A.JPG", "image/jpeg"),
        ("照片.png", "image/png"),
        ("x.tar.gz", None),
        ("C:\\a\\b.pdf", None),
        ("b.m4a", "audio/mp4"),
    ],
)
def test_a_name_says_what_its_ending_says(name: str, says: str | None):
    claim = claim_of_name(name)
    assert claim is not None
    assert claim.media_type == says


@pytest.mark.parametrize("name", ["", "photo", "photo.", "photo.holiday", ".png"])
def test_a_name_may_say_nothing(name: str):
    assert claim_of_name(name) is None


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("image/jpg", "image/jpeg"),
        ("Audio/X-WAV; rate=8000", "audio/wav"),
        ("text/html", None),
        ("image/svg+xml", None),
    ],
)
def test_a_type_is_read_whatever_it_is_called(declared: str, says: str | None):
    claim = claim_of_type(declared)
    assert claim is not None
    assert claim.media_type == says


@pytest.mark.parametrize("declared", [None, "", "image/*", "application/octet-stream"])
def test_a_type_may_say_nothing(declared: str | None):
    assert claim_of_type(declared) is None
