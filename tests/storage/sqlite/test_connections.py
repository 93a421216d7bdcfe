"""One writer with group commit, readers beside it; and disks that fill, break and interrupt."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from memwell.errors import BackendError, BackendUnavailable, Conflict
from memwell.messages import Message, human
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend
from memwell.storage.sqlite.connections import Pending, WriterQueue
from memwell.testing.conformance.backend import fail_inside, in_threads, write_everywhere
from memwell.testing.conformance.suite import all_pages

HOME = Space("home")


TALK = Thread(HOME, "talk")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteBackend]:
    with SqliteBackend(tmp_path / "store.db", settings=Settings(busy_timeout_s=20)) as backend:
        yield backend


def dump(store: Backend) -> list[Any]:
    """All that the home space holds."""
    threads = all_pages(store.log.threads, HOME)
    return [
        threads, [store.log.read(info.thread) for info in threads],
        [store.log.versions(TALK, index) for index in range(5)], all_pages(store.kv.scan, HOME),
        all_pages(store.index.scan, HOME), store.index.info(HOME),
    ]  # fmt: skip


# Group commit


def hold_the_writer(store: SqliteBackend) -> tuple[threading.Thread, threading.Event]:
    """A thread inside a transaction, and what lets it go."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with store.transaction():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(30)
    return thread, leave


def wait_for_queue(store: SqliteBackend, length: int) -> None:
    deadline = time.monotonic() + 30
    while store._connections.writers.waiting < length:
        assert time.monotonic() < deadline, "the writers never queued up"
        time.sleep(0.001)


