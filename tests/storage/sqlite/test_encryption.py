"""Encrypted stores: nothing plain in any file, refusals, and a new secret."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

import memwell
from memwell.errors import BackendError, ConfigurationError, InvalidInput, SecretRefused
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage import open_backend
from memwell.storage.sqlite import SqliteBackend, backup
from memwell.storage.sqlite.backup import BackupRefused, back_up, rekey, restore
from memwell.storage.sqlite.encryption import (
    EncryptedReader,
    EncryptedWriter,
    Secret,
    new_salt,
    read_encrypted,
    write_encrypted,
)
from memwell.storage.sqlite.index import SqliteIndex

SECRET = "a passphrase for tests"
OTHER = "another passphrase"
KEY = "0123456789abcdef" * 4
WORDS = "zanzibarcanary"
SPACE = Space("tenantcanary")
LOCKED = Settings(secret=SECRET)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


def fill(path: Path, settings: Settings = LOCKED, count: int = 3) -> None:
    with SqliteBackend(path, settings=settings) as store:
        for number in range(count):
            store.kv.put(SPACE, f"key{number}", f"{WORDS} {number}")
            store.log.append(Thread(SPACE, "talk"), [human(f"{WORDS} {number}")])
        store.blobs.put(SPACE, WORDS.encode() * 10)


def plain_files(folder: Path, *words: str) -> list[str]:
    """The files in which one of the words is found, in any usual encoding."""
    wanted = [word.encode(code) for word in words for code in ("utf-8", "utf-16-le")]
    return [
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and any(word in file.read_bytes() for word in wanted)
    ]


def values(path: Path, settings: Settings = LOCKED) -> list[object]:
    with SqliteBackend(path, settings=settings) as store:
        return [entry.value for entry in store.kv.scan(SPACE).items]


# Nothing is plain


def test_no_file_of_an_encrypted_store_holds_its_words(path: Path) -> None:
    with memwell.open(str(path), space=SPACE, settings=LOCKED) as memory:
        for number in range(6):
            memory.remember(f"The {WORDS} number {number} lives in Lisbon with {number + 2} cats.")
        memory.flush()
        assert memory.recall(WORDS)
        assert plain_files(path.parent, WORDS, "tenantcanary", "Lisbon") == []
    back_up(path, path.parent / "backup.db", settings=LOCKED)
    assert plain_files(path.parent, WORDS, "tenantcanary", "Lisbon") == []
    with memwell.open(str(path), space=SPACE, settings=LOCKED) as memory:
        assert WORDS in memory.recall(f"where does the {WORDS} live")[0].text


def test_the_same_words_are_found_where_the_store_is_not_encrypted(path: Path) -> None:
    fill(path, Settings())
    assert plain_files(path.parent, WORDS) == ["app.db"]


_ENDLESS = """
import sys
from memwell.records import Space
from memwell.settings import Settings
from memwell.storage.sqlite import SqliteBackend
store = SqliteBackend(sys.argv[1], settings=Settings(secret=sys.argv[2]))
number = 0
while True:
    store.kv.put(Space("tenantcanary"), f"key{number}", "zanzibarcanary " * 200)
    store.blobs.put(Space("tenantcanary"), b"zanzibarcanary" * 9000 + str(number).encode())
    number += 1
    print(number, flush=True)
