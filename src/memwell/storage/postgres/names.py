"""How names are kept: PostgreSQL's indexes take no more than 2,700 bytes a row.

A name is its own *key* up to 2,000 bytes. A longer one is cut and ends in its digest: keys are in the order of the names,
but names that agree in their first 2,000 bytes are in no order of their own.
"""

from __future__ import annotations

import hashlib
import secrets
from functools import lru_cache

from memwell.records import Space
from memwell.storage.domains import domain
from memwell.storage.postgres.record_tables import keyed

_LONGEST = 2_000
_LAST = "\U0010ffff"
"""Behind every character that fits where a longer one did not: a cut name comes after the whole names that begin alike."""


def name_key(name: str) -> str:
    """What a name is found by, and ordered by."""
    if len(name) <= _LONGEST // 4:
        return name
    data = name.encode()
    if len(data) <= _LONGEST:
        return name
    return f"{data[:_LONGEST].decode(errors='ignore')}{_LAST}{hashlib.sha256(data).hexdigest()}"


def long_name(name: str, key: str) -> str | None:
    """The name itself, where its key is not."""
    return None if name is key or name == key else name


@lru_cache(maxsize=4096)
def space_key(space: Space) -> str:
    """What a space is known by in every table, and what the wall compares."""
    return keyed(space.encoded())


def new_thread_key() -> int:
    """A number that no other thread of a space has, by chance."""
    return secrets.randbits(62)


def lock_key(*parts: str) -> int:
    """The number of an advisory lock. Locks are shared by a whole database, so the schema is among the parts."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@lru_cache(maxsize=4096)
def domain_lock(schema: str, space: Space) -> int:
    """The lock that transactions of the space's domain take."""
    return lock_key("domain", schema, domain(space).encoded())


__all__ = ["domain_lock", "lock_key", "long_name", "name_key", "new_thread_key", "space_key"]
