"""A store of conversations and values in Redis: on one server or on a cluster."""

from __future__ import annotations

import heapq
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import groupby, islice
from typing import Any, NamedTuple

from memwell.errors import BackendError
from memwell.filters import Filter, value_test
from memwell.records import Page, Space, Thread, paged
from memwell.settings import Settings
from memwell.storage import arguments as given
from memwell.storage.parts import BaseKeyValue, StoredEntry
from memwell.storage.protocols import Backend, Entry
from memwell.storage.redis.log import RedisLog
from memwell.storage.redis.scripts import BURY, GENERATION, HOLDS, MEMBERS, SEAL, SEALED, SHARDS, UNLIST, define
from memwell.storage.redis.servers import Argument, Connections, ResponseError, Server, parsed
from memwell.values import check_text

_log = logging.getLogger("memwell.storage")
_warned: set[str] = set()
"""The URLs, without secrets, for which this process has logged a warning."""
_AT_ONCE = 500
_REWRITING_S = 60.0
_CONTENT = {"l": "z", "k": "v"}
"""The key that exists while a space has threads, or entries."""


class RedisBackend(Backend):
    """A store of conversations and values in Redis 6.2 or newer, under keys that begin with the URL's ``prefix=``.

    Every call is stored as a whole by itself. Raises ``ConfigurationError`` for a URL that cannot be used,
    ``BackendUnavailable`` when no server answers there.
    """

    abilities = frozenset({"copies", "seal"})

    def __init__(self, url: str, *, settings: Settings | None = None, clock: Callable[[], float] = time.time) -> None:
        self._connections = Connections(parsed(url), settings or Settings())
        self._log = self.log = RedisLog(self._connections, clock)
        self._kv = self.kv = RedisKeyValue(self._connections, clock)
        self._rewrites = Rewrites()
        # Fail now, not at the first call.
        self._connections.check_server()
        shown = self._connections.address.shown
        if shown not in _warned and not self.durable:
            _warned.add(shown)
            _log.warning("the store %s is not durable: %s", shown, self._durability.words)

    @property
    def durable(self) -> bool:
        return self._durability.durable

    @cached_property
    def _durability(self) -> Durability:
        return durability(self._connections)

    # Spaces

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        found: list[Space] = []
        for space, kinds in self._listed(given.check_name_cursor(cursor)):
            if any(self._holds(space, kind) for kind in kinds):
                found.append(space)
            if len(found) > limit:
                break
        return Page(found[:limit], found[limit - 1].encoded() if len(found) > limit else None)

    def _listed(self, after: str | None = None) -> Iterator[tuple[Space, list[str]]]:
        """The listed spaces in order, each with the kinds that it holds or held."""
        pieces = [self._of_shard(number, after) for number in range(SHARDS)]
        for path, members in groupby(heapq.merge(*pieces), key=lambda member: member[0]):
            yield Space.decode(path), [kind for _, kind in members]

    def _of_shard(self, number: int, after: str | None) -> Iterator[tuple[str, str]]:
        tag = self._connections.tags.shard(number)
        # No kind sorts behind the tilde.
        start = "-" if after is None else f"({after}\0~"
        while members := self._connections.call(MEMBERS, tag, [start, _AT_ONCE]):
            for member in members:
                path, _, kind = member.decode().partition("\0")
                yield path, kind
            start = f"({members[-1].decode()}"

    def _holds(self, space: Space, kind: str) -> bool:
        if kind == "l":
            return bool(self.log.threads(space, limit=1).items)
        return kind == "k" and self.kv.count(space) > 0

    # The whole

    def seal(self, reason: str | None) -> None:
        self._connections.check_open()
        arguments = ["0", ""] if reason is None else ["1", check_text(reason, "a reason")]
        self._connections.call_many(SEAL, [(tag, arguments) for tag in self._connections.tags.seals()])

    def check(self) -> list[str]:
        self._connections.check_open()
        found = [complaint for space, kinds in self._listed() for complaint in self._complaints(space, kinds)]
        unlisted = self._unlisted()
        # Other callers write meanwhile: a real fault is still there at a second check.
        return found + sorted(unlisted & self._unlisted() if unlisted else ())

    def _complaints(self, space: Space, kinds: list[str]) -> Iterator[str]:
        for name in self._log.names(space) if "l" in kinds else ():
            yield from (f"thread {name!r}: {one}" for one in self._log.complaints(Thread(space, name)))
        if "k" in kinds:
            yield from self._kv.complaints(space)

    def _unlisted(self) -> set[str]:
        """Content that is not listed, in words."""
        there = {key[:-1] for key in self._keys("[tlk]:*:i")}
        tags = self._connections.tags
        for space, kinds in self._listed():
            there -= {tags.of_space(kind, space).base for kind in kinds}
            if "l" in kinds:
                there -= {tags.thread_of(Thread(space, name)).base for name in self._log.names(space)}
        return {f"the keys {base!r} are listed nowhere" for base in there}

    def _keys(self, pattern: str) -> Iterator[str]:
        """The keys that match a pattern behind the bucket. A key may come twice."""
        whole = f"{{{self._connections.tags.prefix}:[0-9a-f][0-9a-f][0-9a-f]}}{pattern}"
        for server in self._connections.servers.masters():
            cursor = b""
            while cursor != b"0":
                scan = ("SCAN", cursor or b"0", "MATCH", whole, "COUNT", 2 * _AT_ONCE)
                [answer] = self._connections.ask(server, scan)
                if isinstance(answer, ResponseError):
                    raise BackendError(f"the keys cannot be listed: {answer}")
                cursor, found = answer
                yield from (key.decode() for key in found)

    @property
    def scrubs_quickly(self) -> bool:
        return False

    def scrub(self) -> bool:
        """Drop listed names without content, and make the servers rewrite their files without deleted data."""
        self._connections.check_open()
        for space, kinds in list(self._listed()):
            if "l" in kinds:
                self._forget_names(space)
            for kind in sorted(_CONTENT.keys() & set(kinds)):
                self._forget_empty(space, kind)
        self._rewrites.pass_over(self._connections)
        return super().scrub()

    def _forget_names(self, space: Space) -> None:
        names = list(self._log.names(space))
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            there = {info.thread.id for info in self.log.threads(space, ids=some, limit=len(some)).items}
            for name in (one for one in some if one not in there):
                self._log.forget_name(Thread(space, name))

    def _forget_empty(self, space: Space, kind: str) -> None:
        tag = self._connections.tags.of_space(kind, space)
        assert tag.parent is not None
        if self._connections.call(HOLDS, tag, [_CONTENT[kind]]):
            return
        generation = self._connections.call(GENERATION, tag.parent, [tag.member])
        if self._connections.call(BURY, tag, [generation, _CONTENT[kind]]):
            self._connections.call(UNLIST, tag.parent, [tag.member, generation])

    def facts(self) -> dict[str, Any]:
        self._connections.check_open()
        # Read each time: the server's settings may have changed.
        said = durability(self._connections)
        reason = self._connections.run(SEALED, self._connections.tags.seals()[0])
        return {
            "kind": "redis",
            "url": self._connections.address.shown,
            "prefix": self._connections.tags.prefix,
            **_server_facts(self._connections),
            "durable": said.durable,
            "durability": said.words,
            "sealed": None if reason is None else reason.decode(),
            **self._counted(),
        }

    def _counted(self) -> dict[str, int]:
        """All counts. It reads the listing of every thread, which takes a while where there are many."""
        counts: Counter[str] = Counter(threads=0, messages=0, entries=0)
        for space, _ in self._listed():
            for info in paged(lambda cursor, space=space: self.log.threads(space, limit=1000, cursor=cursor)):
                counts.update(threads=1, messages=info.messages)
            counts.update(entries=self.kv.count(space))
        return {**counts, "records": 0, "vectors": 0, "blobs": 0}

    def close(self) -> None:
        self._connections.close()


