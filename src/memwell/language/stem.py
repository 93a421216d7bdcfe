"""English word stems: *run*, *runs* and *running* are one word to a search.

This is the suffix stripping of M. F. Porter, "An algorithm for suffix stripping" (1980), with the two changes its author
made later (``bli`` and ``logi`` in the second step). A stem is a key, not a word: *memory* and *memories* both give
*memori*. A word of another language loses its English-looking endings too, the same way in the index and in the query.
"""

from __future__ import annotations

from collections.abc import Mapping

from memwell.language.texts import check_string


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; words of one or two letters are their own stems."""
    if len(check_string(word, "a word")) <= 2:
        return word
    word = _without_past_or_gerund(_without_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _DOUBLE_SUFFIXES, 1)
    word = _replaced(word, _SIMPLE_SUFFIXES, 1)
    word = _replaced(word, _LAST_SUFFIXES, 2)
    return _tidied(word)


def _shape(word: str) -> str:
    """A ``c`` for each consonant and a ``v`` for each vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How many times a vowel is followed by a consonant: roughly, its syllables that are closed."""
    return _shape(word).count("vc")


def _ends_like_hop(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, as *hop* does: such a stem has lost its final e (*hope*)."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _ends_doubled(word: str) -> bool:
    return word[-1:] == word[-2:-1] and _shape(word).endswith("c")


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past_or_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            base = word.removesuffix(suffix)
            return _restored(base) if "v" in _shape(base) else word
    return word


def _restored(base: str) -> str:
    """What stood before *-ed* or *-ing*: hopp → hop, hop → hope, conflat → conflate."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _ends_doubled(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _ends_like_hop(base) else base


def _tidied(word: str) -> str:
    """Without a final e that carries no syllable, and with one l of two."""
    base = word.removesuffix("e")
    if base != word and (_measure(base) > 1 or (_measure(base) == 1 and not _ends_like_hop(base))):
        word = base
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _replaced(word: str, suffixes: Mapping[str, str], least: int) -> str:
    """Replace the longest suffix that matches, if what stands before it has at least that measure."""
    for suffix, replacement in suffixes.items():
        if word.endswith(suffix):
            base = word.removesuffix(suffix)
            # Only -sion and -tion are endings; the -ion of "onion" is not.
            if _measure(base) < least or (suffix == "ion" and not base.endswith(("s", "t"))):
                return word
            return base + replacement
    return word


def _longest_first(suffixes: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(suffixes.items(), key=lambda item: -len(item[0])))


_DOUBLE_SUFFIXES = _longest_first(
    {"ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al"}
    | {"entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al"}
    | {"iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble"}
    | {"logi": "log"}
)
_SIMPLE_SUFFIXES = _longest_first(
    {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
)
_LAST_SUFFIXES = _longest_first(
    dict.fromkeys(
        "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(),
        "",
    )
)

__all__ = ["stem"]
