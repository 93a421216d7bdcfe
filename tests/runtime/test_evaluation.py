from __future__ import annotations

import json
from pathlib import Path

import pytest

from memwell.errors import InvalidInput
from memwell.models.scripted import HashEmbedder
from memwell.runtime.evaluation import HEADED, WORDS, evaluate


@pytest.fixture
def data(tmp_path: Path) -> Path:
    texts = ["I like green tea.", "My bicycle is red.", "Rome was hot.", "我喜欢绿茶。"]
    stores = [
        {
            "name": f"store {number}",
            "units": [
                {"id": f"u{n}", "text": f"{text} {number}", "speaker": "Ann", "time": "2024-05-07", "session": "s"}
                for n, text in enumerate(texts)
            ],
            "queries": [
                {"id": "q", "text": "what colour is the bicycle?", "gold": ["u1"], "cat": "a", "time": "2024-05-08"},
                {"id": "r", "text": "绿茶", "gold": ["u3"], "cat": "b", "time": "2024-05-08"},
            ],
        }
        for number in range(3)
    ]
    path = tmp_path / "small.json"
    path.write_text(json.dumps(stores))
    return path


def test_several_processes_measure_the_same(data: Path):
    told: list[tuple[int, int | None]] = []
    here = evaluate(data, embedder=None)
    assert evaluate(data, embedder=None, workers=2, progress=lambda done, total: told.append((done, total))) == here
    assert (here.stores, here.units, here.queries, len(here.rankings)) == (3, 12, 6, 6)
    assert told[-1] == (3, 3)


def test_words_are_judged_with_and_without_speaker_and_date(tmp_path: Path):
    path = tmp_path / "talk.json"
    units = [
        {"id": "a", "text": "I bought a lamp.", "speaker": "Ben", "session": "1", "time": "2026-05-01"},
        {"id": "b", "text": "I bought a lamp too.", "speaker": "Ann", "session": "1", "time": "2026-06-01"},
    ]
    asked = [{"id": "q", "text": "What did Ann buy in June?", "gold": ["b"], "cat": "1", "time": "2026-07-01"}]
    path.write_text(json.dumps([{"name": "talk", "units": units, "queries": asked}]), "utf-8")
    found = evaluate(path, embedder=None).summaries
    assert found[HEADED].all.ndcg10 == 1.0
    assert found[WORDS].all.ndcg10 < 1.0


def test_a_model_without_a_name_stays_in_one_process(data: Path):
    with pytest.raises(InvalidInput, match="known by its name"):
        evaluate(data, embedder=HashEmbedder(64), workers=2)
    assert evaluate(data, embedder=HashEmbedder(64)).settings["embedder"] == HashEmbedder(64).name
