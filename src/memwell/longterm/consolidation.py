"""Consolidation: merges memories that say the same, and derives insights from many. Everything can be undone.

It writes new versions and marks the old ones, after the replacement has been checked. Without a chat model an insight
says what changed more than once in a year, or the weightiest sentences of many memories about one name or matter; with one
it is the model's sentence, if every memory it cites is one it was given.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import groupby, pairwise
from typing import Any

import msgspec

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, ModelError
from memwell.filters import FilterLike, as_filter
from memwell.language.claims import in_jest
from memwell.language.claims.relations import USER
from memwell.language.entities import entities
from memwell.language.keywords import keywords
from memwell.language.summary import is_statement, lines_of, summarise
from memwell.language.updates import takes_back
from memwell.language.words import language_of
from memwell.longterm.base import MemoryBase, as_ids
from memwell.longterm.facts import Fact
from memwell.longterm.gate import clusters
from memwell.longterm.indexing import CORRECTED_WITHIN
from memwell.longterm.recall import Recalled, as_recalled
from memwell.longterm.remembering import Rememberer
from memwell.longterm.superseding import POOL, ComparedHit, meant_and_whole, outdated, speaks_for
from memwell.longterm.traits import SUPERSEDED, Evidence, Traits, traits_of, with_traits
from memwell.messages import human, system
from memwell.records import Record, paged
from memwell.values import check_count, check_metadata, is_finite

_log = logging.getLogger("memwell.longterm")

INSIGHT = "insight"
_MOST_EVIDENCE = 64
_LONGEST_INSIGHT = 300
_CLEAR = 0.95  # The probability that a memory is outdated, where its words are clear
_END_MISSING = re.compile(r"([^.!?。！？…])\n")
_LEAST_CHANGES, _YEAR = 2, timedelta(days=366)
_CHANGES = {
    "lives_in": ("moved", "搬了{}次家"),
    "works_at": ("changed employers", "换了{}次工作"),
    "occupation": ("changed occupation", "换了{}次职业"),
    "studies_at": ("changed schools", "换了{}次学校"),
    "phone": ("changed phone numbers", "换了{}次电话号码"),
}
"""What is worth saying when it changes often, in both languages."""

_ASKED = (
    "You are given memories, each with a number. Write one sentence that says what they show together, using nothing that "
    "is not in them. Answer with JSON: the sentence, and the numbers of the memories that support it."
)
_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"insight": {"type": "string"}, "evidence": {"type": "array", "items": {"type": "integer"}}},
    "required": ["insight", "evidence"],
}


class Merge(msgspec.Struct, frozen=True):
    """A merge of memories that say the same: one stays, with the evidence of all."""

    kept: str
    merged: tuple[str, ...]


class Compression(msgspec.Struct, frozen=True):
    """The merges that were made, or with ``dry_run`` would be."""

    merges: list[Merge]
    before: int
    dry_run: bool
    skipped: list[Merge] = []
    """Merges that were not made because one of their memories changed meanwhile."""

    @property
    def after(self) -> int:
        """How many memories are left."""
        return self.before - sum(len(merge.merged) for merge in self.merges)


class Consolidator(Rememberer):
    """Merges memories and derives insights."""

    def compress(
        self, *, threshold: float = 0.85, where: FilterLike | None = None, dry_run: bool = False
    ) -> Compression:
        """Merge memories that are nearly the same into one of them, a pinned or the longest; messages are left alone.

        ``threshold`` is the least similarity, from 0 to 1; ``where`` (over the metadata) selects what may be merged. A
        group of which a memory changes meanwhile is skipped. Raises ``InvalidInput`` for an invalid threshold or filter.
        """
        if not is_finite(threshold) or not 0 < threshold <= 1:
            raise InvalidInput(f"threshold must be above 0 and at most 1, not {threshold!r}")
        # Messages of a conversation and images are never merged, however similar.
        records = {
            record.id: record
            for record in self._active(as_filter(where))
            if not (traits_of(record).session or traits_of(record).blobs)
        }
        groups = clusters([(record.id, record.text) for record in records.values()], threshold=threshold)
        merges = [_merge([records[id_] for id_ in group]) for group in groups if len(group) > 1]
        if dry_run:
            return Compression(merges, len(records), dry_run)
        made = [merge for merge in merges if self._merge_unchanged(merge, records)]
        return Compression(made, len(records), dry_run, [merge for merge in merges if merge not in made])

    def _merge_unchanged(self, merge: Merge, records: Mapping[str, Record]) -> bool:
        """Merge memories that are as they were read; whether they were."""
        with self.backend.transaction():
            unchanged = self._are_unchanged([records[id_] for id_ in (merge.kept, *merge.merged)])
            if unchanged:
                self._merge(merge.kept, merge.merged)
        return unchanged

    def _are_unchanged(self, read: Sequence[Record]) -> bool:
        """Whether memories are as they were read. Call it inside the transaction that relies on it."""
        now = {one.id: one for one in self.backend.index.get(self.space, [one.id for one in read])}
        return all(
            one.id in now and (now[one.id].text, traits_of(now[one.id]).version) == (one.text, traits_of(one).version)
            for one in read
        )

    def merge(self, kept: str, others: Iterable[str]) -> Recalled:
        """Merge others into one memory: it gets their evidence, and they are marked as replaced."""
        wanted = as_ids(others)
        self.catch_up()
        merged = self._merge(kept, [id_ for id_ in wanted if id_ != kept])
        return as_recalled(merged, traits=self._traits(merged))

    def _merge(self, into: str, ids: Sequence[str]) -> Record:
        with self.backend.transaction():
            kept, others = self._stored(into), [self._stored(id_) for id_ in ids]
            # One that was merged into it before is not counted again.
            others = [other for other in others if traits_of(other).replaced_by != into]
            traits = traits_of(kept)
            evidence = list(traits.evidence)
            for other in others:
                evidence += [*traits_of(other).evidence, Evidence(record=other.id)]
            merged = self._change(
                kept,
                "merged",
                evidence=tuple(dict.fromkeys(evidence))[:_MOST_EVIDENCE],
                seen=traits.seen + sum(traits_of(other).seen for other in others),
            )
            for other in others:
                self._change(other, f"merged into {into}", status=SUPERSEDED, replaced_by=into)
        return merged

    def reflect(
        self,
        *,
        least: int = 3,
        most: int = 10,
        where: FilterLike | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[Recalled]:
        """Derive insights: what changed twice within a year, and each matter that at least ``least`` memories mention.

        An insight names the memories it is based on, and is updated when these change; one of whose memories changed
        while it was written is left out. ``where`` (over the metadata) selects the memories; insights get ``metadata``,
        and those with other metadata are separate.
        """
        check_count(least, "least")
        check_count(most, "most")
        own = {} if metadata is None else check_metadata(metadata)
        records = [record for record in self._active(as_filter(where)) if record.kind != INSIGHT]
        found: list[tuple[str, str, Sequence[Record]]] = list(self._changes(records))
        over = self._over(records)
        for matter, about in _matters(_current(records), least)[: max(0, most - len(found))]:
            text, used = self._insight(matter, about, over)
            if text:
                found.append((matter, text, used))
        stored = (self._store_insight(_insight_id(matter, own), text, used, own) for matter, text, used in found[:most])
        return [one for one in stored if one is not None]

    def _changes(self, records: Sequence[Record]) -> Iterator[tuple[str, str, Sequence[Record]]]:
        """What changed at least twice within a year, by the facts of these memories: the matter, the words, the sources."""
        by_id = {record.id: record for record in records}
        stated = (fact for fact in paged(lambda cursor: self.facts.all(limit=500, cursor=cursor)) if _may_change(fact))
        for (who, relation), values in groupby(stated, key=lambda fact: (fact.subject, fact.relation)):
            facts = [fact for fact in values if any(source.record in by_id for source in fact.evidence)]
            begun = [fact.valid_from for fact in facts[1:] if fact.valid_from is not None]
            if len(begun) >= _LEAST_CHANGES and begun[-1] - begun[-_LEAST_CHANGES] <= _YEAR:
                used = [by_id[one.record] for fact in facts for one in fact.evidence if one.record in by_id]
                yield f"{who}/{relation}", _changed(who, facts, begun, used), used

    def _insight(self, matter: str, about: Sequence[Record], over: Collection[str]) -> tuple[str, Sequence[Record]]:
        if self.chat is not None:
            found = self._asked(about[:30])
            if found is not None:
                return found
        return _said_together(matter, about, over), about

    def _over(self, records: Sequence[Record]) -> frozenset[str]:
        """The clauses of memories that state facts which are over."""
        texts, moment = {record.id: record.text for record in records}, self.clock()
        stated = (fact for fact in paged(lambda cursor: self.facts.all(limit=500, cursor=cursor)) if fact.valid_to)
        sources = (one for fact in stated if not fact.holds_at(moment) for one in fact.evidence)
        return frozenset(texts[one.record][one.start : one.end].strip() for one in sources if one.record in texts)

    def _asked(self, about: Sequence[Record]) -> tuple[str, Sequence[Record]] | None:
        """A chat model's insight; None when it fails or cites no memory."""
        assert self.chat is not None
        shown = "\n".join(f"{number}. {record.text}" for number, record in enumerate(about, 1))
        try:
            completion = self.chat.complete([system(_ASKED), human(shown)], schema=_ANSWER, max_tokens=300)
            # Some models return JSON as text only.
            data = msgspec.json.decode(completion.text) if completion.data is None else completion.data
            answer = msgspec.convert(data, _Insight)
        except (ModelError, msgspec.DecodeError):
            return None
        used = [about[number - 1] for number in dict.fromkeys(answer.evidence) if 0 < number <= len(about)]
        text = " ".join(answer.insight.split())
        verdict = self._gate.judge(text, speaker="", trust="model")
        return (verdict.text, used) if verdict.accepted and used and len(text) <= 1000 else None

    def _store_insight(self, id_: str, text: str, used: Sequence[Record], own: dict[str, Any]) -> Recalled | None:
        evidence = tuple(Evidence(record=record.id) for record in used[:_MOST_EVIDENCE])
        with self.backend.transaction():
            if not self._are_unchanged(used):
                # It may say what was erased or corrected meanwhile.
                _log.info("the insight %r is left out: a memory that it is based on has changed", id_)
                return None
            known = self.backend.index.get(self.space, [id_])
            if known:
                traits = traits_of(known[0])
                if traits.evidence == evidence and known[0].text == text:
                    return as_recalled(known[0], traits=self._traits(known[0]))
                record = self._change(known[0], "reflected again", text=text, evidence=evidence, status="active")
            else:
                record = self._new_insight(id_, text, evidence, own)
        if record.vector is None:
            self._notify(self.space)
        return as_recalled(record)

    def _new_insight(self, id_: str, text: str, evidence: tuple[Evidence, ...], own: dict[str, Any]) -> Record:
        record = derived_record(self, id_, text, INSIGHT, evidence, own)
        self._put(record)
        return record

    acompress = asyncify(compress)
    amerge = asyncify(merge)
    areflect = asyncify(reflect)


