"""Graphs of Zep and Graphiti: episodes, nodes and edges with the fields of their models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memwell.runtime.opening import open as open_memory
from memwell.runtime.transfer import detect

EPISODE = {
    "uuid": "e1", "name": "chat", "group_id": "g", "source": "message", "source_description": "chat",
    "content": "Ann: I moved to Oslo.", "created_at": "2026-05-02T09:00:00Z", "valid_at": "2026-05-01T09:00:00Z",
    "session_id": "s", "role": "user",
}  # fmt: skip
NODE = {
    "uuid": "n1", "name": "Ann", "group_id": "g", "labels": ["Entity"], "summary": "Plays the cello.",
    "attributes": {"age": 30}, "name_embedding": [0.1, 0.2], "created_at": "2026-05-02T09:00:00Z",
}  # fmt: skip
EDGE = {
    "uuid": "d1", "group_id": "g", "source_node_uuid": "n1", "target_node_uuid": "n2", "name": "LIVES_IN",
    "fact": "Ann lives in Oslo", "fact_embedding": [0.1], "episodes": ["e1"], "created_at": "2026-05-02T09:00:00Z",
    "valid_at": "2026-05-01T09:00:00Z", "invalid_at": None, "expired_at": None,
}  # fmt: skip
PAST = {**EDGE, "uuid": "d2", "fact": "Ann lives in Rome", "invalid_at": "2026-05-01T09:00:00Z"}
WHOLE = {"episodes": [EPISODE], "nodes": [NODE, {**NODE, "uuid": "n2", "summary": ""}], "edges": [EDGE, PAST]}


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_facts_summaries_and_episodes_are_remembered_with_their_times(tmp_path: Path):
    path = written(tmp_path / "graph.json", WHOLE)
    with open_memory("memory:", embedder=None) as memory:
        done = memory.import_file(path)
        assert (done.format, done.counts, done.problems) == ("graphiti", {"memories": 3}, [])
        assert [one.number for one in done.skipped] == [3, 5]
        held = {one.text: one for one in memory.memories()}
        assert set(held) == {EPISODE["content"], EDGE["fact"], "Ann: Plays the cello."}
        edge, episode = held["Ann lives in Oslo"], held["Ann: I moved to Oslo."]
        assert (edge.time.isoformat(), edge.trust) == ("2026-05-01T09:00:00+00:00", "model")
        assert (episode.session, episode.trust) == ("s", "imported")
        assert edge.metadata["graphiti"]["source_node_uuid"] == "n1"
        assert "fact_embedding" not in edge.metadata["graphiti"]
        assert memory.import_file(path).new == 0


@pytest.mark.parametrize("one", [EPISODE, NODE, EDGE], ids=["episodes", "nodes", "edges"])
def test_a_list_of_one_kind_is_found_out(one: Any, tmp_path: Path):
    path = written(tmp_path / "list.json", [one])
    assert detect(path) == "graphiti"
    with open_memory("memory:", embedder=None) as memory:
        assert memory.import_file(path).counts == {"memories": 1}


def test_what_is_wrong_is_reported_line_by_line(tmp_path: Path):
    wrong: list[Any] = [
        5, {}, {"uuid": "a"}, {**EDGE, "uuid": None}, {**EDGE, "fact": ["x"]}, {**EDGE, "fact": " "},
        {**EDGE, "valid_at": "once"}, {**NODE, "name": {}}, {**EPISODE, "session_id": 3},
    ]  # fmt: skip
    path = written(tmp_path / "graph.json", {"edges": [*wrong, EDGE]})
    with open_memory("memory:", embedder=None) as memory:
        done = memory.import_file(path, format="graphiti")
        assert done.counts == {"memories": 1}
        assert [one.number for one in done.problems] == list(range(1, len(wrong) + 1))


@pytest.mark.parametrize("wrong", ["{}", "7", '"x"', "null", "NaN"])
def test_a_section_that_is_no_list_is_reported_and_the_others_are_remembered(wrong: str, tmp_path: Path):
    path = tmp_path / "graph.json"
    path.write_text(f'{{"episodes": {wrong}, "nodes": [NaN], "edges": [{json.dumps(EDGE)}]}}')
    with open_memory("memory:", embedder=None) as memory:
        done = memory.import_file(path, format="graphiti")
        assert done.counts == {"memories": 1}
        assert [one.number for one in done.problems] == [0, 1]
        assert "the episodes are no list" in done.problems[0].reason


@pytest.mark.parametrize("content", ["{}", '{"edges": 5}', '{"edges": [', "[" * 100_000])
def test_what_is_no_graph_is_one_problem(content: str, tmp_path: Path):
    (tmp_path / "x.json").write_text(content)
    with open_memory("memory:", embedder=None) as memory:
        done = memory.import_file(tmp_path / "x.json", format="graphiti")
        assert (done.new, len(done.problems)) == (0, 1)
