"""What callers give, in the shapes that go over the wire. It is checked here as a memory in a file checks it.

JSON has no word for some of what is refused there: a number that is none would arrive as nothing at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.filters import FilterLike, as_filter, as_mapping
from memwell.knowledge.documents import Found
from memwell.longterm.remembering import Rememberable, is_number
from memwell.longterm.weights import Weights
from memwell.messages import Message, check_message
from memwell.runtime.context.choosing import Passage
from memwell.runtime.wire.memories import Recall, WeightsGiven
from memwell.values import as_utc, check_count, check_metadata, check_text, shown


def moment(time: datetime | None, what: str) -> datetime | None:
    """A time in UTC; one without a zone is UTC already."""
    return None if time is None else as_utc(time, what)


def filter_data(where: FilterLike | None) -> dict[str, Any] | None:
    """A filter as JSON data. Raises ``InvalidInput`` for one that breaks a rule."""
    found = as_filter(where)
    return None if found is None else as_mapping(found)


def filter_text(where: FilterLike | None) -> str | None:
    """A filter as it stands in a query."""
    data = filter_data(where)
    return None if data is None else msgspec.json.encode(data).decode()


def metadata_data(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Metadata as they are sent. Raises ``InvalidInput`` for what would not come back as it went in."""
    return None if metadata is None else check_metadata(metadata)


def metadata_text(metadata: Mapping[str, Any] | None) -> str | None:
    """Metadata as they stand in a query."""
    data = metadata_data(metadata)
    return None if data is None else msgspec.json.encode(data).decode()


def message_data(message: Message) -> dict[str, Any]:
    """A message in memwell's own shape. Raises ``InvalidInput`` when it is none, or breaks a rule."""
    return msgspec.to_builtins(check_message(message))


def messages_data(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Several of them."""
    return [message_data(one) for one in messages]


def content_data(content: Rememberable) -> str | dict[str, Any] | list[str | dict[str, Any]]:
    """What is to be remembered. Raises ``InvalidInput`` for what cannot be."""
    if isinstance(content, str | Message | Mapping):
        return _item(cast("object", content))
    if isinstance(content, bytes) or not isinstance(content, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"remember takes texts and messages, not {shown(content)}")
    return [_item(one) for one in content]


def _item(one: object) -> str | dict[str, Any]:
    if isinstance(one, str):
        return check_text(one, "a memory's text")
    if isinstance(one, Message):
        return message_data(one)
    if isinstance(one, Mapping):
        return check_metadata(cast("Mapping[str, Any]", one), "a message")
    raise InvalidInput(f"remember takes texts and messages, not {shown(one)}")


def kinds_data(kinds: str | Iterable[str] | None) -> list[str] | None:
    """One kind or several. Raises ``InvalidInput`` for anything else."""
    if kinds is None or isinstance(kinds, str):
        return None if kinds is None else [kinds]
    if not isinstance(kinds, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"kinds must be a kind or several, not {shown(kinds)}")
    return list(kinds)


def weights_data(weights: Weights | None) -> WeightsGiven | None:
    """Weights as they are sent: they are data. Raises ``InvalidInput`` for anything else."""
    if weights is None:
        return None
    if not isinstance(weights, Weights):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"weights must be Weights, not {shown(weights)}")
    return WeightsGiven(curves=dict(weights.curves), decay=weights.decay, note=weights.note)


def number(value: float | None, what: str) -> float | None:
    """A number, or None. Raises ``InvalidInput`` for one that is none, which JSON could not tell from None."""
    if value is not None and (not is_number(value) or not math.isfinite(value)):
        raise InvalidInput(f"{what} must be a number, not {shown(value)}")
    return value


def recall_data(
    query: str,
    *,
    limit: int = 10,
    kinds: str | Iterable[str] | None = None,
    speaker: str | None = None,
    session: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    where: FilterLike | None = None,
    as_of: datetime | None = None,
    now: datetime | None = None,
    weights: Weights | None = None,
    diversity: float = 0.0,
    owner: list[str] | None = None,
) -> Recall:
    """A question to a memory, as it is sent."""
    return Recall(
        query=check_text(query, "a query"),
        limit=check_count(limit, "limit"),
        kinds=kinds_data(kinds),
        speaker=speaker,
        session=session,
        since=moment(since, "since"),
        until=moment(until, "until"),
        where=filter_data(where),
        as_of=moment(as_of, "as_of"),
        now=moment(now, "now"),
        weights=weights_data(weights),
        diversity=diversity,
        owner=owner,
    )


def passages(documents: Sequence[Passage | Found]) -> tuple[Passage, ...]:
    """Passages to offer for a prompt, those that were found in documents among them."""
    return tuple(one if isinstance(one, Passage) else _passage(one) for one in documents)


def _passage(found: Found) -> Passage:
    return Passage(id=found.id, text=found.text, title=found.citation.in_words(), score=found.score, flags=found.flags)


__all__ = [
    "content_data",
    "filter_data",
    "filter_text",
    "kinds_data",
    "message_data",
    "messages_data",
    "metadata_data",
    "metadata_text",
    "moment",
    "number",
    "passages",
    "recall_data",
    "weights_data",
]
