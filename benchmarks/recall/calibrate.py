"""Calibrate the relevance of hits: ``python -m benchmarks.recall.calibrate DATA_FOLDER --stores FOLDER [--write]``.

Questions are asked of stores that hold their evidence, and of stores that do not. Two logistic models are fitted: from the
best values of the hits, whether the store holds an answer; from the values of a hit of a store that does, whether it is
evidence. Fitted to: the part of LongMemEval (MIT) that the encoder was not trained on, MADial-Bench (MIT), generated
dialogues, statements and conversations written for the purpose (``updates.json``, every second of ``written_en.json``), and
made-up questions about what none of them speaks of (``strangers.json``). LoCoMo is not used.

It prints, by models that did not see the question: the reliability curve, how many questions without an answer find nothing
of the least relevance, and how many with one keep evidence. Run it again when the embedder, the signals or the weights have
changed. Stores are made in ``--stores`` and used again while the embedder is the same.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.encoder.data import held_out
from benchmarks.recall.dialogues import dialogues
from benchmarks.recall.evaluate import FILES, Query, Sample, Unit, load
from benchmarks.recall.examples import flattened
from memwell.longterm import recall
from memwell.longterm.relevance import (
    MIN_RELEVANCE,
    Calibration,
    LogisticModel,
    RelevanceModel,
    values_of,
)
from memwell.runtime.evaluation import load as load_file

Floats = NDArray[np.float64]
ROOT = Path(__file__).parents[2]
FOLDS = 5
_SEED = 5001
"""The encoder was trained on dialogues of other seeds."""
HITS = 20
"""So many hits of a question are judged: as many as are recalled for a prompt."""
UNANSWERABLE = 1 / 3
"""What questions without an answer count together."""
LESS = {"MADial": 0.3, "dialogues, keywords": 0.3, "dialogues, strange keywords": 0.3}
"""What a source counts beside the others: keywords and the queries of MADial-Bench, pieces of talk, are no questions."""
HELD_SMALL = 1e-3
"""How much large weights cost."""
_STATEMENT_STORES = 24
_CONVERSATION = "conversations"
_CONVERSATIONS = 2
"""Of the conversations one in so many is used."""
_SAID_FROM = 1.7e9
_ONE_OF = 20
"""Of the statements, this part is between the translations of a store."""
THRESHOLDS = (0.002, MIN_RELEVANCE, 0.02, 0.1, 0.3)
_WORDS = ("held", "whole", "count", "missing")
_VECTORS = ("dense", "late")
_ACROSS = "another language"
_NOTE = (
    "Fitted by benchmarks/recall/calibrate.py to LongMemEval (MIT), MADial-Bench zh (MIT), generated dialogues and written "
    "statements in English and Chinese, written conversations, made-up questions that none of them answers, and "
    "translations; as if a third of all questions had no answer."
)


Values = Mapping[str, float]
"""The values of a hit that are known, by name."""


class Asked(NamedTuple):
    """A question to a store: the values of its hits, and which of them are evidence."""

    source: str
    language: str
    answerable: bool
    text: str
    values: list[Values]
    gold: list[bool]

    @property
    def group(self) -> tuple[str, bool, str]:
        """Groups of the same language and answerability count the same."""
        return self.language, self.answerable, self.source

    @property
    def fold(self) -> int:
        """A question that is asked of several stores is in one fold."""
        return zlib.crc32(self.text.encode()) % FOLDS


class Store:
    """A sample in a store of its own, asked with its vectors and by words alone."""

    def __init__(self, sample: Sample, language: str, folder: Path, embedder: Any) -> None:
        self.sample, self.language = sample, language
        self._path = folder / f"{embedder.name}-{sample.name}-{len(sample.units)}.db"
        self._embedder = embedder
        if not self._path.exists():
            self._fill()

    def _fill(self) -> None:
        made = self._path.with_suffix(".part")
        made.unlink(missing_ok=True)
        with memwell.open(made, embedder=self._embedder, work=False) as memory:
            for unit in self.sample.units:
                memory.remember(
                    unit.text or "…",
                    id=unit.id,
                    speaker=unit.speaker or None,
                    session=unit.session or None,
                    time=datetime.fromtimestamp(unit.time, UTC) if unit.time else None,
                )
            memory.flush()
        made.rename(self._path)

    def ask(self, queries: Sequence[Query], source: str, *, answerable: bool) -> Iterator[Asked]:
        """The questions with the values of their hits, as ``recall`` sees them."""
        for embedder in (self._embedder, None):
            with memwell.open(self._path, embedder=embedder, work=False) as memory:
                for query in queries:
                    now = datetime.fromtimestamp(query.now, UTC) if query.now else None
                    with noted() as values:
                        hits = memory.recall(query.text, limit=HITS, now=now)
                    gold = [answerable and hit.id in query.gold for hit in hits]
                    yield Asked(source, self.language, answerable, query.text, values[: len(hits)], gold)


@contextmanager
def noted() -> Generator[list[Values]]:
    """The values that the recalls in this block judge their hits by."""
    found: list[Values] = []
    usual = recall.relevances

    def note(*given: Any) -> list[float]:
        *observed, embedder, late = given
        columns = values_of(*observed, calibrated=embedder is not None, late=late)
        hits = list(zip(*(column.tolist() for column in columns.values()), strict=True))
        found.extend(
            {name: value for name, value in zip(columns, hit, strict=True) if not math.isnan(value)} for hit in hits
        )
        return [0.0] * len(hits)

    recall.relevances = note
    try:
        yield found
    finally:
        recall.relevances = usual


# The questions


def strangers(language: str) -> list[Query]:
    """Made-up questions that no store answers."""
    texts: dict[str, list[str]] = json.loads((Path(__file__).parent / "strangers.json").read_text("utf-8"))
    return [Query(str(number), text, frozenset(), "stranger", 0.0) for number, text in enumerate(texts[language])]


def answered(sample: Sample) -> list[Query]:
    """The questions that a sample answers. Those about the wrong person have evidence, but no answer."""
    return [query for query in sample.queries if query.type != "adversarial"]


def keywords(sample: Sample, language: str, step: int = 12) -> list[Query]:
    """The rarest word of some units, or pair of Chinese characters, as a query; every unit that has it is evidence."""
    cut = re.compile("(?=([\u4e00-\u9fff]{2}))" if language == "zh" else "([A-Za-z]{4,})")
    found = {unit.id: {word.lower() for word in cut.findall(unit.text)} for unit in sample.units}
    counts = Counter(word for words in found.values() for word in words)
    asked = {min(words, key=lambda word: (counts[word], word)) for words in list(found.values())[::step] if words}
    return [
        Query(word, word, frozenset(id_ for id_, words in found.items() if word in words), "keyword", 0.0)
        for word in sorted(asked)
    ]


def of_dialogues(make: Callable[[Sample, str], Store], count: int) -> Iterator[Asked]:
    """Every second dialogue is made of memories that stand alone."""
    for language in ("en", "zh"):
        chosen = {"english": count if language == "en" else 0, "chinese": count if language == "zh" else 0}
        talks = dialogues(**chosen, seed=_SEED)
        for number, talk in enumerate(talks):
            store = make(flattened(talk, 1) if number % 2 else talk, language)
            yield from store.ask(answered(store.sample)[::4], "dialogues", answerable=True)
            other = answered(talks[(number + 1) % len(talks)])
            yield from store.ask(other[::8], "dialogues, another's", answerable=False)
            yield from store.ask(strangers(language), "dialogues, strangers", answerable=False)
            own, said = keywords(talk, language), " ".join(unit.text.lower() for unit in talk.units)
            strange = [one for one in keywords(talks[(number + 1) % len(talks)], language, 6) if one.text not in said]
            yield from store.ask(own, "dialogues, keywords", answerable=True)
            yield from store.ask(strange, "dialogues, strange keywords", answerable=False)


def of_madial(make: Callable[[Sample, str], Store], folder: Path) -> Iterator[Asked]:
    """Chinese: memories of one person, asked by what is being said."""
    store = make(load("madial", folder)[0], "zh")
    yield from store.ask(store.sample.queries, "MADial", answerable=True)
    yield from store.ask(strangers("zh"), "MADial, strangers", answerable=False)
    others = [query for talk in dialogues(english=0, chinese=2, seed=_SEED) for query in answered(talk)]
    yield from store.ask(others[::8], "MADial, dialogues", answerable=False)


def of_statements(make: Callable[[Sample, str], Store]) -> Iterator[Asked]:
    """What people tell an assistant in passing, and what they ask later, often in other words (``updates.json``)."""
    data: dict[str, Any] = json.loads((Path(__file__).parent / "updates.json").read_text("utf-8"))
    for language, texts in data.items():
        cases = [(*fields[1:4], True) for fields in texts["learnt"]["updates"]]
        cases += [(*fields, False) for fields in texts["learnt"]["near_misses"]]
        # Neighbours in the file have one writer; each store has some of every one.
        parts = [cases[number::_STATEMENT_STORES] for number in range(_STATEMENT_STORES)]
        asked = [_statement_queries(part) for part in parts]
        for number, part in enumerate(parts):
            said = [text for case in part for text in case[:2]] + texts["between"]
            units = [
                Unit(str(place), text, "user", "", 0, _SAID_FROM + 86400.0 * place) for place, text in enumerate(said)
            ]
            store = make(Sample(f"statements-{language}-{number}", units, asked[number]), language)
            yield from store.ask(asked[number], "statements", answerable=True)
            yield from store.ask(asked[number - 1][::2], "statements, another's", answerable=False)
            yield from store.ask(strangers(language)[number % 4 :: 4], "statements, strangers", answerable=False)


def _statement_queries(part: Sequence[tuple[str, str, str, bool]]) -> list[Query]:
    """The questions of a store. Both statements of an update help: one was the answer, the other is."""
    return [
        Query(text, text, frozenset({str(2 * place), *([str(2 * place + 1)] if is_update else ())}), "statement", 0.0)
        for place, (_, _, text, is_update) in enumerate(part)
    ]


def of_conversations(make: Callable[[Sample, str], Store]) -> Iterator[Asked]:
    """Conversations between people whom questions call by name; also with the questions of others, about these people."""
    samples = load_file(Path(__file__).with_name("written_en.json"))[1][::_CONVERSATIONS]
    for number, sample in enumerate(samples):
        store, other = make(sample, "en"), samples[number - 1]
        called = dict(zip(_speakers(other), cycle(_speakers(sample)), strict=False))
        names = re.compile(rf"\b(?:{'|'.join(map(re.escape, called))})\b")
        strange = [
            query._replace(text=names.sub(lambda found, called=called: called[found[0]], query.text), gold=frozenset())
            for query in answered(other)[::4]
        ]
        yield from store.ask(answered(sample)[::4], _CONVERSATION, answerable=True)
        yield from store.ask(strange, f"{_CONVERSATION}, another's", answerable=False)


def _speakers(sample: Sample) -> list[str]:
    return sorted({unit.speaker for unit in sample.units})


def of_translations(make: Callable[[Sample, str], Store]) -> Iterator[Asked]:
    """Memories in one language, asked in the other, with vectors alone: no word is the same.

    Large stores have half of the translations among other memories, small ones a third. Both are asked for others, too.
    """
    lines: list[list[str]] = json.loads((Path(__file__).parent / "across.json").read_text("utf-8"))
    data: dict[str, Any] = json.loads((Path(__file__).parent / "updates.json").read_text("utf-8"))
    for language, other, said, question in (("en", "zh", 0, 3), ("zh", "en", 1, 2)):
        others = [fields[1] for fields in data[language]["learnt"]["updates"]]
        for size, parts in ((" large", 2), (" small", 3)):
            for part in range(parts):
                mine = lines[part::parts]
                texts = [line[said] for line in mine] + (others[part::_ONE_OF] if parts == 2 else [])
                units = [Unit(str(number), text, "", "", 0, 0.0) for number, text in enumerate(texts)]
                asked = [
                    Query(line[question], line[question], frozenset({str(number)}), _ACROSS, 0.0)
                    for number, line in enumerate(mine)
                ]
                store = make(Sample(f"across{size}-{language}-{part}", units, asked), language)
                lacking = [
                    Query(line[question], line[question], frozenset(), _ACROSS, 0.0)
                    for line in lines[(part + 1) % parts :: parts]
                ]
                found = [
                    *store.ask(asked, f"{_ACROSS},{size}", answerable=True),
                    *store.ask(lacking, f"{_ACROSS},{size}, another's", answerable=False),
                    *store.ask(strangers(other), f"{_ACROSS},{size}, strangers", answerable=False),
                ]
                yield from (one for one in found if "dense" in one.values[0])


def of_longmemeval(make: Callable[[Sample, str], Store], folder: Path) -> Iterator[Asked]:
    """The questions that the encoder was not trained on, in stores of several sizes."""
    [pooled] = load("longmemeval", folder)
    abstentions = _abstentions(folder / FILES["longmemeval"])
    unseen = {unit.session for store in held_out(folder)["assistant"] for unit in store.units}
    places = {unit.session: _place(unit.session) if unit.session in unseen else "" for unit in pooled.units}
    made = {
        place: make(Sample(f"longmemeval-{place}", units, []), "en")
        for place in sorted({place for place in places.values() if place})
        if (units := [unit for unit in pooled.units if places[unit.session] == place])
    }
    names = list(made)
    for number, place in enumerate(names):
        store, mine = made[place], [query for query in pooled.queries if places[min(query.gold_sessions)] == place]
        yield from store.ask(mine, "LongMemEval", answerable=True)
        elsewhere = made[names[(number + 1) % len(names)]]
        yield from elsewhere.ask(mine, "LongMemEval, another's", answerable=False)
        lacking = [query for query in abstentions if places.get(min(query.gold_sessions)) == place]
        yield from store.ask(lacking, "LongMemEval, abstention", answerable=False)
        yield from store.ask(strangers("en")[number % 3 :: 3], "LongMemEval, strangers", answerable=False)


def _place(session: str) -> str:
    """The store of a session: of two large ones and ten small ones."""
    # The sessions of one question have ids with the same stem.
    number = zlib.crc32(session.rsplit("_", 1)[0].encode())
    return ("half", "half", "half", "quarter", "quarter", f"small-{number // 7 % 10}", "half")[number % 7]


def _abstentions(path: Path) -> list[Query]:
    """Its questions about something that was never said, though something like it was."""
    found: list[Query] = []
    for asked in json.loads(path.read_text("utf-8")):
        if asked["question_id"].endswith("_abs"):
            now = datetime.strptime(asked["question_date"][:10], "%Y/%m/%d").replace(tzinfo=UTC).timestamp()
            sessions = frozenset(asked["answer_session_ids"])
            found.append(Query(asked["question_id"], asked["question"], frozenset(), "abstention", now, sessions))
    return found


# Fitting


class Fitted(NamedTuple):
    """The questions with the probabilities of their hits, by models that did not see them."""

    asked: list[Asked]
    odds: list[Floats]
    shares: Floats
    """What each question counts."""


def shares_of(asked: Sequence[Asked]) -> Floats:
    """Both languages count the same, and all sources of a language that have an answer, or have none."""
    sizes = Counter(one.group for one in asked)
    sources = Counter(group[:2] for group in sizes)
    total = {True: 1.0 - UNANSWERABLE, False: UNANSWERABLE}
    return np.array(
        [LESS.get(one.source, 1.0) * total[one.answerable] / sources[one.group[:2]] / sizes[one.group] for one in asked]
    )


def logistic(names: Sequence[str], values: Sequence[Values], targets: Sequence[bool], shares: Floats) -> LogisticModel:
    """The likeliest weights, by Newton's method."""
    table = np.array([[one[name] for name in names] for one in values])
    middle, width = table.mean(0), table.std(0) + 1e-9
    scaled = np.column_stack((np.ones(len(table)), (table - middle) / width))
    wanted, weight = np.array(targets, float), shares / shares.sum()
    cost = np.full(scaled.shape[1], HELD_SMALL)
    cost[0] = 0.0
    found = np.zeros(scaled.shape[1])
    for _ in range(20):
        chance = 1.0 / (1.0 + np.exp(-np.clip(scaled @ found, -30.0, 30.0)))
        slope = scaled.T @ (weight * (chance - wanted)) + cost * found
        bend = (scaled * (weight * chance * (1.0 - chance))[:, None]).T @ scaled + np.diag(cost + 1e-9)
        found -= np.linalg.solve(bend, slope)
    own = found[1:] / width
    return LogisticModel(
        round(float(found[0] - own @ middle), 3), {n: round(float(w), 3) for n, w in zip(names, own, strict=True)}
    )


