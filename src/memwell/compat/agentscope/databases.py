"""What the memories over databases of others have in common: the summary, which the state carries too, and their end."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from memwell.compat.agentscope.memories import MemoryBase, state_in
from memwell.values import check_text


class DatabaseMemory(MemoryBase):
    """A memory whose messages, marks and summary are in a database. A class of its own says how the summary is kept.

    The state is the summary as it was last written or read here. One that is loaded is stored with the next call that needs
    it; an empty one is not, so that a state saved before anything was read does no harm.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loaded = False

    @abstractmethod
    async def close(self) -> None:
        """Let go of the database."""

    @abstractmethod
    async def _read_summary(self) -> str:
        """The summary in the database; empty when there is none."""

    @abstractmethod
    async def _write_summary(self, summary: str) -> None:
        """Put a summary into the database; the empty text drops it."""

    async def update_compressed_summary(self, summary: str) -> None:
        """Say what the compressed messages held; the empty text takes it back. Raises ``InvalidInput`` for no text."""
        await self._write_summary(check_text(summary, "a summary"))
        self._compressed_summary, self._loaded = summary, False

    async def _summary(self) -> str:
        if self._loaded:
            await self.update_compressed_summary(self._compressed_summary)
        else:
            self._compressed_summary = await self._read_summary()
        return self._compressed_summary

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Put a summary back. The messages are in the database; those of a state are not taken, which is a warning.

        Raises ``MissingState`` (a ``KeyError``) when it has neither a summary nor messages, unless ``strict`` is off.
        """
        content = state_in(state_dict, type(self).__name__).content
        super().load_state_dict(state_dict, strict=strict and content is None)
        if content:
            told = f"{len(content)} message(s) of the state were not taken; add them with add()"
            warnings.warn(f"{told}: {type(self).__name__} keeps its messages in the database", stacklevel=2)
        self._loaded = bool(self._compressed_summary)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


__all__ = ["DatabaseMemory"]