def _server_facts(connections: Connections) -> dict[str, Any]:
    """The version of the servers, how many there are, and the memory they use."""
    masters = connections.servers.masters()
    said: list[dict[str, str]] = []
    for server in masters:
        answers = connections.ask(server, ("INFO", "server"), ("INFO", "memory"))
        text = b"\n".join(answer for answer in answers if isinstance(answer, bytes)).decode()
        said.append(dict(re.findall(r"^(\w+):([^\r\n]*)", text, re.MULTILINE)))
    return {
        "redis": sorted({one.get("redis_version", "unknown") for one in said}),
        "cluster": connections.address.cluster,
        "servers": len(masters),
        "bytes": {"memory": sum(int(one.get("used_memory", 0)) for one in said)},
    }


# What a crash of the servers can lose


class Durability(NamedTuple):
    """Whether acknowledged writes survive a crash of the servers, and a description in words."""

    durable: bool
    words: str


def durability(connections: Connections) -> Durability:
    """The durability by the servers' settings; the URL's ``durable=`` overrides what they do not show."""
    address = connections.address
    weakest = min((_kept(connections, server) for server in connections.servers.masters()), key=list(_WORDS).index)
    words = _WORDS[weakest]
    if address.wait:
        words += f" Every write waits until {address.wait} replica(s) have it, too, in memory at least."
    elif address.cluster:
        words += (
            " Replicas follow a moment later: a master that is lost takes its latest writes with it (wait=1 waits)."
        )
    if weakest == "always":
        return Durability(True, words)
    if address.durable == "yes" or (address.durable == "everysec" and weakest == "everysec"):
        return Durability(True, f"{words} The URL vouches for it (durable={address.durable}).")
    return Durability(False, words)


