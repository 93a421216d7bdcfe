"""Matrix products that warn of what is wrong with the numbers, and of nothing else.

The BLAS that numpy ships (OpenBLAS) sets the processor's flag "invalid" now and then on x86_64 although every operand and
every result is finite, and numpy warns of it; under ``-W error`` a recall would fail. So the flags are ignored here, and
the results are looked at.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def product(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """``one @ other``. Warns with ``RuntimeWarning`` when a result is infinite or not a number."""
    import numpy as np  # noqa: PLC0415 - most commands do without it, and it takes a tenth of a second to load

    with np.errstate(all="ignore"):
        made = np.asarray(one @ other)
    if not np.isfinite(made).all():
        warnings.warn("a product of vectors is infinite or not a number", RuntimeWarning, stacklevel=2)
    return made
