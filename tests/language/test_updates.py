"""What the words of two statements say about whether one makes the other outdated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.asking import asks_about_former, asks_about_past, before_what
from memwell.language.claims.stated import is_other_value, read_facts
from memwell.language.segment import segment
from memwell.language.updates import CUES, LONGEST, RETRACTING, compared, is_about_another, statement, takes_back

TOLD = {
    "begins": ["We adopted a dog.", "我买了一台相机。"],
    "changes": ["I moved to Bruges in spring.", "My landlord is Mr Jones now.", "我搬到武汉了。", "车牌换成鄂A456。"],
    "ends": ["I no longer collect stamps.", "We broke up.", "我不去游泳馆了。", "我们分手了。"],
    "adds": ["I collect coins, too.", "我也喜欢钓鱼。"],
    "past": ["I lived in Bruges as a child.", "我小时候住在武汉。"],
    "plans": ["I might move to Bruges.", "我可能会搬到武汉。"],
    "happened": ["I ran five laps on Monday.", "昨天我看到一只狐狸。"],
}


@pytest.mark.parametrize(("cue", "text"), [(cue, text) for cue, texts in TOLD.items() for text in texts])
def test_the_words_tell_of_it(cue: str, text: str):
    assert cue in CUES
    assert cue in statement(text).cues


@pytest.mark.parametrize("text", ["I live in Ghent.", "My number is 555-0170.", "我住在长沙。", "我喜欢集邮。"])
def test_a_state_tells_of_nothing_else(text: str):
    said = statement(text)
    assert (said.cues, said.holds, said.states) == (frozenset(), True, True)


@pytest.mark.parametrize(
    ("older", "newer", "name", "value"),
    [
        ("I live in Ghent.", "I moved to Bruges.", "same_holder", 1.0),
        ("I live in Ghent.", "My aunt moved to Bruges.", "same_holder", 0.0),
        ("My sister works at Bosch.", "My brother works at Siemens.", "same_holder", 0.0),
        ("我住在长沙。", "我姑姑搬到武汉了。", "same_holder", 0.0),
        ("We have two rabbits.", "We have five rabbits.", "other_numbers", 1.0),
        ("We have two rabbits.", "Our two rabbits eat a lot.", "other_numbers", 0.0),
        ("My cat is called Mimi.", "It is not Mimi, my cat is called Momo.", "denied", 1.0),
        ("我的猫叫咪咪。", "不是咪咪，我的猫叫毛毛。", "denied", 1.0),
        ("I collect stamps.", "I no longer collect stamps.", "ended", 1.0),
        ("I collect stamps.", "I no longer play the flute.", "ended", 0.0),
        ("我每周去游泳馆。", "我不去游泳馆了。", "ended", 1.0),
    ],
)
def test_two_statements_are_compared(older: str, newer: str, name: str, value: float):
    assert compared(statement(newer), statement(older))[name] == value


def test_a_question_states_nothing_and_what_stands_with_it_does():
    assert not statement("Should I move to Bruges?").states
    assert not statement("我要不要搬到武汉？").states
    moved = statement("I moved to Bruges last week. Do you know a good café there?")
    assert (moved.states, moved.holds, {"changes", "asks"} <= moved.cues) == (True, False, True)


def test_a_long_text_says_too_much_to_become_outdated():
    assert not statement("I live in Ghent. " + "It rains a lot here. " * (LONGEST // 20)).holds


TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=60)


@given(TEXTS, TEXTS)
def test_any_two_texts_have_the_same_values(one: str, other: str):
    known = compared(statement("I live in Ghent."), statement("我住在长沙。"))
    found = compared(statement(one), statement(other))
    assert list(found) == list(known)
    assert all(0.0 <= value <= 1.0 for value in found.values())


@pytest.mark.parametrize(
    "query",
    [
        "Where did I live before Bruges?", "What was my old number?", "我以前住在哪里？", "我原来的号码是什么？",
        "搬家之前我住哪儿？", "Who was my dentist until last spring?", "What did I drink before bed when I was ill?",
    ],
)  # fmt: skip
def test_questions_about_the_past(query: str):
    assert asks_about_past(query)


@pytest.mark.parametrize(
    "query",
    [
        "Where do I live?", "How old am I?", "Who is my boss?", "我住在哪里？", "我现在的号码是什么？",
        "What do I take before bed?", "How long am I on leave, until when?", "Do I swim more than once a week?",
        "Did I say that I am still at Acme?", "Which bank did I switch to?", "换了工作以后，我现在在哪儿上班？",
    ],
)  # fmt: skip
def test_questions_about_the_present(query: str):
    assert not asks_about_past(query)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I work at Acme.", "I work at Globex."),
        ("I like tea.", "I don't like tea any more."),
        ("我在腾讯工作。", "我在字节跳动上班。"),
    ],
)
def test_another_value_of_what_has_one_at_a_time(older: str, newer: str):
    assert is_other_value(read_facts(newer), read_facts(older))
    assert not is_other_value(read_facts(older), read_facts(older))


@pytest.mark.parametrize(
    "text",
    [
        "爸妈说要搬来苏州，还没定",
        "爸妈要搬到苏州，不过还没定",
        "爸妈可能也搬过来，还没定。",
        "我要搬去杭州，还没有决定",
    ],
)
def test_what_is_not_decided_makes_nothing_outdated(text: str):
    assert not statement(text).states
    assert statement("我要搬去杭州，房子还在找").states


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My phone number is 555-1234.", "My new number is 555-9876."),
        ("The rent is 900 euros.", "Correction: the rent is 950 euros."),
        ("我的手机号是13800001111。", "我的新手机号是13900002222。"),
    ],
)
def test_the_same_thing_is_spoken_of(older: str, newer: str):
    assert compared(statement(newer), statement(older))["same_subject"]
    assert not compared(statement("My cat is old."), statement(older))["same_subject"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My daughter is allergic to nuts.", "I am no longer allergic to nuts."),
        ("My boss drives a Volvo.", "I drive a Tesla now."), ("I live in Paris.", "My friend lives in Berlin now."),
        ("Mum's birthday is on 4 May.", "Dad's birthday is on 9 June."),
        ("我姐姐在银行工作。", "我换工作了，现在在腾讯上班。"), ("我住在巴黎。", "我朋友搬到了柏林。"),
        ("我搬到苏州了。", "他搬到北京了"), ("我住在苏州。", "她搬走了"), ("我住在苏州", "他们搬到杭州了"),
    ],
)  # fmt: skip
def test_the_speaker_and_another_are_told_apart(older: str, newer: str):
    assert is_about_another(statement(newer), statement(older))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My son eats plain pasta only.", "I made pesto and he asked for more."),
        ("My boss is Anna.", "My boss is Marc now."), ("I live alone.", "My girlfriend moved in with me."),
        ("I live in Paris.", "I moved to Berlin."), ("我妈住在杭州。", "我给她在上海买了房，她搬来了。"),
    ],
)  # fmt: skip
def test_who_is_named_otherwise_may_be_the_same(older: str, newer: str):
    assert not is_about_another(statement(newer), statement(older))


def test_a_wish_to_move_is_no_move():
    assert not statement("我想搬到柏林。").states
    assert not statement("我打算明年换工作。").states
    assert statement("我搬到柏林了。").states


@pytest.mark.parametrize(
    "text",
    [
        "I might move to Rome.", "Maybe I'll quit, we'll see.", "If the rent goes up I might close the shop.",
        "We nearly sold the camper.", "When I was living in Ghent I had a cat.", "我可能会搬到成都。",
        "听说厂子可能要搬到越南，老板没表态。", "差点把车卖了。", "小时候我住在武汉。",
    ],
)  # fmt: skip
def test_what_is_only_possible_or_long_past_changes_nothing(text: str):
    assert not statement(text).states


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Rome, which might surprise you.", "Maybe you heard, but I quit my job.", "The race is on 4 May.",
        "我搬到成都了，可能会常回来。", "下个月工资一万一千四。", "我弟在小区看大门呢。",
    ],
)  # fmt: skip
def test_a_change_beside_a_possibility_is_a_change(text: str):
    assert statement(text).states


@pytest.mark.parametrize(
    ("query", "before"),
    [
        ("Where did I live before Chicago?", "Chicago?"), ("Who ran the team before Dev?", "Dev?"),
        ("What was my old number?", ""), ("Where did I live before my current flat?", "my current flat?"),
        ("小戴之前谁负责？", "小戴"), ("我以前住在哪里？", "我"), ("涨薪前我拿多少？", "涨薪"),
        ("What was my jeans size?", ""), ("Where did the trip go first?", ""), ("我早先在哪家医院？", ""),
        ("我当时多重？", ""), ("调整前几号还款？", "调整"), ("我抽过什么烟？", ""),
    ],
)  # fmt: skip
def test_questions_about_the_former(query: str, before: str):
    assert asks_about_former(query)
    assert before_what(query) == before


@pytest.mark.parametrize(
    "query",
    [
        "When was our house built?", "What did I buy?", "What do I take before bed?", "How old was Lily in May?",
        "睡觉前我吃什么药？", "我目前住在哪里？", "会议提前到几点？", "我多久上一次鼓课？", "房租几号前交？",
        "我去过日本吗？",
    ],
)  # fmt: skip
def test_a_question_in_the_past_tense_need_not_be_about_the_former(query: str):
    assert not asks_about_former(query)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I moved to Paris.", "Just kidding!"), ("I moved to Paris.", "jk"), ("I live in Ghent.", "Oops, I meant Bruges."),
        ("The code is 12.", "Correction: 21."), ("The code is 12.", "Typo, 21."), ("The code is 12.", "Make that 21."),
        ("The code is 12.", "My mistake, 21."), ("The code is 12.", "No wait, 21."), ("我住在杭州。", "不对，是苏州。"),
        ("密码是12。", "更正一下，21。"), ("密码是12。", "我刚才说错了，21。"), ("密码是12。", "口误，是21。"),
        ("密码是12。", "应该是21。"), ("我辞职了。", "骗你的。"), ("我辞职了。", "开个玩笑。"),
        ("我辞职了。", "逗你玩的。"), ("The rent is 925.", "Sorry 975, Jonny says I can't read."),
    ],
)  # fmt: skip
def test_what_is_taken_back_is_found_by_its_words(older: str, newer: str):
    assert takes_back(newer, older)
    assert not RETRACTING.isdisjoint(segment(newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Ghent.", "I mean, it is nice."), ("The code is 12.", "No, thanks."), ("我在杭州。", "不是吧。"),
        ("The flight is on Sunday.", "No wait, the parent meeting is on Wednesday."),
    ],
)  # fmt: skip
def test_nothing_is_taken_back_without_another_value(older: str, newer: str):
    assert not takes_back(newer, older)


@pytest.mark.parametrize(
    ("older", "newer", "is_corrected"),
    [
        ("I drink Tennent's at the bowling club.", "No wait, size 10, the 9s were for bowling.", False),
        ("I bowl on Tuesdays at the club.", "No wait, size 10, the 9s were for bowling.", False),
        ("I wear size 9 shoes.", "No wait, size 10, the 9s were for bowling.", True),
        ("The interview is on Wednesday.", "No wait, the interview is on Thursday.", True),
        ("I ski in Davos every March.", "Sorry, I meant 14 May, in March I'm away.", False),
        ("我在保龄球馆喝啤酒。", "说错了，鞋是42码，保龄球馆那双才41。", False),
        ("备用钥匙在花盆下面。", "说错了，备用钥匙在鞋柜里。", True),
        ("I drink Tennent's at the bowling club.", "No wait size 10, the 9s were for bowling.", False),
        ("My flight leaves at 7:40.", "Sorry, I was wrong, the flight is at 9:15.", True),
    ],
)
def test_a_correction_is_of_what_states_the_same(older: str, newer: str, is_corrected: bool):
    later, earlier = statement(newer), statement(older)
    assert bool(compared(later, earlier)["clear"]) is is_corrected
    assert is_about_another(later, earlier) is not is_corrected


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The office door code is 5521.", "The bike shed code changed to 8834."),
        ("The shed key is on top of the doorframe.", "Garage key's in the drawer under the kettle."),
        ("The car key hangs on the hook.", "Shifted the spare keys, they're taped behind the fuse box now."),
        ("Optician's on 18 March at 11.", "The dentist rang, my appointment's been pushed to 21 March at 2."),
        ("My passport is in the desk drawer.", "I moved the birth certificates to the safe."),
        ("I play the violin.", "I sold my guitar."),
        ("信箱钥匙挂在门后面。", "备用钥匙我拿去放我妈那儿了。"),
        ("3月15号下午要去做体检。", "牙医那边改时间了，改到3月17号下午三点。"),
        ("护照在书桌抽屉里。", "户口本我放到保险柜了。"),
        ("我会拉小提琴。", "我把吉他卖了。"),
    ],
)
def test_two_things_of_a_kind_are_not_one(older: str, newer: str):
    assert is_about_another(statement(newer), statement(older))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The spare key is under the mat.", "I moved the spare key to the shed."),
        ("My keys are in the blue bowl.", "The car key is on the hook now."),
        ("The shed code is 5521.", "The bike shed code changed to 8834."),
        ("I'm at the dentist on Monday at nine.", "The dentist moved me to Tuesday."),
        ("I play the violin.", "I switched to the cello."),
        ("My passport is in the drawer.", "The passport and the birth certificates are in the safe now."),
        ("备用钥匙在门垫下面。", "备用钥匙我挪到车库了。"),
        ("我学小提琴。", "我改学大提琴了。"),
    ],
)
def test_one_thing_of_a_kind_may_be_the_same(older: str, newer: str):
    assert not is_about_another(statement(newer), statement(older))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Nina works at Siemens.", "Nina's husband Tom quit his job at Rolls-Royce."),
        ("Max is a plumber.", "My brother Leo is now a baker."),
        ("My brother Max is a plumber.", "My brother Leo is now a baker."),
        ("My friend Max is a plumber.", "My friend Leo is now a baker."),
        ("My GP is Dr Lowe.", "My dentist retired, the new one is Dr Pye."),
        ("阿琴在医院上班。", "阿琴的老公辞职了。"),
        ("上周末搬家了，现在住在温江。", "我同事老周搬去上海了。"),
    ],
)
def test_the_change_of_another_person_is_not_ones_own(older: str, newer: str):
    assert is_about_another(statement(newer), statement(older))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Nina's husband works at Rolls-Royce.", "Nina's husband quit his job at Rolls-Royce."),
        ("Leo is a plumber.", "My brother Leo is now a baker."),
        ("阿琴的老公在银行上班。", "阿琴的老公辞职了。"),
        ("张伟住在上海。", "我同事张伟搬去北京了。"),
        ("一个人住在温江。", "我妈搬来跟我住了。"),
    ],
)
def test_the_change_of_the_same_person_may_count(older: str, newer: str):
    assert not is_about_another(statement(newer), statement(older))
