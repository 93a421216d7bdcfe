"""Documents: taking them in, taking them in again, recalling passages at 1,000 to 100,000, and a thousand pages of PDF.

Files are Markdown of some 700 words with headings, half English, two fifths Chinese. Where the library is measured and not
a model, vectors come out of a table: their cost is measured too and taken off. The pages are a PDF file of
1,000, embedded by the model that comes along.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.corpus import Directions, Writer
from benchmarks.measuring import Contender, Timing, cycle_through, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from benchmarks.rivals import Item, installed_rivals
from memwell.compat.basememory import BaseMemory, ListStorage
from memwell.knowledge import Citation, Knowledge
from memwell.models.ports import Embedder
from memwell.storage import open_backend

_DIMENSIONS = 384
_TABLE = 8_192
_LIMIT = 5
_CHUNKS_A_SECOND = 200
_AGAIN_S = 2.0
_RECALL_MS = 10.0
_SAVED = 0.45
_OF_A_DOCUMENT = 100
"""Fifty passages become at most so many chunks."""
RECALL = "memwell knowledge.recall"


class Table(Embedder):
    """Vectors drawn before the clock starts, chosen by the text; ``seconds`` is the CPU that choosing took."""

    def __init__(self) -> None:
        self._vectors = Directions(3).draw(_TABLE)
        self.seconds = 0.0

    @property
    def name(self) -> str:
        return "table"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        start = time.process_time()
        rows = [int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) % _TABLE for text in texts]
        found = self._vectors[rows]
        self.seconds += time.process_time() - start
        return found

    def listed(self, text: str) -> list[float]:
        """The vector of one text as a list, for rivals."""
        return self.embed([text])[0].tolist()


def knowledge(folder: Path, *, quick: bool) -> Section:
    """All of it."""
    section = Section("knowledge")
    files, sizes, pages = (40, (200, 1_000), 20) if quick else (1_000, (1_000, 10_000, 100_000), 1_000)
    _ingest(section, folder, files)
    _recall(section, folder, sizes, quick=quick)
    _pages(section, folder, pages)
    _optimize(section, 500 if quick else 20_000)
    return section


def _write_files(folder: Path, count: int) -> None:
    folder.mkdir()
    writer = Writer(5)
    for number in range(count):
        parts = [f"# Document {number}\n"]
        for part in range(5):
            body = "\n\n".join(" ".join(writer.text() for _ in range(4)) for _ in range(2))
            parts.append(f"## Part {part} of {number}\n\n{body}\n")
        (folder / f"{number:05d}.md").write_text("\n".join(parts), encoding="utf-8")


def _ingest(section: Section, folder: Path, count: int) -> None:
    """A folder taken in, then again unchanged, then with one file changed."""
    step(f"knowledge: {count:,} files are taken in")
    source = folder / "documents"
    _write_files(source, count)
    table = Table()
    with memwell.open(folder / "ingest.db", embedder=table, work=False) as m:
        first = _timed(lambda: m.knowledge.ingest(source))
        embedding = table.seconds
        again = _timed(lambda: m.knowledge.ingest(source))
        (source / "00000.md").write_text("# Changed\n\nOne sentence is left.\n", encoding="utf-8")
        changed = _timed(lambda: m.knowledge.ingest(source))
        chunks = first[2].chunks
        assert len(again[2].unchanged) == count
        assert len(changed[2].changed) == 1
    rate = chunks / (first[0] - embedding)
    grid = Grid(
        f"A folder of {count:,} Markdown files, {chunks:,} chunks",
        ["", "CPU s", "wall s", "chunks a CPU-second beyond embedding"],
        note="Chunks have at most 256 tokens. The first run reads, cuts, indexes and stores, synced file by file.",
    )
    grid.add("first time", f"{first[0] - embedding:.1f}", f"{first[1]:.1f}", f"{rate:.0f}")
    grid.add("again, nothing changed", f"{again[0]:.3f}", f"{again[1]:.3f}", "–")
    grid.add("again, one file changed", f"{changed[0]:.3f}", f"{changed[1]:.3f}", "–")
    section.grids.append(grid)
    section.figures += [
        Figure(
            "ingest: chunks a CPU-second beyond embedding",
            f"≥ {_CHUNKS_A_SECOND}",
            f"{rate:.0f}",
            rate >= _CHUNKS_A_SECOND,
        ),
        Figure(
            f"ingest again: {count:,} unchanged files", f"< {_AGAIN_S:.0f} s", f"{again[1]:.2f} s", again[1] < _AGAIN_S
        ),
    ]


def _timed(call: Any) -> tuple[float, float, Any]:
    """CPU and wall seconds of a call, and what it returned."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def _recall(section: Section, folder: Path, sizes: Sequence[int], *, quick: bool) -> None:
    """The best passages with their citations, at every size; at the second also by the rivals, who compare vectors."""
    grid = Grid(
        f"The {_LIMIT} best passages of one space, {_DIMENSIONS} dimensions",
        ["chunks", "", "CPU ms", "wall ms", "CPU to memwell", "first recall, CPU s"],
        note="The vector of the query is not in the clock. memwell weighs words, meaning and synonyms, cites and explains.",
    )
    slowest = 0.0
    for size in sizes:
        timings, first, missing = _asked(folder, size, with_rivals=size == sizes[1], quick=quick)
        slowest = max(slowest, timings[RECALL].cpu_us / 1e3)
        for name, timing in timings.items():
            cold = f"{first:.2f}" if name == RECALL else "–"
            cpu, wall = f"{timing.cpu_us / 1e3:.2f}", f"{timing.wall_us / 1e3:.2f}"
            grid.add(f"{size:,}", name, cpu, wall, f"{timing.ratio(timings[RECALL]):.2f}×", cold)
        for text in missing:
            grid.add(f"{size:,}", text, "–", "–", "–", "–")
    section.grids.append(grid)
    name = f"knowledge recall with citation, {sizes[-1]:,} chunks, CPU beyond the query's vector"
    section.figures.append(Figure(name, f"< {_RECALL_MS:.0f} ms", f"{slowest:.2f} ms", slowest < _RECALL_MS))


