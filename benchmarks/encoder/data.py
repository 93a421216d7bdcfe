"""Turn the public data sets into what ``train.py`` reads: ``python -m benchmarks.encoder.data DATA_FOLDER OUT_FOLDER``.

Every set becomes stores: the turns of some conversations in order, and questions with the turns that answer them. Texts are
cut into the word pieces of the shipped tokenizer here, so that training needs neither the texts nor memwell. Each question
has the turns that BM25 ranks highest and that do not answer it, as hard negatives. The stores of a set are dealt into five
folds. The first is held out, and the recipe is chosen on it. The made-up dialogues of the two parts have different seeds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.dialogues import dialogues
from benchmarks.recall.evaluate import Query, Sample, Unit, load
from memwell.language.segment import query_terms, segment
from memwell.longterm.snapshot import speaker_name
from memwell.models.local.encoder import WordPieces
from memwell.storage.parts import K1, B, inverse_frequency

WRITTEN = Path(__file__).with_name("written")
TURN_PIECES, QUERY_PIECES = 120, 40
HARD = 60
"""As many hard negatives are kept for each question."""
_NEIGHBOUR = 0.4
FOLDS = 5
"""One store in five is held out."""

Floats = NDArray[np.float32]


def friends(folder: Path) -> list[Sample]:
    """FriendsQA: questions about scenes of a television series, eight scenes a store."""
    scenes: list[tuple[list[Unit], list[Query]]] = []
    for part in ("dev", "tst"):
        for scene in _json(folder / "train" / f"friendsqa_{part}.json.gz")["data"]:
            title, talk = scene["title"], scene["paragraphs"][0]
            units = [
                _unit(title, at, said["utterance"], " and ".join(said["speakers"]))
                for at, said in enumerate(talk["utterances:"])
            ]
            queries = [
                _query(asked["id"], asked["question"], title, (one["utterance_id"] for one in asked["answers"]))
                for asked in talk["qas"]
            ]
            scenes.append((units, queries))
    return _grouped("friends", scenes, 8)


def meetings(folder: Path) -> list[Sample]:
    """QMSum: questions about meetings, a meeting a store; only those that a passage of under 40 turns answers."""
    found: list[tuple[list[Unit], list[Query]]] = []
    with gzip.open(folder / "train" / "qmsum.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            meeting = json.loads(line)
            name = f"meeting{number}"
            turns = meeting["meeting_transcripts"]
            units = [_unit(name, at, turn["content"], turn["speaker"]) for at, turn in enumerate(turns)]
            queries: list[Query] = []
            for at, asked in enumerate(meeting["specific_query_list"]):
                gold = [turn for low, high in asked["relevant_text_span"] for turn in range(int(low), int(high) + 1)]
                # A turn of one word answers nothing.
                gold = [turn for turn in gold if turn < len(units) and len(units[turn].text.split()) >= 5]
                if 0 < len(gold) < 40:
                    queries.append(_query(f"{name}-{at}", asked["query"], name, gold))
            found.append((units, queries))
    return _grouped("meetings", found, 1)


def chats(folder: Path) -> list[Sample]:
    """Molweni: questions about chats on computers, ten chats a store."""
    found: list[tuple[list[Unit], list[Query]]] = []
    for number, chat in enumerate(_json(folder / "train" / "molweni_test.json.gz")["data"]["dialogues"]):
        name = f"chat{number}"
        units = [_unit(name, at, said["text"], said["speaker"]) for at, said in enumerate(chat["edus"])]
        queries = [
            _query(asked["id"], asked["question"], name, gold)
            for asked in chat["qas"]
            if (gold := [at for at, unit in enumerate(units) if _answers(asked, unit)])
        ]
        found.append((units, queries))
    return _grouped("chats", found, 10)


def _answers(asked: dict[str, Any], unit: Unit) -> bool:
    return any(len(one["text"]) > 2 and one["text"].lower() in unit.text.lower() for one in asked["answers"])


def assistant(folder: Path) -> list[Sample]:
    """LongMemEval: questions about talks with an assistant, the sessions of 15 questions a store; gold is the turn."""
    whole = load("longmemeval", folder)[0]
    by_session: dict[str, list[Unit]] = {}
    for unit in whole.units:
        by_session.setdefault(unit.session, []).append(unit)
    # Questions that share a session stay together.
    asked = sorted((query for query in whole.queries if query.gold), key=lambda query: min(query.gold_sessions))
    stores: list[Sample] = []
    for at in range(0, len(asked), 15):
        part = asked[at : at + 15]
        sessions = dict.fromkeys(session for query in part for session in sorted(query.gold_sessions))
        units = [unit for session in sessions if session in by_session for unit in by_session[session]]
        stores.append(Sample(f"assistant{at}", units, part))
    return stores


_TURN = re.compile(r"(\d+)\.(\d+) ([^:：]+)[:：] *(.+)")
_ASKED = re.compile(r"\? (.+?) = ([\d. ]+)")
_SESSION = re.compile(r"@(\d+) (\d{4}-\d\d-\d\d)(?: (\d\d:\d\d))?")


def written(_: Path, language: str = "en") -> list[Sample]:
    """The conversations in ``written``: friends, families, teams, and people with an assistant; one a store."""
    texts = [path.read_text("utf-8") for path in sorted(WRITTEN.glob(f"{language}-*.txt"))]
    stores = [store for text in texts for store in re.split(r"(?m)^# store: ", text)[1:]]
    return [_written(f"written-{language}-{number}", store.splitlines()) for number, store in enumerate(stores)]


def _written(name: str, lines: Sequence[str]) -> Sample:
    units: list[Unit] = []
    queries: list[Query] = []
    times: dict[str, float] = {}
    for line in lines[1:]:
        if found := _SESSION.fullmatch(line):
            began = datetime.fromisoformat(f"{found[2]} {found[3] or '12:00'}").replace(tzinfo=UTC)
            times[found[1]] = began.timestamp()
        elif found := _TURN.fullmatch(line):
            session, at = f"{name}-{found[1]}", int(found[2])
            units.append(
                Unit(f"{name}:{found[1]}.{at}", found[4], found[3], session, at - 1, times[found[1]] + 60 * at)
            )
        elif found := _ASKED.fullmatch(line):
            gold = frozenset(f"{name}:{turn}" for turn in found[2].split())
            queries.append(Query(f"{name}-{len(queries)}", found[1], gold, "", max(times.values()) + 86_400))
        elif line:
            raise ValueError(f"{name}: no turn, session or question: {line}")
    return Sample(name, units, queries)


def written_chinese(folder: Path) -> tuple[list[Sample], list[Sample]]:
    """The written conversations in Chinese: those that are learnt from, and one in five, which is held out."""
    stores = written(folder, "zh")
    return [store for number, store in enumerate(stores) if number % FOLDS], stores[::FOLDS]


def made_up(seed: int, number: int) -> list[Sample]:
    """English dialogues of the generator."""
    return dialogues(english=number, chinese=0, seed=seed)


def _json(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def _unit(session: str, position: int, text: str, speaker: str) -> Unit:
    return Unit(f"{session}:{position}", text.strip(), speaker, session, position, 0.0)


def _query(identity: str, text: str, session: str, gold: Iterable[int]) -> Query:
    return Query(identity, text, frozenset(f"{session}:{at}" for at in gold), "", 0.0)


def _grouped(name: str, found: Sequence[tuple[list[Unit], list[Query]]], size: int) -> list[Sample]:
    return [
        Sample(
            f"{name}{at}",
            [unit for units, _ in found[at : at + size] for unit in units],
            [query for _, queries in found[at : at + size] for query in queries if query.gold],
        )
        for at in range(0, len(found), size)
    ]


class Words:
    """BM25 over the turns of a store; each turn also has a share of its neighbours' scores."""

    def __init__(self, store: Sample) -> None:
        documents = [segment(f"{unit.speaker} {unit.text}") for unit in store.units]
        self._postings: dict[str, dict[int, int]] = {}
        for at, words in enumerate(documents):
            for word, count in Counter(words).items():
                self._postings.setdefault(word, {})[at] = count
        lengths = np.array([len(words) for words in documents], np.float32)
        self._norms = K1 * (1.0 - B + B * lengths / max(float(lengths.mean()), 1.0))
        sessions = np.array([hash(unit.session) for unit in store.units])
        self._follows = np.concatenate([[False], sessions[1:] == sessions[:-1]])

    def scores(self, text: str) -> Floats:
        plain = np.zeros(len(self._norms), np.float32)
        for word in set(query_terms(text)):
            found = self._postings.get(word)
            if found:
                rows, counts = np.array(list(found)), np.array(list(found.values()), np.float32)
                worth = inverse_frequency(len(plain), len(rows))
                plain[rows] += worth * counts * (K1 + 1.0) / (counts + self._norms[rows])
        near = plain.copy()
        near[1:] += _NEIGHBOUR * np.where(self._follows[1:], plain[:-1], 0.0)
        near[:-1] += _NEIGHBOUR * np.where(self._follows[1:], plain[1:], 0.0)
        return near


