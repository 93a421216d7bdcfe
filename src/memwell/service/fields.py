"""Descriptions and bounds of the fields of requests, for OpenAPI and for checking.

They are by the name of the field; where a request has its own meaning, by ``Request.field``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.values import shown

MOST = 1000
"""How many things one request names and one answer lists at most."""

_FILTER = 'A filter over the metadata, such as `{"city": "Paris"}` or `{"year": {"$ge": 2020}}`.'
_PATH = 'The path of a space, its segments from the top, such as `["acme", "ann"]`.'

MEANINGS: Final[dict[str, str]] = {
    "actions": "Steps of the `plan` that is the result of an audit, all of them or some.",
    "as_of": "What held at this time, instead of now.",
    "budget": "How many tokens the prompt may take as a whole.",
    "content": "What to remember: a text, a message (`role`, `content`), or a list of these.",
    "cursor": "The `next` of the page before; nothing for the first page.",
    "depth": "How many steps to go from one name to the next.",
    "description": "What is to be seen or heard, in words. It is what the medium is found by.",
    "diversity": "How much of its score a memory loses for repeating one that stands above it; 0 is nothing.",
    "documents": "Passages to offer for the prompt, the best first.",
    "dry_run": "Only tell what would be done.",
    "end_round": "Close the round, so that the next message begins another.",
    "everything": "Erase all that the space knows: memories, facts, documents and media. Its conversations stay.",
    "evidence": "What it rests on: messages of a conversation (`thread`, `message`) or other memories (`record`).",
    "expand": "Whether other words of the same meaning count a little too.",
    "expires_days": "After how many days the key ends; never when it is left out.",
    "features": "Words for what the medium shows.",
    "forgotten": "List what was forgotten and can be brought back, instead of what is remembered.",
    "format": "`jsonl` for everything, `markdown` for the memories as a text to read.",
    "grace_minutes": "How long the old secret still works.",
    "history": "The conversation so far, as messages (`role`, `content`).",
    "id": "An id of your own choice; one is made when it is left out.",
    "ids": "The ids of memories.",
    "importance": "How much it matters; judged by its content when it is left out.",
    "importance_below": "Only memories that matter less than this.",
    "kept": "The id of the memory that stays.",
    "kind": "What sort of memory it is: a word of your own, `memory` by default.",
    "kinds": "Only of these kinds.",
    "known_at": "What was believed at this time, instead of now.",
    "language": "The language of the reasons: `en` or `zh`.",
    "last": "How many of the last rounds; all when it is left out.",
    "least": "How few insights are enough.",
    "limit": "How many at most.",
    "look_up": "How many passages to look up in the documents for it.",
    "memory": "The id of a memory: only the prompts that it went into.",
    "message": "A whole message in the place of the one that is there; instead of `content`.",
    "messages": "Messages as Chat Completions has them (`role`, `content`), or memwell's own (`role`, `parts`).",
    "metadata": "Plain JSON data of your own, which filters can ask for.",
    "most": "How many at most, the least important first.",
    "name": "What the key is for.",
    "newest_first": "Whether to begin at the end.",
    "now": "The time that the question is asked at; it decides what counts as recent.",
    "older_than_days": "Only memories of what was said longer ago than this.",
    "others": "The ids of the memories that are merged into it.",
    "owner": "The path of a space that has shared its memory with this key's; the key's own when it is left out.",
    "pinned": "Whether it is kept from every policy of forgetting.",
    "profile": "Whose profile goes into the prompt, such as `user`; that of a stranger is left out.",
    "query": "What to look for, in your own words.",
    "question": "What to answer, in your own words.",
    "rate": "How many requests a minute the key may make: 0 is any number, and left out it is the service's default.",
    "reason": "Why, for those who look at the versions later.",
    "relation": "Only facts of this kind, such as `lives_in`.",
    "remember": "Also remember what is said in them.",
    "rounds": "How many of the last rounds.",
    "scopes": "What the key may do: `read`, `write`, `erase`, `admin`. None includes another.",
    "sentiment": "The mood of it: a word, or a number from -1 to 1.",
    "session": "The conversation that it belongs to.",
    "shares": "How the budget is shared out between the parts of the prompt.",
    "since": "Only what is of this time or later.",
    "source": "Where it is from, such as an address or a file's name.",
    "space": _PATH,
    "span": "The time looked back on: `1h`, `24h`, `7d` or `30d`.",
    "speaker": "Who said it.",
    "start": "The name to begin at.",
    "subject": "Of whom or what, such as `user` for the user.",
    "system": "The system prompt.",
    "text": "The whole text.",
    "thread": "The id of the conversation whose last rounds go into the prompt.",
    "threshold": "How alike two memories must be to be merged; 1 is the same.",
    "time": "When it was said or happened; now when it is left out.",
    "title": "What it is called.",
    "to": _PATH,
    "tokens": "How many tokens the messages may take together.",
    "transcript": "What is said in it.",
    "trust": "Whose word it is: `user`, `model`, `document`, `tool` or `derived`.",
    "ttl": "After how many seconds it vanishes.",
    "until": "Only what is of an earlier time than this.",
    "unused": "Only memories that were never recalled.",
    "url": "The address of a page, `http` or `https`.",
    "useful": "Whether the memory was of use.",
    "user": "Whose memories to take from a file that holds several users'.",
    "vector": "Numbers that stand for what it shows, as many as the media have that it is compared with.",
    "vectors": "Also write the vectors, which need not be made again then.",
    "weights": "Other weights for the signals, for this question alone.",
    "where": _FILTER,
    "whole": "The figures of the whole service. Needs the scope `admin`.",
    "write": "Whether that space may also add to this memory.",
}

OWN_MEANINGS: Final[dict[str, str]] = {
    "AddMedium.kind": "`image`, `audio` or `video`; seen from the file when it is left out.",
    "AddMedium.metadata": "Plain JSON data of your own, written as JSON.",
    "AddMedium.name": "The name of the file.",
    "AddMedium.vector": "A list of numbers that stand for what it shows, written as JSON.",
    "AnnotateThread.metadata": "Plain JSON data of your own, in the place of what was noted before.",
    "Ask.language": "The language of the answer: `en` or `zh`; that of the question when it is left out.",
    "AskContext.language": "The language of the lines around what was found: `en` or `zh`.",
    "AskContext.limit": "How many memories to consider.",
    "EditMessage.content": "Other words in the place of those that are there; instead of `message`.",
    "Erase.ids": "The ids of memories; instead of `where` and `everything`.",
    "EraseMedia.ids": "The ids of media.",
    "ForgetBy.kinds": "Only memories of these kinds.",
    "GiveGrant.until": "When it ends by itself; never when it is left out.",
    "Import.format": "What the file is, where its content does not show it.",
    "Import.name": "The name of the file.",
    "ListDocuments.where": f"{_FILTER} It is written as JSON.",
    "ListMedia.kinds": "Only of these kinds: `image`, `audio`, `video`.",
    "ListMemories.where": f"{_FILTER} It is written as JSON.",
    "LookUp.documents": "The ids of the documents to look in; all when it is left out.",
    "ProfileOf.language": "The language of the profile: `en` or `zh`.",
    "Reflect.most": "How many insights at most.",
    "TrimThread.rounds": "How many of the last rounds to keep.",
    "TrimThread.tokens": "Keep the last rounds that fit this many tokens.",
    "UpdateMemory.text": "Another text; facts and vectors are derived from it again.",
    "UploadDocument.metadata": "Plain JSON data of your own, written as JSON.",
    "UploadDocument.name": "The name of the file. The same name again replaces the document.",
    "Window.system": "Whether to begin with the system message.",
}

Bounds = tuple[float | None, float | None]

BOUNDS: Final[dict[str, Bounds]] = {
    "budget": (0, 10_000_000),
    "depth": (1, 10),
    "diversity": (0, 1),
    "grace_minutes": (0, 527_040),
    "importance": (0, 1),
    "importance_below": (0, 1),
    "least": (1, 1000),
    "limit": (1, 1000),
    "look_up": (0, 100),
    "older_than_days": (0, 366_000),
    "rate": (0, None),
    "rounds": (0, 1000),
    "last": (0, 1000),
    "tokens": (0, 10_000_000),
}
"""The least and the most that a number may be."""

OWN_BOUNDS: Final[dict[str, Bounds]] = {
    "Ask.limit": (0, 1000),
    "AskContext.limit": (0, 1000),
    "ForgetBy.most": (0, None),
    "LikeMedia.limit": (0, 1000),
    "LookUp.limit": (0, 1000),
    "RecallMedia.limit": (0, 1000),
    "Reflect.most": (1, 1000),
    "TrimThread.rounds": (0, None),
    "TrimThread.tokens": (0, None),
    "WalkGraph.limit": (1, 2000),
}


COUNTS: Final[dict[str, Bounds]] = {
    "AddMessages.messages": (1, MOST),
    "AskContext.documents": (0, MOST),
    "Erase.ids": (0, MOST),
    "Forget.ids": (0, MOST),
    "Mend.actions": (0, MOST),
    "MergeMemories.others": (0, MOST),
    "Remember.content": (0, MOST),
    "Similarities.ids": (0, MOST),
}
"""How few and how many a list may hold."""


def meaning_of(request: str, field: str) -> str:
    """What a field of a request means; empty when it is not described."""
    return OWN_MEANINGS.get(f"{request}.{field}") or MEANINGS.get(field, "")


def bounds_of(request: str, field: str) -> Bounds:
    """The least and the most that a field takes; None where there is no such bound."""
    return OWN_BOUNDS.get(f"{request}.{field}") or BOUNDS.get(field, (None, None))


def check_bounds(asked: msgspec.Struct) -> None:
    """Raises ``InvalidInput`` for a number beyond its bounds and for a list that is too long: no request asks for all."""
    for name, bounds, is_list in _bounded(type(asked)):
        value: Any = getattr(asked, name)
        if is_list and isinstance(value, list | tuple):
            _check(len(cast("list[Any]", value)), f"the number of {name}", bounds)
        elif not is_list and value is not None:
            _check(value, name, bounds)


def _check(value: float, what: str, bounds: Bounds) -> None:
    least, most = bounds
    if least is not None and value < least:
        raise InvalidInput(f"{what} must be at least {least:,}, not {shown(value)}")
    if most is not None and value > most:
        raise InvalidInput(f"{what} must be at most {most:,}, not {value:,}")


@cache
def _bounded(request: type[msgspec.Struct]) -> tuple[tuple[str, Bounds, bool], ...]:
    called = request.__name__
    found = [(name, bounds_of(called, name), False) for name in request.__struct_fields__]
    counted = [(name, COUNTS.get(f"{called}.{name}", (None, None)), True) for name in request.__struct_fields__]
    return tuple(one for one in (*found, *counted) if one[1] != (None, None))