_WORDS = {
    "unknown": "The server does not show its settings (CONFIG is forbidden), so nothing is known of what a crash loses.",
    "nothing": "A restart of the server loses everything (appendonly is off and there are no snapshots).",
    "snapshots": "A crash of the server loses everything since its last snapshot (appendonly is off).",
    "no": "A crash of the server's machine loses what its system had not yet written to the disk (appendfsync no).",
    "everysec": "A crash of the server's machine loses up to about a second of acknowledged writes (appendfsync everysec).",
    "always": "Every write is on the server's disk before it is acknowledged (appendfsync always).",
}
"""From the weakest to the strongest."""


def _kept(connections: Connections, server: Server) -> str:
    appends, syncs, saves = _settings(connections, server, "appendonly", "appendfsync", "save")
    if appends is None or syncs is None or saves is None:
        return "unknown"
    if appends == "yes":
        return syncs if syncs in _WORDS else "unknown"
    return "snapshots" if saves else "nothing"


def _settings(connections: Connections, server: Server, *names: str) -> list[str | None]:
    answers = connections.ask(server, *(("CONFIG", "GET", name) for name in names))
    return [None if isinstance(one, ResponseError) or len(one) < 2 else one[1].decode() for one in answers]


_DELETING = ("del", "unlink", "hdel", "getdel", "rename", "migrate", "flushdb", "flushall")
"""The commands that delete content, or move it to another server."""


class Rewrites:
    """Which servers have rewritten their files since anything was last deleted there, as far as this process knows.

    A composed store scrubs its Redis after every erasure, also of what never was in it. To rewrite the files of a large
    server takes minutes.
    """

    def __init__(self) -> None:
        self._done: dict[bytes, list[int]] = {}
        """By the id of a server's run, how often each command was called before its last rewrite."""

    def pass_over(self, connections: Connections) -> None:
        """Make every server that has deleted something rewrite its files without it, and wait for that.

        Replicas and backups have files of their own, which this does not reach.
        """
        for server in connections.servers.masters():
            run, counts = _deletions(connections, server)
            if run and self._done.get(run) == counts:
                continue
            appends, saves = _settings(connections, server, "appendonly", "save")
            done = [True]
            if appends == "yes":
                done.append(_rewrite(connections, server, ("BGREWRITEAOF",), b"aof_rewrite_", b"aof_last_bgrewrite_"))
            if saves:
                done.append(_rewrite(connections, server, ("BGSAVE", "SCHEDULE"), b"rdb_bgsave_", b"rdb_last_bgsave_"))
            if run and None not in (appends, saves) and all(done):
                self._done[run] = counts


def _deletions(connections: Connections, server: Server) -> tuple[bytes, list[int]]:
    """The id of a server's run, empty where it does not tell, and how often it was called to delete."""
    about, stats = connections.ask(server, ("INFO", "server"), ("INFO", "commandstats"))
    if isinstance(about, ResponseError) or isinstance(stats, ResponseError):
        return b"", []
    run = re.search(rb"^run_id:(\w+)", about, re.MULTILINE)
    calls = dict(re.findall(rb"^cmdstat_(\w+):calls=(\d+)", stats, re.MULTILINE))
    return (run[1] if run and calls else b""), [int(calls.get(name.encode(), 0)) for name in _DELETING]


