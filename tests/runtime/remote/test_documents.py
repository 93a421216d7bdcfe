"""Documents and media behind a service, and files that are sent to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memwell.errors import FileError, InvalidInput, NotFound, Unsupported
from memwell.knowledge import Parsed
from memwell.longterm.weights import Weights
from memwell.messages import ai, human
from tests.media_files import picture, wav
from tests.runtime.remote.serving import Served, serving

# Documents


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


def test_a_text_is_kept_found_asked_and_removed(served: Served):
    with served.memory("texts") as m:
        text = "# Leave\n\nEmployees have thirty days of leave a year.\n\n# 休假\n\n员工每年有三十天假期。"
        kept = m.knowledge.add(text, id="hb", source="handbook.md", title="Handbook", metadata={"year": 2026})
        assert m.knowledge.add(text, id="hb", source="handbook.md", title="Handbook", metadata={"year": 2026}) == kept
        assert m.knowledge.get("hb") == kept
        assert m.knowledge.documents({"year": 2026}) == [kept]
        assert m.knowledge.documents({"year": 2025}) == []
        assert (m.knowledge.count().documents, m.knowledge.text("hb")) == (1, text)
        found = m.knowledge.recall("how many days of leave?", documents="hb", where={"year": 2026})
        assert text[found[0].citation.start : found[0].citation.end] == found[0].text
        assert "handbook.md" in found[0].citation.in_words()
        assert found[0].why()
        answer = m.knowledge.answer("How many days of leave do employees have?")
        assert "thirty" in answer.text
        history = [human("What about leave?"), ai("What of it?")]
        assert m.knowledge.answer("how many days?", history=history, language="en").text
        m.knowledge.flush()
        assert (m.knowledge.remove("hb", "nothing"), m.knowledge.remove(), m.knowledge.documents()) == (1, 0, [])
        with pytest.raises(NotFound):
            m.knowledge.text("hb")


def test_all_documents_can_go(served: Served):
    with served.memory("all gone") as m:
        for number in range(3):
            m.knowledge.add(f"Text number {number}.")
        assert (m.knowledge.erase_all(), m.knowledge.erase_all(), m.knowledge.count().chunks) == (3, 0, 0)


def test_what_is_refused(served: Served):
    with served.memory("refused") as m:
        with pytest.raises(InvalidInput):
            m.knowledge.add(" ")
        with pytest.raises(InvalidInput):
            m.knowledge.recall("x", limit=-1)
        with pytest.raises(InvalidInput):
            m.knowledge.documents({"$odd": 1})
        with pytest.raises(Unsupported, match="weights"):
            m.knowledge.recall("x", weights=Weights({}))
        with pytest.raises(Unsupported, match="ingest"):
            m.knowledge.add(Parsed("x", ()))
        assert m.knowledge.count().documents == 0


# Media


T0 = datetime(2026, 3, 1, tzinfo=UTC)


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


def test_media_that_are_refused(served: Served, tmp_path: Path):
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


# Files and folders


@pytest.fixture(scope="module")
def small() -> Iterator[Served]:
    with serving(serve_max_upload_mb=0.2) as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "handbook"
    (made / "old").mkdir(parents=True)
    (made / "leave.md").write_text("# Leave\n\nThirty days a year.")
    (made / "old" / "leave.md").write_text("# Leave\n\nTwenty days a year.")
    (made / "假期.txt").write_text("员工每年有三十天假期。")
    (made / "logo.png").write_bytes(picture())
    return made


def test_a_folder_is_taken_in_and_told_of(small: Served, folder: Path):
    with small.memory("folder") as m:
        told: list[tuple[int, int | None]] = []
        done = m.knowledge.ingest(folder, metadata={"team": "people"}, progress=lambda *at: told.append(at))
        assert len(done.added) == 3
        assert [(one.source, one.reason) for one in done.refused] == [(str(folder / "logo.png"), "binary")]
        assert (told[0], told[-1]) == ((0, 4), (4, 4))
        assert told == sorted(told)
        assert done.chunks == m.knowledge.count().chunks
        sources = sorted(one.source for one in m.knowledge.documents({"team": "people"}))
        assert sources == ["handbook › leave.md", "handbook › old › leave.md", "handbook › 假期.txt"]
        assert m.knowledge.recall("twenty days")[0].text.endswith("Twenty days a year.")

        (folder / "leave.md").write_text("# Leave\n\nForty days a year.")
        (folder / "假期.txt").unlink()
        again = m.knowledge.ingest(folder, metadata={"team": "people"})
        assert again.changed == (str(folder / "leave.md"),)
        assert again.unchanged == (str(folder / "old" / "leave.md"),)
        assert (again.added, again.removed) == ((), ())
        assert "1 more documents" in again.warnings[0]
        assert m.knowledge.count().documents == 3


def test_patterns_and_single_files(small: Served, folder: Path, tmp_path: Path):
    with small.memory("files") as m:
        done = m.knowledge.ingest(folder / "leave.md", str(folder / "old" / "leave.md"), patterns="*.txt")
        assert done.added == (str(folder / "leave.md"),)
        assert "the same name" in done.refused[0].detail
        only = m.knowledge.ingest(folder, patterns=["*.txt"])
        assert only.added == (str(folder / "假期.txt"),)


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(small: Served, folder: Path, tmp_path: Path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("  \n ")
    (tmp_path / "large.txt").write_text("words and words " * 20_000)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing")
    (tmp_path / "nobody").mkdir()
    odd = ["empty.txt", "blank.txt", "large.txt", "broken.pdf", "missing.txt", "nobody"]
    with small.memory("odd") as m:
        done = m.knowledge.ingest(*[tmp_path / name for name in odd], folder / "leave.md")
        assert done.added == (str(folder / "leave.md"),)
        assert sorted(Path(one.source).name for one in done.refused) == sorted(odd)
        reasons = {Path(one.source).name: one.reason for one in done.refused}
        assert (reasons["empty.txt"], reasons["missing.txt"], reasons["nobody"]) == ("empty", "unreachable", "empty")
        assert m.knowledge.ingest(tmp_path / "large.txt", most_bytes=10).refused[0].reason == "too-large"


def test_pages_of_the_web_are_fetched_by_the_service(small: Served):
    with small.memory("web") as m:
        done = m.knowledge.ingest("http://127.0.0.1:9/page")
        assert [(one.source, one.reason) for one in done.refused] == [("http://127.0.0.1:9/page", "forbidden-address")]
        with pytest.raises(Unsupported, match="private"):
            m.knowledge.ingest("http://127.0.0.1:9/page", allow_private=True)
        with pytest.raises(InvalidInput):
            m.knowledge.ingest("")
