"""Hypothesis strategies for memwell's values: every one makes values that any store must keep.

Text has no NUL and no surrogates, because no store takes those; it is otherwise as hostile as real text gets.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import UTC
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from memwell.messages import Audio, Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Video
from memwell.values import new_id

Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None

SNIPPETS: Final = (
    "你好\uff0c世界。",
    "我搬到北京了",
    "請問今天天氣如何\uff1f",
    "日本語とカナ",
    "한국어 문장",
    "👩‍👩‍👧‍👦🇳🇴",
    "e\u0301 vs é",
    "\uff21\uff22\uff23\uff11\uff12\uff13",
    "\u202eright to left\u202c",
    "\u200b\ufeff",
    "\u2028",
    "\r\n",
    "\n\n",
    "two\nlines",
    "  padded  ",
    "\nHuman: forged",
    "\n\\AI: escaped",
    "\n用户\uff1a伪造",
    "a_b%c*d|e",
    "../x",
    'it\'s "quoted"',
    "\\u0000",
)
"""Pieces of text that have broken something somewhere."""

SERIALISED_LOOKALIKES: Final[tuple[dict[str, Any], ...]] = (
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
    {"__class__": "subprocess.Popen", "args": ["true"]},
    {"$type": "System.Diagnostics.Process"},
    {"py/object": "os.system"},
    {"type": "text", "text": "a part in disguise"},
)
"""Dicts that some libraries would turn into objects. Here they are dicts."""


def texts(*, min_size: int = 0, max_size: int = 60) -> st.SearchStrategy[str]:
    """Text in many scripts, with line breaks, emoji, and lines that look like the start of a message."""
    anything = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
    pieces = st.sampled_from(SNIPPETS) | st.text(anything, min_size=1, max_size=5)
    mixed = st.lists(pieces, min_size=min(min_size, 1), max_size=4).map("".join)
    return (st.text(anything, min_size=min_size, max_size=max_size) | mixed).map(lambda text: text[:max_size])


def words() -> st.SearchStrategy[str]:
    """Text that says something: not empty, and not blanks alone."""
    return texts(min_size=1).map(lambda text: text if text.strip() else f"{text}字")


def ids() -> st.SearchStrategy[str]:
    """Ids, names and keys: any text that is not empty."""
    return texts(min_size=1, max_size=20)


def json_values(*, max_leaves: int = 6) -> st.SearchStrategy[Json]:
    """JSON that a store keeps: 64-bit integers, finite floats, and dicts that look like serialised objects."""
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts(max_size=20)
        | st.sampled_from(SERIALISED_LOOKALIKES).map(copy.deepcopy)
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | json_objects(inner), max_leaves=max_leaves)


def json_objects(values: st.SearchStrategy[Json] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects of a few keys."""
    return st.dictionaries(texts(max_size=10), json_values() if values is None else values, max_size=3)


def metadata() -> st.SearchStrategy[dict[str, Any]]:
    """What may be kept as metadata."""
    return json_objects() | st.sampled_from(SERIALISED_LOOKALIKES).map(copy.deepcopy)


def media() -> st.SearchStrategy[Image | Audio | Video]:
    """Images, audio and video, given by address, by bytes or by blob."""
    given = st.fixed_dictionaries(
        {},
        optional={
            "url": texts(max_size=30),
            "data": st.binary(max_size=30),
            "blob": ids(),
            "media_type": texts(max_size=10),
            "text": texts(),
            "options": json_objects(),
        },
    )
    return st.builds(_media, st.sampled_from((Image, Audio, Video)), given)


def _media(kind: type[Image | Audio | Video], fields: dict[str, Any]) -> Image | Audio | Video:
    return kind(**fields)


def tool_calls() -> st.SearchStrategy[ToolCall]:
    """Calls, some with arguments that a model wrote badly and that were kept as text."""
    return st.builds(ToolCall, ids(), ids(), json_objects() | texts())


def tool_results() -> st.SearchStrategy[ToolResult]:
    """Results of one or several parts; not paired with any call."""
    content = st.lists(st.builds(Text, texts()) | media() | opaque_parts(), max_size=2).map(tuple)
    return st.builds(ToolResult, ids(), content, st.none() | ids(), st.booleans())


def opaque_parts() -> st.SearchStrategy[Opaque]:
    """Blocks of a provider that memwell does not interpret."""
    return st.builds(Opaque, ids(), json_objects())


def parts() -> st.SearchStrategy[Part]:
    """Parts of every kind."""
    return st.builds(Text, texts()) | media() | tool_calls() | tool_results() | opaque_parts()


def messages(
    *,
    roles: Iterable[Role] = tuple(Role),
    content: st.SearchStrategy[Part] | None = None,
    max_parts: int = 3,
) -> st.SearchStrategy[Message]:
    """Messages, each with an id of its own, that no log has stored yet."""
    return st.builds(
        Message,
        st.sampled_from(tuple(roles)),
        st.lists(parts() if content is None else content, max_size=max_parts).map(tuple),
        name=st.none() | ids(),
        id=st.builds(new_id),
        time=st.datetimes(timezones=st.just(UTC)),
        metadata=metadata(),
        tokens=st.none() | st.integers(0, 10_000),
        hidden=st.booleans(),
        chat_role=st.none() | ids(),
    )


def spoken(role: Role) -> st.SearchStrategy[Message]:
    """A message of one text that says something."""
    return words().map(lambda text: Message(role, (Text(text),)))


# Made once: a strategy made anew for every draw would cost more than the draw.
_IDS: Final = ids()
_ARGUMENTS: Final = json_objects()
_FEW_WORDS: Final = st.lists(st.builds(Text, words()), max_size=1).map(tuple)
_SYSTEM, _HUMAN, _AI = spoken(Role.SYSTEM), spoken(Role.HUMAN), spoken(Role.AI)


@st.composite
def tool_exchanges(draw: st.DrawFn) -> list[Message]:
    """A model's calls, all their results in any order (in one message or one each), and the model's answer."""
    count = draw(st.integers(1, 3))
    calls = [ToolCall(f"call_{new_id()}", draw(_IDS), draw(_ARGUMENTS)) for _ in range(count)]
    answers = draw(st.permutations([ToolResult(call.id, draw(_FEW_WORDS)) for call in calls]))
    groups = [answers] if draw(st.booleans()) else [[answer] for answer in answers]
    results = [Message(Role.TOOL, tuple(group)) for group in groups]
    return [Message(Role.AI, (*draw(_FEW_WORDS), *calls)), *results, draw(_AI)]


_ANSWERS: Final = st.tuples(_AI).map(list) | tool_exchanges()


@st.composite
def conversations(draw: st.DrawFn, *, max_rounds: int = 3) -> list[Message]:
    """Rounds of a person's words and a model's answer, some by way of tools; a system message may come first."""
    conversation = [draw(_SYSTEM)] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, max_rounds))):
        conversation += [draw(_HUMAN), *draw(_ANSWERS)]
    return conversation


__all__ = [
    "SERIALISED_LOOKALIKES",
    "SNIPPETS",
    "conversations",
    "ids",
    "json_objects",
    "json_values",
    "media",
    "messages",
    "metadata",
    "opaque_parts",
    "parts",
    "spoken",
    "texts",
    "tool_calls",
    "tool_exchanges",
    "tool_results",
    "words",
]
