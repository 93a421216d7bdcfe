"""Models' answers: kept when they are answers, and given back as they were."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.cache.keys import CacheConfig
from memwell.compat.dbgpt.cache.llm import (
    LLMCacheClient,
    LLMCacheKey,
    LLMCacheValue,
    LLMCacheValueData,
    ModelOutput,
    is_success_model_output,
)
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.errors import InvalidInput

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
outputs = st.builds(
    ModelOutput,
    error_code=st.just(0),
    text=texts,
    incremental=st.booleans(),
    model_context=st.none() | st.just({"echo": True}),
    finish_reason=st.none() | st.just("stop"),
    usage=st.none() | st.just({"tokens": 3}),
)


@given(texts, outputs | st.lists(outputs, min_size=1, max_size=3), st.none() | texts)
def test_an_answer_comes_back_as_it_was(prompt: str, output: Any, user: str | None):
    client = LLMCacheClient(MemoryCacheStorage(1))
    key = client.new_key(prompt=prompt, model_name="m", temperature=0.1)

    async def use() -> LLMCacheValue | None:
        await client.set(key, client.new_value(output=output, user=user))
        return await client.get(client.new_key(prompt=prompt, model_name="m", temperature=0.1))

    found = asyncio.run(use())
    assert found is not None
    assert found.get_value() == LLMCacheValueData.from_dict(output=output, user=user)
    assert found.get_value().is_list is isinstance(output, list)
    assert "output" in str(found)


@pytest.mark.parametrize("output", [ModelOutput(error_code=1, text="no"), [ModelOutput(0, "a"), ModelOutput(7, "cut")]])
def test_an_answer_that_failed_is_not_kept(output: Any):
    client = LLMCacheClient()
    key = client.new_key(prompt="a", model_name="m")
    client.set_sync(key, client.new_value(output=output))
    assert client.exists_sync(key) is False
    client.set_sync(key, client.new_value(output=ModelOutput(0, "yes")), CacheConfig(ttl=60))
    assert client.exists_sync(key) is True


def test_success_is_told_from_every_form():
    assert is_success_model_output(ModelOutput(0, "a"))
    assert is_success_model_output({"text": "a"})
    assert is_success_model_output([ModelOutput(1, "a"), ModelOutput(0, "b")])
    assert not is_success_model_output({"error_code": "3"})
    assert not is_success_model_output([ModelOutput(0, "a"), ModelOutput(1, "b")])
    assert not is_success_model_output(None)
    assert not is_success_model_output([])
    assert ModelOutput(0, "a").success
    assert not ModelOutput(1, "a").success


def test_an_output_has_a_text_or_a_content():
    parts = [{"type": "text", "object": {"data": "hi", "format": "text"}}]
    assert ModelOutput(**ModelOutput(0, content=parts).to_dict()) == ModelOutput(0, content=parts)
    assert "content" not in ModelOutput(0, "a").to_dict()
    with pytest.raises(InvalidInput, match="Must pass either text or content"):
        ModelOutput(0)
    with pytest.raises(InvalidInput, match="Cannot pass both text and content"):
        ModelOutput(0, "a", parts)


def test_an_output_of_another_library_is_taken_by_its_fields():
    other = SimpleNamespace(to_dict=lambda: {"error_code": 0, "text": "hi", "finish_reason": "stop"})
    assert LLMCacheValue(output=other).get_value().output == ModelOutput(0, "hi", finish_reason="stop")


@pytest.mark.parametrize("fields", [{}, {"output": None}, {"output": []}, {"output": 3}, {"output": [3]}])
def test_a_value_needs_an_output(fields: dict[str, Any]):
    with pytest.raises(InvalidInput):
        LLMCacheValue(**fields)
    with pytest.raises(InvalidInput, match="cannot be made so"):
        LLMCacheValue(output={"error_code": 0, "text": "a"}, colour="red")


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "a"},
        {"model_name": "m"},
        {"prompt": 3, "model_name": "m"},
        {"prompt": "a", "model_name": "m", "colour": "red"},
        {"prompt": "a", "model_name": "m", "temperature": float("nan")},
        {"prompt": "a", "model_name": "m", "top_p": "much"},
    ],
)
def test_a_key_refuses_what_is_none(fields: dict[str, Any]):
    with pytest.raises(InvalidInput):
        LLMCacheKey(**fields)


def test_a_key_has_the_documented_fields():
    assert LLMCacheKey(prompt="a", model_name="m").to_dict() == {
        "prompt": "a",
        "model_name": "m",
        "temperature": 0.7,
        "max_new_tokens": None,
        "top_p": 1.0,
        "model_type": "huggingface",
    }
