"""The commands for whole stores: what they do and print, in both languages, and how they refuse."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from string import Formatter

import apsw
import pytest
from typer.testing import CliRunner

import memwell
from memwell.cli import app
from memwell.cli.phrases import _PHRASES, say
from memwell.cli.terminal import console
from memwell.cli.upkeep import report, versions
from memwell.errors import ReadOnlyStore
from memwell.history import History
from memwell.longterm.embedding import MARK, STAGED
from memwell.longterm.journal import inner_space, knowledge_space
from memwell.messages import ai, human
from memwell.models.scripted import HashEmbedder
from memwell.records import Record, Space, Thread
from memwell.settings import load_settings
from memwell.storage import Backend, open_backend
from memwell.storage.composed import Attached, ComposedBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.storage.sqlite import backup as files
from memwell.storage.sqlite.connections import connect
from tests.commands import Run, running
from tests.engines import milvus, postgres, redis

ACME, HOME, ANN = Space("acme"), Space("home"), Space("ann")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the command in a folder with a store, ``app.db``."""
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(ACME, "tea", "绿茶")
        store.log.append(Thread(ACME, "t"), [human("one"), human("two")])
        store.index.upsert([Record(id="r", text="green tea", space=ACME, vector=[1.0, 2.0])])
    return running(capsys, monkeypatch, tmp_path)


def value(path: Path) -> object:
    with open_backend(path) as store:
        entry = store.kv.get(ACME, "tea")
        return entry and entry.value


# Backups


def test_a_store_goes_out_and_comes_back(run: Run, tmp_path: Path):
    made = run("backup", "copy.db", "--store", "app.db")
    assert (made.code, made.err) == (0, "")
    assert "1 key-value entry" in made.out
    assert "Opened again and checked" in made.out
    digest = (tmp_path / "copy.db.sha256").read_text().split()[0]
    assert f"SHA-256 {digest}" in made.out
    back = run("restore", "copy.db", "--store", "new.db")
    assert back.code == 0
    assert digest in back.out
    assert value(tmp_path / "new.db") == "绿茶"


def test_a_folder_keeps_the_newest(run: Run, tmp_path: Path):
    (tmp_path / "backups").mkdir()
    for _ in range(3):
        told = json.loads(run("backup", "backups", "-s", "app.db", "--keep", "2", "--json").out)
    assert len(told["removed"]) == 1
    assert told["counts"]["entries"] == 1
    assert len(list((tmp_path / "backups").glob("app-*.db"))) == 2
    assert "Older backups removed: 1" in run("backup", "backups", "-s", "app.db", "--keep", "2").out


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (("backups", "--keep", "14"), "backups"),
        (("backups",), "backups"),
        (("some.where/",), "some.where"),
        (("old/backups/2026",), "old/backups/2026"),
        (("back.ups", "--keep", "1"), "back.ups"),
    ],
)
def test_a_folder_is_made(run: Run, tmp_path: Path, arguments: tuple[str, ...], folder: str):
    for _ in range(2):
        made = run("backup", *arguments, "-s", "app.db")
        assert (made.code, made.err) == (0, "")
    names = [one.name for one in (tmp_path / folder).glob("*.db")]
    assert len(names) == (1 if "1" in arguments else 2)
    assert all(re.fullmatch(r"app-\d{8}T\d{6}Z(-2)?\.db", name) for name in names)


def test_no_folder_is_made_for_a_backup_that_is_refused(run: Run, tmp_path: Path):
    (tmp_path / "note").write_text("mine")
    assert "memory:" in run("backup", "copy.db", "-s", "memory:").err
    for arguments in (
        ("backups", "--keep", "0", "-s", "app.db"),
        ("backups", "-s", "nothing.db"),
        ("backups", "-s", "memory:"),
        ("note/", "-s", "app.db"),
    ):
        refused = run("backup", *arguments)
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1), arguments
    assert {one.name for one in tmp_path.iterdir()} == {"app.db", "note"}


