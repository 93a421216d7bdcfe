"""A URL names a store; what names none is told what would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.settings import Settings
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import open_backend
from memwell.storage.sqlite import SqliteBackend
from tests.ports import closed_port


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
    for name in (Path("one.db"), "two.db", "sqlite:three.db", "~/four.db", "sqlite:~/five.db", "b.db"):
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


def test_a_store_of_several_parts_is_opened_from_one_url(tmp_path: Path):
    url = f"sqlite:{tmp_path}/a.db,index=sqlite:{tmp_path}/v.db,blobs=files:{tmp_path}/bytes"
    with open_backend(url) as backend:
        parts = backend.facts()["parts"]
        assert backend.durable
    assert {name: part["place"] for name, part in parts.items()} == {
        "home": f"sqlite:{tmp_path}/a.db",
        "index": f"sqlite:{tmp_path}/v.db",
        "blobs": f"files:{tmp_path}/bytes",
    }


def test_the_settings_name_parts_too_and_the_url_wins(tmp_path: Path):
    chosen = Settings(blobs_url=f"files:{tmp_path}/settings", index_url="memory:")
    for url in (tmp_path / "a.db", str(tmp_path / "a.db"), f"{tmp_path}/b.db,blobs=files:{tmp_path}/url"):
        with open_backend(url, settings=chosen) as backend:
            places = {name: part["place"] for name, part in backend.facts()["parts"].items()}
        assert places["index"] == "memory:"
        assert places["blobs"] == f"files:{tmp_path}/{'url' if 'url' in str(url) else 'settings'}"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("sqlite:s.db,blob=files:media", "'blob'"),
        ("s.db,logs=redis://h:1", "'logs'"),
        ("s.db,blobs=files:media,Log=redis://h:1", "'Log'"),
        ("s.db, log=redis://h:1", "' log'"),
        ("postgresql://u:pass,secret=x@host/db", ""),
    ],
)
def test_a_misspelt_part_is_no_file_name(url: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as raised:
        open_backend(url)
    assert f"unknown part {word}".rstrip() + "; parts are log, kv, index, blobs" in str(raised.value)
    assert "pathlib.Path" in str(raised.value)
    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_path_with_something_like_a_part_is_given_as_a_path(tmp_path: Path):
    with open_backend(tmp_path / "s.db,blob=x"):
        assert (tmp_path / "s.db,blob=x").exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("milvus:vectors.db", "sqlite:memwell.db,index=milvus:vectors.db"),
        ("milvus://u:secret@host", "searches for a store"),
        ("a.db,log=sqlite:b.db", "home store or in Redis"),
        ("a.db,kv=postgresql://u:secret@h/d", "home store or in Redis"),
        ("redis://u:secret@h,index=milvus:v.db", "home in SQLite or PostgreSQL"),
        ("a.db,index=milvus:v.db,index=memory:", "index twice"),
        ("a.db,blobs=", "nothing"),
        ("a.db,blobs=milvus:v.db", "files:path"),
        ("a.db,blobs=ftp://u:secret@h", "files:path"),
        ("a.db,index=faiss:x", "milvus:path.db"),
        ("mysql://u:secret@host/db", "unknown kind"),
        ("mysql://host/db?password=secret", "unknown kind"),
        ("mysql://secret@host/db", "unknown kind"),
        (",index=memory:", "path of a file"),
    ],
)
def test_what_cannot_be_composed_is_told_so_without_secrets(
    url: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as raised:
        open_backend(url)
    assert says in str(raised.value)
    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [
        ("postgresql://h/d", "psycopg", "postgres"),
        ("redis://h", "redis", "redis"),
        ("a.db,log=redis://h", "redis", "redis"),
        ("a.db,index=milvus:v.db", "pymilvus", "milvus"),
    ],
)
def test_a_driver_that_is_missing_is_named_with_its_extra(url: str, module: str, extra: str, tmp_path: Path):
    code = f"""if True:
        import sys
        sys.modules[{module!r}] = None
        from memwell.errors import MissingDependency
        from memwell.storage.registry import open_backend
        try:
            open_backend({url!r})
        except MissingDependency as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f'{module}, which is not installed: pip install "memwell[{extra}]"' in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_is_away_is_named_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # One that restarts would be waited for.
    monkeypatch.setattr("memwell.storage.redis.servers._RESTARTING_S", 0.1)
    with closed_port() as port, pytest.raises(BackendUnavailable) as raised:
        open_backend(f"{tmp_path}/a.db,log=redis://u:secret@127.0.0.1:{port}")
    assert f"the log at redis://u:***@127.0.0.1:{port} is unavailable" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_driver_is_loaded_only_when_it_is_used():
    code = """if True:
        import sys
        from memwell.storage.registry import open_backend
        open_backend('memory:')
        print('apsw' in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
