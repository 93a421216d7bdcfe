"""Batches: work over many records in pieces, on several processes or machines, that can be killed and go on.

A batch is a list of pieces and a function. The pieces are jobs of a queue in the store (``memwell.runtime.jobs``): each
process claims one, does it, and stores its result at once. A run that was killed continues where it stopped; a finished
batch only reads its results. The results do not depend on the runner.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec.structs import replace

from memwell.errors import BackendError, Conflict, InvalidInput
from memwell.records import Space, paged
from memwell.runtime.batch.runners import (
    DIED,
    OnRay,
    Processes,
    Runner,
    Setting,
    Work,
    drain,
    failed,
    named_work,
    new_piece,
    piece_of,
    queue_of,
    ray_is_running,
)
from memwell.settings import load_settings
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import JSONValue
from memwell.values import check_count, check_id, new_id, shown

RunnerName: TypeAlias = Literal["auto", "processes", "inline", "ray"]
Pieces: TypeAlias = Sequence[JSONValue] | Callable[[Backend], Iterable[JSONValue]]
Progress: TypeAlias = Callable[[int, int], None]

MOST_TRIES = 3

_HEAD = "head"
_OLD = "pieces/00000000"
"""Where an earlier version kept the first pieces."""
_PAGE = 500
_LOOK_S = 0.1
"""How often a run reads how far its processes are."""


class Failure(msgspec.Struct, frozen=True):
    """A piece that failed every time it was tried, with its last error."""

    number: int
    piece: JSONValue
    error: str
    tries: int


class Outcome(msgspec.Struct, frozen=True):
    """The results in the order of the pieces, with None for those in ``failures``."""

    results: list[JSONValue]
    failures: list[Failure]

    @property
    def complete(self) -> bool:
        """Whether every piece has its result."""
        return not self.failures


class Batch:
    """Work over a store in pieces, each done once, also when processes are killed.

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
        self._name = check_id(name, "a batch's name")
        self._pieces = pieces
        self._work = named_work(work)
        self._workers = workers
        self._runner = runner
        self._ray_address = load_settings().ray_address if ray_address is None else ray_address
        self._tries = check_count(tries, "tries", least=1)
        if self._url is None and runner in ("processes", "ray"):
            raise InvalidInput(f"no other process can open this store; runner={shown(runner)} needs one with a URL")

    def run(self, *, again: bool = False, progress: Progress | None = None, **earlier: bool) -> Outcome:
        """Do all pieces that have no result yet, and return the results of all, in the order of the pieces.

        A piece that fails is tried again; one that still fails is among the ``failures``, and the next run tries it once
        more. ``again`` drops all results and begins again. ``progress`` is called with how many pieces have ended, and of
        how many. Raises ``Conflict`` when the batch was begun with other pieces or another function.
        """
        # The name of the option in the version before.
        again = earlier.pop("anew", again)
        if earlier:
            raise InvalidInput(f"a run has no option {', '.join(map(repr, earlier))}")
        with self._opened() as backend:
            stored = _Stored(backend, self._name)
            try:
                if again:
                    stored.clear()
                report = _reporter(stored, self._begin(backend, stored), progress)
                report()
                self._do(backend, stored, report)
                return stored.outcome()
            finally:
                stored.queue.close()

    def outcome(self) -> Outcome:
        """The results so far."""
        with self._opened() as backend:
            return _Stored(backend, self._name).outcome()

    def forget(self) -> None:
        """Drop the pieces and the results."""
        with self._opened() as backend:
            _Stored(backend, self._name).clear()

    def _opened(self) -> AbstractContextManager[Backend]:
        return nullcontext(self._store) if isinstance(self._store, Backend) else open_backend(self._store)

    def _begin(self, backend: Backend, stored: _Stored) -> int:
        pieces = self._pieces
        if not stored.begun(self._work):
            stored.begin(self._work, pieces(backend) if callable(pieces) else pieces)
        elif not callable(pieces):
            stored.check_same(pieces)
        return stored.reopen_failed()

    def _do(self, backend: Backend, stored: _Stored, report: Callable[[], None]) -> None:
        left = stored.left()
        runner = self._chosen(left) if left else None
        if runner is None:
            drain(backend, stored.queue, self._work, self._tries, ended=report)
            return
        setting = Setting(self._url or "", self._name, self._work, self._tries, list(sys.path))
        running, in_vain = set[str](), 0
        with runner:
            while not stored.queue.pending.is_empty():
                free = len(list(islice(stored.queue.pending.free(), runner.workers)))
                for _ in range(min(free, runner.workers - len(running))):
                    running.add(owner := new_id())
                    runner.start(replace(setting, owner=owner))
                for owner, has_failed in runner.ended(_LOOK_S):
                    running.discard(owner)
                    lost = stored.abandon(owner, self._tries)
                    in_vain = in_vain + 1 if has_failed and not lost else 0
                if in_vain >= self._tries:
                    raise BackendError(
                        "the processes of the batch end before they begin a piece; see what they printed"
                    )
                report()

    def _chosen(self, pieces: int) -> Runner | None:
        """The runner; None for inline."""
        wanted = self._runner
        if wanted == "auto":
            wanted = "ray" if ray_is_running() or self._ray_address else "processes"
            wanted = "inline" if self._url is None or pieces == 1 or self._workers == 1 else wanted
        if wanted == "ray":
            return OnRay(self._workers, self._ray_address)
        return None if wanted == "inline" else Processes(min(self._workers or os.cpu_count() or 1, pieces))