def fit(questions: Sequence[Asked], vectors: Sequence[str]) -> RelevanceModel:
    """The two models over the values of words and of some vectors, of questions whose hits have all of them.

    The place of a hit would say much about it, but a stranger is first as well: with it, evidence in the tenth place is
    less likely than a stranger in the first, and no least relevance parts them.
    """
    asked = [one for one in questions if not one.source.startswith(_CONVERSATION)]
    conversations = [one for one in questions if one.source.startswith(_CONVERSATION)]
    shares = shares_of(asked)
    words = [name for name in _WORDS if name in asked[0].values[0]]
    names = [f"best_{name}" for name in (*words, *vectors)]
    best, answerable = [one.values[0] for one in asked], [one.answerable for one in asked]
    known = logistic(names, best, answerable, shares)
    # Two kinds of vectors say nearly the same, and what is nearer must not speak against an answer.
    against = {f"best_{name}" for name in vectors if known.weights[f"best_{name}"] < 0.0}
    if against:
        known = logistic([name for name in names if name not in against], best, answerable, shares)
    hits = [
        (values, gold, share)
        for one, share in zip(asked, shares, strict=True)
        if one.answerable
        for values, gold in zip(one.values, one.gold, strict=True)
    ]
    values, gold, weight = zip(*hits, strict=True)
    return RelevanceModel(
        _with_named(known, conversations), logistic([*words, *vectors], values, gold, np.array(weight))
    )


