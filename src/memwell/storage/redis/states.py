"""The states of transactions, each under a tag of its own, and what becomes of the tags they took.

A transaction is *open* while its state is there, which goes by itself when nobody renews it; *prepared* when it waits
for another store's verdict; *committed* when that word is written: this is the moment of the commit. One whose state is
gone was never committed. A tag that a transaction took is *freed* (what was written stays) or *undone*, by its owner or
by whoever comes across it later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from memwell.storage.redis.running import Runner
from memwell.storage.redis.scripts import REMEMBERED_S, Script, define_unlocked
from memwell.storage.redis.tags import Tag, Tags

_KEPT_S = 3600
"""A committed transaction whose owner may yet ask is remembered for so long after its tags were freed by others."""

_BEGIN = define_unlocked(
    "begin",
    """
    redis.call('HSET', base .. 's', 'status', 'open')
    redis.call('PEXPIRE', base .. 's', ARGV[FIRST])
    return 1
    """,
)
_RENEW = define_unlocked(
    "renew",
    """
    local status = redis.call('HGET', base .. 's', 'status')
    if status == 'open' then return redis.call('PEXPIRE', base .. 's', ARGV[FIRST]) end
    if status == 'prepared' then redis.call('SET', base .. 'h', '1', 'PX', ARGV[FIRST]) return 1 end
    return 0
    """,
)
_LOOK = define_unlocked(
    "look",
    """
    local found = redis.call('HMGET', base .. 's', 'status', 'waits', 'tags')
    if not found[1] then return {'gone', '', ''} end
    if found[1] == 'prepared' and redis.call('EXISTS', base .. 'h') == 1 then found[1] = 'open' end
    return {found[1], found[2] or '', found[3] or ''}
    """,
    writes=False,
)
_WAITS = define_unlocked(
    "waits",
    """
    if redis.call('EXISTS', base .. 's') == 0 then return 0 end
    redis.call('HSET', base .. 's', 'waits', ARGV[FIRST])
    return 1
    """,
)
_COMMIT = define_unlocked(
    "commit",
    """
    local status = redis.call('HGET', base .. 's', 'status')
    if status == 'committed' then return 1 end
    if status == 'open' and redis.call('EXISTS', sealed) == 1 then return redis.error_reply('MWSEALED') end
    if not status then return 0 end
    redis.call('HSET', base .. 's', 'status', 'committed', 'tags', ARGV[FIRST])
    redis.call('PERSIST', base .. 's')
    redis.call('DEL', base .. 'h')
    return 1
    """,
)
_PREPARE = define_unlocked(
    "prepare",
    """
    local status = redis.call('HGET', base .. 's', 'status')
    if not status then return 0 end
    if status == 'open' and redis.call('EXISTS', sealed) == 1 then return redis.error_reply('MWSEALED') end
    redis.call('HSET', base .. 's', 'status', 'prepared', 'tags', ARGV[FIRST])
    redis.call('PERSIST', base .. 's')
    redis.call('SET', base .. 'h', '1', 'PX', ARGV[FIRST + 1])
    return 1
    """,
)
_ABORT = define_unlocked("abort", "return redis.call('DEL', base .. 's', base .. 'h')")
# Replicas are waited for after a write alone, so one is made that changes nothing of account.
_CONFIRM = define_unlocked(
    "confirm",
    """
    if redis.call('HGET', base .. 's', 'status') ~= 'committed' then return 0 end
    redis.call('HSET', base .. 's', 'seen', '1')
    return 1
    """,
)
_FORGET_LATER = define_unlocked("forget later", f"return redis.call('EXPIRE', base .. 's', {_KEPT_S})")

_CLEARED = """
    local aside = redis.call('LRANGE', base .. 'd', 0, -1)
    for _, key in ipairs(aside) do redis.call('UNLINK', key) end
    redis.call('DEL', base .. 'l', base .. 'u', base .. 'd')
