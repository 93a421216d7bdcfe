"""Filters: the grammar, the reference evaluator and its logic, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given

from memwell.errors import InvalidInput
from memwell.filters import AllOf, AnyOf, Filter, Not, Where, as_filter, as_mapping, holds, value_test
from memwell.records import Record, Space
from memwell.storage.protocols import Entry
from memwell.testing.strategies import comparisons, filters, findable_metadata, records

RECORDS = records(Space("x"), ("r0", "a", "%"))


def of(**metadata: Any) -> Record:
    return Record(id="one", kind="fact", text="the text", time=datetime(2024, 1, 2, tzinfo=UTC), metadata=metadata)


def matches(where: Any, record: Record) -> bool:
    built = as_filter(where)
    assert built is not None
    return holds(built, record)


@pytest.mark.parametrize(
    ("where", "metadata"),
    [
        ({"city": "Paris"}, {"city": "Paris"}), ({"n": 1}, {"n": 1.0}), ({"n": {"$gt": 1, "$le": 2}}, {"n": 2}),
        ({"n": {"$ge": 2}}, {"n": 2.0}), ({"n": {"$lt": "b"}}, {"n": "a"}), ({"n": {"$lt": "é"}}, {"n": "e\u0301"}),
        ({"n": None}, {"n": None}), ({"n": {"$ne": 1}}, {"n": True}), ({"n": {"$ne": 1}}, {}),
        ({"n": {"$in": [1, "x", None]}}, {"n": None}), ({"n": {"$exists": False}}, {}),
        ({"n": {"$exists": True}}, {"n": None}), ({"n": {"$contains": 1}}, {"n": [0, 1.0]}),
        ({"n": {"$contains": "b"}}, {"n": "abc"}), ({"n": {"$contains": ""}}, {"n": ""}),
        ({("a", "b"): 1}, {"a": {"b": 1}}), ({("@id",): 1}, {"@id": 1}), ({("a.b",): 1}, {"a.b": 1}),
        ({"$or": [{"n": 1}, {"n": 2}]}, {"n": 2}), ({"$and": [{"n": 1}, {"m": 2}]}, {"n": 1, "m": 2}),
        ({"n": 1, "m": 2}, {"n": 1, "m": 2}), ({"$not": {"n": {"$gt": 1}}}, {}), ({}, {}), ({"$and": []}, {}),
        ({"@id": "one", "@kind": "fact", "@text": {"$contains": "ext"}}, {}),
        ({"@time": datetime(2024, 1, 2, tzinfo=UTC)}, {}),
        ({"@time": {"$lt": datetime(2024, 1, 3)}}, {}),  # noqa: DTZ001 - without a zone it is UTC
        ({"@time": {"$in": [datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=1)))]}}, {}),
    ],
)  # fmt: skip
def test_a_filter_that_holds(where: dict[Any, Any], metadata: dict[str, Any]):
    assert matches(where, of(**metadata))
    assert not matches({"$not": where}, of(**metadata))


@pytest.mark.parametrize(
    ("where", "metadata"),
    [
        ({"n": 1}, {"n": True}), ({"n": True}, {"n": 1}), ({"n": "1"}, {"n": 1}), ({"n": None}, {}),
        ({"n": {"$gt": 1}}, {"n": "2"}), ({"n": {"$gt": 0}}, {"n": True}), ({"n": {"$le": None}}, {"n": None}),
        ({"n": {"$lt": 5}}, {}), ({"n": {"$in": []}}, {"n": 1}), ({"n": {"$contains": "a"}}, {"n": {"a": 1}}),
        ({"n": {"$contains": 1}}, {"n": "1"}), ({"a.b": 1}, {"a": {"b": 1}}), ({("a", "b"): 1}, {"a": [1]}),
        ({"$or": []}, {}), ({"@id": "ONE"}, {}), ({"n": 2**53}, {"n": 2**53 + 1}),
        ({"n": float(2**53)}, {"n": 2**53 + 1}),
    ],
)  # fmt: skip
def test_a_filter_that_does_not_hold(where: dict[Any, Any], metadata: dict[str, Any]):
    assert not matches(where, of(**metadata))


@given(filters(), filters(), RECORDS)
def test_logic_has_two_values(one: Filter, other: Filter, record: Record):
    a, b = holds(one, record), holds(other, record)
    assert holds(Not(one), record) is not a
    assert holds(AllOf((one, other)), record) is (a and b)
    assert holds(AnyOf((one, other)), record) is (a or b)
    assert holds(Not(AllOf((one, other))), record) is holds(AnyOf((Not(one), Not(other))), record)


@given(comparisons(), RECORDS)
def test_operators_go_together(where: Where, record: Record):
    if where.operator in ("in", "exists", "contains"):
        return

    def by(operator: str) -> bool:
        return holds(Where(where.field, operator, where.value), record)

    assert by("ne") is not by("eq")
    assert by("ge") is (by("gt") or (by("eq") and by("ge")))
    assert not (by("lt") and by("ge"))
    assert by("eq") is holds(Where(where.field, "in", [where.value]), record)
    if not holds(Where(where.field, "exists"), record):
        assert not any(by(operator) for operator in ("eq", "gt", "ge", "lt", "le"))


@given(filters(), findable_metadata())
def test_a_value_is_asked_like_metadata(where: Filter, metadata: dict[str, Any]):
    def mentions_attribute(node: Filter) -> bool:
        if isinstance(node, Where):
            return isinstance(node.field, str) and node.field.startswith("@") and node.field != "@id"
        return any(map(mentions_attribute, (node.filter,) if isinstance(node, Not) else node.filters))

    if not mentions_attribute(where):
        assert value_test(where)(Entry("k", metadata, 1)) is holds(where, Record(id="k", text="", metadata=metadata))
    assert value_test(Where("a", "exists"))(Entry("k", b"bytes", 1)) is False
    assert value_test(Where("@id", "eq", "k"))(Entry("k", b"bytes", 1)) is True


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"a": {"$regex": "x"}}, "unknown filter operator '$regex'"),
        ({"$nor": []}, "unknown filter operator '$nor'"), ({"@name": 1}, "unknown attribute '@name'"),
        ({"a": {"b": 1}}, "expected an operator"), ({"a": {"$exists": "yes"}}, "true or false"),
        ({"a": {"$in": 5}}, "takes a list"), ({"a": [1, 2]}, "compares with"), ({"a": float("inf")}, "finite"),
        ({("a",) * 33: 1}, "at most 32 keys"), ({"$or": [{("a",) * 30: n} for n in range(20)]}, "at most 256"),
        ("a = 1", "must be"),
        (AllOf("ab"), "filters"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_is_no_filter_is_refused(where: Any, says: str):
    with pytest.raises(InvalidInput) as raised:
        as_filter(where)
    assert says in str(raised.value)


def test_depth_and_size_have_limits():
    deep: Filter = Where("a", "eq", 1)
    for _ in range(32):
        deep = Not(deep)
    assert as_filter(deep) is deep
    with pytest.raises(InvalidInput, match="deep"):
        as_filter(Not(deep))
    assert as_filter(AnyOf(tuple(Where("a", "eq", n) for n in range(255))))
    with pytest.raises(InvalidInput, match="at most"):
        as_filter(AnyOf(tuple(Where("a", "eq", n) for n in range(256))))


def test_an_unknown_operator_is_named_as_it_was_written():
    with pytest.raises(InvalidInput, match=r"'\$foo'.*\$contains"):
        as_filter({"year": {"$foo": 1}})


@given(filters())
def test_any_filter_goes_to_a_mapping_and_back(node: Filter):
    again = as_filter(as_mapping(node))
    assert again is not None
    assert as_mapping(again) == as_mapping(node)


def test_a_time_may_be_written_out():
    record = of()
    for early, late in (("2024-01-01", "2024-01-03"), ("2024-01-01T23:59:00Z", "2024-01-02T02:00:00+01:00")):
        assert matches({"@time": {"$ge": early, "$lt": late}}, record)
        assert not matches({"@time": {"$lt": early}}, record)
    assert matches({"@time": {"$in": ["2024-01-02", "2024-02-02"]}}, record)
    assert not matches({"@time": {"$ge": "some day"}}, record)
