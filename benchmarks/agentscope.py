"""The room of AgentScope's names: a hub of many agents, the cache of embeddings, compaction, and reads by mark.

Where AgentScope itself is installed its classes take turns with ours in the same run; without it ours are measured alone.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.compaction import compaction
from benchmarks.corpus import Writer
from benchmarks.measuring import Contender, Timing, take_turns, timed
from benchmarks.report import Figure, Grid, Section, step
from memwell.compat import agentscope as room
from memwell.messages import forget_decoded
from memwell.storage.registry import open_backend

_TIMES_HUB = 3.0
_TIMES_STORE = 20.0
_FLAT = 1.5


@dataclass(frozen=True)
class _Names:
    """The same names of one package, ours or theirs."""

    agent: Any
    message: Any
    memory: Any
    hub: Any
    cache: Any


_OURS = _Names(room.AgentBase, room.Msg, room.InMemoryMemory, room.MsgHub, room.FileEmbeddingCache)


def agentscope(folder: Path, *, quick: bool) -> Section:
    """All of it, ours beside theirs when that is installed."""
    section = Section("agentscope")
    sides = {"ours": _OURS}
    theirs = _theirs()
    if theirs is not None:
        sides["theirs"] = theirs
    for part in (_hub, _objects_left, _cache, _marks):
        step(f"agentscope: {part.__name__.strip('_').replace('_', ' ')}")
        part(section, folder, sides, quick=quick)
    step("agentscope: compaction")
    compaction(section, folder, quick=quick)
    return section


def _theirs() -> _Names | None:
    try:
        names = _Names(
            import_module("agentscope.agent").AgentBase,
            import_module("agentscope.message").Msg,
            import_module("agentscope.memory").InMemoryMemory,
            import_module("agentscope.pipeline").MsgHub,
            import_module("agentscope.embedding").FileEmbeddingCache,
        )
    except ImportError as error:
        step(f"agentscope: AgentScope is not installed ({error}); ours is measured alone")
        return None
    # Its cache says of every file it removes that it did: what printing costs is not what is compared.
    logging.getLogger("as").setLevel(logging.ERROR)
    step(f"agentscope: beside AgentScope {version('agentscope')}")
    return names


# The hub


class _Listing:
    """The same plain list for both."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    async def add(self, message: Any) -> None:
        self.items.append(message)

    async def size(self) -> int:
        return len(self.items)


class _Nothing:
    """A memory that keeps nothing."""

    async def add(self, message: Any) -> None:
        pass


def _listener(base: Any, memory: Any) -> Any:
    """A class of agents that store what they observe."""

    class Listener(base):
        def __init__(self) -> None:
            super().__init__()
            self.memory = memory()

        async def observe(self, msg: Any) -> None:
            await self.memory.add(msg)

    return Listener


@dataclass(frozen=True)
class _Room:
    """Agents that have heard nothing yet, and what will be said to them."""

    agents: list[Any]
    messages: list[Any]


def _hub(section: Section, folder: Path, sides: Mapping[str, _Names], *, quick: bool) -> None:
    agents, messages, rounds = (10, 100, 2) if quick else (100, 1_000, 3)
    grid = Grid(
        f"{messages:,} messages broadcast to {agents} agents",
        ["each agent keeps them in", "ours, CPU s", "theirs, CPU s", "theirs to ours"],
        note="The second line is the hub alone: the agents of both append to a list.",
    )
    ratios: list[float] = []
    for kind, memories in (
        ("an InMemoryMemory of its own", {name: side.memory for name, side in sides.items()}),
        ("a plain list", dict.fromkeys(sides, _Listing)),
    ):
        timings = _broadcasts(sides, memories, agents, messages, rounds=rounds)
        mine, its = timings["ours"], timings.get("theirs")
        grid.add(kind, f"{mine.cpu_us / 1e6:.2f}", *_beside(mine, its, 1e6, 2))
        if its is not None:
            ratios.append(its.ratio(mine))
    section.grids.append(grid)
    if ratios:
        name = f"agentscope: {messages:,} messages to {agents} agents, theirs to ours"
        measured = f"{ratios[0]:.1f}x with a memory each, {ratios[1]:.1f}x for the hub alone"
        section.figures.append(Figure(name, f">= {_TIMES_HUB:.0f}x", measured, ratios[0] >= _TIMES_HUB))


