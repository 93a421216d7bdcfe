"""The lines of a passage stand where they say, under the headings they stand under."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memwell.knowledge import read_document
from memwell.knowledge.chunking import Chunking, chunks, plain
from memwell.knowledge.documents import Parsed
from memwell.knowledge.extracts import MOST_TOKENS, Line, Run, announces, lines_of, listing
from memwell.tokens import default_counter

HOUSE = """# House

## Heating

The boiler was serviced in March. The engineer is Mrs Okafor.

## Wifi

Restart it with the small button.
"""

PIECES = st.sampled_from(
    ("# Top", "## Below", "One thing is said. Another too.", "谁来？李明来。", "- first\n- second", "Note:",
     "Opening hours", "```\ncode = 1\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "word " * 200, "字" * 300,
     "Question: why?", "Answer: so.")
)  # fmt: skip


def _markdown(text: str) -> Parsed:
    return read_document(text.encode(), name="x.md")


def _all(text: str) -> tuple[Parsed, list[Line]]:
    parsed = _markdown(text)
    return parsed, lines_of(parsed, 0, len(parsed.text))


@given(st.lists(PIECES, min_size=1, max_size=8), st.booleans())
def test_every_line_of_every_chunk_is_where_it_says_and_short_enough(pieces: list[str], marked: bool):
    text = "\n\n".join(pieces)
    parsed = _markdown(text) if marked else plain(text)
    for chunk in chunks(parsed, Chunking(tokens=40, overlap=8, least=8)):
        lines = lines_of(parsed, chunk.start, chunk.end)
        for line, following in pairwise(lines):
            assert line.end <= following.start
        for line in lines:
            assert line.text == parsed.text[line.start : line.end] == line.text.strip() != ""
            assert line.start >= chunk.start
            assert line.inside == (line.start < chunk.end)
            assert default_counter().count(line.text) <= MOST_TOKENS
            assert not line.text.startswith("#")


def test_lines_know_the_nearest_headings():
    _, lines = _all(HOUSE)
    assert [(line.text, line.headings) for line in lines] == [
        ("The boiler was serviced in March.", ("House", "Heating")),
        ("The engineer is Mrs Okafor.", ("House", "Heating")),
        ("Restart it with the small button.", ("House", "Wifi")),
    ]
    assert [line.section for line in lines[:2]] != [line.section for line in lines[1:]]


def test_headings_among_the_lines_of_a_plain_text_count_too():
    text = "# Returns\n\nGoods come back.\n\n## Late\n\nNothing comes back.\n\n# Delivery\n\nTwo days."
    lines = lines_of(plain(text), 0, len(text))
    assert [line.headings for line in lines] == [("Returns",), ("Returns", "Late"), ("Delivery",)]


def test_what_follows_a_passage_is_seen_up_to_the_next_heading():
    parsed = _markdown(HOUSE)
    end = parsed.text.index("March.") + len("March.")
    lines = lines_of(parsed, parsed.text.index("The boiler"), end)
    assert [(line.text, line.inside) for line in lines] == [
        ("The boiler was serviced in March.", True),
        ("The engineer is Mrs Okafor.", False),
    ]
    assert lines[0].headings == ("House", "Heating"), "they stand before the passage"


def test_pages_are_those_of_the_blocks():
    parsed = plain("One.\n\nTwo.\n\nThree.")
    first, second, third = parsed.blocks
    paged = Parsed(parsed.text, (replace(first, page=1), second, replace(third, page=2)))
    assert [line.page for line in lines_of(paged, 0, len(parsed.text))] == [1, 1, 2]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Where is it?", True),
        ("在哪里？", True),
        ("Question: The display shows E4.", True),
        ("问题：屏幕显示E4。", True),
        ("Q3: no foam", True),
        ("It is here.", False),
        ("The question: here it is.", False),
    ],
)
def test_a_question_is_told_from_what_answers(text: str, asks: bool):
    [line] = lines_of(plain(text), 0, len(text))
    assert line.asks is asks


def test_the_label_of_an_answer_is_not_part_of_it():
    _, lines = _all("Question: Is it wet?\n\nAnswer: It is.\n\n答复：是的。")
    assert [line.text for line in lines] == ["Question: Is it wet?", "It is.", "是的。"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Opening hours\n\nFrom nine to five.", True),
        ("You need:\n\n- flour\n- salt", True),
        ("开放时间\n\n从九点到五点。", True),
        ("It is open.\n\nFrom nine to five.", False),
        ("The code is kiwi\n\nThe alarm is lemon", False),
        ("Only this", False),
        ("Code 4711\n\nIt is for the door.", False),
    ],
)
def test_a_line_may_only_announce_what_follows(text: str, expected: bool):
    lines = lines_of(plain(text), 0, len(text))
    assert announces(lines, 0) is expected
    assert not announces(lines, len(lines) - 1)


def test_a_run_is_said_as_it_stands_and_stays_in_its_section():
    parsed, lines = _all(HOUSE + "\nPull the plug.\n\n" + "Long words follow here. " * 40)
    assert Run(0, 1).pieces(parsed.text, lines) == ["The boiler was serviced in March. The engineer is Mrs Okafor."]
    assert Run(2, 3).pieces(parsed.text, lines) == ["Restart it with the small button.", "Pull the plug."]
    assert Run(0, 1).fits(parsed.text, lines)
    assert not Run(1, 2).fits(parsed.text, lines), "another section"
    assert not Run(-1, 0).fits(parsed.text, lines)
    assert not Run(4, 7).fits(parsed.text, lines), "too many"
    assert not Run(len(lines) - 1, len(lines)).fits(parsed.text, lines)


STEPS = "Tea is old. To make it:\n1. Boil water. Wait.\n2. Pour.\n   Stir it.\n\n3. Drink.\n\nThat is all."


@pytest.mark.parametrize("marked", [True, False])
def test_a_list_goes_with_the_line_that_opens_it(marked: bool):
    parsed = _markdown(STEPS) if marked else plain(STEPS)
    lines = lines_of(parsed, 0, len(parsed.text))
    first = next(at for at, line in enumerate(lines) if line.text == "To make it:")
    last = next(at for at, line in enumerate(lines) if line.text == "3. Drink.")
    for at in range(first, last + 1):
        assert listing(parsed.text, lines, at) == (Run(first, last), True)
    assert listing(parsed.text, lines, 0) is None
    assert listing(parsed.text, lines, len(lines) - 1) is None


@pytest.mark.parametrize(
    "text", ["You need:\n- salt", "Ask:\n- Why?\n- Where?", "需要：盐。\n- 糖", "Note: it is hot. 2. is late."]
)
def test_one_item_or_a_row_of_questions_is_no_list(text: str):
    lines = lines_of(plain(text), 0, len(text))
    assert [listing(text, lines, at) for at in range(len(lines))] == [None] * len(lines)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            "| Category | Price |\n|---|:-:|\n| Adult | 14 EUR |\n| Child | |",
            ["Category: Adult; Price: 14 EUR", "Category: Child"],
        ),
        ("| 类别 | 票价 |\n| --- | --- |\n| 成人 | 14元 |", ["类别：成人；票价：14元"]),
    ],
)
@pytest.mark.parametrize("marked", [True, False])
def test_a_row_is_said_with_the_names_of_its_columns(table: str, said: list[str], marked: bool):
    parsed = _markdown(table) if marked else plain(table)
    lines = lines_of(parsed, 0, len(parsed.text))
    assert [line.said for line in lines] == said
    assert all(line.text == parsed.text[line.start : line.end] for line in lines)
