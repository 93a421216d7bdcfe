"""The knowledge graph of the MCP reference memory server: JSONL of entities with observations, and of relations.

An observation becomes a memory, with the entity's name in front so that it can be understood alone; a relation becomes a
sentence. What they were stands in the metadata under ``mcp``, and that is the way back out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.base import MemoryBase
from memwell.longterm.remembering import Rememberer
from memwell.longterm.traits import own_metadata, traits_of
from memwell.records import Record
from memwell.runtime.transfer.files import FileLike, Piece, decoded, lines, reading, written
from memwell.runtime.transfer.incoming import Arrival, Intake, as_list, as_object, as_text, derived_id
from memwell.runtime.transfer.report import Imported, Progress
from memwell.runtime.transfer.shelf import Shelf
from memwell.values import shown

KEY = "mcp"


def import_mcp(
    memory: Rememberer, file: FileLike, *, strict: bool = False, progress: Progress | None = None
) -> Imported:
    """Remember a knowledge graph. Raises ``FileError`` when the file cannot be read."""
    intake = Intake(memory, "mcp", strict=strict)
    with reading(file, progress) as source:
        return intake.take_all(lines(source), _read)


def _read(piece: Piece) -> Sequence[Arrival]:
    item = as_object(decoded(piece.data), "a line of an MCP memory")
    match item.get("type"):
        case "entity":
            return _entity(item)
        case "relation":
            return (_relation(item),)
        case other:
            raise InvalidInput(f"a line of an MCP memory is an entity or a relation, not {shown(other)}")


def _entity(item: dict[str, Any]) -> list[Arrival]:
    name, kind = as_text(item.get("name"), "an entity's name"), as_text(item.get("entityType"), "an entity's type")
    observations = as_list(item.get("observations"), "an entity's observations")
    # One without any observation is still something that is known.
    said: list[str | None] = [*dict.fromkeys(as_text(one, "an observation") for one in observations)] or [None]
    return [_observation(name, kind, one) for one in said]


def _observation(name: str, kind: str, observation: str | None) -> Arrival:
    mcp = {"entity": name, "entityType": kind}
    if observation is not None:
        mcp["observation"] = observation
    return Arrival(
        id=derived_id("mcp", name, kind, "entity" if observation is None else f"says {observation}"),
        text=_sentence(mcp),
        metadata={KEY: mcp},
        trust="document",
    )


def _relation(item: dict[str, Any]) -> Arrival:
    mcp = {key: as_text(item.get(key), f"a relation's {key}") for key in ("from", "to", "relationType")}
    return Arrival(id=derived_id("mcp", *mcp.values()), text=_sentence(mcp), metadata={KEY: mcp}, trust="document")


def _sentence(mcp: dict[str, str]) -> str:
    """What a part of the graph says in words."""
    if "relationType" in mcp:
        return f"{mcp['from']} {mcp['relationType'].replace('_', ' ')} {mcp['to']}."
    if "observation" in mcp:
        return f"{mcp['entity']}: {mcp['observation']}"
    return f"{mcp['entity']}: {mcp['entityType']}"


class _Entity(msgspec.Struct):
    name: str
    kind: str
    observations: dict[str, None]


def export_mcp(memory: MemoryBase, file: FileLike, *, entity: str = "memories") -> int:
    """Write a knowledge graph for the MCP reference server, and return how many lines it has.

    What came from one goes back as it was; all other memories become observations of one entity of this name. The graph is
    held in memory, as the server will hold it. Raises ``FileError`` when the file cannot be written.
    """
    entities: dict[str, _Entity] = {}
    relations: dict[str, dict[str, str]] = {}
    for record in Shelf.of(memory).records():
        if traits_of(record).active:
            _sort_in(record, entity, entities, relations)
    with written(file) as out:
        for one in entities.values():
            line = {"type": "entity", "name": one.name, "entityType": one.kind, "observations": list(one.observations)}
            out.write(msgspec.json.encode(line) + b"\n")
        for relation in relations.values():
            out.write(msgspec.json.encode({"type": "relation", **relation}) + b"\n")
    return len(entities) + len(relations)


def _sort_in(record: Record, entity: str, entities: dict[str, _Entity], relations: dict[str, dict[str, str]]) -> None:
    mcp = _mcp_of(record)
    if "relationType" in mcp and record.text == _sentence(mcp):
        relations[record.id] = {key: mcp[key] for key in ("from", "to", "relationType")}
        return
    name, kind = mcp.get("entity", entity), mcp.get("entityType", "memory")
    known = entities.setdefault(name, _Entity(name, kind, {}))
    if mcp and record.text == _sentence(mcp):
        known.observations.update(dict.fromkeys([mcp["observation"]] if "observation" in mcp else []))
    else:
        # It was never of a graph, or its words were changed since: what it says now counts.
        known.observations[record.text.removeprefix(f"{name}: ")] = None


def _mcp_of(record: Record) -> dict[str, str]:
    """What a memory was in a graph; nothing when it was not in one, or somebody else uses the key."""
    found: Any = own_metadata(record).get(KEY)
    if not isinstance(found, dict):
        return {}
    try:
        mcp = msgspec.convert(found, dict[str, str])
    except msgspec.ValidationError:
        return {}
    whole = {"from", "to", "relationType"} <= mcp.keys() or {"entity", "entityType"} <= mcp.keys()
    return mcp if whole else {}


__all__ = ["export_mcp", "import_mcp"]
