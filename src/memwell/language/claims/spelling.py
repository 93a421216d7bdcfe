"""How a text is spelt before claims are read from it: full-width letters, capitals throughout, emoji between words."""

from __future__ import annotations

import re
from typing import NamedTuple

_WIDE = {code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_NARROW = _WIDE | {0x3000: " ", 0xFF0E: ".", 0xFF07: "'", 0xFF20: "@"}
"""Letters and digits as wide as Chinese characters. The punctuation stays: Chinese sentences are written with it."""
_IS_WIDE = re.compile("[\u3000\uff07\uff0e\uff10-\uff19\uff20-\uff3a\uff41-\uff5a]").search
_UNSEEN = "\ufeff\u200b\u2060\u00ad"
# Those that mark a jest (😂 😅 😉 🙃 🤣) are read, and one before a new sentence separates it from the last.
_EMOJI = (
    "(?:(?![\U0001f602\U0001f605\U0001f609\U0001f643\U0001f923])[\u2600-\u27bf\u2b50\U0001f300-\U0001faff\ufe0f\u200d])"
)
_GONE = re.compile(
    rf"[{_UNSEEN}]+|(?P<joins>\b(?:in|at|to|my|is|am|an?|the|and|for|from|name|called|named) )?(?P<emoji>{_EMOJI}+ ?)+"
    "(?P<goes_on>(?=[a-z]|(?![我他她])[\u4e00-\u9fff]))?"
)
_MAY_GO = re.compile(f"[{_UNSEEN}\u2600-\u27bf\u2b50\U0001f300-\U0001faff]").search
_SHOUTED = re.compile(r"(?<![^\s])[^a-z\s][^a-z.!?。！？\n]*(?:[.!?]+|\Z|\n)")
_CAPITALS = re.compile(r"[A-Z]{2,}|\bI\b|\bA\b")
_LEAST_SHOUTED = 3


class Spelling(NamedTuple):
    """A text as claims are read from it."""

    text: str
    places: list[int] | None
    """The place of each of its characters in the text as it was written; None where they are the same."""
    shouted: bool
    """Whether anything of it was in capitals throughout."""

    def written(self, start: int, end: int) -> tuple[int, int]:
        """The span in the text as it was written."""
        if self.places is None or not self.places:
            return start, end
        last = len(self.places) - 1
        return self.places[min(start, last)], self.places[min(max(start, end - 1), last)] + 1


def spelt(text: str) -> Spelling:
    """A text in usual spelling; one that has it is the same."""
    places: list[int] | None = None
    if _IS_WIDE(text):
        text = text.translate(_NARROW)
    if _MAY_GO(text):
        cut = [span for found in _GONE.finditer(text) if (span := _cut(found))]
        if cut:
            kept: list[str] = []
            places, at = [], 0
            for start, end in (*cut, (len(text), len(text))):
                kept.append(text[at:start])
                places += range(at, start)
                at = end
            text = "".join(kept)
    lowered = text if any(letter.islower() for letter in text[:200]) else _SHOUTED.sub(_lowered, text)
    return Spelling(lowered, places, lowered is not text and lowered != text)


def _cut(found: re.Match[str]) -> tuple[int, int] | None:
    """The span of characters to leave out, if any: emoji only where the sentence goes on behind them."""
    if found["emoji"] is None:
        return found.span()
    goes_on = found["joins"] is not None or found["goes_on"] is not None
    return (found.start() + len(found["joins"] or ""), found.end()) if goes_on else None


def _lowered(found: re.Match[str]) -> str:
    """A sentence of capitals in small ones; one of a few words may be a name or an abbreviation."""
    few = len(_CAPITALS.findall(found[0])) < _LEAST_SHOUTED
    lowered = found[0].lower()
    return found[0] if few or len(lowered) != len(found[0]) else lowered
