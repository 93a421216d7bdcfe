"""The knowledge graph of the MCP reference memory server: JSONL of entities with observations, and of relations.

An observation becomes a memory, with the entity's name in front so that it can be understood alone; a relation becomes a
sentence. What they were stands in the metadata under ``mcp``, and that is the way back out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.language.secrets import findings, redacted
from memwell.longterm.base import MemoryBase
from memwell.longterm.remembering import Rememberer
from memwell.longterm.traits import own_metadata, traits_of
from memwell.runtime.transfer.files import FileLike, Imported, Piece, Progress, decoded, lines, reading, written
from memwell.runtime.transfer.intake import Arrival, Intake, Shelf, as_list, as_object, as_text, derived_id
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
    return list({one.id: one for one in (observed(name, kind, each) for each in said)}.values())


def _relation(item: dict[str, Any]) -> Arrival:
    mcp = {key: as_text(item.get(key), f"a relation's {key}") for key in ("from", "to", "relationType")}
    return related(mcp["from"], mcp["to"], mcp["relationType"])


# A part of a graph on its way to being a memory


def observed(name: str, kind: str, observation: str | None) -> Arrival:
    """The memory of what is observed of an entity; with None, of its being there at all.

    A secret in the observation is taken out, here as from every text. Raises ``InvalidInput`` for one in the name or type.
    """
    mcp = {"entity": name, "entityType": kind}
    if observation is None:
        _check_open(f"{name}: {kind}")
        return _arrival(mcp, name, kind, "entity")
    mcp["observation"] = _without_secrets(name, observation)
    return _arrival(mcp, name, kind, f"says {mcp['observation']}")


def related(from_: str, to: str, kind: str) -> Arrival:
    """The memory of a relation. Raises ``InvalidInput`` when there is a secret in it."""
    mcp = {"from": from_, "to": to, "relationType": kind}
    _check_open(_sentence(mcp))
    return _arrival(mcp, *mcp.values())


def _arrival(mcp: dict[str, str], *named: str) -> Arrival:
    return Arrival(id=derived_id("mcp", *named), text=_sentence(mcp), metadata={KEY: mcp}, trust="document")


def _without_secrets(name: str, observation: str) -> str:
    """An observation as it may be kept: the metadata holds it a second time, and no gate looks there."""
    front = f"{name}: "
    secrets = [one for one in findings(front + observation) if one.secret]
    if not secrets:
        return observation
    kept = redacted(front + observation, secrets)
    if not kept.startswith(front):
        raise InvalidInput("the name of an entity must not hold a secret")
    return kept.removeprefix(front)


def _check_open(sentence: str) -> None:
    if any(one.secret for one in findings(sentence)):
        raise InvalidInput("the names and types of entities and relations must not hold a secret")


def _sentence(mcp: dict[str, str]) -> str:
    """What a part of the graph says in words."""
    if "relationType" in mcp:
        return f"{mcp['from']} {mcp['relationType'].replace('_', ' ')} {mcp['to']}."
    if "observation" in mcp:
        return f"{mcp['entity']}: {mcp['observation']}"
    return f"{mcp['entity']}: {mcp['entityType']}"


# A memory as a part of a graph


class Observed(msgspec.Struct, frozen=True):
    """What a memory says of an entity; None when it says only that it is there."""

    name: str
    kind: str
    observation: str | None


class Related(msgspec.Struct, frozen=True):
    """What a memory says of two entities."""

    from_: str
    to: str
    kind: str


def part_of(text: str, metadata: Mapping[str, Any]) -> Observed | Related | None:
    """What a memory is in a graph, by its text and its own metadata; None when it is in none.

    One whose words were changed since counts for what it says now.
    """
    mcp = _mcp_of(metadata)
    if not mcp:
        return None
    unchanged = text == _sentence(mcp)
    if "relationType" in mcp:
        return Related(mcp["from"], mcp["to"], mcp["relationType"]) if unchanged else None
    said = mcp.get("observation") if unchanged else text.removeprefix(f"{mcp['entity']}: ")
    return Observed(mcp["entity"], mcp["entityType"], said)


def _mcp_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """What a memory was in a graph; nothing when it was not in one, or another program uses the key."""
    found: Any = metadata.get(KEY)
    if not isinstance(found, dict):
        return {}
    try:
        mcp = msgspec.convert(found, dict[str, str])
    except msgspec.ValidationError:
        return {}
    whole = {"from", "to", "relationType"} <= mcp.keys() or {"entity", "entityType"} <= mcp.keys()
    return mcp if whole else {}


class Entity(msgspec.Struct):
    """An entity of a graph. Its observations are the keys, in the order they were made."""

    name: str
    kind: str
    observations: dict[str, None]


class Graph:
    """A graph put together from memories, in their order: the first that names an entity says what type it is."""

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.relations: dict[Related, None] = {}

    def add(self, part: Observed | Related) -> None:
        """Put one more part in its place."""
        if isinstance(part, Related):
            self.relations[part] = None
            return
        entity = self.entities.setdefault(part.name, Entity(part.name, part.kind, {}))
        if part.observation is not None:
            entity.observations[part.observation] = None

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of its file, one by one."""
        for one in self.entities.values():
            named = {"name": one.name, "entityType": one.kind, "observations": list(one.observations)}
            yield {"type": "entity", **named}
        for one in self.relations:
            yield {"type": "relation", "from": one.from_, "to": one.to, "relationType": one.kind}


def export_mcp(memory: MemoryBase, file: FileLike, *, entity: str = "memories") -> int:
    """Write a knowledge graph for the MCP reference server, and return how many lines it has.

    What came from one goes back as it was; all other memories become observations of one entity of this name. The graph is
    held in memory, as the server will hold it. Raises ``FileError`` when the file cannot be written.
    """
    graph = Graph()
    for record in Shelf.of(memory).records():
        if traits_of(record).active:
            graph.add(part_of(record.text, own_metadata(record)) or Observed(entity, "memory", record.text))
    with written(file) as out:
        for line in graph.lines():
            out.write(msgspec.json.encode(line) + b"\n")
    return len(graph.entities) + len(graph.relations)
