"""Methods derived from methods: async twins and blocking twins. Other modules use only these.

``aappend = asyncify(append)`` gives a method an async twin with its exact type. The work runs in a thread; cancelling the
await abandons the wait, never the work, so a mutation is never torn. Calls made inside an async transaction run in that
transaction's own *lane* (one thread), so that many waiting writers cannot starve the one they wait for.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class _Lane:
    """The one thread of an async transaction, and whether it still accepts calls."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memwell-lane")
        self.open = True

    def end(self) -> None:
        """Accept no more calls; those already submitted still run."""
        self.open = False
        self.executor.shutdown(wait=False)


_lane: contextvars.ContextVar[_Lane | None] = contextvars.ContextVar("memwell_lane", default=None)


def _current_lane() -> _Lane | None:
    # A task started inside a transaction may outlive it, and then has no lane.
    lane = _lane.get()
    return lane if lane is not None and lane.open else None


async def run_blocking(call: Callable[[], T]) -> T:
    """Run ``call`` in a thread with the caller's context, and return or raise what it does."""
    context = contextvars.copy_context()
    lane = _current_lane()
    executor: Executor | None = None if lane is None else lane.executor
    return await asyncio.get_running_loop().run_in_executor(executor, functools.partial(context.run, call))


def asyncify(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The async twin of a blocking method: same arguments, same result, same errors.

    The method is looked up by name when called, so a subclass that overrides ``append`` has overridden ``aappend`` too.
    """
    name = method.__name__

    async def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound: Callable[..., T] = getattr(self, name)
        return await run_blocking(functools.partial(bound, *args, **kwargs))

    twin.__name__ = f"a{name}"
    twin.__qualname__ = f"{method.__qualname__.rpartition('.')[0]}.a{name}"
    twin.__doc__ = f"The async twin of ``{name}``.\n\n{method.__doc__ or ''}"
    return twin


class AsyncContext(Generic[T]):
    """The async twin of a blocking context manager: entered, used and left in one thread of its own.

    Context variables set by ``__enter__`` are carried into the caller's task, so that what is called inside the ``async
    with`` sees them. Entered inside another one it uses that one's thread, so that locks held by the outer are its own.
    The thread is stopped on leaving the outer; a cancelled body still runs ``__exit__`` to its end.
    """

    def __init__(self, manager: AbstractContextManager[T], *carried: contextvars.ContextVar[Any]) -> None:
        self._manager = manager
        self.carried = carried
        """The variables that are carried into the caller's task, for code that wraps this manager."""
        self._lane: _Lane | None = None
        self._owns_lane = False
        self._tokens: list[tuple[contextvars.ContextVar[Any], contextvars.Token[Any]]] = []

    async def __aenter__(self) -> T:
        outer = _current_lane()
        lane = outer or _Lane()
        self._owns_lane = outer is None
        context = contextvars.copy_context()
        entering = lane.executor.submit(context.run, self._manager.__enter__)
        try:
            value = await asyncio.shield(asyncio.wrap_future(entering))
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                # The thread may still enter; then it must leave again, or the store stays locked.
                lane.executor.submit(context.run, _leave_if_entered, entering, self._manager)
            self._release(lane)
            raise
        self._lane = lane
        self._tokens.append((_lane, _lane.set(lane)))
        for variable in self.carried:
            self._tokens.append((variable, variable.set(context[variable])))
        return value

    def _release(self, lane: _Lane) -> None:
        if self._owns_lane:
            lane.end()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        lane = self._lane
        assert lane is not None, "left before it was entered"
        context = contextvars.copy_context()
        for variable, token in reversed(self._tokens):
            variable.reset(token)
        leaving = lane.executor.submit(context.run, self._manager.__exit__, kind, error, trace)
        self._release(lane)
        return await asyncio.shield(asyncio.wrap_future(leaving))


class Closing:
    """A base class that is closed at the end of a ``with`` or an ``async with``."""

    def close(self) -> None:
        """Release what is held."""
        raise NotImplementedError

    aclose = asyncify(close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _leave_if_entered(entering: Future[Any], manager: AbstractContextManager[Any]) -> None:
    # Runs in the lane, so after __enter__ has ended there, one way or the other.
    if entering.exception() is None:
        manager.__exit__(asyncio.CancelledError, asyncio.CancelledError(), None)


class _LoopThread:
    """One event loop in a daemon thread, started when the blocking core first calls something async."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="memwell-loop", daemon=True).start()
            return self._loop


_loop_thread = _LoopThread()


def block_on(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from blocking code, and return or raise what it does.

    It runs in a loop of its own, so it may be called from a thread whose loop is running. Raises ``RuntimeError`` when
    called from inside that own loop, where waiting for it would never end.
    """
    loop = _loop_thread.loop()
    if _running_loop() is loop:
        coroutine.close()
        raise RuntimeError("block_on was called from the loop it waits for; await the coroutine instead")
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


def blocking(method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[S, P], T]:
    """The blocking twin of an async method, for rooms whose vocabulary is async: ``write_sync = blocking(write)``.

    The method is looked up by name when called, as by ``asyncify``. Called from inside a running event loop it would hold
    that loop up until it is done; what runs inside our own loop gets a ``RuntimeError``.
    """
    name = method.__name__

    def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound: Callable[..., Coroutine[Any, Any, T]] = getattr(self, name)
        return block_on(bound(*args, **kwargs))

    twin.__name__ = f"{name}_sync"
    twin.__qualname__ = f"{method.__qualname__.rpartition('.')[0]}.{name}_sync"
    twin.__doc__ = f"The blocking twin of ``{name}``.\n\n{method.__doc__ or ''}"
    return twin


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
