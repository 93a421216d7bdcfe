"""A stand-in for AgentScope 1.x: the attributes and the isinstance checks of its classes, and nothing else."""

from __future__ import annotations

import sys
from copy import deepcopy
from itertools import count
from types import ModuleType
from typing import Any

import pytest

_numbers = count()


class Msg:
    """A message, as ``agentscope.message`` has it."""

    def __init__(self, name: str, content: Any, role: str, metadata: dict[str, Any] | None = None) -> None:
        self.name, self.content, self.role, self.metadata = name, content, role, metadata or {}
        self.id, self.timestamp, self.invocation_id = f"theirs-{next(_numbers)}", "2026-03-01 12:00:00.000", None

    def get_text_content(self) -> str:
        return self.content


class StateModule:
    """A module, as ``agentscope.module`` has it: only its own kind is nested."""

    def __init__(self) -> None:
        self._module_dict: dict[str, Any] = {}
        self._attribute_dict: dict[str, Any] = {}

    def __setattr__(self, key: str, value: Any) -> None:
        if isinstance(value, StateModule):
            self._module_dict[key] = value
        super().__setattr__(key, value)

    def register_state(self, attr_name: str) -> None:
        self._attribute_dict[attr_name] = None

    def state_dict(self) -> dict[str, Any]:
        nested = {key: getattr(self, key).state_dict() for key in self._module_dict}
        return {**nested, **{key: getattr(self, key) for key in self._attribute_dict}}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        for key in self._module_dict:
            getattr(self, key).load_state_dict(state_dict[key])
        for key in self._attribute_dict:
            setattr(self, key, state_dict[key])


class MemoryBase(StateModule):
    """The memory of an agent, as ``agentscope.memory`` has it."""


class AgentBase(StateModule):
    """An agent, as ``agentscope.agent`` has it, that formats its memory for a model as ``ReActAgent`` does."""

    def __init__(self, name: str, memory: Any) -> None:
        super().__init__()
        self.name, self.memory, self.asked = name, memory, 0
        self.register_state("asked")
        self._subscribers: dict[str, list[Any]] = {}

    async def __call__(self, msg: Any = None) -> Msg:
        answer = await self.reply(msg)
        for subscribers in self._subscribers.values():
            for one in subscribers:
                await one.observe(deepcopy(answer))
        return answer

    async def reply(self, msg: Any = None) -> Msg:
        self.asked += 1
        await self.memory.add(msg)
        known = await self.memory.get_memory()
        # The check of its formatters.
        if not all(isinstance(one, Msg) for one in known):
            raise TypeError("Expected a list of Msg")
        answer = Msg(self.name, f"{self.name} knows {len(known)}", "assistant")
        await self.memory.add(answer)
        return answer

    async def observe(self, msg: Any) -> None:
        await self.memory.add(msg)

    def reset_subscribers(self, msghub_name: str, subscribers: list[Any]) -> None:
        self._subscribers[msghub_name] = [one for one in subscribers if one is not self]

    def remove_subscribers(self, msghub_name: str) -> None:
        self._subscribers.pop(msghub_name, None)


def load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the classes those of a loaded AgentScope."""
    for name, kind in (("message", Msg), ("memory", MemoryBase), ("agent", AgentBase)):
        module = ModuleType(f"agentscope.{name}")
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, module.__name__, module)
