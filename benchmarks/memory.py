"""Long-term memory: to remember, to recall, and how fast what was remembered becomes searchable.

Texts have 20 words, half of them English, two fifths Chinese. For storing and for recalling, vectors of 896 numbers are
made beforehand and the same for everybody, so that no model is in the clock; what a model costs is measured apart.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.corpus import Directions, Writer
from benchmarks.measuring import Contender, Timing, cycle_through, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from benchmarks.rivals import Item, installed_rivals
from memwell.messages import Message, human
from memwell.models.local import LocalEmbedder
from memwell.models.local.encoder import TOKEN_DIMENSIONS
from memwell.models.ports import Embedder, QueryTokens
from memwell.records import Space, Thread
from memwell.runtime.engine import Engine
from memwell.storage.sqlite import SqliteBackend

DIMENSIONS = 896
_WORDS = 20
_CHARACTERS = 40
_BATCH = 500
_LIMIT = 10
_SPEAKERS = ("Ann", "Ben")
_SESSION = 20
_THREAD = Thread(Space("bench"), "thread")
APPEND = "memwell log.append"
REMEMBER = "memwell remember"
REMEMBER_SAID = "memwell remember, with speaker and session"
RECALL = "memwell recall"
RECALL_SAID = "memwell recall, memories of conversations"


def _short(text: str, words: int = _WORDS, characters: int = _CHARACTERS) -> str:
    """So many words of an English text, so many characters of a Chinese one."""
    return " ".join(text.split()[:words]) if text.isascii() else text[:characters]


def _texts(count: int, *, seed: int = 7) -> list[str]:
    writer = Writer(seed)
    return [_short(writer.text()) for _ in range(count)]


_TOLD = (
    "My sister lives in Lisbon and works for the city library, and",
    "I am allergic to peanuts and I prefer tea in the morning, but",
    "I moved to Berlin in May 2023 and bought a red bicycle, because",
    "We meet Tom every Friday at the pool, and last week",
)
_TOLD_CHINESE = (
    "我住在杭州，在一家银行工作，",
    "我对花生过敏，早上喜欢喝茶，",
    "我妹妹去年搬到了成都，",
    "上周五我和小王去爬山，",
)


def _telling(texts: Sequence[str]) -> list[str]:
    """Every second text begins with something that facts can be read from, as half of what people say does at most."""
    told = [(_TOLD if text.isascii() else _TOLD_CHINESE)[place // 2 % 4] for place, text in enumerate(texts)]
    return [
        _short(f"{start} {text.lower()}" if text.isascii() else start + text) if place % 2 == 0 else text
        for place, (start, text) in enumerate(zip(told, texts, strict=True))
    ]


def _queries(count: int) -> list[str]:
    writer = Writer(11)
    return [_short(writer.text(), 8, 14).rstrip(".。，") + "?" for _ in range(count)]


class Prepared(LocalEmbedder):
    """Hands out vectors that were drawn before. Who says a text does not change its vector.

    Token vectors are drawn too, as many as a text of that length has, and compared as those of the local embedder.
    """

    def __init__(self) -> None:
        super().__init__()
        self._random = np.random.default_rng(17)
        self._sources = [Directions(seed) for seed in (7, 8, 9)]
        self._rows: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        return "prepared"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def prepare(self, texts: Sequence[str]) -> None:
        """Draw the vectors of texts."""
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            drawn = np.hstack([source.draw(len(batch)) for source in self._sources])[:, :DIMENSIONS]
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
            self._rows.update(zip(batch, drawn, strict=True))

    @property
    def shared_from(self) -> int | None:
        return None

    def towards_answers(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        return vector

    def embed_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[bytes]]:
        tokens = [self._random.bytes(TOKEN_DIMENSIONS // 2 * _pieces(text)) for text in texts]
        return np.array([self._row(text) for text in texts]), tokens

    def embed_query(self, query: str) -> tuple[NDArray[np.float32], QueryTokens | None]:
        count = _pieces(query)
        vectors = self._random.normal(size=(count, TOKEN_DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return self._row(query), QueryTokens(vectors, np.full(count, 1 / count, np.float32), ["word"] * count)

    def listed(self, text: str) -> list[float]:
        """One vector as peers take it."""
        return self._row(text).tolist()

    def _row(self, text: str) -> NDArray[np.float32]:
        for speaker in _SPEAKERS:
            text = text.removeprefix(f"{speaker}: ")
        return self._rows[text]


def _pieces(text: str) -> int:
    return len(text.split()) * 5 // 4 + 1


def _said(texts: Sequence[str]) -> list[Message]:
    return [human(text, name=_SPEAKERS[number % 2]) for number, text in enumerate(texts)]


def _fill(engine: Engine, texts: Sequence[str], *, said: bool = False) -> None:
    """Remember texts, by themselves or as the conversations of two people, and give them words and vectors."""
    size = _SESSION if said else _BATCH
    for start in range(0, len(texts), size):
        batch = texts[start : start + size]
        if said:
            engine.remember(_said(batch), session=f"session-{start}")
        else:
            engine.remember(batch)
    engine.flush()


# To remember


class Writing:
    """So many memories of one user in memwell and in every rival, and as many messages in a conversation."""

    def __init__(self, folder: Path, size: int) -> None:
        folder.mkdir()
        self.size = size
        self._prepared = Prepared()
        texts, self._new = _texts(size), _texts(2_000, seed=13)
        self._prepared.prepare(texts + self._new)
        self._backend = SqliteBackend(folder / "log.db")
        for start in range(0, size, 1_000):
            self._backend.log.append(_THREAD, [human(text) for text in texts[start : start + 1_000]])
        self._engine = memwell.open(folder / "memwell.db", embedder=self._prepared, work=False)
        _fill(self._engine, texts)
        self.rivals, self.missing = installed_rivals(folder, DIMENSIONS, self._prepared.listed)
        for rival in self.rivals:
            step(f"remember: {rival.label} is filled")
            rival.fill([Item("user", text) for text in texts])

    def contenders(self) -> list[Contender]:
        """Who stores one text of 20 words."""
        engine, log = self._engine, self._backend.log
        text = cycle_through(self._new)
        return [
            Contender(APPEND, each(lambda one: log.append(_THREAD, [one])), lambda: human(text())),
            Contender(REMEMBER, each(engine.remember), text),
            Contender(REMEMBER_SAID, each(lambda one: engine.remember(one, speaker="Ann", session="talk")), text),
            *(Contender(rival.label, each(rival.add), lambda: Item("user", text())) for rival in self.rivals),
        ]

    def close(self) -> None:
        """Let go of all files."""
        for one in (self._engine, self._backend, *self.rivals):
            one.close()


def remember(folder: Path, *, quick: bool) -> Section:
    """Storing one text, with ever more memories there already."""
    section = Section("remember")
    sizes = (0, 200) if quick else (0, 1_000, 10_000)
    ratios: dict[str, dict[int, float]] = {REMEMBER: {}, REMEMBER_SAID: {}}
    for size in sizes:
        step(f"remember: {size:,} memories are there")
        bench = Writing(folder / f"remember-{size}", size)
        timings = take_turns(bench.contenders(), rounds=6 if quick else 40, batch=10)
        section.grids.append(_remember_grid(bench, timings))
        for name, found in ratios.items():
            found[size] = timings[name].ratio(timings[APPEND])
        bench.close()
    for name, found in ratios.items():
        shown = ", ".join(f"{ratio:.2f}× at {size:,}" for size, ratio in found.items())
        title = f"{name.removeprefix('memwell ')}: CPU to a durable append"
        section.figures.append(Figure(title, "≤ 2×", shown, max(found.values()) <= 2.0))
    return section


def _remember_grid(bench: Writing, timings: dict[str, Timing]) -> Grid:
    grid = Grid(
        f"Remember one text of {_WORDS} words, {bench.size:,} memories of one user are there",
        ["", "CPU µs", "wall µs", "CPU to append", "CPU to remember"],
        note=(
            "memwell returns when the text is on disk; its words, facts and vector are made afterwards (see indexing). "
            "Rivals are given the vector, and their add makes the text searchable. No model is in the clock."
        ),
    )
    for name, timing in timings.items():
        to_append, to_remember = timing.ratio(timings[APPEND]), timing.ratio(timings[REMEMBER])
        grid.add(name, f"{timing.cpu_us:.0f}", f"{timing.wall_us:.0f}", f"{to_append:.2f}×", f"{to_remember:.2f}×")
    for text in bench.missing:
        grid.add(text, "–", "–", "–", "–")
    return grid


# To recall


class Asked(NamedTuple):
    """A question about the memories of a user."""

    user: str
    query: str


class Reading:
    """The memories of some users in memwell, as texts and as conversations, and in every rival."""

    def __init__(self, folder: Path, users: int, each_has: int) -> None:
        folder.mkdir()
        self.users = [f"user-{number}" for number in range(users)]
        self.each_has = each_has
        texts, self._queries = _texts(users * each_has), _queries(200)
        prepared = Prepared()
        prepared.prepare(texts + self._queries)
        owned = {user: texts[place * each_has : (place + 1) * each_has] for place, user in enumerate(self.users)}
        self.plain = self._engines(folder / "plain.db", prepared, owned, said=False)
        self.said = self._engines(folder / "said.db", prepared, owned, said=True)
        self.first = {RECALL: self._first(self.plain), RECALL_SAID: self._first(self.said)}
        rivals, self.missing = installed_rivals(folder, DIMENSIONS, prepared.listed)
        self.rivals = [rival for rival in rivals if rival.most_memories >= len(texts)]
        slow = [rival for rival in rivals if rival.most_memories < len(texts)]
        self.missing += [
            f"{rival.label}: seconds a search above {rival.most_memories:,}, not measured" for rival in slow
        ]
        for rival in slow:
            rival.close()
        for rival in self.rivals:
            step(f"recall: {rival.label} is filled")
            rival.fill([Item(user, text) for user, theirs in owned.items() for text in theirs])

    def _engines(self, path: Path, prepared: Prepared, owned: dict[str, list[str]], *, said: bool) -> dict[str, Engine]:
        step(f"recall: memwell is filled{' with conversations' if said else ''}")
        engine = memwell.open(path, embedder=prepared, work=False)
        engines = {user: engine.at(Space("bench", user)) for user in self.users}
        for user, theirs in owned.items():
            _fill(engines[user], theirs, said=said)
        return engines

    def _first(self, engines: dict[str, Engine]) -> float:
        """CPU seconds of a user's first recall, which reads the memories from the file into a pool."""
        taken: list[float] = []
        for engine in engines.values():
            start = time.process_time()
            engine.recall(self._queries[0], limit=_LIMIT)
            taken.append(time.process_time() - start)
        return statistics.median(taken)

    def finders(self) -> dict[str, Callable[[Asked], Sequence[Any]]]:
        """Who finds the ten best memories of a user."""
        return {
            RECALL: lambda one: self.plain[one.user].recall(one.query, limit=_LIMIT),
            RECALL_SAID: lambda one: self.said[one.user].recall(one.query, limit=_LIMIT),
            **{rival.label: (lambda one, rival=rival: rival.find(*one, _LIMIT)) for rival in self.rivals},
        }

    def questions(self) -> list[Asked]:
        """Every query once, to one user after the other."""
        return [Asked(self.users[place % len(self.users)], query) for place, query in enumerate(self._queries)]

    def close(self) -> None:
        """Let go of all files."""
        for one in (self.plain[self.users[0]], self.said[self.users[0]], *self.rivals):
            one.close()


