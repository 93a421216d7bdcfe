from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memwell.language.sentences import Span, sentences

# What should be cut is written with a bar where it is cut; the white space there is kept.
ENGLISH = [
    "One.| Two!| Three?",
    "Dr. Smith met Mrs. Jones.| They left.",
    "He lives in the U.S. now.| I moved to the U.S.| The flat is small.",
    "It costs $3.14, e.g. for tea.| See https://a.b/c.html.| Mail a.b@c.de!| OK?",
    "Open main.py and v1.2.3.| Done.",
    "Wait... what?| I thought...| No.",
    '"Really?" he asked.| "Yes!"| She left.',
    "J. K. Rowling wrote it.| So am I.| Then we left.",
    "We met at 5 p.m. in town.| At 6 p.m.| We left.",
    "Apple Inc. said no.| No. 5 is alive.| No.| Really.",
    "i went home.| then i slept",
    "(He left.)| She stayed.",
    "Great!!!| Thanks.",
    "In 2023.| Then 2024.",
]
CHINESE = [
    "今天很好。|明天呢？|走吧！",
    "他说：“你好！”|然后走了。",
    "是的；|我们走吧……|好的",
    "真的吗？！|是的。」|好",
    '他说。|"你好。"|她笑了。',
    "你好.|再见",
    "用 v2.版本吧。|好",
]
LINES = [
    "List:\n|- first item\n|- second. |more\n|1. Buy milk\n|2. Go home",
    "A heading\n|\nA line",
    "This line is long enough to have been wrapped by an editor,\nso it goes on here.\n|New line.",
    "code:\n|```py\n|x = 1. \n|y = 2! z\n|```\n|Done. |ok",
    "open\n|```\n|never. closed",
]


@pytest.mark.parametrize("marked", ENGLISH + CHINESE + LINES)
def test_where_sentences_end(marked: str) -> None:
    expected = [piece.strip() for piece in marked.split("|") if piece.strip()]
    assert [span.text for span in sentences(marked.replace("|", ""))] == expected


pieces = st.lists(
    st.sampled_from(
        ["a", "Dr", ".", "!", "?", " ", "\n", "。", "”", '"', "…", "```", "1", "好", ")", "\t", "\u3000", "U.S.", "é"]
    )
).map("".join)


@settings(max_examples=150)
@example("\x1c. a")
@given(pieces | st.text(st.characters()))
def test_spans_cover_all_but_white_space(text: str) -> None:
    end = 0
    for span in sentences(text):
        assert isinstance(span, Span)
        assert span.text == text[span.start : span.end] == span.text.strip() != ""
        assert not text[end : span.start].strip()
        assert span.start >= end
        end = span.end
    assert not text[end:].strip()


@pytest.mark.parametrize(
    "unit", ["a", " ", "\n", ".", ". ", "..x", "！", '"', '."', "“", "```\n", "Dr. ", "1. ", "…", "A.", ".)", "'"]
)
def test_the_work_grows_with_the_length(unit: str) -> None:
    assert growth(unit) < 80  # 16 times the text; the square would be 256


def growth(unit: str) -> float:
    short, long = (unit * (size // len(unit)) for size in (5_000, 80_000))
    # The least of three: another process can only make it more.
    return min(spent(long) for _ in range(3)) / max(*(spent(short) for _ in range(3)), 0.0005)


def spent(text: str) -> float:
    began = time.process_time()
    sentences(text)
    return time.process_time() - began
