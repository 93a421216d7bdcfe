"""What stays in memory is found, and what does not stay is not."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import memwell
from memwell.errors import InvalidInput
from memwell.messages import Message, human
from memwell.records import Record
from memwell.runtime.agents import Agent, Hub
from memwell.runtime.leaks import FileGrowth, Growth, ReferenceRing, Watch, collected_after, gc_tuned, watching


class Thing:
    """Of a package of our own: that of these tests."""

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


class Slotted:
    __slots__ = ("other",)

    def __init__(self) -> None:
        self.other: object = None


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
RECORD, THING = "memwell.records.Record", f"{HERE}.Thing"


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


def test_what_is_kept_in_a_module_that_is_there_is_a_leak(monkeypatch: pytest.MonkeyPatch):
    with watching(memory=False) as watch:
        monkeypatch.setattr(memwell.records, "_kept_here", [Record(text="a")], raising=False)
    assert grown(watch) == {RECORD: 1}


def grown(watch: Watch) -> dict[str, int]:
    """What there is more of; what another test left running may let go of some of its own meanwhile."""
    return {name: more for name, more in watch.growth().objects.items() if more > 0}


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def test_growth_is_between_any_two_marks():
    kept: list[Thing] = []
    with watching(HERE, memory=False) as watch:
        kept += [Thing()]
        watch.mark("one")
        kept += [Thing(), Thing()]
        watch.mark("three")
        assert watch.growth().objects == {THING: 3}
        kept.clear()
    assert watch.growth("begin", "one").objects == {THING: 1}
    assert watch.growth("one", "three").objects == {THING: 2}
    assert watch.growth("three").objects == {THING: -3}
    assert watch.growth("one", "one").objects == watch.growth().objects == {}


def test_marks_that_are_not_there_or_there_already_are_refused():
    with watching(HERE, memory=False) as watch:
        for name in ("begin", "", 7, None):
            with pytest.raises(InvalidInput):
                watch.mark(name)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="known: begin, end"):
        watch.growth("middle")
    with pytest.raises(InvalidInput), watching(7):  # pyright: ignore[reportArgumentType]
        pass


def test_a_ring_is_found_and_described():
    with watching(HERE, memory=False) as watch:
        for _ in range(4):
            hub, agent = Thing(), Thing()
            hub.agents, agent.hub = {"a": agent}, hub  # type: ignore[attr-defined]
        del hub, agent
    growth = watch.growth()
    assert growth.objects == {}
    assert growth.rings == [ReferenceRing(("Thing.agents", "dict", "Thing.hub"), 4)]
    assert growth.leaks
    assert str(growth.rings[0]) == "4 × Thing.agents → dict → Thing.hub → Thing"


def test_a_ring_that_is_still_held_is_none():
    kept = Thing()
    with watching(HERE, memory=False) as watch:
        kept.child = Thing(parent=kept)  # type: ignore[attr-defined]
    growth = watch.growth()
    assert growth.rings == []
    assert growth.objects == {THING: 1}


def test_rings_through_slots_structs_and_methods_are_found():
    with watching(HERE, memory=False) as watch:
        one, two = Slotted(), Slotted()
        one.other, two.other = two, one
        node = Node()
        node.child = [node]
        bound = Thing()
        bound.call = bound.__init__  # type: ignore[attr-defined]
        del one, two, node, bound
    assert {ring.path for ring in watch.growth().rings} == {
        ("Slotted", "Slotted"),
        ("Node.child", "list"),
        ("Thing.call", "method"),
    }


def test_rings_are_told_with_the_marks_between_which_they_were_made():
    def ring() -> None:
        one = Thing()
        one.me = one  # type: ignore[attr-defined]

    with watching(HERE, memory=False) as watch:
        ring()
        watch.mark("middle")
        ring()
        ring()
    assert [one.count for one in watch.growth("begin", "middle").rings] == [1]
    assert [one.count for one in watch.growth("middle").rings] == [2]
    assert [one.count for one in watch.growth().rings] == [3]


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
    with pytest.raises(ZeroDivisionError), watching(HERE):
        raise ZeroDivisionError
    assert gc.isenabled()
    assert not tracemalloc.is_tracing()


def test_a_report_is_in_english_or_chinese_and_as_data():
    growth = Growth(
        {"a.B": 2, "a.A": 2, "a.C": -1}, [ReferenceRing(("B.a", "A.b"), 3)], [FileGrowth("/x/y/z/w/v.py", 2048, 1)]
    )
    assert growth.report().splitlines() == [
        "Objects: more than before:",
        "  +2  a.A",
        "  +2  a.B",
        "Rings that only the collector could free:",
        "  3 × B.a → A.b → B",
        "Memory: +2,048 bytes in all. Most of what was added, by file:",
        "  +2,048  y/z/w/v.py",
    ]
    assert growth.report("zh").splitlines()[0] == "对象：比之前更多："
    assert growth.report("zh-CN") == growth.report("zh")
    with pytest.raises(InvalidInput, match="en or zh"):
        growth.report("fr")
    assert growth.as_dict() == {
        "objects": {"a.B": 2, "a.A": 2, "a.C": -1},
        "rings": [{"path": ("B.a", "A.b"), "count": 3}],
        "memory": [{"file": "/x/y/z/w/v.py", "bytes": 2048, "blocks": 1}],
        "leaks": True,
    }
    assert Growth({}, [], None).report("zh").splitlines()[2] == "内存：未监测。"


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
    def ring() -> None:
        one = Thing()
        one.me = one  # type: ignore[attr-defined]

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


# The house itself, in a process of its own: here the threads of other tests may still be at it.

HOUSE = """
import asyncio, itertools, json, sys
import memwell
from memwell.messages import ai, human
from memwell.runtime.leaks import watching

