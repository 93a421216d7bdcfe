"""The worker under kill -9 and beside another one: nothing lost, nothing done twice. And erasing leaves no trace."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import memwell
from memwell.knowledge import knowledge_space
from memwell.longterm.journal import PendingWork
from memwell.longterm.memory import Memory
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime import worker as worker_module
from memwell.runtime.jobs import REGISTRY, PendingList
from memwell.runtime.worker import Worker, listed_spaces, notified_afterwards, pending_by_space
from memwell.settings import Settings
from memwell.storage import open_backend
from memwell.storage.memory import MemoryBackend
from memwell.storage.postgres.connections import Session
from tests.engines.postgres import open_recycled, recycle
from tests.knowledge.bench import SHELF, Failing, filled

_WRITER = """
    import memwell, sys, itertools
    from memwell.models.scripted import HashEmbedder
    m = memwell.open(sys.argv[1], embedder=HashEmbedder(64))
    for n in itertools.count(int(sys.argv[2])):
        m.remember(f"I live in Berlin. This is note {n} of mine.", speaker=f"person {n}", session="talk")
        print(n, flush=True)
"""


def test_a_memory_is_indexed_with_few_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """On PostgreSQL each costs processor time on both sides; it was 68 once."""
    sent: list[str] = []
    plain = Session._send
    with memwell.open(
        open_recycled(tmp_path), embedder=HashEmbedder(64), settings=Settings(embedding_cache_entries=0)
    ) as m:
        m.remember("Ann lives in Paris.")
        assert _wait_until(lambda: not any(True for _ in listed_spaces(m.backend)))
        monkeypatch.setattr(m._parts.worker, "_looked", float("inf"))
        monkeypatch.setattr(
            Session, "_send", lambda self, sql, bindings=(): sent.append(sql) or plain(self, sql, bindings)
        )
        m.remember("The tea is on the upper shelf.")
        assert _wait_until(lambda: sum("memwell_delete_entry" in sql for sql in list(sent)) == 1)
        assert _wait_until(lambda: not m._parts.worker._waiting and not m._parts.worker._unfinished)
        assert len(sent) <= 16, sent
        assert [hit.text for hit in m.recall("Where is the tea?", limit=1)] == ["The tea is on the upper shelf."]
    recycle(tmp_path)


def _killed_writer(path: Path, first: int, lot: random.Random) -> int:
    """Write until killed; the first number that was not acknowledged."""
    command = [sys.executable, "-c", textwrap.dedent(_WRITER), str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        last = first - 1
        for _ in range(lot.randint(5, 60)):
            last = int(writer.stdout.readline())
        time.sleep(lot.uniform(0.0, 0.02))
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.stdout.read().split()
    return max([last, *map(int, rest)]) + 1


def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_twice(tmp_path: Path):
    lot = random.Random(11)
    path, first = tmp_path / "app.db", 0
    for _ in range(3):
        # One more may have been stored than was acknowledged.
        first = _killed_writer(path, first, lot) + 1
    with memwell.open(path, embedder=HashEmbedder(64), work=False) as m:
        m.flush()
        texts = [hit.text for hit in m.memories()]
        told = {int(text.split()[7]) for text in texts}
        assert len(texts) == len(told)
        # What was acknowledged: all but the one number left out after each kill.
        assert len(set(range(first)) - told) <= 3
        assert m.backend.index.info(m.space).vectors == len(texts)
        for number in sorted(told)[:20]:
            [fact] = m.facts_about(f"person {number}", relation="lives_in")
            assert len(fact.evidence) == 1
        assert m.backend.check() == []


def _wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60.0
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def test_work_goes_on_after_another_worker_was_at_it(tmp_path: Path):
    one, two = (memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64)) for _ in range(2))
    with one, two:
        one.remember([f"the first says {n}" for n in range(40)])
        two.remember([f"the second says {n}" for n in range(40)])
        assert _wait_until(lambda: one.pending().vectors == 0)
        two.remember([f"the second goes on {n}" for n in range(40)])
        assert _wait_until(lambda: two.pending().vectors == 0)
        assert two.backend.index.info(two.space).vectors == 120
        assert _wait_until(lambda: two.backend.kv.scan(REGISTRY).items == [])


class _Counting(HashEmbedder):
    """Counts the texts it was given, and takes a moment for each call, as a model does."""

    def __init__(self) -> None:
        super().__init__(64)
        self.given: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.given += texts
        time.sleep(0.02)
        return super().embed(texts)


def test_flush_and_the_worker_embed_no_text_twice(tmp_path: Path):
    counting = _Counting()
    with memwell.open(tmp_path / "app.db", embedder=counting) as m:
        m.remember([f"This is note {n} of mine." for n in range(500)])
        m.flush()
        assert _wait_until(lambda: m.pending().vectors == 0)
    assert len(counting.given) == len(set(counting.given)) == 500


def _lengths(m: memwell.Engine, *spaces: str) -> list[int]:
    return [m.backend.index.info(memwell.Space(space)).vectors for space in spaces]


def test_a_space_that_another_process_is_at_is_left_alone_until_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(worker_module, "_AGAIN_S", 0.01)
    with memwell.open(tmp_path / "app.db", embedder=None, work=False) as other:
        elsewhere, key = PendingList(other.backend.kv, REGISTRY), other.space.encoded()
        elsewhere.offer(key)
        assert elsewhere.claim(key)
        with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64)) as m:
            m.remember("Ann likes tea.")
            m.at("ben").remember("Ben likes rye.")
            assert _wait_until(lambda: _lengths(m, "ben") == [1])
            assert _lengths(m, "default") == [0]
            elsewhere.release(key)
            assert _wait_until(lambda: _lengths(m, "default") == [1])


class _Hooked(HashEmbedder):
    """An embedder that does something else first."""

    def __init__(self, before: Callable[[Sequence[str]], None]) -> None:
        super().__init__(64)
        self._before = before

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._before(texts)
        return super().embed(texts)


def test_who_loses_a_claim_in_the_middle_stops_and_stores_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(PendingList, "_beat_on", lambda pending: None)
    monkeypatch.setattr(worker_module, "LEASE_S", 0.05)
    other = memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64), work=False)
    asked: list[int] = []

    def be_slow(texts: Sequence[str]) -> None:
        asked.append(len(texts))
        if len(asked) == 1:
            # The lease runs out meanwhile. Another process owns the space now, and does all there is to do.
            elsewhere = PendingList(other.backend.kv, REGISTRY)
            assert _wait_until(lambda: elsewhere.claim(other.space.encoded()))
            other.flush()

    with other, memwell.open(tmp_path / "app.db", embedder=_Hooked(be_slow), work=False) as m:
        m.remember([f"Ann was born on day {n}." for n in range(70)], session="talk")
        worker = Worker(m.backend, lambda space: m.at(space).memory)
        assert [worker._work(m.space), worker._work(m.space)] == [worker_module._Left.MORE, worker_module._Left.LATER]
        assert asked == [64], "it went on without a claim"
        assert _lengths(m, "default") == [70]
        assert m.count() == 70
        assert m.backend.check() == []


def test_spaces_take_turns(tmp_path: Path):
    order: list[str] = []
    begun = threading.Event()

    def note(texts: Sequence[str]) -> None:
        order.extend({text.split()[0] for text in texts})
        begun.set()
        if len(order) == 1:
            # Until the others have come too.
            assert _wait_until(lambda: len(m._parts.worker._waiting) >= 2)

    m = memwell.open(tmp_path / "app.db", embedder=_Hooked(note))
    with m:
        m.at("mountain").remember([f"mountain of number {n}" for n in range(10 * 64)], session="s")
        assert begun.wait(60)
        for name in ("ben", "eva"):
            m.at(name).remember(f"{name} has little to say")
        assert _wait_until(lambda: _lengths(m, "mountain", "ben", "eva") == [640, 1, 1])
    # Whoever comes while a piece of the mountain is done waits for that piece, and for one more at most.
    assert max(order.index("ben"), order.index("eva")) <= 4, order
    assert order.count("mountain") == 10


def test_what_a_process_without_a_worker_leaves_is_done_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_module, "_LOOK_S", 0.05)
    with (
        memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64), work=False) as writer,
        memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64)) as worker,
    ):
        for number in range(1, 4):
            # Each time anew: the worker has taken the space off the list when it was done.
            writer.at("ann").remember(f"Ann has {number} cats.")
            worker.attend()
            assert _wait_until(lambda number=number: _lengths(writer, "ann") == [number])
            assert _wait_until(lambda: writer.backend.kv.scan(REGISTRY).items == [])


class _Telling(MemoryBackend):
    """A store that wakes whoever listens, as one behind a wire does."""

    def __init__(self) -> None:
        super().__init__()
        self.ears: list[Callable[[str], None]] = []
        self.told: list[str] = []

    def notify(self, topic: str) -> None:
        self.told.append(topic)
        for heard in list(self.ears):
            heard(topic)

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None]:
        self.ears.append(heard)
        return lambda: self.ears.remove(heard)


@pytest.mark.parametrize("space", ["ann", "/".join(["安" * 200] * 5)])
def test_a_worker_hears_of_what_another_process_leaves(monkeypatch: pytest.MonkeyPatch, space: str):
    monkeypatch.setattr(worker_module, "_LOOK_S", 60.0)
    backend = _Telling()
    writer = memwell.open(backend, embedder=HashEmbedder(64), work=False)
    worker = memwell.open(backend, embedder=HashEmbedder(64))
    whose = memwell.Space(*space.split("/"))
    assert len(backend.ears) == 1, "who does no work listens for none"
    for number in (1, 2):
        writer.at(whose).remember(f"the note with the number {number}")
        assert _wait_until(lambda number=number: backend.index.info(whose).vectors == number)
        assert _wait_until(lambda: backend.kv.scan(REGISTRY).items == [])
    assert all(topic.startswith("memwell work") and len(topic.encode()) < 8000 for topic in backend.told)
    worker.close()
    assert backend.ears == []


def test_what_is_written_in_a_transaction_is_told_when_it_is_stored():
    backend = _Telling()
    with memwell.open(backend, embedder=None, work=False) as m:
        with notified_afterwards(), backend.transaction():
            m.remember("Ann likes tea.")
            assert backend.told == []
        assert len(backend.told) == 1
        with pytest.raises(ZeroDivisionError), notified_afterwards(), backend.transaction():  # noqa: PT012
            m.at("ben").remember("Ben likes rye.")
            _ = 1 / 0
        assert len(backend.told) == 1


def test_what_was_forgotten_long_ago_is_erased_in_the_background(tmp_path: Path):
    settings = memwell.Settings(retention_days=0.0)
    with memwell.open(tmp_path / "app.db", embedder=None, settings=settings, work=False) as m:
        id_ = m.remember("the secret recipe of the bees").id
        kept = m.remember("the neighbour keeps bees").id
        m.forget(id_)
        worker = Worker(m.backend, lambda space: m.at(space).memory, retention_s=0.0)
        worker._work(m.space)
        assert m.backend.index.get(m.space, [id_, kept])[0].id == kept
        assert len(m.backend.index.get(m.space, [id_, kept])) == 1


def _has_all_vectors(m: memwell.Engine) -> bool:
    info = m.backend.index.info(knowledge_space(m.space))
    return 0 < info.records == info.vectors


def test_documents_get_their_vectors_once_the_embedder_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_module, "_AGAIN_S", 0.01)
    embedder = Failing()
    with memwell.open(tmp_path / "app.db", embedder=embedder) as m:
        ann = m.at("ann")
        filled(ann.knowledge)
        asked = embedder.texts
        assert _wait_until(lambda: embedder.texts > asked), "the worker has tried"
        assert not _has_all_vectors(ann)
        embedder.broken = False
        assert _wait_until(lambda: _has_all_vectors(ann))
        assert _wait_until(lambda: m.backend.kv.scan(REGISTRY).items == [])
        assert ann.knowledge.recall("How long is parental leave?")[0].signals["dense"].value > 0
        notes = [entry.key for entry in m.backend.kv.scan(knowledge_space("ann") / "memwell", limit=100).items]
        assert not [key for key in notes if key.startswith(("embedding", "purged", "lease"))], "nothing stays of a text"


def test_what_documents_are_owed_outlasts_a_process_without_an_embedder(tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=Failing(), work=False) as m:
        filled(m.knowledge)
    with memwell.open(tmp_path / "app.db", embedder=None) as m:
        m.remember("Ann likes tea.")
        documents = knowledge_space(m.space).encoded()
        assert _wait_until(lambda: [entry.key for entry in m.backend.kv.scan(REGISTRY).items] == [documents])
        assert m.knowledge.pending().vectors > 0
    with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64)) as m:
        assert _wait_until(lambda: _has_all_vectors(m))


class _Picky(Failing):
    """An embedder that takes everything but one text."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.broken = any("明前茶" in text for text in texts)
        return super().embed(texts)


