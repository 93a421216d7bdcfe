"""Finds memory leaks: objects that stay alive, files whose allocations grow, and reference cycles.

    serve_a_request()
    with watching() as watch:
        serve_a_thousand_requests()
    print(watch.growth().report())

Do the work once before watching: what is loaded and cached at first use stays, and would count. ``gc_tuned`` and
``collected_after`` are for programs that make and drop many objects at once.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.messages import forget_decoded
from memwell.values import check_id, shown

Thresholds: TypeAlias = int | tuple[int] | tuple[int, int] | tuple[int, int, int]
"""The arguments of ``gc.set_threshold``: one number, or those of up to three generations."""

_OWN = "memwell"
_MOST_FILES = 5
_LEAST_BYTES = 1024
_PHRASES = {
    "en": {
        "no_objects": "Objects: none more than before.",
        "objects": "Objects: more than before:",
        "no_cycles": "Reference cycles: nothing that only the collector could free.",
        "cycles": "Reference cycles: only the collector could free:",
        "memory": "Memory: {bytes:+,} bytes in all.",
        "files": "Memory: {bytes:+,} bytes in all. Most of what was added, by file:",
        "unwatched": "Memory: not watched.",
    },
    "zh": {
        "no_objects": "对象：没有比之前更多。",
        "objects": "对象：比之前更多：",
        "no_cycles": "循环引用：没有只能靠回收器释放的对象。",
        "cycles": "循环引用：只能靠回收器释放的对象：",
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


class Growth(msgspec.Struct, frozen=True):
    """The growth between two moments.

    ``objects`` has the change of the number of live objects by type; ``cycles`` has how many objects of a type were freed
    by the collector alone; ``memory`` is by file of code, the largest first, or None when it was not watched.
    """

    objects: dict[str, int]
    cycles: dict[str, int]
    memory: list[FileGrowth] | None

    @property
    def leaks(self) -> bool:
        """Whether objects stay alive or needed the collector. Memory does not count: caches fill, and Python keeps some."""
        return any(count > 0 for count in self.objects.values()) or bool(self.cycles)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**cast("dict[str, Any]", msgspec.to_builtins(self)), "leaks": self.leaks}

    def report(self, language: str = "en") -> str:
        """The same in words, ``en`` or ``zh``. Raises ``InvalidInput`` for another language."""
        words = _PHRASES.get(language[:2])
        if words is None:
            raise InvalidInput(f"a report is written in en or zh, not {shown(language)}")
        lines: list[str] = []
        for title, counts in (("objects", self.objects), ("cycles", self.cycles)):
            more = sorted((-count, name) for name, count in counts.items() if count > 0)
            lines.append(words[title if more else f"no_{title}"])
            lines += [f"  {-count:+,}  {name}" for count, name in more]
        return "\n".join(lines + self._memory_lines(words))

    def _memory_lines(self, words: dict[str, str]) -> list[str]:
        if self.memory is None:
            return [words["unwatched"]]
        largest = [one for one in self.memory if one.bytes >= _LEAST_BYTES][:_MOST_FILES]
        title = words["files" if largest else "memory"].format(bytes=sum(one.bytes for one in self.memory))
        return [title, *(f"  {one.bytes:+,}  {_short(one.file)}" for one in largest)]


class _Counts(NamedTuple):
    """What there was at a moment."""

    objects: Counter[str]
    memory: dict[str, tuple[int, int]] | None


class Watch:
    """What ``watching`` returns: the growth since the block began."""

    def __init__(self, packages: Sequence[str], *, memory: bool) -> None:
        self._packages = tuple(packages)
        self._memory = memory
        self._cycles: Counter[str] = Counter()
        self._begin = self._counted()
        self._end: _Counts | None = None
        self._cycles.clear()

    def growth(self) -> Growth:
        """The growth since the beginning of the block: until now, or until its end."""
        before, after = self._begin, self._end or self._counted()
        objects = {
            name: after.objects[name] - before.objects[name]
            for name in sorted(before.objects.keys() | after.objects.keys())
            if after.objects[name] != before.objects[name]
        }
        return Growth(objects, dict(self._cycles), _grown(before.memory, after.memory))

    def end(self) -> None:
        """Count for the last time."""
        self._end = self._counted()

    def _counted(self) -> _Counts:
        # A bounded cache of the process: its content is no leak, but would look like one.
        forget_decoded()
        self._cycles.update(_collected(self._packages))
        memory = _memory_by_file() if self._memory else None
        return _Counts(_live(self._packages), memory)


def _live(packages: Sequence[str]) -> Counter[str]:
    """The live objects of the types of some packages, by the names of the types."""
    tracked = cast("list[object]", gc.get_objects())
    held = cast("list[object]", gc.get_referents(*tracked))
    counts = Counter(map(type, tracked))
    # There may be millions of these, so each is only looked up in a set.
    kinds = _kinds_of(packages, {*counts, *map(type, held)})
    untracked = {id(one): type(one) for one in held if type(one) in kinds and not gc.is_tracked(one)}
    counts.update(untracked.values())
    return _by_name((kind, counts[kind]) for kind in kinds if counts[kind])


@contextmanager
def watching(*packages: str, memory: bool = True) -> Generator[Watch]:
    """Watch the objects of these packages (memwell's own by default) and, with ``memory``, which files allocate memory.

    Objects of classes derived from those of the packages count too. Inside, the garbage collector does not run, so
    that cycles that only it could free are seen. Watching memory makes everything several times slower. Raises
    ``InvalidInput`` for a package that is no name.
    """
    for package in packages:
        check_id(package, "a package")
    starts_tracing = memory and not tracemalloc.is_tracing()
    rested = gc.isenabled()
    if starts_tracing:
        tracemalloc.start()
    gc.disable()
    try:
        watch = Watch(packages or (_OWN,), memory=memory)
        try:
            yield watch
        finally:
            watch.end()
    finally:
        if rested:
            gc.enable()
        if starts_tracing:
            tracemalloc.stop()


@contextmanager
def gc_tuned(threshold: Thresholds) -> Generator[None]:
    """Set the thresholds of the garbage collector inside the block, for the whole process; 0 turns it off.

    Higher is for work that makes many objects which stay, lower for work that drops many cycles. Raises what
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


def _collected(packages: Sequence[str]) -> Counter[str]:
    """Run the collector; how many objects of the packages it freed, by the names of their types."""
    flags = gc.get_debug()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
    finally:
        gc.set_debug(flags)
    counts = Counter(map(type, cast("list[object]", gc.garbage)))
    gc.garbage.clear()
    gc.collect()
    return _by_name((kind, counts[kind]) for kind in _kinds_of(packages, counts))


def _by_name(counts: Iterable[tuple[type, int]]) -> Counter[str]:
    named: Counter[str] = Counter()
    for kind, count in counts:
        named[f"{kind.__module__}.{kind.__qualname__}"] += count
    return named


def _short(file: str) -> str:
    return "/".join(file.replace("\\", "/").rsplit("/", 4)[-4:])
