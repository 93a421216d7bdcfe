"""Knowledge: documents taken in, cut into passages, and recalled with exact citations."""

from __future__ import annotations

from memwell.knowledge.answers import Answer
from memwell.knowledge.chunking import Chunking
from memwell.knowledge.documents import Citation, Document, Found, Parsed
from memwell.knowledge.handle import Counts, Knowledge, knowledge_space
from memwell.knowledge.ingest import Ingested, Refused
from memwell.knowledge.reading import read_document

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
