"""Keys and scripts: which keys share a hash slot, and the Lua that reads and writes them.

A script uses keys of one hash slot only, so what changes together shares a hash tag: a thread, the list of the
threads of a space, the entries of a space, a piece of the list of all spaces. All of these keys begin with the tag's
``base``. The hash tag is one of a fixed number of buckets; a flag in every bucket seals the whole store. Ids never enter a
key, because they may be long and hold anything: a key has a digest instead.

The body of a script finds ``base``, its arguments from ``ARGV[FIRST]`` on, and ``again`` (true when it is sent once more
because an answer was lost). Names that begin with ``q`` or ``x`` are taken: see below.

**One effect.** A script that writes keeps its reply under the call's number for a while (key ``q`` and the number), so a
call whose answer was lost can be sent again (``remembered=False`` for a script that recognises its own effect).

**Listed first.** A thread, and the first entry of a space, is listed in the tag's parent before it is written, because
the two lie in different slots. The parent keeps a generation for every member (hash ``g``). A script that finds its tag
empty answers ``NEW`` unless ``fresh()``: then it was called with the generation that the tag is listed under, and no
tombstone (key ``x`` and the generation) names that one. To unlist, the generation is read, a script leaves its
tombstone in the tag that it empties or finds empty, and the parent drops the member if its generation is still that
one. A caller that a tombstone refuses makes the parent take a new generation. So a crash may leave a listed name
without content, never content that is not listed.

**Full servers.** A server that is full refuses a script that could grow, until the script has written. A script that takes
away (``frees=True``) first deletes ``base``, which never exists, and then runs to its end.

**Moving slots.** The two declared keys make a cluster that is moving the slot answer TRYAGAIN, so a script never sees half
of the keys.
"""

from __future__ import annotations

import binascii
import hashlib
from functools import lru_cache
from typing import NamedTuple

from memwell.records import Space, Thread

BUCKETS = 4096
SHARDS = 16
"""The list of all spaces is kept in this many pieces, so that no single key sees every new space."""
REMEMBERED_S = 180
"""How long replies are kept: longer than a caller retries."""
_TOMBSTONE_S = 3600
"""How long a tombstone is kept: much longer than a first write takes after it was listed."""


class HashTag(NamedTuple):
    """A group of keys in one hash slot: their prefix, the key of the bucket's seal, the slot, and where it is listed."""

    base: str
    seal: str
    slot: int
    parent: HashTag | None = None
    member: str = ""


class Tags:
    """The tags of one store, whose keys all begin with one prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        # Cached, because a conversation asks for its tag with every message.
        self.thread_of = lru_cache(maxsize=4096)(self._thread)

    def _thread(self, thread: Thread) -> HashTag:
        """The messages of a thread; listed among the threads of its space."""
        space, id_ = thread.space, thread.id
        return self._made("t", f"{space.encoded()}\0{id_}", self.of_space("l", space), id_)

    def of_space(self, kind: str, space: Space) -> HashTag:
        """One kind of data in a space: the list of its threads (``l``) or its entries (``k``)."""
        path = space.encoded()
        shard = self.shard(int(hashlib.sha256(path.encode()).hexdigest()[0], 16) % SHARDS)
        # NUL is in no path and sorts before everything, so the members sort as their paths do.
        return self._made(kind, path, shard, f"{path}\0{kind}")

    def shard(self, number: int) -> HashTag:
        """A piece of the list of all spaces."""
        return self._made("s", str(number))

    def _made(self, kind: str, name: str, parent: HashTag | None = None, member: str = "") -> HashTag:
        digest = hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()
        return self._in_bucket(digest[:3], f"{kind}:{digest[3:43]}:", parent, member)

    def _in_bucket(self, bucket: str, rest: str, parent: HashTag | None = None, member: str = "") -> HashTag:
        hash_tag = f"{self.prefix}:{bucket}"
        slot = binascii.crc_hqx(hash_tag.encode(), 0) % 16384
        return HashTag(f"{{{hash_tag}}}{rest}", f"{{{hash_tag}}}seal", slot, parent, member)

    def seals(self) -> list[HashTag]:
        """One tag for every bucket, for its seal."""
        return [self._in_bucket(f"{bucket:03x}", "seal:") for bucket in range(BUCKETS)]


class Script(NamedTuple):
    """A script: its source, the digest a server knows it by, and whether it writes."""

    name: str
    source: str
    digest: str
    writes: bool


_BEGIN = """
local base, sealed = KEYS[1], KEYS[2]
local again, number, generation = ARGV[1] == 'a', ARGV[2], ARGV[3]
local FIRST = 4
"""
_MACROS = {
    "NEW": "redis.error_reply('MWNEW')",
    "listed()": "redis.call('HGET', base .. 'i', 'in')",
    "fresh()": "(generation ~= '-' and redis.call('EXISTS', base .. 'x' .. generation) == 0)",
    "bury(ARGV[FIRST])": f"redis.call('SET', base .. 'x' .. ARGV[FIRST], '1', 'EX', {_TOMBSTONE_S})",
}
"""Short forms in bodies. Lua functions would be created at every call."""
_WRITING = """
if redis.call('EXISTS', sealed) == 1 then return redis.error_reply('MWSEALED') end
"""
# A full server lets a script go on after its first write.
_ROOM = "redis.call('DEL', base)\n"
_RECALLING = """
local known = again and redis.call('GET', base .. 'q' .. number)
if known then return cmsgpack.unpack(known)[1] end
"""
_REMEMBERING = f"""
local reply = main()
if not (type(reply) == 'table' and reply.err) then
    redis.call('SET', base .. 'q' .. number, cmsgpack.pack({{reply}}), 'EX', {REMEMBERED_S})
