"""Text cut into the tokens that full-text search stores and asks for.

``segment`` gives what is stored, ``query_terms`` what is asked; every term asked of a text is among its stored tokens.

- Words: letters and digits of any alphabet, casefolded; compatibility forms (full-width letters, ligatures) become plain.
  Marks on Latin letters are dropped, so *café* is *cafe*; other scripts keep theirs, й is not и. Plain Latin words are
  stemmed (``memwell.language.stem``). A letter-digit mix such as *gpt4* is one word and is not stemmed.
- Apostrophes: a clitic goes (*Anna's*, *we'll*, *l'amour* are *anna*, *we*, *amour*), any other is closed up (*dont*).
- Everything else separates: ``foo_bar``, ``v1.2.3``, ``3.5`` and an e-mail address are several tokens each. A soft hyphen
  and a variation selector are the exception: they stand inside a word or character and just vanish.
- Scripts written without spaces (Chinese, Japanese, Korean; Thai, Lao, Khmer, Burmese): every pair of neighbouring
  characters, and the last character of each run alone. Traditional and simplified forms stay apart.
- Emoji: each one is a token, with its skin tone, its joined parts, or as a flag.

A query that is a single Chinese character finds it anywhere in a run, because it either begins a stored pair or ends
the run: such a term asks for a prefix (``is_prefix``). Storing all single characters too would do the same at twice the
index (measured in FTS5: 749 bytes and 52 µs a message of 160 characters, against 400 and 26).

A token is made of ``a-z``, ``0-9`` and non-ASCII characters, nothing else, so tokens may be joined by spaces for an
index that splits at ASCII punctuation. A word longer than ``MAX_TOKEN`` characters is cut there.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable
from functools import cache

from memwell.language.stem import stem

SEGMENTATION = 1
"""Raised whenever the tokens of any text change, because a stored index must be rebuilt then."""

MAX_TOKEN = 64
"""No token is longer than this many characters."""

_REMEMBERED_WORDS = 2**15
_CODE_POINTS = "utf-32-le"

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
# It begins with one character class and not with a choice, because the search is several times faster so.
_EMOJI = re.compile(
    f"{_PICTURE}(?:(?<={_FLAG_LETTER}){_FLAG_LETTER}|{_REGION_TAGS}(?:\u200d{_PICTURE}){{0,8}})",
)

_RUN = re.compile(f"[{_UNSPACED}]+")
_VANISHING = re.compile("[\u00ad\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# What Chinese text is full of, and what alone would send it down the slow path of normalisation.
_WIDE_PUNCTUATION = "，！？：；（）～…\u3000"
_ELISION = re.compile(r"(?:[cdjlmnst]|qu)'(?=\w\w)")
_CLITIC = re.compile(r"'(?:s|ll|re|ve|d|m)$")
# Letters whose stroke or joint Unicode does not write as a mark.
_STROKED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
)
# ASCII in lower case, with a space for all that separates. The apostrophe waits for the word it stands in.
_ASCII = bytes(ord(chr(c).lower()) if (c < 128 and chr(c).isalnum()) or c == ord("'") else 32 for c in range(256))


def segment(text: str) -> list[str]:
    """The tokens to store for a text, in order and repeated as they occur. Never raises for a string."""
    return _ascii_tokens(text) if text.isascii() else _tokens(text, _stored_pairs)


def query_terms(text: str) -> list[str]:
    """The terms to ask for, in order and repeated; each is among ``segment(text)``. Never raises for a string."""
    return _ascii_tokens(text) if text.isascii() else _tokens(text, _asked_pairs)


def is_prefix(term: str) -> bool:
    """Whether a term asks for every token that starts with it: it is one character of a script without spaces."""
    return len(term) == 1 and _RUN.match(term) is not None


def _ascii_tokens(text: str) -> list[str]:
    words = text.encode().translate(_ASCII).decode().split()
    # An apostrophe with no word around it leaves nothing.
    return list(filter(None, map(_token_of, words)))


def _tokens(text: str, pairs: Callable[[list[str]], list[str]]) -> list[str]:
    """Cut text of any script; ``pairs`` makes the tokens of the runs written without spaces."""
    text = _plain(text)
    tokens = list(filter(None, map(_token_of, _words()(text))))
    tokens += _EMOJI.findall(text)
    return tokens + pairs(runs) if (runs := _RUN.findall(text)) else tokens


def _plain(text: str) -> str:
    """The text in compatibility form, one kind of apostrophe, without what vanishes."""
    text = text.replace("’", "'")
    if _VANISHING.search(text):
        text = _VANISHING.sub("", text)
    if unicodedata.is_normalized("NFKC", text):
        return text
    for mark in _WIDE_PUNCTUATION:
        text = text.replace(mark, " ")
    return unicodedata.normalize("NFKC", text)


@cache
def _words() -> Callable[[str], list[str]]:
    """Finds the words of a text. Made for the first text that needs it: asking Unicode about every letter takes a while."""
    letters = _ranges(str.isalnum) + _RARE
    marks = _ranges(lambda char: unicodedata.category(char) in ("Mn", "Mc"))
    return re.compile(f"[{letters}][{letters}{marks}']*").findall


def _ranges(accepted: Callable[[str], bool]) -> str:
    """The accepted characters of the first plane's alphabets, as ranges of a regular expression."""
    # A space keeps the blocks apart, between which Han and Hangul lie.
    blocks = (range(0x3000), range(0xA490, 0xAC00), range(0xFB00, 0xFFFE))
    alphabets = _RUN.sub(lambda run: " " * len(run[0]), " ".join("".join(map(chr, block)) for block in blocks))
    flags = "".join("x" if accepted(char) else " " for char in alphabets)
    stretches = (match.span() for match in re.finditer("x+", flags))
    return "".join(f"{alphabets[start]}-{alphabets[end - 1]}" for start, end in stretches)


