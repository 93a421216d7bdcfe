"""Media over REST: real pictures, sounds and films come back as they were, and never as something else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import AccessDenied, InvalidInput, NotFound
from memwell.runtime.wire.running import Key
from memwell.service.call import File
from memwell.service.parts import Service
from memwell.service.rest import media as handlers
from tests.media_files import film, picture, sound, wav
from tests.service.rest.asking import ask, key_of, service_at
from tests.service.rest.sending import send


@pytest.fixture
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


@pytest.fixture
def ann(service: Service) -> Key:
    return key_of(service, "acme", "ann")


def test_a_picture_comes_back_as_it_was(service: Service, ann: Key, tmp_path: Path):
    data = picture()
    item = send(
        service,
        ann,
        "add_medium",
        data,
        tmp_path,
        description="a red wall in 杭州",
        features=["red", "wall"],
        sentiment="0.5",
        session="trip",
        speaker="Ann",
        name="../wall.png",
        metadata={"camera": "old"},
        time="2024-05-01T12:00:00Z",
    )
    assert (item.kind, item.media_type, item.name, item.size) == ("image", "image/png", "wall.png", len(data))
    assert (item.features, item.sentiment, item.session, item.speaker) == (("red", "wall"), 0.5, "trip", "Ann")
    assert (item.metadata, item.time) == ({"camera": "old"}, datetime(2024, 5, 1, 12, tzinfo=UTC))
    found = ask(service, ann, "medium", {"id": item.id})
    assert found == item
    file = ask(service, ann, "medium_data", {"id": item.id})
    assert file == File(content=data, media_type="image/png", name="wall.png")
    small = ask(service, ann, "medium_thumbnail", {"id": item.id})
    assert (small.media_type, small.content[:3]) == ("image/jpeg", b"\xff\xd8\xff")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [(wav(), "", "audio/wav"), (film("webm"), "", "video/webm"), (sound("m4a"), "a.m4a", "audio/mp4")],
    ids=["wav", "webm", "m4a"],
)
def test_sounds_and_films_are_what_their_bytes_say(
    service: Service, ann: Key, tmp_path: Path, data: bytes, name: str, media_type: str
):
    item = send(service, ann, "add_medium", data, tmp_path, description="a tone", name=name)
    # The file on the way has a name that is nobody's.
    assert (item.media_type, item.name) == (media_type, name)
    assert ask(service, ann, "medium_data", {"id": item.id}).media_type == media_type


def test_a_medium_may_only_be_described(service: Service, ann: Key, tmp_path: Path):
    item = send(service, ann, "add_medium", None, tmp_path, kind="video", transcript="我们去了西湖", sentiment="calm")
    assert (item.kind, item.size, item.sentiment) == ("video", 0, "calm")
    for name in ("medium_data", "medium_thumbnail"):
        with pytest.raises(NotFound):
            ask(service, ann, name, {"id": item.id})


def test_media_are_listed_recalled_and_found_by_likeness(service: Service, ann: Key, tmp_path: Path):
    wall = send(service, ann, "add_medium", picture(), tmp_path, description="a red wall", session="trip")
    tone = send(service, ann, "add_medium", wav(), tmp_path, description="a rising tone", vector="[1, 0, 2.5]")
    assert [one.id for one in ask(service, ann, "media").media] == [wall.id, tone.id]
    assert [one.id for one in ask(service, ann, "media", kinds=["audio", "video"]).media] == [tone.id]
    assert [one.id for one in ask(service, ann, "media", session="trip").media] == [wall.id]
    assert [one.id for one in ask(service, ann, "media", limit=1).media] == [wall.id]
    found = ask(service, ann, "recall_media", query="red wall", language="zh")
    assert found.media[0].id == wall.id
    assert len(found.why) == len(found.media)
    alike = ask(service, ann, "like_media", vector=[1, 0, 2])
    assert ([one.id for one in alike.media], alike.why[0][:14]) == ([tone.id], "alike features")


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (None, {}),
        (None, {"kind": "image"}),
        (None, {"kind": "smell", "description": "x"}),
        (b"<svg onload='alert(1)'/>", {"kind": "image"}),
        (b"<html><script>", {"description": "x"}),
        (picture(), {"kind": "audio"}),
        (picture(), {"name": "a\x00.png"}),
        (picture(), {"name": "song.mp3"}),
        (picture(), {"vector": "[1, null]"}),
        (picture(), {"vector": "not json"}),
        (picture(), {"vector": "[1]", "features": ["red"]}),
        (picture(), {"metadata": "[1]"}),
        (picture(), {"metadata": '{"a": 1'}),
        (picture(), {"sentiment": "2"}),
        (picture(), {"sentiment": ""}),
        (picture(), {"time": "yesterday"}),
        (picture(), {"strange": "1"}),
    ],
)
def test_what_breaks_a_rule_is_refused_and_leaves_nothing(
    service: Service, ann: Key, tmp_path: Path, body: bytes | None, query: dict[str, Any]
):
    with pytest.raises(InvalidInput):
        send(service, ann, "add_medium", body, tmp_path, **query)
    assert ask(service, ann, "media").media == []
    assert list(tmp_path.iterdir()) == []


def test_media_are_of_one_space(service: Service, ann: Key, tmp_path: Path):
    bob = key_of(service, "acme", "bob")
    item = send(service, ann, "add_medium", picture(), tmp_path, description="a red wall", vector="[1, 0]")
    for name in ("medium", "medium_data", "medium_thumbnail"):
        with pytest.raises(NotFound):
            ask(service, bob, name, {"id": item.id})
    assert ask(service, bob, "media").media == []
    assert ask(service, bob, "recall_media", query="red wall").media == []
    assert ask(service, bob, "like_media", vector=[1, 0]).media == []
    with pytest.raises(NotFound):
        ask(service, bob, "erase_media", ids=[item.id])
    assert ask(service, ann, "medium", {"id": item.id}).id == item.id


def test_media_are_erased_for_good_by_who_may(service: Service, ann: Key, tmp_path: Path):
    item = send(service, ann, "add_medium", picture(), tmp_path, description="a red wall")
    writer = key_of(service, "acme", "ann", scopes=["read", "write"])
    with pytest.raises(AccessDenied):
        ask(service, writer, "erase_media", ids=[item.id])
    with pytest.raises(NotFound):
        ask(service, ann, "erase_media", ids=[item.id, "no such"])
    assert ask(service, ann, "erase_media", ids=[item.id]).memories == 1
    with pytest.raises(NotFound):
        ask(service, ann, "medium_data", {"id": item.id})
    entry = service.log.entries().items[0]
    assert (entry.action, entry.targets) == ("erase_media", (item.id,))


@pytest.mark.parametrize("limit", [0, -1, 1001, 10**30])
def test_no_request_asks_for_everything(service: Service, ann: Key, limit: int):
    with pytest.raises(InvalidInput):
        ask(service, ann, "media", limit=limit)


def test_bytes_are_never_served_as_what_only_an_import_calls_them():
    type_of = handlers._type_of
    assert type_of(b"<html><script>alert(1)</script>", "image/png") == "application/octet-stream"
    assert type_of(picture(), "text/html") == "image/png"
    assert type_of(picture("JPEG"), "image/png") == "image/jpeg"
