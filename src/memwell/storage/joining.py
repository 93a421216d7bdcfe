"""How two stores commit together: one decides, the other is bound to follow.

The store that decides has transactions of its own and keeps the verdict in them: a note under the id of the other's
transaction, committed with everything else. The other first makes itself ready, so that from then on it can do either, also
after its user has died. Whoever comes across such a transaction later asks for the verdict: noted means committed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import TypeAlias

Verdict: TypeAlias = Callable[[str], bool]
"""Whether the transaction of this id was committed. May raise ``BackendUnavailable``: then nothing is decided yet."""


class Joined(ABC):
    """A transaction that follows another store's. Entered, it is the calling context's transaction on its store."""

    id: str

    @abstractmethod
    def __enter__(self) -> Joined:
        """Begin. Nothing is asked of the store before something is read or written inside."""

    @abstractmethod
    def prepare(self) -> bool:
        """Be ready to go either way, also after a death; False when nothing was written, and no verdict is needed."""

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit; or, ended by an error, undo, unless it was prepared and the verdict is that it was committed."""


class Joining(ABC):
    """A store whose transactions can follow another's."""

    @abstractmethod
    def joined(self) -> Joined:
        """A transaction that waits for a verdict."""

    @abstractmethod
    def follow(self, verdict: Verdict) -> None:
        """From now on ask this about every prepared transaction that was left behind."""