def _with_named(model: LogisticModel, conversations: Sequence[Asked]) -> LogisticModel:
    """The model with what it adds that a query names a speaker: the likeliest, all else being as it is.

    Whoever asks by name asks for what was said there, but all that a speaker said is a little like the question.
    """
    named = [
        one for one in conversations if one.values[0].get("named") and one.values[0].keys() >= model.weights.keys()
    ]
    if not named:
        return model
    shares, answerable = shares_of(named), np.array([one.answerable for one in named], float)
    odds = np.array([model.base + sum(w * one.values[0][name] for name, w in model.weights.items()) for one in named])
    added = 0.0
    for _ in range(20):
        chance = 1.0 / (1.0 + np.exp(-np.clip(odds + added, -30.0, 30.0)))
        added -= float((shares * (chance - answerable)).sum() / (shares * chance * (1.0 - chance)).sum())
    return LogisticModel(model.base, {**model.weights, "best_named": round(added, 3)})


def with_values(asked: Iterable[Asked], vectors: Sequence[str], *, across: bool = False) -> list[Asked]:
    """The questions that are judged by these values of vectors and no others, and by words unless ``across`` languages.

    So Chinese questions, which have no late interaction, have a model of their own: their cosines are higher.
    """
    return [
        one
        for one in asked
        if one.values and one.source.startswith(_ACROSS) is across
        if all(("held" in values) is not across and values.keys() >= set(vectors) for values in one.values)
        if set(one.values[0]).isdisjoint({*_VECTORS} - {*vectors})
    ]


