"""A store's URL taken apart: what psycopg is told, what is our own, and how it is spoken of without its secrets."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from memwell.errors import ConfigurationError
from memwell.storage.urls import check_login
from memwell.values import shown

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_OURS = ("schema", "prepare", "durable")
_YES, _NO = frozenset(("yes", "on", "true", "1")), frozenset(("no", "off", "false", "0"))


class Address(NamedTuple):
    """Where a store is. ``parameters`` holds secrets; ``shown`` does not."""

    parameters: dict[str, str]
    schema: str
    pooled: bool
    """Whether connections go through a pooler that hands them from one transaction to the next (``prepare=no``)."""
    vouched: bool
    """Whether the user vouches for the server's durability, whatever its settings say (``durable=yes``)."""

    @property
    def shown(self) -> str:
        """The place without user and password."""
        known = self.parameters
        place = f"{known.get('host', 'localhost')}:{known.get('port', '5432')}/{known.get('dbname', '')}"
        return f"postgresql://{place}?schema={self.schema}"


def address_of(url: str) -> Address:
    """Take a URL apart. Raises ``ConfigurationError``, without the URL's secrets, for one that cannot be read."""
    check_login(url, "the PostgreSQL store")
    parts = urlsplit(url)
    asked = _parameters(parts.query)
    schema = asked.pop("schema", "memwell")
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise ConfigurationError(
            f"schema={shown(schema)} cannot be the schema of a store: lower-case letters, digits and _, up to 63 of them"
        )
    pooled = not _switch(asked, "prepare", default=True)
    vouched = _switch(asked, "durable", default=False)
    try:
        known = conninfo_to_dict(urlunsplit(parts._replace(scheme="postgresql", query=urlencode(asked))))
    except psycopg.ProgrammingError:
        # Its message quotes what it could not read, which may be the password.
        raise ConfigurationError(
            "the URL of the PostgreSQL store cannot be read; write postgresql://user:password@host:port/database, "
            "with special characters of the password as %-escapes"
        ) from None
    return Address({name: str(value) for name, value in known.items() if value is not None}, schema, pooled, vouched)


def _parameters(query: str) -> dict[str, str]:
    """What stands in the query. Raises ``ConfigurationError`` for what neither memwell nor libpq knows."""
    if any(part and "=" not in part for part in query.split("&")):
        # It may be what comes after an & in a password, so it is not shown.
        raise ConfigurationError(
            "the URL of the PostgreSQL store has something in its query that is no name=value; write & in a value as %26"
        )
    asked = dict(parse_qsl(query, keep_blank_values=True))
    unknown = asked.keys() - set(_OURS) - {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    if unknown:
        raise ConfigurationError(
            f"the URL of the PostgreSQL store has an unknown parameter {shown(min(unknown))}; memwell's own are "
            f"{', '.join(_OURS)}, and those of libpq are known too (sslmode, connect_timeout and so on)"
        )
    return asked


def _switch(asked: dict[str, str], name: str, *, default: bool) -> bool:
    given = asked.pop(name, None)
    if given is None:
        return default
    if given not in _YES | _NO:
        raise ConfigurationError(f"{name}={shown(given)} must be yes or no")
    return given in _YES


__all__ = ["Address", "address_of"]
