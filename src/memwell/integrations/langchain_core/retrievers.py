"""What is remembered, as documents: langchain-core's ``BaseRetriever`` over long-term memory."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled


class MemwellRetriever(BaseRetriever):
    """Recalls from a memory that ``memwell.open`` gave: words, meaning, time and people together.

    A document has the memory's text and id; its metadata has the memory's own and, above them, ``id``, ``score``, ``when``
    (ISO 8601, UTC), ``speaker``, ``session``, ``kind`` and ``why``. A call may name ``k`` or any option of ``recall``:
    ``retriever.invoke("who?", k=3, speaker="Ann")``. Raises ``InvalidInput`` for an option that breaks a rule.
    """

    memory: Memory
    """Where to look: what ``memwell.open`` returns, or its ``at(space)``."""
    k: int = 5
    """How many documents at most."""
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Options of ``recall`` for every call, such as ``{"speaker": "Ann", "diversity": 0.3}``."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        found = self.memory.recall(query, **self._asked(options))
        return [_document(hit, query) for hit in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        found = await self.memory.arecall(query, **self._asked(options))
        return [_document(hit, query) for hit in found]

    def _asked(self, options: dict[str, Any]) -> dict[str, Any]:
        asked = {"k": self.k, **self.search_kwargs, **options}
        return {"limit": asked.pop("k"), **asked}


def _document(hit: Recalled, query: str) -> Document:
    told = {
        "id": hit.id,
        "score": hit.score,
        "when": hit.time.isoformat(),
        "speaker": hit.speaker,
        "session": hit.session,
        "kind": hit.kind,
        "why": hit.why(query=query),
    }
    return Document(id=hit.id, page_content=hit.text, metadata={**hit.metadata, **told})


__all__ = ["MemwellRetriever"]
