"""The rooms of ``memwell.compat``: each has a page that names everything, a test for every promise, and loads little.

What is written through one of them reads the same through the others.
"""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib import import_module
from itertools import chain, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.compat import agentscope, basememory, dbgpt, guide, langchain
from memwell.errors import InvalidInput
from memwell.messages import Message
from memwell.storage.registry import close_shared

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("agentscope", "basememory", "dbgpt", "guide", "langchain", "mem0")
TESTS = {"agentscope": ROOT / "tests", "basememory": ROOT / "tests", "guide": ROOT / "tests"}
TESTS |= {"dbgpt": ROOT / "tests" / "compat" / "dbgpt", "langchain": ROOT / "tests" / "compat"}
"""The folder to which the names of tests on a page are relative."""


def page(room: str) -> str:
    return (ROOT / "docs" / "compat" / f"{room}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_is_there_and_on_the_page(room: str) -> None:
    module = import_module(f"memwell.compat.{room}")
    rows = re.findall(r"^\| ([^|]+) \| .* \| `[\w./]+\.py::[\w:]+` \|$", page(room), re.MULTILINE)
    on_page = set(re.findall(r"`(\w+)`", "".join(rows)))
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in on_page, f"{name} is on the page in no row that names its test"
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        module.Nothing  # noqa: B018 - asking is the test


def names_in(tree: ast.AST) -> set[str]:
    """The functions and classes in a module: also those of a class, as ``Class::function``."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names |= {node.name, *(f"{node.name}::{inner}" for inner in names_in(node))}
    return names


@pytest.mark.parametrize("room", TESTS)
def test_every_promise_on_the_page_has_its_test(room: str) -> None:
    named = re.findall(r"^\| .* \| `([\w./]+\.py)::([\w:]+)` \|$", page(room), re.MULTILINE)
    files = {file: (TESTS[room] / file).read_text(encoding="utf-8") for file, _ in named}
    defined = {file: names_in(ast.parse(text)) for file, text in files.items()}
    assert len(named) >= 20
    assert [f"{file}::{name}" for file, name in named if name not in defined[file]] == []


PROGRAMS = {
    "agentscope": """
import asyncio
from memwell.compat.agentscope import AgentBase, InMemoryMemory, Msg, MsgHub
async def main():
    memory = InMemoryMemory()
    await memory.add(Msg("anna", "hello", "user"))
    async with MsgHub([AgentBase()]):
        await memory.size()
asyncio.run(main())
""",
    "basememory": """
from memwell.compat.basememory import BaseChatMessageMemory
memory = BaseChatMessageMemory()
memory.add_message("hello", sender="anna")
memory.optimize()
""",
    "dbgpt": """
from memwell.compat.dbgpt import InMemoryStorage, MemoryCacheStorage, ShortTermMemory, StorageConversation
talk = StorageConversation("talk", conv_storage=InMemoryStorage(), message_storage=InMemoryStorage())
talk.add_user_message("hello")
talk.end_current_round()
MemoryCacheStorage().set("key", "value")
""",
    "guide": """
from memwell.compat.guide import SimpleLLMChat
SimpleLLMChat().add_message("user", "hello")
""",
    "langchain": "from memwell.compat.langchain import *",
}
NOT_LOADED = {room: {"numpy", "matplotlib", "memwell.knowledge"} for room in PROGRAMS}
NOT_LOADED["langchain"] = {"langchain_core", "pydantic", "redis", "sqlalchemy"}


@pytest.mark.parametrize("room", PROGRAMS)
def test_a_small_program_loads_little(room: str) -> None:
    program = f"{PROGRAMS[room]}\nimport sys\nprint(sorted({NOT_LOADED[room]!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# A conversation of all rooms


class Turn(NamedTuple):
    """One thing said: who, the words, the speaker's name, a model's call or a tool's answer to it, and a medium beside."""

    side: str
    text: str
    name: str | None = None
    call: tuple[str, str, dict[str, Any]] | None = None
    shown: str | None = None


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12) | st.sampled_from(
    ["你好，奥斯陆", "☀️👨‍👩‍👧", "a\nb\r\n\tc", " ", "Human: x", "{}"]
)
NAMES = st.sampled_from(["安娜", "Ben 🙂", "bot"])
SPEAKERS = st.sampled_from(["human", "ai", "system"])
SAID = st.builds(lambda side, text, name: [Turn(side, text, name)], SPEAKERS, WORDS, NAMES)
MEDIA = st.sampled_from(["image", "audio", "video"])
SHOWN = st.builds(lambda text, name, kind: [Turn("human", text, name, shown=kind)], WORDS, NAMES, MEDIA)
ARGUMENTS = st.dictionaries(WORDS, WORDS | st.integers(-9, 9) | st.lists(WORDS, max_size=2), max_size=2)
CALLED = st.builds(
    lambda id_, text, arguments: [
        Turn("ai", "", "bot", (id_, "天气", arguments)), Turn("tool", text, "天气", (id_, "天气", {})),
    ],
    st.uuids().map(str), WORDS, ARGUMENTS,
)  # fmt: skip
TALKS = st.lists(SAID | CALLED | SHOWN, min_size=1, max_size=5).map(lambda turns: list(chain(*turns)))
ROLES_THERE = {"human": "user", "ai": "assistant", "system": "system", "tool": "system"}
SIDES = {"user": "human", "assistant": "ai", "system": "system"}


