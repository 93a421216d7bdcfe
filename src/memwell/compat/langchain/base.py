"""The base classes of all memories: fields given by keyword, the four methods, and the conversation of a chat memory.

A turn is stored before a model is called. When the model fails, the turn stays stored, the memory's own state is unchanged,
and the error is raised.
"""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar, cast

from memwell._asyncify import asyncify
from memwell.compat.langchain.histories import BaseChatMessageHistory, InMemoryChatMessageHistory, conversation
from memwell.compat.langchain.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    from_core,
    is_message,
    to_langchain_messages,
)
from memwell.errors import InvalidInput
from memwell.history.reading import HistoryReader
from memwell.messages import Message
from memwell.tokens import TokenCounter
from memwell.transcript.langchain import apart
from memwell.values import check_type, shown

T = TypeVar("T")
_MISSING: Any = object()


class MissingKey(InvalidInput, KeyError):
    """The inputs or outputs lack the key that the memory is set to use. Nothing was stored."""

    def __str__(self) -> str:
        # A KeyError shows the repr of its message.
        return str(self.args[0])


def get_prompt_input_key(inputs: Mapping[str, Any], memory_variables: Sequence[str]) -> str:
    """The one input key that is neither a memory variable nor ``stop``. Raises ``InvalidInput`` unless there is one."""
    keys = [key for key in check_keys(inputs, "inputs") if key not in memory_variables and key != "stop"]
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
    """The inputs or outputs of a chain. Raises ``InvalidInput`` when they are no mapping."""
    check_type(values, Mapping, f"the {what} must be a dict")
    return cast("Mapping[str, Any]", values)


def made_by(make: Callable[[], T]) -> T:
    """A default that every object makes for itself by calling ``make``."""
    return cast(T, partial(make))


class WithFields:
    """An object whose annotated class attributes are fields given by keyword, as in a pydantic model.

    A field without a default must be given. A subclass adds fields, or gives another default by plain assignment. Raises
    ``InvalidInput`` for an unknown keyword, naming the fields, and for a missing field.
    """

    _positional: ClassVar[tuple[str, ...]] = ()
    """The fields that may also be given by position, in this order."""

    def __init__(self, *args: Any, **given: Any) -> None:
        given = self._named(args, given)
        known = self._fields()
        if unknown := next((name for name in given if name not in known), None):
            raise InvalidInput(f"{type(self).__name__} has no field {unknown!r}; its fields are {', '.join(known)}")
        for name in known:
            # None stands for a default that each object makes for itself, such as a new history.
            is_given = name in given and (
                given[name] is not None or not isinstance(getattr(type(self), name, 0), partial)
            )
            setattr(self, name, given[name] if is_given else self._default(name))

    def _named(self, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
        most = len(self._positional)
        if len(args) > most:
            raise InvalidInput(f"{type(self).__name__} takes {most} values without a name, not {len(args)}")
        named = dict(zip(self._positional, args, strict=False))
        if twice := named.keys() & given.keys():
            raise InvalidInput(f"{type(self).__name__} got {', '.join(sorted(twice))} twice")
        return {**named, **given}

    @classmethod
    def _fields(cls) -> list[str]:
        """The names of the fields, those of the base classes first."""
        found: dict[str, None] = {}
        for one in reversed(cls.__mro__):
            for name, kind in inspect.get_annotations(one).items():
                if not name.startswith("_") and "ClassVar" not in str(kind):
                    found[name] = None
        # What a subclass turned into a property is no longer a field.
        return [name for name in found if not isinstance(getattr(cls, name, None), property)]

    def _default(self, name: str) -> Any:
        default = getattr(type(self), name, _MISSING)
        if default is _MISSING:
            raise InvalidInput(f"{type(self).__name__} needs {name!r}: Field required")
        if isinstance(default, partial):
            return default()  # pyright: ignore[reportUnknownVariableType]
        # A list in the class would be shared by all objects.
        return copy(default) if isinstance(default, list | dict | set) else default  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    def __repr__(self) -> str:
        shows = ", ".join(f"{name}={shown(getattr(self, name, None))}" for name in self._fields())
        return f"{type(self).__name__}({shows})"


class BaseMemory(WithFields, ABC):
    """The memory of a chain: it gives variables before a run and stores the run afterwards."""

    @property
    @abstractmethod
    def memory_variables(self) -> list[str]:
        """The names that ``load_memory_variables`` gives values for."""

    @abstractmethod
    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The values of the memory's variables for a run with these inputs."""

    @abstractmethod
    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the inputs and outputs of a run."""

    @abstractmethod
    def clear(self) -> None:
        """Delete everything stored."""

    def _input(self, inputs: Mapping[str, Any]) -> Any:
        """The value of ``input_key``; without that field, of the one key that can be meant."""
        key: str | None = getattr(self, "input_key", None)
        key = get_prompt_input_key(inputs, self.memory_variables) if key is None else key
        return value_of(inputs, key, "inputs")

    aload_memory_variables = asyncify(load_memory_variables)
    asave_context = asyncify(save_context)
    aclear = asyncify(clear)


class OneVariable(BaseMemory, ABC):
    """A memory that gives one variable, named ``memory_key``."""

    memory_key: str = "history"

    @property
    def memory_variables(self) -> list[str]:
        return [self.memory_key]


class BaseChatMemory(BaseMemory, ABC):
    """A memory over a chat history: any object with ``messages``, ``add_messages`` and ``clear``.

    ``input_key`` and ``output_key`` name the values that are stored; without them the values must be unambiguous. With
    ``return_messages`` ``load_memory_variables`` gives messages instead of text.
    """

    chat_memory: BaseChatMessageHistory = made_by(InMemoryChatMessageHistory)
    output_key: str | None = None
    input_key: str | None = None
    return_messages: bool = False

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the input as a human's message and the output as a model's, both or neither; a message as it is.

        Raises ``InvalidInput`` when it is not clear which they are, and for content that is neither text nor blocks.
        """
        said, answered = self._get_input_output(inputs, outputs)
        spoken = ((HumanMessage, said), (AIMessage, answered))
        turn: list[BaseMessage] = [one if is_message(one) else make(one) for make, one in spoken]
        self.chat_memory.add_messages(self._for_history(turn))

    def clear(self) -> None:
        """Delete the conversation."""
        self.chat_memory.clear()

    def _get_input_output(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> tuple[Any, Any]:
        said = self._input(inputs)
        return said, value_of(outputs, self._chosen_output_key(outputs), "outputs")

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
        """The conversation as the core reads it, always current, its tokens counted by ``counter`` when one is given."""
        return _counted(conversation(self.chat_memory), counter)

    def _current(self, counter: TokenCounter | None = None) -> HistoryReader:
        """The conversation as it is now: a history without a store is read once, however often its messages are."""
        found = conversation(self.chat_memory)
        if found.backend is None:
            found = conversation(SimpleNamespace(messages=self.chat_memory.messages))
        return _counted(found, counter)

    def _from_core(self, messages: Iterable[Message]) -> list[BaseMessage]:
        """Core messages as the classes that the history holds."""
        return self._for_history([from_core(one) for message in messages for one in apart(message)])

    def _for_history(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """The messages, converted to LangChain's own classes when the history is one of LangChain's."""
        classes = type(self.chat_memory).__mro__
        is_langchains = any(one.__module__.startswith("langchain_core.") for one in classes)
        return to_langchain_messages(messages) if is_langchains else messages


def _counted(history: HistoryReader, counter: TokenCounter | None) -> HistoryReader:
    if counter is None:
        return history
    return HistoryReader(history.backend or history.log, history.thread.id, space=history.thread.space, counter=counter)
