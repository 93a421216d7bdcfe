"""Knowledge: documents taken in, cut into passages, and recalled with exact citations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._package import load_lazily as _load_lazily

if TYPE_CHECKING:
    from memwell.knowledge.answers import Answer
    from memwell.knowledge.chunking import Chunking
    from memwell.knowledge.documents import Citation, Document, Found, Parsed
    from memwell.knowledge.handle import Counts, Knowledge, knowledge_space
    from memwell.knowledge.ingest import Ingested, Refused
    from memwell.knowledge.reading import read_document

_LAZY = {
    "Answer": ".answers",
    "Chunking": ".chunking",
    "Citation": ".documents",
    "Counts": ".handle",
    "Document": ".documents",
    "Found": ".documents",
    "Ingested": ".ingest",
    "Knowledge": ".handle",
    "Parsed": ".documents",
    "Refused": ".ingest",
    "knowledge_space": ".handle",
    "read_document": ".reading",
}
"""Loaded lazily: a worker that reads files needs the readers alone."""

if not TYPE_CHECKING:
    # A type checker would take any name for one of the package.
    __getattr__, __dir__ = _load_lazily(globals(), _LAZY)

__all__ = [
    "Answer",
    "Chunking",
    "Citation",
    "Counts",
    "Document",
    "Found",
    "Ingested",
    "Knowledge",
    "Parsed",
    "Refused",
    "knowledge_space",
    "read_document",
]