def test_people_and_the_doctor_count_alike(run: Run, tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(16)) as memory:
        memory.thread("tea").add_human("Which tea?")
        memory.remember([f"Guest {number} drinks tea." for number in range(30)])
        memory.at("other").remember("绿茶")
    seen = json.loads(run("doctor", "-s", "app.db", "--json").out)["store"]
    assert (seen["threads"], seen["messages"]) == (2, 3)
    made = json.loads(run("backup", "copy.db", "-s", "app.db", "--json").out)
    assert made["counts"] == {name: seen[name] for name in made["counts"]}
    assert "3 messages in 2 conversations" in run("backup", "copy.db", "-s", "app.db").out
    back = json.loads(run("restore", "copy.db", "-s", "new.db", "--json").out)
    assert back["counts"] == made["counts"]
    assert json.loads(run("doctor", "-s", "new.db", "--json").out)["store"]["messages"] == 3


def test_force_moves_the_store_aside(run: Run, tmp_path: Path):
    run("backup", "copy.db", "-s", "app.db")
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(ACME, "tea", "later")
    told = json.loads(run("restore", "copy.db", "-s", "app.db", "--force", "--json").out)
    assert value(tmp_path / "app.db") == "绿茶"
    assert value(Path(told["aside"])) == "later"
    (tmp_path / "copy.db.sha256").unlink()
    again = run("restore", "copy.db", "-s", "app.db", "--force").out
    assert "only its integrity was checked" in again
    assert "kept as app.db.before-restore-" in again


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_refusal_is_one_line(run: Run, tmp_path: Path, language: str):
    run("backup", "copy.db", "-s", "app.db")
    (tmp_path / "note").write_text("mine")
    (tmp_path / "torn.db").write_bytes((tmp_path / "copy.db").read_bytes()[:5000])
    (tmp_path / "other.db").write_bytes((tmp_path / "copy.db").read_bytes())
    (tmp_path / "other.db.sha256").write_text("0" * 64 + "  other.db\n")
    before = (tmp_path / "app.db").read_bytes()
    for arguments in (
        ("backup", "app.db"),
        ("backup", "note"),
        ("backup", "no/where.db"),
        ("backup", "copy.db", "--keep", "2"),
        ("backup", ".", "--keep", "0"),
        ("restore", "copy.db"),
        ("restore", "note"),
        ("restore", "nothing"),
        ("restore", "torn.db", "--force"),
        ("restore", "other.db", "--force"),
    ):
        refused = run(*arguments, "-s", "app.db", language=language)
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1), arguments
        assert bool(re.search("[\u4e00-\u9fff]", refused.err)) == (language == "zh")
    assert (tmp_path / "app.db").read_bytes() == before


def test_every_refusal_has_its_phrase():
    for code, message in files._REFUSALS.items():
        needed = {name for _, name, _, _ in Formatter().parse(message) if name}
        for phrase in _PHRASES[f"refused_{code}"]:
            assert {name for _, name, _, _ in Formatter().parse(phrase) if name} == needed


# Encrypted stores

