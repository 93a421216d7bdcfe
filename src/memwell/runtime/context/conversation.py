"""The part of a conversation that goes into a prompt, read from its end and never further than the budget reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memwell.history import HistoryReader
from memwell.messages import Message, Role
from memwell.records import paged
from memwell.windows import Round, Size, fitted, paired, whole

_BLOCK = 64
_FEW = 4
_MOST_BEFORE_ROUNDS = 256
_MOST_IN_ROUND = 10_000
_RESULTS = frozenset({Role.TOOL, Role.FUNCTION})
_WAITING = frozenset({Role.HUMAN, Role.TOOL, Role.FUNCTION})
_STEADY = 4


def preamble(history: HistoryReader) -> list[Message]:
    """The system messages from before the first round that are for a model."""
    found: list[Message] = []
    cursor = None
    for _ in range(_MOST_BEFORE_ROUNDS // _FEW):
        page = history.page(limit=_FEW, cursor=cursor)
        before = [message for message in page.items if not message.round]
        found += [message for message in before if message.role is Role.SYSTEM and message.for_model]
        cursor = page.next
        if cursor is None or len(before) < len(page.items):
            break
    return whole(found)


def newest_rounds(history: HistoryReader, size: Size, most: int) -> Iterator[Round]:
    """The rounds, newest first. One of more than ``most`` tokens is given as its opening and its end, and is the last."""
    gathered: list[Message] = []
    weight = 0
    for message in _newest_first(history):
        if gathered and message.round != gathered[0].round:
            yield Round(gathered[0].round or 0, gathered[::-1])
            gathered, weight = [], 0
        if not message.round:
            return
        gathered.append(message)
        weight += size(message) if message.for_model else 0
        if weight > most or len(gathered) > _MOST_IN_ROUND:
            yield Round(message.round, _opened(history, gathered[::-1]))
            return
    if gathered:
        yield Round(gathered[0].round or 0, gathered[::-1])


def _newest_first(history: HistoryReader) -> Iterator[Message]:
    return paged(lambda cursor: history.page(limit=_BLOCK, cursor=cursor, newest_first=True))


def _opened(history: HistoryReader, end: list[Message]) -> list[Message]:
    """The end of a round behind the message that opened it, without the results at its front whose calls are cut off."""
    opening = _opening(history, end[0])
    if opening is None or opening.index == end[0].index:
        return end
    while end and end[0].role in _RESULTS:
        end = end[1:]
    return [opening, *end]


def _opening(history: HistoryReader, inside: Message) -> Message | None:
    """The first message of the round that is no view, by bisection: rounds never fall as indexes rise."""
    low, high = 0, inside.index or 0
    while low < high:
        middle = (low + high) // 2
        found = history.log.read(history.thread, first=1, after=middle - 1)
        if found and (found[0].round or 0) < (inside.round or 0):
            low = (found[0].index or 0) + 1
        else:
            high = middle
    first = history.log.read(history.thread, first=_FEW, after=low - 1)
    return next((one for one in first if one.role is not Role.VIEW and one.round == inside.round), None)


def goes_on(round_: Round, query: Message) -> bool:
    """Whether the round is the one that the query opened, and a model is to speak next."""
    said = [message for message in round_.messages if message.for_model]
    if not said or said[-1].role not in _WAITING or said[0].role is not Role.HUMAN:
        return False
    # A result in a person's name opens a round too, and without its call it cannot be asked.
    return said[0].id == query.id or (said[0].text == query.text and not said[0].tool_results)


def under_way(round_: Round, budget: int, size: Size) -> list[Message]:
    """The round of the query: its opening, which must fit, and as many of its last steps as fit."""
    opening = [message for message in round_.messages if message.for_model][:1]
    # A model speaks next, so that no call can wait for its result any longer.
    fitting = fitted([round_], budget, size, may_wait=False)
    return fitting if fitting and fitting[0].id == opening[0].id else opening


def window(rounds: Iterator[Round], budget: int, size: Size, following: Message, *, steady: bool) -> list[Message]:
    """As many whole rounds from the end as fit, ready to be followed by ``following``: no call in it waits for a result.

    With ``steady`` a window that leaves older rounds out begins at a round whose number is a multiple of a power of two, a
    quarter of its length at most, so that it begins at the same round for several turns.
    """
    chosen: list[Round] = []
    left = budget
    for round_ in rounds:
        left -= sum(size(message) for message in round_.messages if message.for_model)
        if left < 0:
            # fitted keeps the end of the newest one even if all of it does not fit.
            chosen = _aligned(chosen) if steady else chosen
            chosen = chosen or [round_]
            break
        chosen.append(round_)
    kept = fitted(chosen, budget, size)
    return _no_larger(paired([*kept, following])[:-1], kept, size)


def _aligned(newest_first: list[Round]) -> list[Round]:
    """Without the oldest, up to one whose number is a multiple of the step."""
    step = 1
    while step * 2 * _STEADY <= len(newest_first):
        step *= 2
    end = len(newest_first)
    while end and newest_first[end - 1].number % step:
        end -= 1
    return newest_first[:end] or newest_first


def _no_larger(messages: Sequence[Message], before: Sequence[Message], size: Size) -> list[Message]:
    """The messages, none larger than it was whole: a count that a caller gave for all of it bounds what is left."""
    were = {message.id: size(message) for message in before}
    return [one if size(one) <= were[one.id] else one.changed(tokens=were[one.id]) for one in messages]


__all__ = ["goes_on", "newest_rounds", "preamble", "under_way", "window"]
