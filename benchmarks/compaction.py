"""Compaction: what it takes to move a tool result of a megabyte out of the context, on disk."""

from __future__ import annotations

import gc
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.corpus import Writer
from benchmarks.report import Figure, Grid, Section
from memwell.history import History
from memwell.messages import ToolCall, ai, human, tool_result
from memwell.storage.registry import open_backend
from memwell.strategies import Compaction

_COMPACTION_MS = 10.0
_MEGABYTE = 2**20


def compaction(section: Section, folder: Path, *, quick: bool) -> None:
    """Compact several results of each kind, one after the other in one conversation."""
    each = 1 if quick else 3
    grid = Grid(
        "Compaction.observe of a tool result of 1 MB, on a SQLite file",
        ["result", "CPU ms, median", "CPU ms, most", "recall, CPU ms, median"],
    )
    taken: list[float] = []
    with open_backend(f"sqlite:{folder / 'compaction.db'}") as backend:
        history = History(backend, "talk")
        strategy = Compaction(history)
        _called(history, "first", "short")
        strategy.observe()
        strategy.recall()
        for kind, write in _RESULTS.items():
            found = [_compacted(history, strategy, f"{kind}-{number}", write(number)) for number in range(each)]
            observed, recalled = ([one[place] for one in found] for place in (0, 1))
            taken += observed
            grid.add(
                kind, f"{statistics.median(observed):.1f}", f"{max(observed):.1f}", f"{statistics.median(recalled):.1f}"
            )
    section.grids.append(grid)
    median = statistics.median(taken)
    name = f"agentscope: compaction of a tool result of 1 MB, median of {len(taken)}"
    measured = f"{median:.1f} ms, at most {max(taken):.1f} ms"
    section.figures.append(Figure(name, f"< {_COMPACTION_MS:.0f} ms CPU", measured, median < _COMPACTION_MS))


def _compacted(history: History, strategy: Compaction, call: str, text: str) -> tuple[float, float]:
    """Milliseconds of CPU that the result's compaction took, and the reading of the view after it."""
    _called(history, call, text)
    gc.collect()
    start = time.process_time()
    strategy.observe()
    middle = time.process_time()
    shown = strategy.recall()
    end = time.process_time()
    assert sum(len(message.text) for message in shown) < _MEGABYTE // 4, "the result was not compacted"
    return (middle - start) * 1e3, (end - middle) * 1e3


def _called(history: History, call: str, text: str) -> None:
    history.add(human("look it up"), ai(tool_calls=[ToolCall(call, "lookup")]), tool_result(call, text), ai("done"))


def _rows(seed: int) -> str:
    drawn = random.Random(seed)
    return _megabyte(f"row {number}: {drawn.randrange(1000)} units in Oslo\n" for number in count())


def _records(seed: int) -> str:
    drawn = random.Random(seed)
    return _megabyte(json.dumps({"id": number, "price": drawn.random(), "city": "上海"}) + "," for number in count())


def _prose(seed: int) -> str:
    writer = Writer(seed)
    return _megabyte(writer.text() + "\n" for _ in count())


def _digits(seed: int) -> str:
    drawn = random.Random(seed)
    return _megabyte(drawn.randbytes(64).hex() for _ in count())


_RESULTS: dict[str, Callable[[int], str]] = {
    "rows of a table": _rows,
    "records in JSON": _records,
    "prose, English and Chinese": _prose,
    "digits without a space": _digits,
}


def _megabyte(pieces: Iterator[str]) -> str:
    """So many pieces that they take a megabyte in UTF-8."""
    taken, size = [], 0
    while size < _MEGABYTE:
        piece = next(pieces)
        taken.append(piece)
        size += len(piece.encode())
    return "".join(taken).encode()[:_MEGABYTE].decode(errors="ignore")


__all__ = ["compaction"]
