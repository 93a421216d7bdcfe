"""Long-term memory: what is known, kept for good, and found when it is needed.

``Memory`` is one space's memory over any backend. Writing is durable before it returns and waits for no model; a recall
finds what was written a moment ago; nothing that is changed or forgotten is lost before it is erased.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, cast

from memwell._asyncify import asyncify
from memwell.errors import NotFound
from memwell.filters import AllOf, Where
from memwell.longterm.audit import Action, Report, Rules, audit
from memwell.longterm.changing import Changer
from memwell.longterm.consolidation import Consolidator
from memwell.longterm.erasing import Eraser
from memwell.longterm.facts import Fact
from memwell.longterm.indexing import DEAD
from memwell.longterm.profiles import Profile, profile
from memwell.longterm.recall import Recaller
from memwell.values import as_utc


class Memory(Recaller, Changer, Consolidator, Eraser):
    """The long-term memory of one space.

    ``Memory(backend, "ann")`` works with words alone; give it an ``embedder`` and it finds by meaning too, a ``chat`` model
    and its insights are put into words, a ``reranker`` and it has the last say. Every method has an async twin with an
    ``a`` in front.
    """

    def profile(self, subject: str = "user", *, language: str = "en") -> Profile:
        """What is known of someone: attributes, preferences, people, topics, each with its evidence."""
        return profile(self.facts, self._active(), subject=subject, language=language)

    def facts_about(self, subject: str, *, relation: str | None = None, as_of: datetime | None = None) -> list[Fact]:
        """The facts that hold of someone or something, now or at a moment."""
        moment = None if as_of is None else as_utc(as_of, "as_of")
        return self.facts.about(subject, relation=relation, as_of=moment)

    def audit(self, *, rules: Rules | None = None, progress: Callable[[int], None] | None = None) -> Report:
        """Look the whole memory over for junk, duplicates, contradictions, secrets and more, with a plan to mend it."""
        conflicts = self.facts.conflicts()
        blobs = self.backend.blobs
        return audit(
            self._all(), facts=conflicts, now=self.clock(), rules=rules or Rules(), blobs=blobs, progress=progress
        )

    def mend(self, actions: list[Action]) -> int:
        """Carry out a plan of an audit; how many of its steps were done. Every one can be undone."""
        done = 0
        for action in actions:
            # What was forgotten or erased since the audit needs no mending.
            with suppress(NotFound):
                done += self._mended(action)
        return done

    def failures(self) -> list[str]:
        """The ids of memories that the embedder cannot take; they are found by their words alone."""
        where = AllOf((Where("@id", "ge", DEAD), Where("@id", "lt", DEAD + "\U0010ffff")))
        page = self.backend.kv.scan(self._inner, where=where, limit=1000)
        return [str(cast("dict[str, Any]", entry.value)["id"]) for entry in page.items]

    def _check_free(self, id_: str) -> None:
        """As for every way in, but what has expired gives way: to its owner it is gone already."""
        if self._is_taken(id_):
            self.catch_up()
            if any(self._has_expired(record) for record in self.backend.index.get(self.space, [id_])):
                self.erase(id_)
        super()._check_free(id_)

    def _mended(self, action: Action) -> bool:
        match action.verb:
            case "forget":
                return bool(self.forget(action.record, reason=f"audit: {action.reason}"))
            case "merge":
                self.merge(action.into, [action.record])
            case "redact":
                self.update(action.record, action.text, reason=f"audit: {action.reason}")
            case "review" | "shorten":
                # These need somebody's judgement.
                return False
        return True

    aprofile = asyncify(profile)
    afacts_about = asyncify(facts_about)
    aaudit = asyncify(audit)
    amend = asyncify(mend)
    afailures = asyncify(failures)
