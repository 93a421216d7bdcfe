"""A URL names a store; what names none is told what would."""

from __future__ import annotations

import os
import string
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError
from memwell.records import DEFAULT_SPACE
from memwell.settings import Settings
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import close_shared, open_backend, shared_backend, without_secrets
from memwell.storage.sqlite import SqliteBackend
from tests.ports import closed_port

# URLs as they are shown: whoever reads one learns no password, whatever characters are in it.


MARK = "Tr0ub4dor"
"""Stands at the beginning, in the middle and at the end of each password, and nowhere else."""

_hostile = st.text(st.sampled_from("/#?@:,=& %[]'\"\\;\n·秘" + string.digits), max_size=8)
passwords = st.builds(lambda one, two: f"{MARK}{one}{MARK}{two}{MARK}", _hostile, _hostile)
hosts = st.sampled_from(["db", "db.example:5432", "[::1]:6379", "a:1,b:2", "127.0.0.1"])
schemes = st.sampled_from(["postgresql", "postgres", "redis", "rediss", "redis+cluster", "milvus", "http", "other"])
users = st.sampled_from(["", "memwell", "o'hara"])


@given(schemes, users, passwords, hosts)
def test_a_password_with_any_characters_is_not_shown(scheme: str, user: str, password: str, host: str):
    shown = without_secrets(f"{scheme}://{user}:{password}@{host}/name?schema=mine")
    assert MARK not in shown
    assert shown == f"{scheme}://{user}:***@{host}/name?schema=mine"
    # Without a colon it is a token, but for PostgreSQL, where it is a name.
    if not scheme.startswith("postgres"):
        assert MARK not in without_secrets(f" {scheme}://{password.replace(':', '')}@{host}/0")
    assert MARK not in without_secrets(f"{scheme}:{user}:{password}@{host}/0")


@given(schemes, users, passwords)
def test_a_password_is_not_shown_where_the_server_was_left_out(scheme: str, user: str, password: str):
    # Behind an @ stands the server's name, and nobody can tell that it is none.
    assert MARK not in without_secrets(f"{scheme}://{user}:{password.replace('@', '')}")


@given(schemes, hosts, passwords, st.sampled_from(["password", "PASSWORD", "sslpassword", "token", "api_key"]))
def test_a_password_in_the_query_is_not_shown(scheme: str, host: str, password: str, name: str):
    assert MARK not in without_secrets(f"{scheme}://{host}/name?{name}={password}")
    assert MARK not in without_secrets(f"{scheme}://me@{host}/name?a=b&{name}={password}&schema=mine")


@given(users, passwords, passwords)
def test_no_part_shows_its_password(user: str, first: str, second: str):
    shown = without_secrets(f"postgresql://{user}:{first}@db/name,log=redis://:{second}@cache,blobs=files:a@b")
    assert shown == f"postgresql://{user}:***@db/name,log=redis://:***@cache,blobs=files:a@b"


@pytest.mark.parametrize(
    "url",
    [
        "memwell.db",
        "memory:",
        "sqlite:a:b@c.db",
        "postgresql:///name",
        "postgresql://memwell@db/name",
        "postgresql://db:5432/name?schema=mine&sslmode=require",
        "postgresql://a:1,b:2/name",
        "redis://[::1]:6379/0",
        "redis+cluster://a:1,b:2,c:3",
        "sqlite:memwell.db,index=milvus:copy.db",
        "http://127.0.0.1:7411",
    ],
)
def test_what_has_no_secret_is_shown_as_it_is(url: str):
    assert without_secrets(url) == url


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
    assert f"the log at redis://u:***@127.0.0.1:{port} is away" in str(raised.value)
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


# What names the same store shares it; what is given stays the giver's.


def test_an_open_store_is_used_as_it_is():
    backend = MemoryBackend()
    assert shared_backend(backend) is backend


def test_one_file_is_one_store_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    names: list[Any] = [
        "app.db",
        "./app.db",
        "sqlite:app.db",
        "SQLite:app.db",
        tmp_path / "app.db",
        str(tmp_path / "sub" / ".." / "app.db"),
        f"sqlite:{tmp_path / 'app.db'}",
    ]
    assert len({id(shared_backend(name)) for name in names}) == 1
    assert shared_backend("other.db") is not shared_backend("app.db")


def test_a_store_of_several_parts_is_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: list[Any] = [
        "app.db,blobs=files:bytes,index=memory:",
        "sqlite:./app.db,index=memory:,blobs=files:bytes",
        f"{tmp_path / 'app.db'},blobs=files:bytes,index=memory:",
    ]
    assert len({id(shared_backend(name)) for name in names}) == 1
    assert shared_backend(names[0]) is not shared_backend("app.db,blobs=files:bytes")
    (tmp_path / "app.db").unlink()
    first = shared_backend(names[0])
    assert first is shared_backend(names[1]), "whoever deletes the file means a new one"
    first.kv.put(DEFAULT_SPACE, "key", 1)


def test_many_threads_open_one_store(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: shared_backend(tmp_path / "app.db"), range(16)))
    assert {id(one) for one in found} == {id(found[0])}


@pytest.mark.parametrize("wrong", ["", " ", "no-such-kind:x", "a\0b", 7, None])
def test_what_names_no_store_is_refused(wrong: Any):
    with pytest.raises(ConfigurationError):
        shared_backend(wrong)


def test_a_closed_store_is_opened_again_by_the_next_to_name_it(tmp_path: Path):
    first = shared_backend(tmp_path / "app.db")
    first.kv.put(DEFAULT_SPACE, "key", 1)
    close_shared()
    with pytest.raises(BackendError):
        first.kv.get(DEFAULT_SPACE, "key")
    again = shared_backend(tmp_path / "app.db").kv.get(DEFAULT_SPACE, "key")
    assert again is not None
    assert again.value == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_opens_a_store_of_its_own(tmp_path: Path):
    parent = shared_backend(tmp_path / "app.db")
    child = os.fork()
    if child == 0:
        os._exit(0 if shared_backend(tmp_path / "app.db") is not parent else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert shared_backend(tmp_path / "app.db") is parent
