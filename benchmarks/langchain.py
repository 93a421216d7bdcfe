"""Memory classes of LangChain's names: one turn of ours on disk beside one of langchain-classic's in memory.

A turn is ``save_context`` and ``load_memory_variables``. Ours write to a SQLite file that is synced before the call
returns; theirs keep a list in memory and are also measured over their own durable history, a table in SQLite. Both are
given the same model, which counts tokens exactly, as OpenAI's do, and answers in a few fixed words.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.corpus import Writer
from benchmarks.measuring import Contender, Timing, cycle_through, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from memwell.compat import langchain as ours
from memwell.messages import Message, ai, human
from memwell.tokens import default_counter

_AIM = 5.0
_LIMIT = 2000
_PRUNED = 400
"""A pruned memory of theirs never holds more turns than its limit lets it: filling it with more would only be pruned."""

_KINDS: dict[str, dict[str, Any]] = {
    "ConversationBufferWindowMemory": {"k": 5},
    "ConversationTokenBufferMemory": {"max_token_limit": _LIMIT},
    "ConversationSummaryBufferMemory": {"max_token_limit": _LIMIT},
    "ConversationSummaryMemory": {},
    "ConversationEntityMemory": {},
}
_NEEDS_MODEL = frozenset(_KINDS) - {"ConversationBufferWindowMemory"}
_ALL_IN_MEMORY = frozenset({"ConversationBufferWindowMemory", "ConversationSummaryMemory", "ConversationEntityMemory"})


@dataclass(frozen=True)
class Turn:
    """What a person said and what was answered."""

    said: str
    answered: str


def langchain(folder: Path, *, quick: bool) -> Section:
    """One turn at 100, 1,000 and 10,000 turns, of every class."""
    section = Section("langchain")
    sizes = (20, 200) if quick else (100, 1_000, 10_000)
    theirs = _Theirs.installed()
    writer = Writer()
    turns = [Turn(writer.text()[:160], writer.text()[:160]) for _ in range(500)]
    for kind, options in _KINDS.items():
        grid = Grid(
            kind,
            ["turns before", "ours on disk, CPU µs", "theirs in memory", "theirs on disk", "to memory", "to disk"],
        )
        grid.note = "How many times the CPU of ours theirs takes, by the median of the rounds; above 1 ours is faster."
        for size in sizes:
            step(f"langchain: {kind} after {size:,} turns")
            timings = _measured(folder / f"{kind}-{size}", kind, options, size, turns, theirs, quick=quick)
            grid.add(f"{size:,}", *_cells(timings))
            if size == sizes[-1]:
                section.figures += _figures(kind, timings)
            if size == sizes[0]:
                first = timings["ours"]
        section.figures.append(_flat(kind, first, timings["ours"], sizes))
        section.grids.append(grid)
    return section


def _measured(
    folder: Path,
    kind: str,
    options: Mapping[str, Any],
    size: int,
    turns: Sequence[Turn],
    theirs: _Theirs | None,
    *,
    quick: bool,
) -> dict[str, Timing]:
    folder.mkdir()
    history = ours.MemwellChatMessageHistory("talk", str(folder / "ours.db"))
    _fill(history.history.add, turns, size)
    model = {"llm": theirs.model() if theirs else _Exact()} if kind in _NEEDS_MODEL else {}
    memories: dict[str, Any] = {"ours": getattr(ours, kind)(chat_memory=history, **model, **options)}
    if theirs is not None:
        memories |= theirs.memories(folder, kind, {**model, **options}, size, turns)
    contenders = [Contender(name, each(_turn(memory)), cycle_through(turns)) for name, memory in memories.items()]
    return take_turns(contenders, rounds=4 if quick else 20, batch=5)


def _fill(add: Callable[..., object], turns: Sequence[Turn], size: int) -> None:
    messages: list[Message] = []
    for number in range(size):
        turn = turns[number % len(turns)]
        messages += [human(turn.said), ai(turn.answered)]
    for start in range(0, len(messages), 1_000):
        add(*messages[start : start + 1_000])


def _turn(memory: Any) -> Callable[[Turn], None]:
    def run(turn: Turn) -> None:
        # An entity memory learns in a load what its save is about.
        memory.load_memory_variables({"input": turn.said})
        memory.save_context({"input": turn.said}, {"output": turn.answered})

    return run


class _Exact:
    """A model that counts exactly and always says the same."""

    def __init__(self) -> None:
        self._counter = default_counter()

    def get_num_tokens(self, text: str) -> int:
        return self._counter.count(text)

    def invoke(self, prompt: str) -> str:
        return "Anna, Rome" if "proper nouns" in prompt else "They spoke of Anna and of Rome."


class _Theirs:
    """langchain-classic, when it is installed."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # Every one of its memory classes is deprecated, and says so.
            warnings.simplefilter("ignore")
            self._memory = import_module("langchain_classic.memory")
            self._histories = import_module("langchain_community.chat_message_histories")
            self._core = import_module("langchain_core.chat_history")
            self._models = import_module("langchain_core.language_models.llms")

    @classmethod
    def installed(cls) -> _Theirs | None:
        try:
            return cls()
        except ImportError as error:
            step(f"langchain-classic: not installed ({error})")
            return None

    def model(self) -> Any:
        """The same model as a class of theirs, which their memories insist on."""
        exact = _Exact()

        class Counting(self._models.LLM):  # type: ignore[name-defined, misc]
            @property
            def _llm_type(self) -> str:
                return "counting"

            def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **options: Any) -> str:
                return exact.invoke(prompt)

            def get_num_tokens(self, text: str) -> int:
                return exact.get_num_tokens(text)

        return Counting()

    def memories(
        self, folder: Path, kind: str, options: Mapping[str, Any], size: int, turns: Sequence[Turn]
    ) -> dict[str, Any]:
        """A memory over a list, and one over a table, each with as many turns before."""
        made: dict[str, Any] = {}
        size_in_memory = size if kind in _ALL_IN_MEMORY else min(size, _PRUNED)
        with warnings.catch_warnings():
            # Newer versions say of this class, too, that it will go.
            warnings.simplefilter("ignore")
            listed = self._core.InMemoryChatMessageHistory()
        made["theirs in memory"] = self._made(kind, options, listed, size_in_memory, turns)
        if size <= (1_000 if kind in _ALL_IN_MEMORY else 100):
            # Every turn reads the whole table, and one that prunes it counts it anew for every message too many, though
            # nothing of the table goes: after 1,000 turns that takes many seconds a turn.
            table = self._histories.SQLChatMessageHistory("talk", connection=f"sqlite:///{folder / 'theirs.db'}")
            made["theirs on disk"] = self._made(kind, options, table, size, turns)
        return made

    def _made(self, kind: str, options: Mapping[str, Any], history: Any, size: int, turns: Sequence[Turn]) -> Any:
        messages: list[Any] = []
        types = import_module("langchain_core.messages")
        for number in range(size):
            turn = turns[number % len(turns)]
            messages += [types.HumanMessage(turn.said), types.AIMessage(turn.answered)]
        history.add_messages(messages)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(self._memory, kind)(chat_memory=history, **options)


