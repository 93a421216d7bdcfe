"""``Batch``: pieces, a function, and a store that remembers which of them are done."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from memwell.errors import InvalidInput
from memwell.runtime.batch.ledger import Failure, Ledger, Outcome
from memwell.runtime.batch.on_ray import OnRay, ray_is_running
from memwell.runtime.batch.runners import Inline, Processes, Runner
from memwell.runtime.batch.working import Order, Setting, Work, named_work
from memwell.settings import load_settings
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import JSONValue
from memwell.values import check_count, shown

RunnerName: TypeAlias = Literal["auto", "processes", "inline", "ray"]
Pieces: TypeAlias = Sequence[JSONValue] | Callable[[Backend], Iterable[JSONValue]]
Progress: TypeAlias = Callable[[int, int], None]

MOST_TRIES = 3


class Batch:
    """Work over a store in pieces, each done once, whoever runs it and however often it is killed.

    ``pieces`` are small plain values, or a function of the open store that lists them, called when the batch is begun.
    ``work`` is a function of a module, or its name as ``module:function``; it is called with an open store and a piece, and
    returns plain JSON data. It must be safe to do twice: a process may be killed between its end and the storing of its
    result. ``runner`` is ``processes`` (of this machine), ``inline`` (here, one after the other), ``ray``, or ``auto``:
    Ray where the program is connected to it or an address is given, by default that of the settings, else processes; but
    inline for a store that no other process can open. Raises ``InvalidInput`` for a value that breaks a rule.
    """

    def __init__(
        self,
        store: str | Path | Backend,
        name: str,
        pieces: Pieces,
        work: Work | str,
        *,
        workers: int | None = None,
        runner: RunnerName = "auto",
        ray_address: str | None = None,
        tries: int = MOST_TRIES,
    ) -> None:
        if runner not in get_args(RunnerName):
            raise InvalidInput(f"a runner is one of {', '.join(get_args(RunnerName))}, not {shown(runner)}")
        if workers is not None:
            check_count(workers, "workers", least=1)
        self._store = store
        self._url = _url(store)
        self._name = name
        self._pieces = pieces
        self._work = named_work(work)
        self._workers = workers
        self._runner = runner
        self._ray_address = load_settings().ray_address if ray_address is None else ray_address
        self._tries = check_count(tries, "tries", least=1)
        if self._url is None and runner in ("processes", "ray"):
            raise InvalidInput(f"no other process can open this store; runner={shown(runner)} needs one with a URL")

    def run(self, *, anew: bool = False, progress: Progress | None = None) -> Outcome:
        """Do all pieces that have no result yet, and return those of all, in the order of the pieces.

        A piece that fails is tried again; one that still fails is among the ``failures``, and the next run tries it once
        more. ``anew`` forgets what was done before. ``progress`` is told how many pieces are done, and of how many. Raises
        ``Conflict`` when the batch was begun with other pieces or another function.
        """
        with self._opened() as backend:
            ledger = Ledger(backend, self._name)
            if anew:
                ledger.clear()
            self._begin(backend, ledger)
            pieces, finished = ledger.pieces(), ledger.finished()
            left = [Order(number, piece) for number, piece in enumerate(pieces) if number not in finished]
            if left:
                self._do(backend, ledger, left, _Told(progress, len(finished), len(pieces)))
            return ledger.outcome()

    def outcome(self) -> Outcome:
        """What has come of it until now."""
        with self._opened() as backend:
            return Ledger(backend, self._name).outcome()

    def forget(self) -> None:
        """Drop the pieces and the results."""
        with self._opened() as backend:
            Ledger(backend, self._name).clear()

    def _opened(self) -> AbstractContextManager[Backend]:
        return nullcontext(self._store) if isinstance(self._store, Backend) else open_backend(self._store)

    def _begin(self, backend: Backend, ledger: Ledger) -> None:
        pieces = self._pieces
        if not ledger.begun(self._work):
            ledger.begin(self._work, pieces(backend) if callable(pieces) else pieces)
        elif not callable(pieces):
            ledger.check_same(pieces)

    def _do(self, backend: Backend, ledger: Ledger, left: list[Order], told: _Told) -> None:
        orders = _Orders(left)
        setting = Setting(self._url or "", self._name, self._work, list(sys.path))
        for report in self._chosen(backend, len(left)).run(setting, orders):
            order, tries = orders.ended(report.number)
            if report.error is None:
                told.one_more()
            elif tries < self._tries:
                orders.again(order)
            else:
                ledger.fail(Failure(order.number, order.piece, report.error, tries))

    def _chosen(self, backend: Backend, pieces: int) -> Runner:
        wanted = self._runner
        if wanted == "auto":
            wanted = "ray" if ray_is_running() or self._ray_address else "processes"
            wanted = "inline" if self._url is None or pieces == 1 or self._workers == 1 else wanted
        if wanted == "ray":
            return OnRay(self._workers, self._ray_address)
        if wanted == "inline":
            return Inline(backend)
        return Processes(min(self._workers or os.cpu_count() or 1, pieces))


class _Orders(Iterator[Order]):
    """The pieces that are still to be done. One that failed comes back at the end."""

    def __init__(self, orders: Iterable[Order]) -> None:
        self._waiting = deque(orders)
        self._given: dict[int, Order] = {}
        self._tries: dict[int, int] = {}

    def __next__(self) -> Order:
        if not self._waiting:
            raise StopIteration
        order = self._waiting.popleft()
        self._given[order.number] = order
        return order

    def ended(self, number: int) -> tuple[Order, int]:
        """The piece that has ended, and how often it has been tried."""
        self._tries[number] = self._tries.get(number, 0) + 1
        return self._given.pop(number), self._tries[number]

    def again(self, order: Order) -> None:
        """Have a piece tried once more."""
        self._waiting.append(order)


class _Told:
    """Counts, and tells of it."""

    def __init__(self, progress: Progress | None, done: int, total: int) -> None:
        self._progress, self._done, self._total = progress, done, total
        self._tell()

    def one_more(self) -> None:
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)


def _url(store: str | Path | Backend) -> str | None:
    """How another process opens the store; None when none can."""
    if isinstance(store, Backend):
        path = getattr(store, "path", None)
        return None if path is None else f"sqlite:{Path(path).resolve()}"
    text = str(store).removeprefix("sqlite:")
    if text == "memory:":
        return None
    # Another process may stand in another folder.
    is_path = ":" not in text.split("/", maxsplit=1)[0] and "," not in text
    return f"sqlite:{Path(text).expanduser().resolve()}" if is_path else str(store)


__all__ = ["MOST_TRIES", "Batch", "Pieces", "Progress", "RunnerName"]
