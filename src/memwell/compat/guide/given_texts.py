"""Texts as they are given to the guide's classes: a list, and as many metadatas or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.knowledge import Document, Knowledge
from memwell.values import check_metadata, check_text, shown

_LONGEST_NAME = 24


def add_texts(
    knowledge: Knowledge, texts: Sequence[str], metadatas: Sequence[Mapping[str, Any]] | None
) -> list[Document]:
    """Take texts in, each with its metadata; a text that is there with the same metadata is not taken in twice.

    Raises ``InvalidInput`` for what is no list of texts, and for another number of metadatas; then nothing is added.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"documents must be a list of texts, not {shown(texts)}")
    checked = [check_text(text, "a document").strip() for text in texts]
    nothing: dict[str, Any] = {}
    listed = [nothing] * len(checked) if metadatas is None else metadatas
    given = [check_metadata(dict(one or nothing)) for one in listed]
    if len(given) != len(checked):
        raise InvalidInput(f"{len(checked)} documents need {len(checked)} metadatas, not {len(given)}")
    return [
        knowledge.add(text, id=_content_id(text, metadata), source=_named(text, metadata), metadata=metadata)
        for text, metadata in zip(checked, given, strict=True)
    ]


def _named(text: str, metadata: Mapping[str, Any]) -> str:
    """What a text is cited as: the source or title its metadata names, or else how it begins."""
    for key in ("source", "title"):
        if isinstance(metadata.get(key), str) and metadata[key].strip():
            return metadata[key]
    # A name is cited by what stands behind its last slash.
    begin = " ".join(text.split())[: _LONGEST_NAME + 1].replace("/", "∕")
    return begin if len(begin) <= _LONGEST_NAME else f"{begin[:_LONGEST_NAME]}…"


def _content_id(text: str, metadata: Mapping[str, Any]) -> str:
    """The same for the same content: a program that is run again adds nothing twice."""
    content = msgspec.json.encode([text, metadata], order="sorted")
    return f"doc_{blake2b(content, digest_size=16).hexdigest()}"


__all__ = ["add_texts"]
