"""A conversation of our core as the memory of an agent: messages with marks, and a summary beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import cast

from memwell.compat.agentscope.core_messages import from_core, original_id, to_core
from memwell.compat.agentscope.marks import Marks, Places, at, both, either, every, holds, stretches, without
from memwell.compat.agentscope.messages import Msg
from memwell.errors import Conflict
from memwell.history import History
from memwell.history.reading import key_part, thread_keys
from memwell.messages import Message
from memwell.storage.protocols import Backend
from memwell.values import new_id

_AT_ONCE = 2000


class Conversation:
    """What the memories over our own stores do. Every change is made whole or not at all, also beside other processes."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.marks = Marks(history)
        self._backend = cast(Backend, history.backend)
        self._space, beside = thread_keys(history.thread)
        self._summary = f"{beside}agentscope/summary"
        self._twins = f"{beside}agentscope/twins/"

    # Reading

    def messages(self, mark: str | None = None, exclude_mark: str | None = None) -> list[Msg]:
        """The messages in order, those with a mark and without another when these are named.

        What the core keeps from models, such as a message shown to people alone, is left out.
        """
        return [from_core(one) for one in self._stored(mark, exclude_mark) if one.for_model]

    def _stored(self, mark: str | None = None, exclude_mark: str | None = None) -> Iterator[Message]:
        if mark is None and exclude_mark is None:
            return iter(self.history)
        return self._at(self._marked(mark, exclude_mark))

    def _marked(self, mark: str | None, exclude_mark: str | None) -> Places:
        info = self.history.info()
        if info is None:
            return {}
        wanted = every(info) if mark is None else self.marks.places(mark, info)
        return wanted if exclude_mark is None else without(wanted, self.marks.places(exclude_mark, info))

    def _at(self, places: Places) -> Iterator[Message]:
        log, thread = self.history.log, self.history.thread
        for start, stop in stretches(places):
            for begin in range(start, stop, _AT_ONCE):
                found = log.read(thread, after=begin - 1, before=min(begin + _AT_ONCE, stop))
                yield from (one for one in found if holds(places, one.index or 0))

    def with_marks(self) -> list[tuple[Msg, list[str]]]:
        """Every message with its marks."""
        marks = self.marks.all()
        return [
            (from_core(one), [mark for mark, places in marks.items() if holds(places, one.index or 0)])
            for one in self.history
            if one.for_model
        ]

    def summary(self) -> str:
        """The summary of what was compressed; empty when there is none."""
        entry = self._backend.kv.get(self._space, self._summary)
        return "" if entry is None else cast("dict[str, str]", entry.value)["text"]

    def __len__(self) -> int:
        return len(self.history)

    # Writing

    def add(self, messages: Sequence[Msg], marks: Sequence[str], *, allow_duplicates: bool = False) -> None:
        """Add messages with marks. One whose id is there already, in the batch too, is passed over or gets a second id."""
        if not messages or (not marks and self._added_at_once(messages)):
            return
        with self._backend.transaction():
            fresh = list(messages) if allow_duplicates else self._fresh(messages)
            stored = self._stored_anew(fresh) if fresh else []
            places = at(one.index or 0 for one in stored)
            for mark in marks:
                self.marks.put(mark, places)

    def _added_at_once(self, messages: Sequence[Msg]) -> bool:
        """Whether they could be added without a look at what is there: the core refuses an id that is taken; few are."""
        if len({one.id for one in messages}) < len(messages):
            return False
        try:
            self.history.add(*map(to_core, messages))
        except Conflict:
            return False
        return True

    def _fresh(self, messages: Sequence[Msg]) -> list[Msg]:
        fresh: dict[str, Msg] = {}
        for one in messages:
            fresh.setdefault(one.id, one)
        for known in self._known(fresh):
            fresh.pop(original_id(known), None)
        return list(fresh.values())

    def _stored_anew(self, messages: Sequence[Msg]) -> list[Message]:
        try:
            with self._backend.transaction():
                return self.history.add(*map(to_core, messages))
        except Conflict:
            # The core never gives an id away twice, not even that of a message which was taken out.
            return self.history.add(*(to_core(one, id=self._twin(one.id)) for one in messages))

    def _twin(self, id_: str) -> str:
        """A second id for a message; it is noted under the first, so that who names that one means both."""
        key, twin = self._twins + key_part(id_), new_id()
        self._backend.kv.put(self._space, key, {"ids": [*self._twins_of(id_), twin]})
        return twin

    def _twins_of(self, id_: str) -> list[str]:
        entry = self._backend.kv.get(self._space, self._twins + key_part(id_))
        return [] if entry is None else cast("dict[str, list[str]]", entry.value)["ids"]

    def _forget_twin(self, message: Message) -> None:
        id_ = original_id(message)
        if id_ != message.id:
            left = [twin for twin in self._twins_of(id_) if twin != message.id]
            self._backend.kv.put(self._space, self._twins + key_part(id_), {"ids": left})

    def _known(self, ids: Iterable[str]) -> list[Message]:
        """The stored messages of these ids, those with a second id among them."""
        wanted = [core_id for id_ in ids for core_id in (id_, *self._twins_of(id_))]
        return self.history.log.read(self.history.thread, ids=wanted)

    def delete(self, ids: Iterable[str]) -> int:
        """Take the messages of these ids out with their marks; returns how many there were."""
        with self._backend.transaction():
            return self._remove(self._known(set(ids)))

    def delete_by_mark(self, marks: Iterable[str]) -> int:
        """Take the messages with one of these marks out; returns how many there were."""
        with self._backend.transaction():
            info = self.history.info()
            if info is None:
                return 0
            places: Places = {}
            for mark in marks:
                places = either(places, self.marks.places(mark, info))
            return self._remove(list(self._at(places)))

    def _remove(self, found: Sequence[Message]) -> int:
        if found:
            indexes = [one.index or 0 for one in found]
            self.history.remove(*indexes)
            self.marks.take_all_off(at(indexes))
            for one in found:
                self._forget_twin(one)
        return len(found)

    def change_marks(self, new_mark: str | None, old_mark: str | None, ids: Iterable[str] | None) -> int:
        """Add, replace or take off a mark; returns how many messages have other marks now than before."""
        if new_mark == old_mark:
            return 0
        with self._backend.transaction():
            info = self.history.info()
            if info is None:
                return 0
            chosen = every(info) if ids is None else at(one.index or 0 for one in self._known(set(ids)))
            if old_mark is not None:
                chosen = both(chosen, self.marks.places(old_mark, info))
            there = [one.index or 0 for one in self._at(chosen)]
            changed = at(there)
            if old_mark is not None:
                self.marks.take_off(old_mark, changed)
            elif new_mark is not None:
                changed = without(changed, self.marks.places(new_mark, info))
            if new_mark is not None:
                self.marks.put(new_mark, changed)
            return sum(bits.bit_count() for bits in changed.values())

    def set_summary(self, text: str) -> None:
        """Say what was compressed; nothing drops the summary."""
        if text:
            self._backend.kv.put(self._space, self._summary, {"text": text})
        else:
            self._backend.kv.delete(self._space, self._summary)

    def clear(self) -> None:
        """Take all messages and marks out; the summary stays."""
        with self._backend.transaction():
            kept = self.summary()
            self.history.delete()
            self.set_summary(kept)

    def replace(self, content: Sequence[tuple[Msg, list[str]]], summary: str) -> None:
        """Put other messages, marks and another summary in the place of all there is."""
        with self._backend.transaction():
            self.history.delete()
            self.set_summary(summary)
            for together, marks in _by_marks(content):
                self.add(together, marks, allow_duplicates=True)

    def take_in(self, content: Sequence[tuple[Msg, list[str]]], summary: str | None) -> None:
        """Add messages with their marks, those whose ids are not there, and put another summary if there is one."""
        with self._backend.transaction():
            # An empty conversation takes them as they are, with what stands there twice.
            anew = not len(self)
            for together, marks in _by_marks(content):
                self.add(together, marks, allow_duplicates=anew)
            if summary is not None:
                self.set_summary(summary)


def _by_marks(content: Sequence[tuple[Msg, list[str]]]) -> Iterator[tuple[list[Msg], list[str]]]:
    """Neighbours with the same marks together, so that they are written together."""
    for marks, pairs in groupby(content, key=lambda pair: pair[1]):
        yield [message for message, _ in pairs], marks


__all__ = ["Conversation"]
