"""Adapters: our memories and histories inside LangChain's own chains and runnables.

A chain takes only subclasses of LangChain's ``BaseMemory``, and prompts and models only LangChain's messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, cast

from memwell.compat.langchain.base import BaseMemory
from memwell.compat.langchain.histories import BaseChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, to_langchain_messages
from memwell.errors import InvalidInput, MissingDependency
from memwell.values import shown


def for_chain(memory: Any) -> Any:
    """The memory as one of LangChain's, as in ``ConversationChain(llm=llm, memory=for_chain(memory))``.

    It passes every call to the memory and has the memory's attributes; messages that it loads are LangChain's own. A memory
    that this function made is returned as it is. Raises ``MissingDependency`` without the package langchain-classic, and
    ``InvalidInput`` for an object that is no memory.
    """
    adapter = _adapter()
    if isinstance(memory, adapter):
        return memory
    if not isinstance(memory, BaseMemory):
        raise InvalidInput(f"expected a memory, not {shown(memory)}")
    return adapter(inner=memory)


def for_runnable(history: Any) -> BaseChatMessageHistory:
    """The chat history with LangChain's own messages, for ``RunnableWithMessageHistory``.

    Only reading differs: it writes to the history. Raises ``InvalidInput`` for an object that is no chat history; reading
    raises ``MissingDependency`` without the package langchain-core.
    """
    if not hasattr(history, "messages") or not hasattr(history, "add_messages"):
        raise InvalidInput(f"a chat history has 'messages' and 'add_messages', which {shown(history)} has not")
    return _RunnableHistory(history)


class _RunnableHistory(BaseChatMessageHistory):
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def messages(self) -> list[Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return to_langchain_messages(self.inner.messages)

    def add_messages(self, messages: Sequence[Any]) -> None:
        self.inner.add_messages(messages)

    def clear(self) -> None:
        self.inner.clear()


def _theirs(value: Any) -> Any:
    """A variable's value; a list of our messages as LangChain's."""
    if not isinstance(value, list):
        return value
    found = cast("list[Any]", value)
    return to_langchain_messages(found) if any(isinstance(one, BaseMessage) for one in found) else found


@cache
def _adapter() -> Any:
    try:
        # Optional: only a program that runs LangChain's chains needs it.
        theirs: Any = import_module("langchain_classic.base_memory").BaseMemory
    except ImportError as error:
        raise MissingDependency("LangChain's chains are in langchain-classic: pip install langchain-classic") from error

    class MemwellMemory(theirs):
        inner: Any

        @property
        def memory_variables(self) -> list[str]:
            return self.inner.memory_variables

        def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
            return {name: _theirs(value) for name, value in self.inner.load_memory_variables(inputs).items()}

        def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
            self.inner.save_context(inputs, outputs)

        def clear(self) -> None:
            self.inner.clear()

        def __getattr__(self, name: str) -> Any:
            # Pydantic looks for names of its own before there is an inner memory.
            if name.startswith("_") or name == "inner":
                raise AttributeError(name)
            return getattr(self.inner, name)

    return MemwellMemory
