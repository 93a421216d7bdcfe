"""The nine tools of the MCP reference memory server, with its names, arguments and results, over the graph of a memory."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from memwell.runtime.engine import Engine
from memwell.runtime.transfer.mcp import Entity, Graph, Related
from memwell.service.mcp.calls import WRITE
from memwell.service.mcp.graph import MOST_PARTS, KnowledgeGraph, Removed
from memwell.service.mcp.tool import Answer, Arguments, NoArguments, Tool, json_of

MOST_ITEMS = 1_000
MOST_QUERY = 2_048

_Name = Annotated[str, Meta(min_length=1, max_length=1_000)]
_Observation = Annotated[str, Meta(min_length=1, max_length=90_000)]
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


class Added(msgspec.Struct, frozen=True, rename="camel"):
    """The observations of one entity that were new."""

    entity_name: str
    added_observations: list[str]


class Entities(msgspec.Struct, frozen=True):
    """Entities that were new."""

    entities: list[GraphEntity]


class Relations(msgspec.Struct, frozen=True):
    """Relations that were new."""

    relations: list[GraphRelation]


class Results(msgspec.Struct, frozen=True):
    """What became of each addition."""

    results: list[Added]


class Outcome(msgspec.Struct, frozen=True):
    """What became of a deletion."""

    success: bool
    message: str


class Nodes(msgspec.Struct, frozen=True):
    """A graph, or a part of one."""

    entities: list[GraphEntity]
    relations: list[GraphRelation]


class CreateEntities(Arguments, frozen=True, kw_only=True):
    """Entities to add."""

    entities: Annotated[list[GraphEntity], Meta(max_length=MOST_ITEMS)]


class RelationsArguments(Arguments, frozen=True, kw_only=True):
    """Relations to add or delete."""

    relations: Annotated[list[GraphRelation], Meta(max_length=MOST_ITEMS)]


class AddObservations(Arguments, frozen=True, kw_only=True):
    """Observations to add."""

    observations: Annotated[list[Contents], Meta(max_length=MOST_ITEMS)]


class DeleteEntities(Arguments, frozen=True, kw_only=True, rename="camel"):
    """Entities to delete."""

    entity_names: Annotated[list[_Name], Meta(max_length=MOST_ITEMS, description="The names of the entities.")]


class DeleteObservations(Arguments, frozen=True, kw_only=True):
    """Observations to delete."""

    deletions: Annotated[list[Deletion], Meta(max_length=MOST_ITEMS)]


class SearchNodes(Arguments, frozen=True, kw_only=True):
    """What to look for."""

    query: Annotated[str, Meta(max_length=MOST_QUERY, description="Part of a name, a type or an observation.")]


class OpenNodes(Arguments, frozen=True, kw_only=True):
    """Whom to look at."""

    names: Annotated[list[_Name], Meta(max_length=MOST_ITEMS, description="The names of the entities.")]


def _create_entities(memory: Engine, given: CreateEntities) -> Answer:
    wanted = [Entity(one.name, one.entity_type, dict.fromkeys(one.observations)) for one in given.entities]
    made = [_entity(one) for one in KnowledgeGraph(memory).create(wanted)]
    return Answer(json_of(made), Entities(made))


def _create_relations(memory: Engine, given: RelationsArguments) -> Answer:
    made = [_relation(one) for one in KnowledgeGraph(memory).relate(_related(given))]
    return Answer(json_of(made), Relations(made))


def _add_observations(memory: Engine, given: AddObservations) -> Answer:
    done = KnowledgeGraph(memory).observe([(one.entity_name, one.contents) for one in given.observations])
    added = [Added(name, contents) for name, contents in done]
    return Answer(json_of(added), Results(added))


def _delete_entities(memory: Engine, given: DeleteEntities) -> Answer:
    done = KnowledgeGraph(memory).delete(given.entity_names)
    missing = f" Not found: {', '.join(done.missing)}"
    return _outcome(done, "Entities", len(given.entity_names), missing)


def _delete_observations(memory: Engine, given: DeleteObservations) -> Answer:
    done = KnowledgeGraph(memory).retract([(one.entity_name, one.observations) for one in given.deletions])
    missing = f" Entities not found: {', '.join(done.missing)}" if done.missing else ""
    return _outcome(done, "Observations", sum(len(one.observations) for one in given.deletions), missing)


def _delete_relations(memory: Engine, given: RelationsArguments) -> Answer:
    done = KnowledgeGraph(memory).part(_related(given))
    return _outcome(done, "Relations", len(given.relations), " The rest matched nothing.")


def _outcome(done: Removed, what: str, wanted: int, otherwise: str) -> Answer:
    whole = f"{what} deleted successfully"
    message = whole if done.number == wanted else f"Deleted {done.number} of {wanted} {what.lower()}.{otherwise}"
    # The results are the reference server's; the ids that undo takes stand beside them.
    notes = {"memwell/forgotten": done.ids} if done.ids else {}
    return Answer(message, Outcome(True, message), changed=tuple(done.ids), notes=notes)


def _read_graph(memory: Engine, given: NoArguments) -> Answer:
    return _nodes(KnowledgeGraph(memory).read())


def _search_nodes(memory: Engine, given: SearchNodes) -> Answer:
    return _nodes(KnowledgeGraph(memory).search(given.query))


def _open_nodes(memory: Engine, given: OpenNodes) -> Answer:
    return _nodes(KnowledgeGraph(memory).open(given.names))


def _nodes(graph: Graph) -> Answer:
    nodes = Nodes([_entity(one) for one in graph.entities.values()], [_relation(one) for one in graph.relations])
    return Answer(json_of(nodes), nodes)


def _entity(one: Entity) -> GraphEntity:
    return GraphEntity(one.name, one.kind, list(one.observations))


def _relation(one: Related) -> GraphRelation:
    return GraphRelation(from_=one.from_, to=one.to, relation_type=one.kind)


def _related(given: RelationsArguments) -> list[Related]:
    return [Related(one.from_, one.to, one.relation_type) for one in given.relations]


GRAPH_TOOLS = (
    Tool(
        name="create_entities",
        title="Create entities",
        description=(
            "Add entities with observations to the knowledge graph. One whose name exists is passed over: use "
            f"add_observations for it. At most {MOST_ITEMS:,} each call."
        ),
        takes=CreateEntities,
        gives=Entities,
        does=_create_entities,
        scope=WRITE,
        group="graph",
    ),
    Tool(
        name="create_relations",
        title="Create relations",
        description=(
            "Add relations between entities that exist, in the active voice, such as works_at. One that exists is passed "
            "over; an unknown entity is an error."
        ),
        takes=RelationsArguments,
        gives=Relations,
        does=_create_relations,
        scope=WRITE,
        group="graph",
    ),
    Tool(
        name="add_observations",
        title="Add observations",
        description="Add facts to entities that exist; only new ones are added. An unknown entity is an error.",
        takes=AddObservations,
        gives=Results,
        does=_add_observations,
        scope=WRITE,
        group="graph",
    ),
    Tool(
        name="delete_entities",
        title="Delete entities",
        description=(
            "Remove entities with their observations and relations. They are forgotten, not erased: list_memories with "
            "`forgotten` shows them, undo brings each back."
        ),
        takes=DeleteEntities,
        gives=Outcome,
        does=_delete_entities,
        scope=WRITE,
        group="graph",
        destructive=True,
    ),
    Tool(
        name="delete_observations",
        title="Delete observations",
        description="Remove observations from entities, which stay. Each is forgotten, and undo brings it back.",
        takes=DeleteObservations,
        gives=Outcome,
        does=_delete_observations,
        scope=WRITE,
        group="graph",
        destructive=True,
    ),
    Tool(
        name="delete_relations",
        title="Delete relations",
        description="Remove relations. Each is forgotten, and undo brings it back.",
        takes=RelationsArguments,
        gives=Outcome,
        does=_delete_relations,
        scope=WRITE,
        group="graph",
        destructive=True,
    ),
    Tool(
        name="read_graph",
        title="Read graph",
        description=(
            "Read the whole knowledge graph. Use search_nodes or open_nodes when it may be large: above "
            f"{MOST_PARTS:,} observations and relations it is refused."
        ),
        takes=NoArguments,
        gives=Nodes,
        does=_read_graph,
        group="graph",
    ),
    Tool(
        name="search_nodes",
        title="Search nodes",
        description=(
            "Find entities by a part of their name, type or observations, in capitals or not, with the relations that "
            "touch them. It compares letters; to find by meaning, use recall."
        ),
        takes=SearchNodes,
        gives=Nodes,
        does=_search_nodes,
        group="graph",
    ),
    Tool(
        name="open_nodes",
        title="Open nodes",
        description="Read entities by their exact names, with the relations that touch them. Unknown ones are passed over.",
        takes=OpenNodes,
        gives=Nodes,
        does=_open_nodes,
        group="graph",
    ),
)

__all__ = ["GRAPH_TOOLS", "MOST_ITEMS"]
