"""Keys, jobs, the audit log, grants and the state of the service: requests and answers that no engine has."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from memwell.records import Space
from memwell.runtime.grants import Grant
from memwell.runtime.jobs import Job
from memwell.runtime.wire.codec import Answer, Request

Outcome = Literal["done", "refused"]


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What a key is for. It holds neither the secret nor its digest, so it may be shown and logged.

    ``rate`` is how many requests a minute it may make: None the default of the service, 0 any number. ``rotated`` is when
    it last got another secret. ``last_used`` is exact to a minute; ``check`` does not read it.
    """

    id: str
    name: str
    space: Space
    scopes: tuple[str, ...]
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    rotated: datetime | None = None
    last_used: datetime | None = None
    rate: int | None = None


class CreateKey(Request, frozen=True):
    """A key to make. ``space`` is the path of the space it opens; ``expires_days`` after how many days it ends."""

    name: str
    space: list[str]
    scopes: list[str]
    expires_days: float | None = None
    rate: int | None = None


class RotateKey(Request, frozen=True):
    """How long the old secret still works."""

    grace_minutes: float = 0.0


class ListKeys(Request, frozen=True):
    """Whose keys: of one space, or of all."""

    space: list[str] | None = None


class KeyList(Answer, frozen=True):
    """Keys."""

    keys: list[Key]


class NewKey(Answer, frozen=True):
    """A key with its token, which is shown this once."""

    key: Key
    token: str


class Me(Answer, frozen=True):
    """Who asks: the key, and what the service is."""

    key: Key
    version: str
    embedder: str
    chat: str
    language: str


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was done, or refused. ``key`` and ``space`` are None when no key was known.

    ``digest`` is the SHA-256 of the other fields as JSON in UTF-8: keys sorted, no blanks, and nothing escaped that need
    not be.
    """

    number: int
    time: datetime
    key: str | None
    space: Space | None
    action: str
    targets: tuple[str, ...]
    outcome: Outcome
    detail: dict[str, str | int]
    previous: str
    digest: str


class ListLog(Request, frozen=True):
    """Which page of the log."""

    limit: int = 100
    cursor: str | None = None


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the log is whole. ``entries`` fit, up to the first that does not: its number is ``broken_at``.

    ``head`` is the digest of the last entry that fits; write it down elsewhere. Not ``ok`` without ``broken_at``: the chain
    fits, but the digest that was noted is not in it.
    """

    entries: int
    ok: bool
    broken_at: int | None
    head: str


class GrantList(Answer, frozen=True):
    """Who may see this memory, and whose memories this key may see."""

    given: list[Grant]
    received: list[Grant]


class Done(Answer, frozen=True):
    """Whether, or how often, something was done."""

    done: int


class Jobs(Answer, frozen=True):
    """Jobs, newest first."""

    jobs: list[Job]


class Export(Request, frozen=True):
    """In which form: ``jsonl`` (everything) or ``markdown`` (the memories, to be read)."""

    format: str = "jsonl"
    vectors: bool = False


class Import(Request, frozen=True):
    """What the file is, where it cannot be seen from its content; and which user's memories of mem0's."""

    name: str = ""
    format: str | None = None
    user: str | None = None


class AskFigures(Request, frozen=True):
    """Over which time: ``1h``, ``24h``, ``7d`` or ``30d``; of the whole service with ``whole``, which needs an admin."""

    span: str = "24h"
    whole: bool = False


class Health(Answer, frozen=True):
    """Whether the service is up, and can do its work."""

    status: str
    version: str
    checks: dict[str, str] | None = None
