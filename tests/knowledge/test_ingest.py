"""Files and folders taken in, again and again: what is unchanged is left alone, and nothing is ever half there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from memwell.errors import InvalidInput
from memwell.knowledge import Ingested, Knowledge, ingest
from memwell.knowledge.ingest import document_id, files_under
from memwell.models.scripted import HashEmbedder
from memwell.storage import Backend, open_backend
from tests.knowledge.bench import SHELF, Failing, knowledge_over

# The files of a folder.


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "shelf"
    kept, hidden = "b.md a.txt sub/c.md sub/deep/d.txt 休假.md", ".hidden/e.md node_modules/f.md .g.md ~$x.docx"
    for name in f"{kept} {hidden}".split():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return root


def names(root: Path, **options: object) -> list[str]:
    found = files_under(root, on_error=lambda path, error: pytest.fail(f"{path}: {error}"), **options)  # pyright: ignore[reportArgumentType]
    return [path.relative_to(root).as_posix() for path in found]


def test_always_in_the_same_order_without_what_is_hidden(shelf: Path):
    assert names(shelf) == ["a.txt", "b.md", "休假.md", "sub/c.md", "sub/deep/d.txt"]


def test_links_lead_nowhere(shelf: Path, tmp_path: Path):
    (tmp_path / "outside.md").write_text("secret")
    (shelf / "link.md").symlink_to(tmp_path / "outside.md")
    (shelf / "loop").symlink_to(shelf, target_is_directory=True)
    (shelf / "up").symlink_to(tmp_path, target_is_directory=True)
    (shelf / "broken.txt").symlink_to(shelf / "nowhere")
    os.mkfifo(shelf / "pipe.md")
    assert names(shelf) == ["a.txt", "b.md", "休假.md", "sub/c.md", "sub/deep/d.txt"]
    told: list[str] = []
    names(shelf, on_link=lambda path: told.append(path.name))
    assert told == ["broken.txt", "link.md", "loop", "up"]
    told.clear()
    names(shelf, patterns=("*.md",), on_link=lambda path: told.append(path.name))
    assert told == ["link.md", "loop", "up"], "a folder may hold files that are wanted"


LONG_AGO = 1_600_000_000


def _write(path: Path, text: str | bytes, *, age: float = LONG_AGO) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (age, age))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name, text in SHELF.items():
        _write(root / ("zh" if not text.isascii() else "en") / f"{name}.md", text)
    return root


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files just written count as written long ago: their times of change are those of the test."""
    monkeypatch.setattr(ingest, "_RACY_NS", -(10**18))


def _outcomes(report: Ingested) -> dict[str, set[str]]:
    names = ("added", "changed", "unchanged", "removed")
    return {name: {Path(one).name for one in getattr(report, name)} for name in names if getattr(report, name)}


