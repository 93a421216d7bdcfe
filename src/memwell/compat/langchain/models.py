"""Language models and prompts as the memories use them: text in, text out, token counts, and templates with named blanks.

``as_llm`` takes None, a memwell ``ChatModel``, a function, or any object with ``invoke``, ``predict`` or ``__call__``, such
as LangChain's models. Any object with ``input_variables`` and ``format`` is a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from string import Formatter
from typing import Any, Protocol, TypeAlias, cast

from memwell.compat.langchain.base import BaseMemory
from memwell.compat.langchain.messages import BaseMessage, as_text, to_langchain_messages
from memwell.errors import BadModelOutput, InvalidInput, MissingDependency, ModelError
from memwell.messages import Message, human
from memwell.models.ports import ChatModel, answer_of
from memwell.tokens import TokenCounter, default_counter
from memwell.values import check_type, shown

LanguageModelLike: TypeAlias = Any
"""None, a ``ChatModel``, a function of a text, or an object with ``invoke``, ``predict`` or ``__call__``."""

_DEFAULT_COUNTING = "langchain_core.language_models.base"
_COUNTS_TEXT = ("get_num_tokens", "get_token_ids")
_MOST_COUNTED = 4096


class LanguageModel(TokenCounter):
    """A model as the memories use it. ``answers`` is False when no model was given and only tokens can be counted.

    It counts core messages in the model's own tokens, each message once.
    """

    def __init__(self, thing: Any, answer: Callable[[str], Any] | None, name: str) -> None:
        self.name = name
        self.answers = answer is not None
        self._answer = answer
        self._count_text = _text_counter(thing)
        self._counted: dict[str, tuple[object, int]] = {}

    @property
    def encoding(self) -> str:
        return f"lines of {self.name}"

    def predict(self, prompt: str) -> str:
        """The model's answer. Raises ``ModelError`` when it fails, ``BadModelOutput`` when it does not answer in text."""
        if self._answer is None:
            raise ModelError("there is no model to ask: this memory was made without an llm")
        answer = answer_of(self.name, self._answer, prompt)
        found = answer if isinstance(answer, str) else getattr(answer, "text", None)
        found = found if isinstance(found, str) else getattr(answer, "content", None)
        if not isinstance(found, str):
            raise BadModelOutput(f"{self.name} answered neither a text nor a message: {shown(answer)}")
        # The text of LangChain's messages is a subclass of str, which a store would refuse.
        return str.__str__(found)

    def count(self, text: str) -> int:
        """How many tokens a text has. Raises ``ModelError`` when the model cannot say."""
        count: object = answer_of(self.name, self._count_text, text)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise BadModelOutput(f"{self.name} counted {shown(count)} tokens")
        return count

    def count_message(self, message: Message) -> int:
        """The tokens of the line of one core message in a buffer."""
        # An edited message keeps its id, so the id alone does not identify what was counted.
        said = (message.role, message.parts, message.name, message.chat_role, message.metadata)
        held = self._counted.get(message.id)
        if held is not None and held[0] == said:
            return held[1]
        count = self.count(as_text([message]))
        if len(self._counted) >= _MOST_COUNTED:
            self._counted.clear()
        self._counted[message.id] = (said, count)
        return count


def as_llm(thing: LanguageModelLike) -> LanguageModel:
    """The model in the form a memory uses. Raises ``InvalidInput`` for an object that cannot be asked anything.

    The model counts tokens when it has a way of its own; otherwise they are counted exactly in the default encoding.
    """
    if isinstance(thing, LanguageModel):
        return thing
    if thing is None:
        return LanguageModel(None, None, "no model")
    if isinstance(thing, ChatModel):
        return LanguageModel(thing, lambda prompt: thing.complete([human(prompt)]).text, thing.name)
    for method in ("invoke", "predict", "__call__"):
        # A class has a __call__ too, which would make an object instead of asking one.
        found = None if isinstance(thing, type) else getattr(thing, method, None)
        if callable(found):
            name = getattr(thing, "__name__", None)
            return LanguageModel(thing, found, name if isinstance(name, str) else type(thing).__name__)
    raise InvalidInput(f"an llm must be a model, a function, or have 'invoke' or 'predict', not {shown(thing)}")


def _text_counter(thing: Any) -> Callable[[str], int]:
    own: Any = getattr(thing, "get_num_tokens", None)
    # LangChain's default downloads GPT-2's tables at the first count.
    is_own = getattr(thing, "custom_get_token_ids", None) is not None or any(
        _home(thing, name) != _DEFAULT_COUNTING for name in _COUNTS_TEXT if hasattr(thing, name)
    )
    return cast("Callable[[str], int]", own) if callable(own) and is_own else default_counter().count


def _home(thing: Any, name: str) -> str:
    """The module of the class that defines a method."""
    return next((one.__module__ for one in cast("type[Any]", type(thing)).__mro__ if name in vars(one)), "")


# Prompts


class Prompt(Protocol):
    """A template: the names of its blanks, and a method that fills them in."""

    @property
    def input_variables(self) -> Sequence[str]: ...

    def format(self, **values: Any) -> str: ...


