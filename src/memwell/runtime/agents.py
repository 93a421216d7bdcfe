"""Agents: something that replies, observes and prints, can be interrupted, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import copy
import sys
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from msgspec.structs import force_setattr

from memwell._asyncify import blocking
from memwell.errors import InvalidInput
from memwell.messages import Message, Text
from memwell.runtime.channels import Channel
from memwell.runtime.deliveries import deliver, ended
from memwell.runtime.hooks import Hooked
from memwell.runtime.state import StateModule
from memwell.values import check_text, new_id, shown

M = TypeVar("M")

OBSERVE_TIMEOUT_S = 30.0
"""How long an agent may take to take in what another one said."""

_STREAMS_REMEMBERED = 64


class Audience(Protocol):
    """Who hears the replies of an agent; a hub is one."""

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


__all__ = ["OBSERVE_TIMEOUT_S", "Agent", "Audience", "Output"]