"""


def test_a_killed_process_leaves_nothing_plain_and_loses_nothing(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _ENDLESS, str(path), SECRET], stdout=subprocess.PIPE, text=True
    ) as one:
        assert one.stdout is not None
        acknowledged = [int(one.stdout.readline()) for _ in range(20)][-1]
        one.send_signal(signal.SIGKILL)
    assert Path(f"{path}-wal").stat().st_size > 0
    assert plain_files(path.parent, WORDS, "tenantcanary") == []
    with SqliteBackend(path, settings=LOCKED) as store:
        assert len(store.kv.scan(SPACE, limit=1000).items) >= acknowledged
        assert store.check() == []


def test_a_graph_is_encrypted_and_read_again(path: Path) -> None:
    settings = Settings(secret=SECRET, hnsw_above=100)
    chance = random.Random(3)
    vectors = [[chance.gauss(0, 1) for _ in range(16)] for _ in range(200)]
    with SqliteBackend(path, settings=settings) as store:
        store.index.upsert([Record(id=str(n), text="", space=SPACE, vector=one) for n, one in enumerate(vectors)])
        store.index.near(SPACE, vectors[0])
        cast(SqliteIndex, store.index).vectors.wait()
        expected = [hit.record.id for hit in store.index.near(SPACE, vectors[0])]
        assert store.index.info(SPACE).search == "hnsw"
    [graph] = Path(f"{path}-hnsw").iterdir()
    assert graph.read_bytes().startswith(b"MWE1")
    with SqliteBackend(path, settings=settings) as store:
        assert [hit.record.id for hit in store.index.near(SPACE, vectors[0])] == expected
        assert store.index.info(SPACE).search == "hnsw"


@pytest.mark.parametrize("size", [1, 6 * 2**20])
def test_a_cache_is_encrypted_and_read_again(path: Path, size: int) -> None:
    data = WORDS.encode() * (size // len(WORDS) + 1)
    with SqliteBackend(path, settings=LOCKED) as store:
        store.index.upsert([Record(text="some words", id="a", space=SPACE)])
        assert store.index.keep_cache(SPACE, store.index.info(SPACE).state, [data[:5], memoryview(data[5:])])
    assert len(list(Path(f"{path}-cache").iterdir())) == 1
    assert plain_files(path.parent, WORDS) == []
    with SqliteBackend(path, settings=LOCKED) as store:
        kept = store.index.kept_cache(SPACE)
        assert kept is not None
        assert bytes(kept.data) == data


# Refusals


def test_a_wrong_secret_is_refused_and_nothing_is_changed(path: Path) -> None:
    fill(path)
    before = path.read_bytes()
    with pytest.raises(SecretRefused) as refused:
        SqliteBackend(path, settings=Settings(secret=OTHER))
    assert refused.value.code == "wrong"
    with pytest.raises(SecretRefused) as refused:
        SqliteBackend(path)
    assert refused.value.code == "needed"
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["app.db"]
    assert len(values(path)) == 3


def test_a_secret_for_a_store_that_is_not_encrypted_is_refused(path: Path) -> None:
    fill(path, Settings())
    before = path.read_bytes()
    with pytest.raises(SecretRefused, match="is not encrypted") as refused:
        SqliteBackend(path, settings=LOCKED)
    assert refused.value.code == "not-encrypted"
    assert path.read_bytes() == before


@pytest.mark.parametrize("url", ["memory:", "postgresql://u:p@nowhere/db", "app.db,index=milvus:there.db"])
def test_a_secret_is_refused_where_nothing_would_be_encrypted(url: str, tmp_path: Path) -> None:
    os.chdir(tmp_path)
    with pytest.raises(SecretRefused) as refused:
        open_backend(url, settings=LOCKED)
    assert refused.value.code == "other-store"
    assert ":p@" not in str(refused.value)


def test_an_apsw_without_ciphers_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("apsw.mc_version")
    with pytest.raises(SecretRefused, match="apsw-sqlite3mc"):
        SqliteBackend(path, settings=LOCKED)
    assert not path.exists() or not path.read_bytes()


def test_a_changed_page_is_noticed(path: Path) -> None:
    fill(path, count=50)
    data = bytearray(path.read_bytes())
    for place in range(4096 + 200, len(data), 4096):
        data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(BackendError, match="damaged"):
        values(path)


def test_secrets_are_not_shown(path: Path) -> None:
    assert SECRET not in repr(LOCKED)
    fill(path)
    with SqliteBackend(path, settings=LOCKED) as store:
        assert SECRET not in repr(store.facts())
    assert SECRET not in repr(Secret(SECRET))
    assert repr(Secret(SECRET).key(new_salt(), "store")) == "FileKey(…)"


# Secrets


@pytest.mark.parametrize("content", [b"a passphrase for tests\n", bytes(range(31)) + b"\xff", b"ab" * 32 + b"\n"])
def test_a_secret_comes_from_a_file(path: Path, content: bytes) -> None:
    file = path.with_name("secret")
    file.write_bytes(content)
    settings = Settings(secret_file=str(file))
    fill(path, settings)
    assert len(values(path, settings)) == 3
    if content.startswith(b"a pass"):
        assert len(values(path)) == 3


def test_a_secret_that_cannot_be_used_is_refused(path: Path) -> None:
    for wrong, words in (
        (Settings(secret="short"), "8 characters"),
        (Settings(secret=SECRET, secret_file="x"), "not both"),
        (Settings(secret_file=str(path)), "cannot be read"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            SqliteBackend(path, settings=wrong)
    path.with_name("odd").write_bytes(b"\x00\xff")
    with pytest.raises(ConfigurationError, match="neither"):
        SqliteBackend(path, settings=Settings(secret_file=str(path.with_name("odd"))))


def test_two_stores_with_one_key_share_no_key_of_a_file() -> None:
    secret = Secret("0f" * 32)
    keys = {secret.key(new_salt(), "store").key for _ in range(2)}
    salt = new_salt()
    keys |= {secret.key(salt, use).key for use in ("store", "graph", "cache a", "cache b")}
    assert len(keys) == 6


_CREATE = """
import sys
from memwell.records import Space
from memwell.settings import Settings
from memwell.storage.sqlite import SqliteBackend
sys.stdin.readline()
with SqliteBackend(sys.argv[1], settings=Settings(secret=sys.argv[2])) as store:
    store.kv.put(Space("tenantcanary"), sys.argv[3], "there")
