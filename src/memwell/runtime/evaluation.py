"""Evaluation: measures recall on data sets (LoCoMo, LongMemEval and others) through the public interface."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.ranking import rank
from memwell.longterm.snapshot import Snapshot, SnapshotEntry
from memwell.longterm.weights import Weights
from memwell.models.ports import Embedder
from memwell.records import Space
from memwell.runtime.batch import process_pool
from memwell.runtime.engine import Engine
from memwell.runtime.opening import open as open_engine
from memwell.runtime.transfer import Progress
from memwell.values import shown

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
    workers: int = 1,
) -> Evaluation:
    """Measure recall on the data set in a file, with the shipped defaults. Raises ``InvalidInput`` for an unknown file.

    With several ``workers`` that many processes measure its samples, with the same results; this raises
    ``InvalidInput`` for an embedder that is not known by its name.
    """
    name, stores = load(path)
    if workers > 1:
        parts = _in_processes(path, len(stores), embedder, progress, most_queries, workers)
    else:
        total = sum(len(store.units) + len(store.queries[:most_queries]) for store in stores)
        done = 0

        def report(steps: int) -> None:
            nonlocal done
            done += steps
            if progress is not None:
                progress(done, total)

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


class _Part(msgspec.Struct):
    """The results of one sample, as they are passed between processes."""

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


def _in_processes(
    path: Path, stores: int, embedder: object, progress: Progress | None, most: int | None, workers: int
) -> list[_Part]:
    if embedder is not None and not isinstance(embedder, str):
        raise InvalidInput(f"several processes need an embedder that is known by its name, not {shown(embedder)}")
    parts: list[_Part] = []
    with process_pool(min(workers, stores)) as pool:
        for part in pool.map(partial(_measure_store, path, embedder, most), range(stores)):
            parts.append(part)
            if progress is not None:
                progress(len(parts), stores)
    return parts


def _measure_store(path: Path, embedder: str | None, most: int | None, number: int) -> _Part:
    """Measure one sample of a data set, in a process of its own."""
    return _measured(load(path)[1][number], embedder, most, lambda steps: None)


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
