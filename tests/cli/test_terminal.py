"""Nothing that is stored steers the terminal, and what people copy from it stands whole on one line."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text as Styled

import memwell
from memwell.cli import demo
from memwell.cli.terminal import (
    PlainTable,
    console,
    fact_table,
    hit_table,
    message_table,
    one_line,
    thread_table,
    visible,
)
from memwell.history import History
from memwell.longterm.facts import Fact
from memwell.longterm.recall import Recalled, Signal
from memwell.longterm.statements import Source
from memwell.messages import Message, ai, human
from memwell.records import Space, Thread
from memwell.service.keys import SCOPES, Keys
from memwell.storage import open_backend
from memwell.storage.protocols import ThreadInfo
from memwell.storage.sqlite.connections import connect
from memwell.testing import strategies
from tests.commands import Outcome, Run, announce_only, demonstrated_here, running
from tests.engines.redis import single_url


@given(st.text())
def test_no_control_reaches_the_terminal(text: str):
    shown = visible(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in shown)
    assert "\n" not in one_line(text)
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("\x00\x07\r\x7f", "␀␇␍␡"),
        ("\x9b2J \u202e\u2066", "\N{REPLACEMENT CHARACTER}2J \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("京都 👩‍👩‍👧 e\u0301", "京都 👩‍👩‍👧 e\u0301"),
    ],
)
def test_controls_are_shown_as_pictures(text: str, shown: str):
    assert visible(text) == shown


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), max_size=40))
def test_a_console_takes_text_literally(text: str):
    screen = console(width=20)
    with screen.capture() as captured:
        screen.print(f"[bold]{text}[/red]:smile:")
    assert captured.get() == f"[bold]{text}[/red]:smile:\n"


WORDS = st.text(st.characters(categories=("L", "N", "P", "S", "Zs"), codec="utf-8"), max_size=90).map(
    lambda text: " ".join(text.split())
)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=4), st.integers(1, 200), st.integers(0, 5))
def test_a_listing_folds_its_prose_and_nothing_else(rows: list[tuple[str, str, str]], width: int, indent: int):
    table = PlainTable("A title of some words that is longer than the table")
    table.indent = indent
    table.whole("id")
    table.prose("what it says")
    table.whole("path", justify="right")
    for id_, said, path in rows:
        table.add_row(id_, Styled(said), path)
    screen = console(width=width)
    with screen.capture() as captured:
        screen.print(table)
    title, header, *lines = captured.get().splitlines()
    assert title == " " * indent + "A title of some words that is longer than the table"
    assert header.split()[0] == "id"
    assert all(line == line.rstrip() for line in lines)
    for id_, _, path in (row for row in rows if row[0] or row[2]):
        assert any(line.startswith(" " * indent + id_) and line.endswith(path) for line in lines), (id_, path)
    shown = "".join("".join(lines).split())
    assert len(shown) == sum(len("".join(cell.split())) for row in rows for cell in row)


def test_prose_keeps_a_terminal_width_as_long_as_it_can():
    table = PlainTable()
    table.whole("id")
    table.prose("text")
    table.add_row("x" * 20, "a word and another " * 10)
    for width, widest in ((100, 100), (40, 40), (10, 34)):
        screen = console(width=width)
        with screen.capture() as captured:
            screen.print(table)
        longest = max(map(len, captured.get().splitlines()))
        assert widest - 12 < longest <= widest


# What people copy: paths, ids, names, addresses, keys, digests, commands.

LONG = "-".join(["folder"] * 30)
NAME = "a name with spaces " + "that-goes-on-" * 8
SPACE = ("acme and partners", "team-" * 15)
INSIDE = ("--space", SPACE[0], "--space", SPACE[1])
SPACE_SHOWN = " / ".join(SPACE)
ADDRESS = f"http://{'long-host-' * 9}name:7411"
TOKEN = re.compile(r"mw_[0-9a-f]{16}_[0-9a-f]{64}")
STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

Checked = tuple[str, str, list[str]]
"""A command, what it printed, and what must stand whole in it."""


@pytest.fixture(params=["pipe", "terminal"])
def run(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    """The command in a folder with a very long name, printing to a narrow terminal or into a pipe."""
    folder = tmp_path / LONG
    folder.mkdir()
    run = running(capsys, monkeypatch, folder)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(demo, "_child", demonstrated_here)
    announce_only(monkeypatch, ADDRESS)
    if request.param == "terminal":
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("FORCE_COLOR", "1")

    def plain(*arguments: object, language: str = "en") -> Outcome:
        code, out, err = run(*arguments, language=language)
        return Outcome(code, STYLES.sub("", out), STYLES.sub("", err))

    return plain


def memories(run: Run, folder: Path) -> Iterator[Checked]:
    store = ("--store", folder / "app.db")
    _, out, _ = run("remember", "Ann likes green tea.", "--speaker", "Ann", *store, *INSIDE)
    [id_] = out.split()
    yield "recall --explain", run("recall", "tea", "--explain", *store, *INSIDE)[1], [id_]
    yield "forget", run("forget", "x" * 90, *store)[2], ["x" * 90]
    with History.open(str(folder / "app.db"), NAME, space=memwell.Space(*SPACE)) as history:
        history.add_human("Hello")
    yield "threads", run("threads", *store, *INSIDE)[1], [NAME]
    yield "facts", run("facts", "Ann", *store, *INSIDE)[1], ["Ann"]
    yield "show", run("show", "nothing", *store, *INSIDE)[2], [SPACE_SHOWN, "memwell threads"]
    yield "export", run("export", folder / "out.jsonl", *store)[1], [str(folder / "out.jsonl")]
    yield "export again", run("export", folder / "out.jsonl", *store)[2], [str(folder / "out.jsonl")]
    missing = folder / "none.db"
    yield "no store", run("recall", "x", "--store", missing)[2], [f"memwell remember TEXT --store {missing}"]


def files(run: Run, folder: Path) -> Iterator[Checked]:
    store, copy = folder / "app.db", folder / "copy.db"
    open_backend(store).close()
    made = run("backup", copy, "--store", store)[1]
    digest = Path(f"{copy}.sha256").read_text().split()[0]
    yield "backup", made, [str(store), str(copy), digest]
    back = run("restore", copy, "--store", store, "--force")[1]
    [aside] = [one for one in folder.glob("app.db.before-restore-*") if not one.name.endswith(("-wal", "-shm"))]
    yield "restore", back, [str(store), str(copy), digest, str(aside)]
    yield "move", run("move", store, folder / "new.db", "--seal")[1], [str(store), str(folder / "new.db")]
    yield "unseal", run("unseal", store)[1], [str(store), f"moved to {folder / 'new.db'}"]
    place = single_url(folder)
    composed = f"{folder}/a.db,log={place},kv={place}"
    open_backend(composed).close()
    shown = run("doctor", "--store", composed)[1]
    yield "doctor of parts", shown, [place]
    with memwell.open(store, space=memwell.Space(*SPACE), embedder=None, work=False) as memory:
        memory.remember("Bob likes milk.")
    shown = run("doctor", "--store", store)[1]
    yield "doctor", shown, [str(store), SPACE_SHOWN, "memwell flush"]
    with History.open(str(store), NAME) as history:
        history.add_human("Hello")
    broken = connect(str(store))
    broken.execute("UPDATE thread SET indexed_count = 7")
    broken.close()
    found = json.loads(run("doctor", "--store", store, "--json")[1])["problems"]
    assert found
    yield "doctor of a damaged store", run("doctor", "--store", store)[1], found


def documents(run: Run, folder: Path) -> Iterator[Checked]:
    store, notes = ("--store", folder / "docs.db"), folder / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text(f"# {'A very long title ' * 9}\n\nGreen tea is brewed at 80 degrees.\n")
    (notes / "plain.txt").write_text("The ship museum opens at ten and shows anchors.")
    (notes / "broken.pdf").write_text("%PDF-1.7\nnot really")
    yield "ingest", run("ingest", notes, *store)[1], [str(notes / "broken.pdf")]
    known = json.loads(run("documents", "--json", *store)[1])
    yield "documents", run("documents", *store)[1], [one["id"] for one in known]
    yield "no documents", run("documents", *store, *INSIDE)[1], ["memwell ingest FOLDER"]


def keys(run: Run, folder: Path) -> Iterator[Checked]:
    store = ("--store", folder / "keys.db")
    _, made, err = run("keys", "create", NAME, *store, *INSIDE)
    [token] = set(TOKEN.findall(made)) or {f"no token: {made}{err}"}
    id_ = token.split("_")[1]
    yield "keys create", made, [token, id_, SPACE_SHOWN]
    yield "keys list", run("keys", "list", *store)[1], [id_, NAME, SPACE_SHOWN]
    yield "keys log", run("keys", "log", *store)[1], [id_, SPACE_SHOWN]
    verified = run("keys", "log", "--verify", *store)[1]
    yield "keys log --verify", verified, [json.loads(run("keys", "log", "--verify", "--json", *store)[1])["head"]]
    yield "keys revoke", run("keys", "revoke", NAME, *store)[1], [id_, NAME]
    url = folder / "served.db"
    first = run("serve", "--no-browser", "--store", url)[1]
    yield "serve", first, [ADDRESS, str(url), f"{ADDRESS}/#once="]
    with open_backend(url) as backend:
        Keys(backend).create("first", space="default", scopes=SCOPES)
    again = f"memwell keys create NAME --as operator --store {url}"
    yield "serve again", run("serve", "--no-browser", "--store", url)[1], [ADDRESS, again]


def shows(run: Run, folder: Path) -> Iterator[Checked]:
    path = folder / "demo.db"
    commands = [f"{one} --store {path}" for one in ("threads", f"show {demo.THREAD}", "doctor")]
    yield "demo", run("demo", "--store", path)[1], [f"to {path} and", *commands]
    picture = folder / "memwell-context.png"
    yield "explain", run("explain", "context", "--to", folder)[1], [str(picture)]
    unit = {"id": "u", "text": "My bicycle is red.", "speaker": "Ann", "time": "2024-05-07", "session": "s"}
    query = {"id": "q", "text": "what is red?", "gold": ["u"], "cat": "plain", "time": "2024-05-08"}
    (folder / "small.json").write_text(json.dumps([{"name": "one", "units": [unit], "queries": [query]}]))
    measured = run("bench", "recall", folder / "small.json", "--keep", folder / "kept")[1]
    yield "bench", measured, [str(folder / "kept" / "small.jsonl")]


def usage(run: Run, folder: Path) -> Iterator[Checked]:
    del folder
    yield "wrong option", run("keys", "list", "--none")[2], ["keys list --help'"]
    for command, *named in (
        ("serve", "--tls-certificate", "--browser / --no-browser"),
        ("ingest", "--keep-missing", "--allow-private"),
    ):
        yield f"{command} --help", run(command, "--help")[1], named


@pytest.mark.parametrize("checked", [memories, files, documents, keys, shows, usage], ids=lambda one: one.__name__)
def test_what_people_copy_stands_whole_on_one_line(
    run: Run, tmp_path: Path, checked: Callable[[Run, Path], Iterator[Checked]]
):
    broken = [
        f"{command} does not show {thing!r} whole:\n{printed}"
        for command, printed, things in checked(run, tmp_path / LONG)
        for thing in things
        if not any(thing in line for line in printed.splitlines())
    ]
    assert not broken, "\n".join(broken)


def drawn(table: Table, width: int = 80) -> str:
    screen = console(width=width)
    with screen.capture() as captured:
        screen.print(table)
    return captured.get()


def placed(*messages: Message) -> list[Message]:
    return [one.changed(index=at, round=1) for at, one in enumerate(messages)]


def info(name: str, **fields: Any) -> ThreadInfo:
    moment = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    return ThreadInfo(Thread(Space("a"), name), 0, 1_234, 1_234, 98_765, 321, moment, moment, {}, **fields)


@pytest.mark.parametrize("width", [80, 120])
def test_texts_stay_within_the_terminal_and_the_names_of_conversations_whole(width: int):
    long = "字" * 500
    shown = drawn(message_table(placed(human(long, name="n" * 300, tokens=1), ai("x" * 500)), "zh"), width)
    assert max(len(line.encode("gbk")) for line in shown.splitlines()) <= width
    assert drawn(message_table(placed(human(long)), "en"), width).count("字") == 500
    assert drawn(thread_table([info("t" * 300)], "en"), width).splitlines()[1].startswith("t" * 300 + "  ")


@given(st.lists(strategies.messages(), max_size=3), st.sampled_from(("en", "zh")))
def test_any_message_can_be_shown(messages: list[Message], language: str):
    shown = drawn(message_table(placed(*messages), language))
    assert not any(ord(char) < 32 and char != "\n" for char in shown)


MOMENT = datetime(2024, 5, 7, tzinfo=UTC)
FACT = Fact(
    id="1",
    subject="小明",
    relation="lives_in",
    object="北京",
    valid_from=datetime(2020, 1, 1, tzinfo=UTC),
    valid_to=MOMENT,
    learned_at=MOMENT,
    said_at=MOMENT,
    evidence=(Source("m1"), Source("gone")),
)


def test_facts_are_rows_with_their_time_and_evidence():
    text = f"2020年起我住在北京\x1b[31m，{'很' * 200}"
    out = drawn(fact_table([FACT], {"m1": text}, "zh"), 200)
    header, row = out.splitlines()[:2]
    assert header.split() == ["主体", "关系", "内容", "起", "止", "依据"]
    assert row.split()[:5] == ["小明", "住在", "北京", "2020-01-01", "2024-05-07"]
    assert "2020年起我住在北京" in row
    assert row.rstrip().endswith("很…")
    assert "\x1b" not in out
    english = drawn(fact_table([FACT], {}, "en"), 200).splitlines()
    assert english[0].split("  ")[0] == "of"
    assert "lives in" in english[1]


def test_hits_say_why_in_words_or_by_every_signal():
    signals = {"dense": Signal(0.9, 0.3), "words": Signal(1.0, 0.2), "peak": Signal(0.3, -0.04)}
    hit = Recalled("id-1", "I drink milk.", 0.46, MOMENT, "memory", "Ann", "", 0.5, {}, signals)
    assert "same meaning (60 %); same words: milk (40 %)" in drawn(hit_table([hit], "en", query="milk?"), 200)
    assert "意思相同（60%）" in drawn(hit_table([hit], "zh", query="milk?"), 200)
    explained = drawn(hit_table([hit], "en", query="milk?", explain=True), 200)
    assert "dense +0.30, words +0.20, peak -0.04" in explained
    assert explained.splitlines()[1].endswith("  id-1")
