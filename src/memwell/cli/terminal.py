"""Where the command prints.

What is stored is shown as it is, and can neither style nor steer the terminal. And what people copy, such as a path, an
id, a key, an address or a command, stands whole on one line, however narrow the terminal is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any, Literal, cast

import msgspec
import typer
from rich.console import Console, ConsoleOptions, JustifyMethod
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from typer.core import TyperGroup

AsJson = Annotated[bool, typer.Option("--json", help="For programs. 供程序读取。")]

# All control characters but the line break and the tab, and those that turn the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LEAST_PROSE = 12
"""The columns that prose is left at least, when the rest of a table needs the room."""
_ANY_WIDTH = 1_000_000
_WIDTH_FOR_BOXES = 80


class Listing(Table):
    """A table of things that people copy: its columns are never folded nor cut, except for prose, which makes way.

    Where that is not enough its lines are longer than the terminal is wide, which folds them itself.
    """

    def __init__(self, title: str | None = None, *, header: bool = True) -> None:
        super().__init__(
            title=title,
            title_justify="left",
            box=None,
            pad_edge=False,
            padding=(0, 2, 0, 0),
            show_header=header,
            header_style="dim",
        )
        self.indent = 0
        """The number of spaces before every line."""

    def whole(self, *names: str, justify: JustifyMethod = "left", style: str | None = None) -> None:
        """Add columns for ids, paths, addresses, names, numbers and times."""
        for name in names:
            self.add_column(name, justify=justify, style=style, no_wrap=True)

    def prose(self, *names: str, style: str | None = None, widest: int | None = None) -> None:
        """Add columns for text that is folded where there is no room for all of it."""
        for name in names:
            self.add_column(name, style=style, overflow="fold", max_width=widest)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """The segments of the table, without the spaces at the ends of lines, which a terminal would fold as well."""
        width = max(self._needed(console, options), options.max_width - self.indent)
        # A table renders to nothing but segments.
        segments = cast(Iterator[Segment], super().__rich_console__(console, options.update(max_width=width)))
        for line in Segment.split_lines(segments):
            while line and not line[-1].text.rstrip():
                line.pop()
            if line:
                yield Segment(" " * self.indent)
                yield from line[:-1]
                yield Segment(line[-1].text.rstrip(), line[-1].style)
            yield Segment.line()

    def _needed(self, console: Console, options: ConsoleOptions) -> int:
        """How wide it is with all prose folded as far as it may be."""
        unbound = options.update(max_width=_ANY_WIDTH)
        folded = 0
        for column in self.columns:
            if not column.no_wrap:
                cells = [Measurement.get(console, unbound, cell).maximum for cell in (column.header, *column.cells)]
                folded += max(0, min(max(cells), column.max_width or _ANY_WIDTH) - _LEAST_PROSE)
        return Measurement.get(console, unbound, self).maximum - folded


def console(*, stderr: bool = False, width: int | None = None, colours: bool | None = None) -> Console:
    """A console that takes every text literally: brackets are no markup and ``:name:`` is no emoji.

    It breaks no line, but leaves that to the terminal, from which a folded line is copied in one piece.
    """
    return Console(
        stderr=stderr,
        width=width,
        force_terminal=colours,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=True,
    )


class Commands(TyperGroup):
    """A group of commands whose plain help shows all that is said of each, where only a first line is usual."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of the commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.help or "") for name, one in found if one is not None and not one.hidden])


def help_style() -> Literal["rich"] | None:
    """How the help is set: in boxes, or plainly in a narrow terminal, where boxes cut the names of options."""
    return "rich" if console().width >= _WIDTH_FOR_BOXES else None


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


__all__ = [
    "AsJson",
    "Commands",
    "Listing",
    "console",
    "help_style",
    "never_fail_to_encode",
    "one_line",
    "print_json",
    "visible",
]
