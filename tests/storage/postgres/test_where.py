"""Filters pushed down to jsonb: nothing of a filter enters a statement, and numbers agree to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given

from memwell.filters import Filter, Where, holds
from memwell.records import Record, Space
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.where import ENTRY, RECORD, compiled
from memwell.testing.strategies import filters
from tests.engines.postgres import open_store

HOME = Space("home")
NUMBERS = (
    0, -0.0, 0.1, 1, 1.0, 5e-324, -5e-324, 2**53, 2.0**53, 2**53 + 1, 2.0**53 + 2, 2**63 - 1, 2.0**63, -(2.0**63),
)  # fmt: skip
LARGE = (*NUMBERS, 1e16, 1e300, -1e300, 1.7976931348623157e308, 1.152921504606847e18, 1152921504606846976)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresBackend]:
    with open_store(tmp_path_factory.mktemp("where")) as backend:
        yield backend


def found(store: PostgresBackend, where: Filter) -> list[str]:
    return [record.id for record in store.index.scan(HOME, where=where, limit=1000).items]


def kept(store: PostgresBackend, documents: list[dict[str, Any]]) -> list[Record]:
    store.index.delete(HOME, [record.id for record in store.index.scan(HOME, limit=1000).items])
    records = [Record(id=str(n), text="", space=HOME, metadata=one) for n, one in enumerate(documents)]
    store.index.upsert(records)
    return records


@pytest.mark.parametrize("operator", ["eq", "ne", "lt", "le", "gt", "ge", "contains"])
def test_numbers_are_compared_as_python_compares_them(store: PostgresBackend, operator: str):
    records = kept(store, [{"n": [number, number] if operator == "contains" else number} for number in LARGE])
    for number in LARGE:
        where = Where("n", operator, number)
        assert found(store, where) == [one.id for one in records if holds(where, one)], where
    assert [record.metadata for record in store.index.scan(HOME).items] == [one.metadata for one in records]


@given(filters())
def test_nothing_of_a_filter_is_spliced_into_the_statement(where: Filter):
    for target in (RECORD, ENTRY):
        condition = compiled(where, target)
        assert condition.sql.count("%s") == len(condition.bindings)
        # What is left without the places of values is made of our own words alone.
        assert condition.sql.replace("%s", "").isascii()
        assert "%" not in condition.sql.replace("%s", "")


def test_what_is_given_back_is_what_was_stored(store: PostgresBackend):
    metadata = {"z": 1, "a": -0.0, "m": 1e22, "deep": {"b": [1.0, 1]}}
    kept(store, [metadata])
    [record] = store.index.scan(HOME).items
    assert msgspec.json.encode(record.metadata) == msgspec.json.encode(metadata)
