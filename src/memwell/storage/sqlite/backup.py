"""Backup and restore of a SQLite store that is in use, and a new secret for one that is not.

A backup is one file: SQLite copies the pages of one snapshot while others go on writing. It is written under a temporary
name, checked and counted, and only then renamed, so that a name always holds a whole backup: the old or the new one. A
restore works on a checked copy too, and never deletes the store that it replaces.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from msgspec.structs import replace

from memwell.errors import BackendError, FileError, InvalidInput, SecretRefused
from memwell.settings import Settings, load_settings
from memwell.storage.files import COMPANIONS, is_at, locked, open_plain, replace_file, sync
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend, counted
from memwell.storage.sqlite.connections import Connections, Session, connect, has_checksums, is_wrong_page, translated
from memwell.storage.sqlite.encryption import (
    CREATE,
    SALT,
    Secret,
    check_cipher,
    first_page,
    is_encrypted,
    new_salt,
    unlocked,
)
from memwell.storage.sqlite.schema import APPLICATION_ID
from memwell.storage.sqlite.zeroing import zeroing_vfs
from memwell.values import shown

Progress = Callable[[int, int | None], None]
"""Called with how many bytes are done, and of how many."""

Facts = Callable[[Backend], dict[str, Any]]
"""Makes the counts to report, by the names of the store's facts."""

_COUNTS = ("threads", "messages", "entries", "records", "vectors", "blobs")
_PAGES_A_STEP = 1_000
_CHUNK = 1 << 20
_HEADER = b"SQLite format 3\x00"

_REFUSALS = {
    "same-file": "{path} is the store itself; name another file, or a folder",
    "foreign-file": "{path} exists and is no backup of this store; it was left as it is",
    "incomplete": "the backup of {path} was not kept: {reason}",
    "not-a-backup": "{path} is no backup of memwell's",
    "has-log": "{path} has a write-ahead log, so it is a store and not a backup; back it up first",
    "wrong-digest": "{path} is not the file that was written: its SHA-256 is another than in {digest}",
    "damaged": "the backup {path} is damaged: {reason}",
    "exists": "the store {path} exists; with force it is moved aside",
    "in-use": "the store {path} is in use by another program; stop it first",
}


class BackupRefused(BackendError):
    """A backup was not made or not restored, and nothing was changed. ``code`` says why, for programs.

    One of: same-file, foreign-file, incomplete, not-a-backup, has-log, wrong-digest, damaged, exists, in-use.
    ``values`` are what the message names.
    """

    def __init__(self, code: str, path: Path, **values: object) -> None:
        self.code = code
        self.values: dict[str, object] = {"path": shown(str(path)), **values}
        super().__init__(_REFUSALS[code].format(**self.values))


class Backup(NamedTuple):
    """A finished backup: its file, SHA-256, size and counts, and the older backups that were removed."""

    path: Path
    digest: str
    size: int
    counts: dict[str, int]
    removed: list[Path]


class RestoredBackup(NamedTuple):
    """A finished restore: its counts, whether a digest was compared, and where the old store was moved."""

    path: Path
    digest: str
    compared: bool
    counts: dict[str, int]
    aside: Path | None


def back_up(
    store: Path,
    to: Path,
    *,
    keep: int | None = None,
    progress: Progress | None = None,
    facts: Facts | None = None,
    settings: Settings | None = None,
) -> Backup:
    """Copy the store as it is now to the file ``to``, or into the folder ``to`` under a name with the time.

    Everything that was acknowledged before this was called is in it. With ``keep`` only that many of this store's backups
    stay in the folder. Every row is counted to see that it is whole; ``facts`` makes the reported counts instead. That of
    an encrypted store has the same secret, which the settings name. Raises ``BackupRefused``; ``SecretRefused``;
    ``FileError`` when the file cannot be written; ``BackendError`` when the store cannot be read; ``InvalidInput`` when
    ``keep`` is no count, or ``to`` no folder with it.
    """
    _check_keep(to, keep)
    # Opening migrates an old store, so that checking the copy does not change it.
    chosen = settings or load_settings()
    secret = Secret.of(chosen)
    SqliteBackend(store, settings=chosen).close()
    connections = Connections(str(store), secret=secret)
    source = connections.open_session()
    try:
        source.execute("BEGIN")
        identity = _identity(source.connection)
        file = _dated(to, store) if to.is_dir() else to
        _check_target(file, store, identity, secret)
        made = _write(source, store, file, progress or _quiet, facts, chosen)
    except apsw.Error as error:
        raise translated(error, str(store)) from error
    finally:
        source.close()
        connections.close()
    return made._replace(removed=_remove_older(made.path, store, identity, secret, keep) if keep else [])


