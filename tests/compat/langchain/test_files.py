"""A chat history in a file: LangChain's layout, and nothing lost to a kill, another process or another program."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import langchain_core.messages as theirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import array_files
from memwell.compat.langchain.files import FileChatMessageHistory
from memwell.compat.langchain.journals import Append, Journal
from memwell.compat.langchain.messages import AIMessage, BaseMessage, HumanMessage, messages_to_dict
from memwell.errors import InvalidInput

with warnings.catch_warnings():
    # It says that it is no longer maintained.
    warnings.simplefilter("ignore")
    from langchain_community.chat_message_histories import FileChatMessageHistory as TheirFile

ROOT = Path(__file__).parents[3]
SAID = [HumanMessage("你好", id="1"), AIMessage("hello", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}])]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.json"


def test_the_file_is_theirs(path: Path) -> None:
    history = FileChatMessageHistory(str(path))
    assert path.read_text() == "[]"
    assert history.file_path == path
    history.add_messages(SAID)
    history.add_user_message("more")
    assert TheirFile(str(path)).messages == history.messages == [*SAID, HumanMessage("more")]
    assert path.read_text() == json.dumps(theirs.messages_to_dict(TheirFile(str(path)).messages))


@given(data=st.data())
def test_both_may_write_in_turn(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("both") / "chat.json"
    mine, other, second = FileChatMessageHistory(path), TheirFile(str(path)), FileChatMessageHistory(path)
    expected: list[BaseMessage] = []
    for number in range(data.draw(st.integers(1, 6))):
        who = data.draw(st.sampled_from(["mine", "second", "theirs", "indent", "clear", "read"]))
        message = HumanMessage(f"{number}: {data.draw(st.text(max_size=5))}")
        if who == "clear":
            mine.clear()
            expected = []
        elif who == "indent":
            path.write_text(json.dumps(json.loads(path.read_text()), indent=2, ensure_ascii=True) + "\n")
        elif who != "read":
            {"mine": mine, "second": second, "theirs": other}[who].add_message(message)
            expected.append(message)
        assert mine.messages == expected
    assert second.messages == other.messages == expected


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig", "utf-16", "gb18030", "latin-1"])
@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_encodings(path: Path, encoding: str | None, ensure_ascii: bool) -> None:
    words = "héllo" if encoding == "latin-1" else "你好 héllo"
    history = FileChatMessageHistory(path, encoding=encoding, ensure_ascii=ensure_ascii)
    for _ in range(3):
        history.add_user_message(words)
    again = TheirFile(str(path), encoding=encoding)
    assert again.messages == history.messages == FileChatMessageHistory(path, encoding=encoding).messages
    again.add_user_message("theirs")
    assert [message.content for message in history.messages] == [words, words, words, "theirs"]


def test_a_message_that_the_encoding_cannot_hold_changes_nothing(path: Path) -> None:
    history = FileChatMessageHistory(path, encoding="ascii", ensure_ascii=False)
    history.add_user_message("a")
    with pytest.raises(InvalidInput, match="ascii"):
        history.add_user_message("你好")
    with pytest.raises(InvalidInput, match="JSON"):
        history.add_message(HumanMessage("x", extra=object()))
    assert [message.content for message in history.messages] == ["a"]


@pytest.mark.parametrize("broken", ['[{"type": "human"', "{}", "[1]", '{"a": 1}', "[] []", "\xff", "null"])
def test_a_broken_file_is_named_and_left_alone(path: Path, broken: str) -> None:
    path.write_bytes(broken.encode("latin-1"))
    history = FileChatMessageHistory(path, encoding="utf-8")
    for attempt in (lambda: history.messages, lambda: history.add_user_message("x"), lambda: len(history)):
        with pytest.raises(InvalidInput, match=r"chat\.json"):
            attempt()
    assert path.read_bytes() == broken.encode("latin-1")


def test_an_object_that_is_no_message_is_named(path: Path) -> None:
    path.write_text('[{"type": "odd", "data": {}}]')
    with pytest.raises(InvalidInput, match=r"chat\.json.*odd"):
        _ = FileChatMessageHistory(path).messages


@pytest.mark.parametrize("blank", ["", " \n", "[ ]", " [\n]\n"])
def test_a_file_that_holds_nothing_yet(path: Path, blank: str) -> None:
    path.write_text(blank)
    history = FileChatMessageHistory(path)
    assert history.messages == []
    history.add_messages(SAID)
    history.add_messages([])
    assert TheirFile(str(path)).messages == history.messages == SAID


def test_what_the_standard_library_writes_beyond_the_standard(path: Path) -> None:
    path.write_text(json.dumps([{"type": "human", "data": {"content": "\ud800", "extra": float("inf")}}]))
    history = FileChatMessageHistory(path)
    history.add_user_message("b")
    assert [message.content for message in history.messages] == ["\ud800", "b"]


def test_a_deleted_file_is_an_empty_history(path: Path) -> None:
    history = FileChatMessageHistory(path)
    history.add_messages(SAID)
    path.unlink()
    assert history.messages == []
    history.add_user_message("anew")
    assert [message.content for message in TheirFile(str(path)).messages] == ["anew"]
    path.with_name("chat.json.journal").unlink()
    history.add_user_message("still")
    assert len(history) == 2


def test_a_link_and_the_rights_of_a_file_stay(path: Path) -> None:
    link = path.with_name("link.json")
    FileChatMessageHistory(path).add_messages(SAID)
    path.chmod(0o600)
    link.symlink_to(path)
    linked = FileChatMessageHistory(link)
    linked.add_user_message("through the link")
    linked.clear()
    linked.add_user_message("again")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert [message.content for message in FileChatMessageHistory(path).messages] == ["again"]
    # What is written beside the file is for nobody else's eyes either.
    assert path.with_name("chat.json.journal").stat().st_mode & 0o777 == 0o600


def test_a_file_that_may_only_be_read(path: Path, unprivileged: None) -> None:
    FileChatMessageHistory(path).add_messages(SAID)
    path.with_name("chat.json.journal").unlink()
    path.parent.chmod(0o500)
    try:
        history = FileChatMessageHistory(path)
        assert history.messages == SAID == history.messages
        with pytest.raises(PermissionError):
            history.add_user_message("x")
    finally:
        path.parent.chmod(0o700)


def test_parts(path: Path) -> None:
    history = FileChatMessageHistory(path)
    history.add_messages([HumanMessage(str(number)) for number in range(9)])
    assert [one.content for one in history.between(2, 4)] == ["2", "3"]
    assert [one.content for one in history.tail(2)] == ["7", "8"]
    assert [one.content for one in history.since(7)] == ["7", "8"]
    assert (history.tail(0), len(history), bool(FileChatMessageHistory(path))) == ([], 9, True)


def test_async(path: Path) -> None:
    async def talk() -> list[BaseMessage]:
        history = FileChatMessageHistory(path)
        await asyncio.gather(*(history.aadd_messages([HumanMessage(str(number))]) for number in range(10)))
        found = await history.aget_messages()
        await history.aclear()
        assert await history.aget_messages() == []
        return found

    assert sorted(str(one.content) for one in asyncio.run(talk())) == [str(number) for number in range(10)]
    assert path.read_text() == "[]"


def test_threads_of_one_history(path: Path) -> None:
    history = FileChatMessageHistory(path)
    threads = [
        threading.Thread(target=lambda: [history.add_user_message("x") or history.messages for _ in range(10)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(TheirFile(str(path)).messages) == len(history) == 40


# Cost


def bytes_moved(path: Path, messages: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bytes one turn reads and writes in a file of so many messages, with a history opened before."""
    path.write_text(json.dumps([theirs.message_to_dict(theirs.HumanMessage("x" * 20))] * messages))
    history = FileChatMessageHistory(path)
    assert len(history) == messages
    moved = 0
    for name in ("read", "write"):
        real = getattr(os, name)

        def counted(descriptor: int, what: Any, real: Any = real) -> Any:
            nonlocal moved
            done = real(descriptor, what)
            moved += done if isinstance(done, int) else len(done)
            return done

        monkeypatch.setattr(array_files.os, name, counted)
    history.add_messages(SAID)
    assert [one.content for one in history.tail(2)] == [one.content for one in SAID]
    FileChatMessageHistory(path).add_user_message("a new object reads no more")
    assert [one.content for one in history.tail(1)] == ["a new object reads no more"]
    monkeypatch.undo()
    return moved


