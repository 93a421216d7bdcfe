"""``MemwellCache`` passes langchain's suites; what a model answered comes back as it was."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.caches import BaseCache
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from langchain_tests.integration_tests.cache import AsyncCacheTestSuite, SyncCacheTestSuite

from memwell.integrations.langchain_core import MemwellCache
from memwell.storage import Backend, open_backend

CALL = {"name": "weather", "args": {"city": "巴黎"}, "id": "call-1", "type": "tool_call"}
USAGE = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
ANSWERS: list[list[Generation]] = [
    [],
    [Generation(text="")],
    [Generation(text="one", generation_info={"finish_reason": "stop"}), Generation(text="two")],
    [GenerationChunk(text="part", generation_info={"a": [1, 2.5, None]})],
    [
        ChatGeneration(
            message=AIMessage(
                [{"type": "text", "text": "Let me see."}, {"type": "reasoning", "reasoning": "…"}],
                tool_calls=[CALL],
                usage_metadata=USAGE,
                response_metadata={"model_name": "m", "logprobs": None},
                id="run-1",
                name="assistant",
            ),
            generation_info={"finish_reason": "tool_calls"},
        )
    ],
    [ChatGenerationChunk(message=AIMessageChunk(content="par", id="run-2", chunk_position="last"))],
]


class TestSync(SyncCacheTestSuite):
    @pytest.fixture
    def cache(self, backend: Backend) -> MemwellCache:
        return MemwellCache(backend)


class TestAsync(AsyncCacheTestSuite):
    @pytest.fixture
    def cache(self, backend: Backend) -> MemwellCache:
        return MemwellCache(backend)


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_comes_back_as_it_was(backend: Backend, answer: list[Generation]):
    cache = MemwellCache(backend)
    assert isinstance(cache, BaseCache)
    cache.update("prompt", "model", answer)
    found = cache.lookup("prompt", "model")
    assert found == answer
    assert [type(one) for one in found or ()] == [type(one) for one in answer]


ODD = st.text(st.sampled_from('a",:1\\\ud800é安\x00'), max_size=4)


@given(text=ODD, cuts=st.tuples(st.integers(0, 4), st.integers(0, 4)), other=st.tuples(ODD, ODD))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_question_gets_the_answer_of_another(
    backend: Backend, text: str, cuts: tuple[int, int], other: tuple[str, str]
):
    cache = MemwellCache(backend)
    cache.clear()
    one, shifted = ((text[:cut], text[cut:]) for cut in cuts)
    cache.update(*one, [Generation(text="one")])
    for question in (shifted, other, (r"\ud800", ""), ("\ud800", "")):
        assert (cache.lookup(*question) is None) == (question != one)


class Strange(Generation):
    """A subclass that nobody here knows."""


@pytest.mark.parametrize(
    "answer",
    [Generation(text="x", generation_info={"object": object()}), Generation(text="\x00"), Strange(text="x")],
    ids=["object", "NUL", "subclass"],
)
def test_what_cannot_be_kept_is_asked_for_again(backend: Backend, answer: Generation):
    cache = MemwellCache(backend)
    cache.update("prompt", "model", [answer])
    assert cache.lookup("prompt", "model") is None


@pytest.mark.parametrize("stored", [7, [7], [{}], [{"kind": "os.system"}], [{"kind": "ChatGeneration"}], b"raw"])
def test_an_entry_that_cannot_be_read_is_a_miss(backend: Backend, stored: Any):
    cache = MemwellCache(backend)
    cache.update("prompt", "model", [Generation(text="x")])
    (entry,) = backend.kv.scan(cache.space).items
    backend.kv.put(cache.space, entry.key, stored)
    assert cache.lookup("prompt", "model") is None


def test_clear_leaves_other_spaces_alone(backend: Backend):
    ours, theirs = MemwellCache(backend, space="ours"), MemwellCache(backend, space="theirs")
    for number in range(3):
        ours.update(str(number), "model", [Generation(text="x")])
    theirs.update("0", "model", [Generation(text="kept")])
    ours.clear()
    assert backend.kv.scan(ours.space).items == []
    assert theirs.lookup("0", "model") == [Generation(text="kept")]


def test_an_answer_lasts_as_long_as_it_is_told_to(backend: Backend):
    cache = MemwellCache(backend, ttl=3600)
    cache.update("prompt", "model", [Generation(text="x")])
    (entry,) = backend.kv.scan(cache.space).items
    assert entry.expires is not None


def test_a_chat_model_is_asked_once(tmp_path):
    def asked(*answers: str) -> tuple[str, str]:
        with open_backend(tmp_path / "cache.db") as opened:
            model = GenericFakeChatModel(messages=iter(answers), cache=MemwellCache(opened))
            first = model.invoke([HumanMessage("Hello?")]).text
            return first, asyncio.run(model.ainvoke([HumanMessage("Hello?")])).text

    assert asked("first", "second") == ("first", "first")
    # After a restart too.
    assert asked("third") == ("first", "first")