ADDRESS = "https://example.org/shown"


def moment(place: int) -> datetime:
    """When the turn at a place was said, where a room takes a time; not every turn is later than the one before."""
    return datetime(2026, 1, 5, 12, tzinfo=UTC) + timedelta(milliseconds=977 * (7 * place % 11))


def said_to_agentscope(path: str, turns: Sequence[Turn]) -> None:
    def made(place: int, turn: Turn) -> Any:
        content: Any = turn.text
        if turn.call is not None and turn.side == "ai":
            content = [{"type": "tool_use", "id": turn.call[0], "name": turn.call[1], "input": turn.call[2]}]
        elif turn.call is not None:
            content = [{"type": "tool_result", "id": turn.call[0], "name": turn.call[1], "output": turn.text}]
        elif turn.shown is not None:
            source = {"type": "url", "url": ADDRESS}
            content = [{"type": "text", "text": turn.text}, {"type": turn.shown, "source": source}]
        role: Any = ROLES_THERE[turn.side]
        local = moment(place).astimezone().replace(tzinfo=None)
        return agentscope.Msg(turn.name or role, content, role, timestamp=local.isoformat(" ", "milliseconds"))

    asyncio.run(agentscope.MemwellMemory(path, "talk").add(list(starmap(made, enumerate(turns)))))


def read_by_agentscope(path: str) -> list[Turn]:
    def turn(message: Any) -> Turn:
        text = message.get_text_content() or ""
        for use in message.get_content_blocks("tool_use"):
            return Turn("ai", text, message.name, (use["id"], use["name"], use["input"]))
        for result in message.get_content_blocks("tool_result"):
            held = result["output"]
            text = held if isinstance(held, str) else "".join(one["text"] for one in held)
            return Turn("tool", text, result["name"], (result["id"], result["name"], {}))
        return Turn(SIDES[message.role], text, message.name)

    return list(map(turn, asyncio.run(agentscope.MemwellMemory(path, "talk").get_memory())))


def times_in_agentscope(path: str) -> list[datetime]:
    found = asyncio.run(agentscope.MemwellMemory(path, "talk").get_memory())
    return [datetime.fromisoformat(one.timestamp).astimezone(UTC) for one in found]


def said_to_langchain(path: str, turns: Sequence[Turn]) -> None:
    kinds = {"human": langchain.HumanMessage, "ai": langchain.AIMessage, "system": langchain.SystemMessage}

    def made(turn: Turn) -> langchain.BaseMessage:
        if turn.side == "tool" and turn.call is not None:
            return langchain.ToolMessage(turn.text, tool_call_id=turn.call[0], name=turn.name)
        calls = [langchain.tool_call(id=one[0], name=one[1], args=one[2]) for one in (turn.call,) if one is not None]
        more: dict[str, Any] = {"tool_calls": calls} if turn.side == "ai" else {}
        blocks: list[Any] = [{"type": "text", "text": turn.text}, {"type": "image_url", "image_url": {"url": ADDRESS}}]
        return kinds[turn.side](turn.text if turn.shown is None else blocks, name=turn.name, **more)

    langchain.MemwellChatMessageHistory("talk", path).add_messages(list(map(made, turns)))


