"""A memory of facts: subject, relation, object, as a conversation states them.

The default graph lies beside the conversation, in the same store, and is the one that ``memwell.strategies.Graph`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, cast

import msgspec

from memwell.compat.langchain.base import BaseChatMemory
from memwell.compat.langchain.buffers import check_rounds, last_rounds
from memwell.compat.langchain.entities import get_entities, text_in
from memwell.compat.langchain.messages import BaseMessage, SystemMessage, get_buffer_string
from memwell.compat.langchain.models import LanguageModelLike, as_llm
from memwell.compat.langchain.prompts import (
    ENTITY_EXTRACTION_PROMPT,
    KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT,
    Prompt,
    filled,
)
from memwell.errors import InvalidInput, MissingDependency
from memwell.history.reading import HistoryReader
from memwell.messages import human
from memwell.storage.protocols import Entry
from memwell.strategies.entities import MOST_ABOUT_ONE, USER, Graph, Triple, claimed, entity_key, named
from memwell.strategies.state import until_settled
from memwell.values import check_text, shown

KG_TRIPLE_DELIMITER = "<|>"
_SPEAKER_IN = re.compile(r"\b(?:I|I['’]\w+|my|mine|me)\b|我", re.I).search


class KnowledgeTriple(NamedTuple):
    """One fact."""

    subject: str
    predicate: str
    object_: str

    @classmethod
    def from_string(cls, triple_string: str) -> KnowledgeTriple:
        """The fact in ``(subject, predicate, object)``. Raises ``InvalidInput`` when it has not three parts."""
        parts = triple_string.strip().split(", ")
        if len(parts) != 3:
            raise InvalidInput(f"a triple is (subject, predicate, object), not {shown(triple_string)}")
        return cls(parts[0][1:], parts[1], parts[2][:-1])


def parse_triples(knowledge_str: str) -> list[KnowledgeTriple]:
    """The facts in a model's answer, separated by ``<|>``; what is no triple is left out, and ``NONE`` is none."""
    text = knowledge_str.strip()
    if not text or text == "NONE":
        return []
    found: list[KnowledgeTriple] = []
    for one in text.split(KG_TRIPLE_DELIMITER):
        try:
            found.append(KnowledgeTriple.from_string(one))
        except InvalidInput:
            # A model's slip in one fact says nothing against the others.
            continue
    return found


