"""The tree of errors is the one its docstring draws."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from memwell import errors
from memwell.errors import MemwellError

NAMES = [name for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, MemwellError)]


def drawn() -> dict[str, str]:
    """Each error of the drawing with its parent."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"    ([│├└─ ]*)([A-Z]\w+)(?:  |$)", line)
        if found:
            depth = len(found[1]) // 4
            path = [*path[:depth], found[2]]
            parents[found[2]] = path[-2] if depth else "Exception"
    return parents


def test_a_missing_package_is_named_with_the_command_for_clones_and_wheels():
    said = str(errors.MissingDependency.of("models over HTTP need httpx", "openai"))
    assert said.startswith('models over HTTP need httpx: pip install "path/to/memwell[openai]", ')


def test_memwell_is_installed_from_a_path_wherever_a_page_or_a_message_says_how():
    root = Path(__file__).resolve().parents[1]
    pages = [*root.glob("README*.md"), *root.glob("docs/**/*.md"), *root.glob("src/memwell/**/*.[pj][ys]")]
    command = re.compile(r"pip install (?:-\S+ )*[\"']?memwell\b(?!-)")
    assert [str(page) for page in pages if command.search(page.read_text(encoding="utf-8"))] == []


def test_the_drawing_is_the_tree():
    assert set(drawn()) == set(NAMES)
    for name, parent in drawn().items():
        assert getattr(errors, name).__bases__[0].__name__ == parent


def test_builtins_that_fit_are_bases_too():
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.NotFound, LookupError)
    assert issubclass(errors.NotGranted, PermissionError)


@pytest.mark.parametrize("name", NAMES)
def test_an_error_crosses_processes(name: str):
    error: MemwellError = getattr(errors, name)("said so")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(again) is type(error)
    assert str(again) == "said so"
