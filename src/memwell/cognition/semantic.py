"""Semantic memory: what things are, how they hang together, and how sure that is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.cognition.attention import Belief, check_share
from memwell.cognition.matching import coverage, enough_of
from memwell.cognition.named import (
    Draft,
    NamedMemories,
    check_name,
    check_texts,
    gone_of,
    keeps,
    key_of,
    living_of,
    without_secrets,
)
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AnyOf, Filter, Not, Where
from memwell.language.detect import language_of
from memwell.longterm.gate import fingerprint
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.values import check_count, check_id, check_text, shown

# What a concept is, and how it is kept in a memory.


KIND = "concept"
STRENGTH = 5.0
"""The confidence that a concept is stored with counts like this many pieces of evidence."""
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
    counted: bool = True
    """False for who said it first: that is the reason to assume it, and no evidence beyond that."""


class KeptConcept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a concept beside its text."""

    name: str
    definition: str
    related: tuple[str, ...] = ()
    belief: Belief = Belief(0.8, STRENGTH)
    evidence: tuple[Testimony, ...] = ()
    user: str | None = None
    """Whose turn taught it, empty for somebody without a name; None for what is everybody's."""
    order: int = 0
    """Which of a user's words on it this is; the latest counts."""
    stated: bool = False
    """Whether it was said without a source: then it holds whatever becomes of what was heard before."""


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
    user: str | None = None
    """Whose turns taught it: others do not hear of it. Empty for somebody without a name, None for what is everybody's."""

    @property
    def confidence(self) -> float:
        """How sure it is, above 0 and below 1."""
        return self.belief.value


def is_concept(found: Recalled) -> bool:
    """Whether a memory keeps a concept."""
    return keeps(found, KIND, KeptConcept)


def as_concept(found: Recalled, gone: Container[str] = ()) -> Concept:
    """The concept that a memory keeps, without the evidence from memories that are ``gone``."""
    kept = kept_concept(found)
    language = "zh" if language_of(found.asked) == "zh" else "en"
    why = found.why(language=language) if found.signals else ""
    heard = tuple(one for one in kept.evidence if one.source not in gone)
    what = (kept.name, kept.definition, kept.related, _belief(kept, gone), heard)
    return Concept(found.id, *what, found.time, found.score, why, kept.user)


def _belief(kept: KeptConcept, gone: Container[str]) -> Belief:
    """The belief as if nobody had said what is gone."""
    lost = [one.supports for one in kept.evidence if one.counted and one.source in gone]
    believed = kept.belief
    support, against = believed.support - sum(lost), believed.against - (len(lost) - sum(lost))
    return replace(believed, support=max(0, support), against=max(0, against))


def sources_of(found: Recalled) -> set[str]:
    """The memories that a concept or its evidence was taken from."""
    rests_on = {one.record for one in found.evidence if one.record}
    return rests_on | {one.source for one in kept_concept(found).evidence if one.source}


def is_groundless(found: Recalled, gone: Container[str]) -> bool:
    """Whether all that a concept was learnt from is gone."""
    rests_on = [one.record for one in found.evidence if one.record]
    return bool(rests_on) and all(one in gone for one in rests_on) and not kept_concept(found).stated


def kept_concept(found: Recalled) -> KeptConcept:
    """What is kept of a concept beside its text."""
    return msgspec.convert(found.metadata[KIND], KeptConcept)


def concept_draft(kept: KeptConcept, reason: str, sources: tuple[str, ...]) -> Draft:
    """The memory that a concept becomes."""
    # What it is related to is a part of the text, so that a question about one finds the other.
    text = f"{kept.name}{_BETWEEN}{kept.definition}"
    if kept.related:
        chinese = language_of(text) == "zh"
        text += f"\n相关：{'、'.join(kept.related)}" if chinese else f"\nRelated: {', '.join(kept.related)}"
    return Draft(text, kept, reason, sources)


def says_same(one: str, other: str) -> bool:
    """Whether two definitions say the same, by their words."""
    return fingerprint(one) == fingerprint(other) or max(coverage(one, other), coverage(other, one)) >= _SAME


# Concepts and what they are related to, as a graph that can be walked and drawn.


class Node(msgspec.Struct, frozen=True):
    """A concept. One that others name but nobody has defined has no confidence."""

    name: str
    confidence: float | None = None


class Edge(msgspec.Struct, frozen=True):
    """Two concepts that are related, as one of them says."""

    source: str
    target: str


class Related(msgspec.Struct, frozen=True):
    """A concept, and how many steps away it is."""

    name: str
    distance: int


