"""What to recommend to whom: interests are read from what people did and said, and every recommendation says why.

    python examples/recommendation.py                  # in English
    python examples/recommendation.py --language zh    # 中文

A small shop of courses and three of its customers are made up here. What a customer viewed, bought or complained about is
remembered in a space of that customer's own, which no other can see; the catalogue is a space that all may ask. No model is
asked and nothing is fetched.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import memwell
from memwell.language.keywords import keywords
from memwell.language.sentiment import sentiment

CATALOGUE = "catalogue"
WORTH = {"viewed": 1.0, "liked": 2.0, "bought": 3.0, "commented": 2.0}
"""What an action says of an interest. A comment counts by how it speaks: a complaint takes away."""

LEAST_SCORE = 0.3
"""What is less alike is not worth recommending."""

TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "courses": {
            "bread": "Sourdough at home: baking bread with a starter, flour and patience",
            "cake": "Cakes for celebrations: layers, cream and sugar flowers",
            "pasta": "Fresh pasta: dough, shapes and simple sauces from Italy",
            "async": "Python asyncio: event loops, tasks and network programs",
            "pandas": "Data analysis in Python with pandas: tables, groups and charts",
            "sql": "Databases and SQL: queries, indexes and transactions",
            "ml": "Machine learning in Python: models, training and evaluation",
            "portrait": "Portrait photography: light, lenses and posing people",
            "night": "Photographing the night sky: stars, long exposure and tripods",
            "garden": "A vegetable garden on the balcony: soil, seeds and watering",
            "yoga": "Yoga for tired backs: gentle stretching in the morning",
            "running": "From the sofa to ten kilometres: a running plan",
        },
        "deeds": {
            "Ann": [
                ("bought", "bread", ""),
                ("viewed", "pasta", ""),
                ("commented", "bread", "I love baking bread on Sundays, the dough smells wonderful."),
                ("viewed", "async", ""),
            ],
            "Bo": [
                ("bought", "pandas", ""),
                ("liked", "sql", ""),
                ("commented", "pandas", "Great course, now I analyse all our tables in Python."),
                ("commented", "running", "Boring and terrible for my knees, I hate running."),
            ],
            "Cleo": [
                ("liked", "night", ""),
                ("viewed", "garden", ""),
                ("commented", "night", "The stars over the lake were beautiful through my new lens."),
            ],
        },
        "deed": "{action}: {course}",
        "said": "said of it: {words}",
        "interests": "{name} is interested in {words}",
        "not": ", and not in {words}",
        "offer": "  {place}. {course} ({score:.2f})",
        "because": "     because of {deed}",
        "comma": ", ",
    },
    "zh": {
        "courses": {
            "bread": "在家做酸面包：用酵种、面粉和耐心烘焙面包",
            "cake": "庆典蛋糕：夹层、奶油与糖花",
            "pasta": "手工意大利面：面团、造型与简单酱汁",
            "async": "Python异步编程：事件循环、任务与网络程序",
            "pandas": "Python数据分析：用pandas处理表格、分组与图表",
            "sql": "数据库与SQL：查询、索引与事务",
            "ml": "Python机器学习：模型、训练与评估",
            "portrait": "人像摄影：光线、镜头与姿势",
            "night": "拍摄星空：星星、长曝光与三脚架",
            "garden": "阳台菜园：土壤、种子与浇水",
            "yoga": "舒缓瑜伽：早晨的背部拉伸",
            "running": "从沙发到十公里：跑步计划",
        },
        "deeds": {
            "小安": [
                ("bought", "bread", ""),
                ("viewed", "pasta", ""),
                ("commented", "bread", "周末最喜欢烘焙面包，面团的香味太棒了。"),
                ("viewed", "async", ""),
            ],
            "阿博": [
                ("bought", "pandas", ""),
                ("liked", "sql", ""),
                ("commented", "pandas", "很棒的课程，现在我用Python做数据分析，处理所有表格。"),
                ("commented", "running", "跑步太无聊，膝盖疼，真讨厌。"),
            ],
            "可莉": [
                ("liked", "night", ""),
                ("viewed", "garden", ""),
                ("commented", "night", "用新镜头拍到湖上的星空，美极了。"),
            ],
        },
        "actions": {"viewed": "浏览", "liked": "喜欢", "bought": "购买", "commented": "评论"},
        "deed": "{action}：{course}",
        "said": "评论说：{words}",
        "interests": "{name}感兴趣的内容：{words}",
        "not": "；不感兴趣：{words}",
        "offer": "  {place}. {course} ({score:.2f})",
        "because": "     依据：{deed}",
        "comma": "、",
    },
}


@dataclass
class Offer:
    """A course that may be recommended: how well it fits, and the deeds that speak for it."""

    course: str
    score: float = 0.0
    because: dict[str, float] = field(default_factory=dict)


def fill_catalogue(m: memwell.Engine, words: dict[str, Any]) -> None:
    for key, course in words["courses"].items():
        m.at(CATALOGUE).remember(course, id=key, kind="course")


def note_deeds(m: memwell.Engine, words: dict[str, Any]) -> None:
    """What each customer did, in a memory of that customer's own."""
    for name, deeds in words["deeds"].items():
        for action, key, comment in deeds:
            course = words["courses"][key]
            text = words["said"].format(words=comment) if comment else ""
            shown = words.get("actions", {}).get(action, action)
            worth = WORTH[action] * (sentiment(comment) if comment else 1.0)
            m.at(name).remember(
                f"{words['deed'].format(action=shown, course=course)}{' · ' if text else ''}{text}",
                speaker=name,
                metadata={"course": key, "worth": worth, "about": f"{course} {comment}"},
            )


