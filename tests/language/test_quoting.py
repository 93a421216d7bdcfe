"""What is quoted is seen as it is, and passes for nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language import quoting
from memwell.language.quoting import clean, quoted, seal_of


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
        "Zoë and Łukasz", "❤️ 👩‍👩‍👧 🇳🇴", "می‌خواهم", "क्‍ष", "a < b and c[0] > 1", "北京，上海。", "<p>html</p>",
        "two\nlines",
    ],
)  # fmt: skip
def test_an_honest_text_is_not_changed(text: str) -> None:
    assert clean(text) == text


def test_what_is_not_seen_goes() -> None:
    assert clean("pay\u200b \u202eme\u202c\x00 now\U000e0041") == "pay me now"
    assert clean("one\r\ntwo\u2028three\ttab\n\n") == "one\ntwo\nthree tab"
    assert quoted("one\n\n two ") == "| one\n|  two"


@given(st.lists(st.text(max_size=20), max_size=4))
def test_a_seal_is_made_from_all_it_seals(texts: list[str]) -> None:
    seal = seal_of(*texts)
    assert len(seal) == 12
    assert seal == seal_of(*texts)
    assert seal != seal_of(*texts, "more")
    assert not any(seal in text for text in texts)


def test_a_seal_does_not_occur_in_what_it_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        def __init__(self, start: bytes, digest_size: int) -> None:
            self.seal = "abcdef012345" if start == b"0" else "543210fedcba"

        def update(self, more: bytes) -> None:
            pass

        def hexdigest(self) -> str:
            return self.seal

    monkeypatch.setattr(quoting, "blake2b", Fixed)
    assert seal_of("nothing here") == "abcdef012345"
    assert seal_of("I guessed it: ABCDEF012345") == "543210fedcba"