def _broadcasts(
    sides: Mapping[str, _Names], memories: Mapping[str, Any], agents: int, messages: int, *, rounds: int
) -> dict[str, Timing]:
    contenders: list[Contender] = []
    for name, side in sides.items():
        listener = _listener(side.agent, memories[name])
        # A whole round takes too long to be a warm-up.
        _broadcast_to(side, _room(side, listener, 5, 50))
        contenders.append(
            Contender(
                name,
                lambda rooms, side=side: _broadcast_to(side, rooms[0]),
                lambda side=side, listener=listener: _room(side, listener, agents, messages),
            )
        )
    timings = {name: Timing() for name in sides}
    for number in range(rounds):
        for one in contenders[:: -1 if number % 2 else 1]:
            cpu, wall = timed(one, 1)
            timings[one.name].cpu.append(cpu)
            timings[one.name].wall.append(wall)
    return timings


def _room(side: _Names, listener: Any, agents: int, messages: int) -> _Room:
    # What the one before left is not to be collected on the clock of the next.
    gc.collect()
    said = [side.message("ann", f"message {number}", "user") for number in range(messages)]
    return _Room([listener() for _ in range(agents)], said)


def _broadcast_to(side: _Names, room: _Room) -> None:
    async def run() -> None:
        await _speak(side, room)
        sizes = {await agent.memory.size() for agent in room.agents}
        assert sizes == {len(room.messages)}, f"some agents have heard {sizes} messages"

    asyncio.run(run())


async def _speak(side: _Names, room: _Room) -> None:
    async with side.hub(room.agents) as hub:
        for message in room.messages:
            await hub.broadcast(message)


# What a closed hub leaves


def _objects_left(section: Section, folder: Path, sides: Mapping[str, _Names], *, quick: bool) -> None:
    agents, messages = (10, 50) if quick else (100, 100)
    grid = Grid(
        f"Objects left after {messages} messages to {agents} agents, the collector off",
        ["", "ours", "theirs"],
        note="All that Python's collector knows of and what that holds, numbers aside; caches were filled before.",
    )
    kept = {name: asyncio.run(_left_by_hub(side, agents, messages)) for name, side in sides.items()}
    gone = {name: asyncio.run(_left_by_all(side, agents, messages)) for name, side in sides.items()}
    grid.add("the hub closed, its agents alive; they keep nothing", *_counts(kept))
    grid.add("the hub closed, its agents and their memories gone", *_counts(gone))
    section.grids.append(grid)
    left = kept["ours"] + gone["ours"]
    section.figures.append(Figure("agentscope: objects left by a hub that was closed", "0", f"{left:,}", left == 0))


def _counts(left: Mapping[str, int]) -> list[str]:
    return [f"{left['ours']:,}", f"{left['theirs']:,}" if "theirs" in left else "-"]


async def _left_by_hub(side: _Names, agents: int, messages: int) -> int:
    room = _room(side, _listener(side.agent, _Nothing), agents, messages)
    await _speak(side, room)
    with _collector_off():
        before = _objects()
        await _speak(side, room)
        return _objects() - before


async def _left_by_all(side: _Names, agents: int, messages: int) -> int:
    listener = _listener(side.agent, side.memory)
    await _speak(side, _room(side, listener, agents, messages))
    with _collector_off():
        before = _objects()
        # Bound to no name, so that the agents go when they have heard everything.
        await _speak(side, _room(side, listener, agents, messages))
        return _objects() - before


@contextmanager
def _collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _objects() -> int:
    # Bounded, and for the whole process: what it holds was not left by a hub.
    forget_decoded()
    tracked = gc.get_objects()
    # The collector knows of a dict or not by what was last in it: what is held counts in any case.
    return len({id(one) for part in (tracked, gc.get_referents(*tracked)) for one in part if type(one) not in _NUMBERS})


_NUMBERS = frozenset({int, float})
"""Those that counting itself makes would be counted."""


# The cache of embeddings


