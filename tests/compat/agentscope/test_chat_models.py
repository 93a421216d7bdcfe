from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from memwell._asyncify import run_blocking
from memwell.compat.agentscope.chat_models import asking_from_here, chat_model
from memwell.compat.agentscope.messages import Msg
from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.messages import Message, human, system
from memwell.models.ports import ChatModel
from memwell.models.scripted import ScriptedChat

ASKED = [system("Be brief."), human("How are you?")]


class TheirModel:
    """What AgentScope's models look like from outside."""

    model_name = "theirs-1"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []
        self.loops: list[Any] = []

    async def __call__(self, messages: list[Any]) -> Any:
        self.asked.append(messages)
        self.loops.append(asyncio.get_running_loop())
        return self.answer


def response(text: str) -> Any:
    return SimpleNamespace(
        content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}], metadata=None
    )


async def stream(*texts: str) -> AsyncIterator[Any]:
    for text in texts:
        yield response(text)


def asked(model: Any, formatter: Any = None) -> str:
    made = chat_model(model, formatter)
    assert isinstance(made, ChatModel)
    return made.complete(ASKED).text


def test_a_model_of_ours_and_none_are_taken_as_they_are():
    ours = ScriptedChat(["fine"])
    assert chat_model(ours) is ours
    assert chat_model(None) is None


def test_functions_may_be_blocking_or_async():
    async def later(messages: Sequence[Message]) -> str:
        return messages[-1].text

    assert asked(lambda messages: messages[-1].text) == "How are you?"
    assert asked(later) == "How are you?"
    assert chat_model(later).name.endswith("later")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (response("fine"), "fine"),
        ({"content": "fine"}, "fine"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        (SimpleNamespace(content=[], metadata={"compressed_text": "好"}), '{"compressed_text": "好"}'),
        ("fine", "fine"),
    ],
)
def test_an_object_of_agentscopes_kind_is_asked_in_openais_shape(answer: Any, text: str):
    model = TheirModel(answer)
    assert asked(model) == text
    assert model.asked == [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How are you?"}]]
    assert chat_model(model).name == "theirs-1"  # type: ignore[union-attr]


def test_the_last_piece_of_a_stream_is_the_answer():
    assert asked(TheirModel(stream("f", "fi", "fine"))) == "fine"


def test_a_formatter_gets_messages_of_the_room_or_of_agentscope(monkeypatch: pytest.MonkeyPatch):
    class Formatter:
        async def format(self, msgs: list[Any]) -> list[Any]:
            return [(type(one), one.name, one.content, one.role) for one in msgs]

    class TheirMsg(Msg):
        pass

    class TheirFormatter(Formatter):
        __module__ = "agentscope.formatter"

    model = TheirModel("fine")
    asked(model, Formatter())
    assert model.asked[-1] == [(Msg, "system", "Be brief.", "system"), (Msg, "user", "How are you?", "user")]
    module = ModuleType("agentscope.message")
    module.Msg = TheirMsg  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agentscope.message", module)
    asked(model, TheirFormatter())
    assert [kind for kind, *_ in model.asked[-1]] == [TheirMsg, TheirMsg]


def test_an_async_model_runs_in_the_loop_of_whoever_asks():
    model = TheirModel("fine")
    made = chat_model(model)
    assert made is not None

    async def ask() -> None:
        with asking_from_here():
            answer = await run_blocking(lambda: made.complete(ASKED))
        assert answer.text == "fine"
        assert model.loops == [asyncio.get_running_loop()]

    asyncio.run(ask())
    # Without anybody who waits it runs in a loop of ours.
    assert made.complete(ASKED).text == "fine"


def test_asking_from_the_loop_itself_does_not_wait_for_ever():
    made = chat_model(TheirModel("fine"))
    assert made is not None

    async def ask() -> str:
        with asking_from_here():
            return made.complete(ASKED).text

    assert asyncio.run(ask()) == "fine"


@pytest.mark.parametrize("answer", [None, {}, SimpleNamespace(content=[], metadata=None), SimpleNamespace(content="")])
def test_an_answer_without_words_is_a_bad_one(answer: Any):
    with pytest.raises(BadModelOutput, match="without a text"):
        asked(TheirModel(answer))


def test_what_a_model_raises_is_a_model_error():
    class Broken(TheirModel):
        async def __call__(self, messages: list[Any]) -> Any:
            raise OSError("no line")

    with pytest.raises(ModelError, match="no line"):
        asked(Broken(None))


def test_what_is_no_model_is_refused():
    for bad in (3, "gpt", SimpleNamespace(model_name="x")):
        with pytest.raises(InvalidInput, match="a model must be"):
            chat_model(bad)
