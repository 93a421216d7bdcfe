"""Imports from mem0: the JSON of its ``get_all``, and the Qdrant or Chroma folders and the history that it keeps itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from memwell.confined import confined
from memwell.errors import InvalidInput
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.runtime.transfer.files import (
    FileLike,
    Imported,
    Piece,
    Progress,
    decoded,
    few,
    items,
    opened,
    read_piece,
)
from memwell.runtime.transfer.intake import Arrival, Intake, as_moment, as_object, as_text, derived_id
from memwell.runtime.transfer.points import point_json
from memwell.values import check_id, check_text, shown

if TYPE_CHECKING:
    from memwell.storage.sqlite.foreign import ForeignDatabase

_TEXT = ("memory", "data", "text")
_NAMED = 5
_OURS = frozenset({*_TEXT, "metadata"})


def import_mem0(
    memory: MemoryLike,
    file: FileLike,
    *,
    user_id: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import the memories of mem0, of one user or of all: from JSON, from a folder that it keeps, or from its history.

    ``created_at`` becomes the time, ``run_id`` the session, ``expiration_date`` the expiry; all other fields are in the
    metadata under ``mem0``. The memories of several users go into one space, and a hint says so when some are new;
    ``user_id`` imports those of one. Raises ``FileError`` when the file cannot be read, and ``InvalidInput`` for a folder
    without memories.
    """
    intake = Intake(as_memory(memory), "mem0", strict=strict)
    owners: set[str] = set()

    def read(piece: Piece) -> Sequence[Arrival]:
        found = read_piece(mem0_memory, piece.data, user_id)
        if found is None:
            intake.counts.skip(piece.number, f"it is not {user_id!r} who it belongs to")
            return ()
        if isinstance(owner := found.metadata["mem0"].get("user_id"), str):
            owners.add(owner)
        return (found,)

    kept = files_of_mem0(Path(file)) if isinstance(file, str | Path) else ()
    if kept:
        done = intake.take_all(_pieces(kept, progress), read)
    else:
        done = intake.take_file(file, partial(items, keys=("results", "memories")), read, progress)
    if user_id is None and len(owners) > 1 and done.new:
        hint = (
            f"the memories of {len(owners)} users were imported into one space; name one of them to import only theirs"
        )
        return msgspec.structs.replace(done, hints=[*done.hints, f"{hint}: {', '.join(sorted(owners)[:_NAMED])}"])
    return done


def mem0_memory(data: bytes, user_id: str | None) -> Arrival | None:
    """A memory of a file; None when it is of another user than this. Raises ``InvalidInput``."""
    item = as_object(decoded(data), "a memory of mem0")
    if user_id is not None and item.get("user_id") != user_id:
        return None
    text = as_text(next((item[key] for key in _TEXT if item.get(key) is not None), None), "a memory of mem0")
    created = as_moment(item.get("created_at"), "created_at")
    own = as_object(item.get("metadata") or {}, "the metadata of a memory of mem0")
    if "mem0" in own or "memwell" in own:
        raise InvalidInput("the metadata of a memory of mem0 must not have the keys 'mem0' or 'memwell'")
    return few(
        Arrival(
            id=_id(item, text),
            text=text,
            time=created,
            session=check_text(item.get("run_id") or "", "a run_id"),
            metadata={**own, "mem0": {key: value for key, value in item.items() if key not in _OURS}},
            expires=as_moment(item.get("expiration_date"), "expiration_date"),
        )
    )


def _id(item: dict[str, Any], text: str) -> str:
    given = item.get("id")
    if given is None:
        return derived_id("mem0", item.get("user_id"), text, item.get("created_at"))
    given = f"{given}" if isinstance(given, int) and not isinstance(given, bool) else given
    return f"mem0:{check_id(given, 'the id of a memory of mem0')}"


# What mem0 keeps itself: vectors with their payloads in a folder of Qdrant's or Chroma's, and a history of changes.


class MemoryFile(NamedTuple):
    """A SQLite file of mem0's, and what keeps it: ``qdrant``, ``chroma`` or ``history``."""

    kind: str
    path: Path


