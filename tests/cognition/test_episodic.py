from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memwell.cognition import Cognition
from memwell.errors import InvalidInput, NotFound


def test_an_episode_keeps_event_context_emotion_and_time(mind: Cognition, bench: Any) -> None:
    episodes = mind.episodic
    id_ = episodes.store("The demo crashed", context="in front of the board", emotion="embarrassed", user="ann")
    one = episodes.get(id_)
    assert (one.event, one.context, one.emotion) == ("The demo crashed", "in front of the board", "embarrassed")
    assert (one.user, one.time) == ("ann", bench.now)


@pytest.mark.parametrize(
    ("event", "emotion", "word", "sign"),
    [
        ("The launch was wonderful", None, "positive", 1), ("今天的会议太糟糕了，我很难过", None, "negative", -1),
        ("The train leaves at nine", None, "neutral", 0), ("The train leaves at nine", -0.7, "negative", -1),
        ("列车九点出发", "开心", "开心", 1),
    ],
)  # fmt: skip
def test_emotion_is_a_word_and_a_number(mind: Cognition, event: str, emotion: Any, word: str, sign: int) -> None:
    one = mind.episodic.get(mind.episodic.store(event, emotion=emotion))
    assert one.emotion == word
    assert (one.sentiment > 0) - (one.sentiment < 0) == sign


def test_episodes_are_recalled_by_event_and_context_and_user(mind: Cognition) -> None:
    mind.episodic.store("喝了很好的咖啡", context="在京都的小店", user="ann")
    mind.episodic.store("Missed the bus", user="ann")
    mind.episodic.store("在京都迷路了", user="bob")
    [best, *_] = mind.episodic.recall("京都的小店")
    assert (best.event, best.context) == ("喝了很好的咖啡", "在京都的小店")
    assert best.score > 0
    assert best.why
    assert {one.user for one in mind.episodic.recall("京都", user="bob")} == {"bob"}


def test_the_timeline_is_in_order_of_time_and_bounded(mind: Cognition, bench: Any) -> None:
    start = bench.now
    for day in (3, 1, 2, 0):
        mind.episodic.store(f"day {day}", time=start + timedelta(days=day), user="ann" if day % 2 else None)
    events = [one.event for one in mind.episodic.timeline()]
    assert events == ["day 0", "day 1", "day 2", "day 3"]
    between = mind.episodic.timeline(start + timedelta(days=1), start + timedelta(days=3))
    assert [one.event for one in between] == ["day 1", "day 2"]
    assert [one.event for one in mind.episodic.timeline(user="ann")] == ["day 1", "day 3"]
    assert [one.event for one in mind.episodic.timeline(limit=1)] == ["day 3"]
    assert mind.episodic.timeline(limit=0) == []


def test_an_answer_is_kept_and_not_searched_nor_read_for_facts(mind: Cognition) -> None:
    id_ = mind.episodic.store("I live in Oslo", user="ann", turn=True)
    mind.episodic.answered(id_, "I live in Bergen, says the zebra")
    assert mind.episodic.get(id_).answer == "I live in Bergen, says the zebra"
    assert "zebra" not in mind.memory.get(id_).text
    known = str(mind.memory.facts_about("ann"))
    assert "Oslo" in known
    assert "Bergen" not in known
    for other in ("nobody", mind.memory.remember("no episode").id):
        with pytest.raises(NotFound):
            mind.episodic.answered(other, "x")


def test_secrets_are_not_kept_beside_the_text(mind: Cognition) -> None:
    id_ = mind.episodic.store("hello there", context="password: hunter2xyz!", emotion="password: hunter2xyz!")
    mind.episodic.answered(id_, "your password: hunter2xyz!")
    assert "hunter2xyz" not in str(mind.memory.get(id_))


@pytest.mark.parametrize(
    "values",
    [
        {"event": ""}, {"event": "  "}, {"event": 3}, {"event": "x\0"}, {"event": "fine", "context": None},
        {"event": "fine", "emotion": 2.0}, {"event": "fine", "emotion": True}, {"event": "fine", "emotion": []},
        {"event": "fine", "user": 7}, {"event": "fine", "time": "noon"}, {"event": "…"},
    ],
)  # fmt: skip
def test_bad_values_store_nothing(mind: Cognition, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        mind.episodic.store(**values)
    assert mind.episodic.timeline() == []
