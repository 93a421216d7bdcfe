"""A URL names a store; what names none is told what would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memwell.errors import BackendError, ConfigurationError
from memwell.settings import Settings
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import open_backend
from memwell.storage.sqlite import SqliteBackend


def test_memory_is_a_store_of_its_own_every_time():
    with open_backend("memory:") as one, open_backend("MEMORY:") as other:
        assert isinstance(one, MemoryBackend)
        assert isinstance(other, MemoryBackend)
        assert one is not other


@pytest.mark.parametrize("form", ["{}", "sqlite:{}", "SQLite:{}"])
def test_a_path_is_a_sqlite_file(tmp_path: Path, form: str):
    path = tmp_path / "store.db"
    with open_backend(form.format(path)) as backend:
        assert isinstance(backend, SqliteBackend)
        assert backend.path == path
    assert path.exists()


def test_a_path_may_be_a_path_and_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (Path("one.db"), "two.db", "sqlite:three.db", "~/four.db", "sqlite:~/five.db", "a:b.db"[2:]):
        open_backend(name).close()
    found = {file.name for file in tmp_path.iterdir()}
    assert {"one.db", "two.db", "three.db", "four.db", "five.db", "b.db"} <= found


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "known:"),
        ("   ", "known:"),
        (None, "known:"),
        (5, "known:"),
        ("mysql://host/db", "unknown kind 'mysql'"),
        ("memory:x", "nothing behind the colon"),
        ("sqlite:", "memory:"),
        ("sqlite::memory:", "memory:"),
        (":memory:", "memory:"),
        ("sqlite:///tmp/x.db", "without slashes"),
        ("sqlite://host/x.db", "without slashes"),
        ("a\x00b", "path of a file"),
        ("sqlite:" + "x" * 5000, "cannot be the file"),
        ("no/such/folder/x.db", "does not exist"),
    ],
)
def test_what_names_no_store_is_told_what_would(
    url: object, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as raised:
        open_backend(url)  # type: ignore[arg-type]
    assert says in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("x" * 5000)
    with pytest.raises(BackendError):
        open_backend(tmp_path / "notes.txt")


def test_settings_reach_the_store(tmp_path: Path):
    with open_backend(tmp_path / "store.db", settings=Settings(hnsw_above=7)) as backend:
        assert isinstance(backend, SqliteBackend)
        assert backend._index.vectors._cache.graph_above == 7


def test_a_driver_is_loaded_only_when_it_is_used():
    code = """if True:
        import sys
        from memwell.storage.registry import open_backend
        open_backend('memory:')
        print('apsw' in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