def _asked(folder: Path, size: int, *, with_rivals: bool, quick: bool) -> tuple[dict[str, Timing], float, list[str]]:
    step(f"knowledge: {size:,} chunks are filled")
    table, writer = Table(), Writer(9)
    texts = [" ".join(writer.text() for _ in range(4)) for _ in range(size)]
    queries = [" ".join(writer.text().split()[:8])[:60] for _ in range(100)]
    with open_backend(str(folder / f"recall-{size}.db")) as backend:
        held = Knowledge(backend, "bench", embedder=table)
        chunks = number = 0
        while chunks <= size - _OF_A_DOCUMENT:
            chunks += held.add("\n\n".join(texts[number : number + 50]), id=f"d{number}").chunks
            number += 50
        for query in queries:
            table.embed([query])
        first = _timed(lambda: held.recall(queries[0], limit=_LIMIT))[0]
        for query in queries:
            held.recall(query, limit=_LIMIT)  # the vector of a query is remembered
        finders: dict[str, Any] = {
            RECALL: lambda query: [str(one.citation) for one in held.recall(query, limit=_LIMIT)]
        }
        place = folder / f"rivals-{size}"
        place.mkdir()
        rivals, missing = installed_rivals(place, _DIMENSIONS, table.listed) if with_rivals else ([], [])
        rivals = [rival for rival in rivals if rival.most_memories >= size]
        for rival in rivals:
            step(f"knowledge: {rival.label} is filled")
            rival.fill([Item("bench", text) for text in texts])
            finders[rival.label] = lambda query, rival=rival: rival.find("bench", query, _LIMIT)
        contenders = [Contender(name, each(find), cycle_through(queries)) for name, find in finders.items()]
        timings = take_turns(contenders, rounds=4 if quick else 12, batch=5)
        for rival in rivals:
            rival.close()
        return timings, first, missing