def packed(store: Sample, pieces: WordPieces, fold: int, *, judged: bool) -> dict[str, Any]:
    """A store in numbers: turns as pieces with their session, questions with gold, hard negatives and maybe all scores."""
    words = Words(store)
    at = {unit.id: number for number, unit in enumerate(store.units)}
    sessions = {name: number for number, name in enumerate(dict.fromkeys(unit.session for unit in store.units))}
    turns = [[sessions[unit.session], *_pieces(pieces, unit)] for unit in store.units]
    queries: list[dict[str, Any]] = []
    for query in store.queries:
        gold = sorted(at[one] for one in query.gold if one in at)
        if not gold:
            continue
        scores = words.scores(query.text)
        # 1 for the question's own end piece: only the pieces of the text are kept.
        line: dict[str, Any] = {"t": pieces.encode(query.text, QUERY_PIECES + 2)[1:-1], "c": query.type, "g": gold}
        order = np.argsort(-scores, kind="stable")[: HARD + len(gold)]
        line["n"] = [int(one) for one in order if int(one) not in gold][:HARD]
        if judged:
            line["b"] = [round(float(one), 2) for one in scores]
        queries.append(line)
    return {"fold": fold, "turns": turns, "queries": queries}


def _pieces(pieces: WordPieces, unit: Unit) -> list[int]:
    name = speaker_name(unit.speaker)
    text = f"{name}: {unit.text}" if name else unit.text
    return pieces.encode(text, TURN_PIECES + 2)[1:-1]


