"""Media behind a service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memwell.errors import FileError, InvalidInput, NotFound
from tests.media_files import picture, wav
from tests.runtime.remote.serving import Served, line_to, serving

T0 = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


def test_a_picture_is_kept_found_and_erased(served: Served, tmp_path: Path):
    path = tmp_path / "猫 & dog.png"
    path.write_bytes(picture())
    with served.memory("pictures") as m:
        made = m.media.add(
            path, description="A cat on a red sofa", features=["cat", "sofa, red"], sentiment=0.5,
            session="s", speaker="Ann", metadata={"album": ["a", 1]}, time=T0,
        )  # fmt: skip
        assert (made.kind, made.name, made.features, made.sentiment) == ("image", path.name, ("cat", "sofa, red"), 0.5)
        assert (made.session, made.speaker, made.metadata, made.time) == ("s", "Ann", {"album": ["a", 1]}, T0)
        assert m.media.get(made.id) == made
        assert m.media.data(made.id) == path.read_bytes()
        shown = m.media.thumbnail(made.id)
        assert (shown is not None) == made.has_thumbnail
        found = m.media.recall("cat", kinds="image", session="s")
        assert [one.id for one in found] == [made.id]
        assert found[0].why()
        assert [one.id for one in m.media.items(session="s")] == [made.id]
        assert m.media.items(kinds=[]) == m.media.items(limit=0) == m.media.items(kinds="audio") == []
        assert (m.media.erase(made.id).memories, m.media.remove(), m.media.items()) == (1, 0, [])
        with pytest.raises(NotFound):
            m.media.thumbnail(made.id)


def test_media_that_are_only_described_and_features(served: Served):
    with served.memory("described") as m:
        sound = m.media.add(wav(), transcript="Good morning, Ann.")
        assert (sound.kind, sound.sentiment is not None) == ("audio", True)
        only = m.media.add(kind="video", features=[0.6, 0.8, 0.0])
        other = m.media.add(kind="image", features=[0.0, 0.0, 1.0], sentiment="calm")
        assert other.sentiment == "calm"
        assert [one.id for one in m.media.like([0.6, 0.8, 0.1])] == [only.id, other.id]
        large = m.media.add(kind="image", features=[float(number % 7) - 3 for number in range(3072)])
        assert large.dimensions == 3072
        assert m.media.thumbnail(only.id) is None
        with pytest.raises(NotFound):
            m.media.data(only.id)
        assert m.media.remove(only.id, other.id) == 2


def test_a_medium_whose_answer_was_lost_is_kept_once(served: Served):
    with line_to(served.address) as line, served.patient([], line.address, "lost") as m:
        line.cut = lambda piece: False if line.cuts < 2 else None
        made = m.media.add(picture(), description="A cat")
        assert line.cuts == 2
        assert [one.id for one in m.media.items()] == [made.id]


def test_what_is_refused(served: Served, tmp_path: Path):
    with served.memory("refused") as m:
        for odd in (b"", b"no picture at all", "cat.png", 7):
            with pytest.raises(InvalidInput):
                m.media.add(odd, kind="image", description="x")  # pyright: ignore[reportArgumentType]
        with pytest.raises(FileError):
            m.media.add(tmp_path / "nothing.png")
        with pytest.raises(InvalidInput):
            m.media.add(description="of no kind")
        with pytest.raises(InvalidInput):
            m.media.recall("x", kinds="smell")
        with pytest.raises(InvalidInput):
            m.media.like([0.0, 0.0])
        assert m.media.items() == []
