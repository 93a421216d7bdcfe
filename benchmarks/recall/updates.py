"""``python -m benchmarks.recall.updates``: whether recall tells what is true now from what was superseded.

Each update of ``updates.json`` is two statements with 24 other memories between them, and a question about the present;
some have one about the past. The near misses are two statements of which neither supersedes the other. Of the first ones
those at even places were looked at while the rules were written, those at odd places only measured. The second ones were
written when the rules failed too often, and looked at; the last ones after that, and only measured. The figures go to
``benchmarks/results/updates.json`` and ``updates.md``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import memwell
from memwell.models.local import LocalEmbedder
from memwell.runtime.engine import Engine

RESULTS = Path(__file__).resolve().parents[1] / "results"
DATA = Path(__file__).with_name("updates.json")
PARTS = ("looked at", "only measured", "second, looked at", "last, only measured")
_LOOKED_AT = (0, 2)
_BETWEEN = 24
_START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_ANSWERED_WITHIN = 3


class Case(NamedTuple):
    """Two statements and the questions about them."""

    part: int
    kind: str
    older: str
    newer: str
    question: str
    past: str = ""

    @property
    def is_update(self) -> bool:
        """Whether the newer statement supersedes the older one."""
        return bool(self.kind)


class OnceEmbedder(LocalEmbedder):
    """The shipped embedder, which embeds a text once: the memories between are the same in every space."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._made]
        self._made.update(zip(missing, super().embed(missing), strict=True) if missing else ())
        return np.array([self._made[text] for text in texts], np.float32)


def cases(data: dict[str, Any]) -> Iterator[Case]:
    """The updates and the near misses of one language."""
    for name, part in (("", None), ("more_", 2), ("last_", 3)):
        for place, (kind, older, newer, question, past) in enumerate(data[f"{name}updates"]):
            yield Case(place % 2 if part is None else part, kind, older, newer, question, past)
        for place, (older, newer, question) in enumerate(data[f"{name}near_misses"]):
            yield Case(place % 2 if part is None else part, "", older, newer, question)


def remembered(engine: Engine, case: Case, place: int, between: Sequence[str]) -> tuple[str, str]:
    """Store the two statements with others between and after them; returns their ids."""
    # Another stretch of the others for each case, so that no one neighbour decides.
    others = [between[(place + step) % len(between)] for step in range(len(between))]
    texts = [case.older, *others[:_BETWEEN], case.newer, *others[_BETWEEN:]]
    stored = [
        engine.remember(text, speaker="user", time=_START + timedelta(days=day)).ids[0]
        for day, text in enumerate(texts)
    ]
    engine.flush()
    return stored[0], stored[_BETWEEN + 1]


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
        then = [hit.id for hit in engine.recall(case.past, limit=_ANSWERED_WITHIN)]
        found["past answered"] = older in then
    return found


def measured(language: str, data: dict[str, Any], parts: Sequence[int] = range(len(PARTS))) -> list[dict[str, Any]]:
    """What recall makes of every case of a language, each in a space of its own."""
    found: list[dict[str, Any]] = []
    with memwell.open("memory:", embedder=OnceEmbedder()) as engine:
        for place, case in enumerate(cases(data)):
            if case.part not in parts:
                continue
            own = engine.at(f"{language}-{place}")
            found.append({"case": case, **judged(own, case, remembered(own, case, place, data["between"]))})
    return found


def summary(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The shares in percent."""
    updates = [one for one in found if one["case"].is_update]
    past = [one for one in updates if one["case"].past]
    return {
        "updates": len(updates),
        "current first": _percent([one["current first"] for one in updates]),
        "flagged with the right link": _percent([one["flagged"] for one in updates]),
        "near misses": len(found) - len(updates),
        "near misses flagged": _percent([bool(one["false flags"]) for one in found if not one["case"].is_update]),
        "memories not superseded": sum(one["memories"] for one in found),
        "of these flagged": round(
            100 * sum(one["false flags"] for one in found) / sum(one["memories"] for one in found), 2
        ),
        "questions about the past": len(past),
        f"past answered within {_ANSWERED_WITHIN}": _percent([one["past answered"] for one in past]),
    }


def _percent(flags: Sequence[bool]) -> float:
    return round(100 * sum(flags) / max(len(flags), 1), 1)


def page(known: dict[str, Any]) -> str:
    """The figures as a page."""
    rows = list(next(iter(known["figures"].values())))
    names = list(known["figures"])
    lines = [f"| {row} | {' | '.join(str(known['figures'][name][row]) for name in names)} |" for row in rows]
    return (
        "# What is true now\n\nMeasured by `python -m benchmarks.recall.updates` through the public interface, with the "
        "shipped defaults: two statements with 24 other memories between them and some after, each pair in a space of its "
        f"own. Figures in percent unless they are counts. {known['date']}.\n\nThe pairs were written for this measurement "
        "by those who wrote the rules. Of the first ones, every other was looked at while the rules were written, the rest "
        "only measured. When they first met the second ones, the rules flagged 41 of 70 in each language; these were then "
        "looked at. The last ones were written after that and only measured, once: they say what to expect of other "
        "sentences.\n\n"
        f"| | {' | '.join(names)} |\n|{'---|' * (1 + len(names))}\n" + "\n".join(lines) + "\n"
    )


def main() -> None:
    """Measure both languages and write the figures. With ``dev`` only what may be looked at, and what failed."""
    data = json.loads(DATA.read_text("utf-8"))
    figures: dict[str, Any] = {}
    for language, texts in data.items():
        if sys.argv[1:] == ["dev"]:
            _show(measured(language, texts, _LOOKED_AT))
            continue
        started = time.process_time()
        found = measured(language, texts)
        for part, name in enumerate(PARTS):
            figures[f"{language}, {name}"] = summary([one for one in found if one["case"].part == part])
        print(f"{language}: {time.process_time() - started:.0f} s of CPU", flush=True)
    if figures:
        known = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "figures": figures}
        (RESULTS / "updates.json").write_text(json.dumps(known, ensure_ascii=False, indent=1) + "\n", "utf-8")
        (RESULTS / "updates.md").write_text(page(known), "utf-8")
        print(page(known))


def _show(found: Sequence[dict[str, Any]]) -> None:
    print(json.dumps(summary(found), ensure_ascii=False, indent=1))
    for one in found:
        case: Case = one["case"]
        failed = one["false flags"] or (
            case.is_update and not (one["current first"] and one["flagged"] and one.get("past answered", True))
        )
        if failed:
            print({name: value for name, value in one.items() if name != "case"}, *case, sep=" | ")


if __name__ == "__main__":
    main()
