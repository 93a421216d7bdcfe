"""Plans and dialogues of agents, and a channel for each conversation to the programs that watch it.

Stores block, as DB-GPT's do; ``GptsMemory`` is async.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from itertools import groupby
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

import msgspec

from memwell._asyncify import run_blocking
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AllOf, Where, id_begins_with
from memwell.history import History
from memwell.history.reading import key_part
from memwell.messages import Message, Role
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space, paged
from memwell.runtime.agents import Channel
from memwell.storage.protocols import Backend, Entry
from memwell.storage.registry import Store, open_backend, shared_backend
from memwell.values import MAX_ID_LENGTH, check_count, check_id, check_shape, check_text, now, shown

_HUMAN = "Human"
_UNKNOWN = "?"
_KEY = "gpts"
"""The key of a message's metadata that holds what the message itself has no place for."""
_AS_CREATED = datetime.max.replace(tzinfo=UTC)
"""Stands for a time that was not given; it is compared by identity."""


# Plans, messages and outputs


class Status(StrEnum):
    """The state of a step of a plan. Each is also the plain text in the ``state`` of a plan."""

    TODO = "todo"
    RUNNING = "running"
    WAITING = "waiting"
    RETRYING = "retrying"
    FAILED = "failed"
    COMPLETE = "complete"


