"""What was erased is found by nothing at once, and in no file after one pass for many erasures."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

import memwell
from memwell.errors import BackendError, NotFound
from memwell.models.scripted import HashEmbedder
from memwell.records import Record, Space
from memwell.runtime.jobs import REGISTRY
from memwell.storage import open_backend
from memwell.storage.composed import ComposedBackend, Part
from memwell.storage.postgres import PostgresBackend
from memwell.storage.protocols import Backend
from memwell.storage.redis import RedisBackend
from memwell.storage.scrubbing import (
    SCRUBS,
    PendingScrubs,
    note_erasure,
    pending_scrubs,
    scrub_pending,
    scrubbed,
)
from memwell.storage.sqlite import SqliteBackend
from memwell.values import new_id
from tests.engines import postgres
from tests.engines import redis as redis_engine

# Another one in each process, as servers may be shared.
CANARY = f"canary{new_id()}x"
VALUES = Space("values")
USERS = 24
WAIT_S = 60.0


def wait_until(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def tables_hold(server: postgres.Server, text: str) -> bool:
    """Whether a text is in the files of the server's tables."""
    with server.admin() as connection:
        connection.execute("CHECKPOINT")
    return any(text.encode() in content_of(file) for file in (server.data / "base").rglob("*") if file.is_file())


