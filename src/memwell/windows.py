"""Windows: the end of a conversation that fits a budget, cut so that a model can follow it.

A window holds a tool call and its result both or not at all; it never begins with an answer without its question; and it
holds only messages for a model. Everything here is a pure function of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import msgspec

from memwell.errors import InvalidInput
from memwell.messages import Message, Role, Text, ToolCall, ToolResult

_ANSWERS = frozenset({Role.AI, Role.TOOL, Role.FUNCTION})
_RESULTS = frozenset({Role.TOOL, Role.FUNCTION})


class Round(msgspec.Struct, frozen=True):
    """A round of a conversation: a question and everything until the next one. Round 0 is before the first question."""

    number: int
    messages: list[Message]


def rounds_of(messages: Iterable[Message]) -> Iterator[Round]:
    """Messages in order, split into their rounds."""
    for number, group in groupby(messages, key=lambda message: message.round or 0):
        yield Round(number, list(group))


_Spot: TypeAlias = tuple[int, int]
"""The position of a part: that of its message, and its own in the message."""


def _pairs(messages: Sequence[Message]) -> dict[_Spot, _Spot]:
    """The positions of calls with those of their results: a result answers the latest call of its id, a call once."""
    # Ids are not unique: models reuse them, and calls of the old function style have only their name.
    waiting: dict[str, _Spot] = {}
    pairs: dict[_Spot, _Spot] = {}
    for position, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                waiting[part.id] = (position, number)
            elif isinstance(part, ToolResult) and part.call_id in waiting:
                pairs[waiting.pop(part.call_id)] = (position, number)
    return pairs


def paired(messages: Sequence[Message], *, may_wait: bool = True) -> list[Message]:
    """The messages without incomplete pairs of call and result.

    A result without an earlier call is removed, and so is a call without a result, unless it is at the end and, with
    ``may_wait``, its result may still come. A message without other parts is removed.
    """
    if not _uses_tools(messages):
        return list(messages)
    results = set(_pairs(messages).values())
    answered = _only(messages, ToolResult, lambda spot: spot in results)
    calls, last_calls = _pairs(answered), _last_calls(answered) if may_wait else len(answered)
    return _only(answered, ToolCall, lambda spot: spot in calls or spot[0] >= last_calls)


def first_waiting(messages: Sequence[Message]) -> Message | None:
    """The first message with a call that none of them answers."""
    if not _uses_tools(messages):
        return None
    calls = _pairs(messages)
    for position, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and (position, number) not in calls:
                return message
    return None


def whole(messages: Iterable[Message]) -> list[Message]:
    """The messages without tool calls and results."""
    return [message for message in messages if not _uses_tools([message])]


def _uses_tools(messages: Iterable[Message]) -> bool:
    for message in messages:
        for part in message.parts:
            # Most conversations never call a tool, and checking the exact type is fast.
            if type(part) is not Text and isinstance(part, ToolCall | ToolResult):
                return True
    return False


def _only(messages: Sequence[Message], kind: type, keep: Callable[[_Spot], bool]) -> list[Message]:
    """The messages with the kept parts of a kind, and all parts of other kinds."""
    kept: list[Message] = []
    for position, message in enumerate(messages):
        parts = [p for number, p in enumerate(message.parts) if not isinstance(p, kind) or keep((position, number))]
        if len(parts) == len(message.parts):
            kept.append(message)
        elif parts:
            kept.append(message.changed(parts=parts))
    return kept


def _last_calls(messages: Sequence[Message]) -> int:
    """The position from which calls may still be answered: that of the last calls, if only results follow."""
    position = len(messages)
    while position and messages[position - 1].tool_results and not messages[position - 1].tool_calls:
        position -= 1
    # A model's parallel calls may be stored one message each.
    while position and messages[position - 1].tool_calls:
        position -= 1
    return position


Size: TypeAlias = Callable[[Message], int]


def fitted(
    newest_first: Iterable[Round],
    budget: int,
    size: Size,
    preamble: Sequence[Message] = (),
    *,
    may_wait: bool = True,
) -> list[Message]:
    """The preamble and as many whole rounds from the end as fit the budget, in order.

    When the last round alone does not fit, its first message and as many of its last steps as fit are kept. Without
    ``may_wait`` the last calls need their results too. Raises ``InvalidInput`` when the preamble exceeds the budget.
    """
    start = whole(message for message in preamble if message.for_model)
    left = budget - sum(map(size, start))
    if left < 0:
        raise InvalidInput(f"the system messages take {budget - left} tokens, more than the budget of {budget}")
    kept: list[Message] = []
    openings: set[str] = set()
    for round_ in newest_first:
        messages = [message for message in round_.messages if message.for_model]
        needed = sum(map(size, messages))
        if needed > left and kept:
            break
        openings.update(_opening(round_.messages))
        if needed > left:
            kept = _partial(messages, left, size)
            break
        kept = messages + kept
        left -= needed
    return start + _within(_sound(kept, openings, may_wait), kept, size)


def _opening(messages: Iterable[Message]) -> list[str]:
    """The id of the first message of a round. Views do not count, because models do not see them."""
    return [message.id for message in messages if message.role is not Role.VIEW][:1]


def _sound(messages: list[Message], openings: Collection[str], may_wait: bool) -> list[Message]:
    """The messages without incomplete pairs, and without leading answers that do not start their round."""
    while True:
        whole = paired(messages, may_wait=may_wait)
        begin = (at for at, one in enumerate(whole) if one.role not in _ANSWERS or one.id in openings)
        first = next(begin, len(whole))
        if first == 0:
            return whole
        # A removed message may have held a call, so check again.
        messages = whole[first:]


def _within(messages: Iterable[Message], before: Iterable[Message], size: Size) -> list[Message]:
    """The messages, none counted larger than before: a caller's count of a whole message bounds that of its rest."""
    were = {message.id: message for message in before}
    return [
        one if one is were[one.id] or size(one) <= size(were[one.id]) else one.changed(tokens=size(were[one.id]))
        for one in messages
    ]