class NetworkxEntityGraph:
    """Facts as a directed graph, in memory. It needs no networkx, but takes a ``networkx.DiGraph`` to begin with.

    Two nodes may be related in several ways; each is kept.
    """

    def __init__(self, graph: Any = None) -> None:
        self._edges: dict[str, dict[str, list[str]]] = {}
        if graph is not None:
            self._take(graph)

    def _take(self, graph: Any) -> None:
        if not all(hasattr(graph, name) for name in ("nodes", "edges", "successors")):
            raise InvalidInput(f"Passed in graph is not of correct shape: {shown(graph)}")
        for node in graph.nodes:
            self.add_node(str(node))
        for subject, object_, data in graph.edges(data=True):
            self.add_triple(KnowledgeTriple(str(subject), str(data["relation"]), str(object_)))

    @classmethod
    def from_gml(cls, gml_path: str) -> NetworkxEntityGraph:
        """The graph in a GML file. Raises ``MissingDependency`` without networkx."""
        return cls(_networkx().read_gml(gml_path))

    def write_to_gml(self, path: str) -> None:
        """Write the graph as a GML file, one relation an edge. Raises ``MissingDependency`` without networkx."""
        networkx = _networkx()
        graph = networkx.DiGraph()
        graph.add_nodes_from(self._nodes())
        for subject, object_, predicate in self.get_triples():
            graph.add_edge(subject, object_, relation=predicate)
        networkx.write_gml(graph, path)

    # Facts

    def add_triple(self, knowledge_triple: KnowledgeTriple) -> None:
        """Add a fact; one that is there already is not added again."""
        subject, predicate, object_ = knowledge_triple
        self.add_node(subject)
        self.add_node(object_)
        relations = self._edges[subject].setdefault(object_, [])
        if predicate not in relations:
            relations.append(predicate)

    def delete_triple(self, knowledge_triple: KnowledgeTriple) -> None:
        """Drop a fact, if it is there."""
        subject, predicate, object_ = knowledge_triple
        relations = self._edges.get(subject, {}).get(object_, [])
        if predicate in relations:
            relations.remove(predicate)
        if not relations:
            self._edges.get(subject, {}).pop(object_, None)

    def get_triples(self) -> list[tuple[str, str, str]]:
        """All facts, each as subject, object, predicate: in that order."""
        return [
            (subject, object_, predicate) for subject in self._nodes() for object_, predicate in self._facts(subject)
        ]

    def get_entity_knowledge(self, entity: str, depth: int = 1) -> list[str]:
        """What is known of a node, and of those it leads to in up to ``depth`` steps, in words; nothing for one unknown."""
        found: list[str] = []
        self._walk(entity, depth, {entity}, found)
        return found

    def _walk(self, entity: str, depth: int, seen: set[str], found: list[str]) -> None:
        if depth < 1:
            return
        facts = self._facts(entity)
        for object_ in dict.fromkeys(object_ for object_, _ in facts):
            if object_ in seen:
                continue
            seen.add(object_)
            found += [f"{entity} {predicate} {object_}" for one, predicate in facts if one == object_]
            self._walk(object_, depth - 1, seen, found)

    # Nodes and edges

    def _nodes(self) -> list[str]:
        return list(self._edges)

    def _facts(self, subject: str) -> list[tuple[str, str]]:
        """The objects and predicates of a subject."""
        relations = self._edges.get(subject, {})
        return [(object_, predicate) for object_, predicates in relations.items() for predicate in predicates]

    def clear(self) -> None:
        """Drop everything."""
        self._edges.clear()

    def clear_edges(self) -> None:
        """Drop all facts and keep the nodes."""
        self._edges = {node: {} for node in self._edges}

    def add_node(self, node: str) -> None:
        """Add a node, if it is not there."""
        self._edges.setdefault(node, {})

    def remove_node(self, node: str) -> None:
        """Drop a node with all facts that name it, if it is there."""
        self._edges.pop(node, None)
        for relations in self._edges.values():
            relations.pop(node, None)

    def has_node(self, node: str) -> bool:
        """Whether a node is there."""
        return node in self._nodes()

    def remove_edge(self, source_node: str, destination_node: str) -> None:
        """Drop all facts between two nodes, in this direction. Raises ``InvalidInput`` when there are none."""
        if not self.has_edge(source_node, destination_node):
            raise InvalidInput(f"there is no edge from {shown(source_node)} to {shown(destination_node)}")
        for object_, predicate in self._facts(source_node):
            if object_ == destination_node:
                self.delete_triple(KnowledgeTriple(source_node, predicate, object_))

    def has_edge(self, source_node: str, destination_node: str) -> bool:
        """Whether there is a fact between two nodes, in this direction."""
        return any(object_ == destination_node for object_, _ in self._facts(source_node))

    def get_neighbors(self, node: str) -> list[str]:
        """The nodes that a node leads to."""
        return list(dict.fromkeys(object_ for object_, _ in self._facts(node)))

    def get_number_of_nodes(self) -> int:
        """How many nodes there are."""
        return len(self._nodes())

    def get_topological_sort(self) -> list[str]:
        """The nodes so that each comes before those it leads to. Raises ``InvalidInput`` when they go in a circle."""
        nodes = self._nodes()
        waiting = {node: sum(self.has_edge(other, node) for other in nodes) for node in nodes}
        ready = [node for node in nodes if not waiting[node]]
        for node in ready:
            for neighbor in self.get_neighbors(node):
                waiting[neighbor] -= 1
                if not waiting[neighbor]:
                    ready.append(neighbor)
        if len(ready) < len(nodes):
            raise InvalidInput("the facts go in a circle, so none comes first")
        return ready


def _networkx() -> Any:
    try:
        # Loaded here because only the reading and writing of its files needs it.
        return import_module("networkx")
    except ImportError as error:
        raise MissingDependency("GML files need networkx: pip install networkx") from error


class ThreadEntityGraph(NetworkxEntityGraph):
    """The facts that lie beside a conversation, in its store. A subject is the same in capitals or not.

    The newest 100 facts of a subject are kept.
    """

    def __init__(self, history: HistoryReader) -> None:
        super().__init__()
        self._history = history
        self.strategy = Graph(history, 0)
        # The very same: over a history without a store a state lives in its object.
        self._state = self.strategy.state

    def add_triple(self, knowledge_triple: KnowledgeTriple) -> None:
        info = self._history.info()
        subject, predicate, object_ = knowledge_triple
        new = Triple(subject, predicate, object_, index=info.next - 1 if info else 0)
        self._change(subject, lambda known: known if any(_same(one, new) for one in known) else [*known, new])

    def delete_triple(self, knowledge_triple: KnowledgeTriple) -> None:
        old = Triple(*knowledge_triple)
        self._change(old.subject, lambda known: [one for one in known if not _same(one, old)])

    def _change(self, subject: str, change: Callable[[list[Triple]], list[Triple]]) -> None:
        until_settled(lambda: self._changed(check_text(subject, "a subject"), change))

    def _changed(self, subject: str, change: Callable[[list[Triple]], list[Triple]]) -> bool:
        entry = self._state.get(entity_key(subject))
        known = change(_triples(entry) if entry else [])[-MOST_ABOUT_ONE:]
        value = {"triples": msgspec.to_builtins(known), "node": subject}
        self._state.put(entity_key(subject), value, expect=entry.version if entry else 0)
        return False

    def _facts(self, subject: str) -> list[tuple[str, str]]:
        entry = self._state.get(entity_key(subject))
        return [(one.object, in_words(one.predicate)) for one in _triples(entry)] if entry else []

    def _nodes(self) -> list[str]:
        found: dict[str, None] = {}
        for entry in self._state.entries():
            triples = _triples(entry)
            found.setdefault(
                triples[0].subject if triples else str(cast("dict[str, Any]", entry.value).get("node", ""))
            )
            for one in triples:
                found.setdefault(one.object)
        return [node for node in found if node]

    def clear(self) -> None:
        self._state.clear()

    def clear_edges(self) -> None:
        for node in self._nodes():
            self._change(node, lambda known: [])

    def add_node(self, node: str) -> None:
        self._change(node, lambda known: known)

    def remove_node(self, node: str) -> None:
        self._state.drop(entity_key(node))
        for other in self._nodes():
            if self.has_edge(other, node):
                self.remove_edge(other, node)