def content_of(file: Path) -> bytes:
    """The bytes of a file; none where the server has just removed it."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


class Slow(SqliteBackend):
    """A store whose scrubbing is left to the worker, and counted."""

    passes = 0

    @property
    def scrubs_quickly(self) -> bool:
        return False

    def scrub(self) -> bool:
        self.passes += 1
        return super().scrub()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    with Slow(tmp_path / "app.db") as store:
        yield store


def test_one_pass_covers_all_notes_before_it_and_none_after(slow: Slow):
    before = [note_erasure(slow) for _ in range(3)]
    late: list[str] = []
    scrub = slow.scrub

    def meanwhile() -> bool:
        late.append(note_erasure(slow))
        return scrub()

    slow.scrub = meanwhile
    assert pending_scrubs(slow).count == 3
    assert scrub_pending(slow)
    assert slow.passes == 1
    assert [entry.key for entry in slow.kv.scan(SCRUBS).items] == late
    # Nothing is left to do for these.
    assert all(scrub_pending(slow, note) for note in before)
    assert slow.passes == 1
    slow.scrub = scrub
    assert scrub_pending(slow, late[0])
    assert (slow.passes, pending_scrubs(slow)) == (2, PendingScrubs())
    assert scrub_pending(slow)
    assert slow.passes == 2


def test_threads_that_wait_share_passes(slow: Slow):
    begun, may_end = threading.Event(), threading.Event()
    scrub = slow.scrub

    def held() -> bool:
        begun.set()
        assert may_end.wait(WAIT_S)
        return scrub()

    slow.scrub = held
    with ThreadPoolExecutor(USERS) as pool:
        first = pool.submit(scrubbed, slow, note_erasure(slow), wait=True)
        assert begun.wait(WAIT_S)
        others = [pool.submit(scrubbed, slow, note_erasure(slow), wait=True) for _ in range(USERS - 1)]
        may_end.set()
        assert all(one.result() for one in (first, *others))
    # The one under way, and one for all that came meanwhile.
    assert slow.passes == 2


def test_a_pass_that_fails_or_is_held_up_leaves_the_notes(slow: Slow, monkeypatch: pytest.MonkeyPatch):
    note = note_erasure(slow)
    monkeypatch.setattr(slow, "scrub", lambda: False)
    assert not scrub_pending(slow)
    monkeypatch.setattr("memwell.storage.scrubbing._WAIT_S", 0.0)
    assert not scrubbed(slow, note, wait=True)

    def fail() -> bool:
        raise BackendError("the disk is full")

    monkeypatch.setattr(slow, "scrub", fail)
    with pytest.raises(BackendError):
        scrubbed(slow, note, wait=True)
    assert pending_scrubs(slow).count == 1
    assert not scrubbed(slow, note, wait=False)


def test_an_erasure_that_is_undone_leaves_no_note(slow: Slow):
    def erase() -> None:
        with slow.transaction():
            note_erasure(slow)
            raise KeyError

    with pytest.raises(KeyError):
        erase()
    assert pending_scrubs(slow) == PendingScrubs()


# A memory on a store that is scrubbed in the background


STORES = ("postgres", "sqlite+redis")


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Callable[[str], bool]]]:
    """The URL of a store, and whether a text is in the files of its server."""
    if request.param == "postgres":
        yield postgres.store_url(tmp_path), lambda text: tables_hold(postgres.server(), text)
        return
    (tmp_path / "redis").mkdir()
    server = redis_engine.Server(tmp_path / "redis", "--appendonly", "yes")

    def holds(text: str) -> bool:
        return any(text.encode() in content_of(file) for file in tmp_path.rglob("*") if file.is_file())

    try:
        yield f"sqlite:{tmp_path}/app.db,kv=redis://127.0.0.1:{server.port}/0", holds
    finally:
        server.stop()


def opened(url: str, *, work: bool) -> memwell.Engine:
    return memwell.open(url, embedder=HashEmbedder(16), work=work, space="ann")


def fill(engine: memwell.Engine) -> str:
    """Remember something in every way that leaves traces; its id."""
    engine.remember("The neighbour keeps bees.")
    id_ = engine.remember(f"Ann lives in {CANARY} street.", speaker="Ann").id
    engine.update(id_, f"Ann lives in {CANARY} road.")
    engine.flush()
    engine.context(f"Where is {CANARY}?", budget=500)
    # A value of the application's own, which is where it was told to be: in Redis.
    engine.backend.kv.put(VALUES, "bird", CANARY)
    engine.backend.kv.delete(VALUES, "bird")
    return id_


def seen(engine: memwell.Engine, id_: str) -> list[str]:
    """Where a memory is still shown by any call."""
    found = dict[str, Any](
        recall=[one.text for one in engine.recall(CANARY, limit=50)],
        memories=[one.text for one in engine.memories()],
        forgotten=[one.text for one in engine.page(forgotten=True).items],
        facts=repr(engine.facts_about("Ann")),
        profile=engine.profile("Ann").text("en"),
        context=repr(engine.context("Where does Ann live?", budget=500).messages),
        records=repr(engine.backend.index.get(engine.space, [id_])),
        receipts=repr(list(engine.receipts.all())),
    )
    with pytest.raises(NotFound):
        engine.get(id_)
    with pytest.raises(NotFound):
        engine.history(id_)
    return [name for name, value in found.items() if CANARY in str(value)]


def test_without_waiting_nothing_is_read_and_the_job_removes_the_bytes(place: tuple[str, Callable[[str], bool]]):
    url, in_files = place
    with opened(url, work=False) as engine:
        id_ = fill(engine)
        assert in_files(CANARY)
        done = engine.erase(id_)
        assert (done.memories, done.scrubbed) == (1, False)
        assert seen(engine, id_) == []
        pending = pending_scrubs(engine.backend)
        assert pending.count == 1
        assert pending.since is not None
        assert in_files(CANARY)
    # The worker of the next process does it.
    with opened(url, work=True) as engine:
        assert wait_until(lambda: pending_scrubs(engine.backend).count == 0)
        assert not in_files(CANARY)
        assert wait_until(lambda: engine.backend.kv.get(REGISTRY, SCRUBS.encoded()) is None)


@pytest.mark.parametrize("how", ["erase", "erase_where", "erase_all"])
def test_with_waiting_the_bytes_are_gone_when_it_returns(place: tuple[str, Callable[[str], bool]], how: str):
    url, in_files = place
    with opened(url, work=False) as engine:
        id_ = fill(engine)
        if how == "erase":
            done = engine.erase(id_, wait=True)
        elif how == "erase_where":
            done = engine.erase_where({"@id": id_}, wait=True)
        else:
            done = engine.erase_all(wait=True)
        assert done.scrubbed
        assert pending_scrubs(engine.backend).count == 0
        assert not in_files(CANARY)


def test_the_samples_of_the_planner_hold_nothing_of_it(tmp_path: Path):
    url, server = postgres.store_url(tmp_path), postgres.server()
    with opened(url, work=False) as engine, server.admin() as connection:
        for number in range(5):
            fill(engine)
            engine.thread(f"{CANARY} {number}").add_human(CANARY)
        # The server does so by itself from time to time.
        connection.execute("ANALYZE")
        samples = connection.execute("SELECT count(*) FROM pg_stats WHERE strpos(pg_stats::text, %s) > 0", (CANARY,))
        assert samples.fetchone() == (0,)
        for thread in engine.threads().items:
            engine.thread(thread.thread.id).delete()
        engine.erase_all(wait=True)
        assert not tables_hold(server, CANARY)


def test_a_removed_document_is_scrubbed_too(place: tuple[str, Callable[[str], bool]]):
    url, in_files = place
    with opened(url, work=False) as engine:
        engine.knowledge.add(f"The {CANARY} is an animal of the steppe.", id="a")
        engine.knowledge.add(f"The {CANARY}s are animals of the steppe.", id="b")
        engine.knowledge.flush()
        assert in_files(CANARY)
        assert engine.knowledge.remove("a") == 1
        assert pending_scrubs(engine.backend).count
        assert engine.knowledge.remove("b", wait=True) == 1
        assert pending_scrubs(engine.backend).count == 0
        assert not in_files(CANARY)


DIE = """
import os, sys, memwell
from memwell.storage import scrubbing
import memwell.longterm.changing as changing
changing.scrubbed = lambda *given, **options: os._exit(9)
with memwell.open(sys.argv[1], embedder=None, space="ann") as engine:
    engine.erase(sys.argv[2])
