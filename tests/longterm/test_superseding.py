"""Outdated memories: flagged with what superseded them, and below it."""

from __future__ import annotations

import cProfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.language.claims.stated import StatedFact
from memwell.longterm import superseding
from memwell.longterm.memory import Memory
from memwell.longterm.superseding import ComparedHit, Successor, default_models, in_order, may_replace
from memwell.longterm.traits import Traits, traits_of
from memwell.longterm.weights import Weights
from memwell.messages import human
from memwell.models.local import LocalEmbedder
from memwell.models.scripted import ScriptedReranker
from memwell.runtime.context import assemble
from memwell.storage import open_backend
from tests.longterm.conftest import NOON

if TYPE_CHECKING:
    from tests.longterm.conftest import Bench

UPDATES = [
    ("I live in Paris.", "I moved to Berlin.", "Where do I live, in Paris?", "Did I live in Paris before?"),
    ("我住在长沙。", "我搬到武汉了。", "我住在哪里，长沙吗？", "我以前住在长沙吗？"),
]
BETWEEN = ["The tomatoes need water.", "Ida came for tea.", "面包店的面包很好吃。", "I saw a fox."]


@pytest.fixture
def bench(bench: Bench) -> Bench:
    """With the embedder whose vectors the model knows."""
    bench.embedder = LocalEmbedder()
    return bench


def day(number: int) -> datetime:
    return NOON + timedelta(days=number)


def told(memory: Memory, older: str, newer: str, speaker: str = "user") -> tuple[str, str]:
    """The ids of two statements with others between them."""
    first = memory.remember(older, time=day(0), speaker="user").id
    memory.remember(BETWEEN, time=day(1), speaker="user")
    second = memory.remember(newer, time=day(2), speaker=speaker).id
    memory.flush()
    return first, second


@pytest.mark.parametrize(("older", "newer", "now", "past"), UPDATES)
class TestOutdated:
    def test_the_current_one_is_as_relevant(self, bench: Bench, older: str, newer: str, now: str, past: str):
        memory = bench.memory()
        first, second = told(memory, older, newer)
        relevance = {hit.id: hit.relevance for hit in memory.recall(now)}
        assert relevance[second] >= relevance[first] > 0.0

    def test_it_follows_the_current_one_and_names_it(self, memory: Memory, older: str, newer: str, now: str, past: str):
        first, second = told(memory, older, newer)
        hits = memory.recall(now)
        assert [hit.id for hit in hits[:2]] == [second, first]
        assert [(hit.superseded_by, "superseded" in hit.flags) for hit in hits[:2]] == [("", False), (second, True)]
        assert hits[1].why().startswith(f"superseded by {second}")
        assert hits[1].why(language="zh").startswith(f"已被 {second} 取代")
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(abs(sum(one.share for one in hit.signals.values()) - hit.score) < 1e-6 for hit in hits)

    def test_a_question_about_the_past_finds_it_first(
        self, memory: Memory, older: str, newer: str, now: str, past: str
    ):
        first, second = told(memory, older, newer)
        hit = memory.recall(past, limit=1)[0]
        assert (hit.id, hit.superseded_by) == (first, second)

    def test_without_the_newer_one_it_is_current(self, memory: Memory, older: str, newer: str, now: str, past: str):
        first, second = told(memory, older, newer)
        memory.forget(second)
        assert memory.recall(now, limit=1)[0].flags == ()
        memory.undo(second)
        assert memory.recall(now, limit=2)[1].superseded_by == second
        memory.erase([second])
        assert [(hit.id, hit.superseded_by) for hit in memory.recall(now, limit=1)] == [(first, "")]

    def test_a_prompt_says_that_it_is_outdated(self, memory: Memory, older: str, newer: str, now: str, past: str):
        _, second = told(memory, older, newer)
        english, chinese = (
            assemble(now, budget=2000, recaller=memory, language=language).messages[0].text for language in ("en", "zh")
        )
        assert f"OUTDATED, superseded by #{second[-8:]}" in english
        assert f"已过时，被 #{second[-8:]} 取代" in chinese
        assert english.count("OUTDATED") == chinese.count("已过时") == 1

    def test_only_the_same_speaker_with_as_much_trust_supersedes(
        self, memory: Memory, older: str, newer: str, now: str, past: str
    ):
        told(memory, older, newer, speaker="Ann")
        memory.remember(newer, time=day(3), speaker="user", trust="tool", metadata={"copy": 1})
        assert not any(hit.superseded_by for hit in memory.recall(now))

    def test_own_weights_decide_the_order_alone(self, memory: Memory, older: str, newer: str, now: str, past: str):
        first, second = told(memory, older, newer)
        hits = memory.recall(now, weights=Weights.linear({"words": 1.0}))
        assert (hits[0].id, hits[0].superseded_by) == (first, second)

    def test_a_reranker_and_diversity_leave_the_current_one_above(
        self, bench: Bench, older: str, newer: str, now: str, past: str
    ):
        memory = bench.memory(reranker=ScriptedReranker(lambda query, text: float(text == older)))
        told(memory, older, newer)
        for diversity in (0.0, 0.2):
            found = [hit.text for hit in memory.recall(now, diversity=diversity)]
            assert found.index(newer) < found.index(older)


