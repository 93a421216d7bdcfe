"""Evaluation: measures recall and the reading of facts on data sets (LoCoMo, LongMemEval, sentences and others)."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.language.claims import Claim, Reader, claims
from memwell.language.claims.relations import known_relation
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.indexing import Extracted, SaidText, model_claims, read_by_model
from memwell.longterm.ranking import rank
from memwell.longterm.snapshot import Snapshot, SnapshotEntry
from memwell.longterm.weights import Weights
from memwell.models.ports import ChatModel, Embedder
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.opening import open as open_engine
from memwell.runtime.transfer import Progress

LOCOMO_TYPES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


class Unit(NamedTuple):
    """A text to remember."""

    id: str
    text: str
    speaker: str
    session: str
    position: int
    time: float


class Query(NamedTuple):
    """A question. ``gold`` are the ids of the right units; ``gold_sessions`` is empty where units are judged."""

    id: str
    text: str
    gold: frozenset[str]
    type: str
    now: float
    gold_sessions: frozenset[str] = frozenset()


class Sample(NamedTuple):
    """The units of one memory, and the questions to it."""

    name: str
    units: list[Unit]
    queries: list[Query]


def _locomo_store(sample: Mapping[str, Any]) -> Sample:
    """One conversation. Evidence that does not exist is dropped; a question left without any is skipped."""
    talk = sample["conversation"]
    units: list[Unit] = []
    for number in sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key)):
        time = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for position, turn in enumerate(talk[f"session_{number}"]):
            caption = turn.get("blip_caption")
            text = f"{turn['text']} [{caption}]" if caption else turn["text"]
            units.append(Unit(turn["dia_id"], text, turn["speaker"], str(number), position, time.timestamp()))
    known, now = {unit.id for unit in units}, max(unit.time for unit in units)
    queries: list[Query] = []
    for number, asked in enumerate(sample["qa"]):
        found = re.findall(r"D(\d+):(\d+)", " ".join(asked.get("evidence", ())))
        gold = frozenset(f"D{int(session)}:{int(turn)}" for session, turn in found) & known
        if gold:
            queries.append(Query(str(number), asked["question"], gold, LOCOMO_TYPES[asked["category"]], now))
    return Sample(sample["sample_id"], units, queries)


def _longmemeval_store(data: Sequence[Mapping[str, Any]]) -> Sample:
    """All evidence sessions as one sample, in the order of their dates; abstention questions are left out."""
    sessions: dict[str, tuple[float, list[dict[str, Any]]]] = {}
    queries: list[Query] = []
    for asked in data:
        gold: set[str] = set()
        found = zip(asked["haystack_session_ids"], asked["haystack_dates"], asked["haystack_sessions"], strict=True)
        for session, date, turns in found:
            sessions.setdefault(session, (_longmemeval_time(date), turns))
            gold.update(f"{session}:{position}" for position, turn in enumerate(turns) if turn.get("has_answer"))
        if not asked["question_id"].endswith("_abs"):
            wanted = frozenset(asked["answer_session_ids"])
            now = _longmemeval_time(asked["question_date"])
            queries.append(
                Query(asked["question_id"], asked["question"], frozenset(gold), asked["question_type"], now, wanted)
            )
    units = [
        Unit(f"{session}:{position}", turn["content"], turn["role"], session, position, time)
        for session, (time, turns) in sorted(sessions.items(), key=lambda item: (item[1][0], item[0]))
        for position, turn in enumerate(turns)
    ]
    return Sample("pooled", units, queries)


def _longmemeval_time(date: str) -> float:
    day, clock = date.split(" (", maxsplit=1)[0], date[-5:]
    return datetime.strptime(f"{day} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC).timestamp()


def _common(store: Mapping[str, Any]) -> Sample:
    units = [
        Unit(str(unit["id"]), unit["text"], unit["speaker"], str(unit["session"]), 0, _day(unit["time"]))
        for unit in store["units"]
    ]
    now = max(unit.time for unit in units)
    queries = [
        Query(str(q["id"]), q["text"].strip(), frozenset(map(str, q["gold"])), str(q["cat"]), _day(q["time"]) or now)
        for q in store["queries"]
    ]
    return Sample(store["name"], units, queries)


def _day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() if text else 0.0


def load(path: Path) -> tuple[str, list[Sample]]:
    """The name of the data set in a file, and its samples. Raises ``InvalidInput`` for an unknown form."""
    try:
        data = json.loads(path.read_text("utf-8"))
        first = data[0]
        if "conversation" in first and "qa" in first:
            return "LoCoMo", [_locomo_store(sample) for sample in data]
        if "haystack_sessions" in first:
            return "LongMemEval, pooled", [_longmemeval_store(data)]
        if "units" in first and "queries" in first:
            return path.stem, [_common(store) for store in data]
    except OSError as error:
        raise InvalidInput(f"the data set {str(path)!r} cannot be read: {error}") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise InvalidInput(f"{str(path)!r} is no data set of a form that is known: {error!r}") from error
    raise InvalidInput(f"{str(path)!r} is neither LoCoMo nor LongMemEval nor in the common form")


class Scores(NamedTuple):
    """The scores of one ranking."""

    recall5: float
    recall10: float
    ndcg10: float


def score(ranking: Sequence[str], gold: frozenset[str]) -> Scores:
    """R@5, R@10 and nDCG@10 with binary gains of one ranking, best first."""
    return Scores(recall(ranking, gold, 5), recall(ranking, gold, 10), ndcg(ranking, gold, 10))


def recall(ranking: Sequence[str], gold: frozenset[str], k: int) -> float:
    """The share of the gold among the first ``k``."""
    return len(gold.intersection(ranking[:k])) / len(gold)


def ndcg(ranking: Sequence[str], gold: frozenset[str], k: int) -> float:
    """The discounted gain of the first ``k``, divided by that of the best order."""
    gained = sum(1.0 / math.log2(place + 2) for place, unit in enumerate(ranking[:k]) if unit in gold)
    return gained / sum(1.0 / math.log2(place + 2) for place in range(min(len(gold), k)))


def judged(query: Query, ranking: Sequence[Unit]) -> Scores:
    """The scores of units, best first: by their sessions where the query has ``gold_sessions``.

    A session ranks as its best unit does, so a ranking must be long enough to name ten sessions.
    """
    if query.gold_sessions:
        return score(list(dict.fromkeys(unit.session for unit in ranking)), query.gold_sessions)
    return score([unit.id for unit in ranking], query.gold)


class MeanScores(NamedTuple):
    """Means over questions: by type, over all, without the adversarial ones, and the macro mean of the types' nDCG@10."""

    by_type: dict[str, Scores]
    all: Scores
    answerable: Scores
    macro: float


