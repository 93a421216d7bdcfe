"""Windows: the part of a conversation that fits, cut where a model can still follow it.

Three rules hold for every window: a tool call and its result are both inside or both outside; it never begins with an
answer whose question is missing; and what is not for a model is not in it. Everything here is a pure function of messages.
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
    """A round of a conversation: usually a question and all that came of it. Round 0 is what came before the first."""

    number: int
    messages: list[Message]


def rounds_of(messages: Iterable[Message]) -> Iterator[Round]:
    """Messages in order, cut into their rounds."""
    for number, group in groupby(messages, key=lambda message: message.round or 0):
        yield Round(number, list(group))


_Spot: TypeAlias = tuple[int, int]
"""Where a part is: the position of its message, and its own position in that message."""


def _pairs(messages: Sequence[Message]) -> dict[_Spot, _Spot]:
    """The spots of calls with those of their results: each result answers the latest call of its id, each call once."""
    # Ids alone would not do: models reuse them, and calls in the retired function style have no other than their name.
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
    """The messages without the halves of broken pairs.

    A result whose call does not come before it goes, and so does a call without a result, unless it is the last thing that
    happened and, with ``may_wait``, its result may still come. A message of which nothing is left goes whole.
    """
    if not _uses_tools(messages):
        return list(messages)
    results = set(_pairs(messages).values())
    answered = _only(messages, ToolResult, lambda spot: spot in results)
    calls, last_calls = _pairs(answered), _last_calls(answered) if may_wait else len(answered)
    return _only(answered, ToolCall, lambda spot: spot in calls or spot[0] >= last_calls)


def first_waiting(messages: Sequence[Message]) -> Message | None:
    """The first message with a call that is not answered in any of them."""
    if not _uses_tools(messages):
        return None
    calls = _pairs(messages)
    for position, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and (position, number) not in calls:
                return message
    return None


def whole(messages: Iterable[Message]) -> list[Message]:
    """The messages that stand for themselves: no call that waits for a result, no result of a call elsewhere."""
    return [message for message in messages if not _uses_tools([message])]


def _uses_tools(messages: Iterable[Message]) -> bool:
    for message in messages:
        for part in message.parts:
            # Most conversations never call a tool, and the type is asked faster than the class.
            if type(part) is not Text and isinstance(part, ToolCall | ToolResult):
                return True
    return False


def _only(messages: Sequence[Message], kind: type, keep: Callable[[_Spot], bool]) -> list[Message]:
    """The messages with only those parts of a kind whose spots are to be kept, and with all others."""
    kept: list[Message] = []
    for position, message in enumerate(messages):
        parts = [p for number, p in enumerate(message.parts) if not isinstance(p, kind) or keep((position, number))]
        if len(parts) == len(message.parts):
            kept.append(message)
        elif parts:
            kept.append(message.changed(parts=parts))
    return kept


def _last_calls(messages: Sequence[Message]) -> int:
    """The position from which on a call may still be answered: that of the last calls, if only results came since."""
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

    When not even the last round fits, its opening and as many of its last steps as fit are kept. Without ``may_wait`` not
    even the last calls are kept without their results. Raises ``InvalidInput`` when the preamble alone is over the budget.
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
    """The id of the message that opens a round. A view opens nothing: it is no part of what a model is told."""
    return [message.id for message in messages if message.role is not Role.VIEW][:1]


def _sound(messages: list[Message], openings: Collection[str], may_wait: bool) -> list[Message]:
    """The messages without broken pairs, and without answers at the front whose round does not begin with them."""
    while True:
        whole = paired(messages, may_wait=may_wait)
        begin = (at for at, one in enumerate(whole) if one.role not in _ANSWERS or one.id in openings)
        first = next(begin, len(whole))
        if first == 0:
            return whole
        # What was cut off may have held a call, so look again.
        messages = whole[first:]


def _within(messages: Iterable[Message], before: Iterable[Message], size: Size) -> list[Message]:
    """The messages, none larger than it was: a count that a caller gave for a whole message bounds what is left of it."""
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
    """Messages that stay together: one with tool calls, and all up to the last result of them."""
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
    """The index from which on a conversation is kept when its oldest rounds are dropped to stay within a limit.

    The latest round is kept however large it is, and so is a round that the tool results of a kept one answer.
    """
    used, cut = 0, 0
    missing: set[str] = set()  # calls that were made before the cut and are answered behind it
    beyond: set[str] = set()  # the same for the rounds looked at since the cut
    for taken, round_ in enumerate(newest_first):
        used += size(round_)
        fits = used <= limit or not taken
        if not fits and not missing:
            break
        called = {call.id for message in round_.messages for call in message.tool_calls}
        beyond = (beyond - called) | _answered_only(round_.messages)
        # A result may answer a call that is nowhere, so one that is missing alone keeps nothing.
        if fits or missing & called:
            cut = round_.messages[0].index or 0
            missing = (missing - called) | beyond
            beyond = set()
    return cut


def _answered_only(messages: Iterable[Message]) -> set[str]:
    """The ids of calls that are answered here and made before."""
    called: set[str] = set()
    missing: set[str] = set()
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCall):
            called.add(part.id)
        elif isinstance(part, ToolResult) and part.call_id not in called:
            missing.add(part.call_id)
    return missing
