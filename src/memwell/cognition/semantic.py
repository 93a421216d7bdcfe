"""Semantic memory: what things are, how they hang together, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.cognition.beliefs import Belief, check_share
from memwell.cognition.candidates import enough_of
from memwell.cognition.concepts import (
    KIND,
    STRENGTH,
    Concept,
    KeptConcept,
    Testimony,
    as_concept,
    concept_draft,
    is_concept,
    is_groundless,
    kept_concept,
    says_same,
    sources_of,
)
from memwell.cognition.graph import ConceptGraph, Edge, Node, Related
from memwell.cognition.named import Draft, NamedMemories, check_name, check_texts, gone_of, key_of, without_secrets
from memwell.cognition.taught import TaughtConcepts
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AnyOf, Filter, Not, Where
from memwell.longterm.duplicates import fingerprint
from memwell.longterm.memory import Memory
from memwell.longterm.recalling import Recalled
from memwell.values import check_count, check_id, check_text, shown

MOST_EVIDENCE = 64
"""So many of the latest pieces of evidence are kept; all are counted."""


class SemanticMemory:
    """The concepts of a memory: one for each name that is everybody's, and one for each that a user's turns taught.

    A ``user`` hears of everybody's and of their own; ``""`` is somebody without a name. Where many are asked for, None is
    all of them. Where one is named, None is everybody's. Every method has an async twin with an ``a`` in front.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._named = NamedMemories(memory, KIND, KeptConcept)
        self._taught = TaughtConcepts(memory)

    def store(
        self, concept: str, definition: str, related: Iterable[str] = (), confidence: float = 0.8, *, source: str = ""
    ) -> Concept:
        """Say to everybody what something is, and what it is related to; returns it as it stands then.

        One that is known gets the new definition, and keeps its relations unless others are given. Evidence is kept as
        long as the definition is the same in words. ``source`` is a memory that it was learnt from: it is erased with that.
        Raises ``InvalidInput`` for a confidence that is not above 0 and below 1, and for texts that break a rule.
        """
        return self._stated(concept, definition, related, confidence, source)

    def _stated(
        self,
        concept: str,
        definition: str,
        related: Iterable[str],
        confidence: float,
        source: str,
        heard: tuple[Testimony, ...] = (),
    ) -> Concept:
        name = check_name(concept, "a concept")
        says = _check_definition(definition, name)
        named, sure = _check_related(related, name), check_share(confidence, "a confidence")

        def stated(old: Recalled | None) -> Draft:
            before = None if old is None else kept_concept(old)
            kept = KeptConcept(name, says, named, Belief(sure, STRENGTH), heard, stated=not source)
            if before is not None and fingerprint(before.definition) == fingerprint(says):
                belief = Belief(sure, STRENGTH, before.belief.support, before.belief.against)
                kept = replace(kept, belief=belief, evidence=(before.evidence + heard)[-MOST_EVIDENCE:])
            if before is not None and not named:
                kept = replace(kept, related=before.related)
            return concept_draft(kept, "stored", (source,) if source else ())

        return self._seen(self._named.change(name, stated))

    def support(self, concept: str, by: str = "", *, source: str = "", user: str | None = None) -> Concept:
        """Something speaks for it: its confidence rises. Raises ``NotFound``."""
        return self._heard(concept, by, source, user, supports=True)

    def contradict(self, concept: str, by: str = "", *, source: str = "", user: str | None = None) -> Concept:
        """Something speaks against it: its confidence falls. Raises ``NotFound``."""
        return self._heard(concept, by, source, user, supports=False)

    def learn(
        self,
        concept: str,
        definition: str,
        *,
        by: str,
        related: Iterable[str] = (),
        confidence: float = 0.8,
        source: str = "",
        user: str | None = None,
    ) -> Concept:
        """Take what somebody says something is for what it is worth.

        What is not known yet is stored. The same again supports it, once for everyone who says so. Something else
        contradicts it, and takes its place when the confidence has fallen below a half. With a ``user`` that alone hears
        of it, what is everybody's is supported or contradicted by their word, and never replaced.
        """
        name = check_name(concept, "a concept")
        says = _check_definition(definition, name)
        if user is not None:
            return self._learn_from(_check_user(user), name, says, by, related, confidence, source)
        # Before the transaction, in which others wait: a model may have to embed what is owed.
        self.memory.catch_up()
        with self.memory.backend.transaction():
            known = self._everybodys(name)
            # Who says it first is the reason to assume it, and no evidence beyond that.
            first = (self._testimony(by, source, supports=True, counted=False),)
            if known is None:
                return self._stated(name, says, related, confidence, source, first)
            same = says_same(known.definition, says)
            heard = self._heard_once(known, by, source, same)
            if not same and heard.confidence < 0.5:
                return self._stated(name, says, related, confidence, source, first)
            return heard

    def _learn_from(
        self, user: str, name: str, says: str, by: str, related: Iterable[str], confidence: float, source: str
    ) -> Concept:
        named, sure = _check_related(related, name), check_share(confidence, "a confidence")
        self.memory.catch_up()
        with self.memory.backend.transaction():
            known = self._everybodys(name)
            if known is not None:
                same = says_same(known.definition, says)
                heard = self._heard_once(known, by, source, same)
                if same:
                    return heard
        first = self._testimony(by, source, supports=True, counted=False)
        return self._seen(self._taught.teach(user, name, says, named, sure, first))

    def _heard_once(self, known: Concept, by: str, source: str, supports: bool) -> Concept:
        """The concept after somebody's word on it, which counts once."""
        if any(one.by == by and one.supports is supports for one in known.evidence):
            return known
        return self._heard(known.name, by, source, None, supports=supports)

    def get(self, concept: str, *, user: str | None = None) -> Concept:
        """One concept by its name, however it is written; with a user their own before everybody's. Raises ``NotFound``."""
        name = check_name(concept, "a concept")
        own = None if user is None else self._taught.current(_check_user(user), name)
        found = self._everybodys(name) if own is None else self._seen(own)
        if found is None:
            raise NotFound(f"there is no concept {shown(name)}{_whose(user)}")
        return found

    def concepts(self, *, user: str | None = None) -> list[Concept]:
        """The concepts that a user hears of, the first stored first; None is all, whoever taught them."""
        shown_to = None if user is None else open_to(user)
        latest: dict[tuple[str | None, str], tuple[int, Concept]] = {}
        for row, concept in self._grounded(list(self._named.all(shown_to))):
            order, key = kept_concept(row).order, (concept.user, key_of(concept.name))
            if key not in latest or latest[key][0] < order:
                latest[key] = (order, concept)
        return [concept for _, concept in latest.values()]

    def recall(self, query: str, limit: int = 5, *, user: str | None = None) -> list[Concept]:
        """The concepts that answer a query best; of two that do so alike the surer first."""
        weighed = [
            replace(one, score=one.score * (1 + one.confidence) / 2) for _, one in self.hits(query, limit, user=user)
        ]
        return sorted(weighed, key=lambda one: -one.score)[:limit]

    def hits(self, query: str, limit: int, *, user: str | None = None) -> list[tuple[Recalled, Concept]]:
        """The memories that answer a query best and the concept that each keeps; the best first, each concept once."""
        check_count(limit, "limit")
        where = None if user is None else open_to(user)
        return enough_of(
            lambda most: self.memory.recall(query, kinds=KIND, limit=most, where=where),
            lambda found: self._current([one for one in found if is_concept(one)]),
            limit,
        )

    def graph(self, *, user: str | None = None) -> ConceptGraph:
        """The concepts that a user hears of, None for all, and what they are related to."""
        # Of two that have a name in common everybody's stands for both.
        known = sorted(self.concepts(user=user), key=lambda one: one.user is not None)
        nodes: dict[str, Node] = {}
        edges: dict[frozenset[str], Edge] = {}
        for one in known:
            nodes.setdefault(key_of(one.name), Node(one.name, one.confidence))
        for one in known:
            for other in one.related:
                nodes.setdefault(key_of(other), Node(other))
                ends = frozenset((key_of(one.name), key_of(other)))
                edges.setdefault(ends, Edge(nodes[key_of(one.name)].name, nodes[key_of(other)].name))
        return ConceptGraph(nodes.values(), edges.values())

    def related(self, concept: str, depth: int = 1, *, user: str | None = None) -> list[Related]:
        """What a concept is related to, in at most ``depth`` steps, either way, the nearest first. Raises ``NotFound``."""
        graph = self.graph(user=user)
        key = key_of(check_name(concept, "a concept"))
        if all(key_of(node.name) != key for node in graph.nodes):
            raise NotFound(f"there is no concept {shown(concept)}, and none that names it")
        return graph.related(concept, depth)

    def path(self, start: str, end: str, *, user: str | None = None) -> list[str]:
        """The names on a shortest way between two concepts, both included; empty when nothing leads there."""
        return self.graph(user=user).path(check_name(start, "a concept"), check_name(end, "a concept"))

    def _everybodys(self, name: str) -> Concept | None:
        found = self._named.find(name)
        seen = [] if found is None else self._grounded([found])
        return seen[0][1] if seen else None

    def _seen(self, found: Recalled) -> Concept:
        return as_concept(found, gone_of(self.memory, sources_of(found)))

    def _grounded(self, found: Sequence[Recalled]) -> list[tuple[Recalled, Concept]]:
        """Concepts without those that were learnt from what is gone, and without the evidence that is."""
        gone = gone_of(self.memory, {source for one in found for source in sources_of(one)})
        return [(one, as_concept(one, gone)) for one in found if not is_groundless(one, gone)]

    def _current(self, found: Sequence[Recalled]) -> list[tuple[Recalled, Concept]]:
        """The same without what a user said before of something, each concept once."""
        chosen: dict[tuple[str | None, str], tuple[Recalled, Concept]] = {}
        for hit, concept in self._grounded(found):
            latest = None if concept.user is None else self._taught.current(concept.user, concept.name)
            if latest is None or latest.id == hit.id or latest.text == hit.text:
                chosen.setdefault((concept.user, key_of(concept.name)), (hit, concept))
        return list(chosen.values())

    def _heard(self, concept: str, by: str, source: str, user: str | None, *, supports: bool) -> Concept:
        name = check_name(concept, "a concept")
        heard = self._testimony(by, source, supports=supports)
        own = None if user is None else self._taught.current(_check_user(user), name)
        id_ = self._named.id_of(name) if own is None else own.id
        return self._seen(self._named.change_at(id_, _weighing(name, heard)))

    def _testimony(self, by: str, source: str, *, supports: bool, counted: bool = True) -> Testimony:
        who = without_secrets(check_text(by, "evidence"))
        return Testimony(who, supports, self.memory.clock(), source, counted)

    astore = asyncify(store)
    asupport = asyncify(support)
    acontradict = asyncify(contradict)
    alearn = asyncify(learn)
    aget = asyncify(get)
    aconcepts = asyncify(concepts)
    arecall = asyncify(recall)
    ahits = asyncify(hits)
    agraph = asyncify(graph)
    arelated = asyncify(related)
    apath = asyncify(path)


