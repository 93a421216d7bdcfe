"""The room as a whole: our memories beside LangChain's own, over the same random conversations and scripted models, and
every class as the guide to LangChain's memory module shows it, with nothing changed but the import line.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("langchain_classic")

from langchain_core.chat_history import InMemoryChatMessageHistory as TheirHistory
from langchain_core.documents import Document as TheirDocument
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.language_models.llms import LLM
from langchain_core.messages import AIMessage as TheirAI
from langchain_core.messages import BaseMessage as TheirMessage
from langchain_core.messages import HumanMessage as TheirHuman
from langchain_core.prompts import PromptTemplate as TheirPrompt
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from memwell.compat import langchain as ours
from memwell.compat.langchain import ConversationEntityMemory, ConversationSummaryMemory, EntityInfo, PromptTemplate

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_classic import memory as theirs
    from langchain_community.memory.kg import ConversationKGMemory as TheirGraphMemory

# LangChain says so once a process: which test hears it depends on their order.
pytestmark = pytest.mark.filterwarnings("ignore:The class `InMemoryChatMessageHistory` was deprecated")

few = settings(max_examples=12)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
turns = st.lists(st.tuples(words, words), max_size=9)
sentences = st.lists(st.sampled_from(["one", "two", "three", "four"]), min_size=1, max_size=4).map(" ".join)
worded = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8)


class Scripted(LLM):
    """Answers by the number of the call, and counts words as tokens."""

    asked: list[str] = Field(default_factory=list)
    answers: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **_: Any) -> str:
        self.asked.append(prompt)
        return self.answers(len(self.asked)) if self.answers else f"summary {len(self.asked)}"

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())


@contextmanager
def quiet() -> Iterator[None]:
    """LangChain says of each of these classes that it is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def made(name: str, **fields: Any) -> Any:
    with quiet():
        return getattr(theirs, name)(**fields)


def saved(memory: Any, conversation: list[tuple[str, str]]) -> Any:
    for question, answer in conversation:
        memory.save_context({"input": question}, {"output": answer})
    return memory


def plain(loaded: dict[str, Any]) -> dict[str, Any]:
    """Variables with every message as its type and content."""
    return {key: _plain(value) for key, value in loaded.items()}


def _plain(value: Any) -> Any:
    return [(one.type, one.content) for one in value] if isinstance(value, list) else value


def alike(name: str, conversation: list[tuple[str, str]], **fields: Any) -> bool:
    for return_messages in (False, True):
        their = saved(made(name, return_messages=return_messages, **fields), conversation)
        our = saved(getattr(ours, name)(return_messages=return_messages, **fields), conversation)
        assert plain(our.load_memory_variables({})) == plain(their.load_memory_variables({}))
        assert our.memory_variables == their.memory_variables
        assert our.buffer_as_str == their.buffer_as_str
        assert _plain(our.buffer_as_messages) == _plain(their.buffer_as_messages)
    return True


@few
@given(turns, st.sampled_from([("Human", "AI"), ("我", "助手")]))
def test_buffer(conversation: Any, prefixes: Any) -> None:
    assert alike(
        "ConversationBufferMemory", conversation, human_prefix=prefixes[0], ai_prefix=prefixes[1], memory_key="m"
    )


@few
@given(turns, st.integers(-1, 6))
def test_window(conversation: Any, k: int) -> None:
    assert alike("ConversationBufferWindowMemory", conversation, k=k)


