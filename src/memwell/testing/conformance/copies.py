"""Copying a store: what was restored equals what it was copied from."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memwell.errors import BackendError, Conflict, InvalidInput, ReadOnlyStore
from memwell.messages import Message, ai, human
from memwell.records import Page, Record, Space, Thread
from memwell.storage.memory import MemoryBackend
from memwell.storage.parts import copy_thread
from memwell.storage.protocols import Backend, Entry, ThreadInfo
from memwell.testing.conformance.suite import HOME, TALK, Clock, Suite, all_pages, has, needs, said, some
from memwell.testing.strategies import StoreCall, json_values, log_writes, outcome
from memwell.values import new_id, new_version

_WORDS = ("tea", "Beijing 北京", "the cat", "found", "edited")


def info_of(store: Backend, thread: Thread) -> ThreadInfo:
    """What the listing says of a thread that is there."""
    [info] = store.log.threads(thread.space, ids=[thread.id]).items
    return info


def seen(store: Backend, thread: Thread) -> list[Any]:
    """Everything that the log returns about a thread."""
    info = info_of(store, thread)
    return [
        info,
        store.log.places(thread),
        store.log.read(thread),
        [store.log.versions(thread, index) for index in range(info.next)],
        [[message.id for message, _ in store.log.match(thread, text, limit=50)] for text in _WORDS],
    ]


def talked(store: Backend, thread: Thread, clock: Clock) -> None:
    """A conversation with edits, removals, closed rounds, gaps and trims."""
    log = store.log
    log.append(thread, [human(f"tea {n}", tokens=n) for n in range(6)])
    log.annotate(thread, metadata={"title": "茶", "n": 1}, end_round=True)
    clock.advance(0.5)
    log.append(thread, [ai("found the cat", tokens=7), human("Beijing 北京")])
    log.edit(thread, {1: human("edited", tokens=100), 2: None, 7: None})
    clock.advance(0.5)
    log.edit(thread, {1: human("edited again"), 2: ai("back")})
    log.append(thread, [human("far", index=20, round=9)], keep_places=True)
    log.trim(thread, 4, keep=[1])
    log.edit(thread, {20: None})


@needs("copies")
class _ThreadCopies(Suite):
    def test_any_thread_can_be_copied_and_then_grow(self, store: Backend, clock: Clock) -> None:
        reference = MemoryBackend(clock=clock)

        @some(25, self.share)
        @given(st.lists(log_writes(), max_size=8), st.lists(log_writes(), max_size=4), st.integers(1, 5))
        def check(before: list[StoreCall], later: list[StoreCall], limit: int) -> None:
            thread = Thread(Space(new_id()), "t")
            reference.log.annotate(thread)
            for operation in before:
                outcome(_at(operation, thread), reference)
            # The thread may have been deleted again.
            reference.log.annotate(thread)
            copy_thread(reference.log, store.log, thread, limit=limit)
            assert seen(store, thread) == seen(reference, thread)
            back = MemoryBackend(clock=clock)
            copy_thread(store.log, back.log, thread, limit=limit)
            assert seen(back, thread) == seen(reference, thread)
            for operation in later:
                if operation.method != "delete":
                    assert outcome(_at(operation, thread), store) == outcome(_at(operation, thread), reference)
            assert seen(store, thread) == seen(reference, thread)

        check()

    def test_a_copy_catches_up_with_what_was_appended_since(self, store: Backend, clock: Clock) -> None:
        reference = MemoryBackend(clock=clock)
        talked(reference, TALK, clock)
        copy_thread(reference.log, store.log, TALK)
        assert store.log.match(TALK, "tea")
        reference.log.append(TALK, said("one more", "and tea"))
        reference.log.annotate(TALK, metadata={"n": 2}, end_round=True)
        last = store.log.places(TALK)[-1].index
        store.log.restore(info_of(reference, TALK), reference.log.places(TALK, after=last))
        assert seen(store, TALK) == seen(reference, TALK)

    def test_places_that_do_not_follow_are_refused(self, store: Backend, clock: Clock) -> None:
        reference = MemoryBackend(clock=clock)
        reference.log.append(TALK, said("a", "b", "c"))
        info, places = info_of(reference, TALK), reference.log.places(TALK)
        store.log.restore(info, places[:2])
        before = store.log.places(TALK), info_of(store, TALK)
        for wrong in (places[:1], places[1:], [places[2], places[2]], [places[2], places[0]]):
            with pytest.raises(Conflict):
                store.log.restore(info, wrong)
        with pytest.raises(Conflict):
            store.log.restore(info, [_with_id(places[2], places[0].id)])
        with pytest.raises(InvalidInput):
            store.log.restore(_with_next(info, 2), places[2:])
        assert (store.log.places(TALK), info_of(store, TALK)) == before

    @needs("transactions")
    def test_a_copy_that_is_undone_leaves_nothing(self, store: Backend, clock: Clock) -> None:
        reference = MemoryBackend(clock=clock)
        talked(reference, TALK, clock)
        with suppress(_Undone), store.transaction():
            copy_thread(reference.log, store.log, TALK, limit=2)
            assert seen(store, TALK)[0] == info_of(reference, TALK)
            raise _Undone
        assert store.log.threads(HOME).items == []
        assert store.log.places(TALK) == []


class _Undone(Exception):
    """Ends a transaction."""


def _at(operation: StoreCall, thread: Thread) -> StoreCall:
    return operation._replace(args=(thread, *operation.args[1:]))


def _with_id(place: Any, id_: str) -> Any:
    message: Message = place.message
    return type(place)(place.index, place.round, id_, message.changed(id=id_))


def _with_next(info: ThreadInfo, next_: int) -> ThreadInfo:
    return replace(info, next=next_)


class _OtherCopies(Suite):
    @needs("copies")
    def test_entries_keep_their_versions_and_their_ends(self, store: Backend, clock: Clock) -> None:
        reference = MemoryBackend(clock=clock)
        reference.kv.put(HOME, "plain", {"a": [1, None]})
        reference.kv.put(HOME, "bytes", b"\x00\xff")
        reference.kv.put(HOME, "passing", "soon over", ttl=1)
        entries = reference.kv.scan(HOME).items
        store.kv.put(HOME, "plain", "something else")
        store.kv.restore(HOME, entries)
        assert store.kv.scan(HOME).items == entries
        with pytest.raises(Conflict):
            store.kv.put(HOME, "plain", 1, expect=12345)
        store.kv.put(HOME, "plain", 1, expect=next(one.version for one in entries if one.key == "plain"))
        clock.advance(1.2)
        assert store.kv.get(HOME, "passing") is None
        assert [entry.key for entry in store.kv.scan(HOME).items] == ["bytes", "plain"]

    @needs("copies")
    def test_any_entries_come_back_as_they_were(self, store: Backend) -> None:
        values = json_values() | st.binary(max_size=9)

        @some(25, self.share)
        @given(st.dictionaries(st.sampled_from(("k", "K%", "键", "a/b")), values, max_size=4))
        def check(stored: dict[str, Any]) -> None:
            space = Space(new_id())
            entries = [Entry(key, value, new_version()) for key, value in sorted(stored.items())]
            store.kv.restore(space, entries)
            assert store.kv.scan(space).items == entries

        check()

    @needs("copies")
    def test_entries_are_restored_all_or_none(self, store: Backend) -> None:
        wrong = Entry("", 1, 5)
        with pytest.raises(InvalidInput):
            store.kv.restore(HOME, [Entry("good", 1, 5), wrong])
        with pytest.raises(InvalidInput):
            store.kv.restore(HOME, [Entry("good", 1, 5), Entry("other", 1, 0)])
        assert store.kv.scan(HOME).items == []
        store.kv.restore(HOME, [])

    @needs("blobs")
    def test_blobs_are_listed_by_their_digests(self, store: Backend) -> None:
        digests = sorted(store.blobs.put(HOME, bytes([number])) for number in range(7))
        store.blobs.put(Space("away"), b"elsewhere")
        for limit in (1, 3, 7, 100):
            assert all_pages(store.blobs.scan, HOME, limit=limit) == digests
        store.blobs.delete(HOME, digests[3])
        assert all_pages(store.blobs.scan, HOME, limit=2) == digests[:3] + digests[4:]
        assert store.blobs.scan(Space("home", "inner")).items == []

    def test_spaces_are_those_that_hold_something(self, store: Backend, clock: Clock) -> None:
        assert store.spaces().items == []
        log, entry, record, blob = (Space("s", name) for name in ("log", "entry", "记录", "a/b"))
        store.log.append(Thread(log, "t"), said("x"))
        store.kv.put(entry, "key", 1)
        store.kv.put(Space("passing"), "key", 1, ttl=1)
        held = [log, entry, Space("passing")]
        if has(store, "index"):
            store.index.upsert([Record(id="r", text="x", space=record)])
            held.append(record)
        if has(store, "blobs"):
            store.blobs.put(blob, b"x")
            held.append(blob)
        expected = sorted(held, key=Space.encoded)
        for limit in (1, 2, 100):
            assert all_pages(_spaces_of(store), HOME, limit=limit) == expected
        clock.advance(1.2)
        assert Space("passing") not in store.spaces().items
        store.log.delete(Thread(log, "t"))
        store.kv.delete(entry, "key")
        if has(store, "index"):
            store.index.delete(record, ["r"])
        if has(store, "blobs"):
            store.blobs.delete(blob, hashlib.sha256(b"x").hexdigest())
        store.kv.delete(Space("passing"), "key")
        assert store.spaces().items == []


def _spaces_of(store: Backend) -> Any:
    """The listing of spaces, in the shape of the listings of one."""

    def listing(_: Space, **options: Any) -> Page[Space]:
        return store.spaces(**options)

    return listing


@needs("seal")
class _Seals(Suite):
    def test_a_sealed_store_refuses_every_write_and_answers_every_read(self, store: Backend) -> None:
        fill(store)
        before = content(store)
        store.seal("moved to 'elsewhere'; 搬走了")
        assert store.facts()["sealed"] == "moved to 'elsewhere'; 搬走了"
        assert_sealed(store, "moved to 'elsewhere'; 搬走了")
        assert content(store) == before
        assert [one.id for one, _ in store.log.match(TALK, "tea")] == [store.log.read(TALK)[0].id]
        store.seal(None)
        assert store.facts()["sealed"] is None
        store.log.append(TALK, said("on we go"))
        store.kv.put(HOME, "key", 2)
        if has(store, "index"):
            store.index.upsert([Record(id="r", text="changed", space=HOME, vector=[0.0, 1.0])])

    def test_a_seal_holds_against_those_who_have_the_store_open(self, tmp_path: Path, clock: Clock) -> None:
        with self.open(tmp_path, clock) as one, self.open(tmp_path, clock) as other:
            fill(one)
            if other.kv.get(HOME, "key") is None:
                assert not other.durable, "what one backend stores, another of the same place sees"
                return
            other.log.append(TALK, said("there first"))
            other.log.append(TALK, said("and second"))
            before = content(one)
            one.seal("moved away")
            assert_sealed(other, "moved away")
            assert content(other) == before
            with self.open(tmp_path, clock) as third:
                assert_sealed(third, "moved away")
                assert third.check() == []
                third.seal(None)
            other.log.append(TALK, said("again"))
            one.kv.put(HOME, "key", 1)

    @needs("transactions")
    def test_a_transaction_that_meets_the_seal_stores_nothing(self, store: Backend) -> None:
        fill(store)
        before = content(store)
        store.seal("closed")
        with pytest.raises(ReadOnlyStore, match="closed"), store.transaction():
            store.log.append(TALK, said("x"))
        store.seal("closed for good")
        assert store.facts()["sealed"] == "closed for good"
        assert content(store) == before

    @needs("transactions")
    def test_sealing_inside_its_own_transaction_is_refused(self, store: Backend) -> None:
        with store.transaction():
            store.kv.put(HOME, "kept", 1)
            with pytest.raises(BackendError, match="transaction"):
                store.seal("no")
        assert store.kv.get(HOME, "kept") is not None


def fill(store: Backend) -> None:
    """Something of every kind."""
    store.log.append(TALK, [human("tea"), ai("cup")])
    store.log.edit(TALK, {1: ai("mug")})
    store.kv.put(HOME, "key", {"a": 1})
    if has(store, "index"):
        leaves = Record(id="r", text="tea leaves", space=HOME, vector=[1.0, 0.0])
        store.index.upsert([leaves, Record(id="s", text="a cup", space=HOME, vector=[0.0, 1.0])])
    if has(store, "blobs"):
        store.blobs.put(HOME, b"blob")


def content(store: Backend) -> list[Any]:
    """All that the home space holds."""
    return [
        store.log.threads(HOME).items,
        store.log.read(TALK),
        store.log.versions(TALK, 1),
        store.kv.scan(HOME).items,
        store.index.scan(HOME).items if has(store, "index") else [],
        store.index.near(HOME, [1.0, 0.1]) if has(store, "index") else [],
        store.blobs.scan(HOME).items if has(store, "blobs") else [],
    ]


def assert_sealed(store: Backend, reason: str) -> None:
    """Every kind of write is refused with the reason."""
    digest = hashlib.sha256(b"blob").hexdigest()
    entry, info = store.kv.scan(HOME).items[0], info_of(store, TALK)
    copies = [StoreCall("log", "restore", (info, []), {}), StoreCall("kv", "restore", (HOME, [entry]), {})]
    writes: list[StoreCall] = [
        StoreCall("log", "append", (TALK, said("x")), {}),
        StoreCall("log", "append", (Thread(HOME, "new"), said("x", "y")), {}),
        StoreCall("log", "edit", (TALK, {0: None}), {}),
        StoreCall("log", "trim", (TALK, 1), {}),
        StoreCall("log", "delete", (TALK,), {}),
        StoreCall("log", "annotate", (TALK,), {"metadata": {"x": 1}}),
        StoreCall("log", "annotate", (TALK,), {"end_round": True}),
        StoreCall("kv", "put", (HOME, "key", 2), {}),
        StoreCall("kv", "delete", (HOME, "key"), {}),
        *(copies if "copies" in store.abilities else []),
        StoreCall("index", "upsert", ([Record(id="r", text="x", space=HOME)],), {}),
        StoreCall("index", "delete", (HOME, ["r"]), {}),
        StoreCall("index", "revector", (HOME, {"r": [1.0]}), {}),
        StoreCall("blobs", "put", (HOME, b"new"), {}),
        StoreCall("blobs", "delete", (HOME, digest), {}),
    ]
    for write in (one for one in writes if has(store, one.part)):
        with pytest.raises(ReadOnlyStore) as caught:
            write.on(store)
        assert reason in str(caught.value), write


@needs("records", "blobs")
class _Revectors(Suite):
    def test_other_vectors_of_another_size_take_the_places(self, store: Backend) -> None:
        fill(store)
        store.index.upsert([Record(id="bare", text="no vector", space=HOME)])
        state = store.index.info(HOME).state
        rows = {record.id: (record.text, record.time, record.metadata) for record in store.index.scan(HOME).items}
        store.index.revector(HOME, {"r": [0.0, 0.0, 2.0], "bare": [1.0, 0.0, 0.0], "nobody": [1.0, 1.0, 1.0]})
        after = store.index.scan(HOME).items
        assert {one.id: (one.text, one.time, one.metadata) for one in after} == rows
        assert [one.id for one in after] == ["r", "s", "bare"]
        assert [None if one.vector is None else list(one.vector) for one in after] == [[0, 0, 1], None, [1, 0, 0]]
        info = store.index.info(HOME)
        assert (info.records, info.vectors, info.dimensions) == (3, 2, 3)
        assert info.state > state
        assert [hit.record.id for hit in store.index.near(HOME, [1.0, 0.0, 0.1])] == ["bare", "r"]
        assert [hit.record.id for hit in store.index.match(HOME, "tea")] == ["r"]
        with pytest.raises(InvalidInput):
            store.index.near(HOME, [1.0, 0.0])

    def test_the_changes_name_all_that_got_or_lost_a_vector(self, store: Backend) -> None:
        fill(store)
        store.index.upsert([Record(id="bare", text="x", space=HOME), Record(id="still", text="x", space=HOME)])
        since = store.index.changes(HOME).state
        store.index.revector(HOME, {"bare": [1.0, 2.0, 3.0]})
        changes = store.index.changes(HOME, since)
        assert (changes.whole, changes.gone, changes.state) == (False, [], store.index.info(HOME).state)
        assert sorted(record.id for _, record in changes.records) == ["bare", "r", "s"]
        assert [record.id for _, record in changes.records if record.vector is not None] == ["bare"]

    def test_no_vectors_at_all_leave_the_space_free_for_any_size(self, store: Backend) -> None:
        fill(store)
        store.index.revector(HOME, {})
        info = store.index.info(HOME)
        assert (info.records, info.vectors, info.dimensions) == (2, 0, None)
        store.index.upsert([Record(id="t", text="x", space=HOME, vector=[1.0] * 5)])
        assert store.index.info(HOME).dimensions == 5
        store.index.revector(Space("never", "seen"), {"r": [1.0]})
        assert store.index.info(Space("never", "seen")).records == 0

    def test_vectors_of_two_sizes_or_none_are_refused(self, store: Backend) -> None:
        fill(store)
        before = content(store)
        for wrong in ({"r": [1.0, 0.0], "s": [1.0]}, {"r": [0.0, 0.0]}, {"r": "text"}, {"": [1.0]}, None):
            with pytest.raises(InvalidInput):
                store.index.revector(HOME, wrong)  # type: ignore[arg-type]
        assert content(store) == before

    @needs("transactions")
    def test_a_change_that_is_undone_changes_nothing(self, store: Backend) -> None:
        fill(store)
        before = content(store)
        with suppress(_Undone), store.transaction():
            store.index.revector(HOME, {"s": [1.0, 1.0, 1.0]})
            assert store.index.info(HOME).dimensions == 3
            raise _Undone
        assert content(store) == before
        assert [hit.record.id for hit in store.index.near(HOME, [1.0, 0.1])] == ["r", "s"]


class CopiesSuite(_ThreadCopies, _OtherCopies, _Seals, _Revectors):
    """All that moving a store from one backend to another rests on."""
