"""What all memories share: the four verbs, which of a chain's inputs and outputs is stored, and the conversation below.

A memory over a chat history is a thin view. What was said goes into the history first, so a model that fails later in
the same call loses nothing: the turn is kept, the memory's own state is as it was, and the error is raised.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from memwell._asyncify import asyncify
from memwell.compat.langchain.conversations import conversation
from memwell.compat.langchain.fields import WithFields, made_by
from memwell.compat.langchain.histories import BaseChatMessageHistory, InMemoryChatMessageHistory
from memwell.compat.langchain.message_tools import to_langchain_messages
from memwell.compat.langchain.messages import AIMessage, BaseMessage, HumanMessage, from_core
from memwell.errors import InvalidInput, Unsupported
from memwell.history.reading import HistoryReader
from memwell.messages import Message
from memwell.strategies.state import StrategyState
from memwell.tokens import TokenCounter
from memwell.values import shown


class MissingKey(InvalidInput, KeyError):
    """The inputs or outputs lack the key that a memory was told to use. Nothing was stored."""

    def __str__(self) -> str:
        # A KeyError shows the repr of its message.
        return str(self.args[0])


def get_prompt_input_key(inputs: Mapping[str, Any], memory_variables: Sequence[str]) -> str:
    """The one input key that is neither a memory variable nor ``stop``. Raises ``InvalidInput`` unless there is one."""
    given = check_keys(inputs, "inputs")
    keys = [key for key in given if key not in memory_variables and key != "stop"]
    if len(keys) != 1:
        raise InvalidInput(f"One input key expected got {keys}")
    return keys[0]


def value_of(values: Mapping[str, Any], key: str, what: str) -> Any:
    """The value of a key. Raises ``MissingKey``, which is a ``KeyError``, when there is none."""
    given = check_keys(values, what)
    if key not in given:
        raise MissingKey(f"the {what} have no key {shown(key)}, only {list(given)}")
    return given[key]


def check_keys(values: object, what: str) -> Mapping[str, Any]:
    """Return what a chain handed over when it is a mapping; raises ``InvalidInput`` otherwise."""
    if not isinstance(values, Mapping):
        raise InvalidInput(f"the {what} must be a dict, not {shown(values)}")
    return cast("Mapping[str, Any]", values)


class BaseMemory(WithFields, ABC):
    """What a chain remembers: variables before a run, the run itself afterwards. Async and sync do the same."""

    @property
    @abstractmethod
    def memory_variables(self) -> list[str]:
        """The names that ``load_memory_variables`` gives values for."""

    @abstractmethod
    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What is remembered, by variable, for a run with these inputs."""

    @abstractmethod
    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Remember a run: what went in and what came out."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A memory with a conversation of its own when that is in memory, and with the same one when it is in a store.

        The model is shared. Raises ``Unsupported`` when something in it cannot be copied.
        """
        made = memo[id(self)] = type(self).__new__(type(self))
        fields = vars(self)
        memo[id(fields.get("llm"))] = fields.get("llm")
        try:
            # First of all, because other fields refer to the store it is in.
            deepcopy(fields.get("chat_memory"), memo)
            vars(made).update(deepcopy(fields, memo))
        except TypeError as error:
            raise Unsupported(
                f"this {type(self).__name__} cannot be copied ({error}); make another one over the same chat_memory"
            ) from error
        return made

    aload_memory_variables = asyncify(load_memory_variables)
    asave_context = asyncify(save_context)
    aclear = asyncify(clear)


class BaseChatMemory(BaseMemory, ABC):
    """A memory over a chat history, which may be any object of that shape.

    ``input_key`` and ``output_key`` say which value is stored; without them it must be clear which. ``return_messages``
    makes ``load_memory_variables`` give messages instead of text.
    """

    chat_memory: BaseChatMessageHistory = made_by(InMemoryChatMessageHistory)
    output_key: str | None = None
    input_key: str | None = None
    return_messages: bool = False

    def __init__(self, *args: Any, **given: Any) -> None:
        self._states: dict[str, tuple[BaseChatMessageHistory, StrategyState]] = {}
        super().__init__(*args, **given)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store what went in as a human's message and what came out as a model's, both or neither.

        Raises ``InvalidInput`` when it is not clear which they are, and for content that is neither text nor blocks.
        """
        said, answered = self._get_input_output(inputs, outputs)
        self.chat_memory.add_messages(self._theirs([HumanMessage(said), AIMessage(answered)]))

    def clear(self) -> None:
        """Delete the conversation."""
        self.chat_memory.clear()

    def _get_input_output(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> tuple[Any, Any]:
        said = self._input(inputs)
        return said, value_of(outputs, self._chosen_output_key(outputs), "outputs")

    def _input(self, inputs: Mapping[str, Any]) -> Any:
        key = get_prompt_input_key(inputs, self.memory_variables) if self.input_key is None else self.input_key
        return value_of(inputs, key, "inputs")

    def _chosen_output_key(self, outputs: Mapping[str, Any]) -> str:
        if self.output_key is not None:
            return self.output_key
        given = check_keys(outputs, "outputs")
        if len(given) == 1:
            return next(iter(given))
        if "output" not in given:
            raise InvalidInput(
                f"Got multiple output keys: {given.keys()}, cannot determine which to store in memory. "
                "Please set the 'output_key' explicitly."
            )
        warnings.warn(
            f"'{type(self).__name__}' got multiple output keys: {given.keys()}. The default 'output' key is being used. "
            "If this is not desired, please manually set 'output_key'.",
            stacklevel=5,
        )
        return "output"

    def _conversation(self, counter: TokenCounter | None = None) -> HistoryReader:
        """The conversation as the core reads it, its tokens counted by ``counter`` when one is given."""
        found = conversation(self.chat_memory)
        if counter is None:
            return found
        return HistoryReader(found.backend or found.log, found.thread.id, space=found.thread.space, counter=counter)

    def _state(self, name: str) -> StrategyState:
        """What this memory made of the conversation, kept beside it; for a history without a store, in this object."""
        kept = self._states.get(name)
        if kept is None or kept[0] is not self.chat_memory:
            kept = self._states[name] = (self.chat_memory, StrategyState(self._conversation(), name))
        return kept[1]

    def _shown(self, messages: Iterable[Message]) -> list[BaseMessage]:
        """Core messages as the classes that the history deals in."""
        return self._theirs([from_core(message) for message in messages])

    def _theirs(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """The messages as LangChain's own when the history is one of LangChain's: its models take no others."""
        if not _is_of_langchain(self.chat_memory):
            return messages
        return to_langchain_messages(messages)


def _is_of_langchain(history: object) -> bool:
    return any(kind.__module__.startswith("langchain_core.") for kind in type(history).__mro__)


__all__ = ["BaseChatMemory", "BaseMemory", "MissingKey", "check_keys", "get_prompt_input_key", "value_of"]
