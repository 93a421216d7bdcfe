"""Where a service is, with which key it is asked, and how its addresses are written."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, cast
from urllib.parse import quote, quote_plus, urlsplit

import msgspec

from memwell.errors import ConfigurationError, InvalidInput
from memwell.runtime.wire.codec import Request
from memwell.runtime.wire.routes import Route
from memwell.values import check_id, shown

_EXAMPLE = "such as 'http://127.0.0.1:7411'"
_LONGEST = 60_000
"""An address may be this long: the HTTP library and most servers end a little above."""

_UNREADABLE = re.compile(r"[^!-~]")


def check_address(url: object) -> str:
    """The address of a service without a slash at its end.

    Raises ``ConfigurationError`` for what is no address of http or https, and for one that holds a password or a query:
    it is not shown then, for it may be a key.
    """
    text = str(url)
    try:
        parts = urlsplit(text)
        _ = parts.port
        hidden = parts.username is not None or parts.password is not None or parts.query or parts.fragment
    except ValueError:
        raise ConfigurationError(f"a service is named by its address, {_EXAMPLE}") from None
    if hidden:
        raise ConfigurationError("an address must hold no key, no password and no query; give the key as key=…")
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or _UNREADABLE.search(text):
        raise ConfigurationError(f"a service is named by its address, {_EXAMPLE}, not {shown(text)}")
    return text.rstrip("/")


def check_key(key: object) -> str:
    """Return it when it may be a key. Raises ``ConfigurationError``, which does not show it."""
    if not isinstance(key, str) or not key:
        raise ConfigurationError(
            "a service needs a key: memwell.open(url, key='mw_…'), or MEMWELL_KEY; `memwell keys create` makes one"
        )
    if _UNREADABLE.search(key):
        # It must not get as far as the HTTP library, whose error would show it.
        raise ConfigurationError("a key is made of visible ASCII characters; is there a line break at its end?")
    return key


def is_loopback(address: str) -> bool:
    """Whether an address is one of this very machine."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def target_of(route: Route, path: dict[str, str], asked: Request | None) -> str:
    """The address of a request: the path with its open segments filled in, and the query where the route takes one.

    Raises ``InvalidInput`` for a segment that can be no id, and for more than an address can hold.
    """
    parts = [_segment(path[part[1:-1]]) if part.startswith("{") else part for part in route.parts]
    target = "/" + "/".join(parts)
    if asked is None or not route.takes_query:
        return target
    query = "&".join(f"{name}={_quoted(value)}" for name, value in _pairs(asked))
    if len(query) > _LONGEST:
        raise InvalidInput(
            f"what is asked stands in an address, which holds {_LONGEST:,} characters, not {len(query):,}; a letter "
            "that is not ASCII takes three for each of its bytes"
        )
    return f"{target}?{query}" if query else target


def _segment(value: object) -> str:
    text = quote(check_id(value, "an id"), safe="")
    # A lone dot is a step in a path to everybody on the way.
    return text.replace(".", "%2E") if text in (".", "..") else text


def _quoted(text: str) -> str:
    return quote_plus(text, safe="[]{},:")


def _pairs(asked: Request) -> list[tuple[str, str]]:
    said = cast("dict[str, Any]", msgspec.to_builtins(asked))
    pairs: list[tuple[str, str]] = []
    for name, value in said.items():
        if isinstance(value, list | tuple):
            pairs += [(name, _plain(one)) for one in cast("list[Any]", value)]
        elif value is not None:
            pairs.append((name, _plain(value)))
    return pairs


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["check_address", "check_key", "is_loopback", "target_of"]
