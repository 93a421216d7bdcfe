"""Filters as SQL: walks the filter; a dialect says how a field is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from memwell.filters import AllOf, AnyOf, Filter, Not, Where


class Condition(NamedTuple):
    """A piece of SQL that is true or false (never NULL) and the values it binds."""

    sql: str
    bindings: tuple[Any, ...]


class FilterTarget(NamedTuple):
    """The rows that a filter is for: the SQL of their attributes by name, and of their JSON object."""

    attributes: dict[str, str]
    document: str


ORDER = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}

OfAttribute: TypeAlias = Callable[[Where, str], Condition]
OfDocument: TypeAlias = Callable[[Where, tuple[str, ...], str], Condition]


class Dialect(NamedTuple):
    """The conditions *always* and *never* of a SQL dialect, and how it compares a column or a path in a JSON document."""

    always: Condition
    never: Condition
    of_attribute: OfAttribute
    of_document: OfDocument

    def compiled(self, node: Filter | None, target: FilterTarget) -> Condition:
        """The filter as SQL. It agrees with the reference evaluator in ``memwell.filters`` on every row."""
        if node is None:
            return self.always
        if isinstance(node, AllOf | AnyOf):
            members = [self.compiled(member, target) for member in node.filters]
            if not members:
                return self.always if isinstance(node, AllOf) else self.never
            return joined(" AND " if isinstance(node, AllOf) else " OR ", members)
        if isinstance(node, Not):
            return _negated(self.compiled(node.filter, target))
        return self._where(node, target)

    def _where(self, node: Where, target: FilterTarget) -> Condition:
        if node.operator == "ne":
            return _negated(self._where(Where(node.field, "eq", node.value), target))
        if node.operator == "exists" and not node.value:
            return _negated(self._where(Where(node.field, "exists", True), target))
        if isinstance(node.field, str) and node.field.startswith("@"):
            column = target.attributes.get(node.field)
            return self.never if column is None else self.of_attribute(node, column)
        path = (node.field,) if isinstance(node.field, str) else node.field
        return self.of_document(node, path, target.document)


def joined(word: str, members: Sequence[Condition]) -> Condition:
    """Conditions with ``AND`` or ``OR`` between them."""
    sql = word.join(member.sql for member in members)
    return Condition(f"({sql})", tuple(value for member in members for value in member.bindings))


def _negated(condition: Condition) -> Condition:
    return Condition(f"(NOT {condition.sql})", condition.bindings)
