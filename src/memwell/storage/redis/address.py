"""The URL of a store in Redis, taken apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn
from urllib.parse import parse_qsl, urlencode, urlsplit

from memwell.errors import ConfigurationError
from memwell.storage.urls import check_login, without_secrets
from memwell.values import shown

DURABLE = ("", "everysec", "yes")
_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_FORM = "redis://host:6379/0, rediss://… or redis+cluster://host:6379,host:6379"
_SCHEMES = {"redis": ("redis", False), "rediss": ("rediss", False)} | {
    "redis+cluster": ("redis", True),
    "rediss+cluster": ("rediss", True),
}
_PORT = 6379
_NUMBER = re.compile(r"[0-9]{0,9}")


class Address(NamedTuple):
    """Where the servers are, and what was chosen in the URL. ``shown`` has no secret in it."""

    urls: tuple[str, ...]
    """A URL that redis-py understands for every server named."""
    cluster: bool
    shown: str
    prefix: str
    durable: str
    """What the user vouches for: ``everysec`` or ``yes``."""
    wait: int
    """How many replicas must have a write before it is acknowledged."""


def parsed(url: str) -> Address:
    """Take a URL apart. Raises ``ConfigurationError`` for one that cannot be."""
    check_login(url, "the Redis server")
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.netloc:
        raise ConfigurationError(f"not the URL of a Redis server: {shown(without_secrets(url))}; write {_FORM}")
    scheme, cluster = _SCHEMES[parts.scheme]
    login, _, hosts = parts.netloc.rpartition("@")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    ours = {name: options.pop(name, default) for name, default in _OURS.items()}
    _check_options(options)
    names = tuple(hosts.split(","))
    if len(names) > 1 and not cluster:
        raise ConfigurationError(f"several servers are a cluster: write redis+cluster://{hosts}")
    database = options.get("db", "") or parts.path.strip("/")
    if not _NUMBER.fullmatch(database):
        raise ConfigurationError(f"the database of a Redis server is a number, not {shown(database)}; write {_FORM}")
    if cluster and database not in ("", "0"):
        raise ConfigurationError("a cluster has one database only: leave out the number behind the servers")
    rest = f"{parts.path}?{urlencode(options)}" if options else parts.path
    found = tuple(f"{scheme}://{login + '@' if login else ''}{_with_port(name)}{rest}" for name in names)
    return Address(
        found,
        cluster,
        f"{parts.scheme}://{hosts}{parts.path}",
        _prefix(ours["prefix"]),
        _durable(ours["durable"]),
        _wait(ours["wait"]),
    )


_OURS = {"prefix": "memwell", "durable": "", "wait": "0", "lease": ""}
"""``lease`` was of earlier versions. It is accepted and has no effect."""
_DRIVERS = (
    *("client_name", "db", "ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs"),
    *("ssl_certfile", "ssl_check_hostname", "ssl_keyfile", "ssl_password"),
)
"""What redis-py reads off a URL."""


def _check_options(options: Mapping[str, str]) -> None:
    """Refuse an option that has no effect: it was meant to be something else."""
    for name in options:
        if name not in _DRIVERS:
            known = ", ".join((*(one for one in _OURS if one != "lease"), *_DRIVERS))
            raise ConfigurationError(
                f"{shown(name)} is nothing that the URL of a Redis server can say; it can: {known}"
            )


def _with_port(name: str) -> str:
    if not name:
        raise ConfigurationError(f"a server without a name; write {_FORM}")
    return name if re.search(r":\d+$", name) else f"{name}:{_PORT}"


def _prefix(value: str) -> str:
    # It stands between the braces of hash tags.
    if not _PREFIX.fullmatch(value):
        _refuse("prefix", value, "1 to 64 letters, digits and _ . : -")
    return value


def _durable(value: str) -> str:
    if value not in DURABLE:
        _refuse("durable", value, "'everysec' or 'yes'")
    return value


def _wait(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 4):
        _refuse("wait", value, "the number of replicas")
    return int(value)


def _refuse(name: str, value: str, expected: str) -> NoReturn:
    raise ConfigurationError(f"{name}= in the URL of a Redis server must be {expected}, not {shown(value)}")
