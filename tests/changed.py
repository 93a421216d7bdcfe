"""What was changed since the last commit, and the tests of it, for ``make check``.

python -m tests.changed sources    the changed Python files
python -m tests.changed tests      ``--whole FILE`` for each file that tests them: the one named after a source, or those
                                   that import it
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
_SOURCES = PurePosixPath("src/memwell")
_TESTS = PurePosixPath("tests")


def changed_files(root: Path = ROOT) -> list[PurePosixPath]:
    """The files that differ from the last commit and are still there; none where there is no repository."""
    commands = (["diff", "--name-only", "-z", "HEAD"], ["ls-files", "--others", "--exclude-standard", "-z"])
    names: set[str] = set()
    for command in commands:
        ended = subprocess.run(["git", *command], cwd=root, capture_output=True, check=False)
        names.update(ended.stdout.decode(errors="surrogateescape").split("\0") if ended.returncode == 0 else ())
    return sorted(PurePosixPath(name) for name in names if name and (root / name).is_file())


def python_of(changed: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """The changed files that are checked for types."""
    return [path for path in changed if path.suffix == ".py" and path.parts[0] in ("src", "tests")]


def suites_of(changed: Iterable[PurePosixPath], root: Path = ROOT) -> list[PurePosixPath]:
    """The test files of changed files."""
    found: set[PurePosixPath] = set()
    for path in python_of(changed):
        if path.is_relative_to(_TESTS):
            found.update([path] if path.name.startswith("test_") else _importing(path, root))
        else:
            found.update(_named_after(path, root) or _importing(path.relative_to("src"), root))
    return sorted(found)


def _named_after(source: PurePosixPath, root: Path) -> list[PurePosixPath]:
    noun = source.parent.name if source.name == "__init__.py" else source.stem.lstrip("_")
    folder = source.parent.parent if source.name == "__init__.py" else source.parent
    if not folder.is_relative_to(_SOURCES):
        return []
    test = _TESTS / folder.relative_to(_SOURCES) / f"test_{noun}.py"
    return [test] if (root / test).is_file() else []


def _importing(module: PurePosixPath, root: Path) -> list[PurePosixPath]:
    """The test files that import a module, given by its path."""
    dotted = ".".join(module.with_suffix("").parts).removesuffix(".__init__")
    package, _, name = dotted.rpartition(".")
    imports = re.compile(
        rf"^\s*(?:from {re.escape(dotted)} import|import {re.escape(dotted)}\b"
        rf"|from {re.escape(package)} import .*\b{re.escape(name)}\b)",
        re.MULTILINE,
    )
    files = (root / _TESTS).rglob("test_*.py")
    return [
        PurePosixPath(file.relative_to(root).as_posix()) for file in files if imports.search(file.read_text("utf-8"))
    ]


def main(what: str) -> None:
    """Print what is asked for, separated by spaces."""
    changed = changed_files()
    print(*(python_of(changed) if what == "sources" else (f"--whole {path}" for path in suites_of(changed))))


if __name__ == "__main__":
    main(*sys.argv[1:])
