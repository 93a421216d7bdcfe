"""Lines to paragraphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.knowledge.reading.layout import HYPHEN, Line, compounds_in, joined, paragraphs, without_running_lines


def set_in(texts: list[tuple[float, str]]) -> list[Line]:
    return [Line(text, 700 - 14 * place, 700 - 14 * place, 11, left) for place, (left, text) in enumerate(texts)]


def test_hyphens_go_unless_the_word_has_one():
    assert joined(["infor-", "mation"]) == "information"
    assert (
        joined([f"infor{HYPHEN}mation and so{HYPHEN}called"], compounds_in(["a so-called rule"]))
        == "information and so-called"
    )
    assert joined(["COVID-", "19 and Franco-", "German"]) == "COVID-19 and Franco-German"
    assert joined(["a-", "b-", "c"]) == "abc"


def test_chinese_needs_no_space():
    assert joined(["员工每年", "享有 ten", "days，", "十天"]) == "员工每年享有 ten days，十天"


def test_a_first_line_that_is_set_in_begins_a_paragraph():
    lines = set_in(
        [
            (94, "工作满一年的员工每年享有十天"),
            (72, "带薪年假，可以分开休，也可以。"),
            (94, "病假需要医生证明，当天之内"),
            (72, "交给人事部门。"),
        ]
    )
    assert [paragraph.text for paragraph in paragraphs(lines)] == [
        "工作满一年的员工每年享有十天带薪年假，可以分开休，也可以。",
        "病假需要医生证明，当天之内交给人事部门。",
    ]


def test_a_few_pages_have_no_running_lines():
    pages = [[Line("Handbook"), Line("a"), Line("b")]] * 3
    assert without_running_lines(pages) == pages


@given(
    st.lists(st.tuples(st.text("ab中。- ", min_size=1, max_size=8), st.floats(0, 800), st.floats(0, 20)), max_size=12)
)
def test_no_letter_is_lost(given_lines: list[tuple[str, float, float]]):
    lines = [Line(text.strip(), top, top, size) for text, top, size in given_lines if text.strip()]
    kept = "".join(paragraph.text for paragraph in paragraphs(lines))
    letters = [character for character in "".join(line.text for line in lines) if character in "ab中。"]
    assert [character for character in kept if character in "ab中。"] == letters


def test_a_page_without_blanks_is_joined_in_time():
    assert len(joined(["字" * 200_000] * 2)) == 400_000
    assert compounds_in(["a" * 200_000 + "-"]) == frozenset()


def test_a_first_line_of_the_same_form_on_every_page_is_text_when_its_numbers_are_its_own():
    pages = [
        [
            Line(f"Report 2024, page {page + 3}"),
            Line(f"Lot {page * 7919 % 1000 + 1000} was sold."),
            Line("a"),
            Line("b"),
            Line("c"),
        ]
        for page in range(1, 9)
    ]
    kept = without_running_lines(pages)
    assert [lines[0].text for lines in kept] == [lines[1].text for lines in pages]


@pytest.mark.parametrize(
    "said", ["Page {} of 3", "page {}/3", "- Page {} -", "第 {} 页", "第{}页，共3页", "第 {} 页 / 共 3 页"]
)
@pytest.mark.parametrize("lines", [1, 2, 5])
def test_a_line_that_calls_itself_the_page_number_goes_from_few_and_short_pages(said: str, lines: int):
    text = [Line(f"Line {number}.") for number in range(lines)]
    for pages in (
        [[*text, Line(said.format(page))] for page in (1, 2, 3)],
        [[Line(said.format(page)), *text] for page in (1, 2, 3)],
    ):
        assert without_running_lines(pages) == [text] * 3


def test_what_only_speaks_of_a_page_stays():
    for said in (
        "Page 7",
        "第 7 页",
        "Page 1 of the log is torn.",
        "第 1 页的内容如下。",
        "1",
        "Page 9 of 3",
        "Page 12",
    ):
        pages = [[Line("a"), Line(said)]] * 3
        assert without_running_lines(pages) == pages
    alone = [[Line("Page 1 of 1")]]
    assert without_running_lines(alone) == alone
    pages = [[Line(f"第 {page} 页{word}。"), *map(Line, "abcde")] for page, word in enumerate("甲乙丙丁戊", 1)]
    assert [lines[0].text for lines in without_running_lines(pages)] == [lines[0].text for lines in pages]
