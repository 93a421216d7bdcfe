"""``python -m benchmarks.recall.updates``: whether recall tells what is true now from what was superseded.

Each update of ``updates.json`` is two statements with 24 other memories between them (none, where the later one takes the
earlier one back at once), and a question about the present; some have one about the past. The near misses are two
statements of which neither supersedes the other. The pairs under ``learnt`` are what the model was fitted to; those under
``measured`` and ``plain`` were written by others, half of ``measured`` without a word of change. Those under ``further``
were written by who wrote the rules of reading, before the rules: what is rescheduled, taken back, corrected or ended. The
rules were written with the wrong cases of all three parts in sight; the model never saw one of them. Those under ``of a
kind`` are two things of which the same is said, and one thing that gets another value, in the same words: half of them
(``unseen``) were counted only while the rule was written. ``people.json`` has
what made-up people say of themselves: some say only what is true at once, the others change some of it later; here too
``measured`` was not fitted to. The figures go to ``benchmarks/results/updates.json`` and ``updates.md``.

``python -m benchmarks.recall.updates learn DATA_FOLDER`` fits the model (``superseding.npz``) again: the learnt pairs are
what supersedes and what does not, a person's changes supersede what they change and nothing else, and in the talk of
FriendsQA, MADial-Bench and generated dialogues nothing does.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.encoder.data import held_out
from benchmarks.recall.dialogues import dialogues
from benchmarks.recall.evaluate import Sample, load
from memwell.longterm import recall
from memwell.longterm.superseding import (
    LEAST,
    ComparedVectors,
    PairModel,
    SupersedingModels,
    default_models,
    may_replace,
    values_of,
)
from memwell.models.local import LocalEmbedder
from memwell.runtime.engine import Engine

RESULTS = Path(__file__).resolve().parents[1] / "results"
DATA = Path(__file__).with_name("updates.json")
PEOPLE = Path(__file__).with_name("people.json")
MODEL = Path(__file__).parents[2] / "src/memwell/longterm/superseding.npz"
PARTS = ("learnt", "plain", "measured", "further", "of a kind", "of a kind, unseen")
TAKEN_BACK = "taken back"
FOLDS = 5
NOTE = (
    "Learnt by benchmarks/recall/updates.py from pairs of statements in English and Chinese and from what made-up people "
    "say of themselves, all written for it, and from talk in which nothing is superseded: parts of FriendsQA (Apache-2.0) "
    "that the encoder was not trained on, MADial-Bench zh (MIT) and generated dialogues."
)
_BETWEEN = 24
_START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_ANSWERED_WITHIN = 3
_TOGETHER, _BESIDE, _ONE_OF = 12, 6, 16
_SHARES = {"updates": 1.4, "near misses": 1.0, "of two cases": 0.3, "talk": 0.3, "of a person": 1.0}
"""What a pair counts. Of those of two cases and of the talk one of sixteen is there, of those of a person every other."""
_UNITS, _ROUNDS, _AT_ONCE, _RATE, _SMALL = 128, 14, 256, 1e-3, 0.3
"""How many units there are, how often each pair is seen, how many at once, how fast it learns, how small weights stay."""
_ASKED_OF_EACH = 120
_MEASURED = 300
_BEST = 10
_PROMPT = 2000
Floats = NDArray[np.float32]
Person = Mapping[str, Any]


class Case(NamedTuple):
    """Two statements and the questions about them."""

    part: str
    kind: str
    older: str
    newer: str
    question: str
    past: str = ""

    @property
    def is_update(self) -> bool:
        """Whether the newer statement supersedes the older one."""
        return bool(self.kind)

    @property
    def fold(self) -> int:
        return zlib.crc32(self.older.encode()) % FOLDS


class OnceEmbedder(LocalEmbedder):
    """The shipped embedder, which embeds a text once: the memories between are the same in every space."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[str, tuple[NDArray[np.float32], bytes]] = {}

    def embed_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[bytes]]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._made]
        if missing:
            self._made.update(zip(missing, zip(*super().embed_tokens(missing), strict=True), strict=True))
        made = [self._made[text] for text in texts]
        return np.array([row for row, _ in made], np.float32), [tokens for _, tokens in made]


