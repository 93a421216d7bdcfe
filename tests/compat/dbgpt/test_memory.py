"""The contract of a memory, and the scorers and extractors it asks."""

from __future__ import annotations

import asyncio
import math
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from memwell.compat.dbgpt.fragments import (
    AgentMemoryFragment,
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.memory import (
    BaseLLMCaller,
    ContentImportanceScorer,
    ImportanceScorer,
    InsightExtractor,
    LLMImportanceScorer,
    LLMInsightExtractor,
    ModelRequest,
)
from memwell.compat.dbgpt.short_term import SensoryMemory, ShortTermMemory
from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.models.scripted import ScriptedChat


class Plain(ShortTermMemory[AgentMemoryFragment]):
    """A memory that concludes something from every fragment."""

    async def write(
        self,
        memory_fragment: AgentMemoryFragment,
        now: datetime | None = None,
        op: WriteOperation = WriteOperation.ADD,
    ) -> DiscardedMemoryFragments[AgentMemoryFragment]:
        await super().write(memory_fragment, now, op)
        return DiscardedMemoryFragments([], [InsightMemoryFragment(memory_fragment, ["so it is"])])


class Together(InsightExtractor[AgentMemoryFragment]):
    """Answers only once so many have asked: it would wait for ever if they came one by one."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.asked: list[Any] = []
        self.all_asked = asyncio.Event()

    async def extract_insights(
        self, memory_fragment: AgentMemoryFragment, llm_client: Any = None
    ) -> InsightMemoryFragment[AgentMemoryFragment]:
        self.asked.append(llm_client)
        if len(self.asked) == self.expected:
            self.all_asked.set()
        await asyncio.wait_for(self.all_asked.wait(), 60)
        return InsightMemoryFragment(memory_fragment, [memory_fragment.raw_observation.upper()])


class Gives(ImportanceScorer[AgentMemoryFragment], InsightExtractor[AgentMemoryFragment]):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
        return self.answer

    async def extract_insights(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
        return self.answer


def fragments(*texts: str) -> list[AgentMemoryFragment]:
    return [AgentMemoryFragment(text) for text in texts]


def test_initialize_and_clone() -> None:
    memory, scorer = Plain(), Gives(1)
    memory.initialize("agent", "client", scorer, scorer, AgentMemoryFragment, "session")
    clone = memory.structure_clone()
    assert (clone.name, clone.llm_client, clone.session_id) == ("agent", "client", "session")
    assert clone.importance_scorer is clone.insight_extractor is scorer
    assert clone.real_memory_fragment_class is AgentMemoryFragment
    memory.initialize()
    assert (memory.name, memory.session_id, clone.name) == (None, None, "agent")


def test_the_class_must_be_set() -> None:
    with pytest.raises(InvalidInput, match=r"The real memory fragment class is not set\."):
        _ = Plain().real_memory_fragment_class


def test_a_batch_hands_on_lone_insights() -> None:
    discarded = Plain().write_batch_sync(fragments("a", "b"))
    assert discarded is not None
    assert discarded.discarded_memory_fragments == []
    assert [one.insights[0].raw_observation for one in discarded.discarded_insights] == ["so it is"] * 2
    assert Plain().write_batch_sync([]) is None


def test_the_blocking_twins_do_the_same() -> None:
    memory = Plain()
    (one,) = fragments("a")
    memory.write_sync(one)
    assert memory.read_sync("a") == [one] == asyncio.run(memory.read("a"))
    assert memory.reflect_sync([one]) == [one]
    assert memory.clear_sync() == [one]
    assert memory.read_sync("a") == []


def test_insights_are_asked_for_at_once_and_come_in_order() -> None:
    async def run() -> list[str]:
        memory = Plain()
        memory.insight_extractor = Together(3)
        memory.llm_client = "client"
        found = await memory.get_insights(fragments("a", "b", "c"))
        assert memory.insight_extractor.asked == ["client"] * 3
        return [one.insights[0].raw_observation for one in found]

    assert asyncio.run(run()) == ["A", "B", "C"]


def test_nothing_concluded_is_no_error() -> None:
    memory = Plain()
    assert memory.get_insights_sync(fragments("a")) == []
    memory.insight_extractor = Gives(None)
    (found,) = memory.get_insights_sync(fragments("a"))
    assert found.insights == []


def test_what_is_no_insight_is_refused() -> None:
    memory = Plain()
    memory.insight_extractor = Gives(["a"])
    with pytest.raises(InvalidInput, match="InsightMemoryFragment"):
        memory.get_insights_sync(fragments("a"))


def test_scores_are_weighted() -> None:
    memory = Plain()
    assert memory.score_memory_importance_sync(fragments("a", "b")) == [0.75, 0.75]
    memory.importance_scorer = Gives(8)
    memory.importance_weight = 0.5
    assert memory.score_memory_importance_sync(fragments("a")) == [4.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "8", True])
def test_a_score_is_a_finite_number(bad: object) -> None:
    memory = Plain()
    memory.importance_scorer = Gives(bad)
    with pytest.raises(InvalidInput, match="a score must be a finite number"):
        memory.score_memory_importance_sync(fragments("a"))


def test_when_one_fails_the_others_are_not_left_running() -> None:
    left: list[str] = []

    class Fails(Gives):
        async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
            if memory_fragment.raw_observation == "bad":
                raise KeyError("bad")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                left.append(memory_fragment.raw_observation)
                raise

    async def run() -> None:
        memory = Plain()
        memory.importance_scorer = Fails(1)
        with pytest.raises(KeyError):
            await memory.score_memory_importance(fragments("a", "bad", "c"))
        await asyncio.sleep(0)

    asyncio.run(run())
    assert left == ["a", "c"]


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


def score(text: str) -> float:
    return asyncio.run(ContentImportanceScorer().score_importance(AgentMemoryFragment(text)))


def test_what_matters_scores_more() -> None:
    assert (
        score("I am allergic to peanuts and my doctor is Anna Berg.")
        > score("Well, that was a nice day.")
        > score("ok")
    )
    assert score("我对花生过敏，必须记住。") > score("好的")
