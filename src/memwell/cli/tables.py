"""Tables of conversations for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.terminal import one_line, visible
from memwell.messages import Message, Role
from memwell.storage.protocols import ThreadInfo
from memwell.transcript.shapes import in_words

if TYPE_CHECKING:
    # Loads numpy, which most commands do without.
    from memwell.longterm.recalling import Recalled

_COLOURS = {Role.HUMAN: "cyan", Role.AI: "green", Role.SYSTEM: "magenta", Role.TOOL: "yellow", Role.FUNCTION: "yellow"}
_WIDEST_NAME = 16


def message_table(messages: Sequence[Message], language: str, *, scores: Sequence[float] | None = None) -> Table:
    """Messages as rows; with ``scores``, a column of them."""
    table = _table()
    table.add_column(say("index", language), justify="right", style="dim")
    table.add_column(say("round", language), justify="right", style="dim")
    table.add_column(say("role", language), max_width=_WIDEST_NAME, overflow="fold")
    table.add_column(say("tokens", language), justify="right", style="dim")
    if scores is not None:
        table.add_column(say("score", language), justify="right")
    table.add_column(say("text", language), overflow="fold")
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


def thread_table(threads: Sequence[ThreadInfo], language: str) -> Table:
    """Conversations as rows."""
    table = _table()
    table.add_column(say("thread", language), overflow="fold")
    for name in ("messages", "rounds", "tokens"):
        table.add_column(say(name, language), justify="right")
    table.add_column(say("updated", language), no_wrap=True)
    for info in threads:
        numbers = (f"{info.messages:,}", f"{info.rounds:,}", f"{info.tokens:,}")
        table.add_row(Styled(one_line(info.thread.id)), *numbers, f"{info.updated:%Y-%m-%d %H:%M:%S} UTC")
    return table


def hit_table(hits: Sequence[Recalled], language: str, *, explain: bool = False) -> Table:
    """Memories as rows, with the reasons for which they were recalled; with ``explain`` all of them, and the ids."""
    table = _table()
    table.add_column(say("score", language), justify="right")
    table.add_column(say("when", language), no_wrap=True, style="dim")
    table.add_column(say("text", language), overflow="fold")
    table.add_column(say("why", language), overflow="fold", style="dim")
    for hit in hits:
        said = f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text
        why = f"{hit.why(most=99)}\n{hit.id}" if explain else hit.why(most=3)
        table.add_row(f"{hit.score:.2f}", f"{hit.time:%Y-%m-%d}", Styled(visible(said)), why)
    return table


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


__all__ = ["hit_table", "message_table", "thread_table"]
