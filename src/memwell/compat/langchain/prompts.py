"""Prompts with named blanks, and those that the memories use when they are given none.

``PromptTemplate`` is as much of a template as a memory needs. Any other object with ``input_variables`` and
``format(**values)``, such as LangChain's own, serves as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter
from typing import Any, Protocol

from memwell.errors import InvalidInput
from memwell.values import shown


class Prompt(Protocol):
    """What a memory needs of a template."""

    @property
    def input_variables(self) -> Sequence[str]:
        """The names of its blanks."""
        ...

    def format(self, **values: Any) -> str:
        """The text with the blanks filled in."""
        ...


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
        **_: Any,
    ) -> None:
        if template_format != "f-string":
            raise InvalidInput(f"a PromptTemplate is an 'f-string' here, not {shown(template_format)}")
        self.template = template
        self.template_format = template_format
        self._pieces = _pieces(template)
        blanks = {blank for _, blank in self._pieces if blank is not None}
        # LangChain takes the blanks of the text and not the names it was told; a name without a blank says nothing.
        self.input_variables = sorted(blanks) if input_variables is None else [*input_variables]
        if not blanks <= set(self.input_variables):
            self.input_variables = sorted(blanks)

    @classmethod
    def from_template(cls, template: str, **options: Any) -> PromptTemplate:
        """A template whose blanks are those of its text."""
        return cls(None, template, **options)

    def format(self, **values: Any) -> str:
        """The text with the blanks filled in. Raises ``KeyError`` for a blank without a value."""
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
        # "{user.password}" would read an attribute: a template may come from people who must not.
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
that were said since. Write the summary anew so that it covers both. Keep names, numbers, dates, wishes and decisions; \
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

__all__ = [
    "ENTITY_EXTRACTION_PROMPT",
    "ENTITY_SUMMARIZATION_PROMPT",
    "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT",
    "SUMMARY_PROMPT",
    "Prompt",
    "PromptTemplate",
    "filled",
]