class _Insight(msgspec.Struct):
    """A chat model's answer: an insight, and the numbers of the memories that support it."""

    insight: str
    evidence: list[int]


def derived_record(
    memory: MemoryBase, id_: str, text: str, kind: str, evidence: tuple[Evidence, ...], own: Mapping[str, Any]
) -> Record:
    """A memory derived from others, with its own metadata."""
    now = memory.clock()
    traits = Traits(trust="derived", evidence=evidence, importance=0.6, learned=now)
    return Record(text=text, space=memory.space, id=id_, kind=kind, time=now, metadata=with_traits(own, traits))


def _insight_id(matter: str, own: Mapping[str, Any]) -> str:
    """The id of the insight about a matter, by its metadata."""
    if not own:
        return f"{INSIGHT}:{matter}"
    digest = blake2b(msgspec.json.encode(own, order="sorted"), digest_size=8).hexdigest()
    return f"{INSIGHT}:{matter}:{digest}"


def _merge(group: Sequence[Record]) -> Merge:
    """A merge into the best of a group: pinned first, then the longest, the most important, the latest."""
    best = max(
        group,
        key=lambda record: (
            traits_of(record).pinned,
            len(record.text),
            traits_of(record).importance or 0.0,
            record.time,
            record.id,
        ),
    )
    return Merge(best.id, tuple(record.id for record in group if record.id != best.id))


