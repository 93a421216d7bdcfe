"""Disks that end the process, fail, or lose what was not synced, beneath SQLite's checksums and ciphers.

Random operations (``operations``) are performed on a store over such a disk, and on the in-memory reference. What is on the
disk afterwards must be what the reference holds before the operation or after it; after it, once the call has returned.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from benchmarks.crash.children import open_store
from benchmarks.crash.judgement import Dump, dump
from benchmarks.crash.operations import Clock, Operation, Planner, attempt, spaces_of
from memwell.errors import BackendError, MemwellError
from memwell.storage.memory import MemoryBackend
from memwell.storage.sqlite import SqliteBackend

_LANE = 0
_NAME = "disk"
_SECTOR = 512
_NO_GRAPHS = 50_000
_EXITED, _EXITED_LATER, _FAILED = 77, 78, 79
_MOST_FAULTS = 40
"""What a long operation does after so many writes is more of the same: the writing of pages."""


class Step(NamedTuple):
    """One thing that is done to a file."""

    do: str
    file: str
    offset: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """The real file system, beneath every store that this process opens from now on.

    Make it before a store is opened. ``watch`` is called before every step; a step fails with what it raises.
    """

    def __init__(self) -> None:
        super().__init__(_NAME, "unix")
        # The ciphers put themselves over a file system when it is asked for by this name, and the checksums over that.
        ciphers = f"multipleciphers-{_NAME}"
        apsw.Connection(":memory:", vfs=ciphers).close()
        apsw.set_default_vfs(ciphers)
        self.watch: Callable[[Step], None] = lambda step: None

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.watch(Step("delete", filename))
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._name = str(name if isinstance(name, str) or name is None else name.filename())

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.watch(Step("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.watch(Step("sync", self._name))
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        self._disk.watch(Step("truncate", self._name, newsize))
        super().xTruncate(newsize)


@dataclass
class Found:
    """What a run over a disk found."""

    tried: int = 0
    operations: int = 0
    wrong: list[str] = field(default_factory=list)


class Story:
    """Random operations, and what a store must hold after each."""

    def __init__(self, seed: int) -> None:
        self.clock = Clock()
        self._planner = Planner(seed, _LANE, {})
        self._reference = MemoryBackend(clock=self.clock)
        self.held: Dump = self._dump()

    def _dump(self) -> Dump:
        return dump(self._reference, spaces_of(_LANE))

    def next(self) -> tuple[Operation, Dump, Dump]:
        """An operation, and what is held before it and after it."""
        operation, before = self._planner.next(), self.held
        self._planner.learn(operation, attempt(self._reference, operation))
        self.held = self._dump()
        return operation, before, self.held

    def open(self, path: Path, secret: str) -> SqliteBackend:
        """The store, with the clock of the reference."""
        return open_store(str(path), self.clock, graphs_above=_NO_GRAPHS, secret=secret)

    def complaint(self, path: Path, secret: str, allowed: list[Dump]) -> str:
        """What is wrong with a store that must hold one of these; empty when nothing is."""
        try:
            with self.open(path, secret) as store:
                return complaint(store, allowed)
        except MemwellError as error:
            return f"unreadable: {type(error).__name__}: {error}"


def complaint(store: SqliteBackend, allowed: list[Dump], *, check: bool = True) -> str:
    """What is wrong with an open store that must hold one of these; empty when nothing is."""
    found = dump(store, spaces_of(_LANE))
    if found not in allowed:
        names = {name for one in allowed for name in {*one, *found} if one.get(name) != found.get(name)}
        return f"holds something else: {sorted(names)[:5]}"
    return "; ".join(store.check()) if check else ""


# Exits


def exits(folder: Path, disk: Disk, wanted: int, seed: int, secret: str = "") -> Found:
    """End the process before each step that opening, an operation and closing do to the files, one step after the other."""
    found, story, place, trial = Found(), Story(seed), folder / "store", folder / "trial"
    place.mkdir()
    while found.tried < wanted:
        operation, before, after = story.next()
        found.operations += 1
        for number in itertools.count():
            shutil.rmtree(trial, ignore_errors=True)
            shutil.copytree(place, trial)
            ended = _ended(
                lambda number=number, operation=operation: _exiting(story, disk, trial, operation, number, secret)
            )
            if ended == 0:
                # With its log, as the next one finds it.
                shutil.rmtree(place)
                shutil.copytree(trial, place)
            wrong = story.complaint(trial / "a.db", secret, [before, after] if ended == _EXITED else [after])
            if wrong or ended not in (0, _EXITED, _EXITED_LATER):
                found.wrong.append(f"exit {number} of {operation['do']} ({ended}): {wrong}")
            found.tried += ended in (_EXITED, _EXITED_LATER)
            if ended not in (_EXITED, _EXITED_LATER) or found.tried >= wanted:
                break
    return found


def _ended(work: Callable[[], None]) -> int:
    """The exit code of a child that does some work."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(_FAILED)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _exiting(story: Story, disk: Disk, place: Path, operation: Operation, number: int, secret: str) -> None:
    left, code = number, _EXITED

    def watch(step: Step) -> None:
        nonlocal left
        if left == 0:
            os._exit(code)
        left -= 1

    disk.watch = watch
    store = story.open(place / "a.db", secret)
    attempt(store, operation)
    code = _EXITED_LATER
    # Every third ends as programs should: its log goes into the file.
    if len(operation["do"]) % 3 == 0:
        store.close()
    os._exit(0)


