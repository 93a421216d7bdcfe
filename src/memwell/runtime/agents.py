"""Agents: objects that reply, observe and print, run hooks, and can be interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import copy
import functools
import inspect
import logging
import math
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar, cast

from msgspec.structs import force_setattr

from memwell._asyncify import blocking
from memwell.errors import InvalidInput
from memwell.messages import Message, Text
from memwell.runtime.channels import Channel
from memwell.runtime.state import StateModule
from memwell.values import check_id, check_text, new_id, shown

# Hooks: functions that run before and after an agent's methods, for one agent or for all of a class.


Hook: TypeAlias = Callable[..., Any]
"""``(agent, arguments)`` before, ``(agent, arguments, output)`` after; a function or a coroutine function."""

_Registry: TypeAlias = dict[str, dict[str, Hook]]
_REGISTRY = "_hooks_of_this_class"


class Hooked:
    """Methods that run hooks: for each type ``pre_x`` or ``post_x`` the coroutine method ``x`` (or ``_x``).

    The hooks of the instance run first, then those of its class, then those of each class above it; a hook on a class
    reaches its subclasses, never its siblings nor the classes above. Within a registry they run in the order in which
    their names were first registered. A subclass adds types by listing them in ``supported_hook_types``.

    ``pre(agent, arguments)`` gets the arguments by name and returns others, or None to leave them. ``post(agent,
    arguments, output)`` returns another output of the same type, or None; anything else raises ``InvalidInput``. Both get
    copies; what cannot be copied is handed on itself. An error of a hook reaches the caller. A method that calls
    ``super()`` or itself runs its hooks once; a call beside it, in another task, runs its own.
    """

    supported_hook_types: ClassVar[list[str]] = []

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for action in _actions(cls):
            for name in (action, f"_{action}"):
                method = inspect.getattr_static(cls, name, None)
                # A method of a mixin, or of a class that did not list the type yet, has no hooks so far.
                if inspect.isfunction(method) and not hasattr(method, "runs_hooks_of"):
                    setattr(cls, name, _with_hooks(method, name, action))

    def register_instance_hook(self, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Run ``hook`` for this agent; a hook of the same name gives up its place.

        Raises ``InvalidInput`` for an unknown type, or a hook that cannot be called.
        """
        _register(_of_instance(self), type(self), hook_type, hook_name, hook)

    def remove_instance_hook(self, hook_type: str, hook_name: str) -> None:
        """Drop a hook. Raises ``InvalidInput`` (a ``ValueError``) when there is none of this name."""
        _remove(_of_instance(self), type(self), hook_type, hook_name, "this instance")

    def clear_instance_hooks(self, hook_type: str | None = None) -> None:
        """Drop the hooks of one type, or of all, from this agent."""
        _clear(_of_instance(self), type(self), hook_type)

    @classmethod
    def register_class_hook(cls, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Run ``hook`` for every agent of this class and of its subclasses, those that exist already too."""
        _register(_of_class(cls), cls, hook_type, hook_name, hook)

    @classmethod
    def remove_class_hook(cls, hook_type: str, hook_name: str) -> None:
        """Drop a hook of this very class. Raises ``InvalidInput`` (a ``ValueError``) when it has none of this name."""
        _remove(_of_class(cls), cls, hook_type, hook_name, "this class itself")

    @classmethod
    def clear_class_hooks(cls, hook_type: str | None = None) -> None:
        """Drop the hooks of one type, or of all, from this class; those of other classes stay."""
        _clear(_of_class(cls), cls, hook_type)


# The registries


def _of_instance(agent: Hooked) -> _Registry:
    # Made when first needed: an agent need not have called super().__init__() yet.
    return vars(agent).setdefault("_instance_hooks", {})


def _of_class(cls: type) -> _Registry:
    if _REGISTRY not in vars(cls):
        setattr(cls, _REGISTRY, {})
    return vars(cls)[_REGISTRY]


def _types(cls: type) -> list[str]:
    # Those of all classes above count too, so that a subclass can only add to them.
    listed = (kind for base in cls.__mro__ for kind in vars(base).get("supported_hook_types", ()))
    return list(dict.fromkeys(listed))


def _actions(cls: type) -> list[str]:
    return list(dict.fromkeys(kind.partition("_")[2] for kind in _types(cls)))


def _check_type(cls: type, hook_type: object) -> str:
    types = _types(cls)
    if not isinstance(hook_type, str) or hook_type not in types:
        raise InvalidInput(f"{cls.__name__} has no hooks of type {shown(hook_type)}; it has {', '.join(types)}")
    return hook_type


def _register(registry: _Registry, cls: type, hook_type: str, hook_name: str, hook: Hook) -> None:
    _check_type(cls, hook_type)
    check_id(hook_name, "the name of a hook")
    if not callable(hook):
        raise InvalidInput(f"hook {hook_name!r} must be a function, not {shown(hook)}")
    registry.setdefault(hook_type, {})[hook_name] = hook


def _remove(registry: _Registry, cls: type, hook_type: str, hook_name: str, where: str) -> None:
    _check_type(cls, hook_type)
    hooks = registry.get(hook_type, {})
    if hook_name not in hooks:
        raise InvalidInput(f"{where} ({cls.__name__}) has no {hook_type} hook {shown(hook_name)}")
    del hooks[hook_name]
    if not hooks:
        # An empty registry is how a call without hooks is told at once.
        del registry[hook_type]


def _clear(registry: _Registry, cls: type, hook_type: str | None) -> None:
    if hook_type is None:
        registry.clear()
    else:
        registry.pop(_check_type(cls, hook_type), None)


def _hooks(agent: Hooked, hook_type: str) -> list[Hook]:
    """The hooks of a type in the order they run; a copy, so that a hook may register or remove others."""
    return [hook for registry in _registries(agent) for hook in registry.get(hook_type, {}).values()]


def _has_hooks(agent: Hooked, pre: str, post: str) -> bool:
    # Asked at every call, so it is written out: a hub asks it for each agent and message.
    own = agent.__dict__.get("_instance_hooks")
    if own and (pre in own or post in own):
        return True
    for base in type(agent).__mro__:
        registry = base.__dict__.get(_REGISTRY)
        if registry and (pre in registry or post in registry):
            return True
    return False


def _registries(agent: Hooked) -> Iterator[_Registry]:
    own = vars(agent).get("_instance_hooks")
    if own:
        yield own
    for base in type(agent).__mro__:
        registry = vars(base).get(_REGISTRY)
        if registry:
            yield registry


# Running


class _Call:
    """A call whose hooks are being run, as the calls inside it see it."""

    __slots__ = ("action", "agent", "task")

    def __init__(self, agent: Hooked, action: str) -> None:
        # Not the agent itself: a task started inside keeps its context, and must not keep the agent.
        self.agent = id(agent)
        self.action = action
        self.task = asyncio.current_task()

    def end(self) -> None:
        self.agent = 0
        self.task = None


_calls: contextvars.ContextVar[tuple[_Call, ...]] = contextvars.ContextVar("memwell_hooked_calls", default=())


def _is_part_of_a_call(agent: Hooked, action: str, *, by_super: bool) -> bool:
    """Whether a call around this one has seen to the hooks.

    ``super().reply()`` is a part of it wherever it runs, also in a task of ``asyncio.wait_for``. Any other call is one only
    in the same task: in another it is a call beside, or one that a task left behind makes long after.
    """
    for call in _calls.get():
        if call.agent == id(agent) and call.action == action:
            return by_super or call.task is asyncio.current_task()
    return False


def _with_hooks(method: Callable[..., Any], name: str, action: str) -> Callable[..., Any]:
    signature = inspect.signature(method)
    pre, post = f"pre_{action}", f"post_{action}"

    @functools.wraps(method)
    async def hooked(self: Hooked, *args: Any, **kwargs: Any) -> Any:
        if not _has_hooks(self, pre, post):
            return await method(self, *args, **kwargs)
        by_super = getattr(type(self), name, None) is not hooked
        if _is_part_of_a_call(self, action, by_super=by_super):
            return await method(self, *args, **kwargs)
        call = _Call(self, action)
        token = _calls.set((call, *_calls.get()))
        try:
            arguments = await _before(self, pre, _named(signature, self, args, kwargs), signature)
            positional, named = _as_passed(signature, self, arguments)
            output = await method(*positional, **named)
            return await _after(self, post, arguments, output)
        finally:
            call.end()
            # A coroutine that is thrown away half-way ends in another context than it began in.
            with contextlib.suppress(ValueError):
                _calls.reset(token)

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
        output = output if changed is None else _of_a_kind(changed, output, hook_type, hook)
    return output


def _of_a_kind(changed: Any, output: Any, hook_type: str, hook: Hook) -> Any:
    """What a hook returned, if it may stand where the output stood: one of its type, or one it is derived from."""
    kind = cast("type[Any]", type(changed))
    if output is None or isinstance(changed, type(output)) or (kind is not object and isinstance(output, kind)):
        return changed
    wanted = type(output).__name__
    raise InvalidInput(f"{_what(hook_type, hook)} must return a {wanted} or None, not {shown(changed)}")


async def _run(hook: Hook, *args: Any) -> Any:
    result = hook(*args)
    return await result if inspect.isawaitable(result) else result


def _copies(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except (TypeError, copy.Error):
        # A lock, a socket, a generator: there is but one of it.
        return value


# Arguments by name


def _named(
    signature: inspect.Signature, agent: Hooked, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by the names they have in the signature, with its defaults, without the agent itself."""
    bound = signature.bind(agent, *args, **kwargs)
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[1:])


