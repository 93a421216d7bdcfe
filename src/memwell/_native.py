"""Native libraries: calls that must finish before the process ends, matrix products, and counts of bytes.

onnxruntime and usearch release the interpreter's lock while they work. A thread that returns from them after the
interpreter has begun to shut down is ended by Python inside a C++ destructor, and that aborts the process: SIGABRT,
"terminate called without an active exception". So the exit of the process waits for such calls, and allows no new one.
"""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


# Matrix products in one thread that warn only of results that are not finite.
#
# numpy's OpenBLAS gives larger products to a thread for each core, and these wait for one another in a loop: where another
# program uses one of the cores, a product that takes 0.2 ms takes 15. So a product is made in blocks too small for that.
#
# On x86_64, OpenBLAS sometimes sets the processor's flag "invalid" although all operands and results are finite, and
# numpy warns of it; under ``-W error`` a recall would fail. So the flags are ignored, and the results are checked.

_MOST = 2**19 - 1
"""OpenBLAS multiplies two matrices in one thread up to this many multiplications."""
_MOST_BY_ROW = 9_000
"""The same for a matrix and a vector."""
_PLANE = 2


def product(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """``one @ other`` of a matrix or a vector and a matrix or a vector.

    Warns with ``RuntimeWarning`` when a result is infinite or not a number.
    """
    import numpy as np  # noqa: PLC0415 - most commands do not need it, and it takes a tenth of a second to load

    with np.errstate(all="ignore"):
        made = np.asarray(_in_blocks(one, other))
    if not np.isfinite(made).all():
        warnings.warn("a product of vectors is infinite or not a number", RuntimeWarning, stacklevel=2)
    return made


def _in_blocks(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    import numpy as np  # noqa: PLC0415

    if one.ndim < _PLANE:
        return one @ other if other.ndim < _PLANE else _in_blocks(other.T, one)
    if other.ndim < _PLANE:
        # Every row is a sum of its own, which is as fast without OpenBLAS.
        return one @ other if one.size <= _MOST_BY_ROW else np.einsum("ij,j->i", one, other)
    rows, columns = len(one), other.shape[1]
    if one.size * columns <= _MOST:
        return one @ other
    if rows < columns:
        return _in_blocks(other.T, one.T).T
    step = max(_MOST // max(other.size, 1), 1)
    made = np.empty((rows, columns), np.result_type(one, other))
    for start in range(0, rows, step):
        np.matmul(one[start : start + step], other, out=made[start : start + step])
    return made


def counted_bytes(data: bytes, wanted: bytes) -> int:
    """How many of these bytes the data holds, in a fifth of the time that ``bytes.count`` takes."""
    if not data:
        return 0
    import numpy as np  # noqa: PLC0415 - slow to load

    found = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(found == one)) for one in wanted)
