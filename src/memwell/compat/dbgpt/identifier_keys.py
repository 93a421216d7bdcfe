"""The key under which an item is stored: made of its identifier, and never the same for two.

Keys sort as the identifiers do, except that numbers sort by their value: message 2 comes before message 10.
"""

from __future__ import annotations

import functools
import re
from hashlib import blake2b

from memwell.values import MAX_ID_LENGTH

_DIGITS = re.compile("([0-9]+)")
_UNSTORABLE = re.compile("[\0\1\ud800-\udfff]")
_LONGEST_COUNT_OF_ONE_DIGIT = 8
_SHORT = 200
_KEPT = MAX_ID_LENGTH - 128


def key_of(identifier: str) -> str:
    """The key of an identifier of any length and any characters.

    A number is written with the count of its digits in front and of its leading zeros behind. NUL, surrogates and the sign
    that marks them are written in letters. What is too long for a key ends in a digest of the whole.
    """
    # Who saves an item loads it soon. Long ones are not remembered, for they would fill the memory.
    return _remembered(identifier) if len(identifier) <= _SHORT else _key(identifier)


def _key(identifier: str) -> str:
    plain = _PLAIN(identifier)
    if plain is not None:
        # Most have one number, at their end.
        return f"{plain[1]}{len(plain[2])}{plain[2]}0"
    # Numbers first: the letters that stand for a character may hold digits, which must be left alone.
    pieces = _DIGITS.split(identifier)
    for place in range(1, len(pieces), 2):
        pieces[place] = _number(pieces[place])
    key = "".join(pieces)
    if not key.isascii() or "\0" in key or "\1" in key:
        key = _UNSTORABLE.sub(_spelt, key)
    if len(key) <= MAX_ID_LENGTH:
        return key
    digest = blake2b(identifier.encode(errors="surrogatepass"), digest_size=32).hexdigest()
    # The mark and this letter are written nowhere else, so that no short identifier has such a key.
    return f"{key[:_KEPT]}\1d{digest}"


_PLAIN = re.compile(
    rf"([\x02-/:-\x7f]{{0,{_SHORT}}})([1-9]\d{{0,{_LONGEST_COUNT_OF_ONE_DIGIT - 1}}})", re.ASCII
).fullmatch
_remembered = functools.lru_cache(maxsize=8192)(_key)


def _number(digits: str) -> str:
    size = len(digits)
    if size <= _LONGEST_COUNT_OF_ONE_DIGIT and digits[0] != "0":
        return f"{size}{digits}0"
    significant = digits.lstrip("0")
    zeros, size = size - len(significant), len(significant)
    return f"{_count(size)}{significant}{_count(zeros)}"


def _count(number: int) -> str:
    """A count that sorts by its value and of which none is the beginning of another."""
    if number <= _LONGEST_COUNT_OF_ONE_DIGIT:
        return str(number)
    digits = str(number)
    # A text holds fewer characters than a number of nine digits can count.
    return f"9{len(digits)}{digits}"


def _spelt(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\0":
        return "\1a"
    return "\1b" if character == "\1" else f"\1c{ord(character):04x}"


__all__ = ["key_of"]