def _as_passed(
    signature: inspect.Signature, agent: Hooked, arguments: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    own = next(iter(signature.parameters))
    passed = {own: agent} | {name: arguments[name] for name in signature.parameters if name in arguments}
    bound = inspect.BoundArguments(signature, passed)
    return bound.args, bound.kwargs


def _checked(changed: object, signature: inspect.Signature, hook_type: str, hook: Hook) -> dict[str, Any]:
    """The arguments a hook returned, in the form of the signature; what it left out gets its default."""
    what = _what(hook_type, hook)
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


def _what(hook_type: str, hook: Hook) -> str:
    return f"the {hook_type} hook {getattr(hook, '__name__', shown(hook))}"


# How one message reaches many agents: together, each within its time, and the failure of one is not that of another.


A = TypeVar("A")

_log = logging.getLogger("memwell.agents")
# How long something that was cancelled may take to end before it is left to itself.
GRACE_S = 1.0


class Failure(NamedTuple):
    """An agent that did not receive a message, and why. The traceback of the error is in the log."""

    agent: Any
    error: BaseException


class _Place:
    """Which receiver a task is with."""

    at: Any = None


class _Runner(NamedTuple):
    """A task that serves one receiver after the other, and stays with one that makes it wait."""

    task: asyncio.Task[None]
    # Not in one object with the task: a failed task holds the frames of its error, which must not hold the task.
    place: _Place


def _started(waiting: deque[A], hand_over: Callable[[A], Coroutine[Any, Any, object]]) -> _Runner:
    place = _Place()
    return _Runner(asyncio.create_task(_serve(waiting, hand_over, place)), place)


async def _serve(waiting: deque[A], hand_over: Callable[[A], Coroutine[Any, Any, object]], place: _Place) -> None:
    while waiting:
        place.at = waiting.popleft()
        await hand_over(place.at)


async def deliver(
    receivers: Iterable[A], hand_over: Callable[[A], Coroutine[Any, Any, object]], *, timeout_s: float
) -> list[Failure]:
    """Hand something over to all receivers together; returns those that raised, or took longer than ``timeout_s``.

    A receiver that takes too long is cancelled; when it will not end, it is left to itself. When this call is cancelled,
    so are the receivers that are not done.
    """
    waiting = deque(receivers)
    runners: list[_Runner] = []
    try:
        # Most receivers never wait for anything, and one task serves all of those. Whenever a round of the loop has left
        # some unserved, the runners are all waiting, and twice as many come to help.
        while waiting:
            runners += [_started(waiting, hand_over) for _ in range(max(1, min(len(runners), len(waiting))))]
            await asyncio.sleep(0)
        failures = [_late(runner, timeout_s) for runner in await _unfinished(runners, timeout_s)]
    except asyncio.CancelledError:
        waiting.clear()
        await _cancel([runner.task for runner in runners])
        raise
    await _cancel([runner.task for runner in runners])
    late = {id(failure.agent) for failure in failures}
    return failures + [failure for runner in runners if (failure := _failed(runner, late))]


async def _unfinished(runners: list[_Runner], timeout_s: float) -> list[_Runner]:
    running = [runner.task for runner in runners if not runner.task.done()]
    if running:
        await asyncio.wait(running, timeout=timeout_s)
    return [runner for runner in runners if not runner.task.done()]


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await ended(tasks)


async def ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait a moment for cancelled tasks to end; one that will not is left to itself."""
    running: list[asyncio.Task[Any]] = []
    for task in tasks:
        # Nobody else may ask for its error, and the loop would complain of that.
        if task.done():
            _error_of(task)
        else:
            task.add_done_callback(_error_of)
            running.append(task)
    if running:
        await asyncio.wait(running, timeout=GRACE_S)


def _late(runner: _Runner, timeout_s: float) -> Failure:
    return _noted(runner.place.at, TimeoutError(f"it took longer than {timeout_s:g} s"))


def _failed(runner: _Runner, late: set[int]) -> Failure | None:
    error = _error_of(runner.task) if runner.task.done() else None
    if error is not None and not isinstance(error, Exception | asyncio.CancelledError):
        raise error
    # One that was late ends with its cancellation; it has been noted already.
    return None if error is None or id(runner.place.at) in late else _noted(runner.place.at, error)


def _error_of(task: asyncio.Task[Any]) -> BaseException | None:
    return asyncio.CancelledError("it was cancelled") if task.cancelled() else task.exception()


def _noted(agent: Any, error: BaseException) -> Failure:
    # As text: a record of the log may be kept for long, and must not keep the agent.
    _log.warning("%s did not take in a message: %s", repr(agent), "".join(traceback.format_exception(error)))
    return Failure(agent, _without_traces(error))


def _without_traces(error: BaseException) -> BaseException:
    # A traceback holds every frame it went through, and with them all that these know: agents, hubs, messages.
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
"""How long an agent may take to take in what another one said."""

_STREAMS_REMEMBERED = 64


class Audience(Protocol):
    """The receivers of an agent's replies; a hub is one."""

    async def hear(self, message: Any, sender: Any) -> None:
        """Let everybody but the sender observe a message."""
        ...

    def leave(self, agent: Any) -> None:
        """Let go of an agent."""
        ...


class Output(Protocol):
    """Where an agent puts what it prints: a ``Channel``, an ``asyncio.Queue``, or what has their ``put``."""

    async def put(self, item: Any, /) -> Any:
        """Take an item, waiting for room."""
        ...


class Agent(Hooked, StateModule, Generic[M]):
    """Replies to messages of type ``M``. Override ``reply``, ``observe`` and ``handle_interrupt``; call the agent itself.

    Everything it is given to keep it lets go of in ``close``, or at the end of an ``async with``; after that it is freed
    with its last reference, without the garbage collector.
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
    """Whether agents of this class print to the console unless they are told otherwise."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.id = new_id()
        self.name = type(self).__name__ if name is None else check_text(name, "the name of an agent")
        self.msg_queue: Output | None = None
        self._console_output = self.console_output
        self._replying: set[asyncio.Task[M]] = set()
        self._audiences: dict[str, Callable[[], Audience | None]] = {}
        self._printed: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # What an agent does

    async def reply(self, *args: Any, **kwargs: Any) -> M:
        """The agent's answer. To be overridden; raises ``NotImplementedError``."""
        raise NotImplementedError(f"{type(self).__name__} has no reply")

    async def observe(self, message: M | list[M] | None, /) -> None:
        """Take in what others said, without an answer. To be overridden; raises ``NotImplementedError``."""
        raise NotImplementedError(f"{type(self).__name__} has no observe")

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> M:
        """The answer after an interruption, given what the reply was given. To be overridden; raises
        ``NotImplementedError``."""
        raise NotImplementedError(f"{type(self).__name__} has no handle_interrupt")

    async def __call__(self, *args: Any, **kwargs: Any) -> M:
        """Reply, let the others on its hubs observe the answer, and return it.

        An interrupted reply is answered by ``handle_interrupt``. Cancelling the caller cancels the reply, waits for its end
        and goes on to the caller; then nobody observes anything. Whatever the reply or a hook raises is raised here.
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
            # An error's traceback holds this frame, and the task holds the error: together they would be a cycle.
            del replying
        await self._tell_others(message)
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

    # Who hears of it

    def copy_for_others(self, message: M) -> M:
        """What another agent gets to see of a message; called once for each of them, so that none shares its own.

        Of a ``Message`` that is a copy in which nothing that can be changed is shared, of anything else ``copy.copy``.
        """
        twin = copy.copy(message)
        if isinstance(twin, Message):
            force_setattr(twin, "metadata", copy.deepcopy(twin.metadata) if twin.metadata else {})
            # Words alone cannot be changed, and most messages have nothing else.
            if not all(type(part) is Text for part in twin.parts):
                force_setattr(twin, "parts", copy.deepcopy(twin.parts))
        return twin

    async def _tell_others(self, message: M | None) -> None:
        audiences = [audience for find in list(self._audiences.values()) if (audience := find()) is not None]
        if message is not None and audiences:
            await asyncio.gather(*(audience.hear(message, self) for audience in audiences))

    def join(self, name: str, audience: Audience) -> None:
        """Let an audience, held weakly, hear the replies. Raises ``InvalidInput`` when another one has the name."""
        taken = self._audiences.get(name, lambda: None)()
        if taken is not None and taken is not audience:
            raise InvalidInput(f"{self!r} is on another hub called {name!r} already; give one of them another name")
        self._audiences[name] = weakref.ref(audience)

    def part(self, name: str, audience: Audience) -> None:
        """Undo ``join``."""
        if self._audiences.get(name, lambda: None)() is audience:
            del self._audiences[name]

    def reset_subscribers(self, msghub_name: str, subscribers: Iterable[Agent[M]]) -> None:
        """Let exactly these agents, held weakly, hear the replies under this name."""
        listeners = _Listeners(agent for agent in subscribers if agent is not self)
        self._audiences[msghub_name] = lambda: listeners

    def remove_subscribers(self, msghub_name: str) -> None:
        """Let nobody hear the replies under this name any more."""
        self._audiences.pop(msghub_name, None)

    # What it prints

    async def print(self, message: M, /, last: bool = True) -> None:
        """Put a copy with ``last`` into the queue, waiting for room, and show the message on the console; each if enabled.

        A message may be printed again and again as it grows, ``last`` telling that it is whole.
        """
        await self._put_out((copy.deepcopy(message), last))
        if self._console_output:
            self._show(str(getattr(message, "id", "")), f"{self.name}: {_text(message)}", last)

    def set_console_output_enabled(self, enabled: bool) -> None:
        """Show what is printed on the console, or not."""
        self._console_output = bool(enabled)

    def set_msg_queue_enabled(self, enabled: bool, queue: Output | None = None) -> None:
        """Put what is printed into a queue, ``msg_queue``: the one given, or a ``Channel`` of 100; or into none.

        Raises ``InvalidInput`` for a queue that nothing can be put into.
        """
        if queue is not None and not callable(getattr(queue, "put", None)):
            raise InvalidInput(f"a queue must have put, and {shown(queue)} has not")
        if not enabled:
            self.msg_queue = None
        elif queue is not None:
            self.msg_queue = queue
        elif self.msg_queue is None:
            self.msg_queue = Channel(100)

    async def _put_out(self, item: tuple[Any, ...]) -> None:
        if self.msg_queue is not None:
            await self.msg_queue.put(item)
            # Whoever reads should see it before the next one is made.
            await asyncio.sleep(0)

    def _show(self, message_id: str, text: str, last: bool) -> None:
        before = self._printed.pop(message_id, "")
        grown = text.startswith(before)
        sys.stdout.write((text[len(before) :] if grown else f"\n{text}") + ("\n" if last else ""))
        sys.stdout.flush()
        if not last:
            # A message that is never finished, as after an interruption, must not be remembered for good.
            self._printed[message_id] = text
            while len(self._printed) > _STREAMS_REMEMBERED:
                del self._printed[next(iter(self._printed))]

    # The end

    async def close(self) -> None:
        """Leave every hub, interrupt what is running and wait for its end, drop hooks, queue and what was printed."""
        for find in list(self._audiences.values()):
            if (audience := find()) is not None:
                audience.leave(self)
        self._audiences.clear()
        await self.interrupt()
        here, me = asyncio.get_running_loop(), asyncio.current_task()
        # Not cancelled once more: what a reply does on its way out must not be cut off.
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
    """Agents that hear another one without a hub."""

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


# A hub: what one agent on it says, the others observe.


_FAILURES_KEPT = 1000


class Hub(Generic[M]):
    """Agents that hear each other for as long as the ``async with`` over the hub lasts; each gets copies of its own.

    The announcement is observed by all on entering. A reply is observed by all but the one that gave it, unless
    ``auto_broadcast`` is off. Deliveries run together: an agent that raises, or takes longer than ``timeout_s``, is noted
    in ``failures`` and the others go on. Agents know their hub weakly, so a hub that is gone binds nobody.
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
        self._agents = {id(agent): agent for agent in _hub_checked(participants)}
        self._failures: deque[Failure] = deque(maxlen=_FAILURES_KEPT)
        self._open = False

    @property
    def participants(self) -> list[Agent[M]]:
        """The agents on the hub, in the order they came; a copy."""
        return list(self._agents.values())

    @property
    def failures(self) -> list[Failure]:
        """Which agents did not take in a message, and why: the latest 1,000, oldest first."""
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

    def _bind(self, agents: Iterable[Agent[M]]) -> None:
        for agent in agents:
            agent.join(self.name, self)

    def _close(self) -> None:
        self._open = False
        for agent in self._agents.values():
            agent.part(self.name, self)

    # Who is on it

    def add(self, new_participant: Agent[M] | Sequence[Agent[M]]) -> None:
        """Let agents in; one that is in stays. Raises ``InvalidInput`` as the constructor and entering do, adding none."""
        agents = [agent for agent in _hub_checked(new_participant) if id(agent) not in self._agents]
        if self._open:
            try:
                self._bind(agents)
            except InvalidInput:
                for agent in agents:
                    agent.part(self.name, self)
                raise
        self._agents |= {id(agent): agent for agent in agents}

    def delete(self, participant: Agent[M] | Sequence[Agent[M]]) -> int:
        """Let agents out: from now on they hear nobody here, and nobody here hears them. Returns how many were in."""
        leaving = [agent for agent in _hub_checked(participant) if id(agent) in self._agents]
        for agent in leaving:
            self.leave(agent)
        return len(leaving)

    def leave(self, agent: Agent[M]) -> None:
        """Let go of one agent; one that is not in is fine."""
        if self._agents.pop(id(agent), None) is not None:
            agent.part(self.name, self)

    # What is said

    async def broadcast(self, message: M | list[M], /) -> None:
        """Let all on the hub observe copies of a message, or of several."""
        await self._deliver(message, None)

    def set_auto_broadcast(self, enable: bool) -> None:
        """Whether the replies of the agents are observed by the others."""
        self.auto_broadcast = bool(enable)

    async def hear(self, message: M, sender: Agent[M]) -> None:
        """What an agent on the hub has replied."""
        if self.auto_broadcast and self._open and id(sender) in self._agents:
            await self._deliver(message, sender)

    async def _deliver(self, message: M | list[M], sender: Agent[M] | None) -> None:
        async def hand_over(agent: Agent[M]) -> None:
            # Others may have left while the first ones were served.
            if id(agent) in self._agents:
                await agent.observe(_hub_copy(agent if sender is None else sender, message))

        receivers = [agent for agent in self._agents.values() if agent is not sender]
        self._failures += await deliver(receivers, hand_over, timeout_s=self.timeout_s)


def _hub_copy(agent: Agent[M], message: M | list[M]) -> M | list[M]:
    if isinstance(message, list):
        return [agent.copy_for_others(each) for each in cast("list[M]", message)]
    return agent.copy_for_others(message)


def _hub_checked(agents: object) -> list[Agent[Any]]:
    if isinstance(agents, Agent):
        return [cast("Agent[Any]", agents)]
    if not isinstance(agents, Iterable):
        raise InvalidInput(f"expected an agent or several, not {shown(agents)}")
    listed = list(cast("Iterable[object]", agents))
    for agent in listed:
        if not isinstance(agent, Agent):
            raise InvalidInput(f"expected an agent, not {shown(agent)}")
    return cast("list[Agent[Any]]", listed)


def _checked_time(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not (0 < seconds < math.inf):
        raise InvalidInput(f"timeout_s must be a number of seconds above 0, not {shown(seconds)}")
    return float(seconds)
