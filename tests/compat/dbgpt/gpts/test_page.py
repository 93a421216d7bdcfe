"""The page: what it shows, and that nothing said in it can do anything."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.page import MOST_SHOWN, html_page
from memwell.compat.dbgpt.gpts.values import GptsMessage, GptsPlan
from memwell.errors import InvalidInput

HOSTILE = [
    "<script>alert(1)</script>",
    "</style></title></pre><script>alert(2)</script>",
    "\" onmouseover=alert(3) x=\"' onclick='",
    "<img src=x onerror=alert(4)>",
    "```\n</code></pre><iframe>\n```\n``` unclosed",
    "<!-- ]]> &lt; &#60;",
    "\0\x1b\x7f\ud800\u2028",
    "مرحبا \u202e",
    "x" * 5_000,
    "字" * 5_000,
    "👩\u200d👩\u200d👧",
    "",
]
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=30)
TAGS = set(
    "a article b body code defs details div g h1 h2 h3 head header html i li main marker meta ol p path pre rect s section"
    " small span style summary svg text time title ul".split()
)
VOID = {"meta", "path", "rect"}


class Reader(HTMLParser):
    """What a browser would make of it: tags, attributes, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


PLANS = st.builds(
    GptsPlan, st.just("c"), st.integers(0, 9), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, state=TEXTS, result=TEXTS
)
MESSAGES = st.builds(
    GptsMessage,
    st.just("c"),
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    st.integers(0, 3),
    st.booleans(),
    current_goal=TEXTS,
    review_info=TEXTS,
    action_report=TEXTS,
    model_name=TEXTS,
)


@given(st.lists(PLANS, max_size=3), st.lists(MESSAGES, max_size=3), TEXTS, st.sampled_from(["en", "zh"]))
def test_no_text_becomes_anything_but_text(
    plans: list[GptsPlan], messages: list[GptsMessage], title: str, language: str
) -> None:
    reader = read(html_page(plans, messages, language=language, title=title))
    assert set(reader.tags) <= TAGS
    assert {
        name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "srcdoc", "action")
    } == set()
    assert all(re.fullmatch(r"#step-\d+", value or "") for name, value in reader.attributes if name == "href")
    assert all(
        re.fullmatch(r"flex-grow:\d+|min-width:\d+px", value or "")
        for name, value in reader.attributes
        if name == "style"
    )


def test_nothing_is_fetched_and_nothing_runs() -> None:
    page = html_page([GptsPlan("c", 1, "x")], [GptsMessage("c", "A", "B", "ai", "x")])
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"https?:|@import|url\((?!#)", page)


def test_what_was_said_is_all_there() -> None:
    plan = GptsPlan(
        "c", 1, "Read <all> of them", "Load", "Analyst", "sales.db", None, "qwen", 2, 5, "retrying", "18 rows"
    )
    message = GptsMessage(
        "c", "Human", "规划师", "human", "为什么？\n```sql\nSELECT 1 < 2;\n```\nso", review_info="fine"
    )
    text = "\n".join(read(html_page([plan], [message], title="Refunds")).text)
    for part in (
        "Refunds",
        "Load",
        "Read <all> of them",
        "Analyst · qwen · sales.db · 2 of 5 retries",
        "retrying",
        "18 rows",
    ):
        assert part in text
    for part in ("Human", "规划师", "为什么？", "SELECT 1 < 2;", "so", "fine", "sequenceDiagram", "flowchart TD"):
        assert part in text
    assert "0 of 1 steps complete" in text


def test_it_speaks_chinese() -> None:
    page = html_page([GptsPlan("c", 1, "读取", state="complete")], [], language="zh-CN")
    assert '<html lang="zh-CN">' in page
    for part in ("计划与对话", "共 1 步，已完成 1 步", "已完成", "还没有消息"):
        assert part in page


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InvalidInput):
        html_page([], [], language="fr")


def test_an_empty_page_says_so() -> None:
    page = html_page([], [])
    assert "No plan yet" in page
    assert "No messages yet" in page
    assert "flowchart" not in page


def test_rounds_failures_and_who_began() -> None:
    messages = [
        GptsMessage("c", "Human", "Planner", "human", "q", rounds=1),
        GptsMessage("c", "Planner", "Human", "ai", "a", rounds=2, is_success=False),
    ]
    page = html_page([], messages)
    assert re.findall(r"<h3><span>(Round \d)</span>", page) == ["Round 1", "Round 2"]
    assert re.findall(r'<article class="([^"]*)"', page) == ["said shade-0 asks", "said shade-1 failed"]


def test_long_texts_are_folded_and_whole() -> None:
    page = html_page([], [GptsMessage("c", "A", "B", "ai", "word " * 1_000)])
    assert "Whole text, 5,000 characters" in page
    assert page.count("word") > 1_000


def test_of_a_very_long_dialogue_the_last_messages_are_shown() -> None:
    one = GptsMessage("c", "A", "B", "ai", "x")
    page = html_page([], [replace(one, content=f"no {number}.") for number in range(MOST_SHOWN + 5)])
    assert "5 earlier messages are not shown." in page
    assert page.count("<article") == MOST_SHOWN
    assert "no 4." not in page


def test_the_times_are_told() -> None:
    begun = datetime(2025, 10, 6, 9, 30)  # noqa: DTZ001
    messages = [GptsMessage("c", "A", "B", "ai", "x", created_at=begun + timedelta(hours=hours)) for hours in (0, 1)]
    assert "2025-10-06 09:30–10:30 UTC" in html_page([], messages)
    assert "2025-10-06 09:30 UTC" in html_page([], messages[:1])
    later = replace(messages[0], created_at=begun + timedelta(days=1))
    assert "2025-10-06 09:30–2025-10-07 09:30 UTC" in html_page([], [messages[0], later])


def test_a_step_names_those_it_builds_on() -> None:
    page = html_page([GptsPlan("c", 1, "x"), GptsPlan("c", 2, "y", rely="1,9")], [])
    assert 'builds on <a href="#step-1">1</a> <s>9</s>' in page