BOTH_TRUE = [
    ("My bus leaves at 7:10.", "My shift starts at 8:00.", "When does my bus leave?"),
    ("Dad collects stamps.", "Dad bought a stamp.", "What does Dad collect?"),
    ("爸爸收集邮票。", "爸爸买了一张邮票。", "爸爸收集什么？"),
    ("I play the piano.", "I had the piano tuned.", "What instrument do I play?"),
    ("My best friend is Lou.", "Lou moved to Leeds.", "Who is my best friend?"),
    ("Tom lives in Leeds.", "The meeting with Tom is now on Monday.", "Where does Tom live?"),
    ("I live in Leeds.", "Turns out Owen lives in Hull.", "Where do I live?"),
    ("I work at Shell.", "Guess what, Priya works at Boots now.", "Where do I work?"),
    ("I'm allergic to shellfish.", "Turns out Isla is allergic to cow's milk. Dr Fenn at the surgery confirmed it.",
     "What am I allergic to?"),
    ("I work at Shell.", "I've been promoted to team lead.", "Where do I work?"),
    ("我跳槽到字节了，还是做测试。", "我现在升测试主管了，管六个人。", "我在哪里工作？"),
    ("I live in Leeds.", "We're moving to York in March 2027.", "Where do I live?"),
    ("我住在杭州。", "我们明年搬到苏州。", "我住在哪里？"),
    ("I live in Leeds.", "We've bought a house in York, we get the keys in March.", "Where do I live?"),
    ("Our landlord is Mr Pires.", "Mr Pires sent a plumber round.", "Who is our landlord?"),
    ("我们房东是皮先生。", "皮先生叫了个水管工过来。", "我们房东是谁？"),
    ("Rex is a border collie.", "Rex died last week.", "What breed is Rex?"),
    ("豆豆是柯基。", "豆豆上周死了。", "豆豆是什么品种？"),
    ("The wifi password at home is maple77.", "The wifi password at grandma's is rosie12.",
     "What's the wifi password at home?"),
    ("家里的wifi密码是maple77。", "奶奶家的wifi密码是rosie12。", "家里的wifi密码是什么？"),
    ("Our kitchen is painted yellow.", "We painted the bathroom grey.", "What colour is the kitchen?"),
    ("我家厨房刷的是黄色。", "我们把卫生间刷成了灰色。", "厨房是什么颜色？"),
    ("Our wedding anniversary is the 9th of May.", "Mum and Dad's wedding anniversary is the 14th of August.",
     "When is our anniversary?"),
    ("瑜伽课周日上。", "瑜伽课是礼拜天。", "瑜伽课什么时候？"),
    ("Yoga is on Sundays.", "Yoga's on Sunday.", "When is yoga?"),
    ("佳能相机用SD卡。", "尼康相机用XQD卡。", "佳能相机用什么卡？"),
    ("欣欣的数学考试在4号。", "欣欣的历史考试在9号。", "欣欣的数学考试是几号？"),
    ("小宝睡上铺。", "大宝睡下铺。", "小宝睡哪儿？"),
    ("我有两个孩子。", "我妹有三个孩子。", "我有几个孩子？"),
    ("My brother lives in Kent.", "My brother came to visit from Kent.", "Where does my brother live?"),
    ("我哥住在绵阳。", "我哥从绵阳来看我。", "我哥住在哪里？"),
    ("My phone is a Pixel 8.", "I cracked my phone screen, the repair was 120.", "What phone do I have?"),
    ("李雷对花生过敏。", "韩梅梅对花生过敏。", "谁对花生过敏？"),
    ("李雷住在上海。", "韩梅梅住在上海。", "谁住在上海？"),
    ("My watch is a Casio.", "Got a new strap for my watch.", "What watch do I have?"),
    ("我的手机是荣耀90。", "手机换了块屏幕。", "我的手机是什么？"),
    ("I live in Porto.", "We're in Seville until Tuesday.", "Where do I live?"),
    ("我住在福州。", "这周借住在莆田朋友家。", "我住在哪里？"),
    ("my aunt Renee is an ER nurse", "aunt Renee's on shift tonight", "What does my aunt do?"),
    ("Dana's a physio at the Royal", "Dana came round for tea last night and beat me at chess", "What does Dana do?"),
    ("My friend Tony is a stonemason", "Tony fell in the canal", "What does Tony do?"),
    ("met a fella at the canal cleanup. Tony. He's a stonemason, makes me laugh",
     "Tony's taken me to his sister's in Haworth for sunday dinner, so that's official then", "What does Tony do?"),
    ("我朋友小李是木匠。", "小李昨天请我吃了顿饭。", "小李是做什么的？"),
    ("我哥是货车司机。", "我哥上周拿了公司的安全奖。", "我哥是做什么的？"),
    ("met this girl at the library, Imani. she's studying to be a speech therapist",
     "moving in with Imani next month, she got a place in Beavercreek", "What is Imani studying?"),
    ("Leo is doing law at Leeds", "Leo has a new flat in Headingley", "What is Leo studying?"),
    ("小雅在学法律。", "小雅搬到了苏州。", "小雅在学什么？"),
    ("she's here!! Kayleigh had a little girl at ten past four, 7lb 2, Elsie May",
     "Kayleigh's going back to work in June so I'm having Elsie Mondays and Wednesdays", "When was Elsie born?"),
    ("Jess had a baby boy on Tuesday, Noah", "Jess is back at the bank from March and Noah goes to nursery",
     "When was Noah born?"),
    ("我妹上周二生了个儿子，叫小满。", "我妹下个月回去上班，小满由我妈带。", "小满是什么时候生的？"),
    ("got accepted to Sinclair, nursing program starts in August", "first day of nursing school",
     "What school do I go to?"),
    ("I start at Tesco on Monday", "first day at work done, my feet hurt", "Where do I work?"),
    ("我被浙大录取了，学法律。", "今天法律系第一天上课。", "我在哪里上学？"),
    ("me and Imani official as of last night", "turned 28 today, Imani got me a jersey",
     "Who was I dating before Imani?"),
    ("got a PCA job at Kettering Health, night shift",
     "my supervisor said \"you work at the front desk now\" lol I'm like ma'am I do not", "Where do I work?"),
    ("I work at Ford", "My mum told everyone \"she works at Tesla now\", I don't", "Where do I work?"),
    ("我在医院上班。", "主管说“你以后在前台上班”，我说我才不去。", "我在哪里上班？"),
]  # fmt: skip


@pytest.mark.parametrize(("older", "newer", "question"), BOTH_TRUE)
def test_what_both_stays_true_is_not_called_outdated(memory: Memory, older: str, newer: str, question: str):
    told(memory, older, newer)
    assert not any(hit.superseded_by for hit in memory.recall(question))


def test_a_quote_that_is_denied_stands_below_what_it_speaks_of(bench: Bench):
    memory = bench.memory()
    first, _ = told(memory, "got a PCA job at Kettering Health", 'my supervisor said "you work here now", I do not')
    assert memory.recall("Where do I work?", limit=1)[0].id == first


@pytest.mark.parametrize(
    ("older", "newer", "question", "first"),
    [
        ("Mom's having knee surgery on June 12", "they pushed mom's surgery to the 26th", "When was mom's surgery?", 1),
        ("booked Tenerife for me and Sue in June", "Tenerife's off, Sue's hip's not up to flying",
         "Where did Sue and I go on holiday?", 1),
        ("The wedding is on 4 May", "The wedding got postponed to September", "When was the wedding?", 1),
        ("婚礼定在五月四号", "婚礼推迟到九月了", "去年的婚礼是哪天办的？", 1),
        ("订了六月去三亚的机票", "三亚不去了，我爸要做手术", "我去年六月去了哪里？", 1),
        ("I was a member of the gym", "I cancelled the gym", "Where was I a member?", 0),
    ],
)  # fmt: skip
def test_what_was_put_off_or_called_off_never_was(bench: Bench, older: str, newer: str, question: str, first: int):
    memory = bench.memory()
    ids = told(memory, older, newer)
    hit = memory.recall(question, limit=1)[0]
    assert (hit.id, bool(hit.superseded_by)) == (ids[first], not first)


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("I have a dog, Rex.", "Rex died last week.", "Do I have a dog?"),
        ("我有一条狗，叫豆豆。", "豆豆上周死了。", "我有狗吗？"),
        ("My best friend is Lou.", "Lou and I are no longer friends.", "Who is my best friend?"),
        ("Our cleaner is called Beata.", "Beata went back to Poland, Joana cleans for us now.", "Who cleans for us?"),
    ],
)
def test_what_is_ended_by_its_name_is_outdated(memory: Memory, older: str, newer: str, question: str):
    first, second = told(memory, older, newer)
    found = {hit.id: hit.superseded_by for hit in memory.recall(question)}
    assert found[first] == second
    assert list(found).index(second) < list(found).index(first)


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("Our dog Pickle is a whippet.", "Pickle died on Saturday, she was fifteen.", "Do I have a dog?"),
        ("我家的狗叫布丁，是只柴犬。", "布丁上个礼拜走了。", "我有狗吗？"),
        ("我养了一只布偶猫，叫汤圆", "汤圆去世了", "我养猫吗？"),
    ],
)
def test_a_death_answers_whether_there_is_a_pet_and_leaves_what_it_was(
    bench: Bench, older: str, newer: str, question: str
):
    memory = bench.memory()
    first, second = told(memory, older, newer)
    hits = memory.recall(question)
    assert [(hit.id, hit.superseded_by) for hit in hits][:2] == [(second, ""), (first, "")]