def _cache(section: Section, folder: Path, sides: Mapping[str, _Names], *, quick: bool) -> None:
    files = 500 if quick else 10_000
    vector = [[0.1] * 384]
    numbers = count()

    async def store(cache: Any, identifiers: Sequence[Any]) -> None:
        for identifier in identifiers:
            await cache.store(vector, identifier)

    caches: dict[str, Any] = {}
    with asyncio.Runner() as runner:
        for name, side in sides.items():
            place = folder / f"embeddings-{name}"
            # Filled by ours for both: the files are the same, and theirs would take long.
            runner.run(store(room.FileEmbeddingCache(place), [["fill", number] for number in range(files)]))
            caches[name] = side.cache(str(place), max_file_number=files)
        contenders = [
            Contender(name, lambda batch, cache=cache: runner.run(store(cache, batch)), lambda: ["new", next(numbers)])
            for name, cache in caches.items()
        ]
        timings = take_turns(contenders, rounds=4 if quick else 8, batch=20)
        more = [["more", number] for number in range(_more(files))]
        began = time.perf_counter()
        runner.run(store(caches["ours"], more))
        mean_us = (time.perf_counter() - began) / len(more) * 1e6
    counted = {name: len(list((folder / f"embeddings-{name}").glob("*.npy"))) for name in sides}
    assert set(counted.values()) == {files}, f"a limit of {files} files did not hold: {counted}"
    _cache_found(section, files, timings, mean_us)


def _more(files: int) -> int:
    # So many that the looking through the folder, once in about as many stores as there are files, is in the mean.
    return files * 3 // 2


def _cache_found(section: Section, files: int, timings: Mapping[str, Timing], mean_us: float) -> None:
    mine, its = timings["ours"], timings.get("theirs")
    grid = Grid(
        f"FileEmbeddingCache.store of 384 dimensions at a limit of {files:,} files",
        ["", "ours, µs", "theirs, µs", "theirs to ours"],
        note=f"The last line is the mean of {_more(files):,} stores in a row, with all that is done now and then.",
    )
    grid.add("CPU", f"{mine.cpu_us:,.0f}", *_beside(mine, its, 1, 0))
    if its is None:
        grid.add("by the clock", f"{mine.wall_us:,.0f}", "-", "-")
        grid.add("by the clock, mean of many", f"{mean_us:,.0f}", "-", "-")
        section.grids.append(grid)
        return
    cpu, wall, mean = its.ratio(mine), its.wall_ratio(mine), its.wall_us / mean_us
    grid.add("by the clock", f"{mine.wall_us:,.0f}", f"{its.wall_us:,.0f}", f"{wall:,.1f}x")
    grid.add("by the clock, mean of many", f"{mean_us:,.0f}", f"{its.wall_us:,.0f}", f"{mean:,.1f}x")
    section.grids.append(grid)
    name = f"agentscope: FileEmbeddingCache.store at {files:,} files, theirs to ours"
    measured = f"{wall:,.0f}x by the clock, {mean:,.0f}x with the mean of many, {cpu:,.0f}x CPU"
    section.figures.append(Figure(name, f">= {_TIMES_STORE:.0f}x", measured, min(cpu, wall, mean) >= _TIMES_STORE))


# Reads by mark, and adds

_MARKED = 10


def _marks(section: Section, folder: Path, sides: Mapping[str, _Names], *, quick: bool) -> None:
    sizes = (100, 500) if quick else (100, 1_000, 10_000)
    writer = Writer()
    texts = [writer.text()[:160] for _ in range(200)]
    with asyncio.Runner() as runner, open_backend(f"sqlite:{folder / 'marks.db'}") as backend:
        kinds: dict[str, tuple[_Names, Callable[[int], Any]]] = {
            "InMemoryMemory": (_OURS, lambda _: room.InMemoryMemory()),
            "MemwellMemory": (_OURS, lambda size: room.MemwellMemory(backend, f"talk-{size}")),
        }
        if "theirs" in sides:
            kinds["theirs"] = (sides["theirs"], lambda _: sides["theirs"].memory())
        memories: dict[tuple[str, int], Any] = {}
        for kind, (side, made) in kinds.items():
            for size in sizes:
                memories[kind, size] = made(size)
                runner.run(_fill(memories[kind, size], side, size, texts))
        for title, contenders in (
            (f"get_memory(mark=…) of the last {_MARKED} messages", _readers(memories, runner, "last")),
            (f"get_memory(mark=…) of {_MARKED} messages far apart", _readers(memories, runner, "spread")),
            ("add of a message", _adders(memories, runner, kinds, texts)),
        ):
            timings = take_turns(contenders, rounds=4 if quick else 15, batch=5)
            _marks_found(section, title, list(kinds), sizes, timings)