class ConceptGraph:
    """Nodes and edges; each edge leads both ways."""

    def __init__(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        self.nodes: tuple[Node, ...] = tuple(nodes)
        self.edges: tuple[Edge, ...] = tuple(edges)
        self._names = {key_of(node.name): node.name for node in self.nodes}
        self._beside: dict[str, dict[str, None]] = {key: {} for key in self._names}
        for edge in self.edges:
            source, target = key_of(edge.source), key_of(edge.target)
            self._beside[source][target] = None
            self._beside[target][source] = None

    def related(self, name: str, depth: int = 1) -> list[Related]:
        """The concepts at most ``depth`` steps away, the nearest first; none when it is not in the graph."""
        check_count(depth, "depth", least=1)
        reached = self._reached_from(key_of(name), depth)
        return [Related(self._names[key], distance) for key, (distance, _) in reached.items() if distance]

    def path(self, start: str, end: str) -> list[str]:
        """The names on a shortest way from one concept to another, both included; empty when there is none."""
        goal = key_of(end)
        reached = self._reached_from(key_of(start), len(self.nodes))
        if goal not in reached:
            return []
        way = [goal]
        while (before := reached[way[-1]][1]) is not None:
            way.append(before)
        return [self._names[key] for key in reversed(way)]

    def _reached_from(self, start: str, depth: int) -> Mapping[str, tuple[int, str | None]]:
        """All that is reached, with how many steps that takes and from where the last of them leads."""
        reached: dict[str, tuple[int, str | None]] = {}
        if start not in self._beside:
            return reached
        reached[start] = (0, None)
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            distance = reached[here][0] + 1
            for beside in self._beside[here]:
                if beside not in reached and distance <= depth:
                    reached[beside] = (distance, here)
                    waiting.append(beside)
        return reached

    def mermaid(self) -> str:
        """The graph as Mermaid draws it; the borders of what nobody has defined are dashed."""
        numbers = {key_of(node.name): f"n{number}" for number, node in enumerate(self.nodes)}
        lines = ["graph LR"]
        for node in self.nodes:
            sure = "" if node.confidence is None else f"<br/>{node.confidence:.2f}"
            undefined = ":::undefined" if node.confidence is None else ""
            lines.append(f'    {numbers[key_of(node.name)]}["{_escaped(node.name)}{sure}"]{undefined}')
        lines += [f"    {numbers[key_of(edge.source)]} --- {numbers[key_of(edge.target)]}" for edge in self.edges]
        if any(node.confidence is None for node in self.nodes):
            lines.append("    classDef undefined stroke-dasharray: 4 3")
        return "\n".join(lines)


def _escaped(label: str) -> str:
    """A name that cannot end its label, nor be read as anything but text."""
    marks = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "&": "#amp;"}
    return "".join(marks.get(char, char) for char in label)


# What users' turns taught: for each user and name a few memories, each of which rests on one turn alone.


_MOST = 4
"""So many turns of a user are kept for one name."""
_ENOUGH = 2
"""When so many of them say the same, one more changes nothing."""


class TaughtConcepts:
    """The concepts that turns taught, by user and name."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._named = NamedMemories(memory, KIND, KeptConcept)

    def current(self, user: str, name: str) -> Recalled | None:
        """The latest that a user said of something in a turn that is still there, or None."""
        rows = self._rows(user, name)
        return rows[0] if rows else None

    def teach(
        self, user: str, name: str, definition: str, related: tuple[str, ...], confidence: float, heard: Testimony
    ) -> Recalled:
        """Keep what a turn of a user says.

        Raises ``InvalidInput`` when the gate refuses it, ``NotFound`` when the turn is gone already.
        """
        self.memory.catch_up()
        rows = self._rows(user, name)
        if not _is_settled(rows, definition, heard.source):
            self._make_room(user, name)
        with self.memory.backend.transaction():
            if gone_of(self.memory, [heard.source]):
                raise NotFound(f"the memory {shown(heard.source)} is gone: nothing is learnt from it")
            rows, free = self._rows(user, name), self._free(user, name)
            if rows and (not free or _is_settled(rows, definition, heard.source)):
                return rows[0]
            order = 1 + max((kept_concept(row).order for row in rows), default=0)
            belief = Belief(confidence, STRENGTH)
            kept = KeptConcept(name, definition, related, belief, (heard,), user, order)
            draft = concept_draft(kept, "stored", (heard.source,) if heard.source else ())
            return self._named.change_at(free[0] if free else self._ids(user, name)[0], lambda old: draft)

    def _rows(self, user: str, name: str) -> list[Recalled]:
        """What is kept of a user's turns on a name, the latest first; without that of turns that are gone."""
        found = [row for row in living_of(self.memory, self._ids(user, name)) if is_concept(row)]
        gone = gone_of(self.memory, [source for row in found for source in sources_of(row)])
        living = [row for row in found if not is_groundless(row, gone)]
        return sorted(living, key=lambda row: -kept_concept(row).order)

    def _make_room(self, user: str, name: str) -> None:
        """Erase what was said longest ago, when there is room for nothing else. Not inside a transaction."""
        rows = self._rows(user, name)
        if rows and not self._free(user, name):
            self.memory.erase(rows[-1].id)

    def _free(self, user: str, name: str) -> list[str]:
        """The ids that are not taken, not even by what was forgotten: that may come back."""
        ids = self._ids(user, name)
        taken = {record.id for record in self.memory.indexer.view.index.get(self.memory.space, ids)}
        return [id_ for id_ in ids if id_ not in taken]

    def _ids(self, user: str, name: str) -> list[str]:
        # Neither the user nor the name can be read from it.
        key = blake2b(f"{len(user)} {user} {key_of(name)}".encode(), digest_size=16).hexdigest()
        return [f"{KIND}/{key}/{number}" for number in range(_MOST)]


def _is_settled(rows: Sequence[Recalled], definition: str, source: str) -> bool:
    """Whether one more turn that says this would change nothing."""
    same = [row for row in rows if says_same(kept_concept(row).definition, definition)]
    if not rows or rows[0] not in same:
        return False
    return len(same) >= _ENOUGH or any(not source or source in sources_of(row) for row in same)


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
