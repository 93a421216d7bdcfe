from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.keywords import (
    LOOKED_AT,
    chinese_keywords,
    keywords,
    words_of,
)
from memwell.language.words import STOP_WORDS
from tests.language.chinese_sentences import FIRST, SECOND, THIRD, Case

TOPICS = {
    "项目背景：构建一个分布式电商平台": "分布式电商平台 项目背景 电商平台",
    "技术选型：Spring Cloud vs Kubernetes": "技术选型 Spring Cloud Kubernetes",
    "数据库设计：MySQL分库分表策略": "数据库设计 MySQL分库分表策略 MySQL 分库分表",
    "缓存方案：Redis集群架构": "缓存方案 Redis集群架构 Redis 集群架构",
    "消息队列：Kafka vs RabbitMQ选择": "消息队列 Kafka RabbitMQ",
    "监控告警：Prometheus+Grafana": "监控告警 Prometheus Grafana",
    "日志收集：ELK Stack配置": "日志收集 ELK",
    "安全认证：JWT Token设计": "安全认证 JWT Token",
    "我想了解Python异步编程": "Python异步编程 Python 异步编程",
    "Python异步编程使用async/await语法...": "Python异步编程 async/await语法",
    "大模型记忆机制分为参数记忆、上下文记忆、外部记忆": "大模型记忆机制 大模型 记忆机制 参数记忆 上下文记忆 外部记忆",
    "RAG技术靠检索增强生成应对大模型的知识更新问题": "RAG技术 检索增强生成 大模型 知识更新问题",
    "向量数据库保存文本的语义嵌入，方便相似度搜索": "向量数据库 语义嵌入 相似度搜索",
    "LangChain有一整套RAG组件：文档加载、分割、嵌入": "LangChain RAG组件 文档加载 嵌入",
    "大模型的上下文窗口装不下长文本，RAG可以": "大模型 上下文窗口 长文本 RAG",
    "用户在问机器学习算法怎么选": "机器学习算法 机器学习",
    "算法对比图表：决策树、神经网络、SVM": "算法对比图表 决策树 神经网络 SVM",
    "不同机器学习算法的优缺点": "机器学习算法 优缺点",
}


def found_in(text: str, limit: int = 8) -> list[str]:
    return [keyword.word for keyword in keywords(text, limit=limit)]


@pytest.mark.parametrize("text", TOPICS)
def test_the_topics_of_a_developer_are_found(text: str) -> None:
    assert set(TOPICS[text].split()) <= set(found_in(text))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("项目背景：构建一个分布式电商平台", "分布式电商平台"), ("我想了解Python异步编程", "Python异步编程"),
        ("用户在问机器学习算法怎么选", "机器学习算法"), ("缓存方案：Redis集群架构", "Redis集群架构"),
    ],
)  # fmt: skip
def test_the_whole_phrase_comes_first(text: str, first: str) -> None:
    assert found_in(text)[0] == first


def precision_and_recall(cases: list[Case]) -> tuple[float, float]:
    right = given_ = hit = wanted = 0
    for text, expected, acceptable in cases:
        found = found_in(text, limit=5)
        given_ += len(found)
        right += len(set(found) & {*expected.split(), *acceptable.split()})
        wanted += len(expected.split())
        hit += len(set(expected.split()) & set(found))
    return right / given_, hit / wanted


@pytest.mark.parametrize(
    ("cases", "precision", "recall"), [(FIRST, 0.92, 0.92), (SECOND, 0.94, 0.92), (THIRD, 0.87, 0.89)]
)
def test_most_of_what_is_found_is_right_and_most_of_what_is_right_is_found(
    cases: list[Case], precision: float, recall: float
) -> None:
    measured = precision_and_recall(cases)
    assert measured >= (precision, recall)
    assert measured[1] >= recall


@pytest.mark.parametrize("text", ["大模型处理了文本", "我们部署微服务", "公司翻译一本书"])
def test_a_verb_with_an_object_is_part_of_no_phrase(text: str) -> None:
    assert not any(verb in word for word in found_in(text) for verb in ("处理", "部署", "翻译"))


@pytest.mark.parametrize("text", ["图像识别和语音合成", "知识更新问题", "索引优化", "监控告警"])
def test_a_verb_in_a_compound_is_part_of_it(text: str) -> None:
    assert found_in(text)[0] in text.split("和")


