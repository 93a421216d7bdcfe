"""Documents: texts with metadata, as vector stores and retrievers hand them around."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memwell.values import check_text, shown


class Document:
    """A text with metadata and, once it is stored, an id."""

    def __init__(self, page_content: str, metadata: Mapping[str, Any] | None = None, *, id: str | None = None) -> None:  # noqa: A002 - LangChain's name for it
        self.page_content = check_text(page_content, "page_content")
        self.metadata = dict(metadata or {})
        self.id = id
        self.type = "Document"

    def __eq__(self, other: object) -> bool:
        if not hasattr(other, "page_content"):
            return NotImplemented
        theirs = (getattr(other, name, None) for name in ("page_content", "metadata", "id"))
        return (self.page_content, self.metadata, self.id) == tuple(theirs)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - its metadata may change

    def __repr__(self) -> str:
        return f"Document(page_content={shown(self.page_content)}, metadata={shown(self.metadata)})"


__all__ = ["Document"]