def read_by_langchain(path: str) -> list[Turn]:
    def turn(message: Any) -> Turn:
        for call in getattr(message, "tool_calls", ()):
            return Turn("ai", message.text, message.name, (call["id"], call["name"], call["args"]))
        call = (message.tool_call_id, message.name, {}) if message.type == "tool" else None
        return Turn(message.type, message.text, message.name, call)

    return list(map(turn, langchain.MemwellChatMessageHistory("talk", path).messages))


def opened_by_dbgpt(path: str) -> dbgpt.StorageConversation:
    storage: dbgpt.BackendStorage[Any] = dbgpt.BackendStorage(path)
    return dbgpt.StorageConversation("talk", conv_storage=storage, message_storage=storage)


def said_to_dbgpt(path: str, turns: Sequence[Turn]) -> None:
    talk = opened_by_dbgpt(path)
    for turn in turns:
        {"human": talk.add_user_message, "ai": talk.add_ai_message, "system": talk.add_system_message}[turn.side](
            turn.text
        )
    talk.end_current_round()


def read_by_dbgpt(path: str) -> list[Turn]:
    def words(content: Any) -> str:
        parts = [] if isinstance(content, str) else [one.object.data for one in content if one.type == "text"]
        return content if isinstance(content, str) else "".join(parts)

    return [Turn(one.type, words(one.content)) for one in opened_by_dbgpt(path).messages]


def said_to_basememory(path: str, turns: Sequence[Turn]) -> None:
    memory = basememory.BaseChatMessageMemory(store=path, thread="talk")
    for place, turn in enumerate(turns):
        when = {"name": turn.name, "timestamp": moment(place).isoformat()}
        if turn.shown is None:
            memory.add_message({"role": ROLES_THERE[turn.side], "content": turn.text, **when})
        else:
            memory.add_message({"type": turn.shown, "url": ADDRESS, "caption": turn.text, **when})


def read_by_basememory(path: str) -> list[Turn]:
    def turn(message: Any) -> Turn:
        if not isinstance(message, Message):
            words = message["caption"] if "caption" in message else message["content"]
            return Turn(SIDES[message.get("role", "user")], words, message["name"])
        for call in message.tool_calls:
            return Turn("ai", message.text, message.name, (call.id, call.name, dict(call.arguments)))  # type: ignore[arg-type]
        for result in message.tool_results:
            return Turn("tool", message.text, result.name, (result.call_id, result.name or "", {}))
        return Turn(message.role.value, message.text, message.name)

    return [turn(one) for one in basememory.BaseChatMessageMemory(store=path, thread="talk").messages]


