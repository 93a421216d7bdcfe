"""The data sets that recall is measured with, in one form.

A data set is a list of stores. A store is one memory, with the units to remember in their order and the questions asked of
it. The files are not part of the project: name the one you have, and its form is known by its content. The query is the raw
question: nothing of its gold, type or answer may reach the ranking.

- LoCoMo (CC BY-NC 4.0, measured with, never learnt from): a unit is a turn, the caption of an image behind it in brackets.
- LongMemEval (MIT), pooled: the evidence sessions of all questions in one store, each once. A unit is a turn; ``gold`` are
  the turns that hold the answer, ``gold_sessions`` the sessions, which are what is judged.
- The common form, such as MADial-Bench's Chinese user: stores with units (id, text, speaker, time, session) and queries
  (id, text, gold, cat, time).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memwell.errors import InvalidInput

LOCOMO_TYPES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


class Unit(NamedTuple):
    """Something to remember."""

    id: str
    text: str
    speaker: str
    session: str
    position: int
    time: float


class Query(NamedTuple):
    """Something to ask. ``gold`` are ids of units; ``gold_sessions`` is empty where units are judged."""

    id: str
    text: str
    gold: frozenset[str]
    type: str
    now: float
    gold_sessions: frozenset[str] = frozenset()


class Store(NamedTuple):
    """One memory and what is asked of it."""

    name: str
    units: list[Unit]
    queries: list[Query]


def _locomo_store(sample: Mapping[str, Any]) -> Store:
    """One conversation. Gold that does not exist is dropped; a question left without gold is skipped."""
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
    return Store(sample["sample_id"], units, queries)


def _longmemeval_store(data: Sequence[Mapping[str, Any]]) -> Store:
    """All evidence sessions in one store, in the order of their dates; abstention questions are left out."""
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
    return Store("pooled", units, queries)


def _longmemeval_time(date: str) -> float:
    day, clock = date.split(" (", maxsplit=1)[0], date[-5:]
    return datetime.strptime(f"{day} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC).timestamp()


def _common(store: Mapping[str, Any]) -> Store:
    units = [
        Unit(str(unit["id"]), unit["text"], unit["speaker"], str(unit["session"]), 0, _day(unit["time"]))
        for unit in store["units"]
    ]
    now = max(unit.time for unit in units)
    queries = [
        Query(str(q["id"]), q["text"].strip(), frozenset(map(str, q["gold"])), str(q["cat"]), _day(q["time"]) or now)
        for q in store["queries"]
    ]
    return Store(store["name"], units, queries)


def _day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() if text else 0.0


def load(path: Path) -> tuple[str, list[Store]]:
    """The name of the data set in a file, and its stores. Raises ``InvalidInput`` for a file in no form that is known."""
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


__all__ = ["Query", "Store", "Unit", "load"]