SETS = {"friends": friends, "meetings": meetings, "chats": chats, "assistant": assistant, "written": written}


def held_out(folder: Path) -> dict[str, list[Sample]]:
    """The stores of each set that the encoder is not trained on."""
    return {name: stores(folder)[::FOLDS] for name, stores in SETS.items()}


def folds(folder: Path) -> Iterator[tuple[str, int, Sample]]:
    """Each store that may be learnt from, with the name of its set and its fold."""
    for name, stores in SETS.items():
        yield from ((name, number % FOLDS, store) for number, store in enumerate(stores(folder)))
    for fold, stores in enumerate((made_up(1001, 3), made_up(1, 60))):
        yield from (("made-up", fold, store) for store in stores)


def main() -> None:
    """Write ``stores.json.gz``: the stores of every set with their folds, and LoCoMo, which nothing is learnt from."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder.data", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("out", type=Path, help="where stores.json.gz is written")
    options = parser.parse_args()
    pieces = WordPieces()
    found: dict[str, list[dict[str, Any]]] = {}
    for name, fold, store in folds(options.data):
        # Each fold of LongMemEval is held out of some training; of the other sets the first alone.
        judged = fold == 0 or name == "assistant"
        found.setdefault(name, []).append(packed(store, pieces, fold, judged=judged))
    found["locomo"] = [packed(store, pieces, 0, judged=True) for store in load("locomo", options.data)]
    for name, stores in found.items():
        counts = [sum(len(store["queries"]) for store in stores if store["fold"] == fold) for fold in range(FOLDS)]
        print(f"{name}: {counts} questions in each fold", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    with gzip.open(options.out / "stores.json.gz", "wt", encoding="utf-8", compresslevel=6) as file:
        json.dump(found, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
