"""Whether a word that stands where a password or a token may stand is one.

What assigns (``password = …``) says so by itself. Where nothing does ("password hunter2"), the word must look chosen, not
written: letters with digits, or letters of both cases with a sign.
"""

from __future__ import annotations

import math
import re
from collections import Counter

is_placeholder = re.compile(
    r"\A(?:[*•.xX#_?-]+|[<$%{\[(].*|.*\(|your.*|my_.*|(?:os|process|env|config|settings)\..*|getenv.*"
    r"|(?:string|str|text|none|null|true|false|required|optional|example|password|passwd|pass|pwd|pw|secret|token|key"
    r"|redacted|hidden|https?:.*)[,;]?)\Z",
    re.IGNORECASE,
).match
"""Whether a word only stands for a value: ``<password>``, ``$TOKEN``, ``********``."""

_JOINING = str.maketrans("", "", "-'’/. ")
_SIGNS = re.compile(r"[^A-Za-z0-9'’/. _-]").search
_CLASSES = tuple(re.compile(pattern).search for pattern in ("[a-z]", "[A-Z]", "[0-9]"))
# Written with letters and digits, and said near passwords, but never one.
_TECHNICAL = re.compile(
    r"(?:sha|md|utf|base|oauth|pbkdf|argon|bcrypt|scrypt|aes|rsa|rfc|ipv|wpa|tls|http|version|level|step|part|page|chapter)"
    r"[-_/]?[0-9.]{1,5}\w{0,3}|[0-9]{1,2}fa|[0-9]{1,4}(?:st|nd|rd|th|px|kb|mb|gb|am|pm|bit|bits|chars?)",
    re.IGNORECASE,
).fullmatch
_ADDRESS_OR_CALL = re.compile(
    r"\A/|\(|://|@[\w-]+(?:\.[A-Za-z]{2,24})+\Z|\.(?:html?|php|aspx?|jsp|pdf|docx?|txt|md|py|js|com|org|net|cn)\b",
    re.IGNORECASE,
).search
_FEWEST, _FEWEST_DIGITS, _FEWEST_CLASSES = 6, 6, 3


def unlike_a_word(word: str) -> bool:
    """Whether a value has a digit, or a sign other than those that words are joined by."""
    return any(map(str.isdigit, word)) or not word.translate(_JOINING).isalpha()


def looks_chosen(word: str, *, last: bool, named: bool = True) -> bool:
    """Whether a word is a password that nothing but the word *password* announces.

    ``last`` says that the thought ends with it, so that a short number counts nothing; without ``named`` something else
    may be meant ("my password to server2"), and more is asked of it.
    """
    if word.isdigit():
        return named and (len(word) >= _FEWEST_DIGITS or last)
    if len(word) < _FEWEST or _TECHNICAL(word) or _ADDRESS_OR_CALL(word):
        return False
    small, capital, digit = (bool(found(word)) for found in _CLASSES)
    mixed = small + capital + digit + bool(_SIGNS(word)) >= _FEWEST_CLASSES
    return mixed or (named and digit and (small or capital))


_TOKEN = re.compile(r"\A[A-Za-z0-9_~+/=.-]{16,}\Z").match
_HASH_OR_UUID = re.compile(
    r"\A(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z", re.IGNORECASE
).match
_FEWEST_BITS = 3.0  # a character; English words joined by hyphens can reach it, but hold no digits


def looks_random(word: str, *, rows_have_it: bool) -> bool:
    """Whether a word is a token. Where ``rows_have_it``, as after "key", a hash or a UUID is the key of a row instead."""
    if not _TOKEN(word) or not _CLASSES[2](word) or word.isdigit() or is_placeholder(word):
        return False
    return _bits(word) >= _FEWEST_BITS and not (rows_have_it and _HASH_OR_UUID(word))


def _bits(word: str) -> float:
    """How many bits a character of the word carries, by how often each occurs in it."""
    return -sum(count / len(word) * math.log2(count / len(word)) for count in Counter(word).values())


__all__ = ["is_placeholder", "looks_chosen", "looks_random", "unlike_a_word"]
