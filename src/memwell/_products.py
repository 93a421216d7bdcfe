"""Matrix products that warn only of results that are not finite.

On x86_64, numpy's OpenBLAS sometimes sets the processor's flag "invalid" although all operands and results are finite, and
numpy warns of it; under ``-W error`` a recall would fail. So the flags are ignored, and the results are checked.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def product(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """``one @ other``. Warns with ``RuntimeWarning`` when a result is infinite or not a number."""
    import numpy as np  # noqa: PLC0415 - most commands do not need it, and it takes a tenth of a second to load

    with np.errstate(all="ignore"):
        made = np.asarray(one @ other)
    if not np.isfinite(made).all():
        warnings.warn("a product of vectors is infinite or not a number", RuntimeWarning, stacklevel=2)
    return made