def _each_alone(values: Values) -> dict[str, Floats]:
    """The values of one hit as the models take them."""
    return {name: np.array([value]) for name, value in values.items()}


def cross_validated(asked: list[Asked], vectors: Sequence[str]) -> Fitted:
    """Every question judged by a model that was fitted to the other folds."""
    odds: list[Floats] = [np.zeros(0)] * len(asked)
    for fold in range(FOLDS):
        model = fit([one for one in asked if one.fold != fold], vectors)
        for at, one in enumerate(asked):
            if one.fold == fold:
                odds[at] = np.array([model.relevances(_each_alone(values))[0] for values in one.values])
    return Fitted(asked, odds, shares_of(asked))


# What is told


def reliability(fitted: Fitted) -> list[str]:
    """The probability that was told and the one that was seen, in ten bins, as lines of a table."""
    told = np.concatenate(fitted.odds)
    seen = np.concatenate([np.array(one.gold, float) for one in fitted.asked])
    weight = np.repeat(fitted.shares, [len(one) for one in fitted.odds])
    bins = np.minimum((10 * told).astype(int), 9)
    lines: list[str] = ["| predicted | mean predicted | observed | hits |", "|---|---|---|---|"]
    for number in range(10):
        mine = bins == number
        if mine.any():
            means = [np.average(some[mine], weights=weight[mine]) for some in (told, seen)]
            lines.append(
                f"| {number / 10:.1f} to {(number + 1) / 10:.1f} | {means[0]:.3f} | {means[1]:.3f} | {mine.sum():,} |"
            )
    return lines


