from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language import entities as names
from memwell.language.entities import entities

NAMED = {
    "Dr. Smith met Caroline's friend John Miller.": [
        ("person", "smith"),
        ("person", "caroline"),
        ("person", "john miller"),
    ],
    "She studied at Stanford University in San Francisco.": [
        ("organisation", "stanford university"),
        ("place", "san francisco"),
    ],
    "Bank of America and the University of California": [
        ("organisation", "bank of america"),
        ("organisation", "university of california"),
    ],
    "I bought an iPhone 15 Pro and a PS5.": [("product", "iphone 15 pro"), ("product", "ps5")],
    "GPT-4 beats GPT-3.": [("product", "gpt-4"), ("product", "gpt-3")],
    'We saw "The Lord of the Rings" in Central Park.': [
        ("product", "the lord of the rings"),
        ("place", "central park"),
    ],
    "Ask @bob_m or a.b@example.com": [("person", "bob_m"), ("person", "a.b@example.com")],
    "Thanks Mel! New York is big. Remember Anna?": [("person", "mel"), ("place", "new york"), ("person", "anna")],
    "Zorblax left. I miss Zorblax.": [("unknown", "zorblax"), ("unknown", "zorblax")],
    "小明和老王去了北京市": [("person", "小明"), ("person", "老王"), ("place", "北京")],
    "张伟说李娜在清华大学读书": [("person", "张伟"), ("person", "李娜"), ("organisation", "清华大学")],
    "王老师推荐《三体》给小张": [("person", "王老师"), ("product", "三体"), ("person", "小张")],
    "我在腾讯公司上班，住在朝阳区": [("organisation", "腾讯公司"), ("place", "朝阳区")],
    "上海交通大学在上海": [("organisation", "上海交通大学"), ("place", "上海")],
    "Bart和好朋友Jimmy去了中山路": [("person", "bart"), ("person", "jimmy")],
    "堂弟浩浩很喜欢": [("person", "浩浩")],
    "张三在北京工作。": [("person", "张三"), ("place", "北京")],
    "李四喜欢篮球。": [("person", "李四")],
    "我的朋友刘德华住在香港。": [("person", "刘德华"), ("place", "香港")],
    "李雷和韩梅梅": [("person", "李雷"), ("person", "韩梅梅")],
    "王小红": [("person", "王小红")],
    "张三和李四": [("person", "张三"), ("person", "李四")],
    "昨天张三说他病了": [("person", "张三")],
    "我叫王五": [("person", "王五")],
    "我的同事赵六是医生": [("person", "赵六")],
    "周杰伦喜欢打篮球": [("person", "周杰伦")],
    "Paris Hilton visited Paris.": [("unknown", "paris hilton"), ("place", "paris")],
    "I met Paris Hilton in Paris": [("unknown", "paris hilton"), ("place", "paris")],
}
NAMELESS = [
    "The weather is nice. We went out. Then it rained.", "HELLO EVERYONE THIS IS VERY GREAT",
    "I'm OK. I'll see you on Monday in May.", "Hey! What's up? Sounds good, Thanks", "他很高兴，马上去周围看看",
    "高兴的时候", "Elephants run fast.",
    "We like to cook and to eat a lot of good food here.\n**Use a Slow Cooker**\n* Water Parameters: fine",
    "一家公司，这家医院，市场里的路上", "妹妹说爸爸妈妈在家", "老师小时候的小朋友",
    "王国在这里，张开嘴，黄色和白色，周末去玩，马上来，方面，白天在家，金色的，安全是第一，常常去，温度很高",
    "程序在运行，任务是什么，马路在左边，白菜很便宜，陶瓷是一种东西，石榴和李子，龙虾和黄瓜，胡萝卜在哪",
    "朋友马上来。老师高兴地说。同学许多是。医生严格。老师方便吗。同事周末去玩。我叫马上",
    "**Slow Cooker Recipes**\n* Water Parameters: fine\n## Getting Started Now", "",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), NAMED.items())
def test_names_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(entity.kind, entity.key) for entity in entities(text)] == expected


@pytest.mark.parametrize("text", NAMELESS)
def test_common_words_are_no_names(text: str) -> None:
    assert entities(text) == []


def test_known_names_are_always_found() -> None:
    found = entities("zorbo met anna-lee and 大黄狗 at zorbos", known=["Zorbo", "大黄", "", " "])
    assert [(entity.text, entity.kind) for entity in found] == [("zorbo", "person"), ("大黄", "person")]
    assert [entity.text for entity in entities("Zorbo Smith left", known=["Zorbo"])] == ["Zorbo Smith"]


def test_a_key_compares_what_is_written_differently() -> None:
    keys = {
        entity.key
        for text in ("We saw Anna’s", "we saw Mrs. Anna", "we saw ANNA'S")
        for entity in entities(text, known=["anna"])
    }
    assert keys == {"anna"}


pieces = st.lists(
    st.sampled_from(
        [
            "Anna", "Dr. ", "iPhone", " 15", "@", "a@b.c", "《", "》", '"', "The ", "of ", "王", "老师", "北京",
            "公司", "'s", " ", ".",
        ]
    )
).map("".join)  # fmt: skip


@given(pieces | st.text(st.characters()), st.lists(st.text(max_size=3), max_size=2))
def test_entities_lie_in_order_in_the_text(text: str, known: list[str]) -> None:
    end = 0
    for entity in entities(text, known=known):
        assert end <= entity.start < entity.end
        assert entity.text == text[entity.start : entity.end]
        assert entity.kind in ("person", "place", "organisation", "product", "unknown")
        end = entity.end


def test_the_lists_do_not_contradict_each_other() -> None:
    assert not names.PLACES & names.ORGANISATIONS
    assert not names.NOT_NAMES & (names.PLACES | names.ORGANISATIONS)
    assert not names.PLACES_ZH & names.ORGANISATIONS_ZH


# In linear time all of them take a second or two; the square of the length would run into the time limit of a test.
# Beside each unit, how many of it are one name; 0 where there is none.
QUICK = {"a": 0, "A": 0, "Ab-": 0, "A.": 0, "@": 0, "a@": 0, '"': 0, " ": 0, "1": 0}
WORD_BY_WORD = {"A ": 0, "Ab ": 0, '"Ab ': 2, "《": 0, "上": 0, "王": 1, "小王": 1, "王公司": 2, "北": 0, "“A": 0}


@pytest.mark.parametrize(("units", "length"), [(QUICK, 250_000), (WORD_BY_WORD, 36_000)])
def test_a_long_text_made_to_be_slow_is_read_in_linear_time(units: dict[str, int], length: int) -> None:
    expected = {unit: length // len(unit) // each if each else 0 for unit, each in units.items()}
    assert {unit: len(entities(unit * (length // len(unit)), known=("Anna", "王"))) for unit in units} == expected
