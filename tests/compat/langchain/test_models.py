"""Models of every kind as the memories ask and count with them, and prompts."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import (
    AIMessage,
    ChatMessageHistory,
    CombinedMemory,
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationEntityMemory,
    ConversationKGMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
    HumanMessage,
    MemoryMetrics,
    PromptTemplate,
    ReadOnlySharedMemory,
    SimpleMemory,
    for_chain,
)
from memwell.compat.langchain.models import SUMMARY_PROMPT, as_llm, filled
from memwell.errors import BadModelOutput, InvalidInput, MissingDependency, ModelError
from memwell.messages import ai
from memwell.models.scripted import ScriptedChat
from memwell.tokens import default_counter


class OnlyPredict:
    def predict(self, text: str) -> str:
        return text.upper()


class OnlyInvoke:
    def invoke(self, text: str) -> Any:
        return AIMessage([{"type": "text", "text": text.upper()}])


class Counts(OnlyPredict):
    def get_num_tokens(self, text: str) -> int:
        return len(text.split())


async def later(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize(
    "thing",
    [
        OnlyPredict(), OnlyInvoke(), str.upper, later, ScriptedChat(lambda messages: messages[-1].text.upper()),
        as_llm(OnlyPredict()),
    ],
)  # fmt: skip
def test_whatever_answers_is_a_model(thing: Any) -> None:
    llm = as_llm(thing)
    assert llm.answers
    assert llm.predict("oslo") == "OSLO"
    assert type(llm.predict("oslo")) is str
    assert llm.count("two words") == default_counter().count("two words")


def test_no_model() -> None:
    llm = as_llm(None)
    assert not llm.answers
    assert llm.count("two words") == 2
    with pytest.raises(ModelError, match="without an llm"):
        llm.predict("x")
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        as_llm(lambda text: 1 // 0).predict("x")
    with pytest.raises(BadModelOutput, match="neither a text nor a message"):
        as_llm(lambda text: 3).predict("x")
    for thing in (3, "gpt", object(), OnlyPredict):
        with pytest.raises(InvalidInput):
            as_llm(thing)
    for wrong in (-1, "2", None, True):
        counting = OnlyPredict()
        counting.get_num_tokens = lambda text, wrong=wrong: wrong  # type: ignore[attr-defined]
        with pytest.raises(BadModelOutput):
            as_llm(counting).count("x")


@given(st.lists(st.sampled_from(["one", "one two", "one two three"]), max_size=8))
def test_a_message_is_counted_once_unless_it_changes(texts: list[str]) -> None:
    counter = as_llm(Counts())
    message = ai("one")
    for text in texts:
        message = message.changed(parts=text)
        assert counter.count_message(message) == len(text.split()) + 1
        assert counter.count_message(message) == len(text.split()) + 1


def test_langchains_models_that_count_by_a_download_are_counted_here() -> None:
    fake = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    model = fake.FakeListChatModel(responses=["yes"])
    assert as_llm(model).count("two words") == 2
    assert as_llm(model).predict("x") == "yes"
    model.custom_get_token_ids = list
    assert as_llm(model).count("four") == 4


@given(st.text(), st.text(), st.text())
def test_blanks_are_filled_and_the_rest_is_kept(before: str, between: str, value: str) -> None:
    def escaped(text: str) -> str:
        return text.replace("{", "{{").replace("}", "}}")

    prompt = PromptTemplate(["a", "b"], f"{escaped(before)}{{a}}{escaped(between)}{{b}}")
    assert prompt.format(a=value, b="{a}") == f"{before}{value}{between}{{a}}"
    assert prompt.input_variables == ["a", "b"]


def test_prompts() -> None:
    assert PromptTemplate.from_template("{b} and {a} and {b}").input_variables == ["a", "b"]
    assert PromptTemplate(["x"], "{a}").input_variables == ["a"]
    for template in ("{", "}", "{a.b}", "{a[0]}", "{}", "{0}"):
        with pytest.raises(InvalidInput):
            PromptTemplate(None, template)
    with pytest.raises(InvalidInput, match="jinja2"):
        PromptTemplate(None, "{{ a }}", template_format="jinja2")
    with pytest.raises(KeyError, match="a"):
        PromptTemplate(None, "{a}").format(b="x")
    assert filled(PromptTemplate(None, "{a}!"), a="x", b="y") == "x!"
    assert "Oslo" in filled(SUMMARY_PROMPT, summary="", new_lines="Human: Oslo", text="other")


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


def test_what_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput):
        for_chain(3)
    adapted = for_chain(ConversationBufferMemory())
    assert for_chain(adapted) is adapted
    with pytest.raises(AttributeError):
        _ = for_chain(ConversationEntityMemory()).nothing
    module = __import__("memwell.compat.langchain.models", fromlist=["x"])
    module._adapter.cache_clear()

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(MissingDependency, match="langchain-classic"):
        for_chain(ConversationEntityMemory())


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
        ConversationBufferMemory, ConversationBufferWindowMemory, ConversationTokenBufferMemory,
        ConversationSummaryMemory, ConversationSummaryBufferMemory, ConversationEntityMemory, ConversationKGMemory,
        combined, shared, measured,
    ],
)  # fmt: skip
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


def test_a_template_is_filled_in_part() -> None:
    whole = PromptTemplate.from_template("{name} asks at {time}: {input}")
    moments = iter(["noon", "night"])
    part = whole.partial(name="安娜").partial(time=lambda: next(moments))
    assert (part.input_variables, part.partial_variables["name"]) == (["input"], "安娜")
    assert [part.format(input="?"), part.format(input="!", name="Ben")] == [
        "安娜 asks at noon: ?",
        "Ben asks at night: !",
    ]
    assert whole.input_variables == ["input", "name", "time"]
    given = PromptTemplate(["input"], "{a} {input}", partial_variables={"a": 1})
    assert (given.input_variables, given.format(input=2)) == (["input"], "1 2")
