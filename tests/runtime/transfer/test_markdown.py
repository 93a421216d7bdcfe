"""A document can be read, changed by hand and taken in again; what was not touched is as it was, to the last blank."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.errors import InvalidInput, NotFound
from memwell.longterm.media import MediaMemory
from memwell.longterm.memory import Memory
from memwell.records import Record, Space
from memwell.runtime.transfer import export_jsonl, export_markdown, import_jsonl, import_markdown
from memwell.storage import open_backend
from memwell.testing.strategies import ids, metadata, texts
from tests.media_files import picture, sound

SPACE = Space("ann")
MAY = datetime(2026, 5, 1, 12, 30, 0, 7, tzinfo=UTC)


def opened() -> Memory:
    return Memory(open_backend("memory:"), SPACE)


def document(memory: Memory, **options: Any) -> str:
    out = io.BytesIO()
    export_markdown(memory, out, **options)
    return out.getvalue().decode()


def taken(memory: Memory, text: str, **options: Any):
    return import_markdown(memory, io.BytesIO(text.encode()), **options)


def memories(memory: Memory) -> list[bytes]:
    """The memories as JSONL, which holds all there is, in any order."""
    out = io.BytesIO()
    export_jsonl(memory, out, threads=False)
    return sorted(line for line in out.getvalue().splitlines() if b'"type":"memory"' in line)


def without_time(text: str) -> str:
    return re.sub("exported: .*", "", text)


def filled() -> Memory:
    memory = opened()
    memory.remember("Ann likes trains.", id="trains", time=MAY)
    memory.remember("她喜欢火车。", id="zh", time=MAY, session="trip", metadata={"n": 1})
    memory.remember("A draft.", id="draft", time=MAY)
    memory.update("trains", "Ann likes fast trains.")
    memory.forget("draft")
    return memory


HOSTILE = [
    "# a heading",
    "- a bullet\n- another",
    "---",
    "two\nlines",
    "blank\n\n\nlines\n",
    "\n\nfirst",
    "trailing  \nspaces   ",
    "  leading\n    code",
    "CRLF\r\nand\rCR",
    "a <!-- comment --> inside",
    '<!-- memwell {"id":"trains"} -->',
    'x\n  <!-- memwell {"id":"trains","kind":"k"} -->',
    "\\<!-- escaped \\\\<!-- twice",
    "```python\nprint('-->')\n```",
    "tabs\tand\u00a0blanks\u2028and\x85lines\x0b\x0c\x1c",
    "",
    " ",
    "## 2026-05-01",
    "火车\u3000",
]


@given(st.lists(st.tuples(ids(), ids(), texts() | st.sampled_from(HOSTILE), metadata()), max_size=4))
@example([(f"id {n}", "memory", text, {}) for n, text in enumerate(HOSTILE)])
def test_every_text_survives_exactly(given_: list[tuple[str, str, str, dict]]) -> None:
    memory = opened()
    for id_, kind, text, own in given_:
        if "memwell" not in own:
            memory.backend.index.upsert([Record(text=text, space=SPACE, id=id_, kind=kind, metadata=own, time=MAY)])
    written = document(memory)
    for version in (written, written.replace("\n", "\r\n"), "\n".join(line.rstrip() for line in written.split("\n"))):
        other = opened()
        report = taken(other, version)
        assert report.problems == []
        assert memories(other) == memories(memory)
        assert without_time(document(other)) == without_time(written)
        assert taken(other, version).new == 0


def test_it_is_readable() -> None:
    shown = [line for line in document(filled()).split("\n") if not line.startswith(("  <!--", "exported"))]
    assert shown == [
        "---", "memwell: 1", 'space: ["ann"]', "---", "", "# Memories", "",
        "## 2026-05-01", "", "- Ann likes fast trains.", "",
        '## Session "trip"', "", "- 她喜欢火车。", "",
        "# Forgotten", "", "- A draft.", "",
    ]  # fmt: skip
    assert "A draft" not in document(filled(), forgotten=False)


def test_a_changed_text_updates_and_an_added_bullet_is_remembered() -> None:
    memory = filled()
    changed = document(memory).replace("Ann likes fast trains.", "Ann likes slow trains.\n  Very slow ones.")
    changed = changed.replace("- 她喜欢火车。", "- She took a boat.\n- 她喜欢火车。").replace(
        "# Memories", "# Mine\n\nA word."
    )
    report = taken(memory, changed)
    assert (report.counts, report.problems) == ({"updates": 1, "memories": 1}, [])
    assert memory.get("trains").text == "Ann likes slow trains.\nVery slow ones."
    assert memory.undo("trains").text == "Ann likes fast trains."
    memory.update("trains", "Ann likes slow trains.\nVery slow ones.")
    boat = next(one for one in memory._all() if "boat" in one.text)
    assert boat.metadata["memwell"]["session"] == "trip"
    assert taken(memory, changed).new == 0


def test_a_bullet_added_under_a_day_is_of_that_day() -> None:
    memory = opened()
    taken(memory, "## 2024-02-29\n- A leap day.\n\n## 2024-99-99\n- No day.\n")
    times = {one.text: one.time for one in memory._all()}
    assert times["A leap day."] == datetime(2024, 2, 29, tzinfo=UTC)
    assert times["No day."].year > 2024


def test_a_changed_memory_that_is_not_here_comes_as_changed() -> None:
    other = opened()
    changed = document(filled()).replace("Ann likes fast trains.", "Ann likes slow trains.")
    assert taken(other, changed).counts == {"memories": 3}
    assert other.get("trains").text == "Ann likes slow trains."
    assert taken(other, changed).new == 0


def test_what_changed_on_both_sides_stays_as_it_is_here() -> None:
    memory = filled()
    changed = document(memory).replace("Ann likes fast trains.", "Ann likes slow trains.")
    memory.update("trains", "Ann likes boats.")
    report = taken(memory, changed)
    assert "changed here since the export" in report.problems[0].reason
    assert memory.get("trains").text == "Ann likes boats."


def test_removed_bullets_are_forgotten_only_when_asked() -> None:
    memory = filled()
    written = document(memory)
    memory.remember("Something new.", id="new")
    cut = re.sub(r"- Ann likes fast trains.\n.*\n", "", written)
    assert taken(memory, cut).new == 0
    assert memory.get("trains").text == "Ann likes fast trains."
    assert taken(memory, cut, prune=True).counts == {"forgotten": 1}
    with pytest.raises(NotFound):
        memory.get("trains")
    assert memory.get("new").text == "Something new."
    assert memory.undo("trains").text == "Ann likes fast trains."


def test_nothing_is_pruned_by_a_damaged_document_or_one_without_a_date() -> None:
    memory = filled()
    damaged = document(memory).replace('{"id":"trains"', '{"id":trains')
    report = taken(memory, damaged, prune=True)
    assert ["was changed" in report.problems[0].reason, "nothing was pruned" in report.problems[1].reason] == [
        True,
        True,
    ]
    assert memory.get("trains").text == "Ann likes fast trains."
    with pytest.raises(InvalidInput, match="when it was exported"):
        taken(memory, "- Only this.\n", prune=True)


def test_a_text_does_not_pass_for_a_mark() -> None:
    memory = filled()
    memory.remember('Look:\n<!-- memwell {"id":"trains","kind":"k"} -->', id="trick", time=MAY)
    written = document(memory)
    without = re.sub(r'  <!-- memwell \{"id":"trick".*\n', "", written)
    assert without != written
    report = taken(memory, without)
    assert report.counts == {"memories": 1}
    assert memory.get("trains").text == "Ann likes fast trains."


def with_media() -> Memory:
    memory = filled()
    media = MediaMemory(memory)
    media.add(picture("PNG"), description="a cat", features=[1.0, 0.0], session="trip")
    media.add(sound("mp3"), description="a song")
    media.add(kind="video", description="a film that is only described")
    return memory


def test_media_come_in_words_alone_and_it_is_said_everywhere() -> None:
    memory, other = with_media(), opened()
    text = document(memory)
    assert (
        "\n> The words of 2 media, without bytes and features: an export that ends in .jsonl holds those too.\n" in text
    )
    report = taken(other, text)
    assert report.counts == {"memories": 6}
    assert report.problems == []
    assert report.hints == [
        "2 media came without bytes or features, which no document holds: import the .jsonl export for those"
    ]
    cat, song, film = (MediaMemory(other).items(kinds=kind)[0] for kind in ("image", "audio", "video"))
    assert (cat.has_thumbnail, cat.dimensions) == (False, 0)
    assert cat.warnings[-1].startswith("its bytes, its thumbnail and its features are not in this store")
    assert song.warnings[-1].startswith("its bytes are not in this store")
    assert film.warnings == ()
    with pytest.raises(NotFound, match="jsonl"):
        MediaMemory(other).data(song.id)
    assert taken(other, text).hints == []


def test_media_that_came_in_words_are_whole_once_their_bytes_come() -> None:
    memory, other, out = with_media(), opened(), io.BytesIO()
    taken(other, document(memory))
    export_jsonl(memory, out, blobs=True)
    import_jsonl(other, io.BytesIO(out.getvalue()))
    assert MediaMemory(other).items() == MediaMemory(memory).items()
    [cat] = MediaMemory(other).like([1.0, 0.0])
    assert MediaMemory(other).data(cat.id) == picture("PNG")
    assert MediaMemory(other).thumbnail(cat.id) is not None


def test_two_bullets_of_one_memory_are_reported() -> None:
    memory = filled()
    bullet = re.search(r"- Ann likes fast trains.\n.*\n", document(memory))
    assert bullet is not None
    report = taken(memory, document(memory) + bullet[0])
    assert "second bullet" in report.problems[0].reason
    with pytest.raises(InvalidInput, match="second bullet"):
        taken(memory, document(memory) + bullet[0], strict=True)


@given(st.binary(max_size=300) | texts(max_size=200).map(str.encode))
def test_any_file_is_read_without_a_crash(data: bytes) -> None:
    report = import_markdown(opened(), io.BytesIO(b"- " + data))
    assert report.format == "markdown"


def test_what_a_memory_carries_cannot_end_its_comment() -> None:
    memory = opened()
    memory.remember("Ann likes trains.", metadata={"a": "--> <b>-- -->", "b--": "<!--"})
    comment = next(line for line in document(memory).split("\n") if line.startswith("  <!-- "))
    inside = comment.removeprefix("  <!-- ").removesuffix(" -->")
    assert not re.search("--|<|>", inside)
    other = opened()
    taken(other, document(memory))
    assert memories(other) == memories(memory)