def _quiet(done: int, total: int | None) -> None:
    """Report nothing."""


def _check_keep(to: Path, keep: int | None) -> None:
    if keep is None:
        return
    if keep < 1:
        raise InvalidInput(f"at least one backup is kept, not {keep}")
    if not to.is_dir():
        raise InvalidInput(f"only in a folder can older backups be known from others, and {shown(str(to))} is none")


def _check_target(file: Path, store: Path, identity: float | None, secret: Secret | None) -> None:
    """Only an older backup of the same store is overwritten. A restored backup is a store, not a backup."""
    if not file.exists():
        return
    if file.samefile(store):
        raise BackupRefused("same-file", file)
    if not _digest_file(file).exists() or identity is None or identity_of(file, secret) != identity:
        raise BackupRefused("foreign-file", file)


def _write(
    source: Session, store: Path, file: Path, progress: Progress, facts: Facts | None, settings: Settings
) -> Backup:
    expected = _only_counts(counted(source))
    with _partial(file) as partial:
        _copy_pages(source, partial, Secret.of(settings), progress)
        sync(partial)
        found, reported, problems = _checked(partial, facts, settings)
        if problems or found != expected:
            reason = problems[0] if problems else f"it holds {found}, the store {expected}"
            raise BackupRefused("incomplete", store, reason=reason)
        digest, size = _digest(partial), partial.stat().st_size
        _take_name(partial, file, digest)
    return Backup(file, digest, size, reported, [])


def _take_name(partial: Path, file: Path, digest: str) -> None:
    """Rename a backup to its name. A process killed meanwhile leaves the old or the new one, with its digest."""
    digests, line = _digest_file(file), _digest_line(digest, file.name)
    former = digests.read_bytes() if file.exists() else b""
    replace_file(digests, former + line)
    partial.replace(file)
    replace_file(digests, line)


def _copy_pages(source: Session, to: Path, secret: Secret | None, progress: Progress) -> None:
    """Copy the snapshot of the session. Writers neither wait nor restart the copy."""
    store = Path(source.connection.filename)
    if secret is not None:
        # The same salt, and so the same key: what is copied are pages.
        target = unlocked(str(to), secret.key(first_page(store)[:SALT], "store"))
    else:
        # Pages are copied as they are: with their checksums, if the store has any; only their unused part is zeroed.
        vfs = zeroing_vfs(None)
        target = connect(str(to), zeroing=True) if has_checksums(store) else apsw.Connection(str(to), vfs=vfs)
    try:
        # An unfinished file is deleted, so it needs no journal.
        target.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF").fetchall()
        if secret is None:
            # Checksums are made from the first page on that has room for them; pages of the log have none yet.
            target.execute("PRAGMA user_version=1").fetchall()
        [(page_size,)] = source.rows("PRAGMA page_size")
        with target.backup("main", source.connection, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_A_STEP)
                done = copying.page_count - copying.remaining
                progress(done * page_size, copying.page_count * page_size)
    finally:
        target.close(True)


