"""Works for the tests: they must lie in a module that every process can import."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from memwell.records import Space
from memwell.storage import Backend

NOTES = Space("notes")


def square(store: Backend, piece: int) -> dict[str, int]:
    """Notes that it ran, so that a test can count."""
    print("what a work prints goes to the error stream")
    entry = store.kv.get(NOTES, str(piece))
    store.kv.put(NOTES, str(piece), 1 if entry is None else int(entry.value) + 1)
    return {"square": piece * piece}


def slow(store: Backend, piece: int) -> int:
    """From the sixth on it notes that it has begun, and waits until it may go on."""
    if piece >= 6:
        store.kv.put(NOTES, f"begun {piece}", 1)
        end = time.monotonic() + 60
        while store.kv.get(NOTES, "go on") is None and time.monotonic() < end:
            time.sleep(0.01)
    return square(store, piece)["square"]


def picky(store: Backend, piece: int) -> int:
    """Fails for one piece always, for another the first time."""
    runs = square(store, piece)
    if piece == 3:
        raise ValueError("not this one")
    if piece == 4 and store.kv.get(NOTES, "4").value == 1:  # type: ignore[union-attr]
        raise ValueError("not yet")
    return runs["square"]


def deadly(store: Backend, piece: int) -> int:
    """Kills its own process for one piece always, for another the first time."""
    runs = square(store, piece)
    if piece == 3 or (piece == 4 and store.kv.get(NOTES, "4").value == 1):  # type: ignore[union-attr]
        os.kill(os.getpid(), signal.SIGKILL)
    return runs["square"]


def no_json(store: Backend, piece: Any) -> Any:
    return {1, 2}
