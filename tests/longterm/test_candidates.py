"""The question: what is read off it before any record is looked at."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.longterm import candidates, ranking
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.ranking import Ranked, rank
from memwell.longterm.snapshot import Snapshot, SnapshotEntry
from memwell.longterm.weights import SIGNALS, Weights, default_weights

NOW = datetime(2023, 6, 15, 12, tzinfo=UTC).timestamp()


def ask(text: str) -> ParsedQuery:
    return ParsedQuery.of(text, now=NOW)


def test_it_reads_past_times_and_leaves_the_present_out() -> None:
    ((since, until),) = ask("What did she do in May 2023?").times
    assert datetime.fromtimestamp(since, UTC).month == 5
    assert until <= NOW
    assert ask("What can I do today?").times == ()


@pytest.mark.parametrize(
    "text",
    [
        "Can you recommend a film?", "Could you please tell me which train is the fastest?",
        "What do you think about the new bridge?", "Do you still remember the name of the café?",
        "Which tips can you give me for a trip to Rome?", "Would you suggest a hotel? Thank you!",
        "你能推荐一部电影吗？", "您可以告诉我哪趟火车最快吗？", "你觉得新桥怎么样？", "你还记得那家咖啡馆叫什么吗？",
        "请你介绍几家酒店。",
    ],
)  # fmt: skip
def test_you_in_a_request_is_no_speaker(text: str) -> None:
    assert not ask(text).of_you
    assert not ask(text).of_me


@pytest.mark.parametrize(
    "text",
    [
        "What did you suggest for dinner?", "Which book was it that you told me about?", "What was your suggestion?",
        "Can you remind me of the recipe you gave?", "Do you remember which hotel you recommended?",
        "你上次推荐的餐厅叫什么？", "你说过要带什么？", "你能再说一遍你的建议吗？", "你给的菜谱里有什么？",
    ],
)  # fmt: skip
def test_you_who_said_something_is_the_speaker(text: str) -> None:
    assert ask(text).of_you


@pytest.mark.parametrize(
    "text",
    [
        "What did I tell you about my sister?", "Can you recommend a film that I like?",
        "我跟你说过我妹妹住在哪里吗？", "你知道我的生日吗？",
    ],
)  # fmt: skip
def test_what_you_were_told_is_mine(text: str) -> None:
    assert ask(text).of_me
    assert not ask(text).of_you


# The first look over a large pool: what it finds and what that scores is what a small pool gives.


ROWS, DIMENSIONS, VOCABULARY = 3000, 256, 2000
EVERYTHING = Weights.linear({name: 1.0 + place / 10 for place, name in enumerate(SIGNALS)})
DOCUMENTS = Weights.linear({"words": 1, "dense_best": 1, "coverage": 1, "window_coverage": 0.3})
WEIGHTS = (default_weights(), DOCUMENTS, EVERYTHING, Weights.time_weighted(), Weights.linear({"words": 1.0}))


def _vectors(numbers: np.random.Generator, count: int) -> np.ndarray:
    """Directions as embedders give them: about some topics, with a common part, and more of some numbers than of others."""
    topics = numbers.standard_normal((40, DIMENSIONS)) * (1.0 + 3.0 * numbers.random(DIMENSIONS))
    found = topics[numbers.integers(0, 40, count)] + 2.0 * numbers.standard_normal((count, DIMENSIONS)) + 0.5
    return (found / np.linalg.norm(found, axis=1)[:, None]).astype(np.float32)


class Made:
    """A pool that had changes, and questions to it: words of one of its records, and a vector near to its own."""

    def __init__(self) -> None:
        numbers = np.random.default_rng(5)
        often = 1.0 / np.arange(1, VOCABULARY + 1)
        self.words = numbers.choice(VOCABULARY, (ROWS, 40), p=often / often.sum())
        self.vectors = _vectors(numbers, ROWS)
        made = [self.entry(row) for row in range(ROWS)]
        self.snapshot = Snapshot.build(made)
        self.snapshot.apply(made[10:90], [entry.id for entry in made[:200:3]])

    def entry(self, row: int) -> SnapshotEntry:
        text = " ".join(f"w{word}" for word in self.words[row])
        return SnapshotEntry(
            f"{row:05}", text, ("Ann", "Ben")[row % 2], f"s{row // 20}", row, 1.6e9 + row, vector=self.vectors[row]
        )

    def question(self, seed: int) -> ParsedQuery:
        numbers = np.random.default_rng(seed)
        row = int(numbers.integers(ROWS))
        asked = " ".join(f"w{word}" for word in numbers.choice(self.words[row], int(numbers.integers(1, 8))))
        near = self.vectors[row] + 0.04 * numbers.standard_normal(DIMENSIONS)
        return ParsedQuery.of(asked, now=1.7e9, vector=near)


@pytest.fixture(scope="module")
def made() -> Made:
    return Made()


def both(
    snapshot: Snapshot, question: ParsedQuery, weights: Weights, **given: object
) -> tuple[list[Ranked], list[Ranked]]:
    """What is found the small way, and the large way."""
    with pytest.MonkeyPatch.context() as patched:
        small = rank(snapshot, question, weights=weights, **given)  # pyright: ignore[reportArgumentType]
        patched.setattr(ranking, "LARGE", 0)
        patched.setattr(candidates, "_SHORTLIST", 400)
        return small, rank(snapshot, question, weights=weights, **given)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_best_are_the_same_and_score_the_same(made: Made, weights: Weights) -> None:
    overlaps: list[float] = []
    exact: list[bool] = []
    for seed in range(25):
        small, large = (
            {hit.id: hit.score for hit in hits} for hits in both(made.snapshot, made.question(seed), weights)
        )
        common = small.keys() & large.keys()
        overlaps.append(len(common) / len(small))
        exact += [small[id_] == large[id_] for id_ in common]
        assert {id_: large[id_] for id_ in common} == pytest.approx(
            {id_: small[id_] for id_ in common}, rel=0.02, abs=0.05
        )
    assert np.mean(overlaps) >= 0.95
    # Signals are relative to the best candidate. Where that is another one, all scores move a little.
    assert np.mean(exact) >= 0.9


@given(st.integers(0, 10_000))
def test_with_the_same_candidates_every_signal_is_the_same_number(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    vectors = _vectors(numbers, 140)
    texts = [" ".join(f"w{word}" for word in numbers.geometric(0.1, 12)) for _ in range(140)]
    snapshot = Snapshot.build(
        SnapshotEntry(f"{row:03}", text, session=f"s{row % 9}", position=row, time=1.6e9, vector=vectors[row])
        for row, text in enumerate(texts)
    )
    snapshot.apply((), [f"{row:03}" for row in range(0, 140, 11)])
    question = ParsedQuery.of("w1 w2 w5 w9 w20 w33", now=1.7e9, vector=vectors[3])
    small, large = both(snapshot, question, EVERYTHING, limit=140)
    assert [(hit.id, hit.score, hit.signals) for hit in small] == [(hit.id, hit.score, hit.signals) for hit in large]


def test_only_what_is_allowed_is_found(made: Made) -> None:
    allowed = np.arange(made.snapshot.limit) % 5 == 2
    for seed in range(5):
        small, large = both(made.snapshot, made.question(seed), DOCUMENTS, allowed=allowed)
        assert len({hit.id for hit in small} & {hit.id for hit in large}) >= 9
        assert all(allowed[hit.row] for hit in large)
    assert both(made.snapshot, made.question(1), DOCUMENTS, allowed=allowed & False)[1] == []


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_question_without_a_vector_or_without_known_words_is_answered(made: Made, weights: Weights) -> None:
    for question in (
        made.question(2)._replace(vector=None),
        ParsedQuery.of("zebra", now=1.7e9, vector=made.vectors[7]),
    ):
        small, large = both(made.snapshot, question, weights)
        # Many tie here, so that other records may stand in the same places.
        assert len(large) == 10
        assert [hit.score for hit in large] == pytest.approx([hit.score for hit in small], rel=0.02, abs=0.05)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=60), st.integers(1, 30))
def test_of_equally_good_records_the_latest_are_chosen(records: list[tuple[int, int]], count: int) -> None:
    choice, times = np.array(records, np.float32).T
    usable = np.ones(len(records), np.bool_)
    rows = candidates.chosen(choice.copy(), usable, times, count)
    best = sorted(range(len(records)), key=lambda row: (*records[row], row))[-count:]
    assert rows.tolist() == sorted(best)


def test_what_was_just_added_is_found_and_what_was_removed_is_not(made: Made) -> None:
    snapshot = Snapshot.build(made.entry(row) for row in range(0, ROWS, 2))
    question = ParsedQuery.of("needle w1", now=1.7e9, vector=-made.vectors[0])
    assert "new" not in [hit.id for hit in both(snapshot, question, DOCUMENTS)[1]]
    snapshot.apply([SnapshotEntry("new", "a needle", vector=-made.vectors[0])], ())
    assert both(snapshot, question, DOCUMENTS)[1][0].id == "new"
    snapshot.apply((), ["new"])
    assert "new" not in [hit.id for hit in both(snapshot, question, DOCUMENTS)[1]]
