"""Where answers stand: the stretches of documents that questions can be made about.

A document is parted into *regions*, each under one heading and as long as a page at most. A question belongs to the
region its answer stands in, so that questions of different regions never share an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memwell.knowledge.chunking import heading_words
from memwell.knowledge.documents import Block, Parsed
from memwell.language.detect import han_share
from memwell.language.sentences import sentences

_REGION = (400, 2_500)  # characters of text; a Chinese character counts as three
_REGIONS = 40  # at least, where the text is long enough: halves of few regions would be uneven
_SENTENCE = (30, 420)
_PASSAGE = (320, 2_000)
_FEWEST = 3  # sentences of a passage
_PROSE = ("paragraph", "list")
_PART = "part"  # of a paragraph too long to be one thing
_MARKS = re.compile(r"[(){}\[\]=<>_|\\/\"`]")
_MOST_MARKS = 0.06  # of the characters: what has more is code, whatever its block is called


class Place(NamedTuple):
    """What may be asked about: ``text`` is what stands in the document from ``start`` to ``end``."""

    document: int
    start: int
    end: int
    text: str
    heading: str


class Region(NamedTuple):
    """A stretch of a document: its single sentences, and its passages that are understood only as a whole."""

    sentences: tuple[Place, ...]
    passages: tuple[Place, ...]


def regions(documents: Sequence[Parsed]) -> list[Region]:
    """The regions of documents, in order, that have anything to ask about."""
    found: list[Region] = []
    total = sum(length_of(parsed.text) for parsed in documents)
    most = max(_REGION[0], min(_REGION[1], total // _REGIONS))
    for number, parsed in enumerate(documents):
        for heading, blocks in _stretches(parsed, most):
            region = _region(number, parsed, heading, blocks)
            if region.sentences:
                found.append(region)
    return found


def _stretches(parsed: Parsed, most: int) -> Iterator[tuple[str, list[Block]]]:
    """Blocks in a row that stand under the same heading, of about so many characters at most."""
    heading, blocks, size = "", list[Block](), 0
    for block in (part for whole in parsed.blocks for part in _parts(parsed.text, whole, most)):
        text = parsed.text[block.start : block.end]
        full = size + length_of(text) > most and not _is_announced(parsed.text, blocks, block)
        if blocks and (block.kind == "heading" or full):
            yield heading, blocks
            blocks, size = [], 0
        if block.kind == "heading":
            heading = heading_words(text)
        else:
            blocks.append(block)
            size += length_of(text)
    if blocks:
        yield heading, blocks


def _parts(text: str, block: Block, most: int) -> Iterator[Block]:
    """A block as it is, or one too long for a paragraph in parts: a text may have no other breaks than its sentences."""
    if block.kind != "paragraph" or length_of(text[block.start : block.end]) <= _PASSAGE[1]:
        yield block
        return
    start = end = block.start
    for span in sentences(text[block.start : block.end]):
        if end > start and length_of(text[start : block.start + span.end]) > most:
            yield Block(_PART, start, end)
            start = block.start + span.start
        end = block.start + span.end
    yield Block(_PART, start, end)


def _is_announced(text: str, before: Sequence[Block], block: Block) -> bool:
    """Whether a list follows the words that say what it is about."""
    return block.kind == "list" and bool(before) and _announces(text, before[-1])


def _announces(text: str, block: Block) -> bool:
    return text[block.start : block.end].rstrip().endswith((":", "："))


def _region(number: int, parsed: Parsed, heading: str, blocks: Sequence[Block]) -> Region:
    singles: list[Place] = []
    wholes: list[Place] = []
    for position, block in enumerate(blocks):
        if block.kind in (*_PROSE, _PART, "row"):
            singles += _sentences(number, parsed, heading, block)
        if block.kind in _PROSE and (whole := _passage(number, parsed, heading, blocks, position)):
            wholes.append(whole)
    return Region(tuple(singles), tuple(wholes))


def _sentences(number: int, parsed: Parsed, heading: str, block: Block) -> Iterator[Place]:
    text = parsed.text[block.start : block.end]
    # The fields of a row belong together, whatever marks they hold.
    whole = block.kind == "row"
    spans = [(0, len(text))] if whole else [(span.start, span.end) for span in sentences(text)]
    for start, end in spans:
        if _SENTENCE[0] <= length_of(text[start:end]) <= _SENTENCE[1] and not _is_code(text[start:end]):
            yield Place(number, block.start + start, block.start + end, text[start:end], heading)


def _passage(number: int, parsed: Parsed, heading: str, blocks: Sequence[Block], position: int) -> Place | None:
    """A paragraph of several sentences, or one that announces the list after it, with that list."""
    first = last = blocks[position]
    if _announces(parsed.text, first):
        for block in blocks[position + 1 :]:
            if block.kind != "list":
                break
            last = block
    elif first.kind == "list":
        # What a list is about is said before it, and its items alone may have nothing to do with one another.
        return None
    text = parsed.text[first.start : last.end]
    fits = _PASSAGE[0] <= length_of(text) <= _PASSAGE[1] and len(sentences(text)) >= _FEWEST and not _is_code(text)
    return Place(number, first.start, last.end, text, heading) if fits else None


def _is_code(text: str) -> bool:
    return len(_MARKS.findall(text)) > _MOST_MARKS * len(text)


def length_of(text: str) -> int:
    """The length of a text, as if it were English."""
    return len(text) if text.isascii() else round(len(text) * (1 + 2 * han_share(text)))


__all__ = ["Place", "Region", "length_of", "regions"]