kept, paths = [], (f"{sys.argv[1]}/{number}.db" for number in itertools.count())

async def agents(leaking):
    from memwell.compat.agentscope import InMemoryMemory, MemoryWithCompress, Msg
    for memory in (InMemoryMemory(), MemoryWithCompress(max_token=50)):
        await memory.add([Msg("a", "I like tea and long walks. " * 9, "user") for _ in range(5)])
        await memory.get_memory()
        kept.append(memory) if leaking else None

def first_time(leaking=False):
    with memwell.open(next(paths), embedder=None) as m:
        m.thread("t").add(human("hello"), ai("Hello, Ann."))
        m.remember("Ann likes tea, and has lived in Oslo since May. 安娜喜欢茶。")
        m.recall("What does Ann like?")
    asyncio.run(agents(leaking))

def engine():
    with memwell.open(next(paths), embedder=None) as m:
        m.thread("t").add(human("hello"))
        m.remember("Ann likes tea.")
        m.recall("tea")
        m.at("bob").grant("ann")
        m.at("ann").shared("bob").recall("tea")

def program():
    async def use():
        async with memwell.open(next(paths), embedder=None, work=False) as m:
            await m.aremember("Ann likes tea.")
            await m.arecall("tea")
    asyncio.run(use())

def watched(use, times, before=0):
    for _ in range(before):
        use()
    with watching("memwell", memory=False) as watch:
        for _ in range(times):
            use()
    growth = watch.growth()
    return growth.leaks, growth.objects, growth.report()

print(json.dumps({
    "first time": watched(first_time, 1),
    "leaking": watched(lambda: first_time(leaking=True), 1),
    "engine": watched(engine, 3, before=2),
    "program": watched(program, 2, before=2),
}))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bool, dict[str, int], str]]:
    """What was found after each piece of work: whether it leaks, how many objects there are more of, and the report."""
    command = [sys.executable, "-X", "utf8", "-c", HOUSE, str(tmp_path_factory.mktemp("house"))]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_loaded_and_cached_at_the_first_time_is_no_leak(house: dict[str, Any]):
    leaks, objects, report = house["first time"]
    assert not leaks, report
    assert "memwell.compat.agentscope.memories.InMemoryMemory" not in objects
    leaks, objects, report = house["leaking"]
    assert leaks, report
    assert objects["memwell.compat.agentscope.memories.InMemoryMemory"] == 1


def test_a_closed_engine_is_gone_without_the_collector(house: dict[str, Any]):
    assert house["engine"][2].splitlines()[:2] == [
        "Objects: none more than before.",
        "Rings: none that only the collector could free.",
    ]