def _rewrite(connections: Connections, server: Server, command: tuple[str, ...], what: bytes, ended: bytes) -> bool:
    """Whether the files were rewritten."""
    end, began = time.monotonic() + _REWRITING_S, False
    while not began and time.monotonic() < end:
        [answer] = connections.ask(server, command)
        began = not isinstance(answer, ResponseError)
        # One that is under way writes what was there when it began: another must follow it.
        if not began and "in progress" not in str(answer):
            return False
        while _is_rewriting(connections, server, what) and time.monotonic() < end:
            time.sleep(0.01)
    [said] = connections.ask(server, ("INFO", "persistence"))
    return began and time.monotonic() < end and not isinstance(said, ResponseError) and ended + b"status:ok" in said


def _is_rewriting(connections: Connections, server: Server, what: bytes) -> bool:
    [said] = connections.ask(server, ("INFO", "persistence"))
    if isinstance(said, ResponseError):
        return False
    return any(what + word in said for word in (b"in_progress:1", b"scheduled:1"))


# Values by key in Redis: the entries of a space share a hash tag.
#
# Keys of a space: the hash ``v`` has the entries, the sorted set ``z`` their keys in order, ``e`` those that expire. An
# entry is stored as ``version expires kind value``. The client's clock decides what has expired, as on every other store.
# An expired entry is invisible at once and dropped by later writes.

_ENTRIES_AT_ONCE = 1000
"""The most entries that one script returns: a server does nothing else meanwhile."""

_HELPERS = """
local function drop_entry(key)
    redis.call('ZREM', base .. 'z', key)
    redis.call('ZREM', base .. 'e', key)
    return redis.call('HDEL', base .. 'v', key)
end
local function version_at(key, now)
    local entry = redis.call('HGET', base .. 'v', key)
    if not entry then return nil end
    local version, expires = string.match(entry, '^(%d+) (%S+) ')
    if expires ~= '-' and tonumber(expires) <= tonumber(now) then return nil end
    return version
end
local function put(key, entry)
    local expires = string.match(entry, '^%d+ (%S+) ')
    redis.call('ZADD', base .. 'z', '0', key)
    redis.call('HSET', base .. 'v', key, entry)
    if expires == '-' then redis.call('ZREM', base .. 'e', key) else redis.call('ZADD', base .. 'e', expires, key) end
end
"""
_MARKED = """
if not listed() then
    if not fresh() then return NEW end
    redis.call('HSET', base .. 'i', 'in', '1')
end
"""
_PUT = define(
    "put",
    f"""{_HELPERS}
    local now, expect, key = ARGV[FIRST], ARGV[FIRST + 1], ARGV[FIRST + 2]
    if expect ~= '' then
        local at = version_at(key, now) or '0'
        if at ~= expect then return at end
    end
    {_MARKED}
    local over = redis.call('ZRANGEBYSCORE', base .. 'e', '-inf', now, 'LIMIT', 0, 8)
    for _, old in ipairs(over) do drop_entry(old) end
    put(key, ARGV[FIRST + 3])
    return 1
    """,
    writes=True,
)
_RESTORE = define(
    "restore",
    f"""{_HELPERS}{_MARKED}
    for n = FIRST, #ARGV, 2 do put(ARGV[n], ARGV[n + 1]) end
    return 1
    """,
    writes=True,
)
_DELETE = define(
    "delete entry",
    f"""{_HELPERS}
    local now, expect, key = ARGV[FIRST], ARGV[FIRST + 1], ARGV[FIRST + 2]
    local at = version_at(key, now)
    if expect ~= '' and (at or '0') ~= expect then return at or '0' end
    drop_entry(key)
    return at and 1 or 0
    """,
    writes=True,
    frees=True,
)
_GET = define("get", "return redis.call('HGET', base .. 'v', ARGV[FIRST])")

_SCAN = define(
    "scan",
    """
    local keys = redis.call('ZRANGEBYLEX', base .. 'z', ARGV[FIRST], '+', 'LIMIT', 0, ARGV[FIRST + 1])
    local found = {}
    for from = 1, #keys, 500 do
        local to = math.min(#keys, from + 499)
        local entries = redis.call('HMGET', base .. 'v', unpack(keys, from, to))
        for n = from, to do found[#found + 1] = keys[n]; found[#found + 1] = entries[n - from + 1] end
    end
    return found
    """,
)