def test_a_turn_costs_the_same_however_long_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = bytes_moved(tmp_path / "short.json", 100, monkeypatch)
    long = bytes_moved(tmp_path / "long.json", 8_000, monkeypatch)
    assert 0 < long < short + 2_000
    assert (tmp_path / "long.json").stat().st_size > 20 * long


# Kills


@pytest.mark.parametrize("cut", [0, 1, 5, 40, -1])
def test_a_half_done_append_is_finished_by_the_next_who_comes(path: Path, cut: int) -> None:
    history = FileChatMessageHistory(path)
    history.add_messages(SAID)
    before = path.read_bytes()
    history.add_user_message("third")
    after = path.read_bytes()
    place = len(before) - 1
    with path.with_name("chat.json.journal").open("r+b") as journal:
        path.write_bytes(before[:place] + after[place:][:cut] + (before[place:][cut:] if 0 <= cut < 1 else b""))
        Journal(journal.fileno()).begin(Append(place, before[place:], after[place:]))
    assert [one.content for one in FileChatMessageHistory(path).messages] == ["你好", "hello", "third"]
    assert path.read_bytes() == after


def test_a_journal_never_undoes_what_another_program_wrote(path: Path) -> None:
    FileChatMessageHistory(path)
    for content in ("[]", '[{"type": "human", "data": {"content": "other"}}]'):
        with path.with_name("chat.json.journal").open("r+b") as journal:
            Journal(journal.fileno()).begin(Append(1, b"]", b'{"type": "human", "data": {"content": "old"}}]'))
        path.write_text(content)
        os.utime(path, ns=(2**62, 2**62))
        assert len(FileChatMessageHistory(path).messages) == content.count("type")
        assert path.read_text() == content