def _triples(entry: Entry) -> list[Triple]:
    return msgspec.convert(cast("dict[str, Any]", entry.value)["triples"], list[Triple])


def in_words(predicate: str) -> str:
    """A relation as words."""
    return predicate.replace("_", " ")


def _same(one: Triple, other: Triple) -> bool:
    return (in_words(one.predicate), one.object) == (in_words(other.predicate), other.object)


class ConversationKGMemory(BaseChatMemory):
    """What is known of the names that the input speaks of, as facts.

    Without an ``llm`` facts are read by rule off what people say, and "I" is ``user``. ``k`` is how many rounds before the
    input a model is shown.
    """

    k: int = 2
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    kg: NetworkxEntityGraph = cast(NetworkxEntityGraph, None)  # by default made beside the conversation
    knowledge_extraction_prompt: Prompt = KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT
    entity_extraction_prompt: Prompt = ENTITY_EXTRACTION_PROMPT
    llm: LanguageModelLike = None
    summary_message_cls: type[BaseMessage] = SystemMessage
    memory_key: str = "history"

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_rounds(self.k)
        as_llm(self.llm)
        if given.get("kg") is None:
            self.kg = ThreadEntityGraph(self._conversation())

    @property
    def memory_variables(self) -> list[str]:
        """The one variable."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """A line, or a message of ``summary_message_cls``, for every name of the input that something is known of."""
        names = self.get_current_entities(text_in(self._input(inputs)))
        known = {name: self.kg.get_entity_knowledge(name) for name in names}
        lines = [f"On {name}: {'. '.join(facts)}." for name, facts in known.items() if facts]
        if self.return_messages:
            return {self.memory_key: self._theirs([self.summary_message_cls(content=line) for line in lines])}
        return {self.memory_key: "\n".join(lines)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn, then add the facts that its input states.

        Raises ``InvalidInput`` as any memory does, and ``ModelError`` when the model fails: then the turn is kept and the
        graph as it was.
        """
        super().save_context(inputs, outputs)
        graph = self.kg
        if isinstance(graph, ThreadEntityGraph) and not as_llm(self.llm).answers:
            # It also knows what ends an older fact.
            graph.strategy.observe()
            return
        for triple in self.get_knowledge_triplets(text_in(self._input(inputs))):
            graph.add_triple(triple)

    def get_current_entities(self, input_string: str) -> list[str]:
        """The names that an input speaks of."""
        llm = as_llm(self.llm)
        if llm.answers:
            asked = filled(self.entity_extraction_prompt, history=self._recent(), input=input_string, text=input_string)
            return get_entities(llm.predict(asked))
        return [*named(input_string), *([USER] if _SPEAKER_IN(input_string) else [])]

    def get_knowledge_triplets(self, input_string: str) -> list[KnowledgeTriple]:
        """The facts that an input states."""
        llm = as_llm(self.llm)
        if llm.answers:
            asked = filled(self.knowledge_extraction_prompt, history=self._recent(), input=input_string)
            return parse_triples(llm.predict(asked))
        found = (one for one in claimed(human(input_string)) if not one.negated)
        return [KnowledgeTriple(one.subject, in_words(one.predicate), one.object) for one in found]

    def clear(self) -> None:
        """Delete the conversation and the facts."""
        super().clear()
        self.kg.clear()

    def _recent(self) -> str:
        messages = self._shown(last_rounds(self._conversation(), self.k))
        return get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)


__all__ = [
    "KG_TRIPLE_DELIMITER",
    "ConversationKGMemory",
    "KnowledgeTriple",
    "NetworkxEntityGraph",
    "ThreadEntityGraph",
    "parse_triples",
]