"""


def test_several_processes_create_one_store(path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", _CREATE, str(path), SECRET, f"k{number}"], stdin=subprocess.PIPE)
        for number in range(4)
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.close()
    assert [one.wait(60) for one in started] == [0, 0, 0, 0]
    assert len(values(path)) == 4


# Locks

_TRY_LOCK = """
import fcntl, os, sys
with open(sys.argv[1], "rb+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError:
        print("locked")
"""


@pytest.mark.parametrize("settings", [Settings(), LOCKED], ids=["plain", "encrypted"])
def test_opening_another_connection_keeps_the_locks_of_the_first(path: Path, settings: Settings) -> None:
    # Without its shared lock another process would take itself for the last user, and delete the log under this one.
    with SqliteBackend(path, settings=settings) as store:
        store.kv.put(SPACE, "key", "value")
        store.kv.get(SPACE, "key")
        tried = subprocess.run([sys.executable, "-c", _TRY_LOCK, str(path)], capture_output=True, text=True, check=True)
    assert tried.stdout == "locked\n"


# Other data


def test_parts_are_written_and_read(tmp_path: Path) -> None:
    key = Secret(SECRET).key(new_salt(), "test")
    data = [os.urandom(5 * 2**20), b"", WORDS.encode() * 1000]
    write_encrypted(tmp_path / "file", key, data)
    assert read_encrypted(tmp_path / "file", key) == b"".join(data)
    assert plain_files(tmp_path, WORDS) == []
    with pytest.raises(OSError, match="does not open"):
        read_encrypted(tmp_path / "file", Secret(OTHER).key(key.salt, "test"))
    (tmp_path / "plain").write_bytes(b"x" * 1000)
    with pytest.raises(OSError, match="no encrypted file"):
        read_encrypted(tmp_path / "plain", key)


def test_a_damaged_part_is_noticed(tmp_path: Path) -> None:
    key = Secret(SECRET).key(new_salt(), "test")
    with EncryptedWriter(tmp_path / "file", key) as file:
        file.write(b"x" * 2**20)
    data = bytearray((tmp_path / "file").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(OSError, match="damaged"), EncryptedReader(tmp_path / "file", key) as reader:
        reader.readall()


@pytest.mark.parametrize("missing", [1, 300, 40_000, 70_000, 200_000])
def test_a_file_that_was_cut_off_is_not_read(tmp_path: Path, missing: int) -> None:
    key, data = Secret(SECRET).key(new_salt(), "test"), random.Random(1).randbytes(300_000)
    write_encrypted(tmp_path / "file", key, [data])
    whole = (tmp_path / "file").read_bytes()
    assert read_encrypted(tmp_path / "file", key) == data
    (tmp_path / "file").write_bytes(whole[:-missing])
    with pytest.raises(OSError, match="damaged"):
        read_encrypted(tmp_path / "file", key)


# Exports


@pytest.mark.parametrize("name", ["all.jsonl", "all.md"])
def test_an_export_is_encrypted_with_the_secret(tmp_path: Path, name: str) -> None:
    with memwell.open(str(tmp_path / "app.db"), space=SPACE, secret=SECRET, embedder=None, work=False) as memory:
        memory.remember(f"The {WORDS} lives in Lisbon.")
        memory.flush()
        assert memory.export(tmp_path / name)
        assert plain_files(tmp_path, WORDS) == []
        memory.export(tmp_path / f"plain-{name}", plaintext=True)
        assert plain_files(tmp_path, WORDS) == [f"plain-{name}"]
    assert [file for file in tmp_path.iterdir() if file.name.endswith(".part")] == []


def test_an_encrypted_export_is_imported_with_its_secret(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    with memwell.open(str(tmp_path / "app.db"), space=SPACE, secret=SECRET, embedder=None, work=False) as memory:
        memory.remember(f"The {WORDS} lives in Lisbon.")
        memory.flush()
        memory.export(file)
    with memwell.open(str(tmp_path / "new.db"), space=SPACE, secret=SECRET, embedder=None, work=False) as memory:
        assert memory.import_file(file).counts["memories"] == 1
        assert memory.import_file(file).new == 0
    for secret in (OTHER, None):
        place = str(tmp_path / f"{secret}.db")
        with memwell.open(place, space=SPACE, embedder=None, work=False, secret=secret) as memory:
            with pytest.raises(SecretRefused, match="that of the store which wrote it") as refused:
                memory.import_file(file)
            assert refused.value.code == "wrong-export"


def test_a_secret_is_given_when_a_store_is_opened(path: Path) -> None:
    for key in (SECRET, bytes(range(32)), bytes(range(32)).hex()):
        path.unlink(missing_ok=True)
        with memwell.open(str(path), secret=key, embedder=None, work=False) as memory:
            memory.remember("Ann likes tea.")
        with pytest.raises(SecretRefused):
            memwell.open(str(path), embedder=None, work=False)
    for wrong in ("", b"", b"short"):
        with pytest.raises(InvalidInput):
            memwell.open(str(path), secret=wrong)
    with SqliteBackend(path, settings=Settings(secret=bytes(range(32)).hex())) as store, pytest.raises(InvalidInput):
        memwell.open(store, secret=SECRET)


# Backups


def test_a_backup_has_the_secret_of_its_store(path: Path) -> None:
    fill(path)
    folder = path.with_name("backups")
    folder.mkdir()
    first = back_up(path, folder, keep=1, settings=LOCKED)
    assert first.counts["entries"] == 3
    fill(path, count=5)
    second = back_up(path, folder, keep=1, settings=LOCKED)
    assert second.removed == [first.path]
    assert plain_files(path.parent, WORDS) == []
    with pytest.raises(SecretRefused):
        restore(second.path, path.with_name("new.db"), settings=Settings(secret=OTHER))
    with pytest.raises(SecretRefused):
        restore(second.path, path.with_name("new.db"), settings=Settings())
    assert not path.with_name("new.db").exists()
    assert restore(second.path, path.with_name("new.db"), settings=LOCKED).counts == second.counts
    assert len(values(path.with_name("new.db"))) == 5


# A new secret


def test_a_store_gets_another_secret(path: Path) -> None:
    fill(path, Settings())
    Path(f"{path}-cache").mkdir()
    Path(f"{path}-cache", "left.cache").write_text(WORDS)
    assert rekey(path, Secret(SECRET), settings=Settings())["entries"] == 3
    assert plain_files(path.parent, WORDS) == []
    assert len(values(path)) == 3
    rekey(path, Secret(OTHER), settings=LOCKED)
    with pytest.raises(SecretRefused):
        values(path)
    assert len(values(path, Settings(secret=OTHER))) == 3
    rekey(path, None, settings=Settings(secret=OTHER))
    assert len(values(path, Settings())) == 3
    assert [file.name for file in path.parent.iterdir()] == ["app.db"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_store_in_use_gets_no_other_secret(path: Path) -> None:
    fill(path)
    with SqliteBackend(path, settings=LOCKED) as store:
        store.kv.get(SPACE, "key0")
        with pytest.raises(BackupRefused, match="in use"):
            rekey(path, Secret(OTHER), settings=LOCKED)
    with pytest.raises(SecretRefused):
        rekey(path, Secret(SECRET), settings=Settings(secret=OTHER))
    assert len(values(path)) == 3
    assert plain_files(path.parent, WORDS) == []


_REKEY = """
import os, signal, sys
from pathlib import Path
import memwell.storage.sqlite.backup as backup
from memwell.settings import Settings
from memwell.storage.sqlite.encryption import Secret
step = sys.argv[4]
inner = getattr(backup, step)
def killed(*args, **options):
    if sys.argv[5] == "after":
        inner(*args, **options)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(backup, step, killed)
backup.rekey(Path(sys.argv[1]), Secret(sys.argv[3]), settings=Settings(secret=sys.argv[2]))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["_copy_rows", "_checked", "_take_rights", "_replace_locked"])
def test_a_killed_rekey_leaves_the_old_store_or_the_new(path: Path, step: str, moment: str) -> None:
    fill(path)
    ended = subprocess.run([sys.executable, "-c", _REKEY, str(path), SECRET, OTHER, step, moment], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert plain_files(path.parent, WORDS, "tenantcanary") == []
    done = (step, moment) == ("_replace_locked", "after")
    now = Settings(secret=OTHER if done else SECRET)
    assert len(values(path, now)) == 3
    # And again, to the end.
    rekey(path, Secret(OTHER), settings=now)
    assert len(values(path, Settings(secret=OTHER))) == 3
    assert [file.name for file in path.parent.iterdir()] == ["app.db"]


# How a secret may be written

ACCENTED = "caf\u00e9 at noon"
DECOMPOSED = "cafe\u0301 at noon"


def made_by_an_earlier_version(path: Path, given: str) -> None:
    """A store whose key is that of the text as it was given."""
    old = Secret(given)
    old._forms = (given,)
    rekey_plain(path, old)


def rekey_plain(path: Path, new: Secret) -> None:
    fill(path, Settings())
    with backup._alone(path, None) as source:
        copy = path.with_name("copy.db")
        backup._copy_rows(source, copy, new)
    copy.replace(path)


@pytest.mark.parametrize(
    ("made", "given"),
    [
        (KEY, f"{KEY}\n"),
        (f"{KEY}\r\n", KEY),
        (SECRET, f"{SECRET}\n"),
        (ACCENTED, DECOMPOSED),
        (DECOMPOSED, ACCENTED),
    ],
)
def test_a_line_end_and_another_normal_form_make_no_other_secret(path: Path, made: str, given: str) -> None:
    fill(path, Settings(secret=made))
    with SqliteBackend(path, settings=Settings(secret=given)) as store:
        assert store.log.threads(SPACE).items
    with memwell.open(path, secret=given, embedder=None) as memory:
        memory.export(path.with_suffix(".jsonl"))
    with memwell.open(path, secret=made, embedder=None) as memory:
        assert memory.import_file(path.with_suffix(".jsonl")).failed == 0


@pytest.mark.parametrize(
    ("made", "given"),
    [(f"{KEY}\n", f"{KEY}\n"), (DECOMPOSED, DECOMPOSED), (DECOMPOSED, ACCENTED), (ACCENTED, DECOMPOSED)],
)
def test_a_store_of_an_earlier_version_is_opened_and_backed_up(path: Path, made: str, given: str) -> None:
    made_by_an_earlier_version(path, made)
    chosen = Settings(secret=given)
    with SqliteBackend(path, settings=chosen) as store:
        assert store.log.threads(SPACE).items
    back_up(path, path.with_name("backup.db"), settings=chosen)
    restore(path.with_name("backup.db"), path.with_name("again.db"), settings=chosen)
    with SqliteBackend(path.with_name("again.db"), settings=chosen) as store:
        assert store.log.threads(SPACE).items


@pytest.mark.parametrize(
    "secret", [7, 1.5, True, ["a passphrase"], Path("key"), object(), b"short", bytearray(31), "", b""]
)
def test_what_is_no_secret_is_refused_with_what_is_one(path: Path, secret: object) -> None:
    with pytest.raises(InvalidInput, match="a passphrase as text, or a key of 32 bytes"):
        memwell.open(path, secret=secret)  # type: ignore[arg-type]
    assert not path.exists()


@pytest.mark.parametrize("secret", ["half a character \ud800", 12345678])
def test_settings_with_what_is_no_secret_are_refused(path: Path, secret: object) -> None:
    with pytest.raises(ConfigurationError, match="a secret"):
        open_backend(path, settings=Settings(secret=secret))  # type: ignore[arg-type]


def test_24_bytes_of_a_file_are_plain(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        fill(tmp_path / name)
    one, other = ((tmp_path / name).read_bytes() for name in ("a.db", "b.db"))
    assert one[16:24] == other[16:24]
    assert int.from_bytes(one[16:18], "big") in (4096, 8192, 16384, 32768, 1)
    assert one[24:40] != other[24:40]


def test_a_wrong_secret_and_a_damaged_file_name_the_way_out(path: Path) -> None:
    fill(path)
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(SecretRefused, match="damaged: restore a backup with memwell restore"):
        SqliteBackend(path, settings=LOCKED).close()


def test_a_refused_restore_names_the_backup(path: Path) -> None:
    fill(path)
    back_up(path, path.with_name("backup.db"), settings=LOCKED)
    with pytest.raises(SecretRefused, match=r"backup\.db'") as raised:
        restore(path.with_name("backup.db"), path.with_name("again.db"), settings=Settings(secret=OTHER))
    assert raised.value.code == "wrong-backup"
    assert "the secret that its store had when it was made" in str(raised.value)
    assert "partial" not in str(raised.value)