def test_one_failure_in_a_group_is_its_own(store: SqliteBackend):
    [taken] = store.log.append(TALK, [human("taken")])
    entry = store.kv.put(HOME, "key", 0)
    holder, leave = hold_the_writer(store)
    raised: dict[int, type[BaseException]] = {}

    def work(number: int) -> None:
        try:
            if number % 4 == 0:
                store.log.append(TALK, [human("new"), human("again", id=taken.id)])
            elif number % 4 == 1:
                store.kv.put(HOME, "key", number, expect=entry.version + 1)
            else:
                store.log.append(Thread(HOME, str(number)), [human("fine")])
        except Conflict as error:
            raised[number] = type(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    wait_for_queue(store, 12)
    leave.set()
    for thread in [holder, *threads]:
        thread.join()
    assert raised == dict.fromkeys((0, 1, 4, 5, 8, 9), Conflict)
    assert [m.text for m in store.log.read(TALK)] == ["taken"]
    assert store.kv.get(HOME, "key") == entry
    assert len(store.log.threads(HOME).items) == 7
    assert store.check() == []


def test_a_group_shares_one_commit(tmp_path: Path, store: SqliteBackend):
    holder, leave = hold_the_writer(store)
    other = SqliteBackend(tmp_path / "store.db")
    threads = [
        threading.Thread(target=lambda n=n: store.log.append(Thread(HOME, str(n)), [human("x")])) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    wait_for_queue(store, 20)
    reader = other._connections.open_session()
    before = reader.one("PRAGMA data_version")
    leave.set()
    for thread in [holder, *threads]:
        thread.join()
    assert reader.one("PRAGMA data_version") != before
    reader.close()
    assert len(other.log.threads(HOME).items) == 20
    other.close()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Interrupts are heard, also where a shell has started the tests in the background and told them not to listen."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_waiting_leaves_the_others_working(store: SqliteBackend):
    for _ in range(5):
        holder, leave = hold_the_writer(store)
        main = threading.main_thread().ident
        assert main is not None

        def interrupt(main: int = main) -> None:
            wait_for_queue(store, 1)
            signal.pthread_kill(main, signal.SIGINT)

        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            store.log.append(TALK, [human("interrupted")])
        interrupter.join()
        leave.set()
        holder.join()
        in_threads(4, lambda number: store.log.append(Thread(HOME, str(number)), [human("x")]))
    assert store.log.read(TALK) == []
    assert store.check() == []


def test_an_interrupt_inside_an_operation_undoes_it(store: SqliteBackend):
    connections = store._connections

    def interrupted(session: Any) -> None:
        session.execute("INSERT INTO store VALUES ('half', 1)")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        connections.write(interrupted)
    assert connections.read(lambda session: session.one("SELECT 1 FROM store WHERE name = 'half'")) is None
    store.log.append(TALK, [human("works")])
    assert len(store.log.read(TALK)) == 1


def test_a_busy_file_is_unavailable_after_the_timeout(tmp_path: Path):
    path = tmp_path / "store.db"
    with SqliteBackend(path) as one, SqliteBackend(path, settings=Settings(busy_timeout_s=0.05)) as other:
        with one.transaction():
            one.kv.put(HOME, "key", 1)
            with pytest.raises(BackendUnavailable):
                other.kv.put(HOME, "key", 2)
            with pytest.raises(BackendUnavailable), other.transaction():
                raise AssertionError("not reached")
            assert other.kv.get(HOME, "key") is None
        assert other.kv.put(HOME, "other", 2).value == 2


# Transactions


def test_transactions_of_two_stores_are_two(tmp_path: Path, store: SqliteBackend):
    with SqliteBackend(tmp_path / "other.db") as other:

        def write() -> None:
            store.kv.put(HOME, "key", 1)
            other.kv.put(HOME, "key", 2)
            with store.transaction():
                store.kv.put(HOME, "inner", 1)

        with pytest.raises(ZeroDivisionError), store.transaction():
            fail_inside(other, write)
        assert store.kv.scan(HOME).items == other.kv.scan(HOME).items == []
        with store.transaction(), other.transaction():
            store.kv.put(HOME, "key", 1)
            other.kv.put(HOME, "key", 2)
        assert [one.kv.scan(HOME).items[0].value for one in (store, other)] == [1, 2]


# Readers beside a writer


def test_readers_never_see_half_a_write(tmp_path: Path, store: SqliteBackend):
    store.kv.put(HOME, "left", 0)
    store.kv.put(HOME, "right", 0)
    stop = threading.Event()

    def write() -> None:
        for number in range(1, 150):
            with store.transaction():
                store.kv.put(HOME, "left", number)
                store.kv.put(HOME, "right", number)
                store.index.upsert(
                    [Record(id=str(i), text=f"w{number}", space=HOME, vector=[1, number]) for i in (0, 1)]
                )
        stop.set()

    def look(backend: SqliteBackend) -> int:
        looks = 0
        while not stop.is_set():
            left, right = [entry.value for entry in backend.kv.scan(HOME).items]
            assert left == right
            texts = {record.text for record in backend.index.scan(HOME).items}
            assert len(texts) <= 1
            assert len({hit.score for hit in backend.index.near(HOME, [1, 2])}) <= 1
            looks += 1
        return looks

    with SqliteBackend(tmp_path / "store.db") as other:
        looks = in_threads(3, lambda number: write() if number == 0 else look((store, other)[number - 1]))
    assert min(looks[1:]) > 0


# Forks


FORK = """
    import os, sys
    from memwell.messages import human
    from memwell.records import Space, Thread
    from memwell.storage.sqlite import SqliteBackend

    talk = Thread(Space("home"), "talk")
    path, who_closes_first = sys.argv[1:]
    backend = SqliteBackend(path)
    backend.log.append(talk, [human("before")])
    assert len(backend.log.read(talk)) == 1
    started, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        backend.log.append(talk, [human("child")])
        os.write(started[1], b"x")
        os.read(go_on[0], 1)
        for number in range(10):
            backend.log.append(talk, [human(f"child {number}")])
        assert len(backend.log.read(talk, ids=None)) >= 12
        if who_closes_first != "nobody":
            backend.close()
        os._exit(0)
    os.read(started[0], 1)
    for number in range(10):
        backend.log.append(talk, [human(f"parent {number}")])
    if who_closes_first == "parent":
        backend.close()
    os.write(go_on[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    if who_closes_first != "parent":
        backend.log.append(talk, [human("after")])
        backend.close()
"""


@pytest.mark.parametrize("who_closes_first", ["parent", "child", "nobody"])
def test_a_store_works_on_both_sides_of_a_fork(tmp_path: Path, who_closes_first: str):
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", textwrap.dedent(FORK), str(path), who_closes_first]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with SqliteBackend(path) as backend:
        texts = [m.text for m in backend.log.read(TALK)]
        assert len([text for text in texts if text.startswith("child")]) == 11
        assert len([text for text in texts if text.startswith("parent")]) == 10
        assert backend.check() == []


# Faults

_numbers = itertools.count()


class FaultyFiles(apsw.VFS):
    """The real file system, until ``failing`` is entered: then the k-th write, sync or truncation raises."""

    def __init__(self) -> None:
        self.vfs_name = f"faulty-{next(_numbers)}"
        super().__init__(self.vfs_name, "")
        self._countdown: int | None = None
        self._error: type[Exception] = apsw.FullError
        self._lasting = False
        self.failed = 0
        self.syncs = 0

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _FaultyFile(self, name, flags)

    @contextmanager
    def failing(self, countdown: int, error: type[Exception], *, lasting: bool) -> Iterator[None]:
        """Let the ``countdown``-th operation from now fail, and all after it too if ``lasting``."""
        self._countdown, self._error, self._lasting, self.failed = countdown, error, lasting, 0
        try:
            yield
        finally:
            self._countdown = None

    def count(self) -> None:
        """One operation is about to happen; raises when it is to fail."""
        if self._countdown is None:
            return
        self._countdown -= 1
        if self._countdown == 0 or (self._lasting and self._countdown < 0):
            self.failed += 1
            raise self._error("as the test wishes")


class _FaultyFile(apsw.VFSFile):
    def __init__(self, files: FaultyFiles, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._files = files

    def xWrite(self, data: bytes, offset: int) -> None:
        self._files.count()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._files.syncs += 1
        self._files.count()
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        self._files.count()
        super().xTruncate(newsize)


def _messages(count: int) -> list[Message]:
    return [human(f"message {number} " * 20, tokens=3) for number in range(count)]


def _transact(store: Backend) -> None:
    with store.transaction():
        write_everywhere(store, "together")
        store.log.edit(TALK, {0: human("edited")})
        store.kv.delete(HOME, "kept")


FAULTY_WRITES: dict[str, Callable[[Backend], object]] = {
    "append": lambda store: store.log.append(TALK, _messages(1)),
    "append many": lambda store: store.log.append(TALK, _messages(100)),
    "edit": lambda store: store.log.edit(TALK, {0: human("edited"), 1: None}),
    "trim": lambda store: store.log.trim(TALK, 3),
    "delete a thread": lambda store: store.log.delete(TALK),
    "annotate": lambda store: store.log.annotate(TALK, metadata={"a": 1}, end_round=True),
    "put": lambda store: store.kv.put(HOME, "key", {"a": "x" * 10_000}),
    "upsert": lambda store: store.index.upsert([Record(id="r", text="new words", space=HOME, vector=[3.0, 1.0])]),
    "delete records": lambda store: store.index.delete(HOME, ["r", "kept"]),
    "blob": lambda store: store.kv.put(HOME, store.blobs.put(HOME, os.urandom(100_000)), 1),
    "transaction": _transact,
}


def filled(path: Path, files: FaultyFiles) -> SqliteBackend:
    store = SqliteBackend(path, vfs=files.vfs_name)
    store.log.append(TALK, _messages(5))
    store.log.match(TALK, "message")
    store.kv.put(HOME, "kept", [1, 2, 3])
    store.index.upsert([Record(id=id_, text="kept words", space=HOME, vector=[1.0, 2.0]) for id_ in ("r", "kept")])
    return store


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "until lifted"])
@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError], ids=["disk full", "I/O error"])
@pytest.mark.parametrize("name", FAULTY_WRITES)
def test_a_failing_disk_is_raised_and_leaves_the_store_as_it_was(
    tmp_path: Path, name: str, error: type[Exception], lasting: bool
):
    files = FaultyFiles()
    store = filled(tmp_path / "store.db", files)
    before = dump(store)
    failures = 0
    for countdown in itertools.count(1):
        with files.failing(countdown, error, lasting=lasting):
            try:
                FAULTY_WRITES[name](store)
                raised = False
            except BackendError:
                raised = True
        assert raised == (files.failed > 0)
        if not raised:
            break
        failures += 1
        assert dump(store) == before
        assert store.check() == []
        if countdown > 40:
            # What follows is more of the same: the writing of pages.
            FAULTY_WRITES[name](store)
            break
    after = dump(store)
    assert failures > 0
    assert after != before or name == "blob"
    store.close()
    with SqliteBackend(tmp_path / "store.db") as again:
        assert dump(again) == after
        assert again.check() == []


