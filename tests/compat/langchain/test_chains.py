from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.langchain import (
    ChatMessageHistory,
    CombinedMemory,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationEntityMemory,
    ConversationKGMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
    ConversationVectorStoreTokenBufferMemory,
    FileChatMessageHistory,
    HumanMessage,
    MemoryMetrics,
    MemwellChatMessageHistory,
    MemwellVectorStore,
    ReadOnlySharedMemory,
    SimpleMemory,
    for_chain,
    for_runnable,
)
from memwell.errors import InvalidInput, MissingDependency

chains = pytest.importorskip("langchain_classic.chains")
core = pytest.importorskip("langchain_core.messages")
models = pytest.importorskip("langchain_core.language_models")
prompts = pytest.importorskip("langchain_core.prompts")


def chain(memory: Any, answers: list[str], model: str = "FakeListLLM") -> Any:
    fake = getattr(pytest.importorskip("langchain_core.language_models"), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return chains.ConversationChain(llm=fake(responses=answers), memory=for_chain(memory))


@pytest.mark.parametrize("model", ["FakeListLLM", "FakeListChatModel"])
def test_a_chain_remembers(model: str) -> None:
    memory = ConversationBufferWindowMemory(k=2)
    talking = chain(memory, ["one", "two", "three"], model)
    assert talking.predict(input="a") == "one"
    assert talking.predict(input="b") == "two"
    assert asyncio.run(talking.ainvoke({"input": "c"}))["response"] == "three"
    assert memory.buffer == talking.memory.buffer == "Human: b\nAI: two\nHuman: c\nAI: three"
    assert talking.memory.get_window_info()["total_messages_processed"] == 6
    talking.memory.clear()
    assert memory.buffer == ""


def test_what_is_no_memory_or_history(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput):
        for_chain(3)
    with pytest.raises(InvalidInput, match="messages"):
        for_runnable(3)
    adapted = for_chain(ConversationBufferMemory())
    assert for_chain(adapted) is adapted
    with pytest.raises(AttributeError):
        _ = for_chain(ConversationEntityMemory()).nothing
    module = __import__("memwell.compat.langchain.chains", fromlist=["x"])
    module._adapter.cache_clear()

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(MissingDependency, match="langchain-classic"):
        for_chain(ConversationEntityMemory())


def found(**fields: Any) -> Any:
    retriever = MemwellVectorStore(embedder=None).as_retriever()
    return ConversationVectorStoreTokenBufferMemory(retriever=retriever, **fields)


def combined(**fields: Any) -> Any:
    return CombinedMemory([ConversationBufferMemory(**fields, input_key="input"), SimpleMemory({"mood": "calm"})])


def shared(**fields: Any) -> Any:
    return ReadOnlySharedMemory(
        ConversationBufferMemory(chat_memory=ChatMessageHistory([HumanMessage("hello")]), **fields)
    )


def measured(**fields: Any) -> Any:
    return MemoryMetrics(ConversationBufferMemory(**fields))


@pytest.mark.parametrize(
    "kind",
    [
        ConversationBufferMemory,
        ConversationBufferWindowMemory,
        ConversationTokenBufferMemory,
        ConversationSummaryMemory,
        ConversationSummaryBufferMemory,
        ConversationEntityMemory,
        ConversationKGMemory,
        found,
        combined,
        shared,
        measured,
    ],
)
def test_messages_in_a_chain_are_langchains_own(kind: Any) -> None:
    memory = for_chain(kind(return_messages=True))
    history = prompts.MessagesPlaceholder("history")
    prompt = prompts.ChatPromptTemplate.from_messages([history, ("human", "{input}")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.FakeListChatModel(responses=["one", "two"])
        talking = chains.LLMChain(llm=model, prompt=prompt, memory=for_chain(memory))
        assert talking.invoke({"input": "I am Anna."})["text"] == "one"
        second = asyncio.run(talking.ainvoke({"input": "And this is Ben."}))
    assert second["text"] == "two"
    loaded = memory.load_memory_variables({"input": "Anna"})["history"]
    assert all(isinstance(message, core.BaseMessage) for message in loaded)
    assert loaded or kind is ConversationKGMemory


@pytest.mark.parametrize("kind", ["memory", "stored", "file"])
def test_a_history_in_a_runnable(kind: str, tmp_path: Path) -> None:
    with_history = pytest.importorskip("langchain_core.runnables.history").RunnableWithMessageHistory
    histories: dict[str, Any] = {
        "memory": ChatMessageHistory,
        "stored": lambda: MemwellChatMessageHistory("s", str(tmp_path / "m.db")),
        "file": lambda: FileChatMessageHistory(tmp_path / "c.json"),
    }
    history = histories[kind]()
    prompt = prompts.ChatPromptTemplate.from_messages([prompts.MessagesPlaceholder("past"), ("human", "{input}")])
    config = {"configurable": {"session_id": "s"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.FakeListChatModel(responses=["one", "two", "three"])
        talking = with_history(
            prompt | model,
            lambda session_id: for_runnable(for_runnable(history)),
            input_messages_key="input",
            history_messages_key="past",
        )
        answers = [talking.invoke({"input": text}, config).content for text in ("a", "b")]
        answers.append(asyncio.run(talking.ainvoke({"input": "c"}, config)).content)
    assert answers == ["one", "two", "three"]
    assert [message.content for message in history.messages] == ["a", "one", "b", "two", "c", "three"]
    adapted = for_runnable(history)
    assert {type(message) for message in asyncio.run(adapted.aget_messages())} == {core.HumanMessage, core.AIMessage}
    adapted.clear()
    assert history.messages == adapted.messages == []
