"""Semantic memory: concepts with their definitions, relations and confidence."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from datetime import datetime
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.cognition.named import (
    Belief,
    Draft,
    NamedMemories,
    check_name,
    check_share,
    check_texts,
    enough_of,
    gone_of,
    keeps,
    key_of,
    living_of,
    says_same,
    why_of,
    without_secrets,
)
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AnyOf, Filter, Not, Where
from memwell.language.words import language_of
from memwell.longterm.gate import fingerprint
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.recall import Recalled
from memwell.values import check_count, check_id, check_text, shown

KIND = "concept"
STRENGTH = 5.0
"""The confidence that a concept is stored with counts like this many pieces of evidence."""
MOST_EVIDENCE = 64
"""The latest pieces of evidence that are kept; all are counted."""
_MOST_TAUGHT = 4  # Turns of a user that are kept for one name
_ENOUGH_TAUGHT = 2  # When this many of them say the same, one more changes nothing


class Testimony(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of evidence: who says so, and whether for or against."""

    by: str
    supports: bool
    time: datetime
    source: str = ""
    """The id of the memory in which it was said."""
    counted: bool = True
    """False for the first who said it: that is the prior, and no evidence beyond it."""


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metadata of a concept."""

    name: str
    definition: str
    related: tuple[str, ...] = ()
    belief: Belief = Belief(0.8, STRENGTH)
    evidence: tuple[Testimony, ...] = ()
    user: str | None = None
    order: int = 0
    """The place among a user's turns on this name; the latest counts."""
    stated: bool = False
    """Whether it was stored without a source: then it stays when the memories it was heard in are gone."""


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
    """The user whose turns taught it, and who alone recalls it. Empty for a user without a name, None for all users."""

    @property
    def confidence(self) -> float:
        """How sure it is, above 0 and below 1."""
        return self.belief.value


# The memory


