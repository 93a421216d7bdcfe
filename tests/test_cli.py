"""The command as people use it: what it prints, what it refuses, and that it never shows a traceback."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import memwell
from memwell.cli import app
from memwell.history import History
from memwell.messages import ToolCall, ai, human, message, system, tool_result
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.storage import open_backend
from memwell.transcript import from_text
from tests.commands import Outcome, Run, running
from tests.ports import closed_port
from tests.senses import Sense

COMMANDS = (
    "demo", "threads", "show", "doctor", "remember", "recall", "context", "forget", "undo", "erase", "audit", "export",
    "import", "profile", "facts", "flush", "bench", "ingest", "documents", "ask", "tune", "explain",
)  # fmt: skip


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the command in this process, in an empty folder, with settings and a terminal that are always the same."""
    return running(capsys, monkeypatch, tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a conversation in two spaces."""
    path = tmp_path / "chat.db"
    with History.open(str(path), "trip") as history:
        history.add(
            system("You plan trips."), human("I go to Kyoto.", name="Anna"), ai("When?"), human("五月去京都看火车")
        )
        history.add(ai(tool_calls=[ToolCall("1", "climate", {"month": 5})]), tool_result("1", "mild"))
        history.add(ai("Pack a jacket."), message("view", "a chart"), ai("an aside", hidden=True))
    with History.open(str(path), "other", space=Space("acme", "anna")) as history:
        history.add_human("Hello")
    return path


def assert_refused(outcome: Outcome, *words: str) -> None:
    """One line on the error stream, nothing else, and the exit status of an error."""
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith(("error: ", "错误："))
    for word in words:
        assert word in outcome.err


def test_threads_lists_the_conversations_of_a_space(run: Run, store: Path):
    outcome = run("threads", "--store", store)
    assert outcome.code == 0
    assert re.search(r"^trip +9 +2 +\d+ +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", outcome.out, re.MULTILINE)
    assert "other" not in outcome.out
    assert "other" in run("threads", "--store", store, "--space", "acme", "--space", "anna").out
    assert run("threads", "-s", store, "--space", "acme").out == "No conversation in space acme yet.\n"
    assert "空间 acme 里还没有会话" in run("threads", "-s", store, "--space", "acme", language="zh").out


def test_threads_goes_on_where_it_ended(run: Run, tmp_path: Path):
    path = tmp_path / "many.db"
    names = ["a", "b c", "d's", "中"]
    with open_backend(path) as backend:
        for name in names:
            History(backend, name).add_human("x")
    found: list[str] = []
    more: list[str] = []
    while True:
        outcome = run("threads", "--store", path, "--limit", 1, *more)
        found.append(outcome.out.splitlines()[1].split("  ")[0])
        hint = re.search(r"There are more: add (--cursor .*)", outcome.out)
        if hint is None:
            break
        more = shlex.split(hint[1])
    assert found == names


def test_the_store_is_the_one_of_the_settings(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMWELL_URL", str(store))
    assert "trip" in run("threads").out
    assert run("show", "trip").code == run("doctor").code == 0


def test_show_prints_the_last_messages(run: Run, store: Path):
    outcome = run("show", "trip", "--store", store)
    assert outcome.code == 0
    for text in ("You plan trips.", "五月去京都看火车", '[calls climate({"month":5})]', "mild", "a chart", "an aside"):
        assert text in outcome.out
    assert re.search(r"^1 +1 +Anna +\d+ +I go to Kyoto\.", outcome.out, re.MULTILINE)
    assert "ai (hidden)" in outcome.out
    last = run("show", "trip", "--store", store, "--last", 2)
    assert "a chart" in last.out
    assert "Pack a jacket." not in last.out
    assert run("show", "trip", "--store", store, "--last", 0).out == "No messages.\n"
    assert "ai (隐藏)" in run("show", "trip", "--store", store, language="zh").out


def test_show_prints_a_window(run: Run, store: Path):
    outcome = run("show", "trip", "--store", store, "--window", 45)
    assert outcome.code == 0
    assert "You plan trips." in outcome.out
    assert "Pack a jacket." in outcome.out
    assert "an aside" not in outcome.out
    assert "I go to Kyoto." not in outcome.out
    used = re.search(r"^(\d+) messages, (\d+) of 45 tokens$", outcome.out, re.MULTILINE)
    assert used is not None
    assert int(used[2]) <= 45
    assert_refused(run("show", "trip", "--store", store, "--window", 0), "system messages take")


def test_show_prints_what_a_search_finds(run: Run, store: Path):
    outcome = run("show", "trip", "--store", store, "--search", "火车")
    assert "五月去京都看火车" in outcome.out
    assert "Kyoto" not in outcome.out
    assert "score" in outcome.out
    assert run("show", "trip", "--store", store, "--search", "zebra").out == "Nothing found.\n"
    assert run("show", "trip", "--store", store, "--search", "斑马", language="zh").out == "没有找到。\n"
    assert run("show", "trip", "--store", store, "--search", "").out == "Nothing found.\n"


def test_show_writes_data_for_programs(run: Run, store: Path):
    with History.open(str(store), "trip") as history:
        stored = list(history)
    shown = json.loads(run("show", "trip", "--store", store, "--format", "json").out)
    assert [one["id"] for one in shown] == [one.id for one in stored]
    shaped = json.loads(run("show", "trip", "--store", store, "--format", "openai").out)
    assert [one["role"] for one in shaped][:4] == ["system", "user", "assistant", "user"]
    assert "an aside" not in json.dumps(shaped)
    text = run("show", "trip", "--store", store, "--format", "text").out
    assert [one.text for one in from_text(text.removesuffix("\n"))][:4] == [one.text for one in stored[:4]]
    assert json.loads(run("show", "trip", "--store", store, "--format", "json", "--search", "zebra").out) == []


def test_show_says_what_it_does_not_know(run: Run, store: Path):
    assert_refused(run("show", "trap", "--store", store), "'trap'", "default")
    assert_refused(run("show", "trip", "--store", store, "--space", "acme"), "'trip'", "acme")
    assert_refused(run("show", "trip", "--store", store, "--format", "xml"), "'xml'", "table, text, json, openai")
    assert_refused(run("show", "trip", "--store", store, "--window", 9, "--search", "x"), "--window or --search")
    assert_refused(run("show", "trip", "--store", store, "--last", -1), "-1")
    assert_refused(run("threads", "--store", store, "--limit", 0), "limit")
    assert_refused(run("show", "", "--store", store), "empty")
    assert_refused(run("show", "trap", "--store", store, language="zh"), "没有会话 'trap'")


# What is stored cannot steer the terminal.

HOSTILE = "[bold]x[/bold] [/nothing] :smile: \x1b]0;owned\x07 \x9b2J \u202eevil \x7f"


@pytest.mark.parametrize("command", ["threads", "show"])
def test_what_is_stored_is_shown_and_not_obeyed(run: Run, tmp_path: Path, command: str):
    path = tmp_path / "[red]hostile[bold].db"
    space = Space("[blink]", HOSTILE)
    with History.open(str(path), HOSTILE, space=space) as history:
        history.add_human(f"{HOSTILE}\nsecond line", name=HOSTILE)
    options = ("--store", path, "--space", "[blink]", "--space", HOSTILE)
    outcome = run("threads", *options) if command == "threads" else run("show", HOSTILE, *options)
    assert outcome.code == 0
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", outcome.out)
    assert "[bold]x[/bold]" in outcome.out.replace("\n", "") or command == "threads"
    assert "☺" not in outcome.out
    assert "😄" not in outcome.out


def test_an_error_is_one_line_whatever_it_names(run: Run, store: Path, tmp_path: Path):
    for name in (HOSTILE, "[/red]", "a\nb", "[bold]"):
        assert_refused(run("show", name, "--store", store))
    assert_refused(run("threads", "--store", tmp_path / "[/no]such\nfile.db"), "[/no]such")
    assert "\x1b" not in run("show", HOSTILE, "--store", store).err


@pytest.mark.parametrize("command", [("threads",), ("show", "trip"), ("doctor",)], ids=lambda one: one[0])
def test_looking_at_a_missing_store_makes_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
):
    monkeypatch.setenv("HOME", str(tmp_path))
    for url in ("no.db", "./no.db", "sqlite:no.db", "SQLite:no.db", "~/no.db", "2026:no.db", "n:o.db"):
        assert_refused(run(*command, "--store", url), "There is no store at", "memwell remember TEXT --store")
        assert list(tmp_path.iterdir()) == [], url


def test_what_is_no_store_is_refused_and_left_alone(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # A server that restarts is waited for, which nothing here does.
    monkeypatch.setattr("memwell.storage.redis.servers._RESTARTING_S", 0.0)
    notes = tmp_path / "notes.txt"
    notes.write_text("not a database " * 100)
    with closed_port() as port:
        for command in (("threads",), ("show", "trip"), ("doctor",)):
            assert_refused(run(*command, "--store", notes), "notes.txt")
            assert_refused(run(*command, "--store", tmp_path), "folder")
            assert_refused(run(*command, "--store", f"redis://127.0.0.1:{port}"), "redis")
            assert_refused(run(*command, "--store", ""))
    assert notes.read_text() == "not a database " * 100
    assert list(tmp_path.iterdir()) == [notes]


def every_command(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, *path, name)


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_every_command_explains_itself(run: Run, monkeypatch: pytest.MonkeyPatch, width: str):
    monkeypatch.setenv("COLUMNS", width)
    wrong: list[tuple[object, str]] = []
    commands = dict(every_command(get_command(app)))
    assert {(name,) for name in COMMANDS} < commands.keys()
    for path, command in commands.items():
        shown = run(*path, "--help")
        known = getattr(command, "commands", {})
        inside = [name for name, one in known.items() if not one.hidden and name not in shown.out]
        options = [name for one in command.params for name in (*one.opts, *one.secondary_opts) if name[0] == "-"]
        # An argument that may be given several times is written so too.
        several = re.compile(rf"(?i)\b({'|'.join(one.name for one in command.params)}|args)[\]}}]*\.\.\.")
        reasons = {
            "fails": shown.code != 0,
            "has no usage": "Usage" not in shown.out,
            "is not in both languages": not re.search("[\u4e00-\u9fff]{2}", shown.out),
            "shows a default that is none": "dynamic" in shown.out,
            "is cut": re.search(r"…|\.\.\.", several.sub("", shown.out)),
            f"does not name {inside}": inside,
            "cuts the name of an option": not all(name in shown.out for name in options),
        }
        wrong += [(path, reason) for reason, found in reasons.items() if found]
    assert wrong == []


def test_without_a_command_it_shows_its_help(run: Run):
    outcome = run()
    assert "Usage" in outcome.out + outcome.err
    for name in COMMANDS:
        assert name in outcome.out + outcome.err


def test_it_knows_its_version(run: Run):
    assert run("--version").out.strip() == version("memwell")


def test_wrong_settings_are_one_line_too(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = tmp_path / "memwell.toml"
    broken.write_text("url = ")
    for path, word in ((broken, "not TOML"), (tmp_path / "none.toml", "cannot read")):
        monkeypatch.setenv("MEMWELL_SETTINGS", str(path))
        for command in (("threads",), ("show", "x"), ("doctor",), ("demo",)):
            assert_refused(run(*command), word)


def module(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "memwell", *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_it_runs_as_a_module(store: Path):
    found = module("show", "trip", "--store", str(store), MEMWELL_LANGUAGE="zh", PYTHONIOENCODING="utf-8")
    assert found.returncode == 0
    assert "五月去京都看火车" in found.stdout.decode()
    missing = module("show", "trap", "--store", str(store), MEMWELL_LANGUAGE="zh", PYTHONIOENCODING="ascii")
    assert missing.returncode == 1
    assert b"Traceback" not in missing.stderr
    assert missing.stderr.count(b"\n") == 1


@pytest.mark.parametrize("arguments", [("threads",), ("show", "trip"), ("doctor",)], ids=lambda one: one[0])
def test_a_terminal_without_the_characters_gets_what_it_can_show(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
):
    def written(*words: object) -> tuple[int, bytes, bytes]:
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="ascii", write_through=True))
            return run(*words, language="zh").code, out.getvalue(), err.getvalue()

    code, out, err = written(*arguments, "--store", store)
    assert (code, err) == (0, b"")
    assert b"?" in out
    code, out, err = written(*arguments, "--store", "none.db")
    assert (code, out) == (1, b"")
    assert b"none.db" in err
    assert b"?" in err


def test_a_memory_from_the_command_line(run: Run, tmp_path: Path):
    told = run("remember", "Ann is allergic to nuts.", "我对花生过敏。", "--speaker", "Ann", "--session", "talk")
    ids = told.out.split()
    assert (told.code, len(ids)) == (0, 2)
    assert "Ann is allergic to nuts." in run("recall", "what is Ann allergic to?", "-n", 1).out
    assert "花生" in run("recall", "花生", "-n", 1, "--explain", language="zh").out
    hits = json.loads(run("recall", "nuts", "--json", "-n", 1).out)
    assert (hits[0]["id"], hits[0]["session"]) == (ids[0], "talk")
    assert "nuts" in run("facts", "Ann").out
    assert "nuts" in run("profile", "Ann").out
    assert "2026-01-05" in run("context", "what can Ann eat?", "--budget", 400, "--now", "2026-01-05T12:00").out
    made = run("context", "what can Ann eat?", "--budget", 400)
    assert "allergic to nuts" in made.out
    assert "of 400 tokens" in made.out
    assert run("audit").code == 0
    assert "Forgotten: 1" in run("forget", ids[0]).out
    assert "nuts" not in run("recall", "nuts").out
    assert "nuts" in run("undo", ids[0]).out
    for file in ("out.jsonl", "out.md"):
        assert "Wrote" in run("export", file).out
    assert run("import", "out.jsonl", "--store", "out.db").code == 0
    assert "allergic to nuts" in run("recall", "nuts", "--store", "out.db").out
    assert "删除" in run("erase", "--all", "--yes", language="zh").out
    assert "Nothing relevant was found" in run("recall", "nuts").out
    assert run("recall", "nuts", "--min-relevance", 0).out == "Nothing found.\n"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("recall", "x"), "no store"), (("remember", "x", "--time", "soon"), "no time"),
        (("import", "missing.json"), "missing.json"), (("bench", "recall", "missing.json"), "missing.json"),
        (("erase", "--yes", "--store", "memory:"), "--all"), (("forget", "never", "--store", "memory:"), "never"),
        (("remember", "chat.db", "Ann likes tea."), "--store chat.db"),
        (("doctor", "--store", "no/where/app.db"), "no folder"),
        (("import", "redis://127.0.0.1/0", "--store", "http://memory.example"), "http://memory.example"),
        (("import", "sqlite:///x.db", "--trusted"), "leave --trusted out"),
        (("rekey", "--store", "app.db", "--new-secret-file", "k", "--plaintext"), "Either --new-secret-file"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("store")
def test_what_cannot_be_done_is_one_line(run: Run, arguments: tuple[str, ...], word: str):
    assert_refused(run(*arguments), word)


def test_erasing_all_says_that_documents_go_too(run: Run, tmp_path: Path):
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen tea is brewed at eighty degrees.")
    assert run("ingest", "tea.md").code == 0
    asked = run("erase", "--all")
    assert (asked.code, "all its documents" in asked.out + asked.err) == (1, True)
    assert "And documents: 1." in run("erase", "--all", "--yes").out


def test_facts_are_shown_with_time_and_evidence(run: Run):
    run("remember", "I live in Berlin.", "--speaker", "Ann", "--time", "2023-05-07T12:00Z")
    run("remember", "I moved to Paris.", "--speaker", "Ann", "--time", "2024-06-08T12:00Z")
    now = run("facts", "Ann").out
    assert "Paris" in now
    assert "I moved to Paris." in now
    assert "2024-06-08" in now
    assert "Berlin" not in now
    assert "Berlin" in run("facts", "Ann", "--as-of", "2023-06-01").out
    both = run("facts", "Ann", "--all", language="zh").out
    [ended] = [line for line in both.splitlines() if "I live in Berlin." in line]
    assert "住在" in ended
    assert "2024-06-08" in ended
    assert "lives_in" not in both
    assert_refused(run("facts", "Ann", "--all", "--as-of", "2023-06-01"), "--all")


def test_recall_says_why_in_plain_words(run: Run):
    run("remember", "Ann drinks milk with coffee.", "--speaker", "Alice")
    out = " ".join(run("recall", "what milk does Alice drink?").out.split())
    assert "same meaning" in out
    assert "dense" not in out
    assert "peak" not in out
    assert "意思" in run("recall", "milk", language="zh").out
    assert "dense_best" in run("recall", "milk", "--explain").out
    assert "Ann drinks milk" in run("recall", "milk", "--speaker", "aLICE").out
    assert "Nothing relevant was found" in run("recall", "milk", "--speaker", "Bob").out
    assert run("recall", "milk", "--speaker", "Bob", "--min-relevance", 0).out == "Nothing found.\n"
    assert "Nothing relevant was found" in run("recall", "hunter2").out
    assert "没有找到相关的记忆" in run("recall", "hunter2", language="zh").out
    assert "milk" in run("recall", "hunter2", "--min-relevance", 0).out


def test_an_export_never_writes_over_a_file_unasked(run: Run, tmp_path: Path):
    run("remember", "Ann likes tea.")
    (tmp_path / "out.jsonl").write_text("mine")
    assert_refused(run("export", "out.jsonl"), "out.jsonl", "--force")
    assert_refused(run("export", "out.jsonl", language="zh"), "已存在", "--force")
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    assert run("export", "out.jsonl", "--force").code == 0
    assert "Ann likes tea." in (tmp_path / "out.jsonl").read_text()
    for language, word in (("en", "No export"), ("zh", "格式")):
        assert_refused(run("export", "out.pdf", language=language), word, ".pdf", ".jsonl", ".md")
    assert not (tmp_path / "out.pdf").exists()


@pytest.mark.parametrize(
    ("arguments", "path", "reason", "in_chinese"),
    [
        (("export", "no/out.jsonl"), "no/out.jsonl", "folder does not exist", "文件夹不存在"),
        (("export", "folder"), "folder", "is a folder", "是一个文件夹"),
        (("import", "folder"), "folder", "is a folder", "is a folder without memories of mem0"),
        (("import", "missing.jsonl"), "missing.jsonl", "no such file", "没有这个文件"),
        (("import", "secret.jsonl"), "secret.jsonl", "permission denied", "没有权限"),
        (("export", "locked/out.jsonl"), "locked/out.jsonl", "permission denied", "没有权限"),
    ],
)
@pytest.mark.usefixtures("unprivileged")
def test_what_is_wrong_with_a_file_is_said_of_that_file(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], path: str, reason: str, in_chinese: str
):
    run("remember", "Ann likes tea.")
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(0o555)
    (tmp_path / "secret.jsonl").touch(0o000)
    for language, word in (("en", reason), ("zh", in_chinese)):
        outcome = run(*arguments, language=language)
        assert_refused(outcome, repr(path), word)
        assert ".part" not in outcome.err
        assert "Errno" not in outcome.err


@pytest.mark.usefixtures("unprivileged")
def test_a_store_that_can_only_be_read_is_recalled_from(run: Run, tmp_path: Path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    place = ("--store", folder / "app.db")
    run("remember", "I live in Berlin.", "--speaker", "Ann", *place)
    folder.chmod(0o555)
    try:
        for arguments in (
            ("recall", "Berlin"),
            ("facts", "Ann"),
            ("profile", "Ann"),
            ("context", "where do I live?"),
            ("export", "-"),
        ):
            outcome = run(*arguments, *place)
            assert (outcome.code, outcome.err) == (0, "")
            assert "Berlin" in outcome.out
        for language, word in (("en", "can only be read"), ("zh", "只能读取")):
            assert_refused(run("remember", "x", *place, language=language), word, "app.db")
    finally:
        folder.chmod(0o755)


def test_an_unknown_language_is_refused(run: Run, store: Path):
    assert_refused(run("threads", "--store", store, language="fr"), "'fr'", "en, zh")


def test_what_is_owed_is_settled(run: Run, tmp_path: Path):
    with memwell.open(tmp_path / "app.db", work=False) as m:
        m.remember(["Ann likes tea.", "Bob likes milk."])
        m.at("bob").remember("我喜欢喝茶。")
    assert_told(run("flush", "--store", "app.db", "--space", "bob"), "Done: 1")
    with memwell.open(tmp_path / "app.db", work=False) as m:
        assert (m.pending().vectors, m.at("bob").pending().vectors) == (2, 0)
    assert_told(run("flush", "--store", "app.db"), "Done: 2")
    with memwell.open(tmp_path / "app.db", work=False) as m:
        assert m.pending().vectors == 0
    assert_told(run("flush", "--store", "app.db", language="zh"), "已全部处理完，共 0 条")


def test_vectors_of_another_embedder_are_not_made_anew(run: Run, tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=Sense("nobody else's"), work=False) as m:
        m.remember("Ann likes tea.")
        m.flush()
        m.remember("Bob likes milk.")
    for language, word in (("en", "not the embedder of the settings"), ("zh", "不是设置中的嵌入模型")):
        outcome = run("flush", "--store", "app.db", language=language)
        assert outcome.code == 1
        assert word in "".join(outcome.err.split()) or word in " ".join(outcome.err.split())
    with memwell.open(tmp_path / "app.db", embedder=Sense("nobody else's"), work=False) as m:
        assert (m.pending().words, m.pending().vectors) == (0, 1)
        assert m.memory.indexer.embedders.is_current()


def test_vectors_that_are_missing_are_made_by_the_embedder_of_the_others(run: Run, tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64), work=False) as m:
        m.remember("Ann likes tea.")
        m.flush()
        m.remember("Bob likes milk.")
    outcome = run("flush", "--store", "app.db")
    assert outcome.code == 0
    assert "Done: 1" in outcome.out
    with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64), work=False) as m:
        assert m.pending().vectors == 0
        assert m.backend.index.info(m.space).dimensions == 64


def assert_told(outcome: Outcome, *words: str) -> None:
    assert (outcome.code, outcome.err) == (0, "")
    for word in words:
        assert word in outcome.out


@pytest.mark.parametrize(
    "arguments", [("missing.json",), ("missing.json", "--format", "mem0"), ("odd.json",), ("odd.json", "--format", "x")]
)
def test_an_import_that_cannot_be_read_leaves_no_store_behind(run: Run, tmp_path: Path, arguments: tuple[str, ...]):
    (tmp_path / "odd.json").write_text('{"nobody": "knows"}')
    outcome = run("import", *arguments, "--store", "new.db")
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    assert not (tmp_path / "new.db").exists()


@pytest.fixture
def piped(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command with bytes, its first argument, coming in at its standard input."""

    def run_it(data: bytes, *arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        return run(*arguments)

    return run_it


def test_a_bad_line_does_not_lose_the_good_ones(run: Run, piped: Run):
    outcome = piped(b"a\0b hello\nfine line\n", "remember", "-", "--store", "app.db")
    assert outcome.code == 1
    assert len(outcome.out.split()) == 1
    assert "Not remembered: a\u2400b hello" in outcome.err
    assert "Traceback" not in outcome.err
    assert "fine line" in run("recall", "fine line", "--store", "app.db").out


def test_an_input_that_is_not_utf_8_is_refused(piped: Run, tmp_path: Path):
    outcome = piped("你好\n世界\n".encode("gbk"), "remember", "-", "--store", "app.db")
    assert outcome.code == 1
    assert "not UTF-8: line 1" in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "app.db").exists()


def test_an_import_is_counted_in_the_readers_language(run: Run, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("Ann likes tea.\nBob likes milk.\n")
    assert "新增：2 条记忆。" in run("import", "notes.txt", "--store", "a.db", language="zh").out
    assert "New: 2 memories." in run("import", "notes.txt", "--store", "b.db").out


def test_the_facts_of_the_user_go_by_many_names(run: Run):
    run("remember", "我住在北京。", "--store", "a.db")
    for arguments in (("facts",), ("facts", "用户"), ("facts", "user"), ("facts", "我")):
        assert "北京" in run(*arguments, "--store", "a.db", language="zh").out


def test_a_file_of_several_users_is_taken_in_with_a_hint(run: Run, tmp_path: Path):
    items = [{"memory": "Likes tea", "user_id": "ann"}, {"memory": "Likes milk", "user_id": "bob"}]
    (tmp_path / "mem0.json").write_text(json.dumps(items))
    outcome = run("import", "mem0.json", "--store", "a.db")
    assert (outcome.code, "2 users" in outcome.err) == (0, True)
    run("import", "mem0.json", "--store", "b.db", "--user", "ann")
    assert "Likes milk" not in run("recall", "milk", "--store", "b.db").out


@pytest.mark.parametrize(("language", "told"), [("en", "by hand"), ("zh", "人工")])
def test_facts_name_what_was_stated_by_hand_and_what_is_over(run: Run, store: Path, language: str, told: str):
    run("remember", "I used to live in Rome.", "--speaker", "Ann", "--time", "2024-06-08T12:00Z", "--store", store)
    with memwell.open(store, embedder=None, work=False) as m:
        m.facts.correct("Ann", "works_at", "Acme")
    out = run("facts", "Ann", "--all", "--store", store, language=language).out
    [made] = [line for line in out.splitlines() if "Acme" in line]
    [over] = [line for line in out.splitlines() if "Rome" in line]
    assert told in made
    assert over.count("2024-06-08") == 1


INTERRUPTED = """
import os, signal, sys
from memwell.__main__ import main

class Interrupt:
    def find_spec(self, name, *_):
        if name == "memwell.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of other systems")
def test_an_interrupt_while_the_command_is_loaded_prints_nothing() -> None:
    # A shell's background jobs ignore interrupts, and so do their children.
    heeds = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    done = subprocess.run([sys.executable, "-c", heeds + INTERRUPTED], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