@pytest.mark.parametrize(
    ("own", "other", "question"),
    [
        ("We got a puppy, Rex.", "The neighbours' dog is called Bruno.", "Who is our dog?"),
        ("我们养了一只柯基，叫豆豆。", "邻居家的狗叫布鲁诺。", "我们家的狗叫什么？"),
    ],
)
def test_ones_own_pet_stands_before_that_of_another(memory: Memory, own: str, other: str, question: str):
    first, second = told(memory, own, other)
    found = [hit.id for hit in memory.recall(question)]
    assert found.index(first) < found.index(second)


SAID = [text for older, newer, *_ in UPDATES for text in (older, newer)] + [
    "I live in Namur now.", "I also like Berlin.", "我现在住在南京。", "My boss is Ann.", "My boss is Bob now.",
    *BETWEEN,
]  # fmt: skip


@given(st.lists(st.sampled_from(SAID), min_size=1, max_size=12), st.lists(st.integers(0, 11), max_size=3))
def test_a_flag_names_a_later_memory_that_can_be_recalled(said: list[str], erased: list[int]):
    backend = open_backend("memory:")
    memory = Memory(backend, "ann", embedder=None)
    for number, text in enumerate(said):
        memory.remember(text, time=day(number))
    # The same text twice is one memory.
    stored = [one.id for one in memory.memories()]
    memory.erase([id_ for place, id_ in enumerate(stored) if place in erased])
    for query in ("Where do I live?", "Who is my boss?", "我住在哪里？"):
        hits = memory.recall(query, limit=20)
        places = {hit.id: place for place, hit in enumerate(hits)}
        for hit in hits:
            if hit.superseded_by:
                newer = memory.get(hit.superseded_by)
                assert (newer.time, newer.id) > (hit.time, hit.id)
                assert places[newer.id] < places[hit.id]
    backend.close()


def test_a_recall_can_be_watched(bench: Bench):
    """A profiler holds a reference to the array whose method is called."""
    memory = bench.memory()
    for number in range(12):
        memory.remember(f"I live in flat {number} in Bath now.", time=day(number))
    memory.flush()
    watched = cProfile.Profile()
    watched.enable()
    try:
        hits = memory.recall("Where do I live?")
    finally:
        watched.disable()
    assert hits[0].superseded_by == ""


class Scored(NamedTuple):
    id: str
    score: float


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.data())
def test_the_current_one_takes_the_place_of_the_outdated_one(scores: list[float], data: st.DataObject):
    hits = [Scored(str(place), score) for place, score in enumerate(sorted(scores, reverse=True))]
    # Ids that are later in this order are later memories, so that no chain of them ends where it began.
    age = data.draw(st.permutations(range(len(hits))))
    replaced: dict[str, str] = {}
    for old, new in data.draw(st.lists(st.tuples(st.sampled_from(age), st.sampled_from(age)), max_size=6)):
        if age.index(old) < age.index(new):
            replaced[str(old)] = str(new)
    ordered = in_order(hits, {old: [Successor(new, 1.0)] for old, new in replaced.items()})
    places = {hit.id: place for place, (hit, _) in enumerate(ordered)}
    assert sorted(places) == sorted(hit.id for hit in hits)
    assert all(places[new] < places[old] for old, new in replaced.items())
    totals = [hit.score + share for hit, share in ordered]
    assert all(one >= other - 1e-9 for one, other in pairwise(totals))
    if not replaced:
        assert [hit for hit, _ in ordered] == hits


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Clara likes green tea.", "Clara likes green tea a lot."),
        ("Mum's birthday is on 4 May.", "Dad's birthday is on 9 June, not 8 June."),
        ("我妈妈的生日是五月四日。", "我爸爸的生日是六月九日，不是八日。"),
        ("我叫陈雨桐", "我换手机了"),
        ("I'm called Roz", "I changed jobs"),
        ("I live in Leeds", "I replaced my phone"),
        ("我叫陈雨桐", "我生日是8月15号，不对，是8月16号"),
        ("我住在成都", "我生日是8月15号，不对，是8月16号"),
    ],
)
def test_what_says_the_same_or_is_about_another_replaces_nothing(older: str, newer: str):
    def hit(id_: str, text: str, day: int) -> ComparedHit:
        return ComparedHit(id_, text, datetime(2026, 1, day, tzinfo=UTC), Traits(), 0.9)

    assert not may_replace(hit("b", newer, 2), hit("a", older, 1))
    assert may_replace(hit("b", "I moved to Rome.", 2), hit("a", "I live in Oslo.", 1))
    assert may_replace(hit("b", "I got a television yesterday.", 2), hit("a", "I don't own a TV.", 1))


@pytest.mark.parametrize("embedder", [None, LocalEmbedder()])
@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("I work at Acme.", "I work at Globex.", "Where do I work?"),
        ("我的电话是13800138000。", "我的新电话是13911112222。", "我的电话是多少？"),
    ],
)
def test_another_value_of_what_has_one_at_a_time_replaces_the_first(
    bench: Bench, embedder: LocalEmbedder | None, older: str, newer: str, question: str
):
    memory = bench.memory(embedder=embedder)
    memory.remember(older, id="older", time=NOON - timedelta(days=9))
    memory.remember(newer, id="newer", time=NOON)
    memory.flush()
    assert [(hit.id, hit.superseded_by) for hit in memory.recall(question)] == [("newer", ""), ("older", "newer")]


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("我对海鲜过敏。", "医生说我妹妹不再对海鲜过敏了。", "我对什么过敏？"),
        ("My sister's phone number is 0161 333.", "New phone number: 0170 444.", "What's my sister's phone number?"),
        ("I live in Bristol.", "My mum moved in with us.", "Where do I live?"),
        ("My dad lives in Leeds.", "My mum moved in with us.", "Where does my dad live?"),
        ("We live in Bristol.", "My brother came to live with us.", "Where do we live?"),
        ("我住在杭州。", "我妈搬来跟我们一起住了。", "我住在哪里？"),
        ("我住在杭州。", "我爸搬到我家来了。", "我住在哪里？"),
        ("我爸住在宁波。", "我妈搬来跟我们一起住了。", "我爸住在哪里？"),
        ("I drink coffee every morning.", "Otis can't stand coffee.", "What do I drink in the morning?"),
        ("I run with Kim on Fridays.", "Kim moved to Hull.", "Who do I run with?"),
        (
            "I go swimming with Jo on Saturdays.",
            "Jo is allergic to chlorine, so she wears a mask.",
            "What do I do on Saturdays?",
        ),
        ("周末跟阿凯打球。", "阿凯在银行上班。", "我周末跟谁打球？"),
        ("我打羽毛球，一般周三晚上。", "大毛的钢琴课换到周六了。", "我什么时候打羽毛球？"),
        ("婆婆住在绍兴。", "我搬到杭州了。", "婆婆住在哪里？"),
        ("I have lived alone for years.", "I moved to Leeds.", "Do I live alone?"),
        (
            "I live in a flat above a bakery in Norwich.",
            "I have lived on my own since I was twenty.",
            "Where do I live?",
        ),
        ("围棋课在周五。", "大毛的钢琴课换到周六了。", "围棋课在周几？"),
        (
            "My favourite film is Heat, and my husband's favourite film is Alien.",
            "My new favourite film is Amelie.",
            "What is my husband's favourite film?",
        ),
    ],
)
@pytest.mark.parametrize("speaker", [None, "Nora"])
def test_what_is_true_of_another_replaces_nothing(
    bench: Bench, older: str, newer: str, question: str, speaker: str | None
):
    memory = bench.memory()
    memory.remember(older, id="older", time=NOON - timedelta(days=9), speaker=speaker)
    memory.remember(newer, id="newer", time=NOON, speaker=speaker)
    memory.flush()
    assert [hit.superseded_by for hit in memory.recall(question) if hit.id == "older"] == [""]


