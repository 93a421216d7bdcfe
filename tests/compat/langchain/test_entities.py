from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.langchain import (
    ChatMessageHistory,
    ConversationEntityMemory,
    EntityInfo,
    HumanMessage,
    InMemoryEntityStore,
    MemwellChatMessageHistory,
    PromptTemplate,
    SQLiteEntityStore,
    ThreadEntityStore,
)
from memwell.compat.langchain.entities import get_entities
from memwell.errors import InvalidInput, ModelError
from memwell.storage.sharing import close_shared
from memwell.strategies import Entities

EXTRACT = PromptTemplate.from_template("names|{history}|{input}")
DESCRIBE = PromptTemplate.from_template("note|{entity}|{summary}|{history}|{input}")


def model(names: str = "Anna, Oslo", fail_on: str = "-") -> Any:
    """Answers a question for names with those, and one for a note with the old note and one more star."""

    def answer(prompt: str) -> str:
        asked.append(prompt)
        if prompt.startswith("names"):
            return names
        _, entity, summary, *_ = prompt.split("|")
        if entity == fail_on:
            raise RuntimeError("no answer")
        return f" {summary}*\n"

    asked: list[str] = []
    answer.asked = asked
    return answer


def made(llm: Any, **fields: Any) -> ConversationEntityMemory:
    return ConversationEntityMemory(
        llm=llm, entity_extraction_prompt=EXTRACT, entity_summarization_prompt=DESCRIBE, **fields
    )


def turn(memory: Any, text: str = "Anna is in Oslo") -> dict[str, Any]:
    loaded = memory.load_memory_variables({"input": text})
    memory.save_context({"input": text}, {"output": "ok"})
    return loaded


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "m.db")
    close_shared()


def test_a_turn_with_a_model() -> None:
    llm = model()
    memory = made(llm)
    assert memory.memory_variables == ["entities", "history"]
    assert turn(memory) == {"history": "", "entities": {"Anna": "", "Oslo": ""}}
    assert memory.entity_cache == ["Anna", "Oslo"]
    assert turn(memory) == {"history": "Human: Anna is in Oslo\nAI: ok", "entities": {"Anna": "*", "Oslo": "*"}}
    assert llm.asked[1] == "note|Anna||Human: Anna is in Oslo\nAI: ok|Anna is in Oslo"
    assert memory.load_memory_variables({"input": "x"})["entities"] == {"Anna": "**", "Oslo": "**"}
    memory.return_messages = True
    assert len(memory.load_memory_variables({"input": "x"})["history"]) == len(memory.buffer) == 4


def test_stats_and_infos() -> None:
    memory = made(model())
    turn(memory)
    turn(memory)
    stats = memory.get_entity_stats()
    assert stats["total_entities"] == stats["active_entities"] == stats["entity_updates"] == 2
    assert stats["extraction_calls"] == 2
    info = memory.get_entity_info("Anna")
    assert info is not None
    assert {key: info.to_dict()[key] for key in ("name", "info", "context_count", "update_count")} == {
        "name": "Anna",
        "info": "**",
        "context_count": 2,
        "update_count": 2,
    }
    assert info.last_updated >= info.created_at
    assert memory.get_entity_info("Nobody") is None


@pytest.mark.parametrize("k", [0, -1])
def test_no_rounds_are_no_rounds(k: int) -> None:
    memory = made(model(), k=k)
    turn(memory)
    assert turn(memory)["history"] == ""


def test_a_turn_saved_without_loading_is_looked_through_itself() -> None:
    llm = model("Anna")
    memory = made(llm)
    memory.save_context({"input": "Anna is here"}, {"output": "ok"})
    assert llm.asked[0] == "names|Human: Anna is here\nAI: ok|Anna is here"
    assert memory.entity_store.get("Anna") == "*"
    # A cache that is given is for the next turn.
    given = made(model("never"), entity_cache=["Bob"])
    given.save_context({"input": "x"}, {"output": "y"})
    assert given.entity_store.get("Bob") == "*"


