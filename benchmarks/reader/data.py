"""Write the labelled sentences as the reader's training needs them: ``python -m benchmarks.reader.data OUT``.

OUT gets a JSON list. Each sentence has the ids of its word pieces (those of start and end included), how each is
capitalised, and its facts: the relation, whether it is over, the first and last piece of its object and the piece that
names its subject. The start stands for the speaker, and for an object that is not named. A fact whose words are not in
its sentence is left out.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memwell.language.claims.english_objects import SAME_KIN
from memwell.models.local.encoder import WordPieces
from memwell.models.local.reader import placed

FACTS = Path(__file__).parents[1] / "facts.json"
WRITTEN = Path(__file__).with_name("written.jsonl")
_MOST_PIECES = 160


def prepared(sentences: Sequence[dict[str, Any]], pieces: WordPieces) -> list[dict[str, Any]]:
    """The sentences with the places of their facts."""
    rows: list[dict[str, Any]] = []
    for one in sentences:
        text, known = one["text"], placed(pieces, one["text"])
        if len(known.ids) + 2 > _MOST_PIECES:
            continue
        facts: list[list[Any]] = []
        for subject, relation, words, state in one["facts"]:
            object_ = (0, 0) if not words else _located(known.places, _found(text, words))
            who = _subject(text, subject, known.places)
            if object_ is not None and who is not None:
                facts.append([relation.split(":")[0], int(state == "ended"), *object_, who])
        rows.append(
            {
                "text": text,
                "by": one.get("by", ""),
                "ids": [pieces.start, *known.ids, pieces.end],
                "capitals": [0, *known.capitals, 0],
                "facts": facts,
            }
        )
    return rows


def _subject(text: str, subject: str, places: Sequence[tuple[int, int]]) -> int | None:
    if subject == "user":
        return 0
    words = subject.removeprefix("user's ")
    others = [form for form, word in SAME_KIN.items() if word == words] if words != subject else []
    spans = (_located(places, _found(text, one)) for one in (words, *others, words.split()[-1]))
    return next((span[0] for span in spans if span is not None), None)


def _found(text: str, words: str) -> tuple[int, int] | None:
    whole = rf"(?<!\w){re.escape(words)}(?!\w)"
    found = re.search(whole, text) or re.search(whole, text, re.IGNORECASE) or re.search(re.escape(words), text, re.I)
    return found.span() if found else None


def _located(places: Sequence[tuple[int, int]], span: tuple[int, int] | None) -> tuple[int, int] | None:
    """The first and last piece of a span of the text; pieces are counted from the start, which is 0."""
    inside = [] if span is None else [at for at, (a, b) in enumerate(places, 1) if b > span[0] and a < span[1]]
    return (inside[0], inside[-1]) if inside else None


def main() -> None:
    """Write the English sentences that may be learnt from."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reader.data", description=__doc__)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    written = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]
    rows = prepared([*json.loads(FACTS.read_text("utf-8"))["en"]["dev"], *written], WordPieces())
    options.out.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    print(f"{len(rows)} sentences, {sum(len(row['facts']) for row in rows)} facts")


if __name__ == "__main__":
    main()
