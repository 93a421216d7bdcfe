"""Context: a prompt of 2,000 tokens from a conversation of 100,000 messages, and how much of it a prompt cache can keep."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import Writer
from benchmarks.measuring import Contender, Timing, cycle_through, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from memwell import History
from memwell.messages import Message, ToolCall, ai, human, tool_result
from memwell.runtime.context import Context, Passage, Shares, assemble
from memwell.storage.sqlite import SqliteBackend
from memwell.tokens import default_counter

BUDGET = 2_000
_FOUND = 20
_START = datetime(2026, 1, 1, tzinfo=UTC)


class Noted(NamedTuple):
    """A memory as a recall finds it."""

    id: str
    text: str
    time: datetime
    score: float
    speaker: str = "Anna"
    kind: str = "note"
    trust: str = "user"
    flags: tuple[str, ...] = ()


class Lot:
    """Recalls memories by lot: what is measured is the assembling, not the search."""

    def __init__(self, writer: Writer) -> None:
        self._all = [
            Noted(f"memory-{number:05d}", writer.text(), _START + timedelta(hours=number), 1.0)
            for number in range(2_000)
        ]
        self._lot = random.Random(7)

    def recall(self, query: str, *, limit: int) -> list[Noted]:
        """Some memories."""
        return self._lot.sample(self._all, limit)


def _said(writer: Writer, count: int) -> list[Message]:
    """Rounds of a question and an answer, every tenth by way of a tool."""
    messages: list[Message] = []
    while len(messages) < count:
        number = len(messages)
        messages.append(human(writer.text()))
        if number % 20 == 0:
            call = ToolCall(f"call-{number}", "look_up", {"place": number})
            messages += [ai((), tool_calls=(call,)), tool_result(call.id, writer.text())]
        messages.append(ai(writer.text()))
    return messages


def context(folder: Path, *, quick: bool) -> Section:
    """The cost of a prompt, and how much of it stays the same from turn to turn."""
    section = Section("context")
    lengths = (1_000,) if quick else (1_000, 100_000)
    timings: dict[int, dict[str, Timing]] = {}
    over = 0
    for length in lengths:
        step(f"context: a conversation of {length:,} messages")
        with SqliteBackend(folder / f"context-{length}.db") as backend:
            history = History(backend, "talk")
            writer = Writer()
            for _ in range(0, length, 1_000):
                history.add(*_said(writer, 1_000))
            timings[length], worst = _timed(history, writer, quick=quick)
            over = max(over, worst)
    section.grids.append(_cost_grid(timings))
    step("context: turn after turn")
    section.grids.append(_cache_grid(120 if quick else 400))
    whole = timings[lengths[-1]]["conversation, memories, documents, profile"]
    name = f"context: {BUDGET:,} tokens from {lengths[-1]:,} messages, CPU beyond the recall"
    section.figures.append(Figure(name, "< 20 ms", f"{whole.cpu_us / 1e3:.2f} ms", whole.cpu_us < 20_000))
    section.figures.append(Figure("context: the most tokens of a prompt", f"≤ {BUDGET:,}", f"{over:,}", over <= BUDGET))
    return section


def _timed(history: History, writer: Writer, *, quick: bool) -> tuple[dict[str, Timing], int]:
    lot = Lot(writer)
    documents = [Passage(id=f"page-{number}", text=writer.text() * 3, title=f"Page {number}") for number in range(5)]
    profile = "\n".join(writer.text() for _ in range(3))
    system = "You are a helpful assistant. Answer briefly."
    sizes: list[int] = []

    def alone(query: str) -> Context:
        return assemble(query, budget=BUDGET, history=history)

    def whole(query: str) -> None:
        made = assemble(
            query,
            budget=BUDGET,
            history=history,
            recaller=lot,
            documents=documents,
            profile=profile,
            system=system,
            limit=_FOUND,
        )
        sizes.append(made.tokens)

    queries = [writer.text() for _ in range(50)]
    contenders = [
        Contender("the last 40 messages read, nothing else", each(lambda _: history.last(40)), cycle_through(queries)),
        Contender("History.window", each(lambda _: history.window(tokens=BUDGET)), cycle_through(queries)),
        Contender("conversation alone", each(alone), cycle_through(queries)),
        Contender("conversation, memories, documents, profile", each(whole), cycle_through(queries)),
    ]
    return take_turns(contenders, rounds=8 if quick else 40, batch=10), max(sizes)


def _cost_grid(timings: dict[int, dict[str, Timing]]) -> Grid:
    lengths = list(timings)
    grid = Grid(
        f"A prompt of {BUDGET:,} tokens in SQLite, CPU ms (wall ms)",
        ["", *(f"{length:,} messages" for length in lengths)],
        note=f"The whole: {_FOUND} memories and 5 passages are offered, drawn by lot, and fitted, deduplicated and fenced.",
    )
    for name in timings[lengths[0]]:
        found = [timings[length][name] for length in lengths]
        grid.add(name, *(f"{one.cpu_us / 1e3:.2f} ({one.wall_us / 1e3:.2f})" for one in found))
    return grid


def _cache_grid(turns: int) -> Grid:
    """Turn after turn: what share of a prompt's tokens is the beginning of the prompt before it."""
    grid = Grid(
        f"What a prompt has in common with the beginning of the last one, in {turns} turns of one conversation",
        ["budget", "steady", "not steady", "recalled first"],
        note=(
            "Share of the prompt's tokens, whole messages from the start, once the conversation no longer fits; 5 memories "
            "a turn. Recalled first: the same prompt with what was recalled before the conversation, not behind it."
        ),
    )
    for budget in (BUDGET, 4 * BUDGET):
        shares = [_kept(turns, budget, steady=steady) for steady in (True, False)]
        grid.add(f"{budget:,}", f"{shares[0][0]:.0%}", f"{shares[1][0]:.0%}", f"{shares[0][1]:.0%}")
    return grid


def _kept(turns: int, budget: int, *, steady: bool) -> tuple[float, float]:
    """The share of all tokens that need not be read again: as assembled, and with what was recalled first."""
    writer = Writer()
    history, lot = History.open("memory:", "talk"), Lot(writer)
    last: dict[str, list[Message]] = {"ours": [], "recalled first": []}
    kept, total = dict.fromkeys(last, 0), 0
    for _ in range(turns):
        question = writer.text()
        made = assemble(
            question,
            budget=budget,
            history=history,
            recaller=lot,
            system="You are a helpful assistant. Answer briefly.",
            limit=5,
            shares=Shares(steady=steady),
        )
        if made.receipt.earlier:
            start, rest, notes, end = made.messages[:1], made.messages[1:-2], made.messages[-2:-1], made.messages[-1:]
            total += made.tokens
            for name, now in (("ours", made.messages), ("recalled first", [*start, *notes, *rest, *end])):
                kept[name] += _common(last[name], now)
                last[name] = now
        history.add(human(question), ai(writer.text()))
    return kept["ours"] / total, kept["recalled first"] / total


def _common(before: list[Message], now: list[Message]) -> int:
    count, common = default_counter().count_message, 0
    for old, new in zip(before, now, strict=False):
        if (old.role, old.parts) != (new.role, new.parts):
            break
        common += count(new)
    return common


__all__ = ["context"]
