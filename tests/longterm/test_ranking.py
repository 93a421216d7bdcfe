"""The ranking: scores explain themselves, ties have one order, and what is missing does not matter."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.ranking import CANDIDATES, LEAST_PART, in_words, rank, reasons, shared_words
from memwell.longterm.snapshot import Snapshot, SnapshotEntry
from memwell.longterm.weights import SIGNALS, Curve, Signal, Weights

# The reasons for a hit in words: the weightiest, nothing that every hit has, in both languages.


SIGNAL = st.builds(Signal, st.floats(-1, 1), st.floats(-0.2, 0.2))
HITS = st.dictionaries(st.sampled_from([*SIGNALS, "reranker"]), SIGNAL)


def line(signals: dict[str, Signal], language: str = "en", **options: str) -> str:
    given: dict[str, Any] = {"text": "I drink milk.", "speaker": "Alice", "session": "talk"}
    given |= {"query": "who drinks milk?", **options}
    return in_words(signals, language=language, most=4, **given)


@given(HITS, st.booleans())
def test_parts_are_of_the_whole_and_none_is_small(signals: dict[str, Signal], neighbours: bool):
    found = reasons(signals, neighbours=neighbours)
    assert all(LEAST_PART <= part <= 1.0 + 1e-9 for part in found.values())
    assert sum(found.values()) <= 1.0 + 1e-9 or any(signal.share < 0 for signal in signals.values())
    assert list(found.values()) == sorted(found.values(), reverse=True)


@given(HITS, st.sampled_from(["", "talk"]), st.sampled_from(["", "Alice"]))
def test_it_is_one_short_line_without_names_of_signals(signals: dict[str, Signal], session: str, speaker: str):
    for language in ("en", "zh"):
        told = line(signals, language, session=session, speaker=speaker)
        assert told
        assert "\n" not in told
        assert "_" not in told
        assert "{" not in told
        assert told.count("%") <= 4
        assert bool(re.search("[\u4e00-\u9fff]", told)) == (language == "zh")


def test_signals_that_say_the_same_are_one_reason():
    signals = {
        "dense": Signal(0.8, 0.1), "dense_best": Signal(1.0, 0.3), "words": Signal(1.0, 0.2),
        "coverage": Signal(0.5, 0.1), "time": Signal(0.9, 0.15), "speaker": Signal(1.0, 0.1),
        "length": Signal(0.3, 0.05),
    }  # fmt: skip
    assert line(signals) == (
        "same meaning (40 %); same words: drinks, milk (30 %); said around the asked time (15 %); spoken by Alice (10 %)"
    )
    chinese = {"text": "我每天喝牛奶", "query": "谁喝牛奶", "speaker": "小明"}
    assert line(signals, "zh", **chinese) == (
        "意思相同（40%）；用词相同：喝牛奶（30%）；时间与所问相近（15%）；由小明说的（10%）"
    )


@pytest.mark.parametrize(
    "signals",
    [
        {"length": Signal(0.5, -0.04)}, {"role": Signal(0.0, 0.03)}, {"importance": Signal(0.5, 0.03)},
        {"length": Signal(0.3, 0.1), "opens": Signal(1.0, 0.03)},
        {"time": Signal(0.1, 0.02), "length": Signal(0.3, 1.0)}, {},
    ],
)  # fmt: skip
def test_what_every_hit_has_is_no_reason(signals: dict[str, Signal]):
    assert line(signals) == "nothing better was found"
    assert line(signals, "zh") == "没有更合适的"


def test_without_a_conversation_there_are_no_neighbours():
    signals = {"session": Signal(1.0, 0.1), "dense_session": Signal(1.0, 0.1), "dense": Signal(0.2, 0.05)}
    assert line(signals, session="") == "related meaning (60 %); same words: drinks, milk (40 %)"
    assert line(signals) == "from a conversation about it (80 %); related meaning (20 %)"
    inferred = {**signals, "length": Signal(0.3, 0.0)}
    assert line(inferred, session="") == line(signals)
    assert line({**inferred, "opens": Signal(1.0, 0.0)}, session="") == line(signals, session="")


@pytest.mark.parametrize(
    ("query", "text", "shared"),
    [
        ("What does Ann drink, milk or tea?", "ann drinks milk", ["Ann", "drink", "milk"]),
        ("what is it?", "it is what it is", []), ("京都的火车票多少钱", "我买了去京都的火车票", ["京都的火车票"]),
        ("喜欢猫", "狗", []), ("我的iPhone在哪", "iphone 放在桌上", ["iPhone"]), ("", "anything", []),
        ("milk tea rice fish bread", "bread fish rice tea milk", ["milk", "tea", "rice", "fish"]),
    ],
)  # fmt: skip
def test_the_words_are_those_of_the_query(query: str, text: str, shared: list[str]):
    assert shared_words(query, text) == shared


SAID_BY_ALICE = {
    "words": Signal(1.0, 0.3), "coverage": Signal(1.0, 0.1), "dense": Signal(0.8, 0.4), "speaker": Signal(1.0, 0.2),
}  # fmt: skip


def test_a_name_that_is_the_speakers_is_no_same_word():
    assert line(SAID_BY_ALICE, query="What about Alice?") == "spoken by Alice (60 %); same meaning (40 %)"
    assert line(SAID_BY_ALICE, query="", asked="What about Alice?") == "spoken by Alice (60 %); same meaning (40 %)"
    assert line(SAID_BY_ALICE, "zh", query="小明呢？", speaker="小明") == "由小明说的（60%）；意思相同（40%）"
    both = line(SAID_BY_ALICE, query="Does Alice drink milk?")
    assert "same words: drink, milk (40 %)" in both
    assert "spoken by Alice (20 %)" in both


def test_only_languages_that_are_spoken():
    for language in ("fr", "", "english", 5):
        with pytest.raises(InvalidInput, match="en and zh"):
            line({}, language)  # pyright: ignore[reportArgumentType]
    assert line({}, "zh-CN") == line({}, "zh")


NOW = 1.7e9
TALK = [
    ("Anna", "What did you do at the weekend?"), ("Ben", "We climbed the Rigi on Saturday, it took three hours."),
    ("Anna", "How lovely! I stayed at home."), ("Ben", "You should come along next time."),
]  # fmt: skip


def talk() -> Snapshot:
    return Snapshot.build(
        SnapshotEntry(f"t{place}", text, speaker, "s", place, NOW - 86_400.0)
        for place, (speaker, text) in enumerate(TALK)
    )


def ask(text: str, vector: np.ndarray | None = None) -> ParsedQuery:
    return ParsedQuery.of(text, now=NOW, vector=vector)


@pytest.mark.parametrize("text", ["", "   ", "what is it", "的了吗", "?!", "zebra", "In 2050?", "x" * 5000])
def test_any_question_ranks_everything_there_is(text: str) -> None:
    found = rank(talk(), ask(text))
    assert len(found) == len(TALK)
    assert all(math.isfinite(hit.score) for hit in found)


def test_nothing_is_found_where_nothing_is() -> None:
    assert rank(Snapshot(), ask("hello")) == []
    assert rank(talk(), ask("hello"), limit=0) == []


def test_ties_go_to_the_later_and_then_to_the_smaller_id() -> None:
    times = {"c": 5.0, "b": 5.0, "a": 4.0}
    snapshot = Snapshot.build(SnapshotEntry(name, "same", time=time) for name, time in times.items())
    assert [hit.id for hit in rank(snapshot, ask("other"), weights=Weights.linear({"words": 1.0}))] == ["b", "c", "a"]


@given(st.permutations(range(6)), st.integers(1, 7))
def test_the_order_of_arrival_does_not_matter(order: list[int], limit: int) -> None:
    made = [
        SnapshotEntry(str(number), f"train {'ticket ' * (number % 3)}", time=float(number // 2)) for number in range(6)
    ]
    question = ask("a train ticket")
    expected = [hit.id for hit in rank(Snapshot.build(made), question)]
    assert [hit.id for hit in rank(Snapshot.build(made[at] for at in order), question, limit=limit)] == expected[:limit]


def test_only_what_is_allowed_is_found() -> None:
    snapshot = talk()
    allowed = np.zeros(snapshot.limit, np.bool_)
    allowed[snapshot.row_of("t2")] = True
    assert [hit.id for hit in rank(snapshot, ask("Rigi"), allowed=allowed)] == ["t2"]
    with pytest.raises(InvalidInput, match="a flag for each of 4 rows"):
        rank(snapshot, ask("Rigi"), allowed=allowed[:2])
    with pytest.raises(InvalidInput, match="limit must be at least 0"):
        rank(snapshot, ask("Rigi"), limit=-1)


def test_the_best_of_many_are_candidates_whatever_the_filter() -> None:
    snapshot = Snapshot.build(SnapshotEntry(f"{number:05}", f"word{number % 7} filler") for number in range(4000))
    snapshot.apply([SnapshotEntry("needle", "a needle in a haystack")], ())
    assert rank(snapshot, ask("needle"))[0].id == "needle"
    allowed = np.arange(snapshot.limit) % 2 == 1
    found = rank(snapshot, ask("word3"), allowed=allowed, limit=CANDIDATES)
    assert len(found) == CANDIDATES
    assert all(int(hit.id) % 2 == 1 and int(hit.id) % 7 == 3 for hit in found)


def _joined(own: float, shared: list[float]) -> np.ndarray:
    """A vector with two numbers of its language, of which ``own`` is one, and a shared part."""
    part = np.array(shared) / np.linalg.norm(shared)
    return np.concatenate(([own, 0.0], (1.0 - own * own) ** 0.5 * part)).astype(np.float32)


TWO_LANGUAGES = [
    SnapshotEntry("stranger", "I got a new lamp.", vector=np.array([0.5, 0.8, 0.0, 0.3, 0.1], np.float32)),
    SnapshotEntry("right", "婚礼在海边举行。", vector=_joined(0.0, [1.0, 0.2, 0.1])),
    SnapshotEntry("other", "我买了一盏灯。", vector=_joined(0.0, [-0.2, 1.0, 0.1])),
]


def asked_across(text: str, shared_from: int | None) -> ParsedQuery:
    return ParsedQuery.of(text, now=NOW, vector=_joined(0.9, [1.0, 0.1, 0.2]), shared_from=shared_from)


def test_a_translation_is_no_worse_than_a_stranger_with_a_common_word() -> None:
    snapshot = Snapshot.build(TWO_LANGUAGES)
    question = "Where did they get married, and who got the ring?"
    assert rank(snapshot, asked_across(question, None))[0].id == "stranger"
    best = rank(snapshot, asked_across(question, 2))[0]
    assert best.id == "right"
    assert best.signals["dense"].value == pytest.approx(1.0, abs=0.03)
    told = in_words(
        best.signals, text="婚礼在海边举行。", speaker="", session="", query=question, language="en", most=4
    )
    assert "meaning" in told
    assert "words" not in told


def test_weights_of_an_earlier_version_may_have_a_signal_that_is_no_more() -> None:
    weights = Weights({"dense": Curve((0.0, 1.0), (0.0, 1.0)), "translated": Curve((0.0, 1.0), (0.0, 9.0))})
    [best, *_] = rank(Snapshot.build(TWO_LANGUAGES), asked_across("Where did they get married?", 2), weights=weights)
    assert (best.id, [*best.signals]) == ("right", ["dense"])


def test_words_that_no_record_has_are_asked_for_too() -> None:
    snapshot = Snapshot.build([SnapshotEntry("a", "the oven gets hot"), SnapshotEntry("b", "a village by the sea")])
    [first, _] = rank(snapshot, ask("zebra getting married yesterday"), weights=Weights.linear({"coverage": 1.0}))
    assert (first.id, first.signals["coverage"].value < 0.5) == ("a", True)
    [whole, _] = rank(snapshot, ask("getting hot"), weights=Weights.linear({"coverage": 1.0, "words": 1.0}))
    assert [whole.signals[name].value for name in ("coverage", "words")] == [1.0, 1.0]


def test_a_vector_finds_what_words_do_not() -> None:
    snapshot = Snapshot.build(
        [
            SnapshotEntry("a", "alpha", vector=np.array([1.0, 0.0])),
            SnapshotEntry("b", "beta", vector=np.array([0.0, 1.0])),
        ]
    )
    assert rank(snapshot, ask("gamma", np.array([0.1, 0.9])))[0].id == "b"
    assert rank(snapshot, ask("alpha", np.ones(5)))[0].id == "a"


def test_near_duplicates_do_not_fill_a_diverse_list() -> None:
    texts = ["the red train leaves at noon", "the red train leaves at noon", "a red flower"]
    snapshot = Snapshot.build(SnapshotEntry(str(number), text) for number, text in enumerate(texts))
    plain = [hit.id for hit in rank(snapshot, ask("red train noon"))]
    varied = [hit.id for hit in rank(snapshot, ask("red train noon"), limit=2, diversity=1.0)]
    assert set(plain[:2]) == {"0", "1"}
    assert varied[1] == "2"


def test_time_counts_since_a_record_was_said_or_last_recalled_before_the_moment_asked() -> None:
    snapshot = Snapshot.build(
        [
            SnapshotEntry("said", "x", time=NOW - 4 * 3600),
            SnapshotEntry("recalled", "x", time=NOW - 90 * 3600, accessed=NOW - 2 * 3600),
            SnapshotEntry("later", "x", time=NOW - 8 * 3600, accessed=NOW + 3600),
        ]
    )
    hits = rank(snapshot, ask("y"), weights=Weights.time_weighted(importance=0.0))
    assert [hit.id for hit in hits] == ["recalled", "said", "later"]
    assert [hit.score for hit in hits] == pytest.approx([0.99**2, 0.99**4, 0.99**8], abs=1e-4)


@given(st.integers(0, 10_000), st.tuples(*[st.floats(0.0, 10.0)] * 3))
def test_under_plain_weights_the_best_of_many_are_the_best_of_all(
    seed: int, counts: tuple[float, float, float]
) -> None:
    numbers = np.random.default_rng(seed)
    total = 4 * CANDIDATES
    near, age, worth = numbers.random(total), numbers.integers(0, 900, total), numbers.random(total)
    snapshot = Snapshot.build(
        SnapshotEntry(
            f"{n:04}", "x", time=NOW - 3600.0 * age[n], worth=worth[n],
            vector=np.array([near[n], (1 - near[n] ** 2) ** 0.5]),
        )
        for n in range(total)
    )  # fmt: skip
    similarity, recency, importance = counts
    weights = Weights.time_weighted(similarity=similarity, recency=recency, importance=importance)
    found = rank(snapshot, ask("y", np.array([1.0, 0.0])), weights=weights, limit=5)
    best = np.sort(similarity * near + recency * 0.99**age + importance * worth)[::-1][:5]
    # Vectors are held in bytes, and two numbers to a vector are the worst case of it.
    assert [hit.score for hit in found] == pytest.approx(best.tolist(), abs=1e-3 + 0.005 * similarity)


def test_token_vectors_are_compared_for_the_best_candidates_and_for_all_that_are_wanted() -> None:
    vectors = np.eye(2, dtype=np.float32)[[0] * 120] * np.linspace(0.1, 1.0, 120, dtype=np.float32)[:, None]
    snapshot = Snapshot.build(SnapshotEntry(f"{at:03}", "x", vector=row) for at, row in enumerate(vectors))
    question = ParsedQuery.of("", now=NOW, vector=vectors[-1])
    asked: list[list[int]] = []

    def late(rows: Sequence[int]) -> np.ndarray:
        asked.append(sorted(rows))
        return np.array([[float(row == 100) for row in rows]], np.float32)

    weights = Weights({"dense": Curve((0.0, 1.0), (0.0, 1.0)), "late": Curve((0.0, 1.0), (0.0, 1.0))})
    assert rank(snapshot, question, weights=weights, late=late)[0].id == "100"
    assert asked.pop() == list(range(96, 120))
    rank(snapshot, question, weights=weights, late=late, limit=100)
    assert asked.pop() == list(range(20, 120))
