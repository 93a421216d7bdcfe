"""Write the labelled sentences as a reader's training needs them: ``python -m benchmarks.reader.data OUT [--chinese]``.

OUT gets a JSON list. Each sentence has the ids of its word pieces (those of start and end included), how each is
capitalised, and its facts: the relation, whether it is over, the first and last piece of its object and the piece that
names its subject. The start stands for the speaker, and for an object that is not named. A fact whose words are not in
its sentence is left out.

With ``--chinese`` the pieces are those of the multilingual model, and the sentences those of both languages. The words
for a subject are then objects of a relation of their own. What the sentences need of the model's weights goes to
``OUT.npz``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memwell.language.claims.chinese_objects import ALSO_KIN, KIN
from memwell.language.claims.english_objects import SAME_KIN
from memwell.models.local.encoder import TABLES, Multilingual, WordPieces
from memwell.models.local.onnx import USE_WEIGHTS, location
from memwell.models.local.reader import SUBJECT, placed

FACTS = Path(__file__).parents[1] / "facts.json"
WRITTEN = Path(__file__).with_name("written.jsonl")
WRITTEN_ZH = Path(__file__).with_name("written_zh.jsonl")
_MOST_PIECES = 160
_EITHER = [
    (form, word)
    for word, forms in {
        "son": "老大 老二 老三",
        "daughter": "老大 老二 老三",
        "spouse": "那位 老伴",
        "wife": "老伴",
        "husband": "老伴",
        "partner": "对象 老伴",
        "teacher": "导师 师父 师傅 教授",
        "mentor": "导师 师父",
        "boss": "主任 校长 所长 班组长 头儿",
        "classmate": "同学 同學 班长 同桌",
        "roommate": "姐妹",
        "sister": "老三 老幺",
        "brother": "老三 老幺",
        "father": "爸 爹",
        "mother": "妈 娘",
    }.items()
    for form in forms.split()
]
"""Chinese words for different people, of whom the labels say which."""
_APART = re.compile(r"\b(?:older|younger|eldest|youngest|first|second|third|fourth|maternal|paternal|male|female) ").sub


def prepared(sentences: Iterable[dict[str, Any]], pieces: WordPieces | Multilingual) -> list[dict[str, Any]]:
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
                facts.append([relation.split(":")[0], int(state == "ended"), *object_, who[0]])
                named = [SUBJECT, 0, *who, 0]
                if who[0] and named not in facts and isinstance(pieces, Multilingual):
                    facts.append(named)
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


def _subject(text: str, subject: str, places: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The first and last piece of the words for a subject."""
    if subject == "user":
        return 0, 0
    words = subject.removeprefix("user's ")
    others: list[str] = []
    if words != subject:
        others = [form for form, word in SAME_KIN.items() if word == words]
        known = [*((form, one.word) for form, one in KIN.items()), *ALSO_KIN.items(), *_EITHER]
        chinese = [form for form, word in known if _APART("", word) == _APART("", words)]
        others += sorted(chinese, key=len, reverse=True)
    spans = (_located(places, _found(text, one)) for one in (words, *others, words.split()[-1]))
    return next((span for span in spans if span is not None), None)


def _found(text: str, words: str) -> tuple[int, int] | None:
    whole = rf"(?<!\w){re.escape(words)}(?!\w)"
    found = re.search(whole, text) or re.search(whole, text, re.IGNORECASE) or re.search(re.escape(words), text, re.I)
    return found.span() if found else None


def _located(places: Sequence[tuple[int, int]], span: tuple[int, int] | None) -> tuple[int, int] | None:
    """The first and last piece of a span of the text; pieces are counted from the start, which is 0."""
    inside = [] if span is None else [at for at, (a, b) in enumerate(places, 1) if b > span[0] and a < span[1]]
    return (inside[0], inside[-1]) if inside else None


def _written(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def write_weights(rows: list[dict[str, Any]], out: Path) -> None:
    """Write what the sentences need of the multilingual model, and number their pieces by the rows of that table."""
    needed = np.array(sorted({number for row in rows for number in row["ids"]}))
    for row in rows:
        row["ids"] = np.searchsorted(needed, row["ids"]).tolist()
    with np.load(location(USE_WEIGHTS)) as stored:
        tables = [stored[f"q{number + 1}"] for number in range(TABLES)]
        known = {
            "table": np.array([tables[number % TABLES][number // TABLES] for number in needed]),
            "scales": stored["scale"][needed % TABLES, None],
            "lowest": stored["lo"][needed % TABLES, None],
        }
        np.savez_compressed(out, **known, **{name: stored[name] for name in stored.files if _OF_CONVOLUTIONS(name)})


_OF_CONVOLUTIONS = re.compile(r"(?:proj|proj_b|w1_|w2_|b1_|b2_|ln_[gb])\d?").fullmatch


def main() -> None:
    """Write the sentences that may be learnt from."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reader.data", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chinese", action="store_true", help="for the reader of Chinese")
    options = parser.parse_args()
    facts = json.loads(FACTS.read_text("utf-8"))
    sentences = [*facts["en"]["dev"], *_written(WRITTEN)]
    if options.chinese:
        rows = prepared([*facts["zh"]["dev"], *_written(WRITTEN_ZH), *sentences], Multilingual())
        write_weights(rows, options.out.with_suffix(".npz"))
    else:
        rows = prepared(sentences, WordPieces())
    options.out.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")
    print(f"{len(rows)} sentences, {sum(len(row['facts']) for row in rows)} facts")


if __name__ == "__main__":
    main()