def _cells(timings: Mapping[str, Timing]) -> list[str]:
    mine = timings["ours"]
    others = [timings.get(name) for name in ("theirs in memory", "theirs on disk")]
    times = ["" if one is None else f"{one.cpu_us:,.0f}" for one in others]
    ratios = ["" if one is None else f"{one.ratio(mine):,.2f}×" for one in others]
    return [f"{mine.cpu_us:,.0f}", *times, *ratios]


def _figures(kind: str, timings: Mapping[str, Timing]) -> list[Figure]:
    memory = timings.get("theirs in memory")
    if memory is None or kind in ("ConversationSummaryMemory", "ConversationEntityMemory"):
        return []
    ratio = memory.ratio(timings["ours"])
    return [
        Figure(f"langchain: {kind}, theirs in memory to ours on disk", f"≥ {_AIM:.0f}×", f"{ratio:.2f}×", ratio >= _AIM)
    ]


def _flat(kind: str, first: Timing, last: Timing, sizes: Sequence[int]) -> Figure:
    grown = last.cpu_us / first.cpu_us
    name = f"langchain: {kind}, a turn after {sizes[-1]:,} turns to one after {sizes[0]:,}"
    return Figure(name, "≤ 1.25×", f"{grown:.2f}×", grown <= 1.25)


__all__ = ["langchain"]