def test_a_chunk_that_cannot_be_embedded_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_module, "_AGAIN_S", 0.01)
    with memwell.open(tmp_path / "app.db", embedder=Failing(), work=False) as m:
        filled(m.knowledge)
    with memwell.open(tmp_path / "app.db", embedder=_Picky()) as m:
        assert _wait_until(lambda: m.backend.kv.scan(REGISTRY).items == [])
        info = m.backend.index.info(m.knowledge.space)
        assert info.vectors == info.records - 1 >= len(SHELF)
        assert m.knowledge.pending().vectors == 0


CANARY = "Xylophon-Quagga-77"


def test_what_was_erased_is_in_no_file(tmp_path: Path):
    path = tmp_path / "app.db"
    with memwell.open(path, embedder=HashEmbedder(64)) as m:
        kept = m.remember("the neighbour keeps bees").id
        ids = [m.remember(f"I live in {CANARY} street.", speaker="Ann").id]
        ids += m.remember([f"the password of {CANARY} is a long story {n}" for n in range(20)], session="s").ids
        m.update(ids[0], f"I live in {CANARY} road.")
        m.forget(ids[1])
        m.recall(f"where is {CANARY}?")
        m.reflect(least=2)
        m.flush()
        done = m.erase(ids)
        assert done.memories == len(set(ids))
        assert m.facts_about("Ann") == []
        assert m.get(kept).text == "the neighbour keeps bees"
        _assert_no_trace(tmp_path)
    _assert_no_trace(tmp_path)


