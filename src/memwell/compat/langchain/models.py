"""What a memory needs of a language model: text in, text out, and how many tokens a text has.

``as_llm`` takes what people have: nothing at all, a memwell ``ChatModel``, a function, or any object with ``invoke``,
``predict`` or ``__call__``, such as LangChain's models. Nothing of LangChain is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast

from memwell.compat.langchain.lines import line_of
from memwell.compat.langchain.messages import BaseMessage, get_buffer_string
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


class LanguageModel:
    """A model as the memories see it. ``answers`` says whether there is one at all, or only a counter of tokens."""

    def __init__(self, answer: Callable[[str], Any] | None, count: Callable[[str], int], name: str) -> None:
        self._answer = answer
        self._count = count
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
        found = answer_of(self.name, self._count, text)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise BadModelOutput(f"{self.name} counted {shown(found)} tokens")
        return found

    def count_messages(self, messages: Iterable[BaseMessage]) -> int:
        """How many tokens messages have: of each the line that a buffer would show, its prefix included."""
        return sum(self.count(get_buffer_string([message])) for message in messages)


class LineCounter(TokenCounter):
    """Counts a core message as the line it would be in a buffer, in the model's own tokens, each but once."""

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
        count = self._llm.count(line_of(message))
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
    count = _counting(thing)
    if thing is None:
        return LanguageModel(None, count, "no model")
    if isinstance(thing, ChatModel):
        return LanguageModel(lambda prompt: thing.complete([human(prompt)]).text, count, thing.name)
    for method in ("invoke", "predict", "__call__"):
        # A class has a __call__ too, which would make an object instead of asking one.
        found = None if isinstance(thing, type) else getattr(thing, method, None)
        if callable(found):
            return LanguageModel(found, count, _name_of(thing))
    raise InvalidInput(f"an llm must be a model, a function, or have 'invoke' or 'predict', not {shown(thing)}")


def _name_of(thing: Any) -> str:
    name = getattr(thing, "__name__", None)
    return name if isinstance(name, str) else type(thing).__name__


def _counting(thing: Any) -> Callable[[str], int]:
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
