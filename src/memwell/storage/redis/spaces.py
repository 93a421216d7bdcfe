"""The list of all spaces, the seal over them, and looking the whole store over."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import groupby

from memwell.errors import BackendError
from memwell.records import Space
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.scripts import define, define_unlocked
from memwell.storage.redis.servers import ResponseError
from memwell.storage.redis.tags import SHARDS, Tag, slot_of
from memwell.storage.redis.transactions import UNLIST

_AT_ONCE = 500
_KEYS_AT_ONCE = 1000

_MEMBERS = define(
    "members", "return redis.call('ZRANGEBYLEX', base .. 'z', ARGV[FIRST], '+', 'LIMIT', 0, ARGV[FIRST + 1])"
)
_EMPTY = define(
    "empty",
    """
    for n = FIRST, #ARGV do
        if redis.call('EXISTS', base .. ARGV[n]) == 1 then return 0 end
    end
    return 1
    """,
)
_CONTENT = {"l": ("z",), "k": ("v",), "r": ("n",), "b": ("o",)}
"""The keys that are there while a kind of things holds something."""
_DROP_MARK = define("drop mark", "drop_key('i') return 1", writes=True, frees=True, remembered=False)
_SEAL = define_unlocked(
    "seal",
    """
    if ARGV[FIRST] == '0' then redis.call('DEL', sealed) else redis.call('SET', sealed, ARGV[FIRST + 1]) end
    return 1
    """,
)
_HOLDER = define_unlocked("holder", "return redis.call('GET', base .. 'l')", writes=False)
_REASON = define_unlocked("sealed", "return redis.call('GET', sealed)", writes=False)


class Spaces:
    """Every space that anything was written to, with the kinds of what was written."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def listed(self, after: str | None = None) -> Iterator[tuple[str, list[str]]]:
        """The paths in their order, each with its kinds; what they held may be gone by now."""
        pieces = [self._of_shard(number, after) for number in range(SHARDS)]
        for path, members in groupby(heapq.merge(*pieces), key=lambda member: member[0]):
            yield path, [kind for _, kind in members]

    def _of_shard(self, number: int, after: str | None) -> Iterator[tuple[str, str]]:
        tag = self._connections.tags.shard(number)
        # No kind sorts behind the tilde.
        start = "-" if after is None else f"({after}\0~"
        while True:
            members = self._connections.call(_MEMBERS, tag, [start, _AT_ONCE])
            for member in members:
                path, _, kind = member.decode().partition("\0")
                yield path, kind
            if len(members) < _AT_ONCE:
                return
            start = f"({members[-1].decode()}"

    def tag(self, space: Space, kind: str) -> Tag:
        """The tag of one kind of things in a space."""
        tags = self._connections.tags
        return {"l": tags.threads, "k": tags.entries, "r": tags.records, "b": tags.blobs}[kind](space)

    def forget(self, space: Space, kind: str) -> None:
        """Take an empty kind of a space off the list. Whoever writes there next lists it again."""
        tag = self.tag(space, kind)

        def operation() -> None:
            # The look takes the tag, so nobody writes between it and the end.
            if not self._connections.call(_EMPTY, tag, _CONTENT[kind]):
                return
            self._connections.call(_DROP_MARK, tag)
            if tag.parent is not None:
                self._connections.call(UNLIST, tag.parent, [tag.member])

        self._connections.together(operation)

    # The seal

    def seal(self, reason: str | None) -> None:
        """Put the reason into every bucket, or take it out of every one."""
        runner = self._connections.runner
        arguments = ["0", ""] if reason is None else ["1", reason]
        calls = [(tag, arguments) for tag in self._connections.tags.seals()]
        for (tag, _), reply in zip(calls, runner.run_many(_SEAL, calls), strict=True):
            if not isinstance(reply, int):
                runner.run(_SEAL, tag, arguments)

    def sealed(self) -> str | None:
        """The reason, when the store is sealed."""
        reason = self._connections.runner.run(_REASON, self._connections.tags.seals()[0])
        return None if reason is None else reason.decode()

    # All keys

    def keys(self, pattern: str) -> Iterator[str]:
        """The keys whose part behind the bucket is like a pattern. A key may come twice."""
        runner = self._connections.runner
        whole = f"{{{self._connections.tags.prefix}:[0-9a-f][0-9a-f][0-9a-f]}}{pattern}"
        for server in runner.servers.masters():
            cursor = b"0"
            while True:
                [answer] = runner.ask(server, ("SCAN", cursor, "MATCH", whole, "COUNT", _KEYS_AT_ONCE))
                if isinstance(answer, ResponseError):
                    raise BackendError(f"the keys cannot be listed: {answer}")
                cursor, found = answer
                yield from (key.decode() for key in found)
                if cursor == b"0":
                    break

    def finish_transactions(self) -> None:
        """See to every transaction that was left behind: what it kept to undo itself goes, one way or the other."""
        for key in self.keys("*:l"):
            base = key[:-1]
            hash_tag = base[1 : base.index("}")]
            tag = Tag(base, f"{{{hash_tag}}}seal", slot_of(hash_tag))
            holder = self._connections.runner.run(_HOLDER, tag)
            if holder is not None:
                self._connections.settle(holder.decode(), tag)


__all__ = ["Spaces"]