PASSPHRASE = "correct horse battery"


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with a secret. The command may set the variable for its children."""
    monkeypatch.setenv("MEMWELL_SECRET_FILE", "")
    monkeypatch.delenv("MEMWELL_SECRET_FILE")
    file = tmp_path / "secret"
    file.write_text(f"{PASSPHRASE}\n")
    return file


def test_a_store_is_encrypted_and_used_with_its_secret(run: Run, secret: Path, tmp_path: Path):
    said = run("rekey", "--store", "app.db", "--new-secret-file", "secret")
    assert (said.code, said.err) == (0, "")
    assert "has the new secret" in said.out
    assert "绿茶".encode() not in (tmp_path / "app.db").read_bytes()
    refused = run("doctor", "--store", "app.db")
    assert refused.code == 1
    assert "is encrypted. Give its secret" in refused.err
    found = json.loads(run("--secret-file", "secret", "doctor", "--store", "app.db", "--json").out)
    assert found["store"]["encrypted"] is True
    assert found["problems"] == []
    assert PASSPHRASE not in json.dumps(found)


def test_a_secret_comes_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("MEMWELL_SECRET", PASSPHRASE)
    assert run("remember", "Ann drinks oolong.", "--store", "new.db").code == 0
    assert "oolong" in run("recall", "what does Ann drink", "--store", "new.db").out
    assert not [file for file in tmp_path.glob("new.db*") if b"oolong" in file.read_bytes()]
    assert run("backup", "copy.db", "--store", "new.db").code == 0
    assert run("restore", "copy.db", "--store", "again.db").code == 0
    assert "oolong" in run("recall", "what does Ann drink", "--store", "again.db").out
    assert run("export", "all.jsonl", "--store", "new.db").code == 0
    assert b"oolong" not in (tmp_path / "all.jsonl").read_bytes()
    assert run("import", "all.jsonl", "--store", "third.db").code == 0
    assert "oolong" in run("recall", "what does Ann drink", "--store", "third.db").out
    refused = run("export", "-", "--store", "new.db")
    assert refused.code == 1
    assert "--plaintext" in refused.err
    assert "oolong" in run("export", "-", "--plaintext", "--store", "new.db").out


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("does not open", "is not encrypted", "SQLite files alone")), ("zh", ("无法打开", "未加密", "只加密"))],
)
def test_a_secret_that_does_not_fit_is_refused(
    run: Run, secret: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str, words: tuple[str, ...]
):
    run("rekey", "--store", "app.db", "--new-secret-file", "secret")
    SqliteBackend(tmp_path / "plain.db").close()
    monkeypatch.setenv("MEMWELL_SECRET", "another passphrase")
    for store, said in zip(("app.db", "plain.db", "memory:"), words, strict=True):
        refused = run("doctor", "--store", store, language=language)
        assert refused.code == 1
        assert said in refused.err
        assert "another passphrase" not in refused.err + refused.out


@pytest.mark.parametrize(("language", "words"), [("en", "had when it was made"), ("zh", "备份使用制作时存储的密钥")])
def test_a_secret_that_does_not_open_a_backup_or_an_export_says_which_one_does(
    run: Run, monkeypatch: pytest.MonkeyPatch, language: str, words: str
):
    monkeypatch.setenv("MEMWELL_SECRET", PASSPHRASE)
    assert run("remember", "Ann drinks oolong.", "--store", "new.db").code == 0
    assert run("backup", "copy.db", "--store", "new.db").code == 0
    assert run("export", "all.jsonl", "--store", "new.db").code == 0
    monkeypatch.setenv("MEMWELL_SECRET", "another passphrase")
    assert words in run("restore", "copy.db", "--store", "again.db", language=language).err
    assert "--plaintext" in run("import", "all.jsonl", "--store", "again.db", language=language).err
    monkeypatch.delenv("MEMWELL_SECRET")
    assert "--plaintext" in run("import", "all.jsonl", "--store", "again.db", language=language).err
    assert not Path("again.db").exists()


def test_another_secret_and_none(run: Run, secret: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "other").write_text("another passphrase")
    assert run("rekey", "--store", "app.db").code == 1
    run("rekey", "--store", "app.db", "--new-secret-file", "secret")
    monkeypatch.setenv("MEMWELL_SECRET", PASSPHRASE)
    assert run("rekey", "--store", "app.db", "--new-secret-file", "other").code == 0
    assert run("doctor", "--store", "app.db").code == 1
    monkeypatch.setenv("MEMWELL_SECRET", "another passphrase")
    with SqliteBackend(tmp_path / "app.db", settings=load_settings()) as held:
        held.kv.get(ACME, "tea")
        refused = run("rekey", "--store", "app.db", "--plaintext")
        assert "in use" in refused.err
    assert "not encrypted any more" in run("rekey", "--store", "app.db", "--plaintext").out
    monkeypatch.delenv("MEMWELL_SECRET")
    assert value(tmp_path / "app.db") == "绿茶"


# Moving


def test_a_store_is_moved_and_stays_open(run: Run, tmp_path: Path):
    done = run("move", "app.db", "new.db")
    assert (done.code, done.err) == (0, "")
    assert "1 space, 1 conversation, 2 messages, 1 entry, 1 record, 0 blobs. Written this time: 3." in done.out
    assert "app.db is still open" in done.out
    assert "--seal" in done.out
    with open_backend(tmp_path / "new.db") as store:
        assert [hit.record.id for hit in store.index.match(ACME, "tea")] == ["r"]


def test_the_report_of_a_move_counts_what_is_the_users_own(run: Run):
    with memwell.open("mine.db", space="ann", embedder=None, work=False) as memory:
        memory.remember(["Ann likes tea.", "Ann lives in Rome."])
        memory.flush()
        memory.thread("kitchen").add_human("Hello.")
    done = run("move", "mine.db", "copy.db")
    assert "1 space, 1 conversation, 1 message, 0 entries, 2 records, 0 blobs, and " in done.out
    assert re.search(r"and [0-9]+ rows of memwell's own", done.out.replace("\n", " "))


def test_again_it_copies_the_difference_and_seals_and_then_nothing(run: Run, tmp_path: Path):
    run("move", "app.db", "sqlite:new.db")
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(ACME, "tea", "红茶")
    done = run("move", "app.db", "sqlite:new.db", "--seal")
    assert done.code == 0
    assert "Written this time: 1." in done.out
    assert "app.db is sealed" in done.out
    with open_backend(tmp_path / "app.db") as store, pytest.raises(ReadOnlyStore, match=r"moved to sqlite:new\.db"):
        store.kv.put(ACME, "tea", "lost")
    assert value(tmp_path / "new.db") == "红茶"
    again = run("move", "app.db", "sqlite:new.db", "--seal")
    assert (again.code, again.err) == (0, "")
    assert "Written this time: 0." in again.out
    with open_backend(tmp_path / "new.db") as store:
        store.kv.put(ACME, "coffee", 1)
    assert run("move", "app.db", "sqlite:new.db", "--seal").code == 1


def test_a_seal_is_lifted(run: Run, tmp_path: Path):
    assert "is not sealed" in run("unseal", "app.db").out
    run("move", "app.db", "new.db", "--seal")
    done = run("unseal", "app.db")
    assert (done.code, "takes writes again. It was sealed: moved to new.db." in done.out) == (0, True)
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(ACME, "tea", "again")
    assert "没有封存" in run("unseal", "app.db", language="zh").out
    run("move", "app.db", "new.db", "--seal")
    assert "可以重新写入了" in run("unseal", "app.db", language="zh").out
    assert run("unseal", "nowhere.db").code == 1


def test_a_move_that_was_given_up_leaves_no_watch(run: Run, tmp_path: Path):
    with open_backend(tmp_path / "app.db") as store:
        store.watch("killed")
        assert "no longer notes what is written" in run("unseal", "app.db").out
        assert store.watched() is None


def test_what_would_destroy_something_is_refused(run: Run, tmp_path: Path):
    with open_backend(tmp_path / "other.db") as store:
        store.kv.put(ACME, "mine", 1)
    for target, said in (("other.db", "something else"), ("app.db", "same store"), ("memory:", "ends with this")):
        refused = run("move", "app.db", target)
        assert refused.code == 1
        assert said in refused.err
        assert refused.err.count("\n") == 1
    assert run("move", "nowhere.db", "new.db").code == 1
    assert not (tmp_path / "nowhere.db").exists()
    assert "service" in run("move", "app.db", "http://memory.example").err


# Followers


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"{tmp_path}/a.db,index={milvus.lite_url(tmp_path)}"
    with open_backend(made) as backend:
        backend.index.upsert([Record(id=str(n), text="", space=HOME, vector=[1, n]) for n in range(5)])
    return made


def attached(store: Backend) -> Attached:
    assert isinstance(store, ComposedBackend)
    assert store.follower is not None
    return store.follower.attached


def test_a_follower_is_repaired(run: Run, url: str):
    run("reindex", "--store", url)
    with open_backend(url) as store:
        attached(store).use(lambda engine: engine.drop(HOME, ["1", "2"]))
        attached(store).use(lambda engine: engine.store(HOME, [Record(id="ghost", text="", space=HOME, vector=[1, 1])]))
    done = run("reindex", "--store", url)
    assert done.code == 0
    for said in ("without: 2", "too many: 1"):
        assert said in done.out
    with open_backend(url) as store:
        assert sorted(attached(store).use(lambda engine: list(engine.ids(HOME)))) == list("01234")


def test_a_follower_is_rebuilt_from_the_rows(run: Run, url: str):
    done = run("reindex", "--store", url, "--rebuild", "--space", "home", "--json")
    assert (done.code, json.loads(done.out)) == (0, {"name": "milvus", "spaces": 1})
    with open_backend(url) as store:
        assert attached(store).use(lambda engine: engine.count(HOME)) == 5
    assert "已根据存储中的数据重建" in run("reindex", "--store", url, "--rebuild", language="zh").out


def test_the_graphs_of_large_spaces_are_built(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMWELL_HNSW_ABOVE", "50")
    with postgres.open_store(tmp_path) as backend:
        backend.index.upsert([Record(id=str(n), text="", space=HOME, vector=[1, n]) for n in range(60)])
    place = postgres.store_url(tmp_path)
    assert "built: 1" in run("reindex", "--store", place).out
    assert json.loads(run("reindex", "--store", place, "--json").out) == {"built": 0, "dropped": 0}
    assert "建好的索引：0 个" in run("reindex", "--store", place, language="zh").out
    with postgres.open_store(tmp_path) as backend:
        assert backend.index.info(HOME).search == "exact", "these settings are for larger spaces"


def test_a_store_without_a_follower_is_refused_and_none_is_made(run: Run, tmp_path: Path):
    alone = run("reindex", "--store", "app.db")
    assert (alone.code, "index=milvus:vectors.db" in alone.err) == (1, True)
    missing = run("reindex", "--store", "no.db,index=milvus:v.db")
    assert (missing.code, "no.db" in missing.err) == (1, True)
    assert [one.name for one in tmp_path.iterdir()] == ["app.db"]


# Batches


ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = HashEmbedder(64), HashEmbedder(48)


def filled(store: Path, memories: int = 5) -> None:
    with memwell.open(store, embedder=OLD, space=ANN, work=False) as m:
        m.remember([f"Ann saw film number {n}." for n in range(memories)])
        m.flush()
        m.at("bob").remember("Bob likes milk.")
        m.at("bob").flush()
        m.knowledge.add("Cheese is made of milk.", id="cheese")


def whose(backend: Backend, space: Space) -> str:
    entry = backend.kv.get(inner_space(space), MARK)
    return "" if entry is None else str(entry.value)


def test_a_whole_store_gets_other_vectors(tmp_path: Path):
    store = tmp_path / "app.db"
    filled(store, 520)
    done = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name])
    assert done.exit_code == 0, done.output
    assert "522 records in 3 spaces" in done.output
    assert f"MEMWELL_EMBEDDER={NEW.name}" in done.output
    with open_backend(store) as backend:
        for space in (ANN, Space("bob"), knowledge_space(ANN)):
            info = backend.index.info(space)
            assert (whose(backend, space), info.dimensions) == (NEW.name, 48)
            assert info.vectors == info.records
        assert not [
            entry for entry in backend.kv.scan(inner_space(ANN), limit=900).items if entry.key.startswith(STAGED)
        ]
    again = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name])
    assert "0 records in 0 spaces" in again.output


def test_one_space_alone(tmp_path: Path):
    store = tmp_path / "app.db"
    filled(store)
    done = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name, "--space", "bob"])
    assert "1 record in 1 space" in done.output
    with open_backend(store) as backend:
        assert (whose(backend, ANN), whose(backend, Space("bob"))) == (OLD.name, NEW.name)


def test_killed_in_the_middle_the_old_vectors_serve_and_the_next_run_goes_on(tmp_path: Path):
    store = tmp_path / "app.db"
    filled(store, 700)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "memwell", "reembed", "-s", str(store), "--embedder", NEW.name]
    driver = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
    with open_backend(store) as backend:
        while driver.poll() is None and not any(
            entry.key.startswith(STAGED) for entry in backend.kv.scan(inner_space(ANN), limit=5000).items
        ):
            time.sleep(0.02)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        assert whose(backend, ANN) == OLD.name
        assert backend.index.info(ANN).dimensions == 64
    with memwell.open(store, embedder=OLD, space=ANN, work=False) as m:
        assert m.recall("which film was number 7?", limit=1)[0].signals["dense"].value > 0
    done = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name])
    assert done.exit_code == 0, done.output
    with open_backend(store) as backend:
        info = backend.index.info(ANN)
        assert (whose(backend, ANN), info.dimensions, info.vectors) == (NEW.name, 48, 700)


def test_what_is_not_there_is_refused(tmp_path: Path):
    runner = CliRunner()
    assert "There is no store" in str(runner.invoke(app, ["reembed", "-s", str(tmp_path / "no.db")]).exception)
    assert list(tmp_path.iterdir()) == []
    filled(tmp_path / "app.db")
    unknown = runner.invoke(app, ["reembed", "-s", str(tmp_path / "app.db"), "--embedder", "nobody's"])
    assert "no embedder is known by the name" in str(unknown.exception)
    assert "is a service" in str(runner.invoke(app, ["reembed", "-s", "http://memory.example"]).exception)


# Checking a store


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A store with something of each kind."""
    path = tmp_path / "chat.db"
    with open_backend(path) as backend:
        history = History(backend, "trip")
        history.add(human("I go to Kyoto."), ai("When?"))
        assert history.search("Kyoto")
        home = Space("acme", "[red]")
        backend.index.upsert(
            [Record(space=home, text=text, id=text, vector=[1.0, 0.0, 2.0]) for text in ("tea", "milk")]
        )
        backend.kv.put(home, "key", {"a": 1})
        backend.blobs.put(home, b"bytes")
    return path


