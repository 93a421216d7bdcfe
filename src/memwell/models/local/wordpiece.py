"""Text cut into the word pieces that BERT's uncased models were taught with.

The vocabulary is BERT's own (Apache-2.0, its licence lies beside it). A text is cleaned character by character: control
characters vanish, accents and case go, punctuation and Chinese characters stand alone. Then every word is cut into the
longest pieces the vocabulary has. A word that cannot be cut, or is over 100 characters, becomes the piece *unknown*.
"""

from __future__ import annotations

import unicodedata
from importlib.resources import files

_UNKNOWN = "[UNK]"
_START = "[CLS]"
_END = "[SEP]"
_LONGEST_WORD = 100
_REMEMBERED_WORDS = 2**15
_REMEMBERED_LENGTH = 32

MOST_CHARACTERS = 2**16
"""What comes after so many characters of a text is not looked at."""

# Most texts that are cut off are cut off here already, so that a long one costs little more than a short one.
_FIRST_LOOK = 2**12

_HAN = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPieces:
    """A tokenizer with its vocabulary; safe to use from several threads."""

    def __init__(self) -> None:
        text = files("memwell.models.local").joinpath("vocabulary.txt").read_text(encoding="utf-8")
        self._ids = {piece: number for number, piece in enumerate(text.splitlines())}
        self._start, self._end = self._ids[_START], self._ids[_END]
        self._unknown = [self._ids[_UNKNOWN]]
        self._characters = _Characters()
        self._words: dict[str, list[int]] = {}

    def encode(self, text: str, most: int) -> list[int]:
        """The ids of a text's pieces between those of its start and its end, at most ``most`` of them altogether.

        A text without any piece is just its start and its end. What does not fit is dropped.
        """
        pieces = self._pieces(text[:_FIRST_LOOK], most - 2)
        if len(pieces) < most - 2 and len(text) > _FIRST_LOOK:
            pieces = self._pieces(text[:MOST_CHARACTERS], most - 2)
        return [self._start, *pieces[: most - 2], self._end]

    def _pieces(self, text: str, most: int) -> list[int]:
        found: list[int] = []
        known = self._words
        for word in text.translate(self._characters).split():
            found += known.get(word) or self._cut(word)
            if len(found) >= most:
                break
        return found

    def _cut(self, word: str) -> list[int]:
        pieces = self._longest_pieces(word) if len(word) <= _LONGEST_WORD else self._unknown
        if len(word) <= _REMEMBERED_LENGTH:
            if len(self._words) >= _REMEMBERED_WORDS:
                # Another thread that reads at this moment cuts its word anew, and no more.
                self._words.clear()
            self._words[word] = pieces
        return pieces

    def _longest_pieces(self, word: str) -> list[int]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            pieces.append(piece)
            start = end
        return pieces


class _Characters(dict[int, str]):
    """What becomes of each character, worked out when it is first seen."""

    def __missing__(self, point: int) -> str:
        plain = self[point] = _cleaned(chr(point))
        return plain


def _cleaned(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if character.isspace():
        return " "
    plain = "".join(map(_plain, unicodedata.normalize("NFD", character)))
    return f" {plain} " if any(first <= ord(character) <= last for first, last in _HAN) else plain


def _plain(character: str) -> str:
    if unicodedata.category(character) == "Mn":
        return ""
    return "".join(f" {one} " if _separates(one) else one for one in character.lower())


def _separates(character: str) -> bool:
    if character.isascii():
        return not character.isalnum() and character.isprintable() and character != " "
    return unicodedata.category(character).startswith("P")


__all__ = ["MOST_CHARACTERS", "WordPieces"]
