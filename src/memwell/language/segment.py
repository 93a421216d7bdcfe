"""``segment``: splits a text into the tokens of full-text search.

``segment`` returns the tokens to store, ``query_terms`` those to search for; the latter are always among the former.

- Words: letters and digits of any alphabet, casefolded; compatibility forms (full-width letters, ligatures) become plain.
  Marks on Latin letters are dropped, so *café* is *cafe*; other scripts keep theirs, й is not и. Plain Latin words are
  stemmed (``stem`` below). A mix of letters and digits such as *gpt4* is one word and is not stemmed.
- Apostrophes: a clitic goes (*Anna's*, *we'll*, *l'amour* are *anna*, *we*, *amour*), any other is closed up (*dont*).
- Scripts without spaces (Chinese, Japanese, Korean, Yi; Thai, Lao, Khmer, Burmese): every pair of neighbouring characters,
  and every single character. Traditional and simplified forms are different.
- Emoji: each one is a token, with its skin tone, its joined parts, or as a flag.
- Everything else separates: ``foo_bar``, ``v1.2.3``, ``3.5`` and an e-mail address are several tokens each. Only a soft
  hyphen and a variation selector, which are inside a word or a character, are removed without separating.

Single characters are stored so that a query of one character finds them; a longer query searches for pairs only, which say
more. They cost: in FTS5 a message of 160 Chinese characters takes 749 bytes with them and 358 without. They come last,
so neighbouring pairs stay neighbours.

A token consists of ``a-z``, ``0-9`` and non-ASCII characters only, so tokens may be joined by spaces for an index that
splits at ASCII punctuation. A word longer than ``MAX_TOKEN`` characters is cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from memwell.language.words import check_string

# English stems: *run*, *runs* and *running* are one word for a search.


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; words of one or two letters are their own stems."""
    if len(word) <= 2:
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
    """How many times a vowel is followed by a consonant: about the number of closed syllables."""
    return _shape(word).count("vc")


def _ends_like_hop(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, as *hop*: such a stem has lost its final e (*hope*)."""
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
    """The word before *-ed* or *-ing*: hopp → hop, hop → hope, conflat → conflate."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _ends_doubled(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _ends_like_hop(base) else base


def _tidied(word: str) -> str:
    """Without a silent final e, and with one l of two."""
    base = word.removesuffix("e")
    if base != word and (_measure(base) > 1 or (_measure(base) == 1 and not _ends_like_hop(base))):
        word = base
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _replaced(word: str, suffixes: Mapping[str, str], least: int) -> str:
    """Replace the longest matching suffix, if the rest has at least that measure."""
    for suffix, replacement in suffixes.items():
        if word.endswith(suffix):
            base = word.removesuffix(suffix)
            # Only -sion and -tion are suffixes; the -ion of "onion" is not.
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

SEGMENTATION = 1
"""Incremented when the tokens of any text change, because stored indexes must then be rebuilt."""

MAX_TOKEN = 64
"""The longest token in characters."""

_REMEMBERED_WORDS = 2**15

_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u108f\u1780-\u17d3"  # Burmese, Khmer
    "\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Hangul
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # kana
    "\u3105-\u312f\u31a0-\u31bf\ua000-\ua48c"  # Bopomofo, Yi
    "\u2e80-\u2fd5\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Han
)
# The second plane up to the emoji: ancient and rare scripts, taken whole, because exact ranges would be tried one by one.
_RARE = "\U00010000-\U0001afef\U0001b170-\U0001efff"
_PICTURES = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2767\u2794-\u27bf\u2934\u2935"
    "\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001faff"
)
_PICTURE = f"[{_PICTURES}][\U0001f3fb-\U0001f3ff]?"  # with a skin tone
_FLAG_LETTER = "[\U0001f1e6-\U0001f1ff]"
_REGION_TAGS = "[\U000e0020-\U000e007f]{0,8}"  # of a flag such as Scotland's
# It begins with one class of characters and not with a choice: searching is several times faster so.
_EMOJI = f"{_PICTURE}(?:(?<={_FLAG_LETTER}){_FLAG_LETTER}|{_REGION_TAGS}(?:\u200d{_PICTURE}){{0,8}})"

_VANISHING = re.compile("[\u00ad\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Text is normalised in stretches, because a long row of combining marks takes the square of its length to put in order.
# A stretch ends before a character that never combines with the one before it, if there is one.
_STRETCH = 512
_STRETCHES = re.compile(rf"(?s).{{1,{_STRETCH}}}(?=[\x00-\x7f\u4e00-\u9fff]|\Z)|.{{1,{_STRETCH}}}")
# What Chinese text is full of, and what alone would send it down the slow path of normalisation.
_WIDE_PUNCTUATION = "，！？：；（）～…\u3000"
# Between Chinese words there is often nothing else, and then the rest of the text is ASCII.
_SEPARATING = str.maketrans(dict.fromkeys("。、“”‘《》〈〉「」『』【】—·", " "))
_ELISION = re.compile(r"\A(?:[cdjlmnst]|qu)'(?=\w\w)")
_CLITIC = re.compile(r"'(?:s|ll|re|ve|d|m)\Z")
# Letters whose stroke or joint Unicode does not write as a mark.
_STROKED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
)
# ASCII in lower case, with a space for all that separates. The apostrophe waits for the word it stands in.
_ASCII = bytes(ord(chr(c).lower()) if (c < 128 and chr(c).isalnum()) or c == ord("'") else 32 for c in range(256))


