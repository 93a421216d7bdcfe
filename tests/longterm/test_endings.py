"""What ends or begins for those who are known, by what is said in passing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import memwell

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""A Monday."""


@pytest.fixture
def engine() -> Iterator[memwell.Engine]:
    with memwell.open("memory:", work=False, embedder=None) as opened:
        yield opened


def told(engine: memwell.Engine, *said: str, days: int = 3) -> None:
    for number, text in enumerate(said):
        engine.remember(text, time=BEGIN + timedelta(days=days * number))
        engine.flush()


def known(engine: memwell.Engine, who: str, after: int = 1) -> set[str]:
    moment = BEGIN + timedelta(days=30 + after)
    return {f"{fact.relation} {fact.object}" for fact in engine.facts.about(who, as_of=moment)}


STORIES = (
    # A job ends with what someone was there, but not a trade that they had before.
    (("I work at Tesco.", "I'm a store manager there.", "I got the sack today."), "me", set[str]()),
    (("I work for Monzo as a data analyst.", "Handed in my notice this morning!"), "me", set[str]()),
    (("I work at Tesco as a cashier.", "They let me go last week."), "me", set[str]()),
    (("I work at Tesco as a cashier.", "They let me go home early."), "me", {"works_at Tesco", "occupation cashier"}),
    (("我在美团上班", "我是测试工程师", "我被裁了"), "我", set[str]()),
    (("I'm a nurse.", "I work at Guy's.", "I quit my job."), "me", {"occupation nurse"}),
    (("I work at Tesco.", "I'm a freelance illustrator.", "I quit my job."), "me", {"occupation illustrator"}),
    # Pets.
    (("我养了一只猫叫小黑。", "小黑今天早上死了。"), "我", set[str]()),
    (("We have a cat called Pickle.", "Pickle ran away.", "Pickle's back!"), "me", {"pet Pickle"}),
    (("We have a cat called Pickle.", "Pickle ran away.", "Pickle's back!"), "Pickle", {"kind cat"}),
    (("We have a cat called Pickle.", "Pickle died.", "I wish he was here. Pickle's back!"), "me", set[str]()),
    (("我家猫叫咪咪", "咪咪走丢了", "咪咪找到了"), "我", {"pet 咪咪"}),
    (("I like Bath.", "Pickle's back!"), "me", {"likes Bath"}),
    # Homes.
    (("I live in Leeds.", "We exchanged contracts on the house in York.", "We moved in on Friday!"), "me",
     {"lives_in York", "bought the house in York"}),
    (("I live in Leeds.", "We moved into our new flat."), "me", {"lives_in Leeds"}),
    (("My mum lives in Hull.", "I live in Leeds.", "Mum has moved in with us."), "my mum", {"lives_in Leeds"}),
    (("My mum lives in Hull.", "Mum has moved in with us."), "my mum", set[str]()),
    # Partners.
    (("My girlfriend Emma is a vet.", "We got married on Saturday!"), "me", {"married_to Emma"}),
    (("My girlfriend Emma is a vet.", "We got married on Saturday!", "My wife is 31."), "my wife",
     {"occupation vet", "age 31"}),
    (("My girlfriend Emma is a vet.", "We got married on Saturday!", "My wife is 31."), "Emma",
     {"occupation vet", "age 31"}),
    (("My partner is called Sam.", "Sam and I got married on Saturday!"), "me", {"married_to Sam"}),
    (("我女朋友叫小雨。", "我们领证了！"), "我", {"married_to 小雨"}),
    (("I like tea.", "We got married on Saturday!"), "me", {"likes tea"}),
    (("My sister Zoe is going out with Callum.", "Zoe dumped her boyfriend Callum."), "Zoe", set[str]()),
    (("My sister Zoe has a boyfriend, Callum.", "My sister dumped her boyfriend Callum."), "Zoe", set[str]()),
    (("My twin sister is a dentist.",), "my sister", {"occupation dentist"}),
    # A marriage ends with the couple, whoever's end is told.
    *(
        (("My husband's called Graham.", text), "me", set[str]())
        for text in (
            "divorce papers came through today", "I'm officially single", "it's official, the divorce is final",
            "me and Graham split up", "Graham's moved out", "I'm single now", "My husband moved out last week.",
            "Graham's getting remarried to Linda", "Graham got married to Linda.", "Graham and I are over",
        )
    ),
    *(
        (("My husband's called Graham.", text), "me", {"married_to Graham"})
        for text in (
            "My sister is officially single.", "My friend's divorce came through today.", "Graham moved out of the way.",
            "I got married to Graham in York.", "Tara got divorced.", "Linda moved out",
        )
    ),
    (("我老公叫老王。", "离婚证下来了"), "我", set[str]()), (("我老公叫老王。", "老王搬走了"), "我", set[str]()),
    (("My girlfriend Emma is a vet.", "Emma's my wife now, not my girlfriend."), "me", {"married_to Emma"}),
    # A pet that was parted with, and the dead.
    (("I've got a labrador called Biscuit", "had to say goodbye to Biscuit this morning"), "me", set[str]()),
    (("I have a turtle called Sheldon", "gave Sheldon to Zion and Zara, Imani's place too small"), "me", set[str]()),
    (("我养了一只狗叫豆豆。", "把豆豆送给我姐了"), "我", set[str]()),
    (("My friend Emma is a vet.", "Said goodbye to Emma this morning."), "me", {"friend Emma"}),
    (("my grandma Loretta turned 80 today", "we lost grandma Loretta"), "Loretta", set[str]()),
    (("my grandma Loretta turned 80 today", "grandma Loretta passed this morning"), "Loretta", set[str]()),
    (("I work at Tesco.", "first day of being unemployed, watched three films"), "me", set[str]()),
    # Schools.
    (("my son Liam studies at Cardiff University", "Liam's passed his viva!"), "Liam", set[str]()),
    (("我儿子在浙江大学读博士", "我儿子通过博士答辩了"), "我儿子", set[str]()),
    (("我在浙大读书，学计算机", "我大学毕业了"), "我", set[str]()),
    (("我是大学生，学的是法律专业", "我毕业了"), "我", set[str]()),
    (("I'm a student at Leeds.", "I've finished uni!"), "me", set[str]()),
    # Plans are over after their day, wherever the sentence names it.
    (("I've got a dentist appointment on the 24th at 3pm.",), "me", set[str]()),
    (("My driving test is on the 15th.",), "me", set[str]()),
    (("Next week I'm going to Madrid for work.",), "me", set[str]()),
    # A move with a day is one when the day is past.
    (("I live in Leeds.", "We're moving to Bristol at the end of the month.",), "me", {"lives_in Bristol"}),
    (("I live in Leeds.", "We're moving into a bigger flat in York on the 20th."), "me", {"lives_in York"}),
    (("I live in Leeds.", "I'm moving to Google on the 20th."), "me", {"lives_in Leeds"}),
    (("I live in Leeds.", "I'm moving to Bristol for a week on the 20th."), "me", {"lives_in Leeds"}),
    (("Liam lives in Cardiff.", "Liam's moving to Bristol at the end of the month.",), "Liam", {"lives_in Bristol"}),
    (("I live in Leeds.", "I'm moving to Bristol at some point."), "me",
     {"lives_in Leeds", "plans moving to Bristol at some point"}),
    (("I live in Leeds.", "We're moving to Bristol at the end of the month.", "We're not moving to Bristol after all."),
     "me", {"lives_in Leeds"}),
    (("I'm moving in with Imani next week, she got a place in Beavercreek",), "me", {"lives_in Beavercreek"}),
    (("I live in Leeds.", "we've bought a flat in Hull, keys on the 20th"), "me",
     {"lives_in Hull", "bought a flat in Hull"}),
    (("I live in Leeds.", "We bought a flat in Hull.", "We got the keys today!"), "me",
     {"lives_in Hull", "bought a flat in Hull"}),
    (("I live in Leeds.", "Offer accepted on a flat in Hull!", "we exchanged contracts, keys on the 20th"), "me",
     {"lives_in Hull"}),
    (("I live in Leeds.", "Offer accepted on a flat in Hull!", "Got the keys!!"), "me",
     {"lives_in Hull"}),
    (("I live in Leeds.", "I left my keys on the table."), "me", {"lives_in Leeds"}),
    (("我们月底搬到苏州",), "我", {"lives_in 苏州"}), (("我下周四要去看牙医",), "我", set[str]()),
    (("I plan to learn the cello.",), "me", {"plans learn the cello"}),
)  # fmt: skip


