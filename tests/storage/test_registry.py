"""A URL names a store; what names none is told what would."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, ReadOnlyStore
from memwell.messages import human
from memwell.records import DEFAULT_SPACE, Record, Space, Thread
from memwell.runtime.transfer import move
from memwell.settings import Settings
from memwell.storage.arguments import REMEMBERED
from memwell.storage.composed import Part
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import check_parts, close_shared, forget_parts, open_backend, shared_backend
from memwell.storage.sqlite import SqliteBackend
from tests.commands import running
from tests.engines import milvus, postgres, redis
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
        ("", "known:"), ("   ", "known:"), (None, "known:"), (5, "known:"), ("mysql://host/db", "unknown kind 'mysql'"),
        ("memory:x", "nothing behind the colon"), ("sqlite:", "memory:"), ("sqlite::memory:", "memory:"),
        (":memory:", "memory:"), ("sqlite:///tmp/x.db", "without slashes"), ("sqlite://host/x.db", "without slashes"),
        ("a\x00b", "path of a file"), ("sqlite:" + "x" * 5000, "cannot be the file"),
        ("no/such/folder/x.db", "does not exist"),
    ],
)  # fmt: skip
def test_what_names_no_store_is_told_what_would(
    url: object, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as raised:
        open_backend(url)  # type: ignore[arg-type]
    assert says in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_settings_reach_the_store(tmp_path: Path):
    with open_backend(tmp_path / "store.db", settings=Settings(hnsw_above=7)) as backend:
        assert isinstance(backend, SqliteBackend)
        assert backend._index.vectors._cache.graph_above == 7


def test_the_settings_name_parts_too_and_the_url_wins(tmp_path: Path):
    server, other = redis.single_url(tmp_path), redis.single_url(tmp_path / "other")
    chosen = Settings(log_url=server, kv_url=server)
    for url, kv in ((tmp_path / "a.db", server), (f"{tmp_path}/a.db", server), (f"{tmp_path}/b.db,kv={other}", other)):
        with open_backend(url, settings=chosen) as backend:
            places = {name: part["place"] for name, part in backend.facts()["parts"].items()}
        assert (places["log"], places["kv"]) == (server, kv)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("sqlite:s.db,blobs=files:media", "'blobs'"),
        ("s.db,logs=redis://h:1", "'logs'"),
        ("s.db,index=milvus:v.db,Log=redis://h:1", "'Log'"),
        ("s.db, log=redis://h:1", "' log'"),
        ("postgresql://u:pass,secret=x@host/db", ""),
    ],
)
def test_a_misspelt_part_is_no_file_name(url: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as raised:
        open_backend(url)
    assert f"unknown part {word}".rstrip() + "; parts are log, kv, index" in str(raised.value)
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
        ("milvus://u:secret@host", "searches for a store"), ("a.db,log=sqlite:b.db", "home store or in Redis"),
        ("a.db,kv=postgresql://u:secret@h/d", "home store or in Redis"),
        ("redis://u:secret@h,index=milvus:v.db", "home in SQLite or PostgreSQL"),
        ("a.db,index=milvus:v.db,index=milvus:w.db", "index twice"), ("a.db,kv=", "nothing"),
        ("a.db,index=sqlite:b.db", "milvus:path.db"), ("a.db,index=ftp://u:secret@h", "milvus:path.db"),
        ("a.db,index=faiss:x", "milvus:path.db"), ("mysql://u:secret@host/db", "unknown kind"),
        ("mysql://host/db?password=secret", "unknown kind"), ("mysql://secret@host/db", "unknown kind"),
        (",index=milvus:v.db", "path of a file"),
    ],
)  # fmt: skip
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
    assert f'{module}, which is not installed: pip install "path/to/memwell[{extra}]"' in done.stdout
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


# A store of several parts is opened with its parts, or not at all.


HOME = Space("home")
TALK = Thread(HOME, "talk")
SAID = [human("Where is the tea?")]


@pytest.fixture
def urls(tmp_path: Path) -> tuple[str, str, str]:
    """A home, and the same with conversations and values in Redis, or with conversations alone."""
    home, server = f"sqlite:{tmp_path}/t.db", redis.single_url(tmp_path)
    return home, f"{home},log={server},kv={server}", f"{home},log={server}"


def refusal(url: str | Path, settings: Settings | None = None) -> str:
    with pytest.raises(ConfigurationError) as raised:
        open_backend(url, settings=settings)
    return str(raised.value)


def test_a_store_does_not_open_without_its_parts(urls: tuple[str, str, str], tmp_path: Path):
    home, whole, _ = urls
    with open_backend(whole) as store:
        store.log.append(TALK, SAID)
    for alone in (home, tmp_path / "t.db", f"{home},index={milvus.lite_url(tmp_path)}"):
        said = refusal(alone)
        assert "this store keeps its log and kv elsewhere" in said
        assert ",log=redis://" in said
    assert "this store keeps its kv elsewhere" in refusal(whole.rpartition(",kv=")[0])
    with open_backend(whole) as store:
        assert len(store.log.read(TALK)) == 1


def test_the_way_to_write_it_shows_no_secret(tmp_path: Path):
    with SqliteBackend(tmp_path / "t.db") as home, MemoryBackend() as other:
        check_parts(home, "t.db", {"log": Part(other, "redis://u:***@h")})
    assert "open it as t.db,log=redis://u:***@h (" in refusal("sqlite:" + str(tmp_path / "t.db")).replace(
        f"sqlite:{tmp_path}/", ""
    )


def test_a_part_of_another_store_is_noticed(urls: tuple[str, str, str], tmp_path: Path):
    _, whole, _ = urls
    open_backend(whole).close()
    other = redis.single_url(tmp_path / "other")
    said = refusal(whole.rpartition(",kv=")[0] + f",kv={other}")
    assert "the kv at " in said
    assert "is not the kv of this store: that was at redis://" in said


def test_a_part_that_lost_what_it_held_is_noticed(tmp_path: Path):
    with SqliteBackend(tmp_path / "t.db") as home, MemoryBackend() as part, MemoryBackend() as empty:
        check_parts(home, "t.db", {"kv": Part(part, "redis://here")})
        with pytest.raises(ConfigurationError, match="it is empty or was replaced"):
            check_parts(home, "t.db", {"kv": Part(empty, "redis://here")})
        # The same part in another place is known, and its new place is remembered.
        check_parts(home, "t.db", {"kv": Part(part, "redis://elsewhere")})
    assert ",kv=redis://elsewhere (" in refusal(tmp_path / "t.db")


def test_a_part_is_not_added_to_what_the_home_holds(urls: tuple[str, str, str], tmp_path: Path):
    home, whole, _ = urls
    with open_backend(home) as store:
        store.log.append(TALK, SAID)
        store.kv.put(HOME, "likes", "tea")
    assert "already holds conversations" in refusal(whole)
    said = refusal(f"{home},kv={whole.rpartition('=kv')[2].rpartition(',kv=')[2]}")
    assert "already holds values" in said
    assert f"memwell move {home} NEW,kv=redis://" in said
    assert "already holds values" in refusal(tmp_path / "t.db", Settings(kv_url=redis.single_url(tmp_path)))
    with open_backend(home) as store:
        assert len(store.log.read(TALK)) == 1


def test_parts_may_be_added_while_there_is_nothing_to_lose(urls: tuple[str, str, str], tmp_path: Path):
    home, whole, talk = urls
    with open_backend(home) as store:
        store.index.upsert([Record(id="r", text="tea", space=HOME, vector=[1.0, 2.0])])
    with open_backend(talk) as store:
        store.log.append(TALK, SAID)
    with open_backend(whole) as store:
        store.kv.put(HOME, "likes", "tea")
        assert store.check() == []
    assert "its kv elsewhere" in refusal(talk)
    open_backend(f"{whole},index={milvus.lite_url(tmp_path)}").close()
    open_backend(whole).close()


def test_the_notes_are_nobodys(urls: tuple[str, str, str]):
    with open_backend(urls[1]) as store:
        assert store.spaces().items == []
        assert store.check() == []


def test_a_store_that_never_had_parts_has_no_note(tmp_path: Path):
    for url in (f"{tmp_path}/t.db", f"{tmp_path}/t.db,index={milvus.lite_url(tmp_path)}"):
        with open_backend(url) as store:
            assert store.spaces().items == []
            assert store.kv.get(REMEMBERED, "parts") is None


def test_what_cannot_be_written_opens(tmp_path: Path):
    url = f"sqlite:{tmp_path}/t.db,log={redis.single_url(tmp_path)}"
    with SqliteBackend(tmp_path / "t.db") as home:
        home.kv.put(HOME, "likes", "tea")
        home.seal("for the test")
    with open_backend(url) as store:
        assert store.kv.get(HOME, "likes") is not None
    with SqliteBackend(tmp_path / "t.db") as home:
        assert home.kv.get(REMEMBERED, "parts") is None
        home.seal(None)
    open_backend(url).close()
    os.chmod(tmp_path / "t.db", 0o444)
    with open_backend(url) as store:
        assert store.kv.get(HOME, "likes") is not None
    assert "its log elsewhere" in refusal(tmp_path / "t.db")


def test_parts_are_forgotten_on_purpose(urls: tuple[str, str, str], tmp_path: Path):
    home, whole, _ = urls
    with open_backend(whole) as store:
        store.log.append(TALK, SAID)
    assert forget_parts(whole)
    assert not forget_parts(tmp_path / "t.db")
    with open_backend(home) as store:
        assert store.log.read(TALK) == []
    with open_backend(whole) as store:
        assert len(store.log.read(TALK)) == 1


def test_a_store_moves_into_parts_and_back(urls: tuple[str, str, str], tmp_path: Path):
    _, whole, _ = urls
    with open_backend(tmp_path / "old.db") as old, open_backend(whole) as parts:
        old.log.append(TALK, SAID)
        old.kv.put(HOME, "likes", "tea")
        old.blobs.put(HOME, b"picture")
        assert move(old, parts).checksum == move(old, parts).checksum
    with open_backend(whole) as parts, open_backend(tmp_path / "back.db") as back:
        moved = move(parts, back, seal=True)
        assert (moved.threads, moved.entries, moved.blobs, moved.spaces) == (1, 1, 1, 1)
        assert back.kv.get(REMEMBERED, "parts") is None
    with open_backend(whole) as parts, pytest.raises(ReadOnlyStore):
        parts.kv.put(HOME, "likes", "coffee")


def test_two_who_open_it_first_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    there, other = MemoryBackend(), Part(MemoryBackend(), "redis://other")
    part, put = Part(there, "redis://there"), there.kv.put
    with SqliteBackend(tmp_path / "t.db") as mine, SqliteBackend(tmp_path / "t.db") as theirs:

        def put_late(*args: Any, **options: Any) -> Any:
            # Another process was quicker, with another part.
            monkeypatch.setattr(there.kv, "put", put)
            check_parts(theirs, "t.db", {"kv": other})
            return put(*args, **options)

        monkeypatch.setattr(there.kv, "put", put_late)
        with pytest.raises(ConfigurationError, match="not the kv of this store: that was at redis://other"):
            check_parts(mine, "t.db", {"kv": part})
        check_parts(mine, "t.db", {"kv": other})


def test_the_command_says_so_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    place = redis.single_url(tmp_path)
    open_backend(f"{tmp_path}/t.db,kv={place}").close()
    run = running(capsys, monkeypatch, tmp_path)
    for command in (("doctor", "-s", "t.db"), ("threads", "-s", "t.db"), ("move", "t.db", "new.db")):
        done = run(*command)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert f"open it as t.db,kv={place}" in done.err


def test_a_home_in_postgres_remembers_too(tmp_path: Path):
    home = postgres.store_url(tmp_path)
    open_backend(f"{home},log={redis.single_url(tmp_path)}").close()
    assert "this store keeps its log elsewhere" in refusal(home)


def test_conversations_may_go_to_redis_while_the_home_has_memories_alone(tmp_path: Path):
    home, there = f"sqlite:{tmp_path / 'a.db'}", redis.single_url(tmp_path)
    with memwell.open(home, embedder=None) as m:
        m.remember("Ann likes tea.")
    with memwell.open(f"{home},log={there},kv={there}", embedder=None) as m:
        m.thread("talk").add_human("Hello.")
        assert [hit.text for hit in m.recall("tea")] == ["Ann likes tea."]
    with pytest.raises(ConfigurationError, match="keeps its log and kv elsewhere"):
        memwell.open(home)


def test_an_open_store_is_used_as_it_is():
    backend = MemoryBackend()
    assert shared_backend(backend) is backend


def test_one_file_is_one_store_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    names: list[Any] = [
        "app.db", "./app.db", "sqlite:app.db", "SQLite:app.db", tmp_path / "app.db",
        str(tmp_path / "sub" / ".." / "app.db"), f"sqlite:{tmp_path / 'app.db'}",
    ]  # fmt: skip
    assert len({id(shared_backend(name)) for name in names}) == 1
    assert shared_backend("other.db") is not shared_backend("app.db")


def test_a_store_of_several_parts_is_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    place = redis.single_url(tmp_path)
    names: list[Any] = [
        f"app.db,kv={place},index=milvus:v.db",
        f"sqlite:./app.db,index=milvus:v.db,kv={place}",
        f"{tmp_path / 'app.db'},kv={place},index=milvus:v.db",
    ]
    assert len({id(shared_backend(name)) for name in names}) == 1
    assert shared_backend(names[0]) is not shared_backend(f"app.db,kv={place}")
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


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_opens_a_store_of_its_own(tmp_path: Path):
    parent = shared_backend(tmp_path / "app.db")
    child = os.fork()
    if child == 0:
        os._exit(0 if shared_backend(tmp_path / "app.db") is not parent else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert shared_backend(tmp_path / "app.db") is parent
