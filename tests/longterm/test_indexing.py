"""Claims by a chat model stand on quotes, and when the model fails the rules read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.errors import ModelError
from memwell.language.claims import claims
from memwell.longterm.indexing import SaidText, model_claims
from memwell.messages import Message, ai
from memwell.models.ports import Completion
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
    [read] = model_claims(chat, [SaidText(TEXT, "Zoe", NOW)])
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
    [read] = model_claims(ScriptedChat([answer({**GOOD, **change}, GOOD)]), [SaidText(TEXT, "", NOW)])
    assert [one.object for one in read.claims] == ["Paris"]
    assert len(read.reasons) == 1
    assert reason in read.reasons[0]


@pytest.mark.parametrize(
    "said_instead",
    [ModelError("no answer in time"), "I am sorry, Dave.", "[]", '{"claims": 3}', '{"facts": []}', '{"claims": [', ""],
)
def test_when_the_model_fails_the_rules_read(said_instead: str | Exception) -> None:
    [read] = model_claims(ScriptedChat([said_instead]), [SaidText(TEXT, "", NOW)])
    assert list(read.claims) == claims(TEXT, time=NOW)
    assert read.claims
    assert read.source == "rules"
    assert len(read.reasons) == 1


def of_text(number: int, object_: str, quote: str, **more: Any) -> dict[str, Any]:
    return {**GOOD, "object": object_, "quote": quote, "text": number, "valid_from": None, **more}


def test_short_texts_are_asked_about_together_and_small_talk_not_at_all() -> None:
    said = [SaidText(f"I live in {place}.", "", NOW) for place in ("Rome", "Oslo")]
    chat = ScriptedChat([answer(of_text(2, "Oslo", "live in Oslo"), of_text(1, "Oslo", "live in Oslo"))])
    first, second, thanks = model_claims(chat, [*said, SaidText("Thanks!", "", NOW)])
    assert [one.object for one in second.claims] == ["Oslo"]
    assert (first.claims, thanks.claims) == ((), ())
    assert "not in the text" in first.reasons[0]
    assert len(chat.asked) == 1
    assert "Thanks" not in chat.asked[0][-1].text


@pytest.mark.parametrize(("texts", "kept"), [(1, True), (2, False)])
def test_the_number_of_a_text_counts_only_where_there_are_several(texts: int, kept: bool) -> None:
    said = [SaidText(TEXT, "", NOW)] * texts
    read = model_claims(ScriptedChat([answer({**GOOD, "text": 2026})]), said)
    assert bool(read[0].claims) is kept
    assert any("no text 2026" in reason for reason in read[0].reasons) is not kept


def test_a_question_that_is_cut_off_is_asked_in_halves() -> None:
    said = [SaidText(f"I live in {place}.", "", NOW) for place in ("Rome", "Oslo", "Bern")]

    def reply(messages: Sequence[Message]) -> Completion:
        if 'number="2"' in messages[-1].text:
            return Completion(message=ai("{"), model="scripted", finish="length")
        place = next(one for one in ("Rome", "Oslo", "Bern") if one in messages[-1].text)
        return Completion(message=ai(answer(of_text(1, place, place))), model="scripted")

    found = model_claims(ScriptedChat(reply), said)
    assert [[claim.object for claim in one.claims] for one in found] == [["Rome"], ["Oslo"], ["Bern"]]


def test_many_and_long_texts_are_split_and_very_long_ones_read_by_the_rules() -> None:
    chat = ScriptedChat(lambda messages: answer())
    said = [SaidText(f"I live in town number {number}.", "", NOW) for number in range(40)]
    said[5] = SaidText("I live in Rome. " + "word " * 5_000, "", NOW)
    found = model_claims(chat, said)
    assert len(found) == 40
    assert [claim.object for claim in found[5].claims] == ["Rome"]
    assert [asked[-1].text.count("<text ") for asked in chat.asked] == [5, 16, 16, 2]


def test_a_secret_is_no_fact_and_a_correction_names_what_was_said_before() -> None:
    wrong = of_text(1, "Leeds", "Leicester", negated=True)
    secret = of_text(1, "PIN 4821", "Leicester")
    chat = ScriptedChat([answer(wrong, of_text(1, "Leicester", "Leicester"), secret)])
    [read] = model_claims(chat, [SaidText("Sorry, I meant Leicester. PIN 4821.", "", NOW, ("I live in Leeds.", NOW))])
    assert [(one.object, one.negated) for one in read.claims] == [("Leeds", True), ("Leicester", False)]
    assert "secret" in read.reasons[0]
    assert "I live in Leeds." in chat.asked[0][-1].text
