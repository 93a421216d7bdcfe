"""Scorers and extractors that ask a language model.

A model is a memwell ``ChatModel``, a function from a text to a text (blocking or async), or an object with an async
``generate(request)`` whose answer has a ``text``, as DB-GPT's clients have.
"""

from __future__ import annotations

import inspect
import logging
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

from memwell._asyncify import run_blocking
from memwell.compat.dbgpt.fragments import InsightMemoryFragment, MemoryFragment
from memwell.compat.dbgpt.model_messages import ModelMessage
from memwell.compat.dbgpt.scoring import ContentImportanceScorer, ImportanceScorer, InsightExtractor
from memwell.errors import BadModelOutput, InvalidInput, MemwellError, ModelError
from memwell.messages import human
from memwell.models.ports import ChatModel
from memwell.values import shown

T = TypeVar("T", bound=MemoryFragment)

_log = logging.getLogger("memwell.compat.dbgpt")
_CONTENT = "{content}"
_NUMBER = re.compile(r"(?:(?<![\w-])-)?\d+(?:\.\d+)?")
_ITEM = re.compile(r"\s*(?:\d+\s*[.)、．）]|[-*•])\s*")
_HIGHEST = 10.0


@dataclass
class ModelRequest:
    """What a model is asked."""

    model: str
    messages: list[ModelMessage]
    temperature: float | None = None
    top_p: float | None = None
    max_new_tokens: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    context_len: int | None = None
    echo: bool | None = False
    span_id: str | None = None
    context: Any = None
    stream: bool = field(default=False, kw_only=True)

    @classmethod
    def build_request(cls, model: str, messages: list[ModelMessage], **options: Any) -> Self:
        """A request of these messages."""
        return cls(model, list(messages), **options)

    def get_messages(self) -> list[ModelMessage]:
        """The messages."""
        return list(self.messages)

    def to_common_messages(self, support_system_role: bool = True) -> list[dict[str, Any]]:
        """The messages in OpenAI's shape."""
        return ModelMessage.to_common_messages(self.messages, support_system_role=support_system_role)


class BaseLLMCaller:
    """Asks a model. ``prompt`` says what, with ``{content}`` where the text goes; ``model`` which one, if it has several.

    ``llm_client`` is asked when a call brings no other. Raises ``InvalidInput`` for a prompt without ``{content}`` or that
    is no text.
    """

    prompt: str = _CONTENT
    model: str | None = None

    def __init__(self, prompt: str | None = None, model: str | None = None, llm_client: Any = None) -> None:
        self.prompt = self.prompt if prompt is None else prompt
        if not isinstance(self.prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a prompt must be text, not {shown(self.prompt)}; a model is given as llm_client=…")
        if _CONTENT not in self.prompt:
            raise InvalidInput(f"a prompt must say where the text goes with {_CONTENT}: {shown(self.prompt)}")
        self.model = model or self.model
        self.llm_client = llm_client

    async def call_llm(self, prompt: str, llm_client: Any = None, **kwargs: str) -> str:
        """The model's answer to a prompt, with ``{name}`` replaced for every keyword argument.

        Raises ``InvalidInput`` without a client, ``ModelError`` when the model fails and ``BadModelOutput`` when it does
        not answer in text.
        """
        client = self.llm_client if llm_client is None else llm_client
        if client is None:
            raise InvalidInput("LLM client is required.")
        text = _filled(prompt, kwargs)
        try:
            answer = await self._answer(client, text)
        except MemwellError:
            raise
        except Exception as error:
            # A stranger's code may raise anything, and one failing model must look like any other.
            raise ModelError(f"the model failed: {type(error).__name__}: {shown(str(error))}") from error
        if not isinstance(answer, str):
            raise BadModelOutput(f"the model did not answer in text: {shown(answer)}")
        return answer

    async def _answer(self, client: Any, text: str) -> Any:
        if isinstance(client, ChatModel):
            return (await client.acomplete([human(text)])).text
        if callable(getattr(client, "generate", None)):
            return await self._generated(client, text)
        if callable(client):
            return await _called(client, text)
        raise InvalidInput(f"a model must be a ChatModel, a function or have 'generate', not {shown(client)}")

    async def _generated(self, client: Any, text: str) -> Any:
        model = self.model or await self.get_model(client)
        request = ModelRequest.build_request(model, [ModelMessage.build_human_message(text)])
        output = await client.generate(request)
        if not getattr(output, "success", True):
            raise ModelError(f"Call LLM failed. {shown(getattr(output, 'text', output))}")
        return output.text

    async def get_model(self, llm_client: Any) -> str:
        """The name of the client's first model, empty when it does not say; raises ``InvalidInput`` when it has none."""
        if not callable(getattr(llm_client, "models", None)):
            return ""
        models = await llm_client.models()
        if not models:
            raise InvalidInput("No models available.")
        self.model = str(models[0].model)
        return self.model


class LLMInsightExtractor(BaseLLMCaller, InsightExtractor[T]):
    """Asks a model what follows from a fragment. Every line of the answer is an insight; its number or dash goes."""

    prompt: str = (
        "Below is something an agent remembers. What does it show beyond what it says? Answer in one sentence, in the "
        "language of the text, and do not repeat it.\n\n{content}\n\nAnswer:"
    )

    async def extract_insights(self, memory_fragment: T, llm_client: Any = None) -> InsightMemoryFragment[T]:
        answer = await self.call_llm(self.prompt, llm_client, content=memory_fragment.raw_observation)
        return InsightMemoryFragment(memory_fragment, parse_list(answer))


class LLMImportanceScorer(BaseLLMCaller, ImportanceScorer[T]):
    """Asks a model how much a fragment matters: the first number of the answer, no less than 0 and no more than 10.

    An answer without a number says nothing: then the content decides, as with ``ContentImportanceScorer``.
    """

    prompt: str = (
        "How important is it to remember the following? Facts, events, skills learnt, feelings and intentions count; small "
        "talk does not. Answer with one whole number from 1 to 10.\n\n{content}\n\nNumber:"
    )

    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        answer = await self.call_llm(self.prompt, llm_client, content=memory_fragment.raw_observation)
        if _NUMBER.search(answer) is None:
            _log.warning("the model gave no number for an importance but %s; the content decides", shown(answer))
            return await ContentImportanceScorer[T]().score_importance(memory_fragment)
        return parse_number(answer)


def parse_list(text: str) -> list[str]:
    """The lines of an answer that say something, without the number or dash they begin with."""
    lines = (_ITEM.sub("", line, count=1) if _ITEM.match(line) else line for line in text.splitlines())
    return [line.strip() for line in lines if line.strip()]


def parse_number(text: str) -> float:
    """The first number of an answer, held between 0 and 10; 0 when there is none."""
    found = _NUMBER.search(text)
    return min(max(float(found[0]), 0.0), _HIGHEST) if found else 0.0


def _filled(prompt: str, values: dict[str, str]) -> str:
    # In one pass, and not with str.format: braces in the text or the prompt are the user's own.
    names = "|".join(re.escape(name) for name in values)
    return re.sub(rf"\{{({names})\}}", lambda found: values[found[1]], prompt) if names else prompt


async def _called(client: Any, text: str) -> Any:
    if inspect.iscoroutinefunction(client):
        return await client(text)
    # A blocking function would hold up everybody in this loop.
    answer = await run_blocking(partial(client, text))
    return await answer if inspect.isawaitable(answer) else answer


__all__ = [
    "BaseLLMCaller",
    "LLMImportanceScorer",
    "LLMInsightExtractor",
    "ModelRequest",
    "parse_list",
    "parse_number",
]
