"""How one message reaches many agents: together, each within its time, and the failure of one is not that of another."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, TypeVar

A = TypeVar("A")

_log = logging.getLogger("memwell.agents")
# How long something that was cancelled may take to end before it is left to itself.
GRACE_S = 1.0


class Failure(NamedTuple):
    """Who did not get a message, and why. The error comes without its traceback, which is in the log."""

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


__all__ = ["GRACE_S", "Failure", "deliver", "ended"]