class SemanticMemory:
    """The concepts of a memory: shared ones, one for each name, and those that a user's turns taught.

    A ``user`` sees the shared concepts and their own; ``""`` is a user without a name. In methods that return many, None is
    all users; in methods for one name, None is the shared concept. Every method has an async twin with an ``a`` in front.
    """

    def __init__(self, memory: MemoryLike) -> None:
        self.memory = as_memory(memory)
        self._named = NamedMemories(self.memory, KIND, _Kept)

    def store(
        self, concept: str, definition: str, related: Iterable[str] = (), confidence: float = 0.8, *, source: str = ""
    ) -> Concept:
        """Store a shared concept, and return it.

        A known concept gets the new definition, and keeps its relations unless others are given. Evidence is kept as long
        as the definition is the same in words. ``source`` is a memory that it was learnt from: it is erased with that.
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
            before = None if old is None else _kept_of(old)
            kept = _Kept(name, says, named, Belief(sure, STRENGTH), heard, stated=not source)
            if before is not None and fingerprint(before.definition) == fingerprint(says):
                belief = Belief(sure, STRENGTH, before.belief.support, before.belief.against)
                kept = replace(kept, belief=belief, evidence=(before.evidence + heard)[-MOST_EVIDENCE:])
            if before is not None and not named:
                kept = replace(kept, related=before.related)
            return _draft(kept, "stored", (source,) if source else ())

        return self._seen(self._named.change(self._named.id_of(name), stated))

    def support(self, concept: str, by: str = "", *, source: str = "", user: str | None = None) -> Concept:
        """Add evidence for a concept: its confidence rises. Raises ``NotFound``."""
        return self._heard(concept, by, source, user, supports=True)

    def contradict(self, concept: str, by: str = "", *, source: str = "", user: str | None = None) -> Concept:
        """Add evidence against a concept: its confidence falls. Raises ``NotFound``."""
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
        """Take in a definition that a source gives.

        An unknown concept is stored. The same definition supports a known one, once for each ``by``; another contradicts
        it, and replaces it when the confidence has fallen below a half. With a ``user``, only that user sees what is
        stored, and a shared concept is supported or contradicted, but never replaced.
        """
        name = check_name(concept, "a concept")
        says = _check_definition(definition, name)
        owner = None if user is None else _check_user(user)
        named, sure = _check_related(related, name), check_share(confidence, "a confidence")
        # The first to say it gives the prior, and no evidence beyond it.
        first = self._testimony(by, source, supports=True, counted=False)
        # Before the transaction, which others wait for: a model may have to embed pending texts.
        self.memory.catch_up()
        with self.memory.backend.transaction():
            known = self._shared(name)
            if known is not None:
                same = says_same(known.definition, says)
                if not any(one.by == by and one.supports is same for one in known.evidence):
                    known = self._heard(known.name, by, source, None, supports=same)
                if same or (owner is None and known.confidence >= 0.5):
                    return known
            if owner is None:
                return self._stated(name, says, related, confidence, source, (first,))
        return self._seen(self._teach(owner, name, says, named, sure, first))

    def get(self, concept: str, *, user: str | None = None) -> Concept:
        """One concept by its name, however it is written; a user's own before the shared one. Raises ``NotFound``."""
        name = check_name(concept, "a concept")
        own = None if user is None else self._current(_check_user(user), name)
        found = self._shared(name) if own is None else self._seen(own)
        if found is None:
            other = " that is shared; user= asks for what a user's turns taught" if user is None else ""
            raise NotFound(f"there is no concept {shown(name)}{other}")
        return found

    def concepts(self, *, user: str | None = None) -> list[Concept]:
        """The concepts that a user sees, the first stored first; None is those of all users."""
        where = None if user is None else _open_to(user)
        latest: dict[tuple[str | None, str], tuple[int, Concept]] = {}
        for row, concept in self._grounded(list(self._named.all(where))):
            order, key = _kept_of(row).order, (concept.user, key_of(concept.name))
            if key not in latest or latest[key][0] < order:
                latest[key] = (order, concept)
        return [concept for _, concept in latest.values()]

    def recall(self, query: str, limit: int = 5, *, user: str | None = None) -> list[Concept]:
        """The concepts that answer a query best; of equals the surer first."""
        found = self.hits(query, limit, user=user)
        weighed = [replace(one, score=one.score * (1 + one.confidence) / 2) for _, one in found]
        return sorted(weighed, key=lambda one: -one.score)[:limit]

    def hits(self, query: str, limit: int, *, user: str | None = None) -> list[tuple[Recalled, Concept]]:
        """The memories that answer a query best and the concept of each; the best first, each concept once."""
        check_count(limit, "limit")
        where = None if user is None else _open_to(user)
        return enough_of(
            lambda most: self.memory.recall(query, kinds=KIND, limit=most, where=where),
            lambda found: self._latest([one for one in found if keeps(one, KIND, _Kept)]),
            limit,
        )

    def related(self, concept: str, *, user: str | None = None) -> list[str]:
        """The names that a concept is related to, also those whose concepts name it. Raises ``NotFound``."""
        key, known, names = key_of(check_name(concept, "a concept")), False, dict[str, str]()
        for one in self.concepts(user=user):
            others = {key_of(other): other for other in one.related}
            if key_of(one.name) == key:
                known, names = True, {**others, **names}
            elif key in others:
                known, names = True, {**names, key_of(one.name): one.name}
        if not known:
            raise NotFound(f"there is no concept {shown(concept)}, and none that names it")
        return list(names.values())

    def _shared(self, name: str) -> Concept | None:
        found = self._named.find(self._named.id_of(name))
        seen = [] if found is None else self._grounded([found])
        return seen[0][1] if seen else None

    def _seen(self, found: Recalled) -> Concept:
        return _concept(found, gone_of(self.memory, _sources(found)))

    def _grounded(self, found: Sequence[Recalled]) -> list[tuple[Recalled, Concept]]:
        """Concepts without those learnt from memories that are gone, and without evidence from such memories."""
        gone = gone_of(self.memory, {source for one in found for source in _sources(one)})
        return [(one, _concept(one, gone)) for one in found if not _is_groundless(one, gone)]

    def _latest(self, found: Sequence[Recalled]) -> list[tuple[Recalled, Concept]]:
        """Each concept once, by the latest turn of its user."""
        chosen: dict[tuple[str | None, str], tuple[Recalled, Concept]] = {}
        for hit, concept in self._grounded(found):
            latest = None if concept.user is None else self._current(concept.user, concept.name)
            if latest is None or latest.id == hit.id or latest.text == hit.text:
                chosen.setdefault((concept.user, key_of(concept.name)), (hit, concept))
        return list(chosen.values())

    def _heard(self, concept: str, by: str, source: str, user: str | None, *, supports: bool) -> Concept:
        name = check_name(concept, "a concept")
        heard = self._testimony(by, source, supports=supports)
        own = None if user is None else self._current(_check_user(user), name)

        def weighed(old: Recalled | None) -> Draft:
            if old is None:
                raise NotFound(f"there is no concept {shown(name)}")
            kept = _kept_of(old)
            evidence = (*kept.evidence, heard)[-MOST_EVIDENCE:]
            kept = replace(kept, belief=kept.belief.seen(supports), evidence=evidence)
            # It does not rest on a memory that supports it: when that is erased, the definition stays.
            return _draft(kept, "supported" if supports else "contradicted", ())

        return self._seen(self._named.change(self._named.id_of(name) if own is None else own.id, weighed))

    def _testimony(self, by: str, source: str, *, supports: bool, counted: bool = True) -> Testimony:
        who = without_secrets(check_text(by, "evidence"))
        return Testimony(who, supports, self.memory.clock(), source, counted)

    # What turns taught: a few memories for each user and name, each of which rests on one turn.

    def _current(self, user: str, name: str) -> Recalled | None:
        """The latest that a user said of something in a turn that still exists, or None."""
        return next(iter(self._taught(user, name)), None)

    def _teach(
        self, user: str, name: str, definition: str, related: tuple[str, ...], confidence: float, heard: Testimony
    ) -> Recalled:
        """Store what a turn of a user says.

        Raises ``InvalidInput`` when the gate refuses it, ``NotFound`` when the turn is gone already.
        """
        ids = _taught_ids(user, name)
        rows = self._taught(user, name)
        if rows and not _is_settled(rows, definition, heard.source) and not self._free(ids):
            # Outside the transaction, since it erases.
            self.memory.erase(rows[-1].id)
        with self.memory.backend.transaction():
            if gone_of(self.memory, [heard.source]):
                raise NotFound(f"the memory {shown(heard.source)} is gone: nothing is learnt from it")
            rows, free = self._taught(user, name), self._free(ids)
            if rows and (not free or _is_settled(rows, definition, heard.source)):
                return rows[0]
            order = 1 + max((_kept_of(row).order for row in rows), default=0)
            kept = _Kept(name, definition, related, Belief(confidence, STRENGTH), (heard,), user, order)
            draft = _draft(kept, "stored", (heard.source,) if heard.source else ())
            return self._named.change((free or ids)[0], lambda old: draft)

    def _taught(self, user: str, name: str) -> list[Recalled]:
        """The memories of a user's turns on a name, the latest first, without those of turns that are gone."""
        found = [row for row in living_of(self.memory, _taught_ids(user, name)) if keeps(row, KIND, _Kept)]
        gone = gone_of(self.memory, [source for row in found for source in _sources(row)])
        living = [row for row in found if not _is_groundless(row, gone)]
        return sorted(living, key=lambda row: -_kept_of(row).order)

    def _free(self, ids: Sequence[str]) -> list[str]:
        """The ids without a memory, not even a forgotten one, which undo may restore."""
        taken = {record.id for record in self.memory.indexer.view.index.get(self.memory.space, ids)}
        return [id_ for id_ in ids if id_ not in taken]

    astore = asyncify(store)
    asupport = asyncify(support)
    acontradict = asyncify(contradict)
    alearn = asyncify(learn)
    aget = asyncify(get)
    aconcepts = asyncify(concepts)
    arecall = asyncify(recall)
    ahits = asyncify(hits)
    arelated = asyncify(related)


