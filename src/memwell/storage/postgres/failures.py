"""The driver's errors in memwell's words."""

from __future__ import annotations

import psycopg
from psycopg import errors

from memwell.errors import BackendError, BackendUnavailable, MemwellError, ReadOnlyStore

SEALED = "MWS01"
"""The SQLSTATE of a write that a sealed store refuses."""

_AWAY = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleInTransactionSessionTimeout)
_AGAIN = (errors.DeadlockDetected, errors.SerializationFailure)


def is_lost(error: psycopg.Error, connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Whether the connection is gone, so that the error says nothing about the statement."""
    return connection.closed or isinstance(error, _AWAY)


def is_clash(error: psycopg.Error) -> bool:
    """Whether the server undid a transaction because it clashed with another: run again, it may well succeed."""
    return isinstance(error, _AGAIN)


def is_starting(error: psycopg.Error) -> bool:
    """Whether the server will be there in a moment."""
    return isinstance(error, errors.CannotConnectNow) or "starting up" in str(error) or "recovery" in str(error)


def translated(error: psycopg.Error, place: str, *, reading: bool = False) -> MemwellError:
    """memwell's error for the driver's. Who was only reading is not told that nothing was stored."""
    said = _first_line(error)
    stored = "" if reading else "nothing was stored; "
    if error.sqlstate == SEALED:
        return ReadOnlyStore(f"the store {place} is sealed: {said}")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return ReadOnlyStore(
            f"the store {place} can only be read: the server is a replica or set to read only ({said})"
        )
    if isinstance(error, errors.QueryCanceled):
        return BackendUnavailable(
            f"the store {place} gave a statement up because it took too long; "
            f"{stored}try again, or raise statement_timeout_s ({said})"
        )
    if isinstance(error, errors.LockNotAvailable):
        return BackendUnavailable(f"the store {place} stayed busy: another holds it; {stored}try again ({said})")
    if is_clash(error):
        return BackendUnavailable(
            f"the store {place} undid a transaction that stood in the way of another; {stored}try again"
        )
    if isinstance(error, errors.DiskFull):
        return BackendError(f"the store {place} cannot grow: the server's disk is full ({said})")
    if isinstance(error, errors.InsufficientPrivilege):
        return BackendError(f"the store {place} does not allow it: {said}")
    if isinstance(error, psycopg.OperationalError):
        return BackendUnavailable(f"the store {place} cannot be reached: {said}")
    return BackendError(f"the store {place} failed: {type(error).__name__}: {said}")


def _first_line(error: psycopg.Error) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


__all__ = ["SEALED", "is_clash", "is_lost", "is_starting", "translated"]
