"""What a store's URL is made of: ``HOME,log=URL,kv=URL,index=URL,blobs=URL``. All but the home may be left out."""

from __future__ import annotations

import re
from typing import NamedTuple

from memwell.errors import ConfigurationError
from memwell.settings import Settings

PARTS = ("log", "kv", "index", "blobs")

_PART = re.compile(rf",({'|'.join(PARTS)})=")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_PASSWORD = re.compile(r"(//[^/?#\s]*?):[^/?#\s]*@")
_LONE_SECRET = re.compile(r"//[^/?#:@\s]*@")
_SECRET_PARAMETER = re.compile(
    r"([?&](?:password|passwd|pwd|token|secret|api_key|sslpassword)=)[^&#,\s]*", re.IGNORECASE
)


class Composition(NamedTuple):
    """The URL of the home store, and those of the parts that live elsewhere."""

    home: str
    parts: dict[str, str]


def composition(url: str, settings: Settings | None = None) -> Composition:
    """What the URL names, and for parts that it does not name, the settings. Raises ``ConfigurationError``."""
    pieces = _PART.split(url)
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


def scheme_of(url: str) -> tuple[str, str]:
    """The kind of a URL in lower case, and what is behind the colon; a bare path is of no kind."""
    found = _SCHEME.match(url)
    return ("", url) if found is None else (found[1].lower(), url[found.end() :])


def without_secrets(url: str) -> str:
    """The URL as it may be shown: whoever reads it learns no password."""
    # The user's name stays: it says who was refused.
    hidden = _PASSWORD.sub(r"\1:***@", url)
    return _SECRET_PARAMETER.sub(r"\1***", hidden if hidden != url else _LONE_SECRET.sub("//***@", url))


__all__ = ["PARTS", "Composition", "composition", "scheme_of", "without_secrets"]
