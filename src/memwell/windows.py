"""Windows: the part of a conversation that fits, cut where a model can still follow it.

Three rules hold for every window: a tool call and its result are both inside or both outside; it never begins with an
answer whose question is missing; and what is not for a model is not in it. Everything here is a pure function of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from memwell.errors import InvalidInput
from memwell.messages import Message, Part, Role, ToolCall, ToolResult


class Round(msgspec.Struct, frozen=True):
    """A round of a conversation: usually a question and all that came of it. Round 0 is what came before the first."""

    number: int
    messages: list[Message]


def rounds_of(messages: Iterable[Message]) -> Iterator[Round]:
    """Messages in order, cut into their rounds."""
    for number, group in groupby(messages, key=lambda message: message.round or 0):
        yield Round(number, list(group))


def paired(messages: Sequence[Message]) -> list[Message]:
    """The messages without the halves of broken pairs.

    A result whose call does not come before it goes, and so does a call without a result, unless it is the last thing that
    happened and its result may still come. A message of which nothing is left goes whole.
    """
    called: set[str] = set()
    answered: set[str] = set()
    for message in messages:
        called.update(call.id for call in message.tool_calls)
        answered.update(result.call_id for result in message.tool_results if result.call_id in called)
    waiting = _waiting(messages)
    seen: set[str] = set()
    kept: list[Message] = []
    for position, message in enumerate(messages):
        parts = tuple(_whole(message.parts, seen, answered, pending=position >= waiting))
        if len(parts) == len(message.parts):
            kept.append(message)
        elif parts:
            kept.append(message.changed(parts=parts))
    return kept


def _waiting(messages: Sequence[Message]) -> int:
    """From which position on calls may still be answered: the last message that calls, if nobody else spoke since."""
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].tool_calls:
            return position
        if not messages[position].tool_results:
            break
    return len(messages)


def _whole(parts: Sequence[Part], seen: set[str], answered: set[str], *, pending: bool) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, ToolCall):
            if part.id not in answered and not pending:
                continue
            seen.add(part.id)
        elif isinstance(part, ToolResult) and part.call_id not in seen:
            continue
        yield part


def orphans(messages: Iterable[Message]) -> set[str]:
    """The ids of calls that are answered here but made before."""
    called: set[str] = set()
    missing: set[str] = set()
    for message in messages:
        called.update(call.id for call in message.tool_calls)
        missing.update(result.call_id for result in message.tool_results if result.call_id not in called)
    return missing


Size = Callable[[Message], int]


def fitted(newest_first: Iterable[Round], budget: int, size: Size, preamble: Sequence[Message] = ()) -> list[Message]:
    """The preamble and as many whole rounds from the end as fit the budget, in order.

    When not even the last round fits, its opening and as many of its last steps as fit are kept. Raises ``InvalidInput``
    when the preamble alone is over the budget.
    """
    start = [message for message in preamble if message.for_model]
    left = budget - sum(map(size, start))
    if left < 0:
        raise InvalidInput(f"the system messages take {budget - left} tokens, more than the budget of {budget}")
    kept: list[Message] = []
    for round_ in newest_first:
        messages = [message for message in round_.messages if message.for_model]
        needed = sum(map(size, messages))
        if needed > left:
            if not kept:
                kept = _partial(messages, left, size)
            break
        kept = messages + kept
        left -= needed
    return start + paired(kept)


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


def _steps(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Messages that stay together: a message with tool calls and what answers them."""
    step: list[Message] = []
    open_calls: set[str] = set()
    for message in messages:
        answers = {result.call_id for result in message.tool_results}
        if step and not answers & open_calls and message.role is not Role.FUNCTION:
            yield step
            step, open_calls = [], set()
        step.append(message)
        open_calls |= {call.id for call in message.tool_calls}
    if step:
        yield step


__all__ = ["Round", "Size", "fitted", "orphans", "paired", "rounds_of"]
