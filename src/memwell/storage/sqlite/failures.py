"""memwell's errors for those of SQLite."""

from __future__ import annotations

import apsw

from memwell.errors import BackendError, BackendUnavailable, MemwellError, ReadOnlyStore


def is_sealed(error: apsw.Error) -> bool:
    """Whether a write was refused because the store is sealed: nothing else in it is done by triggers."""
    # An error that did not come from SQLite itself has no such number.
    number: object = getattr(error, "extendedresult", None)
    return number == apsw.SQLITE_CONSTRAINT_TRIGGER


def translated(error: apsw.Error, path: str) -> MemwellError:
    """memwell's error for a driver's."""
    if is_sealed(error):
        return ReadOnlyStore(f"the store {path!r} can only be read: {error}")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return BackendUnavailable(f"the store {path!r} stayed busy: another process holds it ({error})")
    if isinstance(error, apsw.FullError):
        return BackendError(f"the store {path!r} cannot grow: the disk is full ({error})")
    if isinstance(error, apsw.ReadOnlyError):
        return ReadOnlyStore(
            f"the store {path!r} can only be read: the file, its folder or the disk is write-protected; "
            "allow writing, or copy the store to where you may write"
        )
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError):
        return BackendError(
            f"the store {path!r} cannot be opened: check the rights of the file and its folder ({error})"
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return BackendError(f"the store {path!r} is damaged or not a SQLite file ({error})")
    return BackendError(f"the store {path!r} failed: {type(error).__name__}: {error}")


def failure(error: BaseException, path: str) -> BaseException:
    """What the owner of a write is told when it failed in another thread's hands."""
    if isinstance(error, apsw.Error):
        ours: BaseException = translated(error, path)
        ours.__cause__ = error
        return ours
    return error if isinstance(error, Exception) else BackendError("the write was interrupted; nothing was stored")


__all__ = ["failure", "is_sealed", "translated"]
