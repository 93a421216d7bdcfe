"""The walk that the dialects share; that each agrees with the reference is theirs to show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwell.filters import AllOf, AnyOf, Filter, Not, Where, holds_for_value
from memwell.storage.conditions import Condition, Dialect, Subject, joined

ANY = Subject({"@id": "id"}, "document")


def said(truth: object) -> Condition:
    return Condition(str(bool(truth)), (truth,))


def dialect(value: dict[str, int]) -> Dialect:
    """SQL that is Python: a field is as it is in a value, so that the whole can be evaluated."""
    return Dialect(
        Condition("True", ()),
        Condition("False", ()),
        lambda node, column: said(False),
        lambda node, path, document: said(holds_for_value(node, "key", value)),
    )


def leaves() -> st.SearchStrategy[Filter]:
    fields = st.sampled_from(("a", "b"))
    return st.builds(Where, fields, st.sampled_from(("eq", "ne", "gt")), st.integers(0, 2)) | st.builds(
        Where, fields, st.just("exists"), st.booleans()
    )


def trees() -> st.SearchStrategy[Filter]:
    return st.recursive(
        leaves(),
        lambda inner: (
            st.lists(inner, max_size=3).map(lambda found: AllOf(tuple(found)))
            | st.lists(inner, max_size=3).map(lambda found: AnyOf(tuple(found)))
            | inner.map(Not)
        ),
        max_leaves=8,
    )


def truth(sql: str) -> bool:
    words = sql.replace("NOT", "not").replace("AND", "and").replace("OR", "or")
    assert set(words) <= set("TruealsFntdo ()"), words
    return bool(eval(words))  # noqa: S307 - nothing but True, False, not, and, or


@given(trees(), st.dictionaries(st.sampled_from(("a", "b")), st.integers(0, 2)))
def test_a_tree_is_as_true_as_the_reference_says(tree: Filter, value: dict[str, int]):
    assert truth(dialect(value).compiled(tree, ANY).sql) == holds_for_value(tree, "key", value)


def test_no_filter_is_always_and_an_unknown_attribute_never():
    made = dialect({})
    assert made.compiled(None, ANY).sql == "True"
    assert made.compiled(Where("@kind", "eq", "x"), ANY).sql == "False"


def test_bindings_keep_their_order():
    assert joined(" AND ", [Condition("? = ?", (1, 2)), Condition("?", (3,))]) == Condition("(? = ? AND ?)", (1, 2, 3))
