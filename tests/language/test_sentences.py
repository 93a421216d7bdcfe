from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.language.sentences import TextSpan, is_small_talk, sentences

# What should be cut is written with a bar where it is cut; the white space there is kept.
ENGLISH = [
    "One.| Two!| Three?", "Dr. Smith met Mrs. Jones.| They left.",
    "He lives in the U.S. now.| I moved to the U.S.| The flat is small.",
    "It costs $3.14, e.g. for tea.| See https://a.b/c.html.| Mail a.b@c.de!| OK?", "Open main.py and v1.2.3.| Done.",
    "Wait... what?| I thought...| No.", '"Really?" he asked.| "Yes!"| She left.',
    "J. K. Rowling wrote it.| So am I.| Then we left.", "We met at 5 p.m. in town.| At 6 p.m.| We left.",
    "Apple Inc. said no.| No. 5 is alive.| No.| Really.", "i went home.| then i slept", "(He left.)| She stayed.",
    "Great!!!| Thanks.", "In 2023.| Then 2024.",
]  # fmt: skip
CHINESE = [
    "今天很好。|明天呢？|走吧！", "他说：“你好！”|然后走了。", "是的；|我们走吧……|好的", "真的吗？！|是的。」|好",
    '他说。|"你好。"|她笑了。', "你好.|再见", "用 v2.版本吧。|好",
]  # fmt: skip
LINES = [
    "List:\n|- first item\n|- second. |more\n|1. Buy milk\n|2. Go home", "A heading\n|\nA line",
    "This line is long enough to have been wrapped by an editor,\nso it goes on here.\n|New line.",
    "code:\n|```py\n|x = 1. \n|y = 2! z\n|```\n|Done. |ok", "open\n|```\n|never. closed",
]  # fmt: skip


@pytest.mark.parametrize("marked", ENGLISH + CHINESE + LINES)
def test_where_sentences_end(marked: str) -> None:
    expected = [piece.strip() for piece in marked.split("|") if piece.strip()]
    assert [span.text for span in sentences(marked.replace("|", ""))] == expected


pieces = st.lists(
    st.sampled_from(
        ["a", "Dr", ".", "!", "?", " ", "\n", "。", "”", '"', "…", "```", "1", "好", ")", "\t", "\u3000", "U.S.", "é"]
    )
).map("".join)


@example("\x1c. a")
@given(pieces | st.text(st.characters()))
def test_spans_cover_all_but_white_space(text: str) -> None:
    end = 0
    for span in sentences(text):
        assert isinstance(span, TextSpan)
        assert span.text == text[span.start : span.end] == span.text.strip() != ""
        assert not text[end : span.start].strip()
        assert span.start >= end
        end = span.end
    assert not text[end:].strip()


# In linear time all of them take a second or two; the square of the length would run into the time limit of a test.
# Beside each unit, how many of it are one sentence; 0 where all of them are one.
QUICK = {"a": 0, ".": 0, "！": 0, '"': 0, "“": 0, "…": 0, "'": 0}
LINE_BY_LINE = {"\n": None, " ": None, ". ": 1, "..x": 0, '."': 0, "```\n": 1, "Dr. ": 0, "1. ": 2, "A.": 0, ".)": 0}


@pytest.mark.parametrize(("units", "length"), [(QUICK, 1_000_000), (LINE_BY_LINE, 120_000)])
def test_a_long_text_made_to_be_slow_is_read_in_linear_time(units: dict[str, int | None], length: int) -> None:
    for unit, each in units.items():
        times = length // len(unit)
        found = sentences(unit * times)
        assert len(found) == (0 if each is None else times // each if each else 1), unit
        assert not found or found[-1].end == len((unit * times).rstrip()), unit


# Only what is nothing but courtesy is small talk; a fact behind a greeting or a yes is a fact.


COURTESIES = [
    "Hi!", "Hello there", "Thanks a lot!", "Hi Anna!", "Hello, Anna Smith!", "Thank you so much, Ben.", "OK, thanks!",
    "Yes.", "No!", "no", "No thanks.", "Okay, great!", "Sounds good, thank you.", "You're welcome.", "How can I help?",
    "Hello Anna, nice to meet you!", "Great.", "How are you?", "Bye, see you later!", "Yes, of course.", "Good night, Tom",
    "好的，谢谢！", "好的。", "你好！", "您好，李雷！", "谢谢你。", "谢谢王老师！", "嗯嗯", "是的，没问题。", "知道了",
    "晚安，小明", "你好啊", "```", "...", "👍", "",
]  # fmt: skip
FACTS = [
    "No, I'm vegan.", "No, on Friday at 8.", "Yes, cancel it.", "Hi, I'm Anna.", "Hello, I am Anna!",
    "Sure, it costs $900.",
    "Yes, Anna.", "No, Paris.", "Thanks, Friday.", "See you Friday.", "Hi, Berlin", "Ok, 8", "No nuts.", "Yes, twice.",
    "Thanks for the book.", "Great Dane.", "Hi, Anna here.", "Nice is in France.", "Noted: 42.", "Cool it down.",
    "好的，我叫李雷。", "你好，我是李雷。", "是的，我晕车。", "好的，周五。", "谢谢，周五见", "不，王老师。",
    "嗯，三个",
    "好吃", "不吃辣",
    "没问题，明天八点", "是李雷。", "你好，黄色", "x = 1", "Oslo", "是的，对花生过敏", "对花生过敏",
]  # fmt: skip


def test_courtesy_alone_is_small_talk():
    assert [sentence for sentence in COURTESIES if not is_small_talk(sentence)] == []


def test_what_says_something_is_not():
    assert [sentence for sentence in FACTS if is_small_talk(sentence)] == []


@given(
    opening=st.sampled_from(("Hi", "Hello", "Ok", "Yes", "No", "Thanks", "Sure", "好的", "你好", "是的", "谢谢", "嗯")),
    mark=st.sampled_from((", ", "，", "! ", " - ")),
    fact=st.sampled_from(
        ("I'm vegan.", "on Friday", "cancel it", "8 pm", "Anna left", "我叫李雷", "我晕车。", "周五", "三点")
    ),
)
def test_a_fact_behind_a_courtesy_is_kept(opening: str, mark: str, fact: str):
    assert not is_small_talk(f"{opening}{mark}{fact}")


@given(words=st.lists(st.sampled_from([one for one in COURTESIES if len(one) < 12]), min_size=1, max_size=4))
def test_courtesies_in_a_row_are_small_talk(words: list[str]):
    assert is_small_talk(" ".join(words))
