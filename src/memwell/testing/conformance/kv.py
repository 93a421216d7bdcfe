"""The promises of ``KeyValue`` and ``Blobs``."""

from __future__ import annotations

import hashlib
import random
from typing import Any, cast

import pytest

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.records import Space
from memwell.storage.arguments import moment
from memwell.storage.protocols import Backend, Entry
from memwell.testing.conformance.suite import HOME, Clock, Suite, all_pages, needs
from memwell.values import new_version

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -(2**63), 2**63 - 1, 0.1, -1e308, "", "text with 'quotes', \"more\" and 中文 😀", [],
    {}, [1, [2, [3, {"four": None}]]], {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}},
    {"__class__": "os.system", "$type": "x", "py/object": "y"}, {"": {"$.a": [0], "a.b": "c", '"': "\\"}}, b"",
    b"\x00\xff bytes", b'{"looks": "like JSON"}',
)  # fmt: skip


def _is_same(found: Any, value: Any) -> bool:
    return type(found) is type(value) and found == value


class KeyValueSuite(Suite):
    """All that a ``KeyValue`` promises."""

    def test_a_value_comes_back_as_it_was(self, store: Backend) -> None:
        for number, value in enumerate(VALUES):
            put = store.kv.put(HOME, f"key-{number}", value)
            got = store.kv.get(HOME, f"key-{number}")
            assert got == put
            assert _is_same(put.value, value)
            assert (put.key, put.expires) == (f"key-{number}", None)
            assert got is not None
            assert _is_same(got.value, value)
        assert [entry.value for entry in all_pages(store.kv.scan, HOME)] == [
            value for _, value in sorted((f"key-{number}", value) for number, value in enumerate(VALUES))
        ]

    def test_bytes_of_any_kind_come_back_as_bytes(self, store: Backend) -> None:
        for data in (bytearray(b"ab"), memoryview(b"ab")):
            assert store.kv.put(HOME, "key", data).value == b"ab"
            got = store.kv.get(HOME, "key")
            assert got is not None
            assert _is_same(got.value, b"ab")

    def test_a_tuple_comes_back_as_a_list(self, store: Backend) -> None:
        assert store.kv.put(HOME, "key", {"pair": (1, 2)}).value == {"pair": [1, 2]}

    def test_a_missing_key_has_no_value(self, store: Backend) -> None:
        assert store.kv.get(HOME, "key") is None
        assert store.kv.delete(HOME, "key") is False
        assert store.kv.scan(HOME).items == []

    def test_many_keys_are_read_at_once(self, store: Backend, clock: Clock) -> None:
        keys = ["plain", "ä\n'\"{}", "键", "k" * 1000]
        put = {key: store.kv.put(HOME, key, number) for number, key in enumerate(keys)}
        put["bytes"] = store.kv.put(HOME, "bytes", b"\0\xff")
        store.kv.put(HOME, "gone", 1, ttl=0.2)
        store.kv.put(HOME / "below", "elsewhere", 1)
        clock.advance(0.3)
        assert store.kv.get_many(HOME, [*put, "gone", "elsewhere", "missing", "plain"]) == put
        assert store.kv.get_many(HOME, []) == {}

    def test_many_values_are_stored_at_once(self, store: Backend) -> None:
        before = store.kv.put(HOME, "old", 1, ttl=60.0)
        values: dict[str, Any] = {"old": [2, 3.5], "ä\n'\"{}": "键", "k" * 1000: {"n": None}, "bytes": b"\0\xff"}
        store.kv.put_many(HOME, values)
        found = store.kv.get_many(HOME, list(values))
        assert {key: (entry.value, entry.expires) for key, entry in found.items()} == {
            key: (value, None) for key, value in values.items()
        }
        assert found["old"].version != before.version
        store.kv.put_many(HOME, {})
        with pytest.raises(InvalidInput):
            store.kv.put_many(HOME, {"one": 1, "two": object()})
        assert store.kv.count(HOME) == len(values)

    def test_a_put_replaces_value_and_time_to_live(self, store: Backend, clock: Clock) -> None:
        first = store.kv.put(HOME, "key", 1, ttl=0.2)
        second = store.kv.put(HOME, "key", {"two": 2})
        clock.advance(0.3)
        assert store.kv.get(HOME, "key") == second
        assert first.version != second.version

    def test_a_version_is_never_used_twice_for_a_key(self, store: Backend) -> None:
        seen = [store.kv.put(HOME, "key", "same").version for _ in range(5)]
        store.kv.delete(HOME, "key")
        seen += [store.kv.put(HOME, "key", "same").version for _ in range(5)]
        assert len(set(seen)) == 10
        assert min(seen) > 0

    def test_a_version_does_not_follow_the_program_s_random_numbers(self, store: Backend) -> None:
        state = random.getstate()
        first = store.kv.put(HOME, "key", 1)
        random.setstate(state)
        assert store.kv.put(HOME, "key", 2).version != first.version

    def test_a_value_is_gone_when_its_time_is_over(self, store: Backend, clock: Clock) -> None:
        put = store.kv.put(HOME, "key", "v", ttl=0.5)
        store.kv.put(HOME, "stays", "v", ttl=1000)
        if not clock.sleeps:
            assert put.expires == moment(clock() + 0.5)
        clock.advance(0.25)
        assert store.kv.get(HOME, "key") == put
        clock.advance(0.25)
        assert store.kv.get(HOME, "key") is None
        assert [entry.key for entry in store.kv.scan(HOME).items] == ["stays"]
        assert store.kv.delete(HOME, "key") is False

    def test_what_is_over_does_not_exist_for_expectations(self, store: Backend, clock: Clock) -> None:
        old = store.kv.put(HOME, "key", "v", ttl=0.1)
        clock.advance(0.2)
        with pytest.raises(Conflict):
            store.kv.put(HOME, "key", "w", expect=old.version)
        assert store.kv.put(HOME, "key", "w", expect=0).value == "w"

    def test_many_short_lived_values_hide_no_lasting_one(self, store: Backend, clock: Clock) -> None:
        for number in range(40):
            store.kv.put(HOME, f"short-{number}", number, ttl=0.1)
        clock.advance(0.2)
        for number in range(10):
            store.kv.put(HOME, f"long-{number}", number)
        assert [e.key for e in all_pages(store.kv.scan, HOME, limit=3)] == [f"long-{n}" for n in range(10)]

    def test_a_put_expects_a_version(self, store: Backend) -> None:
        first = store.kv.put(HOME, "key", 1, expect=0)
        with pytest.raises(Conflict):
            store.kv.put(HOME, "key", 2, expect=0)
        with pytest.raises(Conflict):
            store.kv.put(HOME, "key", 2, expect=first.version + 1)
        second = store.kv.put(HOME, "key", 2, expect=first.version)
        with pytest.raises(Conflict):
            store.kv.put(HOME, "key", 3, expect=first.version)
        with pytest.raises(Conflict):
            store.kv.put(HOME, "other", 3, expect=first.version)
        assert store.kv.get(HOME, "key") == second
        assert store.kv.get(HOME, "other") is None

    def test_a_delete_expects_a_version(self, store: Backend) -> None:
        entry = store.kv.put(HOME, "key", 1)
        for wrong in (0, entry.version + 1):
            with pytest.raises(Conflict):
                store.kv.delete(HOME, "key", expect=wrong)
        assert store.kv.delete(HOME, "key", expect=entry.version) is True
        with pytest.raises(Conflict):
            store.kv.delete(HOME, "key", expect=entry.version)
        assert store.kv.delete(HOME, "key", expect=0) is False

    def test_a_scan_goes_by_code_point_page_by_page(self, store: Backend) -> None:
        keys = ["b", "a", "A", "aa", "a\n", " ", "é", "e\u0301", "中", "\uffee", "😀", "10", "9"]
        for key in keys:
            store.kv.put(HOME, key, key)
        store.kv.put(Space("home", "x"), "foreign", 1)
        for limit in (1, 4, 13, 100):
            assert [e.key for e in all_pages(store.kv.scan, HOME, limit=limit)] == sorted(keys)
        assert store.kv.scan(HOME, limit=13).next is None

    def test_a_scan_filters_objects_by_their_keys(self, store: Backend) -> None:
        values: dict[str, Any] = {
            "a": {"city": "Paris", "age": 40, "tags": ["x", 1]},
            "b": {"city": "Rome", "age": 30.5, "in": {"city": "Paris"}},
            "c": {"city": None},
            "d": "city",
            "e": b'{"city": "Paris"}',
            "f": ["city", "Paris"],
        }
        for key, value in values.items():
            store.kv.put(HOME, key, value)

        def keys(where: Any) -> str:
            return "".join(entry.key for entry in store.kv.scan(HOME, where=where).items)

        assert keys({"city": "Paris"}) == "a"
        assert keys({("in", "city"): "Paris"}) == "b"
        assert keys({"age": {"$gt": 30, "$lt": 35}}) == "b"
        assert keys({"city": {"$exists": True}}) == "abc"
        assert keys({"city": None}) == "c"
        assert keys({"city": {"$ne": "Paris"}}) == "bcdef"
        assert keys({"$or": [{"@id": "d"}, {"tags": {"$contains": 1}}]}) == "ad"
        assert keys({"$not": {"city": {"$exists": True}}}) == "def"
        assert keys({"@kind": {"$exists": True}}) == ""
        assert keys({}) == "abcdef"

    def test_a_scan_skips_of_what_it_keeps(self, store: Backend) -> None:
        for number in range(20):
            store.kv.put(HOME, f"{number:02}", {"even": number % 2 == 0})
        page = store.kv.scan(HOME, where={"even": True}, skip=3, limit=4)
        assert [int(entry.key) for entry in page.items] == [6, 8, 10, 12]
        behind = store.kv.scan(HOME, where={"even": True}, cursor=page.next, skip=1, limit=100)
        assert [int(entry.key) for entry in behind.items] == [16, 18]
        assert behind.next is None
        for beyond in (20, 2**63 - 1):
            assert store.kv.scan(HOME, skip=beyond).items == []

    def test_a_count_is_that_of_a_scan(self, store: Backend, clock: Clock) -> None:
        assert store.kv.count(HOME) == 0
        # More than any page holds.
        values: list[Any] = [{"third": number % 3 == 0} if number % 2 else number for number in range(1500)]
        if "copies" in store.abilities:
            store.kv.restore(HOME, [Entry(str(number), value, new_version()) for number, value in enumerate(values)])
        else:
            for number, value in enumerate(values):
                store.kv.put(HOME, str(number), value)
        store.kv.put(HOME, "short", {"third": True}, ttl=0.1)
        store.kv.put(Space("home", "x"), "foreign", {"third": True})
        assert store.kv.count(HOME) == 1501
        assert store.kv.count(HOME, where={"third": True}) == 251
        clock.advance(0.2)
        assert store.kv.count(HOME) == 1500
        assert store.kv.count(HOME, where={"third": True}) == 250
        assert store.kv.count(HOME, where={"third": {"$exists": False}}) == 750


