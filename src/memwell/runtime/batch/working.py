"""One piece of a batch, wherever it is done: the store is opened, the function called, the result stored.

``main`` is a process that does pieces one after the other, as it is told on its input, and ends with it. It is a program of
its own and knows nothing of the script that runs the batch, which therefore needs no guard.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from memwell.errors import InvalidInput
from memwell.runtime.batch.ledger import Ledger
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import JSONValue
from memwell.values import shown

Work: TypeAlias = Callable[[Backend, Any], JSONValue]


class Setting(msgspec.Struct, frozen=True):
    """What a process needs to know once."""

    url: str
    batch: str
    work: str
    path: list[str]
    """Where the program that runs the batch finds its modules."""


class Order(msgspec.Struct, frozen=True):
    """One piece to be done."""

    number: int
    piece: JSONValue


class Report(msgspec.Struct, frozen=True):
    """What came of it: no error when the result is stored."""

    number: int
    error: str | None


def named_work(work: Work | str) -> str:
    """A function as ``module:function``, by which any process finds it. Raises ``InvalidInput`` for one that has no such
    name: of a script, inside another function, or a lambda.
    """
    if isinstance(work, str):
        loaded(work)
        return work
    name = f"{work.__module__}:{work.__qualname__}"
    if work.__module__ == "__main__" or "<" in name or "." in work.__qualname__:
        raise InvalidInput(
            f"the work of a batch must be a function of a module that can be imported, not {shown(name)}"
        )
    return name


def loaded(name: str) -> Work:
    """The function of this name. Raises ``InvalidInput`` when there is none."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(f"there is no work {shown(name)}; write module:function ({error})") from error
    if not callable(found):
        raise InvalidInput(f"{shown(name)} is no function")
    return found


def done(backend: Backend, batch: str, work: Work, order: Order) -> Report:
    """Do a piece and store its result. Whatever goes wrong is reported: the other pieces must go on."""
    try:
        Ledger(backend, batch).keep(order.number, work(backend, order.piece))
    except Exception as error:  # noqa: BLE001 - a stranger's function may raise anything
        return Report(order.number, f"{type(error).__name__}: {error}")
    return Report(order.number, None)


@lru_cache(maxsize=4)
def opened(url: str) -> Backend:
    """The store, opened once in a process. It is never closed: the process ends."""
    return open_backend(url)


def done_elsewhere(setting: Setting, order: Order) -> Report:
    """Do a piece in a process that knows nothing yet."""
    for place in setting.path:
        if place not in sys.path:
            sys.path.append(place)
    try:
        backend, work = opened(setting.url), loaded(setting.work)
    except Exception as error:  # noqa: BLE001 - as above; a module may raise anything when it is imported
        return Report(order.number, f"{type(error).__name__}: {error}")
    return done(backend, setting.batch, work, order)


def main() -> None:
    """Do what the input says, line by line, until it ends."""
    # What the work prints must not mix with what is reported.
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    lines = sys.stdin.buffer
    first = lines.readline()
    if not first:
        return
    setting = msgspec.json.decode(first, type=Setting)
    for line in lines:
        report = done_elsewhere(setting, msgspec.json.decode(line, type=Order))
        try:
            reports.write(msgspec.json.encode(report) + b"\n")
        except BrokenPipeError:
            # Whoever asked is gone. What was done is stored.
            return


__all__ = ["Order", "Report", "Setting", "Work", "done", "done_elsewhere", "loaded", "main", "named_work", "opened"]