@pytest.mark.parametrize(
    ("own", "other", "question"),
    [
        ("我在腾讯做产品经理。", "我弟弟现在在成都上班。", "我在哪里上班"),
        ("I'm a nurse at Guy's.", "My brother works in Leeds, and I never know where he works.", "Where do I work?"),
    ],
)
def test_a_question_for_ones_own_finds_it_before_that_of_a_relative(bench: Bench, own: str, other: str, question: str):
    memory = bench.memory()
    memory.remember(own, id="own", time=NOON - timedelta(days=9))
    memory.remember(other, id="other", time=NOON)
    memory.flush()
    assert [(hit.id, hit.superseded_by) for hit in memory.recall(question)] == [("own", ""), ("other", "")]


def test_a_recall_takes_the_facts_that_were_read_when_a_memory_was_stored(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    memory = bench.memory(embedder=None)
    memory.remember("I work at Acme.", id="older", time=NOON - timedelta(days=9))
    memory.remember("I work at Globex.", id="newer", time=NOON)
    memory.flush()
    stored = memory.backend.index.get(memory.space, ["older", "newer"])
    assert [traits_of(one).stated for one in stored] == [
        (("user", "works_at", name, False),) for name in ("acme", "globex")
    ]

    def read_again(text: str) -> tuple[StatedFact, ...]:
        raise AssertionError(f"{text} is read again")

    monkeypatch.setattr(superseding, "read_facts", read_again)
    assert [hit.id for hit in memory.recall("Where do I work?")] == ["newer", "older"]
    monkeypatch.undo()
    # A memory with another text states other facts, and of one of an earlier version none are stored: these are read.
    memory.update("newer", "I like the cakes at work.")
    assert [hit.superseded_by for hit in memory.recall("Where do I work?") if hit.id == "older"] == [""]
    memory.update("newer", "I work at Initech.")
    assert [hit.id for hit in memory.recall("Where do I work?")] == ["newer", "older"]


@pytest.mark.parametrize(
    ("newer", "sure"), [("I'm at Globex, by the way, I work at Globex.", True), ("I like the cakes.", False)]
)
def test_another_value_leaves_nothing_to_guess(newer: str, sure: bool):
    hits = [
        ComparedHit(text, text, datetime(2026, 1, day, tzinfo=UTC), Traits(), 0.9)
        for day, text in enumerate(("I work at Acme.", newer), 1)
    ]
    silent = default_models().words
    silent = replace(silent, odds=np.append(np.zeros_like(silent.odds[:-1]), np.float32(-9.0)))
    assert ((0, 1) in silent.probabilities(hits, None)) is sure


@pytest.mark.parametrize(
    ("older", "newer", "other", "changed"),
    [
        (
            "I am allergic to nuts and I live in Porto.",
            "I moved to Lyon.",
            "What am I allergic to?",
            "Where do I live?",
        ),
        ("My dog Rex is five and I work at Airbus.", "I now work at Boeing.", "How old is my dog?", "Where do I work?"),
        ("我的狗叫旺财，我在阿里巴巴工作。", "我现在在腾讯工作。", "我的狗叫什么？", "我在哪里工作？"),
        ("我对花生过敏，住在杭州。", "我搬到上海了。", "我对什么过敏？", "我住在哪里？"),
        (
            "I play tennis on Mondays and chess on Fridays.",
            "Chess moved to Thursdays.",
            "When do I play tennis?",
            "When do I play chess?",
        ),
        (
            "The meeting is on Monday in room 12.",
            "The meeting moved to room 14.",
            "When is the meeting?",
            "Where is the meeting?",
        ),
        ("周会周一在302会议室。", "周会改到508会议室了。", "周会是哪天？", "周会在哪间会议室？"),
        (
            "My landlord is Mr Okafor and the rent is 950 a month.",
            "The rent went up to 1,020 this month.",
            "Who is my landlord?",
            "How much is my rent?",
        ),
        (
            "Miles works for Aviva and rides a Ducati.",
            "Miles sold the Ducati.",
            "Where does Miles work?",
            "Does Miles still have the Ducati?",
        ),
        ("我房东姓王，房租一个月3000。", "房租涨到3200了。", "我房东姓什么？", "我的房租是多少？"),
    ],
)
def test_a_memory_that_says_something_else_too_is_outdated_in_part(
    bench: Bench, older: str, newer: str, other: str, changed: str
):
    memory = bench.memory()
    told(memory, older, newer)
    assert [hit.text for hit in memory.recall(other, limit=1)] == [older]
    found = memory.recall(changed, limit=2)
    assert [hit.text for hit in found] == [newer, older]
    assert not any(hit.superseded_by for hit in found)


@pytest.mark.parametrize(
    ("older", "newer", "past"),
    [
        ("I work at Nokia.", "I started at Ericsson, I left Nokia.", "Where did I work before?"),
        ("I live in Seattle.", "I moved to Chicago for the new job.", "Where did I live before Chicago?"),
        ("My phone number is 555-0144.", "My new phone number is 555-0199.", "What was my old phone number?"),
        ("我住在重庆。", "我搬到厦门了。", "我以前住在哪里？"),
        ("我在诺基亚上班。", "我现在在爱立信上班。", "我之前在哪家公司上班？"),
        (
            "My manager is Deepa, very strict but fair.",
            "Deepa left, so Jason is my boss now.",
            "Who was my boss before Jason?",
        ),
    ],
)
def test_a_question_about_the_former_finds_it_before_the_current(bench: Bench, older: str, newer: str, past: str):
    memory = bench.memory()
    first, second = told(memory, older, newer)
    hits = memory.recall(past, limit=2)
    assert [(hit.id, hit.superseded_by) for hit in hits] == [(first, second), (second, "")]


def test_what_another_did_is_not_what_one_did_before(bench: Bench):
    memory = bench.memory()
    for number, text in enumerate(("婆婆住在绍兴。", "我住在苏州。", "我搬到杭州了。")):
        memory.remember(text, time=day(number), speaker="user")
    memory.flush()
    hits = memory.recall("我以前住在哪里？")
    assert [hit.text for hit in hits][:2] == ["我住在苏州。", "我搬到杭州了。"]
    assert [hit.text for hit in hits if hit.superseded_by] == ["我住在苏州。"]


def test_before_what_is_asked_for_decides_which_of_the_former(bench: Bench):
    memory = bench.memory()
    for number, text in enumerate(("I live in Seattle.", "I moved to Chicago.", "I moved to Boston.")):
        memory.remember(text, time=day(number), speaker="user")
    memory.flush()
    assert memory.recall("Where did I live before Chicago?")[0].text == "I live in Seattle."
    assert memory.recall("Where did I live before?")[-1].text == "I moved to Boston."


@pytest.mark.parametrize("speaker", ["", "user"])
@pytest.mark.parametrize(
    ("said", "taken_back", "question", "says_more"),
    [
        ("I moved to Paris.", "Just kidding!", "Where do I live?", False),
        ("I bought a Ferrari.", "Kidding! It's a second-hand Skoda.", "What car did I buy?", True),
        ("My sister's flat is number 14.", "No wait, it's number 41.", "What number is my sister's flat?", True),
        ("Sue's got a date for her hip op, 14th Feb", "sorry no, 21st Feb", "When is Sue's operation?", True),
        ("我住在杭州。", "不对，是苏州。", "我住在哪里？", True),
        ("我在腾讯上班。", "更正一下，是阿里。", "我在哪家公司上班？", True),
        ("我买了一辆法拉利。", "逗你玩的。", "我买了什么车？", False),
    ],
)
def test_what_was_taken_back_at_once_is_outdated(
    bench: Bench, speaker: str, said: str, taken_back: str, question: str, says_more: bool
):
    memory = bench.memory()
    memory.remember(BETWEEN, time=day(-1), speaker=speaker)
    first = memory.remember(said, time=day(0), speaker=speaker).id
    second = memory.remember(taken_back, time=day(0) + timedelta(minutes=1), speaker=speaker).id
    memory.remember("I need new shoes for the garden.", time=day(1), speaker=speaker)
    memory.flush()
    found = {hit.id: hit.superseded_by for hit in memory.recall(question) if hit.id in (first, second)}
    assert list(found.items()) == ([(second, ""), (first, second)] if says_more else [(first, second), (second, "")])


@pytest.mark.parametrize(
    ("true", "said", "taken_back", "question"),
    [
        ("I live in Leeds.", "I moved to Paris.", "Just kidding!", "Where do I live?"),
        ("我住在杭州。", "我搬到巴黎了。", "骗你的！", "我住在哪里？"),
        ("我养了三只猫。", "我养了一只老虎。", "逗你玩的。", "我养了什么？"),
    ],
)
def test_what_was_said_in_jest_replaces_nothing(bench: Bench, true: str, said: str, taken_back: str, question: str):
    memory = bench.memory()
    current = memory.remember(true, time=day(-9), speaker="user").id
    jest = memory.remember(said, time=day(0), speaker="user").id
    taken = memory.remember(taken_back, time=day(0) + timedelta(minutes=1), speaker="user").id
    memory.flush()
    hits = memory.recall(question)
    assert [(hit.id, hit.superseded_by) for hit in hits] == [(current, ""), (jest, taken), (taken, "")]


def test_what_corrects_a_change_replaces_what_was_changed(bench: Bench):
    memory = bench.memory()
    first, second = (
        memory.remember(text, time=day(at), speaker="user").id
        for at, text in ((0, "I live in Leeds."), (9, "I moved to Hull."))
    )
    third = memory.remember("Sorry, I meant Halifax.", time=day(9) + timedelta(minutes=1), speaker="user").id
    memory.flush()
    found = {hit.id: hit.superseded_by for hit in memory.recall("Where do I live?")}
    assert found == {third: "", second: third, first: third}
    assert next(iter(found)) == third


@pytest.mark.parametrize(
    ("said", "taken_back", "question"),
    [
        ("I'm pregnant with twins!", "Just kidding!", "Am I pregnant?"),
        ("I paid fifty quid for it.", "Only joking, it was a tenner.", "What did I pay for it?"),
        ("I won the lottery.", "Just kidding, I only wanted to see your reaction.", "Did I win the lottery?"),
        ("我要离婚了。", "开玩笑的。", "我要离婚了吗？"),
        ("我中彩票了。", "骗你的。", "我中彩票了吗？"),
    ],
)
def test_the_first_message_of_a_thread_is_taken_back_by_the_second(said: str, taken_back: str, question: str):
    with memwell.open("memory:") as engine:
        engine.remember(BETWEEN, time=day(-1))
        engine.thread("new").add(human(said), human(taken_back))
        engine.remember_thread("new")
        engine.flush()
        hits = engine.recall(question, limit=2)
    found = {hit.text: hit for hit in hits}
    assert [found[text].superseded_by for text in (said, taken_back)] == [found[taken_back].id, ""]


@pytest.mark.parametrize(
    ("after", "speaker", "trust", "later"),
    [
        ("Just kidding!", "Ann", "user", 1), ("Just kidding!", "user", "tool", 1), ("Just kidding!", "user", "user", 99),
        ("I mean, it is nice here.", "user", "user", 1),
    ],
)  # fmt: skip
def test_only_the_speaker_takes_back_what_was_just_said(bench: Bench, after: str, speaker: str, trust: str, later: int):
    memory = bench.memory()
    memory.remember("I live in Paris.", time=day(0), speaker="user")
    memory.remember(after, time=day(0) + timedelta(minutes=later), speaker=speaker, trust=trust)
    memory.flush()
    assert not any(hit.superseded_by for hit in memory.recall("Where do I live?"))


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("The dentist appointment is on Monday at nine.", "The dentist appointment got pushed to Tuesday.",
         "When is my dentist appointment?"),
        ("I drive a Golf.", "Sold the Golf.", "Which car do I drive?"),
        ("牙医约在周一上午九点。", "牙医那边推到周二了。", "我什么时候看牙医？"),
        ("我开一辆高尔夫。", "高尔夫卖了。", "我开什么车？"),
    ],
)  # fmt: skip
def test_what_was_moved_or_sold_is_outdated(bench: Bench, older: str, newer: str, question: str):
    memory = bench.memory()
    first, second = told(memory, older, newer)
    hits = memory.recall(question, limit=2)
    assert [(hit.id, hit.superseded_by) for hit in hits] == [(second, ""), (first, second)]


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("Our office is in Berlin.", "Our new warehouse is in Hamburg.", "Where is our office?"),
        ("I live in Seattle.", "I might move to Portland next year.", "Where do I live?"),
        ("I live in Seattle.", "I moved to Portland?", "Where do I live?"),
        ("I live in Seattle.", "If I moved to Portland, would I be happy?", "Where do I live?"),
        ("I live in Seattle.", "My friend moved to Portland, is it nice there?", "Where do I live?"),
        ("I work at Nokia.", "Maybe I'll change to Ericsson one day.", "Where do I work?"),
        ("我住在重庆。", "我明年可能会搬到成都。", "我住在哪里？"),
        ("我在诺基亚上班。", "也许哪天我会跳槽去爱立信。", "我在哪家公司上班？"),
        ("大门密码是4471。", "复印机的密码改成8812了。", "大门密码是多少？"),
        ("I'm allergic to nuts.", "I'm not allergic to eggs.", "What am I allergic to?"),
        ("The choir meets on Tuesdays.", "The book club moved to Wednesdays.", "When does the choir meet?"),
        ("合唱团周二活动。", "读书会改到周三了。", "合唱团哪天活动？"),
        ("The office door code is 5521.", "The bike shed code changed to 8834.", "What is the office door code?"),
        ("信箱钥匙挂在门后面。", "备用钥匙我拿去放我妈那儿了。", "信箱钥匙在哪？"),
        ("I drink Tennent's at the bowling club.", "No wait, size 10, the 9s were for bowling.",
         "What do I drink at the bowling club?"),
        ("Nina works at Siemens.", "Nina's husband Tom quit his job at Rolls-Royce.", "Where does Nina work?"),
        ("阿琴在医院上班。", "阿琴的老公辞职了。", "阿琴在哪里上班？"),
        ("上周末搬家了，现在住在温江。", "我同事老周搬去上海了。", "我住在哪里？"),
        ("I keep my bike in the shed.", "I keep my skis in the loft.", "Where do I keep my bike?"),
        ("I keep the red folder in the drawer.", "I keep the green folder on the shelf.", "Where is the red folder?"),
        ("我学葡萄牙语是因为小玲的奶奶是澳门人。", "我和小玲分手了。", "我为什么学葡萄牙语？"),
        ("自行车放在车棚。", "滑雪板放在阁楼。", "自行车放哪儿了？"),
        ("红色文件夹在抽屉里。", "绿色文件夹在书架上。", "红色文件夹在哪？"),
        ("公司的无线网叫白鹭。", "家里的无线网叫喜鹊。", "公司无线网叫什么？"),
        ("我穿43码的鞋。", "女儿穿28码。", "我穿多大的鞋？"),
        (
            "I'm learning Portuguese because Marit's grandmother is from Porto.",
            "Marit and I split up.",
            "Why am I learning Portuguese?",
        ),
        ("我骑一辆绿色的小电驴上班。", "诊所那边我辞了，下周一去一家宠物店上班。", "我怎么去上班？"),
        (
            "I drink my coffee black, without sugar.",
            "In the evening I only drink herbal tea because I sleep badly.",
            "How do I drink my coffee?",
        ),
        ("我每天喝一杯咖啡不加糖。", "晚上我只喝花草茶，因为睡不好。", "我喝什么咖啡？"),
    ],
)  # fmt: skip
def test_what_may_be_or_is_of_another_thing_leaves_it_first(bench: Bench, older: str, newer: str, question: str):
    memory = bench.memory()
    first, _ = told(memory, older, newer)
    hits = memory.recall(question)
    assert hits[0].id == first
    assert not hits[0].superseded_by