end
return reply
"""


def define(name: str, body: str, *, writes: bool = False, frees: bool = False, remembered: bool = True) -> Script:
    """A script on one tag. Its body returns the reply: a number, a string or a list of them."""
    if not writes:
        return define_bare(name, body, writes=False)
    front = f"{_WRITING}{_RECALLING if remembered else ''}{_ROOM if frees else ''}"
    if not remembered:
        return define_bare(name, f"{front}{body}")
    return define_bare(name, f"{front}local function main()\n{body}\nend\n{_REMEMBERING}")


def define_bare(name: str, body: str, *, writes: bool = True) -> Script:
    """A script that does not check the seal."""
    source = f"{_BEGIN}{body}"
    for word, meaning in _MACROS.items():
        source = source.replace(word, meaning)
    # The digest names the script to the server and protects nothing.
    return Script(name, source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest(), writes)


# Listing. The arguments of LIST: the member, whether this tag has a parent itself, the generation that was refused by a
# tombstone ('-' for none), and a new one.
LIST = define(
    "list",
    """
    local member, refused = ARGV[FIRST], ARGV[FIRST + 2]
    if ARGV[FIRST + 1] == '1' and not listed() then
        if not fresh() then return NEW end
        redis.call('HSET', base .. 'i', 'in', '1')
    end
    if redis.call('ZSCORE', base .. 'z', member) then
        local known = redis.call('HGET', base .. 'g', member) or ''
        if known ~= refused then return known end
    end
    redis.call('ZADD', base .. 'z', '0', member)
    redis.call('HSET', base .. 'g', member, ARGV[FIRST + 3])
    return ARGV[FIRST + 3]
    """,
    writes=True,
    remembered=False,
)
GENERATION = define("generation", "return redis.call('HGET', base .. 'g', ARGV[FIRST]) or ''")
UNLIST = define(
    "unlist",
    """
    if (redis.call('HGET', base .. 'g', ARGV[FIRST]) or '') ~= ARGV[FIRST + 1] then return 0 end
    redis.call('HDEL', base .. 'g', ARGV[FIRST])
    return redis.call('ZREM', base .. 'z', ARGV[FIRST])
    """,
    writes=True,
    frees=True,
    remembered=False,
)
# Mark an empty tag as unlisted; the arguments are the generation and the keys that are there while it holds something.
BURY = define(
    "bury",
    """
    for n = FIRST + 1, #ARGV do
        if redis.call('EXISTS', base .. ARGV[n]) == 1 then return 0 end
    end
    redis.call('DEL', base .. 'i', base .. 'g')
    bury(ARGV[FIRST])
    return 1
    """,
    writes=True,
    frees=True,
    remembered=False,
)
HOLDS = define("holds", "return redis.call('EXISTS', base .. ARGV[FIRST])")
MEMBERS = define(
    "members", "return redis.call('ZRANGEBYLEX', base .. 'z', ARGV[FIRST], '+', 'LIMIT', 0, ARGV[FIRST + 1])"
)

# The seal
SEAL = define_bare(
    "seal",
    f"""
    {_ROOM}
    if ARGV[FIRST] == '0' then redis.call('DEL', sealed) else redis.call('SET', sealed, ARGV[FIRST + 1]) end
    return 1
    """,
)
SEALED = define_bare("sealed", "return redis.call('GET', sealed)", writes=False)
