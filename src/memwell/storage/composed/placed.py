"""Conversations and values in another store than the home; what memwell itself keeps about a space stays in the home.

Journals, jobs, marks and documents change together with records, in transactions of the home. They are in spaces with a
segment ``memwell`` (see ``domains``), and those are the home's, whatever else lives in the other store.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from memwell.records import Space, Thread, paged
from memwell.storage.domains import is_memwells
from memwell.storage.elsewhere import REMEMBERED
from memwell.storage.protocols import Backend, ThreadInfo

T = TypeVar("T")

_PAGE = 500


def placed(part: type[T], home: T, other: T) -> T:
    """A log or values whose every call goes to ``home`` for a space of memwell itself, and to ``other`` for all else."""

    def routed(name: str) -> Callable[..., Any]:
        def call(_: object, *args: Any, **options: Any) -> Any:
            # The space, the thread or the listing of a thread is what a call is about.
            about = args[0] if args else options.get("thread", options.get("space", options.get("info")))
            return getattr(home if _is_memwells(about) else other, name)(*args, **options)

        return call

    methods = [name for name, one in vars(part).items() if inspect.isfunction(one) and name[0] != "_"]
    blocking = [name for name in methods if not inspect.iscoroutinefunction(getattr(part, name))]
    return cast(T, type(f"Placed{part.__name__}", (part,), {name: routed(name) for name in blocking})())


def _is_memwells(about: object) -> bool:
    thread = about.thread if isinstance(about, ThreadInfo) else about
    space = thread.space if isinstance(thread, Thread) else thread
    # What names no space, the other store refuses.
    return isinstance(space, Space) and is_memwells(space)


def take_home(home: Backend, part: Backend, kinds: Iterable[str]) -> None:
    """Move what memwell itself keeps from a part (its ``log``, its ``kv``) to the home.

    Earlier versions kept it in the part. What the home has already is not written over, so a call that dies half-way is
    finished by the next.
    """
    for space in list(paged(lambda cursor: part.spaces(limit=_PAGE, cursor=cursor))):
        if not is_memwells(space) or space == REMEMBERED:
            continue
        threads = [one.thread for one in _threads(part, space)] if "log" in kinds else []
        entries = list(paged(lambda cursor: part.kv.scan(space, cursor=cursor))) if "kv" in kinds else []  # noqa: B023 - used at once
        with home.transaction():
            home.kv.restore(space, [one for one in entries if home.kv.get(space, one.key) is None])
            for thread in threads:
                if not home.log.threads(space, ids=[thread.id]).items:
                    _copy_thread(part, home, thread)
        for thread in threads:
            part.log.delete(thread)
        for entry in entries:
            part.kv.delete(space, entry.key)


def _threads(store: Backend, space: Space) -> Iterable[ThreadInfo]:
    return paged(lambda cursor: store.log.threads(space, cursor=cursor))


def _copy_thread(source: Backend, target: Backend, thread: Thread) -> None:
    [info] = source.log.threads(thread.space, ids=[thread.id]).items
    places = source.log.places(thread, limit=_PAGE)
    target.log.restore(info, places)
    while places:
        places = source.log.places(thread, after=places[-1].index, limit=_PAGE)
        target.log.restore(info, places)
