"""How names are compared, and how they stand in the keys of a store."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from unicodedata import normalize

from memwell.errors import InvalidInput
from memwell.language.claims.relations import USER
from memwell.values import shown

_SPEAKER = frozenset("i me my mine myself user 用户 我 本人 我自己 俺 咱".split())
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])\Z")
_ARTICLE = re.compile(r"(?:a|an|the|my|our)\s+(?=\S)")
_EDGES = " \t\r\n.,;:!?\"'“”‘’()[]。，、；：！？「」『』《》"
_LONGEST_PART = 200


def name_key(name: str) -> str:
    """The form in which names are compared: NFKC, case folded, without article, possessive and outer marks.

    *I*, *me*, *user*, 我 and 用户 are one. It is empty for a name of marks and spaces alone. Raises ``InvalidInput`` for
    what is no string.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a name must be a string, not {shown(name)}")
    return _key(name)


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    plain = " ".join(normalize("NFKC", name).casefold().split()).strip(_EDGES)
    plain = _ARTICLE.sub("", _POSSESSIVE.sub("", plain), count=1)
    return USER if plain in _SPEAKER else plain


def key_part(text: str) -> str:
    """A text as one part of a key: without ``/``, of bounded length, and no other text's part.

    What is too long is replaced by its digest, which is marked so that no text can spell it.
    """
    written = text.replace("%", "%25").replace("/", "%2F").replace("\x00", "%00")
    return written if len(written) <= _LONGEST_PART else f"%~{digest(text)}"


def digest(*parts: str) -> str:
    """32 hexadecimal characters that stand for these texts in this order."""
    hashed = blake2b(digest_size=16)
    for part in parts:
        data = part.encode(errors="surrogatepass")
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()


__all__ = ["digest", "key_part", "name_key"]
