"""What a ``Backend`` promises as a whole: transactions, several threads, reopening, closing."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from memwell import messages
from memwell.errors import BackendError, Conflict, NotFound
from memwell.messages import ai, human
from memwell.records import Record, Thread
from memwell.storage.protocols import Backend
from memwell.testing.clock import Clock
from memwell.testing.conformance.suite import HOME, TALK, Suite, has, needs, said, texts_of


def write_everywhere(store: Backend, text: str) -> None:
    """One write to each part of the store."""
    store.log.append(TALK, said(text))
    store.kv.put(HOME, text, text)
    if has(store, "index"):
        store.index.upsert([Record(id=text, text=text, space=HOME, vector=[1.0, len(text)])])
    if has(store, "blobs"):
        store.blobs.put(HOME, text.encode())


def read_everywhere(store: Backend, text: str) -> set[bool]:
    """Whether each part of the store shows that write: a single answer when they agree."""
    seen = {
        text in texts_of(store.log.read(TALK)),
        bool(store.log.match(TALK, text)),
        store.kv.get(HOME, text) is not None,
    }
    if has(store, "index"):
        near = store.index.near(HOME, [1.0, len(text)], limit=100)
        seen |= {bool(store.index.get(HOME, [text])), bool(store.index.match(HOME, text))}
        seen.add(text in {hit.record.id for hit in near})
    if has(store, "blobs"):
        seen.add(hashlib.sha256(text.encode()).hexdigest() in store.blobs.scan(HOME).items)
    return seen


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run ``work(0) … work(count - 1)`` at once and return their results; raises the first error."""
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001 - handed to the test, whatever it is
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def fail_inside(store: Backend, work: Callable[[], object]) -> None:
    """Do something inside a transaction that then ends by a ``ZeroDivisionError``."""
    with store.transaction():
        work()
        raise ZeroDivisionError


@needs("transactions", "records", "blobs")
class _TransactionsSuite(Suite):
    def test_what_is_written_inside_is_stored_together(self, store: Backend) -> None:
        with store.transaction():
            write_everywhere(store, "inside")
            assert all(read_everywhere(store, "inside"))
        assert all(read_everywhere(store, "inside"))
        assert store.blobs.get(HOME, hashlib.sha256(b"inside").hexdigest()) == b"inside"

    def test_an_error_undoes_all_of_it(self, store: Backend) -> None:
        write_everywhere(store, "before")
        store.log.match(TALK, "before")

        def change() -> None:
            write_everywhere(store, "inside")
            store.log.edit(TALK, {0: human("changed")})
            store.index.delete(HOME, ["before"])
            store.kv.delete(HOME, "before")
            assert all(read_everywhere(store, "inside"))

        with pytest.raises(ZeroDivisionError):
            fail_inside(store, change)
        assert all(read_everywhere(store, "before"))
        assert not any(read_everywhere(store, "inside"))
        with pytest.raises(NotFound):
            store.blobs.get(HOME, hashlib.sha256(b"inside").hexdigest())
        assert store.log.versions(TALK, 0) == []

    def test_a_refused_write_inside_is_undone_alone(self, store: Backend) -> None:
        with store.transaction():
            [first] = store.log.append(TALK, said("first"))
            with pytest.raises(Conflict):
                store.log.append(TALK, [human("second"), human("third", id=first.id)])
            with pytest.raises(Conflict):
                store.kv.put(HOME, "key", 1, expect=5)
            store.kv.put(HOME, "key", 2)
        assert texts_of(store.log.read(TALK)) == ["first"]
        entry = store.kv.get(HOME, "key")
        assert entry is not None
        assert entry.value == 2

    def test_entered_again_it_is_a_part_of_the_outer(self, store: Backend) -> None:
        with store.transaction():
            write_everywhere(store, "outer")
            with store.transaction():
                write_everywhere(store, "inner")
        assert all(read_everywhere(store, "outer") | read_everywhere(store, "inner"))

        def write_in_a_part() -> None:
            with store.transaction():
                write_everywhere(store, "lost")

        with pytest.raises(ZeroDivisionError):
            fail_inside(store, write_in_a_part)
        assert not any(read_everywhere(store, "lost"))

    def test_a_part_fails_alone(self, store: Backend) -> None:
        with store.transaction():
            write_everywhere(store, "outer")
            with pytest.raises(ZeroDivisionError):
                fail_inside(store, lambda: write_everywhere(store, "part"))
            assert not any(read_everywhere(store, "part"))
            write_everywhere(store, "later")
        assert all(read_everywhere(store, "outer") | read_everywhere(store, "later"))
        assert not any(read_everywhere(store, "part"))

    def test_an_undone_thread_is_not_taken_for_the_next(self, store: Backend) -> None:
        undone, following = Thread(HOME, "undone"), Thread(HOME, "following")
        with pytest.raises(ZeroDivisionError):
            fail_inside(store, lambda: store.log.append(undone, said("x")))
        store.log.append(following, said("y"))
        store.log.append(undone, said("z"))
        assert texts_of(store.log.read(following)) == ["y"]
        assert texts_of(store.log.read(undone)) == ["z"]

    def test_one_after_another_works(self, store: Backend) -> None:
        for number in range(3):
            with store.transaction():
                write_everywhere(store, f"number{number}")
            write_everywhere(store, f"between{number}")
        assert len(store.log.read(TALK)) == 6