TRUE_AT_ONCE = (
    {
        "Room's 680 a month, heating included": "What do I pay for the room?",
        "passport and visa papers are in the drawer under the bed": "Where are my papers?",
        "I coffee up at six, black, two mugs": "What do I drink at six?",
        "Only chamomile after nine or I lie awake": "What do I drink at night?",
        "metformin with breakfast, one": "Which pill is it with breakfast?",
        "new knee on the left since 2019": "Which knee is new?",
        "My brother Paul bakes bread in Lyon": "What does Paul do?",
        "Eve, my sister, moved her maths class to Ghent": "What does Eve teach?",
        "bike's chained up behind the bakery": "Where did I leave my bike?",
        "The old van sleeps at the petrol station": "Where is the van?",
        "I started pottery, Tuesdays": "What do I do on Tuesdays?",
        "choir on Thursdays, I sing bass now": "When do I sing?",
    },
    {
        "房租一个月两千三，含宽带": "房租多少？",
        "护照和签证在床底下那个抽屉": "护照放哪了？",
        "早上六点必喝黑咖啡两杯": "我早上喝什么？",
        "二甲双胍早饭吃一片": "早饭吃什么药？",
        "左膝盖二零一九年换的": "哪个膝盖换过？",
        "我哥在里昂烤面包": "我哥做什么？",
        "我妹现在在苏州教数学": "我妹教什么？",
        "自行车锁在面包店后头": "自行车在哪儿？",
        "开始学陶艺了，周二": "周二我干什么？",
        "周四合唱团，我又唱低音": "我什么时候唱歌？",
    },
)


