"""Strategies that keep a summary: of everything, or of what no longer fits a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Final

from memwell.errors import BadModelOutput, InvalidInput
from memwell.history import HistoryReader
from memwell.messages import Message
from memwell.models.ports import ChatModel
from memwell.strategies.base import Strategy
from memwell.strategies.notes import note
from memwell.strategies.state import AT_ONCE, Held, State, is_preamble, next_index, until_settled, with_note
from memwell.strategies.summarising import DEFAULT_TOKENS, Summariser, as_summariser, condensed, said_something
from memwell.strategies.windows import Leaving, checked_history, checked_leaving, hand_over
from memwell.transcript import to_text
from memwell.values import check_count, check_text

_LEAST: Final = 12
"""With less room than this beside its heading, in tokens, there is no summary."""


class _Summing(Strategy):
    """A summary that messages are folded into, each exactly once, and the message that tells it."""

    def __init__(
        self, history: HistoryReader, summariser: Summariser | ChatModel | None, share: int, name: str, *, system: bool
    ) -> None:
        self.history = checked_history(history)
        self.system = system
        self.share = share
        """How many tokens the message that tells the summary may take."""
        self.summariser = as_summariser(summariser, share, history.counter)
        self._state = State(history, name)

    @property
    def summary(self) -> str:
        """The summary as it is now; empty before there is one."""
        return _summary_in(self._state.read())

    def rewrite(self, summary: str) -> None:
        """Put another summary in the place of this one; which messages it covers stays as it is.

        Raises ``InvalidInput`` for a summary that takes more than its share.
        """
        text = check_text(summary, "a summary").strip()
        if self._size(text) > self.share:
            raise InvalidInput(f"the summary takes {self._size(text)} tokens, more than its share of {self.share}")
        until_settled(lambda: self._rewritten(text))

    def _rewritten(self, text: str) -> bool:
        held = self._state.read()
        self._state.move(held, upto=held.upto, round=held.round, fields={**held.fields, "summary": text})
        return False

    def clear(self) -> None:
        self._state.clear()

    def _fold(self, held: Held, messages: Sequence[Message]) -> dict[str, str]:
        """The fields of the state once these messages are folded in."""
        spoken = [one for one in messages if one.for_model and not is_preamble(one) and one.text.strip()]
        if not spoken or not self._has_room:
            return held.fields
        old = _summary_in(held)
        new = self._checked(self.summariser.fold(old, spoken), old, spoken)
        return {"summary": new, "time": spoken[-1].time.isoformat()}

    def _checked(self, answer: object, old: str, messages: Sequence[Message]) -> str:
        who = type(self.summariser).__name__
        new = said_something(answer, who)
        size = self._size(new)
        if size <= self.share:
            return new
        # A summary in other words may be a little longer than a short talk, but not by more than its whole share.
        if size > self._size(f"{old}\n{to_text(messages)}") + self.share:
            raise BadModelOutput(f"{who} answered with a summary of {size} tokens, longer than what it sums up")
        # A little too long is no reason to lose it, but the share is a promise.
        return said_something(condensed(new, limit=self.share, size=self._size), who)

    @cached_property
    def _has_room(self) -> bool:
        return max(self._size("-"), self._size("一")) + _LEAST <= self.share

    def _size(self, summary: str) -> int:
        told = self._told(summary, None)
        return 0 if told is None else self.history.counter.count_message(told)

    def _told(self, summary: str, time: str | None) -> Message | None:
        moment = None if time is None else datetime.fromisoformat(time)
        return note("summary", [summary], id_=self._state.id, time=moment)

    def _message(self, held: Held) -> Message | None:
        return self._told(_summary_in(held), held.fields.get("time"))


def _summary_in(held: Held) -> str:
    return held.fields.get("summary", "")


class Summary(_Summing):
    """A summary of the whole conversation, in one system message of at most ``tokens`` tokens, its heading included.

    What was not folded in yet, because nobody observed it or the summariser failed, is shown as it was said, in whole
    rounds. With ``system`` the instructions from before the first round come first, as they are; they are never folded in.
    ``summariser`` is a ``Summariser`` or a chat model; without one the sentences that say most are kept as they stand. When
    it raises, says nothing, or says far more than it was given, everything stays as it was and ``observe`` raises: what it
    raised, or ``BadModelOutput``. One that is over its limit, but shorter than what it sums up, is cut to the sentences
    that say most. Where the limit is hardly more than the heading, no summary is made. Two strategies of one ``name``
    share their summary.
    """

    def __init__(
        self,
        history: HistoryReader,
        summariser: Summariser | ChatModel | None = None,
        tokens: int = DEFAULT_TOKENS,
        *,
        system: bool = True,
        name: str = "summary",
    ) -> None:
        super().__init__(history, summariser, check_count(tokens, "tokens"), name, system=system)

    def observe(self) -> None:
        until_settled(self._step)

    def _step(self) -> bool:
        held = self._state.read()
        messages = self._state.unread(held)
        if not messages:
            return False
        fields = self._fold(held, messages)
        self._state.move(held, upto=next_index(messages), round=messages[-1].round or 0, fields=fields)
        return len(messages) == AT_ONCE

    def recall(self, query: str | None = None) -> list[Message]:
        held = self._state.read()
        unread = self.history.log.read(self.history.thread, after=held.upto - 1, first=1)
        folded = max((unread[0].round or 0) - 1, 0) if unread else None
        return with_note(rounds_after(self.history, folded, system=self.system), self._message(held))


class SummaryBuffer(_Summing):
    """The last rounds as they were said, and a summary of what came before, together within ``tokens``.

    ``summary_tokens`` of them are set aside for the summary, its heading included, whether there is one yet or not: unless
    given, 400, but no more than half of ``tokens``. The rest is for the rounds, which leave whole, oldest first, and are
    then folded into the summary. With ``system`` the instructions from before the first round come first and count as the
    rounds do; when those alone do not fit, ``recall`` raises ``InvalidInput``. What ``Summary`` says of the summariser, its
    failures and ``name`` holds here. Each of ``leaving`` is called with the messages that leave, once their summary is made
    and before anything is noted: when one raises, nothing is noted and they are handed over again by the next ``observe``.
    So each message is handed over at least once. Raises ``InvalidInput`` for a limit below 0 and for ``summary_tokens``
    above ``tokens``.
    """

    def __init__(
        self,
        history: HistoryReader,
        tokens: int = 2000,
        summariser: Summariser | ChatModel | None = None,
        summary_tokens: int | None = None,
        leaving: Iterable[Leaving] = (),
        *,
        system: bool = True,
        name: str = "summary-buffer",
    ) -> None:
        self.tokens = check_count(tokens, "tokens")
        super().__init__(history, summariser, _share(tokens, summary_tokens), name, system=system)
        self.summary_tokens = self.share
        self._leaving = checked_leaving(leaving)

    def observe(self) -> None:
        until_settled(self._step)

    def _step(self) -> bool:
        held = self._state.read()
        kept = self._kept(held)
        cut = kept[0].index if kept else None
        messages = self._state.unread(held, cut)
        newest = self.history.log.read(self.history.thread, after=held.upto - 1, before=cut, last=1) if messages else []
        # What came before the first round is in no window; it waits until something leaves.
        if not newest or not newest[0].round:
            return False
        fields = self._fold(held, messages)
        hand_over(self._leaving, messages)
        is_last = messages[-1].index == newest[0].index
        number = kept[0].round - 1 if is_last and kept and kept[0].round else messages[-1].round or 0
        self._state.move(held, upto=next_index(messages), round=number, fields=fields)
        return not is_last

    def _kept(self, held: Held) -> list[Message]:
        """The rounds that may stay as they are."""
        instructions = self.history.window(rounds=0) if self.system else []
        room = self.tokens - self.share - sum(map(self.history.counter.count_message, instructions))
        return rounds_after(self.history, held.round, tokens=max(room, 0), system=False)

    def recall(self, query: str | None = None) -> list[Message]:
        if not self.tokens:
            return []
        held = self._state.read()
        room = self.tokens - self.share
        return with_note(rounds_after(self.history, held.round, tokens=room, system=self.system), self._message(held))


def rounds_after(
    history: HistoryReader, folded: int | None, *, tokens: int | None = None, system: bool
) -> list[Message]:
    """A window of the rounds after number ``folded`` alone, none of them for None."""
    last = history.last(1) if folded is not None else []
    most = max((last[0].round or 0) - folded, 0) if last and folded is not None else 0
    while True:
        window = history.window(tokens=tokens, rounds=most, system=system)
        older = {one.round for one in window if not is_preamble(one) and (one.round or 0) <= (folded or 0)}
        if not older:
            return window
        # Where rounds were taken out whole, it went back too far.
        most -= len(older)


def _share(tokens: int, given: int | None) -> int:
    if given is None:
        return min(DEFAULT_TOKENS, tokens // 2)
    if check_count(given, "summary_tokens") > tokens:
        raise InvalidInput(f"summary_tokens must be at most the {tokens} tokens there are, not {given}")
    return given


__all__ = ["Summary", "SummaryBuffer"]
