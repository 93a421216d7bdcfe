"""The ways to say something in a conversation, each written once over ``add``: for one that is here, and one elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from memwell._asyncify import asyncify
from memwell.messages import Content, Message, ToolCall, ai, human, system, tool_result
from memwell.values import check_metadata, new_id


class Adding(ABC):
    """What can be added to a conversation by whoever can add messages."""

    @abstractmethod
    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their places."""

    def add_human(self, content: Content, **fields: Any) -> Message:
        """Store what a person said; it opens the next round."""
        return self.add(human(content, **fields))[0]

    def add_ai(self, content: Content = (), *, tool_calls: tuple[ToolCall, ...] = (), **fields: Any) -> Message:
        """Store what a model said, and the tools it called."""
        return self.add(ai(content, tool_calls=tool_calls, **fields))[0]

    def add_system(self, content: Content, **fields: Any) -> Message:
        """Store an instruction."""
        return self.add(system(content, **fields))[0]

    def add_tool_call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> ToolCall:
        """Store a model's call of one tool, and return the call; its ``id`` is what the result must name."""
        given = check_metadata({} if arguments is None else arguments, "a tool call's arguments")
        call = ToolCall(new_id() if call_id is None else call_id, name, given)
        self.add(ai((), tool_calls=(call,)))
        return call

    def add_tool_result(self, call_id: str, content: Content = (), *, is_error: bool = False, **fields: Any) -> Message:
        """Store what a tool answered to the call ``call_id``."""
        return self.add(tool_result(call_id, content, is_error=is_error, **fields))[0]

    aadd_human = asyncify(add_human)
    aadd_ai = asyncify(add_ai)
    aadd_system = asyncify(add_system)
    aadd_tool_call = asyncify(add_tool_call)
    aadd_tool_result = asyncify(add_tool_result)


__all__ = ["Adding"]