def test_a_model_that_fails_half_way_changes_no_note() -> None:
    memory = made(model())
    turn(memory)
    memory.llm = model(fail_on="Oslo")
    with pytest.raises(ModelError, match="no answer"):
        turn(memory)
    assert len(memory.buffer) == 4
    assert isinstance(memory.entity_store, ThreadEntityStore)
    assert memory.entity_store.store == {"Anna": "*", "Oslo": "*"}


def test_an_empty_note_leaves_the_old() -> None:
    memory = made(model())
    turn(memory)
    memory.llm = lambda prompt: "Anna" if prompt.startswith("names") else " "
    turn(memory)
    assert isinstance(memory.entity_store, ThreadEntityStore)
    assert memory.entity_store.get("Anna") == "*"


@pytest.mark.parametrize(
    ("output", "names"), [("NONE", []), (" NONE\n", []), ("", []), ("a, b,a ,,", ["a", "b"]), ("None", ["None"])]
)
def test_names_in_an_answer(output: str, names: list[str]) -> None:
    assert get_entities(output) == names


def test_without_a_model_in_two_languages() -> None:
    memory = ConversationEntityMemory()
    turn(memory, "Anna moved to Oslo. She likes it.")
    turn(memory, "我的朋友李娜在上海的医院工作。")
    loaded = memory.load_memory_variables({"input": "Where is anna, and what does 李娜 do?"})
    assert loaded["entities"]["Anna"] == "Anna moved to Oslo."
    assert loaded["entities"]["李娜"] == "我的朋友李娜在上海的医院工作。"


def test_stores_of_langchains_shape(tmp_path: Path) -> None:
    for store in (InMemoryEntityStore(), SQLiteEntityStore(db_file=str(tmp_path / "e.db"))):
        memory = made(model(), entity_store=store)
        turn(memory)
        turn(memory)
        assert store.get("Anna") == "**"
        assert memory.get_entity_stats()["entity_updates"] == 2
        info = memory.get_entity_info("Oslo")
        assert info is not None
        assert (info.context_count, len(info.contexts)) == (2, 2)
        memory.clear()
        assert not store.exists("Anna")
        assert memory.get_entity_stats()["total_entities"] == 0


def test_clear() -> None:
    memory = made(model())
    turn(memory)
    asyncio.run(memory.aclear())
    assert (memory.buffer, memory.entity_cache) == ([], [])
    assert turn(memory)["entities"] == {"Anna": "", "Oslo": ""}


def test_notes_survive_a_restart_and_are_shared(store: str) -> None:
    def opened(llm: Any = None) -> ConversationEntityMemory:
        return made(llm or model(), chat_memory=MemwellChatMessageHistory("s", store))

    turn(opened())
    close_shared()
    one, other = opened(), opened()
    asyncio.run(one.aload_memory_variables({"input": "x"}))
    asyncio.run(one.asave_context({"input": "x"}, {"output": "y"}))
    assert other.load_memory_variables({"input": "x"})["entities"] == {"Anna": "**", "Oslo": "**"}
    assert other.get_entity_stats()["total_entities"] == 2
    notes = Entities(MemwellChatMessageHistory("s", store).history).notes("anna")
    assert notes is not None
    assert (notes.name, notes.notes, notes.updates) == ("Anna", "**", 2)


def test_the_store_beside_a_conversation() -> None:
    store = ThreadEntityStore(ChatMessageHistory().history)
    assert (store.get("Anna"), store.get("Anna", "?"), store.exists("Anna"), len(store), bool(store)) == (
        None,
        "?",
        False,
        0,
        True,
    )
    store.set("Anna", "a doctor")
    store.set("ANNA", "a dentist")
    store.set("Bob", None)
    assert store.store == {"Anna": "a dentist", "Bob": ""}
    assert "anna" in store
    assert sorted(store) == ["Anna", "Bob"]
    assert store["Anna"].update_count == 2
    store.delete("bob")
    with pytest.raises(KeyError):
        store.delete("Bob")
    with pytest.raises(LookupError, match="'Bob'"):
        _ = store["Bob"]
    store.clear()
    assert store.store == {}


