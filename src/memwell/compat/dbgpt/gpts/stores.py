"""Where plans and dialogues are kept: two contracts, and what fulfils them over any store.

The methods block, as DB-GPT's do; each has an async twin with an ``a`` in front.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from memwell._asyncify import asyncify
from memwell.compat.dbgpt.gpts.dialogues import as_core, as_gpts
from memwell.compat.dbgpt.gpts.recent import RecentDialogues
from memwell.compat.dbgpt.gpts.values import GptsMessage, GptsPlan, Status, check_plan, copied
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AllOf, Where, id_begins_with
from memwell.history import History
from memwell.history.reading import key_part
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space, paged
from memwell.storage.protocols import Backend, Entry
from memwell.storage.registry import open_backend
from memwell.storage.sharing import Store, shared_backend
from memwell.values import check_count, check_id, shown

_UNFINISHED = (Status.TODO.value, Status.RETRYING.value)


class GptsPlansMemory(ABC):
    """The plans of conversations, step by step."""

    @abstractmethod
    def batch_save(self, plans: list[GptsPlan]) -> None:
        """Store steps, all or none."""

    @abstractmethod
    def get_by_conv_id(self, conv_id: str) -> list[GptsPlan]:
        """All steps of the conversation."""

    @abstractmethod
    def get_by_conv_id_and_num(self, conv_id: str, task_nums: list[int]) -> list[GptsPlan]:
        """The steps of these numbers."""

    @abstractmethod
    def get_todo_plans(self, conv_id: str) -> list[GptsPlan]:
        """The steps to be done next: those that are to do or to be tried again."""

    @abstractmethod
    def complete_task(self, conv_id: str, task_num: int, result: str) -> None:
        """Mark a step as complete, with its result."""

    @abstractmethod
    def update_task(
        self,
        conv_id: str,
        task_num: int,
        state: str,
        retry_times: int,
        agent: str | None = None,
        model: str | None = None,
        result: str | None = None,
    ) -> None:
        """Set how far a step is and its result; the agent and the model when given."""

    @abstractmethod
    def remove_by_conv_id(self, conv_id: str) -> None:
        """Drop the plan of the conversation."""

    abatch_save = asyncify(batch_save)
    aget_by_conv_id = asyncify(get_by_conv_id)
    aget_by_conv_id_and_num = asyncify(get_by_conv_id_and_num)
    aget_todo_plans = asyncify(get_todo_plans)
    acomplete_task = asyncify(complete_task)
    aupdate_task = asyncify(update_task)
    aremove_by_conv_id = asyncify(remove_by_conv_id)


class GptsMessageMemory(ABC):
    """The dialogues of agents, a conversation each."""

    @abstractmethod
    def append(self, message: GptsMessage) -> None:
        """Store a message at the end of its conversation."""

    @abstractmethod
    def get_by_agent(self, conv_id: str, agent: str) -> list[GptsMessage] | None:
        """What the agent sent or received."""

    @abstractmethod
    def get_between_agents(
        self, conv_id: str, agent1: str, agent2: str, current_goal: str | None = None
    ) -> list[GptsMessage]:
        """What two agents said to each other, of one goal when given."""

    @abstractmethod
    def get_by_conv_id(self, conv_id: str) -> list[GptsMessage]:
        """All messages of the conversation, in order."""

    @abstractmethod
    def get_last_message(self, conv_id: str) -> GptsMessage | None:
        """The latest message, or None when there is none."""

    @abstractmethod
    def delete_by_conv_id(self, conv_id: str) -> None:
        """Drop the conversation."""

    aappend = asyncify(append)
    aget_by_agent = asyncify(get_by_agent)
    aget_between_agents = asyncify(get_between_agents)
    aget_by_conv_id = asyncify(get_by_conv_id)
    aget_last_message = asyncify(get_last_message)
    adelete_by_conv_id = asyncify(delete_by_conv_id)


class DefaultGptsPlansMemory(GptsPlansMemory):
    """Plans in any store: its URL, its file's path or an open backend; without one, in memory of its own.

    A plan has one step for a number: saving the number again replaces the step. Steps come in the order of their numbers.
    """

    def __init__(self, store: Store | None = None, *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = backend_of(store)
        self.space = as_space(space) / "gpts"

    def batch_save(self, plans: list[GptsPlan]) -> None:
        """Store steps, all or none. Raises ``InvalidInput`` for a bad one, and for two with one number."""
        rows = {_key(check_plan(plan)): _row(plan) for plan in plans}
        if len(rows) != len(plans):
            raise InvalidInput(f"two steps of a plan have the same number: {[plan.sub_task_num for plan in plans]}")
        with self.backend.transaction():
            for key, row in rows.items():
                self.backend.kv.put(self.space, key, row)

    def get_by_conv_id(self, conv_id: str) -> list[GptsPlan]:
        """All steps of the conversation, by number."""
        return self._scan(conv_id)

    def get_by_conv_id_and_num(self, conv_id: str, task_nums: list[int]) -> list[GptsPlan]:
        """The steps of these numbers that are there, by number, each once; a number may be given as text."""
        numbers = sorted({_number(number) for number in task_nums})
        found = (self.backend.kv.get(self.space, _key_of(conv_id, number)) for number in numbers)
        return [_plan(entry) for entry in found if entry is not None]

    def get_todo_plans(self, conv_id: str) -> list[GptsPlan]:
        """The steps to be done next: those that are to do or to be tried again."""
        return self._scan(conv_id, Where("state", "in", _UNFINISHED))

    def complete_task(self, conv_id: str, task_num: int, result: str) -> None:
        """Mark a step as complete, with its result. Raises ``NotFound`` when there is no such step."""
        self._change(conv_id, task_num, state=Status.COMPLETE.value, result=result)

    def update_task(
        self,
        conv_id: str,
        task_num: int,
        state: str,
        retry_times: int,
        agent: str | None = None,
        model: str | None = None,
        result: str | None = None,
    ) -> None:
        """Set how far a step is and its result (None clears it); the agent and the model when given.

        Raises ``NotFound`` when there is no such step.
        """
        named = {"sub_task_agent": agent, "agent_model": model}
        given = {name: value for name, value in named.items() if value}
        self._change(conv_id, task_num, state=state, retry_times=retry_times, result=result, **given)

    def remove_by_conv_id(self, conv_id: str) -> None:
        """Drop the plan of the conversation, for good; one that is not there is no error."""
        with self.backend.transaction():
            for plan in self._scan(conv_id):
                self.backend.kv.delete(self.space, _key(plan))

    def _scan(self, conv_id: str, where: Where | None = None) -> list[GptsPlan]:
        of_this = id_begins_with(_prefix(conv_id))
        assert of_this is not None
        wanted = of_this if where is None else AllOf((of_this, where))
        kv = self.backend.kv
        entries = paged(lambda cursor: kv.scan(self.space, where=wanted, limit=500, cursor=cursor))
        return [_plan(entry) for entry in entries]

    def _change(self, conv_id: str, task_num: int, **fields: Any) -> None:
        key = _key_of(conv_id, _number(task_num))
        with self.backend.transaction():
            entry = self.backend.kv.get(self.space, key)
            if entry is None:
                raise NotFound(f"the plan of conversation {shown(conv_id)} has no step {shown(task_num)}")
            changed = check_plan(replace(_plan(entry), **fields))
            self.backend.kv.put(self.space, key, _row(changed))


class DefaultGptsMessageMemory(GptsMessageMemory):
    """Dialogues in any store: its URL, its file's path or an open backend; without one, in memory of its own.

    Each is a conversation of the core in the space ``space / "gpts"``, so that it does not mix with a chat of the same
    id. What was read lately is kept decoded, and checked against the store at every read, whoever wrote to it.
    """

    def __init__(self, store: Store | None = None, *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = backend_of(store)
        self.space = as_space(space) / "gpts"
        self._recent = RecentDialogues()

    def history(self, conv_id: str) -> History:
        """The dialogue as a conversation of the core: to search it, page it, cut it to a window."""
        return History(self.backend, conv_id, space=self.space)

    def append(self, message: GptsMessage) -> None:
        """Store a message at the end of its conversation. Raises ``InvalidInput`` for one that breaks a rule."""
        core = as_core(message)
        self.history(message.conv_id).add(core)

    def get_by_agent(self, conv_id: str, agent: str) -> list[GptsMessage]:
        """What the agent sent or received, in order."""
        return [copied(one) for one in self._dialogue(conv_id) if agent in (one.sender, one.receiver)]

    def get_between_agents(
        self, conv_id: str, agent1: str, agent2: str, current_goal: str | None = None
    ) -> list[GptsMessage]:
        """What two agents said to each other, in order, of one goal when given."""
        ways = ((agent1, agent2), (agent2, agent1))
        return [
            copied(one)
            for one in self._dialogue(conv_id)
            if (one.sender, one.receiver) in ways and (not current_goal or one.current_goal == current_goal)
        ]

    def get_by_conv_id(self, conv_id: str) -> list[GptsMessage]:
        """All messages of the conversation, in order."""
        return [copied(one) for one in self._dialogue(conv_id)]

    def get_last_message(self, conv_id: str) -> GptsMessage | None:
        """The latest message, or None when there is none."""
        found = self.history(conv_id).last(1)
        return as_gpts(found[0], conv_id) if found else None

    def delete_by_conv_id(self, conv_id: str) -> None:
        """Drop the conversation, for good; one that is not there is no error."""
        self.history(conv_id).delete()
        self._recent.forget(conv_id)

    def _dialogue(self, conv_id: str) -> Sequence[GptsMessage]:
        return self._recent.of(self.history(conv_id))


def backend_of(store: Store | None) -> Backend:
    """The backend meant; without one, a private one in memory. Raises what opening it raises."""
    return open_backend("memory:") if store is None else shared_backend(store)


def _plan(entry: Entry) -> GptsPlan:
    return GptsPlan.from_dict(cast("dict[str, Any]", entry.value))


def _row(plan: GptsPlan) -> dict[str, Any]:
    # A Status, or another kind of text, is kept as the text it is.
    return {name: str(value) if isinstance(value, str) else value for name, value in plan.to_dict().items()}


def _prefix(conv_id: str) -> str:
    return f"plan/{key_part(check_id(conv_id, 'a conv_id'))}/"


def _key_of(conv_id: str, number: int) -> str:
    # As wide as the largest number, so that the order of keys is the order of numbers.
    return f"{_prefix(conv_id)}{number:019d}"


def _key(plan: GptsPlan) -> str:
    return _key_of(plan.conv_id, plan.sub_task_num)


def _number(given: object) -> int:
    if isinstance(given, str) and given.strip().isdecimal():
        return check_count(int(given), "a task's number")
    return check_count(given, "a task's number")


def ordered(plans: Iterable[GptsPlan]) -> list[GptsPlan]:
    """Steps by number, whatever store they come from."""
    return sorted(plans, key=lambda plan: plan.sub_task_num)


__all__ = [
    "DefaultGptsMessageMemory",
    "DefaultGptsPlansMemory",
    "GptsMessageMemory",
    "GptsPlansMemory",
    "backend_of",
    "ordered",
]