def test_what_comes_back_weighs_more_and_is_counted() -> None:
    best, *_ = chinese_keywords("量子计算机很快。量子计算机很贵。我有一只猫。")
    assert (best.word, best.count) == ("量子计算机", 2)
    weights = {found.word: found.score for found in chinese_keywords("量子计算机很快。量子计算机很贵。我有一只猫。")}
    assert weights["量子计算机"] > 2 * weights["猫"]


def test_a_very_long_row_of_nouns_is_cut_into_phrases() -> None:
    found = chinese_keywords("电脑手机电视冰箱" * 50)
    assert max(len(one.word) for one in found) <= 16
    assert len(found) < 40


@given(st.text("我的大模型学习算法了和在Python /，。 ab1\ud800😀", max_size=60))
def test_every_keyword_stands_in_the_text(text: str) -> None:
    for found in chinese_keywords(text):
        assert found.word in text.replace("\ud800", "?")
        assert found.count >= 1
        assert found.score > 0


TEXT = (
    "The support group met on Tuesday. Painting helps Caroline, and Caroline loves painting with the support group. "
    "She painted a horse for Melanie."
)


def words(text: str, limit: int = 10) -> list[str]:
    return [keyword.word for keyword in keywords(text, limit=limit)]


def test_english_words_and_phrases() -> None:
    found = words(TEXT)
    assert {"Caroline", "painting", "support group"} <= set(found)
    assert set(found[:3]) == {"Caroline", "painting", "support group"}
    assert "support" not in found  # it never leaves its phrase
    assert not {"the", "and", "she"} & {word.lower() for word in found}


def test_chinese_words() -> None:
    found = words("我喜欢自行车，妈妈给我买了一辆自行车。动物园里的大象很可爱，我们去动物园看大象。")
    assert set(found[:2]) == {"自行车", "动物园"}
    assert "大象" in found
    assert not STOP_WORDS["zh"] & set(found)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_holds_and_the_weightiest_come_first(limit: int) -> None:
    found = keywords(TEXT, limit=limit)
    assert len(found) == limit
    assert found == keywords(TEXT, limit=100)[:limit]
    scores = [keyword.score for keyword in keywords(TEXT, limit=100)]
    assert scores == sorted(scores, reverse=True)


@given(st.text(st.characters()) | st.text("我的大象 ab's.-’"))
def test_any_text_has_keywords_or_none(text: str) -> None:
    for keyword in keywords(text):
        assert keyword.word.strip()
        assert keyword.count >= 1
        assert keyword.score > 0


def test_stop_words_are_written_as_they_are_looked_up() -> None:
    assert all(word == word.lower() for word in STOP_WORDS["en"])
    assert "don't" in STOP_WORDS["en"]
    assert "的" in STOP_WORDS["zh"]


# In linear time all of them take a second or two; the square of the length would run into the time limit of a test.
REPEATED = {
    "a": [], "word ": ["word word word", "word word", "word"], "上": [],
    "大象": ["大象", "大象大象大象大象", "大象大象"], "a-": ["a-a-a-a"], "a'": ["a'a'a'a"], " ": [], "x1 ": [],
}  # fmt: skip


def test_a_long_text_made_to_be_slow_is_read_in_linear_time() -> None:
    assert {unit: words((unit * LOOKED_AT)[:LOOKED_AT]) for unit in REPEATED} == REPEATED


# Chinese words.

LAZY = (
    "import sys, memwell, memwell.language.keywords as k; k.keywords('plain English'); print('rjieba' in sys.modules)"
)


def does(text: str) -> dict[str, str]:
    return {word.text: word.does for word in words_of(text)}


@given(st.text(max_size=80) | st.text("大模型长文本的率表 Python/,。😀 ", max_size=40))
def test_the_words_joined_are_the_text(text: str) -> None:
    assert "".join(word.text for word in words_of(text)) == text


@pytest.mark.parametrize(
    "term", ["大模型", "机器学习", "检索增强生成", "召回率", "快递员", "长文本", "大语言模型", "相似度"]
)
def test_a_term_is_one_word(term: str) -> None:
    assert term in does(f"我想了解{term}，谢谢")


def test_an_adjective_after_a_word_of_degree_stays_alone() -> None:
    assert "高成绩" not in does("个子很高成绩好")
    assert "高成绩" in does("要高成绩")


def test_the_dictionary_is_loaded_for_chinese_only() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