def cases(data: dict[str, Any], part: str) -> Iterator[Case]:
    """The updates and the near misses of one part of a language."""
    yield from (Case(part, *fields) for fields in data[part]["updates"])
    yield from (Case(part, "", *fields) for fields in data[part]["near_misses"])


def remembered(engine: Engine, case: Case, place: int, between: Sequence[str]) -> tuple[str, str]:
    """Store the two statements with others between and after them; returns their ids."""
    # Another stretch of the others for each case, so that no one neighbour decides.
    others = [between[(place + step) % len(between)] for step in range(len(between))]
    # What is taken back is taken back at once: "Just kidding!" means what was said before it.
    at_once = case.kind == TAKEN_BACK
    first = _BETWEEN * at_once
    texts = [*others[:first], case.older, *others[first:_BETWEEN], case.newer, *others[_BETWEEN:]]
    times = [_START + timedelta(days=day) for day in range(len(texts))]
    if at_once:
        times[first + 1] = times[first] + timedelta(minutes=1)
    stored = [engine.remember(text, speaker="user", time=time).ids[0] for text, time in zip(texts, times, strict=True)]
    engine.flush()
    return stored[first], stored[_BETWEEN + 1]


def judged(engine: Engine, case: Case, ids: tuple[str, str]) -> dict[str, Any]:
    """What recall made of one case."""
    older, newer = ids
    hits = engine.recall(case.question, limit=len(engine.memories()))
    places = {hit.id: place for place, hit in enumerate(hits)}
    flagged = {hit.id: hit.superseded_by for hit in hits if hit.superseded_by}
    found = {
        "current first": places[newer] < places[older],
        "flagged": flagged.get(older) == newer,
        "false flags": len(flagged) - (case.is_update and flagged.get(older) == newer),
        "memories": len(hits) - case.is_update,
    }
    if case.past:
        then = [hit.id for hit in engine.recall(case.past, limit=len(hits))]
        found["past answered"] = older in then[:_ANSWERED_WITHIN]
        found["outdated first"] = then.index(older) < then.index(newer)
    return found


