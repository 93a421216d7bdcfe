"""What a memory needs of a language model: text in, text out, and how many tokens a text has.

``as_llm`` takes what people have: nothing at all, a memwell ``ChatModel``, a function, or any object with ``invoke``,
``predict`` or ``__call__``, such as LangChain's models. Nothing of LangChain is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias, cast

from memwell.compat.langchain.lines import line_of
from memwell.compat.langchain.message_tools import to_langchain_messages
from memwell.compat.langchain.messages import BaseMessage, from_core, get_buffer_string
from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.messages import Message, human
from memwell.models.callables import answer_of
from memwell.models.ports import ChatModel
from memwell.tokens import TokenCounter, default_counter
from memwell.values import shown

LanguageModelLike: TypeAlias = Any
"""None, a ``ChatModel``, a function of a text, or an object with ``invoke``, ``predict`` or ``__call__``."""

_COUNTS_NOTHING_ITSELF = "langchain_core.language_models.base"
_MOST_COUNTED = 4096
_COUNTING = ("get_num_tokens", "get_token_ids")
_COUNTING_MESSAGES = "get_num_tokens_from_messages"
_LANGCHAINS_MESSAGES = "langchain_core.messages"


class Counting(NamedTuple):
    """How a model counts: a text, and a message by itself where it has a way of its own for that."""

    text: Callable[[str], int]
    messages: Callable[[BaseMessage], Any] | None = None


class LanguageModel:
    """A model as the memories see it. ``answers`` says whether there is one at all, or only a counter of tokens."""

    def __init__(self, answer: Callable[[str], Any] | None, counting: Counting, name: str) -> None:
        self._answer = answer
        self._counting = counting
        self.name = name

    @property
    def answers(self) -> bool:
        """Whether a model was given."""
        return self._answer is not None

    def predict(self, prompt: str) -> str:
        """The model's answer. Raises ``ModelError`` when it fails, ``BadModelOutput`` when it does not answer in text."""
        if self._answer is None:
            raise ModelError("there is no model to ask: this memory was made without an llm")
        return _text(answer_of(self.name, self._answer, prompt), self.name)

    def count(self, text: str) -> int:
        """How many tokens a text has, as the model counts them. Raises ``ModelError`` when it cannot say."""
        return self._checked(answer_of(self.name, self._counting.text, text))

    def count_messages(self, messages: Iterable[BaseMessage]) -> int:
        """How many tokens messages have, each counted by itself.

        As the model counts a message when it has a way of its own to, and otherwise the line that a buffer would show of
        it, its prefix included. Raises ``ModelError`` when it cannot say.
        """
        return sum(
            self._count_message(lambda one=one: one, lambda one=one: get_buffer_string([one])) for one in messages
        )

    def count_core(self, message: Message) -> int:
        """The same for one message of the core."""
        return self._count_message(lambda: from_core(message), lambda: line_of(message))

    def _count_message(self, message: Callable[[], BaseMessage], line: Callable[[], str]) -> int:
        # Most models count text alone, and for those no message need be made.
        if self._counting.messages is not None:
            found = answer_of(self.name, self._counting.messages, message())
            if found is not None:
                return self._checked(found)
        return self.count(line())

    def _checked(self, count: Any) -> int:
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise BadModelOutput(f"{self.name} counted {shown(count)} tokens")
        return count


class LineCounter(TokenCounter):
    """Counts a core message in the model's own tokens: as the model counts messages, or as its line in a buffer.

    Each is counted once.
    """

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm
        self._counted: dict[str, tuple[Message, int]] = {}

    @property
    def encoding(self) -> str:
        return f"lines of {self._llm.name}"

    def count(self, text: str) -> int:
        return self._llm.count(text)

    def count_message(self, message: Message) -> int:
        held = self._counted.get(message.id)
        # A message that was edited keeps its id, so the id alone would not do.
        if held is not None and (held[0] is message or _says_the_same(held[0], message)):
            return held[1]
        if len(self._counted) >= _MOST_COUNTED:
            self._counted.clear()
        count = self._llm.count_core(message)
        self._counted[message.id] = (message, count)
        return count


def _says_the_same(one: Message, other: Message) -> bool:
    return (one.role, one.parts, one.name, one.chat_role, one.metadata) == (
        other.role,
        other.parts,
        other.name,
        other.chat_role,
        other.metadata,
    )


def as_llm(thing: LanguageModelLike) -> LanguageModel:
    """The model in a form a memory can use; raises ``InvalidInput`` for what cannot be asked anything.

    Tokens are counted by the model when it has a way of its own, and exactly in the default encoding otherwise.
    """
    if isinstance(thing, LanguageModel):
        return thing
    counting = Counting(_text_counter(thing), _message_counter(thing))
    if thing is None:
        return LanguageModel(None, counting, "no model")
    if isinstance(thing, ChatModel):
        return LanguageModel(lambda prompt: thing.complete([human(prompt)]).text, counting, thing.name)
    for method in ("invoke", "predict", "__call__"):
        # A class has a __call__ too, which would make an object instead of asking one.
        found = None if isinstance(thing, type) else getattr(thing, method, None)
        if callable(found):
            return LanguageModel(found, counting, _name_of(thing))
    raise InvalidInput(f"an llm must be a model, a function, or have 'invoke' or 'predict', not {shown(thing)}")


def _name_of(thing: Any) -> str:
    name = getattr(thing, "__name__", None)
    return name if isinstance(name, str) else type(thing).__name__


def _message_counter(thing: Any) -> Callable[[BaseMessage], Any] | None:
    """The model's own way to count a message, if it has one that is not LangChain's default.

    It gives None where the model says that it has none after all.
    """
    own: Any = getattr(thing, _COUNTING_MESSAGES, None)
    if not callable(own) or _home(cast("type[Any]", type(thing)), _COUNTING_MESSAGES) == _COUNTS_NOTHING_ITSELF:
        return None

    def count(message: BaseMessage) -> Any:
        # Whoever has a model of LangChain's has loaded its messages; nobody else needs them.
        given = to_langchain_messages([message]) if _LANGCHAINS_MESSAGES in sys.modules else [message]
        try:
            return own(given)
        except NotImplementedError:
            return None

    return count


def _text_counter(thing: Any) -> Callable[[str], int]:
    own: Any = getattr(thing, "get_num_tokens", None)
    return cast("Callable[[str], int]", own) if callable(own) and _counts_itself(thing) else default_counter().count


def _counts_itself(thing: Any) -> bool:
    """Whether it counts in a way of its own.

    LangChain's default fetches GPT-2's tables from the internet at the first count, if the package for it is there at all.
    """
    if getattr(thing, "custom_get_token_ids", None) is not None:
        return True
    homes = [_home(cast("type[Any]", type(thing)), name) for name in _COUNTING if hasattr(thing, name)]
    return any(home != _COUNTS_NOTHING_ITSELF for home in homes)


def _home(kind: type[Any], name: str) -> str:
    """The module of the class that defines a method."""
    return next((one.__module__ for one in kind.__mro__ if name in one.__dict__), "")


def _text(answer: Any, name: str) -> str:
    """The words of an answer: a text, or a message of ours or of LangChain's."""
    if isinstance(answer, str):
        return answer
    found = answer.text if isinstance(getattr(answer, "text", None), str) else getattr(answer, "content", None)
    if not isinstance(found, str):
        raise BadModelOutput(f"{name} answered neither a text nor a message: {shown(answer)}")
    # LangChain's text is a subclass of str that can be called, which a store would refuse.
    return str(found)


__all__ = ["LanguageModel", "LanguageModelLike", "LineCounter", "as_llm"]
