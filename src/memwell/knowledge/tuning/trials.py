"""Tuning: the same documents cut in several ways, asked the same questions, and the winner checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import TypeAlias, cast

from msgspec.structs import replace

from memwell.errors import InvalidInput
from memwell.knowledge.chunking import LEAST_TOKENS, Chunking, plain
from memwell.knowledge.documents import Parsed
from memwell.knowledge.handle import Knowledge
from memwell.knowledge.synonyms import Synonyms
from memwell.knowledge.tuning.bench import FIRST, Bench, Tried, Way
from memwell.knowledge.tuning.places import length_of
from memwell.knowledge.tuning.questions import QuestionSet, make_questions
from memwell.knowledge.tuning.results import Tuned, Verdict
from memwell.knowledge.tuning.sampling import sample
from memwell.models.ports import Embedder
from memwell.values import check_count, check_text, shown

BUDGET = 1_000
"""So many tokens of passages go into a prompt."""

MOST_CHARACTERS = 200_000
"""Larger collections are measured on a part: every way to cut them is embedded anew, which takes minutes."""

_LARGEST = 8_192
_SMALL_SECTION = 32
_USUAL_ASKING = (True, False)  # with synonyms, without reranking: as Knowledge asks when nothing is said

Progress: TypeAlias = Callable[[int, int | None], None]


def tune(
    texts: Sequence[Parsed | str] | Knowledge,
    *,
    embedder: Embedder | None,
    sizes: Sequence[int] = (64, 128, 256, 512),
    overlaps: Sequence[float] = (0.0, 0.15),
    questions: int = 100,
    seed: int = 0,
    expand: Sequence[bool] = (False, True),
    rerank: Sequence[bool] = (False, True),
    synonyms: Synonyms | None = None,
    budget: int = BUDGET,
    most_characters: int | None = MOST_CHARACTERS,
    length: str = "tokens",
    progress: Progress | None = None,
) -> Tuned:
    """Find out how documents are best cut and asked, by questions made from them; nothing that is stored is changed.

    Every size is tried with every overlap (a share of the size), beside what is in use: that of a ``Knowledge`` given,
    else the default. Then synonyms and reranking are tried with the winner. ``progress`` is told how many trials are done,
    of how many. ``length`` says what sizes count, ``tokens`` or ``characters``, for texts that are in no ``Knowledge``;
    with characters the size in the middle is taken for the one in use. The same documents and seed give the same result.
    Raises ``InvalidInput`` for no documents and for what makes no sense as a size, an overlap or a number, and
    ``ModelError`` when the embedder fails.
    """
    in_use = texts.chunking if isinstance(texts, Knowledge) else _usual(length, sizes, overlaps)
    cuts = _cuts(in_use, sizes, overlaps)
    asking = _ways_of_asking(expand, rerank)
    check_count(budget, "budget", least=1)
    documents = _documents(texts)
    part = documents
    if most_characters is not None:
        part = sample(documents, check_count(most_characters, "most_characters", least=1), seed=seed)
    asked = make_questions(part, questions, seed=seed, synonyms=synonyms)
    bench = Bench(part, asked, embedder=embedder, synonyms=synonyms, budget=budget, seed=seed)
    tuned = _Tuning(bench, in_use, progress).run(cuts, asking) if asked.choosing and asked.held_out else None
    return _with_questions(tuned or _untried(in_use, asking[0]), asked, budget, _length(part) / _length(documents))


class _Tuning:
    """The trials in their order: the cuts first, then the ways of asking with the best cut."""

    def __init__(self, bench: Bench, in_use: Chunking, progress: Progress | None) -> None:
        self._bench = bench
        self._in_use = in_use
        self._progress = progress
        self._tried: list[Tried] = []

    def run(self, cuts: Sequence[Chunking], asking: Sequence[tuple[bool, bool]]) -> Tuned:
        total = len(cuts) + len(asking) - 1
        self._tell(total)
        for chunking in cuts:
            self._try(Way(chunking, *asking[0]), total)
        cut, cutting = self._bench.judged(self._tried, self._tried[0])
        ways = [cut, *(self._try(Way(cut.way.chunking, *way), total) for way in asking[1:])]
        way, judged = self._bench.judged(ways, cut, by_synonyms=False)
        return Tuned(
            best=cut.way.chunking,
            expand=way.way.expand,
            rerank=way.way.rerank,
            trials=tuple(map(self._bench.trial, self._tried)),
            questions=0,
            held_out=0,
            in_use=self._in_use,
            cutting=cutting,
            asking=judged,
        )

    def _try(self, way: Way, total: int) -> Tried:
        tried = self._bench.tried(way)
        self._tried.append(tried)
        self._tell(total)
        return tried

    def _tell(self, total: int) -> None:
        if self._progress is not None:
            self._progress(len(self._tried), total)


def _untried(in_use: Chunking, asking: tuple[bool, bool]) -> Tuned:
    """What is advised when there was nothing to ask: what is in use."""
    few = Verdict("few")
    expand, rerank = asking
    return Tuned(
        best=in_use,
        expand=expand,
        rerank=rerank,
        trials=(),
        questions=0,
        held_out=0,
        in_use=in_use,
        cutting=few,
        asking=few,
    )


def _with_questions(tuned: Tuned, asked: QuestionSet, budget: int, share: float) -> Tuned:
    kinds = Counter(one.kind for one in (*asked.choosing, *asked.held_out))
    return replace(
        tuned,
        questions=len(asked),
        held_out=len(asked.held_out),
        budget=budget,
        first=FIRST,
        share=share,
        kinds=dict(kinds),
    )


def _documents(texts: Sequence[Parsed | str] | Knowledge) -> list[Parsed]:
    if isinstance(texts, Knowledge):
        given: Iterable[object] = [texts.parsed(document.id) for document in texts.documents()]
    elif isinstance(texts, str | Parsed):
        given = [texts]
    else:
        given = cast("Iterable[object]", texts)
    documents = [_parsed(one) for one in given]
    documents = [one for one in documents if one.text.strip()]
    if not documents:
        raise InvalidInput("there are no documents with any text to tune on")
    return documents


def _parsed(text: object) -> Parsed:
    return text if isinstance(text, Parsed) else plain(check_text(text, "a document's text"))


def _length(documents: Iterable[Parsed]) -> int:
    return sum(length_of(one.text) for one in documents)


def _usual(length: str, sizes: Sequence[int], overlaps: Sequence[float]) -> Chunking:
    """What is in use where nothing is: the default, or the size in the middle when sizes count characters."""
    if length == "tokens":
        return Chunking()
    cuts = _cuts(Chunking(length=length), sizes, overlaps)[1:]
    return sorted(cuts, key=lambda cut: cut.tokens)[len(cuts) // 2] if cuts else Chunking(length=length)


def _cuts(in_use: Chunking, sizes: Sequence[int], overlaps: Sequence[float]) -> list[Chunking]:
    """What is in use, and then every size with every overlap."""
    cuts = [in_use]
    for size in sizes:
        check_count(size, "a size", least=LEAST_TOKENS)
        if size > _LARGEST:
            raise InvalidInput(f"a size must be at most {_LARGEST} tokens, not {shown(size)}")
        shares = [_checked_share(share) for share in overlaps]
        cuts += [Chunking(size, round(size * share), min(_SMALL_SECTION, size // 2), in_use.length) for share in shares]
    return list(dict.fromkeys(cuts))


def _checked_share(share: object) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not isfinite(share) or not 0 <= share <= 0.5:
        raise InvalidInput(f"an overlap is a share of the size from 0 to 0.5, not {shown(share)}")
    return float(share)


def _ways_of_asking(expand: Sequence[bool], rerank: Sequence[bool]) -> list[tuple[bool, bool]]:
    """With and without synonyms, with and without reranking; the usual way first, where it is wanted."""
    for name, values in (("expand", expand), ("rerank", rerank)):
        if not values or not all(isinstance(value, bool) for value in values):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"{name} must be a list of what to try, such as (False, True), not {shown(values)}")
    ways = dict.fromkeys((one, other) for one in expand for other in rerank)
    return sorted(ways, key=lambda way: (way[0] != _USUAL_ASKING[0], way[1] != _USUAL_ASKING[1]))


__all__ = ["BUDGET", "MOST_CHARACTERS", "tune"]
