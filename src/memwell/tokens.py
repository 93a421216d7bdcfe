"""How many tokens a text or a message is: exact, offline, and counted once.

The counts are those of OpenAI's encodings, from tables that come with the installation. A special token's name in a text,
such as ``<|endoftext|>``, is plain text. What a message takes beside its words is a rule, see ``MessageCosts``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Final, Protocol, cast

import msgspec

from memwell.errors import ConfigurationError, InvalidInput
from memwell.messages import Audio, Image, Message, Opaque, Part, Text, ToolCall, ToolResult, Video
from memwell.values import check_count, check_json, check_text, shown

DEFAULT_ENCODING: Final = "o200k_base"
"""The encoding of ``Message.tokens``: that of GPT-4o and all later OpenAI models."""

ENCODINGS: Final = ("o200k_base", "cl100k_base")
"""The encodings that can be counted."""

_LONGEST_TOKEN = 128  # bytes, in either encoding


class MessageCosts(msgspec.Struct, frozen=True, kw_only=True):
    """What a message takes beside its words.

    Three tokens frame a message and one more goes with a name, as OpenAI publishes. A medium is a flat guess, because its
    true size is its provider's: a picture of a megapixel, a minute of speech, ten seconds of film.
    """

    message: int = 3
    name: int = 1
    image: int = 765
    audio: int = 600
    video: int = 2600


class TokenCounter(Protocol):
    """Counts tokens in one encoding."""

    @property
    def encoding(self) -> str:
        """The name of the encoding."""
        ...

    def count(self, text: str) -> int:
        """The tokens of a text. Raises ``InvalidInput`` for what is no text."""
        ...

    def count_message(self, message: Message) -> int:
        """The tokens a message takes in a prompt. Raises ``InvalidInput`` for a part that is neither text nor JSON."""
        ...


class _Table(Protocol):
    """What is used of a table of rs_bpe, which has no types of its own."""

    def count(self, text: str) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def bpe(self) -> _Bytes: ...


class _Bytes(Protocol):
    def decode_tokens(self, tokens: Sequence[int]) -> bytes: ...


class ExactCounter:
    """Counts with the encoding's own table, loaded at the first count and shared by all threads.

    Raises ``ConfigurationError`` for an unknown encoding.
    """

    def __init__(self, encoding: str = DEFAULT_ENCODING, costs: MessageCosts | None = None) -> None:
        if encoding not in ENCODINGS:
            raise ConfigurationError(f"unknown encoding {shown(encoding)}; known encodings: {', '.join(ENCODINGS)}")
        self.encoding: Final = encoding
        self.costs: Final = costs or MessageCosts()
        self.fills_messages: Final = encoding == DEFAULT_ENCODING and self.costs == MessageCosts()
        """Whether its counts are those kept in ``Message.tokens``: the default encoding and the default costs."""

    @cached_property
    def _table(self) -> _Table:
        return _load(self.encoding)

    def count(self, text: str) -> int:
        """The tokens of a text. Raises ``InvalidInput`` for what is no text."""
        try:
            return self._table.count(text)
        except (TypeError, UnicodeEncodeError):
            check_text(text, "text")
            raise

    def count_message(self, message: Message) -> int:
        """The tokens a message takes: its kept count where that is ours, else its parts, its name and the costs.

        The arguments of a tool call and a foreign block count as compact JSON; ids, times and metadata do not count.
        Raises ``InvalidInput`` for what is neither text nor plain JSON.
        """
        if message.tokens is not None and self.fills_messages:
            return message.tokens
        total = self.costs.message + sum(map(self._count_part, message.parts))
        return total if message.name is None else total + self.costs.name + self.count(message.name)

    def _count_part(self, part: Part) -> int:
        if isinstance(part, Text):
            return self.count(part.text)
        if isinstance(part, ToolCall):
            return self.count(part.name) + self._arguments(part.arguments)
        if isinstance(part, ToolResult):
            return sum(map(self._count_part, part.content))
        if isinstance(part, Opaque):
            return self._json(part.data)
        return self.count(part.text) + self._medium(part)

    def _arguments(self, value: dict[str, Any] | str) -> int:
        return self.count(value) if isinstance(value, str) else self._json(value)

    def _medium(self, part: Image | Audio | Video) -> int:
        if isinstance(part, Image):
            return self.costs.image
        return self.costs.audio if isinstance(part, Audio) else self.costs.video

    def _json(self, value: object) -> int:
        check_json(value, "a part's data")
        return self.count(msgspec.json.encode(value).decode())

    def truncate(self, text: str, limit: int) -> str:
        """What the first ``limit`` tokens of a text spell, without a character they would cut in half.

        It is a prefix of the text, all of it when it fits, and never counts over the limit. Raises ``InvalidInput`` for
        what is no text or a limit below 0.
        """
        # More characters than this cannot fit, so a megabyte is not encoded to keep a line of it.
        most = check_count(limit, "limit") * _LONGEST_TOKEN
        try:
            text = text[:most]
            tokens = self._table.encode(text)
        except (TypeError, UnicodeEncodeError):
            check_text(text, "text")
            raise
        if len(tokens) <= limit:
            return text
        kept = self._table.bpe().decode_tokens(tokens[:limit]).decode(errors="ignore")
        # The same characters may take more tokens at the end of a text than they took inside it.
        while self.count(kept) > limit:
            kept = kept[:-1]
        return kept


_loading = threading.Lock()


def _load(encoding: str) -> _Table:
    # Imported here because a table takes 65 ms and 66 MB, which a program that counts nothing should not pay.
    with _loading:
        return cast(_Table, getattr(import_module("rs_bpe").openai, encoding)())


@cache
def get_counter(encoding: str) -> ExactCounter:
    """The shared counter of an encoding. Raises ``ConfigurationError`` for an unknown one, naming those there are."""
    return ExactCounter(encoding)


def default_counter() -> ExactCounter:
    """The shared counter of the default encoding, whose counts are kept in messages."""
    return get_counter(DEFAULT_ENCODING)


def keeps_count(counter: TokenCounter) -> bool:
    """Whether the counter's counts are those kept in ``Message.tokens``."""
    return isinstance(counter, ExactCounter) and counter.fills_messages


def counted(message: Message, counter: TokenCounter | None = None) -> Message:
    """The message with its ``tokens`` filled in, if they are not and the counter is one that fills them."""
    counter = counter or default_counter()
    if message.tokens is not None or not keeps_count(counter):
        return message
    return message.changed(tokens=counter.count_message(message))


class TokenTally:
    """A running total over messages, so that a budget is checked without counting anything twice."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self._counter = counter or default_counter()
        self._total = 0

    @property
    def total(self) -> int:
        """The tokens of all messages added and not removed."""
        return self._total

    def add(self, message: Message) -> None:
        """Count a message in."""
        self._total += self._counter.count_message(message)

    def remove(self, message: Message) -> None:
        """Count a message out. Raises ``InvalidInput`` when it holds more tokens than are left: it was never in."""
        tokens = self._counter.count_message(message)
        if tokens > self._total:
            raise InvalidInput(f"message {shown(message.id)} has {tokens} tokens, but the tally only {self._total}")
        self._total -= tokens

    def fits(self, message: Message, budget: int) -> bool:
        """Whether the message could be added without going over the budget."""
        return self._total + self._counter.count_message(message) <= budget
