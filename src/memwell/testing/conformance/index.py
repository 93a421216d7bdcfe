"""What a ``RecordIndex`` promises, sentence by sentence."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.records import Hit, Record, Space, as_vector
from memwell.storage.protocols import Backend
from memwell.testing.conformance.log import ODD_QUERIES
from memwell.testing.conformance.suite import HOME, Suite, all_pages, needs

AWAY = Space("away")


def record(id_: str, text: str = "", **fields: Any) -> Record:
    """A record of the home space."""
    fields.setdefault("space", HOME)
    return Record(id=id_, text=text, **fields)


def ids_of(hits: list[Hit]) -> list[str]:
    """Which records were found."""
    return [hit.record.id for hit in hits]


def counts(store: Backend) -> tuple[int, int, int | None, str]:
    """How the home space is indexed, whatever its state."""
    info = store.index.info(HOME)
    return info.records, info.vectors, info.dimensions, info.search


@needs("records")
class _StoringSuite(Suite):
    def test_a_record_comes_back_as_stored(self, store: Backend) -> None:
        sent = record(
            "r",
            "words 中文 😀",
            kind="fact",
            time=datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC),
            metadata={"lc": 1, "deep": [{"": None}, True, 0.5, 2**63 - 1], "py/object": "x"},
            vector=[0.6, 0.8, 0.0],
        )
        store.index.upsert([sent])
        [got] = store.index.get(HOME, ["r"])
        assert (got.id, got.text, got.kind, got.time, got.metadata) == (
            "r",
            sent.text,
            "fact",
            sent.time,
            sent.metadata,
        )
        assert got.space == HOME
        assert got.vector is not None
        assert list(got.vector) == pytest.approx([0.6, 0.8, 0.0], abs=1e-3)
        assert store.index.scan(HOME).items == [got]
        store.index.upsert([got])
        assert store.index.get(HOME, ["r"]) == [got]

    def test_a_vector_is_kept_as_a_direction(self, store: Backend) -> None:
        store.index.upsert([record("big", vector=[3e200, 4e200]), record("small", vector=[3e-200, 4e-200])])
        big, small = store.index.get(HOME, ["big", "small"])
        for got in (big, small):
            assert got.vector is not None
            assert list(got.vector) == pytest.approx([0.6, 0.8], abs=1e-3)

    def test_a_record_with_the_same_id_takes_the_place(self, store: Backend) -> None:
        store.index.upsert([record("a", "old words", vector=[1, 0]), record("b", "b", vector=[0, 1])])
        store.index.upsert([record("a", "new text", metadata={"n": 2})])
        assert [(r.id, r.text, r.vector is None) for r in store.index.scan(HOME).items] == [
            ("a", "new text", True),
            ("b", "b", False),
        ]
        assert store.index.match(HOME, "old words") == []
        assert ids_of(store.index.match(HOME, "new")) == ["a"]
        assert ids_of(store.index.near(HOME, [1, 0])) == ["b"]
        assert counts(store) == (2, 1, 2, "exact")

    def test_the_last_of_one_id_in_one_call_counts(self, store: Backend) -> None:
        store.index.upsert([record("a", "first", vector=[1, 0, 0]), record("a", "last", vector=[0, 1])])
        assert [r.text for r in store.index.scan(HOME).items] == ["last"]
        assert store.index.info(HOME).dimensions == 2

    def test_an_upsert_is_all_or_nothing(self, store: Backend) -> None:
        store.index.upsert([record("a", "a", vector=[1, 0])])
        with pytest.raises(InvalidInput, match="3 dimensions"):
            store.index.upsert([record("b", "b", vector=[0, 1]), record("c", "c", vector=[1, 2, 3])])
        with pytest.raises(InvalidInput, match="dimensions"):
            store.index.upsert([record("b", space=AWAY, vector=[1]), record("c", vector=[1, 2, 3])])
        with pytest.raises(InvalidInput):
            store.index.upsert([record("x", space=AWAY, vector=[1]), record("y", space=AWAY, vector=[1, 2])])
        assert [r.id for r in store.index.scan(HOME).items] == ["a"]
        assert store.index.scan(AWAY).items == store.index.match(HOME, "b c") == []
        store.index.upsert([])

    def test_spaces_may_have_vectors_of_other_sizes(self, store: Backend) -> None:
        store.index.upsert([record("a", vector=[1, 0]), record("a", space=AWAY, vector=[1, 0, 0])])
        assert (store.index.info(HOME).dimensions, store.index.info(AWAY).dimensions) == (2, 3)

    def test_an_emptied_space_takes_any_size(self, store: Backend) -> None:
        store.index.upsert([record("a", vector=[1, 0]), record("b")])
        store.index.near(HOME, [1, 0])
        store.index.delete(HOME, ["a"])
        assert counts(store) == (1, 0, None, "exact")
        assert store.index.near(HOME, [1, 2, 3]) == []
        store.index.upsert([record("c", vector=[0, 0, 1])])
        assert ids_of(store.index.near(HOME, [1, 2, 3])) == ["c"]

    def test_get_answers_in_the_order_asked(self, store: Backend) -> None:
        store.index.upsert([record(id_) for id_ in "abc"])
        assert [r.id for r in store.index.get(HOME, ["c", "no", "a", "c"])] == ["c", "a", "c"]
        assert store.index.get(HOME, []) == store.index.get(AWAY, ["a"]) == []

    def test_deleting_drops_words_and_vectors(self, store: Backend) -> None:
        store.index.upsert([record(id_, f"{id_} word", vector=[1, 0]) for id_ in ("one", "two", "three")])
        store.index.near(HOME, [1, 0])
        assert store.index.delete(HOME, ["one", "one", "no"]) == 1
        assert store.index.delete(HOME, ["one"]) == store.index.delete(AWAY, ["two"]) == 0
        assert store.index.delete(HOME, []) == 0
        assert set(ids_of(store.index.match(HOME, "one word"))) == {"two", "three"}
        assert set(ids_of(store.index.near(HOME, [1, 0]))) == {"two", "three"}
        assert store.index.get(HOME, ["one"]) == []
        assert counts(store) == (2, 2, 2, "exact")

    def test_a_scan_goes_oldest_first_page_by_page(self, store: Backend) -> None:
        for id_ in "cab":
            store.index.upsert([record(id_, "first")])
        store.index.upsert([record("z"), record("a", "changed keeps its place")])
        store.index.delete(HOME, ["c"])
        store.index.upsert([record("c", "back at the end")])
        for limit in (1, 2, 4, 100):
            assert [r.id for r in all_pages(store.index.scan, HOME, limit=limit)] == ["a", "b", "z", "c"]
            newest = all_pages(store.index.scan, HOME, limit=limit, newest_first=True)
            assert [r.id for r in newest] == ["c", "z", "b", "a"]
        assert store.index.scan(HOME, limit=4).next is None
        assert store.index.scan(HOME, limit=4, newest_first=True).next is None
        chosen = all_pages(store.index.scan, HOME, limit=1, newest_first=True, where={"@id": {"$in": ["a", "z"]}})
        assert [r.id for r in chosen] == ["z", "a"]

    def test_a_page_goes_on_behind_what_was_deleted(self, store: Backend) -> None:
        store.index.upsert([record(id_) for id_ in "abcd"])
        page = store.index.scan(HOME, limit=2)
        store.index.delete(HOME, ["b"])
        assert [r.id for r in store.index.scan(HOME, limit=2, cursor=page.next).items] == ["c", "d"]

    def test_what_a_caller_does_later_does_not_reach_records(self, store: Backend) -> None:
        sent = record("a", metadata={"tags": ["x"]}, vector=[1, 0])
        store.index.upsert([sent])
        sent.metadata["tags"].append("y")
        store.index.get(HOME, ["a"])[0].metadata["tags"].append("z")
        store.index.scan(HOME).items[0].metadata.clear()
        store.index.near(HOME, [1, 0])[0].record.metadata.clear()
        assert store.index.get(HOME, ["a"])[0].metadata == {"tags": ["x"]}

    def test_an_unknown_space_is_empty(self, store: Backend) -> None:
        assert counts(store) == (0, 0, None, "exact")
        assert store.index.scan(HOME).items == store.index.near(HOME, [1, 2]) == store.index.match(HOME, "x") == []


@needs("records")
class _SearchingSuite(Suite):
    def test_near_orders_by_cosine(self, store: Backend) -> None:
        store.index.upsert(
            [
                record("same", vector=[1, 1]),
                record("opposite", vector=[-2, -2]),
                record("across", vector=[5, -5]),
                record("close", vector=[0, 1]),
                record("none", "without a vector"),
            ]
        )
        hits = store.index.near(HOME, [10, 10])
        assert ids_of(hits) == ["same", "close", "across", "opposite"]
        assert [hit.score for hit in hits] == pytest.approx([1, math.sqrt(0.5), 0, -1], abs=1e-3)
        assert ids_of(store.index.near(HOME, [10, 10], limit=2)) == ["same", "close"]

    def test_hits_come_without_their_vectors(self, store: Backend) -> None:
        store.index.upsert([record("a", "word", kind="fact", metadata={"n": 1}, vector=[1, 0])])
        [stored] = store.index.get(HOME, ["a"])
        for [hit] in (store.index.near(HOME, [1, 0]), store.index.match(HOME, "word")):
            assert hit.record == record("a", "word", kind="fact", time=stored.time, metadata={"n": 1})

    def test_near_follows_every_change(self, store: Backend) -> None:
        store.index.upsert([record(str(i), vector=[1, i]) for i in range(20)])
        assert ids_of(store.index.near(HOME, [1, 0], limit=1)) == ["0"]
        store.index.upsert([record("0", vector=[-1, 0]), record("new", vector=[1, 0.01])])
        assert ids_of(store.index.near(HOME, [1, 0], limit=2)) == ["new", "1"]
        store.index.delete(HOME, ["new", "1"])
        assert ids_of(store.index.near(HOME, [1, 0], limit=1)) == ["2"]
        for i in range(2, 18):
            store.index.delete(HOME, [str(i)])
        assert set(ids_of(store.index.near(HOME, [1, 0]))) == {"0", "18", "19"}

    def test_a_vector_of_another_size_is_refused(self, store: Backend) -> None:
        store.index.upsert([record("a", vector=[1, 0])])
        for bad in ([1], [1, 2, 3]):
            with pytest.raises(InvalidInput):
                store.index.near(HOME, bad)
        assert ids_of(store.index.near(HOME, as_vector([1, 1]))) == ["a"]

    def test_match_finds_by_words_of_any_language(self, store: Backend) -> None:
        store.index.upsert(
            [
                record("en", "Anna's cats were running"),
                record("zh", "我搬到北京了"),
                record("mixed", "GPT-4 在北京发布"),
                record("accent", "Café São Paulo"),
                record("empty", ""),
                record("away", "cats and 北京", space=AWAY),
            ]
        )
        assert ids_of(store.index.match(HOME, "cat runs")) == ["en"]
        assert set(ids_of(store.index.match(HOME, "北京"))) == {"zh", "mixed"}
        assert ids_of(store.index.match(HOME, "CAFE")) == ["accent"]
        assert ids_of(store.index.match(HOME, "gpt")) == ["mixed"]
        assert store.index.match(HOME, "东京 dogs") == []

    def test_the_best_match_comes_first(self, store: Backend) -> None:
        store.index.upsert(
            [
                record("once", "tea among many other words that make it longer"),
                record("often", "tea tea tea"),
                record("both", "tea and a rare samovar"),
                record("never", "coffee"),
            ]
        )
        hits = store.index.match(HOME, "tea samovar")
        assert ids_of(hits) == ["both", "often", "once"]
        assert all(hit.score > 0 for hit in hits)
        assert ids_of(store.index.match(HOME, "tea samovar", limit=1)) == ["both"]

    def test_scores_know_nothing_of_other_spaces(self, store: Backend) -> None:
        store.index.upsert([record("a", "rare word"), record("b", "word")])
        before = store.index.match(HOME, "rare word")
        store.index.upsert([record(str(i), "rare rare word " * i, space=AWAY) for i in range(20)])
        assert store.index.match(HOME, "rare word") == before

    def test_records_are_searched_by_any_text(self, store: Backend) -> None:
        store.index.upsert([record("w", "word"), record("n", "NEAR body"), record("z", "词语"), record("x", "1x2 😀")])
        for query in ODD_QUERIES:
            found = ids_of(store.index.match(HOME, query))
            assert set(found) <= {"w", "n", "z", "x"}
            assert ("w" in found) == ("word" in query)
        assert store.index.match(HOME, "?!") == []

    def test_every_search_takes_a_filter(self, store: Backend) -> None:
        store.index.upsert(
            [
                record(
                    str(i),
                    "word",
                    kind="even" if i % 2 == 0 else "odd",
                    time=datetime(2024, 1, 1 + i, tzinfo=UTC),
                    metadata={"n": i, "deep": {"m": str(i)}},
                    vector=[1, i],
                )
                for i in range(12)
            ]
        )
        filters: list[tuple[Any, set[int]]] = [
            ({"n": 3}, {3}),
            ({"n": {"$ge": 9}}, {9, 10, 11}),
            ({"@kind": "even", "n": {"$lt": 5}}, {0, 2, 4}),
            ({"@id": {"$in": ["7", "8", "x"]}}, {7, 8}),
            ({"@time": {"$gt": datetime(2024, 1, 11, tzinfo=UTC)}}, {11}),
            ({("deep", "m"): "6"}, {6}),
            ({"@text": {"$contains": "or"}, "n": {"$in": [1, 2]}}, {1, 2}),
            ({"@text": {"$contains": "OR"}}, set()),
            ({"@text": {"$contains": "%"}}, set()),
            ({"@text": {"$contains": "w_rd"}}, set()),
            ({"@kind": "EVEN"}, set()),
            ({"$not": {"n": {"$gt": 1}}}, {0, 1}),
            ({"missing": {"$exists": True}}, set()),
        ]
        for where, expected in filters:
            assert {int(r.id) for r in store.index.scan(HOME, where=where).items} == expected
            assert {int(id_) for id_ in ids_of(store.index.near(HOME, [1, 0], where=where))} == expected
            assert {int(id_) for id_ in ids_of(store.index.match(HOME, "words", where=where, limit=50))} == expected


@needs("records")
class _ChangesSuite(Suite):
    def test_a_cache_that_follows_the_changes_holds_what_the_store_holds(self, store: Backend) -> None:
        held: dict[int, Record] = {}
        state: int | None = None

        def follow() -> None:
            nonlocal state
            changes = store.index.changes(HOME, state)
            if changes.whole:
                held.clear()
            held.update(changes.records)
            for number in changes.gone:
                held.pop(number, None)
            state = changes.state

        steps = [
            lambda: store.index.upsert([record("a", "one", vector=[1, 0]), record("b", "two")]),
            lambda: store.index.upsert([record("b", "two again", vector=[0, 1]), record("x", space=AWAY)]),
            lambda: store.index.delete(HOME, ["a", "never"]),
            lambda: None,
            lambda: store.index.upsert([record("a", "back"), record("c")]),
            lambda: store.index.delete(HOME, ["a", "b", "c"]),
        ]
        follow()
        assert held == {}
        for step in steps:
            step()
            follow()
            assert sorted(held.values(), key=lambda one: one.id) == store.index.get(HOME, ["a", "b", "c"])

    def test_no_change_is_no_news(self, store: Backend) -> None:
        store.index.upsert([record("a")])
        state = store.index.changes(HOME).state
        store.index.upsert([record("x", space=AWAY)])
        again = store.index.changes(HOME, state)
        assert (again.state, again.whole, again.records, again.gone) == (state, False, [], [])

    def test_a_state_that_cannot_be_known_gives_everything(self, store: Backend) -> None:
        store.index.upsert([record("a"), record("b")])
        for since in (None, -1, 10**9):
            changes = store.index.changes(HOME, since)
            assert changes.whole
            assert [one.id for _, one in changes.records] == ["a", "b"]

    def test_records_are_read_by_their_numbers(self, store: Backend) -> None:
        store.index.upsert([record("a", "one", vector=[1, 0]), record("b", "two"), record("gone")])
        numbers = {one.id: number for number, one in store.index.changes(HOME).records}
        store.index.delete(HOME, ["gone"])
        asked = {id_: numbers[id_] for id_ in ("b", "gone", "a")}
        found = store.index.numbered(HOME, asked)
        assert [(one.id, one.text) for one in found] == [("b", "two"), ("a", "one")]
        assert dict(store.index.metadata(HOME)) == {numbers[id_]: {} for id_ in ("a", "b")}
        assert store.index.metadata_of(HOME, ["b", "nothing", "b"]) == {"b": {}}
        assert store.index.metadata_of(HOME, []) == {}
        assert store.index.numbered(HOME, {}) == store.index.numbered(AWAY, asked) == []

    def test_pieces_are_the_whole_space(self, store: Backend) -> None:
        for count in (0, 3):
            store.index.upsert([record(f"r{number}", vector=[1, number]) for number in range(count)])
            first, *others = store.index.pieces(HOME)
            whole = store.index.changes(HOME)
            assert (first.whole, first.state) == (True, whole.state)
            assert not any(piece.whole for piece in others)
            assert [one for piece in (first, *others) for one in piece.records] == list(whole.records)

    def test_a_cache_that_is_kept_goes_when_a_record_is_deleted(self, store: Backend) -> None:
        store.index.upsert([record("a"), record("b")])
        state = store.index.changes(HOME).state
        assert state is not None
        kept = store.index.keep_cache(HOME, state, [b"derived ", memoryview(b"from a and b")])
        found = store.index.kept_cache(HOME)
        assert kept == (found is not None)
        if found is not None:
            assert (found.state, bytes(found.data)) == (state, b"derived from a and b")
        assert store.index.kept_cache(AWAY) is None
        store.index.delete(HOME, ["a"])
        store.scrub()
        assert store.index.kept_cache(HOME) is None
        assert not store.index.keep_cache(HOME, state, [b"derived from a and b"])

    @needs("transactions")
    def test_a_state_inside_a_transaction_is_not_to_be_kept(self, store: Backend) -> None:
        store.index.upsert([record("a")])
        with store.transaction():
            store.index.upsert([record("b")])
            inside = store.index.changes(HOME)
        assert inside.state is None
        assert [one.id for _, one in inside.records] == ["a", "b"]


class RecordIndexSuite(_StoringSuite, _SearchingSuite, _ChangesSuite):
    """All that a ``RecordIndex`` promises."""
