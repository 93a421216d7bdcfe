"""Facts that are read from sentences, compared with those the sentences state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from memwell.errors import InvalidInput, ModelError
from memwell.models.scripted import ScriptedChat
from memwell.runtime.fact_evaluation import FactShares, LabelledSentence, ReadFact, judge, load, summary

LIVES: tuple[str, str, str, Literal["now", "ended"]] = ("user", "lives_in", "Berlin", "now")
BERLIN = ReadFact("user", "lives_in", "Berlin", False)


def sentence(text: str, *facts: tuple[str, str, str, Literal["now", "ended"]]) -> LabelledSentence:
    return LabelledSentence(text, list(facts), "plain")


def test_what_is_right_missed_and_wrong_is_counted():
    found = judge(
        [
            sentence("I live in Berlin.", LIVES),
            sentence("I live in Berlin.", ("user", "lives_in", "Rome", "now")),
            sentence("Nice weather.", LIVES),
            sentence("Nice weather."),
        ]
    )
    assert [(len(one.right), len(one.missed), len(one.wrong)) for one in found] == [
        (1, 0, 0), (0, 1, 1), (0, 1, 0), (0, 0, 0),
    ]  # fmt: skip
    assert FactShares.of(found) == (3, 2, 50.0, 33.3)
    assert FactShares.of(found[3:]) == (0, 0, None, None)
    assert summary(found)["relations"]["lives_in"]["facts"] == 3
    assert list(summary(found)["kinds"]) == ["plain"]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (BERLIN._replace(object="the city of Berlin"), True), (BERLIN._replace(object="Rome"), False),
        (BERLIN._replace(subject="Anna"), False), (BERLIN._replace(ended=True), False),
        (BERLIN._replace(relation="works_at"), False),
    ],
)  # fmt: skip
def test_an_object_may_have_more_words(other: ReadFact, same: bool):
    assert BERLIN.is_same(other) is same
    assert other.is_same(BERLIN) is same


def test_an_ended_fact_may_leave_the_object_out_and_an_ended_liking_is_a_dislike():
    ended = BERLIN._replace(ended=True)
    assert ended.is_same(ended._replace(object=""))
    liked = ReadFact("user", "likes", "tea", True)
    assert liked.is_same(ReadFact("user", "dislikes", "tea", False))
    assert not liked.is_same(ReadFact("user", "dislikes", "coffee", False))


def test_a_model_has_no_merit_of_what_the_rules_read_for_it():
    [read] = judge([sentence("I live in Berlin.", LIVES)], ScriptedChat([ModelError("no route")]))
    assert read.missed
    assert "no route" in read.failure
    answer = {"subject": "user", "relation": "lives_in", "object": "Berlin", "quote": "live in Berlin"}
    done: list[int] = []
    chat = ScriptedChat([json.dumps({"claims": [answer]})])
    [read] = judge([sentence("I live in Berlin.", LIVES)], chat, done.append)
    assert (read.missed, read.failure, done) == ([], "", [1])


def test_lists_are_named_by_where_they_stand(tmp_path: Path):
    path = tmp_path / "mine.json"
    line = {"text": "I live in Berlin.", "facts": [LIVES]}
    path.write_text(json.dumps({"en": {"dev": [line], "test": []}, "zh": [line, line]}))
    assert {name: len(some) for name, some in load(path).items()} == {
        "mine, en, dev": 1,
        "mine, en, test": 0,
        "mine, zh": 2,
    }
    path.write_text(json.dumps([line]))
    assert list(load(path)) == ["mine"]


def test_a_relation_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"text": "I reside in Rome.", "facts": [["user", "resides_in", "Rome", "now"]]}]))
    with pytest.raises(InvalidInput, match=r"'resides_in'.*lives_in"):
        load(path)


def test_mistakes_are_told_in_words():
    [read] = judge([sentence("I live in Berlin.", ("user", "works_at", "Acme", "ended"))])
    assert read.mistakes() == [("missed", "user works_at Acme (ended)"), ("wrong", "user lives_in Berlin")]


@pytest.mark.parametrize(
    "text", ["", "[1]", '[{"text": 1}]', '{"a": 1}', '[{"text": "x", "facts": [["a", "b", "c", "today"]]}]']
)
def test_what_is_no_data_set_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="holds no sentences"):
        load(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load(tmp_path / "none.json")