@pytest.mark.parametrize("name", FAULTY_WRITES)
def test_a_call_that_returned_has_been_synced(tmp_path: Path, name: str):
    files = FaultyFiles()
    with filled(tmp_path / "store.db", files) as store:
        before = files.syncs
        FAULTY_WRITES[name](store)
        assert files.syncs > before


def test_a_transaction_given_up_takes_no_more_writes(tmp_path: Path):
    files = FaultyFiles()
    store = filled(tmp_path / "store.db", files)
    before = dump(store)
    refused = 0
    for countdown in (*range(1, 12), *range(12, 60, 5)):
        try:
            with store.transaction():
                with files.failing(countdown, apsw.FullError, lasting=False):
                    try:
                        # Enough pages to spill from the cache into the log before the end.
                        for number in range(3):
                            store.blobs.put(HOME, os.urandom(3_000_000) + bytes([number]))
                    except BackendError:
                        refused += 1
                store.kv.put(HOME, "after the fault", 1)
                raise ZeroDivisionError
        except (BackendError, ZeroDivisionError):
            pass
        assert dump(store) == before
        if files.failed == 0:
            break
    assert refused > 3
    assert store.check() == []
    store.close()


def test_a_fault_while_opening_leaves_a_store_or_nothing(tmp_path: Path):
    for error in (apsw.FullError, apsw.IOError):
        # Not every one: opening writes many pages, one like the other.
        for countdown in (*range(1, 12), *range(12, 400, 9)):
            files = FaultyFiles()
            path = tmp_path / f"{error.__name__}-{countdown}.db"
            try:
                with files.failing(countdown, error, lasting=False):
                    SqliteBackend(path, vfs=files.vfs_name).close()
            except BackendError:
                assert files.failed
            with SqliteBackend(path) as backend:
                write_everywhere(backend, "works")
                assert backend.check() == []
            if not files.failed:
                break
        assert countdown > 5