@pytest.mark.parametrize(("said", "who", "held"), STORIES)
def test_what_is_said_in_passing_ends_and_begins_what_it_means(
    engine: memwell.Engine, said: tuple[str, ...], who: str, held: set[str]
):
    told(engine, *said)
    assert known(engine, who) == held


def test_a_plan_holds_until_its_day(engine: memwell.Engine):
    told(engine, "I've got a dentist appointment on the 24th at 3pm.")
    before = engine.facts.about("me", as_of=BEGIN + timedelta(days=20))
    assert [fact.object for fact in before] == ["dentist appointment"]


def test_what_the_assistant_says_happens_to_no_one(engine: memwell.Engine):
    told(engine, "My girlfriend Emma is a vet.")
    engine.thread("talk").add_ai("We got married on Saturday!")
    engine.remember_thread("talk")
    engine.flush()
    assert known(engine, "me") == {"partner Emma"}


def test_what_happened_goes_with_the_memory_that_tells_it(engine: memwell.Engine):
    told(engine, "My girlfriend Emma is a vet.")
    wedding = engine.remember("We got married on Saturday!", time=BEGIN + timedelta(days=3)).id
    engine.flush()
    assert known(engine, "me") == {"married_to Emma"}
    engine.update(wedding, "We went to a wedding on Saturday!")
    assert known(engine, "me") == {"partner Emma"}
    engine.undo(wedding)
    assert known(engine, "me") == {"married_to Emma"}
    engine.erase(wedding)
    assert known(engine, "me") == {"partner Emma"}
