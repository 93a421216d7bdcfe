"""What a question asks for, in words that no rule knows, and memories of which a reader is not sure what they state."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import memwell
from memwell.language.claims import claims
from memwell.language.claims.stated import StatedFact, likely_facts, stated_facts
from memwell.language.fact_questions import fact_question
from memwell.longterm.indexing import read_by_model
from memwell.longterm.question_model import LEAST, default_model
from memwell.longterm.traits import traits_of
from memwell.models.local import LocalEmbedder
from memwell.models.scripted import HashEmbedder

NOW = datetime(2026, 5, 4, tzinfo=UTC)
_STRANGERS = ["The lift is out again.", "Pasta on Tuesday, I think.", "Our train was late.", "It rained all week."]


@pytest.mark.parametrize(
    ("question", "relation"),
    [
        ("which firm pays my wages these days", "works_at"), ("which number can people ring me on", "phone"),
        ("what foods must I stay away from", "allergic_to"), ("which animal do I keep", "pet"),
        ("我现在落脚在哪个区来着", "lives_in"), ("别人打我哪个号", "phone"), ("我现在给哪家打工", "works_at"),
    ],
)  # fmt: skip
def test_what_no_rule_knows_is_understood_by_the_vector(question: str, relation: str):
    assert fact_question(question) is None
    with memwell.open("memory:", work=False) as memory:
        asked = memory.memory.fact_asked(question)
    assert asked is not None
    assert relation in asked.relations
    assert asked.subject == "user"
    assert LEAST <= asked.probability < 1.0
    assert not asked.is_certain


@pytest.mark.parametrize(
    "question",
    [
        "which firm pays my sister these days", "do I still go climbing?", "recommend a film for tonight",
        "what did the plumber say about the boiler", "How many projects am I working on besides my thesis?",
        "我姐现在落脚在哪个区", "我还打羽毛球吗", "帮我写封邮件给房东",
    ],
)  # fmt: skip
def test_what_is_of_others_or_asks_whether_is_no_question_for_a_fact_of_the_speaker(question: str):
    with memwell.open("memory:", work=False) as memory:
        assert memory.memory.fact_asked(question) is None


def test_a_question_for_a_time_is_for_what_was_then():
    with memwell.open("memory:", work=False) as memory:
        memory.remember(["I moved to Hull.", "We went gliding in July."], time=NOW)
        memory.flush()
        hits = memory.recall("What did I do in July?", min_relevance=0.05, now=NOW)
    assert [hit.text for hit in hits] == ["We went gliding in July."]


def test_rules_go_before_the_model_and_are_certain():
    with memwell.open("memory:", work=False) as memory:
        asked = memory.memory.fact_asked("Where do I live?")
    assert asked is not None
    assert asked.relations == ("lives_in",)
    assert asked.is_certain


def test_the_model_is_for_the_vectors_of_its_embedder_alone():
    assert default_model().embedder == LocalEmbedder().name
    with memwell.open("memory:", embedder=HashEmbedder(16), work=False) as memory:
        assert memory.memory.fact_asked("which firm pays my wages these days") is None
    with memwell.open("memory:", embedder=None, work=False) as memory:
        assert memory.memory.fact_asked("which firm pays my wages these days") is None


def test_what_is_asked_in_other_words_comes_first_and_enters_prompts():
    told = "They have put me on the tills at Brightmore Foods."
    with memwell.open("memory:", work=False) as memory:
        memory.remember([*_STRANGERS, told], time=NOW)
        memory.flush()
        hits = memory.recall("which firm pays my wages these days", now=NOW)
        assert hits[0].text == told
        assert told in memory.context("which firm pays my wages these days", budget=600, now=NOW).text()


def test_what_a_reader_is_not_sure_of_is_no_fact_but_found_by_a_question_for_it():
    text = "flat's on Duke Street, share it w Tariq, never does the bins"
    with memwell.open("memory:", work=False) as memory:
        memory.remember([*_STRANGERS, text], time=NOW)
        memory.flush()
        [hit] = [one for one in memory.recall("which place do I live at now", now=NOW) if one.text == text]
        assert hit.relevance > 0.3
        known = {(one.relation, one.object) for one in memory.facts_about()}
        record = memory.backend.index.get(memory.space, [hit.id])[0]
    likely = traits_of(record).likely
    assert likely
    assert known.isdisjoint((one.relation, one.object) for one in likely)


def test_what_is_stated_is_not_likely_as_well_and_denials_and_secrets_are_neither():
    stated = (StatedFact("user", "lives_in", "Leeds", negated=False),)
    text = "flat's on Duke Street, share it w Tariq, never does the bins"
    assert any(one.relation == "lives_in" for one in likely_facts(text, (), read_by_model))
    assert not any(one.relation == "lives_in" for one in likely_facts(text, stated, read_by_model))
    assert not likely_facts("I no longer live in Leeds.", (), read_by_model)
    assert not likely_facts("My password is hunter2.", (), read_by_model)


def test_what_is_likely_of_another_is_not_the_speakers():
    text = "大刘换手机号了，13700551928"
    said = stated_facts(claims(text, time=NOW, reader=read_by_model))
    assert ("大刘", "phone", "13700551928") in {one[:3] for one in said}
    assert not [one for one in likely_facts(text, said, read_by_model) if one.subject == "user"]
    assert any(one.subject == "user" for one in likely_facts("江宁的房子退了，行李都寄苏州", (), read_by_model))


def test_a_changed_text_no_longer_likely_states_what_it_did():
    with memwell.open("memory:", work=False) as memory:
        [id_] = memory.remember("flat's on Duke Street, share it w Tariq", time=NOW).ids
        memory.flush()
        assert traits_of(memory.backend.index.get(memory.space, [id_])[0]).likely
        memory.update(id_, text="Our train was late.")
        memory.flush()
        assert not traits_of(memory.backend.index.get(memory.space, [id_])[0]).likely


def test_many_things_of_a_kind_are_not_all_raised_for_one():
    with memwell.open("memory:", work=False) as memory:
        memory.remember(
            [*_STRANGERS, "I love plum jam.", "I love the cello.", "I love Amarillo by Mo Sands."], time=NOW
        )
        memory.flush()
        asked = memory.memory.fact_asked("which singer is the one I keep coming back to")
        hits = memory.recall("which singer is the one I keep coming back to", now=NOW)
    assert asked is None or not asked.is_answered_by_any
    assert all(hit.relevance < 0.5 for hit in hits if "jam" in hit.text)
