from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

import pytest

from tests.changed import ROOT, changed_files, python_of, suites_of


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a source, its test, a test that imports another source, and a page."""
    files = {
        "src/memwell/records.py": "", "src/memwell/storage/sqlite/__init__.py": "",
        "src/memwell/storage/arguments.py": "", "src/memwell/storage/sqlite/words.py": "", "tests/test_records.py": "",
        "tests/storage/test_sqlite.py": "from memwell.storage import arguments, urls\n",
        "tests/storage/test_urls.py": "from memwell.storage.urls import as_url\n", "tests/test_documentation.py": "",
        "docs/page.md": "",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def suites(clone: Path) -> list[str]:
    return [str(path) for path in suites_of(changed_files(clone), clone)]


def test_without_a_change_there_is_nothing_to_test(clone: Path):
    assert changed_files(clone) == []
    assert suites(clone) == []


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/memwell/records.py", ["tests/test_records.py"]),
        ("src/memwell/storage/sqlite/__init__.py", ["tests/storage/test_sqlite.py"]),
        ("src/memwell/storage/arguments.py", ["tests/storage/test_sqlite.py"]),
        ("src/memwell/new.py", []),
        ("src/memwell/storage/sqlite/words.py", ["tests/storage/test_sqlite.py"]),
        ("src/memwell/storage/new.py", ["tests/storage/test_sqlite.py", "tests/storage/test_urls.py"]),
        ("src/memwell/storage/page.css", ["tests/storage/test_sqlite.py", "tests/storage/test_urls.py"]),
        ("tests/storage/test_urls.py", ["tests/storage/test_urls.py"]),
        ("docs/page.md", ["tests/test_documentation.py"]),
    ],
)
def test_a_changed_or_new_file_has_the_tests_named_after_it_or_the_nearest(clone: Path, changed: str, tests: list[str]):
    (clone / changed).write_text("changed = True\n")
    assert changed_files(clone) == [PurePosixPath(changed)]
    assert suites(clone) == tests


def test_a_removed_file_and_a_folder_without_repository_are_no_error(
    clone: Path, tmp_path_factory: pytest.TempPathFactory
):
    (clone / "src/memwell/records.py").unlink()
    assert changed_files(clone) == []
    assert changed_files(tmp_path_factory.mktemp("plain")) == []


def test_only_python_is_checked_for_types():
    assert python_of(map(PurePosixPath, ("src/a.py", "tests/b.py", "benchmarks/c.py", "docs/d.md"))) == [
        PurePosixPath("src/a.py"),
        PurePosixPath("tests/b.py"),
    ]
    assert (ROOT / "pyproject.toml").is_file()