def _partial(messages: Sequence[Message], budget: int, size: Size) -> list[Message]:
    steps = list(_steps(messages))
    opening = steps[0] if steps else []
    left = budget - sum(map(size, opening))
    if left < 0:
        return []
    kept: list[Message] = []
    for step in reversed(steps[1:]):
        needed = sum(map(size, step))
        if needed > left:
            break
        kept = step + kept
        left -= needed
    return opening + kept


def _steps(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Groups of messages that stay together: one with tool calls, and all up to their last result."""
    last_result: dict[int, int] = {}
    for (position, _), (answer, _) in _pairs(messages).items():
        last_result[position] = max(answer, last_result.get(position, 0))
    step: list[Message] = []
    together_until = -1
    for position, message in enumerate(messages):
        if step and position > together_until and message.role not in _RESULTS:
            yield step
            step = []
        step.append(message)
        together_until = max(together_until, last_result.get(position, -1))
    if step:
        yield step


def kept_from(newest_first: Iterable[Round], limit: int, size: Callable[[Round], int]) -> int:
    """The first kept index when the oldest rounds are dropped to stay within a limit.

    The latest round is always kept, and so is a round whose tool calls a kept one answers.
    """
    used, cut = 0, 0
    missing: set[str] = set()  # calls before the cut that are answered after it
    beyond: set[str] = set()  # the same for the rounds read since the cut
    for taken, round_ in enumerate(newest_first):
        used += size(round_)
        fits = used <= limit or not taken
        if not fits and not missing:
            break
        called = {call.id for message in round_.messages for call in message.tool_calls}
        beyond = (beyond - called) | _answered_only(round_.messages)
        # A result may answer a call that does not exist, so a missing call alone keeps nothing.
        if fits or missing & called:
            cut = round_.messages[0].index or 0
            missing = (missing - called) | beyond
            beyond = set()
    return cut


def _answered_only(messages: Iterable[Message]) -> set[str]:
    """The ids of calls that are answered here but made before."""
    called: set[str] = set()
    missing: set[str] = set()
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCall):
            called.add(part.id)
        elif isinstance(part, ToolResult) and part.call_id not in called:
            missing.add(part.call_id)
    return missing