def segment(text: str) -> list[str]:
    """The tokens to store, repeated as they occur: words, emoji, pairs, characters alone; each kind in its order.

    Raises ``InvalidInput`` for a text that is no string.
    """
    check_string(text)
    if text.isascii():
        return _ascii_tokens(text)
    tokens, runs = _cut(text)
    tokens += [run[i : i + 2] for run in runs for i in range(len(run) - 1)]
    tokens += "".join(runs)
    return tokens


def query_terms(text: str) -> list[str]:
    """The terms to search for, repeated and ordered as in ``segment(text)``, which has them all."""
    check_string(text)
    if text.isascii():
        return _ascii_tokens(text)
    tokens, runs = _cut(text)
    tokens += [run[i : i + 2] for run in runs for i in range(len(run) - 1 or 1)]
    return tokens


def ascii_words(text: str) -> list[str]:
    """The words of an ASCII text in lower case; ``token_of`` returns the token of each."""
    return text.encode().translate(_ASCII).decode().split()


def _ascii_tokens(text: str) -> list[str]:
    # An apostrophe alone is no word.
    return list(filter(None, map(token_of, ascii_words(text))))


def _cut(text: str) -> tuple[list[str], list[str]]:
    """The tokens of a text's words and emoji, and its runs of characters without spaces."""
    text = _plain(text)
    runs = _unspaced()
    rest = runs.sub(" ", text).translate(_SEPARATING)
    if rest.isascii():
        return _ascii_tokens(rest), runs.findall(text)
    words, emoji = _patterns()
    tokens: list[str] = list(filter(None, map(token_of, words(rest))))
    return tokens + emoji(rest), runs.findall(text)


def _plain(text: str) -> str:
    """The text in compatibility form, with one kind of apostrophe, without removed characters."""
    text = text.replace("\u2019", "'").replace("\u02bc", "'")
    if _VANISHING.search(text):
        text = _VANISHING.sub("", text)
    return _compatible(text) if len(text) <= _STRETCH else "".join(map(_compatible, _STRETCHES.findall(text)))


def _compatible(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):
        return text
    for mark in _WIDE_PUNCTUATION:
        text = text.replace(mark, " ")
    return unicodedata.normalize("NFKC", text)


class _Patterns(NamedTuple):
    """The functions that find the parts of a text; each returns all matches, in order."""

    words: Callable[[str], list[str]]
    emoji: Callable[[str], list[str]]


@cache
def _unspaced() -> re.Pattern[str]:
    # Compiled for the first text that is not ASCII.
    return re.compile(f"[{_UNSPACED}]+")


@cache
def _patterns() -> _Patterns:
    """Compiled for the first text with words beyond ASCII: classifying all letters takes about 30 ms."""
    # The basic plane without Han and Hangul; a space separates characters that are not consecutive.
    blocks = (range(0x3000), range(0xA490, 0xAC00), range(0xFB00, 0xFFFE))
    alphabets = _unspaced().sub(" ", " ".join("".join(map(chr, block)) for block in blocks))
    kinds = "".join(map(unicodedata.category, alphabets))
    # In a pattern an alphanumeric character is what isalnum() says it is. A category has two letters.
    letters = _ranges(alphabets, re.finditer(r"[^\W_]+", alphabets), 1) + _RARE
    marks = _ranges(alphabets, re.finditer("(?:M[nc])+", kinds), 2)
    words = re.compile(f"[{letters}][{letters}{marks}']*")
    return _Patterns(words.findall, re.compile(_EMOJI).findall)


def _ranges(alphabets: str, stretches: Iterable[re.Match[str]], width: int) -> str:
    """Stretches of characters, each ``width`` long, as ranges of a regular expression."""
    spans = ((match.start() // width, match.end() // width) for match in stretches)
    return "".join(f"{alphabets[start]}-{alphabets[end - 1]}" for start, end in spans)


class _Words(dict[str, str]):
    """A cache from a written word to its token."""

    def __missing__(self, word: str) -> str:
        token = _token(word)
        # Longer words are rare, and caching them would let a few texts fill the memory.
        if len(word) <= MAX_TOKEN:
            if len(self) >= _REMEMBERED_WORDS:
                self.clear()
            self[word] = token
        return token


token_of: Callable[[str], str] = _Words().__getitem__
"""The token of one word; empty for what is no word, such as an apostrophe alone."""


def _token(word: str) -> str:
    # Cut before normalisation, which takes quadratic time for long rows of marks.
    word = word.strip("'")[:_STRETCH].casefold()
    if not word.isascii():
        word = _without_marks(word)
    if "'" in word:
        word = _CLITIC.sub("", _ELISION.sub("", word)).replace("'", "")
    word = word[:MAX_TOKEN]
    return stem(word) if word.isascii() and word.isalpha() else word


def _without_marks(word: str) -> str:
    """The word without the diacritics of its Latin letters."""
    kept: list[str] = []
    on_latin = False
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.combining(char) == 0:
            on_latin = unicodedata.name(char, "").startswith("LATIN")
        elif on_latin:
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_STROKED)
