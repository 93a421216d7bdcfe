"""Outdated memories among the best hits of a recall: which later one superseded each, and the current one first.

Whether a later memory makes an earlier one outdated is a probability, learnt from pairs of statements (see
``benchmarks/recall/updates.py``): from the words of both (``memwell.language.updates``), from how alike their vectors are,
from the vectors themselves, which tell whether a memory speaks of a state or of a change, and from how well both answer the
question: what answers the same is about the same. Only hits of the same query are compared, so nothing is stored, and a
memory is no longer outdated as soon as the one that superseded it is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from memwell._native import product
from memwell.language.asking import asked_of, asks_about_former, asks_about_past, before_what
from memwell.language.claims import USER
from memwell.language.claims.stated import (
    StatedFact,
    cannot_change,
    changes_another,
    corrects_another,
    denies_another,
    is_other_value,
    only_names,
    outlasts_events,
    read_facts,
    states_allergy,
    states_another,
)
from memwell.language.fact_questions import FactQuestion, fact_question, is_called, number_asked, relations_with
from memwell.language.occasions import denies_what_it_quotes, leaves_as_it_is, never_was, tells_of_birth
from memwell.language.segment import ascii_words, query_terms
from memwell.language.subjects import EN_KIN, KIN, ZH_KIN, is_pastime, may_be_one, stays_after_death, tells_of_death
from memwell.language.updates import (
    CHANGE,
    CUES,
    LONGEST,
    LONGEST_HELD,
    OTHER,
    SPEAKER,
    StatedText,
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
from memwell.longterm.snapshot import QuantizedVectors, RoundedMatrices
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
LEAST_RELEVANCE: Final = 1e-3
"""A less relevant hit is of no use anyway, outdated or not."""
_LEAST_ALIKE = 0.15
"""Less alike are 1 of 20 pairs of which one supersedes the other, and three of four of those that are about two things."""
_CERTAIN = 0.95
_LIKELY: Final = 0.55
"""How often a reading is right of which the reader is not sure."""
_LEAST_OWN = 0.1
"""What is the speaker's own stands before what is another's from this part of its relevance on."""
_MOST_ODDS = 30.0
_STOPS = STOP_WORDS["en"] | STOP_WORDS["zh"]

Floats = NDArray[np.float32]
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


class ComparedVectors:
    """The vectors of hits, compared when they are asked for: most hits state nothing that ever changes."""

    def __init__(self, vectors: QuantizedVectors, rows: NDArray[np.intp]) -> None:
        self._vectors, self._rows = vectors, rows

    @cached_property
    def alike(self) -> Floats:
        """The cosine of each pair."""
        return self._vectors.cosines(self._rows)

    @cached_property
    def shared(self) -> Floats:
        """The part that every language has, a row each, with the length 1."""
        rows = self._vectors.rows(self._rows)[:, self._vectors.shared_from or 0 :]
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        return np.divide(rows, np.where(lengths, lengths, 1.0), dtype=np.float32)


@dataclass(frozen=True)
class PairModel:
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

    @cached_property
    def _of_vectors(self) -> RoundedMatrices:
        return RoundedMatrices((self.older, self.newer, self.common, self.apart))

    def chances(self, values: Floats, rows: Floats, older: Places, newer: Places) -> Floats:
        """The probability of each pair, from its values and the places of its memories among the shared vectors."""
        units = product(values, self.values) + self.start
        if len(self.older):
            one, other = rows[older], rows[newer]
            units += self._of_vectors.products((one, other, one * other, np.abs(one - other)))
        odds = product(np.maximum(units, 0.0), self.odds[:-1]) + self.odds[-1]
        return 1.0 / (1.0 + np.exp(-np.clip(odds, -_MOST_ODDS, _MOST_ODDS)))

    def probabilities(
        self, candidates: Sequence[ComparedHit], vectors: ComparedVectors | None
    ) -> dict[tuple[int, int], float]:
        """The probability of each pair of places, the earlier memory first, where the later one may supersede it."""
        may = _may_supersede(candidates)
        if not may:
            return {}
        pairs = [
            (older, newer)
            for older, newer in _may_matter(candidates, vectors, may)
            if _is_comparable(candidates[newer], candidates[older])
        ]
        if not pairs:
            return {}
        found = values_of(candidates, vectors, pairs)
        values = np.array([[one[name] for name in self.names] for one in found], np.float32)
        rows = np.zeros((len(candidates), 0), np.float32) if vectors is None else vectors.shared
        # Where another value is given to what has one at a time, there is nothing to guess.
        certain = np.array([_CERTAIN * one["other_value"] for one in found])
        chances = np.maximum(self.chances(values, rows, *np.array(pairs).T), certain)
        # Whom and what texts are about takes longer to read than all else here, and most pairs are unlikely anyway.
        return {
            (older, newer): chance
            for (older, newer), chance in zip(pairs, chances.tolist(), strict=True)
            if chance >= _LEAST_FORMER and _is_about_same(candidates[newer], candidates[older])
        }


def _may_supersede(candidates: Sequence[ComparedHit]) -> list[tuple[int, int]]:
    """Pairs of one of the best hits, if it may answer the question, and a later one that ``speaks_for`` it.

    The first must be short enough to say one thing, and ask nothing or state facts. Most texts are too long, or ask.
    """
    best = [at for at, one in enumerate(candidates[:COMPARED]) if one.relevance >= LEAST_RELEVANCE]
    best = [at for at in best if _may_hold(candidates[at])]
    short = (
        [(at, one.order, one.traits) for at, one in enumerate(candidates) if len(one.text) <= LONGEST] if best else []
    )
    return [
        (older, newer)
        for older, before, replaced in ((at, candidates[at].order, candidates[at].traits) for at in best)
        for newer, after, traits in short
        if after > before and speaks_for(traits, replaced)
    ]


def _may_matter(
    candidates: Sequence[ComparedHit], vectors: ComparedVectors | None, may: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Of the pairs that may be, those with one of the later memories that are most like one of the best hits.

    And those of which one replaces or denies a value of the other: "Home is Bath now" need not be like "I'm based in Hull".
    """
    order = np.argsort(sorted(range(len(candidates)), key=lambda place: candidates[place].order))
    best = [at for at, one in enumerate(candidates[:COMPARED]) if one.relevance >= LEAST_RELEVANCE]
    if vectors is None:
        alike = np.array([[one.relevance for one in candidates]] * len(candidates))
    else:
        alike = np.where(vectors.alike >= _LEAST_ALIKE, vectors.alike, -np.inf)
    highest = np.where(order[best][:, None] < order, alike[best], -np.inf).max(0)
    likely = frozenset(np.argsort(-highest, kind="stable")[:COMPARED].tolist())
    stated = {place: _stated_facts(candidates[place]) for pair in may for place in pair}
    for older, newer in may:
        if (newer in likely and alike[older, newer] > -np.inf) or (
            stated[older] and stated[newer] and is_other_value(stated[newer], stated[older])
        ):
            yield older, newer


