"""Parses a store's URL: ``HOME,log=URL,kv=URL,index=URL``. All but the home are optional."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from memwell.errors import ConfigurationError
from memwell.settings import Settings

PARTS = ("log", "kv", "index")

_PART = re.compile(rf",({'|'.join(PARTS)})=")
_LIKE_A_PART = re.compile(r",(\s*[^\W\d][\w-]*\s*)=")
# A URL may be copied with blanks in front of it.
_SCHEME = re.compile(r"(?:\s+(?=[^\s:/]+://))?([A-Za-z][A-Za-z0-9+.-]+):")
_NEXT_PART = re.compile(rf"(,(?:{'|'.join(PARTS)})=)(?=[A-Za-z][A-Za-z0-9+.-]*:)")
_FILES = ("", "sqlite", "memory")
_NO_PORT = re.compile(r"^([^:/?#\[]*):(?!\d{0,5}(?:[/?#,]|$)).+", re.DOTALL)
_SECRET_PARAMETER = re.compile(
    # Up to what looks like the next parameter: the password may hold unescaped special characters.
    r"([?&][^=&?]*(?:pass|pwd|secret|token|api_?key)[^=&?]*=)(?:(?!&[A-Za-z_]+=).)*",
    re.IGNORECASE | re.DOTALL,
)
_POSTGRES_USER = re.compile(r"postgres(?:ql)?://[\w.%+-]*", re.IGNORECASE)
"""A login without a colon is a user name there. For other servers it may be a token."""
_HOST = re.compile(r"(?:\[[^\]]*\]|[^:\[\]]*)(?::\d{0,5})?")
_ESCAPES = (
    "cannot be read; write special characters of the password as %-escapes: / is %2F, # is %23, ? is %3F, @ is %40, "
    ": is %3A, and % itself %25"
)


class Composition(NamedTuple):
    """The URL of the home store, and those of the parts in other stores."""

    home: str
    parts: dict[str, str]


def composition(url: str, settings: Settings | None = None) -> Composition:
    """The home and parts of a URL; parts that it does not name come from the settings. Raises ``ConfigurationError``."""
    pieces = _PART.split(url)
    for piece in pieces[::2]:
        _refuse_unknown(piece)
    parts: dict[str, str] = {}
    for name, one in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in parts:
            raise ConfigurationError(f"the URL of a store names its {name} twice")
        if not one.strip():
            raise ConfigurationError(f"the URL of a store says {name}= and then nothing")
        parts[name] = one
    if settings is not None:
        parts = {name: given for name in PARTS if (given := parts.get(name) or str(getattr(settings, f"{name}_url")))}
    return Composition(pieces[0], parts)


def _refuse_unknown(piece: str) -> None:
    """A misspelt part would be read as the end of a file name, and a new store created under it."""
    if _LIKE_A_PART.search(piece) is not None:
        # It may be in the middle of a password with unescaped special characters.
        unknown = _LIKE_A_PART.search(without_secrets(piece))
        raise ConfigurationError(
            f"unknown part{'' if unknown is None else f' {unknown[1]!r}'}; parts are {', '.join(PARTS)}. "
            "(A path that contains this can be given as a pathlib.Path, a comma in a URL as %2C.)"
        )


def scheme_of(url: str) -> tuple[str, str]:
    """The scheme of a URL in lower case, and the rest behind the colon; a bare path has no scheme."""
    found = _SCHEME.match(url)
    return ("", url) if found is None else (found[1].lower(), url[found.end() :])


def check_login(url: str, what: str) -> None:
    """Raises ``ConfigurationError``, without the secrets, for a server's URL in which the password's end is unclear."""
    try:
        parts = urlsplit(url)
    except ValueError:
        # Its message quotes what it could not read.
        raise ConfigurationError(f"the URL of {what} {_ESCAPES}") from None
    login, _, hosts = parts.netloc.rpartition("@")
    unsure = "@" in login + parts.path + parts.query or "#" in url
    if unsure or not all(map(_HOST.fullmatch, hosts.split(","))):
        raise ConfigurationError(f"the URL of {what} {_ESCAPES}")


def without_secrets(url: str) -> str:
    """The URL as it may be shown: without passwords, even where their characters are not escaped."""
    return "".join(
        piece if place % 2 else _part_without_secrets(piece) for place, piece in enumerate(_NEXT_PART.split(url))
    )


def _part_without_secrets(url: str) -> str:
    before, slashes, rest = url.partition("://")
    # A scheme has no colon: then it is a password that has "://" in it.
    if not slashes or ":" in before:
        scheme, rest = scheme_of(url)
        if scheme in _FILES:
            return url
        before, slashes = url[: -len(rest)] if rest else url, ""
    rest = _SECRET_PARAMETER.sub(r"\1***", rest)
    # A password may hold any unescaped character, so it ends at the last @.
    login, at, place = rest.rpartition("@")
    if not at:
        return before + slashes + _NO_PORT.sub(r"\1:***", rest)
    # The user's name stays: it says who was refused.
    user, colon, _ = login.partition(":")
    if not colon and _POSTGRES_USER.fullmatch(before + slashes + login):
        return before + slashes + rest
    return f"{before}{slashes}{user + ':' if colon else ''}***@{place}"