def _reporter(stored: _Stored, total: int, progress: Progress | None) -> Callable[[], None]:
    """A function that calls ``progress`` when more pieces have ended."""
    last = -1

    def report() -> None:
        nonlocal last
        ended = last if progress is None else total - stored.left()
        if progress is not None and ended != last:
            last = ended
            progress(ended, total)

    return report


class _Stored:
    """A batch in its store: its function, and its pieces as jobs of a queue."""

    def __init__(self, backend: Backend, name: str) -> None:
        self._backend = backend
        self._kv = backend.kv
        self._name = name
        self._space = Space("memwell", "batch", name)
        self.queue = queue_of(backend, name)

    def begun(self, work: str) -> bool:
        """Whether the batch was begun. Raises ``Conflict`` when it was begun with another function."""
        head = self._kv.get(self._space, _HEAD)
        if head is None or self._kv.get(self._space, _OLD) is not None:
            # A batch in the layout of an earlier version begins again.
            return False
        known = cast("dict[str, Any]", head.value)
        if known["work"] != work:
            raise Conflict(f"the batch {shown(self._name)} is one of {known['work']}, not of {work}; begin it again")
        return True

    def begin(self, work: str, pieces: Iterable[JSONValue]) -> None:
        """Store the pieces, and mark the batch as begun after the last one."""
        self.clear()
        jobs, count = (new_piece(work, number, piece) for number, piece in enumerate(pieces)), 0
        while page := list(islice(jobs, _PAGE)):
            with self._backend.transaction():
                for kept in page:
                    self.queue.add(kept.job.id, kept, mine=False)
            count += len(page)
        self._kv.put(self._space, _HEAD, {"work": work, "count": count})

    def check_same(self, pieces: Sequence[JSONValue]) -> None:
        """Raises ``Conflict`` when these are not the pieces that are stored."""
        if msgspec.json.encode(pieces) != msgspec.json.encode([piece_of(found) for found in self.queue.all()]):
            raise Conflict(f"the batch {shown(self._name)} was begun with other pieces; begin it again")

    def reopen_failed(self) -> int:
        """Open the pieces that failed for another try, and return how many pieces there are."""
        count = 0
        for found in list(self.queue.all()):
            count += 1
            if found.kept.job.status == "failed":
                self.queue.reopen(found.key, new_piece(found.kept.job.action, int(found.key), piece_of(found)))
        return count

    def left(self) -> int:
        """How many pieces have not ended."""
        return self.queue.pending.count()

    def abandon(self, owner: str, tries: int) -> int:
        """Release the pieces of a process that has ended, each after a failed try, and return how many it had."""
        pending = self.queue.pending
        pending.end_lease(owner)
        claimed = [found for key in pending.owned_by(owner) if (found := self.queue.claim(key)) is not None]
        for found in claimed:
            self.queue.retry(found, failed(found.kept.job, DIED), tries)
        return len(claimed)

    def outcome(self) -> Outcome:
        """The results so far."""
        results, failures = list[JSONValue](), list[Failure]()
        for found in self.queue.all():
            job = self.queue.with_result(found) if found.kept.apart else found.kept.job
            results.append(None if job.result is None else job.result["result"])
            if job.status == "failed":
                error = (job.problem or {}).get("detail", "")
                failures.append(Failure(int(found.key), piece_of(found), error, found.kept.begun))
        return Outcome(results, failures)

    def clear(self) -> None:
        """Drop everything; the head first, so that no process goes on with a part of it."""
        self._kv.delete(self._space, _HEAD)
        for entry in list(paged(lambda cursor: self._kv.scan(self._space, limit=_PAGE, cursor=cursor))):
            self._kv.delete(self._space, entry.key)
        self.queue.clear()


def _url(store: str | Path | Backend) -> str | None:
    """The URL by which another process opens the store; None when none can."""
    if isinstance(store, Backend):
        path = getattr(store, "path", None)
        return None if path is None else f"sqlite:{Path(path).resolve()}"
    text = str(store).removeprefix("sqlite:")
    if text == "memory:":
        return None
    # Absolute, as another process may run in another folder.
    is_path = ":" not in text.split("/", maxsplit=1)[0] and "," not in text
    return f"sqlite:{Path(text).expanduser().resolve()}" if is_path else str(store)


__all__ = ["Batch", "Failure", "Outcome", "named_work"]
