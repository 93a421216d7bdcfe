"""Recall across languages: ``python -m benchmarks.recall.crosslingual`` prints a Markdown table.

Every fact of ``crosslingual.json`` stands there in English and in Chinese, most with a question. Three kinds of store are
asked: all facts in English, all in Chinese, and each fact in one of the two, neighbours in different ones (two such stores,
the second the other way round). Recall through the public interface is compared with the plain cosine of the multilingual
model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

import memwell
from memwell.models.local import LocalEmbedder
from memwell.runtime.evaluation import ndcg

LANGUAGES = ("en", "zh")
_NOW = datetime(2026, 6, 1, 9, tzinfo=UTC)
Fact = Mapping[str, str]
Ranking = Sequence[int]
Asked = Callable[[str], Ranking]


class Store(NamedTuple):
    """The language of each fact in a store."""

    name: str
    languages: Sequence[str]


class Figures(NamedTuple):
    """Means over questions, in per cent."""

    hit1: float
    hit3: float
    ndcg10: float


def facts() -> list[Fact]:
    """The facts, in both languages."""
    return json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def stores(count: int) -> list[Store]:
    """The stores that are asked."""
    first, second = ([LANGUAGES[(at + start) % 2] for at in range(count)] for start in (0, 1))
    return [*(Store(one, [one] * count) for one in LANGUAGES), Store("mixed", first), Store("mixed", second)]


def recalled(texts: Sequence[str]) -> Asked:
    """Rankings by recall, in a store of these texts, a day between each two."""
    memory = memwell.open("memory:")
    for at, text in enumerate(texts):
        memory.remember(text, id=str(at), time=_NOW - timedelta(days=len(texts) - at))
    memory.flush()
    return lambda question: [int(hit.id) for hit in memory.recall(question, limit=10, now=_NOW)]


def by_cosine(texts: Sequence[str]) -> Asked:
    """Rankings by the cosine of the multilingual model's vectors alone."""
    embedder = LocalEmbedder("use")
    rows = embedder.embed(texts)
    return lambda question: np.argsort(-(rows @ embedder.embed([question])[0]), kind="stable")[:10].tolist()


WAYS: Mapping[str, Callable[[Sequence[str]], Asked]] = {"memwell": recalled, "cosine": by_cosine}


def measured(found: Sequence[tuple[Ranking, int]]) -> Figures:
    """The figures of rankings, each with the right fact."""
    return Figures(
        100.0 * float(np.mean([right in ranking[:1] for ranking, right in found])),
        100.0 * float(np.mean([right in ranking[:3] for ranking, right in found])),
        100.0 * float(np.mean([ndcg([*map(str, ranking)], frozenset({str(right)}), 10) for ranking, right in found])),
    )


def run() -> dict[tuple[str, str, str], dict[str, Figures]]:
    """The figures by store, language of the fact, language of the question, and way."""
    known = facts()
    found: dict[tuple[str, str, str], dict[str, list[tuple[Ranking, int]]]] = {}
    for store in stores(len(known)):
        texts = [fact[language] for fact, language in zip(known, store.languages, strict=True)]
        asked = {way: make(texts) for way, make in WAYS.items()}
        for at, (fact, language) in enumerate(zip(known, store.languages, strict=True)):
            for spoken in LANGUAGES if "ask_en" in fact else ():
                results = found.setdefault((store.name, language, spoken), {way: [] for way in WAYS})
                for way, ask in asked.items():
                    results[way].append((ask(fact[f"ask_{spoken}"]), at))
    return {key: {way: measured(rankings) for way, rankings in ways.items()} for key, ways in found.items()}


def main() -> None:
    """Print the table: hit@1, hit@3 and nDCG@10."""
    print("| store | fact | question | " + " | ".join(WAYS) + " |\n|---|---|---|" + "---|" * len(WAYS))
    for (store, fact, spoken), ways in sorted(run().items(), key=lambda item: (item[0][1] == item[0][2], item[0])):
        cells = [" / ".join(f"{figure:.1f}" for figure in figures) for figures in ways.values()]
        print(f"| {store} | {fact} | {spoken} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

__all__ = ["facts", "run", "stores"]
