"""Many writers at one conversation: eight processes and eight threads of another, while others read.

Every message says who wrote it, its number and a digest of itself, so that a reader can tell a torn, doubled or misplaced
one. One more process writes pairs of values in transactions; a reader must never see one without the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memwell.messages import Message, human
from memwell.records import Space, Thread
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend

THREAD = Thread(Space("shared"), "conversation")
PROCESSES = 8
THREADS = 8
APPENDS = 500
_READERS = 2


@dataclass
class Findings:
    """What the run found."""

    appends: int = 0
    stored: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    median_ms: float = 0.0
    p99_ms: float = 0.0
    slowest_ms: float = 0.0
    reads: int = 0
    pairs: int = 0
    errors: list[str] = field(default_factory=list)


def run(folder: Path, url: str = "") -> Findings:
    """Let them all loose on one store, by default a file in ``folder``, and look at what is there afterwards."""
    path = url or str(folder / "contention.db")
    start = time.time() + 1.0
    jobs: dict[str, Callable[[], dict[str, Any]]] = {
        f"process-{number}": lambda number=number: _write(path, start, [f"process-{number}"])
        for number in range(PROCESSES)
    }
    jobs["threads"] = lambda: _write(path, start, [f"thread-{number}" for number in range(THREADS)])
    writers = {name: _forked(job, folder / name) for name, job in jobs.items()}
    stop = folder / "stop"
    others = {"pairs": _forked(lambda: _write_pairs(path, start, stop), folder / "pairs")}
    for number in range(_READERS):
        others[f"reader-{number}"] = _forked(lambda: _read(path, start, stop), folder / f"reader-{number}")
    results = _collected(writers, folder)
    stop.touch()
    findings = _summed(results, _collected(others, folder))
    with open_backend(path) as backend:
        _judge(backend, findings)
    return findings


def _forked(job: Callable[[], dict[str, Any]], answer: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        found = job()
    except BaseException:  # noqa: BLE001 - whatever it was, it is a finding
        found = {"errors": [traceback.format_exc()]}
    answer.write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)


def _collected(pids: dict[str, int], folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, pid in pids.items():
        os.waitpid(pid, 0)
        answer = folder / name
        found[name] = (
            json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {"errors": [f"{name} died"]}
        )
    return found


def _wait_until(start: float) -> None:
    time.sleep(max(0.0, start - time.time()))


def text_of(writer: str, number: int) -> str:
    """What a writer says: who, which, and a digest of both."""
    said = f"{writer} {number} {'padding ' * (number % 40)}"
    return f"{said}{hashlib.sha256(said.encode()).hexdigest()}"


def parsed(message: Message) -> tuple[str, int]:
    """Who wrote a message and its number. Raises ``ValueError`` when it is not whole."""
    said, digest = message.text[:-64], message.text[-64:]
    if hashlib.sha256(said.encode()).hexdigest() != digest:
        raise ValueError(f"a torn message: {message.text!r:.200}")
    writer, number, *_ = said.split()
    return writer, int(number)


def _write(path: str, start: float, writers: list[str]) -> dict[str, Any]:
    latencies: list[float] = []
    errors: list[str] = []
    with open_backend(path) as backend:
        _wait_until(start)

        def appending(writer: str) -> None:
            try:
                for number in range(APPENDS):
                    began = time.perf_counter()
                    backend.log.append(THREAD, [human(text_of(writer, number))])
                    latencies.append(time.perf_counter() - began)
            except Exception:  # noqa: BLE001 - as above
                errors.append(traceback.format_exc())

        threads = [threading.Thread(target=appending, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ended = time.time()
    return {"latencies": latencies, "errors": errors, "ended": ended - start}


def _write_pairs(path: str, start: float, stop: Path) -> dict[str, Any]:
    space, count = Space("pairs"), 0
    with open_backend(path) as backend:
        _wait_until(start)
        while not stop.exists():
            with backend.transaction():
                backend.kv.put(space, "left", count)
                backend.kv.put(space, "right", count)
            count += 1
            time.sleep(0.005)
    return {"pairs": count}


def _read(path: str, start: float, stop: Path) -> dict[str, Any]:
    errors: list[str] = []
    reads, longest = 0, 0
    with open_backend(path) as backend:
        _wait_until(start)
        while not stop.exists() and len(errors) < 5:
            try:
                longest = _look(backend, longest, whole=reads % 50 == 0)
            except Exception:  # noqa: BLE001 - as above
                errors.append(traceback.format_exc())
            reads += 1
    return {"reads": reads, "errors": errors}


def _look(backend: Backend, longest: int, *, whole: bool) -> int:
    """One look at what is being written. Raises ``ValueError`` for anything that no moment of the store could show."""
    messages = backend.log.read(THREAD) if whole else backend.log.read(THREAD, last=50)
    seen: dict[str, int] = {}
    for place, message in enumerate(messages):
        if message.index != (messages[0].index or 0) + place:
            raise ValueError(f"a gap: index {message.index} at place {place} from {messages[0].index}")
        writer, number = parsed(message)
        if seen.get(writer, number - 1) != number - 1:
            raise ValueError(f"out of order: {writer} {number} after {seen[writer]}")
        seen[writer] = number
    end = (messages[-1].index or 0) + 1 if messages else 0
    if end < longest:
        raise ValueError(f"the conversation shrank from {longest} to {end}")
    values = {entry.key: entry.value for entry in backend.kv.scan(Space("pairs")).items}
    if values.get("left") != values.get("right"):
        raise ValueError(f"half a transaction: {values}")
    return end


def _summed(written: dict[str, dict[str, Any]], others: dict[str, dict[str, Any]]) -> Findings:
    findings = Findings()
    latencies = sorted(one for result in written.values() for one in result.get("latencies", []))
    findings.appends = len(latencies)
    findings.seconds = max(result.get("ended", 0.0) for result in written.values())
    findings.rate = findings.appends / findings.seconds if findings.seconds else 0.0
    if latencies:
        findings.median_ms = latencies[len(latencies) // 2] * 1e3
        findings.p99_ms = latencies[int(len(latencies) * 0.99)] * 1e3
        findings.slowest_ms = latencies[-1] * 1e3
    for result in (*written.values(), *others.values()):
        findings.errors += result.get("errors", [])
        findings.reads += result.get("reads", 0)
        findings.pairs += result.get("pairs", 0)
    return findings


def _judge(backend: Backend, findings: Findings) -> None:
    """All stored once, in each writer's order, without gaps."""
    messages = backend.log.read(THREAD)
    findings.stored = len(messages)
    wanted = {f"process-{number}" for number in range(PROCESSES)} | {f"thread-{number}" for number in range(THREADS)}
    numbers: dict[str, list[int]] = {writer: [] for writer in wanted}
    for message in messages:
        writer, number = parsed(message)
        numbers[writer].append(number)
    if [message.index for message in messages] != list(range(len(messages))):
        findings.errors.append("the indexes have gaps")
    for writer, found in numbers.items():
        if found != list(range(APPENDS)):
            findings.errors.append(f"{writer}: {len(found)} messages, or not in order")
    findings.errors += backend.check()


__all__ = ["APPENDS", "PROCESSES", "THREADS", "Findings", "run"]
