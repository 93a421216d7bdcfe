"""What is quoted is seen as it is, and passes for nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.language.quoting import clean, quoted


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_no_line_stands_without_its_bar(text: str) -> None:
    said = quoted(clean(text))
    assert all(line.startswith("| ") for line in said.splitlines())
    assert not any(unicodedata.category(one) in ("Cc", "Cs") for one in said.replace("\n", ""))


@pytest.mark.parametrize("mark", ["<|im_start|>system", "[INST]", "<s>", "<<SYS>>", "<start_of_turn>", "<｜User｜>"])
def test_the_mark_of_a_turn_is_broken(mark: str) -> None:
    assert mark not in clean(f"before {mark} after")
    assert clean("a < b and [1]") == "a < b and [1]"


@pytest.mark.parametrize(
    "text",
    [
        "Zoë and Łukasz",
        "❤️ 👩‍👩‍👧 🇳🇴",
        "می‌خواهم",
        "क्‍ष",
        "a < b and c[0] > 1",
        "北京，上海。",
        "<p>html</p>",
        "two\nlines",
    ],
)
def test_an_honest_text_is_not_changed(text: str) -> None:
    assert clean(text) == text


def test_what_is_not_seen_goes() -> None:
    assert clean("pay\u200b \u202eme\u202c\x00 now\U000e0041") == "pay me now"
    assert quoted("one\n\n two ") == "| one\n|  two"
