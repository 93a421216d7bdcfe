from __future__ import annotations

import json
import shlex
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import memwell
from memwell.cli import demo
from memwell.cli.terminal import console
from memwell.history import History
from memwell.runtime.metrics import Metrics, figures_of, last_quality
from tests.commands import Run, demonstrated_here
from tests.ports import closed_port


@pytest.fixture
def command(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process, for what the processes of the demonstration have no part in."""
    monkeypatch.setenv("COLUMNS", "200")
    return run


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_demonstration_shows_what_survives(
    tmp_path: Path, command: Run, language: str, monkeypatch: pytest.MonkeyPatch
):
    # So long that the commands that it ends with would not fit into a line of the terminal.
    folder = tmp_path / f"{'long' * 50}"
    folder.mkdir()
    path = folder / "it's a demo.db"
    if language == "zh":
        # That a process is killed and another reads what it left is seen in the other language.
        monkeypatch.setattr(demo, "_child", demonstrated_here)
    result = command("demo", "--store", path, "--language", language)
    assert (result.code, result.err) == (0, "")
    assert {"en": "killed by signal 9", "zh": "信号 9 终止"}[language] in result.out
    assert "\x1b[" not in result.out
    messages = demo.conversation(language)
    for message in messages:
        assert message.text in result.out
    with History.open(str(path), demo.THREAD) as history:
        assert [one.parts for one in history] == [one.parts for one in messages]
        window = history.window(tokens=demo.BUDGET)
        assert any(one.tool_calls for one in window)
        assert len(window) < len(history)
        assert result.out.count(window[-1].text) == 3
        assert history.backend is not None
        assert history.backend.check() == []
    assert_work(result.out.splitlines()[-3:], command)


def assert_work(lines: list[str], command: Run) -> None:
    """The commands that the demonstration ends with can be given as they stand there."""
    for line in lines:
        name, *arguments = shlex.split(line)
        assert name == "memwell"
        assert command(*arguments).code == 0, line


def test_without_a_place_it_makes_a_temporary_file(tmp_path: Path, command: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "_child", demonstrated_here)
    result = command("demo")
    assert result.code == 0
    [path] = tmp_path.glob("memwell-demo-*/demo.db")
    assert f"--store {path}" in result.out


@pytest.mark.parametrize("prefix", ["", "sqlite:", "SQLITE:"])
def test_an_existing_file_is_refused_and_left_alone(tmp_path: Path, command: Run, prefix: str):
    path = tmp_path / "mine.db"
    path.write_text("mine")
    result = command("demo", "--store", f"{prefix}{path}")
    assert result == (1, "", f"error: {path} exists already; name another file.\n")
    assert path.read_text() == "mine"


def test_a_place_without_a_store_is_refused_before_the_show(tmp_path: Path, command: Run):
    for store, word in ((tmp_path / "no" / "x.db", "folder"), ("memory:", "memory:"), ("redis://x", "redis"), ("", "")):
        result = command("demo", "--store", store)
        assert (result.code, result.out) == (1, "")
        assert word in result.err
        assert result.err.count("\n") == 1
    result = command("demo", "--language", "fr")
    assert (result.code, result.out) == (1, "")
    assert "'fr'" in result.err


def test_a_loss_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def lossy(step: str, path: Path, *rest: Any) -> CompletedProcess[str]:
        done = demonstrated_here(step, path, *rest)
        if step == "write":
            with History.open(str(path), demo.THREAD) as history:
                history.remove(3)
        return done

    monkeypatch.setattr(demo, "_child", lossy)
    assert not demo.run_demo(console(width=200), tmp_path / "x.db", "en")
    assert "1 acknowledged messages are missing" in capsys.readouterr().out


def test_colours_are_for_terminals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(demo, "_child", demonstrated_here)
    monkeypatch.setenv("TERM", "xterm")
    assert demo.run_demo(console(width=100, colours=True), tmp_path / "a.db", "zh")
    assert "\x1b[" in capsys.readouterr().out
    assert demo.run_demo(console(width=100), tmp_path / "b.db", "zh")
    assert "\x1b[" not in capsys.readouterr().out


def test_all_pictures_are_drawn_where_they_are_wanted(run: Run, tmp_path: Path):
    done = run("explain", "--to", "pictures", language="zh")
    assert done.code == 0
    assert "图片已写入" in done.out
    drawn = sorted(one.name for one in (tmp_path / "pictures").iterdir())
    assert drawn == ["memwell-attention.png", "memwell-context.png", "memwell-roadmap.png"]
    assert all((tmp_path / "pictures" / name).read_bytes().startswith(b"\x89PNG") for name in drawn)


def test_one_is_enough_and_an_unknown_one_is_named(run: Run, tmp_path: Path):
    assert run("explain", "context").code == 0
    assert [one.name for one in tmp_path.iterdir()] == ["memwell-context.png"]
    wrong = run("explain", "everything")
    assert wrong.code == 1
    assert "'everything'" in wrong.err
    assert "attention" in wrong.err


# Measuring recall


@pytest.fixture
def data(tmp_path: Path) -> Path:
    units = [{"id": f"u{n}", "text": text, "speaker": "Ann", "time": "2024-05-07", "session": "s"}
             for n, text in enumerate(["I like green tea.", "My bicycle is red.", "Rome was hot."])]  # fmt: skip
    queries = [{"id": "q", "text": "what colour is the bicycle?", "gold": ["u1"], "cat": "plain", "time": "2024-05-08"}]
    path = tmp_path / "small.json"
    path.write_text(json.dumps([{"name": "one", "units": units, "queries": queries}]))
    return path


def test_the_result_is_in_the_overview_of_the_store(run: Run, data: Path, tmp_path: Path):
    store = tmp_path / "app.db"
    memwell.open(store, embedder=None, work=False).close()
    outcome = run("bench", "recall", data, "--note-in", store)
    assert (outcome.code, outcome.err) == (0, "")
    with memwell.open(store, embedder=None, work=False) as engine:
        told = figures_of(Metrics(engine.backend), engine).quality
        assert told is not None
        assert (told.data, told.ndcg10, told.recall10, told.queries) == ("small", 1.0, 1.0, 1)
        assert told == last_quality(engine.backend.kv)


def test_a_store_that_is_not_there_is_not_made_and_nothing_is_measured(run: Run, data: Path, tmp_path: Path):
    outcome = run("bench", "recall", data, "--note-in", tmp_path / "none.db", "--keep", tmp_path / "kept")
    assert outcome.code == 1
    assert "none.db" in outcome.err
    assert not (tmp_path / "none.db").exists()
    assert not (tmp_path / "kept").exists()


def test_facts_are_measured_by_the_rules_and_a_model_that_fails_reads_nothing(run: Run, tmp_path: Path):
    sentences = [{"text": "I live in Berlin.", "facts": [["user", "lives_in", "Berlin", "now"]]}]
    (tmp_path / "mine.json").write_text(json.dumps(sentences))
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}/v1"
        outcome = run("bench", "facts", tmp_path / "mine.json", "--model", "small", "--url", url)
    assert outcome.code == 0
    assert [line.split()[-4:] for line in outcome.out.splitlines()[1:]] == [
        ["1", "1", "100.0", "100.0"],
        ["1", "0", "–", "0.0"],
    ]
    assert "not read: 1" in outcome.err
    assert run("bench", "facts", tmp_path / "mine.json", "--model", "small").code == 1


def test_what_is_missed_and_wrong_is_listed_on_request(run: Run, tmp_path: Path):
    sentences = [
        {"text": "I live in Berlin.", "facts": [["user", "works_at", "Acme", "now"]]},
        {"text": "I live in Rome.", "facts": [["user", "lives_in", "Rome", "now"]]},
    ]
    (tmp_path / "mine.json").write_text(json.dumps(sentences))
    assert "Acme" not in run("bench", "facts", tmp_path / "mine.json").out
    lines = run("bench", "facts", tmp_path / "mine.json", "--failures").out.splitlines()
    assert lines[1:4] == ["I live in Berlin.", "  missed user works_at Acme", "  wrong user lives_in Berlin"]
    assert not any("Rome" in line for line in lines)
    sentences[0]["facts"] = [["user", "employed_by", "Acme", "now"]]
    (tmp_path / "mine.json").write_text(json.dumps(sentences))
    refused = run("bench", "facts", tmp_path / "mine.json")
    assert refused.code == 1
    assert "works_at" in refused.err