@pytest.mark.parametrize("said", TRUE_AT_ONCE, ids=("en", "zh"))
def test_nothing_is_outdated_where_all_is_true_at_once(bench: Bench, said: dict[str, str]):
    memory = bench.memory()
    for day, text in enumerate(said):
        memory.remember(text, speaker="user", time=NOON + timedelta(days=day))
    memory.flush()
    assert [
        (question, hit.text) for question in said.values() for hit in memory.recall(question) if hit.superseded_by
    ] == []


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("I'm based in Bristol.", "We moved to Bath in August, to a house with a garden.", "Where do I live now?"),
        ("I live in Bristol.", "Home is Bath now, we love the garden.", "Where do I live now?"),
        ("My boyfriend is called Jack.", "We split up in June.", "Do I have a boyfriend?"),
        ("My boyfriend is called Jack.", "I'm single again.", "Do I have a boyfriend?"),
        ("I have a boyfriend called Jack.", "We broke up.", "Do I have a boyfriend?"),
        ("我男朋友叫阿杰。", "我和阿杰分手了。", "我有男朋友吗"),
        ("我有男朋友，他叫阿杰。", "我们分手了。", "我有男朋友吗"),
        ("我男朋友是程序员。", "我跟男朋友分手了。", "我有男朋友吗"),
        ("My bus leaves at 7:40.", "My bus leaves at 8:10 now.", "When does my bus leave?"),
        ("我的火车七点开。", "我的火车改到九点开了。", "我的火车几点开？"),
        ("I train at FitBase twice a week.", "I switched to another gym, IronYard.", "Which gym do I go to?"),
        ("Our dentist is Dr Falk.", "We changed to another dentist, Dr Amin.", "Who is our dentist?"),
        ("My GP is Dr Lowe.", "Dr Lowe retired, my GP is now Dr Banerjee.", "Who is my GP?"),
        ("I have a tortoiseshell cat, Nettle.", "I gave the cat to my aunt.", "Do I have a cat?"),
        ("The wifi is called Larkspur.", "The wifi is called Foxglove.", "What is the wifi called?"),
        ("钥匙在门口。", "钥匙挪到抽屉里了。", "钥匙在哪？"),
        ("我在美团做测试。", "离职了，下周去字节报到。", "我在哪里上班？"),
        ("我住在徐汇。", "退租了，现在住浦东。", "我住在哪里？"),
        ("手上戴的是小米手环。", "手环换成佳明了，老婆送的。", "我戴的是什么手环？"),
        ("I live in Leeds, can you suggest a gym?", "I moved to York", "Where do I live?"),
        ("I live in Leeds", "I moved to York, know any good gyms?", "Where do I live?"),
        ("I live in Leeds", "Moved to York, know any good gyms?", "Where do I live?"),
        ("我住在成都，周末去哪玩？", "我搬到深圳了", "我住在哪里？"),
        ("我住在成都", "我搬到深圳了，周末去哪玩？", "我住在哪里？"),
        ("My girlfriend Jo loves tulips, where can I buy some?", "Jo and I broke up.", "Do I have a girlfriend?"),
        ("My brother is a chef", "My brother drives a cab now", "What does my brother do?"),
        ("Dad is a postman", "Dad hung up his mailbag for good", "What does Dad do?"),
        ("小雅在学法律", "小雅毕业了", "小雅在学什么？"),
        ("I'm dating Tasha", "me and Imani official as of last night", "Who's my girlfriend?"),
        (
            "Swimming Sunday mornings at Castleton baths with Sue",
            "still swimming though, Todmorden pool now, Tuesdays",
            "Where do I swim?",
        ),
    ],
)
def test_what_has_one_value_gets_another(bench: Bench, older: str, newer: str, question: str):
    memory = bench.memory()
    first, second = told(memory, older, newer)
    hits = memory.recall(question)
    assert hits[0].id == second
    assert {hit.id: hit.superseded_by for hit in hits}[first] == second


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("Lena's piano teacher is Mr Frost.", "Lena's maths teacher is Ms Bell.", "Who is Lena's piano teacher?"),
        ("The vacuum lives in the cupboard.", "The ladder lives in the garage.", "Where does the vacuum live?"),
        ("Milo has lessons on Monday.", "Ada has lessons on Tuesday.", "When does Milo have lessons?"),
        ("书桌一百四十厘米宽", "餐桌九十厘米宽", "书桌多宽？"),
        ("老家的wifi叫春山", "公司的wifi叫北斗", "老家的wifi叫什么？"),
        ("卧室的暖气调到18度", "浴室的暖气调到22度", "卧室的暖气是多少度？"),
        ("My bus leaves at 7:40.", "Leila's bus leaves at 8:10.", "When does my bus leave?"),
        ("My shift starts at six.", "My husband's shift starts at ten.", "When does my shift start?"),
        ("我的火车七点开。", "老婆的火车九点开。", "我的火车几点开？"),
        ("我的 MacBook 是银色的。", "我老婆的 MacBook 是金色的。", "我的 MacBook 是什么颜色？"),
        ("I was born in Cork.", "I moved to Dublin.", "Where was I born?"),
        ("我手机尾号是4417。", "不对，是40码。", "我的手机尾号是多少？"),
        ("Leo weighs 14 kilos.", "Leo takes size 25 in shoes.", "How much does Leo weigh?"),
        ("乐乐体重14公斤。", "乐乐穿25码的鞋。", "乐乐多重？"),
        ("I paid 80 euros for electricity.", "I paid 35 euros for water.", "How much did I pay for electricity?"),
        ("物业费一年一千五。", "搬到郫都区了，月租一千八。", "物业费多少"),
        ("周三下午三点去看中医。", "刘医生退休了，我的家庭医生换成陈医生了。", "我什么时候看中医？"),
        ("Our cat Momo is a Maine Coon.", "Momo died last week.", "What breed is Momo?"),
        ("我家的狗叫布丁，是只柴犬。", "布丁上个礼拜走了。", "布丁是什么品种？"),
        ("我家的猫是布偶，叫汤圆。", "汤圆上个月走了。", "汤圆是什么品种？"),
        ("My mother lives with us.", "My mother-in-law went to a home in Kassel.", "Where does my mother live?"),
        ("我养了一只布偶猫，叫汤圆", "汤圆去世了", "汤圆是什么品种的猫？"),
        ("Priya's marrying Dev in June", "Priya's wedding is now in July", "Who is Priya marrying?"),
        ("小雅六月和阿杰结婚", "小雅的婚礼改到七月了", "小雅和谁结婚？"),
        ("我住在成都", "我换工作了", "我住在哪里？"),
        ("我女朋友叫小雅", "我女朋友换了新手机", "我女朋友叫什么？"),
        ("我弟叫陈宇航", "我弟换工作了", "我弟叫什么？"),
        ("我老婆叫小雅", "我老婆升职了", "我老婆叫什么？"),
        ("My brother is called Callum", "My brother changed jobs", "What's my brother called?"),
        ("I work at Nokia", "I changed phones", "Where do I work?"),
        ("陈宇不吃香菜。", "陈宇的妈妈是老师。", "陈宇不吃什么？"),
        ("养了只橘猫，取名叫汤圆。", "又捡了一只小黑猫，叫煤球，汤圆气得不理我。", "我的猫叫什么名字？"),
    ],
)
def test_two_things_of_which_the_same_is_said_are_both_current(bench: Bench, older: str, newer: str, question: str):
    memory = bench.memory()
    first, _ = told(memory, older, newer)
    hits = memory.recall(question)
    assert hits[0].id == first
    assert not any(hit.superseded_by for hit in hits)