class PromptTemplate:
    """A text with blanks such as ``{input}``; ``{{`` stands for a brace.

    Raises ``InvalidInput`` for a template whose braces do not match, or whose blanks are not plain names.
    """

    def __init__(
        self,
        input_variables: Sequence[str] | None = None,
        template: str = "",
        *,
        template_format: str = "f-string",
        partial_variables: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        if template_format != "f-string":
            raise InvalidInput(f"a PromptTemplate is an 'f-string' here, not {shown(template_format)}")
        self.template = template
        self.template_format = template_format
        self.partial_variables = dict(partial_variables or {})
        self._pieces = _pieces(template)
        blanks = {blank for _, blank in self._pieces if blank is not None} - self.partial_variables.keys()
        # As in LangChain, the blanks of the text count where the names given do not cover them.
        is_covered = input_variables is not None and blanks <= set(input_variables)
        self.input_variables = [*input_variables] if input_variables is not None and is_covered else sorted(blanks)

    @classmethod
    def from_template(cls, template: str, **options: Any) -> PromptTemplate:
        """A template whose blanks are those of its text."""
        return cls(None, template, **options)

    def partial(self, **values: Any) -> PromptTemplate:
        """A template with some blanks filled in; a function is called for its value each time."""
        left = [name for name in self.input_variables if name not in values]
        filled = {**self.partial_variables, **values}
        return type(self)(left, self.template, template_format=self.template_format, partial_variables=filled)

    def format(self, **values: Any) -> str:
        """The text with the blanks filled in. Raises ``KeyError`` for a blank without a value."""
        filled = {name: one() if callable(one) else one for name, one in self.partial_variables.items()}
        values = {**filled, **values}
        return "".join(text if blank is None else f"{text}{values[blank]}" for text, blank in self._pieces)

    def __repr__(self) -> str:
        return f"PromptTemplate(input_variables={self.input_variables!r}, template={shown(self.template)})"


def _pieces(template: str) -> list[tuple[str, str | None]]:
    """Texts, each with the blank that follows it."""
    try:
        found = list(Formatter().parse(template))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{shown(template)} is no template: {error}") from None
    for _, blank, _, _ in found:
        # "{user.password}" would read an attribute, and a template may come from an untrusted person.
        if blank is not None and not blank.isidentifier():
            raise InvalidInput(f"a blank of a template must be a plain name, not {shown(blank)}")
    return [(text, blank) for text, blank, _, _ in found]


def filled(prompt: Prompt, **values: Any) -> str:
    """The prompt with those of the values that it has a blank for."""
    wanted = set(prompt.input_variables)
    return prompt.format(**{name: value for name, value in values.items() if name in wanted})


SUMMARY_PROMPT = PromptTemplate(
    ["summary", "new_lines"],
    """You keep the running summary of a conversation. Below are the summary so far, which may be empty, and the lines \
that were said since. Write a new summary that covers both. Keep names, numbers, dates, wishes and decisions; \
leave out greetings and repetitions; add nothing that was not said. Write in the language of the conversation, and write \
the summary only.

Summary so far:
{summary}

New lines:
{new_lines}

New summary:""",
)

ENTITY_EXTRACTION_PROMPT = PromptTemplate(
    ["history", "input"],
    """List the proper names in the last line of a conversation: people, places, organisations, products, works. The lines \
before it only help to see whom a word such as "she" or "there" means; a name that the last line does not speak of is not \
listed. Answer with the names separated by commas, or with NONE when there is no name.

Lines before:
{history}
Last line:
Human: {input}

Names:""",
)

ENTITY_SUMMARIZATION_PROMPT = PromptTemplate(
    ["entity", "summary", "history", "input"],
    """You keep notes on the people, places and things that a conversation speaks of. Below is the note on {entity} so \
far, which may be empty, and the conversation. Take into the note what the last line says about {entity} and is worth \
keeping; if it says nothing of that kind, repeat the note as it is. A first note is one sentence. Write the note only.

Conversation:
{history}
Last line:
Human: {input}

Note on {entity} so far:
{summary}

New note on {entity}:""",
)

KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT = PromptTemplate(
    ["history", "input"],
    """Write down what the last line of a conversation states as facts, each as (subject, relation, object). The lines \
before it only help to see whom or what a word means. Put <|> between facts, no comma inside a part, and answer NONE when \
nothing is stated. For example, "Anna moved to Oslo and teaches physics" gives \
(Anna, moved to, Oslo)<|>(Anna, teaches, physics).

Lines before:
{history}
Last line:
Human: {input}

Facts:""",
)


# Our memories inside LangChain's own chains


def for_chain(memory: Any) -> Any:
    """The memory as one of LangChain's, as in ``ConversationChain(llm=llm, memory=for_chain(memory))``.

    It passes every call to the memory and has the memory's attributes; messages that it loads are LangChain's own. A memory
    that this function made is returned as it is. Raises ``MissingDependency`` without the package langchain-classic, and
    ``InvalidInput`` for an object that is no memory.
    """
    adapter = _adapter()
    if isinstance(memory, adapter):
        return memory
    return adapter(inner=check_type(memory, BaseMemory, "expected a memory"))


def _with_langchains_messages(value: Any) -> Any:
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
            return {
                name: _with_langchains_messages(value)
                for name, value in self.inner.load_memory_variables(inputs).items()
            }

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
