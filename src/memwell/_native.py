"""Calls into C++ libraries, which must finish before the process ends.

onnxruntime and usearch release the interpreter's lock while they work. A thread that returns from them after the
interpreter has begun to shut down is ended by Python inside a C++ destructor, and that aborts the process: SIGABRT,
"terminate called without an active exception". So the exit of the process waits for such calls, and allows no new one.
"""

from __future__ import annotations

import atexit
import os
import threading

_PATIENCE_S = 60.0
"""How long the exit waits for running calls; one takes milliseconds, or seconds for a large index."""


class NativeCalls:
    """Counts running calls: ``with native_calls: session.run(…)``. Thread-safe, also after a fork."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._idle = threading.Condition()
        self._under_way = 0
        self._ending = False

    def __enter__(self) -> None:
        with self._idle:
            # Only daemon threads still run then, and SystemExit ends one silently. The main thread may continue: it is not
            # ended, and exit handlers may still use a store.
            if self._ending and threading.current_thread() is not threading.main_thread():
                raise SystemExit
            self._under_way += 1

    def __exit__(self, *_: object) -> None:
        with self._idle:
            self._under_way -= 1
            if self._ending:
                self._idle.notify_all()

    def end(self) -> None:
        """Allow no further call of other threads, and wait for the running ones."""
        with self._idle:
            self._ending = True
            self._idle.wait_for(lambda: not self._under_way, _PATIENCE_S)


native_calls = NativeCalls()
atexit.register(native_calls.end)
if hasattr(os, "register_at_fork"):
    # The child has none of the threads that made the calls.
    os.register_at_fork(after_in_child=native_calls._reset)  # pyright: ignore[reportPrivateUsage]
