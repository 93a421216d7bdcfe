"""What stays in memory is found, and what does not stay is not."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memwell.errors import InvalidInput
from memwell.messages import Message, human
from memwell.records import Record
from memwell.runtime.agents import Agent, Hub
from memwell.runtime.leaks import FileGrowth, Growth, Watch, collected_after, gc_tuned, watching


class Thing:
    """Of a package of our own: that of these tests."""

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


class Node(msgspec.Struct):
    child: Any = None


@pytest.fixture(scope="module", autouse=True)
def _what_was_there_before() -> Iterator[None]:
    """Set aside whatever the other tests of this process have loaded: to look at millions of objects takes seconds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


HERE = __name__
THING = f"{HERE}.Thing"


def test_values_that_the_collector_does_not_track_count_once():
    with watching(HERE, memory=False) as watch:
        kept = [Node(number) for number in range(5)]
        again = list(kept)
    assert not any(map(gc.is_tracked, again))
    assert watch.growth().objects == {f"{HERE}.Node": 5}


def test_objects_of_derived_classes_count_with_the_package_that_they_are_derived_from():
    class Lent(Record, frozen=True):
        pass

    for package, found in (("memwell", 2), (HERE, 2), ("msgspec.none", 0)):
        with watching(package, memory=False) as watch:
            kept = [Lent(text="a"), Lent(text="b")]
        assert watch.growth().objects.get(_name(Lent), 0) == found
        kept.clear()


class Echo(Agent[Message]):
    async def reply(self, said: Message) -> Message:
        return said

    async def observe(self, message: Message | list[Message] | None, /) -> None:
        pass


@pytest.mark.parametrize("packages", [(), ("memwell",)])
def test_agents_that_stay_are_a_leak_and_those_that_go_are_none(packages: tuple[str, ...]):
    kept: list[Echo] = []

    async def work(leaking: bool) -> None:
        agents = [Echo() for _ in range(20)]
        async with Hub(agents) as hub:
            await hub.broadcast(human("hello"))
        kept.extend(agents if leaking else [])

    asyncio.run(work(False))
    with watching(*packages, memory=False) as watch:
        asyncio.run(work(False))
    assert not watch.growth().leaks, watch.growth().report()
    with watching(*packages, memory=False) as watch:
        asyncio.run(work(True))
    assert watch.growth().leaks
    assert grown(watch) == {_name(Echo): 20}


def grown(watch: Watch) -> dict[str, int]:
    """What there is more of; what another test left running may let go of some of its own meanwhile."""
    return {name: more for name, more in watch.growth().objects.items() if more > 0}


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def test_growth_is_until_now_or_the_end_of_the_block():
    kept: list[Thing] = []
    with watching(HERE, memory=False) as watch:
        kept += [Thing()]
        assert watch.growth().objects == {THING: 1}
        kept += [Thing(), Thing()]
    assert watch.growth().objects == {THING: 3}
    kept.clear()
    assert watch.growth().objects == {THING: 3}
    with pytest.raises(InvalidInput), watching(7):  # pyright: ignore[reportArgumentType]
        pass


def ring() -> None:
    one, other = Thing(), Node()
    one.child, other.child = [other], one.__init__  # type: ignore[attr-defined]


def test_reference_cycles_are_found():
    kept = Thing()
    with watching(HERE, memory=False) as watch:
        kept.child = Thing(parent=kept)  # type: ignore[attr-defined]
        ring()
        assert watch.growth().cycles == {THING: 1, f"{HERE}.Node": 1}
        ring()
        ring()
    growth = watch.growth()
    assert (growth.cycles, growth.objects, growth.leaks) == ({THING: 3, f"{HERE}.Node": 3}, {THING: 1}, True)


def test_memory_is_told_by_the_file_that_asked_for_it():
    kept: list[bytes] = []
    with watching(HERE) as watch:
        kept += [bytes(50_000) for _ in range(4)]
    memory = watch.growth().memory
    assert memory is not None
    assert memory[0].file == __file__
    assert 200_000 <= memory[0].bytes < 210_000
    assert memory[0].blocks >= 4
    assert not tracemalloc.is_tracing()
    assert "test_leaks.py" in watch.growth().report()


