"""Chunks: they fit, they cover, they keep sentences and sections whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.knowledge.chunking import Chunk, Chunking, chunks, plain
from memwell.knowledge.documents import Block, Parsed
from memwell.language.sentences import sentences
from memwell.tokens import default_counter

count = default_counter().count

SENTENCES = (
    "The bridge was closed in May.", "它在五月关闭了。", "Nobody knows why!", "原因没有人知道吗？",
    "See https://example.org/a/very/long/path?with=arguments for more.", "x" * 90, "超" * 80,
    "def f(x):\n    return x", "| a | b |\n|---|---|\n| 1 | 2 |", "🙂" * 30, " \u3000 ",
)  # fmt: skip
KINDS = ("heading", "paragraph", "list", "code", "table", "row")


@st.composite
def documents(draw: st.DrawFn) -> Parsed:
    """A document of any blocks in any order, some of its text in no block."""
    text, blocks = "", list[Block]()
    for kind in draw(st.lists(st.sampled_from((*KINDS, "")), max_size=12)):
        piece = " ".join(draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6)))
        page = draw(st.none() | st.integers(1, 3))
        if kind:
            blocks.append(Block(kind, len(text), len(text) + len(piece), draw(st.integers(0, 3)), page))
        text += piece + draw(st.sampled_from(("\n\n", "\n", " ", "")))
    return Parsed(text, tuple(blocks))


chunkings = st.builds(
    Chunking, tokens=st.integers(8, 80), overlap=st.integers(0, 7), least=st.integers(0, 40),
    length=st.sampled_from(("tokens", "characters")),
)  # fmt: skip


@given(documents(), chunkings)
def test_chunks_fit_cover_and_go_forward(parsed: Parsed, chunking: Chunking):
    found = chunks(parsed, chunking)
    covered = set[int]()
    for ordinal, chunk in enumerate(found):
        piece = parsed.text[chunk.start : chunk.end]
        assert chunking.size(piece) <= chunking.tokens
        assert piece == piece.strip() != ""
        assert chunk.ordinal == ordinal
        covered.update(range(chunk.start, chunk.end))
    assert all(at in covered for at, char in enumerate(parsed.text) if not char.isspace())
    assert [chunk.end for chunk in found] == sorted({chunk.end for chunk in found})


def _prose(language: str, number: int) -> str:
    if language == "zh":
        return "".join(f"第{one}条规定，员工可以申请休假，但须提前说明理由。" for one in range(number))
    return " ".join(f"Rule {one} says that people may ask for leave when they give a reason." for one in range(number))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sentences_stay_whole_and_the_last_ones_open_the_next_chunk(language: str):
    text = _prose(language, 60)
    ends = {sentence.end for sentence in sentences(text)}
    starts = {sentence.start for sentence in sentences(text)}
    found = chunks(plain(text), Chunking(tokens=100, overlap=40))
    assert len(found) > 5
    assert {chunk.start for chunk in found} <= starts
    assert {chunk.end for chunk in found} <= ends
    for before, after in pairwise(found):
        assert before.start < after.start < before.end, "some of the one before is repeated"
        assert count(text[after.start : before.end]) <= 40
    sizes = [count(text[chunk.start : chunk.end]) for chunk in found]
    assert min(sizes) > 50, "no chunk is a mere rest"


def _document(*pieces: tuple[str, int, str]) -> Parsed:
    text, blocks = "", list[Block]()
    for kind, level, piece in pieces:
        blocks.append(Block(kind, len(text), len(text) + len(piece), level))
        text += piece + "\n\n"
    return Parsed(text, tuple(blocks))


def _texts(parsed: Parsed, found: list[Chunk]) -> list[str]:
    return [parsed.text[chunk.start : chunk.end] for chunk in found]


def test_a_chunk_keeps_to_its_section_and_names_all_headings_above_it():
    parsed = _document(
        ("heading", 1, "# Handbook"), ("heading", 2, "## Leave ##"), ("paragraph", 0, _prose("en", 6)),
        ("heading", 3, "### Parental leave"), ("paragraph", 0, _prose("en", 6)), ("heading", 2, "## Pay"),
        ("paragraph", 0, _prose("en", 6)),
    )  # fmt: skip
    found = chunks(parsed, Chunking(tokens=200, least=16))
    assert [chunk.headings for chunk in found] == [
        ("Handbook", "Leave"),
        ("Handbook", "Leave", "Parental leave"),
        ("Handbook", "Pay"),
    ]
    assert _texts(parsed, found)[0].startswith("# Handbook\n\n## Leave"), "a bare heading goes with what follows"
    assert "## Pay" not in _texts(parsed, found)[1]


def test_tiny_sections_of_one_rank_go_together_under_what_they_share():
    pieces = [piece for n in range(6) for piece in (("heading", 2, f"Q{n}"), ("paragraph", 0, f"Answer {n}."))]
    parsed = _document(("heading", 1, "FAQ"), *pieces)
    found = chunks(parsed, Chunking(tokens=64, least=16))
    assert len(found) < 4
    assert all(chunk.headings[:1] == ("FAQ",) for chunk in found)


def test_code_and_rows_stay_whole_when_they_fit_and_are_cut_at_lines_when_not():
    code = "\n".join(f"value_{n} = compute({n}, scale=10)" for n in range(30))
    table = "\n".join(f"| row {n} | {n * n} | some more words |" for n in range(30))
    parsed = _document(("paragraph", 0, _prose("en", 3)), ("code", 0, code), ("table", 0, table))
    whole = chunks(parsed, Chunking(tokens=600, overlap=0))
    assert any(code in text for text in _texts(parsed, whole))
    small = _texts(parsed, chunks(parsed, Chunking(tokens=80, overlap=0)))
    lines = {*code.split("\n"), *table.split("\n")}
    assert all(
        line in lines for text in small if text[0] in "v|" for line in text.split("\n") if line[:1] in ("v", "|")
    )


def test_pages_are_those_of_the_first_and_last_sentence():
    text = f"{_prose('en', 4)}\n\n{_prose('en', 4)}"
    half = len(_prose("en", 4))
    parsed = Parsed(text, (Block("paragraph", 0, half, 0, 3), Block("paragraph", half + 2, len(text), 0, 4)), pages=4)
    (chunk,) = chunks(parsed, Chunking(tokens=300))
    assert (chunk.page, chunk.last_page) == (3, 4)
    small = chunks(parsed, Chunking(tokens=60, overlap=0))
    assert [one.page for one in small] == sorted(one.page or 0 for one in small)
    assert (small[0].page, small[-1].last_page) == (3, 4)


def test_characters_may_be_counted_instead_of_tokens():
    found = chunks(plain(_prose("en", 60)), Chunking(tokens=1000, overlap=200, length="characters"))
    assert all(600 < chunk.end - chunk.start <= 1000 for chunk in found)


@pytest.mark.parametrize(
    "wrong", [{"tokens": 7}, {"tokens": 2.5}, {"overlap": 256}, {"overlap": -1}, {"least": -1}, {"length": "words"}]
)
def test_limits_that_contradict_each_other_are_refused(wrong: dict[str, object]):
    with pytest.raises(InvalidInput):
        Chunking(**wrong)  # pyright: ignore[reportArgumentType]
