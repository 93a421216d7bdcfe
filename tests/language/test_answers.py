"""A bare answer is read as the statement that it stands for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import memwell
from memwell.language.answers import answer_as_statement
from memwell.language.claims import claims

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def facts_read(question: str, answer: str) -> set[str]:
    stated = answer_as_statement(question, answer)
    said = [] if stated is None else [stated.placed(one) for one in claims(stated.text, time=NOW)]
    assert all(0 <= one.start < one.end <= len(answer) for one in said)
    return {f"{one.subject} {one.relation} {one.object}" for one in said}


@pytest.mark.parametrize(
    ("question", "answer", "fact"),
    [
        ("Where do you live?", "Gdansk", "user lives_in Gdansk"),
        ("Nice to meet you! And where do you live?", "Gdansk, for two years now", "user lives_in Gdansk"),
        ("Which city are you in?", "oh, Lyon!", "user lives_in Lyon"),
        ("Where are you based?", "In Hull", "user lives_in Hull"),
        ("How old are you?", "34", "user age 34"), ("May I ask how old you are?", "I'd say 34", ""),
        ("What's your name?", "marta", "user name Marta"), ("Where do you work?", "At Otis", "user works_at Otis"),
        ("What do you do for a living?", "electrician", "user occupation electrician"),
        ("What is your job?", "A nurse", "user occupation nurse"),
        ("Do you have any allergies?", "Yes, peanuts", "user allergic_to peanuts"),
        ("Any allergies I should know about?", "penicillin", "user allergic_to penicillin"),
        ("What's your favourite colour?", "green", "user favourite:colour green"),
        ("Where did you grow up?", "Oslo", "user from Oslo"), ("What are you studying?", "Physics", "user studies Physics"),
        ("What is your email?", "a.b@example.org", "user email a.b@example.org"),
        ("Where does your sister live?", "Leeds", "user's sister lives_in Leeds"),
        ("Any allergies?", "nah just peanuts lol, all my life", "user allergic_to peanuts"),
        ("Where do you live?", "no, just kidding", ""),
        ("Are you allergic to anything?", "no, only peanuts", "user allergic_to peanuts"),
        ("你有什么过敏的吗？", "没有，就花生", "user allergic_to 花生"),
        ("你住在哪里？", "成都", "user lives_in 成都"), ("你现在住哪儿？", "上海，住了五年了", "user lives_in 上海"),
        ("你好！你多大了？", "28", "user age 28"), ("你多大了？", "28岁", "user age 28"),
        ("请问你叫什么名字？", "王芳", "user name 王芳"), ("你是做什么工作的？", "护士", "user occupation 护士"),
        ("你在哪里上班？", "腾讯", "user works_at 腾讯"), ("你对什么过敏？", "花生", "user allergic_to 花生"),
        ("你有什么过敏的吗？", "海鲜", "user allergic_to 海鲜"), ("你有什么爱好？", "爬山", "user hobby 爬山"),
        ("您好，您叫什么名字？", "周敏", "user name 周敏"), ("您好，请问怎么称呼您？", "周敏", "user name 周敏"),
        ("Hi there! Who am I talking to?", "Marcus Oyelaran", "user name Marcus Oyelaran"),
        ("And who am I speaking with?", "Ann Lee", "user name Ann Lee"),
        ("你的生日呢？", "10月21日", "user birthday 10月21日"), ("那你的工作呢？", "护士", "user occupation 护士"),
        ("Which sister is that?", "Monique, in Ohio", "user sibling Monique"),
        ("哪个姐姐？", "王莉，在上海", "user sibling 王莉"), ("Which sister is older?", "Monique", ""),
        ("And your birthday?", "October 21st", "user birthday October 21st"),
        ("Thanks! What about your job?", "nurse", "user occupation nurse"), ("And your dog?", "nurse", ""),
    ],
)  # fmt: skip
def test_an_answer_states_what_was_asked_for(question: str, answer: str, fact: str):
    assert facts_read(question, answer) == ({fact} if fact else set())


def test_an_answer_that_denies_first_states_the_rest():
    assert facts_read("Do you have any pets?", "nah just a turtle lol, Sheldon") == {
        "user pet Sheldon",
        "Sheldon kind turtle",
    }


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Do you live in Gdansk?", "Yes"), ("Do you live in Gdansk?", "Gdansk"), ("Who doesn't love pizza?", "Gdansk"),
        ("Where does she live?", "Leeds"), ("Where do you live?", "I'd rather not say"), ("Where do you live?", "Why?"),
        ("Where do you live?", "None of your business"), ("Where do you live?", "Nowhere special"),
        ("What's your name, and where do you live?", "Gdansk"), ("What's your name? Where do you live?", "Gdansk"),
        ("Where do you live? Just curious.", "Gdansk"), ("Where did you live before?", "Oslo"),
        ("Where do you want to live?", "Oslo"), ("Do you have any allergies?", "No"),
        ("Are you allergic to anything?", "nope"),
        ("You live in Gdansk.", "Gdansk"), ("How was your day?", "Great"), ("你住哪？", "不告诉你"),
        ("你住在成都吗？", "成都"),
        ("他住在哪里？", "成都"), ("谁不喜欢火锅？", "成都"),
    ],
)  # fmt: skip
def test_what_answers_no_question_for_a_fact_states_nothing(question: str, answer: str):
    assert facts_read(question, answer) == set()


def known(question: str, answer: str) -> set[str]:
    """What is believed after an answer to what the assistant asked."""
    with memwell.open("memory:", embedder=None) as m:
        talk = m.thread("talk")
        talk.add_ai(question)
        talk.add_human(answer)
        m.remember_thread("talk")
        m.flush()
        return {f"{one.subject} {one.relation} {one.object}" for one in m.facts.all().items}


@pytest.mark.parametrize(
    ("question", "answer", "facts"),
    [
        ("它现在多大了？", "3岁", set()), ("那他今年几岁了？", "快满了，5岁", set()), ("多大了？", "5岁", set()),
        ("你家那只猫多大了？", "3岁", set()), ("How old is he?", "3 years old", set()),
        ("How old is your cat these days?", "3 years old", set()), ("她在哪里上班？", "在腾讯上班", set()),
        ("你有孩子吗？", "有个女儿，叫朵朵，5岁", {"user child 朵朵", "朵朵 age 5"}),
        ("你有孩子吗？", "两个，5岁", set()), ("你有女儿吗？", "有的，5岁", set()),
        ("Do you have kids?", "A daughter, Zoe, 5", {"user child Zoe", "Zoe age 5"}),
        ("Do you have any children?", "Yes, a daughter, 5", set()),
        ("你有男朋友吗？", "有，在腾讯上班", set()),
        ("她多大了？", "5岁，我今年32岁", {"user age 32"}), ("你多大了？", "28岁", {"user age 28"}),
        ("请问您的年纪多大？", "28岁", {"user age 28"}), ("你平时和朋友做什么？", "喜欢爬山", {"user likes 爬山"}),
    ],
)  # fmt: skip
def test_what_is_said_of_another_is_not_the_speakers(question: str, answer: str, facts: set[str]):
    assert known(question, answer) == facts


@pytest.mark.parametrize(
    ("question", "answer", "facts"),
    [
        ("你是做什么工作的？", "我在腾讯做产品经理。", {"user works_at 腾讯", "user occupation 产品经理"}),
        ("你做什么工作？", "在腾讯做产品经理", {"user works_at 腾讯", "user occupation 产品经理"}),
        ("你是做什么工作的？", "我在一家医院当护士", {"user works_at 医院", "user occupation 护士"}),
        ("你在哪里上班？", "我在腾讯", {"user works_at 腾讯"}), ("你在哪里上班？", "在腾讯上班", {"user works_at 腾讯"}),
        ("你好，请问你叫什么名字？", "马建国，大家都叫我老马", {"user name 马建国"}),
        ("Who am I talking to?", "Marcus Oyelaran. Mates call me Oy.", {"user name Marcus Oyelaran"}),
    ],
)  # fmt: skip
def test_a_sentence_is_read_as_it_is(question: str, answer: str, facts: set[str]):
    assert known(question, answer) == facts


@pytest.mark.parametrize("kept", [True, False], ids=["remembered", "only in the conversation"])
def test_in_a_conversation_the_question_is_known(kept: bool):
    with memwell.open("memory:", embedder=None) as m:
        talk = m.thread("talk")
        talk.add_ai("Where do you live?")
        answer = talk.add_human("Gdansk. My wife is Polish.")
        talk.add_ai("How old are you?")
        talk.add_human("34")
        if kept:
            m.remember_thread("talk")
        else:
            m.remember([one for one in talk if one.role == "human"], session="talk")
        m.flush()
        assert {(one.relation, one.object) for one in m.facts_about()} == {("lives_in", "Gdansk"), ("age", "34")}
        [source] = m.facts_about(relation="lives_in")[0].evidence
        assert answer.text[source.start : source.end] == "Gdansk"


def test_texts_of_a_session_are_a_conversation_too():
    with memwell.open("memory:", embedder=None) as m:
        for session in ("a", "b"):
            m.remember({"role": "assistant", "content": "Where do you live?"}, session=session)
        m.remember({"role": "user", "content": "Gdansk"}, session="b")
        m.remember({"role": "user", "content": "Oslo"}, session="c")
        m.flush()
        assert [one.object for one in m.facts_about()] == ["Gdansk"]