def whole_rounds(conversation: list[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    """The longest end of a conversation, in whole rounds, whose lines have at most ``limit`` words, prefixes included."""
    for start in range(len(conversation) + 1):
        kept = conversation[start:]
        if sum(len(f"Human: {q}".split()) + len(f"AI: {a}".split()) for q, a in kept) <= limit:
            return kept
    raise AssertionError


@few
@given(worded, st.integers(0, 40), st.booleans())
def test_token_buffer(conversation: Any, limit: int, return_messages: bool) -> None:
    how = {"llm": Scripted(), "max_token_limit": limit, "return_messages": return_messages}
    our = saved(ours.ConversationTokenBufferMemory(**how), conversation)
    expected = saved(ours.ConversationBufferMemory(return_messages=return_messages), whole_rounds(conversation, limit))
    assert plain(our.load_memory_variables({})) == plain(expected.load_memory_variables({}))
    # LangChain takes messages out one by one; where that ends between rounds, it is the same.
    their = saved(made("ConversationTokenBufferMemory", **how), conversation)
    if len(their.chat_memory.messages) % 2 == 0:
        assert plain(our.load_memory_variables({})) == plain(their.load_memory_variables({}))
    assert len(our.chat_memory.messages) == 2 * len(conversation)


@few
@given(worded, st.sampled_from(["", "Before."]))
def test_summary(conversation: Any, before: str) -> None:
    prompt = TheirPrompt.from_template("{summary}|{new_lines}")
    for return_messages in (False, True):
        their_llm, our_llm = Scripted(), Scripted()
        how = {"prompt": prompt, "return_messages": return_messages, "human_prefix": "Friend", "buffer": before}
        their = saved(made("ConversationSummaryMemory", llm=their_llm, **how), conversation)
        our = saved(ours.ConversationSummaryMemory(llm=our_llm, **how), conversation)
        assert plain(our.load_memory_variables({})) == plain(their.load_memory_variables({}))
        assert our_llm.asked == their_llm.asked
        assert our.buffer == their.buffer
        for memory in (our, their):
            memory.clear()
            memory.buffer = before
            saved(memory, conversation)
        assert our_llm.asked == their_llm.asked


@few
@given(worded, st.integers(0, 40), st.booleans(), st.sampled_from(["", "Before."]))
def test_summary_buffer(conversation: Any, limit: int, return_messages: bool, before: str) -> None:
    prompt = TheirPrompt.from_template("{summary}|{new_lines}")
    their_llm, our_llm = Scripted(), Scripted()
    how = {
        "prompt": prompt,
        "max_token_limit": limit,
        "return_messages": return_messages,
        "moving_summary_buffer": before,
    }
    their = made("ConversationSummaryBufferMemory", llm=their_llm, **how)
    our = ours.ConversationSummaryBufferMemory(llm=our_llm, **how)
    between_rounds = True
    for number, turn in enumerate(conversation, 1):
        saved(their, [turn])
        saved(our, [turn])
        between_rounds = between_rounds and len(their.chat_memory.messages) % 2 == 0
        shown = our.load_memory_variables({})["history"]
        messages = shown if return_messages else shown.splitlines()
        rounds = whole_rounds(conversation[:number], limit)
        assert len(messages) == 2 * len(rounds) + bool(our.moving_summary_buffer)
        if between_rounds:
            assert plain(our.load_memory_variables({})) == plain(their.load_memory_variables({}))
            assert our_llm.asked == their_llm.asked
    assert len(our.chat_memory.messages) == 2 * len(conversation)


names = st.lists(st.sampled_from(["Anna", "Bob", "Oslo"]), max_size=3, unique=True)


@few
@given(st.lists(st.tuples(sentences, sentences, names), max_size=5), st.integers(1, 4), st.booleans())
def test_entity(conversation: Any, k: int, return_messages: bool) -> None:
    answers: list[str] = []
    for _, _, named in conversation:
        answers += [", ".join(named) or "NONE", *(f" note {len(answers)} on {one} " for one in named)]

    def how() -> dict[str, Any]:
        llm = Scripted(answers=lambda number: answers[number - 1])
        return {
            "llm": llm,
            "k": k,
            "return_messages": return_messages,
            "entity_extraction_prompt": TheirPrompt.from_template("{history}|{input}"),
            "entity_summarization_prompt": TheirPrompt.from_template("{entity}|{summary}|{history}|{input}"),
        }

    their_how, our_how = how(), how()
    their, our = made("ConversationEntityMemory", **their_how), ours.ConversationEntityMemory(**our_how)
    for question, answer, _ in conversation:
        inputs = {"input": question}
        assert plain(our.load_memory_variables(inputs)) == plain(their.load_memory_variables(inputs))
        assert our.entity_cache == their.entity_cache
        saved(our, [(question, answer)])
        saved(their, [(question, answer)])
    our_store: Any = our.entity_store
    assert our_store.store == their.entity_store.store
    assert our_how["llm"].asked == their_how["llm"].asked
    assert our.memory_variables == their.memory_variables


@few
@given(st.lists(st.tuples(sentences, st.sampled_from(["Anna", "Bob"]), st.sampled_from(["Oslo", "Rome"])), max_size=4))
def test_graph(conversation: Any) -> None:
    pytest.importorskip("networkx", reason="LangChain's own graph needs it")
    answers: list[str] = []
    for number, (_, subject, place) in enumerate(conversation):
        answers += ["Anna, Bob", f"({subject}, visited in {number}, {place}) <|> (no triple) <|> (Anna, knows, Bob)"]

    def how() -> dict[str, Any]:
        llm = Scripted(answers=lambda number: answers[number - 1])
        prompt = TheirPrompt.from_template("{history}|{input}")
        return {"llm": llm, "entity_extraction_prompt": prompt, "knowledge_extraction_prompt": prompt}

    their_how, our_how = how(), how()
    with quiet():
        their = TheirGraphMemory(**their_how)
    our = ours.ConversationKGMemory(**our_how)
    pairs = [(subject, place) for _, subject, place in conversation]
    for number, (question, *_) in enumerate(conversation):
        inputs = {"input": question}
        told, expected = our.load_memory_variables(inputs), their.load_memory_variables(inputs)
        # LangChain keeps but the last relation of two names; until one comes twice it is the same.
        if len(set(pairs[:number])) == number:
            assert sorted(told["history"].split("\n")) == sorted(expected["history"].split("\n"))
        saved(our, [(question, "ok")])
        saved(their, [(question, "ok")])
    assert our_how["llm"].asked == their_how["llm"].asked
    assert {one[:2] for one in our.kg.get_triples()} == {one[:2] for one in their.kg.get_triples()}


def refusal(call: Callable[[], Any]) -> str:
    """What a call that must raise a ``ValueError`` says."""
    with quiet():
        try:
            call()
        except ValueError as error:
            return str(error)
    raise AssertionError("it was not refused")


def test_the_texts_of_constructors() -> None:
    for name, fields in (
        ("ConversationSummaryMemory", {"llm": Scripted(), "prompt": TheirPrompt.from_template("{history}")}),
        ("ConversationSummaryBufferMemory", {"llm": Scripted(), "prompt": TheirPrompt.from_template("{summary}")}),
    ):
        expected = refusal(lambda name=name, fields=fields: made(name, **fields))
        told = refusal(lambda name=name, fields=fields: getattr(ours, name)(**fields))
        assert told.split("{", maxsplit=1)[0] in expected
    their = [made("ConversationBufferMemory"), made("ConversationBufferMemory")]
    our: Any = [ours.ConversationBufferMemory(), ours.ConversationBufferMemory()]
    expected = refusal(lambda: made("CombinedMemory", memories=their))
    assert refusal(lambda: ours.CombinedMemory(memories=our)) in expected


def test_retrieval_memory_over_a_store_of_langchains() -> None:
    def over(make: Callable[..., Any], **fields: Any) -> Any:
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
        memory = make(retriever=store.as_retriever(search_kwargs={"k": 4}), exclude_input_keys=["secret"], **fields)
        for number in range(4):
            memory.save_context({"input": f"say {number}", "secret": "x"}, {"output": f"done {number}"})
        return memory

    their = over(lambda **fields: made("VectorStoreRetrieverMemory", **fields))
    our = over(ours.VectorStoreRetrieverMemory)
    for query in ("say 2", "anything", ""):
        told = our.load_memory_variables({"input": query})["history"]
        # The document that ours follows dates its turns and names the speakers.
        for old, new in ((r"\[[-0-9: ]+\] Human:", "input:"), (r"\nAI:", r"\noutput:"), (r"\n\n", r"\n")):
            told = re.sub(old, new, told)
        # The vectors of other words are others, and so is the order.
        expected = their.load_memory_variables({"input": query})["history"]
        assert sorted(told.split("\n")) == sorted(expected.split("\n"))
    documents = over(ours.VectorStoreRetrieverMemory, return_docs=True).load_memory_variables({"input": "say 1"})
    assert all(isinstance(one, TheirDocument) and one.metadata["conversation_id"] for one in documents["history"])
    our.clear()
    assert our.load_memory_variables({"input": "say 2"}) == {"history": ""}


def test_over_a_history_of_langchains_messages_are_langchains() -> None:
    history = TheirHistory()
    for make in (
        ours.ConversationBufferMemory,
        ours.ConversationBufferWindowMemory,
        ours.ConversationTokenBufferMemory,
    ):
        memory: Any = make(chat_memory=history, return_messages=True)
        memory.save_context({"input": "hi"}, {"output": "ho"})
        loaded = memory.load_memory_variables({})["history"]
        assert loaded == history.messages
        assert {type(one) for one in loaded} == {TheirHuman, TheirAI}
    for summing in (
        ours.ConversationSummaryMemory(llm=Scripted(), chat_memory=TheirHistory(), return_messages=True),
        ours.ConversationSummaryBufferMemory(
            llm=Scripted(), chat_memory=TheirHistory(), return_messages=True, max_token_limit=8
        ),
    ):
        shown = saved(summing, [("one two three", "four"), ("five six", "seven")]).load_memory_variables({})["history"]
        assert shown[0].text.startswith("summary")
        assert all(isinstance(one, TheirMessage) for one in shown)


EVERY_MEMORY = [
    ours.ConversationBufferMemory, ours.ConversationBufferWindowMemory, ours.ConversationTokenBufferMemory,
    ours.ConversationSummaryMemory, ours.ConversationSummaryBufferMemory, ours.ConversationEntityMemory,
    ours.ConversationKGMemory, ours.VectorStoreRetrieverMemory,
]  # fmt: skip


@pytest.mark.parametrize("kind", EVERY_MEMORY)
def test_every_memory_takes_langchains_messages_models_and_vector_stores(kind: Any) -> None:
    fields = {"llm": FakeListChatModel(responses=["Anna"])} if "llm" in kind._fields() else {}
    if kind is ours.VectorStoreRetrieverMemory:
        fields = {"retriever": InMemoryVectorStore(DeterministicFakeEmbedding(size=16))}
    memory: Any = kind(**fields)
    turn = {"input": TheirHuman("I am Anna.", id="1")}, {"output": TheirAI("Hello Anna.")}
    memory.save_context(*turn)
    asyncio.run(memory.asave_context(*turn))
    assert set(memory.load_memory_variables(turn[0])) == set(memory.memory_variables)
    if kind is not ours.VectorStoreRetrieverMemory:
        assert memory.chat_memory.messages == [*turn[0].values(), *turn[1].values()] * 2
    memory.clear()
    assert "Hello" not in str(memory.load_memory_variables(turn[0]))


def test_all_names_are_there_without_optional_packages() -> None:
    program = """
import sys
sys.modules |= dict.fromkeys(("sqlalchemy", "redis", "psycopg", "langchain_core", "pydantic"))
from memwell.compat.langchain import *
print(import_sql.__name__, SQLChatMessageHistory.__name__, ConversationBufferMemory(chat_memory=None).buffer == "")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "import_sql SQLChatMessageHistory True\n"


def test_our_prompts_have_the_blanks_of_theirs() -> None:
    with quiet():
        from langchain_classic.memory import prompt
    for name in ours.__all__:
        if name.endswith("_PROMPT"):
            assert set(getattr(ours, name).input_variables) == set(getattr(prompt, name).input_variables)


class Model:
    """The guide's models have ``predict`` and ``get_num_tokens`` and nothing else."""

    def predict(self, prompt: str) -> str:
        return "Anna, Oslo" if prompt.startswith("列出") else f"第{len(prompt)}字的摘要"

    def get_num_tokens(self, text: str) -> int:
        return len(text)


def test_the_guides_summary() -> None:
    prompt = PromptTemplate(
        input_variables=["summary", "new_lines"],
        template="现有摘要：\n{summary}\n\n新的对话内容：\n{new_lines}\n\n新的摘要：",
    )
    memory = ConversationSummaryMemory(llm=Model(), prompt=prompt, summary_message_cls=ours.HumanMessage)
    memory.save_context({"input": "a"}, {"output": "b"})
    memory.return_messages = True
    assert memory.load_memory_variables({}) == {"history": [ours.HumanMessage(memory.buffer)]}
    stats = memory.get_summary_stats()
    assert set(stats) == {
        "summary_count", "total_summary_tokens", "original_message_count", "compression_ratio", "last_summary_time",
        "current_summary_length", "average_compression_ratio",
    }  # fmt: skip
    assert (stats["summary_count"], stats["original_message_count"]) == (1, 2)
    assert stats["compression_ratio"] == len(memory.buffer) / len("Human: aAI: b")
    assert memory.buffer.endswith("的摘要")


def test_the_guides_entities() -> None:
    memory = ConversationEntityMemory(
        llm=Model(),
        entity_extraction_prompt=PromptTemplate(input_variables=["text"], template="列出实体：{text}"),
        entity_summarization_prompt=PromptTemplate(
            input_variables=["entity", "existing_info", "new_context"],
            template="{entity}：{existing_info}\n{new_context}",
        ),
    )
    memory.save_context({"input": "Anna 去了 Oslo"}, {"output": "好"})
    memory.save_context({"input": "Anna 去了 Oslo"}, {"output": "好"})
    assert memory.entity_cache == ["Anna", "Oslo"]
    stats = memory.get_entity_stats()
    assert (stats["total_entities"], stats["active_entities"], stats["extraction_calls"]) == (2, 2, 2)
    store: Any = memory.entity_store
    info = store["Anna"]
    assert isinstance(info, EntityInfo)
    assert set(info.to_dict()) == {"name", "info", "context_count", "created_at", "last_updated", "update_count"}
    assert (info.to_dict()["name"], info.to_dict()["context_count"]) == ("Anna", 2)
    assert "Anna" in store
