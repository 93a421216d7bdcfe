"""Encryption of a store's files with one secret: a passphrase, or a key of 32 bytes.

The cipher is AEGIS-256, by SQLite3 Multiple Ciphers: each page of a database and of its log is encrypted and authenticated
by itself. The first 24 bytes of a file are plain: a mark, random bytes as salt, and eight bytes of SQLite's own header (the
page size and the like). So a file and its secret are all that is needed to read it. A passphrase goes through scrypt
once for each salt, and SQLite is given the resulting key. Other data (graphs, caches, exports) are written as parts in a
database that is encrypted in the same way, with a key of its own.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import io
import re
import secrets
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast
from unicodedata import normalize

import apsw

from memwell.errors import ConfigurationError, SecretRefused
from memwell.storage.files import create_private, locked, sync
from memwell.storage.protocols import ENCRYPTED

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    from memwell.settings import Settings

T = TypeVar("T")
SALT = 16
_PLAIN = b"SQLite format 3\0"
_SCRYPT = {"n": 2**15, "r": 8, "p": 3, "maxmem": 2**26}
_KEY = 32
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_SHORTEST = 8
_PART = 4 * 2**20
_MOST_PAGE = 65_536

CREATE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class Secret:
    """What a store is encrypted with. 64 hexadecimal digits are a key and used as such; other text is a passphrase.

    A line end behind it does not count, and a passphrase is the same in any Unicode normal form. Raises
    ``ConfigurationError`` for anything else than text, and for a passphrase of fewer than 8 characters.
    """

    __slots__ = ("_forms", "text")

    def __init__(self, given: str) -> None:
        if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance] - settings come from anywhere
            raise ConfigurationError(f"a secret is text, not {type(given).__name__}")
        self.text = given
        """The secret as given, for settings. It is never shown."""
        bare = given.rstrip("\r\n")
        # Stores of earlier versions have the key of the text as it was given then.
        self._forms = tuple(dict.fromkeys([normalize("NFC", bare), given, bare, normalize("NFD", bare)]))
        try:
            given.encode()
        except UnicodeEncodeError:
            raise ConfigurationError("a secret must not hold half a character (a surrogate)") from None
        if len(bare) < _SHORTEST:
            raise ConfigurationError(f"a secret has {_SHORTEST} characters or more; this one has {len(bare)}")

    @classmethod
    def of(cls, settings: Settings) -> Secret | None:
        """The secret of the settings, if they have one. Raises ``ConfigurationError``."""
        if settings.secret and settings.secret_file:
            raise ConfigurationError(
                "either secret or secret_file is set, not both (MEMWELL_SECRET, MEMWELL_SECRET_FILE)"
            )
        if settings.secret_file:
            return cls.in_file(settings.secret_file)
        return cls(settings.secret) if settings.secret else None

    @classmethod
    def in_file(cls, path: str) -> Secret:
        """The secret in a file: 32 bytes, or text, whose last line end does not count. Raises ``ConfigurationError``."""
        try:
            data = Path(path).expanduser().read_bytes()
        except OSError as error:
            raise ConfigurationError(f"the secret file {path!r} cannot be read: {error.strerror}") from error
        with suppress(UnicodeDecodeError):
            text = data.decode().rstrip("\r\n")
            if text.isprintable() and text:
                return cls(text)
        if len(data) == _KEY:
            return cls(data.hex())
        raise ConfigurationError(f"the secret file {path!r} holds neither a line of text nor a key of {_KEY} bytes")

    def key(self, salt: bytes, use: str) -> FileKey:
        """The key for one use of the files with this salt."""
        return _key_of(_fitting.get((self.text, salt), self._forms[0]), salt, use)

    def opened(self, salt: bytes, use: str, opens: Callable[[FileKey], T]) -> T:
        """What ``opens`` returns for the key of the form that fits; it raises ``SecretRefused`` for others."""
        forms = dict.fromkeys([_fitting.get((self.text, salt), self._forms[0]), *self._forms])
        refused: SecretRefused | None = None
        for form in forms:
            try:
                found = opens(_key_of(form, salt, use))
            except SecretRefused as error:
                refused = refused or error
            else:
                _fitting[self.text, salt] = form
                return found
        assert refused is not None
        raise refused


_fitting: dict[tuple[str, bytes], str] = {}
"""Which form of a secret fits the files with a salt."""


def _key_of(form: str, salt: bytes, use: str) -> FileKey:
    base = bytes.fromhex(form) if _HEX.fullmatch(form) else _stretched(form.encode(), salt)
    # HKDF with one block of output.
    extracted = hmac.digest(salt, base, "sha256")
    return FileKey(hmac.digest(extracted, f"memwell {use}\x01".encode(), "sha256"), salt)


@lru_cache(maxsize=64)
def _stretched(passphrase: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(passphrase, salt=salt, dklen=_KEY, **_SCRYPT)


class FileKey(NamedTuple):
    """The key and the first bytes of one file."""

    key: bytes
    salt: bytes

    def __repr__(self) -> str:
        return "FileKey(…)"


def check_cipher(path: str) -> None:
    """Raises ``SecretRefused`` where SQLite was built without ciphers: it would ignore the key and write plain pages."""
    if not hasattr(apsw, "mc_version"):
        raise SecretRefused.of("no-cipher", path)


# The first page of a file


def first_page(path: Path) -> bytes:
    """The begin of a file, up to the largest page; empty for a file that is to be made, or cannot be read.

    It is read through SQLite: closing a file of its own would release the locks of all connections of this process.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or not found.st_size:
            return b""
        file = apsw.VFSFile("unix", str(path.absolute()), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    except (OSError, ValueError, apsw.Error):
        return b""
    try:
        return file.xRead(min(file.xFileSize(), _MOST_PAGE), 0)
    finally:
        file.xClose()


def is_encrypted(page: bytes) -> bool:
    """Whether a file begins as an encrypted one."""
    return page.startswith(ENCRYPTED)


def check_secret(path: str, page: bytes, secret: Secret | None) -> None:
    """Raises ``SecretRefused`` for an encrypted file without a secret, and for a secret without an encrypted file."""
    if secret is None:
        if is_encrypted(page):
            raise SecretRefused.of("needed", path)
        return
    check_cipher(path)
    if page.startswith(_PLAIN):
        raise SecretRefused.of("not-encrypted", path)


def new_salt() -> bytes:
    """The first bytes of a new encrypted file."""
    return ENCRYPTED + secrets.token_bytes(SALT - len(ENCRYPTED))


# Databases


def unlocked(place: str, key: FileKey, flags: int = CREATE) -> apsw.Connection:
    """A connection to an encrypted database. A wrong key shows when the first page is read."""
    connection = apsw.Connection(place, flags=flags)
    connection.execute("PRAGMA cipher='aegis'").fetchall()
    if connection.execute(f"PRAGMA key='raw:{key.key.hex()}{key.salt.hex()}'").fetchall() != [("ok",)]:
        connection.close()
        raise SecretRefused.of("no-cipher", place)
    return connection


def encrypted_store(path: str, place: str, page: bytes, secret: Secret, flags: int) -> apsw.Connection:
    """A connection to a store, which is made if need be. ``place`` is its path or URI, ``page`` its first page."""
    if not page and flags & apsw.SQLITE_OPEN_CREATE:
        page = _made(path, secret)

    def opens(key: FileKey) -> apsw.Connection:
        connection = unlocked(place, key, flags)
        try:
            connection.execute("PRAGMA schema_version").fetchall()
        except (apsw.NotADBError, apsw.CorruptError) as error:
            connection.close()
            raise SecretRefused.of("wrong", path) from error
        except apsw.Error:
            # Another error: the first use of the connection raises it.
            pass
        return connection

    return secret.opened(page[:SALT], "store", opens)


def _made(path: str, secret: Secret) -> bytes:
    """The first page of a new store. Of several processes that begin at once, one makes it: they must agree on the salt."""
    lock = Path(f"{path}.new")
    with suppress(OSError), locked(lock):
        try:
            if not first_page(Path(path)):
                create_private(Path(path))
                making = unlocked(path, secret.key(new_salt(), "store"))
                making.execute("PRAGMA journal_mode=WAL").fetchall()
                making.close()
        finally:
            lock.unlink()
    # Without a file the connection fails, and SQLite says why.
    return first_page(Path(path)) or new_salt()


# Other data, as parts in a database


class EncryptedWriter(io.RawIOBase):
    """Writes a new encrypted file. It is complete, but not synced, once it is closed. Raises ``OSError``."""

    def __init__(self, path: Path, key: FileKey) -> None:
        create_private(path)
        self._path = str(path)
        self._pending = bytearray()
        self._connection = unlocked(self._path, key)
        # An unfinished file is deleted, so it needs no journal.
        self._run(
            f"PRAGMA page_size={_MOST_PAGE}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; "
            "CREATE TABLE part (number INTEGER PRIMARY KEY, data BLOB NOT NULL); BEGIN"
        )

    def _run(self, sql: str, *bindings: bytes) -> None:
        try:
            self._connection.execute(sql, bindings).fetchall()
        except apsw.Error as error:
            number = errno.ENOSPC if isinstance(error, apsw.FullError) else errno.EIO
            raise OSError(number, str(error), self._path) from error

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        size = len(self._pending)
        self._pending += memoryview(data).cast("B")
        size = len(self._pending) - size
        while len(self._pending) >= _PART:
            self._add(bytes(memoryview(self._pending)[:_PART]))
            del self._pending[:_PART]
        return size

    def _add(self, data: bytes) -> None:
        self._run("INSERT INTO part (data) VALUES (?)", data)

    def close(self) -> None:
        if not self.closed:
            try:
                if self._pending:
                    self._add(bytes(self._pending))
                self._run("COMMIT")
            finally:
                self._connection.close(True)
                super().close()


class EncryptedReader(io.RawIOBase):
    """Reads an encrypted file from its begin to its end. Raises ``SecretRefused`` for another key or a damaged file."""

    def __init__(self, path: Path, key: FileKey) -> None:
        self._path = str(path)
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        self._connection = unlocked(f"{path.absolute().as_uri()}?immutable=1", key, flags)
        try:
            counted = self._connection.execute("SELECT ifnull(sum(length(data)), 0) FROM part").fetchall()
            [(pages,)] = self._connection.execute("PRAGMA page_count").fetchall()
        except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError) as error:
            self._connection.close()
            raise SecretRefused.of("wrong", self._path) from error
        # A page of which the end is missing would be decrypted to noise, and not refused.
        if path.stat().st_size != cast(int, pages) * _MOST_PAGE:
            self._connection.close()
            raise SecretRefused.of("wrong", self._path)
        self.size = cast(int, counted[0][0])
        self._number = 0
        self._part = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        if not self._part:
            self._part = memoryview(self._next())
        count = min(len(target), len(self._part))
        target[:count] = self._part[:count]
        self._part = self._part[count:]
        return count

    def _next(self) -> bytes:
        self._number += 1
        try:
            rows = self._connection.execute("SELECT data FROM part WHERE number = ?", (self._number,)).fetchall()
        except apsw.Error as error:
            raise OSError(errno.EIO, f"it is damaged: {error}", self._path) from error
        return cast(bytes, rows[0][0]) if rows else b""

    def close(self) -> None:
        if not self.closed:
            self._connection.close(True)
            super().close()


def write_encrypted(path: Path, key: FileKey, parts: Iterable[bytes | memoryview]) -> None:
    """Write an encrypted file and sync it. Raises ``OSError``."""
    with EncryptedWriter(path, key) as file:
        for part in parts:
            file.write(part)
    sync(path)


def read_encrypted(path: Path, key: FileKey) -> bytearray:
    """The content of an encrypted file. Raises ``OSError`` when it is missing or damaged, or has another key."""
    try:
        if not is_encrypted(first_page(path)):
            raise OSError(f"{str(path)!r} is no encrypted file")
        with EncryptedReader(path, key) as file:
            data = bytearray(file.size)
            view, done = memoryview(data), 0
            while count := file.readinto(view[done:]):
                done += count
            return data
    except (apsw.Error, SecretRefused) as error:
        raise OSError(str(error)) from error