# Faults


def faults(folder: Path, disk: Disk, wanted: int, seed: int, secret: str = "") -> Found:
    """Fail each step of an operation in turn: no room, or an error of the disk; once, or from then on."""
    found, story, path = Found(), Story(seed), folder / "faults.db"
    lot = random.Random(seed)
    store = story.open(path, secret)
    while found.tried < wanted:
        operation, before, after = story.next()
        found.operations += 1
        error, lasting = lot.choice([apsw.FullError, apsw.IOError]), lot.random() < 0.5
        for number in range(_MOST_FAULTS):
            failed, raised = _failing(store, disk, operation, number, error, lasting)
            wrong = complaint(store, [before] if raised else [after], check=not raised)
            if wrong:
                found.wrong.append(f"{error.__name__} at {number} of {operation['do']}, raised {raised}: {wrong}")
            found.tried += failed
            if not raised:
                break
        else:
            attempt(store, operation)
        if lot.random() < 0.1:
            store.close()
            store = story.open(path, secret)
    store.close()
    if wrong := story.complaint(path, secret, [story.held]):
        found.wrong.append(f"at the end: {wrong}")
    return found


def _failing(
    store: SqliteBackend, disk: Disk, operation: Operation, number: int, error: type[Exception], lasting: bool
) -> tuple[int, bool]:
    """Perform an operation whose step of this number fails; how many failed, and whether the call did."""
    left, failed = number, 0

    def watch(step: Step) -> None:
        nonlocal left, failed
        left -= 1
        if left == -1 or (lasting and left < 0):
            failed += 1
            raise error("as it is told to")

    disk.watch = watch
    try:
        raised = _raises(store, operation)
        return failed, raised and failed > 0
    finally:
        disk.watch = lambda step: None


def _raises(store: SqliteBackend, operation: Operation) -> bool:
    """Whether an operation fails for want of the disk. A transaction ends with the first of its steps that does."""
    if operation["do"] != "transaction":
        return _is_fault(attempt(store, operation))
    try:
        with store.transaction():
            for step in operation["steps"]:
                if _is_fault(attempt(store, step)):
                    raise BackendError("a step has failed")
            if operation["abort"]:
                raise InterruptedError
    except BackendError:
        return True
    except InterruptedError:
        return False
    return False


def _is_fault(result: Any) -> bool:
    return isinstance(result, dict) and str(result.get("error", "")).startswith("Backend")


# Power cuts