def test_bad_input() -> None:
    memory = made(model())
    for inputs in ({"a": "x", "b": "y"}, {"input": 3}, {}):
        with pytest.raises(InvalidInput):
            memory.load_memory_variables(inputs)
    with pytest.raises(InvalidInput, match="k must be"):
        made(model(), k="3")
    memory.load_memory_variables({"input": [{"type": "text", "text": "Anna"}]})
    assert memory.llm.asked[-1] == "names||Anna"


def test_entity_info_by_itself() -> None:
    info = EntityInfo("Anna")
    info.initialize_info("Anna is a doctor. It rains.")
    assert info.info == "Anna is a doctor."
    info.update_info("Anna moved to Oslo.", None)
    assert info.info.split() == "Anna is a doctor. Anna moved to Oslo.".split()
    seen: list[str] = []

    def answer(prompt: str) -> str:
        seen.append(prompt)
        return " all about her "

    before = info.info
    info.update_info("new", answer, PromptTemplate.from_template("{entity}|{existing_info}|{new_context}"))
    assert seen == [f"Anna|{before}|new"]
    assert info.to_dict()["info"] == "all about her"
    assert (info.update_count, info.context_count, len(info.contexts)) == (3, 3, 3)
    with pytest.raises(ModelError):
        info.update_info("x", lambda prompt: 1 // 0)
    assert (info.info, info.update_count) == ("all about her", 3)
    assert "Anna" in repr(info)


def test_a_turn_reads_no_more_of_a_long_conversation(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    history = MemwellChatMessageHistory("s", store)
    memory = ConversationEntityMemory(chat_memory=history)
    kind, read, count = type(history.history.log), type(history.history.log).read, [0]

    def counted(*args: Any, **how: Any) -> Any:
        found = read(*args, **how)
        count[0] += len(found)
        return found

    monkeypatch.setattr(kind, "read", counted)
    seen: list[int] = []
    for rounds in (100, 300):
        history.add_messages([HumanMessage(f"q{n}") for n in range(rounds)])
        count[0] = 0
        turn(memory)
        seen.append(count[0])
    assert seen[0] == seen[1]


def test_the_last_texts_that_named_something_are_kept(store: str) -> None:
    memory = made(model(), chat_memory=MemwellChatMessageHistory("s", store))
    for number in range(12):
        turn(memory, f"Anna is in Oslo {number}" + "!" * 5000)
        info = memory.get_entity_info("Anna")
        assert info is not None
        assert info.context_count == number + 1
        assert len(info.contexts) == min(number + 1, 10)
    close_shared()
    memory = made(model(), chat_memory=MemwellChatMessageHistory("s", store))
    again = memory.get_entity_info("anna")
    assert again is not None
    assert [text.partition("!")[0] for text in again.contexts] == [f"Anna is in Oslo {n}" for n in range(2, 12)]
    assert all(len(text) <= 1000 for text in again.contexts)
    memory.entity_store.set("Anna", "a doctor")
    by_hand = memory.get_entity_info("Anna")
    assert by_hand is not None
    assert (by_hand.info, by_hand.context_count, by_hand.contexts) == ("a doctor", 12, again.contexts)


def test_the_strategy_keeps_them_too() -> None:
    chat = ChatMessageHistory([HumanMessage("Anna is a doctor."), HumanMessage("Anna lives in Oslo.")])
    Entities(chat.history).observe()
    info = ThreadEntityStore(chat.history)["Anna"]
    assert (info.context_count, info.contexts) == (2, ["Anna is a doctor.", "Anna lives in Oslo."])
