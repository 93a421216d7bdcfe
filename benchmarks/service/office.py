"""Notes of an office with two languages: people, what is known of them, what changed, and much that is said besides.

The same seed writes the same notes. The pages of the service are looked at and measured over them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

ENGLISH = (
    *("Ann", "Ben", "Carla", "David", "Elena", "Farid", "Grace", "Henry", "Ingrid", "James"),
    *("Klara", "Liam"),
)
CHINESE = ("陈伟", "李娜", "王芳", "张敏", "刘洋", "赵磊", "孙丽", "周杰")
CITIES = ("Hamburg", "Lisbon", "Ghent", "Gdansk", "Porto", "Oslo", "Lyon", "Turin")
CHINESE_CITIES = ("北京", "上海", "成都", "杭州", "深圳", "西安", "南京", "武汉")
EMPLOYERS = ("Siemens", "Acme", "Northwind", "Contoso", "Initech")
FOODS = ("peanuts", "shellfish", "lactose", "gluten")
PROJECTS = ("apollo", "orion", "zephyr", "borealis", "meridian")
_SESSIONS = ("standup", "lunch", "review", "support call", "planning", "周会")
_THINGS = ("train", "release", "invoice", "printer", "budget", "contract", "demo", "server", "garden", "meeting room")
_DID = ("was late again", "went well", "needs another look", "is finished", "costs more than we thought")
_WHEN = ("On Monday", "This morning", "After lunch", "Before the call", "In the end", "As usual")
_SUBJECTS = ("火车", "发布", "发票", "打印机", "预算", "合同", "演示", "服务器", "花园", "会议室")
_HAPPENED = ("又晚点了", "很顺利", "还要再看一下", "已经完成", "比预计的贵")
_TIMES = ("周一", "今天早上", "午饭后", "电话会之前", "最后", "和平时一样")
_PETS = ("Pickle", "Biscuit", "Momo", "Luna")
_DAYS = 700


class Note(NamedTuple):
    """What somebody said."""

    text: str
    speaker: str
    session: str
    metadata: dict[str, Any]
    time: datetime
    known: bool
    """Whether it states what holds of its speaker, and not only what happened."""


def notes(count: int, now: datetime, seed: int = 11) -> Iterator[Note]:
    """So many notes, the oldest first: first what is known of each person, then what is said day by day."""
    lot = random.Random(seed)
    known = list(_known(lot))
    for number in range(count):
        time = now - timedelta(days=_DAYS * (1 - number / count) ** 1.5, seconds=lot.randrange(3600))
        # What people say of themselves is spread over all of the time, in its order.
        share = number * len(known) // count
        tells = number == 0 or share != (number - 1) * len(known) // count
        if tells:
            speaker, text = known[share]
        else:
            speaker = lot.choice(ENGLISH + CHINESE)
            text = _said(lot, number, chinese=speaker in CHINESE)
        metadata: dict[str, Any] = {"project": lot.choice(PROJECTS)} if lot.random() < 0.7 else {}
        if lot.random() < 0.1:
            metadata["urgent"] = True
        yield Note(text, speaker, lot.choice(_SESSIONS), metadata, time, tells)


def _known(lot: random.Random) -> Iterator[tuple[str, str]]:
    first: list[tuple[str, str]] = []
    later: list[tuple[str, str]] = []
    for number, name in enumerate(ENGLISH):
        home, next_home = lot.sample(CITIES, 2)
        work, next_work = lot.sample(EMPLOYERS, 2)
        friend = ENGLISH[(number + 1) % len(ENGLISH)]
        first += [(name, f"I live in {home}."), (name, f"I work at {work}.")]
        first += [(name, f"I'm allergic to {lot.choice(FOODS)}.")]
        first += [(name, f"My friend {friend} lives next door."), (name, f"My birthday is on {1 + number} May.")]
        first += [(name, f"I have a dog called {_PETS[number % len(_PETS)]}."), (name, "I like hiking and old films.")]
        later += [(name, f"I moved to {next_home}.")] if number % 2 else []
        later += [(name, f"I work at {next_work} now.")] if number % 3 == 0 else []
    for number, name in enumerate(CHINESE):
        home, next_home = lot.sample(CHINESE_CITIES, 2)
        first += [(name, f"我住在{home}。"), (name, "我对花生过敏。")]
        first += [(name, f"我在{lot.choice(('华为', '腾讯', '阿里巴巴'))}工作。")]
        first += [(name, f"我的同事是{CHINESE[(number + 1) % len(CHINESE)]}。"), (name, "我喜欢打羽毛球。")]
        later += [(name, f"我搬到{next_home}了。")] if number % 2 else []
    lot.shuffle(first)
    lot.shuffle(later)
    yield from first
    yield from later


def _said(lot: random.Random, number: int, *, chinese: bool) -> str:
    if chinese:
        text = f"{lot.choice(_TIMES)}，{lot.choice(_SUBJECTS)}{lot.choice(_HAPPENED)}，编号{number}。"
        return text if lot.random() < 0.6 else f"{text}{lot.choice(CHINESE)}会处理。"
    text = f"{lot.choice(_WHEN)} the {lot.choice(_THINGS)} {lot.choice(_DID)}, ticket {number}."
    return (
        text if lot.random() < 0.6 else f"{text} {lot.choice(ENGLISH)} will look into it before {lot.choice(CITIES)}."
    )
