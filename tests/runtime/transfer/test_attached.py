"""Media go out with their memory and conversation, and come in beside them alone."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import NotFound
from memwell.history import History
from memwell.longterm.media import MediaMemory
from memwell.longterm.memory import Memory
from memwell.longterm.traits import blobs_space
from memwell.messages import Image, human
from memwell.runtime.transfer import attached, export_jsonl, import_jsonl
from memwell.storage import open_backend
from tests.media_files import film, picture, wav

PNG = picture("PNG")


def opened(url: str = "memory:", space: str = "ann") -> MediaMemory:
    return MediaMemory(Memory(open_backend(url), space))


def exported(media: MediaMemory, **options: Any) -> list[bytes]:
    out = io.BytesIO()
    export_jsonl(media.memory, out, **{"blobs": True, **options})
    return out.getvalue().splitlines(keepends=True)


def filled() -> MediaMemory:
    media = opened()
    media.add(PNG, description="海边的日落", features=[3.0, 4.0], session="trip", name="日落.png")
    media.add(PNG, description="the same sunset", sentiment="calm", metadata={"album": 1})
    media.add(film("mp4"), features=["dog", "lake"])
    hidden = media.add(wav(), transcript="never mind")
    media.memory.forget(hidden.id)
    chat = History(media.memory.backend, "talk", space="ann")
    chat.add(chat.with_blobs(human((Image(data=picture("JPEG")), Image(data=PNG)))))
    chat.add(chat.with_blobs(human(Image(data=picture("GIF")))))
    chat.edit(1, "no picture any more")
    return media


def brought(lines: list[bytes], media: MediaMemory) -> Any:
    return import_jsonl(media.memory, io.BytesIO(b"".join(lines)))


def blobs(media: MediaMemory) -> int:
    return int(media.memory.backend.facts()["blobs"])


@pytest.mark.parametrize("url", ["memory:", "sqlite"])
def test_everything_comes_over(url: str, tmp_path: Path):
    here, there = filled(), opened(url if url == "memory:" else str(tmp_path / "there.db"), "bob")
    lines = exported(here)
    done = brought(lines, there)
    assert (done.problems, done.counts["memories"]) == ([], 4)
    assert blobs(there) == blobs(here) == done.counts["blobs"]
    again = brought(lines, there)
    assert (again.new, again.problems) == (0, [])
    assert there.items() == here.items()
    for item in here.items():
        assert there.data(item.id) == here.data(item.id)
        assert there.thumbnail(item.id) == here.thumbnail(item.id)
    hit = there.like([3.0, 4.0], session="trip")[0]
    assert (hit.description, round(hit.score, 2)) == ("海边的日落", 1.0)
    [forgotten] = [one.id for one in here.memory.backend.index.scan(here.memory.space).items if one.kind == "audio"]
    there.memory.undo(forgotten)
    assert there.data(forgotten) == wav()
    chat = History(there.memory.backend, "talk", space="bob")
    parts = [part for part in chat.get(0).parts if isinstance(part, Image)]
    assert [chat.data_of(part) for part in parts] == [picture("JPEG"), PNG]
    chat.restore(1)
    assert chat.data_of(chat.get(1).parts[0]) == picture("GIF")  # pyright: ignore[reportArgumentType]
    there.memory.erase_all()
    chat.delete()
    assert blobs(there) == 0
    there.memory.backend.close()


def test_without_blobs_the_words_come_over_alone():
    there = opened()
    done = brought(exported(filled(), blobs=False), there)
    assert done.problems == []
    assert blobs(there) == 0
    item = there.recall("日落", limit=1)[0]
    assert item.features == ()
    assert there.like([3.0, 4.0])[0].id == item.id
    with pytest.raises(NotFound):
        there.data(item.id)


def test_many_bytes_are_several_lines(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attached, "PIECE", 100)
    here, there = filled(), opened()
    lines = exported(here)
    assert max(len(line) for line in lines if b'"blob"' in line[:20]) < 500
    done = brought(lines, there)
    assert done.problems == []
    assert done.counts["blobs"] == blobs(here)
    assert [there.data(item.id) for item in there.items()] == [here.data(item.id) for item in here.items()]


def test_a_piece_that_is_missing_is_told_and_nothing_half_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attached, "PIECE", 100)
    here, there = opened(), opened()
    here.add(PNG, description="a cat")
    lines = exported(here)
    at = next(number for number, line in enumerate(lines) if b'"more":true' in line)
    done = brought([*lines[:at], *lines[at + 1 :]], there)
    assert len(done.problems) == 1
    assert "digest" in done.problems[0].reason
    assert blobs(there) == 1, "the other of the two came over"


def changed(line: bytes, **fields: Any) -> bytes:
    return json.dumps({**json.loads(line), **fields}).encode() + b"\n"


def test_what_nothing_names_is_not_taken_in():
    lines = exported(filled())
    there = opened()
    stray = [
        line for line in lines if not line.startswith((b'{"type":"memory"', b'{"type":"message"', b'{"type":"thread"'))
    ]
    done = brought(stray, there)
    assert blobs(there) == 0
    reasons = " ".join(note.reason for note in done.problems)
    assert "no memory of the file names" in reasons
    assert "which is not here" in reasons
    assert "features of 2" in reasons


def test_bytes_of_another_digest_are_refused():
    here, there = opened(), opened()
    here.add(PNG, description="a cat")
    lines = exported(here)
    forged = [changed(line, data="AAAA") if line.startswith(b'{"type":"blob"') else line for line in lines]
    done = brought(forged, there)
    assert blobs(there) == 0
    assert len(done.problems) == 2


def test_features_of_another_size_are_refused():
    here, there = opened(), opened()
    here.add(PNG, description="a cat", features=[1.0, 0.0])
    lines = exported(here)
    forged = [changed(line, vector="ADwAAAAA") if line.startswith(b'{"type":"features"') else line for line in lines]
    done = brought(forged, there)
    assert "features of 3 numbers" in done.problems[0].reason
    assert there.like([1.0, 0.0, 0.0]) == there.like([1.0, 0.0]) == []


def test_bytes_that_are_gone_here_are_left_out():
    here, there = opened(), opened()
    item = here.add(PNG, description="a cat")
    here.memory.backend.blobs.delete(blobs_space(here.memory.space), item.digest)
    assert brought(exported(here), there).problems == []
    assert there.get(item.id).digest == item.digest