@pytest.mark.parametrize(
    ("changed", "other", "newer", "question"),
    [
        ("Sourdough is 4.20.", "Baguettes are 1.80.", "Sourdough's 4.60 now.", "How much are baguettes?"),
        ("Bridge is on Wednesdays at Doris's.", "Church is at ten on Sundays.", "Bridge is at the church hall, Thursdays.",
         "When is church?"),
        ("Wren's teacher is Mr Obi.", "My daughter Wren is in year 4.", "Mr Obi left, Wren has Ms Farrow these days.",
         "What year is Wren in?"),
        ("大宝周六上午学画画。", "大宝在向阳幼儿园，中班。", "大宝的画画课改到周日下午了。", "大宝在哪个幼儿园？"),
    ],
)  # fmt: skip
def test_a_change_is_of_the_memory_that_has_more_of_its_words(
    bench: Bench, changed: str, other: str, newer: str, question: str
):
    memory = bench.memory()
    first, second = (memory.remember(text, time=day(at), speaker="user").id for at, text in enumerate((changed, other)))
    third = memory.remember(newer, time=day(9), speaker="user").id
    memory.flush()
    hits = memory.recall(question)
    assert hits[0].id == second
    assert {hit.id: hit.superseded_by for hit in hits if hit.superseded_by} == {first: third}


def test_of_several_former_ones_the_likeliest_stands_first(bench: Bench):
    memory = bench.memory()
    texts = ["我头发是黑色的", "我喜欢红色", "我把头发染成棕色了"]
    for number, text in enumerate(texts):
        memory.remember(text, time=day(number), speaker="user")
    memory.flush()
    for question in ("我以前头发什么颜色？", "我头发以前是什么颜色"):
        assert memory.recall(question)[0].text == texts[0]


def test_ones_name_stands_before_ones_number(bench: Bench):
    memory = bench.memory()
    memory.remember(["我叫周宁。", "我的电话是13800001111。", "我妹妹叫周静。", "我的猫叫咪咪。"], speaker="user")
    memory.flush()
    hits = memory.recall("我叫什么")
    assert hits[0].text == "我叫周宁。"
    assert hits[0].relevance == max(hit.relevance for hit in hits)


WHOSE_CAR = {
    "": ("My car is a white Polo.", "我的车是白色的大众。"),
    "my sister": ("My sister's car is a grey Volvo.", "我妹的车是灰色的沃尔沃。"),
    "my wife": ("My wife's car is a blue Kia.", "我老婆的车是蓝色的起亚。"),
    "my boss": ("My boss's car is a black Audi.", "我老板的车是黑色的奥迪。"),
}


@pytest.mark.parametrize("said", [0, 1])
@pytest.mark.parametrize(
    ("question", "whose"),
    [
        ("What colour is my car?", ""), ("What colour is my wife's car?", "my wife"),
        ("What colour is my sibling's car?", "my sister"), ("What colour is my boss's car?", "my boss"),
        ("我的车是什么颜色？", ""), ("我老婆的车是什么颜色？", "my wife"), ("我妹的车是什么颜色？", "my sister"),
        ("我老板的车是什么颜色？", "my boss"),
    ],
)  # fmt: skip
def test_what_is_of_the_one_asked_for_stands_first_in_either_language(
    bench: Bench, said: int, question: str, whose: str
):
    memory = bench.memory()
    for number, texts in enumerate(WHOSE_CAR.values()):
        memory.remember(texts[said], time=day(number), speaker="user")
    memory.flush()
    assert memory.recall(question)[0].text == WHOSE_CAR[whose][said]


@pytest.mark.parametrize(
    ("asked_for", "other", "question"),
    [
        ("My aunt is coming on Friday.", "I water the plants on Fridays.", "When is my aunt coming?"),
        ("Otis repairs my bike on Monday.", "I ride my bike to work.", "When does Otis repair my bike?"),
        ("Mum bakes my cake.", "I like cake.", "What does Mum bake for my birthday?"),
        ("My mother-in-law has a red hat.", "My mother has a green hat.", "What colour is my mother-in-law's hat?"),
    ],
)
def test_whom_a_question_names_stands_first(bench: Bench, asked_for: str, other: str, question: str):
    memory = bench.memory()
    memory.remember([asked_for, other], time=day(0), speaker="user")
    memory.flush()
    assert memory.recall(question)[0].text == asked_for


