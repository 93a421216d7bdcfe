"""Vectors of texts: langchain-core's ``Embeddings``, by models that run here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from memwell._asyncify import run_blocking
from memwell.models.ports import Embedder

if TYPE_CHECKING:
    from memwell.models.local.embedder import Mode


class MemwellEmbeddings(Embeddings):
    """Embeddings that need no key, no server and no download; or those of any memwell ``Embedder``.

    ``model`` is ``"local"`` (English and 15 more languages), ``"minilm"`` (English), ``"use"`` (many languages) or an
    embedder. Rows have unit length; a text with nothing to embed has a row of zeros. Raises ``ConfigurationError`` for an
    unknown name.
    """

    def __init__(self, model: Mode | Embedder = "local") -> None:
        self.embedder = model if isinstance(model, Embedder) else _local(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for every text, in order. Raises ``InvalidInput`` for something that is not a text."""
        return self.embedder.embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The async twin of ``embed_documents``."""
        return await run_blocking(partial(self.embed_documents, texts))

    async def aembed_query(self, text: str) -> list[float]:
        """The async twin of ``embed_query``."""
        return await run_blocking(partial(self.embed_query, text))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.embedder.name!r})"


def _local(mode: Mode) -> Embedder:
    # Loads numpy, which whoever brings an embedder of his own may never need.
    from memwell.models.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder(mode)


__all__ = ["MemwellEmbeddings"]
