"""Pieces of a content."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.compat.dbgpt.media import MediaContent, MediaObject, as_content, openai_content, plain_content
from memwell.errors import InvalidInput

TEXT = MediaContent.build_text("你好")
PICTURE = MediaContent(MediaObject("https://example.com/a.png", "url@image/png"), "image")
SOUND = MediaContent(MediaObject("AAAA", "base64"), "audio")
FILM = MediaContent(MediaObject("https://example.com/a.mp4", "url"), "video")
THOUGHT = MediaContent.build_thinking("well")


def test_pieces_survive_as_plain_data() -> None:
    pieces = [TEXT, PICTURE, SOUND, FILM, THOUGHT, MediaContent(MediaObject(b"\0", "binary"), "audio")]
    assert as_content(plain_content(pieces)) == pieces
    assert MediaContent.parse_content(plain_content(pieces)) == pieces
    assert MediaContent.parse_content(TEXT.to_dict()) == TEXT
    assert as_content(["a", {"object": MediaObject("b")}]) == [
        MediaContent.build_text("a"),
        MediaContent.build_text("b"),
    ]
    assert plain_content("words") == as_content("words") == "words"


@pytest.mark.parametrize(
    "content", [None, 7, {"object": {"data": "x"}}, [7], [{"object": 7}], [{"type": "text"}], b"x"]
)
def test_what_is_no_content_is_refused(content: Any) -> None:
    with pytest.raises(InvalidInput):
        as_content(content)


def test_a_piece_knows_what_it_is() -> None:
    assert (TEXT.get_text(), THOUGHT.get_thinking()) == ("你好", "well")
    assert MediaContent.last_text([TEXT, PICTURE]) == "你好"
    for wrong in (
        PICTURE.get_text,
        TEXT.get_thinking,
        lambda: MediaContent.last_text([]),
        lambda: MediaContent.last_text([PICTURE]),
    ):
        with pytest.raises(InvalidInput):
            wrong()
    with pytest.raises(InvalidInput, match="one of text"):
        MediaContent(MediaObject("x"), "smell")


def test_openai_has_a_shape_for_most() -> None:
    assert openai_content([TEXT, PICTURE, SOUND, FILM, THOUGHT]) == [
        {"type": "text", "text": "你好"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
        {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}},
        {"type": "text", "text": "well"},
    ]
    assert openai_content([PICTURE], names={"image_url": "image"}) == [{"type": "image", "image": PICTURE.object.data}]
    assert openai_content([PICTURE, TEXT], media=False) == "你好"
    assert openai_content("words") == "words"
    with pytest.raises(InvalidInput, match="No text content"):
        openai_content([PICTURE], media=False)
    with pytest.raises(InvalidInput, match="Unsupported image format: base64"):
        openai_content([MediaContent(MediaObject("AAAA", "base64"), "image")])


def test_openai_messages_are_read() -> None:
    content = [
        {"type": "text", "text": "look"},
        "here",
        {"type": "image_url", "image_url": {"url": "u"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
    ]
    read = MediaContent.parse_chat_completion_message({"role": "user", "content": content})
    assert [one.type for one in read] == ["text", "text", "image", "audio"]
    assert MediaContent.parse_chat_completion_message("x") == MediaContent.parse_chat_completion_message(
        {"content": "x"}
    )
    odd = {"content": [{"type": "smell"}, "x"]}
    assert len(MediaContent.parse_chat_completion_message(odd, ignore_unknown_media=True)) == 1
    for bad in ({}, None, "", {"content": None}, {"content": 7}, odd):
        with pytest.raises(InvalidInput):
            MediaContent.parse_chat_completion_message(bad)
