"""Conversations over REST: each handler asks the ``History`` of the key's space, and tells what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memwell.errors import InvalidInput, NotFound
from memwell.history import History
from memwell.messages import Message, Role, decode_message
from memwell.records import Page
from memwell.runtime.wire import threads
from memwell.runtime.wire.codec import encode
from memwell.runtime.wire.running import Done
from memwell.service.call import Call, handles
from memwell.storage.protocols import ThreadInfo
from memwell.transcript import from_openai
from memwell.values import check_count, shown

MOST = 1000
"""How many things one answer lists at most."""

MOST_TOKENS = 10_000_000
"""How large a window or a prompt may be asked for."""

_ROLES = tuple(role.value for role in Role)
_OWN_FIELDS = frozenset(Message.__struct_fields__)


def bounded(value: int, what: str, *, least: int = 1, most: int = MOST) -> int:
    """The number, when it lies between the two. Raises ``InvalidInput`` otherwise: no request may ask for everything."""
    if check_count(value, what, least=least) > most:
        raise InvalidInput(f"{what} must be at most {most:,}, not {value:,}")
    return value


def messages_of(given: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages in the shape of Chat Completions, or with ``parts`` in memwell's own. Raises ``InvalidInput``."""
    if not any("parts" in one for one in given):
        return from_openai(given)
    return [_own(one) if "parts" in one else from_openai([one])[0] for one in given]


def _own(given: Mapping[str, Any]) -> Message:
    unknown = sorted(given.keys() - _OWN_FIELDS)
    if unknown:
        raise InvalidInput(f"a message has no field {shown(unknown[0])}")
    role = given.get("role")
    if isinstance(role, str) and role not in _ROLES:
        raise InvalidInput(f"the role of a message with 'parts' is one of {', '.join(_ROLES)}, not {shown(role)}")
    return decode_message(encode(given))


@handles("threads")
def list_threads(call: Call, asked: threads.ListThreads) -> Page[ThreadInfo]:
    """One page of the conversations, by id."""
    return call.memory.backend.log.threads(call.space, limit=bounded(asked.limit, "limit"), cursor=asked.cursor)


@handles("thread")
def thread(call: Call) -> ThreadInfo:
    """What is known of one conversation. Raises ``NotFound``."""
    info = _history(call).info()
    if info is None:
        raise NotFound(f"there is no conversation {shown(call.path['thread'])}")
    return info


@handles("messages")
def messages(call: Call, asked: threads.ListMessages) -> Page[Message]:
    """One page of a conversation; one that has not begun is empty."""
    limit = bounded(asked.limit, "limit")
    return _history(call).page(limit=limit, cursor=asked.cursor, newest_first=asked.newest_first)


@handles("add_messages")
def add_messages(call: Call, asked: threads.AddMessages) -> threads.Added:
    """Add messages, all or none; what of them is for memory is remembered after that, if it is asked for."""
    bounded(len(asked.messages), "the number of messages")
    history = _history(call)
    stored = history.add(*messages_of(asked.messages))
    said = [one for one in stored if _is_said(one)] if asked.remember else []
    remembered = call.memory.remember(said, session=history.thread.id) if asked.remember else None
    return threads.Added(messages=stored, remembered=remembered)


def _is_said(message: Message) -> bool:
    # As for remember_thread: instructions are nothing that anybody said, and what is hidden is not recalled for models.
    return bool(message.text.strip()) and message.for_model and message.role is not Role.SYSTEM


@handles("message")
def message(call: Call) -> Message:
    """One message by its id. Raises ``NotFound``."""
    return _history(call).get(call.path["message"])


@handles("message_at")
def message_at(call: Call) -> Message:
    """One message by its place. Raises ``NotFound``."""
    return _history(call).get(_index(call))


@handles("edit_message")
def edit_message(call: Call, asked: threads.EditMessage) -> Message:
    """Put other words or another message in a place; what was there stays among its versions."""
    if (asked.content is None) == (asked.message is None):
        raise InvalidInput("an edit takes either 'content' or 'message'")
    change = asked.content if asked.message is None else messages_of([asked.message])[0]
    edited = _history(call).edit(_index(call), change or "")
    _log_place(call)
    return edited