class _Fields:
    """A dataclass that is written to and made from a dict of its fields."""

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """The object that ``to_dict`` wrote; keys that are no field are ignored.

        Raises ``InvalidInput`` when a field is missing that has no default.
        """
        known = {one.name for one in dataclasses.fields(cast(Any, cls))}
        try:
            return cls(**{name: value for name, value in d.items() if name in known})
        except TypeError as error:
            raise InvalidInput(f"{shown(dict(d))} is no {cls.__name__}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(cast(Any, self))}


@dataclass
class GptsPlan(_Fields):
    """One step of a conversation's plan. ``rely`` names the numbers of the steps it builds on, such as ``"1,2"``."""

    conv_id: str
    sub_task_num: int
    sub_task_content: str | None
    sub_task_title: str | None = None
    sub_task_agent: str | None = None
    resource_name: str | None = None
    rely: str | None = None
    agent_model: str | None = None
    retry_times: int = 0
    max_retry_times: int = 5
    state: str | None = Status.TODO.value
    result: str | None = None


@dataclass
class GptsMessage(_Fields):
    """A message between agents. Times without a zone are UTC; the default of ``updated_at`` is ``created_at``."""

    conv_id: str
    sender: str
    receiver: str
    role: str
    content: str
    rounds: int = 0
    is_success: bool = True
    app_code: str | None = None
    app_name: str | None = None
    current_goal: str | None = None
    context: str | None = None
    review_info: str | None = None
    action_report: str | None = None
    model_name: str | None = None
    resource_info: str | None = None
    created_at: datetime = field(default_factory=lambda: now().replace(tzinfo=None))
    updated_at: datetime = field(default=_AS_CREATED)

    def __post_init__(self) -> None:
        if self.updated_at is _AS_CREATED:
            self.updated_at = self.created_at

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """The message that ``to_dict`` wrote, times as datetimes or in ISO form; keys that are no field are ignored.

        Raises ``InvalidInput`` when a field is missing that has no default, or a time cannot be read.
        """
        made = super().from_dict(d)
        made.created_at = _moment(made.created_at, "created_at")
        made.updated_at = _moment(made.updated_at, "updated_at")
        return made


@dataclass
class _Report(_Fields):
    """What the ``action_report`` of a message says, as JSON."""

    content: str
    is_exe_success: bool = True
    view: str | None = None
    terminate: bool | None = None


_TIMES = ("created_at", "updated_at")


def _moment(given: Any, what: str) -> Any:
    """The time that ``isoformat`` wrote. Raises ``InvalidInput`` when it is none."""
    try:
        return datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise InvalidInput(f"{what} must be a time such as 2025-01-31T12:00:00, not {shown(given)}") from None


def _reported(message: GptsMessage) -> _Report | None:
    """The output that a message reports, or None. A report that is not the JSON of one is its own content."""
    report = message.action_report
    if not report:
        return None
    try:
        given = msgspec.json.decode(report)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        given = None
    if not isinstance(given, dict) or not isinstance(cast("dict[str, Any]", given).get("content"), str):
        return _Report(report, message.is_success)
    return _Report.from_dict(cast("dict[str, Any]", given))


# A dialogue as a conversation of memwell: the sender is the name, the rest goes in the metadata.

_SIDES = {role.value: role for role in (Role.HUMAN, Role.AI, Role.SYSTEM, Role.VIEW)}
_ROLES = {**_SIDES, "user": Role.HUMAN, "assistant": Role.AI}


def _as_core(message: GptsMessage) -> Message:
    """The message for a log. Raises ``InvalidInput`` for one that breaks a rule of any store."""
    check_shape(message, ("role", "content", "sender", "conv_id"), "a dialogue holds GptsMessages")
    role = _ROLES.get(message.role.lower(), Role.CHAT if _can_name(message.role) else Role.AI)
    core = Message(
        role,
        cast(Any, check_text(message.content, "the content of a message")),
        name=str(message.sender) if _can_name(message.sender) else None,
        time=message.created_at,
        chat_role=str(message.role) if role is Role.CHAT else None,
    )
    # Fields that the message itself holds are not stored a second time.
    plain, fields = _plain_gpts(core, message.conv_id).to_dict(), message.to_dict()
    return core.changed(
        metadata={_KEY: {name: _plain(value) for name, value in fields.items() if value != plain[name]}}
    )


def _as_gpts(core: Message, conv_id: str) -> GptsMessage:
    """The message back, also one that another room wrote into the conversation."""
    made = _plain_gpts(core, conv_id)
    rest = core.metadata.get(_KEY)
    if isinstance(rest, dict):
        for name, value in cast("dict[str, Any]", rest).items():
            if name in vars(made):
                setattr(made, name, _moment(value, name) if name in _TIMES else value)
    return made


def _plain_gpts(core: Message, conv_id: str) -> GptsMessage:
    role, moment = core.chat_role or core.role.value, core.time.replace(tzinfo=None)
    return GptsMessage(conv_id, core.name or "", "", role, core.text, created_at=moment)


def _can_name(text: str) -> bool:
    return 0 < len(text) <= MAX_ID_LENGTH


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    # A Status, or another kind of text, is kept as the text it is.
    return str(value) if isinstance(value, str) else value


# Stores


class GptsPlansMemory:
    """Plans in any store: its URL, its file's path or an open backend; without one, in memory of its own.

    A plan has one step for a number: saving the number again replaces the step. Steps come in the order of their numbers.
    A subclass that stores plans elsewhere overrides all methods.
    """

    def __init__(self, store: Store | None = None, *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = _backend_of(store)
        self.space = as_space(space) / "gpts"

    def batch_save(self, plans: list[GptsPlan]) -> None:
        """Store steps, all or none. Raises ``InvalidInput`` for a bad step and for two with one number."""
        for plan in plans:
            check_shape(plan, ("conv_id", "sub_task_num"), "a plan has steps of the class GptsPlan")
        keys = {_plan_key(plan.conv_id, _number(plan.sub_task_num)): plan for plan in plans}
        if len(keys) != len(plans):
            raise InvalidInput(f"two steps of a plan have the same number: {[plan.sub_task_num for plan in plans]}")
        with self.backend.transaction():
            for key, plan in keys.items():
                self._put(key, plan)

    def get_by_conv_id(self, conv_id: str) -> list[GptsPlan]:
        """All steps of the conversation."""
        return self._scan(conv_id)

    def get_by_conv_id_and_num(self, conv_id: str, task_nums: list[int]) -> list[GptsPlan]:
        """The steps of these numbers that are there, by number, each once; a number may be given as text."""
        numbers = sorted({_number(number) for number in task_nums})
        found = (self.backend.kv.get(self.space, _plan_key(conv_id, number)) for number in numbers)
        return [_plan(entry) for entry in found if entry is not None]

    def get_todo_plans(self, conv_id: str) -> list[GptsPlan]:
        """The steps to do or to retry."""
        return self._scan(conv_id, Where("state", "in", (Status.TODO.value, Status.RETRYING.value)))

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
        """Set the state and the result of a step, and the agent and the model when given. Raises as ``complete_task``."""
        named = {"sub_task_agent": agent, "agent_model": model}
        given = {name: value for name, value in named.items() if value}
        self._change(conv_id, task_num, state=state, retry_times=retry_times, result=result, **given)

    def remove_by_conv_id(self, conv_id: str) -> None:
        """Delete the plan of the conversation."""
        with self.backend.transaction():
            for plan in self._scan(conv_id):
                self.backend.kv.delete(self.space, _plan_key(conv_id, plan.sub_task_num))

    def _scan(self, conv_id: str, where: Where | None = None) -> list[GptsPlan]:
        of_this = id_begins_with(_plan_prefix(conv_id))
        assert of_this is not None
        wanted = of_this if where is None else AllOf((of_this, where))
        kv = self.backend.kv
        entries = paged(lambda cursor: kv.scan(self.space, where=wanted, limit=500, cursor=cursor))
        return [_plan(entry) for entry in entries]

    def _change(self, conv_id: str, task_num: int, **fields: Any) -> None:
        key = _plan_key(conv_id, _number(task_num))
        with self.backend.transaction():
            entry = self.backend.kv.get(self.space, key)
            if entry is None:
                raise NotFound(f"the plan of conversation {shown(conv_id)} has no step {shown(task_num)}")
            self._put(key, replace(_plan(entry), **fields))

    def _put(self, key: str, plan: GptsPlan) -> None:
        self.backend.kv.put(self.space, key, {name: _plain(value) for name, value in plan.to_dict().items()})


DefaultGptsPlansMemory = GptsPlansMemory
"""DB-GPT's name of the implementation."""


class GptsMessageMemory:
    """Dialogues in any store: its URL, its file's path or an open backend; without one, in memory of its own.

    Each is a conversation of memwell in the space ``space / "gpts"``, so that it does not mix with a chat of the same id.
    A subclass that stores messages elsewhere overrides all methods.
    """

    def __init__(self, store: Store | None = None, *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = _backend_of(store)
        self.space = as_space(space) / "gpts"

    def history(self, conv_id: str) -> History:
        """The dialogue as a conversation of memwell: to search it, page it, cut it to a window."""
        return History(self.backend, conv_id, space=self.space)

    def append(self, message: GptsMessage) -> None:
        """Store a message at the end of its conversation. Raises ``InvalidInput`` for a message that breaks a rule."""
        core = _as_core(message)
        self.history(message.conv_id).add(core)

    def get_by_agent(self, conv_id: str, agent: str) -> list[GptsMessage]:
        """The messages that the agent sent or received, in order."""
        return [one for one in self.get_by_conv_id(conv_id) if agent in (one.sender, one.receiver)]

    def get_between_agents(
        self, conv_id: str, agent1: str, agent2: str, current_goal: str | None = None
    ) -> list[GptsMessage]:
        """The messages between two agents, in order, of one goal when given."""
        ways = ((agent1, agent2), (agent2, agent1))
        found = [one for one in self.get_by_conv_id(conv_id) if (one.sender, one.receiver) in ways]
        return [one for one in found if not current_goal or one.current_goal == current_goal]

    def get_by_conv_id(self, conv_id: str) -> list[GptsMessage]:
        """All messages of the conversation, in order."""
        return [_as_gpts(core, conv_id) for core in self.history(conv_id)]

    def get_last_message(self, conv_id: str) -> GptsMessage | None:
        """The latest message, or None."""
        found = self.history(conv_id).last(1)
        return _as_gpts(found[0], conv_id) if found else None

    def delete_by_conv_id(self, conv_id: str) -> None:
        """Delete the conversation for good, if it is there."""
        self.history(conv_id).delete()


DefaultGptsMessageMemory = GptsMessageMemory
"""DB-GPT's name of the implementation."""


def _backend_of(store: Store | None) -> Backend:
    return open_backend("memory:") if store is None else shared_backend(store)


def _plan(entry: Entry) -> GptsPlan:
    return GptsPlan.from_dict(cast("dict[str, Any]", entry.value))


def _plan_prefix(conv_id: str) -> str:
    return f"plan/{key_part(check_id(conv_id, 'a conv_id'))}/"


def _plan_key(conv_id: str, number: int) -> str:
    # As wide as the largest number, so that the order of keys is the order of numbers.
    return f"{_plan_prefix(conv_id)}{number:019d}"


def _number(given: object) -> int:
    is_text = isinstance(given, str) and given.strip().isdecimal()
    return check_count(int(cast(str, given)) if is_text else given, "a task's number")


# Views: Markdown whose blocks DB-GPT's pages draw, or a plain list of what was said.


def dialogue_markdown(messages: Sequence[GptsMessage]) -> str:
    """The dialogue as Markdown with blocks ``agent-plans`` and ``agent-messages`` of JSON.

    Messages of one goal that follow each other are a step of the plan; those without a goal stand by themselves. What was
    said last for the last goal is shown again below it, and the output of a terminating action is shown as text.
    """
    blocks: list[str] = []
    steps: list[dict[str, Any]] = []
    output = _reported(messages[-1]) if messages else None
    ending = (output.content or output.view or "") if output is not None and output.terminate else None
    # The terminating message is shown as text and in no step.
    grouped = messages[:-1] if ending is not None else messages
    for goal, group in groupby(grouped, key=lambda one: one.current_goal or None):
        said = list(group)
        if goal is not None:
            state = Status.COMPLETE if said[-1].is_success else Status.FAILED
            step = {"name": goal, "num": len(steps) + 1, "status": state.value, "agent": said[0].receiver}
            steps.append({**step, "markdown": _messages_block([_view(one) for one in said])})
            continue
        blocks += [*_plan_block(steps), *(_messages_block([_view(one)]) for one in said)]
        steps = []
    blocks += _plan_block(steps)
    if ending is not None:
        blocks.append(ending)
    elif steps:
        blocks.append(_messages_block([_view(messages[-1], last=True)]))
    return "\n".join(blocks)


def _plain_views(messages: Iterable[GptsMessage]) -> list[dict[str, Any]]:
    """The messages of agents as dictionaries; those of the person are left out."""
    reports = ((one, _reported(one)) for one in messages if one.sender != _HUMAN)
    return [_said(one, one.content if output is None else output.content) for one, output in reports]


def _streamed_view(message: Mapping[str, Any] | str) -> list[dict[str, Any]]:
    """A message that is still being written, or only its text, in the form of the others."""
    given = {"markdown": message} if isinstance(message, str) else message
    return [{name: given.get(name, _UNKNOWN) for name in ("sender", "receiver", "model", "markdown")}]


def _view(message: GptsMessage, *, last: bool = False) -> dict[str, Any]:
    output, text = _reported(message), message.content
    if output is not None and (output.is_exe_success or last):
        text = output.view or output.content
    return {**_said(message, text), "resource": message.resource_info or None}


def _said(message: GptsMessage, text: str) -> dict[str, Any]:
    return {"sender": message.sender, "receiver": message.receiver, "model": message.model_name, "markdown": text}


def _plan_block(steps: list[dict[str, Any]]) -> list[str]:
    return [_block("agent-plans", steps)] if steps else []


def _messages_block(views: list[dict[str, Any]]) -> str:
    return _block("agent-messages", views)


def _block(tag: str, content: object) -> str:
    # JSON is one line, so that nothing said can close the block.
    return f"```{tag}\n{msgspec.json.encode(content).decode()}\n```"


# The memory


class GptsMemory:
    """Plans and dialogues of agents: stored, pushed to readers, and shown.

    ``channels``, ``enable_vis_map`` and ``start_round_map`` have the open conversations, from ``init`` to ``clear``.
    Without memories of your own, plans and messages go to ``store``: a URL, a file's path or an open backend; without one,
    to memory of its own. ``executor`` is not used: calls run in threads of the event loop.
    """

    def __init__(
        self,
        plans_memory: GptsPlansMemory | None = None,
        message_memory: GptsMessageMemory | None = None,
        executor: Executor | None = None,
        *,
        store: Store | None = None,
        space: SpaceLike = DEFAULT_SPACE,
        channel_size: int = 100,
    ) -> None:
        check_count(channel_size, "channel_size", least=1)
        if plans_memory is None or message_memory is None:
            backend = _backend_of(store)
            plans_memory = plans_memory or DefaultGptsPlansMemory(backend, space=space)
            message_memory = message_memory or DefaultGptsMessageMemory(backend, space=space)
        self.plans_memory = plans_memory
        self.message_memory = message_memory
        self.channels: defaultdict[str, Channel] = defaultdict(partial(Channel, channel_size))
        self.enable_vis_map: defaultdict[str, bool] = defaultdict(bool)
        self.start_round_map: defaultdict[str, int] = defaultdict(int)
        self._given: dict[str, list[GptsMessage]] = {}
        self._last: WeakKeyDictionary[Channel, tuple[int, Any]] = WeakKeyDictionary()

    @property
    def messages_cache(self) -> defaultdict[str, list[GptsMessage]]:
        """The messages of the open conversations, as ``get_messages`` gives them; a copy."""
        return defaultdict(list, {conv_id: self._messages(conv_id) for conv_id in self.channels})

    # A conversation that is watched

    def init(
        self,
        conv_id: str,
        enable_vis_message: bool = True,
        history_messages: Sequence[GptsMessage] | None = None,
        start_round: int = 0,
    ) -> None:
        """Open the conversation's channel; one that was open is completed.

        ``history_messages`` come before the stored ones, those that are not stored already. The first ``start_round``
        messages are not in the views that are pushed. Raises ``InvalidInput`` for a bad value.
        """
        check_id(conv_id, "a conv_id")
        check_count(start_round, "start_round")
        history = [replace(one) for one in history_messages or ()]
        self.clear(conv_id)
        # The default of the map is a channel of the right size.
        _ = self.channels[conv_id]
        self.enable_vis_map[conv_id], self.start_round_map[conv_id] = enable_vis_message, start_round
        self._given[conv_id] = history

    def enable_vis_message(self, conv_id: str) -> bool:
        """Whether views are Markdown with blocks to draw (the default) or plain lists."""
        return self.enable_vis_map.get(conv_id, True)

    def queue(self, conv_id: str) -> Channel | None:
        """The conversation's channel, or None when it is not open."""
        return self.channels.get(conv_id)

    def clear(self, conv_id: str) -> None:
        """Complete the channel and drop what ``init`` was given; what is stored stays. Clearing twice is allowed."""
        channel = self.channels.pop(conv_id, None)
        if channel is not None:
            channel.complete()
        for held in (self.enable_vis_map, self.start_round_map, self._given):
            held.pop(conv_id, None)

    async def push_message(self, conv_id: str, temp_msg: Mapping[str, Any] | str | None = None) -> None:
        """Push the view of the dialogue, with ``temp_msg`` (a message still being written) at its end.

        Without an open channel nothing happens.
        """
        channel = self.queue(conv_id)
        if channel is None or channel.completed:
            return
        count, view = await run_blocking(partial(self._view, conv_id, temp_msg))
        latest, _ = self._last.get(channel, (0, None))
        # With concurrent appends a view of fewer messages may be ready later; it would hide a message.
        if temp_msg is None and count < latest:
            return
        self._last[channel] = max(count, latest), view
        await channel.put(view)

    async def complete(self, conv_id: str) -> None:
        """Close the channel: readers get the remaining views, then the end."""
        channel = self.queue(conv_id)
        if channel is not None:
            channel.complete()

    async def chat_messages(self, conv_id: str) -> AsyncIterator[Any]:
        """The views as they are pushed, until the conversation is completed; none when its channel is not open.

        Of several readers, each view goes to one, and the last to all.
        """
        channel = self.queue(conv_id)
        if channel is None:
            return
        seen: Any = None
        async for seen in channel:
            yield seen
        _, last = self._last.get(channel, (0, None))
        if seen is not last:
            # It went to another reader.
            yield last

    # The dialogue

    async def append_message(self, conv_id: str, message: GptsMessage) -> None:
        """Store a message, then push the view of the dialogue.

        Raises ``InvalidInput`` for a message that breaks a rule or belongs to another conversation.
        """
        if check_shape(message, ("conv_id",), "a dialogue holds GptsMessages").conv_id != conv_id:
            raise InvalidInput(f"the message belongs to {shown(message.conv_id)}, not to {shown(conv_id)}")
        await run_blocking(partial(self.message_memory.append, message))
        await self.push_message(conv_id)

    async def get_messages(self, conv_id: str) -> list[GptsMessage]:
        """All messages of the conversation, in order, also after a restart; what ``init`` was given comes first."""
        return await run_blocking(partial(self._messages, conv_id))

    async def get_agent_messages(self, conv_id: str, agent_role: str) -> list[GptsMessage]:
        """The messages that the agent sent or received."""
        return [one for one in await self.get_messages(conv_id) if agent_role in (one.sender, one.receiver)]

    def _messages(self, conv_id: str) -> list[GptsMessage]:
        stored = self.message_memory.get_by_conv_id(conv_id)
        given = self._given.get(conv_id, [])
        known = {_mark(one) for one in stored} if given else set[tuple[object, ...]]()
        return [*(replace(one) for one in given if _mark(one) not in known), *stored]

    def _view(self, conv_id: str, temp_msg: Mapping[str, Any] | str | None) -> tuple[int, Any]:
        being_written = _streamed_view(temp_msg) if temp_msg else []
        if not self.enable_vis_message(conv_id):
            messages = self._messages(conv_id)
            return len(messages), _plain_views(messages) + being_written
        messages = self._messages(conv_id)[self.start_round_map.get(conv_id, 0) :]
        blocks = [dialogue_markdown(messages), *([_messages_block(being_written)] if being_written else [])]
        return len(messages), "\n".join(block for block in blocks if block)


def _mark(message: GptsMessage) -> tuple[object, ...]:
    return message.created_at, message.sender, message.receiver, message.content
