"""Which language a text is in, told by its letters: enough to choose an embedder, a lexicon or the form of a date.

Han characters without kana or Hangul are Chinese; Latin letters are English, whichever language they spell, unless their
marks and small words say otherwise. Only the first ``LOOKED_AT`` characters are looked at.
"""

from __future__ import annotations

import re

from memwell.language.words import check_string

LOOKED_AT = 4096
"""How much of a text decides."""

_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_MANY_HAN = re.compile(f"[{_HAN}]+").findall
# Deleting is the fastest way to count letters: all that is ASCII and no letter, and the marks of Chinese text.
_NOT_A_LETTER = re.compile(r"[\W\d_]+").sub
_OF_ASCII = bytes(code for code in range(128) if not chr(code).isalpha())
_KANA_OR_HANGUL = re.compile("[\u3041-\u30ff\u31f0-\u31ff\u1100-\u11ff\uac00-\ud7a3]").findall
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]+").findall
# A Chinese word says about as much as two of its characters or as five Latin letters.
_LETTERS_A_CHARACTER = 2.5
_FOREIGN_WORDS = frozenset(
    # German, French, Spanish, Italian, Portuguese, Dutch: small words that are not English ones too
    "und der das ist nicht ich ein eine mit auf sich auch wir sie den dem zu von für "
    "le les des est une dans qui pas vous nous je pour avec sur mais "
    "el los las que es un una por con para pero como muy está yo del "
    "il di che non per sono gli della ho mi uma não você os em eu het een van niet ik en wij".split()
)
_ENOUGH_FOREIGN = 0.25  # of the words


def han_share(text: str) -> float:
    """The share of a text's letters that are Han, from 0.0 to 1.0; 0.0 where there are no letters."""
    if check_string(text).isascii():
        return 0.0
    letters = _NOT_A_LETTER("", text[:LOOKED_AT])
    han = sum(map(len, _MANY_HAN(letters)))
    return han / len(letters) if han else 0.0


def language_of(text: str) -> str:
    """``"zh"``, ``"en"``, ``"other"``, or ``""`` for a text without letters."""
    text = check_string(text)[:LOOKED_AT]
    plain = text.encode("ascii", "ignore")
    latin = len(plain.translate(None, _OF_ASCII))
    others = len(text) - len(plain)
    if latin > others * _LETTERS_A_CHARACTER:
        return _of_latin(text)
    return _of_scripts(text, latin, others) if others else ""


def _of_scripts(text: str, latin: int, others: int) -> str:
    """The language of a text of so many ASCII letters and so many characters that are not ASCII."""
    han = sum(map(len, _MANY_HAN(text)))
    if han and len(_KANA_OR_HANGUL(text)) * 10 > han:  # Japanese and Korean: a few kana in Chinese are a name
        return "other"
    if latin <= han * _LETTERS_A_CHARACTER and others <= han * 2:
        return "zh"
    letters = len(_NOT_A_LETTER("", text))
    latin = sum(map(len, _LATIN(text)))
    if han and latin <= han * _LETTERS_A_CHARACTER and letters - latin <= han * 2:
        return "zh"
    if not letters:
        return ""
    return _of_latin(text) if latin * 2 >= letters - han else "other"


def _of_latin(text: str) -> str:
    """English, unless too many of its words are another language's."""
    words = text.lower().split()
    foreign = len(words) - len([word for word in words if word not in _FOREIGN_WORDS])
    return "other" if foreign >= 2 and foreign >= _ENOUGH_FOREIGN * len(words) else "en"