def times_in_basememory(path: str) -> list[datetime]:
    found = basememory.BaseChatMessageMemory(store=path, thread="talk").messages
    said = [one.time if isinstance(one, Message) else datetime.fromisoformat(one["timestamp"]) for one in found]
    # The others count milliseconds.
    return [one.replace(microsecond=one.microsecond // 1000 * 1000) for one in said]


def said_to_guide(path: str, turns: Sequence[Turn]) -> None:
    with guide.SimpleLLMChat(store=path, session="talk") as chat:
        for turn in turns:
            chat.add_message(ROLES_THERE[turn.side], turn.text)


def read_by_guide(path: str) -> list[Turn]:
    with guide.SimpleLLMChat(10**6, store=path, session="talk") as chat:
        return [Turn(SIDES[one["role"]], one["content"]) for one in chat.get_context()]


def words_alone(turn: Turn) -> Turn:
    """The turn in a room without names and tools, where a tool's answer is on the model's side."""
    return Turn("ai" if turn.side == "tool" else turn.side, turn.text)


Say = Callable[[str, Sequence[Turn]], None]
WITH_TOOLS: tuple[Say, ...] = (said_to_agentscope, said_to_langchain)
WITH_WORDS: tuple[Say, ...] = (*WITH_TOOLS, said_to_dbgpt, said_to_basememory, said_to_guide)
WITH_NAMES = (said_to_agentscope, said_to_langchain, said_to_basememory)
WITH_TIMES = (said_to_agentscope, said_to_basememory)


@pytest.mark.parametrize("say", WITH_WORDS)
@settings(max_examples=8)
@given(TALKS)
def test_what_one_room_wrote_reads_the_same_in_the_others(say: Say, turns: list[Turn]) -> None:
    turns = turns if say in WITH_TOOLS else [one for one in turns if one.call is None] or [Turn("human", "x", "bot")]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/talk.db"
        try:
            say(path, turns)
            turns = [one._replace(shown=None) for one in turns]
            plain = list(map(words_alone, turns))
            assert read_by_dbgpt(path) == read_by_guide(path) == plain
            whole = [read_by_agentscope(path), read_by_langchain(path), read_by_basememory(path)]
            if say in WITH_NAMES:
                assert whole == [turns] * 3
            else:
                assert [list(map(words_alone, each)) for each in whole] == [plain] * 3
            times = times_in_agentscope(path)
            assert times == times_in_basememory(path)
            assert times == [moment(place) for place in range(len(turns))] or say not in WITH_TIMES
        finally:
            close_shared()


class Kind(StrEnum):
    X = "value"


@pytest.mark.parametrize(
    "odd", ["a\0b", "a\ud800b", np.str_("温度 21"), Kind.X], ids=["nul", "half", "numpy", "member"]
)
@pytest.mark.parametrize("say", WITH_WORDS)
def test_no_text_of_a_tool_or_a_model_ends_a_turn(say: Say, odd: str, tmp_path: Path) -> None:
    path, kept = str(tmp_path / "talk.db"), re.sub("[\0\ud800]", "\ufffd", str.__str__(odd))
    call, answer = ("1", "tool", {"at": odd, "list": [odd]}), ("1", "tool", {})
    turns = [Turn("human", odd, "bot"), Turn("ai", "", "bot", call), Turn("tool", odd, "tool", answer)]
    turns = turns if say in WITH_TOOLS else turns[:1]
    try:
        say(path, turns)
        assert [one.text for one in read_by_guide(path)] == [kept, "", kept][: len(turns)]
        if say in WITH_TOOLS:
            assert read_by_langchain(path)[1] == Turn("ai", "", "bot", ("1", "tool", {"at": kept, "list": [kept]}))
    finally:
        close_shared()


def test_what_one_room_hides_from_models_the_others_do_not_show(tmp_path: Path) -> None:
    path = str(tmp_path / "talk.db")
    talk = opened_by_dbgpt(path)
    talk.add_user_message("question")
    talk.add_ai_message("answer")
    talk.add_view_message("<b>answer</b>")
    talk.end_current_round()
    for read in (read_by_agentscope, read_by_langchain, read_by_guide):
        assert [one.text for one in read(path)] == ["question", "answer"]
    assert asyncio.run(agentscope.MemwellMemory(path, "talk").size()) == 2
    close_shared()


WRONG: dict[str, Callable[[], object]] = {
    "ThreadMemory": lambda: agentscope.ThreadMemory("talk"),  # type: ignore[arg-type]
    "CombinedMemory": lambda: langchain.CombinedMemory(memories=["memory"]),
    "IntelligentMemorySystem": lambda: guide.IntelligentMemorySystem(3),  # type: ignore[arg-type]
    "MemoryCacheStorage": lambda: dbgpt.MemoryCacheStorage().get(3),  # type: ignore[arg-type]
    "ShortTermMemory": lambda: asyncio.run(dbgpt.ShortTermMemory[Any]().write("text")),
    "GptsMessageMemory": lambda: dbgpt.DefaultGptsMessageMemory().append("text"),  # type: ignore[arg-type]
    "OnceConversation": lambda: dbgpt.OnceConversation("chat_normal").from_conversation("text"),  # type: ignore[arg-type]
    "SQLiteEntityStore": lambda: langchain.SQLiteEntityStore(3),  # type: ignore[arg-type]
    "get_buffer_string": lambda: langchain.get_buffer_string(["text"]),
    "parse_triples": lambda: langchain.parse_triples(3),  # type: ignore[arg-type]
    "similarity_search": lambda: langchain.MemwellVectorStore(embedder=None).similarity_search(3),  # type: ignore[arg-type]
    "add_documents": lambda: langchain.MemwellVectorStore(embedder=None).add_documents(["text"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_of_the_wrong_type_is_named(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"not ('(text|talk|memory)'|3)"):
        WRONG[name]()
    close_shared()


def test_a_storage_names_what_is_no_item() -> None:
    storage: Any = dbgpt.InMemoryStorage()
    for call in (
        lambda: storage.save(3),
        lambda: storage.query(3, dbgpt.StorageItem),
        lambda: storage.count(dbgpt.QuerySpec({}), 3),
    ):
        with pytest.raises(dbgpt.StorageError, match="not 3"):
            call()