_Item: TypeAlias = dict[str, Any]
SQLITE = b"SQLite format 3\x00"
_TABLES = {"qdrant": "points", "chroma": "embedding_metadata", "history": "history"}
_FIELDS = (
    *("hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "actor_id", "role"),
    *("attributed_to", "expiration_date"),
)
_DERIVED = frozenset({"data", "id", "text_lemmatized"})
_LARGE = 1 << 16


def files_of_mem0(path: Path) -> Sequence[MemoryFile]:
    """The SQLite files of a folder, or the one that a path names; none for a file of another kind.

    The history of changes is read where there is nothing else. Raises ``InvalidInput`` for a folder or a SQLite file that
    is not mem0's, and ``FileError`` when one cannot be read.
    """
    if not path.is_dir():
        with opened(path) as file:
            is_sqlite = file.read(len(SQLITE)) == SQLITE
        return [MemoryFile(_kind(path), path)] if is_sqlite else ()
    homes = [path, *sorted(one for one in path.iterdir() if one.is_dir())]
    found = [
        *(MemoryFile("qdrant", one) for home in homes for one in sorted(home.glob("collection/*/storage.sqlite"))),
        *(MemoryFile("qdrant", one) for home in homes for one in home.glob("storage.sqlite")),
        *(MemoryFile("chroma", one) for home in homes for one in home.glob("chroma.sqlite3")),
    ]
    found = [one for one in found if one.kind != "qdrant" or _has_memories(one.path.parent.name)]
    found = found or [MemoryFile("history", one) for one in (path / "history.db",) if one.is_file()]
    if not found:
        raise InvalidInput(
            f"{str(path)!r} is a folder without memories of mem0: no collection of Qdrant's local mode, no chroma.sqlite3, "
            "no history.db"
        )
    return found


def _kind(path: Path) -> str:
    from memwell.storage.sqlite.foreign import foreign  # noqa: PLC0415 - loads the driver

    with foreign(path) as database:
        found = next((kind for kind, table in _TABLES.items() if table in database.tables), None)
    if found is None:
        raise InvalidInput(f"{str(path)!r} is a SQLite file, but not one of mem0's")
    return found


def _has_memories(collection: str) -> bool:
    return not collection.endswith("_entities") and not collection.startswith("mem0migrations")


def _pieces(kept: Sequence[MemoryFile], progress: Progress | None) -> Iterator[Piece]:
    from memwell.storage.sqlite.foreign import foreign  # noqa: PLC0415 - loads the driver

    readers = {"qdrant": _of_qdrant, "chroma": _of_chroma, "history": _of_history}
    sizes = [one.path.stat().st_size for one in kept]
    number = 0
    for place, one in enumerate(kept):
        with foreign(one.path) as database:
            for found in readers[one.kind](database):
                number += 1
                yield _piece(number, found)
        if progress is not None:
            progress(sum(sizes[: place + 1]), sum(sizes))


def _of_qdrant(database: ForeignDatabase) -> Iterator[_Item | InvalidInput]:
    # Of a point that is stored twice, the later one counts.
    for (point,) in database.rows("SELECT point FROM points ORDER BY rowid DESC", of="points"):
        try:
            data = bytes(point)
            made = confined(point_json, data) if len(data) > _LARGE else point_json(data)
            id_, payload = msgspec.json.decode(made)
            yield _item(id_, as_object(payload, "a payload"))
        except TypeError:
            yield InvalidInput("a point must be bytes")
        except InvalidInput as error:
            yield error


def _of_chroma(database: ForeignDatabase) -> Iterator[_Item]:
    documents = (
        "SELECT embeddings.id, embedding_id, collections.name FROM embeddings "
        "JOIN segments ON segments.id = segment_id JOIN collections ON collections.id = segments.collection "
        "ORDER BY embeddings.id"
    )
    values = "SELECT key, string_value, int_value, float_value, bool_value FROM "
    for number, id_, collection in database.rows(documents, of="embeddings"):
        if not _has_memories(f"{collection}"):
            continue
        single = database.rows(f"{values}embedding_metadata WHERE id = ?", number, of="embedding_metadata")
        payload = {f"{key}": _value(several) for key, *several in single}
        # Older versions of Chroma have no lists.
        if (lists := "embedding_metadata_array") in database.tables:
            for key, *several in database.rows(f"{values}{lists} WHERE id = ? ORDER BY rowid", number, of=lists):
                payload.setdefault(f"{key}", []).append(_value(several))
        yield _item(id_, {key: value for key, value in payload.items() if not key.startswith("chroma:")})


def _of_history(database: ForeignDatabase) -> Iterator[_Item]:
    latest = (
        "SELECT memory_id, new_memory, role, created_at, updated_at, event FROM history "
        "WHERE rowid IN (SELECT max(rowid) FROM history GROUP BY memory_id) ORDER BY rowid"
    )
    for id_, text, role, created, updated, event in database.rows(latest, of="history"):
        if event != "DELETE":
            yield {"id": id_, "memory": text, "role": role, "created_at": created, "updated_at": updated}


def _piece(number: int, found: _Item | InvalidInput) -> Piece:
    if isinstance(found, InvalidInput):
        return Piece(number, b"", str(found))
    try:
        return Piece(number, msgspec.json.encode(found))
    except (TypeError, ValueError, RecursionError) as error:
        return Piece(number, b"", f"not plain data: {shown(str(error))}")


def _item(id_: Any, payload: _Item) -> _Item:
    """A memory in the form of mem0's JSON."""
    own = {key: value for key, value in payload.items() if key not in _FIELDS and key not in _DERIVED}
    return {
        "id": id_,
        "memory": payload.get("data"),
        **{key: payload[key] for key in _FIELDS if key in payload},
        "metadata": own,
    }


def _value(several: Sequence[Any]) -> Any:
    text, whole, number, flag = several
    return text if text is not None else whole if whole is not None else number if number is not None else bool(flag)
