"""The room of DB-GPT's names: storage beside the bare backend, rounds of a conversation, buffers, long-term reads, cache.

Where DB-GPT itself is installed its classes take turns with ours in the same run: theirs keep everything in memory, ours
write to a SQLite file that is synced before a call returns.
"""

from __future__ import annotations

import asyncio
import gc
import random
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import memwell
from benchmarks.corpus import Writer
from benchmarks.measuring import Contender, Timing, cycle_through, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from memwell._asyncify import block_on
from memwell.compat.dbgpt import (
    AgentMemoryFragment,
    BackendStorage,
    CacheConfig,
    CachePolicy,
    HybridMemory,
    LLMCacheKey,
    LongTermMemory,
    MemoryCacheStorage,
    QuerySpec,
    ResourceIdentifier,
    SensoryMemory,
    ShortTermMemory,
    StorageConversation,
    StorageItem,
)
from memwell.longterm.weights import Weights
from memwell.models.ports import as_embedder
from memwell.records import Space
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend

_TIMES_RAW = 1.5
_TIMES_RECALL = 1.3
_GETS = 1_000_000
_BOUND = 0.05
_FLAT = 1.5


def dbgpt(folder: Path, *, quick: bool) -> Section:
    """All of it, each part beside what it stands on."""
    section = Section("dbgpt")
    for part in (_storage, _conversations, _short_term, _long_term, _cache, _cache_memory):
        step(f"dbgpt: {part.__name__.strip('_').replace('_', ' ')}")
        part(section, folder, quick=quick)
    return section


# Storage


class _Id(ResourceIdentifier):
    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def str_identifier(self) -> str:
        return f"note:{self.number}"

    def to_dict(self) -> dict[str, Any]:
        return {"number": self.number}


class _Note(StorageItem):
    """A small item: what a program keeps many of."""

    def __init__(self, number: int, topic: str, text: str) -> None:
        self.number = number
        self.topic = topic
        self.text = text

    @property
    def identifier(self) -> _Id:
        return _Id(self.number)

    def to_dict(self) -> dict[str, Any]:
        return {"number": self.number, "topic": self.topic, "text": self.text}

    def merge(self, other: StorageItem) -> None:
        assert isinstance(other, _Note)
        self.topic, self.text = other.topic, other.text


_RAW = Space("bench", "raw")


def _storage(section: Section, folder: Path, *, quick: bool) -> None:
    sizes = (100, 1_000) if quick else (1_000, 10_000, 100_000)
    writer = Writer()
    texts = [writer.text()[:200] for _ in range(200)]
    for kind in ("memory", "sqlite"):
        grid = Grid(f"Storage over {kind}", ["items", *_OPERATIONS], note=_NOTE)
        worst: dict[str, float] = {}
        for size in sizes:
            with open_backend("memory:" if kind == "memory" else f"sqlite:{folder / f'storage-{size}.db'}") as backend:
                ratios, costs = _operations(backend, size, texts, quick=quick)
            grid.add(f"{size:,}", *(f"{costs[one].cpu_us:,.1f} ({ratios[one]:.2f}x)" for one in _OPERATIONS))
            worst = {one: max(worst.get(one, 0.0), ratios[one]) for one in _OPERATIONS}
        section.grids.append(grid)
        most = max(worst, key=worst.__getitem__)
        measured = f"at most {worst[most]:.2f}x ({most})"
        section.figures.append(
            Figure(
                f"dbgpt: storage over {kind} beside the bare backend",
                f"<= {_TIMES_RAW}x",
                measured,
                worst[most] <= _TIMES_RAW,
            )
        )


_OPERATIONS = ("save", "update", "load", "delete", "save_list", "query", "count")
_NOTE = "CPU µs a call, and how many times that of the backend's own call with the same data. A list holds 50 items."
_LIST = 50


