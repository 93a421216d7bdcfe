"""Messages cut to a number of tokens, and the rough count of them that needs no tokeniser."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast

from memwell.compat.langchain.message_tools import Types, convert_to_messages, is_type
from memwell.compat.langchain.messages import kind_of
from memwell.compat.langchain.openai_messages import openai_role
from memwell.errors import InvalidInput

Counter: TypeAlias = Callable[[list[Any]], int]
Splitter: TypeAlias = Callable[[str], list[str]]


def trim_messages(
    messages: Any,
    *,
    max_tokens: int,
    token_counter: Any,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Types | None = None,
    start_on: Types | None = None,
    include_system: bool = False,
    text_splitter: Any = None,
) -> list[Any]:
    """The first or last messages that fit ``max_tokens``, beginning and ending as asked.

    ``token_counter`` counts a list of messages, or one if its parameter is a ``BaseMessage``; a model that counts messages
    and ``"approximate"`` will do. With ``allow_partial`` the message that no longer fits is cut. Raises ``InvalidInput`` (a
    ``ValueError``) for arguments that do not go together.
    """
    for name, given in (("start_on", start_on), ("include_system", include_system)):
        if given and strategy == "first":
            raise InvalidInput(f"{name} parameter is only valid with strategy='last'")
    if strategy not in ("first", "last"):
        raise InvalidInput(f"Unrecognized {strategy=}. Supported strategies are 'last' and 'first'.")
    split = cast(Splitter, getattr(text_splitter, "split_text", None) or text_splitter or _lines)
    cut = _Cut(_counter(token_counter), split, allow_partial)
    found = convert_to_messages(messages)
    if strategy == "first":
        return cut.first(found, max_tokens, end_on, newest_first=False)
    return cut.last(found, max_tokens, start_on, end_on, include_system)


class _Cut:
    """Cuts lists of messages by one way of counting and splitting."""

    def __init__(self, count: Counter, split: Splitter, partial: bool) -> None:
        self._count = count
        self._split = split
        self._partial = partial

    def last(
        self, messages: list[Any], most: int, start_on: Types | None, end_on: Types | None, system: bool
    ) -> list[Any]:
        """The last messages that fit, after the first one if that is an instruction to keep."""
        messages = _ended(messages, end_on)
        kept = messages[:1] if system and messages and kind_of(messages[0]) == "system" else []
        room = max(0, most - self._count(kept)) if kept else most
        found = self.first(messages[len(kept) :][::-1], room, start_on, newest_first=True)
        return kept + found[::-1]

    def first(self, messages: list[Any], most: int, end_on: Types | None, *, newest_first: bool) -> list[Any]:
        """The first messages that fit."""
        if not messages or self._count(messages) <= most:
            return _ended(messages, end_on)
        fitting = _largest(len(messages), lambda taken: self._count(messages[:taken]) <= most)
        found = messages[:fitting]
        if self._partial and fitting < len(messages):
            found += self._part(found, messages[fitting], most, newest_first)
        return _ended(found, end_on)

    def _part(self, before: list[Any], message: Any, most: int, newest_first: bool) -> list[Any]:
        """What of a message still fits: some of its blocks, else some of its text, else nothing."""
        content = message.content
        if isinstance(content, list):
            blocks = cast("list[Any]", content)
            for taken in range(len(blocks) - 1, 0, -1):
                # Counted in the order the list is cut in, which for the last messages is backwards.
                tried = blocks[::-1][:taken] if newest_first else blocks[:taken]
                if self._count([*before, _with(message, tried)]) <= most:
                    return [_with(message, tried[::-1] if newest_first else tried)]
            content = _first_text(_remaining(blocks, newest_first))
        return self._part_of_text(before, message, content, most, newest_first) if content else []

    def _part_of_text(self, before: list[Any], message: Any, text: str, most: int, newest_first: bool) -> list[Any]:
        pieces = self._split(text)
        used = self._count(before)
        ordered = pieces[::-1] if newest_first else pieces
        fitting = _largest(
            len(ordered), lambda taken: used + self._count([_with(message, "".join(ordered[:taken]))]) <= most
        )
        kept = ordered[:fitting][::-1] if newest_first else ordered[:fitting]
        return [_with(message, "".join(kept))] if kept else []


def _remaining(blocks: list[Any], newest_first: bool) -> list[Any]:
    # When no whole block fits, the text that may be cut is that of the block met first.
    return (blocks[::-1] if newest_first else blocks)[:1] if len(blocks) > 1 else blocks


def _with(message: Any, content: Any) -> Any:
    return message.model_copy(update={"content": content})


def _ended(messages: list[Any], on: Types | None) -> list[Any]:
    """The messages up to the last that is of one of the types."""
    end = len(messages)
    while on and end and not is_type(messages[end - 1], on):
        end -= 1
    return messages[:end]


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:]


def _first_text(blocks: Sequence[Any]) -> str | None:
    for block in blocks:
        if isinstance(block, str):
            return block
        if block.get("type") == "text":
            return block.get("text")
    return None


def _counter(given: Any) -> Counter:
    if isinstance(given, str):
        if given != "approximate":
            raise InvalidInput(f"Invalid token_counter shortcut '{given}'. Available shortcuts: 'approximate'.")
        return count_tokens_approximately
    if hasattr(given, "get_num_tokens_from_messages"):
        return given.get_num_tokens_from_messages
    if not callable(given):
        raise InvalidInput(
            "'token_counter' expected to be a model that implements 'get_num_tokens_from_messages()' or a function. "
            f"Received object of type {type(given)}."
        )
    if _takes_one(given):
        return lambda messages: sum(cast(int, given(one)) for one in messages)
    return cast(Counter, given)


def _takes_one(counter: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(counter).parameters.values()), None)
    annotation = None if first is None else first.annotation
    # It may be written out or still be text, and be LangChain's class or ours.
    return str(getattr(annotation, "__name__", annotation)).rpartition(".")[2] == "BaseMessage"


def count_tokens_approximately(
    messages: Any,
    *,
    chars_per_token: float = 4.0,
    extra_tokens_per_message: float = 3.0,
    count_name: bool = True,
    tokens_per_image: int = 85,
    use_usage_metadata_scaling: bool = False,
    tools: Sequence[Any] | None = None,
) -> int:
    """About how many tokens messages are: one for every few characters, and some for each message and image.

    With ``use_usage_metadata_scaling`` the count is corrected by what a model's own usage said, by a quarter at most.
    """
    written = sum(len(json.dumps(_tool(one))) for one in tools or ())
    total = float(math.ceil(written / chars_per_token))
    usage: tuple[int, float] | None = None
    providers: list[Any] = []
    converted = convert_to_messages(messages)
    for message in converted:
        images, characters = _size(message, count_name)
        total += images * tokens_per_image + math.ceil(characters / chars_per_token) + extra_tokens_per_message
        if kind_of(message) == "ai":
            providers.append(message.response_metadata.get("model_provider"))
            spent: dict[str, Any] = message.usage_metadata or {}
            used = spent.get("total_tokens")
            usage = (used, total) if isinstance(used, int) else usage
    if use_usage_metadata_scaling and len(converted) > 1 and usage and usage[1] > 0 and _is_one(providers):
        total *= min(1.25, max(1.0, usage[0] / usage[1]))
    return math.ceil(total)


def _is_one(providers: list[Any]) -> bool:
    named = next((one for one in providers if one is not None), None)
    return named is not None and all(one == named for one in providers[providers.index(named) :])


def _size(message: Any, count_name: bool) -> tuple[int, int]:
    images = characters = 0
    content = message.content
    for block in [content] if isinstance(content, str) else content:
        match block:
            case str():
                characters += len(block)
            case {"type": "image" | "image_url"}:
                images += 1
            case {"type": "text"}:
                characters += len(block.get("text", ""))
            case _:
                characters += len(repr(block))
    if kind_of(message) == "ai" and isinstance(content, str) and message.tool_calls:
        characters += len(repr(message.tool_calls))
    if kind_of(message) == "tool":
        characters += len(message.tool_call_id)
    characters += len(openai_role(message))
    return images, characters + (len(message.name) if message.name and count_name else 0)


def _tool(tool: Any) -> dict[str, Any]:
    """A tool as a provider is told of it: a dict as it is, LangChain's own by its schema."""
    if isinstance(tool, dict):
        return cast("dict[str, Any]", tool)
    schema: Any = tool.tool_call_schema
    parameters = cast("dict[str, Any]", schema if isinstance(schema, dict) else schema.model_json_schema())
    # The name and description are said outside already.
    shape = {key: value for key, value in parameters.items() if key not in ("title", "description")}
    return {"name": tool.name, "description": tool.description, "parameters": shape}


__all__ = ["count_tokens_approximately", "trim_messages"]
