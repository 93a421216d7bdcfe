"""Claims by a chat model stand on quotes, and when the model fails the rules read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.errors import ModelError
from memwell.language.claims import claims
from memwell.longterm.indexing import model_claims
from memwell.models.scripted import ScriptedChat

NOW = datetime(2024, 3, 3, 12, tzinfo=UTC)
TEXT = "Well, I moved to Paris in 2021. My sister Anna paints."


def answer(*items: dict[str, Any]) -> str:
    return json.dumps({"claims": list(items)})


GOOD: dict[str, Any] = {
    "subject": "user", "relation": "lives_in", "object": "Paris", "quote": "I moved to  Paris in 2021",
    "valid_from": "2021", "valid_to": None, "negated": False,
}  # fmt: skip


def test_a_model_is_asked_for_json_and_its_claims_stand_on_quotes() -> None:
    other = {**GOOD, "subject": "Anna", "relation": "hobby", "object": "painting", "quote": "Anna paints"}
    chat = ScriptedChat([f"```json\n{answer(GOOD, other)}\n```"])
    read = model_claims(chat, TEXT, speaker="Zoe", time=NOW)
    assert [(one.subject, one.relation, one.object) for one in read.claims] == [
        ("Zoe", "lives_in", "Paris"),
        ("Anna", "hobby", "painting"),
    ]
    first = read.claims[0]
    assert TEXT[first.start : first.end] == "I moved to Paris in 2021"
    assert first.valid_from == datetime(2021, 1, 1, tzinfo=UTC)
    assert (read.source, read.reasons) == ("model", ())
    assert chat.options[0].get("schema") is not None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"quote": "I moved to London"}, "not in the text"), ({"quote": ""}, "not in the text"),
        ({"relation": "adores"}, "unknown relation"), ({"object": "London"}, "no word of the object"),
        ({"object": 7}, "Expected `str`"), ({"object": "  "}, "empty or too long"),
        ({"subject": ""}, "empty or too long"), ({"valid_from": "soon"}, "no date"),
        ({"valid_from": "2021-13-40"}, "no date"), ({"negated": "yes"}, "Expected `bool`"),
    ],
)  # fmt: skip
def test_what_a_model_makes_up_is_dropped_with_a_reason(change: dict[str, Any], reason: str) -> None:
    read = model_claims(ScriptedChat([answer({**GOOD, **change}, GOOD)]), TEXT, time=NOW)
    assert [one.object for one in read.claims] == ["Paris"]
    assert len(read.reasons) == 1
    assert reason in read.reasons[0]


@pytest.mark.parametrize(
    "said_instead",
    [ModelError("no answer in time"), "I am sorry, Dave.", "[]", '{"claims": 3}', '{"facts": []}', '{"claims": [', ""],
)
def test_when_the_model_fails_the_rules_read(said_instead: str | Exception) -> None:
    read = model_claims(ScriptedChat([said_instead]), TEXT, time=NOW)
    assert list(read.claims) == claims(TEXT, time=NOW)
    assert read.claims
    assert read.source == "rules"
    assert len(read.reasons) == 1