def outcomes(fitted: Fitted) -> list[str]:
    """For each source: how many questions find nothing (without an answer), or keep evidence (with one), by threshold."""
    lines = [
        f"| questions | | {' | '.join(f'{least:g}' for least in THRESHOLDS)} |",
        f"|---|---|{'---|' * len(THRESHOLDS)}",
    ]
    for group in sorted({one.group for one in fitted.asked}, key=lambda group: (not group[1], group[0], group[2])):
        mine = [(one, odds) for one, odds in zip(fitted.asked, fitted.odds, strict=True) if one.group == group]
        if group[1]:
            mine = [(one, odds) for one, odds in mine if any(one.gold)]
            shares = [_mean((np.array(one.gold) & (odds >= least)).any() for one, odds in mine) for least in THRESHOLDS]
        else:
            shares = [_mean(not (odds >= least).any() for _, odds in mine) for least in THRESHOLDS]
        what = "keep evidence" if group[1] else "find nothing"
        cells = " | ".join(f"{100 * share:.0f}" for share in shares)
        lines.append(f"| {group[2]}, {group[0]} ({len(mine):,}) | {what} | {cells} |")
    return lines


def _mean(found: Iterable[Any]) -> float:
    some = [bool(one) for one in found]
    return sum(some) / max(len(some), 1)


