"""The tests that a page names beside what it promises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path


def named_on(page: str) -> list[tuple[str, str]]:
    """The file and the name of each test that stands in the last column of a table of the page."""
    return re.findall(r"^\| .* \| `([\w/]+\.py)::([\w:]+)` \|$", page, re.MULTILINE)


def missing_in(folder: Path, named: Iterable[tuple[str, str]]) -> list[str]:
    """Those of the tests that the files in the folder do not have."""
    files = {file for file, _ in named}
    defined = {file: names_in(ast.parse((folder / file).read_text(encoding="utf-8"))) for file in files}
    return [f"{file}::{name}" for file, name in named if name not in defined[file]]


def names_in(tree: ast.AST) -> set[str]:
    """The functions and classes in it: also those of a class, as ``Class::function``."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names |= {node.name, *(f"{node.name}::{inner}" for inner in names_in(node))}
    return names