def _pages(section: Section, folder: Path, count: int) -> None:
    """So many pages of PDF with the embedder that comes along, and questions about some of them."""
    source = folder / "books"
    source.mkdir()
    words = _page_words(count)
    for book in range(0, count, 1_000):
        pages = words[book : book + 1_000]
        (source / f"book-{book // 1_000}.pdf").write_bytes(_pdf(pages))
    step(f"knowledge: {count:,} pages are taken in")
    with memwell.open(folder / "pages.db") as m:
        cpu, wall, report = _timed(lambda: m.knowledge.ingest(source))
        right = 0
        asked = random.Random(1).sample(range(count), min(50, count))
        for page in asked:
            found = m.knowledge.recall(words[page].splitlines()[0], limit=1)
            right += bool(found) and _cites(found[0].citation, page % 1_000 + 1)
        size = sum(file.stat().st_size for file in folder.glob("pages.db*") if file.is_file())
    grid = Grid(f"{count:,} pages of PDF, with the local embedder", ["", ""], note="A page has about 230 words.")
    grid.add("chunks", f"{report.chunks:,}")
    grid.add("wall", f"{wall:.0f} s")
    grid.add("CPU", f"{cpu:.0f} s")
    grid.add("store", f"{size / 2**20:.0f} MB")
    grid.add("asked for the first line of a page: the first passage cites it", f"{right} of {len(asked)}")
    section.grids.append(grid)


def _cites(place: Citation, page: int) -> bool:
    return place.page is not None and place.page <= page <= (place.last_page or place.page)


def _page_words(count: int) -> list[str]:
    writer, texts = Writer(21), []
    while len(texts) < count:
        lines: list[str] = []
        while len(lines) < 22:
            text = writer.text()
            if text.isascii():
                lines += _wrapped(text)
        texts.append(f"Page {len(texts) + 1} tells of lot {len(texts) * 7919 % 100_003}.\n" + "\n".join(lines[:22]))
    return texts


def _wrapped(text: str, width: int = 85) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) >= width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line]


def _pdf(pages: Sequence[str]) -> bytes:
    """A PDF file with a page a text, in one of the fonts that every reader has."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        lines = "".join(f"({line.translate(_ESCAPES)}) Tj T* " for line in text.splitlines())
        stream = f"BT /F1 10 Tf 50 780 Td 14 TL {lines}ET".encode("latin-1")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


_ESCAPES = str.maketrans({"(": r"\(", ")": r"\)", "\\": r"\\"})


def _optimize(section: Section, count: int) -> None:
    """A container of which every second item is a repetition."""
    step("knowledge: optimize()")
    writer = Writer(2)
    texts = [writer.text() for _ in range(count // 2)]
    mixed = texts + ["".join([text[:1], text[1:]]) for text in texts]
    random.Random(4).shuffle(mixed)
    memory = BaseMemory(data=ListStorage(mixed))
    cpu, _, report = _timed(memory.optimize)
    saved = 1 - report.bytes_after / report.bytes_before
    kept = [memory.data[place] for place in range(len(memory.data))]
    grid = Grid(f"optimize() of {count:,} texts, every second one a repetition", ["", ""])
    grid.add("bytes before", f"{report.bytes_before:,}")
    grid.add("bytes after", f"{report.bytes_after:,}")
    grid.add("saved", f"{saved:.1%}")
    grid.add("distinct items lost", f"{len(set(mixed) - set(kept))}")
    grid.add("CPU", f"{cpu:.2f} s")
    section.grids.append(grid)
    met = saved >= _SAVED and set(kept) == set(mixed)
    section.figures.append(
        Figure("optimize(): saved with half of the items repeated", f"≥ {_SAVED:.0%}", f"{saved:.1%}", met)
    )


__all__ = ["knowledge"]
