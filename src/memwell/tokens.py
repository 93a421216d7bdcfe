"""Token counts of texts and messages: exact, offline, and cached in messages.

The counts are those of OpenAI's encodings, from tables in an installed package. The name of a special token in a text, such
as ``<|endoftext|>``, is plain text. ``MessageCosts`` has the tokens that a message takes besides its text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Final, Protocol

import msgspec

from memwell.errors import ConfigurationError
from memwell.messages import Audio, Image, Message, Opaque, Part, Text, ToolCall, ToolResult, Video
from memwell.values import check_count, check_json, check_text, shown

DEFAULT_ENCODING: Final = "o200k_base"
"""The encoding of ``Message.tokens``: that of GPT-4o and all later OpenAI models."""

ENCODINGS: Final = ("o200k_base", "cl100k_base")
"""The supported encodings."""

_LONGEST_TOKEN = 128  # bytes, in either encoding


class MessageCosts(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens that a message takes besides its text.

    Three tokens for a message and one for a name are OpenAI's published numbers. Media are flat estimates, because the
    true size depends on the provider: an image of a megapixel, a minute of speech, ten seconds of video.
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
        """The tokens of a text. Raises ``InvalidInput`` for anything but text."""
        ...

    def count_message(self, message: Message) -> int:
        """The tokens of a message in a prompt. Raises ``InvalidInput`` for a part that is neither text nor JSON."""
        ...


class _Table(msgspec.Struct, frozen=True):
    """The used functions of an encoding's table, in a package that has no types."""

    count: Callable[[str], int]
    encode: Callable[[str], Sequence[int]]
    decode: Callable[[Sequence[int]], bytes]


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
        """Whether ``Message.tokens`` holds its counts: for the default encoding and costs."""

    @cached_property
    def _table(self) -> _Table:
        return _load(self.encoding)

    def count(self, text: str) -> int:
        """The tokens of a text. Raises ``InvalidInput`` for anything but text."""
        try:
            return self._table.count(text)
        except (TypeError, UnicodeEncodeError):
            check_text(text, "text")
            raise

    def count_message(self, message: Message) -> int:
        """The tokens of a message: its cached count if that is ours, else its parts, its name and the costs.

        Arguments of tool calls and opaque parts count as compact JSON; ids, times and metadata do not count. Raises
        ``InvalidInput`` for anything but text and plain JSON.
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
        """The text of the first ``limit`` tokens, without a character that they would cut in half.

        It is a prefix of the text, all of it when it fits, and never counts over the limit. Raises ``InvalidInput`` for
        anything but text and for a limit below 0.
        """
        # More characters than this cannot fit, so a long text is not encoded whole.
        most = check_count(limit, "limit") * _LONGEST_TOKEN
        try:
            text = text[:most]
            tokens = self._table.encode(text)
        except (TypeError, UnicodeEncodeError):
            check_text(text, "text")
            raise
        if len(tokens) <= limit:
            return text
        kept = self._table.decode(tokens[:limit]).decode(errors="ignore")
        # The same characters may take more tokens at the end of a text than inside it.
        while self.count(kept) > limit:
            kept = kept[:-1]
        return kept


_loading = threading.Lock()


def _load(encoding: str) -> _Table:
    # Imported here because a table takes 65 ms and 66 MB, which a program that counts nothing does not need.
    with _loading:
        try:
            table: Any = getattr(import_module("rs_bpe").openai, encoding)()
        except ModuleNotFoundError:
            return _load_elsewhere(encoding)

        def decode(tokens: Sequence[int]) -> bytes:
            return table.bpe().decode_tokens(tokens)

        return _Table(table.count, table.encode, decode)


def _load_elsewhere(encoding: str) -> _Table:
    """The same table from bpe-openai, for Pythons without rs-bpe: it counts as quickly, but loads in 0.8 s."""
    table: Any = import_module("bpe_openai._bindings").tokenizer_for_encoding(encoding)

    def decode(tokens: Sequence[int]) -> bytes:
        return b"".join(map(_bytes_of(encoding).__getitem__, tokens))

    return _Table(table.count, table.encode, decode)


@cache
def _bytes_of(encoding: str) -> dict[int, bytes]:
    # Its own decoder gives whole characters alone. Imported here, since only Pythons without rs-bpe come this far.
    import gzip  # noqa: PLC0415
    from base64 import b64decode  # noqa: PLC0415
    from importlib.resources import files  # noqa: PLC0415

    lines = gzip.decompress((files("bpe_openai") / "data" / f"{encoding}.tiktoken.gz").read_bytes()).splitlines()
    return {int(number): b64decode(token) for token, number in map(bytes.split, lines)}


@cache
def get_counter(encoding: str) -> ExactCounter:
    """The shared counter of an encoding. Raises ``ConfigurationError`` for an unknown one."""
    return ExactCounter(encoding)


def default_counter() -> ExactCounter:
    """The shared counter of the default encoding, whose counts are cached in messages."""
    return get_counter(DEFAULT_ENCODING)


def keeps_count(counter: TokenCounter) -> bool:
    """Whether ``Message.tokens`` holds the counter's counts."""
    return isinstance(counter, ExactCounter) and counter.fills_messages


def counted(message: Message, counter: TokenCounter | None = None) -> Message:
    """The message with its ``tokens`` set, if they are not and the counter's counts belong there."""
    counter = counter or default_counter()
    if message.tokens is not None or not keeps_count(counter):
        return message
    return message.changed(tokens=counter.count_message(message))
