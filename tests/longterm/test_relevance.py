"""Relevance: a probability that means the same in every store, and a filter that only takes away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.relevance import (
    MIN_RELEVANCE,
    Calibration,
    LogisticModel,
    RelevanceModel,
    default_calibration,
)
from memwell.longterm.snapshot_cache import Snapshots
from memwell.longterm.weights import Weights
from memwell.models.local import LocalEmbedder
from memwell.models.ports import as_reranker
from memwell.models.scripted import HashEmbedder
from memwell.runtime.context import assemble
from memwell.storage import open_backend
from tests.longterm.conftest import Bench

SAID = {
    "nuts": "I am allergic to peanuts, so I never order satay.", "move": "We are moving to Lisbon in September.",
    "dog": "Our dog Bruno had his vaccination at the vet in Elm Street.",
    "car": "The car needs new tyres before the winter.",
    "piano": "My daughter Mia started piano lessons with Mrs. Novak.", "茶": "我每天早上喝一杯龙井茶。",
    "搬": "我们下个月搬去杭州。", "猫": "我家的猫叫小黑，最怕打雷。", "书": "小李借走了我的《三体》，还没还。",
    "车": "奶奶的生日是九月十二号。",
}  # fmt: skip
ANSWERED = {
    "What am I allergic to?": "nuts", "Where are we moving in September?": "move",
    "Which vet vaccinated Bruno?": "dog", "What does the car need before winter?": "car",
    "Who gives Mia piano lessons?": "piano", "我早上喝什么茶？": "茶", "我们下个月搬去哪里？": "搬",
    "我家的猫叫什么？": "猫", "谁借走了我的《三体》？": "书", "奶奶的生日是几号？": "车",
}  # fmt: skip
YEAR_2023 = datetime(2023, 6, 1, tzinfo=UTC)
STRANGE = (
    "hunter2", "qzxv blorptang", "What is the boiling point of mercury?", "Explain the offside rule.",
    "水银的沸点是多少？", "请解释一下越位规则。", "海王星有几颗卫星？",
)  # fmt: skip


@pytest.fixture(scope="module", params=["local", None], ids=["vectors", "words"])
def talk(request: pytest.FixtureRequest) -> Iterator[memwell.Engine]:
    with memwell.open("memory:", embedder=request.param, work=False) as opened:
        for id_, text in SAID.items():
            opened.remember(text, id=id_)
        opened.flush()
        yield opened


@pytest.mark.parametrize("question", STRANGE)
def test_a_question_about_nothing_that_is_known_brings_nothing_into_a_prompt(talk: memwell.Engine, question: str):
    made = talk.context(question)
    assert made.receipt.memories == []
    assert {one.reason for one in made.receipt.left_out} == {"relevance"}
    assert [one.text for one in made.messages] == [question]
    assert talk.recall(question, min_relevance=MIN_RELEVANCE) == []
    assert len(talk.recall(question)) == len(SAID)
    assert len(talk.context(question, min_relevance=0.0).receipt.memories) > 1


def test_a_stranger_in_another_language_is_hardly_let_in(talk: memwell.Engine):
    # Across languages vectors alone decide, and a question for a number is a little like a birthday.
    assert all(hit.relevance < 0.05 for hit in talk.recall("How many moons does Neptune have?"))


def test_hits_in_another_language_are_judged_though_ten_stand_before_them():
    with memwell.open("memory:", work=False) as opened:
        opened.remember([f"第{number}个邻居养了一条鱼。" for number in "一二三四五六七八九十"])
        opened.remember(["Ann likes tea.", "The roof leaks."])
        opened.flush()
        found = opened.recall("蒙古的首都是哪里？", limit=20)
        assert len(found) == 12
        assert all(hit.relevance < MIN_RELEVANCE for hit in found)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("In August I'm in Rome with the kids.", "Where am I in August?"),
        ("I have chess on Fridays.", "What do I have on Friday?"),
        ("In 2019 I cycled to Bonn.", "What did I do in 2019?"),
        ("八月我在罗马。", "八月我在哪里？"),
        ("星期一我去游泳。", "周一我做什么？"),
        ("我礼拜天去爬山。", "星期天我做什么？"),
        ("我七月去滑翔。", "7月我做什么？"),
        ("我二〇一九年学的游泳。", "2019年我做了什么？"),
    ],
)
def test_what_names_the_time_that_is_asked_for_is_relevant(talk: memwell.Engine, said: str, question: str):
    [id_] = talk.remember(said).ids
    try:
        assert talk.context(question).receipt.memories == [id_]
    finally:
        talk.forget(id_)


@pytest.mark.parametrize(
    ("said", "question"),
    [("In 2020 I cycled to Bonn.", "What did I do three years ago?"), ("我2020年骑车去了拉萨。", "三年前我做了什么？")],
)
def test_a_year_is_asked_for_by_how_long_ago_it_was(talk: memwell.Engine, said: str, question: str):
    [id_] = talk.remember(said).ids
    try:
        assert [hit.id for hit in talk.recall(question, now=YEAR_2023, min_relevance=MIN_RELEVANCE)] == [id_]
    finally:
        talk.forget(id_)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("我跳槽到字节了。", "我在哪里上班？"),
        ("I joined Acme as a welder.", "Where do I work?"),
        ("我媳妇叫小雨。", "我老婆叫什么？"),
    ],
)
def test_a_fact_that_is_asked_for_is_relevant_in_other_words(talk: memwell.Engine, said: str, question: str):
    [id_] = talk.remember(said).ids
    try:
        assert id_ in [hit.id for hit in talk.recall(question, limit=1, min_relevance=0.5)]
    finally:
        talk.forget(id_)


@pytest.mark.parametrize(("question", "answer"), ANSWERED.items())
def test_what_plainly_answers_is_kept(talk: memwell.Engine, question: str, answer: str):
    best = talk.recall(question, min_relevance=MIN_RELEVANCE)[0]
    assert best.id == answer
    assert best.relevance > 2 * MIN_RELEVANCE
    assert answer in talk.context(question).receipt.memories


TEXTS = st.text("ab cd 猫茶 ?.", max_size=12)


@given(st.lists(TEXTS, max_size=6), TEXTS, st.floats(0, 1), st.floats(0, 1), st.sampled_from([None, HashEmbedder(16)]))
def test_a_higher_bar_leaves_a_part_of_what_a_lower_one_does(
    texts: list[str], query: str, one: float, other: float, embedder: Any
):
    low, high = sorted((one, other))
    with open_backend("memory:") as backend:
        memory = Memory(backend, "ann", embedder=embedder)
        memory.remember([text or "…" for text in texts])
        everything = memory.recall(query, limit=5)
        assert all(0.0 <= hit.relevance <= 1.0 for hit in everything)
        kept = memory.recall(query, limit=5, min_relevance=low)
        assert [hit.id for hit in kept] == [hit.id for hit in everything if hit.relevance >= low]
        fewer = memory.recall(query, limit=5, min_relevance=high)
        assert [hit.id for hit in fewer] == [hit.id for hit in kept if hit.relevance >= high]


@pytest.mark.parametrize("question", ["What am I allergic to?", "我家的猫叫什么？"])
def test_what_is_below_the_bar_takes_no_place(talk: memwell.Engine, question: str):
    # Those used last stand first by these weights, relevant or not: the first recall uses all that are relevant enough.
    newest = Weights.time_weighted(similarity=0.0, importance=0.0)
    talk.recall(question, weights=newest, min_relevance=MIN_RELEVANCE)
    enough = talk.recall(question, weights=newest, min_relevance=MIN_RELEVANCE)
    assert 0 < len(enough) < len(SAID)
    for limit in range(1, len(enough) + 1):
        found = talk.recall(question, weights=newest, limit=limit, min_relevance=MIN_RELEVANCE)
        assert [hit.id for hit in found] == [hit.id for hit in enough[:limit]]


class _Recalls:
    """Finds the same memories in this order for every question."""

    def __init__(self, hits: list[Recalled]) -> None:
        self._hits = hits

    def recall(self, query: str, *, limit: int) -> list[Recalled]:
        return self._hits[:limit]


def test_what_is_below_the_bar_takes_no_place_in_a_prompt(talk: memwell.Engine):
    worst_first = talk.recall("What am I allergic to?")[::-1]
    made = assemble("Allergic?", budget=2000, recaller=_Recalls(worst_first), limit=1, min_relevance=0.1)
    assert made.receipt.memories == [worst_first[-1].id]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "much", None])
def test_what_is_no_relevance_is_refused(memory: Memory, wrong: Any):
    with pytest.raises(InvalidInput, match="min_relevance must be a number from 0 to 1"):
        memory.recall("x", min_relevance=wrong)


def relevance_by_id(memory: Any, question: str, **options: Any) -> dict[str, float]:
    return {hit.id: hit.relevance for hit in memory.recall(question, **options)}


@pytest.mark.parametrize("question", ["What am I allergic to?", "hunter2", "我家的猫叫什么？"])
def test_a_hit_is_as_relevant_however_many_are_asked_for_and_however_they_are_found(
    talk: memwell.Engine, question: str, monkeypatch: pytest.MonkeyPatch
):
    # Recency counts in the scores.
    now = talk.clock()
    all_of_them = relevance_by_id(talk, question, now=now)
    for limit in range(1, len(SAID)):
        assert relevance_by_id(talk, question, limit=limit, now=now).items() <= all_of_them.items()
    assert relevance_by_id(talk, question, as_of=now + timedelta(days=1), now=now) == all_of_them
    monkeypatch.setattr(Snapshots, "suits", lambda *_: False)
    monkeypatch.setattr(talk.memory, "reranker", None)
    by_indexes = relevance_by_id(talk, question, now=now)
    assert len(by_indexes) <= len(all_of_them)
    for id_, value in list(by_indexes.items())[:1]:
        # The words of a few candidates are rarer than those of all, so the scores behind the first differ a little.
        assert value == pytest.approx(all_of_them[id_], abs=0.2)


def test_a_reranker_and_other_weights_leave_strangers_strangers(talk: memwell.Engine, monkeypatch: pytest.MonkeyPatch):
    newest = Weights.time_weighted(similarity=0.0, importance=0.0)
    assert talk.recall("hunter2", weights=newest, min_relevance=MIN_RELEVANCE) == []
    now = talk.clock()
    before = relevance_by_id(talk, "What am I allergic to?", now=now)
    monkeypatch.setattr(talk.memory, "reranker", as_reranker(lambda query, texts: [len(text) for text in texts]))
    after = talk.recall("What am I allergic to?", now=now)
    assert {hit.id: hit.relevance for hit in after} == before
    assert [len(hit.text) for hit in after] == sorted((len(hit.text) for hit in after), reverse=True)
    assert talk.recall("hunter2", min_relevance=MIN_RELEVANCE) == []


@pytest.mark.parametrize("question", ["What do you know about me?", "", "What did I tell you?"])
def test_a_question_that_asks_for_no_particular_thing_has_no_bar(talk: memwell.Engine, question: str):
    assert {hit.relevance for hit in talk.recall(question)} == {0.5}


def test_what_was_said_in_the_period_that_is_asked_for_is_relevant(bench: Bench):
    memory = bench.memory(embedder=None)
    memory.remember("The boiler was repaired.", id="then", time=bench.now - timedelta(days=6))
    memory.remember("The roof was repaired.", id="long ago", time=bench.now - timedelta(days=300))
    relevance = relevance_by_id(memory, "What happened last week?", now=bench.now)
    assert relevance["then"] > MIN_RELEVANCE
    assert relevance["then"] > 2 * relevance["long ago"]


def test_a_cosine_is_believed_only_of_the_embedder_that_was_calibrated(bench: Bench):
    memory = bench.memory()
    memory.remember(list(SAID.values()))
    memory.flush()
    assert memory.recall("peanuts satay")[0].signals["dense"].value > 0.0
    plain = bench.memory("plain", embedder=None)
    plain.remember(list(SAID.values()))
    by_words = {hit.text: hit.relevance for hit in plain.recall("peanuts satay")}
    best = memory.recall("peanuts satay")[0]
    assert best.relevance == pytest.approx(by_words[best.text], rel=0.2)


def test_the_first_model_whose_values_are_known_is_used():
    sure, unsure = LogisticModel(9.0, {}), LogisticModel(0.0, {"held": 1.0})
    first = RelevanceModel(LogisticModel(0.0, {"best_dense": 1.0}), sure)
    calibration = Calibration("", "some", (first, RelevanceModel(sure, unsure)))
    values = {"held": np.array([1.0, 1.0, np.nan]), "best_dense": np.array([0.3, np.nan, np.nan])}
    whole, by_words, unknown = calibration.relevances(values, 3)
    assert whole == first.relevances(values)[0] < 0.6
    assert by_words > 0.7
    assert unknown == 0.5
    assert sure.probabilities({}) < LogisticModel(1e9, {}).probabilities({}) <= 1.0
    assert 0.0 <= LogisticModel(-1e9, {}).probabilities({}) < 1e-9


def test_the_shipped_models_count_in_the_right_direction():
    shipped = default_calibration()
    assert "third of all questions" in shipped.note
    assert shipped.embedder == LocalEmbedder().name
    *_, words, across = shipped.models
    assert not any("dense" in name for name in (*words.known.weights, *words.helps.weights))
    assert across.known.weights.keys() == {"best_dense"}
    for model in shipped.models:
        known = model.known.weights
        assert known.get("best_held", 0.0) + known.get("best_count", 0.0) >= 0.0
        assert known.get("best_missing", 0.0) <= 0.0
        assert known.get("best_dense", 0.0) >= 0.0
        # A stranger is first as well, so the place of a hit must not count.
        assert known.keys() >= {f"best_{name}" for name in model.helps.weights} - {"best_dense"}


def test_the_page_has_the_same_bar():
    script = Path(memwell.__file__).parent / "service" / "dashboard" / "js" / "api.js"
    assert f"MIN_RELEVANCE = {MIN_RELEVANCE:g};" in script.read_text("utf-8")


def test_a_word_of_asking_may_be_what_is_asked_for(memory: Memory):
    memory.remember("My name is Sam.", id="name")
    memory.remember("I am dating Kim.", id="kim")
    memory.remember("The tulips are out.", id="tulips")
    memory.flush()
    for question, answer in {"What is my name?": "name", "Who am I dating?": "kim"}.items():
        found = {hit.id: hit.relevance for hit in memory.recall(question)}
        assert found.pop(answer) > 2 * max(found.values())
    assert {hit.relevance for hit in memory.recall("What do you know about me?")} == {0.5}
    assert {hit.relevance for hit in memory.recall("?!...")} == {0.0}


def test_a_question_before_the_first_memory_does_not_change_the_relevance_after_it(bench: Bench):
    bench.embedder = LocalEmbedder()
    memory = bench.memory()
    question = "What does my sibling do for a living?"
    assert memory.recall(question) == []
    memory.remember(["My sister is a nurse in Hull.", "I like tea."])
    memory.flush()
    first, second = ({hit.text: hit.relevance for hit in memory.recall(question)} for _ in range(2))
    assert first == second
    assert first["My sister is a nurse in Hull."] > first["I like tea."] > 0.0


@pytest.mark.parametrize("question", ["🎉", "血型", "What is my blood type?"])
def test_signs_are_relevant_to_the_same_signs_alone(bench: Bench, question: str):
    bench.embedder = LocalEmbedder()
    memory = bench.memory()
    memory.remember(["🐙", "🐙🐙", "I like cats.", "今天下雨。"])
    memory.flush()
    assert max(hit.relevance for hit in memory.recall(question)) < MIN_RELEVANCE
    found = {hit.text: hit.relevance for hit in memory.recall("🐙")}
    assert min(found.pop("🐙"), found.pop("🐙🐙")) > 0.3 > MIN_RELEVANCE > max(found.values())


@pytest.fixture(scope="module")
def two() -> Iterator[memwell.Engine]:
    """What two people said, each told apart by a name."""
    said = {
        "Joel": ("I go to PureGym, it's 22 a month.", "I can't stand coriander.", "Dropped my phone in the mash tun."),
        "Maya": ("My rent is 950 a month.", "I do pottery on Tuesday evenings.", "My brother Luke lives in Leeds."),
    }  # fmt: skip
    with memwell.open("memory:", work=False) as opened:
        for month, lines in enumerate(zip(*said.values(), strict=True)):
            for speaker, text in zip(said, lines, strict=True):
                opened.remember(text, speaker=speaker, time=YEAR_2023 + timedelta(days=30 * month))
        opened.flush()
        yield opened


@pytest.mark.parametrize(
    "question", ["Which programming language does Joel use?", "What did Joel study?", "What is Maya's blood type?"]
)
def test_the_name_of_a_speaker_makes_nothing_relevant(two: memwell.Engine, question: str):
    assert two.recall(question, min_relevance=MIN_RELEVANCE) == []


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which gym does Joel go to?", "I go to PureGym, it's 22 a month."),
        ("How much rent does Maya pay?", "My rent is 950 a month."),
        ("Where does Luke live?", "My brother Luke lives in Leeds."),
    ],
)
def test_what_a_speaker_said_is_relevant_where_it_is_asked_for(two: memwell.Engine, question: str, said: str):
    assert two.recall(question, min_relevance=MIN_RELEVANCE)[0].text == said


@pytest.mark.parametrize("question", ["What did Maya say yesterday?", "What happened with Maya yesterday?"])
def test_what_a_speaker_said_in_a_period_is_found_by_both(two: memwell.Engine, question: str):
    hits = two.recall(question, now=YEAR_2023 + timedelta(days=31), min_relevance=MIN_RELEVANCE)
    assert [hit.text for hit in hits] == ["I do pottery on Tuesday evenings."]


@pytest.mark.parametrize("question", ["hunter2", "banana2?", "4471"])
def test_a_code_is_like_nothing_but_itself(question: str):
    with memwell.open("memory:", work=False) as opened:
        opened.remember(["N2过了！", "我考过了B2。", "M3的芯片真快。", "The alarm went off at 6."])
        opened.flush()
        assert opened.recall(question, min_relevance=MIN_RELEVANCE) == []
        assert [hit.text for hit in opened.recall("B2", min_relevance=MIN_RELEVANCE)] == ["我考过了B2。"]