def _assert_no_trace(folder: Path) -> None:
    for word in (CANARY, "Quagga", "quagga", "77-x"):
        for file in folder.rglob("*"):
            if file.is_file():
                assert word.encode() not in file.read_bytes(), f"{word} is in {file.name}"


def test_a_space_is_prepared_for_its_first_question_when_its_work_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Once, and again after large work; a space of documents is not."""
    prepared: list[str] = []
    with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64)) as m:
        refused = [True]

        def prepare(space: Space, *, wait: bool = False) -> bool:
            prepared.append("/".join(space))
            return not (refused and refused.pop())

        monkeypatch.setattr(m._parts.worker, "_prepare", prepare)
        monkeypatch.setattr(worker_module, "_LOOK_S", 0.05)
        m.remember("The tea is on the upper shelf.")
        m.knowledge.add("Whales sing.", id="whales")
        assert _wait_until(lambda: len(prepared) == 2), "it is tried again"
        m.remember("The salt is on the lower shelf.")
        assert _wait_until(lambda: not m._parts.worker._waiting and not m.pending().vectors)
        m.remember([f"Note {number}." for number in range(200)])
        assert _wait_until(lambda: len(prepared) == 3)
        assert set(prepared) == {"default"}


def test_only_spaces_with_pending_work_are_counted():
    with open_backend("memory:") as backend:
        ann, bob = Memory(backend, "ann"), Memory(backend, "bob")
        for memory in (ann, bob):
            memory.remember(["tea", "milk"])
            backend.kv.put(REGISTRY, memory.space.encoded(), True)
        bob.flush()
        assert set(listed_spaces(backend)) == {ann.space, bob.space}
        assert pending_by_space(backend) == {ann.space: PendingWork(2, 2)}