def test_watching_leaves_all_as_it_was():
    gc.disable()
    tracemalloc.start()
    try:
        with watching(HERE):
            pass
        assert not gc.isenabled()
        assert tracemalloc.is_tracing()
    finally:
        gc.enable()
        tracemalloc.stop()
    with pytest.raises(ZeroDivisionError), watching(HERE) as watch:
        raise ZeroDivisionError
    assert watch.growth().objects == {}
    assert gc.isenabled()
    assert not tracemalloc.is_tracing()


def test_a_report_is_in_english_or_chinese_and_as_data():
    growth = Growth({"a.B": 2, "a.A": 2, "a.C": -1}, {"a.A": 3}, [FileGrowth("/x/y/z/w/v.py", 2048, 1)])
    assert growth.report().splitlines() == [
        "Objects: more than before:",
        "  +2  a.A",
        "  +2  a.B",
        "Reference cycles: only the collector could free:",
        "  +3  a.A",
        "Memory: +2,048 bytes in all. Most of what was added, by file:",
        "  +2,048  y/z/w/v.py",
    ]
    assert growth.report("zh").splitlines()[0] == "对象：比之前更多："
    assert growth.report("zh-CN") == growth.report("zh")
    with pytest.raises(InvalidInput, match="en or zh"):
        growth.report("fr")
    assert growth.as_dict() == {
        "objects": {"a.B": 2, "a.A": 2, "a.C": -1},
        "cycles": {"a.A": 3},
        "memory": [{"file": "/x/y/z/w/v.py", "bytes": 2048, "blocks": 1}],
        "leaks": True,
    }
    assert Growth({}, {}, None).report("zh").splitlines()[2] == "内存：未监测。"


def test_the_collector_is_tuned_inside_and_as_before_afterwards():
    before = gc.get_threshold()
    with gc_tuned(50_000):
        assert gc.get_threshold() == (50_000, *before[1:])
        with gc_tuned((0, 5, 5)):
            assert gc.get_threshold() == (0, 5, 5)
        assert gc.get_threshold() == (50_000, *before[1:])
    with pytest.raises(ZeroDivisionError), gc_tuned((700, 10)):
        raise ZeroDivisionError
    assert gc.get_threshold() == before


def test_the_collector_runs_after_heavy_work():
    gc.collect()
    with collected_after() as collected:
        for _ in range(10):
            ring()
        assert collected.freed is None
    assert collected.freed is not None
    assert collected.freed >= 10
    with pytest.raises(ZeroDivisionError), collected_after() as collected:
        raise ZeroDivisionError
    assert collected.freed is not None


# The library itself, in a process of its own: here the threads of other tests may still be running.

LIBRARY = """
import asyncio, itertools, json, sys
import memwell
from memwell.compat.agentscope import InMemoryMemory, MemoryWithCompress, Msg
from memwell.messages import human
from memwell.runtime.leaks import watching

kept, paths = [], (f"{sys.argv[1]}/{number}.db" for number in itertools.count())

async def agents(leaking):
    for memory in (InMemoryMemory(), MemoryWithCompress(max_token=50)):
        await memory.add([Msg("a", "I like tea and long walks. " * 9, "user") for _ in range(5)])
        await memory.get_memory()
        kept.append(memory) if leaking else None
    async with memwell.open(next(paths), embedder=None, work=False) as m:
        await m.aremember("Ann likes tea.")
        await m.arecall("tea")

def use(leaking=False):
    with memwell.open(next(paths), embedder=None) as m:
        m.thread("t").add(human("hello"))
        m.remember("Ann likes tea, and has lived in Oslo since May. 安娜喜欢茶。")
        m.recall("What does Ann like?")
        m.at("bob").grant("ann")
        m.at("ann").shared("bob").recall("tea")
    asyncio.run(agents(leaking))

def watched(**options):
    with watching("memwell", memory=False) as watch:
        for _ in range(2):
            use(**options)
    return watch.growth()

for _ in range(2):
    use()
print(json.dumps([watched().report(), watched(leaking=True).objects]))
"""


def test_closed_engines_and_dropped_memories_are_gone_without_the_collector_and_others_are_found(tmp_path: Path):
    command = [sys.executable, "-X", "utf8", "-c", LIBRARY, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    report, objects = json.loads(done.stdout)
    assert report.splitlines()[:2] == [
        "Objects: none more than before.",
        "Reference cycles: nothing that only the collector could free.",
    ]
    assert objects["memwell.compat.agentscope.memories.InMemoryMemory"] == 2