def test_half_a_journal_counts_for_nothing(path: Path) -> None:
    FileChatMessageHistory(path).add_messages(SAID)
    with path.with_name("chat.json.journal").open("r+b") as journal:
        Journal(journal.fileno()).begin(Append(1, b"]", b"nonsense"))
        os.ftruncate(journal.fileno(), 300)
    assert FileChatMessageHistory(path).messages == SAID
    assert path.with_name("chat.json.journal").stat().st_size == 256


def test_a_full_disk_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = FileChatMessageHistory(path)
    history.add_messages(SAID)
    before, real = path.read_bytes(), array_files._write
    monkeypatch.setattr(array_files, "_SMALL", 0)

    def full(file: int, start: int, data: bytes) -> None:
        real(file, start, data[:20])
        if len(data) > 20:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(array_files, "_write", full)
    with pytest.raises(OSError, match="No space"):
        history.add_user_message("x" * 100)
    monkeypatch.undo()
    assert path.read_bytes() == before
    os.utime(path, ns=(0, 0))
    history.add_user_message("y")
    assert [one.content for one in history.messages] == ["你好", "hello", "y"]


def test_an_append_that_crosses_a_page_is_never_torn(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history, second = FileChatMessageHistory(path), FileChatMessageHistory(path)
    history.add_user_message("small")
    before = path.stat().st_ino
    history.add_user_message("x" * 5_000)
    assert path.stat().st_ino != before
    link = path.with_name("other.json")
    os.link(path, link)
    history.add_user_message("y" * 5_000)
    assert os.path.samefile(path, link)
    monkeypatch.setattr(array_files, "_SMALL", 100)
    link.unlink()
    before = path.stat().st_ino
    second.add_user_message("z" * 5_000)
    assert path.stat().st_ino == before
    found = [str(one.content)[:1] for one in history.messages]
    assert found == [str(one.content)[:1] for one in second.messages] == ["s", "x", "y", "z"]


@pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")
def test_kills_and_two_processes() -> None:
    command = [sys.executable, "-m", "benchmarks.langchain_files", "--kills", "30", "--ours", "--json", "--dry"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout)
    kills, crowd = found["kills"][0], found["crowds"][0]
    assert kills["acknowledged"] >= 20
    assert {kills[name] for name in ("unreadable", "destroyed", "lost", "phantom")} == {0}
    assert (crowd["stored"], crowd["errors"]) == (400, 0)


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig"])
def test_a_file_with_a_byte_order_mark(path: Path, encoding: str | None) -> None:
    path.write_bytes(codecs.BOM_UTF8 + json.dumps(messages_to_dict([HumanMessage("我")])).encode())
    history = FileChatMessageHistory(path, encoding=encoding)
    assert [message.content for message in history.messages] == ["我"]
    history.add_ai_message("two")
    history.add_ai_message("three")
    for reader in (history, FileChatMessageHistory(path, encoding=encoding)):
        assert [message.content for message in reader.messages] == ["我", "two", "three"]
    assert len(json.loads(path.read_text("utf-8-sig"))) == 3


def test_a_byte_order_mark_and_nothing_else(path: Path) -> None:
    path.write_bytes(codecs.BOM_UTF8)
    history = FileChatMessageHistory(path, encoding="utf-8")
    assert history.messages == []
    history.add_ai_message("one")
    assert [message.content for message in FileChatMessageHistory(path, encoding="utf-8").messages] == ["one"]
