"""What a question asks for, and which sentences have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given as over
from hypothesis import strategies as st

from memwell.knowledge.asking import (
    Needs,
    denied,
    exact_things,
    exact_things_in,
    exact_things_nearest,
    has_pronoun,
    is_opposite,
    is_other_case,
    kinds_asked,
    kinds_in,
    lacks_measure,
    names_in,
    owned_in,
    refers_back,
    share_lacking,
    topic_of,
)
from memwell.knowledge.synonyms import Synonyms
from memwell.language.asking import asks_whether


@over(st.text(max_size=60), st.text(max_size=60))
def test_nothing_is_given_that_was_not_asked_for(question: str, text: str):
    assert kinds_in(text, kinds_asked(question)) <= kinds_asked(question)
    assert refers_back(question) >= has_pronoun(question)


@pytest.mark.parametrize(
    ("question", "exact"),
    [
        ("How many were sold in 2021?", {"2021"}), ("What is relay 17-3-2, and E1099?", {"17-3-2", "e1099"}),
        ("Is it open on Fridays in May at 9:00?", {"day 4", "month 5", "9"}),
        ("You may march in on one of the days.", set[str]()), ("May a fourteen-year-old train alone?", set[str]()),
        ("May I come in?", set[str]()), ("May and June: which is wetter?", {"month 5", "month 6"}),
        ("二〇二三年三月，星期天，三号楼", {"2023", "month 3", "day 6", "3"}),
        ("GPT-4 of 3,000 with 8GB on the 25th", {"gpt4", "3000", "8gb", "25"}), ("一周三次，三十天", set[str]()),
    ],
)  # fmt: skip
def test_what_a_question_names_exactly(question: str, exact: set[str]):
    assert exact_things(question) == exact


@pytest.mark.parametrize(
    ("text", "exact", "has"),
    [
        ("三十天，五百万元，2万人", {"30", "5000000", "20000", "3"}, {"30", "5000000", "20000"}),
        ("twenty-five of two", {"25", "2", "20"}, {"25", "2"}),
        ("on 2023-05-01, 8 GB", {"2023", "month 5", "8gb", "month 1"}, {"2023", "month 5", "8gb"}),
        ("17-5-6", {"17-3-2", "17-5-6", "17"}, {"17-5-6", "17"}),
        ("Mon–Wed", {"day 0", "day 1", "day 2", "day 3"}, {"day 0", "day 1", "day 2"}),
        ("周五至周一", {"day 4", "day 6", "day 0", "day 2"}, {"day 4", "day 6", "day 0"}),
        ("on weekdays", {"day 4", "day 5"}, {"day 4"}),
        ("room 12b", {"12a", "12b", "12"}, {"12b", "12"}),
    ],
)
def test_which_of_it_a_text_has(text: str, exact: set[str], has: set[str]):
    assert exact_things_in(text, frozenset(exact)) == has


@over(st.text("0123456789 .,:-/abE年月周一二三十百千万第号点 day", max_size=40))
def test_a_text_has_what_it_names_itself(text: str):
    assert exact_things_in(text, exact_things(text)) == exact_things(text)


@pytest.mark.parametrize(
    ("contexts", "has"),
    [
        (["It sold 900 lamps.", "In 2023 it opened."], {"2023"}),
        (["In 2021 it sold 900 lamps.", "In 2023 it opened."], set[str]()),
        (["It sold 900 lamps.", "2024", "2023"], set[str]()), (["周五休息。", "2023年"], {"2023", "day 4"}),
        (["周一休息。", "周五"], set[str]()),
    ],
)  # fmt: skip
def test_the_nearest_time_hides_those_farther_away(contexts: list[str], has: set[str]):
    assert exact_things_nearest(contexts, frozenset(("2023", "day 4"))) == has


# How much of a question a text holds.


NONE = Synonyms()


def _equal(terms: Iterable[str]) -> Mapping[str, float]:
    return dict.fromkeys(terms, 1.0)


def _covered(question: str, text: str, synonyms: Synonyms = NONE) -> float:
    return Needs(question, synonyms=synonyms, rarities=_equal).covered(text)


@over(st.text(max_size=60), st.text(max_size=60))
def test_it_is_a_part_of_the_whole(question: str, text: str):
    needs = Needs(question, synonyms=Synonyms.bundled(), rarities=_equal)
    assert 0.0 <= needs.covered(text) <= 1.0
    assert bool(needs) == (needs.covered(f"{text} {question}") > 0.0)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How long do I have to send something back?", "Goods can be sent back."),
        ("Who is the engineer, and what is the phone number?", "The engineer: 5550 171."),
        ("屏幕显示E4，我该怎么办？", "屏幕显示E4。"),
        ("买的东西多少天内可以退货？", "买后三天内退货。"),
        ("电话号码是多少？", "请拨 8812-4406。"),
    ],
)
def test_words_that_only_ask_need_nothing_and_other_forms_and_numbers_serve(question: str, text: str):
    assert _covered(question, text) >= 0.7


@pytest.mark.parametrize(
    ("question", "text", "lacking"),
    [
        ("When is the summer fair?", "The summer fair is organised by Mrs Baptiste.", 1.0),
        ("When is the summer fair?", "The summer fair is in July.", 0.0),
        ("Who pays when it is late?", "Mr Lindqvist pays.", 0.0),
        ("What does the trip cost?", "The trip goes to the lake.", 1.0),
        ("桑拿星期几开放？", "周二开放。", 0.0),
        ("指示灯闪烁怎么办？", "前盖没有盖好。", 0.0),
    ],
)
def test_what_kind_of_thing_a_text_lacks(question: str, text: str, lacking: float):
    assert share_lacking(text, kinds_asked(question), question) == lacking


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("Can I return something I haven't opened?", {"open"}),
        ("Unopened items, but they are not refunded", {"open", "refund"}), ("Isn't the pool open?", set[str]()),
        ("没有拆封的商品", {"拆封"}), ("能不能做蛋糕？有没有奶油？", set[str]()), ("馆内禁止饮食", {"饮食"}),
    ],
)  # fmt: skip
def test_what_a_text_denies(text: str, stems: set[str]):
    assert denied(text) == stems


@pytest.mark.parametrize(
    ("question", "text", "opposite"),
    [
        ("Can I return something I haven't opened?", "Opened tents can be exchanged, not refunded.", True),
        ("Can I return something I haven't opened?", "Unopened items may be sent back within 30 days.", False),
        ("Can I send an opened tent back?", "Unopened items may be sent back within 30 days.", True),
        ("Is overtime compensated with money?", "Overtime is compensated with time off and not with money.", False),
        ("没拆封的商品可以退吗？", "已拆封的化妆品不能退货。", True),
        ("没拆封的商品可以退吗？", "未拆封的商品七天内可以退货。", False),
        ("拆封的商品可以退吗？", "未拆封的商品七天内可以退货。", True),
        ("机器人达到目标了吗？", "没有达到百分之七十的目标。", False),
    ],
)
def test_the_opposite_case_is_told_from_a_no(question: str, text: str, opposite: bool):
    assert is_opposite(question, text) is opposite


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("Can adults rent electric bikes?", "Children under 12 may not rent electric bikes.", True),
        ("Can children rent electric bikes?", "Children under 12 may not rent electric bikes.", False),
        ("Can children come in?", "Only adults may come in.", False),
        ("Are cats allowed in cargo bikes?", "Dogs are allowed in cargo bikes.", True),
        ("Are cats allowed in cargo bikes?", "Pets are allowed in cargo bikes.", False),
        ("Are pets allowed in cargo bikes?", "Dogs are allowed in cargo bikes.", False),
        ("How much does a week cost?", "An hour costs 4 euros and a day costs 18 euros.", True),
        ("How much does a week cost?", "Seven days cost 90 euros.", False),
        ("How much does a day cost?", "An hour costs 4 euros and a day costs 18 euros.", False),
        ("How many days of leave are there a year?", "There are two days of leave a month.", False),
        ("成年人可以租电动车吗？", "未成年人不得租用电动车。", True),
        ("未成年人可以租电动车吗？", "十二岁以下儿童不得租用电动车。", False), ("可以带猫吗？", "可以带一只狗。", True),
        ("可以带猫吗？", "只可以带狗。", False), ("租一周多少钱？", "租一小时四元，租一天十八元。", True),
        ("How much is a week pass?", "A day pass is 6 euros.", True), ("月票多少钱？", "年票三百元。", True),
        ("How much do women pay?", "Only men pay 12 euros.", True),
        ("May women come in?", "Only men may come in.", False),
    ],
)  # fmt: skip
def test_another_case_is_told_from_the_one_asked_about(question: str, text: str, other: bool):
    assert is_other_case(question, text) is other


@pytest.mark.parametrize(
    ("question", "text", "lacking"),
    [
        ("How often does the ferry run?", "The ferry takes ten minutes.", True),
        ("How often does the ferry run?", "The ferry leaves every ten minutes.", False),
        ("How long does the ferry take?", "The ferry takes ten minutes.", False),
        ("How long does the ferry take?", "The ferry costs 4 euros.", True),
        ("How much does the ferry cost?", "The ferry takes ten minutes.", True),
        ("How much does the ferry cost?", "The ferry is free.", False),
        ("How heavy is the bike?", "The bike is 180 cm long.", True),
        ("How old must I be?", "Only those over sixteen may ride.", False),
        ("Where does the ferry go?", "The ferry takes ten minutes.", False),
        ("纸质发票几天能寄到？", "纸质发票需要另付五元邮费。", True),
        ("洗牙多久一次？", "上次洗牙花了六百五十元。", True),
        ("滤芯多久换一次？", "滤芯每六个月换一次。", False),
        ("主管的邮箱是什么？", "投诉由主管处理。", True),
        ("How many hours does it last?", "It has 500 watt-hours and lasts for 60 kilometres.", True),
        ("How many hours does it last?", "It lasts for four hours.", False),
        ("How long is the bridge?", "The bridge has two kilometres.", False),
        ("滤芯多久换一次？", "滤芯使用六个月后更换。", False),
        ("滤芯多久换一次？", "滤芯保修六个月。", True),
        ("How wide is the van?", "The van is six metres long and three metres high.", True),
        ("How tall is the van?", "The van is six metres long and three metres high.", False),
        ("At what time does the swap begin?", "The swap is on 14 March in the hut.", True),
        ("At what time does the swap begin?", "The swap begins at half past seven.", False),
        ("办公室几点下班？", "办公室在一号楼，周一到周六上班。", True),
        ("办公室几点下班？", "办公室晚上六点关门。", False),
        ("How many plots are there?", "A full plot costs 46 pounds a year, a half plot 25.", True),
        ("How many plots are there?", "There are forty-two small plots.", False),
        ("How many people fit in?", "The cottage sleeps four guests.", False),
        ("车位有多少个？", "车位每月一百八十元。", True),
        ("车位有多少个？", "车位一共八十个。", False),
        ("桑拿星期几只对女士开放？", "周一对女士开放。", False),
        ("人脸识别怎么录入？", "人脸识别晚上停用。", True),
        ("人脸识别怎么录入？", "在手机上录入人脸。", False),
        ("大件垃圾怎么处理？", "大件垃圾请提前预约。", False),
        ("电源线坏了怎么办？", "机身重九公斤，电源线长一米二。", True),
        ("灯坏了怎么办？", "灯坏了请扫码报修。", False),
        ("渣盒多少钱？", "渣盒满十二块会提示。", True),
        ("渣盒多少钱？", "渣盒三十块。", False),
    ],
)
def test_a_measure_is_told_from_another(question: str, text: str, lacking: bool):
    assert lacks_measure(question, text) is lacking


def test_what_a_question_names_and_whose_thing_it_asks_for():
    assert names_in("What is Ms Farouk's phone number?") == ["Farouk"]
    assert owned_in("加湿器的保修期是几年？") == (["加湿器"], [])
    assert owned_in("留存率的目标是多少？") == (["留存率"], ["目标"])
    assert owned_in("豆包对鸡肉过敏吗？") == (["鸡肉"], [])
    assert exact_things_nearest(["八月新增四万人，比七月增长一成。"], frozenset({"month 7"})) == frozenset()


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("家具签收后几天内可以退？", "家具"), ("请问我的家具怎么退？", "家具"), ("周末有人吗？", ""), ("多久换一次？", ""),
        ("谁负责？", ""), ("How long is it?", ""), ("", ""), ("How much is a key to the north gate?", "key"),
        ("How much does the day pass cost?", "day pass"), ("How much do I pay?", ""),
    ],
)  # fmt: skip
def test_what_a_question_is_plainly_about(question: str, topic: str):
    assert topic_of(question) == topic


@pytest.mark.parametrize(
    ("question", "whether"),
    [
        ("Can I pull a trailer?", True), ("Where can I park?", False), ("可以退吗？", True), ("能不能退？", True),
        ("谁退？", False),
    ],
)  # fmt: skip
def test_whether_a_question_wants_yes_or_no(question: str, whether: bool):
    assert asks_whether(question) is whether