def _matters(records: Sequence[Record], least: int) -> list[tuple[str, list[Record]]]:
    """The matters of memories, the most frequent first: names and keywords, each with its memories."""
    about: dict[str, list[Record]] = defaultdict(list)
    shown: dict[str, str] = {}
    for record in records:
        named = {entity.key: entity.text for entity in entities(record.text)}
        named.update({keyword.word.casefold(): keyword.word for keyword in keywords(record.text, limit=5)})
        for key, text in named.items():
            about[key].append(record)
            shown.setdefault(key, text)
    found = [(shown[key], held) for key, held in about.items() if len(held) >= max(least, 1)]
    # The whole of a name rather than a part of it.
    ordered = sorted(found, key=lambda item: (-len(item[1]), -len(item[0]), item[0]))
    return _distinct(ordered)


def _distinct(matters: Sequence[tuple[str, list[Record]]]) -> list[tuple[str, list[Record]]]:
    """Without matters that share most memories with an earlier one."""
    chosen: list[tuple[str, list[Record]]] = []
    for matter, held in matters:
        ids = {record.id for record in held}
        if all(len(ids & {r.id for r in other}) * 2 < len(ids) for _, other in chosen):
            chosen.append((matter, held))
    return chosen


def _current(records: Sequence[Record]) -> list[Record]:
    """The memories without those that a person took back just after saying them, and without jests."""
    ordered = sorted(records, key=lambda record: (record.time, record.id))
    gone: set[str] = set()
    for older, newer in pairwise(ordered):
        same = traits_of(older).session == traits_of(newer).session and speaks_for(traits_of(newer), traits_of(older))
        if same and newer.time - older.time <= CORRECTED_WITHIN and takes_back(newer.text, older.text):
            gone.add(older.id)
    return [record for record in records if record.id not in gone and not in_jest(record.text)]