def doctor(*arguments: object, language: str = "en") -> tuple[int, str]:
    environment = {"MEMWELL_LANGUAGE": language}
    result = CliRunner().invoke(app, ["doctor", *map(str, arguments)], env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout


def damage(mixed: Path, sql: str) -> None:
    connection = connect(str(mixed))
    connection.execute(sql)
    connection.close()


def test_a_sound_store_is_called_sound(mixed: Path):
    code, out = doctor("--store", mixed)
    assert code == 0
    assert "Everything agrees." in out
    rows = {line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[-1].strip() for line in out.splitlines()}
    lines = [line.split() for line in out.splitlines()]
    for expected in (
        ["conversations", "1"],
        ["messages", "2"],
        ["key-value", "entries", "1"],
        ["records", "2"],
        ["vectors", "2"],
        ["blobs", "1"],
        ["SQLite", apsw.sqlite_lib_version()],
        ["memwell", versions()["memwell"]],
        ["integrity", "ok"],
        ["acme", "/", "[red]", "2", "2", "×", "3", "exact"],
    ):
        assert expected in lines, rows


def test_it_writes_data_for_programs(mixed: Path):
    code, out = doctor("--store", mixed, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["problems"] == []
    assert found["versions"]["memwell"] == versions()["memwell"]
    assert found["store"]["messages"] == found["store"]["records"] == 2
    assert found["store"]["bytes"]["store"] == mixed.stat().st_size


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("DELETE FROM record_vector WHERE key = (SELECT min(key) FROM record_vector)", "vector"),
        ("DELETE FROM message_length WHERE key = (SELECT min(key) FROM message_length)", "word index"),
        ("DELETE FROM record WHERE key = (SELECT min(key) FROM record)", "record"),
        ("UPDATE thread SET indexed_count = 7", "7"),
    ],
)
def test_a_damaged_store_is_called_damaged(mixed: Path, sql: str, word: str):
    damage(mixed, sql)
    code, out = doctor("--store", mixed)
    assert code == 1
    assert "• " in out
    assert word in out
    assert "Problems found: " in out
    assert "Everything agrees." not in out
    code, out = doctor("--store", mixed, "--json")
    assert code == 1
    assert any(word in problem for problem in json.loads(out)["problems"])
    assert "发现的问题" in doctor("--store", mixed, language="zh")[1]


