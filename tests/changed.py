"""What was changed since the last commit, and the tests of it, for ``make check``.

python -m tests.changed sources    the changed Python files
python -m tests.changed tests      ``--whole FILE`` for each file that tests them: the one named after a source, or those
                                   that import it, or else those of its folder
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
    for path in changed:
        if path.suffix == ".md":
            found.update(_existing([_TESTS / "test_documentation.py"], root))
        elif path.name.startswith("test_") and path.is_relative_to(_TESTS):
            found.add(path)
        elif path.is_relative_to(_TESTS) and path.suffix == ".py":
            found.update(_importing(path, root))
        elif path.is_relative_to(_SOURCES):
            found.update(_named_after(path, root) or _importing(path.relative_to("src"), root) or _nearest(path, root))
    return sorted(found)


def _nearest(source: PurePosixPath, root: Path) -> list[PurePosixPath]:
    """The tests of the folder that a source is in, or of the nearest folder above that has some."""
    folder = source.parent.relative_to(_SOURCES)
    while folder.name:
        inside = [
            PurePosixPath(file.relative_to(root).as_posix()) for file in (root / _TESTS / folder).glob("test_*.py")
        ]
        found = inside + _existing([_TESTS / folder.parent / f"test_{folder.name}.py"], root)
        if found:
            return found
        folder = folder.parent
    return []


def _existing(paths: list[PurePosixPath], root: Path) -> list[PurePosixPath]:
    return [path for path in paths if (root / path).is_file()]


def _named_after(source: PurePosixPath, root: Path) -> list[PurePosixPath]:
    noun = source.parent.name if source.name == "__init__.py" else source.stem.lstrip("_")
    folder = source.parent.parent if source.name == "__init__.py" else source.parent
    if not folder.is_relative_to(_SOURCES):
        return []
    test = _TESTS / folder.relative_to(_SOURCES) / f"test_{noun}.py"
    return _existing([test], root)


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