_COUNT = define(
    "count entries", "return redis.call('ZCARD', base .. 'z') - redis.call('ZCOUNT', base .. 'e', '-inf', ARGV[FIRST])"
)

_CHECK = define(
    "check entries",
    """
    local complaints, held = {}, redis.call('HGETALL', base .. 'v')
    local ending = 0
    for n = 1, #held, 2 do
        local expires = string.match(held[n + 1], '^%d+ (%S+) ')
        local score = redis.call('ZSCORE', base .. 'e', held[n])
        if expires ~= '-' then ending = ending + 1 end
        if not redis.call('ZSCORE', base .. 'z', held[n]) or (expires == '-') == (score and true or false) then
            complaints[#complaints + 1] = held[n]
        end
    end
    if #held / 2 ~= redis.call('ZCARD', base .. 'z') or ending ~= redis.call('ZCARD', base .. 'e') then
        complaints[#complaints + 1] = ''
    end
    return complaints
    """,
)


class RedisKeyValue(BaseKeyValue):
    """Values by key in Redis."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._call = connections.call
        self._clock = clock
        self._tags = connections.tags

    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        stored = self._call(_GET, self._tags.of_space("k", space), [key])
        return None if stored is None else _live(key, stored, now)

    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        arguments = [repr(now), "" if expect is None else str(expect), entry.key, _packed(entry)]
        _check_reply(entry.key, expect, self._call(_PUT, self._tags.of_space("k", space), arguments))

    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        arguments = [repr(now), "" if expect is None else str(expect), key]
        reply = self._call(_DELETE, self._tags.of_space("k", space), arguments)
        _check_reply(key, expect, reply)
        return bool(reply)

    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        most = skip + limit if where is None else _ENTRIES_AT_ONCE
        return list(islice(self._satisfying(space, where, after, most, now), skip, skip + limit))

    def _count(self, space: Space, where: Filter | None, now: float) -> int:
        if where is None:
            return self._call(_COUNT, self._tags.of_space("k", space), [repr(now)])
        return sum(1 for _ in self._satisfying(space, where, None, _ENTRIES_AT_ONCE, now))

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        arguments: list[Argument] = []
        for entry in entries:
            arguments += (entry.key, _packed(entry))
        if arguments:
            self._call(_RESTORE, self._tags.of_space("k", space), arguments)

    _put_many = _restore

    def _satisfying(
        self, space: Space, where: Filter | None, start: str | None, most: int, now: float
    ) -> Iterator[Entry]:
        tag, step = self._tags.of_space("k", space), min(most, _ENTRIES_AT_ONCE)
        fits = None if where is None else value_test(where)
        while True:
            found = self._call(_SCAN, tag, ["-" if start is None else f"({start}", step])
            for name, stored in zip(found[::2], found[1::2], strict=True):
                key = name.decode()
                live = _live(key, stored, now)
                entry = None if live is None else live.entry()
                if entry is not None and (fits is None or fits(entry)):
                    yield entry
                start = key
            if len(found) < 2 * step:
                return

    def complaints(self, space: Space) -> list[str]:
        """Contradictions among the entries of a space, in words."""
        found = self._call(_CHECK, self._tags.of_space("k", space))
        return [f"the entries of {space!r} and their order do not agree at {key.decode()!r}" for key in found]


def _check_reply(key: str, expect: int | None, reply: Any) -> None:
    if isinstance(reply, bytes):
        given.check_version(key, int(reply), expect)


def _packed(entry: StoredEntry) -> bytes:
    value, expires = entry.value, "-" if entry.expires is None else repr(entry.expires)
    kind, data = ("b", value) if isinstance(value, bytes) else ("j", value.encode())
    return f"{entry.version} {expires} {kind} ".encode() + data


def _live(key: str, stored: bytes, now: float) -> StoredEntry | None:
    version, expires, kind, data = stored.split(b" ", 3)
    end = None if expires == b"-" else float(expires)
    entry = StoredEntry(key, data if kind == b"b" else data.decode(), int(version), end)
    return entry if entry.lives(now) else None
