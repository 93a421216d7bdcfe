from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.longterm.memory import Memory
from memwell.records import Space
from memwell.runtime.batch.upkeep import audits, consolidation, spaces_with_memories
from memwell.storage import open_backend

ANN, BOB = Space("ann"), Space("team", "bob")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.db"
    with memwell.open(path, embedder=None, space=ANN, work=False) as m:
        m.remember(["My key is sk-proj-abcdefghijklmnopqrstuvwx1234567890.", "Ann likes green tea very much."])
        m.remember([f"Ann drinks tea with Cora on day {n}." for n in range(4)])
        m.at(BOB).remember(["Bob sails a boat on the lake.", "Bob sails a boat on the lake!!", "Bob reads."])
        m.knowledge.add("Cheese is made of milk.", id="cheese")
        m.thread("talk").add(memwell.human("Hello"))
    return path


def test_only_spaces_with_memories_are_pieces(store: Path):
    with open_backend(store) as backend:
        assert set(spaces_with_memories(backend)) == {ANN, BOB}


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_an_audit_of_all_spaces_is_that_of_each(store: Path, runner: Any):
    outcome = audits(store, workers=2, runner=runner).run()
    with open_backend(store) as backend:
        reports = {space: Memory(backend, space).audit() for space in (ANN, BOB)}
    found = {Space(*one["space"]): one for one in outcome.results}
    assert outcome.complete
    assert set(found) == {ANN, BOB}
    for space, report in reports.items():
        assert found[space]["records"] == report.records
        assert found[space]["counts"] == report.counts
        assert [step["record"] for step in found[space]["plan"]] == [step.record for step in report.plan]


def test_a_consolidation_done_again_changes_nothing_more(store: Path):
    first = consolidation(store, runner="inline").run()
    again = consolidation(store, runner="inline").run(anew=True)
    assert first.complete
    ann = next(one for one in first.results if one["space"] == ["ann"])
    assert ann["insights"]
    for before, after in zip(first.results, again.results, strict=True):
        assert after["after"] == after["before"] == before["after"] + len(before["insights"])
        assert after["insights"] == before["insights"]
    with open_backend(store) as backend:
        assert {record.kind for record in backend.index.get(ANN, ann["insights"])} == {"insight"}