def replays(folder: Path, disk: Disk, wanted: int, seed: int, secret: str = "") -> Found:
    """Record every step of a run; then make the files as a power cut may leave them, at random moments, and open them."""
    lot, story = random.Random(seed), Story(seed)
    steps, held = _recorded(folder / "recorded", disk, story, operations=max(60, wanted // 30), secret=secret)
    found = Found(operations=len(held) - 1)
    moments = sorted(lot.choices(range(len(steps)), k=wanted))
    files, returned, place = CrashingFiles(), 0, folder / "replayed"
    done = 0
    for moment in moments:
        for step in steps[done:moment]:
            if step.do == "returned":
                returned += 1
            else:
                files.take(step)
        done = moment
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        how = files.cut(place, lot)
        wrong = story.complaint(place / "a.db", secret, held[returned : returned + 2])
        found.tried += 1
        if wrong:
            found.wrong.append(f"cut at step {moment} ({how}), after operation {returned}: {wrong}")
    return found


def _recorded(place: Path, disk: Disk, story: Story, operations: int, secret: str) -> tuple[list[Step], list[Dump]]:
    """The steps of a run with a mark where each call has returned, and what is held after each."""
    steps: list[Step] = []
    held = [story.held]
    place.mkdir()
    disk.watch = steps.append
    store = story.open(place / "a.db", secret)
    for number in range(operations):
        operation, _, after = story.next()
        attempt(store, operation)
        steps.append(Step("returned", ""))
        held.append(after)
        if number % 20 == 19:
            store.close()
            store = story.open(place / "a.db", secret)
    store.close()
    disk.watch = lambda step: None
    return steps, held


class CrashingFiles:
    """Files as they are on the disk for certain, and the steps since that may or may not have reached it."""

    def __init__(self) -> None:
        self._synced: dict[str, bytearray] = {}
        self._pending: dict[str, list[Step]] = {}

    def take(self, step: Step) -> None:
        """One more step. A deletion takes what it deletes with it; a later file of this name is another."""
        name = Path(step.file).name
        if step.do == "delete":
            self._synced.pop(name, None)
            self._pending.pop(name, None)
        elif step.do == "sync":
            content = self._synced.setdefault(name, bytearray())
            for one in self._pending.pop(name, []):
                _apply(content, one)
        else:
            self._pending.setdefault(name, []).append(step)

    def cut(self, place: Path, lot: random.Random) -> str:
        """Write the files as a power cut may leave them, and say how: some of what was not synced is lost or torn."""
        how = lot.choice(["nothing unsynced", "all but the last", "some", "some torn", "in another order"])
        for name in {*self._synced, *self._pending}:
            content = bytearray(self._synced.get(name, b""))
            for step in _surviving(self._pending.get(name, []), how, lot):
                _apply(content, step)
            (place / name).write_bytes(content)
        return how


def _surviving(steps: list[Step], how: str, lot: random.Random) -> list[Step]:
    if how == "nothing unsynced":
        return []
    if how == "all but the last":
        return steps[: len(steps) - 1]
    kept = [one for one in steps if lot.random() < 0.7]
    if how == "some torn":
        return [_torn(one, lot) if lot.random() < 0.3 else one for one in kept]
    if how == "in another order":
        lot.shuffle(kept)
    return kept


def _torn(step: Step, lot: random.Random) -> Step:
    """A write of which only the first or the last sectors have reached the disk."""
    cut = lot.randrange(0, len(step.data) + 1, _SECTOR)
    if lot.random() < 0.5:
        return step._replace(data=step.data[:cut])
    return step._replace(data=step.data[cut:], offset=step.offset + cut)


def _apply(content: bytearray, step: Step) -> None:
    if step.do == "truncate":
        del content[step.offset :]
        content.extend(bytes(step.offset - len(content)))
    elif step.data:
        content.extend(bytes(max(0, step.offset + len(step.data) - len(content))))
        content[step.offset : step.offset + len(step.data)] = step.data


__all__ = ["CrashingFiles", "Disk", "Found", "Step", "exits", "faults", "replays"]
