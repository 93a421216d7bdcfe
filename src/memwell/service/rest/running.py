"""The service itself over REST: who asks, figures, keys, the audit log, and whether it is up."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from memwell._version import VERSION
from memwell.errors import Busy, InvalidInput
from memwell.longterm.base import utc_now
from memwell.records import Page, Space
from memwell.runtime.metrics import exposition, figures_of
from memwell.runtime.wire import running
from memwell.runtime.wire.figures import Figures
from memwell.runtime.wire.operations import ADMIN
from memwell.service import keys as own
from memwell.service.call import Call, File, handles
from memwell.values import shown

_LONGEST_DAYS = 366_000
"""A thousand years: a key that lasts longer has no end."""


@handles("me")
def me(call: Call) -> running.Me:
    """Who asks, and what the service is."""
    embedder, chat = call.memory.embedder, call.memory.chat
    return running.Me(
        key=_key(call.key),
        version=VERSION,
        embedder="" if embedder is None else embedder.name,
        chat="" if chat is None else chat.name,
        language=call.service.settings.language,
    )


@handles("figures")
def figures(call: Call, asked: running.AskFigures) -> Figures:
    """The figures of the key's space; those of the whole service are for its operator."""
    if asked.whole:
        call.allow(ADMIN)
    service = call.service
    # What other spaces do, and what it costs, is for the operator alone.
    if not asked.whole:
        return figures_of(service.metrics, call.memory, span=asked.span)
    return figures_of(
        service.metrics, call.memory, span=asked.span, whole=True, jobs=service.jobs.busy, ledger=service.ledger
    )


@handles("metrics")
def metrics(call: Call) -> File:
    """The figures of the whole for Prometheus."""
    service = call.service
    text, media_type = exposition(
        service.metrics, service.engine, version=VERSION, jobs=service.jobs.busy, ledger=service.ledger
    )
    return File(content=text, media_type=media_type)


# Keys


@handles("keys")
def list_keys(call: Call, asked: running.ListKeys) -> running.KeyList:
    """All keys, or those of one space."""
    space = None if asked.space is None else Space(*asked.space)
    return running.KeyList(keys=[_key(one) for one in call.service.keys.all(space)])


@handles("create_key")
def create_key(call: Call, asked: running.CreateKey) -> running.NewKey:
    """Make a key for any space but memwell's own. Its token is told this once."""
    made, token = call.service.keys.create(
        asked.name,
        space=Space(*asked.space),
        scopes=asked.scopes,
        expires=_in_days(asked.expires_days),
        rate=asked.rate,
    )
    call.log(made.id, made.space.encoded(), scopes=" ".join(made.scopes))
    return running.NewKey(key=_key(made), token=token)


def _in_days(days: float | None) -> datetime | None:
    if days is None:
        return None
    if not 0 < days <= _LONGEST_DAYS:
        raise InvalidInput(f"expires_days must be above 0 and at most {_LONGEST_DAYS:,}, not {shown(days)}")
    return utc_now() + timedelta(days=days)


@handles("rotate_key")
def rotate_key(call: Call, asked: running.RotateKey) -> running.NewKey:
    """Give a key another secret, also the one that asks. Raises ``NotFound``."""
    turned, token = call.service.keys.rotate(call.path["id"], grace=timedelta(minutes=asked.grace_minutes))
    call.log(turned.id, grace_s=round(asked.grace_minutes * 60))
    return running.NewKey(key=_key(turned), token=token)


@handles("revoke_key")
def revoke_key(call: Call) -> running.Key:
    """End a key at once and for good, also the one that asks. Raises ``NotFound``."""
    revoked = call.service.keys.revoke(call.path["id"])
    call.log(revoked.id)
    return _key(revoked)


def _key(key: own.Key | running.Key) -> running.Key:
    """A key for an answer: without its secret."""
    return running.Key(**msgspec.structs.asdict(key))


# The log


@handles("log")
def log(call: Call, asked: running.ListLog) -> Page[running.LogEntry]:
    """One page of the audit log, newest first."""
    return call.service.log.entries(limit=asked.limit, cursor=asked.cursor)


@handles("verify_log")
def verify_log(call: Call) -> running.Verified:
    """Whether the log is as it was written. It reads all of it."""
    return call.service.log.verify()


# Health, which needs no key and says nothing of what is stored


@handles("live")
def live(call: Call) -> running.Health:
    """The process answers."""
    return running.Health(status="ok", version=VERSION)


@handles("ready")
def ready(call: Call) -> running.Health:
    """The service can do its work. Raises ``Busy`` while it stops, and within a second what the store raises."""
    if call.service.stopping:
        raise Busy("the service is stopping", code="stopping")
    call.service.readiness.check()
    if call.service.models == "loading":
        raise Busy("the models are being loaded", code="loading", retry_after=2)
    return running.Health(status="ok", version=VERSION, checks={"store": "ok", "models": call.service.models})