def _reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are read from now on."""
    seen = list[str]()
    read = ingest.read_document

    def noted(data: bytes, *, name: str = "", media_type: str | None = None):
        seen.append(name)
        return read(data, name=name, media_type=media_type)

    monkeypatch.setattr(ingest, "read_document", noted)
    return seen


def test_a_folder_is_taken_in_and_only_what_changed_is_taken_in_again(
    knowledge: Knowledge, folder: Path, settled: None, monkeypatch: pytest.MonkeyPatch
):
    seen = list[tuple[int, int | None]]()
    report = knowledge.ingest(folder, progress=lambda done, total: seen.append((done, total)))
    assert _outcomes(report) == {"added": {f"{name}.md" for name in SHELF}}
    assert (report.refused, report.chunks) == ((), knowledge.count().chunks)
    assert (seen[0], seen[-1]) == ((0, 4), (4, 4))
    before = knowledge.documents()

    reads = _reads(monkeypatch)
    assert _outcomes(knowledge.ingest(folder)) == {"unchanged": {f"{name}.md" for name in SHELF}}
    assert (reads, knowledge.documents()) == ([], before)

    _write(folder / "en" / "router.md", "# Router\n\nThrow it away.", age=LONG_AGO + 5)
    _write(folder / "new" / "note.txt", "The key lies under the mat.")
    (folder / "zh" / "longjing.md").unlink()
    report = knowledge.ingest(folder)
    assert _outcomes(report) == {
        "changed": {"router.md"},
        "added": {"note.txt"},
        "removed": {"longjing.md"},
        "unchanged": {"handbook.md", "shouce.md"},
    }
    assert sorted(reads) == ["note.txt", "router.md"]
    assert knowledge.recall("Where is the key?")[0].text == "The key lies under the mat."
    assert not [
        hit for hit in knowledge.recall("factory settings 明前茶", limit=20) if "茶" in hit.text or "reset" in hit.text
    ]
    document = knowledge.get(document_id("file", str((folder / "en" / "router.md").resolve())))
    assert (document.title, document.media_type) == ("Router", "text/markdown")
    assert document.modified is not None
    assert document.modified.timestamp() == LONG_AGO + 5


def test_a_change_that_leaves_size_and_times_alone_is_seen(knowledge: Knowledge, tmp_path: Path):
    path = _write(tmp_path / "a.txt", "The gate is open.", age=time.time())
    assert _outcomes(knowledge.ingest(path)) == {"added": {"a.txt"}}
    before = path.stat()
    path.write_bytes(b"The gate is shut.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    report = knowledge.ingest(path)
    assert _outcomes(report) == {"changed": {"a.txt"}}
    assert knowledge.recall("gate")[0].text == "The gate is shut."


def test_a_file_whose_times_alone_have_changed_is_unchanged(knowledge: Knowledge, tmp_path: Path, settled: None):
    path = _write(tmp_path / "a.txt", "The gate is open.")
    knowledge.ingest(path)
    os.utime(path)
    assert _outcomes(knowledge.ingest(path)) == {"unchanged": {"a.txt"}}
    assert _outcomes(knowledge.ingest(path, metadata={"team": "red"})) == {"changed": {"a.txt"}}
    assert _outcomes(knowledge.ingest(path, metadata={"team": "red"})) == {"unchanged": {"a.txt"}}
    assert knowledge.recall("gate", where={"team": "red"})
    assert not knowledge.recall("gate", where={"team": "blue"})


def test_patterns_choose_files_and_what_they_leave_out_stays(knowledge: Knowledge, folder: Path):
    knowledge.ingest(folder)
    (folder / "en" / "router.md").unlink()
    report = knowledge.ingest(folder, patterns=("shouce*",), remove_missing=False)
    assert _outcomes(report) == {"unchanged": {"shouce.md"}}
    assert _outcomes(knowledge.ingest(folder, patterns="shouce*"))["removed"] == {"router.md"}
    assert knowledge.count().documents == 3


def test_a_file_that_was_named_and_is_not_there_is_refused_and_kept(knowledge: Knowledge, tmp_path: Path):
    path = _write(tmp_path / "usb" / "a.txt", "The gate is open.")
    knowledge.ingest(path)
    (tmp_path / "usb").rename(tmp_path / "elsewhere")
    for named in (path, path.parent):
        report = knowledge.ingest(named)
        [one] = report.refused
        assert (one.source, one.reason, _outcomes(report)) == (str(named.resolve()), "unreachable", {})
        assert one.detail.endswith("what was taken in before is kept")
    assert knowledge.recall("gate")[0].text == "The gate is open."
    assert "kept" not in knowledge.ingest(tmp_path / "never.txt").refused[0].detail


def test_nothing_is_dropped_from_a_folder_that_could_not_be_listed(
    knowledge: Knowledge, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    knowledge.ingest(folder)
    (folder / "en" / "router.md").unlink()
    (folder / "zh" / "longjing.md").unlink()
    whole = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "en":
            raise OSError(5, "Input/output error")
        return whole(path)

    with monkeypatch.context() as broken:
        broken.setattr(os, "scandir", scandir)
        report = knowledge.ingest(folder)
    assert _outcomes(report) == {"removed": {"longjing.md"}, "unchanged": {"shouce.md"}}
    assert [one.reason for one in report.refused] == ["unreachable"]
    assert _outcomes(knowledge.ingest(folder))["removed"] == {"router.md"}


def test_a_file_that_goes_while_the_folder_is_read_is_kept_until_the_next_time(
    knowledge: Knowledge, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    knowledge.ingest(folder)
    gone = folder / "en" / "router.md"
    gone.unlink()
    listed = ingest.files_under
    monkeypatch.setattr(ingest, "files_under", lambda *given, **options: [*listed(*given, **options), gone])
    report = knowledge.ingest(folder)
    assert ("removed" in _outcomes(report), [one.reason for one in report.refused]) == (False, ["unreachable"])
    monkeypatch.undo()
    assert _outcomes(knowledge.ingest(folder))["removed"] == {"router.md"}


def test_links_that_are_not_followed_are_told_of(knowledge: Knowledge, folder: Path, tmp_path: Path):
    links = tmp_path / "links"
    links.mkdir()
    for number in range(7):
        (links / f"link-{number}.md").symlink_to(folder / "en" / "router.md")
    Path(os.fsdecode(os.fsencode(links) + b"/\xff.md")).symlink_to(folder)
    report = knowledge.ingest(links)
    assert [one.reason for one in report.refused] == ["empty"]
    [warning] = report.warnings
    assert warning.startswith(f"{links.resolve()}: 8 symbolic links were not followed: link-0.md, link-1.md")
    assert warning.endswith("link-4.md and 3 more")
    assert warning in str(report)
    (folder / "one.md").symlink_to(links)
    [warning] = knowledge.ingest(folder).warnings
    assert warning.endswith("1 symbolic link was not followed: one.md")


def test_bad_files_are_named_and_the_rest_is_taken_in(knowledge: Knowledge, folder: Path):
    bad = {
        "empty.txt": (b"", "empty"), "broken.pdf": (b"%PDF-1.7\nnot really", "broken"),
        "picture.txt": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "not-what-it-says"),
        "archive.zip": (b"PK\x05\x06" + bytes(18), "archive"), "large.txt": (b"word " * 5_000, "too-large"),
    }  # fmt: skip
    for name, (data, _) in bad.items():
        _write(folder / name, data)
    os.mkfifo(folder / "pipe.txt")
    (folder / "nothing").mkdir()
    report = knowledge.ingest(folder, folder / "nothing", folder / "absent", most_bytes=20_000)
    reasons = {Path(one.source).name: one.reason for one in report.refused}
    assert reasons == {
        **{name: reason for name, (_, reason) in bad.items()},
        "nothing": "empty",
        "absent": "unreachable",
    }
    assert all(one.detail for one in report.refused)
    assert _outcomes(report) == {"added": {f"{name}.md" for name in SHELF}}
    assert knowledge.count().documents == len(SHELF)


def test_a_file_that_went_bad_keeps_what_was_taken_in_before(knowledge: Knowledge, tmp_path: Path):
    path = _write(tmp_path / "a.txt", "The gate is open.")
    knowledge.ingest(path)
    _write(path, b"\x00\x01\x02\x03" * 100, age=LONG_AGO + 9)
    report = knowledge.ingest(path)
    assert "kept" in report.refused[0].detail
    assert knowledge.recall("gate")[0].text == "The gate is open."
    _write(path, "The gate is gone.", age=LONG_AGO + 19)
    assert _outcomes(knowledge.ingest(path)) == {"changed": {"a.txt"}}


def test_a_name_that_is_no_text_is_refused_and_the_rest_taken_in(knowledge: Knowledge, tmp_path: Path):
    _write(tmp_path / "d" / "a.txt", "The gate is open.")
    Path(os.fsdecode(os.fsencode(tmp_path / "d") + b"/\xff.txt")).write_bytes(b"Some words.")
    report = knowledge.ingest(tmp_path / "d")
    assert _outcomes(report) == {"added": {"a.txt"}}
    [one] = report.refused
    assert (one.reason, one.detail) == ("broken", "its name is in no known encoding; rename it")
    assert report.in_words("zh").encode()


def test_an_embedder_that_fails_is_not_asked_again_for_every_file(backend: Backend, folder: Path):
    embedder = Failing()
    knowledge = knowledge_over(backend, embedder=embedder)
    report = knowledge.ingest(folder)
    assert len(report.added) == len(SHELF)
    assert "flush()" in report.warnings[-1]
    assert embedder.texts <= 2 * report.chunks
    embedder.broken = False
    assert knowledge.ingest(folder).warnings == ()
    assert knowledge.pending().vectors == 0


def test_a_report_can_be_read_by_people(knowledge: Knowledge, folder: Path):
    _write(folder / "empty.txt", b"")
    report = knowledge.ingest(folder)
    assert str(report).startswith(f"4 added, 1 refused; {report.chunks} chunks in ")
    assert report.in_words("zh").startswith(f"新增 4，拒绝 1；共 {report.chunks} 个片段")
    assert "empty.txt" in str(report).split("\n")[1]


@pytest.mark.parametrize("wrong", [3, "", b"x", "a\x00b"])
def test_what_is_no_source_is_refused(knowledge: Knowledge, wrong: object):
    with pytest.raises(InvalidInput):
        knowledge.ingest(wrong)  # pyright: ignore[reportArgumentType]


class _Pages(BaseHTTPRequestHandler):
    page = b"<html><head><title>Tides</title></head><body><h1>Tides</h1><p>High water is at noon.</p></body></html>"

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/tides" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(type(self).page if self.path == "/tides" else b"")

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


@pytest.fixture
def site() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_pages_are_taken_in_when_they_are_named_and_private_ones_only_when_allowed(
    knowledge: Knowledge, site: str, monkeypatch: pytest.MonkeyPatch
):
    report = knowledge.ingest(f"{site}/tides")
    assert [one.reason for one in report.refused] == ["forbidden-address"]
    report = knowledge.ingest(f"{site}/tides#top", f"{site}/none", allow_private=True)
    assert (report.added, [one.reason for one in report.refused]) == ((f"{site}/tides",), ["unreachable"])
    hit = knowledge.recall("high water")[0]
    assert "High water is at noon." in hit.text
    assert (hit.citation.source, hit.citation.title) == (f"{site}/tides", "Tides")
    assert knowledge.ingest(f"{site}/tides", allow_private=True).unchanged == (f"{site}/tides",)
    monkeypatch.setattr(_Pages, "page", _Pages.page.replace(b"noon", b"dusk"))
    assert knowledge.ingest(f"{site}/tides", allow_private=True).changed == (f"{site}/tides",)


INGEST = """
import sys
from memwell.knowledge import Knowledge
from memwell.models.scripted import HashEmbedder
from memwell.storage import open_backend