def recall(folder: Path, *, quick: bool) -> Section:
    """The ten best of one user of many, and of one user with as many memories alone; then what a query's vector costs."""
    section = Section("recall")
    layouts = ((5, 40, 1.5), (1, 200, 3.0)) if quick else ((50, 200, 1.5), (1, 10_000, 3.0))
    for users, each_has, most in layouts:
        step(f"recall: {users:,} users of {each_has:,} memories")
        bench = Reading(folder / f"recall-{users}", users, each_has)
        grid, timings = _found(bench, quick=quick)
        section.grids.append(grid)
        section.figures.append(_recall_figure(bench, timings, most))
        bench.close()
    step("recall: the vector of a query")
    grid, figure = _embedding(quick=quick)
    section.grids.append(grid)
    section.figures.append(figure)
    return section


def _found(bench: Reading, *, quick: bool) -> tuple[Grid, dict[str, Timing]]:
    finders = bench.finders()
    contenders = [Contender(name, each(find), cycle_through(bench.questions())) for name, find in finders.items()]
    # Some rivals take seconds for one search, so rounds are few.
    timings = take_turns(contenders, rounds=5 if quick else 12, batch=5)
    grid = Grid(
        f"The {_LIMIT} best of one user, {len(bench.users):,} × {bench.each_has:,} memories of {DIMENSIONS} dimensions",
        ["", "CPU ms", "wall ms", "CPU to recall", "found", "first recall, CPU ms"],
        note=(
            "memwell weighs words, meaning, time, speaker and neighbours and says why; rivals compare vectors. The first "
            "recall reads a user's memories into memory. The vector of the query was made before, for everybody. mem0 is "
            "installed as its page says, without its extras, so it compares no words."
        ),
    )
    for name, timing in timings.items():
        hits = statistics.mean(len(finders[name](one)) for one in bench.questions()[:10])
        first = f"{bench.first[name] * 1e3:.1f}" if name in bench.first else "–"
        cpu, wall = f"{timing.cpu_us / 1e3:.2f}", f"{timing.wall_us / 1e3:.2f}"
        grid.add(name, cpu, wall, f"{timing.ratio(timings[RECALL]):.2f}×", f"{hits:.1f}", first)
    for text in bench.missing:
        grid.add(text, "–", "–", "–", "–", "–")
    return grid, timings


