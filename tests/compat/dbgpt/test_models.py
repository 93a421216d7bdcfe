from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.fragments import AgentMemoryFragment
from memwell.compat.dbgpt.models import (
    BaseLLMCaller,
    LLMImportanceScorer,
    LLMInsightExtractor,
    ModelRequest,
    parse_list,
    parse_number,
)
from memwell.compat.dbgpt.scoring import ContentImportanceScorer
from memwell.compat.dbgpt.sensory import SensoryMemory
from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.models.scripted import ScriptedChat

FRAGMENT = AgentMemoryFragment("I passed the {exam}")


class Client:
    """A client as DB-GPT has them."""

    def __init__(self, text: str, models: list[str] | None = None, success: bool = True) -> None:
        self.text, self.names, self.success = text, models or ["first", "second"], success
        self.asked: list[ModelRequest] = []

    async def models(self) -> list[Any]:
        return [SimpleNamespace(model=name) for name in self.names]

    async def generate(self, request: ModelRequest, message_converter: Any = None) -> Any:
        self.asked.append(request)
        return SimpleNamespace(text=self.text, success=self.success)


def scored(client: Any, scorer: LLMImportanceScorer[AgentMemoryFragment] | None = None) -> float:
    return asyncio.run((scorer or LLMImportanceScorer()).score_importance(FRAGMENT, client))


async def answers_later(text: str) -> str:
    await asyncio.sleep(0)
    return "6" if FRAGMENT.raw_observation in text else "0"


def hands_over(text: str) -> Any:
    return answers_later(text)


class AnswersLater:
    async def __call__(self, text: str) -> str:
        return await answers_later(text)


def test_any_kind_of_model_is_asked() -> None:
    chat = ScriptedChat(["Rating: 8"])
    assert scored(chat) == 8.0
    assert "I passed the {exam}" in chat.asked[0][0].text
    assert scored(lambda text: "7" if "{exam}" in text else "0") == 7.0
    assert scored(answers_later) == scored(AnswersLater()) == scored(hands_over) == 6.0
    assert scored(Client("5/10")) == 5.0


def test_a_client_gets_a_request() -> None:
    client = Client("5")
    scored(client)
    scored(client, LLMImportanceScorer(model="third"))
    assert [one.model for one in client.asked] == ["first", "third"]
    (message,) = client.asked[0].to_common_messages()
    assert message["role"] == "user"
    assert "{exam}" in message["content"]
    assert client.asked[0].get_messages()[0].role == "human"
    assert not client.asked[0].stream


def test_a_client_of_its_own_is_asked_when_no_other_is_given() -> None:
    scorer = LLMImportanceScorer[AgentMemoryFragment](llm_client=lambda text: "3")
    assert scored(None, scorer) == 3.0
    assert scored(lambda text: "4", scorer) == 4.0


def test_insights_are_the_lines() -> None:
    extractor = LLMInsightExtractor[AgentMemoryFragment]("About {content}: {why}?")
    asked: list[str] = []

    def model(text: str) -> str:
        asked.append(text)
        return "1. Works hard.\n\n - Likes to learn\n2024 was good"

    found = asyncio.run(extractor.extract_insights(FRAGMENT, model))
    assert asked == ["About I passed the {exam}: {why}?"]
    assert [one.raw_observation for one in found.insights] == ["Works hard.", "Likes to learn", "2024 was good"]
    assert asyncio.run(extractor.extract_insights(FRAGMENT, lambda text: " \n")).insights == []


def raises(text: str) -> str:
    raise OSError("no line")


async def raises_later(text: str) -> str:
    raise OSError("no line")


@pytest.mark.parametrize("client", [raises, raises_later, Client("x", success=False)])
def test_a_model_that_fails(client: Any) -> None:
    with pytest.raises(ModelError):
        scored(client)


@pytest.mark.parametrize(
    ("client", "error"), [(None, InvalidInput), (5, InvalidInput), (lambda text: 5, BadModelOutput)]
)
def test_what_cannot_be_asked_or_does_not_answer(client: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        scored(client)


def test_a_client_without_models() -> None:
    client = Client("5")
    client.names = []
    with pytest.raises(InvalidInput, match=r"No models available\."):
        scored(client)
    assert asyncio.run(BaseLLMCaller().get_model(object())) == ""


def test_a_prompt_says_where_the_text_goes() -> None:
    with pytest.raises(InvalidInput, match="content"):
        LLMImportanceScorer("How important?")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", 8.0),
        ("Rating: 7.5 of 10", 7.5),
        ("I say 10.", 10.0),
        ("100", 10.0),
        ("-3", 0.0),
        ("score-4", 4.0),
        ("得分8分", 8.0),
        ("９", 9.0),
        ("none", 0.0),
        ("", 0.0),
    ],
)
def test_the_first_number(text: str, number: float) -> None:
    assert parse_number(text) == number


@given(st.text(max_size=40))
def test_any_answer_can_be_read(text: str) -> None:
    assert 0.0 <= parse_number(text) <= 10.0
    assert all(line and line == line.strip() for line in parse_list(text))


def test_a_memory_asks_its_own_client() -> None:
    memory = SensoryMemory[AgentMemoryFragment]()
    memory.initialize(llm_client=lambda text: "10", importance_scorer=LLMImportanceScorer())
    discarded = memory.write_sync(AgentMemoryFragment("x"))
    assert discarded is not None
    assert discarded.discarded_memory_fragments[0].importance == 9.0


@pytest.mark.parametrize("answer", ["", "I cannot say.", "very important", "十分重要"])
def test_an_answer_without_a_number_leaves_it_to_the_content(answer: str) -> None:
    fragment = AgentMemoryFragment("Anna is allergic to peanuts.")
    by_content = asyncio.run(ContentImportanceScorer[AgentMemoryFragment]().score_importance(fragment))
    scorer = LLMImportanceScorer[AgentMemoryFragment](llm_client=lambda _: answer)
    assert asyncio.run(scorer.score_importance(fragment)) == by_content > 0
    memory = SensoryMemory[AgentMemoryFragment]()
    memory.initialize(importance_scorer=scorer)
    discarded = memory.write_sync(fragment)
    assert discarded is not None
    assert discarded.discarded_memory_fragments == [fragment]


def test_a_real_nought_is_one() -> None:
    assert scored(lambda _: "0") == 0.0


@pytest.mark.parametrize("kind", [LLMImportanceScorer, LLMInsightExtractor, BaseLLMCaller])
def test_a_model_in_the_place_of_the_prompt_is_told(kind: Any) -> None:
    with pytest.raises(InvalidInput, match="llm_client"):
        kind(lambda text: "7")