"""


def test_killed_between_erasing_and_scrubbing_the_next_process_goes_on(place: tuple[str, Callable[[str], bool]]):
    url, in_files = place
    with opened(url, work=False) as engine:
        id_ = fill(engine)
    died = subprocess.run([sys.executable, "-c", DIE, url, id_], timeout=WAIT_S, check=False)
    assert died.returncode == 9
    with open_backend(url) as backend:
        assert pending_scrubs(backend).count == 1
        assert backend.kv.get(REGISTRY, SCRUBS.encoded()) is None
    assert in_files(CANARY)
    with opened(url, work=True) as engine:
        assert seen(engine, id_) == []
        assert wait_until(lambda: pending_scrubs(engine.backend).count == 0)
        assert not in_files(CANARY)


@pytest.mark.parametrize("wait", [True, False])
def test_many_users_who_erase_at_once_share_a_few_passes(
    place: tuple[str, Callable[[str], bool]], wait: bool, monkeypatch: pytest.MonkeyPatch
):
    url, in_files = place
    passes = counted_passes(monkeypatch, PostgresBackend if url.startswith("postgresql") else RedisBackend)
    with opened(url, work=not wait) as engine:
        users = [engine.at(f"user{number}") for number in range(USERS)]
        ids = [user.remember(f"The {CANARY}{number} sings.").id for number, user in enumerate(users)]
        engine.flush()
        together = threading.Barrier(USERS)

        def erase(number: int) -> bool:
            together.wait(WAIT_S)
            return users[number].erase(ids[number], wait=wait).scrubbed

        with ThreadPoolExecutor(USERS) as pool:
            gone = list(pool.map(erase, range(USERS)))
        assert gone == [wait] * USERS
        assert wait_until(lambda: pending_scrubs(engine.backend).count == 0)
        assert not in_files(CANARY)
    # Some erasures are committed while the first pass is under way, and some during the second.
    assert 1 <= len(passes) <= 6


def counted_passes(monkeypatch: pytest.MonkeyPatch, store: type[Backend]) -> list[bool]:
    """Count the passes of a kind of store."""
    passes, scrub = list[bool](), store.scrub

    def counted(self: Backend) -> bool:
        passes.append(True)
        return scrub(self)

    monkeypatch.setattr(store, "scrub", counted)
    return passes


# PostgreSQL


def _lock(place: Path) -> sql.Composed:
    table = sql.Identifier(postgres.schema_of(place), "memwell_record")
    return sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(table)


def test_a_transaction_that_still_sees_what_was_erased_delays_it(tmp_path: Path):
    url, server = postgres.store_url(tmp_path), postgres.server()
    with opened(url, work=False) as engine, closing(psycopg.connect(server.url())) as reader:
        id_ = fill(engine)
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1").fetchall()
        note = note_erasure(engine.backend)
        engine.erase(id_)
        assert not scrub_pending(engine.backend, note)
        assert pending_scrubs(engine.backend).count == 2
        reader.rollback()
        assert scrub_pending(engine.backend, note)
        assert not tables_hold(server, CANARY)


def test_a_table_in_use_is_rewritten_later(tmp_path: Path):
    url, server = postgres.store_url(tmp_path), postgres.server()
    with opened(url, work=False) as engine, closing(psycopg.connect(server.url())) as user:
        id_ = fill(engine)
        user.execute(_lock(tmp_path))
        engine.erase(id_)
        assert not scrub_pending(engine.backend)
        user.rollback()
        assert scrub_pending(engine.backend)
        assert not tables_hold(server, CANARY)


def test_a_large_table_is_vacuumed_and_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.storage.postgres._REWRITTEN_BYTES", 0)
    server = postgres.server()
    with postgres.open_store(tmp_path) as store, closing(psycopg.connect(server.url())) as user:
        store.index.upsert([Record(id="a", text="tea", space=Space("ann"))])
        # It would stand in the way of rewriting.
        user.execute(_lock(tmp_path))
        store.index.delete(Space("ann"), ["a"])
        assert store.scrub()


# Several engines in one store


def test_a_store_of_several_engines_is_quick_when_all_are(tmp_path: Path):
    quick, slow = Part(SqliteBackend(tmp_path / "b.db"), "a file"), Part(Slow(tmp_path / "d.db"), "a file")
    with ComposedBackend(SqliteBackend(tmp_path / "a.db"), kv=quick) as both:
        assert both.scrubs_quickly
    with ComposedBackend(SqliteBackend(tmp_path / "c.db"), kv=slow) as one:
        assert not one.scrubs_quickly
        assert one.scrub()
