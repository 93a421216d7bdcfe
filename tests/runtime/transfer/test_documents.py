"""Documents go out with the memory of their space, and come in the same: text, times, chunks, citations, vectors."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.knowledge import Chunking, Knowledge, Parsed
from memwell.knowledge.documents import BLOCK_KINDS, Block
from memwell.longterm.memory import Memory
from memwell.models.ports import Embedder
from memwell.models.scripted import HashEmbedder
from memwell.records import MAX_SEGMENTS, Record, Space, paged
from memwell.runtime.transfer import Imported, documents, export_jsonl, import_jsonl
from memwell.storage import Backend, open_backend
from memwell.testing.strategies import ids, metadata, texts
from tests.knowledge.bench import SHELF, filled

NOON = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
QUESTIONS = ("How long is parental leave?", "员工每年有多少天年假？", "泡龙井茶水温多少合适？", "factory settings")


class Home:
    """A memory with documents."""

    def __init__(self, backend: Backend, space: str = "ann", embedder: Embedder | None = None) -> None:
        self.told: list[Space] = []
        self.memory = Memory(backend, space, embedder=embedder, notify=self.told.append)
        self.knowledge = Knowledge(backend, space, embedder=embedder, clock=lambda: NOON)

    @property
    def chunks(self) -> list[Record]:
        index = self.memory.backend.index
        found = paged(lambda cursor: index.scan(self.knowledge.space, limit=500, cursor=cursor))
        return sorted(found, key=lambda record: record.id)

    def lines(self, **options: Any) -> list[bytes]:
        out = io.BytesIO()
        export_jsonl(self.memory, out, **options)
        return out.getvalue().splitlines(keepends=True)

    def bring(self, lines: list[bytes], **options: Any) -> Imported:
        return import_jsonl(self.memory, io.BytesIO(b"".join(lines)), trusted=True, **options)


def home(url: str = "memory:", space: str = "ann", *, dimensions: int | None = 64) -> Home:
    return Home(open_backend(url), space, None if dimensions is None else HashEmbedder(dimensions))


def paged_report() -> Parsed:
    text = "# Report\n\nTea sales rose by nine percent.\n\n第二页说明了茶叶的价格。\n\n| tea | price |\n| 龙井 | 90 |"
    blocks = (
        Block("heading", 0, 8, 1, 1),
        Block("paragraph", 10, 41, 0, 1),
        Block("paragraph", 43, 55, 0, 2),
        Block("table", 57, len(text), 0, 3),
    )
    return Parsed(text, blocks, "Report", "application/pdf", 3, {"author": "Mia"}, ("page 3 was scanned",))


def full(url: str = "memory:", *, dimensions: int | None = 64) -> Home:
    """Documents of two languages: with headings, with pages, ingested, cut otherwise."""
    one = home(url, dimensions=dimensions)
    filled(one.knowledge)
    one.knowledge.rechunk(Chunking(24, 4, 8))
    one.knowledge.add(paged_report(), id="report", title="Our report", source="报告.pdf", metadata={"year": 2026})
    one.memory.remember("Ann likes tea.")
    return one


def outside_the_shelf(found: list[Record]) -> list[tuple[Any, ...]]:
    return [(one.id, one.text, one.kind, one.time, one.metadata) for one in found]


@pytest.mark.parametrize("url", ["memory:", "sqlite"])
@pytest.mark.parametrize("vectors", [True, False])
def test_documents_come_over_as_they_were(url: str, vectors: bool, tmp_path: Path):
    here = full()
    there = home(url if url == "memory:" else str(tmp_path / "there.db"))
    done = there.bring(here.lines(vectors=vectors))
    assert (done.problems, done.skipped, done.counts) == ([], [], {"memories": 1, "documents": len(SHELF) + 1})
    assert there.knowledge.documents() == here.knowledge.documents()
    assert there.knowledge.chunking == here.knowledge.chunking
    assert outside_the_shelf(there.chunks) == outside_the_shelf(here.chunks)
    for document in here.knowledge.documents():
        assert there.knowledge.text(document.id) == here.knowledge.text(document.id)
    owed = 0 if vectors else len(here.chunks)
    assert there.knowledge.pending().vectors == owed
    assert (there.knowledge.space in there.told) == bool(owed)
    there.knowledge.flush()
    assert [record.vector for record in there.chunks] == [record.vector for record in here.chunks]
    for question in QUESTIONS:
        found = there.knowledge.recall(question)
        assert [(hit.id, hit.citation, hit.text) for hit in found] == [
            (hit.id, hit.citation, hit.text) for hit in here.knowledge.recall(question)
        ]
    again = there.lines(vectors=True)
    assert again[1:] == here.lines(vectors=True)[1:]
    assert there.bring(again).new == 0
    assert there.lines(vectors=True)[1:] == again[1:]
    there.memory.backend.close()


@st.composite
def read(draw: st.DrawFn) -> Parsed:
    """A document as any reader might hand it over."""
    text = draw(texts().filter(lambda text: bool(text.strip())))
    ends = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    blocks = [
        Block(draw(st.sampled_from(BLOCK_KINDS)), start, end, draw(st.integers(0, 3)), draw(st.none() | st.just(2)))
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    return Parsed(text, tuple(blocks), draw(texts()), pages=draw(st.none() | st.integers(0, 9)))


OWN = metadata().map(lambda given: {key: given[key] for key in given if key not in ("document", "chunk", "memwell")})
DOCUMENTS = st.dictionaries(ids(), st.tuples(read(), texts(), texts(), OWN), max_size=3)


@given(DOCUMENTS, st.integers(1, 40))
def test_any_document_comes_over_in_lines_of_any_length(given_: dict[str, Any], longest: int):
    here, there = home(), home(space="bob")
    for id_, (parsed, source, title, own) in given_.items():
        here.knowledge.add(parsed, id=id_, source=source, title=title, metadata=own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "CHARACTERS", longest)
        patch.setattr(documents, "BLOCKS", 1)
        patch.setattr(documents, "VECTORS", 1)
        lines = here.lines(vectors=True)
    done = there.bring(lines, strict=True)
    assert done.counts.get("documents", 0) == len(given_)
    assert there.lines(vectors=True)[1:] == here.lines(vectors=True)[1:]
    assert there.knowledge.documents() == here.knowledge.documents()
    assert [there.knowledge.text(id_) for id_ in given_] == [parsed.text for parsed, *_ in given_.values()]
    assert outside_the_shelf(there.chunks) == outside_the_shelf(here.chunks)
    assert there.bring(lines, strict=True).new == 0


def test_no_line_is_longer_than_a_reader_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(documents, "CHARACTERS", 500)
    monkeypatch.setattr(documents, "VECTORS", 3)
    here, there = home(), home()
    here.knowledge.add("tea \x01\x02 " * 1000 + "茶" * 1000, id="control")
    lines = here.lines(vectors=True)
    longest = max(map(len, lines))
    assert longest < 500 * 6 + 1000
    assert there.bring(lines, longest_line=longest).problems == []
    assert there.knowledge.text("control") == here.knowledge.text("control")
    assert there.knowledge.pending().vectors == 0


def test_what_is_here_under_the_same_id_stays():
    here, there = full(), home()
    mine = there.knowledge.add("Mine says something else.", id="report")
    done = there.bring(here.lines())
    assert (done.counts["documents"], done.known, done.problems) == (len(SHELF), 1, [])
    assert [note.reason for note in done.skipped] == ["the document 'report' has another content here, which stays"]
    assert there.knowledge.get("report") == mine


@pytest.mark.parametrize(("theirs", "ours", "owed"), [(64, 32, True), (None, 64, True), (64, None, False)])
def test_vectors_of_another_embedder_are_left_behind(theirs: int | None, ours: int | None, owed: bool):
    here, there = full(dimensions=theirs), home(dimensions=ours)
    assert there.bring(here.lines(vectors=True)).problems == []
    assert bool(there.knowledge.pending().vectors) == owed
    if ours is None:
        # Nobody here makes any, so those that came are kept for whoever does.
        there = Home(there.memory.backend, embedder=HashEmbedder(64))
        assert there.lines(vectors=True)[1:] == here.lines(vectors=True)[1:]
    there.knowledge.flush()
    info = there.memory.backend.index.info(there.knowledge.space)
    assert (info.vectors, info.dimensions) == (len(here.chunks), ours or 64)


def document_line(**fields: Any) -> bytes:
    one = home()
    one.knowledge.add("Tea is good.", id="tea")
    [line] = [line for line in one.lines(vectors=True) if line.startswith(b'{"type":"document"')]
    return json.dumps({**json.loads(line), **fields}).encode() + b"\n"


BAD = [
    ({"id": ""}, "empty"), ({"id": 7}, "Expected `str`"), ({"text": "Tea"}, "has 3 characters here, and not 12"),
    ({"text": "a\x00b", "characters": 3}, "NUL"), ({"text": "  \n", "characters": 3}, "no text"),
    ({"metadata": {"document": "x"}}, "must not have the key 'document'"), ({"metadata": {"n": 2**70}}, "64"),
    ({"size": -1}, "size"), ({"pages": -1}, "pages"), ({"time": "yesterday"}, "datetime"),
    ({"chunking": {"tokens": 1}}, "not cut so"), ({"chunking": {"tokens": "many"}}, "not cut so"),
    ({"origin": "file", "source": "/tmp/tea.txt"}, "was not made of"), ({"origin": "elsewhere"}, "was not made of"),
    ({"blocks": [["paragraph", 0, 2**70, 0, None]]}, "64 bits"), ({"blocks": [["paragraph", 0]]}, "length 5"),
    ({"vectors": {"x": "!!"}}, "base64"), ({"vectors": {"x": "AAA="}, "embedder": "another"}, ""),
    ({"more": True}, "last part of the document 'tea' is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "reason"), BAD, ids=range(len(BAD)))
def test_a_bad_document_is_reported_and_the_rest_comes_over(fields: dict[str, Any], reason: str):
    here, there = full(), home()
    lines = here.lines()
    done = there.bring([*lines[:-1], document_line(**fields), lines[-1]])
    if not reason:
        assert done.problems == []
        assert there.knowledge.text("tea") == "Tea is good."
        return
    assert len(done.problems) == 1
    assert reason in done.problems[0].reason
    assert there.lines()[1:] == lines[1:]


def test_parts_without_a_beginning_and_in_the_wrong_place_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(documents, "CHARACTERS", 20)
    here = full()
    lines = here.lines()
    parts = [n for n, line in enumerate(lines) if line.startswith(b'{"type":"document_part"')]
    there = home()
    done = there.bring([line for n, line in enumerate(lines) if n != parts[0]])
    assert len(done.problems) == 1
    assert "characters here" in done.problems[0].reason
    assert there.knowledge.count().documents == len(SHELF)
    stray = home()
    done = stray.bring([lines[0], lines[parts[0]], lines[-1]])
    assert "beginning is missing" in done.problems[0].reason
    assert stray.knowledge.count().documents == 0
    assert there.bring(lines).counts == {"documents": 1}


def test_a_text_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(documents, "_MOST_CHARACTERS", 400)
    monkeypatch.setattr(documents, "CHARACTERS", 100)
    there = home()
    done = there.bring(full().lines())
    assert any("more than 400 characters" in note.reason for note in done.problems)
    assert all(len(there.knowledge.text(one.id)) <= 400 for one in there.knowledge.documents())


def test_a_space_too_deep_for_documents_goes_out_and_says_so_when_some_come():
    deep = Home.__new__(Home)
    deep.memory = Memory(open_backend("memory:"), Space(*["a"] * (MAX_SEGMENTS - 1)))
    deep.memory.remember("Ann likes tea.")
    assert len(deep.lines()) == 3
    done = deep.bring(full().lines())
    assert done.counts == {"memories": 1}
    assert {note.reason.partition(" has ")[2] for note in done.problems} == {"too many segments to have documents"}


def test_ingested_documents_are_known_again_by_their_files(tmp_path: Path):
    folder = tmp_path / "papers"
    folder.mkdir()
    for id_, text in SHELF.items():
        (folder / f"{id_}.md").write_text(text, "utf-8")
    here, there = home(), home()
    here.knowledge.ingest(folder)
    assert there.bring(here.lines()).problems == []
    (folder / "router.md").unlink()
    done = there.knowledge.ingest(folder)
    assert (len(done.unchanged), len(done.removed), done.added) == (len(SHELF) - 1, 1, ())


def test_a_document_whose_text_is_lost_is_left_out():
    here = full()
    manifest = here.knowledge._shelf.required("report")
    here.memory.backend.blobs.delete(here.knowledge.space, manifest.blob)
    there = home()
    assert there.bring(here.lines()).counts["documents"] == len(SHELF)


def test_a_document_that_is_replaced_meanwhile_goes_out_as_it_is_now():
    here = full()
    shelf = documents.shelf_of(here.memory)
    assert shelf is not None
    lines = documents.document_lines(shelf, vectors=False)
    next(lines)
    for id_ in SHELF:
        here.knowledge.add("Something new.", id=id_)
    here.knowledge.remove("report")
    assert [getattr(line, "text", "") for line in lines] == ["Something new."] * len(SHELF)
