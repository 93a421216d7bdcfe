"""The error of everything here that stores and loads."""

from __future__ import annotations

from memwell.errors import MemwellError


class StorageError(MemwellError):
    """What was asked breaks the contract of a storage: it is there already, has no identifier, or cannot be used.

    Nothing was stored. ``message`` says what is wrong.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


__all__ = ["StorageError"]