"""
_FREE = define_unlocked("free", f"if redis.call('GET', base .. 'l') ~= T then return 0 end {_CLEARED} return 1")
_UNDO = define_unlocked(
    "undo", f"if redis.call('GET', base .. 'l') ~= T then return 0 end undo(-1) {_CLEARED} return 1"
)
_UNDO_TO = define_unlocked(
    "undo to",
    "if redis.call('GET', base .. 'l') ~= T then return 0 end undo(tonumber(ARGV[FIRST])) return 1",
)
# A transaction that took one tag alone is committed by freeing it.
_COMMIT_ALONE = define_unlocked(
    "commit alone",
    f"""
    local receipt = base .. 'q' .. T
    if redis.call('EXISTS', receipt) == 1 then return 1 end
    if redis.call('EXISTS', sealed) == 1 then return redis.error_reply('MWSEALED') end
    if redis.call('GET', base .. 'l') ~= T then return 0 end
    {_CLEARED}
    redis.call('SET', receipt, '1', 'EX', {REMEMBERED_S})
    return 1
    """,
)


class State(NamedTuple):
    """What is known of a transaction: its status, the one it waits for, and the tags it took, once it is decided."""

    status: str
    waits: str
    tags: list[Tag]


class _Kept(msgspec.Struct, array_like=True):
    base: str
    seal: str
    slot: int


class States:
    """The states of all transactions of a store."""

    def __init__(self, runner: Runner, tags: Tags, lease_s: float) -> None:
        self._runner = runner
        self._tags = tags
        self._lease_ms = max(1, int(lease_s * 1000))

    def begin(self, id_: str) -> None:
        """Let it be open for the length of a lease."""
        self._runner.run(_BEGIN, self._tags.state(id_), [self._lease_ms])

    def renew(self, id_: str) -> bool:
        """For another lease; False when it is no more."""
        return bool(self._runner.run(_RENEW, self._tags.state(id_), [self._lease_ms]))

    def look(self, id_: str) -> State:
        """What it is now."""
        status, waits, tags = self._runner.run(_LOOK, self._tags.state(id_))
        kept = msgspec.json.decode(tags, type=list[_Kept]) if tags else []
        return State(status.decode(), waits.decode(), [Tag(one.base, one.seal, one.slot) for one in kept])

    def wait_for(self, id_: str, other: str) -> None:
        """Say whom it waits for; empty when for nobody any more."""
        self._runner.run(_WAITS, self._tags.state(id_), [other])

    def prepare(self, id_: str, taken: Iterable[Tag]) -> bool:
        """From now on it waits for a verdict, however long; False when it is no more. Raises ``Sealed``."""
        return bool(self._runner.run(_PREPARE, self._tags.state(id_), [_encoded(taken), self._lease_ms]))

    def commit(self, id_: str, taken: Iterable[Tag]) -> bool:
        """Commit; False when it is no more, and nothing is stored. Raises ``Sealed``."""
        return bool(self._runner.run(_COMMIT, self._tags.state(id_), [_encoded(taken)]))

    def commit_alone(self, id_: str, tag: Tag) -> bool:
        """Commit one that took this tag alone; False when it is no more. Raises ``Sealed``."""
        return bool(self._runner.run(_COMMIT_ALONE, tag, transaction=id_))

    def confirm(self, id_: str) -> bool:
        """Whether it is committed for good: not only where it was looked at, but on the replicas that are waited for.

        A master that dies may take a commit with it. Had somebody freed a tag on another server by then, one part of the
        transaction would stay and the rest be undone. Raises ``BackendUnavailable`` while the replicas do not have it.
        """
        return not self._runner.address.wait or bool(self._runner.run(_CONFIRM, self._tags.state(id_)))

    def abort(self, id_: str) -> None:
        """From now on it can no longer be committed. Also forgets one whose tags are all freed."""
        self._runner.run(_ABORT, self._tags.state(id_))

    def forget_later(self, id_: str) -> None:
        """Forget a committed one after a while: its owner may not have heard of it."""
        self._runner.run(_FORGET_LATER, self._tags.state(id_))

    def free(self, id_: str, taken: Iterable[Tag]) -> None:
        """Let go of tags, with what was written there."""
        self._each(_FREE, id_, taken)

    def undo(self, id_: str, taken: Iterable[Tag]) -> None:
        """Take back what was written in tags, and let go of them."""
        self._each(_UNDO, id_, taken)

    def undo_to(self, id_: str, tag: Tag, mark: int) -> None:
        """Take back what was written in a tag after the write of this number, and keep the tag."""
        self._runner.run(_UNDO_TO, tag, [mark], transaction=id_)

    def _each(self, script: Script, id_: str, taken: Iterable[Tag]) -> None:
        tags = list(taken)
        # What must wait for replicas goes one by one.
        together = len(tags) > 1 and not self._runner.address.wait
        replies: list[Any] = self._runner.run_many(script, [(tag, ()) for tag in tags], id_) if together else tags
        for tag, reply in zip(tags, replies, strict=True):
            if not isinstance(reply, int):
                self._runner.run(script, tag, transaction=id_)


def _encoded(taken: Iterable[Tag]) -> bytes:
    return msgspec.json.encode([_Kept(tag.base, tag.seal, tag.slot) for tag in taken])


__all__ = ["State", "States"]
