"""What a caller gives with a medium, checked before anything is stored."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from memwell.errors import FileError, InvalidInput
from memwell.history.media import MediaLimits, check_kind
from memwell.history.media_types import KINDS
from memwell.language.sentiment import sentiment
from memwell.records import as_vector
from memwell.values import MAX_ID_LENGTH, check_text, shown

Data: TypeAlias = bytes | bytearray | memoryview | Path
"""The bytes of a medium, or the path of a file that holds them."""

Features: TypeAlias = Sequence[str] | Sequence[float]
"""Words that name what is in a medium, or the numbers of a vector that a model made of it."""

_LONGEST_SENTIMENT = 100
_LONGEST_FEATURE = 500
_MOST_FEATURES = 1000
_TRUTHS = ("bool", "bool_")
"""What numpy calls its own, which is no ``bool`` and makes a vector all the same."""


def read_data(data: object, limits: MediaLimits) -> bytes:
    """The bytes of a medium. A file is not read when it is larger than any medium may be.

    Raises ``FileError`` when a file cannot be read, ``InvalidInput`` for one that is too large and for anything else.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(cast("bytes | bytearray", data))
    if not isinstance(data, os.PathLike):
        hint = "; give the path of a file as Path(…)" if isinstance(data, str) else ""
        raise InvalidInput(f"a medium is given as bytes or a Path, not {shown(data)}{hint}")
    path = Path(cast("os.PathLike[str]", data))
    try:
        # Something that is no file, such as a pipe or a device, may never end.
        if not path.is_file():
            raise FileError(f"{str(path)!r} is not a file that can be read")
        with path.open("rb") as file:
            found = file.read(limits.most_bytes + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"the file {str(path)!r} cannot be read: {error}") from error
    if len(found) > limits.most_bytes:
        raise InvalidInput(f"the file {str(path)!r} has more than {limits.most_bytes:,} bytes, the most of any medium")
    return found


def check_name(name: object) -> str:
    """Return it when it may be the name of a medium, which may be empty. Raises ``InvalidInput``."""
    text = check_text(name, "a medium's name")
    if len(text) > MAX_ID_LENGTH:
        raise InvalidInput(f"a medium's name must be at most {MAX_ID_LENGTH:,} characters: {shown(text)}")
    return text


def check_kinds(kinds: str | Iterable[str] | None) -> list[str]:
    """The kinds of media that are asked for; None is all. Raises ``InvalidInput`` for another kind."""
    if kinds is None:
        return list(KINDS)
    if not isinstance(kinds, str | Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"kinds must be a kind or several, not {shown(kinds)}")
    return [check_kind(one) for one in ([kinds] if isinstance(kinds, str) else kinds)]


def check_features(features: Features | None) -> tuple[tuple[str, ...], array[float] | None]:
    """Feature words, or else a vector of features of length one. Raises ``InvalidInput`` for what is neither."""
    if features is None:
        return (), None
    if isinstance(features, str | bytes | Mapping) or not isinstance(features, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _no_features(features)
    listed = list(features)
    if any(isinstance(one, bool) or type(one).__name__ in _TRUTHS for one in listed):
        raise _no_features(features)
    if not listed:
        return (), None
    if not any(isinstance(one, str) for one in listed):
        return (), as_vector(cast("Sequence[float]", features))
    if len(listed) > _MOST_FEATURES:
        raise InvalidInput(f"a medium has at most {_MOST_FEATURES:,} feature words, not {len(listed):,}")
    words = [check_text(one, "a feature word").strip() for one in listed]
    for word in words:
        if len(word) > _LONGEST_FEATURE:
            raise InvalidInput(f"a feature word has at most {_LONGEST_FEATURE} characters: {shown(word)}")
    return tuple(dict.fromkeys(filter(None, words))), None


def _no_features(given: object) -> InvalidInput:
    return InvalidInput(f"features are several words or the numbers of a vector, not {shown(given)}")


def check_sentiment(given: str | float | None, transcript: str) -> str | float | None:
    """A sentiment as it was given, or what the transcript sounds like; None when there is nothing to tell it from.

    Raises ``InvalidInput`` for a number beyond -1 and 1, and for what is neither a word nor a number.
    """
    if given is None:
        return round(sentiment(transcript), 3) if transcript.strip() else None
    if isinstance(given, str):
        word = check_text(given, "a sentiment").strip()
        if not 0 < len(word) <= _LONGEST_SENTIMENT:
            raise InvalidInput(f"a sentiment has 1 to {_LONGEST_SENTIMENT} characters, not {shown(given)}")
        return word
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a sentiment is a word or a number, not {shown(given)}")
    if not -1 <= given <= 1:
        raise InvalidInput(f"a sentiment is a number from -1 to 1, not {shown(given)}")
    return float(given)


__all__ = [
    "Data",
    "Features",
    "check_features",
    "check_kinds",
    "check_name",
    "check_sentiment",
    "read_data",
]