@needs("blobs")
class BlobsSuite(Suite):
    """All that ``Blobs`` promises."""

    def test_bytes_come_back_by_their_digest(self, store: Backend) -> None:
        for data in (b"", b"\x00", b"hello", bytes(range(256)) * 5_000):
            digest = store.blobs.put(HOME, data)
            assert digest == hashlib.sha256(data).hexdigest()
            assert store.blobs.get(HOME, digest) == data

    def test_bytes_of_any_kind_are_taken(self, store: Backend) -> None:
        kinds = cast("tuple[bytes, ...]", (b"ab", bytearray(b"ab"), memoryview(b"ab")))
        digests = {store.blobs.put(HOME, data) for data in kinds}
        assert [store.blobs.get(HOME, digest) for digest in digests] == [b"ab"]

    def test_storing_again_changes_nothing(self, store: Backend) -> None:
        assert store.blobs.put(HOME, b"x") == store.blobs.put(HOME, b"x")
        assert store.blobs.delete(HOME, store.blobs.put(HOME, b"x")) is True
        assert store.blobs.delete(HOME, hashlib.sha256(b"x").hexdigest()) is False

    def test_what_is_not_there_is_not_found(self, store: Backend) -> None:
        with pytest.raises(NotFound):
            store.blobs.get(HOME, "0" * 64)
        digest = store.blobs.put(HOME, b"x")
        store.blobs.delete(HOME, digest)
        with pytest.raises(NotFound):
            store.blobs.get(HOME, digest)

    def test_a_space_sees_only_its_own(self, store: Backend) -> None:
        digest = store.blobs.put(HOME, b"shared")
        for other in (Space("home", "inner"), Space("Home"), Space("hom")):
            with pytest.raises(NotFound):
                store.blobs.get(other, digest)
            assert store.blobs.delete(other, digest) is False
        store.blobs.put(Space("away"), b"shared")
        assert store.blobs.delete(Space("away"), digest) is True
        assert store.blobs.get(HOME, digest) == b"shared"

    def test_what_is_no_digest_or_no_bytes_is_refused(self, store: Backend) -> None:
        for bad in ("", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "../" + "0" * 61, None, b"0" * 64, 5):
            with pytest.raises(InvalidInput):
                store.blobs.get(HOME, bad)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput):
                store.blobs.delete(HOME, bad)  # type: ignore[arg-type]
        for bad in ("text", None, 5, [1]):
            with pytest.raises(InvalidInput):
                store.blobs.put(HOME, bad)  # type: ignore[arg-type]
