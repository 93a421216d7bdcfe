"""The contracts: what a model gets for free by having one method."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from memwell.messages import human
from memwell.models import ChatModel, Completion, Delta
from memwell.models.scripted import HashEmbedder, ScriptedChat, ScriptedReranker


def test_a_model_that_cannot_stream_gives_its_answer_in_one_piece():
    pieces = list(ScriptedChat(["Hello there"]).stream([human("Hi")]))
    assert [piece.text for piece in pieces] == ["Hello there", ""]
    assert pieces[-1].completion is not None
    assert pieces[-1].completion.text == "Hello there"


def test_the_async_twins_do_the_same():
    async def ask() -> tuple[str, list[str], list[float], tuple[int, ...]]:
        chat = ScriptedChat(["one", "two"])
        first = await chat.acomplete([human("Hi")])
        streamed = [piece.text async for piece in chat.astream([human("Hi")])]
        scores = await ScriptedReranker().ascores("red car", ["red car", "blue"])
        return first.text, streamed, scores, (await HashEmbedder(16).aembed(["a", "b"])).shape

    assert asyncio.run(ask()) == ("one", ["two", ""], [1.0, 0.0], (2, 16))


def test_a_reader_who_leaves_early_closes_the_stream():
    closed: list[bool] = []

    class Endless(ScriptedChat):
        def stream(self, messages: object, **options: object) -> Iterator[Delta]:
            try:
                while True:
                    yield Delta("x")
            finally:
                closed.append(True)

    async def leave() -> None:
        pieces = Endless([]).astream([human("Hi")])
        await anext(pieces)
        await pieces.aclose()  # type: ignore[attr-defined]

    asyncio.run(leave())
    assert closed == [True]


def test_a_contract_cannot_be_used_itself():
    with pytest.raises(TypeError, match="complete"):
        ChatModel()  # type: ignore[abstract]
    assert Completion(message=human("x"), model="m").cost is None
