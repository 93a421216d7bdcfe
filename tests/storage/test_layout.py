"""A store of several parts is opened with its parts, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import memwell
from memwell.errors import ConfigurationError, ReadOnlyStore
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.runtime.transfer import move
from memwell.settings import Settings
from memwell.storage import open_backend
from memwell.storage.files import FileBlobs
from memwell.storage.layout import REMEMBERED, check_parts, in_bytes, in_values
from memwell.storage.memory import MemoryBackend
from memwell.storage.registry import forget_parts
from memwell.storage.sqlite import SqliteBackend
from tests.commands import running
from tests.engines import postgres, redis

HOME = Space("home")
TALK = Thread(HOME, "talk")
SAID = [human("Where is the tea?")]


@pytest.fixture
def urls(tmp_path: Path) -> tuple[str, str, str]:
    """A home, and the same with conversations and values in Redis, or with bytes in a folder."""
    home, server = f"sqlite:{tmp_path}/t.db", redis.single_url(tmp_path)
    return home, f"{home},log={server},kv={server}", f"{home},blobs=files:{tmp_path}/media"


def refusal(url: str | Path, settings: Settings | None = None) -> str:
    with pytest.raises(ConfigurationError) as raised:
        open_backend(url, settings=settings)
    return str(raised.value)


def test_a_store_does_not_open_without_its_parts(urls: tuple[str, str, str], tmp_path: Path):
    home, whole, _ = urls
    with open_backend(whole) as store:
        store.log.append(TALK, SAID)
    for alone in (home, tmp_path / "t.db", f"{home},index=memory:"):
        said = refusal(alone)
        assert "this store keeps its log and kv elsewhere" in said
        assert ",log=redis://" in said
    assert "this store keeps its kv elsewhere" in refusal(whole.rpartition(",kv=")[0])
    with open_backend(whole) as store:
        assert len(store.log.read(TALK)) == 1


def test_the_way_to_write_it_shows_no_secret(tmp_path: Path):
    with SqliteBackend(tmp_path / "t.db") as home, MemoryBackend() as other:
        check_parts(home, "t.db", {"log": in_values(other.kv, "redis://u:***@h")})
    assert "open it as t.db,log=redis://u:***@h (" in refusal("sqlite:" + str(tmp_path / "t.db")).replace(
        f"sqlite:{tmp_path}/", ""
    )


def test_a_part_of_another_store_is_noticed(urls: tuple[str, str, str], tmp_path: Path):
    _, whole, bytes_ = urls
    open_backend(whole).close()
    other = redis.single_url(tmp_path / "other")
    said = refusal(whole.rpartition(",kv=")[0] + f",kv={other}")
    assert "the kv at " in said
    assert "is not the kv of this store: that was at redis://" in said
    forget_parts(whole.partition(",")[0])
    open_backend(bytes_).close()
    assert f"the blobs at files:{tmp_path}/b is not the blobs of this store" in refusal(bytes_[:-5] + "b")


def test_a_part_that_lost_what_it_held_is_noticed(tmp_path: Path):
    url = f"{tmp_path}/t.db,blobs=files:{tmp_path}/media"
    open_backend(url).close()
    (tmp_path / "media").rename(tmp_path / "away")
    assert "it is empty or was replaced" in refusal(url)
    (tmp_path / "media").rmdir()
    (tmp_path / "away").rename(tmp_path / "elsewhere")
    # The same folder in another place is the same part, and its new place is remembered.
    open_backend(f"{tmp_path}/t.db,blobs=files:{tmp_path}/elsewhere").close()
    assert "/elsewhere (" in refusal(tmp_path / "t.db")


def test_a_part_is_not_added_to_what_the_home_holds(urls: tuple[str, str, str], tmp_path: Path):
    home, whole, bytes_ = urls
    with open_backend(home) as store:
        store.blobs.put(HOME, b"picture")
    assert "already holds blobs" in refusal(bytes_)
    with open_backend(home) as store:
        store.log.append(TALK, SAID)
        store.kv.put(HOME, "likes", "tea")
    assert "already holds conversations" in refusal(whole)
    said = refusal(f"{home},kv={whole.rpartition('=kv')[2].rpartition(',kv=')[2]}")
    assert "already holds values" in said
    assert f"memwell move {home} NEW,kv=redis://" in said
    assert "already holds blobs" in refusal(tmp_path / "t.db", Settings(blobs_url=f"files:{tmp_path}/media"))
    with open_backend(home) as store:
        assert len(store.log.read(TALK)) == 1


def test_parts_may_be_added_while_there_is_nothing_to_lose(urls: tuple[str, str, str]):
    home, whole, bytes_ = urls
    with open_backend(home) as store:
        store.index.upsert([Record(id="r", text="tea", space=HOME, vector=[1.0, 2.0])])
    open_backend(bytes_).close()
    both = whole + bytes_.removeprefix(home)
    with open_backend(both) as store:
        store.log.append(TALK, SAID)
        store.blobs.put(HOME, b"picture")
        assert store.check() == []
    assert "blobs" in refusal(whole)
    assert "log and kv" in refusal(bytes_)
    open_backend(both + ",index=memory:").close()
    open_backend(both).close()


def test_the_notes_are_nobodys(urls: tuple[str, str, str]):
    home, whole, bytes_ = urls
    with open_backend(whole + bytes_.removeprefix(home)) as store:
        assert store.spaces().items == []
        store.reconcile()  # type: ignore[attr-defined]
        assert store.check() == []
    open_backend(whole + bytes_.removeprefix(home)).close()


def test_a_store_that_never_had_parts_has_no_note(tmp_path: Path):
    for url in (f"{tmp_path}/t.db", f"{tmp_path}/t.db,index=memory:"):
        with open_backend(url) as store:
            assert store.spaces().items == []
            assert store.kv.get(REMEMBERED, "parts") is None


def test_what_cannot_be_written_opens(tmp_path: Path):
    url = f"sqlite:{tmp_path}/t.db,blobs=files:{tmp_path}/media"
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
    assert "blobs" in refusal(tmp_path / "t.db")


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


def test_two_who_open_it_first_agree(tmp_path: Path):
    folder = FileBlobs(tmp_path / "media")
    with SqliteBackend(tmp_path / "t.db") as mine, SqliteBackend(tmp_path / "t.db") as theirs:

        def open_late() -> FileBlobs:
            # The other was quicker.
            if theirs.kv.get(REMEMBERED, "parts") is None:
                check_parts(theirs, "t.db", {"blobs": in_bytes(lambda: folder, "files:media")})
            return folder

        check_parts(mine, "t.db", {"blobs": in_bytes(open_late, "files:media")})
        check_parts(mine, "t.db", {"blobs": in_bytes(lambda: folder, "files:media")})
        other = FileBlobs(tmp_path / "other")
        with pytest.raises(ConfigurationError, match="not the blobs of this store"):
            check_parts(theirs, "t.db", {"blobs": in_bytes(lambda: other, "files:other")})


def test_the_command_says_so_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    open_backend(f"{tmp_path}/t.db,blobs=files:{tmp_path}/media").close()
    run = running(capsys, monkeypatch, tmp_path)
    for command in (("doctor", "-s", "t.db"), ("threads", "-s", "t.db"), ("move", "t.db", "new.db")):
        done = run(*command)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert f"open it as t.db,blobs=files:{tmp_path}/media" in done.err


def test_a_home_in_postgres_remembers_too(tmp_path: Path):
    home = postgres.store_url(tmp_path)
    open_backend(f"{home},blobs=files:{tmp_path}/media").close()
    said = refusal(home)
    assert "this store keeps its blobs elsewhere" in said


def test_conversations_may_go_to_redis_while_the_home_has_memories_alone(tmp_path: Path):
    home, there = f"sqlite:{tmp_path / 'a.db'}", redis.single_url(tmp_path)
    with memwell.open(home, embedder=None) as m:
        m.remember("Ann likes tea.")
    with memwell.open(f"{home},log={there},kv={there}", embedder=None) as m:
        m.thread("talk").add_human("Hello.")
        assert [hit.text for hit in m.recall("tea")] == ["Ann likes tea."]
    with pytest.raises(ConfigurationError, match="keeps its log and kv elsewhere"):
        memwell.open(home)
