"""Where messages go in a thread: the rule for indexes and rounds, the same for every backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Message, Role, Text, check_message, decode_message, encode_message
from memwell.values import check_count, shown

MAX_INDEX = 2**32 - 1
MAX_TOKENS = 2**31 - 1
"""A message may carry a count up to this, so that the sum of a full thread still fits 64 bits."""


class Tail(NamedTuple):
    """The end of a thread: the next free index, the latest round, and the round that was closed by hand (or −1)."""

    next: int
    round: int
    ended: int


class Placed(NamedTuple):
    """A message ready to be stored: its place, and its JSON with the place written into it."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride] - the one meaning of the word here
    round: int
    id: str
    tokens: int
    body: str


def prepare(messages: Sequence[Message], *, keep_places: bool) -> list[tuple[Message, str]]:
    """Encode messages before any lock is taken, without the opening brace: their places will go in front.

    Raises ``InvalidInput`` for one that breaks a rule.
    """
    if not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"messages must be a list of messages, not {shown(messages)}")
    prepared: list[tuple[Message, str]] = []
    for message in messages:
        if not isinstance(message, Message):  # pyright: ignore[reportUnnecessaryIsInstance]
            check_message(message)
        if message.tokens is not None:
            _check_tokens(message.tokens)
        placeless = message
        if message.index is not None or message.round is not None:
            if keep_places:
                check_message(message)
            placeless = message.changed(index=None, round=None)
        prepared.append((message, encode_message(placeless)[1:].decode()))
    return prepared


def _check_tokens(tokens: object) -> None:
    if check_count(tokens, "a message's tokens") > MAX_TOKENS:
        raise InvalidInput(f"a message's tokens must be at most {MAX_TOKENS:,}, not {shown(tokens)}")


def place(prepared: Sequence[tuple[Message, str]], tail: Tail, *, keep_places: bool) -> list[Placed]:
    """Give messages their indexes and rounds behind ``tail``.

    Raises ``Conflict`` when kept places do not follow the tail, ``InvalidInput`` when the thread is full.
    """
    placed: list[Placed] = []
    index, round_, ended = tail
    for message, encoded in prepared:
        if keep_places and message.index is not None:
            index = _kept(message.index, index, "index")
        if keep_places and message.round is not None:
            round_ = _kept(message.round, round_, "round")
        elif message.role is Role.HUMAN or round_ == ended:
            round_ += 1
        if index > MAX_INDEX:
            raise InvalidInput(f"a thread holds at most {MAX_INDEX + 1:,} messages; there is no index {index}")
        body = f'{{"index":{index},"round":{round_},{encoded}'
        placed.append(Placed(index, round_, message.id, message.tokens or 0, body))
        index += 1
    return placed


def as_stored(prepared: Sequence[tuple[Message, str]], placed: Sequence[Placed]) -> list[Message]:
    """The messages with their places, as a reader would get them."""
    return [
        # What holds JSON is read back: it must not be shared with the caller, and a tuple in it was stored as a list.
        replace(message, index=one.index, round=one.round)
        if not message.metadata and all(type(part) is Text for part in message.parts)
        else decode_message(one.body)
        for (message, _), one in zip(prepared, placed, strict=True)
    ]


def _kept(given: int, least: int, what: str) -> int:
    if given > MAX_INDEX:
        raise InvalidInput(f"a message's {what} must be at most {MAX_INDEX:,}, not {given}")
    if given < least:
        raise Conflict(f"a message keeps {what} {given}, but the thread is already at {least}")
    return given


def replaced_body(message: Message, index: int, round_: int, id_: str) -> str:
    """The JSON of a message put in another's place. Raises ``InvalidInput`` for one that breaks a rule."""
    if check_message(message).tokens is not None:
        _check_tokens(message.tokens)
    encoded = encode_message(message.changed(index=None, round=None, id=id_)).decode()
    return f'{{"index":{index},"round":{round_},{encoded[1:]}'


__all__ = ["MAX_INDEX", "MAX_TOKENS", "Placed", "Tail", "as_stored", "place", "prepare", "replaced_body"]
