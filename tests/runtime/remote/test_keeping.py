"""Looking after a memory behind a service: jobs that are waited for, files that are whole, grants that end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import memwell
from memwell.errors import BackendUnavailable, FileError, InvalidInput, NotFound, NotGranted, Unsupported
from memwell.longterm.audit import Rules
from memwell.records import Space
from tests.runtime.remote.serving import Served, line_to, serving

SECRET = "my password is hunter2-Trub4dor"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


def test_settling_owed_work(served: Served):
    with served.memory("settled") as m:
        m.remember("Ann is allergic to nuts.")
        told: list[tuple[int, int | None]] = []
        m.flush(lambda done, of: told.append((done, of)))
        assert (m.owed().words, m.owed().vectors, m.failures()) == (0, 0, [])
        m.catch_up()


def test_an_audit_and_its_plan(served: Served):
    with served.memory("audited") as m, memwell.open("memory:", embedder=None) as engine:
        here = engine.at("audited")
        texts = ["Ann is allergic to all nuts.", "Ann is allergic to all nuts!", "ok", "The report is due on Friday."]
        for one in (m, here):
            for number, text in enumerate(texts):
                one.remember(text, id=str(number), kind="note")
        told: list[int] = []
        report = m.audit(progress=told.append)
        assert (report.records, report.counts) == (here.audit().records, here.audit().counts)
        assert [(step.verb, step.record) for step in report.plan] == [(s.verb, s.record) for s in here.audit().plan]
        assert m.repair(report.plan) == here.repair(here.audit().plan)
        assert [one.id for one in m.memories()] == [one.id for one in here.memories()]
        assert m.repair([]) == 0
        with pytest.raises(Unsupported, match="rules"):
            m.audit(rules=Rules())


@pytest.mark.parametrize("ending", [".jsonl", ".md"])
def test_what_is_carried_off_can_be_brought_in(served: Served, tmp_path: Path, ending: str):
    path = tmp_path / f"all{ending}"
    with served.memory(f"from{ending}") as m, served.memory(f"to{ending}") as other:
        m.remember("Ann is allergic to nuts.")
        m.thread("trip").add_human("Where to?")
        assert m.export(path) >= 1
        done = other.bring(str(path))
        assert done.new >= 1
        assert [one.text for one in other.memories()] == ["Ann is allergic to nuts."]
        assert len(other.thread("trip")) == (1 if ending == ".jsonl" else 0)
        assert other.bring(path).new == 0
    with memwell.open("memory:", embedder=None) as engine:
        assert engine.bring(path).new == done.new


def test_a_file_is_whole_or_the_old_one_stays(served: Served, tmp_path: Path):
    path = tmp_path / "all.jsonl"
    path.write_text("the old one")
    with line_to(served.address) as line, served.patient([], line.address, "cut") as m:
        m.remember([f"Fact number {number}: " + "so it is, and not otherwise. " * 10 for number in range(200)])
        line.cut = lambda piece: True if b"content-disposition" in piece.lower() else None
        with pytest.raises(BackendUnavailable, match="was cut"):
            m.export(path)
        assert line.cuts == 1
        assert path.read_text() == "the old one"
        line.cut = lambda piece: None
        assert m.export(path) >= 200
        assert path.read_text().count("Fact number") >= 200
    assert [one.name for one in tmp_path.iterdir()] == ["all.jsonl"]


def test_files_that_cannot_be(served: Served, tmp_path: Path):
    (tmp_path / "odd.json").write_text("[1, 2, 3")
    (tmp_path / "empty.jsonl").write_text("")
    with served.memory("files") as m:
        for odd in ("", "all.csv", 7, "a\0b"):
            with pytest.raises(InvalidInput):
                m.export(odd)  # pyright: ignore[reportArgumentType]
        with pytest.raises(FileError):
            m.export(tmp_path / "no folder" / "all.jsonl")
        with pytest.raises(FileError):
            m.bring(tmp_path / "nothing.jsonl")
        for name in ("odd.json", "empty.jsonl"):
            with pytest.raises((InvalidInput, FileError)):
                m.bring(tmp_path / name)
        with pytest.raises(InvalidInput, match="unknown format"):
            m.bring(tmp_path / "odd.json", format="no such format")


def test_grants(served: Served):
    with served.memory("planner") as planner, served.memory(Space("team", "critic")) as critic:
        me = Space("team", "critic")
        planner.remember("The plan is to sail on Friday.", id="p")
        with pytest.raises(NotGranted):
            critic.shared("planner")
        until = datetime.now(UTC) + timedelta(hours=1)
        given = planner.grant(me, until=until)
        assert (given.to, given.write, given.until) == (me, False, until)
        assert planner.grants() == critic.shared_with_me() == [given]
        board = critic.shared("planner")
        assert board.grant == given
        assert [hit.id for hit in board.recall("what is the plan?", kinds="memory")] == ["p"]
        assert board.recall("plan", limit=0) == []
        assert (board.count(), board.get("p").text) == (1, "The plan is to sail on Friday.")
        assert [one.id for one in board.memories(where={"@id": "p"}, limit=5)] == ["p"]
        assert board.memories(limit=0) == []
        assert [one.id for one in board.page(limit=1).items] == [one.id for one in board.memories()] == ["p"]
        with pytest.raises(NotGranted):
            board.remember("I would rather stay ashore.")
        with pytest.raises(NotFound):
            board.get("q")
        planner.grant(me, write=True)
        done = board.remember("I would rather stay ashore.", importance=0.9)
        assert planner.get(done.id).speaker == "critic"
        with pytest.raises(InvalidInput):
            board.remember("I signed this.", speaker="planner")
        assert critic.count() == 0
        assert planner.revoke(me) is True
        assert planner.revoke(me) is False
        for asked in (lambda: board.recall("plan"), board.count, lambda: board.grant, lambda: board.get("p")):
            with pytest.raises(NotGranted):
                asked()
        for odd in ("planner", Space("memwell", "service")):
            with pytest.raises(InvalidInput):
                planner.grant(odd)
        with pytest.raises(InvalidInput):
            critic.shared(me)
