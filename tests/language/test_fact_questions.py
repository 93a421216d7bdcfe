"""Tests of ``fact_question``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language import fact_questions
from memwell.language.fact_questions import FactQuestion, fact_question

ASKED = (
    ("How old am I?", "user", "age"), ("Do you remember how old I am?", "user", "age"),
    ("how old is my son now?", "my son", "age"), ("Where do I work?", "user", "works_at works_in"),
    ("So where do we live these days?", "user", "lives_in"), ("Where did I live before?", "user", "lives_in"),
    ("Where does Priya live?", "Priya", "lives_in"), ("Where does Zoë live?", "Zoë", "lives_in"),
    ("Who am I marrying?", "user", "partner married_to"), ("Can you tell me what my name is?", "user", "name"),
    ("What do I do for a living?", "user", "occupation works_at"),
    ("What's my sister's job?", "my sister", "occupation works_at"),
    ("When's my mother's birthday?", "my mother", "birthday"), ("What's my favorite color?", "user", "favourite:colour"),
    ("What am I allergic to?", "user", "allergic_to"), ("What languages do I speak?", "user", "speaks"),
    ("Remind me where I live", "user", "lives_in"), ("What do I dislike?", "user", "dislikes"),
    ("What can't I stand?", "user", "dislikes"), ("What does Ann like?", "Ann", "likes hobby"),
    ("What must Ann not eat on Friday?", "Ann", "allergic_to diet dislikes"),
    ("What can Ann eat there?", "Ann", "allergic_to diet dislikes"),
    ("我不喜欢什么？", "user", "dislikes"), ("我讨厌什么东西？", "user", "dislikes"),
    ("小红喜欢什么？", "小红", "likes hobby"),
    ("我多大了？", "user", "age"), ("我女儿今年几岁了？", "我女儿", "age"), ("我在哪里上班", "user", "works_at works_in"),
    ("你还记得我在哪家公司上班吗？", "user", "works_at works_in"), ("我是做什么工作的？", "user", "occupation works_at"),
    ("我之前住在哪儿？", "user", "lives_in"), ("小红住在哪里？", "小红", "lives_in"), ("我老家在哪里？", "user", "from"),
    ("我妈妈的生日是几月几号？", "我妈妈", "birthday"), ("我对什么过敏？", "user", "allergic_to"),
    ("我最喜欢什么颜色？", "user", "favourite:colour"), ("你知道我叫什么名字吗？", "user", "name"),
)  # fmt: skip


@pytest.mark.parametrize(("question", "subject", "relations"), ASKED)
def test_of_whom_and_for_what_a_question_asks(question: str, subject: str, relations: str):
    assert fact_question(question) == FactQuestion(subject, tuple(relations.split()))


@pytest.mark.parametrize(
    ("question", "called"),
    [
        ("What is my wife's name?", "wife"), ("Who is my boss?", "boss"), ("What is the name of my cat?", "cat"),
        ("What are my kids called?", "kids"), ("Who is my fiancé?", "fiancé"), ("我老公叫什么？", "老公"),
        ("我家的狗叫什么名字来着？", "狗"), ("谁是我老板？", "老板"),
    ],
)  # fmt: skip
def test_whose_name_a_question_asks_for(question: str, called: str):
    assert fact_question(question) == FactQuestion("user", (), called)


@pytest.mark.parametrize(
    "question",
    [
        "", "?", "What is your name?", "Where does she live?", "他住在哪里？", "你叫什么名字？",
        "What do I do if it rains?",
        "What did I do yesterday?", "Where is the harbour?", "会议在哪里开？", "我弟弟的狗叫什么？",
        "What is my brother's dog called?",
        "I live in Oslo.", "What food do I like?",
    ],
)  # fmt: skip
def test_other_questions_ask_for_no_fact(question: str):
    assert fact_question(question) is None


@given(st.data())
def test_a_question_begins_and_ends_as_its_form(data: st.DataObject):
    forms = [form for language in ("en", "zh") for *_, some in fact_questions._rows(language) for form in some]
    form = data.draw(st.sampled_from(forms))
    # These match i, s and k in any case, but are other letters in small ones.
    usual = st.characters(exclude_characters="\u0130\u0131\u017f\u212a")
    asked = data.draw(st.from_regex(form.pattern.pattern, fullmatch=True, alphabet=usual))
    assert form.groups(asked, asked.lower()) is not None


@pytest.mark.parametrize(
    ("text", "name", "word", "called"),
    [
        ("My boyfriend Theo made paella", "Theo", "fiancé", True), ("My girlfriend Ida sings", "Ida", "wife", True),
        ("My wife Anna sings", "Anna", "husband", False), ("My boyfriend Theo sings", "Theo", "ex", False),
    ],
)  # fmt: skip
def test_a_partner_is_found_by_what_they_became(text: str, name: str, word: str, called: bool):
    assert fact_questions.is_called("partner", name, [text], word) is called