def offers(m: memwell.Engine, name: str) -> list[Offer]:
    """The courses that are like what a customer liked and unlike what that customer disliked, best first."""
    deeds, catalogue = m.at(name).memories(), m.at(CATALOGUE)
    known = {deed.metadata["course"] for deed in deeds}
    courses = {course.id: course.text for course in catalogue.memories() if course.id not in known}
    found = {key: Offer(text) for key, text in courses.items()}
    for deed in deeds:
        near = catalogue.similarities(deed.metadata["about"], list(courses))
        usual = mean(near.values())
        for key, nearness in near.items():
            # Every course is a little like every other; what counts is how much more.
            found[key].score += deed.metadata["worth"] * (nearness - usual)
            found[key].because[deed.text] = deed.metadata["worth"] * (nearness - usual)
    return sorted((offer for offer in found.values() if offer.score > LEAST_SCORE), key=lambda offer: -offer.score)


def interests(m: memwell.Engine, name: str) -> tuple[list[str], list[str]]:
    """The words a customer cares for, and those that customer does not."""
    weights: defaultdict[str, float] = defaultdict(float)
    for deed in m.at(name).memories():
        for one in keywords(deed.metadata["about"], limit=6):
            weights[one.word] += deed.metadata["worth"] * one.score
    ordered = sorted(weights, key=lambda word: -abs(weights[word]))
    return [word for word in ordered if weights[word] > 0][:5], [word for word in ordered if weights[word] < 0][:2]


def main(language: str, store: str) -> None:
    words = TEXTS[language]
    with memwell.open(store) as m:
        fill_catalogue(m, words)
        note_deeds(m, words)
        m.at(CATALOGUE).flush()  # all vectors at once, so that likeness can be measured
        for name in words["deeds"]:
            liked, disliked = interests(m, name)
            line = words["interests"].format(name=name, words=words["comma"].join(liked))
            print(line + (words["not"].format(words=words["comma"].join(disliked)) if disliked else ""))
            for place, offer in enumerate(offers(m, name)[:2], 1):
                print(words["offer"].format(place=place, course=offer.course, score=offer.score))
                print(words["because"].format(deed=max(offer.because, key=lambda deed: offer.because[deed])))
            print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=sorted(TEXTS), default="en")
    parser.add_argument("--store", default="memory:", help="a file to look at afterwards")
    given = parser.parse_args()
    main(given.language, given.store)
