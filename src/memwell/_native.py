"""Calls into C++ libraries, which the end of the process must not cut off.

onnxruntime and usearch release the interpreter's lock while they work. A thread that returns from them after the
interpreter has begun to shut down is ended by Python inside a C++ destructor, and that aborts the process: SIGABRT,
"terminate called without an active exception". So the end of the process waits for such calls, and lets no new one begin.
"""

from __future__ import annotations

import atexit
import os
import threading

_PATIENCE_S = 60.0
"""How long the end of the process waits for calls under way; one takes milliseconds, or seconds for a large index."""


class NativeCalls:
    """Counts the calls under way: ``with native_calls: session.run(…)``. Safe to use from any thread, and after a fork."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._idle = threading.Condition()
        self._under_way = 0
        self._ending = False

    def __enter__(self) -> None:
        with self._idle:
            # Only daemon threads still run then, and SystemExit ends a thread without a word. The main thread may go on: no
            # one ends it, and exit handlers of the program may still use a store.
            if self._ending and threading.current_thread() is not threading.main_thread():
                raise SystemExit
            self._under_way += 1

    def __exit__(self, *_: object) -> None:
        with self._idle:
            self._under_way -= 1
            if self._ending:
                self._idle.notify_all()

    def end(self) -> None:
        """Let no further call of another thread begin, and wait for those under way."""
        with self._idle:
            self._ending = True
            self._idle.wait_for(lambda: not self._under_way, _PATIENCE_S)


native_calls = NativeCalls()
atexit.register(native_calls.end)
if hasattr(os, "register_at_fork"):
    # The threads that were inside do not exist in the child.
    os.register_at_fork(after_in_child=native_calls._reset)  # pyright: ignore[reportPrivateUsage]