def summary(found: Iterable[tuple[str, Scores]]) -> MeanScores:
    """The means over questions, given as (type, scores)."""
    results = list(found)
    kinds = sorted({kind for kind, _ in results})
    by_type = {kind: mean([scores for each, scores in results if each == kind]) for kind in kinds}
    return MeanScores(
        by_type,
        mean([scores for _, scores in results]),
        mean([scores for kind, scores in results if kind != "adversarial"]),
        sum(scores.ndcg10 for scores in by_type.values()) / max(len(by_type), 1),
    )


def mean(scores: Sequence[Scores]) -> Scores:
    """The mean of each metric."""
    return Scores(*(sum(column) / len(scores) for column in zip(*scores, strict=True))) if scores else Scores(0, 0, 0)


MEMWELL = "memwell, shipped defaults"
WORDS = "its words alone (BM25, text only)"
HEADED = "its words with speaker and date (BM25, without function words)"
MEANING = "its vectors alone"
_WAYS = (MEMWELL, WORDS, HEADED, MEANING)
_WORDS_ALONE = Weights.linear({"words": 1.0})
_DEEP = 100
"""The length of a ranking. Where sessions are judged, many of the best units may be of one session."""


class Evaluation(msgspec.Struct, frozen=True):
    """The result: the scores of each way of searching, and every ranking."""

    data: str
    stores: int
    units: int
    queries: int
    summaries: dict[str, MeanScores]
    rankings: list[dict[str, Any]]
    settings: dict[str, Any]

    def write(self, folder: Path) -> Path:
        """Write the rankings to a file: the settings in the first line, then a line for each query."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{''.join(c if c.isalnum() else '-' for c in self.data.lower())}.jsonl"
        lines = [{"data": self.data, **self.settings}, *self.rankings]
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
        return path


def evaluate(
    path: Path,
    *,
    embedder: Embedder | Callable[..., Any] | str | None = "local",
    progress: Progress | None = None,
    most_queries: int | None = None,
) -> Evaluation:
    """Measure recall on the data set in a file, with the shipped defaults. Raises ``InvalidInput`` for an unknown file."""
    name, stores = load(path)
    total = sum(len(store.units) + len(store.queries[:most_queries]) for store in stores)
    done = 0

    def report(steps: int) -> None:
        nonlocal done
        done += steps
        if progress is not None:
            # Indexing may take several steps for a text.
            progress(min(done, total), total)

    parts = [_measured(store, embedder, most_queries, report) for store in stores]
    rankings = [ranking for part in parts for ranking in part.rankings]
    found = {way: [one for part in parts for one in part.found[way]] for way in _WAYS}
    return Evaluation(
        name,
        len(stores),
        sum(len(store.units) for store in stores),
        len(rankings),
        {way: summary(results) for way, results in found.items() if results},
        rankings,
        {"embedder": parts[0].embedder if parts else None, "limit": _DEEP},
    )


class _Part(NamedTuple):
    """The results of one sample."""

    embedder: str | None
    found: dict[str, list[tuple[str, Scores]]]
    rankings: list[dict[str, Any]]


def _measured(
    store: Sample,
    embedder: Embedder | Callable[..., Any] | str | None,
    most_queries: int | None,
    report: Callable[[int], None],
) -> _Part:
    """Remember the units of one sample, and ask its queries."""
    found: dict[str, list[tuple[str, Scores]]] = {way: [] for way in _WAYS}
    rankings: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="memwell-bench-") as folder,
        open_engine(Path(folder) / "bench.db", embedder=embedder, work=False) as engine,
    ):
        memory = engine.at(Space("bench", store.name))
        _remember(memory, store, report)
        words = Snapshot.build(SnapshotEntry(unit.id, unit.text, unit.speaker, time=unit.time) for unit in store.units)
        for query in store.queries[:most_queries]:
            rankings.append(_asked(memory, store, query, found))
            found[HEADED].append((query.type, _by_words(words, store, query)))
            report(1)
        used = engine.embedder
    return _Part(None if used is None else used.name, found, rankings)


def _remember(memory: Engine, store: Sample, report: Callable[[int], None]) -> None:
    for unit in store.units:
        memory.remember(
            unit.text or "…",
            id=unit.id,
            speaker=unit.speaker,
            session=unit.session,
            time=datetime.fromtimestamp(unit.time, UTC) if unit.time else None,
        )
    while worked := memory.memory.indexer.work():
        report(worked)


def _by_words(snapshot: Snapshot, store: Sample, query: Query) -> Scores:
    """The scores of a query by the words that recall searches: those of the text, the speaker and the date."""
    units = {unit.id: unit for unit in store.units}
    asked = ParsedQuery.of(query.text, now=query.now)
    return judged(query, [units[hit.id] for hit in rank(snapshot, asked, limit=_DEEP, weights=_WORDS_ALONE)])


def _asked(
    memory: Engine, store: Sample, query: Query, found: Mapping[str, list[tuple[str, Scores]]]
) -> dict[str, Any]:
    """Ask one query in every way, and add its scores to ``found``."""
    units = {unit.id: unit for unit in store.units}
    now = datetime.fromtimestamp(query.now, UTC) if query.now else None
    ways = {MEMWELL: [hit.id for hit in memory.recall(query.text, limit=_DEEP, now=now)]}
    ways[WORDS] = [hit.record.id for hit in memory.backend.index.match(memory.space, query.text, limit=_DEEP)]
    if memory.embedder is not None:
        vector = memory.embedder.embed([query.text])[0]
        if vector.any():
            hits = memory.backend.index.near(memory.space, vector.tolist(), limit=_DEEP)
            ways[MEANING] = [hit.record.id for hit in hits]
    for way, ids in ways.items():
        found[way].append((query.type, judged(query, [units[id_] for id_ in ids])))
    return {
        "store": store.name,
        "query": query.id,
        "type": query.type,
        "gold": sorted(query.gold),
        "ranking": ways[MEMWELL],
    }


# Facts: how many of those that sentences state are read from them, and how many of those read are right
#
# A data set is JSON: a list of sentences, each ``{"text": …, "facts": [[subject, relation, object, "now" or "ended"],
# …]}``, or such lists by name, nested as deep as you like. A fact is right when its subject, relation, object and
# state are; an object may have more words around it.

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
"""When the sentences are said."""
_TOGETHER = 16
_SMALL = re.compile(r"\b(?:a|an|the|my|our|his|her|their|some|any|to|in|at|on|for|of)\b|[^\w]+|[的了]", re.IGNORECASE)
_ALIKE = (frozenset({"likes", "hobby"}), frozenset({"bought", "owns"}), frozenset({"partner", "married_to"}))
_UNLABELLED = frozenset(("kind", "believes", "works_in", "studies_in"))
"""Relations that are not labelled, so that none of them is wrong."""
_APART = re.compile(r"\b(?:older|younger|eldest|youngest|first|second|third|fourth|maternal|paternal|male|female) ").sub
_OPPOSITE = {"likes": "dislikes", "dislikes": "likes"}
_KIN = {"mom": "mother", "mum": "mother", "dad": "father", "wife": "partner", "husband": "partner"}


class LabelledSentence(msgspec.Struct, frozen=True):
    """A sentence with the facts that a careful reader would note."""

    text: str
    facts: list[tuple[str, str, str, Literal["now", "ended"]]]
    kind: str = ""


class ReadFact(NamedTuple):
    """A fact as it is compared."""

    subject: str
    relation: str
    object: str
    ended: bool

    def __str__(self) -> str:
        return f"{self.subject} {self.relation} {self.object}".rstrip() + (" (ended)" if self.ended else "")

    def is_same(self, other: ReadFact) -> bool:
        """Whether both say the same."""
        # The labels do not tell an older sister from a younger one.
        if _plain(_APART("", self.subject)) != _plain(_APART("", other.subject)):
            return False
        if self.ended is not other.ended:
            return _OPPOSITE.get(self.relation) == other.relation and _same_words(self.object, other.object)
        if self.ended and not (self.object and other.object):
            return self.relation == other.relation
        relations = {self.relation, other.relation}
        alike = len(relations) == 1 or any(relations <= group for group in _ALIKE)
        return alike and _same_words(self.object, other.object)


def _plain(text: str) -> str:
    words = _SMALL.sub(" ", text.lower().replace("'s", " ")).split()
    return " ".join(_KIN.get(word, word) for word in words)


def _same_words(one: str, other: str) -> bool:
    one, other = _plain(one).replace(" ", ""), _plain(other).replace(" ", "")
    return bool(one and other) and (one in other or other in one)


class JudgedSentence(NamedTuple):
    """What was made of one sentence."""

    kind: str
    text: str
    right: list[ReadFact]
    missed: list[ReadFact]
    wrong: list[ReadFact]
    failure: str = ""
    """Why a chat model read nothing from it, if it gave no usable answer."""

    def mistakes(self) -> list[tuple[str, str]]:
        """What is *missed*, and what is *wrong*, each as a fact in words."""
        pairs = (("missed", self.missed), ("wrong", self.wrong))
        return [(what, f"{one}") for what, some in pairs for one in some]


class FactShares(NamedTuple):
    """How many facts are stated and read, and in percent how many of each are right; None of nothing."""

    facts: int
    read: int
    precision: float | None
    recall: float | None

    @classmethod
    def of(cls, some: Sequence[JudgedSentence]) -> FactShares:
        """The shares of sentences together."""
        right, missed, wrong = (sum(len(one[place]) for one in some) for place in (2, 3, 4))
        return cls(right + missed, right + wrong, _percent(right, right + wrong), _percent(right, right + missed))


def _percent(some: int, of: int) -> float | None:
    return round(100 * some / of, 1) if of else None


def load_facts(path: Path) -> dict[str, list[LabelledSentence]]:
    """The lists of a data set by name; a list alone has the file's name.

    Raises ``InvalidInput`` for what is no data set, and for a relation that is not known, with those that are.
    """
    try:
        found = dict(_lists(json.loads(path.read_text("utf-8")), path.stem))
    except OSError as error:
        raise InvalidInput(f"the data set {str(path)!r} cannot be read: {error}") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{str(path)!r} holds no sentences with their facts: {error}") from error
    for relation in dict.fromkeys(fact[1] for some in found.values() for one in some for fact in one.facts):
        known_relation(relation)
    return found


def _lists(data: object, name: str) -> Iterator[tuple[str, list[LabelledSentence]]]:
    if isinstance(data, Mapping):
        for key, value in cast("Mapping[str, object]", data).items():
            yield from _lists(value, f"{name}, {key}")
    else:
        yield name, msgspec.convert(data, list[LabelledSentence])


def judge(
    sentences: Sequence[LabelledSentence],
    chat: ChatModel | None = None,
    progress: Callable[[int], None] = lambda done: None,
    reader: Reader | None = read_by_model,
) -> list[JudgedSentence]:
    """What the rules and the reader, or a chat model, read from sentences, compared with what they state.

    Where the model gave no usable answer, nothing is read: what the rules read instead is not its merit.
    """
    found: list[JudgedSentence] = []
    for at in range(0, len(sentences), _TOGETHER):
        some = sentences[at : at + _TOGETHER]
        if chat is None:
            read = [Extracted(tuple(claims(one.text, time=NOW, reader=reader)), (), "rules") for one in some]
        else:
            read = model_claims(chat, [SaidText(one.text, "", NOW) for one in some])
        found += [_judged(*one) for one in zip(some, read, strict=True)]
        progress(len(found))
    return found


def _judged(sentence: LabelledSentence, read: Extracted) -> JudgedSentence:
    failure = read.reasons[0] if read.source == "rules" and read.reasons else ""
    missed = [
        ReadFact(subject, relation, object_, state == "ended") for subject, relation, object_, state in sentence.facts
    ]
    right: list[ReadFact] = []
    wrong: list[ReadFact] = []
    for found in dict.fromkeys(
        _as_read(one) for one in (() if failure else read.claims) if one.relation not in _UNLABELLED
    ):
        same = next((fact for fact in missed if fact.is_same(found)), None)
        if same is not None:
            missed.remove(same)
            right.append(same)
        elif not any(fact.is_same(found) for fact in right):
            wrong.append(found)
    return JudgedSentence(sentence.kind, sentence.text, right, missed, wrong, failure)


def _as_read(claim: Claim) -> ReadFact:
    ended = claim.negated or (claim.valid_to is not None and claim.valid_to <= NOW)
    return ReadFact(claim.subject, claim.relation, claim.object, ended)


def fact_summary(some: Sequence[JudgedSentence]) -> dict[str, Any]:
    """The shares of all, and for each relation and kind, as plain data."""
    names = Counter(name_of(fact) for one in some for fact in (*one.right, *one.missed))
    return {
        **FactShares.of(some)._asdict(),
        "relations": {
            name: FactShares.of([_only(one, name) for one in some])._asdict() for name, _ in names.most_common()
        },
        "kinds": {
            kind: FactShares.of([one for one in some if one.kind == kind])._asdict()
            for kind in dict.fromkeys(one.kind for one in some)
        },
    }


def name_of(fact: ReadFact) -> str:
    """The relation without what it is narrowed to: ``favourite`` of ``favourite:colour``."""
    return fact.relation.partition(":")[0]


def _only(one: JudgedSentence, name: str) -> JudgedSentence:
    right, missed, wrong = ([fact for fact in facts if name_of(fact) == name] for facts in one[2:5])
    return JudgedSentence(one.kind, one.text, right, missed, wrong)
