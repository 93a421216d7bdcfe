"""``Memory``: the long-term memory of one space, over any backend.

A write is durable before it returns and waits for no model. A recall finds what was written just before it. Changed and
forgotten memories are kept until they are erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Protocol, TypeAlias, TypeVar, cast, overload, runtime_checkable

from memwell._asyncify import asyncify
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.filters import id_begins_with, record_test
from memwell.longterm.audit import Action, AuditReport, Repaired, Rules, audit
from memwell.longterm.base import MemoryBase, check_version
from memwell.longterm.browsing import BrowsingMemory
from memwell.longterm.changing import Changer, Eraser
from memwell.longterm.consolidation import Consolidator
from memwell.longterm.facts import Fact
from memwell.longterm.indexing import DEAD
from memwell.longterm.journal import pending_vector
from memwell.longterm.profiles import KeptStats, Profile, SubjectStats, profile
from memwell.longterm.recall import trusted
from memwell.longterm.traits import traits_of
from memwell.longterm.uses import all_uses
from memwell.records import paged
from memwell.storage.protocols import RecordIndex
from memwell.values import as_utc, check_items, shown


class Memory(BrowsingMemory, Changer, Consolidator, Eraser):
    """The long-term memory of one space.

    ``Memory(backend, "ann")`` searches by words. An ``embedder`` adds search by meaning, a ``chat`` model writes the
    insights, a ``reranker`` reorders the hits. Every method has an async twin with an ``a`` in front.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._stats: tuple[RecordIndex, KeptStats] | None = None

    def profile(
        self, subject: str = "user", *, language: str = "en", trust: str | Iterable[str] | None = None
    ) -> Profile:
        """What is known of a subject: attributes, preferences, people and topics, each with its evidence.

        With ``trust`` it is made of the memories that are the word of these, and of what was stated by hand.
        """
        if trust is None:
            return profile(self.facts, self._stats_of(subject), subject=subject, language=language)
        said = list(self._active(trusted(trust)))
        sources = {one.id for one in said}
        return profile(self.facts, said, subject=subject, language=language, sources=sources)

    def profile_text(
        self, subject: str = "user", *, language: str = "en", trust: str | Iterable[str] | None = None
    ) -> str:
        """The facts of a subject in lines, for a prompt: ``profile(…).text()``, without reading what else was said."""
        sources = None
        if trust is not None:
            stated = {one.record for fact in self.facts.about(subject) for one in fact.evidence}
            fits = record_test(trusted(trust))
            found = self.indexer.view.index.get(self.space, stated)
            sources = {one.id for one in found if traits_of(one).active and not self._has_expired(one) and fits(one)}
        return profile(self.facts, (), subject=subject, language=language, sources=sources).text(language)

    def _stats_of(self, subject: str) -> SubjectStats:
        self.catch_up()
        index = self.indexer.view.index
        if self._stats is None or self._stats[0] is not index:
            self._stats = index, KeptStats(index, self.space)
        return self._stats[1].of(self.facts.names_of(subject), self.clock())

    def facts_about(
        self, subject: str = "user", *, relation: str | None = None, as_of: datetime | None = None
    ) -> list[Fact]:
        """The facts that hold of a subject, now or at ``as_of``."""
        moment = None if as_of is None else as_utc(as_of, "as_of")
        return self.facts.about(subject, relation=relation, as_of=moment)

    def audit(self, *, rules: Rules | None = None, progress: Callable[[int], None] | None = None) -> AuditReport:
        """Check the whole memory for junk, duplicates, contradictions, secrets and more; the report has a repair plan."""
        conflicts, blobs = self.facts.conflicts(), self.backend.blobs
        lost = self._without_vector()
        return audit(
            self._all(),
            facts=conflicts,
            now=self.clock(),
            rules=rules,
            blobs=blobs,
            without_vector=lost,
            uses={id_: use.times for id_, use in all_uses(self.indexer.view.kv, self.space).items()},
            progress=progress,
        )

    def _without_vector(self) -> frozenset[str]:
        """The ids of memories that have no vector though their text has one, and though none is pending."""
        info = self.backend.index.info(self.space)
        if self.embedder is None or info.vectors >= info.records or self.pending().vectors:
            return frozenset()
        failed = frozenset(self.failures())
        return self.indexer.embeddable(one for one in self._all() if one.vector is None and one.id not in failed)

    def repair(self, actions: list[Action]) -> Repaired:
        """Carry out the plan of an audit. ``undo`` takes each step back, except that of a vector.

        A memory that was changed, forgotten or erased since the audit is skipped. Raises ``InvalidInput``, and does
        nothing, for what is no list of actions, such as the whole report, and for an action of another space.
        """
        plan = check_items(actions, Action, "a plan holds actions: repair takes that of an audit, report.plan")
        for action in plan:
            if action.space != self.space:
                raise InvalidInput(f"the plan is for the space {action.space!r}, and this is {self.space!r}")
        done, skipped, made = 0, list[Action](), dict[str, int]()
        for action in plan:
            try:
                done += self._repaired(action, made)
            except (NotFound, Conflict):
                skipped.append(action)
        return Repaired(done, tuple(skipped))

    def failures(self) -> list[str]:
        """The ids of memories whose text the embedder refuses; only their words find them."""
        where = id_begins_with(DEAD)
        notes = paged(lambda cursor: self.backend.kv.scan(self._inner, where=where, limit=1000, cursor=cursor))
        return [str(cast("dict[str, Any]", entry.value)["id"]) for entry in notes]

    def _check_free(self, id_: str) -> None:
        """As in the base class, but an expired memory is erased to free its id."""
        self.catch_up()
        if any(self._has_expired(record) for record in self.backend.index.get(self.space, [id_])):
            self.erase(id_)
        else:
            super()._check_free(id_)

    def _repaired(self, action: Action, made: dict[str, int]) -> bool:
        """Carry out a step; whether anything was done. ``made`` are the versions that earlier steps of the plan made.

        Raises ``Conflict`` when a memory has changed since the audit.
        """
        if action.verb in ("review", "shorten"):
            # A person has to decide these.
            return False
        self.catch_up()
        with self.backend.transaction():
            planned = {action.record: action.version, action.into: action.into_version}
            named = [id_ for id_ in planned if id_]
            for id_ in named:
                check_version(self._stored(id_), made.get(id_, planned[id_]))
            done = self._carried_out(action)
            made.update({id_: traits_of(self._stored(id_)).version for id_ in named})
        return done

    def _carried_out(self, action: Action) -> bool:
        match action.verb:
            case "forget":
                return bool(self.forget(action.record, reason=f"audit: {action.reason}"))
            case "merge":
                self.merge(action.into, [action.record])
            case "embed":
                self.indexer.journal.write([pending_vector(action.record)])
                self._notify(self.space)
            case _:
                self.update(action.record, action.text, reason=f"audit: {action.reason}")
        return True

    aprofile = asyncify(profile)
    aprofile_text = asyncify(profile_text)
    afacts_about = asyncify(facts_about)
    aaudit = asyncify(audit)
    arepair = asyncify(repair)
    afailures = asyncify(failures)


@runtime_checkable
class HasMemory(Protocol):
    """An object with a memory, such as the engine that ``memwell.open`` returns."""

    @property
    def memory(self) -> Memory:
        """The memory of its space."""
        ...


MemoryLike: TypeAlias = Memory | HasMemory

M = TypeVar("M", bound=MemoryBase)


@overload
def as_memory(given: MemoryLike) -> Memory: ...
@overload
def as_memory(given: M | HasMemory) -> M | Memory: ...
def as_memory(given: Any) -> Any:
    """The memory itself, or that of an engine. Raises ``InvalidInput`` for anything else."""
    if isinstance(given, MemoryBase):
        return given
    if isinstance(given, HasMemory) and isinstance(cast(object, given.memory), Memory):
        return given.memory
    raise InvalidInput(f"expected a memory, such as memwell.open gives, not {shown(given)}")
