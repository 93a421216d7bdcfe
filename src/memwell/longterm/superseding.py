"""Outdated memories among the best hits of a recall: which later one superseded each, and the current one first.

Whether a later memory makes an earlier one outdated is a probability, learnt from pairs of statements (see
``benchmarks/recall/updates.py``): from the words of both (``memwell.language.updates``), from how alike their vectors are,
from the vectors themselves, which tell whether a memory speaks of a state or of a change, and from how well both answer the
question: what answers the same is about the same. Only hits of the same query are compared, so nothing is stored, and a
memory is no longer outdated as soon as the one that superseded it is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from memwell._native import product
from memwell.language.asking import asks_about_former, asks_about_past, before_what
from memwell.language.claims import USER, claims
from memwell.language.claims.stated import (
    StatedFact,
    cannot_change,
    denies_another,
    is_other_value,
    read_facts,
    single_values,
)
from memwell.language.segment import query_terms
from memwell.language.updates import (
    CHANGE,
    CUES,
    LONGEST,
    LONGEST_HELD,
    OTHER,
    SPEAKER,
    asks_of_speaker,
    compared,
    concerns,
    corrects_earlier,
    is_about_another,
    is_about_another_thing,
    only_takes_back,
    statement,
    tells_of_love,
)
from memwell.language.words import STOP_WORDS, han_share
from memwell.longterm.traits import Traits

SUPERSEDED = "superseded"
"""The flag of an outdated memory."""
POOL = 20
"""How many of the best hits are looked at."""
COMPARED = 10
"""How many of them may be superseded, the best ones, and how many may supersede, those whose vectors make it likeliest."""
LEAST: Final = 0.44
"""From this probability on the earlier memory is called outdated, and the later one stands before it."""
_LEAST_FORMER: Final = 0.25
"""The same, for the order alone, where a question asks what is so no longer: then something has changed."""
_BY_WORDS = 0.8
"""The same where there are no vectors: words alone say little."""
_ACROSS = 0.7
"""The same where the question is in another language than the memories: all are less alike to it."""
_LEAST_RELEVANCE = 1e-3
_LEAST_ANSWERING = 5e-3
"""A less relevant hit is of no use anyway, outdated or not."""
_LEAST_ALIKE = 0.15
"""Less alike are 1 of 20 pairs of which one supersedes the other, and three of four of those that are about two things."""
_CERTAIN = 0.95
_LEAST_OWN = 0.1
"""What is the speaker's own stands before what is another's from this part of its relevance on."""
_MOST_ODDS = 30.0
_STOPS = STOP_WORDS["en"] | STOP_WORDS["zh"]
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)

Floats = NDArray[np.float32]
Odds = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


class ComparedHit(NamedTuple):
    """A hit as it is compared with others."""

    id: str
    text: str
    time: datetime
    traits: Traits
    relevance: float
    """How likely it helps to answer the question."""

    @property
    def order(self) -> tuple[datetime, str]:
        """Ids sort by when they were made."""
        return self.time, self.id

    @property
    def may_be_outdated(self) -> bool:
        """Whether it may answer the question, asks nothing, and is short enough to say one thing."""
        return self.relevance >= _LEAST_ANSWERING and _may_hold(self.text)


class ComparedVectors(NamedTuple):
    """The vectors of hits, a row each: whole, and the part that every language has. Each has the length 1."""

    whole: Floats
    shared: Floats

    @classmethod
    def of(cls, rows: Floats, shared_from: int | None) -> ComparedVectors:
        """From their rows."""
        return cls(_units(rows), _units(rows[:, shared_from or 0 :]))


class PairModel(NamedTuple):
    """The probability that a later memory supersedes an earlier one: a network with one layer of hidden units.

    A unit sees the values of the pair by their names, the numbers of both vectors, their products and their differences.
    """

    names: tuple[str, ...]
    values: Floats
    older: Floats
    newer: Floats
    common: Floats
    apart: Floats
    """What a value, or a number of the vectors, their product and their difference, adds to each unit. The model without
    vectors has no rows for these."""
    start: Floats
    """What each unit begins with."""
    odds: Floats
    """What each unit adds to the odds. The last number is what these begin with."""

    def chances(self, values: Floats, rows: Floats, older: Places, newer: Places) -> Floats:
        """The probability of each pair, from its values and the places of its memories among the shared vectors."""
        units = product(values, self.values) + self.start
        if len(self.older):
            for places, weights in ((older, self.older), (newer, self.newer)):
                # A memory is in several pairs, and its own part is the same in each.
                own = sorted(set(places.tolist()))
                units = units + product(rows[own], weights)[np.searchsorted(own, places)]
            one, other = rows[older], rows[newer]
            units = units + product(one * other, self.common) + product(np.abs(one - other), self.apart)
        odds = product(np.maximum(units, 0.0), self.odds[:-1]) + self.odds[-1]
        return 1.0 / (1.0 + np.exp(-np.clip(odds, -_MOST_ODDS, _MOST_ODDS)))

    def probabilities(
        self, candidates: Sequence[ComparedHit], vectors: ComparedVectors | None
    ) -> dict[tuple[int, int], float]:
        """The probability of each pair of places that may matter, the earlier memory first."""
        if not any(one.may_be_outdated for one in candidates[:COMPARED]):
            return {}
        both = of_pairs(candidates, vectors)
        pairs = [
            (older, newer)
            for older, newer in np.argwhere(_may_matter(candidates, both)).tolist()
            if may_replace(candidates[newer], candidates[older])
        ]
        if not pairs:
            return {}
        older, newer = np.array(pairs).T
        found = values_of(candidates, both, older, newer)
        values = np.stack([found[name] for name in self.names], axis=1, dtype=np.float32, casting="same_kind")
        rows = np.zeros((len(candidates), 0), np.float32) if vectors is None else vectors.shared
        # Where another value is given to what has one at a time, there is nothing to guess.
        chances = np.maximum(self.chances(values, rows, older, newer), _CERTAIN * found["other_value"])
        return dict(zip(pairs, chances.tolist(), strict=True))


def _may_matter(candidates: Sequence[ComparedHit], both: Mapping[str, Odds]) -> Flags:
    """Pairs of one of the best hits, if it may answer the question, and one of the later ones that are most like it.

    And those that both give a value to what has one at a time: "Home is Bath now" need not be like "I'm based in Bristol".
    """
    order = np.argsort(sorted(range(len(candidates)), key=lambda place: candidates[place].order))
    answers = np.array([one.relevance >= _LEAST_ANSWERING for one in candidates], np.bool_)
    answers[COMPARED:] = False
    later = (order[:, None] < order[None, :]) & answers[:, None]
    pairs = later & (both["alike"] >= _LEAST_ALIKE) if "alike" in both else later.copy()
    alike = np.where(pairs, both["alike"] if "alike" in both else both["newer_relevance"], -np.inf)
    pairs[:, np.argsort(-alike.max(0, initial=-np.inf), kind="stable")[COMPARED:]] = False
    values = [single_values(_stated_facts(one)) for one in candidates]
    for older, newer in np.argwhere(later & ~pairs).tolist():
        pairs[older, newer] = not values[older].keys().isdisjoint(values[newer])
    return pairs


class SupersedingModels(NamedTuple):
    """The models of the package: one for the vectors of ``embedder``, one without vectors."""

    note: str
    embedder: str
    vectors: PairModel
    words: PairModel

    def save(self, path: Path) -> None:
        """Write them to a file."""
        arrays: dict[str, Any] = {"note": np.array(self.note), "embedder": np.array(self.embedder)}
        for name in ("vectors", "words"):
            model: PairModel = getattr(self, name)
            arrays[f"{name}.names"] = np.array(model.names)
            arrays |= {f"{name}.{part}": getattr(model, part).astype(np.float16) for part in PairModel._fields[1:]}
        # Compressed it would be a tenth smaller, and take longer to read than to use.
        np.savez(path, **arrays)

    @classmethod
    def load(cls, file: IO[bytes]) -> SupersedingModels:
        """Read them from a file."""
        with np.load(file, allow_pickle=False) as arrays:
            models = [
                PairModel(
                    tuple(arrays[f"{name}.names"].tolist()),
                    *(arrays[f"{name}.{part}"].astype(np.float32) for part in PairModel._fields[1:]),
                )
                for name in ("vectors", "words")
            ]
            return cls(str(arrays["note"]), str(arrays["embedder"]), *models)


@cache
def default_models() -> SupersedingModels:
    """The models of the package; their note says what they were fitted to."""
    with files("memwell.longterm").joinpath("superseding.npz").open("rb") as file:
        return SupersedingModels.load(file)


class Successor(NamedTuple):
    """A memory that makes an earlier one outdated, and how likely it does."""

    id: str
    probability: float


Replaced: TypeAlias = Mapping[str, Sequence[Successor]]
"""Outdated memories, each with those that supersede it, the newest last."""


def outdated(
    query: str,
    candidates: Sequence[ComparedHit],
    vectors: ComparedVectors | None,
    taken_back: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, list[Successor]]:
    """Which hits of a question are outdated, each with those that supersede it, the newest last.

    Their vectors are those of the model's embedder, or None. ``taken_back`` has what was taken back at once, with what took
    it back: that, if it says anything else, supersedes in its place.
    """
    models = default_models()
    model, least = (models.words, _BY_WORDS) if vectors is None else (models.vectors, LEAST)
    found = {older: [Successor(newer, 1.0)] for older, newer in taken_back.items()}
    texts = {one.id: one.text for one in candidates}
    chances = model.probabilities(candidates, vectors)
    # What a question asks is read only where it decides: the patterns are slow to compile.
    if vectors is not None and max(chances.values(), default=0.0) >= _LEAST_FORMER and asks_about_former(query):
        least = _LEAST_FORMER
    chinese = han_share(query) > 0.0
    likely = [
        (older, newer, chance)
        for (older, newer), chance in chances.items()
        if chance >= (least if statement(candidates[older].text).chinese is chinese else max(least, _ACROSS))
    ]
    for older, newer, chance in sorted(likely, key=lambda one: candidates[one[1]].order):
        id_, by = candidates[older].id, candidates[newer].id
        now = taken_back.get(by, by)
        if id_ not in taken_back and not only_takes_back(texts[now]):
            found.setdefault(id_, []).append(Successor(now, chance))
    return found


def of_pairs(candidates: Sequence[ComparedHit], vectors: ComparedVectors | None) -> dict[str, Odds]:
    """How relevant the memories of each pair are, and how alike, by name: a row for each earlier one."""
    odds = _log_odds(candidates)
    older = np.repeat(odds[:, None], len(odds), axis=1)
    newer = older.T
    found: dict[str, Odds] = {
        "older_relevance": older,
        "newer_relevance": newer,
        "both_relevant": np.minimum(older, newer),
    }
    if vectors is not None:
        rows = {"alike": vectors.whole, "alike_shared": vectors.shared}
        found |= {name: product(one, one.T) for name, one in rows.items()}
    return found


def _log_odds(candidates: Sequence[ComparedHit]) -> Odds:
    chances = np.clip([one.relevance for one in candidates], _LEAST_RELEVANCE, 1.0 - _LEAST_RELEVANCE)
    return np.log(chances / (1.0 - chances))


def values_of(
    candidates: Sequence[ComparedHit], both: Mapping[str, Odds], older: Places, newer: Places
) -> dict[str, Odds]:
    """What is known of pairs, given by the places of their memories, by name; ``both`` is what ``of_pairs`` returns."""
    places: list[int] = sorted({*older.tolist(), *newer.tolist()})
    read = {place: statement(candidates[place].text) for place in places}
    words = [compared(read[int(later)], read[int(earlier)]) for earlier, later in zip(older, newer, strict=True)]
    found = {name: values[older, newer] for name, values in both.items()}
    found |= {name: np.array([one[name] for one in words]) for name in words[0]}
    stated = {place: _stated_facts(candidates[place]) for place in places}
    pairs = zip(newer.tolist(), older.tolist(), strict=True)
    found["other_value"] = np.array([float(is_other_value(stated[later], stated[earlier])) for later, earlier in pairs])
    cues = {place: [cue in one.cues for cue in CUES] for place, one in read.items()}
    for name, some in (("older", older), ("newer", newer)):
        has = np.array([cues[int(place)] for place in some], np.float64)
        found |= {f"{name}_{cue}": has[:, at] for at, cue in enumerate(CUES)}
    return found | _together(found)


def _stated_facts(hit: ComparedHit) -> tuple[StatedFact, ...]:
    # Reading them takes longer than all else here: only what was stored before they were kept is read now.
    return read_facts(statement(hit.text).stated) if hit.traits.stated is None else hit.traits.stated


def _together(found: Mapping[str, Odds]) -> dict[str, Odds]:
    """What the values of pairs say together, by name."""
    holder, topic, words = found["same_holder"], found["same_topic"], found["same_words"]
    numbers, alike = found["other_numbers"], found.get("alike", np.zeros_like(topic))
    change = np.max([found[f"newer_{cue}"] for cue in CHANGE], axis=0)
    plain = 1.0 - np.max([found[f"newer_{cue}"] for cue in _NOT_PLAIN], axis=0)
    return {
        "change_and_topic": change * topic,
        "change_and_topic_of_holder": change * topic * holder,
        "holder_and_topic": holder * topic,
        "change_and_words": change * words,
        "change_and_holder": change * holder,
        "change_and_plain": change * plain,
        "change_and_alike": change * alike,
        "holder_and_words": holder * words,
        "holder_and_numbers": holder * numbers,
        "holder_and_plain": holder * plain,
        "holder_and_alike": holder * alike,
        "numbers_and_alike": numbers * alike,
        "plain_and_alike": plain * alike,
    }


_NOT_PLAIN = frozenset({"adds", "past", "plans", "happened"})


def may_replace(newer: ComparedHit, older: ComparedHit) -> bool:
    """Whether one may supersede the other: a later statement that ``speaks_for`` it, in the same language.

    It must be about the same people, and say more than the same again.
    """
    # Reading a statement takes longer than all else here, and many texts are too long for one, or ask something.
    if newer.order <= older.order or len(newer.text) > LONGEST or newer.text == older.text:
        return False
    if not speaks_for(newer.traits, older.traits) or not _may_hold(older.text) or not statement(newer.text).states:
        return False
    later, earlier = statement(newer.text), statement(older.text)
    if not earlier.holds or later.chinese is not earlier.chinese:
        return False
    if _restates(newer.text, older.text) and CHANGE.isdisjoint(later.cues):
        return False
    now, before = _stated_facts(newer), _stated_facts(older)
    if is_other_value(now, before):
        # Whom they are of is read with the facts.
        return not is_about_another_thing(later, earlier)
    if cannot_change(before) and not corrects_earlier(later.stated):
        return False
    return not (is_about_another(later, earlier) or _of_two_people(newer, older) or denies_another(now, before))


def _may_hold(text: str) -> bool:
    return len(text) <= LONGEST_HELD and "?" not in text and "？" not in text


def _of_two_people(newer: ComparedHit, older: ComparedHit) -> bool:
    """Whether the facts of one memory are of other people than the other's: the speaker, relatives and others by name.

    A name may be a relative's, but never the speaker's.
    """
    speaker = newer.traits.speaker.strip().lower() or USER
    later, earlier = ({one.subject for one in _stated_facts(hit)} for hit in (newer, older))
    if not later or not later.isdisjoint(earlier) or tells_of_love(statement(newer.text), statement(older.text)):
        return False
    if earlier and all(name == speaker or name.startswith(f"{speaker}'s ") for name in later | earlier):
        return True
    said, before = statement(newer.text), statement(older.text)
    of_speaker = earlier == {speaker} or (not earlier and before.about == SPEAKER)
    of_other = said.stated.lower().startswith(tuple(later))
    return of_speaker and of_other and not (said.of_me or said.numbers or concerns(said, before, later))


def speaks_for(newer: Traits, older: Traits) -> bool:
    """Whether a memory is of the same speaker as another, of no less trust, and does not read like an injection."""
    if newer.speaker.casefold() != older.speaker.casefold() or "injection" in newer.flags:
        return False
    return newer.trust in (older.trust, "user")


def _restates(newer: str, older: str) -> bool:
    """Whether one text is the other with more words around it."""
    return older.strip(" .!。！").casefold() in newer.casefold()


def _units(rows: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.divide(rows, np.where(lengths, lengths, 1.0), dtype=np.float32)


class OutdatedPart(NamedTuple):
    """What a memory says that a later one changed, and what it says besides, as clauses."""

    changed: tuple[str, ...]
    kept: tuple[str, ...]

    def is_asked_for(self, query: str, embed: Callable[[Sequence[str]], Floats] | None) -> bool:
        """Whether a question is about what changed: it shares more words with it, or as many and is closer in meaning."""
        asked = frozenset(query_terms(query)) - _STOPS
        changed, kept = (_shared(asked, one) for one in self)
        if changed != kept:
            return changed > kept
        if embed is None:
            return False
        rows = embed([query, *self.changed, *self.kept])
        near = product(rows[1:], rows[:1].T)
        return bool(near[: len(self.changed)].max() > near[len(self.changed) :].max())


def meant_and_whole(
    query: str,
    replaced: Replaced,
    hits: Mapping[str, ComparedHit],
    embed: Callable[[Sequence[str]], Floats] | None,
) -> tuple[Replaced, dict[str, str]]:
    """Of the outdated memories: those that are so for this question, and those that are as a whole, with the newest.

    A memory that says something else as well is not outdated for a question about that, and never as a whole.
    """
    parts = {older: outdated_part(hits[older], hits[newer[-1].id]) for older, newer in replaced.items()}
    meant = [older for older, part in parts.items() if part is None or part.is_asked_for(query, embed)]
    whole = [older for older, part in parts.items() if part is None and replaced[older][-1].probability >= LEAST]
    return {older: replaced[older] for older in meant}, {older: replaced[older][-1].id for older in whole}


def _shared(asked: frozenset[str], clauses: Sequence[str]) -> int:
    return max(len(asked.intersection(query_terms(clause))) for clause in clauses)


def outdated_part(older: ComparedHit, newer: ComparedHit) -> OutdatedPart | None:
    """What the later of two memories changed of the earlier, if that says something else as well; else None."""
    words = frozenset(query_terms(newer.text))
    # The rules are slow to compile, and of a single claim there are no parts.
    by_claims = _part_of_claims(older.text, newer.text) if len(_stated_facts(older)) > 1 else None
    return by_claims or _part_of_list(older.text, words) or _time_or_place(older.text, newer.text)


@lru_cache(maxsize=512)
def _part_of_claims(older: str, newer: str) -> OutdatedPart | None:
    """The claims of which the later memory has the subject and relation, or the object."""
    words = frozenset(query_terms(newer))
    stated = [claim for claim in claims(older, time=_ANY_TIME) if not claim.negated]
    now = {(claim.subject, claim.relation) for claim in claims(newer, time=_ANY_TIME)}
    # Of someone who is called otherwise there, the relation alone must do.
    same = any((claim.subject, claim.relation) in now for claim in stated)
    relations: set[str] = set() if same else {relation for _, relation in now}
    parts: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for claim in stated:
        is_same = (claim.subject, claim.relation) in now or claim.relation in relations
        is_changed = is_same or words.issuperset(query_terms(claim.object))
        clause = older[claim.start : claim.end]
        others = sum(one.start == claim.start for one in stated)
        parts[is_changed][clause if others == 1 else f"{claim.relation.replace('_', ' ')} {claim.object}"] = None
    return _in_parts(tuple(parts[True]), tuple(parts[False]))


def _part_of_list(older: str, words: frozenset[str]) -> OutdatedPart | None:
    """The parts, each with a number or day of its own, of which the later memory has a word: *tennis on …, chess on …*."""
    parts = [part for part in _LISTED.split(older.strip(" .。!！")) if part]
    if len(parts) < 2 or not all(statement(part).numbers and statement(part).words for part in parts):
        return None
    changed = [not words.isdisjoint(statement(part).words) for part in parts]
    return _in_parts(
        tuple(part for part, is_changed in zip(parts, changed, strict=True) if is_changed),
        tuple(part for part, is_changed in zip(parts, changed, strict=True) if not is_changed),
    )


def _time_or_place(older: str, newer: str) -> OutdatedPart | None:
    """The time or the place, where the earlier memory has both and the later one has another of one of them alone."""
    found = [(f"{name} {match[0]}", search(newer)) for name, search in _TIME_AND_PLACE if (match := search(older))]
    if len(found) < len(_TIME_AND_PLACE):
        return None
    return _in_parts(tuple(text for text, now in found if now), tuple(text for text, now in found if not now))


def _in_parts(changed: tuple[str, ...], kept: tuple[str, ...]) -> OutdatedPart | None:
    return OutdatedPart(changed, kept) if changed and kept else None


_LISTED = re.compile(r",?\s+and\s+|[;；、]\s*|，?和")
_TIME_AND_PLACE = (
    (
        "when? what day, time? 什么时候？哪天？几点？周几？",
        re.compile(
            r"\b(?:on |at )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tomorrow|noon|\d{1,2}(?::\d\d)? ?(?:am|pm)"
            r"|\d{1,2}:\d\d|\d{1,2}(?:st|nd|rd|th))\b|周[一二三四五六日天]|星期[一二三四五六日天]|[\d一二三四五六七八九十]+[点号]",
            re.IGNORECASE,
        ).search,
    ),
    (
        "where? which room? 哪里？哪儿？哪间？在哪？",
        re.compile(
            r"\b(?:room|hall|gate|platform|office|studio) [\w-]*\d[\w-]*\b"
            r"|[\w一二三四五六七八九十]+(?:会议室|教室|号楼|楼|室|厅)",
            re.IGNORECASE,
        ).search,
    ),
)


class _Scored(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def score(self) -> float: ...


S = TypeVar("S", bound=_Scored)


def precedence(
    query: str, replaced: Replaced, hits: Mapping[str, ComparedHit], *, own_first: bool
) -> dict[str, list[Successor]]:
    """Which hits stand before which for a question: by the id of a hit, those before it, the nearest last.

    The current one stands before what it superseded; where a question asks what is so no longer, the other way round. What
    a question in the past tense means is left open, except that what was wrong was wrong in the past as well. With
    ``own_first``, where a question asks for the speaker's own, that stands before what is true of another. A jest stands
    before what says only that it was one. Talk of several lines looks for what resembles it: there the order stays.
    """
    if "\n" in query.strip():
        return {}
    if not replaced and not (own_first and _own_first(query, hits, replaced, former=False)):
        return {}
    jests = {older: newer[-1] for older, newer in replaced.items() if only_takes_back(hits[newer[-1].id].text)}
    if jests:
        others = {older: newer for older, newer in replaced.items() if older not in jests}
        before = {newer.id: [Successor(older, 1.0)] for older, newer in jests.items()}
        return precedence(query, others, hits, own_first=own_first) | before
    order = {older: list(newer[-1:]) for older, newer in replaced.items()}
    former = asks_about_former(query)
    if former:
        order = _formers_first(query, replaced, hits)
    elif asks_about_past(query):
        return {older: newer for older, newer in order.items() if corrects_earlier(hits[newer[0].id].text)}
    own = _own_first(query, hits, replaced, former=former) if own_first else {}
    return {id_: [*own.get(id_, ()), *order.get(id_, ())] for id_ in {**own, **order}}


_OWN = [
    (re.compile(pattern, re.IGNORECASE).search, frozenset(relations.split()))
    for pattern, relations in (
        (
            r"\bwhere d(?:o|id) (?:i|we) live\b|我们?(?:家)?(?:现在|以前|之前|原来)?(?:住|家)在?(?:哪|什么地方)",
            "lives_in",
        ),
        (
            r"\bwhere d(?:o|id) i work\b|\bwho d(?:o|id) i work for\b|\bwhat(?:'s| is) my job\b"
            r"|\bwhat do i do for (?:a living|work)\b"
            r"|我(?:现在|以前|之前|原来)?在(?:哪|什么)[^？?]{0,4}(?:上班|工作)|我(?:现在)?(?:做|是做)什么(?:工作|的)",
            "works_at works_in occupation",
        ),
        (
            r"\bwhat(?:'s| is) my (?:\w+ )?name\b|\bwho am i\W*\Z"
            r"|我(?:的名字)?(?:是)?叫(?:什么|啥)|我的?名字(?:是|叫)|我是谁",
            "name",
        ),
        (
            r"\bdo i have an? (?:boyfriend|girlfriend|partner)\b|\bam i (?:single|married|seeing)\b"
            r"|我(?:现在)?(?:还)?有没?有?(?:男|女)(?:朋)?友|我(?:现在|还)?是?(?:单身|结婚了)",
            "partner married_to",
        ),
        (r"\bhow old am i\b|\bmy age\b|我(?:今年|现在)?(?:几岁|多大|多少岁)", "age"),
        (r"\bwhat am i allergic to\b|我对(?:什么|啥)(?:东西)?过敏", "allergic_to"),
        (r"\bwhere do i study\b|我(?:现在)?在哪[^？?]{0,3}(?:读书|上学|念书)", "studies_at studies_in"),
    )
]
"""Questions for what is true of the speaker, and the relations that answer them."""


def _own_first(
    query: str, hits: Mapping[str, ComparedHit], replaced: Replaced, *, former: bool
) -> dict[str, list[Successor]]:
    """What is of the speaker before what is not, by the ids of the latter, where a question asks for one's own.

    What states a relation that is asked for stands before all that do not, but for what tells of a later change of the
    speaker's. Without one, the best hit that is not about another stands before those that are, if it is not much less
    relevant.
    """
    relations = next((relations for asks, relations in _OWN if asks(query)), frozenset[str]())
    if not relations and not asks_of_speaker(query):
        return {}
    of_others = {id_ for id_, hit in hits.items() if _is_of_another(hit)}
    own = [hit for hit in hits.values() if _states_own(hit, relations)]
    behind, probability = hits.keys() - {hit.id for hit in own}, 1.0
    if not own:
        least = _LEAST_OWN * max((hit.relevance for hit in hits.values()), default=0.0)
        own = [hit for id_, hit in hits.items() if id_ not in of_others and hit.relevance >= least]
        behind, probability = of_others, 0.5
    best = max(own, key=lambda hit: ((hit.id in replaced) is former, hit.relevance, hit.order), default=None)
    if best is None:
        return {}
    later = {id_ for id_ in hits.keys() - of_others if hits[id_].order > best.order and _tells_of_change(hits[id_])}
    successors = {one.id for one in replaced.get(best.id, ())}
    return {id_: [Successor(best.id, probability)] for id_ in behind - later - successors}


def _tells_of_change(hit: ComparedHit) -> bool:
    return not CHANGE.isdisjoint(statement(hit.text).cues)


def _states_own(hit: ComparedHit, relations: frozenset[str]) -> bool:
    """Whether a hit states one of the relations of its speaker."""
    speaker = hit.traits.speaker.strip().lower() or USER
    return any(one.relation in relations and one.subject == speaker and not one.negated for one in _stated_facts(hit))


def _is_of_another(hit: ComparedHit) -> bool:
    """Whether a hit is about someone else and not about its speaker, by its first words or by all its facts."""
    speaker = hit.traits.speaker.strip().lower() or USER
    said, subjects = statement(hit.text), {one.subject for one in _stated_facts(hit)}
    return (said.about == OTHER and not said.of_me) or (bool(subjects) and speaker not in subjects)


def _formers_first(query: str, replaced: Replaced, hits: Mapping[str, ComparedHit]) -> dict[str, list[Successor]]:
    """The outdated hits before the current ones; where a question says before what, those before that one."""
    named = frozenset(query_terms(before_what(query))) - _STOPS
    newer = {one.id for some in replaced.values() for one in some}
    meant = [hits[id_].order for id_ in newer if named.intersection(query_terms(hits[id_].text))]
    since = min(meant, default=None)
    found: dict[str, list[Successor]] = {}
    for older in sorted(replaced, key=lambda id_: hits[id_].order):
        for id_, chance in replaced[older]:
            if id_ not in replaced if since is None else hits[older].order < since:
                found.setdefault(id_, []).append(Successor(older, chance))
    # What is likely enough to be called outdated stands before what only may be.
    return {id_: sorted(some, key=lambda one: one.probability >= LEAST) for id_, some in found.items()}


def in_order(hits: Sequence[S], before: Mapping[str, Sequence[Successor]]) -> list[tuple[S, float]]:
    """Hits with those that stand before others in front of them, and how much is added to the score of each.

    They take the place of the one that they stand before, which follows them.
    """
    by_id = {hit.id: hit for hit in hits}
    placed: dict[str, tuple[S, float]] = {}
    entered: set[str] = set()
    for hit in hits:
        waiting = [hit]
        while waiting:
            one = waiting[-1]
            if one.id not in entered:
                entered.add(one.id)
                waiting += [by_id[other.id] for other in before.get(one.id, ()) if other.id in by_id]
            else:
                placed.setdefault(one.id, (waiting.pop(), max(hit.score - one.score, 0.0)))
    return list(placed.values())