@contextmanager
def _partial(file: Path) -> Generator[Path]:
    """A locked, empty temporary file next to ``file``, deleted at the end unless it was renamed. Raises ``FileError``."""
    partial = file.with_name(f"{file.name}.partial")
    try:
        with locked(partial) as descriptor:
            # It holds everything that the store holds: only its owner may read it.
            os.fchmod(descriptor, 0o600)
            os.ftruncate(descriptor, 0)
            _remove_journals(partial)
            try:
                yield partial
            finally:
                # After the rename another process may have created the next one.
                if is_at(partial, descriptor):
                    _remove_journals(partial)
                    partial.unlink()
    except OSError as error:
        raise _unwritable(file, error) from error
    except apsw.Error as error:
        if is_wrong_page(error):
            raise
        failure = OSError(errno.ENOSPC if isinstance(error, apsw.FullError) else errno.EIO, str(error))
        raise _unwritable(file, failure) from failure


def _unwritable(file: Path, error: OSError) -> FileError:
    reason = error.strerror or str(error)
    return FileError(f"{shown(str(file))} cannot be written: {reason}; what was there is as it was")


def _remove_journals(file: Path) -> None:
    for ending in ("-wal", "-log", "-shm", "-journal"):
        Path(f"{file}{ending}").unlink(missing_ok=True)


def _checked(file: Path, facts: Facts | None, settings: Settings) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """The counts of a store, the counts to report, and the store's faults."""
    try:
        with SqliteBackend(file, settings=settings) as store:
            held = _only_counts(store.facts())
            return held, held if facts is None else _only_counts(facts(store)), store.check()
    except BackendError as error:
        return {}, {}, [str(error)]


def _only_counts(facts: dict[str, object]) -> dict[str, int]:
    return {name: int(str(facts[name])) for name in _COUNTS}


# Names and older backups


def _dated(folder: Path, store: Path) -> Path:
    """A name with the time, which sorts behind existing ones."""
    stamp = _stamp()
    taken = [number for time, number, _ in _listed(folder, store) if time == stamp]
    return folder / f"{store.stem}-{stamp}{f'-{max(taken) + 1}' if taken else ''}.db"


def _listed(folder: Path, store: Path) -> list[tuple[str, int, Path]]:
    """The files named like backups of this store, the oldest first."""
    form = re.compile(re.escape(store.stem) + r"-(\d{8}T\d{6}Z)(?:-(\d+))?\.db")
    matches = [(form.fullmatch(file.name), file) for file in folder.iterdir()]
    return sorted((match[1], int(match[2] or 1), file) for match, file in matches if match)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def _remove_older(made: Path, store: Path, identity: float | None, secret: Secret | None, keep: int) -> list[Path]:
    """Remove this store's backups in the folder but the newest. Another store of the same name keeps its own."""
    listed = [file for *_, file in _listed(made.parent, store) if file != made]
    others = [file for file in listed if identity_of(file, secret) == identity]
    gone = others[: max(len(others) - keep + 1, 0)]
    for file in gone:
        file.unlink()
        _digest_file(file).unlink(missing_ok=True)
    return gone


def identity_of(file: Path, secret: Secret | None = None) -> float | None:
    """The creation time of the store that the file is a copy of, which identifies it.

    None when it is no store, or is encrypted with another secret.
    """
    if not _is_store(file):
        return None
    try:
        connection = connect(str(file), secret, frozen=True)
        try:
            return _identity(connection)
        finally:
            connection.close()
    except (apsw.Error, SecretRefused):
        return None


def _identity(connection: apsw.Connection) -> float | None:
    rows = connection.execute("SELECT value FROM store WHERE name = 'created'").fetchall()
    return float(str(rows[0][0])) if rows else None


def _is_store(file: Path) -> bool:
    """Whether a file is a SQLite file with memwell's application id, or an encrypted one."""
    with open_plain(file) as opened:
        header = opened.read(100)
    return is_encrypted(header) or (header.startswith(_HEADER) and header[68:72] == APPLICATION_ID.to_bytes(4, "big"))


# Digests