@pytest.mark.parametrize("speaker", ["Isla", "小曼"])
@pytest.mark.parametrize(
    ("former", "current", "question"),
    [
        ("I rent a flat in Leith.", "We're settled in Portobello now.", "Where do I live?"),
        ("I work at Shell.", "I started at Tesco last week.", "Where do I work?"),
        ("我在腾讯上班。", "我跳槽到字节了。", "我在哪里上班？"),
    ],
)
def test_the_current_value_of_a_named_speaker_stands_first(speaker: str, former: str, current: str, question: str):
    with memwell.open("memory:", embedder=LocalEmbedder(), work=False) as memory:
        for day, text in ((1, former), (21, current)):
            memory.remember(text, speaker=speaker, time=datetime(2026, 3, day, tzinfo=UTC))
        found = memory.recall(question)
        assert [one.text for one in found][:1] == [current]


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("I can't eat prawns", "Turns out mussels are off the menu for me too, throat closed up", "What can't I eat?"),
        (
            "shellfish makes my throat close up, not fun",
            "turns out I can't have penicillin either, came out in hives all over",
            "What am I allergic to?",
        ),
    ],
)
def test_another_allergy_leaves_the_first(bench: Bench, older: str, newer: str, question: str):
    memory = bench.memory()
    told(memory, older, newer)
    hits = memory.recall(question, limit=2)
    assert {hit.text for hit in hits} == {older, newer}
    assert not any(hit.superseded_by for hit in hits)


def test_an_allergy_that_is_denied_is_outdated(bench: Bench):
    memory = bench.memory()
    first, second = told(memory, "I'm allergic to nuts.", "Turns out I'm not allergic to nuts after all.")
    assert [(hit.id, hit.superseded_by) for hit in memory.recall("What am I allergic to?", limit=2)] == [
        (second, ""),
        (first, second),
    ]


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("My sister Mia works at Lloyds", "Where does my dad work?"),
        ("I'm a nurse at the Royal", "Where does my brother work?"),
        ("My sister is allergic to cats", "What am I allergic to?"),
        ("我妹妹在银行上班", "我爸在哪上班？"),
    ],
)
def test_what_is_true_of_another_is_hardly_relevant(bench: Bench, said: str, question: str):
    memory = bench.memory()
    memory.remember(said, time=day(0), speaker="user")
    memory.remember(BETWEEN, time=day(1), speaker="user")
    memory.flush()
    assert max(hit.relevance for hit in memory.recall(question)) < 0.1


@pytest.mark.parametrize(
    ("said", "question", "answers"),
    [
        ("my number is 937 555 0148", "What's my phone number?", True),
        ("my number is 937 555 0148", "What's my old number?", True),
        ("my number is 937 555 0148", "What's my passport number?", False),
        ("my number is 937 555 0148", "What's my social security number?", False),
        ("我的电话是13800138000", "我的手机号是多少？", True),
        ("我的电话是13800138000", "我的护照号是多少？", False),
    ],
)
def test_the_number_of_a_phone_is_no_other_number(bench: Bench, said: str, question: str, answers: bool):
    memory = bench.memory()
    memory.remember([said, *BETWEEN], time=day(0), speaker="user")
    memory.flush()
    assert (memory.recall(question, limit=1)[0].relevance >= 0.005) is answers


def test_what_is_said_of_ones_people_together_is_of_each(bench: Bench):
    memory = bench.memory()
    memory.remember("我爸妈住在绵阳", time=day(0), speaker="user")
    memory.flush()
    assert memory.recall("我妈住在哪里？")[0].relevance > 0.1


def test_what_is_over_by_the_facts_stands_below_what_ended_it(bench: Bench):
    memory = bench.memory()
    dog = memory.remember("our dog Taffy ate a whole sock", time=day(0)).id
    over = memory.remember("Taffy had to be put down yesterday. the kids are heartbroken", time=day(60)).id
    for number in range(12):
        memory.remember(f"We met a nice dog at house {number}.", time=day(61 + number))
        memory.remember(f"The kids still have a cold, day {number}.", time=day(61 + number))
    memory.flush()
    bench.now = day(120)
    first, second = memory.recall("Do we still have a dog?", limit=2)
    assert (first.id, second.id, second.superseded_by) == (over, dog, over)


@pytest.mark.parametrize(
    ("older", "newer", "question", "first"),
    [
        ("my grandma Loretta turned 80 today", "grandma passed this morning", "Is my grandmother still alive?", 1),
        ("I've got a labrador called Biscuit", "we had Biscuit put to sleep", "Do I have a dog?", 1),
        ("I've got a labrador called Biscuit", "we had Biscuit put to sleep", "What breed is Biscuit?", 0),
        ("我养了一只柯基叫豆豆", "豆豆上周去世了", "我还有狗吗？", 1),
    ],
)
def test_what_is_over_is_flagged_by_recall_and_in_the_prompt(
    bench: Bench, older: str, newer: str, question: str, first: int
):
    memory = bench.memory()
    ids = told(memory, older, newer)
    bench.now = day(60)
    hits = memory.recall(question)
    assert hits[0].id == ids[first]
    assert {hit.id: hit.superseded_by for hit in hits if "superseded" in hit.flags} == {ids[0]: ids[1]}
    assert assemble(question, budget=2000, recaller=memory).messages[0].text.count("OUTDATED") == 1


def test_a_memory_that_stated_nothing_before_it_was_changed_is_over_too(bench: Bench):
    memory = bench.memory()
    changed = memory.remember("The labrador next door barks.", time=day(0), speaker="user").id
    assert memory.recall("Which labrador barks?")
    memory.update(changed, "I've got a labrador called Biscuit.")
    over = memory.remember("we had Biscuit put to sleep", time=day(2), speaker="user").id
    memory.flush()
    bench.now = day(60)
    assert {hit.id: hit.superseded_by for hit in memory.recall("Do I have a dog?") if hit.superseded_by} == {
        changed: over
    }


@pytest.mark.parametrize(
    ("said", "question", "over"),
    [
        ("I'm going to Rome next week", "What about Rome?", True),
        ("我下周去罗马", "罗马怎么样？", True),
        (
            "Kayleigh's going back to work next week so I'm having Elsie Mondays and Wednesdays",
            "Which days do I have Elsie?",
            False,
        ),
        (
            "moving in with Imani next month, she got a place in Beavercreek",
            "Where does Imani live?",
            False,
        ),
        ("我下周去罗马，猫放在幸福路的宠物店寄养", "我的猫在哪里寄养？", False),
    ],
)
def test_a_memory_is_over_with_a_plan_if_it_says_nothing_else(bench: Bench, said: str, question: str, over: bool):
    memory = bench.memory()
    memory.remember([said, *BETWEEN], time=day(0), speaker="user")
    memory.flush()
    bench.now = day(120)
    hit = memory.recall(question, limit=1)[0]
    assert (hit.text, "superseded" in hit.flags, hit.superseded_by) == (said, over, "")


def test_a_plan_that_replaced_something_is_what_is_known_when_its_day_is_past(bench: Bench):
    memory = bench.memory()
    first, second = told(memory, "I live in Leeds", "I'm moving to Bristol at the end of the month")
    bench.now = day(120)
    hits = [(hit.id, hit.superseded_by, hit.flags) for hit in memory.recall("Where do I live?", limit=2)]
    assert hits == [(second, "", ()), (first, second, ("superseded",))]


def test_who_moves_is_still_with_whom_they_were(bench: Bench):
    memory = bench.memory()
    first, _ = told(memory, "我和陈默在一起啦", "搬到陈默那边了，在江宁")
    assert memory.recall("我男朋友叫什么？", limit=1)[0].id == first
    assert not any(hit.superseded_by for hit in memory.recall("我男朋友叫什么？"))