def open_to(user: str) -> Filter:
    """A filter for the concepts that a user hears of: everybody's, and those that their own turns taught."""
    whose = (KIND, "user")
    return AnyOf((Not(Where(whose, "exists")), Where(whose, "eq", _check_user(user))))


def _weighing(name: str, heard: Testimony) -> Callable[[Recalled | None], Draft]:
    """What a concept becomes with one more piece of evidence."""

    def weighed(old: Recalled | None) -> Draft:
        if old is None:
            raise NotFound(f"there is no concept {shown(name)}")
        kept = kept_concept(old)
        evidence = (*kept.evidence, heard)[-MOST_EVIDENCE:]
        weighed = replace(kept, belief=kept.belief.seen(heard.supports), evidence=evidence)
        # It does not rest on a memory that speaks for it: when that is erased, the definition of another stays.
        return concept_draft(weighed, "supported" if heard.supports else "contradicted", ())

    return weighed


def _check_user(value: str) -> str:
    return check_id(value, "a user") if value != "" else ""


def _whose(user: str | None) -> str:
    return " that is everybody's; user= asks for what somebody's turns taught" if user is None else ""


def _check_definition(value: object, name: str) -> str:
    """A definition without secrets. Of a short word only the name may tell that it is one."""
    text = check_text(value, "a definition").strip()
    if not text:
        raise InvalidInput("a definition must not be blank")
    named = f"{name}: "
    return without_secrets(named + without_secrets(text)).removeprefix(named)


def _check_related(value: object, name: str) -> tuple[str, ...]:
    """Names, each once and none the concept's own."""
    named = {key_of(one): " ".join(one.split()) for one in check_texts(value, "related concepts")}
    named.pop(key_of(name), None)
    return tuple(named.values())


__all__ = ["MOST_EVIDENCE", "SemanticMemory", "open_to"]
