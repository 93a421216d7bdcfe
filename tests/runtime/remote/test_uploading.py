"""Files and folders sent to a service: each is told of, nothing is lost, and nothing is removed unasked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.errors import InvalidInput, Unsupported
from tests.media_files import picture
from tests.runtime.remote.serving import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
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


def test_a_folder_is_taken_in_and_told_of(served: Served, folder: Path):
    with served.memory("folder") as m:
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


def test_patterns_and_single_files(served: Served, folder: Path, tmp_path: Path):
    with served.memory("files") as m:
        done = m.knowledge.ingest(folder / "leave.md", str(folder / "old" / "leave.md"), patterns="*.txt")
        assert done.added == (str(folder / "leave.md"),)
        assert "the same name" in done.refused[0].detail
        only = m.knowledge.ingest(folder, patterns=["*.txt"])
        assert only.added == (str(folder / "假期.txt"),)


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(served: Served, folder: Path, tmp_path: Path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("  \n ")
    (tmp_path / "large.txt").write_text("words and words " * 20_000)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing")
    (tmp_path / "nobody").mkdir()
    odd = ["empty.txt", "blank.txt", "large.txt", "broken.pdf", "missing.txt", "nobody"]
    with served.memory("odd") as m:
        done = m.knowledge.ingest(*[tmp_path / name for name in odd], folder / "leave.md")
        assert done.added == (str(folder / "leave.md"),)
        assert sorted(Path(one.source).name for one in done.refused) == sorted(odd)
        reasons = {Path(one.source).name: one.reason for one in done.refused}
        assert (reasons["empty.txt"], reasons["missing.txt"], reasons["nobody"]) == ("empty", "unreachable", "empty")
        assert m.knowledge.ingest(tmp_path / "large.txt", most_bytes=10).refused[0].reason == "too-large"


def test_pages_of_the_web_are_fetched_by_the_service(served: Served):
    with served.memory("web") as m:
        done = m.knowledge.ingest("http://127.0.0.1:9/page")
        assert [(one.source, one.reason) for one in done.refused] == [("http://127.0.0.1:9/page", "forbidden-address")]
        with pytest.raises(Unsupported, match="private"):
            m.knowledge.ingest("http://127.0.0.1:9/page", allow_private=True)
        with pytest.raises(InvalidInput):
            m.knowledge.ingest("")