def _digest_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def _digest_line(digest: str, name: str) -> bytes:
    """A line as sha256sum writes and reads it."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n")
    return f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n".encode()


def _digest(file: Path) -> str:
    with open_plain(file) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _check_digest(source: Path, digest: str) -> bool:
    """Compare with the digest file of the backup; False when there is none. Raises ``BackupRefused``."""
    try:
        lines = _digest_file(source).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return False
    if digest not in {line.partition(" ")[0].lstrip("\\").lower() for line in lines}:
        raise BackupRefused("wrong-digest", source, digest=shown(str(_digest_file(source))))
    return True


# Restoring


def restore(
    source: Path,
    store: Path,
    *,
    force: bool = False,
    progress: Progress | None = None,
    facts: Facts | None = None,
    settings: Settings | None = None,
) -> RestoredBackup:
    """Replace the store by the backup ``source``, after comparing a copy with its digest and checking it.

    An existing store is renamed with all its files, and only with ``force``. ``facts`` and ``settings`` are as for
    ``back_up``. Raises ``SecretRefused``; ``BackupRefused`` when the backup is not whole, when the store exists, or is
    seen to be in use; ``FileError`` when the store cannot be written; ``OSError`` when the backup cannot be read.
    """
    chosen = settings or load_settings()
    _check_source(source)
    if store.exists():
        if store.samefile(source):
            raise BackupRefused("same-file", source)
        if not force:
            raise BackupRefused("exists", store)
    with _partial(store) as copy:
        digest = _copy_file(source, copy, progress or _quiet)
        compared = _check_digest(source, digest)
        try:
            _, counts, problems = _checked(copy, facts, chosen)
        except SecretRefused as refused:
            # The copy is the backup to the user who restores it.
            code = "wrong-backup" if refused.code == "wrong" else refused.code
            raise SecretRefused.of(code, str(source)) from None
        if problems:
            raise BackupRefused("damaged", source, reason=problems[0].replace(str(copy), str(source)))
        if store.exists() and is_in_use(store, Secret.of(chosen)):
            raise BackupRefused("in-use", store)
        _take_rights(copy, store)
        sync(copy)
        aside = _put_in_place(copy, store)
    return RestoredBackup(store, digest, compared, counts, aside)


def _check_source(source: Path) -> None:
    if not _is_store(source):
        raise BackupRefused("not-a-backup", source)
    log = Path(f"{source}-wal")
    if log.exists() and log.stat().st_size:
        raise BackupRefused("has-log", source)


def _copy_file(source: Path, to: Path, progress: Progress) -> str:
    """Copy a file and return its SHA-256."""
    digest, done, total = hashlib.sha256(), 0, source.stat().st_size
    with source.open("rb") as reading, to.open("rb+") as writing:
        while chunk := reading.read(_CHUNK):
            writing.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress(done, total)
    return digest.hexdigest()


def is_in_use(store: Path, secret: Secret | None = None) -> bool:
    """Whether another connection to the store is visible, of any process. If none is, its log is checkpointed.

    A program that has opened a store and neither read nor written is not visible. Nor is any, where the store is damaged
    or write-protected.
    """
    try:
        connection = connect(str(store), secret, apsw.SQLITE_OPEN_READWRITE, zeroing=True)
    except (apsw.Error, SecretRefused):
        return False
    try:
        # Leaving WAL mode needs exclusive access, and empties the log.
        return connection.execute("PRAGMA journal_mode=DELETE").fetchall() == [("wal",)]
    except (apsw.BusyError, apsw.LockedError):
        return True
    except apsw.Error:
        return False
    finally:
        connection.close()


# A new secret


def rekey(store: Path, new: Secret | None, *, settings: Settings | None = None) -> dict[str, int]:
    """Encrypt a store with a new secret, which the settings do not name yet; None decrypts it. Its counts.

    The store is copied, checked, and the copy renamed to its name: a process that is killed leaves the old or the new
    one. Graphs and caches are removed, and made again when needed. No other program may have the store open. Raises
    ``SecretRefused`` for a wrong secret, ``BackupRefused`` when the store is in use or the copy is not whole, and
    ``FileError`` when it cannot be written.
    """
    chosen = settings or load_settings()
    secret = Secret.of(chosen)
    if new is not None:
        check_cipher(str(store))
    with SqliteBackend(store, settings=chosen) as backend:
        expected = _only_counts(backend.facts())
    if is_in_use(store, secret):
        raise BackupRefused("in-use", store)
    with _partial(store) as copy, _alone(store, secret) as source:
        _copy_rows(source, copy, new)
        found, _, problems = _checked(copy, None, _with_secret(chosen, new))
        if problems or found != expected:
            reason = problems[0] if problems else f"it holds {found}, the store {expected}"
            raise BackupRefused("incomplete", store, reason=reason)
        _remove_journals(copy)
        _take_rights(copy, store)
        sync(copy)
        for ending in ("-hnsw", "-cache"):
            shutil.rmtree(f"{store}{ending}", ignore_errors=True)
        _replace_locked(copy, store)
    return found


def _with_secret(settings: Settings, secret: Secret | None) -> Settings:
    return replace(settings, secret="" if secret is None else secret.text, secret_file="")


@contextmanager
def _alone(store: Path, secret: Secret | None) -> Generator[apsw.Connection]:
    """A connection that lets no other use the store, in this or another process. Raises ``BackupRefused``."""
    connection = connect(str(store), secret, CREATE | apsw.SQLITE_OPEN_URI)
    try:
        connection.execute(
            "PRAGMA temp_store=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT"
        ).fetchall()
        yield connection
    except (apsw.BusyError, apsw.LockedError) as error:
        raise BackupRefused("in-use", store) from error
    finally:
        connection.close(True)


def _copy_rows(source: apsw.Connection, to: Path, secret: Secret | None) -> None:
    """Copy all rows: a page of another cipher has less room."""
    place = f"{to.absolute().as_uri()}?vfs={apsw.vfs_names()[0]}&key="
    if secret is not None:
        key = secret.key(new_salt(), "store")
        place += f"raw:{key.key.hex()}{key.salt.hex()}&cipher=aegis"
    try:
        source.execute("VACUUM INTO ?", (place,))
    except apsw.Error as error:
        # Its message may hold the key.
        failure = OSError(errno.ENOSPC if isinstance(error, apsw.FullError) else errno.EIO, type(error).__name__)
        raise _unwritable(to, failure) from None


def _replace_locked(copy: Path, store: Path) -> None:
    """Rename a copy to the name of a store that this process has locked, and make the old file unusable.

    Another process may wait for its lock. It must not go on with a file that has no name any more.
    """
    with store.open("rb+") as old:
        copy.replace(store)
        sync(store.absolute().parent)
        old.write(b"replaced by a copy with another secret\n" * 3)


def _take_rights(copy: Path, store: Path) -> None:
    """Give the copy the permissions and owner of the store that it replaces, as far as allowed."""
    if store.exists():
        known = store.stat()
        copy.chmod(known.st_mode & 0o777)
        with suppress(OSError):
            os.chown(copy, known.st_uid, known.st_gid)


def _put_in_place(copy: Path, store: Path) -> Path | None:
    """Rename all files of the old store, then the copy to the store's name; the new name of the old store.

    A log or graph next to the file of another store would be read as its own, so they are renamed first.
    """
    aside = _free_name(store)
    there = [ending for ending in COMPANIONS if Path(f"{store}{ending}").exists()]
    existed = store.exists()
    if existed:
        _second_name(store, aside)
    for ending in there:
        Path(f"{store}{ending}").rename(f"{aside}{ending}")
    copy.replace(store)
    sync(store.absolute().parent)
    return aside if existed or there else None


def _free_name(store: Path) -> Path:
    first = f"{store.name}.before-restore-{_stamp()}"
    names = (first if number == 1 else f"{first}-{number}" for number in range(1, 1_000))
    return next(store.with_name(name) for name in names if not store.with_name(name).exists())


def _second_name(file: Path, name: Path) -> None:
    """Rename a file, keeping the old name until another file takes it, so that there is always a store."""
    try:
        os.link(file, name)
    except OSError:
        # Not every file system has hard links.
        file.rename(name)
