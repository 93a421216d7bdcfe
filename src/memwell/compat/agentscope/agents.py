"""Agents that exchange ``Msg``, and the hub on which they hear each other."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, ClassVar, cast

from memwell.compat.agentscope.messages import AudioBlock, ContentBlock, Msg
from memwell.runtime.agents import Agent, Hub
from memwell.values import check_type

_SPOKEN = frozenset({"text", "thinking", "image", "audio", "video"})


class AgentBase(Agent[Msg]):
    """An agent: override ``reply``, ``observe`` and ``handle_interrupt``, and call the agent itself.

    Other agents get copies of its replies without thinking blocks. It prints to the console unless that is turned off.
    """

    console_output: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()

    async def observe(self, msg: Msg | list[Msg] | None) -> None:
        """Take in messages of others without an answer. To be overridden; raises ``NotImplementedError``."""
        await super().observe(msg)

    async def print(self, msg: Msg, last: bool = True, speech: AudioBlock | list[AudioBlock] | None = None) -> None:
        """Put a copy, ``last`` and ``speech`` into the queue, and show the message on the console; each if enabled.

        A message may be printed again while it grows; ``last`` says that it is complete. Sound is not played.
        """
        await self._put_out((copy.deepcopy(msg), last, speech))
        if self._console_output:
            self._show(msg.id, _on_console(msg, last), last)

    def disable_console_output(self) -> None:
        """The same as ``set_console_output_enabled(False)``."""
        self.set_console_output_enabled(False)

    def copy_for_others(self, message: Msg) -> Msg:
        """A copy with the same id and no thinking block."""
        twin = _message(message).__deepcopy__({})
        if type(twin.content) is list:
            blocks: list[ContentBlock] = [block for block in twin.content if block["type"] != "thinking"]
            twin.content = blocks
        return twin

    async def _deliver_reply(self, message: Msg | None) -> None:
        # Checked here, the mistake is the caller's; on the hub it would be noted as a failure of every other agent.
        await super()._deliver_reply(None if message is None else _message(message))


class MsgHub(Hub[Msg]):
    """Agents that hear each other as long as the ``async with`` over the hub lasts.

    As ``memwell.runtime.agents.Hub``: deliveries run together, an agent that raises or takes longer than ``timeout_s`` is
    noted in ``failures``, and a deleted agent neither hears the others nor is heard.
    """

    def __init__(
        self,
        participants: Sequence[AgentBase],
        announcement: list[Msg] | Msg | None = None,
        enable_auto_broadcast: bool = True,
        name: str | None = None,
        *,
        timeout_s: float = 30.0,
    ) -> None:
        """Raises ``InvalidInput`` for a participant that is no agent, or an announcement that is no message."""
        if announcement is not None:
            _messages(announcement)
        super().__init__(
            participants, announcement, auto_broadcast=enable_auto_broadcast, name=name or None, timeout_s=timeout_s
        )

    @property
    def enable_auto_broadcast(self) -> bool:
        """Whether the other agents observe an agent's replies."""
        return self.auto_broadcast

    async def broadcast(self, msg: list[Msg] | Msg) -> None:
        """Let all agents observe copies of a message or of several. Raises ``InvalidInput`` for anything else."""
        await super().broadcast(_messages(msg))


def _message(value: object) -> Msg:
    return check_type(value, Msg, "agents exchange Msg")


def _messages(value: object) -> Msg | list[Msg]:
    return [_message(each) for each in cast("list[object]", value)] if isinstance(value, list) else _message(value)


def _on_console(msg: Msg, last: bool) -> str:
    """The words first, because they grow from one printing to the next; other blocks when the message is complete."""
    blocks: list[dict[str, Any]] = msg.get_content_blocks()
    heads = {"text": f"{msg.name}: ", "thinking": f"{msg.name}(thinking): "}
    lines = [heads[block["type"]] + block[block["type"]] for block in blocks if block["type"] in heads]
    if last:
        others = [block for block in blocks if block["type"] not in _SPOKEN]
        lines += [json.dumps(block, indent=4, ensure_ascii=False, default=str) for block in others]
    return "\n".join(lines)
