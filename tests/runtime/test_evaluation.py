""""""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from memwell.errors import InvalidInput, ModelError
from memwell.models.scripted import HashEmbedder, ScriptedChat
from memwell.runtime.evaluation import (
    HEADED,
    WORDS,
    FactShares,
    LabelledSentence,
    ReadFact,
    evaluate,
    fact_summary,
    judge,
    load_facts,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    texts = ["I like green tea.", "My bicycle is red.", "Rome was hot.", "我喜欢绿茶。"]
    stores = [
        {
            "name": f"store {number}",
            "units": [
                {"id": f"u{n}", "text": f"{text} {number}", "speaker": "Ann", "time": "2024-05-07", "session": "s"}
                for n, text in enumerate(texts)
            ],
            "queries": [
                {"id": "q", "text": "what colour is the bicycle?", "gold": ["u1"], "cat": "a", "time": "2024-05-08"},
                {"id": "r", "text": "绿茶", "gold": ["u3"], "cat": "b", "time": "2024-05-08"},
            ],
        }
        for number in range(3)
    ]
    path = tmp_path / "small.json"
    path.write_text(json.dumps(stores))
    return path


def test_every_sample_is_measured(data: Path):
    told: list[tuple[int, int | None]] = []
    here = evaluate(data, embedder=None, progress=lambda done, total: told.append((done, total)))
    assert (here.stores, here.units, here.queries, len(here.rankings)) == (3, 12, 6, 6)
    assert told[-1] == (18, 18)


def test_words_are_judged_with_and_without_speaker_and_date(tmp_path: Path):
    path = tmp_path / "talk.json"
    units = [
        {"id": "a", "text": "I bought a lamp.", "speaker": "Ben", "session": "1", "time": "2026-05-01"},
        {"id": "b", "text": "I bought a lamp too.", "speaker": "Ann", "session": "1", "time": "2026-06-01"},
    ]
    asked = [{"id": "q", "text": "What did Ann buy in June?", "gold": ["b"], "cat": "1", "time": "2026-07-01"}]
    path.write_text(json.dumps([{"name": "talk", "units": units, "queries": asked}]), "utf-8")
    found = evaluate(path, embedder=None).summaries
    assert found[HEADED].all.ndcg10 == 1.0
    assert found[WORDS].all.ndcg10 < 1.0


def test_the_embedder_is_named(data: Path):
    assert evaluate(data, embedder=HashEmbedder(64)).settings["embedder"] == HashEmbedder(64).name


# Facts that are read from sentences, compared with those the sentences state

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
    assert fact_summary(found)["relations"]["lives_in"]["facts"] == 3
    assert list(fact_summary(found)["kinds"]) == ["plain"]


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
    assert {name: len(some) for name, some in load_facts(path).items()} == {
        "mine, en, dev": 1,
        "mine, en, test": 0,
        "mine, zh": 2,
    }
    path.write_text(json.dumps([line]))
    assert list(load_facts(path)) == ["mine"]


def test_a_relation_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"text": "I reside in Rome.", "facts": [["user", "resides_in", "Rome", "now"]]}]))
    with pytest.raises(InvalidInput, match=r"'resides_in'.*lives_in"):
        load_facts(path)


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
        load_facts(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_facts(tmp_path / "none.json")
