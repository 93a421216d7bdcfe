"""The memories that state the facts a question asks for, or all that is known of someone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from memwell.errors import NotFound
from memwell.language.asking import asks_about_former, asks_about_past
from memwell.language.claims import in_jest
from memwell.language.claims.relations import USER
from memwell.language.fact_questions import is_called, relations_with
from memwell.longterm.facts import Fact
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.statements import BY_HAND, Source

Hearing: TypeAlias = Callable[[Recalled], bool]


def telling(memory: Memory, question: str, heard: Hearing | None = None) -> list[Recalled]:
    """The memories that state the facts a question asks for, the newest first; none when it asks for no known fact.

    The facts are those that hold, or that held where the question asks what was before, or asks in the past and none
    holds. Of a memory that also says what is over only the clauses are left that state them. Where none holds any more,
    the memory says so that ended the last one. With ``heard``, only the memories that it accepts state and end
    anything: what another conversation says is unknown.
    """
    asked = memory.fact_asked(question)
    if asked is None or not asked.is_answered_by_any:
        return []
    former, texts = asks_about_former(question), _Texts(memory, heard)
    everything = texts.history(asked.subject)
    over: list[Recalled] = []
    for relation in asked.relations or relations_with(asked.called):
        known = [one for one in everything if one.relation == relation and one.retired_at is None]
        if asked.called:
            known = [one for one in known if _is_called(one, asked.called, texts)]
        held = [one for one in known if one.holds_at(memory.clock()) is not former]
        if not held and not former and asks_about_past(question):
            held = known
        if found := _stating(held, everything, texts):
            return sorted(found, key=lambda one: (one.time, one.id), reverse=True)
        if not former and known:
            ended = memory.facts.endings(asked.subject, relation, [one.object for one in known], heard=texts.heard)
            over += [one for source in ended if texts.clause(source) and (one := texts[source.record]) is not None]
    return over[-1:]


def no_longer_true(memory: Memory, question: str, heard: Hearing | None = None) -> frozenset[str]:
    """The ids of the memories that state what a question asks for and is over; none where it asks what was before."""
    asked = memory.fact_asked(question)
    if asked is None or asks_about_former(question):
        return frozenset()
    over, held, texts = set[str](), set[str](), _Texts(memory, heard)
    for relation in asked.relations or relations_with(asked.called):
        for fact in texts.history(asked.subject, relation):
            holds = fact.retired_at is None and fact.holds_at(memory.clock())
            (held if holds else over).update(source.record for source in fact.evidence)
    return frozenset(over - held)


def telling_of(memory: Memory, subject: str = USER, heard: Hearing | None = None) -> list[Recalled]:
    """The memories that state what holds of someone, the oldest first, as ``telling`` cuts them."""
    texts = _Texts(memory, heard)
    known = texts.history(subject)
    held = [one for one in known if one.retired_at is None and one.holds_at(memory.clock())]
    return sorted(_stating(held, known, texts), key=lambda one: (one.time, one.id))


class _Texts(dict[str, "Recalled | None"]):
    """Memories by their ids, each read once; None for one that is gone."""

    def __init__(self, memory: Memory, heard: Hearing | None) -> None:
        super().__init__()
        self._memory, self._hears = memory, heard

    def heard(self, id_: str) -> bool:
        """Whether what a memory states counts; of one that is gone it does."""
        found = self[id_]
        return self._hears is None or found is None or self._hears(found)

    def history(self, subject: str, relation: str | None = None) -> list[Fact]:
        """The facts ever believed of a subject, as the memories that count state them."""
        return self._memory.facts.history_heard(subject, relation, heard=None if self._hears is None else self.heard)

    def __missing__(self, id_: str) -> Recalled | None:
        try:
            self[id_] = self._memory.get(id_)
        except NotFound:
            self[id_] = None
        return self[id_]

    def clause(self, source: Source) -> str:
        """The words of a memory that state something; nothing where it is gone, or only takes a jest back."""
        found = self[source.record] if source.record != BY_HAND else None
        jest = None if found is None else in_jest(found.text)
        return "" if found is None or (jest and source.start < jest.end()) else found.text[source.start : source.end]

    def until(self, source: Source) -> str:
        """The words of a memory up to the end of what states something."""
        found = self[source.record] if self.clause(source) else None
        return "" if found is None else found.text[: source.end]


def _stating(held: Sequence[Fact], known: Sequence[Fact], texts: _Texts) -> list[Recalled]:
    """The memories in which facts were last stated; only the clauses of one that states something else that is over."""
    ids = {one.id for one in held}
    over: dict[str, list[int]] = {}
    for source in (source for fact in known if fact.id not in ids and fact.valid_to for source in fact.evidence):
        over.setdefault(source.record, []).append(source.start)
    found: dict[str, list[Source]] = {}
    for fact in held:
        source = next((one for one in reversed(fact.evidence) if texts.clause(one)), None)
        if source is not None:
            found.setdefault(source.record, []).append(source)
    memories = ((texts[record], sources) for record, sources in found.items())
    return [
        replace(one, text=_clauses(one.text, sources, over[one.id])) if one.id in over else one
        for one, sources in memories
        if one is not None
    ]


def _clauses(text: str, sources: Sequence[Source], over: Sequence[int]) -> str:
    """The clauses of a text at these places, each up to one that is over."""
    spans = {(one.start, min([one.end, *(start for start in over if start > one.start)])) for one in sources}
    cut = [_JOINING.sub("", text[start:end]).strip(" ,，;；") for start, end in sorted(spans)]
    return " ".join(dict.fromkeys(cut))


_JOINING = re.compile(r"[\s,，;；]*(?:\b(?:and|but|so|or)|[和但而]|还有|而且)?[\s,，;；]*\Z", re.I)


def _is_called(fact: Fact, word: str, texts: _Texts) -> bool:
    """Whether a fact was stated of the relative or the pet that a word is for."""
    said = [text for source in fact.evidence if (text := texts.until(source))]
    return is_called(fact.relation, fact.object, said, word)