def _stored_pairs(runs: list[str]) -> list[str]:
    """Every two neighbours of each run, then its last character."""
    return _zipped(" ".join(runs), "  ".join([run[1:] for run in runs]) + " ")


def _asked_pairs(runs: list[str]) -> list[str]:
    """Every two neighbours of each run; a run of one character is itself."""
    return _zipped(" ".join([run[:-1] or run for run in runs]), " ".join([run[1:] or " " for run in runs]))


def _zipped(left: str, right: str) -> list[str]:
    """The strings ``left[i] + right[i]`` without their spaces, less those that were nothing else.

    Woven as arrays of code points and split once: nearly twice as fast as adding characters one by one, and this is the
    hottest loop of indexing Chinese.
    """
    woven = array("I", " ".encode(_CODE_POINTS)) * (3 * len(left))
    woven[0::3] = array("I", left.encode(_CODE_POINTS))
    woven[1::3] = array("I", right.encode(_CODE_POINTS))
    return str(woven, _CODE_POINTS).split()


class _Words(dict[str, str]):
    """From a word as it was written to its token, remembered: most words have been seen before."""

    def __missing__(self, word: str) -> str:
        token = _token(word[:MAX_TOKEN])[:MAX_TOKEN]
        # What is cut is no word, and keeping it would let a few texts fill the memory.
        if len(word) <= MAX_TOKEN:
            if len(self) >= _REMEMBERED_WORDS:
                self.clear()
            self[word] = token
        return token


_token_of = _Words().__getitem__


def _token(word: str) -> str:
    word = word.casefold()
    if not word.isascii():
        word = _without_marks(word)
    if "'" in word:
        word = _CLITIC.sub("", _ELISION.sub("", word.strip("'"), 1)).replace("'", "")
    return stem(word) if word.isascii() and word.isalpha() else word


def _without_marks(word: str) -> str:
    """The word with the marks of its Latin letters dropped, and of no others."""
    kept = ""
    on_latin = False
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.combining(char) == 0:
            on_latin = unicodedata.name(char, "").startswith("LATIN")
        elif on_latin:
            continue
        kept += char
    return unicodedata.normalize("NFC", kept).translate(_STROKED)


__all__ = ["MAX_TOKEN", "SEGMENTATION", "is_prefix", "query_terms", "segment"]
