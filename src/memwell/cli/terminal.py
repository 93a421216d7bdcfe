"""The terminal: consoles, tables, progress bars.

Stored text is printed literally, and cannot control the terminal. Paths, ids, keys, addresses and commands, which users
copy, are printed whole on one line, however narrow the terminal is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
import typer
from rich.console import Console, ConsoleOptions, JustifyMethod
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text as Styled
from typer.core import TyperGroup

from memwell.cli.phrases import say
from memwell.longterm.profiles import relation_in_words
from memwell.longterm.statements import BY_HAND
from memwell.messages import Message, Role
from memwell.storage.protocols import ThreadInfo
from memwell.transcript.text import in_words

if TYPE_CHECKING:
    from memwell.longterm.facts import Fact
    from memwell.longterm.recall import Recalled


AsJson = Annotated[bool, typer.Option("--json", help="For programs. 供程序读取。")]

# All control characters but the line break and the tab, and those that turn the direction of text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LEAST_PROSE = 12
"""The least width of a column of prose."""
_ANY_WIDTH = 1_000_000
_WIDTH_FOR_BOXES = 80


class PlainTable(Table):
    """A table without borders whose columns are never wrapped or cut, except for prose.

    Its lines may be longer than the terminal is wide; the terminal wraps them.
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
        """Add columns for text, which is wrapped."""
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
        """The width with all prose wrapped as far as it may be."""
        unbound = options.update(max_width=_ANY_WIDTH)
        folded = 0
        for column in self.columns:
            if not column.no_wrap:
                cells = [Measurement.get(console, unbound, cell).maximum for cell in (column.header, *column.cells)]
                folded += max(0, min(max(cells), column.max_width or _ANY_WIDTH) - _LEAST_PROSE)
        return Measurement.get(console, unbound, self).maximum - folded


def console(*, stderr: bool = False, width: int | None = None, colours: bool | None = None) -> Console:
    """A console that prints every text literally, without markup and emoji, and leaves wrapping to the terminal."""
    return Console(
        stderr=stderr, width=width, force_terminal=colours, markup=False, emoji=False, highlight=False, soft_wrap=True
    )


class Commands(TyperGroup):
    """A group of commands whose plain help shows the whole help of each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of the commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.help or "") for name, one in found if one is not None and not one.hidden])


def help_style() -> Literal["rich"] | None:
    """The style of the help: boxes, or plain in a narrow terminal, where boxes cut the names of options."""
    return "rich" if console().width >= _WIDTH_FOR_BOXES else None


def visible(text: str) -> str:
    """The text with control characters shown instead of sent to the terminal."""

    def picture(found: re.Match[str]) -> str:
        return chr(0x2400 + ord(found[0])) if found[0] < " " else "␡" if found[0] == "\x7f" else "\ufffd"

    return _CONTROLS.sub(picture, text)


def one_line(text: str) -> str:
    """The text on one line."""
    return visible(" ".join(text.split("\n")))


def never_fail_to_encode() -> None:
    """Print ``?`` for characters that the terminal's encoding lacks, instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with suppress(OSError):
                stream.reconfigure(errors="replace")


def warn(message: str) -> None:
    """Print a warning on the error stream."""
    console(stderr=True).print(Styled(message, style="yellow"))


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    # The matches of a hit are a sequence of their own kind.
    typer.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=list), indent=2).decode())


# Progress, on the error stream so that it never mixes with the output of a command.


@contextmanager
def progress_bar(label: str) -> Generator[Callable[[int, int | None], None]]:
    """A progress bar: gives a function that takes how much is done and of how much, or None."""
    with progress_bars(label) as [tell]:
        yield tell


