"""What several agents leave behind: the steps of a plan, what they said to each other, and what their actions gave."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self, TypeVar, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.values import check_count, check_id, check_text, now, shown

T = TypeVar("T")

_AS_CREATED = datetime.max.replace(tzinfo=UTC)
"""Stands for a time that was not given, and is told apart by what it is, not by what it says."""


class Status(StrEnum):
    """How far a step of a plan is. Each is also the plain text that plans keep in ``state``."""

    TODO = "todo"
    RUNNING = "running"
    WAITING = "waiting"
    RETRYING = "retrying"
    FAILED = "failed"
    COMPLETE = "complete"


@dataclass
class GptsPlan:
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

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Self:
        """The step that ``to_dict`` wrote; keys that no field has are passed over. Raises ``InvalidInput`` otherwise."""
        return _from_dict(cls, d)

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return _fields(self)


@dataclass
class GptsMessage:
    """What one agent said to another. Times without a zone are UTC; one that was never updated is as old as it is."""

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
        """The message that ``to_dict`` wrote, times as datetimes or in ISO form; keys that no field has are passed over.

        Raises ``InvalidInput`` when a field is missing that has no default, or a time cannot be read.
        """
        given = dict(d)
        for name in ("created_at", "updated_at"):
            if isinstance(given.get(name), str):
                given[name] = moment_of(given[name], name)
        return _from_dict(cls, given)

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return _fields(self)


@dataclass
class ActionOutput:
    """What an action gave: the JSON that agents leave in the ``action_report`` of a message."""

    content: str
    is_exe_success: bool = True
    view: str | None = None
    resource_type: str | None = None
    resource_value: Any = None
    action: str | None = None
    action_input: str | None = None
    thoughts: str | None = None
    phase: str | None = None
    action_intention: str | None = None
    action_reason: str | None = None
    observations: str | None = None
    have_retry: bool | None = True
    ask_user: bool | None = False
    next_speakers: list[str] | None = None
    terminate: bool | None = None
    memory_fragments: dict[str, Any] | None = None

    @classmethod
    def from_dict(cls, param: Mapping[str, Any] | None) -> Self | None:
        """The output that ``to_dict`` wrote, or None for nothing. What failed without observations has its content there.

        Raises ``InvalidInput`` when there is no content.
        """
        if not param:
            return None
        given = dict(param)
        if not given.get("is_exe_success", True):
            given.setdefault("observations", given.get("content"))
        return _from_dict(cls, given)

    def to_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return _fields(self)


def reported(message: GptsMessage) -> ActionOutput | None:
    """What the message's action gave, or None when it reports none. A report that is no such JSON is its own content."""
    report = message.action_report
    if not report:
        return None
    try:
        given = msgspec.json.decode(report)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        given = None
    if not isinstance(given, dict) or not isinstance(cast("dict[str, Any]", given).get("content"), str):
        return ActionOutput(report, message.is_success)
    return ActionOutput.from_dict(cast("dict[str, Any]", given))


def check_plan(plan: object) -> GptsPlan:
    """Return ``plan`` when it is a step that any store can keep; raises ``InvalidInput`` naming what is wrong."""
    if not isinstance(plan, GptsPlan):
        raise InvalidInput(f"expected a GptsPlan, not {shown(plan)}")
    check_id(plan.conv_id, "a plan's conv_id")
    for name in ("sub_task_num", "retry_times", "max_retry_times"):
        check_count(getattr(plan, name), f"a plan's {name}")
    _check_texts(plan, "a plan's", optional=_OPTIONAL_OF_PLAN)
    return plan


def check_gpts_message(message: object) -> GptsMessage:
    """Return ``message`` when any store can keep it; raises ``InvalidInput`` naming what is wrong."""
    if not isinstance(message, GptsMessage):
        raise InvalidInput(f"expected a GptsMessage, not {shown(message)}")
    check_id(message.conv_id, "a message's conv_id")
    check_count(message.rounds, "a message's rounds")
    if not isinstance(message.is_success, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a message's is_success must be True or False, not {shown(message.is_success)}")
    for name in ("created_at", "updated_at"):
        if not isinstance(getattr(message, name), datetime):
            raise InvalidInput(f"a message's {name} must be a datetime, not {shown(getattr(message, name))}")
    for name in ("sender", "receiver", "role", "content"):
        check_text(getattr(message, name), f"a message's {name}")
    _check_texts(message, "a message's", optional=_OPTIONAL_OF_MESSAGE)
    return message


def moment_of(text: str, what: str) -> datetime:
    """The time that ``isoformat`` wrote. Raises ``InvalidInput`` when it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{what} must be a time such as 2025-01-31T12:00:00, not {shown(text)}") from None


def in_utc(moment: datetime) -> datetime:
    """The moment with its zone: one without is UTC already."""
    return moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment.astimezone(UTC)


def copied(message: GptsMessage) -> GptsMessage:
    """Another message with the same fields, none of which can be changed in place."""
    # Ten times as fast as dataclasses.replace, and a dialogue has many.
    twin = object.__new__(type(message))
    twin.__dict__.update(message.__dict__)
    return twin


def _check_texts(value: object, of: str, *, optional: tuple[str, ...]) -> None:
    for name in optional:
        text = getattr(value, name)
        if text is not None:
            check_text(text, f"{of} {name}")


def _fields(value: Any) -> dict[str, Any]:
    # dataclasses.asdict would copy deeply what need not be copied.
    return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}


def _from_dict(cls: type[T], given: object) -> T:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"a {cls.__name__} is made of a mapping, not {shown(given)}")
    known = dataclasses.fields(cast(Any, cls))
    fields = cast("Mapping[str, Any]", given)
    missing = [
        one.name
        for one in known
        if one.name not in fields and one.default is MISSING and one.default_factory is MISSING
    ]
    if missing:
        raise InvalidInput(f"a {cls.__name__} needs {', '.join(missing)}; given: {shown(dict(fields))}")
    return cls(**{one.name: fields[one.name] for one in known if one.name in fields})


_OPTIONAL_OF_PLAN = (
    "sub_task_content",
    "sub_task_title",
    "sub_task_agent",
    "resource_name",
    "rely",
    "agent_model",
    "state",
    "result",
)
_OPTIONAL_OF_MESSAGE = (
    "app_code",
    "app_name",
    "current_goal",
    "context",
    "review_info",
    "action_report",
    "model_name",
    "resource_info",
)

__all__ = [
    "ActionOutput",
    "GptsMessage",
    "GptsPlan",
    "Status",
    "check_gpts_message",
    "check_plan",
    "copied",
    "in_utc",
    "moment_of",
    "reported",
]
