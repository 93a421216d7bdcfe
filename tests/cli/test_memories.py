from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Run
from tests.ports import closed_port
from tests.runtime.transfer.test_mem0 import NUTS, TEA, qdrant

NOTES = {
    "tea.md": "# Tea\n\nGreen tea is brewed at 80 degrees for two minutes.\n",
    "茶.md": "# 茶\n\n绿茶用八十度的水泡两分钟。\n",
    "broken.pdf": "%PDF-1.7\nnot really",
}


@pytest.fixture(autouse=True)
def notes(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")


def test_recall_prints_which_word_answers_which_as_json(run: Run) -> None:
    run("remember", "Bob works at the harbour.")
    [hit] = json.loads(run("recall", "What is Bob's job?", "--json").out)
    assert ("job", "works") in [(one["asked"], one["found"]) for one in hit["matches"]]


def test_recall_names_what_supersedes_a_memory_by_its_words_and_day(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    run("remember", "I live in Hamburg.", "--speaker", "Cleo", "--time", "2026-03-01")
    run("remember", "I moved to Lisbon.", "--speaker", "Cleo", "--time", "2026-05-01")
    told = " ".join(run("recall", "where does Cleo live").out.split())
    hits = json.loads(run("recall", "where does Cleo live", "--json").out)
    [newer] = {hit["superseded_by"] for hit in hits if hit.get("superseded_by")}
    assert "superseded by “I moved to Lisbon.” (2026-05-01)" in told
    assert newer not in told


def test_documents_are_taken_in_asked_listed_and_removed(run: Run):
    taken = run("ingest", "notes")
    assert taken.code == 1, "one file failed"
    assert "2 added" in taken.out
    assert "broken.pdf" in taken.out
    asked = run("ask", "At how many degrees is green tea brewed?")
    assert "80 degrees" in asked.out
    assert "tea.md › Tea" in asked.out
    listed = json.loads(run("documents", "--json").out)
    assert {Path(one["source"]).name for one in listed} == {"tea.md", "茶.md"}
    assert "80" not in run("ask", "At how many degrees is green tea brewed?", "--space", "other").out
    gone = run("documents", *[f"--remove={one['id']}" for one in listed])
    assert "2" in gone.out
    assert "No documents" in run("documents").out


def test_again_reads_only_what_changed(run: Run, tmp_path: Path):
    run("ingest", "notes")
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 75 degrees.\n", encoding="utf-8")
    (tmp_path / "notes" / "茶.md").unlink()
    again = json.loads(run("ingest", "notes", "--json").out)
    assert [len(again[name]) for name in ("added", "changed", "removed")] == [0, 1, 1]
    assert "75" in run("ask", "green tea degrees").out


def test_it_answers_in_chinese_and_says_when_it_does_not_know(run: Run):
    run("ingest", "notes", language="zh")
    assert "八十度" in run("ask", "绿茶用多少度的水泡？", language="zh").out
    assert "我不知道" in run("ask", "月球上有多少人？", language="zh").out
    passages = run("ask", "绿茶用多少度的水泡？", "--passages", language="zh").out
    assert "用词相同" in passages


def test_bad_input_is_one_line(run: Run, tmp_path: Path):
    assert run("ask", "anything").code == 1, "looking makes no store"
    assert not (tmp_path / "memwell.db").exists()
    missing = run("ingest", "nowhere")
    assert missing.code == 1
    assert "nowhere" in missing.out + missing.err
    with closed_port() as port:
        refused = run("ingest", f"http://127.0.0.1:{port}/private")
    assert refused.code == 1
    assert "127.0.0.1" in refused.out + refused.err
    run("ingest", "notes")
    assert "no document 'x'" in run("documents", "--remove", "x").err
    assert run("tune", "--space", "empty").code == 1


def test_a_document_is_removed_by_its_path_as_it_was_typed(run: Run, tmp_path: Path):
    run("ingest", "notes")
    assert "1" in run("documents", "--remove", "notes/../notes/tea.md").out
    (tmp_path / "notes" / "茶.md").unlink()
    assert "1" in run("documents", "--remove", "./notes/茶.md").out
    assert run("documents", "--remove", "notes/茶.md").code == 1
    assert json.loads(run("documents", "--json").out) == []


def test_how_large_a_file_may_be_is_an_option(run: Run, tmp_path: Path):
    (tmp_path / "large.txt").write_text("A few words." + " " * 1_000_000)
    refused = run("ingest", "large.txt", "--most-mb", "1")
    assert refused.code == 1
    assert "more than 1,000,000" in refused.out
    assert "1 added" in run("ingest", "large.txt").out
    assert run("ingest", "large.txt", "--most-mb", "0").code == 2
    assert "--most-mb" in run("ingest", "--help").out


def test_tuning_shows_a_table(run: Run, tmp_path: Path):
    facts = "\n\n".join(
        f"The {name} museum opens at {hour} o'clock and shows {thing}."
        for name, hour, thing in [("stone", 9, "meteorites"), ("ship", 10, "old anchors"), ("glass", 11, "blue vases")]
    )
    (tmp_path / "notes" / "museums.md").write_text(f"# Museums\n\n{facts}\n", encoding="utf-8")
    run("ingest", "notes")
    tuned = run("tune", "--questions", "6")
    assert tuned.code == 0, tuned.err
    assert "256" in tuned.out


def test_facts_are_corrected_and_retracted_by_hand(run: Run):
    run("remember", "Ann lives in Lyon.")
    assert "Lyon" in run("facts", "Ann").out
    corrected = run("facts", "Ann", "--correct", "lives_in=Oslo")
    assert "Oslo" in corrected.out
    assert "Lyon" not in corrected.out
    assert "Nothing found" in run("facts", "Ann", "--retract", "lives_in").out
    half = run("facts", "Ann", "--correct", "works_at=Elkem", "--retract", "likes")
    assert half.code == 1, "all or nothing"
    assert "Elkem" not in run("facts", "Ann").out
    run("export", "all.jsonl")
    assert "3 facts" in run("import", "all.jsonl", "--trusted", "--store", "other.db").out
    wrong = run("facts", "Ann", "--correct", "lives_in", language="zh")
    assert (wrong.code, "没有给出新值" in wrong.err) == (1, True)


def test_the_folder_of_mem0_is_imported_for_a_user(run: Run, tmp_path: Path):
    qdrant(tmp_path / "qdrant", NUTS, TEA)
    for _ in range(2):
        done = run("import", "qdrant", "--user", "ben")
        assert (done.code, "mem0" in done.out) == (0, True), done.err
    assert "喜欢绿茶" in run("recall", "绿茶").out
    assert run("import", "notes").code == 1


@pytest.mark.parametrize(
    "command",
    [
        ("import", "a.csv"),
        ("import", "a.csv", "--format", "mem0"),
        ("import", "a.csv", "--trusted"),
        ("import", "a.jsonl"),
        ("remember", "It rains.", "--space", ""),
    ],
)
def test_what_is_refused_leaves_no_store_behind(run: Run, tmp_path: Path, command: tuple[str, ...]):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.jsonl").write_text('{"type":"header","format":"memwell","version":99,"time":"2026-01-01T00:00:00Z"}')
    assert run(*command).code == 1
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("memwell")] == []


def test_one_chunk_is_one(run: Run):
    assert "; 1 chunk in" in run("ingest", "notes/tea.md").out
