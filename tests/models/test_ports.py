"""The contracts: what a model gets for free by having one method."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.messages import Message, ai, human, system
from memwell.models import Completion, as_chat_model, as_embedder, as_reranker
from memwell.models.local import LocalEmbedder
from memwell.models.ports import checked_scores, checked_vectors, embedder_named, offer_embedder
from memwell.models.scripted import HashEmbedder, ScriptedChat, ScriptedReranker
from tests.senses import Sense

# Nothing a model says is believed.


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-100, 100, width=32)))
def test_vectors_come_out_at_unit_length_or_zero(rows: np.ndarray):
    found = checked_vectors(rows.tolist(), 3, "m", 4)
    lengths = np.linalg.norm(found, axis=1)
    expected = np.linalg.norm(rows.astype(float), axis=1) > 0
    assert np.allclose(lengths, expected, atol=1e-5)


@pytest.mark.parametrize(
    "value",
    [
        None, "vector", 7, [], [[1.0, 2.0]], [[1.0], [1.0, 2.0]], [[1.0, math.nan], [1.0, 2.0]],
        [[1.0, math.inf], [1.0, 2.0]], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [["a", "b"], ["c", "d"]], [[], []],
        [[1e300, 1e300], [1e308, 1e308]], [{"embedding": [1, 2]}, {"embedding": [1, 2]}],
        [[True, False], [True, True]], [None, None], np.zeros((2, 2, 2)), [[10**400, 1], [1, 1]],
    ],
)  # fmt: skip
def test_vectors_that_are_none_are_refused(value: object):
    with np.errstate(over="ignore"), pytest.raises(BadModelOutput, match="the model"):
        checked_vectors(value, 2, "the model", 2)


@pytest.mark.parametrize("value", [None, 5, "ab", [1.0], [1.0, "x"], [1.0, math.nan], [1, None], [[1], [2]]])
def test_scores_that_are_none_are_refused(value: object):
    with pytest.raises(BadModelOutput, match="the model"):
        checked_scores(value, 2, "the model")
    assert checked_scores(iter([1, 2.5]), 2, "m") == [1.0, 2.5]


@pytest.mark.parametrize("mode", ["local", "minilm", "use"])
def test_what_comes_along_is_known_by_its_name(mode: str):
    name = LocalEmbedder(mode).name  # type: ignore[arg-type]
    for known in (mode, name):
        found = embedder_named(known)
        assert found is not None
        assert found.name == name
    for size in (8, 64, 1000):
        scripted = embedder_named(HashEmbedder(size).name)
        assert scripted is not None
        assert scripted.dimensions == size


@pytest.mark.parametrize("name", ["", "hash-3-1", "hash-64-0", "hash-64", "hash-٦٤-1", "Local", "gpt"])
def test_a_name_that_nobody_has_is_not_known_until_it_is_offered(name: str):
    assert embedder_named(name) is None
    mine = Sense(f"mine and nobody else's {name}")
    assert embedder_named(mine.name) is None
    offer_embedder(mine)
    assert embedder_named(mine.name) is mine


# A user's function serves as any of the three models, blocking or async, and what it answers is checked.


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


async def async_lengths(texts: list[str]) -> list[list[float]]:
    return lengths(texts)


class Encoder:
    name = "encoder-2"

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.array(lengths(texts))


@pytest.mark.parametrize("thing", [lengths, async_lengths, Encoder()])
def test_any_function_embeds(thing: Any):
    embedder = as_embedder(thing)
    assert embedder.dimensions == 2
    assert np.allclose(embedder.embed(["abc"]), [[0.9486833, 0.31622777]])
    assert embedder.embed([]).shape == (0, 2)
    assert as_embedder(embedder) is embedder


def test_dimensions_may_not_change():
    answers = iter([[[1.0, 2.0]], [[1.0, 2.0, 3.0]]])
    embedder = as_embedder(lambda texts: next(answers))
    embedder.embed(["a"])
    with pytest.raises(BadModelOutput, match="3 numbers, not 2"):
        embedder.embed(["b"])


def test_what_a_function_raises_is_a_model_error():
    def broken(texts: list[str]) -> object:
        raise KeyError("weights")

    with pytest.raises(ModelError, match="KeyError") as raised:
        as_embedder(broken).embed(["a"])
    assert isinstance(raised.value.__cause__, KeyError)


def test_options_reach_a_function_that_names_them():
    seen: dict[str, Any] = {}

    def answer(messages: list[Message], max_tokens: int = 0) -> str:
        seen["max_tokens"] = max_tokens
        return messages[-1].text.upper()

    chat = as_chat_model(answer)
    assert chat.complete([human("hi")], max_tokens=5, temperature=0.1).text == "HI"
    assert seen == {"max_tokens": 5}

    def everything(messages: list[Message], **options: Any) -> Message:
        seen.update(options)
        return ai("ok")

    as_chat_model(everything).complete([human("hi")], temperature=0.5)
    assert seen["temperature"] == 0.5


class Prompted:
    """A model of another library: it takes one text, and answers with a text, or a message that has one."""

    def __init__(self, method: str, answer: Any) -> None:
        self.heard: list[str] = []
        setattr(self, method, lambda prompt: self.heard.append(prompt) or answer)


@pytest.mark.parametrize("method", ["invoke", "predict"])
@pytest.mark.parametrize("answer", ["yes", SimpleNamespace(text="yes"), SimpleNamespace(content="yes")])
def test_a_model_that_takes_a_prompt_hears_the_messages_as_one_text(method: str, answer: Any):
    model = Prompted(method, answer)
    chat = as_chat_model(model)
    assert chat.complete([human("hi")], max_tokens=5).text == "yes"
    chat.complete([system("Be brief."), human("hi"), ai("hello"), human("who?")])
    chat.complete([system("简短。"), human("你是谁？")])
    assert model.heard == ["hi", "Be brief.\n\nUser: hi\n\nAssistant: hello\n\nUser: who?", "简短。\n\n用户：你是谁？"]
    assert chat.name == "Prompted"
    with pytest.raises(BadModelOutput, match="answered"):
        as_chat_model(Prompted(method, 3)).complete([human("hi")])


def test_an_async_function_answers():
    async def answer(messages: list[Message]) -> Completion:
        return Completion(message=ai("yes"), model="other", cost=2.0)

    found = as_chat_model(answer, name="n").complete([human("?")])
    assert (found.text, found.model, found.cost) == ("yes", "other", 2.0)


def test_a_function_reranks():
    reranker = as_reranker(lambda query, texts: [len(query) - len(text) for text in texts])
    assert reranker.scores("abc", ["a", "abcd"]) == [2.0, -1.0]
    assert reranker.scores("abc", []) == []
    with pytest.raises(BadModelOutput, match="1 scores for 2"):
        as_reranker(lambda query, texts: [1.0]).scores("q", ["a", "b"])


def test_what_is_no_model_is_refused():
    for adapt in (as_embedder, as_chat_model, as_reranker):
        with pytest.raises(InvalidInput, match="must be a function"):
            adapt(3)
    for model, adapt in ((HashEmbedder(), as_embedder), (ScriptedChat([]), as_chat_model)):
        assert adapt(model) is model
    reranker = ScriptedReranker()
    assert as_reranker(reranker) is reranker