_PARTS = [part.name for part in fields(PairModel)][1:]


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
            arrays |= {f"{name}.{part}": getattr(model, part).astype(np.float16) for part in _PARTS}
        # Compressed it would be a tenth smaller, and take longer to read than to use.
        np.savez(path, **arrays)

    @classmethod
    def load(cls, file: IO[bytes]) -> SupersedingModels:
        """Read them from a file."""
        with np.load(file, allow_pickle=False) as arrays:
            models = [
                PairModel(
                    tuple(arrays[f"{name}.names"].tolist()),
                    *(arrays[f"{name}.{part}"].astype(np.float32) for part in _PARTS),
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


Hits: TypeAlias = Mapping[str, ComparedHit]
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
    likely = {
        (older, newer): chance
        for (older, newer), chance in chances.items()
        if chance >= (least if statement(candidates[older].text).chinese is chinese else max(least, _ACROSS))
    }
    meant = [pair for pair in likely if not _means_another(pair, likely, candidates)]
    for older, newer in sorted(meant, key=lambda pair: candidates[pair[1]].order):
        chance = likely[older, newer]
        id_, by = candidates[older].id, candidates[newer].id
        now = taken_back.get(by, by)
        if id_ not in taken_back and not only_takes_back(texts[now]):
            found.setdefault(id_, []).append(Successor(now, chance))
    return found


def _means_another(
    pair: tuple[int, int], likely: Mapping[tuple[int, int], float], candidates: Sequence[ComparedHit]
) -> bool:
    """Whether the later of two memories is likelier to supersede another, with which it has more words in common.

    "Sourdough is 4.60 now" is about "Sourdough is 4.20", not about "Baguettes are 1.80". Of as many, its first one counts.
    """
    older, newer = pair
    if is_other_value(_stated_facts(candidates[newer]), _stated_facts(candidates[older])):
        return False
    words = statement(candidates[newer].text).words
    first = next((term for term in query_terms(candidates[newer].text) if term in words), "")
    others = {one: statement(candidates[one].text).words for one, by in likely if by == newer}
    shared = {one: (len(words & own), first in own) for one, own in others.items()}
    return any(
        much > shared[older] and likely[other, newer] >= likely[pair] and (older, other) not in likely
        for other, much in shared.items()
    )


def values_of(
    candidates: Sequence[ComparedHit], vectors: ComparedVectors | None, pairs: Sequence[tuple[int, int]]
) -> list[dict[str, float]]:
    """What is known of pairs, given by the places of the earlier and the later memory, by name."""
    odds, places = _log_odds(candidates), np.array(pairs).T
    near = _likenesses(vectors, *places)
    found: list[dict[str, float]] = []
    for (older, newer), likeness in zip(pairs, near, strict=True):
        earlier, later = statement(candidates[older].text), statement(candidates[newer].text)
        now, before = _stated_facts(candidates[newer]), _stated_facts(candidates[older])
        values = {
            **compared(later, earlier),
            "older_relevance": odds[older],
            "newer_relevance": odds[newer],
            "both_relevant": min(odds[older], odds[newer]),
            "other_value": float(bool(before) and is_other_value(now, before)),
            **likeness,
            **{name: float(cue in earlier.cues) for name, cue in _OLDER_CUES},
            **{name: float(cue in later.cues) for name, cue in _NEWER_CUES},
        }
        found.append(values | _together(values, later.cues))
    return found


_OLDER_CUES, _NEWER_CUES = (tuple((f"{which}_{cue}", cue) for cue in CUES) for which in ("older", "newer"))


def _likenesses(vectors: ComparedVectors | None, older: Places, newer: Places) -> list[dict[str, float]]:
    """How alike the vectors of each pair are, as a whole and in the part that every language has."""
    if vectors is None:
        return [{}] * len(older)
    alike = vectors.alike[older, newer].tolist()
    shared = np.einsum("ij,ij->i", vectors.shared[older], vectors.shared[newer]).tolist()
    return [{"alike": one, "alike_shared": other} for one, other in zip(alike, shared, strict=True)]


def _log_odds(candidates: Sequence[ComparedHit]) -> list[float]:
    chances = np.clip([one.relevance for one in candidates], LEAST_RELEVANCE, 1.0 - LEAST_RELEVANCE)
    return np.log(chances / (1.0 - chances)).tolist()


def _stated_facts(hit: ComparedHit) -> tuple[StatedFact, ...]:
    # Reading them takes longer than all else here: only what was stored before they were kept is read now.
    return read_facts(statement(hit.text).stated) if hit.traits.stated is None else hit.traits.stated


def _together(found: Mapping[str, float], cues: frozenset[str]) -> dict[str, float]:
    """What the values of a pair say together, by name; the cues are those of the later memory."""
    holder, topic, words = found["same_holder"], found["same_topic"], found["same_words"]
    numbers, alike = found["other_numbers"], found.get("alike", 0.0)
    change, plain = float(not CHANGE.isdisjoint(cues)), float(_NOT_PLAIN.isdisjoint(cues))
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
    return newer.order > older.order and _is_comparable(newer, older) and _is_about_same(newer, older)


def _is_comparable(newer: ComparedHit, older: ComparedHit) -> bool:
    """Whether the later of two memories states something, and in place of what the earlier one states."""
    # Reading a statement takes long, and many texts are too long for one, or ask something.
    if len(newer.text) > LONGEST or newer.text == older.text or not speaks_for(newer.traits, older.traits):
        return False
    if not _may_hold(older):
        return False
    if denies_what_it_quotes(newer.text):
        return False
    # What a text states besides a question is read with its facts alone.
    if _also_asks(newer.text) or _also_asks(older.text):
        now, before = ((bool(han_share(one.text)), _stated_facts(one)) for one in (newer, older))
        if now[0] is before[0] and is_other_value(now[1], before[1]):
            return True
    if not statement(newer.text).states:
        return False
    later, earlier = statement(newer.text), statement(older.text)
    return earlier.holds and later.chinese is earlier.chinese


def _is_about_same(newer: ComparedHit, older: ComparedHit) -> bool:
    """Whether the later of two statements is about the same people and things, and says more than the same again."""
    later, earlier = statement(newer.text), statement(older.text)
    if CHANGE.isdisjoint(later.cues) and (_restates(newer.text, older.text) or _adds_nothing(later, earlier)):
        return False
    now, before = _stated_facts(newer), _stated_facts(older)
    if is_other_value(now, before):
        # Whom they are of is read with the facts.
        return not is_about_another_thing(later, earlier)
    if (cannot_change(before) or tells_of_birth(earlier.stated)) and not corrects_earlier(later.stated):
        return False
    if before and not now and _says_same(later, before):
        return False
    if states_allergy(before) and not _denies_allergy(later, now, before):
        return False
    if (outlasts_events(before) or is_pastime(earlier.stated)) and _is_one_event(later, earlier):
        return False
    if (corrects_another(now, before) and corrects_earlier(later.stated)) or leaves_as_it_is(
        later, now, earlier, before
    ):
        return False
    if changes_another(later.stated, now, before) or _keeps_name(newer, older):
        return False
    if states_another(now, before, older.traits.speaker.strip().lower() or USER):
        return False
    if before and not now and _IS_TO_COME(later.stated) is not None:
        # "We're moving to York in March" says where they live until then.
        return False
    if before and not now and not earlier.numbers and _IS_ON(later.stated) is not None:
        # What is on another day now says nothing of a fact that has no day: "The meeting with Tom is now on Monday".
        return False
    return not (is_about_another(later, earlier) or _of_two_people(newer, older) or denies_another(now, before))


def _says_same(newer: StatedText, before: Sequence[StatedFact]) -> bool:
    """Whether a statement has every value that an earlier one states, and tells of no change: "He came from Kent"."""
    values = [one.object for one in before]
    return (
        all(values)
        and all(value in newer.stated.casefold() for value in values)
        and not newer.denied
        and CHANGE.isdisjoint(newer.cues)
        and "past" not in newer.cues
        and not corrects_earlier(newer.stated)
    )


def _denies_allergy(newer: StatedText, now: Sequence[StatedFact], before: Sequence[StatedFact]) -> bool:
    """Whether a later statement may take back an allergy: it names what it is to, or speaks of allergies and states none.

    One more allergy leaves the first as it is, and an allergy that is called outdated by mistake does harm.
    """
    said = newer.stated.lower()
    things = (one.object.removesuffix("s") for one in before if one.relation == "allergic_to")
    return any(one in said for one in things) or (_ALLERGY(said) is not None and not states_allergy(now))


_ALLERGY = re.compile("allerg|intoleran|过敏|不耐").search
_IS_TO_COME = re.compile(
    r"\b(?:am|are|is|['’]m|['’]re|['’]s) (?:moving|leaving|quitting|starting|joining|retiring)\b[^.;]*\b(?:next "
    r"(?:week|month|year|spring|summer|autumn|fall|winter)|in (?:january|february|march|april|may|june|july|august|"
    r"september|october|november|december|20\d\d|a (?:week|month|year)|\w+ (?:weeks|months|years)))\b"
    "|(?:下个?(?:周|星期|月|学期)|明年|年底|(?:过|再过)几个?[周月年])[^，。；]{0,6}(?:搬|离职|辞职|入职|跳槽|退休)",
    re.IGNORECASE,
).search
_IS_ON = re.compile(
    r"\b(?:is|are|was|been|moved|changed|rescheduled)\b[^,.;]*"
    r"(?:\b(?:on|to|until|for) (?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|\bat \d)"
    "|[改挪移推提][^，。；]{0,3}到[^，。；]{0,2}(?:周|星期|礼拜)[一二三四五六日天]",
    re.IGNORECASE,
).search


def _keeps_name(newer: ComparedHit, older: ComparedHit) -> bool:
    """Whether one says only what someone is called, and the other something else of the same one, and of no end."""
    now, before = _stated_facts(newer), _stated_facts(older)
    later, earlier = statement(newer.text), statement(older.text)
    if not only_names(before) or later.holders != earlier.holders or _NAMING(later.stated) is not None:
        return False
    if not now and ("ends" in later.cues or corrects_earlier(later.stated)):
        return False
    if earlier.numbers or not {one.relation for one in now}.isdisjoint(one.relation for one in before):
        return False
    return earlier.words <= _kin_terms().union(*(query_terms(fact.object) for fact in before))


@cache
def _kin_terms() -> frozenset[str]:
    return frozenset(term for one in ZH_KIN for term in query_terms(one))


_NAMING = re.compile(r"\b(?:nick|sur)?name|\bcall|\bgo(?:es)? by\b|[叫名姓]", re.IGNORECASE).search


def _adds_nothing(newer: StatedText, older: StatedText) -> bool:
    """Whether a statement has no word, number or day that another has not, and denies nothing."""
    same = newer.numbers and newer.numbers == older.numbers and newer.holders == older.holders
    return bool(same) and newer.words <= older.words and not newer.denied


def _is_one_event(newer: StatedText, older: StatedText) -> bool:
    """Whether a statement begins as another does and tells in one clause what they did once, and of no change or end."""
    same = newer.holders == older.holders and _first(newer.stated) == _first(older.stated)
    return (
        same
        and "happened" in newer.cues
        and newer.cues.isdisjoint({"changes", "ends"})
        and _PARTS_WITH(newer.stated.strip(" .。!！")) is None
    )


def _first(text: str) -> str:
    return text[:2] if han_share(text[:1]) else text.partition(" ")[0].lower()


_PARTS_WITH = re.compile(r"[,;:.，。；：]|\b(?:gave|given|lost|donated|last)\b|送|丢|最后").search


def _may_hold(hit: ComparedHit) -> bool:
    if len(hit.text) > LONGEST_HELD:
        return False
    return not _has_question_mark(hit.text) or (bool(hit.traits.stated) and _also_asks(hit.text))


def _also_asks(text: str) -> bool:
    """Whether a text has a question with something else before or after it."""
    return _has_question_mark(text) and _QUESTION_AND_MORE(text) is not None


def _has_question_mark(text: str) -> bool:
    return "?" in text or "？" in text


_QUESTION_AND_MORE = re.compile("[,;:.!，。；：！][^?？]*[?？]|[?？]\\s*\\w").search


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
    if earlier and _have_names(later | earlier, speaker):
        return True
    said, before = statement(newer.text), statement(older.text)
    of_speaker = earlier == {speaker} or (not earlier and before.about == SPEAKER)
    of_other = said.stated.lower().startswith(tuple(later))
    return of_speaker and of_other and not (said.of_me or said.numbers or concerns(said, before, later))


def _have_names(people: Collection[str], speaker: str) -> bool:
    """Whether people are all called by names, of which none may be short for another."""
    named = all(name != speaker and not name.startswith(f"{speaker}'s ") for name in people)
    return named and not any(
        one != other and (one in other or may_be_one(one, other)) for one in people for other in people
    )


def speaks_for(newer: Traits, older: Traits) -> bool:
    """Whether a memory is of the same speaker as another, of no less trust, and does not read like an injection."""
    if newer.speaker.casefold() != older.speaker.casefold() or "injection" in newer.flags:
        return False
    return newer.trust in (older.trust, "user")


def _restates(newer: str, older: str) -> bool:
    """Whether one text is the other with more words around it."""
    return older.strip(" .!。！").casefold() in newer.casefold()


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
    query: str, replaced: Replaced, hits: Hits, embed: Callable[[Sequence[str]], Floats] | None
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
    now, before = _stated_facts(newer), _stated_facts(older)
    gone = {fact.object for fact in now if fact.relation == "pet" and fact.negated}
    kinds = {fact.subject for fact in before if fact.relation == "kind" and fact.object not in _ANIMALS}
    chinese = statement(older.text).chinese
    if (gone & kinds and tells_of_death(newer.text, chinese)) or stays_after_death(newer.text, older.text, chinese):
        return _KIND_OF_THE_DEAD
    words = frozenset(query_terms(newer.text))
    by_facts = _part_of_facts(before, now, words)
    return (
        by_facts
        or _part_of_list(older.text, words)
        or _time_or_place(older.text, newer.text)
        or _part_of_clauses(older.text, newer.text)
    )


def _part_of_facts(
    older: Sequence[StatedFact], newer: Sequence[StatedFact], words: frozenset[str]
) -> OutdatedPart | None:
    """The facts of which the later memory, with its words, has the subject and relation, or the object."""
    stated = [fact for fact in older if not fact.negated]
    now = {(fact.subject, fact.relation) for fact in newer}
    # Who left a job no longer does what they did there.
    now |= {(fact.subject, "occupation") for fact in newer if fact.relation == "works_at" and not fact.object}
    # Of someone who is called otherwise there, the relation alone must do.
    same = any((fact.subject, fact.relation) in now for fact in stated)
    relations: set[str] = set() if same else {relation for _, relation in now}
    # What a pet is called and what it is, is said of the one thing.
    named = {fact.object for fact in stated if (fact.subject, fact.relation) in now}
    parts: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for fact in stated:
        is_same = (fact.subject, fact.relation) in now or fact.relation in relations or fact.subject in named
        is_changed = is_same or words.issuperset(query_terms(fact.object))
        parts[is_changed][f"{fact.relation.replace('_', ' ')} {fact.object}"] = None
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


def _part_of_clauses(older: str, newer: str) -> OutdatedPart | None:
    """The clauses of which the later memory has a word, beyond its subject: "my landlord is Ann and the rent is 900".

    Each says something of its own: it has a verb, and what is kept also a subject.
    """
    clauses = [one for one in _CLAUSES.split(older.strip(" .。!！")) if one.strip()]
    if not 1 < len(clauses) <= _MOST_CLAUSES:
        return None
    found = _SUBJECT(newer)
    # "Rent is now 850" of "the rent": a name is written with a capital in both.
    subject = found[0].strip() if found and found[0].split()[-1] in older else ""
    words = frozenset(query_terms(newer)) - _STOPS - frozenset(query_terms(subject))
    changed = [one for one in clauses if not words.isdisjoint(frozenset(query_terms(one)))]
    kept = [one for one in clauses if one not in changed]
    if not (all(map(_IS_CLAUSE, kept)) and all(_IS_CLAUSE(one) or _HAS_VERB(one) for one in changed)):
        return None
    return _in_parts(
        *(tuple(one if subject in one else f"{subject} {one}" for one in some) for some in (changed, kept))
    )


_MOST_CLAUSES = 4
_CLAUSES = re.compile(r"[.;!]\s+|,?\s+and\s+|,\s+|[，。；！]")
_HAS_VERB = re.compile(r"[a-z]+(?:s|ed) (?:an?|the|my|his|her|in|at|for) ").match
_SUBJECT = re.compile(r"\W*(?:(?:My|Our|The) (?:[a-z]+ )?)?[A-Z][\w'’-]*(?= [a-z])").match
_IS_CLAUSE = re.compile(
    r"(?:(?:my|our|the|his|her|their) )?\w[\w'’-]*(?: \w+)? (?:is|are|has|have|costs?|works?|lives?|needs?|likes?)\b"
    r"|(?!叫)[^\x00-\x7f]{1,6}(?:姓|叫|是|在|有|一个月|每)",
    re.IGNORECASE,
).match


def _time_or_place(older: str, newer: str) -> OutdatedPart | None:
    """The time, the place or whom one meets or marries, where the earlier memory has two and the later one not all."""
    found = [(f"{name} {match[0]}", search(newer)) for name, search in _TIME_AND_PLACE if (match := search(older))]
    if len(found) < 2:
        return None
    return _in_parts(tuple(text for text, now in found if now), tuple(text for text, now in found if not now))


def _in_parts(changed: tuple[str, ...], kept: tuple[str, ...]) -> OutdatedPart | None:
    return OutdatedPart(changed, kept) if changed and kept else None


_ANIMALS = frozenset(
    "dog puppy cat kitten rabbit hamster parrot bird fish 狗 小狗 猫 小猫 兔子 仓鼠 鹦鹉 鸟 鱼".split()
)
"""What says no more of a pet than that there is one."""
_KIND_OF_THE_DEAD = OutdatedPart(
    ("Do I have a dog? Do we still have a cat? Is it alive? 我有狗吗？我们还养猫吗？它还在吗？",),
    ("Which breed or kind is it? What colour? 是什么品种？什么颜色？",),
)
_LISTED = re.compile(r",?\s+and\s+|[;；、]\s*|，?和")
_TIME_AND_PLACE = (
    (
        "when? what day, time? 什么时候？哪天？几点？周几？",
        re.compile(
            r"\b(?:on |at )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tomorrow|noon|\d{1,2}(?::\d\d)? ?(?:am|pm)"
            r"|\d{1,2}:\d\d|\d{1,2}(?:st|nd|rd|th)|in (?:january|february|march|april|may|june|july|august|september"
            r"|october|november|december))\b|周[一二三四五六日天]|星期[一二三四五六日天]|[\d一二三四五六七八九十]+[点号月]",
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
    (
        "who? whom? with whom? 谁？和谁？跟谁？",
        re.compile(
            r"(?:(?<=\bmarry )|(?<=\bmarries )|(?<=\bmarrying ))[A-Z][a-z]+|(?<=[和跟与])[^\W\x00-\x7f]{2,3}(?=[结订]婚)"
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
    query: str, fact: FactQuestion | None, replaced: Replaced, hits: Hits, *, own_first: bool, known: Sequence[str] = ()
) -> dict[str, list[Successor]]:
    """Which hits stand before which for a question: by the id of a hit, those before it, the nearest last.

    The current one stands before what it superseded; where a question asks what is so no longer, the other way round. What
    a question in the past tense means is left open, except that what was wrong was wrong in the past as well, and that what
    was put off or called off never was. With ``own_first``, where a question asks for the speaker's own, that stands
    before what is true of another. A jest stands before what says only that it was one. Talk of several lines looks for
    what resembles it: there the order stays. ``known`` are the hits that state what is asked for by the facts.
    """
    if "\n" in query.strip():
        return {}
    if not replaced and not (own_first and _own_first(query, fact, hits, replaced, known, former=False)):
        return {}
    jests = {older: newer[-1] for older, newer in replaced.items() if only_takes_back(hits[newer[-1].id].text)}
    if jests:
        others = {older: newer for older, newer in replaced.items() if older not in jests}
        before = {newer.id: [Successor(older, 1.0)] for older, newer in jests.items()}
        return precedence(query, fact, others, hits, own_first=own_first, known=known) | before
    order = {older: list(newer[-1:]) for older, newer in replaced.items()}
    former = asks_about_former(query)
    if former:
        order = _formers_first(query, replaced, hits)
    elif asks_about_past(query):
        return {older: newer for older, newer in order.items() if _never_was(hits[older].text, hits[newer[0].id].text)}
    own = _own_first(query, fact, hits, replaced, known, former=former) if own_first else {}
    return {id_: [*own.get(id_, ()), *order.get(id_, ())] for id_ in {**own, **order}}


def _never_was(older: str, newer: str) -> bool:
    return corrects_earlier(newer) or never_was(newer, older)


def _own_first(
    query: str, fact: FactQuestion | None, hits: Hits, replaced: Replaced, known: Sequence[str], *, former: bool
) -> dict[str, list[Successor]]:
    """What is of the speaker before what is not, by the ids of the latter, where a question asks for one's own.

    What states a relation that is asked for stands before all that do not, but for what tells of a later change of the
    speaker's. Without one, the best hit that is not about another stands before those that are, if it is not much less
    relevant. The same holds where a question asks for what is of one of the speaker's people.
    """
    asked = fact_question(_CLAUSE_END.split(query.replace(before_what(query), ""), maxsplit=1)[0])
    asked = fact if asked is None and fact and not fact.is_certain and fact.is_answered_by_any else asked
    is_named = asked is not None and asked.subject != USER and not asked.kin
    if asked is not None and is_named and not asked.is_own(hit.traits.speaker.strip().lower() for hit in hits.values()):
        if ahead := _of_named_first(asked, hits):
            return ahead
        asked, is_named = None, False
    whom = asked_of(query) if asked is None or asked.subject != USER else ""
    if whom is None and asked is None and not known:
        return {}
    whom = whom or ""
    of_others = {id_ for id_, hit in hits.items() if _is_of_another(hit, whom, query.lower())}
    names = frozenset[str]() if asked is None else names_asked(hits.values(), asked)
    states = {} if asked is None else {id_: how_likely_stated(hit, asked, names) for id_, hit in hits.items()}
    likely = [hit for id_, hit in hits.items() if 0.0 < states.get(id_, 0.0) < 1.0]
    own = [hit for hit in hits.values() if hit.id in known or states.get(hit.id) == 1.0]
    certain = bool(own) and (asked is None or asked.is_certain)
    own, probability = own or likely, 1.0 if certain else _LIKELY
    behind, guessed = hits.keys() - {hit.id for hit in own}, bool(own) and not certain
    if not own and not is_named:
        least = _LEAST_OWN * max((hit.relevance for hit in hits.values()), default=0.0)
        own = [hit for id_, hit in hits.items() if id_ not in of_others and hit.relevance >= least]
        own = [hit for hit in own if not whom or _is_about(hit, whom)]
        behind, probability = of_others, 0.5
    best = max(own, key=lambda hit: ((hit.id in replaced) is former, hit.relevance, hit.order), default=None)
    if best is None:
        return {}
    # What is only likely meant stands before what is less relevant anyway.
    behind = {id_ for id_ in behind if hits[id_].relevance < best.relevance} if guessed else behind
    least = _LEAST_OWN * best.relevance
    after = () if former else (hits[id_] for id_ in hits.keys() - of_others if hits[id_].relevance >= least)
    later = {hit.id for hit in after if hit.order > best.order and (hit in likely or _tells_of_change(hit))}
    successors = {one.id for one in replaced.get(best.id, ())}
    if former and best.id not in replaced:
        # What is true now stands before nothing that was true.
        successors |= replaced.keys()
    # Of several pets or plans each is asked for.
    further = [Successor(id_, probability) for id_ in reversed(known) if id_ != best.id and id_ not in replaced]
    return {id_: [*further, Successor(best.id, probability)] for id_ in behind - later - successors}


def _of_named_first(asked: FactQuestion, hits: Hits) -> dict[str, list[Successor]]:
    """What states a fact of someone who is named before what states such a fact of others."""
    own = [hit for hit in hits.values() if how_likely_stated(hit, asked, ()) == 1.0]
    best = max(own, key=lambda hit: (hit.relevance, hit.order), default=None)
    behind = {hit.id for hit in hits.values() if any(one.relation in asked.relations for one in _stated_facts(hit))}
    return {} if best is None else {id_: [Successor(best.id, 1.0)] for id_ in behind - {hit.id for hit in own}}


_CLAUSE_END = re.compile("[?？,，]")


def _tells_of_change(hit: ComparedHit) -> bool:
    return not (CHANGE.isdisjoint(statement(hit.text).cues) or denies_what_it_quotes(hit.text))


def how_likely_stated(hit: ComparedHit, asked: FactQuestion, names: Collection[str]) -> float:
    """How likely a hit states a fact that is asked for, also of who is meant by one of their ``names``."""
    speaker = hit.traits.speaker.strip().lower() or USER
    if asked.is_stated(_stated_facts(hit), hit.text, speaker, names):
        return 1.0
    return _LIKELY if asked.is_stated(hit.traits.likely, hit.text, speaker, names) else 0.0


def states_of_another(hit: ComparedHit, asked: FactQuestion, names: Collection[str]) -> bool:
    """Whether a hit states what a question asks for, but only of others than it is about."""
    relations = asked.relations or relations_with(asked.called)
    if how_likely_stated(hit, asked, names) == 1.0 or (asked.subject != USER and not asked.kin):
        return False
    said = [one for one in _stated_facts(hit) if one.relation in relations]
    if asked.kin:
        whom = EN_KIN.get(asked.kin) or ZH_KIN.get(asked.kin, asked.kin)
        return bool(said) and _is_of_another(hit, whom, "")
    return bool(said) and all(one.subject != (hit.traits.speaker.strip().lower() or USER) for one in said)


def states_other_number(hit: ComparedHit, query: str) -> bool:
    """Whether a hit states the number of a phone, where a question asks for that of something which it does not name."""
    kinds, said = number_asked(query), hit.text.lower()
    return (
        bool(kinds)
        and any(one.relation == "phone" for one in _stated_facts(hit))
        and not any(kind in said for kind in kinds)
    )


def names_asked(hits: Iterable[ComparedHit], asked: FactQuestion) -> frozenset[str]:
    """The names of the relative that a question is about, as hits tell them: Teresa of "My mum is called Teresa"."""
    if not asked.kin:
        return frozenset()
    relations = relations_with(asked.kin)
    return frozenset(
        fact.object
        for hit in hits
        for fact in _stated_facts(hit)
        if fact.relation in relations
        and not fact.negated
        and is_called(fact.relation, fact.object, [hit.text], asked.kin)
    )


def _is_of_another(hit: ComparedHit, whom: str, query: str) -> bool:
    """Whether a hit is about one of the speaker's people, or the speaker, and a question is about another of them.

    If a question is about the speaker, that shows in its first words, in whose thing it begins with, or in all its facts.
    """
    said, subjects = statement(hit.text), {one.subject for one in _stated_facts(hit)}
    named = said.holders - {""}
    asked = {EN_KIN.get(word.removesuffix("'s"), "") for word in ascii_words(query)}
    if any(name in query or name in asked for name in named):
        return False
    if whom:
        is_known = KIN.issuperset(named) and ("" not in said.holders or _OWN(said.stated) is not None)
        return bool(said.holders) and is_known and not _is_about(hit, whom)
    speaker = hit.traits.speaker.strip().lower() or USER
    of_kin = said.about == OTHER or (bool(named) and named == said.holders and KIN.issuperset(named))
    return (of_kin and not said.of_me) or (bool(subjects) and speaker not in subjects)


def _is_about(hit: ComparedHit, whom: str) -> bool:
    return any(may_be_one(name, whom) for name in statement(hit.text).holders)


_OWN = re.compile(r"(?:I|[Ww]e|[Mm]y|[Oo]ur)\b|[我咱]").match


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
    if not before:
        return [(hit, 0.0) for hit in hits]
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
