"""Where the command prints: what is stored is shown as it is, and can neither style nor steer the terminal."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="For programs. 供程序读取。")]

# All control characters but the line break and the tab, and those that turn the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def console(*, stderr: bool = False, width: int | None = None, colours: bool | None = None) -> Console:
    """A console that takes every text literally: brackets are no markup and ``:name:`` is no emoji."""
    return Console(stderr=stderr, width=width, force_terminal=colours, markup=False, emoji=False, highlight=False)


def visible(text: str) -> str:
    """The text with control characters shown instead of sent to the terminal."""
    return _CONTROLS.sub(lambda found: _picture(ord(found[0])), text)


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def one_line(text: str) -> str:
    """The text on one line."""
    return visible(" ".join(text.split("\n")))


def never_fail_to_encode() -> None:
    """Let a terminal that cannot show a character show a ``?``, where Python would end the command with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with suppress(OSError):
                stream.reconfigure(errors="replace")


def print_json(value: Any) -> None:
    """Print what a program is to read."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


__all__ = ["AsJson", "console", "never_fail_to_encode", "one_line", "print_json", "visible"]
