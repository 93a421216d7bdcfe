"""What a user may import is what ``__all__`` says: no more, no less, and cheap to load."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
FRONT_DOOR = ROOT / "src" / "memwell" / "__init__.py"

HEAVY = ("apsw", "bpe_openai", "numpy", "rich", "rs_bpe", "typer", "usearch")
"""What ``import memwell`` must not load: each is loaded when a store is opened, a text counted, a command run."""


@pytest.fixture(scope="module")
def front_door() -> ModuleType:
    if not FRONT_DOOR.is_file():
        pytest.fail(f"{FRONT_DOOR.relative_to(ROOT)} is missing: the package has no public surface")
    module = importlib.import_module("memwell")
    if not hasattr(module, "__all__"):
        pytest.fail("memwell defines no __all__: say there what is public")
    return module


def names_defined_for_others(tree: ast.AST) -> Iterator[str]:
    """The public names a module binds: its own definitions, and what it imports from the package itself.

    Names under ``if TYPE_CHECKING:`` count, because that is where a lazily loaded name is declared.
    """
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.ImportFrom(module=origin, level=level) if level or (origin or "").split(".")[0] == "memwell":
                names = [alias.asname or alias.name for alias in node.names]
            case ast.If() | ast.Try():
                names = list(names_defined_for_others(node))
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def modules_that_list_their_names() -> list[str]:
    package = FRONT_DOOR.parent
    names = [module.name for module in pkgutil.walk_packages([str(package)], prefix="memwell.")]
    return [name for name in names if not name.endswith("__main__") and "__all__" in source_of(name)]


def source_of(name: str) -> str:
    path = FRONT_DOOR.parent.joinpath(*name.split(".")[1:])
    # A folder that is left of a package which is a module now may be there.
    package = path / "__init__.py"
    file = package if package.is_file() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")


def test_all_is_sorted_and_without_repetition(front_door: ModuleType):
    listed = list(front_door.__all__)
    assert listed == sorted(set(listed))


def test_every_listed_name_can_be_imported(front_door: ModuleType):
    missing = [name for name in front_door.__all__ if not hasattr(front_door, name)]
    assert missing == []
    assert set(front_door.__all__) <= set(dir(front_door)), "a lazily loaded name must be in dir() too"


def test_all_lists_every_public_name(front_door: ModuleType):
    public = set(names_defined_for_others(ast.parse(FRONT_DOOR.read_text(encoding="utf-8"))))
    assert public == {name for name in front_door.__all__ if not name.startswith("_")}


def test_an_unknown_name_is_an_attribute_error(front_door: ModuleType):
    with pytest.raises(AttributeError, match="no_such_name"):
        front_door.no_such_name  # noqa: B018


def test_every_module_has_the_names_it_lists():
    # The libraries of some are in a folder of their own, where their own tests find them (see the Makefile).
    libraries = ("autogen", "crewai", "google_adk", "llama_index", "openai_agents", "pydantic_ai", "semantic_kernel")
    apart = {f"memwell.integrations.{name}" for name in libraries}
    names = [name for name in modules_that_list_their_names() if name not in apart]
    assert len(names) > 20
    missing = {name: unknown for name in names if (unknown := names_missing_in(importlib.import_module(name)))}
    assert missing == {}


def names_missing_in(module: ModuleType) -> list[str]:
    return [listed for listed in module.__all__ if not hasattr(module, listed)]


@pytest.mark.usefixtures("front_door")
def test_importing_the_package_loads_nothing_heavy():
    program = f"import json, sys, memwell; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == []


def test_the_version_is_the_project_s(front_door: ModuleType):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert front_door.__version__ == project["version"]


def test_public_names_are_found_wherever_they_are_bound():
    code = """
import sys
from typing import TYPE_CHECKING
from memwell.errors import MemwellError, InvalidInput as _hidden
from .records import Space
if TYPE_CHECKING:
    from memwell.history import History
LIMIT: int = 1
_private = 2
def open_backend(): ...
class Thing: ...
"""
    found = set(names_defined_for_others(ast.parse(code)))
    assert found == {"MemwellError", "Space", "History", "LIMIT", "open_backend", "Thing"}
