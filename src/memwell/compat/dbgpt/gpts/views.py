"""A dialogue as DB-GPT's own pages take it: Markdown whose blocks they draw, or a plain list of what was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from memwell.compat.dbgpt.gpts.values import GptsMessage, Status, reported

HUMAN = "Human"
_UNKNOWN = "?"


def dialogue_markdown(messages: Sequence[GptsMessage]) -> str:
    """The dialogue as Markdown with blocks ``agent-plans`` and ``agent-messages`` of JSON.

    Messages of one goal that follow each other are a step of the plan; those without a goal stand by themselves. What was
    said last for the last goal is shown again below it, and what an action that ended it all gave is shown as text.
    """
    blocks: list[str] = []
    steps: list[dict[str, Any]] = []
    ending = _ending(messages)
    # What ended it all is shown as text and in no step.
    grouped = messages[:-1] if ending is not None else messages
    for goal, group in groupby(grouped, key=lambda one: one.current_goal or None):
        said = list(group)
        if goal is not None:
            steps.append(_step(goal, len(steps) + 1, said))
            continue
        blocks += [*_plan_block(steps), *(messages_block([_view(one)]) for one in said)]
        steps = []
    blocks += _plan_block(steps)
    if ending is not None:
        blocks.append(ending)
    elif steps:
        blocks.append(messages_block([_view(messages[-1], last=True)]))
    return "\n".join(blocks)


def plain_views(messages: Iterable[GptsMessage]) -> list[dict[str, Any]]:
    """What the agents said, as dictionaries; what the person said is left out."""
    return [_plain_view(one) for one in messages if one.sender != HUMAN]


def streamed_view(message: Mapping[str, Any] | str) -> list[dict[str, Any]]:
    """A message that is still being written, or only its text, in the form of the others."""
    if isinstance(message, str):
        message = {"markdown": message}
    return [{name: message.get(name, _UNKNOWN) for name in ("sender", "receiver", "model", "markdown")}]


def messages_block(views: list[dict[str, Any]]) -> str:
    """The block that shows messages."""
    return _block("agent-messages", views)


def _step(goal: str, number: int, said: Sequence[GptsMessage]) -> dict[str, Any]:
    state = Status.COMPLETE if said[-1].is_success else Status.FAILED
    return {
        "name": goal,
        "num": number,
        "status": state.value,
        "agent": said[0].receiver,
        "markdown": messages_block([_view(one) for one in said]),
    }


def _plan_block(steps: list[dict[str, Any]]) -> list[str]:
    return [_block("agent-plans", steps)] if steps else []


def _ending(messages: Sequence[GptsMessage]) -> str | None:
    output = reported(messages[-1]) if messages else None
    return (output.content or output.view or "") if output is not None and output.terminate else None


def _view(message: GptsMessage, *, last: bool = False) -> dict[str, Any]:
    output, text = reported(message), message.content
    if output is not None and (output.is_exe_success or last):
        text = output.view or output.content
    return {**_fields(message, text), "resource": message.resource_info or None}


def _plain_view(message: GptsMessage) -> dict[str, Any]:
    output = reported(message)
    return _fields(message, message.content if output is None else output.content)


def _fields(message: GptsMessage, text: str) -> dict[str, Any]:
    return {"sender": message.sender, "receiver": message.receiver, "model": message.model_name, "markdown": text}


def _block(tag: str, content: object) -> str:
    # JSON is one line, so that nothing said can close the block.
    return f"```{tag}\n{msgspec.json.encode(content).decode()}\n```"


__all__ = ["HUMAN", "dialogue_markdown", "messages_block", "plain_views", "streamed_view"]
