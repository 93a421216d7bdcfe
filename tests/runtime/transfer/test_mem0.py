"""mem0's own folders and history, in the form in which mem0 2.x was seen to write them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import apsw
import pytest

from memwell.errors import FileError, InvalidInput
from memwell.runtime.opening import open as open_memory
from memwell.runtime.transfer import detect, import_file
from tests.runtime.transfer.test_points import Calling, pickled

NUTS: dict[str, Any] = {
    "data": "Is allergic to nuts.",
    "hash": "80a8",
    "created_at": "2026-05-01T09:00:00+00:00",
    "user_id": "ann",
    "run_id": "r1",
    "text_lemmatized": "be allergic to nut",
    "tag": "food",
}
TEA: dict[str, Any] = {"data": "喜欢绿茶。", "user_id": "ben", "created_at": "2026-05-02T09:00:00+00:00"}


def database(path: Path, *statements: tuple[str, list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = apsw.Connection(str(path))
    for statement, rows in statements:
        if rows:
            made.executemany(statement, rows)
        else:
            made.execute(statement)
    made.close()


def qdrant(folder: Path, *points: Any, collection: str = "mem0") -> Path:
    rows = [(f"{number}", one if isinstance(one, bytes) else point(number, one)) for number, one in enumerate(points)]
    database(
        folder / "collection" / collection / "storage.sqlite",
        ("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)", []),
        ("INSERT INTO points VALUES (?, ?)", rows),
    )
    return folder


def point(number: int, payload: Any) -> bytes:
    return pickled(payload).replace(b"\x8c\x01a\x94", b"\x8c\x01%d\x94" % number, 1)


def chroma(folder: Path, *, lists: bool = True) -> Path:
    made: list[tuple[str, list[Any]]] = [
        ("CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL)", []),
        ("CREATE TABLE segments (id TEXT PRIMARY KEY, scope TEXT, collection TEXT)", []),
        ("CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT)", []),
        ("CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, "
         "float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key))", []),
        ("INSERT INTO collections VALUES (?, ?)", [("c", "mem0"), ("e", "mem0_entities")]),
        ("INSERT INTO segments VALUES (?, 'METADATA', ?)", [("s", "c"), ("t", "e")]),
        ("INSERT INTO embeddings VALUES (?, ?, ?)", [(1, "s", "nuts"), (2, "s", "tea"), (3, "t", "entity")]),
        ("INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)",
         [(number, *pair) for number, one in ((1, NUTS), (2, TEA)) for pair in one.items()] + [(3, "data", "nuts")]),
        ("INSERT INTO embedding_metadata VALUES (?, ?, NULL, ?, ?, ?)",
         [(1, "n", 7, None, None), (1, "x", None, 0.5, None), (1, "yes", None, None, 1),
          (1, "chroma:document", 1, None, None)]),
    ]  # fmt: skip
    if lists:
        made += [
            ("CREATE TABLE embedding_metadata_array (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, "
             "float_value REAL, bool_value INTEGER)", []),
            ("INSERT INTO embedding_metadata_array (id, key, string_value) VALUES (1, 'tags', ?)", [("a",), ("b",)]),
        ]  # fmt: skip
    database(folder / "chroma.sqlite3", *made)
    return folder


def history(path: Path) -> Path:
    rows = [
        ("1", "nuts", None, "Is allergic to nuts.", "ADD", "2026-05-01T09:00:00+00:00", None, 0, None, "user"),
        ("2", "tea", None, "Likes tea.", "ADD", "2026-05-01T09:00:00+00:00", None, 0, None, "user"),
        ("3", "nuts", "Is allergic to nuts.", "Is allergic to sesame.", "UPDATE", "2026-05-01T09:00:00+00:00",
         "2026-05-03T09:00:00+00:00", 0, None, "user"),
        ("4", "tea", "Likes tea.", None, "DELETE", None, None, 1, None, "user"),
    ]  # fmt: skip
    database(
        path,
        ("CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
         "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)", []),
        (f"INSERT INTO history VALUES ({', '.join('?' * 10)})", rows),
    )  # fmt: skip
    return path


def imported(path: Path, **options: Any) -> tuple[Any, dict[str, Any]]:
    with open_memory("memory:", embedder=None) as memory:
        done = import_file(memory, path, **options)
        assert detect(path) == done.format == "mem0"
        assert import_file(memory, path, **options).new == 0
        return done, {one.text: one for one in memory.memories()}


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "old chroma", "home", "collection", "file"])
def test_memories_of_a_folder_come_with_their_times_sessions_and_fields(kind: str, tmp_path: Path):
    if "chroma" in kind:
        path = chroma(tmp_path / "db", lists=kind == "chroma")
    else:
        folder = qdrant(tmp_path / "home" / "qdrant", NUTS, TEA)
        qdrant(folder, {"data": "nuts"}, collection="mem0_entities")
        qdrant(tmp_path / "home" / "migrations_qdrant", {"user_id": "x"}, collection="mem0migrations")
        path = {
            "qdrant": folder,
            "home": tmp_path / "home",
            "collection": folder / "collection" / "mem0",
            "file": folder / "collection" / "mem0" / "storage.sqlite",
        }[kind]
    done, held = imported(path)
    assert (done.counts, done.problems, set(held)) == ({"memories": 2}, [], {NUTS["data"], TEA["data"]})
    nuts = held[NUTS["data"]]
    assert (nuts.time.isoformat(), nuts.session, nuts.metadata["tag"]) == (NUTS["created_at"], "r1", "food")
    assert nuts.metadata["mem0"]["user_id"] == "ann"
    assert "text_lemmatized" not in nuts.metadata
    if "chroma" in kind:
        assert (nuts.metadata["n"], nuts.metadata["x"], nuts.metadata["yes"]) == (7, 0.5, True)
        assert nuts.metadata.get("tags") == (["a", "b"] if kind == "chroma" else None)
        assert "chroma:document" not in nuts.metadata
    assert "2 users" in done.hints[0]
    _, held = imported(path, user_id="ben")
    assert set(held) == {TEA["data"]}


def test_the_history_alone_gives_what_was_not_deleted(tmp_path: Path):
    for path in (history(tmp_path / "history.db"), tmp_path):
        done, held = imported(path)
        assert (done.counts, set(held)) == ({"memories": 1}, {"Is allergic to sesame."})
    qdrant(tmp_path / "qdrant", NUTS)
    assert set(imported(tmp_path)[1]) == {NUTS["data"]}


def test_a_point_that_asks_for_more_is_reported_and_the_others_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    evil = [pickle.dumps(Calling()), pickled({"data": Calling()}), b"\x80\x04.", pickled({"data": ["x"]})]
    large = pickled({"data": "A long list.", "numbers": list(range(20_000))})
    folder = qdrant(tmp_path / "q", NUTS, *evil, large, "no payload", TEA)
    done, held = imported(folder)
    assert set(held) == {NUTS["data"], TEA["data"], "A long list."}
    assert len(done.problems) == 5
    assert not Path("made-by-a-pickle").exists()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE VIEW points AS SELECT 1 AS point", "not one of mem0's"),
        ("CREATE VIRTUAL TABLE points USING fts5(point)", "not one of mem0's"),
        ("CREATE TABLE notes (a)", "not one of mem0's"),
        ("CREATE TABLE points (id TEXT)", "no such column"),
    ],
)
def test_what_is_not_an_ordinary_table_is_not_read(statement: str, says: str, tmp_path: Path):
    database(tmp_path / "storage.sqlite", (statement, []))
    with open_memory("memory:", embedder=None) as memory, pytest.raises((InvalidInput, FileError), match=says):
        memory.import_file(tmp_path / "storage.sqlite")


def test_other_folders_and_damaged_files_are_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="without memories of mem0"):
        detect(tmp_path)
    (tmp_path / "history.db").write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    with open_memory("memory:", embedder=None) as memory, pytest.raises(FileError, match="cannot be read"):
        import_file(memory, tmp_path)