def _kept_of(found: Recalled) -> _Kept:
    return msgspec.convert(found.metadata[KIND], _Kept)


def _concept(found: Recalled, gone: Container[str]) -> Concept:
    """The concept of a memory, as if what was said in memories that are ``gone`` had not been said."""
    kept = _kept_of(found)
    heard = tuple(one for one in kept.evidence if one.source not in gone)
    lost = [one.supports for one in kept.evidence if one.counted and one.source in gone]
    support, against = kept.belief.support - sum(lost), kept.belief.against - (len(lost) - sum(lost))
    belief = replace(kept.belief, support=max(0, support), against=max(0, against))
    what = (kept.name, kept.definition, kept.related, belief, heard)
    return Concept(found.id, *what, found.time, found.score, why_of(found), kept.user)


def _sources(found: Recalled) -> set[str]:
    """The memories that a concept and its evidence were taken from."""
    heard = (one.source for one in _kept_of(found).evidence)
    return set(filter(None, (*heard, *(one.record for one in found.evidence))))


def _is_groundless(found: Recalled, gone: Container[str]) -> bool:
    """Whether all memories that a concept was learnt from are gone."""
    rests_on = [one.record for one in found.evidence if one.record]
    return bool(rests_on) and all(one in gone for one in rests_on) and not _kept_of(found).stated


def _is_settled(rows: Sequence[Recalled], definition: str, source: str) -> bool:
    """Whether one more turn that says this would change nothing."""
    same = [row for row in rows if says_same(_kept_of(row).definition, definition)]
    if not rows or rows[0] not in same:
        return False
    return len(same) >= _ENOUGH_TAUGHT or any(not source or source in _sources(row) for row in same)


def _taught_ids(user: str, name: str) -> list[str]:
    # Neither the user nor the name can be read from them.
    key = blake2b(f"{len(user)} {user} {key_of(name)}".encode(), digest_size=16).hexdigest()
    return [f"{KIND}/{key}/{number}" for number in range(_MOST_TAUGHT)]


def _draft(kept: _Kept, reason: str, sources: tuple[str, ...]) -> Draft:
    """The memory of a concept. Its relations are part of the text, so a question about one finds the other."""
    text = f"{kept.name} — {kept.definition}"
    if kept.related:
        chinese = language_of(text) == "zh"
        text += f"\n相关：{'、'.join(kept.related)}" if chinese else f"\nRelated: {', '.join(kept.related)}"
    return Draft(text, kept, reason, sources)


def _open_to(user: str) -> Filter:
    """A filter for the concepts that a user sees: shared ones, and those that their own turns taught."""
    whose = (KIND, "user")
    return AnyOf((Not(Where(whose, "exists")), Where(whose, "eq", _check_user(user))))


def _check_user(value: str) -> str:
    return check_id(value, "a user") if value != "" else ""


def _check_definition(value: object, name: str) -> str:
    """A definition without secrets. For a short word only the name may show that it is one."""
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
