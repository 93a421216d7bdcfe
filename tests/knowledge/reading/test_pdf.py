"""PDF: pages, paragraphs, outline, and files that are damaged, protected or scanned."""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import matplotlib
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading import pdf
from memwell.knowledge.reading.pdf import HYPHEN, PdfLine, compounds_in, joined, paragraphs, read_pdf


def set_in(texts: list[tuple[float, str]]) -> list[PdfLine]:
    return [PdfLine(text, 700 - 14 * place, 700 - 14 * place, 11, left) for place, (left, text) in enumerate(texts)]


def test_hyphens_go_unless_the_word_has_one():
    assert joined(["infor-", "mation"]) == "information"
    assert (
        joined([f"infor{HYPHEN}mation and so{HYPHEN}called"], compounds_in(["a so-called rule"]))
        == "information and so-called"
    )
    assert joined(["COVID-", "19 and Franco-", "German"]) == "COVID-19 and Franco-German"
    assert joined(["a-", "b-", "c"]) == "abc"


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


@given(
    st.lists(st.tuples(st.text("ab中。- ", min_size=1, max_size=8), st.floats(0, 800), st.floats(0, 20)), max_size=12)
)
def test_no_letter_is_lost(given_lines: list[tuple[str, float, float]]):
    lines = [PdfLine(text.strip(), top, top, size) for text, top, size in given_lines if text.strip()]
    kept = "".join(paragraph.text for paragraph in paragraphs(lines))
    letters = [character for character in "".join(line.text for line in lines) if character in "ab中。"]
    assert [character for character in kept if character in "ab中。"] == letters


LEAVE = [
    "1 Leave", "", "Parents may take twelve weeks of leave. More infor-", "mation is available from the well-",
    "known people team.", "", "Nobody is asked why; that is well-known here", "and does not change.",
]  # fmt: skip


def blocks(parsed: Parsed) -> list[tuple[str, int, int | None, str]]:
    return [(block.kind, block.level, block.page, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_paragraphs_have_their_pages_and_whole_words(make_pdf: Callable[..., bytes]):
    parsed = read_pdf(make_pdf([LEAVE, ["Second page."]], title="The handbook"))
    assert blocks(parsed) == [
        ("paragraph", 0, 1, "1 Leave"),
        (
            "paragraph",
            0,
            1,
            "Parents may take twelve weeks of leave. More information is available from the well-known people team.",
        ),
        ("paragraph", 0, 1, "Nobody is asked why; that is well-known here and does not change."),
        ("paragraph", 0, 2, "Second page."),
    ]
    assert (parsed.title, parsed.pages, parsed.warnings) == ("The handbook", 2, ())


def test_the_outline_makes_headings(make_pdf: Callable[..., bytes]):
    data = make_pdf(
        [LEAVE, ["Rules of pay.", "", "Pay", "", "Twice a month."]],
        outline=[("Leave", 0), ("Pay", 1), ("Not there", 1)],
    )
    assert [(kind, level, page, text) for kind, level, page, text in blocks(read_pdf(data)) if kind == "heading"] == [
        ("heading", 1, 1, "Leave"),
        ("heading", 1, 2, "Pay"),
        ("heading", 1, 2, "Not there"),
    ]
    assert read_pdf(data).text.count("Leave") == 1


def test_what_runs_through_the_pages_is_left_out(make_pdf: Callable[..., bytes]):
    pages = [
        [
            "Handbook 2024", f"Fact number {chr(65 + n)} is told on this page.", "It is true.", "So it is.", "Yes.",
            f"- {n + 1} -",
        ]
        for n in range(6)
    ]  # fmt: skip
    parsed = read_pdf(make_pdf(pages))
    assert "Handbook" not in parsed.text
    assert "- 3 -" not in parsed.text
    assert all(f"Fact number {chr(65 + n)}" in parsed.text for n in range(6))


def test_pages_without_text_are_named(make_pdf: Callable[..., bytes]):
    assert read_pdf(make_pdf([["Words."], [], []])).warnings == ("pages without text (scanned?): 2, 3",)
    with pytest.raises(UnreadableDocument, match="scanned") as refused:
        read_pdf(make_pdf([[], []]))
    assert refused.value.reason == "no-text"


def test_a_password_is_refused_by_its_name(make_pdf: Callable[..., bytes]):
    with pytest.raises(UnreadableDocument, match="password") as refused:
        read_pdf(make_pdf([LEAVE], encrypted=True))
    assert refused.value.reason == "encrypted"


def test_too_many_pages_are_refused(make_pdf: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pdf, "MOST_PAGES", 2)
    with pytest.raises(UnreadableDocument, match="3 pages") as refused:
        read_pdf(make_pdf([LEAVE] * 3))
    assert refused.value.reason == "too-large"
    monkeypatch.setattr(pdf, "MOST_CHARACTERS", 100)
    with pytest.raises(UnreadableDocument, match="characters"):
        read_pdf(make_pdf([LEAVE]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0.0, 1.0), flips=st.lists(st.tuples(st.floats(0.0, 0.999), st.integers(0, 255)), max_size=8))
def test_damage_is_read_around_or_refused(make_pdf: Callable[..., bytes], cut: float, flips: list[tuple[float, int]]):
    data = bytearray(make_pdf([LEAVE, LEAVE], outline=[("Leave", 0)]))
    for place, value in flips:
        data[int(place * len(data))] = value
    try:
        outcome = "read" if read_pdf(bytes(data[: int(cut * len(data))])).blocks else "nothing"
    except UnreadableDocument as refused:
        outcome = refused.reason
    assert outcome in {"read", "broken", "encrypted", "no-text", "too-large"}


def test_chinese_lines_are_joined():
    # The font that comes with a package: the machine may have none.
    found = find_spec("zhplot")
    assert found is not None
    font = Path(str(found.origin)).parent / "fonts" / "NotoSansSC-Regular.ttf"
    figure = Figure(figsize=(8, 11))
    lines = ["休假制度", "", "员工每年享有十天带薪年假，工作满", "十年的员工享有十五天。", "", "病假需要医生证明。"]
    for place, line in enumerate(lines):
        figure.text(0.1, 0.9 - 0.02 * place, line, fontproperties=FontProperties(fname=font))
    packed = io.BytesIO()
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(packed, format="pdf")
    texts = [text for _, _, _, text in blocks(read_pdf(packed.getvalue()))]
    assert texts == ["休假制度", "员工每年享有十天带薪年假，工作满十年的员工享有十五天。", "病假需要医生证明。"]


def test_threads_take_turns(make_pdf: Callable[..., bytes]):
    data = make_pdf([LEAVE] * 30)
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: read_pdf(data).text, range(8)))
    assert len(set(texts)) == 1