def test_torn_pages_are_reported(mixed: Path):
    raw = bytearray(mixed.read_bytes())
    raw[4096 * 3 : 4096 * 3 + 2000] = b"\xff" * 2000
    mixed.write_bytes(raw)
    result = CliRunner().invoke(app, ["doctor", "--store", str(mixed)])
    assert result.exit_code == 1
    assert "problem" in result.stdout.lower() or "damaged" in str(result.exception)


@pytest.mark.parametrize(("changes", "shown"), [(None, "exact"), (0, "up to date"), (12, "12 changes behind")])
def test_the_state_of_a_graph_is_told(capsys: pytest.CaptureFixture[str], changes: int | None, shown: str):
    space = {"space": ["a"], "records": 1_234, "vectors": 1_000, "dimensions": 3, "changes_since_graph": changes}
    report({"versions": {}, "problems": [], "store": {"kind": "x", "spaces": [space]}}, console(width=80))
    out = capsys.readouterr().out
    assert shown in out
    assert "1,234" in out
    assert "1,000 × 3" in out


def test_what_memwell_keeps_for_itself_is_not_counted(mixed: Path):
    with memwell.open(mixed, embedder=None) as m:
        for space, texts in ((Space("acme", "ann"), ["tea", "milk", "rice"]), ("bob", ["fish"])):
            m.at(space).remember(texts)
            m.at(space).flush()
    code, out = doctor("--store", mixed, "--json")
    found = json.loads(out)["store"]
    assert code == 0
    assert (found["threads"], found["messages"]) == (1, 2)
    assert [one["space"] for one in found["spaces"]] == [["acme", "[red]"], ["acme", "ann"], ["bob"]]