def _operations(
    backend: Backend, size: int, texts: Sequence[str], *, quick: bool
) -> tuple[dict[str, float], dict[str, Timing]]:
    storage: BackendStorage[Any] = BackendStorage(backend, "notes")
    notes = [_Note(number, f"topic-{number % (size // 20)}", texts[number % len(texts)]) for number in range(size)]
    for start in range(0, size, 500):
        part = notes[start : start + 500]
        storage.save_list(part)
        with backend.transaction():
            for note in part:
                backend.kv.put(_RAW, _key(note.number), note.to_dict())
    ours, raw = _our_calls(storage), _raw_calls(backend)
    fresh, other = count(size), count(size)
    taken, given = iter(notes[:]), iter(notes[:])
    chosen = random.Random(7)
    ratios: dict[str, float] = {}
    costs: dict[str, Timing] = {}
    rounds = 4 if quick else 15
    for operation in _OPERATIONS:
        heavy = operation in ("query", "count") and size > 5_000
        make = {
            "save": (lambda: _new(fresh, texts), lambda: _new(other, texts)),
            "save_list": (
                lambda: [_new(fresh, texts) for _ in range(_LIST)],
                lambda: [_new(other, texts) for _ in range(_LIST)],
            ),
            "delete": (lambda: next(taken), lambda: next(given)),
        }.get(operation, (lambda: chosen.choice(notes[size // 2 :]), lambda: chosen.choice(notes[size // 2 :])))
        contenders = [
            Contender("ours", each(ours[operation]), make[0]),
            Contender("raw", each(raw[operation]), make[1]),
        ]
        batch = 1 if heavy or operation == "save_list" else 3 if quick else 20
        timings = take_turns(contenders, rounds=min(rounds, 6) if heavy else rounds, batch=batch)
        ratios[operation] = timings["ours"].ratio(timings["raw"])
        costs[operation] = timings["ours"]
    return ratios, costs


def _new(numbers: count[int], texts: Sequence[str]) -> _Note:
    number = next(numbers)
    return _Note(number, f"topic-{number % 50}", texts[number % len(texts)])


def _our_calls(storage: BackendStorage[Any]) -> dict[str, Callable[[Any], object]]:
    return {
        "save": storage.save,
        "update": storage.update,
        "load": lambda note: storage.load(note.identifier, _Note),
        "delete": lambda note: storage.delete(note.identifier),
        "save_list": storage.save_list,
        "query": lambda note: storage.query(QuerySpec({"topic": note.topic}, limit=10), _Note),
        "count": lambda note: storage.count(QuerySpec({"topic": note.topic}), _Note),
    }


def _raw_calls(backend: Backend) -> dict[str, Callable[[Any], object]]:
    kv = backend.kv

    def save_list(notes: Sequence[_Note]) -> None:
        with backend.transaction():
            for note in notes:
                kv.put(_RAW, _key(note.number), note.to_dict(), expect=0)

    return {
        "save": lambda note: kv.put(_RAW, _key(note.number), note.to_dict(), expect=0),
        "update": lambda note: kv.put(_RAW, _key(note.number), note.to_dict()),
        "load": lambda note: kv.get(_RAW, _key(note.number)),
        "delete": lambda note: kv.delete(_RAW, _key(note.number)),
        "save_list": save_list,
        "query": lambda note: kv.scan(_RAW, where={"topic": note.topic}, limit=10),
        "count": lambda note: kv.count(_RAW, where={"topic": note.topic}),
    }


def _key(number: int) -> str:
    return f"note:{number:09}"


# Conversations


def _conversations(section: Section, folder: Path, *, quick: bool) -> None:
    sizes = (50, 500) if quick else (100, 1_000, 10_000)
    theirs = _Theirs.installed()
    writer = Writer()
    turns = [(writer.text()[:160], writer.text()[:160]) for _ in range(200)]
    grid = Grid(
        "A round of StorageConversation: a message, an answer, end_current_round",
        ["messages before", "ours on disk, CPU µs", "theirs in memory, CPU µs", "theirs to ours"],
    )
    firsts: dict[str, Timing] = {}
    for size in sizes:
        timings = _rounds(folder, size, turns, theirs, quick=quick)
        its = timings.get("theirs")
        grid.add(
            f"{size:,}",
            f"{timings['ours'].cpu_us:,.0f}",
            "-" if its is None else f"{its.cpu_us:,.0f}",
            "-" if its is None else f"{its.ratio(timings['ours']):,.1f}x",
        )
        firsts = firsts or timings
    section.grids.append(grid)
    growth = timings["ours"].cpu_us / firsts["ours"].cpu_us
    name = f"dbgpt: a round after {sizes[-1]:,} messages to one after {sizes[0]:,}"
    section.figures.append(Figure(name, f"<= {_FLAT}x", f"{growth:.2f}x", growth <= _FLAT))


def _rounds(
    folder: Path, size: int, turns: Sequence[tuple[str, str]], theirs: _Theirs | None, *, quick: bool
) -> dict[str, Timing]:
    storage: BackendStorage[Any] = BackendStorage(str(folder / f"rounds-{size}.db"), "conversations")
    talks: dict[str, Any] = {"ours": StorageConversation("talk", conv_storage=storage, message_storage=storage)}
    if theirs is not None:
        talks["theirs"] = theirs.conversation()
    for talk in talks.values():
        for number in range(size // 2):
            talk.start_new_round()
            talk.add_user_message(turns[number % len(turns)][0])
            talk.add_ai_message(turns[number % len(turns)][1])
        talk.end_current_round()
    contenders = [Contender(name, each(_round_of(talk)), cycle_through(turns)) for name, talk in talks.items()]
    return take_turns(contenders, rounds=4 if quick else 12, batch=3)


def _round_of(talk: Any) -> Callable[[tuple[str, str]], None]:
    def run(turn: tuple[str, str]) -> None:
        talk.start_new_round()
        talk.add_user_message(turn[0])
        talk.add_ai_message(turn[1])
        talk.end_current_round()

    return run


class _Theirs:
    """DB-GPT, when it is installed."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._message = import_module("dbgpt.core.interface.message")
            self._storage = import_module("dbgpt.core.interface.storage")
            self._memory = import_module("dbgpt.agent.core.memory.base")
            self._fragments = import_module("dbgpt.agent.core.memory.agent_memory")

    @classmethod
    def installed(cls) -> _Theirs | None:
        try:
            return cls()
        except ImportError as error:
            step(f"dbgpt: not installed ({error})")
            return None

    def conversation(self) -> Any:
        storage = self._storage.InMemoryStorage
        return self._message.StorageConversation("talk", conv_storage=storage(), message_storage=storage())

    def short_term(self, size: int) -> Any:
        return self._memory.ShortTermMemory(buffer_size=size)

    def fragment(self, text: str) -> Any:
        return self._fragments.AgentMemoryFragment(text, importance=0.5)


# Short-term memory


def _short_term(section: Section, folder: Path, *, quick: bool) -> None:
    sizes = (5, 100)
    theirs = _Theirs.installed()
    grid = Grid(
        "ShortTermMemory.write into a full buffer",
        ["buffer size", "ours, CPU µs", "theirs, CPU µs", "theirs to ours"],
        note="Ours hands on the oldest fragment; theirs loses it and hands on another twice.",
    )
    for size in sizes:
        makers: dict[str, tuple[Any, Callable[[], Any]]] = {
            "ours": (ShortTermMemory(buffer_size=size), lambda: AgentMemoryFragment("it rained", importance=0.5))
        }
        if theirs is not None:
            makers["theirs"] = (theirs.short_term(size), lambda: theirs.fragment("it rained"))
        for memory, make in makers.values():
            _write_all(memory, [make() for _ in range(size)])
        contenders = [
            Contender(name, lambda batch, memory=memory: _write_all(memory, batch), make)
            for name, (memory, make) in makers.items()
        ]
        timings = take_turns(contenders, rounds=4 if quick else 15, batch=20)
        its = timings.get("theirs")
        grid.add(
            f"{size:,}",
            f"{timings['ours'].cpu_us:,.1f}",
            "-" if its is None else f"{its.cpu_us:,.1f}",
            "-" if its is None else f"{its.ratio(timings['ours']):,.1f}x",
        )
    section.grids.append(grid)


def _write_all(memory: Any, fragments: Sequence[Any]) -> None:
    async def run() -> None:
        for fragment in fragments:
            await memory.write(fragment)

    asyncio.run(run())


# Long-term memory


def _long_term(section: Section, folder: Path, *, quick: bool) -> None:
    size = 2_000 if quick else 100_000
    writer = Writer()
    directions = np.random.default_rng(7).standard_normal((4096, 64)).astype(np.float32)

    def embed(texts: Sequence[str]) -> list[list[float]]:
        # The words' directions added up: cheap, the same every time, and near for texts that share words.
        rows = [sum((directions[hash_of(word)] for word in text.split()), directions[0]) for text in texts]
        return [row.tolist() for row in rows]

    def hash_of(word: str) -> int:
        return sum(ord(letter) * 31**place for place, letter in enumerate(word[:8])) % 4096

    # What a memory over a path opens for itself: accesses are noted in the background, as by any memory that is open.
    store = memwell.open(folder / "hybrid.db", embedder=as_embedder(embed, name="words", dimensions=64))
    long_term = LongTermMemory(vector_store=store)
    hybrid = HybridMemory(
        sensory_memory=SensoryMemory(), short_term_memory=ShortTermMemory(5), long_term_memory=long_term
    )
    fragments = [AgentMemoryFragment(writer.text()[:160], importance=0.5) for _ in range(size)]
    for start in range(0, size, 5_000):
        block_on(long_term.write_batch(fragments[start : start + 5_000]))
    store.flush()
    for fragment in fragments[:5]:
        block_on(hybrid.write(fragment))
    # A fragment's importance goes up to ten, a memory's to one.
    weights = Weights.time_weighted(importance=10.0)
    queries = [" ".join(writer.text().split()[:6]) for _ in range(50)]
    loop = asyncio.new_event_loop()
    contenders = [
        Contender("read", each(lambda query: loop.run_until_complete(hybrid.read(query))), cycle_through(queries)),
        Contender(
            "recall",
            each(lambda query: store.recall(query, limit=4, weights=weights, where={"memory_type": "long_term"})),
            cycle_through(queries),
        ),
        Contender("plain", each(lambda query: store.recall(query, limit=4)), cycle_through(queries)),
    ]
    timings = take_turns(contenders, rounds=4 if quick else 15, batch=5)
    loop.close()
    store.close()
    ratio, plain = timings["read"].ratio(timings["recall"]), timings["read"].ratio(timings["plain"])
    grid = Grid(
        f"HybridMemory.read with {size:,} long-term fragments",
        ["", "CPU µs", "read to it"],
        note="The first recall has the same weights and filter as the memory; the second those that ship, and no filter.",
    )
    grid.add("HybridMemory.read", f"{timings['read'].cpu_us:,.0f}", "")
    grid.add("longterm.recall, same weights and filter", f"{timings['recall'].cpu_us:,.0f}", f"{ratio:.2f}x")
    grid.add("longterm.recall as it comes", f"{timings['plain'].cpu_us:,.0f}", f"{plain:.2f}x")
    section.grids.append(grid)
    name = f"dbgpt: HybridMemory.read with {size:,} fragments beside longterm.recall"
    section.figures.append(Figure(name, f"<= {_TIMES_RECALL}x", f"{ratio:.2f}x", ratio <= _TIMES_RECALL))


# Cache


def _cache(section: Section, folder: Path, *, quick: bool) -> None:
    size = 5_000 if quick else 100_000
    texts = [f"question number {number}" for number in range(size)]
    by_text, by_key = MemoryCacheStorage(max_memory_mb=1024), MemoryCacheStorage(max_memory_mb=1024)
    keys = [LLMCacheKey(prompt=text, model_name="model") for text in texts]
    for text, key in zip(texts, keys, strict=True):
        by_text.set(text, "the answer to " + text)
        by_key.set(key, "the answer to " + text)
    fifo = CacheConfig(cache_policy=CachePolicy.FIFO)
    drawn = random.Random(7)
    kinds: dict[str, tuple[Callable[[Any], object], Callable[[], Any]]] = {
        "text as key, in order": (by_text.get, cycle_through(texts)),
        "text as key, at random": (by_text.get, lambda: drawn.choice(texts)),
        "key object, in order": (by_key.get, cycle_through(keys)),
        "key object, at random": (by_key.get, lambda: drawn.choice(keys)),
        "key object, at random, FIFO": (lambda key: by_key.get(key, fifo), lambda: drawn.choice(keys)),
        "new key object": (by_key.get, lambda: LLMCacheKey(prompt=drawn.choice(texts), model_name="model")),
    }
    contenders = [Contender(name, each(call), make) for name, (call, make) in kinds.items()]
    timings = take_turns(contenders, rounds=5 if quick else 15, batch=1_000 if quick else 20_000)
    grid = Grid(
        f"MemoryCacheStorage.get with {size:,} entries",
        ["", "CPU µs", "gets a CPU-second"],
        note="A bare OrderedDict gives 0.9 to 1.3 million a second; a key object is serialised once.",
    )
    for name, timing in timings.items():
        grid.add(name, f"{timing.cpu_us:.2f}", f"{1e6 / timing.cpu_us:,.0f}")
    section.grids.append(grid)
    for name in list(kinds)[:4]:
        rate = 1e6 / timings[name].cpu_us
        title = f"dbgpt: MemoryCacheStorage.get at {size:,} entries, {name}"
        section.figures.append(Figure(title, f">= {_GETS:,}/s", f"{rate:,.0f}/s", rate >= _GETS))


def _cache_memory(section: Section, folder: Path, *, quick: bool) -> None:
    grid = Grid(
        "Memory that a full MemoryCacheStorage really takes (tracemalloc)",
        ["values of", "limit MB", "entries", "it says, MB", "measured, MB", "over the limit"],
    )
    worst = 0.0
    for name, length, limit in (
        ("100 B", 100, 8 if quick else 64),
        ("2 kB", 2_000, 8 if quick else 64),
        ("mixed", 0, 16 if quick else 128),
    ):
        drawn = random.Random(7)
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        cache = MemoryCacheStorage(max_memory_mb=limit)
        written, number = 0, 0
        while written < 3 * limit * 2**20:
            size = length or int(10 ** drawn.uniform(1, 4.5))
            key = f"question {number}" if number % 2 else LLMCacheKey(prompt=f"question {number}", model_name="model")
            cache.set(key, chr(97 + number % 26) * size)
            written, number = written + size + 300, number + 1
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        over = taken / (limit * 2**20) - 1
        worst = max(worst, over)
        says = cache.current_memory_usage / 2**20
        grid.add(name, str(limit), f"{number:,}", f"{says:.1f}", f"{taken / 2**20:.1f}", f"{over:+.1%}")
    section.grids.append(grid)
    figure = Figure(
        "dbgpt: memory of a full cache over its limit", f"<= {_BOUND:.0%}", f"{worst:+.1%} at most", worst <= _BOUND
    )
    section.figures.append(figure)


__all__ = ["dbgpt"]