def _recall_figure(bench: Reading, timings: dict[str, Timing], most: float) -> Figure:
    plain, said = (timings[name].cpu_us / 1e3 for name in (RECALL, RECALL_SAID))
    name = f"recall: {_LIMIT} of one user, {len(bench.users):,} × {bench.each_has:,}, CPU beyond the query's vector"
    return Figure(name, f"≤ {most} ms", f"{plain:.2f} ms, conversations {said:.2f} ms", max(plain, said) <= most)


def _embedding(*, quick: bool) -> tuple[Grid, Figure]:
    """The vector of one query by the embedder that ships."""
    embedder, queries = LocalEmbedder(), _queries(200)
    kinds = {
        "English": [query for query in queries if query.isascii()],
        "Chinese": [query for query in queries if not any("a" <= letter <= "z" for letter in query)],
    }
    contenders = [
        Contender(name, each(lambda query: embedder.embed([query])), cycle_through(kind))
        for name, kind in kinds.items()
    ]
    timings = take_turns(contenders, rounds=5 if quick else 30, batch=5)
    grid = Grid("The vector of one query, local embedder", ["", "CPU ms", "wall ms"])
    grid.note = "8 English words or 14 Chinese characters; the models are loaded."
    for name, timing in timings.items():
        grid.add(name, f"{timing.cpu_us / 1e3:.2f}", f"{timing.wall_us / 1e3:.2f}")
    measured = ", ".join(f"{name} {timing.cpu_us / 1e3:.1f} ms" for name, timing in timings.items())
    met = all(timing.cpu_us <= 15_000 for timing in timings.values())
    return grid, Figure("recall: the vector of a query, CPU", "≤ 15 ms", measured, met)