def test_nor_what_was_never_worked_off(mixed: Path):
    with memwell.open(mixed, embedder=None, work=False) as m:
        m.remember("tea")
    code, out = doctor("--store", mixed, "--json")
    found = json.loads(out)["store"]
    assert (code, found["threads"], found["messages"]) == (0, 1, 2)


@pytest.fixture
def owing(tmp_path: Path) -> Path:
    """A store with memories that are not worked off."""
    path = tmp_path / "shelf" / "app.db"
    path.parent.mkdir()
    with memwell.open(path, work=False, embedder=None) as m:
        m.remember(["tea", "milk"])
        # So many that catching up leaves their vectors to others.
        m.at("bob").remember([f"fish number {number}" for number in range(30)])
        m.at("bob").catch_up()
    return path


def test_what_is_owed_is_told_by_space(owing: Path):
    code, out = doctor("--store", owing)
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["default", "2", "2"] in lines
    assert ["bob", "0", "30"] in lines
    assert "memwell flush" in out
    assert "尚未处理完" in doctor("--store", owing, language="zh")[1]
    assert {"space": ["bob"], "words": 0, "vectors": 30} in json.loads(doctor("--store", owing, "--json")[1])["pending"]


@pytest.mark.usefixtures("unprivileged")
def test_a_store_that_can_only_be_read_has_no_problem_but_a_note(owing: Path):
    owing.chmod(0o444)
    owing.parent.chmod(0o555)
    try:
        code, out = doctor("--store", owing)
        assert code == 0
        assert "Everything agrees." in out
        assert "can only be read here" in out
        assert "where the store can be written" in " ".join(out.split())
        assert json.loads(doctor("--store", owing, "--json")[1])["problems"] == []
        assert "只能读取" in doctor("--store", owing, language="zh")[1]
    finally:
        owing.parent.chmod(0o755)


