from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

from memwell.compat.langchain import (
    ConversationBufferWindowMemory,
    ConversationEntityMemory,
    ConversationSummaryMemory,
    for_chain,
)
from memwell.errors import InvalidInput, MissingDependency

chains = pytest.importorskip("langchain_classic.chains")


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


def test_a_summary_in_a_chain_is_kept_in_async_too() -> None:
    memory = ConversationSummaryMemory(llm=lambda prompt: "a summary")
    asyncio.run(chain(memory, ["one"]).ainvoke({"input": "a"}))
    assert memory.buffer == "a summary"


def test_what_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput):
        for_chain(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(AttributeError):
        _ = for_chain(ConversationEntityMemory()).nothing
    module = __import__("memwell.compat.langchain.chains", fromlist=["x"])
    module._adapter.cache_clear()

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(MissingDependency, match="langchain-classic"):
        for_chain(ConversationEntityMemory())
