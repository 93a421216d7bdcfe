"""A user's profile in the guide's shape: plain data that ``json.dumps`` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memwell.language.detect import language_of
from memwell.longterm.profiles import Profile, profile
from memwell.longterm.traits import Traits, with_traits
from memwell.messages import Message
from memwell.records import Record
from memwell.runtime.engine import Engine

_TOPICS, _KEYWORDS, _MONTHS = 5, 10, 12
_READ_FOR_LANGUAGE = 2_000  # characters
_OWN = ("topic", "keywords", "sentiment")


def profile_of(user_id: str, engine: Engine, questions: Iterable[tuple[str, Message]]) -> dict[str, Any]:
    """The profile of who asked the questions, each given with its session; ``{}`` when there are none."""
    records = _Records(questions)
    found = profile(engine.facts, records)
    return _shape(user_id, found, language_of(records.beginning)) if found.records else {}


class _Records:
    """Questions as records, one after the other, and the beginning of what they say."""

    def __init__(self, questions: Iterable[tuple[str, Message]]) -> None:
        self._questions = questions
        self.beginning = ""

    def __iter__(self) -> Iterator[Record]:
        for session, message in self._questions:
            if len(self.beginning) < _READ_FOR_LANGUAGE:
                self.beginning += f"{message.text[:_READ_FOR_LANGUAGE]}\n"
            own = {name: message.metadata[name] for name in _OWN if name in message.metadata}
            metadata = with_traits(own, Traits(session=session))
            yield Record(text=message.text, id=message.id, time=message.time, metadata=metadata)


def _shape(user_id: str, found: Profile, language: str) -> dict[str, Any]:
    topics, words = found.topics[:_TOPICS], found.keywords[:_KEYWORDS]
    return {
        "user_id": user_id,
        "top_topics": [[one.word, one.count] for one in topics],
        "top_keywords": [[one.word, one.count] for one in words],
        "total_conversations": found.records,
        "conversation_summary": found.summary("zh" if language == "zh" else "en"),
        "sentiment": _mood(found),
        "evidence": {one.word: list(one.evidence) for one in (*words, *topics)},
    }


def _mood(found: Profile) -> dict[str, Any]:
    trend = found.trend
    return {
        "average": 0.0 if trend is None else trend.sentiment,
        "trend": "unknown" if trend is None else trend.direction,
        "by_month": {one.month: one.sentiment for one in found.moods[-_MONTHS:]},
    }


__all__ = ["profile_of"]
