"""Putting messages at the end of a thread: the short way, the longer one, and with the places they carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Message, Role
from memwell.storage.placement import MAX_INDEX, Placed, Tail, place
from memwell.storage.redis import thread_scripts as scripts
from memwell.storage.redis.connections import Connections
from memwell.storage.redis.rows import Info, info_of, packed_row
from memwell.storage.redis.running import Argument
from memwell.storage.redis.tags import Tag

_BOUND = MAX_INDEX + 1
_SHORT = 1_000
"""Messages that may go the short way together: what one command of a script may be given is bounded."""
_MOST_ENDS = 4096


class Appending:
    """Where threads ended when they were last appended to, and what an append does with that."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock
        self._ends: dict[str, Tail] = {}

    def append(self, tag: Tag, prepared: Sequence[tuple[Message, str]]) -> list[Placed]:
        """Store messages, all or none. Raises ``Conflict`` and ``InvalidInput``."""
        if len(prepared) > 1:
            _check_distinct([message.id for message, _ in prepared])
        return self._append_known(tag, prepared) or self._append(tag, prepared)

    def _append_known(self, tag: Tag, prepared: Sequence[tuple[Message, str]]) -> list[Placed] | None:
        """The short way, when the thread ends where we think; None when it must be the longer one."""
        tail = self._ends.get(tag.base)
        if tail is None or len(prepared) > _SHORT or self._connections.transaction_here() is not None:
            return None
        if tail.next + len(prepared) > _BOUND:
            return None
        placed = place(prepared, tail, keep_places=False)
        rows, names, ids = list[Argument](), list[Argument](), list[Argument]()
        for one, (message, _) in zip(placed, prepared, strict=True):
            id_ = one.id.encode()
            head = f"{one.round} {one.tokens} {message.time.isoformat()} {len(id_)} {one.id}"
            rows += (one.index, head + one.body)
            names += (id_, one.index)
            ids.append(id_)
        last, tokens = placed[-1], sum(one.tokens for one in placed)
        arguments = [*tail, last.round, prepared[-1][0].time.isoformat(), tokens, len(placed), *rows, *names]
        if not self._connections.call(scripts.APPEND_KNOWN, tag, arguments if len(ids) == 1 else arguments + ids):
            self._ends.pop(tag.base, None)
            return None
        self._learn(tag, tail, last)
        return placed

    def _append(self, tag: Tag, prepared: Sequence[tuple[Message, str]]) -> list[Placed]:
        tokens, parts = 0, list[Argument]()
        for message, encoded in prepared:
            count, id_ = message.tokens or 0, message.id.encode()
            tokens += count
            kind = "h" if message.role is Role.HUMAN else "o"
            parts += (id_, f"{kind} {count} {message.time.isoformat()} {len(id_)} ", encoded)
        arguments = [repr(self._clock()), tokens, prepared[-1][0].time.isoformat(), *parts]
        reply = self._connections.call(scripts.APPEND, tag, arguments)
        placed = _placed(prepared, reply)
        if reply[0] != b"again" and self._connections.transaction_here() is None:
            self._learn(tag, Tail(*reply), placed[-1])
        return placed

    def _learn(self, tag: Tag, before: Tail, last: Placed) -> None:
        """Remember where a thread ends. It may end elsewhere by the time this is used, which costs a round trip."""
        if len(self._ends) >= _MOST_ENDS:
            self._ends.clear()
        self._ends[tag.base] = Tail(last.index + 1, last.round, before.ended)

    def keep(self, tag: Tag, prepared: Sequence[tuple[Message, str]]) -> list[Placed]:
        """Messages that keep the places they carry, which are worked out here: the thread must not change meanwhile."""
        while True:
            known = self.known(tag)
            placed = place(prepared, Tail(0, 0, -1) if known is None else known.tail, keep_places=True)
            _check_distinct([one.id for one in placed])
            last = placed[-1]
            fields: dict[str, Argument] = {} if known else self._made()
            fields |= {"next": last.index + 1, "round": last.round, "last": last.index}
            fields |= {"+messages": len(placed), "+tokens": sum(one.tokens for one in placed)}
            fields["updated"] = prepared[-1][0].time.isoformat()
            rows = [
                (one.index, one.id, packed_row(one.round, one.tokens, message.time, one.id, one.body))
                for one, (message, _) in zip(placed, prepared, strict=True)
            ]
            if self.extended(tag, known, fields, rows):
                return placed

    def _made(self) -> dict[str, Argument]:
        return {"first": 0, "ended": -1, "created": repr(self._clock()), "metadata": "{}", "edits": 0}

    def known(self, tag: Tag) -> Info | None:
        """What is known of a thread."""
        return info_of(self._connections.call(scripts.INFO, tag))

    def extended(
        self,
        tag: Tag,
        known: Info | None,
        fields: Mapping[str, Argument],
        rows: Sequence[tuple[int, str, bytes]],
        versions: Sequence[tuple[int, bytes]] = (),
    ) -> bool:
        """Store places behind those that are known; False when there are others by now. Raises ``Conflict``."""
        arguments: list[Argument] = ["" if known is None else known.seen, len(fields), len(rows)]
        arguments += [part for pair in fields.items() for part in pair]
        arguments += [part for row in rows for part in row]
        arguments += [part for pair in versions for part in pair]
        reply: list[bytes] | bytes = self._connections.call(scripts.EXTEND, tag, arguments)
        if isinstance(reply, list):
            raise _taken(reply[1])
        return reply == b"done"


def _placed(prepared: Sequence[tuple[Message, str]], reply: list[Any]) -> list[Placed]:
    """Where an append put the messages. Raises ``Conflict`` and ``InvalidInput`` when it refused them."""
    if reply[0] == b"taken":
        raise _taken(reply[1])
    if reply[0] == b"full":
        raise InvalidInput(f"a thread holds at most {_BOUND:,} messages; there is no index {_BOUND}")
    if reply[0] != b"again":
        return place(prepared, Tail(*reply), keep_places=False)
    # The first answer was lost on its way, and this is what it said.
    found: list[Placed] = []
    for (message, encoded), stored in zip(prepared, reply[1:], strict=True):
        index, round_ = map(int, stored.split())
        body = f'{{"index":{index},"round":{round_},{encoded}'
        found.append(Placed(index, round_, message.id, message.tokens or 0, body))
    return found


def _check_distinct(ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for id_ in ids:
        if id_ in seen:
            raise _taken(id_.encode())
        seen.add(id_)


def _taken(id_: bytes) -> Conflict:
    return Conflict(f"the thread already holds a message with the id {id_.decode()!r}")


__all__ = ["Appending"]