def measured(language: str, data: dict[str, Any], part: str) -> list[dict[str, Any]]:
    """What recall makes of every case of a part, each in a space of its own."""
    found: list[dict[str, Any]] = []
    with memwell.open("memory:", embedder=OnceEmbedder(), work=False) as engine:
        every = list(cases(data, part))
        # Some of many stand for all.
        for place, case in enumerate(every[:: max(len(every) // _MEASURED, 1)]):
            own = engine.at(f"{language}-{place}")
            found.append({"case": case, **judged(own, case, remembered(own, case, place, data["between"]))})
    return found


def summary(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The shares in percent."""
    updates = [one for one in found if one["case"].is_update]
    past = [one for one in updates if one["case"].past]
    misses = [one for one in found if not one["case"].is_update]
    return {
        "updates": len(updates),
        "current first": _percent([one["current first"] for one in updates]),
        "flagged with the right link": _percent([one["flagged"] for one in updates]),
        "near misses": len(misses),
        "near misses with the later one first": _percent([one["current first"] for one in misses]),
        "near misses flagged by the later one": _percent([one["flagged"] for one in misses]),
        "near misses flagged": _percent([bool(one["false flags"]) for one in misses]),
        "memories not superseded": sum(one["memories"] for one in found),
        "of these flagged": round(
            100 * sum(one["false flags"] for one in found) / sum(one["memories"] for one in found), 2
        ),
        "questions about the past": len(past),
        f"past answered within {_ANSWERED_WITHIN}": _percent([one["past answered"] for one in past]),
        "outdated first, where the past is asked for": _percent([one["outdated first"] for one in past]),
    }


def asked_of(person: Person, store: Engine) -> Iterator[dict[str, Any]]:
    """What recall makes of each question to a person: of the answer, of what it supersedes, and of the others."""
    ids = stored_ids(store, person)
    changes = person.get("changes", ())
    later = {ids[place]: ids[len(person["statements"]) + at] for at, (place, *_) in enumerate(changes)}
    plain = [(ids[place], "", question) for place, question in person.get("questions", ())]
    for answer, outdated, question in plain + [(later[ids[at]], ids[at], asked) for at, _, asked, _ in changes]:
        hits = store.recall(question, limit=_BEST)
        flags = {hit.id: hit.superseded_by for hit in hits if hit.superseded_by}
        found = [hit.id for hit in hits if hit.id in (answer, outdated)]
        entered = store.context(question, budget=_PROMPT).receipt.memories
        yield {
            "entered": len(entered),
            "in prompt": answer in entered,
            "changed": bool(outdated),
            "first": found[:1] == [answer] and (bool(outdated) or hits[0].id == answer),
            "linked": flags.get(outdated) == answer,
            "wrongly": answer in flags,
            "any wrongly": not flags.keys() <= later.keys(),
        }


def of_people(language: str, people: Sequence[Person]) -> dict[str, Any]:
    """The shares in percent over all questions to people who changed nothing, and to those who did."""
    with memwell.open("memory:", embedder=OnceEmbedder(), work=False) as engine:
        found = [
            one
            for number, person in enumerate(people)
            for one in asked_of(person, engine.at(f"{language}-people-{number}"))
        ]
    plain, changed = ([one for one in found if one["changed"] is which] for which in (False, True))
    return {
        "questions about what did not change": len(plain),
        "answer first": _percent([one["first"] for one in plain]),
        "answer called outdated": _percent([one["wrongly"] for one in plain]),
        "anything called outdated": _percent([one["any wrongly"] for one in plain]),
        "questions about what changed": len(changed),
        "current before outdated": _percent([one["first"] for one in changed]),
        "outdated with the right link": _percent([one["linked"] for one in changed]),
        "current called outdated": _percent([one["wrongly"] for one in changed]),
        "anything else called outdated": _percent([one["any wrongly"] for one in changed]),
        "memories in a prompt, on average": round(sum(one["entered"] for one in found) / len(found), 1),
        "answer in the prompt": _percent([one["in prompt"] for one in found]),
    }


def _percent(flags: Sequence[bool]) -> float:
    return round(100 * sum(flags) / max(len(flags), 1), 1)


def page(known: dict[str, Any]) -> str:
    """The figures as a page."""
    return (
        "# What is true now\n\nMeasured by `python -m benchmarks.recall.updates` through the public interface, with the "
        "shipped defaults: two statements with 24 other memories between them and some after, each pair in a space of its "
        f"own. Figures in percent unless they are counts. {known['date']}.\n\nThe pairs were written for this measurement. "
        "The model was fitted to *learnt*, of which some are measured. The writers of *measured* saw neither these pairs "
        "nor the program; they were "
        "asked to tell half of the changes without a word of change (*we buried Miso under the apple tree*); those of "
        "*plain* to tell them in ordinary words, and near misses in the same words. *further* is what was rescheduled, "
        "taken back, corrected or ended, by the writer of the rules of reading, before the rules; 300 such pairs in "
        "each language, about other things, were added to *learnt* then. *of a kind* is two things of which the same is "
        "said (*the oak shelf is two metres tall*, *the pine shelf is one metre tall*), and one thing with another value, "
        "by the writer of that rule, before the rule; *unseen* is the half that was only counted. No pair of these "
        "five was fitted to; which of the others were wrong was known when the rules were written.\n\n"
        f"{_table(known['figures'])}\n\n## What people say of themselves\n\n"
        "Made-up people, by writers who saw neither the program nor the pairs: some say 50 things that are all true at "
        "once, often about neighbouring things (a medicine in the morning, tea in the evening), and are asked about 25; "
        "the others say 30 and then 15 that each make one of these outdated. The model was fitted to forty-nine people of "
        f"each language; these are twenty-three others.\n\n{_table(known['people'])}\n"
    )


def _table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Figures by name: a column each."""
    rows = next(iter(figures.values()))
    lines = [f"| {row} | {' | '.join(str(one[row]) for one in figures.values())} |" for row in rows]
    return "\n".join([f"| | {' | '.join(figures)} |", f"|{'---|' * (1 + len(figures))}", *lines])


# Learning


class Pair(NamedTuple):
    """An earlier and a later hit of a question, and whether the later one supersedes the earlier one."""

    values: dict[str, float]
    older: NDArray[np.float32]
    newer: NDArray[np.float32]
    kind: str
    """One of ``_SHARES``."""
    fold: int

    @property
    def target(self) -> bool:
        return self.kind == "updates"


@contextmanager
def noted() -> Generator[list[Any]]:
    """The hits that the recalls in this block compare, and nothing is superseded."""
    found: list[Any] = []
    usual = recall.outdated, recall.default_models
    # The vectors of a new embedder are not those of the model that is to be replaced.
    models = default_models()._replace(embedder=LocalEmbedder().name)

    def note(_query: str, candidates: Any, vectors: ComparedVectors | None, _taken_back: Any) -> dict[str, str]:
        found.append((candidates, vectors))
        return {}

    recall.outdated, recall.default_models = note, lambda: models
    try:
        yield found
    finally:
        recall.outdated, recall.default_models = usual


def compared_pairs(
    given: Any,
    fold: int,
    kind: str,
    meant: Mapping[tuple[str, str], bool],
    without: Collection[tuple[str, str]] = (),
    one_of: int = _ONE_OF,
) -> Iterator[Pair]:
    """The pairs of hits, of ``meant`` all (each an update or not), of the others, of a ``kind``, some; none ``without``."""
    candidates, vectors = given
    none = np.zeros(0, np.float32)
    # There are very many others, so some stand for all.
    pairs = [
        (older, newer)
        for older, newer in permutations(range(len(candidates)), 2)
        for ids in [(candidates[older].id, candidates[newer].id)]
        if (ids in meant or ((older + 7 * newer) % one_of == 0 and ids not in without))
        and may_replace(candidates[newer], candidates[older])
    ]
    if not pairs:
        return
    for (older, newer), values in zip(pairs, values_of(candidates, vectors, pairs), strict=True):
        ids = candidates[older].id, candidates[newer].id
        rows = (none, none) if vectors is None else (vectors.shared[older], vectors.shared[newer])
        yield Pair(values, *rows, ("updates" if meant[ids] else "near misses") if ids in meant else kind, fold)


def pairs_of_cases(language: str, data: dict[str, Any], embedder: LocalEmbedder | None) -> Iterator[Pair]:
    """The pairs of the learnt cases, twelve cases in each store, so that statements of different cases meet too."""
    with memwell.open("memory:", embedder=embedder, work=False) as engine, noted() as found:
        for fold in range(FOLDS):
            own = [case for case in cases(data, "learnt") if case.fold == fold]
            # Neighbours in the file have one writer.
            groups = len(own) // _TOGETHER
            for number in range(groups):
                group = own[number::groups]
                store = engine.at(f"{language}-{fold}-{number}")
                beside = [data["between"][(number + step) % len(data["between"])] for step in range(_BESIDE)]
                said = [case.older for case in group] + beside + [case.newer for case in group]
                ids = [
                    store.remember(text, speaker="user", time=_START + timedelta(days=day)).ids[0]
                    for day, text in enumerate(said)
                ]
                store.flush()
                for place, case in enumerate(group):
                    store.recall(case.question)
                    meant = {(ids[place], ids[place + len(group) + _BESIDE]): case.is_update}
                    others = {(ids[at], ids[at + len(group) + _BESIDE]) for at in range(len(group)) if at != place}
                    yield from compared_pairs(found[-1], fold, "of two cases", meant, others)


def stored_ids(engine: Engine, person: Person) -> list[str]:
    """Store what a person says, a day between each two, the changes last; returns the ids."""
    said = [*person["statements"], *(later for _, later, *_ in person.get("changes", ()))]
    ids = [
        engine.remember(text, speaker="user", time=_START + timedelta(days=day)).ids[0] for day, text in enumerate(said)
    ]
    engine.flush()
    return ids


def pairs_of_people(language: str, people: Sequence[Person], embedder: LocalEmbedder | None) -> Iterator[Pair]:
    """The pairs of what people say of themselves: of those with changes, each with what it changes supersedes it."""
    with memwell.open("memory:", embedder=embedder, work=False) as engine, noted() as found:
        for number, person in enumerate(people):
            store = engine.at(f"{language}-people-{number}")
            ids = stored_ids(store, person)
            changes = {
                (ids[place], ids[len(person["statements"]) + at]): question
                for at, (place, _, question, _) in enumerate(person.get("changes", ()))
            }
            plain = [(question, {}) for _, question in person.get("questions", ())]
            for question, meant in plain + [(question, {pair: True}) for pair, question in changes.items()]:
                store.recall(question)
                yield from compared_pairs(found[-1], number % FOLDS, "of a person", meant, changes.keys(), one_of=2)


def pairs_of_talk(stores: Sequence[Sample], embedder: LocalEmbedder | None) -> Iterator[Pair]:
    """The pairs in talk, where nothing is superseded."""
    with memwell.open("memory:", embedder=embedder, work=False) as engine, noted() as found:
        for sample in stores:
            own = engine.at(sample.name)
            for unit in sample.units:
                when = datetime.fromtimestamp(unit.time, UTC) if unit.time else None
                own.remember(
                    unit.text or "…", id=unit.id, speaker=unit.speaker or None, session=unit.session or None, time=when
                )
            own.flush()
            for query in sample.queries[:_ASKED_OF_EACH]:
                own.recall(query.text, now=datetime.fromtimestamp(query.now, UTC) if query.now else None)
                yield from compared_pairs(found[-1], zlib.crc32(query.text.encode()) % FOLDS, "talk", {})


def fit(some: Sequence[Pair], *, vectors: bool) -> PairModel:
    """The model under which the targets are likeliest; the same pairs give the same model."""
    names = tuple(name for name in some[0].values if vectors or "alike" not in name)
    values = np.array([[one.values[name] for name in names] for one in some], np.float32)
    middle, spread = values.mean(0), np.maximum(values.std(0), 0.05)
    targets = np.array([one.target for one in some], np.float32)
    shares = np.array([_SHARES[one.kind] for one in some], np.float32)
    older, newer = np.array([one.older for one in some]), np.array([one.newer for one in some])
    # Numbers of a vector are as large as other values then.
    scale = np.float32(older.shape[1] ** 0.5 / 2)
    random = np.random.default_rng(7)
    inputs = len(names) + (4 * older.shape[1] if vectors else 0)
    layers = [
        random.standard_normal((inputs, _UNITS), np.float32) / np.float32(inputs**0.5),
        np.zeros(_UNITS, np.float32),
        random.standard_normal(_UNITS, np.float32) / np.float32(_UNITS**0.5),
        np.zeros(1, np.float32),
    ]
    moments = [(np.zeros_like(layer), np.zeros_like(layer)) for layer in layers]
    steps = _ROUNDS * len(some) // _AT_ONCE
    for step in range(1, steps + 1):
        chosen = random.integers(len(some), size=_AT_ONCE)
        table = (values[chosen] - middle) / spread
        if vectors:
            one, other = older[chosen] * scale, newer[chosen] * scale
            table = np.hstack([table, one, other, one * other, np.abs(one - other)])
        # Half of the inputs and units are left out each time, so that none is relied on.
        table *= np.float32(2.0) * (random.random(table.shape, np.float32) < 0.5)
        kept = np.float32(2.0) * (random.random((_AT_ONCE, _UNITS), np.float32) < 0.5)
        units = table @ layers[0] + layers[1]
        shown = np.maximum(units, 0.0) * kept
        found = 1.0 / (1.0 + np.exp(-(shown @ layers[2] + layers[3])))
        slope = shares[chosen] * (found - targets[chosen]) / _AT_ONCE
        below = np.outer(slope, layers[2]) * kept * (units > 0.0)
        slopes = [table.T @ below, below.sum(0), shown.T @ slope, slope.sum(keepdims=True)]
        # The rate rises for three tenths of the steps and falls to nothing.
        part = step / steps
        rate = _RATE * (part / 0.3 if part < 0.3 else (1.0 + math.cos(math.pi * (part - 0.3) / 0.7)) / 2.0)
        for layer, new, (mean, square) in zip(layers, slopes, moments, strict=True):
            mean += 0.1 * (new - mean)
            square += 0.001 * (new * new - square)
            layer -= rate * _SMALL * layer
            layer -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    weights, start, odds, base = layers
    own = weights[: len(names)] / spread[:, None]
    of_older, of_newer, common, apart = np.split(weights[len(names) :] * scale, 4)
    start = start - middle @ own
    return PairModel(names, own, of_older, of_newer, common * scale, apart, start, np.append(odds, base))


def chances(model: PairModel, some: Sequence[Pair]) -> Floats:
    """What a model makes of pairs."""
    values = np.array([[one.values[name] for name in model.names] for one in some], np.float32)
    rows = np.array([row for one in some for row in (one.older, one.newer)])
    places = np.arange(0, len(rows), 2)
    return model.chances(values, rows, places, places + 1)


def cross_validated(some: Sequence[Pair], *, vectors: bool) -> Iterator[str]:
    """What models make of the pairs that they were not fitted to, as lines of a table."""
    found = np.zeros(len(some))
    for fold in range(FOLDS):
        places = [at for at, one in enumerate(some) if one.fold == fold]
        model = fit([one for one in some if one.fold != fold], vectors=vectors)
        found[places] = chances(model, [some[at] for at in places])
    groups = {name: found[[one.kind == name for one in some]] for name in _SHARES}
    yield f"| probability at least | {' | '.join(f'{name} ({len(own):,})' for name, own in groups.items())} |"
    yield f"|{'---|' * (1 + len(groups))}"
    for least in (0.2, 0.35, LEAST, 0.6, 0.7, 0.8):
        yield f"| {least} | {' | '.join(f'{100 * np.mean(own >= least):.2f} %' for own in groups.values())} |"


def learn(folder: Path, *, write: bool) -> None:
    """Fit both models and write them, or print what such models make of pairs that they were not fitted to."""
    data, people = (json.loads(file.read_text("utf-8")) for file in (DATA, PEOPLE))
    talk = [*held_out(folder)["friends"], *load("madial", folder), *dialogues(english=4, chinese=4, seed=4001)]
    models: list[PairModel] = []
    for embedder in (OnceEmbedder(), None):
        vectors = embedder is not None
        some = [pair for language, texts in data.items() for pair in pairs_of_cases(language, texts, embedder)]
        some += pairs_of_talk(talk, embedder)
        for language, some_people in people.items():
            some += pairs_of_people(language, some_people["learnt"], embedder)
        if write:
            models.append(fit(some, vectors=vectors))
            continue
        print(f"\nPairs that are called superseded, {'with' if vectors else 'without'} vectors:\n", flush=True)
        print(*cross_validated(some, vectors=vectors), sep="\n", flush=True)
    if write:
        SupersedingModels(NOTE, LocalEmbedder().name, *models).save(MODEL)


def main() -> None:
    """Measure both languages and write the figures; or learn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.updates", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    learning = commands.add_parser("learn", help="fit the model")
    learning.add_argument("folder", type=Path, help="where the data sets are")
    learning.add_argument(
        "--write",
        action="store_true",
        help="fit to all pairs and write src/memwell/longterm/superseding.npz, instead of the folds",
    )
    options = parser.parse_args()
    if options.command == "learn":
        learn(options.folder, write=options.write)
        return
    data = json.loads(DATA.read_text("utf-8"))
    figures: dict[str, Any] = {}
    for language, texts in data.items():
        started = time.process_time()
        for part in PARTS:
            figures[f"{language}, {part}"] = summary(measured(language, texts, part))
        print(f"{language}: {time.process_time() - started:.0f} s of CPU", flush=True)
    people = json.loads(PEOPLE.read_text("utf-8"))
    told_by = {language: of_people(language, some["measured"]) for language, some in people.items()}
    known = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "figures": figures, "people": told_by}
    (RESULTS / "updates.json").write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (RESULTS / "updates.md").write_text(page(known), "utf-8")
    print(page(known))


if __name__ == "__main__":
    main()
