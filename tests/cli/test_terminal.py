from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cli.terminal import console, one_line, visible


@given(st.text())
def test_no_control_reaches_the_terminal(text: str):
    shown = visible(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in shown)
    assert "\n" not in one_line(text)
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("\x00\x07\r\x7f", "␀␇␍␡"),
        ("\x9b2J \u202e\u2066", "\N{REPLACEMENT CHARACTER}2J \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("京都 👩‍👩‍👧 e\u0301", "京都 👩‍👩‍👧 e\u0301"),
    ],
)
def test_controls_are_shown_as_pictures(text: str, shown: str):
    assert visible(text) == shown


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), max_size=40))
def test_a_console_takes_text_literally(text: str):
    screen = console(width=1_000)
    with screen.capture() as captured:
        screen.print(f"[bold]{text}[/red]:smile:", soft_wrap=True)
    assert captured.get() == f"[bold]{text}[/red]:smile:\n"
