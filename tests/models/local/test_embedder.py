"""One vector for every language."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memwell.errors import ConfigurationError, InvalidInput, MissingDependency
from memwell.models.local import LocalEmbedder
from memwell.models.local.embedder import english_share, shared_models


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def test_rows_are_of_unit_length_and_empty_texts_have_none(embedder: LocalEmbedder):
    rows = embedder.embed(
        ["Anna likes trains.", "安娜喜欢火车。", "", " \n\u3000", "GPT 和 trains 混合", "😀", "\ud83d"]
    )
    assert rows.shape == (7, 896)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 0, 1, 1, 1], atol=1e-5)
    assert embedder.embed([]).shape == (0, 896)


def test_a_vector_does_not_depend_on_its_neighbours(embedder: LocalEmbedder):
    texts = ["one", "two words and more of them", "三", "four " * 100]
    together = embedder.embed(texts)
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_english_asks_chinese_and_chinese_english(embedder: LocalEmbedder):
    chinese = ["我对花生过敏。", "安娜住在柏林。", "我开一辆红色的车。", "我哥哥拉小提琴。"]
    english = [
        "I am allergic to peanuts.",
        "Anna lives in Berlin.",
        "I drive a red car.",
        "My brother plays the violin.",
    ]
    asked = ["What am I allergic to?", "Where does Anna live?", "What car do I drive?", "Who plays the violin?"]
    wen = ["我对什么过敏？", "安娜住在哪里？", "我开什么车？", "谁会拉小提琴？"]
    for questions, records in ((asked, chinese), (wen, english), (asked, english), (wen, chinese)):
        scores = embedder.embed(questions) @ embedder.embed(records).T
        assert np.argmax(scores, axis=1).tolist() == [0, 1, 2, 3]


def test_only_the_shared_numbers_are_in_every_language(embedder: LocalEmbedder):
    rows = embedder.embed(["Anna likes trains.", "安娜喜欢火车。", "Anna mag Züge und fährt nicht gern mit dem Auto."])
    assert rows[:, : embedder.shared_from].any(axis=1).tolist() == [True, False, False]
    assert rows[:, embedder.shared_from :].any(axis=1).all()
    assert [LocalEmbedder("use").shared_from, LocalEmbedder("minilm").shared_from] == [None, None]


def test_a_question_is_turned_towards_its_answer(embedder: LocalEmbedder):
    asked, english = embedder.embed(["我几点下班？", "When do I get off work?"])
    like, answer = embedder.embed(["我几点起床？", "我一般六点从公司走。"])
    turned = embedder.towards_answers(asked)
    assert np.linalg.norm(turned) == pytest.approx(1.0, abs=1e-5)
    assert asked @ like > asked @ answer
    assert turned @ answer - turned @ like > asked @ answer - asked @ like
    assert not turned[: embedder.shared_from].any()
    of_english = embedder.towards_answers(english)
    assert of_english[: embedder.shared_from].tolist() == english[: embedder.shared_from].tolist()
    assert np.linalg.norm(of_english) == pytest.approx(1.0, abs=1e-5)


def test_a_question_that_no_map_was_learnt_for_stays_as_it_is(embedder: LocalEmbedder):
    only_english = LocalEmbedder("minilm")
    (asked,) = only_english.embed(["Which train goes to Rome?"])
    assert only_english.towards_answers(asked).tolist() == asked.tolist()
    nothing = np.zeros(embedder.dimensions, np.float32)
    assert not embedder.towards_answers(nothing).any()


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("Anna likes trains.", 0.8, 0.8), ("安娜喜欢火车。", 0.0, 0.0),
        ("Ich habe den Zug nicht gesehen und das ist nicht gut", 0.0, 0.0), ("42", 0.8, 0.8),
        ("Let us meet at 天安门 tomorrow morning", 0.6, 0.79), ("Wann fliegt das Flugzeug nach Lissabon?", 0.0, 0.0),
        ("Où est le chat de ma sœur ?", 0.0, 0.0), ("¿Dónde está mi coche?", 0.0, 0.0), ("Lisbon flight", 0.8, 0.8),
        ("The die is cast.", 0.8, 0.8), ("sudo apt-get install xorg", 0.8, 0.8),
    ],
)  # fmt: skip
def test_the_language_decides_who_speaks(text: str, least: float, most: float):
    assert least <= english_share(text) <= most


def test_a_mode_is_one_model():
    minilm = LocalEmbedder("minilm")
    assert (minilm.dimensions, minilm.embed(["hello"]).shape) == (384, (1, 384))
    assert len({LocalEmbedder(mode).name for mode in ("local", "minilm", "use")}) == 3
    with pytest.raises(ConfigurationError, match="known: local, minilm, use"):
        LocalEmbedder("bert")  # type: ignore[arg-type]


def test_threads_load_it_once_and_agree():
    fresh = LocalEmbedder("minilm")
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: fresh.embed(["the same text"])[0], range(8)))
    assert all(np.array_equal(row, rows[0]) for row in rows)


def test_it_says_what_it_costs(embedder: LocalEmbedder):
    facts = embedder.facts()
    assert facts["dimensions"] == 896
    assert facts["name"] == embedder.name
    assert facts["load_seconds"] > 0
    assert sum(facts["weights_bytes"].values()) > 50_000_000


def test_nothing_is_loaded_before_it_is_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    # As in a process where nothing was loaded yet.
    monkeypatch.setattr("memwell.models.local.embedder.shared_models", shared_models.__wrapped__)
    fresh = LocalEmbedder("minilm")
    assert not fresh.embed(["", " "]).any()
    with pytest.raises(MissingDependency, match="pip install onnxruntime"):
        fresh.embed(["text"])


@pytest.mark.parametrize("texts", ["one text", [None], [b"bytes"], 3])
def test_what_is_no_text_is_refused(embedder: LocalEmbedder, texts: object):
    with pytest.raises(InvalidInput):
        embedder.embed(texts)  # type: ignore[arg-type]