def _holding(matter: str, about: Sequence[Record]) -> list[Record]:
    """The memories on a matter, the earliest first, without those that a later one makes outdated as a whole."""
    ordered = sorted(about, key=lambda record: (record.time, record.id))
    hits = {one.id: ComparedHit(one.id, one.text, one.time, traits_of(one), 1.0) for one in ordered[-POOL:]}
    found = outdated(matter, list(hits.values()), None).items()
    # Without a question only clear words tell that something is outdated.
    clear = {older: some for older, newer in found if (some := [one for one in newer if one.probability >= _CLEAR])}
    _, whole = meant_and_whole(matter, clear, hits, None)
    return [record for record in ordered if record.id not in whole]


def _spelling(matter: str, about: Sequence[Record]) -> str:
    """A matter as most of the memories write it, inside a sentence if it is there: *Paris*, where keywords have paris."""
    found = [match for one in about for match in re.finditer(re.escape(matter), one.text, re.IGNORECASE)]
    inside = [match for match in found if _STARTS.search(match.string[: match.start()]) is None]
    return Counter(match[0] for match in inside or found).most_common(1)[0][0] if found else matter


_STARTS = re.compile(r"(?:\A|[.!?。！？\n])\W*\Z")


def _said_together(matter: str, about: Sequence[Record], over: Collection[str]) -> str:
    """The weightiest sentences of the memories on a matter that hold, the earliest first; nothing if they state nothing."""
    lines = [
        line
        for record in _holding(matter, about)
        for line in lines_of("", record.text)
        if is_statement(line.text) and not any(clause in line.text for clause in over)
    ]
    words = _END_MISSING.sub(
        r"\1; ", "\n".join(line.text for line in summarise(lines, limit=_LONGEST_INSIGHT))
    ).replace("\n", " ")
    title = _spelling(matter, about)
    return words and (f"{title}：{words}" if language_of(words) == "zh" else f"{title}: {words}")


def _may_change(fact: Fact) -> bool:
    # What was said by mistake has no period.
    mistaken = fact.valid_from is not None and fact.valid_from == fact.valid_to
    return fact.retired_at is None and fact.relation in _CHANGES and not mistaken


def _changed(who: str, facts: Sequence[Fact], begun: Sequence[datetime], used: Sequence[Record]) -> str:
    """That a value changed so often, in the language of what says so: "The user moved twice in 2026: from A to B to C"."""
    english, chinese = _CHANGES[facts[0].relation]
    values, times = [fact.object for fact in facts], len(begun)
    years = dict.fromkeys((begun[0].year, begun[-1].year))
    if language_of(used[-1].text) == "zh":
        often = chinese.format("两" if times == _LEAST_CHANGES else times)
        return (
            f"{'用户' if who == USER else who}{'到'.join(f'{year}年' for year in years)}{often}：{' → '.join(values)}。"
        )
    often = "twice" if times == _LEAST_CHANGES else f"{times} times"
    when = f"in {begun[0].year}" if len(years) == 1 else f"from {begun[0].year} to {begun[-1].year}"
    return f"{'The user' if who == USER else who} {english} {often} {when}: from {' to '.join(values)}."