async def _fill(memory: Any, side: _Names, size: int, texts: Sequence[str]) -> None:
    """Put so many messages in, with ten marked from the first to the last, and the last ten marked otherwise."""
    marked: dict[int, list[str]] = {}
    said: dict[int, str] = {}
    for number in range(_MARKED):
        for mark, place in (("spread", number * (size - 1) // (_MARKED - 1)), ("last", size - _MARKED + number)):
            marked.setdefault(place, []).append(mark)
            # The same ten texts whatever the size: a read is to differ by nothing but the messages around them.
            said[place] = texts[number]
    plain: list[Any] = []
    for place in range(size):
        message = side.message("ann", said.get(place, texts[place % len(texts)]), "user")
        if place not in marked:
            plain.append(message)
            continue
        await memory.add(plain)
        await memory.add(message, marks=marked[place])
        plain = []


def _readers(memories: Mapping[tuple[str, int], Any], runner: asyncio.Runner, mark: str) -> list[Contender]:
    async def read(memory: Any, times: int) -> None:
        for _ in range(times):
            assert len(await memory.get_memory(mark=mark)) == _MARKED

    return [
        Contender(f"{kind} {size}", lambda batch, memory=memory: runner.run(read(memory, len(batch))))
        for (kind, size), memory in memories.items()
    ]


def _adders(
    memories: Mapping[tuple[str, int], Any],
    runner: asyncio.Runner,
    kinds: Mapping[str, tuple[_Names, Any]],
    texts: Sequence[str],
) -> list[Contender]:
    drawn = random.Random(7)

    async def add(memory: Any, messages: Sequence[Any]) -> None:
        for message in messages:
            await memory.add(message)

    return [
        Contender(
            f"{kind} {size}",
            lambda batch, memory=memory: runner.run(add(memory, batch)),
            lambda message=kinds[kind][0].message: message("ann", drawn.choice(texts), "user"),
        )
        for (kind, size), memory in memories.items()
    ]


def _marks_found(
    section: Section, title: str, kinds: Sequence[str], sizes: Sequence[int], timings: Mapping[str, Timing]
) -> None:
    grid = Grid(
        title,
        ["messages before", "InMemoryMemory, CPU µs", "MemwellMemory on disk", "theirs in memory"],
        note="Ours reads over small gaps: ten that are spread over a hundred are read with all between them."
        if "apart" in title
        else "",
    )
    for size in sizes:
        cells = [f"{timings[f'{kind} {size}'].cpu_us:,.1f}" for kind in kinds]
        grid.add(f"{size:,}", *cells, *["-"] * (3 - len(cells)))
    section.grids.append(grid)
    for kind in kinds[:2]:
        largest = timings[f"{kind} {sizes[-1]}"]
        # To whichever of the smaller ones was cheapest, which need not be the smallest.
        growth = max(largest.ratio(timings[f"{kind} {size}"]) for size in sizes[:-1])
        name = f"agentscope: {kind}, {title}, at {sizes[-1]:,} messages to fewer"
        section.figures.append(Figure(name, f"<= {_FLAT}x", f"{growth:.2f}x", growth <= _FLAT))


def _beside(mine: Timing, its: Timing | None, parts: float, digits: int) -> tuple[str, str]:
    """What theirs took, in that part of a microsecond's multiples, and how many times the CPU of ours that is."""
    if its is None:
        return "-", "-"
    return f"{its.cpu_us / parts:,.{digits}f}", f"{its.ratio(mine):,.1f}x"


__all__ = ["agentscope"]