def told_of(kinds: Mapping[str, Sequence[Any]]) -> str:
    """The page about all models, by the names of their kinds."""
    lines = [
        "# Relevance\n\nMeasured by `python -m benchmarks.recall.calibrate`, by models that did not see the question (five "
        f"folds). Of each question the first {HITS} hits are judged. Questions with an answer count only where evidence is "
        f"among these. Shares are percents of the questions, by the least relevance; the default is {MIN_RELEVANCE:g}.",
    ]
    for name, (asked, vectors) in kinds.items():
        fitted = cross_validated(asked, vectors)
        lines += [f"\n## {name}\n\n{len(asked):,} questions.\n", *reliability(fitted), "", *outcomes(fitted)]
    return "\n".join(lines) + "\n"


def gathered(folder: Path, stores: Path, *, talks: int) -> tuple[list[Asked], str]:
    """All questions with the values of their hits, and the name of the embedder."""
    # Loading the models takes a while; --help should not.
    from memwell.models.local import LocalEmbedder

    stores.mkdir(parents=True, exist_ok=True)
    embedder = LocalEmbedder()

    def make(sample: Sample, language: str) -> Store:
        return Store(sample, language, stores, embedder)

    asked: list[Asked] = []
    for found in (
        of_translations(make),
        of_statements(make),
        of_conversations(make),
        of_madial(make, folder),
        of_dialogues(make, talks),
        of_longmemeval(make, folder),
    ):
        asked += found
        print(f"{len(asked):,} questions asked", flush=True)
    return asked, embedder.name


def main() -> None:
    """Fit, print what came of it, and write the models when asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.calibrate", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the data sets are")
    parser.add_argument("--stores", type=Path, required=True, help="a folder for the stores that are asked")
    parser.add_argument("--talks", type=int, default=6, help="how many dialogues of each language")
    parser.add_argument("--write", action="store_true", help="write relevance.json and benchmarks/results/relevance.md")
    options = parser.parse_args()
    asked, embedder = gathered(options.folder, options.stores, talks=options.talks)
    known = {name for one in asked for values in one.values for name in values}
    ways = [_VECTORS[:count] for count in range(len(_VECTORS), -1, -1) if known.issuperset(_VECTORS[:count])]
    kinds: dict[str, list[Any]] = {
        " and ".join(("Words", *vectors)): [with_values(asked, vectors), vectors] for vectors in ways
    }
    dense = _VECTORS[:1]
    kinds["In another language"] = [with_values(asked, dense, across=True), dense]
    page = told_of(kinds)
    print(page)
    if options.write:
        models = tuple(fit(*kind) for kind in kinds.values())
        calibration = Calibration(_NOTE, embedder, models)
        text = json.dumps(msgspec.to_builtins(calibration), indent=1, ensure_ascii=False)
        (ROOT / "src/memwell/longterm/relevance.json").write_text(text + "\n", "utf-8")
        (ROOT / "benchmarks/results/relevance.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
