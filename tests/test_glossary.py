"""One noun, one meaning, and plain words: no class name is defined twice, and retired words do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "memwell"

SAME_MEANING = {
    # Each backend has its own.
    "Address", "Connections", "Server", "Session", "Transaction",
    # Public under both names: what was recalled, as a value and as a strategy; what can recall, for two callers.
    "Recalled", "Recaller",
    # memwell as the ``BaseStore`` of LangChain and as that of LangGraph.
    "MemwellStore",
}  # fmt: skip
"""Class names that are defined in several modules on purpose."""

RETIRED = re.compile(
    r"\b(?:anew|beside|makers|mend|mended|mending|mends|nobody|owed|owes|owing|reminder|reminders|sieve|somebody|told"
    r"|unwritten|whoever|so many)\b",
    re.IGNORECASE,
)
"""Words with a plainer one: pending, repair, embedders, filter, read-only view, notified, …: see docs/glossary.md."""

COMMENT = re.compile(r"(?:^|  )# .*$", re.MULTILINE)
WORDS = re.compile("[A-Z]?[a-z]+|[A-Z]+")


@cache
def modules() -> list[tuple[str, str, ast.Module]]:
    """The name of every module, from the package on, with its source and its tree."""
    found: list[tuple[str, str, ast.Module]] = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        found.append((path.relative_to(SOURCE).with_suffix("").as_posix(), source, ast.parse(source)))
    return found


def defined_twice() -> dict[str, list[str]]:
    """Public class names that several modules outside ``compat`` define, with these modules."""
    found: dict[str, list[str]] = {}
    for module, _, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not module.startswith("compat/"):
                found.setdefault(node.name, []).append(module)
    return {name: where for name, where in found.items() if len(where) > 1}


def prose(source: str, tree: ast.Module) -> Iterator[str]:
    """The comments, docstrings and names of a module; names split into their words."""
    yield from COMMENT.findall(source)
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield " ".join(WORDS.findall(name))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield " ".join(WORDS.findall(name))
            case _:
                pass


def retired_words() -> Iterator[str]:
    """Where each retired word is."""
    for module, source, tree in modules():
        for found in RETIRED.findall("\n".join(prose(source, tree))):
            yield f"{module}.py: {found}"


def test_a_class_name_has_one_meaning():
    twice = defined_twice()
    new = {name: where for name, where in twice.items() if name not in SAME_MEANING}
    assert new == {}, "rename one of them, or the reader must guess which is meant"
    assert SAME_MEANING - twice.keys() == set(), "no longer defined twice: take them off the list"


def test_retired_words_do_not_come_back():
    assert list(retired_words()) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""What is owed."""', {"owed"}), ("x = 1  # Whoever reads it", {"Whoever"}),
        ("def told_of(): ...", {"told"}), ("class MendedThing: ...", {"Mended"}),
        ('message = "nobody is told"', set[str]()),
    ],
)  # fmt: skip
def test_words_are_found_in_docstrings_comments_and_names(source: str, expected: set[str]):
    assert set(RETIRED.findall("\n".join(prose(source, ast.parse(source))))) == expected
