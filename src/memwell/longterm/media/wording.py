"""The text of a medium: what it shows, its feature words and what is said in it, together and apart again.

A memory has one text, and that is all its words are kept in: whoever changes it, redacts it or erases it reaches all of
them. Where the description, the feature words and the transcript stand in it is kept beside it, and holds as long as the
text is what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec

Span: TypeAlias = tuple[int, int]


class Wording(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where the words of a medium stand in its text, and which text that was."""

    description: Span | None = None
    features: tuple[Span, ...] = ()
    transcript: Span | None = None
    text: str = ""
    """A digest of the text that the places belong to."""


class Words(msgspec.Struct, frozen=True):
    """The words of a medium apart."""

    description: str = ""
    features: tuple[str, ...] = ()
    transcript: str = ""


def composed(words: Words) -> tuple[str, Wording]:
    """One text for all words, a line each, and where they stand in it. Without any words the text is empty."""
    pieces: list[str] = []
    at = 0

    def put(piece: str, between: str) -> Span | None:
        nonlocal at
        if not piece:
            return None
        if pieces:
            pieces.append(between)
            at += len(between)
        pieces.append(piece)
        start, at = at, at + len(piece)
        return start, at

    description = put(words.description, "\n")
    spans = [put(one, "\n" if not number else _comma(words.features)) for number, one in enumerate(words.features)]
    transcript = put(words.transcript, "\n")
    text = "".join(pieces)
    features = tuple(span for span in spans if span is not None)
    return text, Wording(
        description=description, features=features, transcript=transcript, text=_digest(text) if text else ""
    )


def _comma(words: Sequence[str]) -> str:
    return ", " if all(map(str.isascii, words)) else "、"


def apart(text: str, wording: Wording) -> Words:
    """The words of a medium again. A text that was changed since is all description."""
    if not wording.text:
        return Words()
    if wording.text != _digest(text):
        return Words(text)
    return Words(
        _at(text, wording.description), tuple(_at(text, one) for one in wording.features), _at(text, wording.transcript)
    )


def _at(text: str, span: Span | None) -> str:
    return "" if span is None else text[span[0] : span[1]]


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


__all__ = ["Words", "Wording", "apart", "composed"]
