"""Tables of conversations, memories and facts for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.text import Text as Styled

from memwell.cli.phrases import say
from memwell.cli.terminal import Listing, one_line, visible
from memwell.longterm.profiles import relation_in_words
from memwell.messages import Message, Role
from memwell.storage.protocols import ThreadInfo
from memwell.transcript.shapes import in_words

if TYPE_CHECKING:
    # Loads numpy, which most commands do without.
    from memwell.longterm.facts import Fact
    from memwell.longterm.recalling import Recalled

_COLOURS = {Role.HUMAN: "cyan", Role.AI: "green", Role.SYSTEM: "magenta", Role.TOOL: "yellow", Role.FUNCTION: "yellow"}
_WIDEST_NAME = 16
_LONGEST_EVIDENCE = 80


def message_table(messages: Sequence[Message], language: str, *, scores: Sequence[float] | None = None) -> Listing:
    """Messages as rows; with ``scores``, a column of them."""
    table = Listing()
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


def thread_table(threads: Sequence[ThreadInfo], language: str) -> Listing:
    """Conversations as rows."""
    table = Listing()
    table.whole(say("thread", language))
    table.whole(*(say(name, language) for name in ("messages", "rounds", "tokens")), justify="right")
    table.whole(say("updated", language))
    for info in threads:
        numbers = (f"{info.messages:,}", f"{info.rounds:,}", f"{info.tokens:,}")
        table.add_row(Styled(one_line(info.thread.id)), *numbers, f"{info.updated:%Y-%m-%d %H:%M:%S} UTC")
    return table


def hit_table(hits: Sequence[Recalled], language: str, *, query: str = "", explain: bool = False) -> Listing:
    """Memories as rows, and in words why they were recalled; with ``explain`` every signal, and the ids."""
    table = Listing()
    table.whole(say("score", language), justify="right")
    table.whole(say("when", language), style="dim")
    table.prose(say("text", language))
    table.prose(say("why", language), style="dim")
    if explain:
        table.whole("id", style="dim")
    for hit in hits:
        said = f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text
        why = _signals(hit) if explain else hit.why(query=query, language=language)
        cells = (f"{hit.score:.2f}", f"{hit.time:%Y-%m-%d}", Styled(visible(said)), Styled(visible(why)))
        table.add_row(*cells, *([one_line(hit.id)] if explain else []))
    return table


def _signals(hit: Recalled) -> str:
    ordered = sorted(hit.signals.items(), key=lambda item: -abs(item[1].share))
    return ", ".join(f"{name} {signal.share:+.2f}" for name, signal in ordered)


def fact_table(facts: Sequence[Fact], evidence: Mapping[str, str], language: str) -> Listing:
    """Facts as rows; ``evidence`` is the text of the memories that they were read from, by id."""
    table = Listing()
    table.whole(say("subject", language))
    table.prose(say("relation", language), say("object", language))
    table.whole(say("since", language), say("until", language), style="dim")
    table.prose(say("evidence", language), style="dim")
    for fact in facts:
        names = (fact.subject, relation_in_words(fact.relation, language), fact.object)
        days = (_day(fact.valid_from), _day(fact.valid_to))
        said = [_shortened(evidence[source.record]) for source in fact.evidence if source.record in evidence]
        table.add_row(*(Styled(one_line(name)) for name in names), *days, Styled("\n".join(said)))
    return table


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _shortened(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_EVIDENCE else f"{line[: _LONGEST_EVIDENCE - 1]}…"


__all__ = ["fact_table", "hit_table", "message_table", "thread_table"]
