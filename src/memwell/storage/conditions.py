"""Filters as SQL, the part that every dialect shares: the tree is walked here; what becomes of a field is the dialect's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from memwell.filters import AllOf, AnyOf, Filter, Not, Where


class Condition(NamedTuple):
    """A piece of SQL that is true or false (never NULL) and the values it binds."""

    sql: str
    bindings: tuple[Any, ...]


class Subject(NamedTuple):
    """What a filter is asked about: the SQL of its attributes by name, and of its JSON object."""

    attributes: dict[str, str]
    document: str


ORDER = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}

OfAttribute: TypeAlias = Callable[[Where, str], Condition]
OfDocument: TypeAlias = Callable[[Where, tuple[str, ...], str], Condition]


class Dialect(NamedTuple):
    """How a SQL says *always* and *never*, and what it makes of a field: a column, or a path into a document."""

    always: Condition
    never: Condition
    of_attribute: OfAttribute
    of_document: OfDocument

    def compiled(self, node: Filter | None, subject: Subject) -> Condition:
        """The filter as SQL. It agrees with the reference evaluator in ``memwell.filters`` on every row."""
        if node is None:
            return self.always
        if isinstance(node, AllOf | AnyOf):
            members = [self.compiled(member, subject) for member in node.filters]
            if not members:
                return self.always if isinstance(node, AllOf) else self.never
            return joined(" AND " if isinstance(node, AllOf) else " OR ", members)
        if isinstance(node, Not):
            return _negated(self.compiled(node.filter, subject))
        return self._where(node, subject)

    def _where(self, node: Where, subject: Subject) -> Condition:
        if node.operator == "ne":
            return _negated(self._where(Where(node.field, "eq", node.value), subject))
        if node.operator == "exists" and not node.value:
            return _negated(self._where(Where(node.field, "exists", True), subject))
        if isinstance(node.field, str) and node.field.startswith("@"):
            column = subject.attributes.get(node.field)
            return self.never if column is None else self.of_attribute(node, column)
        path = (node.field,) if isinstance(node.field, str) else node.field
        return self.of_document(node, path, subject.document)


def joined(word: str, members: Sequence[Condition]) -> Condition:
    """Conditions with ``AND`` or ``OR`` between them."""
    sql = word.join(member.sql for member in members)
    return Condition(f"({sql})", tuple(value for member in members for value in member.bindings))


def _negated(condition: Condition) -> Condition:
    return Condition(f"(NOT {condition.sql})", condition.bindings)
