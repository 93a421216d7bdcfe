"""mem0: the JSON of its ``get_all`` and of its exports, a list of memories by itself or under ``results``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.remembering import Rememberer
from memwell.runtime.transfer.files import FileLike, Piece, decoded, items, reading
from memwell.runtime.transfer.incoming import Arrival, Intake, as_moment, as_object, as_text, derived_id
from memwell.runtime.transfer.report import Imported, Progress
from memwell.values import check_id, check_text

_TEXT = ("memory", "data", "text")
_NAMED = 5
_OURS = frozenset({*_TEXT, "metadata"})


def import_mem0(
    memory: Rememberer,
    file: FileLike,
    *,
    user_id: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Remember what mem0 remembered, of one user or of all.

    ``created_at`` becomes the time, ``run_id`` the session, and ``expiration_date`` is kept to. All other fields stay in
    the metadata under ``mem0``. Memories of several users come into one space, and a hint says so: ``user_id`` takes those
    of one. Raises ``FileError`` when the file cannot be read.
    """
    intake = Intake(memory, "mem0", strict=strict)
    owners: set[str] = set()

    def read(piece: Piece) -> Sequence[Arrival]:
        item = as_object(decoded(piece.data), "a memory of mem0")
        if isinstance(item.get("user_id"), str):
            owners.add(item["user_id"])
        if user_id is not None and item.get("user_id") != user_id:
            intake.tally.skip(piece.number, f"it is not {user_id!r} who it belongs to")
            return ()
        return (_arrival(item),)

    with reading(file, progress) as source:
        done = intake.take_all(items(source, ("results", "memories")), read)
    if user_id is None and len(owners) > 1:
        hint = f"the memories of {len(owners)} users came into one space; name one of them to take in theirs alone"
        return msgspec.structs.replace(done, hints=[f"{hint}: {', '.join(sorted(owners)[:_NAMED])}"])
    return done


def _arrival(item: dict[str, Any]) -> Arrival:
    text = as_text(next((item[key] for key in _TEXT if item.get(key) is not None), None), "a memory of mem0")
    created = as_moment(item.get("created_at"), "created_at")
    own = as_object(item.get("metadata") or {}, "the metadata of a memory of mem0")
    if "mem0" in own or "memwell" in own:
        raise InvalidInput("the metadata of a memory of mem0 must not have the keys 'mem0' or 'memwell'")
    return Arrival(
        id=_id(item, text),
        text=text,
        time=created,
        session=check_text(item.get("run_id") or "", "a run_id"),
        metadata={**own, "mem0": {key: value for key, value in item.items() if key not in _OURS}},
        expires=as_moment(item.get("expiration_date"), "expiration_date"),
    )


def _id(item: dict[str, Any], text: str) -> str:
    given = item.get("id")
    if given is None:
        return derived_id("mem0", item.get("user_id"), text, item.get("created_at"))
    return f"mem0:{check_id(given, 'the id of a memory of mem0')}"


__all__ = ["import_mem0"]