class _TogetherSuite(Suite):
    @needs("transactions")
    def test_others_see_it_only_afterwards(self, tmp_path: Path, clock: Clock) -> None:
        seen: list[int] = []
        inside, looked = threading.Event(), threading.Event()

        def look() -> None:
            inside.wait()
            seen.append(len(backend.log.read(TALK)))
            looked.set()

        with self.open(tmp_path, clock) as backend:
            watcher = threading.Thread(target=look)
            watcher.start()
            with backend.transaction():
                backend.log.append(TALK, said("a", "b"))
                inside.set()
                # A store may show others what was there before, or let them wait until the end; never the inside.
                shown = looked.wait(0.2)
                backend.log.append(TALK, said("c"))
            watcher.join()
            assert seen == [0] if shown else seen in ([0], [3])
            assert len(backend.log.read(TALK)) == 3

    def test_threads_append_to_one_conversation(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as backend:

            def work(number: int) -> list[int | None]:
                stored = [backend.log.append(TALK, said(f"{number}-{i}"))[0] for i in range(25)]
                return [message.index for message in stored]

            indexes = in_threads(8, work)
            assert sorted(index for one in indexes for index in one) == list(range(200))
            assert all(one == sorted(one) for one in indexes)
            texts = texts_of(backend.log.read(TALK))
            assert all([t for t in texts if t.startswith(f"{n}-")] == [f"{n}-{i}" for i in range(25)] for n in range(8))

    def test_compare_and_set_loses_no_count(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as backend:
            backend.kv.put(HOME, "count", 0)

            def work(_: int) -> int:
                conflicts = 0
                for _ in range(10):
                    while True:
                        entry = backend.kv.get(HOME, "count")
                        assert entry is not None
                        try:
                            backend.kv.put(HOME, "count", cast(int, entry.value) + 1, expect=entry.version)
                            break
                        except Conflict:
                            conflicts += 1
                return conflicts

            in_threads(4, work)
            entry = backend.kv.get(HOME, "count")
            assert entry is not None
            assert entry.value == 40

    @needs("transactions")
    def test_reading_and_then_writing_inside_loses_no_count(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as one, self.open(tmp_path, clock) as other:
            one.kv.put(HOME, "count", 0)

            def work(number: int) -> None:
                # What several processes share is one store for each of them; what lives in one has one store.
                store = other if number % 2 and one.durable else one
                for _ in range(8):
                    with store.transaction():
                        entry = store.kv.get(HOME, "count")
                        assert entry is not None
                        store.kv.put(HOME, "count", cast(int, entry.value) + 1)

            in_threads(4, work)
            entry = one.kv.get(HOME, "count")
            assert entry is not None
            assert entry.value == 32

    @needs("records")
    def test_searches_run_during_writes(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as backend:

            def work(number: int) -> None:
                for i in range(21):
                    id_ = f"{number}-{i % 7}"
                    if number < 2:
                        record = Record(id=id_, text=f"word {i}", space=HOME, vector=[1.0, i + 1.0])
                        backend.index.upsert([record])
                        if i % 3 == 0:
                            backend.index.delete(HOME, [id_])
                    else:
                        for hits in (backend.index.near(HOME, [1.0, 2.0]), backend.index.match(HOME, "word")):
                            assert len({hit.record.id for hit in hits}) == len(hits)

            in_threads(5, work)
            assert backend.check() == []

    @needs("transactions")
    def test_a_crowd_of_async_writers_does_not_starve_a_transaction(self, tmp_path: Path, clock: Clock) -> None:
        async def crowd(backend: Backend) -> int:
            async with backend.atransaction():
                # From here on others wait; a store that locks by space cannot know before which one it is about.
                await backend.log.aread(TALK)
                writers = [asyncio.ensure_future(_apart(backend, number)) for number in range(50)]
                await asyncio.sleep(0.05)
                for number in range(5):
                    await backend.log.aappend(TALK, said(f"inside {number}"))
                inside = len(await backend.log.aread(TALK))
            await asyncio.gather(*writers)
            return inside

        with self.open(tmp_path, clock) as backend:
            assert asyncio.run(crowd(backend)) == 5
            assert len(backend.log.read(TALK)) == 55

    @needs("transactions")
    def test_a_cancelled_async_transaction_is_undone_and_lets_go(self, tmp_path: Path, clock: Clock) -> None:
        async def cancelled(backend: Backend) -> None:
            async def body() -> None:
                async with backend.atransaction():
                    await backend.log.aappend(TALK, said("undone"))
                    started.set()
                    await asyncio.sleep(3600)

            started = asyncio.Event()
            task = asyncio.ensure_future(body())
            await started.wait()
            waiting = asyncio.ensure_future(_inside(backend, "also undone"))
            await asyncio.sleep(0.05)
            waiting.cancel()
            task.cancel()
            await asyncio.gather(task, waiting, return_exceptions=True)
            await asyncio.wait_for(backend.log.aappend(TALK, said("stored")), 30)

        with self.open(tmp_path, clock) as backend:
            asyncio.run(cancelled(backend))
            assert texts_of(backend.log.read(TALK)) == ["stored"]


async def _apart(backend: Backend, number: int) -> None:
    # A task started inside a transaction inherits it; this one is to be a stranger.
    await asyncio.get_running_loop().run_in_executor(None, backend.log.append, TALK, said(f"outside {number}"))


async def _inside(backend: Backend, text: str) -> None:
    async with backend.atransaction():
        await backend.log.aappend(TALK, said(text))


class _LifeSuite(Suite):
    def test_what_was_stored_is_there_when_opened_again(self, tmp_path: Path, clock: Clock) -> None:
        backend = self.open(tmp_path, clock)
        write_everywhere(backend, "lasting")
        durable = backend.durable
        backend.close()
        with self.open(tmp_path, clock) as again:
            assert read_everywhere(again, "lasting") == {durable}
            if durable:
                assert again.log.append(TALK, said("more"))[0].index == 1
            assert again.check() == []

    def test_two_at_once_on_one_place_see_each_other(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as one, self.open(tmp_path, clock) as other:
            write_everywhere(one, "first")
            assert read_everywhere(one, "first") == {True}
            assert read_everywhere(other, "first") == {one.durable}
            write_everywhere(other, "second")
            assert read_everywhere(one, "second") == {one.durable}

    @needs("records")
    def test_a_search_sees_what_another_deleted(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as one, self.open(tmp_path, clock) as other:
            write_everywhere(one, "first")
            assert one.index.near(HOME, [1.0, 1.0]) != []
            other.index.delete(HOME, ["first"])
            assert bool(one.index.near(HOME, [1.0, 5.0], where={"@id": "first"})) is not one.durable

    def test_an_append_goes_by_the_thread_as_others_left_it(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as one, self.open(tmp_path, clock) as other:
            second = other if one.durable else one
            for text in "abc":
                one.log.append(TALK, said(text))
            if "transactions" in self.abilities:
                with pytest.raises(ZeroDivisionError):
                    fail_inside(one, lambda: one.log.append(TALK, [human("undone", tokens=5)]))
            second.log.append(TALK, [ai("d", tokens=7)])
            one.log.append(TALK, [ai("e", tokens=1)])
            assert [(m.index, m.round) for m in one.log.read(TALK)] == [(0, 1), (1, 2), (2, 3), (3, 3), (4, 3)]
            assert one.log.threads(HOME).items[0].tokens == 8
            second.log.append(TALK, said("f"))
            second.log.trim(TALK, 6, keep=[4])
            assert [m.index for m in one.log.append(TALK, said("g"))] == [6]
            second.log.annotate(TALK, end_round=True)
            assert [m.round for m in one.log.append(TALK, [ai("h")])] == [6]
            second.log.delete(TALK)
            assert [m.index for m in one.log.append(TALK, said("anew"))] == [0]

    def test_after_closing_every_call_raises(self, store: Backend) -> None:
        write_everywhere(store, "before")
        store.close()
        store.close()
        calls: dict[str, list[tuple[Any, ...]]] = {
            "log": [
                ("append", TALK, said("x")), ("read", TALK), ("edit", TALK, {0: None}), ("versions", TALK, 0),
                ("trim", TALK, 1), ("delete", TALK), ("annotate", TALK), ("threads", HOME), ("match", TALK, "before"),
            ],
            "kv": [("get", HOME, "before"), ("put", HOME, "key", 1), ("delete", HOME, "key"), ("scan", HOME)],
            "index": [
                ("upsert", [Record(text="x", space=HOME)]), ("get", HOME, ["before"]), ("delete", HOME, ["before"]),
                ("scan", HOME), ("near", HOME, [1.0, 2.0]), ("match", HOME, "before"), ("info", HOME),
            ],
            "blobs": [("put", HOME, b"x"), ("get", HOME, "0" * 64), ("delete", HOME, "0" * 64)],
        }  # fmt: skip
        with pytest.raises(BackendError, match="closed"):
            store.check()
        for part in (one for one in calls if has(store, one)):
            for method, *arguments in calls[part]:
                with pytest.raises(BackendError, match="closed"):
                    getattr(getattr(store, part), method)(*arguments)
        if "transactions" in self.abilities:
            with pytest.raises(BackendError, match="closed"), store.transaction():
                pass

    def test_it_closes_when_its_block_ends(self, tmp_path: Path, clock: Clock) -> None:
        async def use() -> Backend:
            async with self.open(tmp_path, clock) as opened:
                await opened.kv.aput(HOME, "key", 1)
            return opened

        with self.open(tmp_path, clock) as backend:
            backend.kv.put(HOME, "key", 1)
        for closed in (backend, asyncio.run(use())):
            with pytest.raises(BackendError):
                closed.kv.get(HOME, "key")

    def test_closing_while_in_use_ends_in_results_or_errors(self, tmp_path: Path, clock: Clock) -> None:
        backend = self.open(tmp_path, clock)
        under_way = threading.Event()

        def work(number: int) -> int:
            if number == 0:
                under_way.wait(30)
                backend.close()
                return 0
            stored = 0
            try:
                while True:
                    backend.log.append(Thread(HOME, str(number)), said("x"))
                    stored += 1
                    backend.log.read(Thread(HOME, str(number)), last=2)
                    under_way.set()
            except BackendError:
                return stored

        counts = in_threads(4, work)
        with self.open(tmp_path, clock) as again:
            if again.durable:
                assert [len(again.log.read(Thread(HOME, str(n)))) for n in (1, 2, 3)] == counts[1:]
            assert again.check() == []

    @needs("transactions")
    def test_closing_inside_its_own_transaction_is_refused(self, store: Backend) -> None:
        with store.transaction():
            store.log.append(TALK, said("kept"))
            with pytest.raises(BackendError, match="transaction"):
                store.close()
        assert texts_of(store.log.read(TALK)) == ["kept"]


class _ScrubbingSuite(Suite):
    def test_scrubbing_changes_nothing_that_is_there(self, store: Backend) -> None:
        write_everywhere(store, "kept")
        store.scrub()
        assert all(read_everywhere(store, "kept"))
        assert store.check() == []

    def test_scrubbing_lets_go_of_messages_that_were_read(self, store: Backend) -> None:
        store.log.append(TALK, [human("a canary that was read")])
        assert store.log.read(TALK)
        store.log.delete(TALK)
        store.scrub()
        assert not any("canary" in text for text in messages._recent)  # pyright: ignore[reportPrivateUsage]

    @needs("transactions")
    def test_a_store_cannot_be_scrubbed_inside_its_own_transaction(self, store: Backend) -> None:
        with store.transaction(), pytest.raises(BackendError, match="inside"):
            store.scrub()


class BackendSuite(_TransactionsSuite, _TogetherSuite, _LifeSuite, _ScrubbingSuite):
    """All that a ``Backend`` promises as a whole."""