@contextmanager
def progress_bars(*labels: str) -> Generator[list[Callable[[int, int | None], None]]]:
    """Progress bars below each other, with a function for each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    screen = console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:

        def bar(label: str) -> Callable[[int, int | None], None]:
            task = bars.add_task(label, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield [bar(label) for label in labels]


# Tables of conversations, memories and facts for the terminal.


_COLOURS = {Role.HUMAN: "cyan", Role.AI: "green", Role.SYSTEM: "magenta", Role.TOOL: "yellow", Role.FUNCTION: "yellow"}
_WIDEST_NAME = 16
_LONGEST_EVIDENCE = 80


def message_table(messages: Sequence[Message], language: str, *, scores: Sequence[float] | None = None) -> PlainTable:
    """Messages as rows; with ``scores``, a column of them."""
    table = PlainTable()
    table.whole(say("index", language), say("round", language), justify="right", style="dim")
    table.prose(say("role", language), widest=_WIDEST_NAME)
    table.whole(say("tokens", language), justify="right", style="dim")
    if scores is not None:
        table.whole(say("score", language), justify="right")
    table.prose(say("text", language))
    for position, message in enumerate(messages):
        cells: list[str | Styled] = [
            str(message.index),
            str(message.round),
            Styled(_speaker(message, language), style=_COLOURS.get(message.role, "")),
            "" if message.tokens is None else str(message.tokens),
        ]
        if scores is not None:
            cells.append(f"{scores[position]:.2f}")
        table.add_row(*cells, Styled(visible("\n".join(map(in_words, message.parts)))))
    return table


def _speaker(message: Message, language: str) -> str:
    name = one_line(message.name or message.chat_role or message.role)
    return f"{name} ({say('hidden', language)})" if message.hidden else name


def thread_table(threads: Sequence[ThreadInfo], language: str) -> PlainTable:
    """Conversations as rows."""
    table = PlainTable()
    table.whole(say("thread", language))
    table.whole(*(say(name, language) for name in ("messages", "rounds", "tokens")), justify="right")
    table.whole(say("updated", language))
    for info in threads:
        numbers = (f"{info.messages:,}", f"{info.rounds:,}", f"{info.tokens:,}")
        table.add_row(Styled(one_line(info.thread.id)), *numbers, f"{info.updated:%Y-%m-%d %H:%M:%S} UTC")
    return table


def hit_table(
    hits: Sequence[Recalled],
    language: str,
    *,
    query: str = "",
    explain: bool = False,
    newer: Mapping[str, Recalled] | None = None,
) -> PlainTable:
    """Memories as rows, and in words why they were recalled; with ``explain`` every signal, and the ids.

    ``newer`` are the memories that supersede some of these, by their ids: they are shown with their day and text.
    """
    table = PlainTable()
    table.whole(say("score", language), justify="right")
    table.whole(say("when", language), style="dim")
    table.prose(say("text", language))
    table.prose(say("why", language), style="dim")
    if explain:
        table.whole("id", style="dim")
    for hit in hits:
        said = f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text
        why = _signals(hit) if explain else hit.why(query=query, language=language)
        later = (newer or {}).get(hit.superseded_by)
        if later is not None:
            why = why.replace(later.id, f"“{_shortened(later.text)}” ({later.time:%Y-%m-%d})")
        cells = (f"{hit.score:.2f}", f"{hit.time:%Y-%m-%d}", Styled(visible(said)), Styled(visible(why)))
        table.add_row(*cells, *([one_line(hit.id)] if explain else []))
    return table


def _signals(hit: Recalled) -> str:
    ordered = sorted(hit.signals.items(), key=lambda item: -abs(item[1].share))
    return ", ".join(f"{name} {signal.share:+.2f}" for name, signal in ordered)


def fact_table(facts: Sequence[Fact], evidence: Mapping[str, str], language: str) -> PlainTable:
    """Facts as rows; ``evidence`` is the text of the memories that they were read from, by id."""
    table = PlainTable()
    table.whole(say("subject", language))
    table.prose(say("relation", language), say("object", language))
    table.whole(say("since", language), say("until", language), style="dim")
    table.prose(say("evidence", language), style="dim")
    for fact in facts:
        names = (fact.subject, relation_in_words(fact.relation, language), fact.object)
        # Two equal ends: it was over by then, and its beginning is unknown.
        days = ("" if fact.valid_from == fact.valid_to else _day(fact.valid_from), _day(fact.valid_to))
        texts = {BY_HAND: say("by_hand", language)} | {id_: _shortened(text) for id_, text in evidence.items()}
        said = [texts[source.record] for source in fact.evidence if source.record in texts]
        table.add_row(*(Styled(one_line(name)) for name in names), *days, Styled("\n".join(said)))
    return table


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _shortened(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_EVIDENCE else f"{line[: _LONGEST_EVIDENCE - 1]}…"
