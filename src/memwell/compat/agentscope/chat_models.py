"""The model that a memory may ask for a summary: one of ours, a function, or an object of AgentScope's kind."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import AsyncIterable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from memwell._asyncify import block_on
from memwell.compat.agentscope.core_messages import from_core
from memwell.compat.agentscope.messages import Msg
from memwell.errors import BadModelOutput, InvalidInput
from memwell.messages import Message
from memwell.models.callables import as_chat_model
from memwell.models.ports import ChatModel
from memwell.transcript import to_openai
from memwell.values import shown

_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("memwell_agentscope_home", default=None)


@contextmanager
def asking_from_here() -> Generator[None]:
    """Have async models that are asked from threads begun inside run in this event loop, which their connections are of."""
    token = _home.set(asyncio.get_running_loop())
    try:
        yield
    finally:
        _home.reset(token)


def chat_model(model: Any, formatter: Any = None) -> ChatModel | None:
    """The chat model meant, or None for none.

    A model of ours is taken as it is, and so is whatever ``as_chat_model`` takes. An object of AgentScope's kind, known by
    its ``model_name``, is called with what ``formatter`` makes of the messages, or with messages in OpenAI's shape. Raises
    ``InvalidInput`` for anything else.
    """
    if model is None or isinstance(model, ChatModel):
        return model
    name = getattr(model, "model_name", None)
    if hasattr(model, "complete"):
        return as_chat_model(model)
    if not callable(model):
        raise InvalidInput(f"a model must be a ChatModel, a function or one of AgentScope's, not {shown(model)}")
    if isinstance(name, str):

        def ask(messages: Sequence[Message]) -> Any:
            return _at_home_now(_asked(model, formatter, messages))

        return as_chat_model(ask, name=name)
    return as_chat_model(_at_home(model))


def _at_home(function: Callable[[Sequence[Message]], Any]) -> Callable[[Sequence[Message]], Any]:
    def ask(messages: Sequence[Message]) -> Any:
        answer = function(messages)
        return _at_home_now(_awaited(answer)) if inspect.isawaitable(answer) else answer

    ask.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
    return ask


async def _awaited(answer: Any) -> Any:
    return await answer


def _at_home_now(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in the loop of whoever asked, as long as that can wait for it, and else in one of our own."""
    home = _home.get()
    if home is None or home.is_closed() or home is _running():
        return block_on(coroutine)
    return asyncio.run_coroutine_threadsafe(coroutine, home).result()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _asked(model: Callable[..., Any], formatter: Any, messages: Sequence[Message]) -> str:
    answer = model(await _formatted(formatter, messages))
    answer = await answer if inspect.isawaitable(answer) else answer
    if isinstance(answer, AsyncIterable):
        # Every piece of a stream repeats what came before it.
        last: Any = None
        async for piece in cast("AsyncIterable[Any]", answer):
            last = piece
        answer = last
    return _words(answer)


async def _formatted(formatter: Any, messages: Sequence[Message]) -> list[Any]:
    if formatter is None:
        return to_openai(messages)
    make = _message_class(formatter)
    given = [make(one.name, one.content, one.role) for one in map(from_core, messages)]
    made = formatter.format(given)
    return await made if inspect.isawaitable(made) else made


def _message_class(formatter: object) -> Callable[..., Any]:
    """AgentScope's own formatters take messages of its own class alone."""
    theirs = sys.modules.get("agentscope.message") if type(formatter).__module__.startswith("agentscope.") else None
    # Ours otherwise: whoever wrote a formatter for this room expects its messages.
    return getattr(theirs, "Msg", Msg)


def _words(answer: object) -> str:
    """What an answer says: a text, or an object or a dict with blocks; one with data alone says its data as JSON."""
    if isinstance(answer, str):
        return answer
    content, data = _field(answer, "content"), _field(answer, "metadata")
    if isinstance(content, str) and content:
        return content
    blocks = cast("list[Any]", content) if isinstance(content, list | tuple) else []
    texts = [str(_field(block, "text")) for block in blocks if _field(block, "type") == "text"]
    if texts:
        return "\n".join(texts)
    if isinstance(data, Mapping) and data:
        return json.dumps(dict(cast("Mapping[str, Any]", data)), ensure_ascii=False, default=str)
    raise BadModelOutput(f"the model answered without a text: {shown(answer)}")


def _field(answer: object, name: str) -> object:
    return cast("Mapping[str, Any]", answer).get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)


__all__ = ["asking_from_here", "chat_model"]
