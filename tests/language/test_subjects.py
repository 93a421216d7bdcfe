"""Whether two statements say the same of two things."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.subjects import are_two, frame, of_two_owners
from memwell.language.updates import is_about_another, statement

TWO = [
    ("The vacuum lives in the cupboard.", "The ladder lives in the garage."),
    ("The vacuum lives in the cupboard.", "The ladder lives in the garage now."),
    ("Lena's piano teacher is Mr Frost.", "Lena's maths teacher is Ms Bell."),
    ("Milo has lessons on Monday.", "Ada has lessons on Tuesday."),
    ("The left tap drips.", "The right tap squeaks."),
    ("The winter tyres are in the cellar.", "The skis are in the shed."),
    ("On Mondays I work from home.", "On Fridays I work from the café."),
    ("The wifi at the office is called Alder.", "The wifi at my parents' place is called Birch."),
    ("Dad's pharmacy is on Mill Lane.", "Grandma's pharmacy is on Station Road."),
    ("老家的wifi叫春山", "公司的wifi叫北斗"),
    ("书桌一百四十厘米宽", "餐桌九十厘米宽"),
    ("楼上的打印机叫小红", "楼下的打印机叫小蓝"),
    ("我妈家的wifi叫小院", "店里的wifi叫招财"),
    ("周一我在家办公", "周五我在咖啡馆办公"),
    ("第一只猫叫饼干", "第二只猫叫布丁"),
    ("狗七点喂", "猫八点喂"),
    ("爷爷的药在第一个抽屉", "奶奶的药在第二个抽屉"),
]
ONE = [
    ("The ladder lives in the garage.", "The ladder lives in the shed."),
    ("My number is 555-0170.", "My new phone number is 555-0199."),
    ("Anna is my boss.", "Marc is my boss now."),
    ("Kim is my lab partner.", "My lab partner is Devon now."),
    ("Mum's doctor is Dr Lowe.", "My mother's doctor is Dr Pye."),
    ("My daughter sleeps in our bed.", "Edie sleeps in her own bed."),
    ("I work as a nurse in Hull.", "I work as a teacher in Leeds."),
    ("Grandma lives in Hull with a cat.", "Grandma lives in Leeds with two dogs."),
    ("The meeting is at nine.", "The meeting starts at ten."),
    ("Our office is in Ghent.", "Our new office is in Graz."),
    ("梯子在车库", "梯子在阁楼"),
    ("我的自行车放在地下室。", "自行车现在放在院子里。"),
    ("在腾讯做产品", "在字节做开发"),
    ("外婆今年89岁。", "外婆满90岁了。"),
    ("儿子上二年级", "儿子读四年级"),
    ("我们的总部在青岛。", "我们的新总部在保定。"),
    ("妈妈的医生姓何", "我妈的医生姓白"),
]


def two(older: str, newer: str) -> bool:
    later, earlier = statement(newer), statement(older)
    return are_two(frame(later.stated, later.chinese), frame(earlier.stated, earlier.chinese))


@pytest.mark.parametrize(("older", "newer"), TWO)
def test_two_things_of_which_the_same_is_said(older: str, newer: str):
    assert two(older, newer)
    assert is_about_another(statement(newer), statement(older))


@pytest.mark.parametrize(("older", "newer"), ONE)
def test_one_thing_with_another_value(older: str, newer: str):
    assert not two(older, newer)


@given(st.text(max_size=60), st.text(max_size=60), st.booleans())
def test_which_of_the_two_is_later_makes_no_difference(one: str, other: str, chinese: bool):
    assert are_two(frame(one, chinese), frame(other, chinese)) is are_two(frame(other, chinese), frame(one, chinese))
    assert not are_two(frame(one, chinese), frame(one, chinese))


@pytest.mark.parametrize(
    ("newer", "older", "chinese"),
    [
        ("Owen made me a rocking chair.", "Owen is a carpenter.", False),
        ("Owen built us a shed.", "Owen works as a joiner.", False),
        ("Work gave me a phone.", "My phone is a Pixel 8.", False),
        ("My company has given me a van.", "I drive a Golf.", False),
        ("Mum's got a part-time job in Sheffield.", "I live in Leeds with my mum.", False),
        ("My sister started work in Hull.", "We moved to Leeds.", False),
        ("公司给我配了一台手机。", "我的手机是小米14。", True),
        ("老王给我做了一把摇椅。", "老王是木匠。", True),
        ("我妈在苏州找了份兼职。", "我们住在杭州。", True),
    ],
)
def test_what_is_given_or_of_another_leaves_what_one_is_and_has(newer: str, older: str, chinese: bool):
    assert of_two_owners(newer, older, chinese)


@pytest.mark.parametrize(
    ("newer", "older", "chinese"),
    [
        ("Work gave me a new phone instead of the Pixel.", "My phone is a Pixel 8.", False),
        ("Owen is a teacher.", "Owen is a carpenter.", False),
        ("My dad gave me his Volvo, the Golf is sold.", "I drive a Golf.", False),
        ("Mum got a job in York, so we moved to York.", "I live in Leeds with my mum.", False),
        ("I got a job in York.", "I live in Leeds.", False),
        ("公司给我换了一台手机。", "我的手机是小米14。", True),
        ("老王是老师。", "老王是木匠。", True),
    ],
)
def test_what_takes_the_place_of_something_is_of_the_same_owner(newer: str, older: str, chinese: bool):
    assert not of_two_owners(newer, older, chinese)
