"""What a ``Backend`` promises as a whole: transactions, several threads, reopening, closing, isolation by name."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import pytest

from memwell import messages
from memwell.errors import BackendError, Conflict, NotFound
from memwell.filters import Where
from memwell.messages import ai, human
from memwell.records import Record, Space, Thread
from memwell.storage.protocols import Backend
from memwell.testing.conformance.suite import HOME, TALK, Clock, Suite, all_pages, has, needs, said, texts_of


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


# Isolation by name: no space, thread, key or record is ever reached by another's name. Names are opaque. Those here are
# patterns, paths, prefixes, encodings or quotes somewhere. Each is stored together with all the others, and an operation on
# a name must touch that name alone.

NAMES: Final = (
    "acme", "acme-corp", "acme corp", "acme ", " acme", "ACME", "Acme", "acm", "a_b", "aXb", "a%b", "%", "_", "*",
    "?", "a|b", "a", "b", "a-z", "[a-z]", "a/b", "a//b", "a\\b", "a.b", "a:b", "a\tb", "a\nb", "a\x1fb", "\x7f",
    "../x", "x", "/x", "./x", "..", ".", "~", "null", "None", "0", "00", "-0", "1", "1.0", "true", '"', "'", "''",
    "a'b", 'a"b', "`a`", "a; DROP TABLE message; --", '["acme"]', '["acme","b"]', '{"acme": 1}', "\\u0061", "%61",
    "&amp;", "é", unicodedata.normalize("NFD", "é"), "ﬁ", "fi", "ａ", "ß", "ss", "İ", "i", "ı", "ك", "中",
    "😀", "😀\ufe0f", "\u200b", "\ufeffacme", "acme\u200b", "x" * 1023 + "a", "x" * 1023 + "b", "x" * 1024,
    "😀" * 1024,
)  # fmt: skip

SPACES: Final = (
    *(Space(name) for name in NAMES), Space("a", "b"), Space("a", "b", "c"), Space("a", "b/c"), Space("a/b", "c"),
    Space("acme", "corp"), Space("acme", "a"), Space("acme", "a", "b"), Space("a", "a"), Space("a", "a", "a"),
    Space('["acme"', '"b"]'), Space("1", "1"), Space("11"),
)  # fmt: skip


_BYTES: Final = b"the same bytes"
_DIGEST: Final = hashlib.sha256(_BYTES).hexdigest()


def write_marked(store: Backend, space: Space, number: int) -> None:
    """Write something of everything into a space, marked with a number."""
    text = f"word{number} shared"
    thread = Thread(space, "talk")
    store.log.append(thread, [human(text, id="one")])
    store.log.annotate(thread, metadata={"number": number})
    store.kv.put(space, "key", number)
    if has(store, "index"):
        store.index.upsert(
            [Record(id="one", text=text, space=space, vector=[1.0, number + 1.0], metadata={"n": number})]
        )
    if has(store, "blobs"):
        store.blobs.put(space, _BYTES)


def _delete(store: Backend, space: Space) -> None:
    assert store.log.delete(Thread(space, "talk"))
    assert store.kv.delete(space, "key")
    assert not has(store, "index") or store.index.delete(space, ["one"]) == 1
    assert not has(store, "blobs") or store.blobs.delete(space, _DIGEST)


def seen_in(store: Backend, space: Space) -> list[object]:
    """Everything that a space shows, by every read; a number stands for what was written under it."""
    thread = Thread(space, "talk")
    entry = store.kv.get(space, "key")
    seen: list[object] = [
        texts_of(store.log.read(thread)),
        [m.text for m, _ in store.log.match(thread, "shared", limit=1000)],
        [(i.thread.id, i.metadata["number"]) for i in all_pages(store.log.threads, space)],
        None if entry is None else entry.value,
        [e.value for e in all_pages(store.kv.scan, space)],
    ]
    return seen + (_records_seen(store, space) if has(store, "index") else [])


def _records_seen(store: Backend, space: Space) -> list[object]:
    return [
        [r.metadata["n"] for r in store.index.get(space, ["one"])],
        [r.metadata["n"] for r in all_pages(store.index.scan, space)],
        [r.metadata["n"] for r in all_pages(store.index.scan, space, where={"@id": "one"})],
        [hit.record.metadata["n"] for hit in store.index.near(space, [1.0, 1.0], limit=1000)],
        [hit.record.metadata["n"] for hit in store.index.match(space, "shared", limit=1000)],
        store.index.info(space).records,
    ]


def expected_in(number: int) -> list[object]:
    """What a space must show that something was written into under a number."""
    text, only = f"word{number} shared", [number]
    return [[text], [text], [("talk", number)], number, only, only, only, only, only, only, 1]


NOTHING: Final[list[object]] = [[], [], [], None, [], [], [], [], [], [], 0]


class IsolationSuite(Suite):
    """Names that look alike to something, but not to memwell."""

    def test_a_space_sees_only_itself(self, store: Backend) -> None:
        assert len(set(SPACES)) == len(SPACES)
        shown = len(NOTHING) if has(store, "index") else 5
        with store.together():
            for number, space in enumerate(SPACES):
                write_marked(store, space, number)
        leaving = SPACES[::2]
        for number, space in enumerate(SPACES):
            if space in leaving:
                assert seen_in(store, space) == expected_in(number)[:shown], space
        for space in (Space("nobody"), Space("acme", "corp", "x"), Space("acme", "acme"), Space("b", "a")):
            assert seen_in(store, space) == NOTHING[:shown], space
        with store.together():
            for space in leaving:
                _delete(store, space)
        for number, space in enumerate(SPACES):
            assert seen_in(store, space) == (NOTHING if space in leaving else expected_in(number))[:shown], space
            if has(store, "blobs"):
                assert store.blobs.scan(space).items == ([] if space in leaving else [_DIGEST])

    def test_a_thread_id_means_only_itself(self, store: Backend) -> None:
        with store.together():
            for name in NAMES:
                store.log.append(Thread(HOME, name), [human(f"shared {name}", id=name)])
        for name in NAMES:
            thread = Thread(HOME, name)
            assert [m.id for m in store.log.read(thread)] == [name]
            assert [m.id for m in store.log.read(thread, ids=NAMES)] == [name]
            assert [m.id for m, _ in store.log.match(thread, "shared", limit=1000)] == [name]
            assert [i.thread.id for i in store.log.threads(HOME, ids=[name]).items] == [name]
        assert [i.thread.id for i in all_pages(store.log.threads, HOME, limit=7)] == sorted(NAMES)
        for name in NAMES[::2]:
            assert store.log.trim(Thread(HOME, name), 1) == 1
            assert store.log.delete(Thread(HOME, name))
        assert [i.thread.id for i in all_pages(store.log.threads, HOME)] == sorted(NAMES[1::2])
        for name in NAMES[1::2]:
            assert [m.id for m in store.log.read(Thread(HOME, name))] == [name]

    def test_a_message_id_means_only_itself(self, store: Backend) -> None:
        thread = Thread(HOME, "talk")
        store.log.append(thread, [human(str(number), id=name) for number, name in enumerate(NAMES)])
        for number, name in enumerate(NAMES):
            assert texts_of(store.log.read(thread, ids=[name])) == [str(number)]

    def test_a_key_means_only_itself(self, store: Backend) -> None:
        with store.together():
            for number, name in enumerate(NAMES):
                store.kv.put(HOME, name, {"n": number})
        for number, name in enumerate(NAMES):
            entry = store.kv.get(HOME, name)
            assert entry is not None
            assert (entry.key, entry.value) == (name, {"n": number})
            assert [e.key for e in store.kv.scan(HOME, where={"@id": name}).items] == [name]
        assert [e.key for e in all_pages(store.kv.scan, HOME, limit=7)] == sorted(NAMES)
        for name in NAMES[::2]:
            assert store.kv.delete(HOME, name)
        assert [e.key for e in all_pages(store.kv.scan, HOME)] == sorted(NAMES[1::2])

    @needs("records")
    def test_a_record_id_and_kind_mean_only_themselves(self, store: Backend) -> None:
        store.index.upsert([Record(id=name, kind=name, text="shared", space=HOME, vector=[1.0, 1.0]) for name in NAMES])
        for name in NAMES:
            assert [r.id for r in store.index.get(HOME, [name])] == [name]
            for attribute in ("@id", "@kind"):
                where = {attribute: name}
                assert [r.id for r in store.index.scan(HOME, where=where).items] == [name]
                assert [hit.record.id for hit in store.index.near(HOME, [1.0, 0.0], where=where)] == [name]
                assert [hit.record.id for hit in store.index.match(HOME, "shared", where=where)] == [name]
        assert store.index.delete(HOME, NAMES[::2]) == len(NAMES[::2])
        assert [r.id for r in all_pages(store.index.scan, HOME, limit=7)] == list(NAMES[1::2])

    @needs("records")
    def test_a_metadata_key_and_value_mean_only_themselves(self, store: Backend) -> None:
        stored = [Record(id=str(i), text="", space=HOME, metadata={n: n}) for i, n in enumerate(NAMES)]
        store.index.upsert(stored)
        for number, name in enumerate(NAMES):
            for where in (Where((name,), "exists"), Where((name,), "eq", name)):
                assert [int(r.id) for r in store.index.scan(HOME, where=where).items] == [number], where