FULL = """
    import resource, sys
    from memwell.errors import BackendError
    from memwell.messages import human
    from memwell.records import Space, Thread
    from memwell.storage.sqlite import SqliteBackend
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    talk = Thread(Space("home"), "talk")
    backend = SqliteBackend(sys.argv[1])
    stored = 0
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
    failures = 0
    for number in range(300):
        try:
            backend.log.append(talk, [human("x" * 5_000)])
            stored += 1
        except BackendError:
            failures += 1
    assert failures > 10 and stored > 10, (failures, stored)
    assert len(backend.log.read(talk)) == stored
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    backend.log.append(talk, [human("after")])
    assert len(backend.log.read(talk)) == stored + 1
    assert backend.check() == []
    print(stored + 1)
"""


def test_a_file_that_may_not_grow_is_raised_and_works_again_later(tmp_path: Path):
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", textwrap.dedent(FULL), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with SqliteBackend(path) as backend:
        assert len(backend.log.read(TALK)) == int(done.stdout)
        assert backend.check() == []


def serve(group: list[Pending[Any]]) -> None:
    for one in group:
        if one.operation is not None:
            one.result = one.operation(None)


def is_free(writers: WriterQueue) -> bool:
    return writers.wait(Pending(None), 5)


def test_everybody_is_served_once_and_alone():
    writers, leading, served = WriterQueue(), threading.Lock(), []

    def work(number: int) -> None:
        chance = random.Random(number)
        for step in range(100):
            kind = chance.randrange(4)
            if kind == 0 and writers.take():
                assert leading.acquire(blocking=False)
                served.append((number, step))
                leading.release()
                writers.hand_on()
                continue
            operation = None if kind == 1 else lambda _, done=(number, step): served.append(done)
            mine: Pending[None] = Pending(operation)
            timeout = 0.0005 if kind == 2 else -1
            led = writers.wait(mine, timeout)
            if led:
                assert leading.acquire(blocking=False)
                if operation is None:
                    served.append((number, step))
                    leading.release()
                    writers.hand_on()
                else:

                    def serve_and_let_go(group: list[Pending[Any]]) -> None:
                        serve(group)
                        leading.release()

                    writers.lead(mine, serve_and_let_go)
            elif not mine.done:
                served.append((number, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(served) == [(number, step) for number in range(6) for step in range(100)]
    assert writers.waiting == 0
    assert is_free(writers)


class _InterruptedGate:
    """A gate at which an interrupt comes just after it was passed."""

    def __init__(self, gate: threading.Lock) -> None:
        self._gate = gate
        self._passed = False

    def acquire(self, timeout: float = -1) -> bool:
        if self._passed:
            return self._gate.acquire(timeout=timeout)
        self._passed = True
        self._gate.acquire()
        raise KeyboardInterrupt

    def release(self) -> None:
        self._gate.release()


@pytest.mark.parametrize("told", ["to lead", "that it is done"])
def test_an_interrupt_just_behind_the_gate_does_not_lose_the_turn(told: str):
    writers = WriterQueue()
    assert writers.take()
    mine: Pending[None] = Pending(None if told == "to lead" else lambda _: None)
    mine.gate = cast(threading.Lock, _InterruptedGate(mine.gate))
    interrupted = threading.Event()

    def run() -> None:
        try:
            writers.wait(mine)
        except KeyboardInterrupt:
            interrupted.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while not writers.waiting:
        time.sleep(0.0001)
    if told == "to lead":
        writers.hand_on()
    else:
        writers.lead(Pending(None), serve)
    thread.join(30)
    assert interrupted.is_set()
    assert is_free(writers)