# To become searchable


class Spent(NamedTuple):
    """CPU seconds of the steps from a text to a memory that is found by its words and by its meaning."""

    stored: float
    words: float
    vectors: float
    at_once: float

    @classmethod
    def on(cls, folder: Path, texts: Sequence[str], embedder: Embedder) -> Spent:
        """Bring texts in twice: words first and vectors afterwards, and both at once as the worker does."""
        folder.mkdir()
        with memwell.open(folder / "apart.db", embedder=embedder, work=False) as engine:
            stored = _cpu(lambda: [engine.remember(text) for text in texts])
            words = _cpu(engine.catch_up)
            assert engine.pending().words == 0
            vectors = _cpu(engine.flush)
        with memwell.open(folder / "once.db", embedder=embedder, work=False) as engine:
            for text in texts:
                engine.remember(text)
            at_once = _cpu(engine.flush)
            assert engine.pending().vectors == 0
        return cls(stored, words, vectors, at_once)


def _cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def indexing(folder: Path, *, quick: bool) -> Section:
    """From remember to searchable, with the embedder that ships."""
    section = Section("indexing")
    texts = _telling(_texts(200 if quick else 1_000))
    embedder = LocalEmbedder()
    embedder.embed(texts[:20])
    runs: list[Spent] = []
    for number in range(1 if quick else 3):
        step(f"indexing: {len(texts):,} texts, round {number + 1}")
        runs.append(Spent.on(folder / f"indexing-{number}", texts, embedder))
    middle = Spent(*(statistics.median(column) for column in zip(*runs, strict=True)))
    model = _cpu(lambda: embedder.embed(texts))
    section.grids.append(_indexing_grid(middle, model, len(texts)))
    rate = len(texts) / (middle.stored + middle.at_once)
    name = f"indexing: texts of {_WORDS} words remembered and made searchable, per CPU-second"
    section.figures.append(Figure(name, "≥ 100", f"{rate:.0f}", rate >= 100))
    return section


def _indexing_grid(spent: Spent, model: float, count: int) -> Grid:
    grid = Grid(
        f"From remember to searchable, {count:,} texts of {_WORDS} words, local embedder",
        ["", "CPU ms a text", "texts per CPU-second"],
        note=(
            "The models are loaded. Facts can be read from every second text. What the worker does: words, facts and "
            "vectors of 64 texts in one transaction."
        ),
    )
    rows = {
        "remember, one by one": spent.stored,
        "words and facts: found by words": spent.words,
        "vectors afterwards: found by meaning": spent.vectors,
        "words, facts and vectors at once, as the worker does": spent.at_once,
        "of which the model alone": model,
        "in all: remember, and all at once": spent.stored + spent.at_once,
    }
    for name, seconds in rows.items():
        grid.add(name, f"{seconds / count * 1e3:.2f}", f"{count / seconds:,.0f}")
    return grid


__all__ = ["DIMENSIONS", "Prepared", "indexing", "recall", "remember"]
