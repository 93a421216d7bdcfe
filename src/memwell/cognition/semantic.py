"""Semantic memory: what things are, how they hang together, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.cognition.beliefs import Belief, check_share
from memwell.cognition.graph import ConceptGraph, Edge, Node, Related
from memwell.cognition.matching import coverage
from memwell.cognition.named import Draft, NamedMemories, check_name, check_texts, keeps, key_of, without_secrets
from memwell.errors import InvalidInput, NotFound
from memwell.language.detect import language_of
from memwell.longterm.duplicates import fingerprint
from memwell.longterm.memory import Memory
from memwell.longterm.recalling import Recalled
from memwell.values import check_text, shown

KIND = "concept"
STRENGTH = 5.0
"""The confidence that a concept is stored with counts like this many pieces of evidence."""
MOST_EVIDENCE = 64
"""So many of the latest pieces of evidence are kept; all are counted."""
_BETWEEN = " — "
_SAME = 0.6
"""Definitions that share this much say the same."""


class Testimony(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of evidence: what or who says so, and whether for or against."""

    by: str
    supports: bool
    time: datetime
    source: str = ""
    """The memory in which it was said, by its id."""


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a concept beside its text."""

    name: str
    definition: str
    related: tuple[str, ...] = ()
    belief: Belief = Belief(0.8, STRENGTH)
    evidence: tuple[Testimony, ...] = ()


class Concept(msgspec.Struct, frozen=True):
    """What something is."""

    id: str
    name: str
    definition: str
    related: tuple[str, ...]
    belief: Belief
    evidence: tuple[Testimony, ...]
    time: datetime
    score: float = 0.0
    why: str = ""

    @property
    def confidence(self) -> float:
        """How sure it is, above 0 and below 1."""
        return self.belief.value


class SemanticMemory:
    """The concepts of a memory, one for each name. Every method has an async twin with an ``a`` in front."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._named = NamedMemories(memory, KIND, _Kept)

    def store(
        self, concept: str, definition: str, related: Iterable[str] = (), confidence: float = 0.8, *, source: str = ""
    ) -> Concept:
        """Say what something is, and what it is related to.

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
        name, says = check_name(concept, "a concept"), _check_definition(definition)
        named, sure = _check_related(related, name), check_share(confidence, "a confidence")

        def stated(old: Recalled | None) -> Draft:
            before = None if old is None else _kept_of(old)
            kept = _Kept(name, says, named, Belief(sure, STRENGTH), heard)
            if before is not None and fingerprint(before.definition) == fingerprint(says):
                belief = Belief(sure, STRENGTH, before.belief.support, before.belief.against)
                kept = replace(kept, belief=belief, evidence=(before.evidence + heard)[-MOST_EVIDENCE:])
            if before is not None and not named:
                kept = replace(kept, related=before.related)
            return _draft(kept, "stored", (source,) if source else ())

        return as_concept(self._named.change(name, stated))

    def support(self, concept: str, by: str = "", *, source: str = "") -> Concept:
        """Something speaks for it: its confidence rises. Raises ``NotFound``."""
        return self._heard(concept, by, source, supports=True)

    def contradict(self, concept: str, by: str = "", *, source: str = "") -> Concept:
        """Something speaks against it: its confidence falls. Raises ``NotFound``."""
        return self._heard(concept, by, source, supports=False)

    def learn(
        self,
        concept: str,
        definition: str,
        *,
        by: str,
        related: Iterable[str] = (),
        confidence: float = 0.8,
        source: str = "",
    ) -> Concept:
        """Take what somebody says something is for what it is worth.

        What is not known yet is stored. The same again supports it, once for everyone who says so. Something else
        contradicts it, and takes its place when the confidence has fallen below a half.
        """
        name, says = check_name(concept, "a concept"), _check_definition(definition)
        # Before the transaction, in which others wait: a model may have to embed what is owed.
        self.memory.catch_up()
        with self.memory.backend.transaction():
            known = self._named.find(name)
            # Who says it first is the reason to assume it, and no evidence beyond that.
            first = (self._testimony(by, source, supports=True),)
            if known is None:
                return self._stated(name, says, related, confidence, source, first)
            same = _says_same(_kept_of(known).definition, says)
            if any(one.by == by and one.supports is same for one in _kept_of(known).evidence):
                return as_concept(known)
            heard = self._heard(name, by, source, supports=same)
            if not same and heard.confidence < 0.5:
                return self._stated(name, says, related, confidence, source, first)
            return heard

    def get(self, concept: str) -> Concept:
        """One concept by its name, however it is written. Raises ``NotFound``."""
        name = check_name(concept, "a concept")
        found = self._named.find(name)
        if found is None:
            raise NotFound(f"there is no concept {shown(name)}")
        return as_concept(found)

    def concepts(self) -> list[Concept]:
        """All concepts, the first stored first."""
        return [as_concept(one) for one in self._named.all()]

    def recall(self, query: str, limit: int = 5) -> list[Concept]:
        """The concepts that answer a query best; of two that do so alike the surer first."""
        found = [one for one in self.memory.recall(query, kinds=KIND, limit=2 * limit) if is_concept(one)]
        weighed = [replace(one, score=one.score * (1 + one.confidence) / 2) for one in map(as_concept, found)]
        return sorted(weighed, key=lambda one: -one.score)[:limit]

    def graph(self) -> ConceptGraph:
        """All concepts and what they are related to."""
        known = self.concepts()
        nodes = {key_of(one.name): Node(one.name, one.confidence) for one in known}
        edges: dict[frozenset[str], Edge] = {}
        for one in known:
            for other in one.related:
                nodes.setdefault(key_of(other), Node(other))
                ends = frozenset((key_of(one.name), key_of(other)))
                edges.setdefault(ends, Edge(one.name, nodes[key_of(other)].name))
        return ConceptGraph(nodes.values(), edges.values())

    def related(self, concept: str, depth: int = 1) -> list[Related]:
        """What a concept is related to, in at most ``depth`` steps, either way, the nearest first. Raises ``NotFound``."""
        graph = self.graph()
        key = key_of(check_name(concept, "a concept"))
        if all(key_of(node.name) != key for node in graph.nodes):
            raise NotFound(f"there is no concept {shown(concept)}, and none that names it")
        return graph.related(concept, depth)

    def path(self, start: str, end: str) -> list[str]:
        """The names on a shortest way between two concepts, both included; empty when nothing leads there."""
        return self.graph().path(check_name(start, "a concept"), check_name(end, "a concept"))

    def _heard(self, concept: str, by: str, source: str, *, supports: bool) -> Concept:
        name = check_name(concept, "a concept")
        heard = self._testimony(by, source, supports=supports)
        return as_concept(self._named.change(name, _weighing(name, heard)))

    def _testimony(self, by: str, source: str, *, supports: bool) -> Testimony:
        return Testimony(without_secrets(check_text(by, "evidence")), supports, self.memory.clock(), source)

    astore = asyncify(store)
    asupport = asyncify(support)
    acontradict = asyncify(contradict)
    alearn = asyncify(learn)
    aget = asyncify(get)
    aconcepts = asyncify(concepts)
    arecall = asyncify(recall)
    agraph = asyncify(graph)
    arelated = asyncify(related)
    apath = asyncify(path)


def _weighing(name: str, heard: Testimony) -> Callable[[Recalled | None], Draft]:
    """What a concept becomes with one more piece of evidence."""

    def weighed(old: Recalled | None) -> Draft:
        if old is None:
            raise NotFound(f"there is no concept {shown(name)}")
        kept = _kept_of(old)
        evidence = (*kept.evidence, heard)[-MOST_EVIDENCE:]
        weighed = replace(kept, belief=kept.belief.seen(heard.supports), evidence=evidence)
        # It does not rest on a memory that speaks for it: when that is erased, the definition of another stays.
        return _draft(weighed, "supported" if heard.supports else "contradicted", ())

    return weighed


def is_concept(found: Recalled) -> bool:
    """Whether a memory keeps a concept."""
    return keeps(found, KIND, _Kept)


def as_concept(found: Recalled) -> Concept:
    """The concept that a memory keeps."""
    kept = _kept_of(found)
    language = "zh" if language_of(found.asked) == "zh" else "en"
    why = found.why(language=language) if found.signals else ""
    what = (kept.name, kept.definition, kept.related, kept.belief, kept.evidence)
    return Concept(found.id, *what, found.time, found.score, why)


def _kept_of(found: Recalled) -> _Kept:
    return msgspec.convert(found.metadata[KIND], _Kept)


def _draft(kept: _Kept, reason: str, sources: tuple[str, ...]) -> Draft:
    # What it is related to is a part of the text, so that a question about one finds the other.
    text = f"{kept.name}{_BETWEEN}{kept.definition}"
    if kept.related:
        chinese = language_of(text) == "zh"
        text += f"\n相关：{'、'.join(kept.related)}" if chinese else f"\nRelated: {', '.join(kept.related)}"
    return Draft(text, kept, reason, sources)


def _check_definition(value: object) -> str:
    text = check_text(value, "a definition").strip()
    if not text:
        raise InvalidInput("a definition must not be blank")
    return without_secrets(text)


def _check_related(value: object, name: str) -> tuple[str, ...]:
    """Names, each once and none the concept's own."""
    named = {key_of(one): " ".join(one.split()) for one in check_texts(value, "related concepts")}
    named.pop(key_of(name), None)
    return tuple(named.values())


def _says_same(one: str, other: str) -> bool:
    return fingerprint(one) == fingerprint(other) or max(coverage(one, other), coverage(other, one)) >= _SAME


__all__ = ["KIND", "MOST_EVIDENCE", "STRENGTH", "Concept", "SemanticMemory", "Testimony", "as_concept", "is_concept"]
