"""What people say about a bank, day by day: a surge of bad words raises an alert that names its causes and its evidence.

    python examples/opinion_monitoring.py                  # in English
    python examples/opinion_monitoring.py --language zh    # 中文

Two weeks of posts are made up here, the same every time. Each is remembered with its day and how it speaks, so the alert
rests on memories that can be read again. No model is asked and nothing is fetched.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean, stdev
from typing import Any

import memwell
from memwell.filters import Where
from memwell.language.keywords import keywords
from memwell.language.sentiment import sentiment
from memwell.longterm.recall import Recalled

FIRST_DAY = datetime(2025, 3, 3, 9, tzinfo=UTC)
DAYS = 14
TROUBLE = 11
"""The day, counted from 0, on which things go wrong."""

NEGATIVE = -0.15
COMPARED_DAYS = 7
DEVIATIONS = 3.0
LEAST_RISE = 0.15

TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "usual": [
            "Opened an account at Harbour Bank today, the clerk was friendly and quick.",
            "Harbour Bank raised its savings rate again, I am happy with that.",
            "Paid my rent with the Harbour Bank app, works as always.",
            "The new Harbour Bank branch at the station opens on Saturday.",
            "Harbour Bank sponsors the city marathon this year.",
            "Great advice on my mortgage at Harbour Bank, thank you.",
            "Queue at the Harbour Bank counter was terribly long today.",
            "The Harbour Bank fees are annoying, why so high?",
            "Does anyone know when Harbour Bank opens on Sunday?",
            "Love the new design of the Harbour Bank card.",
        ],
        "trouble": [
            "The Harbour Bank app has been down since this morning, I cannot pay anything. Terrible.",
            "Login error in the Harbour Bank app again and again, this is a disaster.",
            "Card declined at the supermarket because of the Harbour Bank outage. So embarrassing and angry.",
            "Harbour Bank outage: the hotline hangs up on me. Awful service.",
            "My salary is missing after the Harbour Bank outage, I am really worried.",
            "Transfer failed three times, the Harbour Bank app is broken. I hate this.",
        ],
        "title": "Posts about Harbour Bank",
        "columns": "day          posts   negative",
        "alert": "ALERT {day}: {share:.0%} of {count} posts are negative; the {days} days before it was {before:.0%}.",
        "about": "What they speak of that was hardly spoken of before: {words}",
        "evidence": "For example:",
        "comma": ", ",
        "alerts": "Alerts in two weeks: {count}",
        "question": "app outage, cannot pay, login error",
        "asked": "Asked later: {query!r} recalls",
    },
    "zh": {
        "usual": [
            "今天在港湾银行开了户，柜员很热情，办得也快。",
            "港湾银行又提高了存款利率，我很满意。",
            "用港湾银行的应用交了房租，一切正常。",
            "港湾银行车站新网点周六开业。",
            "港湾银行今年赞助城市马拉松。",
            "港湾银行的房贷顾问很专业，非常感谢。",
            "今天港湾银行柜台排队太久了，真让人心烦。",
            "港湾银行的手续费太高了，令人失望。",
            "有人知道港湾银行周日几点开门吗？",
            "喜欢港湾银行新卡的设计，很漂亮。",
        ],
        "trouble": [
            "港湾银行的应用从早上起就瘫痪了，什么都付不了，太糟糕了。",
            "港湾银行登录一直报错，系统故障，简直是灾难。",
            "港湾银行系统故障，在超市刷卡被拒，又尴尬又生气。",
            "港湾银行系统故障，客服电话直接挂断，服务太差。",
            "港湾银行系统故障之后工资没到账，非常担心。",
            "转账失败三次，港湾银行应用坏了，真讨厌。",
        ],
        "title": "关于港湾银行的帖子",
        "columns": "日期         帖子    负面",
        "alert": "警报 {day}：{count} 条帖子中 {share:.0%} 为负面；此前 {days} 天为 {before:.0%}。",
        "about": "此前很少谈到、现在集中出现的内容：{words}",
        "evidence": "例如：",
        "comma": "、",
        "alerts": "两周内的警报：{count} 次",
        "question": "应用瘫痪、无法支付、登录报错",
        "asked": "事后查询 {query!r}，召回",
    },
}


@dataclass(frozen=True)
class Day:
    """The posts of a day, and those of them that speak ill."""

    date: str
    posts: list[Recalled]

    @property
    def negative(self) -> list[Recalled]:
        return [post for post in self.posts if post.metadata["sentiment"] < NEGATIVE]

    @property
    def share(self) -> float:
        return len(self.negative) / len(self.posts)


def write_posts(m: memwell.Engine, words: dict[str, Any]) -> None:
    """Two weeks of posts. On one day, and a little the day after, something is wrong."""
    chance = random.Random(7)
    for number in range(DAYS):
        trouble = {TROUBLE: 18, TROUBLE + 1: 3}.get(number, 0)
        posts = chance.choices(words["usual"], k=chance.randint(18, 26)) + chance.choices(words["trouble"], k=trouble)
        moment = FIRST_DAY + timedelta(days=number)
        for place, text in enumerate(chance.sample(posts, len(posts))):
            # People say the same thing: each is a post of its own, so each has an id of its own.
            m.remember(
                text,
                id=f"{moment:%m%d}-{place:03d}",
                time=moment + timedelta(minutes=20 * place),
                metadata={"day": f"{moment:%Y-%m-%d}", "sentiment": sentiment(text)},
            )


def days_of(m: memwell.Engine) -> Iterator[Day]:
    """The days in order, each from what is remembered of it."""
    for number in range(DAYS):
        date = f"{FIRST_DAY + timedelta(days=number):%Y-%m-%d}"
        yield Day(date, m.memories(where=Where("day", "eq", date)))


def is_surge(day: Day, before: Sequence[Day]) -> bool:
    """Whether a day speaks so much worse than the days before that chance does not explain it."""
    if len(before) < COMPARED_DAYS:
        return False
    shares = [one.share for one in before]
    return day.share - mean(shares) > max(DEVIATIONS * stdev(shares), LEAST_RISE)


def new_words(day: Day, before: Sequence[Day]) -> list[str]:
    """The words of a day's bad posts that were hardly used in the days before."""
    used = Counter(one.word for past in before for post in past.posts for one in keywords(post.text))
    now = Counter(one.word for post in day.negative for one in keywords(post.text))
    return [word for word, count in now.most_common() if count >= 3 and used[word] * 5 < count][:6]


