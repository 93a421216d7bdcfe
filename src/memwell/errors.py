"""Every error memwell raises.

    MemwellError
    ├── ConfigurationError        a setting, a URL or an installation is wrong
    │   ├── MissingDependency     an optional package is not installed
    │   └── SecretRefused         the secret of an encrypted store is missing or wrong, or cannot be used
    ├── InvalidInput              a value breaks a rule; nothing was stored
    │   └── UnreadableDocument    a file or a page on the web cannot be read as a document
    ├── NotFound                  a thread, message, record or blob that must exist does not
    ├── NotGranted                a space that was not shared with the caller
    ├── AccessDenied              a service does not know the key, or the key may not do this
    ├── Busy                      a service is overloaded, or the key exceeded its rate; it says when to try again
    ├── Conflict                  another process was first: an id, an index or a version is taken
    ├── FileError                 a file that was named cannot be read or written
    ├── Unsupported               this backend or model cannot do what was asked
    ├── BackendError              the store failed; nothing of the failed call was stored
    │   ├── BackendUnavailable    the store cannot be reached or stayed busy; trying again may help
    │   └── ReadOnlyStore         the store can be read, but not written
    └── ModelError                a model failed
        └── BadModelOutput        a model answered, but not in the form it was asked for

Errors of drivers (apsw and others) never leave their backend: they are raised as one of these, with the driver's error as
``__cause__``.
"""

from __future__ import annotations

from typing import Self


class MemwellError(Exception):
    """The root: catch this to catch everything memwell raises on purpose."""


class ConfigurationError(MemwellError):
    """A setting, a URL or an installation is wrong; the message says which and what to do."""


def install_command(extra: str) -> str:
    """The command that installs an extra. The path is that of a clone or a wheel, which is where memwell comes from."""
    return f'pip install "path/to/memwell[{extra}]"'


class MissingDependency(ConfigurationError):
    """An optional package is not installed; the message names the extra that brings it."""

    @classmethod
    def of(cls, needed: str, extra: str) -> Self:
        """The error for what an extra brings; ``needed`` says what needs which package."""
        return cls(f"{needed}: {install_command(extra)}, where the path is that of your clone or wheel")


_SECRETS = {
    "needed": "{path} is encrypted: give its secret (secret=…, MEMWELL_SECRET, or MEMWELL_SECRET_FILE)",
    "wrong": "the secret does not open {path}; if it is the right one, the file is damaged: restore a backup with "
    "memwell restore",
    "wrong-backup": "the secret does not open the backup {path}: a backup has the secret that its store had when it was "
    "made, which after memwell rekey is the old one; if it is the right one, the backup is damaged",
    "wrong-export": "the export {path} has another secret than this store, or is damaged: it has that of the store which "
    "wrote it; import it into a store with that secret, or export it again with plaintext=True",
    "not-encrypted": "{path} is not encrypted, and a secret was given: leave it out, or encrypt the store "
    "with memwell rekey",
    "no-cipher": "{path} cannot be encrypted or read, since this apsw has no ciphers: "
    "pip uninstall apsw, then pip install --force-reinstall apsw-sqlite3mc",
    "other-store": "a secret encrypts SQLite files alone, not {path}: leave the secret out, or keep that part in the store",
}


class SecretRefused(ConfigurationError):
    """The secret of an encrypted store is missing or wrong, or cannot be used; nothing was changed.

    ``code`` is one of: needed, wrong, wrong-backup, wrong-export, not-encrypted, no-cipher, other-store. ``path`` is the
    file, or the part's address.
    """

    def __init__(self, message: str = "", *, code: str = "needed", path: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.path = path

    @classmethod
    def of(cls, code: str, path: str) -> SecretRefused:
        """The error with its message."""
        return cls(_SECRETS[code].format(path=repr(path)), code=code, path=path)


class InvalidInput(MemwellError, ValueError):
    """A value breaks a rule; the message names the value and the rule. Nothing was stored."""


class UnreadableDocument(InvalidInput):
    """A file or a page on the web cannot be read as a document. ``reason`` is a short code for programs.

    One of: empty, binary, broken, encrypted, archive, too-large, not-what-it-says, no-text, encoding, unsupported,
    forbidden-address, unreachable.
    """

    def __init__(self, message: str = "", *, reason: str = "broken") -> None:
        super().__init__(message)
        self.reason = reason


class NotFound(MemwellError, LookupError):
    """A thing that must exist for this call does not."""


class NotGranted(MemwellError, PermissionError):
    """A space is not shared with the caller, no longer is, or not for writing. Nothing was read or stored."""


class AccessDenied(MemwellError, PermissionError):
    """A service refused.

    ``code`` is ``bad-key`` (none, unknown, expired or revoked), ``missing-scope``,
    ``foreign-space``, or ``foreign-origin``.
    """

    def __init__(self, message: str = "", *, code: str = "bad-key") -> None:
        super().__init__(message)
        self.code = code


class Busy(MemwellError):
    """A service is overloaded, or the key exceeded its rate. Nothing was done; try again after ``retry_after`` seconds.

    ``code`` is ``rate-limited`` when it is the key's own doing, ``overloaded`` or ``stopping`` when it is not.
    """

    def __init__(self, message: str = "", *, retry_after: float = 1.0, code: str = "overloaded") -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.code = code


class Conflict(MemwellError):
    """An id, an index or an expected version is already taken. Nothing was stored."""


class FileError(MemwellError, OSError):
    """A file that was named cannot be read or written; the message names it and the reason."""


class Unsupported(MemwellError):
    """This backend or model cannot do what was asked; another one can."""


class BackendError(MemwellError):
    """The store failed. Nothing of the failed call was stored, and the store stays usable once the cause is gone."""


class BackendUnavailable(BackendError):
    """The store cannot be reached, or was busy for longer than the timeout. Trying again may help."""


class ReadOnlyStore(BackendError):
    """The store's file or folder is write-protected: reading works, writing does not."""


class ModelError(MemwellError):
    """A model failed."""


class BadModelOutput(ModelError):
    """A model answered, but not in the form it was asked for."""


__all__ = [
    "AccessDenied",
    "BackendError",
    "BackendUnavailable",
    "BadModelOutput",
    "Busy",
    "ConfigurationError",
    "Conflict",
    "FileError",
    "InvalidInput",
    "MemwellError",
    "MissingDependency",
    "ModelError",
    "NotFound",
    "NotGranted",
    "ReadOnlyStore",
    "SecretRefused",
    "UnreadableDocument",
    "Unsupported",
    "install_command",
]