@pytest.mark.usefixtures("unprivileged")
def test_damage_is_found_in_a_store_that_can_only_be_read(mixed: Path):
    damage(mixed, "DELETE FROM message_length WHERE key = (SELECT min(key) FROM message_length)")
    mixed.chmod(0o444)
    mixed.parent.chmod(0o555)
    try:
        code, out = doctor("--store", mixed)
    finally:
        mixed.parent.chmod(0o755)
    assert code == 1
    assert "word index" in out


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis", "composed", "composed on postgres"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each kind with something in it, but for the one that would be gone before it is looked at."""
    cache = redis.single_url(tmp_path)
    url = {
        "memory": "memory:",
        "sqlite": f"sqlite:{tmp_path / 'a.db'}",
        "postgres": postgres.store_url(tmp_path),
        "redis": cache,
        "composed": f"sqlite:{tmp_path / 'a.db'},log={cache},index={milvus.lite_url(tmp_path)}",
        "composed on postgres": f"{postgres.store_url(tmp_path)},kv={cache}",
    }[request.param]
    with open_backend(url) as backend:
        History(backend, "trip").add(human("I go to Kyoto."), ai("When?"))
        home = Space("acme")
        backend.kv.put(home, "key", {"a": 1})
        if url != cache:
            backend.index.upsert([Record(space=home, text="tea", id="tea", vector=[1.0, 0.0, 2.0])])
            backend.blobs.put(home, b"bytes")
    return url