def main(language: str, store: str) -> None:
    words = TEXTS[language]
    with memwell.open(store) as m:
        write_posts(m, words)
        print(words["title"])
        print(words["columns"])
        days: list[Day] = []
        alerts = 0
        for day in days_of(m):
            bar = "█" * round(40 * day.share)
            print(f"{day.date}   {len(day.posts):>4}   {day.share:>5.0%} {bar}")
            before = days[-COMPARED_DAYS:]
            if is_surge(day, before):
                usual = mean(one.share for one in before)
                print("  !", words["alert"].format(
                    day=day.date, share=day.share, count=len(day.posts), before=usual, days=COMPARED_DAYS
                ))  # fmt: skip
                causes = new_words(day, before)
                print("   ", words["about"].format(words=words["comma"].join(causes)))
                print("   ", words["evidence"])
                telling = [post.text for post in day.negative if any(word in post.text for word in causes)]
                for text in list(dict.fromkeys(telling))[:4]:
                    print("     -", text)
                alerts += 1
            days.append(day)
        print(words["alerts"].format(count=alerts))
        print(words["asked"].format(query=words["question"]))
        for hit in m.recall(words["question"], limit=3, diversity=0.9):
            print(f"  {hit.time:%Y-%m-%d}  {hit.text}  ({hit.why(language=language)})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=sorted(TEXTS), default="en")
    parser.add_argument("--store", default="memory:", help="a file to look at afterwards")
    given = parser.parse_args()
    main(given.language, given.store)