@handles("remove_message")
def remove_message(call: Call) -> Done:
    """Take a message out; it stays among its versions."""
    _history(call).remove(_index(call))
    _log_place(call)
    return Done(done=1)


@handles("restore_message")
def restore_message(call: Call) -> Message:
    """Put back what a place held before its last change."""
    restored = _history(call).restore(_index(call))
    _log_place(call)
    return restored


@handles("message_versions")
def message_versions(call: Call) -> threads.MessageVersions:
    """What a place held before."""
    return threads.MessageVersions(versions=_history(call).versions(_index(call)))


@handles("search_thread")
def search_thread(call: Call, asked: threads.SearchThread) -> threads.FoundMessages:
    """The messages that share a word with the query."""
    found = _history(call).search(asked.query, limit=bounded(asked.limit, "limit"))
    return threads.FoundMessages(hits=[threads.FoundMessage(message=one, score=score) for one, score in found])


@handles("window")
def window(call: Call, asked: threads.Window) -> threads.Messages:
    """The last rounds that fit, for a model."""
    history = _history(call)
    if asked.tokens is not None:
        bounded(asked.tokens, "tokens", least=0, most=MOST_TOKENS)
    else:
        _check_rounds(history, asked.rounds, "rounds")
    found = history.window(tokens=asked.tokens, rounds=asked.rounds, system=asked.system)
    return threads.Messages(messages=found)


@handles("rounds")
def rounds(call: Call, asked: threads.ListRounds) -> threads.Rounds:
    """The last rounds, oldest first."""
    history = _history(call)
    _check_rounds(history, asked.last, "last")
    return threads.Rounds(rounds=history.rounds(asked.last))


@handles("annotate_thread")
def annotate_thread(call: Call, asked: threads.AnnotateThread) -> ThreadInfo:
    """Note metadata in the place of what was noted, or close the round. A conversation that has not begun, begins."""
    if asked.metadata is None and not asked.end_round:
        raise InvalidInput("there is nothing to note: give 'metadata', 'end_round' or both")
    history = _history(call)
    info = history.log.annotate(history.thread, metadata=asked.metadata, end_round=asked.end_round)
    call.log(history.thread.id)
    return info


@handles("trim_thread")
def trim_thread(call: Call, asked: threads.TrimThread) -> threads.Counted:
    """Drop the oldest rounds for good."""
    count = _history(call).trim(rounds=asked.rounds, tokens=asked.tokens)
    if count:
        call.log(call.path["thread"], messages=count)
        # An export may hold the words of what is gone.
        call.service.jobs.drop_results(call.space)
    return threads.Counted(count=count)


@handles("delete_thread")
def delete_thread(call: Call) -> Done:
    """Drop a conversation for good."""
    done = _history(call).delete()
    if done:
        call.log(call.path["thread"])
        call.service.jobs.drop_results(call.space)
    return Done(done=int(done))


@handles("remember_thread")
def remember_thread(call: Call) -> threads.Counted:
    """Remember every message of a conversation that is not remembered yet."""
    return threads.Counted(count=call.memory.remember_thread(call.path["thread"]))


def _history(call: Call) -> History:
    return call.memory.thread(call.path["thread"])


def _index(call: Call) -> int:
    """The place in the address. Raises ``InvalidInput`` for anything but a number in plain digits."""
    given = call.path["index"]
    if not (given.isascii() and given.isdigit() and len(given) < 20):
        raise InvalidInput(f"a place is a whole number, not {shown(given)}")
    return check_count(int(given), "a place")


def _log_place(call: Call) -> None:
    call.log(call.path["thread"], place=_index(call))


def _check_rounds(history: History, asked: int | None, what: str) -> None:
    """Raises ``InvalidInput`` for more rounds than one answer holds, be they asked for by leaving the number out."""
    if asked is not None:
        bounded(asked, what, least=0)
        return
    info = history.info()
    if info is not None and info.rounds > MOST:
        raise InvalidInput(f"the conversation has {info.rounds:,} rounds; say with {what!r} how many, at most {MOST:,}")


__all__ = ["MOST", "MOST_TOKENS", "bounded", "messages_of"]
