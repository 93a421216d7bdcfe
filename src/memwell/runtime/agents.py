"""Agents: objects that reply, observe, print, run hooks and can be interrupted; and the hub that brings them messages."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
import math
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar, cast

from msgspec.structs import force_setattr

from memwell._asyncify import block_on, blocking
from memwell.errors import InvalidInput
from memwell.messages import Message, Text
from memwell.runtime.state import StateModule
from memwell.values import check_count, check_id, check_items, check_text, new_id, shown

# Hooks: functions that run before and after an agent's methods, for one agent or for all of a class.


Hook: TypeAlias = Callable[..., Any]
"""``(agent, arguments)`` before, ``(agent, arguments, output)`` after; a function or a coroutine function."""

_Registry: TypeAlias = dict[str, dict[str, Hook]]
_REGISTRY = "_own_hooks"
"""The attribute of an agent, or of a class, with the hooks that were registered for it."""


class Hooked:
    """Methods that run hooks: for each type ``pre_x`` or ``post_x`` the coroutine method ``x`` (or ``_x``).

    The hooks of the instance run first, then those of its class, then those of each class above it; a hook on a class
    reaches its subclasses, never its siblings nor the classes above. Within a registry they run in the order in which
    their names were first registered. A subclass adds types by listing them in ``supported_hook_types``.

    ``pre(agent, arguments)`` gets the arguments by name and returns others, or None to leave them. ``post(agent,
    arguments, output)`` returns another output, or None to leave it. Both get copies, except of what cannot be copied. An
    error of a hook reaches the caller. A method that calls ``super()`` runs its hooks once.
    """

    supported_hook_types: ClassVar[list[str]] = []

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for action in dict.fromkeys(kind.partition("_")[2] for kind in _types(cls)):
            for name in (action, f"_{action}"):
                method = inspect.getattr_static(cls, name, None)
                # A method of a mixin, or of a class that did not list the type yet, is not wrapped so far.
                if inspect.isfunction(method) and not hasattr(method, "runs_hooks_of"):
                    setattr(cls, name, _with_hooks(method, name, action, cls))

    def register_instance_hook(self, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Run ``hook`` for this agent, in place of a hook of the same name.

        Raises ``InvalidInput`` for an unknown type, or a hook that cannot be called.
        """
        _register(self, type(self), hook_type, hook_name, hook)

    def remove_instance_hook(self, hook_type: str, hook_name: str) -> None:
        """Drop a hook. Raises ``InvalidInput`` (a ``ValueError``) when there is none of this name."""
        _remove(self, type(self), hook_type, hook_name, "this instance")

    def clear_instance_hooks(self, hook_type: str | None = None) -> None:
        """Drop the hooks of one type, or of all, from this agent."""
        _clear(self, type(self), hook_type)

    @classmethod
    def register_class_hook(cls, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Run ``hook`` for every agent of this class and of its subclasses, those that exist already too."""
        _register(cls, cls, hook_type, hook_name, hook)

    @classmethod
    def remove_class_hook(cls, hook_type: str, hook_name: str) -> None:
        """Drop a hook of this very class. Raises ``InvalidInput`` (a ``ValueError``) when it has none of this name."""
        _remove(cls, cls, hook_type, hook_name, "this class itself")

    @classmethod
    def clear_class_hooks(cls, hook_type: str | None = None) -> None:
        """Drop the hooks of one type, or of all, from this class; those of other classes stay."""
        _clear(cls, cls, hook_type)


def _registry(owner: Hooked | type) -> _Registry:
    # Made when first needed: an agent need not have called super().__init__() yet.
    if _REGISTRY not in vars(owner):
        setattr(owner, _REGISTRY, {})
    return vars(owner)[_REGISTRY]


def _types(cls: type) -> list[str]:
    # Those of all classes above count too, so that a subclass can only add to them.
    listed = (kind for base in cls.__mro__ for kind in vars(base).get("supported_hook_types", ()))
    return list(dict.fromkeys(listed))


def _check_type(cls: type, hook_type: object) -> str:
    types = _types(cls)
    if not isinstance(hook_type, str) or hook_type not in types:
        raise InvalidInput(f"{cls.__name__} has no hooks of type {shown(hook_type)}; it has {', '.join(types)}")
    return hook_type


def _register(owner: Hooked | type, cls: type, hook_type: str, hook_name: str, hook: Hook) -> None:
    _check_type(cls, hook_type)
    check_id(hook_name, "the name of a hook")
    if not callable(hook):
        raise InvalidInput(f"hook {hook_name!r} must be a function, not {shown(hook)}")
    _registry(owner).setdefault(hook_type, {})[hook_name] = hook


def _remove(owner: Hooked | type, cls: type, hook_type: str, hook_name: str, where: str) -> None:
    _check_type(cls, hook_type)
    registry = _registry(owner)
    hooks = registry.get(hook_type, {})
    if hook_name not in hooks:
        raise InvalidInput(f"{where} ({cls.__name__}) has no {hook_type} hook {shown(hook_name)}")
    del hooks[hook_name]
    if not hooks:
        # A call without hooks is recognised by the missing type.
        del registry[hook_type]


def _clear(owner: Hooked | type, cls: type, hook_type: str | None) -> None:
    if hook_type is None:
        _registry(owner).clear()
    else:
        _registry(owner).pop(_check_type(cls, hook_type), None)


def _hooks(agent: Hooked, hook_type: str) -> list[Hook]:
    """The hooks of a type in the order they run; a copy, so that a hook may register or remove others."""
    owners = (agent, *type(agent).__mro__)
    return [hook for owner in owners for hook in vars(owner).get(_REGISTRY, {}).get(hook_type, {}).values()]


def _has_hooks(agent: Hooked, pre: str, post: str) -> bool:
    # Written out, as it runs at every call: a hub delivers each message to each agent.
    own = agent.__dict__.get(_REGISTRY)
    if own and (pre in own or post in own):
        return True
    for base in type(agent).__mro__:
        registry = base.__dict__.get(_REGISTRY)
        if registry and (pre in registry or post in registry):
            return True
    return False


def _with_hooks(method: Callable[..., Any], name: str, action: str, owner: type) -> Callable[..., Any]:
    signature = inspect.signature(method)
    pre, post = f"pre_{action}", f"post_{action}"

    @functools.wraps(method)
    async def hooked(self: Hooked, *args: Any, **kwargs: Any) -> Any:
        # Called by super(), the method is a part of a call whose hooks are being run.
        if (
            not _has_hooks(self, pre, post)
            or next(base for base in type(self).__mro__ if name in vars(base)) is not owner
        ):
            return await method(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        own, *others = bound.arguments.items()
        arguments = await _before(self, pre, dict(others), signature)
        # In the order of the signature, whatever the order of what a hook returned.
        passed = {name: arguments[name] for name in signature.parameters if name in arguments}
        bound = inspect.BoundArguments(signature, dict([own]) | passed)
        return await _after(self, post, arguments, await method(*bound.args, **bound.kwargs))

    hooked.runs_hooks_of = action  # type: ignore[attr-defined]
    return hooked


async def _before(
    agent: Hooked, hook_type: str, arguments: dict[str, Any], signature: inspect.Signature
) -> dict[str, Any]:
    for hook in _hooks(agent, hook_type):
        changed = await _run(hook, agent, _copies(arguments))
        if changed is not None:
            arguments = _checked(changed, signature, hook_type, hook)
    return arguments


async def _after(agent: Hooked, hook_type: str, arguments: dict[str, Any], output: Any) -> Any:
    for hook in _hooks(agent, hook_type):
        changed = await _run(hook, agent, _copies(arguments), _copy(output))
        output = output if changed is None else changed
    return output


async def _run(hook: Hook, *args: Any) -> Any:
    result = hook(*args)
    return await result if inspect.isawaitable(result) else result


def _copies(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except (TypeError, copy.Error):
        # Such as a lock, a socket or a generator.
        return value


def _checked(changed: object, signature: inspect.Signature, hook_type: str, hook: Hook) -> dict[str, Any]:
    """The arguments a hook returned, in the form of the signature; what it left out gets its default."""
    what = f"the {hook_type} hook {getattr(hook, '__name__', shown(hook))}"
    if not isinstance(changed, dict):
        raise InvalidInput(f"{what} must return a dict of arguments or None, not {shown(changed)}")
    given = dict(cast("dict[str, Any]", changed))
    kept: dict[str, Any] = {}
    others: str | None = None
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            others = parameter.name
        elif parameter.name in given or parameter.default is not parameter.empty:
            kept[parameter.name] = given.pop(parameter.name, parameter.default)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            raise InvalidInput(f"{what} must return the argument {parameter.name!r} too")
    if others is not None:
        kept[others] = {**given.pop(others, {}), **given}
    elif given:
        raise InvalidInput(f"{what} returned {', '.join(map(repr, given))}, which is no argument of the method")
    return kept


# Delivery of a message to many agents: concurrently, each with a timeout, and a failure of one does not stop the others.


A = TypeVar("A")

_log = logging.getLogger("memwell.agents")
GRACE_S = 1.0
"""How long a cancelled task may take to end before it is abandoned."""


class DeliveryFailure(NamedTuple):
    """An agent that did not receive a message, and why. The traceback of the error is in the log."""

    agent: Any
    error: BaseException


async def deliver(
    receivers: Iterable[A], hand_over: Callable[[A], Coroutine[Any, Any, object]], *, timeout_s: float
) -> list[DeliveryFailure]:
    """Call ``hand_over`` with all receivers concurrently; returns those that raised, or took longer than ``timeout_s``.

    A receiver that takes too long is cancelled; one that does not end then is abandoned. When this call is cancelled, so
    are the receivers that are not done.
    """
    waiting = deque(receivers)
    tasks: dict[asyncio.Task[None], list[Any]] = {}
    """Each task with the receiver that it serves, in a list: a failed task keeps its frames, and they keep only the
    list."""

    async def serve(serving: list[Any]) -> None:
        while waiting:
            serving[0] = waiting.popleft()
            await hand_over(serving[0])

    def start() -> None:
        serving: list[Any] = [None]
        tasks[asyncio.create_task(serve(serving))] = serving

    try:
        # Most receivers await nothing, and one task serves all of those. When receivers are left after a turn of the event
        # loop, all tasks are waiting, and their number is doubled.
        while waiting:
            for _ in range(max(1, min(len(tasks), len(waiting)))):
                start()
            await asyncio.sleep(0)
        running = [task for task in tasks if not task.done()]
        late = set((await asyncio.wait(running, timeout=timeout_s))[1]) if running else set[asyncio.Task[None]]()
    except asyncio.CancelledError:
        waiting.clear()
        await _cancel(tasks)
        raise
    timed_out = f"it took longer than {timeout_s:g} s"
    failures = [_failure(tasks[task][0], TimeoutError(timed_out)) for task in tasks if task in late]
    await _cancel(tasks)
    for task, serving in tasks.items():
        error = _error_of(task) if task.done() else None
        if error is not None and not isinstance(error, Exception | asyncio.CancelledError):
            raise error
        if error is not None and task not in late:
            failures.append(_failure(serving[0], error))
    return failures


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await ended(tasks)


async def ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait a moment for cancelled tasks to end; a task that does not is abandoned."""
    running: list[asyncio.Task[Any]] = []
    for task in tasks:
        # The error is read, or the event loop would log that it never was.
        if task.done():
            _error_of(task)
        else:
            task.add_done_callback(_error_of)
            running.append(task)
    if running:
        await asyncio.wait(running, timeout=GRACE_S)


def _error_of(task: asyncio.Task[Any]) -> BaseException | None:
    return asyncio.CancelledError("it was cancelled") if task.cancelled() else task.exception()


def _failure(agent: Any, error: BaseException) -> DeliveryFailure:
    # As text: a log record may be kept for a long time, and must not keep the agent alive.
    _log.warning("%s did not take in a message: %s", repr(agent), "".join(traceback.format_exception(error)))
    return DeliveryFailure(agent, _without_traces(error))


def _without_traces(error: BaseException) -> BaseException:
    # A traceback keeps its frames alive, and with them agents, hubs and messages.
    seen: set[int] = set()
    chain: list[BaseException | None] = [error]
    while chain:
        link = chain.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            link.__traceback__ = None
            chain += (link.__cause__, link.__context__)
    return error


M = TypeVar("M")

OBSERVE_TIMEOUT_S = 30.0
"""How long an agent may take to observe a message."""

_STREAMS_REMEMBERED = 64
_PRINTED_KEPT = 10_000


class Output(Protocol):
    """Where an agent puts what it prints: a ``Channel``, an ``asyncio.Queue``, or an object with their ``put``."""

    async def put(self, item: Any, /) -> Any:
        """Take an item, waiting for room."""
        ...


class Agent(Hooked, StateModule, Generic[M]):
    """Replies to messages of type ``M``. Override ``reply``, ``observe`` and ``handle_interrupt``; call the agent itself.

    ``close``, or the end of an ``async with``, drops hooks, hubs and queue; after that the agent is freed with its last
    reference, without the garbage collector.
    """

    supported_hook_types: ClassVar[list[str]] = [
        "pre_reply",
        "post_reply",
        "pre_print",
        "post_print",
        "pre_observe",
        "post_observe",
    ]
    console_output: ClassVar[bool] = False
    """Whether agents of this class print to the console by default."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.id = new_id()
        self.name = type(self).__name__ if name is None else check_text(name, "the name of an agent")
        self.msg_queue: Output | None = None
        self._console_output = self.console_output
        self._replying: set[asyncio.Task[M]] = set()
        self._audiences: dict[str, Callable[[], Hub[Any] | _Listeners | None]] = {}
        self._printed: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def reply(self, *args: Any, **kwargs: Any) -> M:
        """The agent's answer. To be overridden; raises ``NotImplementedError``."""
        raise NotImplementedError(f"{type(self).__name__} has no reply")

    async def observe(self, message: M | list[M] | None, /) -> None:
        """Receive what others said, without an answer. To be overridden; raises ``NotImplementedError``."""
        raise NotImplementedError(f"{type(self).__name__} has no observe")

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> M:
        """The answer after an interruption, given what the reply was given. To be overridden; raises
        ``NotImplementedError``."""
        raise NotImplementedError(f"{type(self).__name__} has no handle_interrupt")

    async def __call__(self, *args: Any, **kwargs: Any) -> M:
        """Reply, let the others on its hubs observe the answer, and return it.

        An interrupted reply is answered by ``handle_interrupt``. Cancelling the caller cancels the reply, waits for its end
        and raises; no agent observes anything then. What the reply or a hook raises is raised here.
        """
        caller = asyncio.current_task()
        cancelled_before = 0 if caller is None else caller.cancelling()
        replying = asyncio.create_task(self.reply(*args, **kwargs))
        self._replying.add(replying)
        try:
            message = await replying
        except asyncio.CancelledError:
            if caller is not None and caller.cancelling() > cancelled_before:
                raise
            message = await self.handle_interrupt(*args, **kwargs)
        finally:
            replying.cancel()
            self._replying.discard(replying)
            # The traceback of an error holds this frame, and the task holds the error: this would be a reference cycle.
            del replying
        await self._deliver_reply(message)
        return message

    async def interrupt(self, msg: M | list[M] | None = None) -> None:
        """Cancel the replies that are running; each is answered by ``handle_interrupt``. Safe from any thread."""
        here = asyncio.get_running_loop()
        for task in list(self._replying):
            loop = task.get_loop()
            if loop is here:
                task.cancel(msg)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel, msg)

    interrupt_sync = blocking(interrupt)

    def copy_for_others(self, message: M) -> M:
        """The copy of a message that another agent observes; called once for each agent.

        Of a ``Message`` it is a copy that shares nothing mutable, of anything else ``copy.copy``.
        """
        twin = copy.copy(message)
        if isinstance(twin, Message):
            force_setattr(twin, "metadata", copy.deepcopy(twin.metadata) if twin.metadata else {})
            # Text parts are immutable, and most messages have no others.
            if not all(type(part) is Text for part in twin.parts):
                force_setattr(twin, "parts", copy.deepcopy(twin.parts))
        return twin

    async def _deliver_reply(self, message: M | None) -> None:
        audiences = [audience for find in list(self._audiences.values()) if (audience := find()) is not None]
        if message is not None and audiences:
            await asyncio.gather(*(audience.hear(message, self) for audience in audiences))

    def join(self, name: str, audience: Hub[Any]) -> None:
        """Let an audience, held weakly, observe the replies. Raises ``InvalidInput`` when another one has the name."""
        taken = self._audiences.get(name, lambda: None)()
        if taken is not None and taken is not audience:
            raise InvalidInput(f"{self!r} is on another hub called {name!r} already; give one of them another name")
        self._audiences[name] = weakref.ref(audience)

    def part(self, name: str, audience: Hub[Any]) -> None:
        """Undo ``join``."""
        if self._audiences.get(name, lambda: None)() is audience:
            del self._audiences[name]

    def reset_subscribers(self, msghub_name: str, subscribers: Iterable[Agent[M]]) -> None:
        """Let exactly these agents, held weakly, observe the replies under this name."""
        listeners = _Listeners(agent for agent in subscribers if agent is not self)
        self._audiences[msghub_name] = lambda: listeners

    def remove_subscribers(self, msghub_name: str) -> None:
        """Remove the agents that observe the replies under this name."""
        self._audiences.pop(msghub_name, None)

    async def print(self, message: M, /, last: bool = True) -> None:
        """Put a copy with ``last`` into the queue, and show the message on the console; each if enabled.

        A message may be printed repeatedly while it grows; ``last`` marks the complete one.
        """
        await self._put_out((copy.deepcopy(message), last))
        if self._console_output:
            self._show(str(getattr(message, "id", "")), f"{self.name}: {_text(message)}", last)

    def set_console_output_enabled(self, enabled: bool) -> None:
        """Show what is printed on the console, or not."""
        self._console_output = bool(enabled)

    def set_msg_queue_enabled(self, enabled: bool, queue: Output | None = None) -> None:
        """Put what is printed into a queue, ``msg_queue``: the one given, or a ``Channel`` of 10,000; or into none.

        Raises ``InvalidInput`` for a queue without ``put``.
        """
        if queue is not None and not callable(getattr(queue, "put", None)):
            raise InvalidInput(f"a queue must have put, and {shown(queue)} has not")
        if not enabled:
            self.msg_queue = None
        elif queue is not None:
            self.msg_queue = queue
        elif self.msg_queue is None:
            self.msg_queue = Channel(_PRINTED_KEPT)

    async def _put_out(self, item: tuple[Any, ...]) -> None:
        if self.msg_queue is not None:
            await self.msg_queue.put(item)
            # A reader gets a turn before the next item is made.
            await asyncio.sleep(0)

    def _show(self, message_id: str, text: str, last: bool) -> None:
        before = self._printed.pop(message_id, "")
        grown = text.startswith(before)
        sys.stdout.write((text[len(before) :] if grown else f"\n{text}") + ("\n" if last else ""))
        sys.stdout.flush()
        if not last:
            # Bounded: a message that was interrupted is never finished.
            self._printed[message_id] = text
            while len(self._printed) > _STREAMS_REMEMBERED:
                del self._printed[next(iter(self._printed))]

    async def close(self) -> None:
        """Leave every hub, interrupt what is running and wait for its end, drop hooks, queue and what was printed."""
        for find in list(self._audiences.values()):
            if (audience := find()) is not None:
                audience.leave(self)
        self._audiences.clear()
        await self.interrupt()
        here, me = asyncio.get_running_loop(), asyncio.current_task()
        # Not cancelled a second time: the clean-up of a reply must not be cut off.
        await ended(task for task in list(self._replying) if task is not me and task.get_loop() is here)
        self.clear_instance_hooks()
        if isinstance(self.msg_queue, Channel):
            self.msg_queue.complete()
        self.msg_queue = None
        self._printed.clear()

    close_sync = blocking(close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Listeners:
    """Agents that observe another one without a hub."""

    def __init__(self, agents: Iterable[Agent[Any]]) -> None:
        self._agents = [weakref.ref(agent) for agent in agents]

    async def hear(self, message: Any, sender: Agent[Any]) -> None:
        async def hand_over(agent: Agent[Any]) -> None:
            await agent.observe(sender.copy_for_others(message))

        listening = [agent for refer in self._agents if (agent := refer()) is not None]
        await deliver(listening, hand_over, timeout_s=OBSERVE_TIMEOUT_S)

    def leave(self, agent: Agent[Any]) -> None:
        self._agents.clear()


def _text(message: object) -> str:
    text = getattr(message, "text", None)
    return text if isinstance(text, str) else str(message)


_FAILURES_KEPT = 1000


class Hub(Generic[M]):
    """A group of agents that observe each other's replies while the ``async with`` over the hub lasts.

    All observe the announcement on entering. All but its author observe a reply, unless ``auto_broadcast`` is off; each
    gets a copy of its own. Deliveries run concurrently: an agent that raises, or takes longer than ``timeout_s``, is listed
    in ``failures``, and the others are served. Agents hold their hub weakly.
    """

    def __init__(
        self,
        participants: Iterable[Agent[M]],
        announcement: M | list[M] | None = None,
        *,
        auto_broadcast: bool = True,
        name: str | None = None,
        timeout_s: float = OBSERVE_TIMEOUT_S,
    ) -> None:
        """Raises ``InvalidInput`` for a participant that is no agent, or a time that is not above 0."""
        self.name = new_id() if name is None else check_id(name, "the name of a hub")
        self.announcement = announcement
        self.auto_broadcast = bool(auto_broadcast)
        self.timeout_s = _checked_time(timeout_s)
        self._agents = {id(agent): agent for agent in self._checked(participants)}
        self._failures: deque[DeliveryFailure] = deque(maxlen=_FAILURES_KEPT)
        self._open = False

    @property
    def participants(self) -> list[Agent[M]]:
        """The agents on the hub, in the order they were added; a copy."""
        return list(self._agents.values())

    @property
    def failures(self) -> list[DeliveryFailure]:
        """The agents that did not take in a message, and why: the latest 1,000, oldest first."""
        return list(self._failures)

    async def __aenter__(self) -> Self:
        """Raises ``InvalidInput`` when the hub is open already, or an agent is on another hub of the same name."""
        if self._open:
            raise InvalidInput(f"hub {self.name!r} is open already")
        self._open = True
        try:
            self._bind(self._agents.values())
            if self.announcement is not None:
                await self.broadcast(self.announcement)
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _checked(self, agents: object) -> list[Agent[M]]:
        """One agent or several. Raises ``InvalidInput`` for anything else."""
        if isinstance(agents, Agent):
            return [cast("Agent[M]", agents)]
        return cast("list[Agent[M]]", check_items(agents, Agent, "expected an agent or a list of them"))

    def _bind(self, agents: Iterable[Agent[M]]) -> None:
        for agent in agents:
            agent.join(self.name, self)

    def _close(self) -> None:
        self._open = False
        for agent in self._agents.values():
            agent.part(self.name, self)

    def add(self, new_participant: Agent[M] | Sequence[Agent[M]]) -> None:
        """Add agents that are not on the hub. Raises ``InvalidInput`` as the constructor and entering do, adding none."""
        agents = [agent for agent in self._checked(new_participant) if id(agent) not in self._agents]
        if self._open:
            try:
                self._bind(agents)
            except InvalidInput:
                for agent in agents:
                    agent.part(self.name, self)
                raise
        self._agents |= {id(agent): agent for agent in agents}

    def delete(self, participant: Agent[M] | Sequence[Agent[M]]) -> int:
        """Remove agents: they observe the others no more, and are not observed. Returns how many were on the hub."""
        leaving = [agent for agent in self._checked(participant) if id(agent) in self._agents]
        for agent in leaving:
            self.leave(agent)
        return len(leaving)

    def leave(self, agent: Agent[M]) -> None:
        """Remove an agent, if it is on the hub."""
        if self._agents.pop(id(agent), None) is not None:
            agent.part(self.name, self)

    async def broadcast(self, message: M | list[M], /) -> None:
        """Let all agents observe copies of a message, or of several."""
        await self._deliver(message, None)

    def set_auto_broadcast(self, enable: bool) -> None:
        """Set whether the replies of the agents are observed by the others."""
        self.auto_broadcast = bool(enable)

    async def hear(self, message: M, sender: Agent[M]) -> None:
        """Deliver the reply of an agent on the hub to the others."""
        if self.auto_broadcast and self._open and id(sender) in self._agents:
            await self._deliver(message, sender)

    async def _deliver(self, message: M | list[M], sender: Agent[M] | None) -> None:
        async def hand_over(agent: Agent[M]) -> None:
            # It may have been removed while others were served.
            if id(agent) in self._agents:
                await agent.observe(_hub_copy(agent if sender is None else sender, message))

        receivers = [agent for agent in self._agents.values() if agent is not sender]
        self._failures += await deliver(receivers, hand_over, timeout_s=self.timeout_s)


def _hub_copy(agent: Agent[M], message: M | list[M]) -> M | list[M]:
    if isinstance(message, list):
        return [agent.copy_for_others(each) for each in cast("list[M]", message)]
    return agent.copy_for_others(message)


def _checked_time(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not (0 < seconds < math.inf):
        raise InvalidInput(f"timeout_s must be a number of seconds above 0, not {shown(seconds)}")
    return float(seconds)


# Channels: bounded queues between writers and readers, with an end

DONE = "[DONE]"
"""What a reader gets after the last item."""


class Channel:
    """A bounded queue of items for any number of writers and readers; each item goes to one reader.

    When it is full, the oldest item is dropped: no writer ever waits. Works across threads and event loops. It has the
    methods of ``asyncio.Queue`` that programs use.
    """

    def __init__(self, maxsize: int = 100) -> None:
        """Raises ``InvalidInput`` unless there is room for one item at least."""
        self.maxsize = check_count(maxsize, "the size of a channel", least=1)
        self._items: deque[Any] = deque(maxlen=maxsize)
        self._takers: deque[Future[Any]] = deque()
        self._completed = False
        # Never held while something is awaited.
        self._lock = threading.Lock()

    async def put(self, item: Any) -> bool:
        """Add an item. Returns False when the channel is completed already. ``put("[DONE]")`` completes it."""
        if _is_done(item):
            self.complete()
            return True
        with self._lock:
            if self._completed:
                return False
            if not self._handed_over(item):
                self._items.append(item)
        return True

    def complete(self) -> None:
        """Accept no more items. Readers get the remaining ones, then ``"[DONE]"``. Completing twice is fine."""
        with self._lock:
            self._completed = True
            while self._takers:
                _give(self._takers.popleft(), DONE)

    async def get(self) -> Any:
        """The next item, waiting for one; ``"[DONE]"`` once the channel is completed and empty, to every reader.

        When the wait is cancelled no item is lost.
        """
        with self._lock:
            if self._items:
                return self._items.popleft()
            if self._completed:
                return DONE
            taking: Future[Any] = Future()
            self._takers.append(taking)
        try:
            return await asyncio.wrap_future(taking)
        except asyncio.CancelledError:
            self._give_back(taking)
            raise

    async def __aiter__(self) -> AsyncIterator[Any]:
        while not _is_done(item := await self.get()):
            yield item

    def __iter__(self) -> Iterator[Any]:
        while not _is_done(item := block_on(self.get())):
            yield item

    def _give_back(self, taking: Future[Any]) -> None:
        with self._lock:
            if taking.cancel() or _is_done(taking.result()):
                return
            # The item arrived at the moment of the cancellation: the next reader gets it first.
            if not self._handed_over(taking.result()) and len(self._items) < self.maxsize:
                self._items.appendleft(taking.result())

    def _handed_over(self, item: Any) -> bool:
        """Give an item to a waiting reader, if there is one. Called with the lock held."""
        while self._takers:
            if _give(self._takers.popleft(), item):
                return True
        return False

    def qsize(self) -> int:
        """How many items wait to be read."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether no item waits to be read."""
        return not self._items

    def task_done(self) -> None:
        """Do nothing: finished items are not counted."""

    @property
    def completed(self) -> bool:
        """Whether no more items are accepted."""
        return self._completed


def _give(future: Future[Any], value: Any) -> bool:
    """Set the result of a future, unless the wait for it was cancelled."""
    if not future.set_running_or_notify_cancel():
        return False
    future.set_result(value)
    return True


def _is_done(item: Any) -> bool:
    return isinstance(item, str) and item == DONE