with open_backend(sys.argv[1]) as backend:
    knowledge = Knowledge(backend, "ann", embedder=HashEmbedder(64))
    sys.stdin.readline()
    report = knowledge.ingest(sys.argv[2])
    assert not report.refused, report
"""


def test_two_processes_ingest_the_same_folder_at_once(folder: Path, tmp_path: Path):
    store = tmp_path / "store.db"
    open_backend(str(store)).close()
    for number in range(30):
        _write(folder / f"more-{number}.txt", f"Number {number} is a note about thing {number}.")
    command = [sys.executable, "-c", INGEST, str(store), str(folder)]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
    complaints = [child.communicate()[1] for child in children]
    assert [child.returncode for child in children] == [0, 0], complaints
    with open_backend(str(store)) as backend:
        knowledge = Knowledge(backend, "ann", embedder=HashEmbedder(64))
        assert knowledge.count().documents == len(SHELF) + 30
        assert knowledge.count().chunks == sum(one.chunks for one in knowledge.documents())
        assert knowledge.pending().vectors == 0
        assert backend.check() == []


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://example.org/x", "data://text/plain,x", "FILE://x"])
def test_other_addresses_than_web_pages_are_refused(address: str):
    with open_backend("memory:") as backend:
        report = Knowledge(backend, "ann").ingest(address)
    [one] = report.refused
    assert (one.source, one.reason) == (address, "forbidden-address")


def test_a_folder_that_is_empty_now_keeps_what_it_held(tmp_path: Path):
    (tmp_path / "disc").mkdir()
    (tmp_path / "disc" / "tea.md").write_text("Green tea.", encoding="utf-8")
    with open_backend("memory:") as backend:
        knowledge = Knowledge(backend, "ann")
        knowledge.ingest(tmp_path / "disc")
        (tmp_path / "disc" / "tea.md").unlink()
        report = knowledge.ingest(tmp_path / "disc")
        assert [one.reason for one in report.refused] == ["empty"]
        assert knowledge.count().documents == 1
