"""Hypothesis strategies for records, and for the questions that are asked about them.

Fields and values are drawn from small pools that questions and records share, so that a random filter finds something.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from hypothesis import strategies as st

from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.records import Record, Space
from memwell.testing.strategies import texts

KEYS: Final = ("a", "b", "A", "", '"', "'", "\\", "$.a", "[0]", "a.b", "@id", "$eq", "#", "é", "e\u0301", "😀", "a b")
"""Keys of metadata that mean something to a query language, and some that do not."""

SCALARS: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    0.1,
    0.30000000000000004,
    -0.0,
    1e16,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    9.223372036854775807e18,
    5e-324,
    1.7976931348623157e308,
    "",
    "a",
    "A",
    "b",
    "ab",
    "1",
    "true",
    "null",
    "{}",
    "[]",
    "é",
    "e\u0301",
    "中",
    "😀",
    "\uffee",
    "%",
    "_",
)
"""Values at the borders between kinds."""

SENTENCES: Final = (
    "Anna moved to Berlin in May",
    "Berlin is cold in winter",
    "the cats were running",
    "a cat runs",
    "gpt4 and GPT-4",
    "我搬到北京了",
    "北京的冬天很冷",
    "他在北京大学学习",
    "東京タワー",
    "Café São Paulo",
    "tea, tea and more tea",
    "tea",
    "",
    "😀 tea",
    "1x2 2x1",
    "foo_bar v1.2.3",
)

TIMES: Final = tuple(datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3))


def scalars() -> st.SearchStrategy[Any]:
    """JSON scalars: those at the borders, and any others."""
    anything = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | texts(max_size=5)
    return st.sampled_from(SCALARS) | anything


def findable_metadata() -> st.SearchStrategy[dict[str, Any]]:
    """Metadata whose keys and values a filter of ``filters`` is likely to name."""
    values = st.recursive(
        scalars(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2),
        max_leaves=4,
    )
    return st.dictionaries(st.sampled_from(KEYS), values, max_size=4)


def fields() -> st.SearchStrategy[str | tuple[str, ...]]:
    """Keys, paths and attributes."""
    keys = st.sampled_from(KEYS)
    attributes = st.sampled_from(("@id", "@kind", "@text", "@time"))
    return (
        keys.filter(lambda key: not key.startswith("@"))
        | attributes
        | st.lists(keys, min_size=1, max_size=3).map(tuple)
    )


def comparisons() -> st.SearchStrategy[Where]:
    """One comparison, by every operator."""
    compared = st.sampled_from(("eq", "ne", "gt", "ge", "lt", "le", "contains"))
    values = scalars() | st.sampled_from(TIMES) | st.sampled_from(SENTENCES)
    return (
        st.builds(Where, fields(), compared, values)
        | st.builds(Where, fields(), st.just("in"), st.lists(scalars(), max_size=3))
        | st.builds(Where, fields(), st.just("exists"), st.booleans())
    )


def filters() -> st.SearchStrategy[Filter]:
    """Whole trees."""

    def nested(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        several = st.lists(inner, max_size=3).map(tuple)
        return st.builds(AllOf, several) | st.builds(AnyOf, several) | st.builds(Not, inner)

    return st.recursive(comparisons(), nested, max_leaves=5)


def vectors(dimensions: int = 3) -> st.SearchStrategy[list[float]]:
    """Directions, among them some that are nearly the same."""
    numbers = st.sampled_from((-1.0, -0.5, 0.0, 0.001, 0.5, 1.0, 2.0)) | st.floats(-10, 10, width=32)
    found = st.lists(numbers, min_size=dimensions, max_size=dimensions)
    return found.filter(lambda vector: max(map(abs, vector)) > 1e-6)


def sentences() -> st.SearchStrategy[str]:
    """English, Chinese, mixed and odd texts that share words."""
    few = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3).map(" ".join)
    return few | texts(max_size=30)


def records(
    space: Space, ids: Sequence[str], *, dimensions: st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[Record]:
    """Records of a space with ids of these."""
    sizes = st.just(3) if dimensions is None else dimensions
    return st.builds(
        Record,
        space=st.just(space),
        id=st.sampled_from(ids),
        text=sentences(),
        kind=st.sampled_from(("memory", "fact", "a", "%")),
        time=st.sampled_from(TIMES) | st.datetimes(timezones=st.just(UTC)),
        metadata=findable_metadata(),
        vector=st.none() | sizes.flatmap(vectors),
    )


__all__ = [
    "KEYS",
    "SCALARS",
    "SENTENCES",
    "TIMES",
    "comparisons",
    "fields",
    "filters",
    "findable_metadata",
    "records",
    "scalars",
    "sentences",
    "vectors",
]
