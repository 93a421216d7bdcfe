"""The knowledge graph of the MCP reference memory server, kept as memories, and its nine tools.

Each observation and each relation is one memory, in the form that an import of the server's file makes, so it is recalled,
exported and undone. Deleting is forgetting. Only the memories of the graph, or of the named entities, are read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from memwell.errors import Conflict, InvalidInput, MemwellError, NotFound
from memwell.filters import AllOf, AnyOf, Filter, Where
from memwell.language.quoting import clean
from memwell.runtime.engine import Engine
from memwell.runtime.transfer.intake import Arrival, derived_id
from memwell.runtime.transfer.products import (
    KEY,
    Entity,
    McpGraph,
    McpRelation,
    Observed,
    observed,
    part_of,
    plain_name,
    related,
)
from memwell.runtime.wire.operations import READ, WRITE
from memwell.service.mcp.tools import McpTool, ToolAnswer, argument, arguments, json_of, shape
from memwell.values import shown

_T = TypeVar("_T")

MOST_PARTS = 20_000
"""The largest graph that is read at once."""

_NAMES_AT_ONCE = 100
_RELATIONS_AT_ONCE = 30
"""A filter has at most 256 comparisons, listed values and steps of paths."""

_LOCKS = tuple(Lock() for _ in range(64))


class _Held(NamedTuple):
    """A memory that is part of a graph."""

    id: str
    part: Observed | McpRelation


class Removed(NamedTuple):
    """The result of a deletion: how many parts were deleted, the names that were missing, and the forgotten ids."""

    number: int
    missing: list[str]
    ids: list[str]


class KnowledgeGraph:
    """The graph of one memory. Changes of one process run one by one, and no part is stored twice."""

    def __init__(self, memory: Engine) -> None:
        self._memory = memory

    # Reading

    def read(self) -> McpGraph:
        """The whole graph. Raises ``InvalidInput`` when it is too large to be read at once."""
        return _graph(held.part for held in self._held(Where(KEY, "exists")))

    def open(self, names: Sequence[str]) -> McpGraph:
        """The entities of these names, and the relations that touch one of them."""
        graph = _graph(held.part for held in self._of(names))
        for held in self._touching(list(graph.entities)):
            graph.add(held.part)
        return graph

    def search(self, query: str) -> McpGraph:
        """The entities with the query in their name, type or an observation, in capitals or not, and their relations."""
        whole = self.read()
        found = McpGraph()
        found.entities = {one.name: one for one in whole.entities.values() if _says(one, query.lower())}
        for relation in whole.relations:
            if relation.from_ in found.entities or relation.to in found.entities:
                found.add(relation)
        return found

    # Writing

    def create(self, entities: Sequence[Entity]) -> list[Entity]:
        """Add entities and return those that were new, as stored. One whose name exists is skipped."""
        made: dict[str, Entity] = {}
        with self._alone():
            taken = self.open([one.name for one in entities]).entities
            arrivals: list[Arrival] = []
            for one in entities:
                if one.name not in taken and one.name not in made:
                    parts = _parts_of(one)
                    made[one.name] = _graph(_part(part) for part in parts).entities[one.name]
                    arrivals += parts
            self._put(arrivals)
        return list(made.values())

    def relate(self, relations: Sequence[McpRelation]) -> list[McpRelation]:
        """Add relations and return those that were new. Raises ``NotFound`` when an entity of one does not exist."""
        with self._alone():
            for one in relations:
                _check_name(one.kind, "a relation's type")
            self._existing([name for one in relations for name in (one.from_, one.to)])
            wanted = list(dict.fromkeys(relations))
            there = {held.part for held in self._relations(wanted)}
            fresh = [one for one in wanted if one not in there]
            self._put([related(one.from_, one.to, one.kind) for one in fresh])
        return fresh

    def observe(self, observations: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, list[str]]]:
        """Add observations to entities and return those that were new. Raises ``NotFound`` for an unknown entity."""
        with self._alone():
            entities = self._existing([name for name, _ in observations])
            added: list[tuple[str, list[str]]] = []
            arrivals: list[Arrival] = []
            for name, contents in observations:
                entity = entities[name]
                parts = [observed(name, entity.kind, one) for one in _worded(contents)]
                fresh = {_said(part): part for part in parts if _said(part) not in entity.observations}
                entity.observations.update(dict.fromkeys(fresh))
                added.append((name, list(fresh)))
                arrivals += fresh.values()
            self._put(arrivals)
        return added

    # Deleting, which is forgetting

    def delete(self, names: Sequence[str]) -> Removed:
        """Forget entities with all their observations and relations."""
        with self._alone():
            held = self._of(names)
            ids = self._forget([*held, *self._touching(names)])
        there = {one.part.name for one in held if isinstance(one.part, Observed)}
        return Removed(sum(name in there for name in names), [name for name in names if name not in there], ids)

    def retract(self, deletions: Sequence[tuple[str, Sequence[str]]]) -> Removed:
        """Forget observations. Their entities stay."""
        number, missing, ids = 0, list[str](), list[str]()
        with self._alone():
            for name, contents in deletions:
                held = self._of([name])
                if not held:
                    missing.append(name)
                    continue
                kind = _graph(one.part for one in held).entities[name].kind
                # Stored without secrets, so compared without them.
                gone = _matching(held, [_said(observed(name, kind, clean(one))) for one in contents])
                number += len({one.part for one in gone})
                if len(gone) == len(held):
                    self._put([observed(name, kind, None)])
                ids += self._forget(gone)
        return Removed(number, missing, ids)

    def part(self, relations: Sequence[McpRelation]) -> Removed:
        """Forget relations."""
        with self._alone():
            held = self._relations(list(dict.fromkeys(relations)))
            ids = self._forget(held)
        return Removed(len({one.part for one in held}), [], ids)

    # The memories behind it

    def _held(self, where: Filter) -> list[_Held]:
        found = self._memory.memories(where=where, limit=MOST_PARTS + 1)
        if len(found) > MOST_PARTS:
            raise InvalidInput(f"the graph has more than {MOST_PARTS:,} parts; open_nodes reads some of them by name")
        parts = ((one.id, part_of(one.text, one.metadata)) for one in found)
        return [_Held(id_, _cleaned(part)) for id_, part in parts if part is not None]

    def _of(self, names: Sequence[str]) -> list[_Held]:
        wanted = list(dict.fromkeys(names))
        pieces = (Where((KEY, "entity"), "in", piece) for piece in _pieces(wanted, _NAMES_AT_ONCE))
        held = [one for piece in pieces for one in self._held(piece)]
        return [one for one in held if isinstance(one.part, Observed)]

    def _touching(self, names: Sequence[str]) -> list[_Held]:
        held: dict[str, _Held] = {}
        for piece in _pieces(list(dict.fromkeys(names)), _NAMES_AT_ONCE):
            ends = AnyOf((Where((KEY, "from"), "in", piece), Where((KEY, "to"), "in", piece)))
            held |= {one.id: one for one in self._held(ends) if isinstance(one.part, McpRelation)}
        return list(held.values())

    def _relations(self, wanted: Sequence[McpRelation]) -> list[_Held]:
        held: list[_Held] = []
        for piece in _pieces(wanted, _RELATIONS_AT_ONCE):
            held += self._held(AnyOf(tuple(_is(one) for one in piece)))
        return [one for one in held if isinstance(one.part, McpRelation)]

    def _existing(self, names: Sequence[str]) -> dict[str, Entity]:
        entities = _graph(held.part for held in self._of(names)).entities
        for name in names:
            if name not in entities:
                named = name if clean(name) == name and len(name) <= 200 else shown(name)
                raise NotFound(f"Entity with name {named} not found")
        return entities

    def _put(self, arrivals: Iterable[Arrival]) -> None:
        """Remember parts, all of them or none."""
        new: list[str] = []
        try:
            for one in arrivals:
                id_ = self._put_one(one)
                new += [] if id_ is None else [id_]
        except MemwellError:
            if new:
                self._memory.forget(new, reason="not all of it could be added")
            raise

    def _put_one(self, arrival: Arrival) -> str | None:
        """Remember one part, or restore it when it was forgotten; its id, or None when it exists."""
        for number in count():
            id_ = arrival.id if number == 0 else derived_id("mcp", arrival.id, number)
            try:
                done = self._memory.remember(arrival.text, id=id_, metadata=arrival.metadata, trust=arrival.trust)
            except Conflict:
                is_active, text = self._state(id_)
                if text != arrival.text:
                    # It was updated since, and must not be lost.
                    continue
                return None if is_active else self._memory.undo(id_).id
            if done.rejected:
                raise InvalidInput("nothing was stored: " + "; ".join(done.rejected[0].reasons))
            return id_
        raise AssertionError("unreachable")

    def _state(self, id_: str) -> tuple[bool, str]:
        """Whether a memory is active, and its text; of a forgotten one, the text that ``undo`` would restore."""
        try:
            return True, self._memory.get(id_).text
        except NotFound:
            versions = self._memory.history(id_)
            return False, versions[-1].record.text if versions else ""

    def _forget(self, held: Iterable[_Held]) -> list[str]:
        ids = list(dict.fromkeys(one.id for one in held))
        return self._memory.forget(ids, reason="deleted from the graph") if ids else []

    @contextmanager
    def _alone(self) -> Generator[None]:
        """A lock against other threads of this process, held from reading to writing."""
        with _LOCKS[id(self._memory) // 64 % len(_LOCKS)]:
            yield


def _pieces(items: Sequence[_T], size: int) -> Iterator[list[_T]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _is(relation: McpRelation) -> AllOf:
    fields = {"from": relation.from_, "to": relation.to, "relationType": relation.kind}
    return AllOf(tuple(Where((KEY, name), "eq", value) for name, value in fields.items()))


def _graph(parts: Iterable[Observed | McpRelation]) -> McpGraph:
    graph = McpGraph()
    for part in parts:
        graph.add(part)
    return graph


def _part(arrival: Arrival) -> Observed | McpRelation:
    part = part_of(arrival.text, arrival.metadata)
    assert part is not None
    return part


def _said(arrival: Arrival) -> str:
    return str(arrival.metadata[KEY]["observation"])


def _cleaned(part: Observed | McpRelation) -> Observed | McpRelation:
    """A part without invisible characters, which an import may bring."""
    if isinstance(part, McpRelation) or part.observation is None:
        return part
    return Observed(part.name, part.kind, clean(part.observation))


def _matching(held: Iterable[_Held], contents: Iterable[str]) -> list[_Held]:
    """The observations with one of these contents."""
    wanted = set(contents)
    return [one for one in held if isinstance(one.part, Observed) and one.part.observation in wanted]


def _parts_of(entity: Entity) -> list[Arrival]:
    _check_name(entity.name, "an entity's name")
    _check_name(entity.kind, "an entity's type")
    parts = [observed(entity.name, entity.kind, one) for one in _worded(entity.observations) or [None]]
    return list({part.id: part for part in parts}.values())


def _worded(observations: Iterable[str]) -> list[str]:
    """Observations without characters that cannot be seen; those that are empty then are left out."""
    return list(filter(None, map(clean, observations)))


def _check_name(name: str, what: str) -> None:
    if not name or clean(name) != name or "\n" in name:
        raise InvalidInput(f"{what} must be one line of text without characters that cannot be seen, not {shown(name)}")


def _says(entity: Entity, query: str) -> bool:
    return any(query in text.lower() for text in (entity.name, entity.kind, *entity.observations))


# Tools

MOST_ITEMS = 1_000
MOST_QUERY = 2_048

_Name = Annotated[str, Meta(min_length=1, max_length=1_000)]
_Observation = Annotated[str, Meta(max_length=90_000)]
_Observations = Annotated[list[_Observation], Meta(max_length=MOST_ITEMS)]


class GraphEntity(msgspec.Struct, frozen=True, rename="camel"):
    """An entity with what was observed of it."""

    name: Annotated[_Name, Meta(description="The name, which is its identity.")]
    entity_type: Annotated[_Name, Meta(description="What kind of thing it is, such as person.")]
    observations: Annotated[_Observations, Meta(description="Single facts about it.")]


class GraphRelation(msgspec.Struct, frozen=True, rename="camel"):
    """A relation from one entity to another."""

    from_: Annotated[_Name, Meta(description="The entity it starts at.")] = msgspec.field(name="from")
    to: Annotated[_Name, Meta(description="The entity it leads to.")]
    relation_type: Annotated[_Name, Meta(description="What it is, in the active voice, such as works_at.")]


class Contents(msgspec.Struct, frozen=True, rename="camel"):
    """Observations for one entity."""

    entity_name: _Name
    contents: _Observations


class Deletion(msgspec.Struct, frozen=True, rename="camel"):
    """Observations of one entity."""

    entity_name: _Name
    observations: _Observations


class AddedObservations(msgspec.Struct, frozen=True, rename="camel"):
    """The observations of one entity that were new."""

    entity_name: str
    added_observations: list[str]


Entities = shape("Entities", entities=list[GraphEntity])
Relations = shape("Relations", relations=list[GraphRelation])
Results = shape("Results", results=list[AddedObservations])
Outcome = shape("Outcome", success=bool, message=str)
Nodes = shape("Nodes", entities=list[GraphEntity], relations=list[GraphRelation])


def _many(type_: Any, **more: Any) -> tuple[Any]:
    return (Annotated[list[type_], Meta(max_length=MOST_ITEMS, **more)],)


_NAMES = _many(_Name, description="The names of the entities.")
_RELATIONS = _many(GraphRelation)


def _create_entities(memory: Engine, given: Any) -> ToolAnswer:
    wanted = [
        Entity(plain_name(one.name), plain_name(one.entity_type), dict.fromkeys(one.observations))
        for one in given.entities
    ]
    made = [_entity(one) for one in KnowledgeGraph(memory).create(wanted)]
    return ToolAnswer(json_of(made), Entities(made))


def _create_relations(memory: Engine, given: Any) -> ToolAnswer:
    made = [_relation(one) for one in KnowledgeGraph(memory).relate(_related(given))]
    return ToolAnswer(json_of(made), Relations(made))


def _add_observations(memory: Engine, given: Any) -> ToolAnswer:
    done = KnowledgeGraph(memory).observe([(plain_name(one.entity_name), one.contents) for one in given.observations])
    added = [AddedObservations(name, contents) for name, contents in done]
    return ToolAnswer(json_of(added), Results(added))


def _delete_entities(memory: Engine, given: Any) -> ToolAnswer:
    done = KnowledgeGraph(memory).delete([plain_name(one) for one in given.entityNames])
    missing = f" Not found: {', '.join(done.missing)}"
    return _outcome(done, "Entities", len(given.entityNames), missing)


def _delete_observations(memory: Engine, given: Any) -> ToolAnswer:
    done = KnowledgeGraph(memory).retract([(plain_name(one.entity_name), one.observations) for one in given.deletions])
    missing = f" Entities not found: {', '.join(done.missing)}" if done.missing else ""
    return _outcome(done, "Observations", sum(len(one.observations) for one in given.deletions), missing)


def _delete_relations(memory: Engine, given: Any) -> ToolAnswer:
    done = KnowledgeGraph(memory).part(_related(given))
    return _outcome(done, "Relations", len(given.relations), " The rest matched nothing.")


def _outcome(done: Removed, what: str, wanted: int, otherwise: str) -> ToolAnswer:
    whole = f"{what} deleted successfully"
    message = whole if done.number == wanted else f"Deleted {done.number} of {wanted} {what.lower()}.{otherwise}"
    # The results are the reference server's; the ids that undo takes are notes.
    notes = {"memwell/forgotten": done.ids} if done.ids else {}
    return ToolAnswer(message, Outcome(True, message), changed=tuple(done.ids), notes=notes)


def _nodes(graph: McpGraph) -> ToolAnswer:
    nodes = Nodes([_entity(one) for one in graph.entities.values()], [_relation(one) for one in graph.relations])
    return ToolAnswer(json_of(nodes), nodes)


def _entity(one: Entity) -> GraphEntity:
    return GraphEntity(one.name, one.kind, list(one.observations))


def _relation(one: McpRelation) -> GraphRelation:
    return GraphRelation(from_=one.from_, to=one.to, relation_type=one.kind)


def _related(given: Any) -> list[McpRelation]:
    return [McpRelation(*map(plain_name, (one.from_, one.to, one.relation_type))) for one in given.relations]


def _tool(
    name: str, does: Callable[[Engine, Any], ToolAnswer], gives: Any, about: str, **takes: tuple[Any, ...]
) -> McpTool:
    return McpTool(
        name=name,
        title="",
        description=about,
        # What is unknown is ignored, as by the reference server.
        takes=arguments(False, **takes),
        gives=gives,
        does=does,
        scope=READ if gives is Nodes else WRITE,
        group="graph",
        destructive=gives is Outcome,
    )


GRAPH_TOOLS = (
    _tool(
        "create_entities",
        _create_entities,
        Entities,
        "Add entities with observations to the knowledge graph. One whose name exists is passed over: use "
        f"add_observations for it. At most {MOST_ITEMS:,} each call.",
        entities=_many(GraphEntity),
    ),
    _tool(
        "create_relations",
        _create_relations,
        Relations,
        "Add relations between entities that exist, in the active voice, such as works_at. One that exists is passed over; "
        "an unknown entity is an error.",
        relations=_RELATIONS,
    ),
    _tool(
        "add_observations",
        _add_observations,
        Results,
        "Add facts to entities that exist; only new ones are added. An unknown entity is an error.",
        observations=_many(Contents),
    ),
    _tool(
        "delete_entities",
        _delete_entities,
        Outcome,
        "Remove entities with their observations and relations. They are forgotten, not erased: list_memories with "
        "`forgotten` shows them, undo restores each.",
        entityNames=_NAMES,
    ),
    _tool(
        "delete_observations",
        _delete_observations,
        Outcome,
        "Remove observations from entities, which stay. Each is forgotten, and undo restores it.",
        deletions=_many(Deletion),
    ),
    _tool(
        "delete_relations",
        _delete_relations,
        Outcome,
        "Remove relations. Each is forgotten, and undo restores it.",
        relations=_RELATIONS,
    ),
    _tool(
        "read_graph",
        lambda memory, given: _nodes(KnowledgeGraph(memory).read()),
        Nodes,
        "Read the whole knowledge graph. Use search_nodes or open_nodes when it may be large: above "
        f"{MOST_PARTS:,} observations and relations it is refused.",
    ),
    _tool(
        "search_nodes",
        lambda memory, given: _nodes(KnowledgeGraph(memory).search(given.query)),
        Nodes,
        "Find entities by a part of their name, type or observations, in capitals or not, with the relations that touch "
        "them. It compares letters; to find by meaning, use recall.",
        query=argument("Part of a name, a type or an observation.", str, max_length=MOST_QUERY),
    ),
    _tool(
        "open_nodes",
        lambda memory, given: _nodes(KnowledgeGraph(memory).open([plain_name(one) for one in given.names])),
        Nodes,
        "Read entities by their exact names, with the relations that touch them. Unknown ones are passed over.",
        names=_NAMES,
    ),
)
