"""What is read off a text, and above all what is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.errors import InvalidInput, ModelError
from memwell.longterm.extraction import RELATIONS, Claim, claims, model_claims, relation_of
from memwell.models.scripted import ScriptedChat

NOW = datetime(2024, 3, 3, 12, tzinfo=UTC)


def said(text: str, speaker: str = "") -> set[tuple[str, str, str]]:
    return {
        (one.subject, one.relation, one.object) for one in claims(text, speaker=speaker, time=NOW) if not one.negated
    }


def only(text: str) -> Claim:
    found = claims(text, time=NOW)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "relation", "value"),
    [
        ("My name is Anna Smith.", "name", "Anna Smith"),
        ("I live in New York.", "lives_in", "New York"),
        ("i live in berlin", "lives_in", "berlin"),
        ("I'm originally from Sweden.", "from", "Sweden"),
        ("I work for Google as well.", "works_at", "Google"),
        ("I'm a software engineer.", "occupation", "software engineer"),
        ("I study at Oxford University.", "studies_at", "Oxford University"),
        ("I graduated from MIT.", "graduated_from", "MIT"),
        ("I'm 32 years old.", "age", "32"),
        ("My birthday is on 5 May.", "birthday", "5 May"),
        ("I was born on May 5, 1990.", "birthday", "May 5, 1990"),
        ("My email is anna.b@example.com, write to me.", "email", "anna.b@example.com"),
        ("My phone number is +1 555-010-9999.", "phone", "+1 555-010-9999"),
        ("I'm married to Carlos.", "married_to", "Carlos"),
        ("Tom is my brother.", "sibling", "Tom"),
        ("I have two dogs.", "pet", "dogs"),
        ("I have a red car.", "owns", "red car"),
        ("I speak Portuguese.", "speaks", "Portuguese"),
        ("Yeah, I really love hiking!", "likes", "hiking"),
        ("I can't stand cilantro.", "dislikes", "cilantro"),
        ("I don't like coffee.", "dislikes", "coffee"),
        ("My favourite colour is blue.", "favourite:colour", "blue"),
        ("I'm allergic to peanuts.", "allergic_to", "peanuts"),
        ("I'm vegan.", "diet", "vegan"),
        ("I play the guitar.", "hobby", "guitar"),
        ("I've been to Japan twice.", "visited", "Japan"),
        ("I bought a new car yesterday.", "bought", "a new car"),
        ("I'm planning a trip to Norway.", "plans", "a trip to Norway"),
        ("我叫李明。", "name", "李明"),
        ("我住在上海。", "lives_in", "上海"),
        ("我在华为工作。", "works_at", "华为"),
        ("我是一名软件工程师。", "occupation", "软件工程师"),
        ("我是四川人。", "from", "四川"),
        ("我今年28岁了。", "age", "28"),
        ("我的生日是5月5日。", "birthday", "5月5日"),
        ("我的邮箱是li.ming@example.com", "email", "li.ming@example.com"),
        ("我妹妹叫小红。", "sibling", "小红"),
        ("我老婆叫王芳。", "married_to", "王芳"),
        ("我养了一只橘猫。", "pet", "橘猫"),
        ("我特别喜欢吃火锅。", "likes", "火锅"),
        ("我爱吃辣。", "likes", "辣"),
        ("我不喜欢香菜。", "dislikes", "香菜"),
        ("我讨厌下雨天。", "dislikes", "下雨天"),
        ("我最喜欢的颜色是蓝色。", "favourite:颜色", "蓝色"),
        ("我对花生过敏。", "allergic_to", "花生"),
        ("我吃素。", "diet", "素食"),
        ("我毕业于清华大学。", "graduated_from", "清华大学"),
        ("我去过日本。", "visited", "日本"),
        ("我昨天买了一辆新车。", "bought", "新车"),
        ("我打算明年去日本。", "plans", "去日本"),
    ],
)
def test_the_speaker_is_told_of(text: str, relation: str, value: str) -> None:
    assert said(text) == {("user", relation, value)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna works at Siemens.", {("Anna", "works_at", "Siemens")}),
        ("张伟住在上海。", {("张伟", "lives_in", "上海")}),
        ("My mother is a teacher.", {("user's mother", "occupation", "teacher")}),
        ("我妈妈是医生。", {("user的妈妈", "occupation", "医生")}),
        ("My sister Anna is a doctor.", {("user", "sibling", "Anna"), ("Anna", "occupation", "doctor")}),
        ("我的好朋友Jimmy喜欢踢足球。", {("user", "friend", "Jimmy"), ("Jimmy", "likes", "踢足球")}),
        ("We have a golden retriever named Max.", {("user", "pet", "Max"), ("Max", "kind", "golden retriever")}),
        ("我家狗叫旺财。", {("user", "pet", "旺财"), ("旺财", "kind", "狗")}),
        ("I speak English and French.", {("user", "speaks", "English"), ("user", "speaks", "French")}),
        ("我喜欢红色和蓝色。", {("user", "likes", "红色"), ("user", "likes", "蓝色")}),
        ("我喜欢和家人一起出去玩。", {("user", "likes", "和家人一起出去玩")}),
        ("我住在上海，在腾讯上班。", {("user", "lives_in", "上海"), ("user", "works_at", "腾讯")}),
        ("I live in Rome, and I work for Acme.", {("user", "lives_in", "Rome"), ("user", "works_at", "Acme")}),
    ],
)
def test_others_are_told_of_and_several_things_at_once(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert said(text) == expected


def test_i_is_who_speaks() -> None:
    assert said("I live in Paris. My sister Eva is a nurse.", speaker="Caroline") == {
        ("Caroline", "lives_in", "Paris"),
        ("Caroline", "sibling", "Eva"),
        ("Eva", "occupation", "nurse"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Paris?",
        "I live in Paris?",
        "If I lived in Rome, I would be happy.",
        "When I live in Rome, I love it.",
        "I wish I had a dog.",
        "I'd love to live in Spain.",
        "I might work at Google.",
        "I think I live in a simulation.",
        'She said "I live in Rome" and left.',
        "She said I live in Rome.",
        "He told me that, and I live in Rome.",
        "Imagine I work at NASA.",
        "> I live in Rome.",
        "I love it.",
        "I love you so much.",
        "I love the idea.",
        "Looks like they're having a blast.",
        "Unconditional love is important.",
        "I didn't work at Google.",
        "You live in Paris.",
        "I'm so tired.",
        "I'm 10 minutes late.",
        "I turned 180 degrees.",
        "I was born in 1990.",
        "I have a dog problem.",
        "I live in fear.",
        "I'm from the marketing team.",
        "My name is on the list.",
        "I'm going to bed.",
        "Apple is a designer brand.",
        "I was kidding, I live in Rome.",
        "我住在上海吗？",
        "你喜欢什么？",
        "如果我住在巴黎就好了。",
        "我希望我有一只狗。",
        "他说“我住在上海”。",
        "他说我住在上海。",
        "我爱你。",
        "我喜欢你。",
        "我喜欢色彩多的。",
        "我哥哥在深圳工作。",
        "我也不知道。",
        "我叫妈妈过来。",
        "我妈妈叫我回家。",
        "我准备好了。",
        "我搬到新家了。",
        "我在努力工作。",
        "我是负责人。",
        "老师喜欢小明。",
        "我朋友说我喜欢小红。",
        "医生说我对花生过敏。",
        "",
        "   \n",
        "!!! ??? 。。。",
    ],
)
def test_what_is_not_stated_is_no_claim(text: str) -> None:
    assert claims(text, time=NOW) == []


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("I moved to Paris last May.", datetime(2023, 5, 1, tzinfo=UTC), None),
        ("I've lived in Boston since 2019.", datetime(2019, 1, 1, tzinfo=UTC), None),
        ("I used to live in Berlin.", None, NOW),
        ("I lived in Berlin from 2010 to 2015.", datetime(2010, 1, 1, tzinfo=UTC), datetime(2016, 1, 1, tzinfo=UTC)),
        ("I've been a nurse for 10 years.", datetime(2014, 3, 4, tzinfo=UTC), None),
        ("I live in Rome.", None, None),
        ("我去年五月搬到了北京。", datetime(2023, 5, 1, tzinfo=UTC), None),
        ("我从2019年开始住在杭州。", datetime(2019, 1, 1, tzinfo=UTC), None),
        ("我以前住在广州。", None, NOW),
        ("我曾经是老师。", None, NOW),
    ],
)
def test_when_it_holds_is_read_from_the_clause(text: str, since: datetime | None, until: datetime | None) -> None:
    found = only(text)
    assert (found.valid_from, found.valid_to) == (since, until)
    assert found.time == NOW


@pytest.mark.parametrize(
    ("text", "relation", "value"),
    [
        ("I no longer work at Siemens.", "works_at", "Siemens"),
        ("I don't live in Paris.", "lives_in", "Paris"),
        ("I no longer like jazz.", "likes", "jazz"),
        ("我已经不在阿里巴巴工作了。", "works_at", "阿里巴巴"),
        ("我不住在上海。", "lives_in", "上海"),
        ("我不再喜欢爵士乐了。", "likes", "爵士乐"),
    ],
)
def test_what_is_denied_is_a_negated_claim(text: str, relation: str, value: str) -> None:
    found = only(text)
    assert (found.relation, found.object, found.negated) == (relation, value, True)


def test_a_claim_points_at_the_words_that_say_it() -> None:
    text = "Hello there! So good to see you. Yeah, I live in Rome now, and 我喜欢游泳。"
    for one in claims(text, time=NOW):
        assert one.object in text[one.start : one.end]


def test_relations_are_a_closed_list_but_for_favourites() -> None:
    assert relation_of("favourite:colour") is not None
    assert relation_of("favourite:") is None
    assert relation_of("loves") is None
    assert RELATIONS["lives_in"].single
    assert not RELATIONS["speaks"].single


def test_refusals() -> None:
    with pytest.raises(InvalidInput):
        claims(7, time=NOW)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput):
        claims("I live in Rome.", time="today")  # pyright: ignore[reportArgumentType]


PIECES = st.sampled_from(
    "I my My live in Rome love am 'm not used to no longer and , . ? ! “ ” ( sister Anna is a doctor "
    "我 住在 上海 喜欢 吃 火锅 。 ， 和 的 妈妈 叫 小红 不 2019年 favourite colour was born on May 5".split(" ")
)


@given(st.lists(PIECES, max_size=25), st.sampled_from(["", " "]))
@settings(max_examples=100)
def test_any_words_give_claims_that_keep_the_rules(pieces: list[str], joint: str) -> None:
    text = joint.join(pieces)
    for one in claims(text, speaker="Zoe", time=NOW):
        assert relation_of(one.relation) is not None
        assert one.subject.strip()
        assert one.object.strip()
        assert 0 <= one.start < one.end <= len(text)
        assert 0 < one.confidence <= 1


@given(st.text(max_size=60))
@settings(max_examples=60)
def test_no_text_is_too_strange(text: str) -> None:
    try:
        found = claims(text, time=NOW)
    except InvalidInput:
        assert "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text)
    else:
        assert all(0 <= one.start <= one.end <= len(text) for one in found)


@pytest.mark.parametrize(
    "piece",
    [
        "and ",
        "and Anna Bob ",
        '"I ',
        "“I my ",
        "“我",
        "我喜欢a的、",
        "我喜欢和b和c",
        "my my ",
        "I live in ",
        "我住在",
        "so, ",
        "，我",
        "is ",
    ],
)
def test_the_work_grows_with_the_length_of_a_text_alone(piece: str) -> None:
    # What grows faster than the text would not come back before the time limit of a test.
    assert isinstance(claims(piece * (60_000 // len(piece)), time=NOW), list)


# With a chat model

TEXT = "Well, I moved to Paris in 2021. My sister Anna paints."


def answer(*items: dict[str, Any]) -> str:
    return json.dumps({"claims": list(items)})


GOOD: dict[str, Any] = {
    "subject": "user",
    "relation": "lives_in",
    "object": "Paris",
    "quote": "I moved to  Paris in 2021",
    "valid_from": "2021",
    "valid_to": None,
    "negated": False,
}


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
        ({"quote": "I moved to London"}, "not in the text"),
        ({"quote": ""}, "not in the text"),
        ({"relation": "adores"}, "unknown relation"),
        ({"object": "London"}, "no word of the object"),
        ({"object": 7}, "Expected `str`"),
        ({"object": "  "}, "empty or too long"),
        ({"subject": ""}, "empty or too long"),
        ({"valid_from": "soon"}, "no date"),
        ({"valid_from": "2021-13-40"}, "no date"),
        ({"negated": "yes"}, "Expected `bool`"),
    ],
)
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


def test_a_model_may_find_nothing() -> None:
    read = model_claims(ScriptedChat([answer()]), TEXT, time=NOW)
    assert (read.claims, read.source) == ((), "model")