def test_a_store_of_any_kind_is_looked_over(anywhere: str):
    code, out = doctor("--store", anywhere)
    assert (code, "Everything agrees." in out) == (0, True)
    assert json.loads(doctor("--store", anywhere, "--json")[1])["problems"] == []
    if anywhere.startswith("postgresql:"):
        assert "stands: a session sees" in " ".join(out.split())


def test_the_size_and_the_wall_of_a_server_are_shown(tmp_path: Path):
    postgres.open_store(tmp_path).close()
    rows = [line.split("  ")[0] for line in doctor("--store", postgres.store_url(tmp_path))[1].splitlines()]
    assert {"wall between spaces", "size", "durability"} <= set(rows)
    assert "空间之间的隔离" in doctor("--store", postgres.store_url(tmp_path), language="zh")[1]
    _, out = doctor(
        "--store", postgres.server().url(user=postgres.ADMIN, schema=postgres.schema_of(tmp_path), wall="open")
    )
    assert "open: the role is a superuser" in " ".join(out.split())


def test_a_plain_store_is_moved_into_an_encrypted_one(run: Run, tmp_path: Path):
    run("remember", "It rains in Oslo.", "--store", "plain.db")
    (tmp_path / "key").write_text("a passphrase for tests")
    moved = run("--secret-file", "key", "move", "plain.db", "locked.db")
    assert moved.code == 0, moved.err
    assert b"Oslo" not in (tmp_path / "locked.db").read_bytes()
    assert "Oslo" in run("--secret-file", "key", "recall", "where does it rain?", "--store", "locked.db").out


def test_rekey_of_a_composed_store_names_the_command_for_its_file(run: Run, tmp_path: Path):
    (tmp_path / "key").write_text("a passphrase for tests")
    run("remember", "It rains in Oslo.", "--store", "a.db")
    refused = run("rekey", "--store", "a.db,log=redis://127.0.0.1:1", "--new-secret-file", "key")
    assert refused.code == 1
    assert "memwell rekey --store a.db" in " ".join(refused.err.split())


def test_flush_exits_with_1_while_a_reader_keeps_bytes_of_what_was_erased(tmp_path: Path):
    store = tmp_path / "app.db"
    with memwell.open(store, embedder=None, work=False) as memory:
        memory.remember("My canary is yellow.", id="canary")
    reader = apsw.Connection(str(store))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    try:
        with memwell.open(store, embedder=None, work=False) as memory:
            assert not memory.erase(["canary"]).scrubbed
        refused = CliRunner().invoke(app, ["flush", "--store", str(store)])
        assert refused.exit_code == 1
        assert say("still_unscrubbed").split()[0] in refused.output
    finally:
        reader.execute("ROLLBACK")
        # Not closed before memwell has written the log into the file: the last to close would, without checksums.
        done = CliRunner().invoke(app, ["flush", "--store", str(store)])
        reader.close()
    assert done.exit_code == 0
