"""Finds memory leaks: objects that stay alive, files whose allocations grow, and reference cycles.

    with watching() as watch:
        serve_a_thousand_requests()
    print(watch.growth().report())

Modules of memwell that are loaded inside, and what its functions cache, do not count. When your own packages load or
cache something at first use, do the work once before watching. ``gc_tuned`` and ``collected_after`` are for programs
that make and drop many objects at once.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice, pairwise
from types import BuiltinMethodType, MethodType
from typing import Any, TypeAlias, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.messages import forget_decoded
from memwell.values import check_id, shown

Thresholds: TypeAlias = int | tuple[int] | tuple[int, int] | tuple[int, int, int]
"""The arguments of ``gc.set_threshold``: one number, or those of up to three generations."""

_OWN = "memwell"
_CACHE = type(lru_cache(int))
_CONTAINERS = (dict, list, tuple, set, frozenset)
_BOUND = (MethodType, BuiltinMethodType)
_BEGIN, _END = "begin", "end"
_MOST_SEARCHED = 2000
_MOST_VISITED = 5000
_MOST_FILES = 5
_LEAST_BYTES = 1024
_PHRASES = {
    "en": {
        "no_objects": "Objects: none more than before.",
        "objects": "Objects: more than before:",
        "no_rings": "Rings: none that only the collector could free.",
        "rings": "Rings that only the collector could free:",
        "memory": "Memory: {bytes:+,} bytes in all.",
        "files": "Memory: {bytes:+,} bytes in all. Most of what was added, by file:",
        "unwatched": "Memory: not watched.",
    },
    "zh": {
        "no_objects": "对象：没有比之前更多。",
        "objects": "对象：比之前更多：",
        "no_rings": "引用环：没有只能靠回收器释放的环。",
        "rings": "只能靠回收器释放的引用环：",
        "memory": "内存：共 {bytes:+,} 字节。",
        "files": "内存：共 {bytes:+,} 字节。增加最多的文件：",
        "unwatched": "内存：未监测。",
    },
}


class FileGrowth(msgspec.Struct, frozen=True):
    """The growth of the memory that was allocated in a file of code, in bytes and in blocks."""

    file: str
    bytes: int
    blocks: int


class ReferenceRing(msgspec.Struct, frozen=True):
    """Objects that only each other referenced: a path through their types and attributes, and how often it was found."""

    path: tuple[str, ...]
    count: int

    def __str__(self) -> str:
        return f"{self.count} × {' → '.join((*self.path, self.path[0].split('.', 1)[0]))}"


class Growth(msgspec.Struct, frozen=True):
    """The growth between two marks.

    ``objects`` has the change of the number of live objects by type; ``rings`` are reference cycles through them;
    ``memory`` is by file of code, the largest first, or None when it was not watched.
    """

    objects: dict[str, int]
    rings: list[ReferenceRing]
    memory: list[FileGrowth] | None

    @property
    def leaks(self) -> bool:
        """Whether objects stay alive or needed the collector. Memory does not count: caches fill, and Python keeps some."""
        return any(count > 0 for count in self.objects.values()) or bool(self.rings)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**cast("dict[str, Any]", msgspec.to_builtins(self)), "leaks": self.leaks}

    def report(self, language: str = "en") -> str:
        """The same in words, ``en`` or ``zh``. Raises ``InvalidInput`` for another language."""
        words = _PHRASES.get(language[:2])
        if words is None:
            raise InvalidInput(f"a report is written in en or zh, not {shown(language)}")
        more = [(name, count) for name, count in self.objects.items() if count > 0]
        more.sort(key=lambda one: (-one[1], one[0]))
        lines = [words["objects" if more else "no_objects"]]
        lines += [f"  {count:+,}  {name}" for name, count in more]
        lines.append(words["rings" if self.rings else "no_rings"])
        lines += [f"  {ring}" for ring in self.rings]
        return "\n".join(lines + self._memory_lines(words))

    def _memory_lines(self, words: dict[str, str]) -> list[str]:
        if self.memory is None:
            return [words["unwatched"]]
        largest = [one for one in self.memory if one.bytes >= _LEAST_BYTES][:_MOST_FILES]
        title = words["files" if largest else "memory"].format(bytes=sum(one.bytes for one in self.memory))
        return [title, *(f"  {one.bytes:+,}  {_short(one.file)}" for one in largest)]


class _Mark(msgspec.Struct):
    """The counts at a moment. ``rings`` are those found since the mark before."""

    objects: Counter[str]
    memory: dict[str, tuple[int, int]] | None
    rings: Counter[tuple[str, ...]]


class Watch:
    """What ``watching`` returns: marks, and the growth between any two."""

    def __init__(self, packages: Sequence[str], *, memory: bool) -> None:
        self._packages = tuple(packages)
        self._memory = memory
        self._modules = set(sys.modules)
        self._marks: dict[str, _Mark] = {}

    def mark(self, name: str) -> None:
        """Count the live objects now, under a name. Raises ``InvalidInput`` for a name that is taken."""
        check_id(name, "a mark")
        if name in self._marks:
            raise InvalidInput(f"there is a mark {name!r} already")
        # A bounded cache of the process: its content is no leak, but would look like one.
        forget_decoded()
        rings = _collected_rings(self._packages)
        memory = _memory_by_file() if self._memory else None
        self._marks[name] = _Mark(self._live(), memory, rings)

    def _live(self) -> Counter[str]:
        census = _Census(self._packages)
        counts = Counter(census.by_name())
        counts.subtract(_name(type(one)) for one in _lasting(self._modules) if census.has_counted(one))
        return counts

    def growth(self, since: str = _BEGIN, until: str | None = None) -> Growth:
        """The growth between two marks; from the beginning to the last mark by default.

        Raises ``InvalidInput`` for a mark that was not made.
        """
        names = list(self._marks)
        first, last = self._place(since), len(names) - 1 if until is None else self._place(until)
        before, after = self._marks[names[first]], self._marks[names[last]]
        objects = {
            name: after.objects[name] - before.objects[name]
            for name in sorted(before.objects.keys() | after.objects.keys())
            if after.objects[name] != before.objects[name]
        }
        rings: Counter[tuple[str, ...]] = Counter()
        for name in names[first + 1 : last + 1]:
            rings.update(self._marks[name].rings)
        found = [ReferenceRing(path, count) for path, count in rings.most_common()]
        return Growth(objects, found, _grown(before.memory, after.memory))

    def _place(self, name: str) -> int:
        try:
            return list(self._marks).index(name)
        except ValueError:
            raise InvalidInput(f"there is no mark {shown(name)}; known: {', '.join(self._marks)}") from None


class _Census:
    """The live objects of the types of some packages at a moment."""

    def __init__(self, packages: Sequence[str]) -> None:
        tracked = cast("list[object]", gc.get_objects())
        counts = Counter(map(type, tracked))
        held = cast("list[object]", gc.get_referents(*tracked))
        # There may be millions of these, so each is only looked up in a set.
        self._kinds = ours = _kinds_of(packages, {*counts, *map(type, held)})
        self._untracked = {id(one): type(one) for one in held if type(one) in ours and not gc.is_tracked(one)}
        counts.update(self._untracked.values())
        self._counts = {kind: counts[kind] for kind in ours if counts[kind]}

    def by_name(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for kind, count in self._counts.items():
            counts[_name(kind)] += count
        return dict(sorted(counts.items()))

    def has_counted(self, one: object) -> bool:
        return type(one) in self._kinds and (gc.is_tracked(one) or id(one) in self._untracked)


@contextmanager
def watching(*packages: str, memory: bool = True) -> Generator[Watch]:
    """Watch the objects of these packages (memwell's own by default) and, with ``memory``, which files allocate memory.

    Objects of classes derived from those of the packages count too. Inside, the garbage collector only runs at marks, so
    that rings that only it could free are seen. Watching memory makes everything several times slower. Raises
    ``InvalidInput`` for a package that is no name.
    """
    for package in packages:
        check_id(package, "a package")
    watch = Watch(packages or (_OWN,), memory=memory)
    starts_tracing = memory and not tracemalloc.is_tracing()
    rested = gc.isenabled()
    if starts_tracing:
        tracemalloc.start()
    gc.disable()
    try:
        watch.mark(_BEGIN)
        yield watch
        watch.mark(_END)
    finally:
        if rested:
            gc.enable()
        if starts_tracing:
            tracemalloc.stop()


@contextmanager
def gc_tuned(threshold: Thresholds) -> Generator[None]:
    """Set the thresholds of the garbage collector inside the block, for the whole process; 0 turns it off.

    Higher is for work that makes many objects which stay, lower for work that drops many rings. Raises what
    ``gc.set_threshold`` raises.
    """
    before = gc.get_threshold()
    gc.set_threshold(*(threshold if isinstance(threshold, tuple) else (threshold,)))
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Collected:
    """The result of ``collected_after``: how many objects only the collector could free; None until it has run."""

    freed: int | None = None


@contextmanager
def collected_after(generation: int = 2) -> Generator[Collected]:
    """Run the collector once when the block ends, also by an error: after heavy work, before the next request."""
    collected = Collected()
    try:
        yield collected
    finally:
        collected.freed = gc.collect(generation)


def _kinds_of(packages: Iterable[str], kinds: Iterable[type[object]]) -> set[type[object]]:
    """The types that are defined in the packages or derived from one of them, except those of this module."""
    prefixes = tuple(f"{package}." for package in packages)
    return {kind for kind in kinds if any(_is_of(base, prefixes) for base in kind.__mro__)}


def _is_of(kind: type[object], prefixes: tuple[str, ...]) -> bool:
    # Some types have something else than a text there.
    module = cast(object, getattr(kind, "__module__", None))
    return isinstance(module, str) and f"{module}.".startswith(prefixes) and module != __name__


def _lasting(known: set[str]) -> Iterator[object]:
    """Objects that stay as long as the process: the caches of memwell's functions, and the constants of new modules."""
    ours = {name: module for name, module in list(sys.modules.items()) if f"{name}.".startswith(f"{_OWN}.")}
    new = ours.keys() - known
    found: dict[int, object] = {}
    # The objects of a new module, but not what those hold, which may have been added since.
    _reach([vars(ours[name]) for name in new], lambda one: _is_constant(one, new), found)
    caches = [one for module in ours.values() for one in vars(module).values() if type(one) is _CACHE]
    _reach(caches, lambda one: isinstance(one, _CONTAINERS) or _is_of(type(one), (f"{_OWN}.",)), found)
    return iter(found.values())


def _reach(roots: list[Any], leads_on: Callable[[object], bool], found: dict[int, object]) -> None:
    waiting = cast("list[object]", gc.get_referents(*roots))
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            if leads_on(one):
                waiting += cast("list[object]", gc.get_referents(one))


def _is_constant(one: object, modules: set[str]) -> bool:
    return type(one) in (*_CONTAINERS, *_BOUND) or (isinstance(one, type) and one.__module__ in modules)


def _memory_by_file() -> dict[str, tuple[int, int]]:
    ours = [tracemalloc.Filter(False, file) for file in (tracemalloc.__file__, __file__)]
    statistics = tracemalloc.take_snapshot().filter_traces(ours).statistics("filename")
    return {one.traceback[0].filename: (one.size, one.count) for one in statistics}


def _grown(
    before: dict[str, tuple[int, int]] | None, after: dict[str, tuple[int, int]] | None
) -> list[FileGrowth] | None:
    if before is None or after is None:
        return None
    grown: list[FileGrowth] = []
    for file in before.keys() | after.keys():
        (size, blocks), (size_before, blocks_before) = after.get(file, (0, 0)), before.get(file, (0, 0))
        if size != size_before or blocks != blocks_before:
            grown.append(FileGrowth(file, size - size_before, blocks - blocks_before))
    return sorted(grown, key=lambda one: (-one.bytes, one.file))


def _collected_rings(packages: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Run the collector; which rings through objects of the packages it found, and how often."""
    flags = gc.get_debug()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
    finally:
        gc.set_debug(flags)
    garbage = {id(one): one for one in cast("list[object]", gc.garbage)}
    gc.garbage.clear()
    rings = _rings(packages, garbage)
    garbage.clear()
    gc.collect()
    return rings


def _rings(packages: Sequence[str], garbage: dict[int, object]) -> Counter[tuple[str, ...]]:
    kinds = _kinds_of(packages, set(map(type, garbage.values())))
    ours = (one for one in garbage.values() if type(one) in kinds)
    rings: dict[frozenset[int], tuple[str, ...]] = {}
    for one in islice(ours, _MOST_SEARCHED):
        ring = _ring_through(one, garbage)
        if ring:
            rings.setdefault(frozenset(map(id, ring)), _described(ring))
    return Counter(rings.values())


def _ring_through(start: object, garbage: dict[int, object]) -> list[object]:
    """The shortest path from an object to itself through garbage; empty when there is none."""
    came_from: dict[int, int] = {}
    waiting = deque([id(start)])
    while waiting and len(came_from) < _MOST_VISITED:
        here = waiting.popleft()
        for held in gc.get_referents(garbage[here]):
            there = id(held)
            if there == id(start):
                return [garbage[one] for one in _way(here, came_from)]
            if there in garbage and there not in came_from:
                came_from[there] = here
                waiting.append(there)
    return []


def _way(end: int, came_from: dict[int, int]) -> list[int]:
    way = [end]
    while way[-1] in came_from:
        way.append(came_from[way[-1]])
    return way[::-1]


def _described(ring: Sequence[object]) -> tuple[str, ...]:
    """A ring as its types, each with the attribute that holds the next; the same from every starting point."""
    # The ``__dict__`` of an object is not listed by itself.
    previous = [ring[-1], *ring[:-1]]
    nodes = [one for one, owner in zip(ring, previous, strict=True) if one is not _attributes(owner)]
    steps = [type(one).__qualname__ + _attribute(one, held) for one, held in pairwise([*nodes, nodes[0]])]
    turns = [tuple(steps[turn:] + steps[:turn]) for turn in range(len(steps))]
    return min(turns)


def _attributes(owner: object) -> dict[str, object] | None:
    try:
        # Without the object's own ``__getattr__``, which may do anything.
        found = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None
    return cast("dict[str, object]", found) if type(found) is dict else None


def _attribute(owner: object, held: object) -> str:
    if isinstance(owner, msgspec.Struct):
        named = ((field, getattr(owner, field)) for field in owner.__struct_fields__)
    else:
        named = iter((_attributes(owner) or {}).items())
    return next((f".{name}" for name, value in named if value is held), "")


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(file: str) -> str:
    return "/".join(file.replace("\\", "/").rsplit("/", 4)[-4:])
